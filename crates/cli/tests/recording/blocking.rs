//! What goes on outside of the runtime's sight: signals, input, sleep, loops that wait. Nothing
//! hangs, and time is bounded.

use crate::harness::{ONE_AT_A_TIME, SCHEDULES, compile, foretrace};

#[test]
fn signals() {
    let program = compile("signals", &["signals.c"]);
    for way in ["alone", "pause", "spin", "other", "certain"] {
        program.everywhere(&[way], 0, |_, run| {
            assert!(run.done.took.as_secs() < 10, "{way}: {:?}", run.done.took);
        });
    }
}

#[test]
fn signals_interrupt_waits_for_input() {
    let program = compile("interrupted", &["interrupted_input.c"]);
    program.everywhere(&[], 0, |_, run| {
        assert!(run.done.took.as_secs() < 10, "{:?}", run.done.took);
        // What the handler does is recorded.
        assert_eq!(run.count(": write came"), 3, "{}", run.shown());
        assert!(!run.done.log.contains("a signal handler came while"), "{}", run.done.log);
    });
}

#[test]
fn input_and_pipes() {
    let program = compile("blocking", &["blocking.c"]);
    program.alone(&[], "hello\n").ended_with(0);
    for schedule in SCHEDULES {
        for seed in ["1", "2"] {
            let options = ["--schedule", schedule, "--seed", seed];
            let run = program.run_with_input(&options, &[], "hello\n").ended_with(0);
            assert!(run.done.took.as_secs() < 10, "{:?}", run.done.took);
            assert_eq!(run.count(": write handled"), 3, "{}", run.shown());
            run.predicted().ended_with(0);
        }
    }
}

#[test]
fn nobody_sleeps_where_one_thread_runs_at_a_time() {
    let program = compile("sleeping", &["blocking.c"]);
    for schedule in ONE_AT_A_TIME {
        let run = program.run(&["--schedule", schedule], &["sleep"]).ended_with(0);
        assert!(run.done.took.as_secs() < 5, "a day and seven seconds: {:?}", run.done.took);
    }
}

#[test]
fn clocks_timers_and_time_limits_agree() {
    let program = compile("clocks", &["clocks.c"]);
    program.everywhere(&[], 0, |_, _| ());
    for schedule in ONE_AT_A_TIME {
        let run = program.run(&["--schedule", schedule], &["slowly"]).ended_with(0);
        assert!(run.done.took.as_secs() < 30, "more than 90 s of sleep: {:?}", run.done.took);
    }
}

#[test]
fn the_sleep_of_a_thread_that_was_woken_before_ends() {
    let program = compile("woken", &["woken.c"]);
    program.everywhere(&[], 0, |_, run| {
        assert!(run.done.took.as_secs() < 10, "{:?}", run.done.took);
    });
}

#[test]
fn loops_that_wait() {
    let program = compile("spinning", &["spinning.c"]);
    program.everywhere(&[], 0, |_, run| {
        assert!(run.done.took.as_secs() < 20, "{:?}", run.done.took);
        assert_eq!(run.count("rmw turn"), 10, "{}", run.shown());
    });
}

#[test]
fn two_hundred_threads() {
    let program = compile("many", &["many.c"]);
    program.alone(&[], "").ended_with(0);
    for schedule in SCHEDULES {
        let run = program.run(&["--schedule", schedule], &[]).ended_with(0);
        let shown = run.shown();
        assert_eq!(shown.matches(": fork ").count(), 200);
        assert_eq!(shown.matches(": write sum").count(), 200);
        let trace = run.trace.to_str().unwrap();
        foretrace(&["predict", "--check", "race,lock", trace]).ended_with(0);
    }
}
