//! Threads that see each other through the kernel: what is handed over there is no race, and what
//! is not is found as before.

use std::path::Path;

use crate::harness::{ONE_AT_A_TIME, Program, SCHEDULES, build, command, compile, folder, source};

fn channels() -> Program {
    let folder = folder("channels");
    let object = folder.join("unknown.o");
    let arguments = ["-O1", "-c", &source("unknown.c"), "-o", object.to_str().unwrap()];
    command(Path::new("clang-19"), &arguments, "").ended_with(0);
    let path = folder.join("program");
    build(&["channels.c", object.to_str().unwrap()], &path);
    Program { path, folder }
}

#[test]
fn a_read_needs_the_bytes_that_it_got_and_no_more() {
    let program = channels();
    for way in ["stream", "pair"] {
        for schedule in ONE_AT_A_TIME {
            for seed in ["1", "2", "3"] {
                let options = ["test", "--schedule", schedule, "--seed", seed];
                let done = program.with(&options, &[way]).ended_with(1);
                done.says("race-1 (real, confirmed by replay): data race on data")
                    .says_not("data race on other");
            }
        }
    }
}

#[test]
fn what_the_kernel_orders_is_no_race() {
    let program = channels();
    for way in ["full", "short", "poll", "counter", "closed", "reopened", "unknown"] {
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let options = ["test", "--schedule", schedule, "--seed", seed];
                program.with(&options, &[way]).ended_with(0).says_not("race-");
            }
        }
    }
}

/// Whoever learns from the kernel what another thread did comes behind that.
#[test]
fn what_one_thread_learns_from_the_kernel_of_another_is_no_race() {
    learns_without_race("learned");
}

/// The same if it is refused something, or finds hidden state changed.
#[test]
fn what_affects_another_thread_is_no_race() {
    learns_without_race("affected");
}

/// The same if it finds memory changed that functions and instructions use unseen, or hears of it
/// in a roundabout way.
#[test]
fn what_is_easily_overlooked_is_no_race() {
    learns_without_race("overlooked");
}

#[test]
fn what_the_library_of_cxx_keeps_is_no_race() {
    let program = compile("overlooked_cxx", &["overlooked.cpp"]);
    for way in ["exception", "index", "pool"] {
        for seed in ["1", "2", "3", "4"] {
            let done = program.with(&["test", "--seed", seed], &[way]).ended_with(0);
            done.says_not("race-").says_not("assertion-");
        }
    }
}

/// The clock of the processor is one of ours: the same seed gives the same times, and they never
/// decrease.
#[test]
fn time_stamps_of_the_processor_are_times() {
    let program = compile("time_stamps", &["overlooked.cpp"]);
    for way in ["assembly", "time stamp", "and processor"] {
        for seed in ["1", "2", "3"] {
            program.with(&["test", "--seed", seed], &[way]).ended_with(0);
        }
        let run = program.run(&[], &[way]).ended_with(0);
        assert!(run.count("clock") >= 2, "{way}: {}", run.shown());
    }
}

fn learns_without_race(name: &str) {
    let program = compile(name, &[&format!("{name}.c"), "-lm"]);
    let folder = program.beside("folder");
    let ways = program.alone(&[], "").ended_with(0).out;
    assert!(ways.lines().count() >= 15, "{ways}");
    for way in ways.lines() {
        // Until it has learnt it in one run.
        let has_learnt = (1..20).any(|seed| {
            let _ = std::fs::remove_dir_all(&folder);
            let options = ["test", "--seed", &seed.to_string()];
            let done = program.with(&options, &[way, &folder]).ended_with(0).says_not("race-");
            format!("{}{}", done.out, done.log).contains("x is 1")
        });
        assert!(has_learnt, "{way}");
    }
}

#[test]
fn functions_with_offsets_of_64_bits_order_as_well() {
    let program = compile("wide", &["wide.c"]);
    for way in ["sendfile", "vector", "flags"] {
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let options = ["test", "--schedule", schedule, "--seed", seed];
                program.with(&options, &[way]).ended_with(0).says_not("race-");
            }
        }
    }
}

/// What counts as silent since the runtime records it must be recorded.
#[test]
fn the_runtime_stands_before_the_functions_of_which_it_says_so() {
    let program = compile("stands", &["stands.c"]);
    let names = foretrace_recording::library::interposed();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(names.contains(&"sendfile64"));
    assert_eq!(program.alone(&names, "").ended_with(0).out, "");
}

/// A thread is inside of a call when the others are where they should be: it comes out, since its
/// time is over or its signal there.
#[test]
fn races_behind_calls_that_wait_are_replayed() {
    let program = channels();
    for way in ["in vain", "sigwait"] {
        for schedule in ONE_AT_A_TIME {
            let mut found = 0;
            for seed in ["1", "2", "3"] {
                let done = program.with(&["test", "--schedule", schedule, "--seed", seed], &[way]);
                let done = done.says_not("not confirmed");
                found += done.out.matches("): data race on data").count();
            }
            assert!(found > 0, "{way}, {schedule}");
        }
    }
}

#[test]
fn functions_of_which_nothing_is_known_are_named() {
    let program = channels();
    let run = program.run(&[], &["unknown"]).ended_with(0);
    run.predicted().says("nothing is known about");
    assert_eq!(run.count("enter-call *"), 2, "{}", run.shown());
}

#[test]
fn a_handler_comes_behind_what_its_sender_did() {
    let program = channels();
    for seed in ["1", "2", "3", "4"] {
        let run = program.run(&["--seed", seed], &["signal"]).ended_with(0);
        let report = run.predicted();
        assert!(!report.out.contains("data race on data"), "{}", report.out);
    }
}

#[test]
fn who_waits_for_what_nobody_sends_is_deadlocked() {
    let program = channels();
    for schedule in ONE_AT_A_TIME {
        let done = program.with(&["test", "--schedule", schedule], &["starve"]).ended_with(1);
        assert!(done.took.as_secs() < 10, "{:?}", done.took);
        done.says("deadlock");
    }
}

/// Nothing in these runs depends on time: the scheduler sees what threads wait for.
#[test]
fn the_same_seed_gives_the_same_trace_through_pipes() {
    let program = channels();
    for way in ["stream", "pair", "full", "short"] {
        for schedule in ONE_AT_A_TIME {
            let options = ["--schedule", schedule, "--seed", "5"];
            let first = program.run(&options, &[way]).ended_with(0);
            let first = first.shown();
            for _ in 0..4 {
                let again = program.run(&options, &[way]).shown();
                assert!(first == again, "{way}, {schedule}");
            }
        }
    }
}

/// Each way hands data over by something that is not memory, and rightly so.
#[test]
fn what_is_handed_over_is_no_race() {
    const WAYS: [&str; 27] = [
        "fclose",
        "at-fclose",
        "at-fflush",
        "flockfile",
        "by-number",
        "direct",
        "vmsplice",
        "epoll",
        "nested",
        "printf",
        "perror",
        "stat",
        "truncate",
        "open-truncates",
        "unlink",
        "pages",
        "pages-twice",
        "pages-stored",
        "dup-by-number",
        "dup2-by-number",
        "passed",
        "handler",
        "datagram",
        "cancel",
        "number",
        "scanned",
        "cancel-in-loop",
    ];
    let program = compile("handed_over", &["handed_over.c", "-Wno-unused-result"]);
    for way in WAYS {
        for schedule in ["random", "pct", "free"] {
            for seed in ["1", "2"] {
                let run = program.run(&["--schedule", schedule, "--seed", seed], &[way]);
                let report = run.ended_with(0).predicted();
                let is_real = report.out.contains(" (real");
                assert!(!is_real, "{way}, {schedule}, seed {seed}: {}", report.out);
            }
        }
    }
}

#[test]
fn timers_that_start_threads_are_refused() {
    let run = compile("timer_thread", &["timer_thread.c"]).run(&[], &[]).ended_with(125);
    run.done.says("SIGEV_THREAD");
}

#[test]
fn rings_that_the_kernel_polls_are_refused() {
    let run = compile("polled_ring", &["polled_ring.c"]).run(&[], &[]).ended_with(125);
    run.done.says("SQPOLL");
}

/// Two addresses would be two locks, which do not exclude.
#[test]
fn locks_in_pages_that_are_mapped_twice_are_refused() {
    let program = compile("mapped_twice", &["mapped_twice.c"]);
    for way in ["lock", "segment"] {
        program.run(&[], &[way]).ended_with(125).done.says("mapped twice");
    }
    let run = program.run(&[], &["apart"]).ended_with(0);
    run.predicted().says_not("race-");
}

/// What a thread does when it is cancelled comes behind what the other one did before.
#[test]
fn cancellation_keeps_its_place() {
    let program = compile("cancelled", &["cancelled.c"]);
    for schedule in SCHEDULES {
        for seed in ["1", "2", "3"] {
            let options = ["test", "--schedule", schedule, "--seed", seed];
            program.with(&options, &[]).ended_with(0).says_not("race-");
        }
    }
}

#[test]
fn known_functions_are_known_through_pointers_too() {
    let program = compile("through-pointers", &["through_pointers.c"]);
    for seed in ["1", "2", "3", "4", "5", "6"] {
        program
            .with(&["test", "--seed", seed], &[])
            .ended_with(1)
            .says("race-1 (real, confirmed by replay): data race on total")
            .says_not("nothing is known about");
    }
}

/// A handler that runs inside of a wait is not recorded, but it has run.
#[test]
fn a_handler_inside_of_a_wait_comes_behind_its_sender() {
    let program = compile("handled-inside", &["handled_inside.c"]);
    for way in ["semaphore", "condition", "thread"] {
        let mut handled = 0;
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let options = ["test", "--schedule", schedule, "--seed", seed];
                let done = program.with(&options, &[way]).ended_with(0).says_not("race-");
                handled += done.out.matches("x is 1").count();
            }
        }
        assert!(handled > 0, "{way}");
    }
}

/// What it does to memory is not recorded, and whoever reads the kept trace is told so.
#[test]
fn a_handler_inside_of_a_wait_is_noted() {
    let program = compile("handled-unseen", &["handled_inside.c"]);
    let is_noted = ["1", "2", "3", "4", "5", "6"].iter().any(|seed| {
        let run = program.run(&["--seed", seed], &["semaphore", "stores"]);
        run.predicted().out.contains("signal handler inside of a wait")
    });
    assert!(is_noted);
}
