//! Threads, locks and all other synchronisation of POSIX, C11 and C++: they work as they should
//! under every schedule, and are in the trace. Nothing that is right is reported.

use crate::harness::{Run, compile};

/// Runs a program everywhere; nothing is found in it.
fn faultless(name: &str, check: impl Fn(&Run)) {
    // For atomics of 16 bytes.
    let program = compile(name.split('.').next().unwrap(), &[name, "-latomic"]);
    program.everywhere(&[], 0, |schedule, run| {
        check(run);
        if schedule == "random" {
            run.predicted().ended_with(0);
        }
    });
}

/// The trace has at least so many events with each of these texts.
#[track_caller]
fn has(run: &Run, texts: &[(&str, usize)]) {
    let shown = run.shown();
    for (text, least) in texts {
        let count = shown.lines().filter(|line| line.contains(text)).count();
        assert!(count >= *least, "`{text}` is there {count} times only:\n{shown}");
    }
}

#[test]
fn threads() {
    faultless("threads.c", |run| has(run, &[(": fork ", 9), (": join ", 6), (": end", 6)]));
}

#[test]
fn cancellation() {
    faultless("cancel.c", |run| {
        has(run, &[(": fork ", 6), (": join ", 6), (": end", 6), (": wake never lock", 1)]);
    });
}

#[test]
fn mutexes_and_spin_locks() {
    let program = compile("mutexes", &["mutexes.c"]);
    program.everywhere(&[], 0, |schedule, run| {
        let fails = [(": tryacquire plain : fail", 1), (": timedacquire plain : fail", 2)];
        has(run, &[(": acquire recursive", 2), (": tryacquire recursive : fail", 1)]);
        has(run, &fails);
        if schedule != "random" {
            return;
        }
        has(run, &[("fact refused-release-left-out = 2", 1)]);
        // To unlock what is not held is wrong, even if the mutex says no.
        run.predicted()
            .ended_with(1)
            .says("recursive is unlocked, but nobody holds it")
            .says("checking is unlocked, but nobody holds it")
            .says_not("unlock-by-other")
            .says_not("race-1");
    });
}

#[test]
fn reader_writer_locks() {
    faultless("rwlocks.c", |run| {
        has(
            run,
            &[("acquire shared made", 2), (": timedacquire made : fail", 2), (": release", 40)],
        );
    });
}

#[test]
fn condition_variables() {
    let program = compile("conditions", &["conditions.c"]);
    program.everywhere(&[], 0, |_, run| {
        has(run, &[(": wake full lock timeout", 3), (": wake monotonic lock timeout", 1)]);
        has(run, &[(": signal full", 11), (": broadcast go", 1)]);
    });
}

#[test]
fn barriers() {
    faultless("barriers.c", |run| has(run, &[(": arrive barrier", 40), (": leave barrier", 40)]));
}

#[test]
fn semaphores() {
    faultless("semaphores.c", |run| {
        has(run, &[("post items", 8), ("post room", 9), ("wait items : fail", 3)]);
    });
}

#[test]
fn once_and_values_of_threads() {
    faultless("once_keys.c", |run| has(run, &[(": write destroyed", 4), (": acquire once", 4)]));
}

#[test]
fn c11() {
    faultless("c11.c", |run| {
        has(run, &[(": fork ", 5), (": wake changed lock timeout", 1), (": broadcast changed", 3)]);
    });
}

#[test]
fn cpp_locks() {
    faultless("locks.cpp", |run| has(run, &[(": wake changed a", 2), (": acquire shared", 2)]));
}

#[test]
fn cpp_futures() {
    faultless("futures.cpp", |run| has(run, &[(": fork ", 4), (": join ", 4)]));
}

#[test]
fn cpp_lifetimes_and_exceptions() {
    faultless("lifetimes.cpp", |run| {
        has(run, &[(": write ended", 4), (": write begun", 4), ("read attempts", 3)]);
    });
}

#[test]
fn asynchronous_cancellation() {
    let program = compile("asynchronous", &["asynchronous.c"]);
    // By itself without `l`: the C library of Debian 12 may end a thread that has just disabled
    // its cancellation, here inside of the critical section.
    program.alone(&["cas "], "").ended_with(0);
    program.recorded(&["casl "], 0, |schedule, run| {
        assert!(run.shown().contains("cancellation of T1"), "{}", run.shown());
        // The clean-up handlers run behind the cancellation, and before the join.
        if schedule == "random" {
            run.predicted().says_not("race on told").says_not("race on cleaned");
        }
    });
}

#[test]
fn signals_interrupt_waits_for_semaphores() {
    let program = compile("interrupted", &["interrupted.c"]);
    program.everywhere(&[], 0, |_, run| {
        let shown = run.shown();
        assert!(shown.contains("fact unseen interrupted-wait "), "{shown}");
        run.predicted().says_not("(real");
    });
}

#[test]
fn cpp_atomics() {
    let program = compile("atomics", &["atomics.cpp", "-latomic"]);
    program.everywhere(&[], 0, |schedule, run| {
        has(run, &[("rmw counter", 30), (": write guarded", 30)]);
        if schedule == "random" {
            run.predicted().ended_with(0);
        }
    });
}

/// Cells that threads use as locks are understood: what they exclude is refuted, also where the
/// schedules are far too many for a solver.
#[test]
fn locks_made_of_atomics() {
    let program = compile("good", &["latches.cpp"]);
    let run = program.run(&["--seed", "1"], &["100"]).ended_with(0);
    run.predicted().ended_with(0).says("no bug in any schedule");
    let program = compile("bug", &["-DBUG", "latches.cpp"]);
    let test = ["test", "--seed", "1", "--check", "race"];
    program
        .with(&test, &["20"])
        .ended_with(1)
        .says("data race on exchanged")
        .says_not("undecided:");
}
