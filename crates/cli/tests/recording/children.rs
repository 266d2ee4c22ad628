//! Replays start no programs: what those answered in the recorded run is given again.

use std::fs;
use std::path::Path;

use crate::harness::{Done, Program, SCHEDULES, command, compile};

/// Tests a program whose children say in a file that they were started; returns how many were.
fn tested(program: &Program, way: &str, options: &[&str]) -> (Done, usize) {
    let started = program.beside("started");
    // Most often there is one, of the last time.
    let _ = fs::remove_file(&started);
    let mut words = vec!["test", "--replay-timeout", "20s"];
    words.extend(options);
    words.extend(["--", program.path.to_str().unwrap(), way, &started]);
    let done = command(Path::new(env!("CARGO_BIN_EXE_foretrace")), &words, "");
    (done, fs::read_to_string(&started).unwrap_or_default().lines().count())
}

/// What the program says in the replay is what it said in the recorded run.
fn drew_the_same(done: &Done) {
    let mut drawn = done.out.lines().chain(done.log.lines()).filter(|line| line.contains("drawn"));
    let first = drawn.next().unwrap();
    let again = drawn.next().unwrap().trim_start_matches(['|', ' ']);
    assert_eq!(first, again, "{}", done.out);
}

const CONFIRMED: &str = "race-1 (real, confirmed with recorded inputs): data race on total";

#[test]
fn what_programs_answered_is_given_again_and_none_is_started() {
    let program = compile("children", &["children.c"]);
    let ways = ["fork", "vfork", "ask", "pair", "fdopen", "spawn", "system", "signal"];
    for (way, count) in ways.map(|way| (way, 1)).into_iter().chain([("popen", 2)]) {
        for seed in ["1", "2"] {
            let (done, started) = tested(&program, way, &["--seed", seed]);
            let done = done.ended_with(1).says(CONFIRMED).says("replays do not start them");
            drew_the_same(&done);
            assert_eq!(started, count, "{way}: {}", done.out);
        }
    }
}

#[test]
fn where_it_is_not_known_who_wrote_to_a_pipe_replays_start_children_again() {
    let program = compile("mixed-children", &["children.c"]);
    let (done, started) = tested(&program, "mixed", &[]);
    let done = done
        .ended_with(1)
        .says(CONFIRMED)
        .says("children that replays start again")
        .says("replays start them again");
    drew_the_same(&done);
    assert_eq!(started, 2, "{}", done.out);
}

#[test]
fn children_that_are_started_again_are_waited_for_as_in_the_recorded_run() {
    let program = compile("reaped", &["reaped.c"]);
    for seed in ["1", "2", "3", "4"] {
        for schedule in ["random", "pct"] {
            let (done, _) = tested(&program, "", &["--seed", seed, "--schedule", schedule]);
            drew_the_same(&done.ended_with(1).says(CONFIRMED).says("replays start them again"));
        }
    }
}

#[test]
fn programs_that_start_others_run_under_every_schedule() {
    let program = compile("scheduled-children", &["children.c"]);
    let started = program.beside("started");
    let ways =
        ["fork", "vfork", "ask", "pair", "fdopen", "spawn", "system", "signal", "popen", "mixed"];
    for way in ways {
        program.alone(&[way, &started], "").ended_with(0);
        for schedule in SCHEDULES {
            program.run(&["--schedule", schedule], &[way, &started]).ended_with(0);
        }
    }
}

/// Who hears from a child what it has inherited or found comes behind those who have written it.
#[test]
fn what_children_inherit_or_find_orders_those_who_ask_them() {
    let program = compile("asked", &["asked.c"]);
    let file = program.beside("file");
    for way in ["file", "pipe", "memory", "environment", "descriptor"] {
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let options = ["test", "--schedule", schedule, "--seed", seed];
                let done = program.with(&options, &[way, &file]).says_not("(real");
                // A copy of the process has seen all of its memory.
                let is_undecided = way == "memory" && done.status == 3;
                assert!(done.status == 0 || is_undecided, "{way}: {}", done.out);
            }
        }
    }
}

/// A child has changed a file: who sees it comes behind what was done before the child was started.
#[test]
fn files_of_children_order_those_who_look_for_them() {
    let program = compile("left-behind", &["left_behind.c"]);
    let file = program.beside("file");
    for way in ["system", "spawn", "fork"] {
        for schedule in SCHEDULES {
            let run = program.run(&["--schedule", schedule], &[way, &file]).ended_with(0);
            run.predicted().ended_with(0).says_not("race-1");
        }
    }
    // Who finds the file empty comes before the child that writes to it.
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let run = program.run(&["--seed", seed], &["unwritten", &file]).ended_with(0);
        run.predicted().ended_with(0).says_not("race-1");
    }
}
