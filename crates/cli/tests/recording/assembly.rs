//! Locks that are made of inline assembly.

use std::time::Duration;

use crate::harness::{SCHEDULES, compile};

const NOT_UNDERSTOOD: &str = "inline assembly that is not understood at";

#[test]
fn locks_of_understood_assembly_exclude() {
    let program = compile("understood", &["assembly.c", "-mcx16"]);
    for how in ["pause", "never"] {
        program.everywhere(&[how], 0, |schedule, run| {
            assert!(run.done.took < Duration::from_secs(10), "{how} {schedule}");
            assert!(run.count("rmw word") > 5, "{}", run.shown());
            assert_eq!(run.count("fact unseen "), 0, "{}", run.shown());
            // How long the solver takes for all orders is another question.
            run.predicted().says_not("(real").says_not("(possible").says_not(NOT_UNDERSTOOD);
        });
    }
}

#[test]
fn a_thread_that_waits_with_pause_lets_the_others_run() {
    let program = compile("pause", &["assembly.c", "-mcx16"]);
    for seed in 1..=5 {
        let run = program.run(&["--seed", &seed.to_string()], &["pause"]).ended_with(0);
        assert!(run.count("rmw word") < 200, "seed {seed}: {}", run.count("rmw word"));
    }
}

#[test]
fn what_other_assembly_orders_stays_in_order() {
    let program = compile("opaque", &["assembly.c", "-mcx16"]);
    for how in ["wide", "jump"] {
        for schedule in SCHEDULES {
            let done = program.with(&["test", "--schedule", schedule], &[how]);
            assert!(matches!(done.status, 0 | 3), "{how} {schedule}:\n{}", done.out);
            done.says(NOT_UNDERSTOOD).says("the memory that it touches is not seen");
            let run = program.run(&["--schedule", schedule], &[how]);
            assert!(run.count("fact unseen inline-assembly ") > 0, "{}", run.shown());
        }
    }
}
