//! Code that is not instrumented calls functions of the program.

use std::path::Path;

use crate::harness::{Program, SCHEDULES, build, command, compile, folder, source};

fn program(name: &str) -> Program {
    let folder = folder(name);
    let object = folder.join("callbacks.o");
    let arguments = ["-O1", "-c", &source("callbacks.c"), "-o", object.to_str().unwrap()];
    command(Path::new("clang-19"), &arguments, "").ended_with(0);
    let path = folder.join("program");
    build(&["called_back.c", object.to_str().unwrap()], &path);
    Program { path, folder }
}

/// A library may wait before it calls back, and let others know behind it, also between two calls
/// of the same function.
#[test]
fn what_a_library_waits_for_before_it_calls_back_is_no_race() {
    let program = program("called-back");
    for way in ["waits", "own", "signals", "turns", "stream", "loader"] {
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let run = program.run(&["--schedule", schedule, "--seed", seed], &[way]);
                let report = run.ended_with(0).predicted();
                let is_real = report.out.contains(" (real");
                assert!(!is_real, "{way}, {schedule}, seed {seed}: {}", report.out);
            }
        }
    }
}

/// What two threads do after a library has called them has no order through the library.
#[test]
fn functions_that_a_library_calls_at_once_race() {
    let program = program("called-at-once");
    for seed in ["1", "2", "3"] {
        let options = ["test", "--runs", "1", "--seed", seed];
        let done = program.with(&options, &["at-once"]).ended_with(1);
        done.says("race-1 (real, confirmed by replay): data race on data");
    }
}

/// The slot of a number belongs to the thread that got the descriptor in a message, after the other
/// one has closed it.
#[test]
fn a_number_that_comes_in_a_message_was_free_before() {
    let program = compile("received", &["received.c"]);
    for way in ["one", "several"] {
        for seed in ["1", "2", "3", "4"] {
            let run = program.run(&["--seed", seed], &[way]).ended_with(0);
            run.predicted().says_not("race-");
        }
    }
    program.with(&["test"], &["late"]).ended_with(1).says("confirmed by replay");
}
