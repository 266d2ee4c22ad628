//! Threads that wait in the kernel for each other: predicted deadlocks, and what must not be taken
//! for one.

use crate::harness::{ONE_AT_A_TIME, compile};

/// The user waits with the lock that the helper needs before it feeds the user.
#[test]
fn who_waits_with_the_lock_of_its_feeder_is_stuck() {
    let program = compile("waiting_found", &["fed.c"]);
    let ways = [
        ("pipe", "data in pipe of descriptors"),
        ("readv", "data in pipe of descriptors"),
        ("recv", "data in pair of sockets of descriptors"),
        ("internet", "data in connection of descriptor"),
        ("counter", "data in eventfd of descriptor"),
        ("tokens", "data in eventfd of descriptor"),
        ("short", "data in pipe of descriptors"),
        ("end", "data in pipe of descriptors"),
        ("shutdown", "data in pair of sockets of descriptors"),
        ("crossed", "data in pipe of descriptors"),
        ("closed", "data in pipe of descriptors"),
        ("changed", "data in pipe of descriptors"),
        ("ignored", "data in pipe of descriptors"),
        ("poll", "data in pipe of descriptors"),
        ("poll-read", "data in pipe of descriptors"),
        ("poll-end", "data in pipe of descriptors"),
        ("poll-recv", "data in pair of sockets of descriptors"),
        ("poll-counter", "data in eventfd of descriptor"),
        ("poll-two", "data in pipe of descriptors 3 and 4 or pipe of descriptors 5 and 6"),
        ("select", "data in pipe of descriptors"),
    ];
    for (way, what) in ways {
        for schedule in ONE_AT_A_TIME {
            let done = program.with(&["test", "--schedule", schedule], &[way]).ended_with(1);
            let headline = format!(
                "stuck-1 (real, confirmed by replay): deadlock: no thread can continue, and one waits for {what}"
            );
            done.says(&headline).says("  waits for data in").says_not("not confirmed");
        }
    }
}

/// In recordings in which threads ran at once the same is predicted. (On a busy machine such a run
/// may hang itself.)
#[test]
fn free_running_recordings_know_what_waits() {
    let program = compile("waiting_free", &["fed.c"]);
    for way in ["pipe", "recv", "counter", "end", "crossed", "poll", "poll-two"] {
        let is_found = (0..5).any(|_| {
            let options = ["test", "--schedule", "free", "--timeout", "5s"];
            let done = program.with(&options, &[way]).says_not("not confirmed");
            done.out.contains("stuck-1 (real, confirmed by replay)")
        });
        assert!(is_found, "{way}");
    }
}

/// Nobody is stuck whose feeder comes in any case, who gives up, whom somebody else can feed, or
/// whom a signal can interrupt.
#[test]
fn who_is_fed_or_does_not_wait_for_ever_is_not_stuck() {
    let program = compile("waiting_not", &["fed.c"]);
    let ways = [
        "early",
        "early-end",
        "time-limit",
        "dont-wait",
        "non-blocking",
        "polled",
        "handler",
        "forked",
        "counted",
        "cancelled",
        "later-flag",
        "later-ioctl",
        "later-limit",
        "later-number",
        "poll-early",
        "poll-two-early",
        "poll-writable",
    ];
    for way in ways {
        for schedule in ONE_AT_A_TIME {
            let done = program.with(&["test", "--schedule", schedule], &[way]).ended_with(0);
            done.says_not("stuck-");
        }
    }
}

/// Two users in turn: the second one waits for its place behind the first only as long as there is
/// something in the pipe.
#[test]
fn waiting_for_a_kept_order_is_not_stuck() {
    let program = compile("in_turn", &["in_turn.c"]);
    for schedule in ONE_AT_A_TIME {
        let options = ["test", "--schedule", schedule];
        program.with(&options, &["kept"]).ended_with(0).says_not("stuck-");
        let done = program.with(&options, &["empty"]).ended_with(1);
        done.says("stuck-1 (real, confirmed by replay)").says_not("not confirmed");
    }
}

/// A recorded run that hangs itself is one of its schedules.
#[test]
fn a_run_that_waits_for_ever_is_predicted_too() {
    let program = compile("waiting_hung", &["in_turn.c"]);
    let run = program.run(&[], &["hung"]);
    run.predicted().says("stuck-1 (real): deadlock").says("data in pipe of descriptors");
}

/// A socket with a time limit: the run itself ends, in virtual time, whoever comes first.
#[test]
fn a_time_limit_of_a_socket_ends_the_wait() {
    let program = compile("time-limits", &["time_limits.c"]);
    for way in ["recv", "read", "send"] {
        for schedule in ONE_AT_A_TIME {
            for seed in ["1", "2", "3", "4"] {
                let options = ["--schedule", schedule, "--seed", seed];
                let run = program.run(&options, &[way]).ended_with(0);
                assert!(run.done.took.as_secs() < 20, "{way}: {:?}", run.done.took);
                run.predicted().ended_with(0);
            }
        }
    }
}
