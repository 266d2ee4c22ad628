//! The same seed gives the same run, and everything that follows from it.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::harness::{Done, ONE_AT_A_TIME, Program, Run, compile};

#[test]
fn the_same_seed_gives_the_same_trace() {
    for source in ["racy.c", "conditions.c", "c11.c", "many.c"] {
        let name = format!("same-{}", source.trim_end_matches(".c"));
        let program = compile(&name, &[source]);
        for schedule in ONE_AT_A_TIME {
            let options = ["--schedule", schedule, "--seed", "7"];
            let first = program.run(&options, &[]).shown();
            for _ in 0..3 {
                let again = program.run(&options, &[]).shown();
                assert_eq!(first, again, "{source}, {schedule}");
            }
        }
    }
}

/// Records with clocks that begin at a certain time.
fn run_at_a_certain_time(program: &Program, options: &[&str]) -> Run {
    let trace = program.folder.join("run.ftb");
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["run", "--timeout", "30s", "-o"])
        .arg(&trace)
        .args(options)
        .arg("--")
        .arg(&program.path)
        .env("FORETRACE_START_TIME", "1700000000000000000")
        .output()
        .unwrap();
    Run { done: Done::new(&output, Duration::ZERO), trace }
}

#[test]
fn programs_that_sleep_poll_and_talk_run_the_same_20_times() {
    let program = compile("same-times", &["clocks.c"]);
    for schedule in ONE_AT_A_TIME {
        let options = ["--schedule", schedule, "--seed", "5"];
        let first = run_at_a_certain_time(&program, &options).ended_with(0).shown();
        // The times themselves are in it, and begin with the given one.
        assert!(first.contains("write seen"), "{first}");
        for _ in 1..20 {
            let again = run_at_a_certain_time(&program, &options).ended_with(0).shown();
            let differs = first.lines().zip(again.lines()).find(|(one, other)| one != other);
            assert_eq!(differs, None, "{schedule}");
            assert_eq!(first.len(), again.len(), "{schedule}");
        }
    }
}

#[test]
fn other_seeds_give_other_schedules() {
    let program = compile("other-seeds", &["racy.c"]);
    for schedule in ["random", "pct"] {
        let mut shown: Vec<String> = (0..10)
            .map(|seed| {
                let seed = seed.to_string();
                program.run(&["--schedule", schedule, "--seed", &seed], &[]).ended_with(0).shown()
            })
            .collect();
        shown.sort();
        shown.dedup();
        assert!(shown.len() >= 5, "{schedule}: {} different runs of 10", shown.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let program = compile("same-report", &["racy.c"]);
    let json = || {
        let path = program.beside("report.json");
        program.with(&["test", "--seed", "3", "--json", &path], &[]).ended_with(1);
        fs::read(path).unwrap()
    };
    assert!(json() == json(), "two reports of the same run differ");
}
