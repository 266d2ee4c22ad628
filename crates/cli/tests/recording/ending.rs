//! The thread that ends the process comes last among those that can run.

use std::time::Duration;

use crate::harness::{ONE_AT_A_TIME, compile};

#[test]
fn threads_that_nobody_joins_are_recorded() {
    let program = compile("unjoined", &["unjoined.c"]);
    for schedule in ONE_AT_A_TIME {
        for seed in 1..=8 {
            let options = ["--schedule", schedule, "--seed", &seed.to_string()];
            let run = program.run(&options, &["return", "work"]).ended_with(6);
            assert_eq!(run.count(": write done"), 60, "{schedule}, {seed}: {}", run.shown());
            assert_eq!(run.count(": end"), 3, "{schedule}, {seed}: {}", run.shown());
        }
    }
}

#[test]
fn however_the_process_ends() {
    let program = compile("ends", &["unjoined.c"]);
    for end in ["return", "exit", "_exit", "quick_exit"] {
        for schedule in ONE_AT_A_TIME {
            let run = program.run(&["--schedule", schedule], &[end, "work"]).ended_with(6);
            assert_eq!(run.count(": write done"), 60, "{end}, {schedule}: {}", run.shown());
        }
    }
}

#[test]
fn threads_that_never_end_keep_nobody_from_ending() {
    let program = compile("endless", &["unjoined.c"]);
    for work in ["spin", "loop", "yield", "compute", "sleep", "pause", "lock"] {
        for schedule in ONE_AT_A_TIME {
            let run = program.run(&["--schedule", schedule], &["return", work]).ended_with(6);
            assert!(run.done.took < Duration::from_secs(15), "{work}: {:?}", run.done.took);
            let events = run.shown().lines().count();
            // Only a loop over a variable that is not atomic does all that it may do.
            let most = if work == "loop" { 70_000 } else { 10_000 };
            assert!(events < most, "{work}, {schedule}: {events} events");
            assert_eq!(run.count(": write done"), 60, "{work}, {schedule}: {}", run.shown());
        }
    }
}

#[test]
fn replays_wait_for_threads_that_nobody_joins() {
    let program = compile("early", &["early.c"]);
    for seed in ["1", "2", "3"] {
        for schedule in ONE_AT_A_TIME {
            program
                .with(&["test", "--seed", seed, "--schedule", schedule], &[])
                .ended_with(1)
                .says("(real, confirmed by replay): data race on late");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let program = compile("again", &["unjoined.c"]);
    for work in ["work", "spin", "yield", "sleep", "lock"] {
        for schedule in ONE_AT_A_TIME {
            let run = || program.run(&["--schedule", schedule, "--seed", "5"], &["return", work]);
            let first = run().ended_with(6).shown();
            for _ in 0..3 {
                assert!(run().shown() == first, "{work}, {schedule}");
            }
        }
    }
}
