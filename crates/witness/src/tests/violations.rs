//! Accepted and refuted schedules for every violation of section 4.

use expect_test::{Expect, expect};
use foretrace_trace::EventId;

use super::verdict;
use foretrace_verdict::{LockMisuse, Violation};

/// Statements separated by semicolons, one per line.
pub(super) fn lines(text: &str) -> String {
    text.split(';').map(str::trim).collect::<Vec<_>>().join("\n")
}

fn ends_in(violation: Violation, text: &str, numbers: &str, expected: Expect) {
    verdict(&lines(text), &violation, numbers, &expected);
}

fn race(a: u32, b: u32) -> Violation {
    Violation::Race(EventId(a), EventId(b))
}

fn atomicity(first: u32, remote: u32, second: u32) -> Violation {
    Violation::Atomicity { first: EventId(first), remote: EventId(remote), second: EventId(second) }
}

fn cycle(events: &[u32]) -> Violation {
    Violation::LockCycle(events.iter().map(|&event| EventId(event)).collect())
}

fn stuck(at: u32) -> Violation {
    Violation::Stuck(EventId(at))
}

fn misuse(misuse: LockMisuse, at: u32) -> Violation {
    Violation::Lock(misuse, EventId(at))
}

#[test]
fn a_race_is_between_two_next_accesses() {
    let text =
        "a: acquire m; a: write x = 1; a: release m; b: read x : 1; b: write x = 2; b: external";
    ends_in(race(1, 3), text, "0", expect!["Real"]);
    ends_in(race(3, 1), text, "0", expect!["Real"]);
    ends_in(race(1, 3), text, "", expect!["at the end: event 1: its thread is elsewhere"]);
    ends_in(race(1, 3), text, "0 1", expect!["at the end: event 1: its thread is elsewhere"]);
    ends_in(race(1, 4), text, "0", expect!["at the end: event 4: its thread is elsewhere"]);
    ends_in(race(3, 4), text, "", expect!["this is no violation: both accesses are of one thread"]);
    ends_in(race(1, 5), text, "0", expect!["this is no violation: a race is between accesses"]);
    ends_in(race(1, 77), text, "0", expect!["this is no violation: the trace has no such event"]);
    ends_in(
        race(0, 1),
        "a: read x : 0; b: read x : 0",
        "",
        expect!["this is no violation: the accesses do not conflict"],
    );
    ends_in(
        race(0, 1),
        "a: write x[0:4] = 0; b: write x[4:4] = 0",
        "",
        expect!["this is no violation: the accesses do not conflict"],
    );
    ends_in(
        race(0, 1),
        "a: write x = 0 atomic; b: write x = 0 atomic relaxed",
        "",
        expect!["this is no violation: both accesses are atomic"],
    );
    ends_in(race(0, 1), "a: write x = 0 atomic; b: write x = 0", "", expect!["Real"]);
}

#[test]
fn a_race_needs_started_threads_and_a_live_object() {
    let forked = "a: fork b; a: write x = 1; b: write x = 2";
    ends_in(race(1, 2), forked, "0", expect!["Real"]);
    ends_in(
        race(0, 2),
        "a: write x = 1; a: fork b; b: write x = 2",
        "",
        expect!["at the end: event 2: its thread is not started"],
    );
    let freed = "c: alloc x size 8; a: write x = 1; b: write x = 2; c: free x";
    ends_in(race(1, 2), freed, "0", expect!["Real"]);
    ends_in(race(1, 2), freed, "", expect!["at the end: event 1: its object is not live"]);
    ends_in(race(1, 2), freed, "0 3", expect!["at the end: event 1: its object is not live"]);
    ends_in(
        race(0, 1),
        "a: write x = 1; b: write x = 2; c: exit",
        "2",
        expect!["at the end: the process has exited"],
    );
}

const REGION: &str = "a: region begin; a: read x : 0; a: write x = 1; a: region end; b: write x = 2; b: external; b: read x : 2";

#[test]
fn an_atomicity_violation_has_its_remote_access_in_between() {
    ends_in(atomicity(1, 4, 2), REGION, "0 1 4", expect!["Real"]);
    ends_in(atomicity(1, 4, 2), REGION, "0 1 4 5", expect!["Real"]);
    ends_in(
        atomicity(1, 4, 2),
        REGION,
        "0 1",
        expect!["at the end: event 4: the remote access is not executed"],
    );
    ends_in(
        atomicity(1, 4, 2),
        REGION,
        "0 4",
        expect!["at the end: event 1: the first access is not executed"],
    );
    ends_in(
        atomicity(1, 4, 2),
        REGION,
        "0 1 4 2",
        expect!["at the end: event 2: its thread is elsewhere"],
    );
    ends_in(
        atomicity(2, 4, 1),
        REGION,
        "0 1 4",
        expect!["this is no violation: the second access does not come after the first"],
    );
    ends_in(
        atomicity(1, 2, 4),
        REGION,
        "0 1 4",
        expect!["this is no violation: the first and the second access are of different threads"],
    );
    ends_in(
        atomicity(1, 2, 2),
        REGION,
        "0 1",
        expect!["this is no violation: the remote access is of the same thread"],
    );
    ends_in(
        atomicity(1, 6, 2),
        REGION,
        "0 1",
        expect!["this is no violation: the remote access does not conflict with both others"],
    );
    ends_in(
        atomicity(1, 5, 2),
        REGION,
        "0 1",
        expect!["this is no violation: an atomicity violation is between accesses"],
    );
    let order = "a: region begin; a: write x = 1; a: read x : 1; b: write x = 1";
    ends_in(
        atomicity(1, 3, 2),
        order,
        "0 3 1",
        expect!["at the end: event 3: the remote access comes before the first"],
    );
}

#[test]
fn regions_are_declared_or_inferred() {
    let open = "a: region begin; a: region begin; a: read x : 0; a: region end; a: read x : 0; b: write x = 1";
    ends_in(atomicity(2, 5, 4), open, "0 1 2 5 3", expect!["Real"]);
    let outside = "a: region begin; a: read x : 0; a: region end; a: read x : 0; b: write x = 1";
    ends_in(
        atomicity(1, 4, 3),
        outside,
        "0 1 4 2",
        expect!["at the end: event 3: it is not in one region with the first access"],
    );
    let section = "a: acquire m; a: read x : 0; a: read x : 0; a: release m; b: write x = 1";
    ends_in(atomicity(1, 4, 2), section, "0 1 4", expect!["Real"]);
    let never_closed = "a: acquire m; a: read x : 0; a: read x : 0; b: write x = 1";
    ends_in(
        atomicity(1, 3, 2),
        never_closed,
        "0 1 3",
        expect!["at the end: event 2: it is not in one region with the first access"],
    );
    let foreign = "a: acquire m; a: read x : 0; a: read x : 0; b: write x = 1; b: release m";
    ends_in(
        atomicity(1, 3, 2),
        foreign,
        "0 1 3",
        expect!["at the end: event 2: it is not in one region with the first access"],
    );
    let waiting = "a: acquire m; a: acquire n; a: read x : 0; a: timedwait c n; a: wake c n timeout; a: read x : 0; a: read x : 0; a: release n; a: release m; b: write x = 1";
    ends_in(
        atomicity(2, 9, 5),
        waiting,
        "0 1 2 3 4 9",
        expect!["at the end: event 5: it is not in one region with the first access"],
    );
    ends_in(atomicity(5, 9, 6), waiting, "0 1 2 3 4 5 9", expect!["Real"]);
}

#[test]
fn a_remote_read_at_the_end_of_its_thread_is_free() {
    let text = "a: region begin; a: write x = 1; a: write x = 2; b: read x : 2; b: external";
    ends_in(atomicity(1, 3, 2), text, "0 1 3", expect!["Real"]);
    ends_in(
        atomicity(1, 3, 2),
        text,
        "0 1 3 4",
        expect![
            "step 2: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left"
        ],
    );
    let unknown = "a: region begin; a: write x = 1; a: write x = 2; b: read x : 7; b: external";
    ends_in(atomicity(1, 3, 2), unknown, "0 1 3", expect!["Real"]);
    ends_in(
        atomicity(1, 3, 2),
        unknown,
        "0 1 3 4",
        expect!["step 2: event 3 has an unknown writer, and event 2 was recorded before it"],
    );
    let rmw = "a: region begin; a: write x = 1; a: write x = 2; b: rmw x : 2 -> 3";
    ends_in(
        atomicity(1, 3, 2),
        rmw,
        "0 1 3",
        expect![
            "step 2: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left"
        ],
    );
    let dead = "c: alloc x size 8; a: region begin; a: write x = 1; a: write x = 2; b: read x : 2; c: free x";
    ends_in(atomicity(2, 4, 3), dead, "0 1 2 4", expect!["Real"]);
    ends_in(
        atomicity(2, 4, 3),
        dead,
        "0 1 2 5 4",
        expect!["step 4: event 4 uses object 0, which is not live"],
    );
}

const PHILOSOPHERS: &str = "a: acquire m; a: acquire n; a: release n; a: release m; b: acquire n; b: acquire m; b: release m; b: release n";

#[test]
fn a_lock_cycle_has_each_thread_wait_for_the_next() {
    ends_in(cycle(&[1, 5]), PHILOSOPHERS, "0 4", expect!["Real"]);
    ends_in(cycle(&[5, 1]), PHILOSOPHERS, "0 4", expect!["Real"]);
    ends_in(
        cycle(&[1, 5]),
        PHILOSOPHERS,
        "0",
        expect!["at the end: event 1: the next thread of the cycle does not hold its lock"],
    );
    ends_in(
        cycle(&[1, 4]),
        PHILOSOPHERS,
        "0",
        expect!["at the end: event 1: the next thread of the cycle does not hold its lock"],
    );
    ends_in(
        cycle(&[0, 4]),
        PHILOSOPHERS,
        "0 4",
        expect!["at the end: event 0: its thread is elsewhere"],
    );
    ends_in(
        cycle(&[1]),
        PHILOSOPHERS,
        "0",
        expect!["this is no violation: a lock cycle has at least two threads"],
    );
    ends_in(
        cycle(&[0, 1]),
        PHILOSOPHERS,
        "0",
        expect!["this is no violation: a thread is twice in the cycle"],
    );
    let timed = PHILOSOPHERS.replace("a: acquire n", "a: timedacquire n : ok");
    ends_in(
        cycle(&[1, 5]),
        &timed,
        "0 4",
        expect!["at the end: event 1: its thread is not at a blocked acquire"],
    );
}

#[test]
fn a_lock_cycle_knows_upgrades_requests_and_wakes() {
    let upgrade = "a: acquire shared m; a: acquire m; a: release m; a: release shared m; b: acquire shared m; b: acquire m";
    ends_in(cycle(&[1, 5]), upgrade, "0 4", expect!["Real"]);
    let shared =
        "a: acquire shared m; a: acquire shared n; b: acquire shared n; b: acquire shared m";
    ends_in(
        cycle(&[1, 3]),
        shared,
        "0 2",
        expect!["at the end: event 1: the next thread of the cycle does not hold its lock"],
    );
    let requests = "a: acquire m; a: request acquire n; b: acquire n; b: request acquire m";
    ends_in(cycle(&[1, 3]), requests, "0 1 2 3", expect!["Real"]);
    ends_in(
        cycle(&[1, 3]),
        requests,
        "0 2",
        expect!["at the end: event 1: its thread is not at a blocked acquire"],
    );
    let wake = "a: acquire n; a: acquire m; a: timedwait c m; a: wake c m timeout; a: release m; a: release n; b: acquire n; b: release n; b: acquire m; b: acquire n";
    ends_in(cycle(&[3, 9]), wake, "6 7 0 1 2 8", expect!["Real"]);
    let wait = "a: acquire n; a: acquire m; a: wait c m; b: acquire m; b: request acquire n";
    ends_in(cycle(&[2, 4]), wait, "0 1 2 3 4", expect!["Real"]);
}

#[test]
fn a_missed_signal_leaves_its_waiter_stuck() {
    let text = "a: begin; a: acquire m; a: wait c m; b: begin; b: signal c; b: end; a: wake c m; a: release m; a: end";
    ends_in(stuck(6), text, "3 4 5 0 1 2", expect!["Real"]);
    ends_in(
        stuck(6),
        text,
        "0 1 2 3 4 5",
        expect!["step 4: event 4 has to wake the wait 2, which must not be woken"],
    );
    ends_in(
        stuck(6),
        text,
        "3 0 1 2",
        expect!["at the end: thread 1 is neither finished nor blocked"],
    );
    ends_in(stuck(2), text, "3 4 5 0 1 2", expect!["at the end: event 2: its thread is elsewhere"]);
    ends_in(stuck(5), text, "3 4 0 1 2", expect!["at the end: event 5: its thread does not wait"]);
    let broadcast = text.replace("signal", "broadcast");
    ends_in(
        stuck(6),
        &broadcast,
        "0 1 2 3 4 5",
        expect!["step 4: event 4 has to wake the wait 2, which must not be woken"],
    );
    let timed = text.replace("wait", "timedwait");
    ends_in(
        stuck(6),
        &timed,
        "3 4 5 0 1 2",
        expect!["at the end: event 6: its thread does not wait"],
    );
}

#[test]
fn a_signal_may_wake_another_waiter_than_the_stuck_one() {
    let text = "a: acquire m; a: wait c m; b: acquire m; b: wait c m; d: signal c; d: end; b: wake c m; b: release m; b: end; d2: acquire q; d2: end";
    ends_in(stuck(1), text, "0 1 2 3 4 5 6 7 8 9 10", expect!["Real"]);
    // A thread whose wait has been notified is not blocked while its lock is free ...
    ends_in(
        stuck(1),
        text,
        "0 1 2 3 4 5 9 10",
        expect!["step 4: event 4 has to wake the wait 1, which must not be woken"],
    );
    // ... but is if somebody has its lock, so that the signal may go to it.
    let held = "a: acquire m; a: wait c m; b: acquire n; b: wait c n; d: signal c; d: acquire n; d: end; b: wake c n";
    ends_in(stuck(1), held, "0 1 2 3 4 5 6", expect!["Real"]);
    ends_in(
        stuck(7),
        held,
        "0 1 2 3 4 5 6",
        expect!["step 4: event 4 has to wake the wait 1, which must not be woken"],
    );
}

#[test]
fn stuck_at_semaphores_barriers_and_requests() {
    let semaphore =
        "semaphore s = 1; a: semwait s; a: end; b: semwait s; b: end; c: sempost s; c: end";
    ends_in(
        stuck(2),
        semaphore,
        "0 1",
        expect!["at the end: thread 2 is neither finished nor blocked"],
    );
    let lost = "semaphore s = 1; a: semwait s; a: end; b: sempost s; b: semwait s; b: end";
    ends_in(stuck(3), lost, "0 1 2", expect!["at the end: event 3: its thread does not wait"]);
    let request = "semaphore s = 1; a: semwait s; a: request semwait s";
    ends_in(stuck(1), request, "0 1", expect!["Real"]);
    ends_in(stuck(1), request, "0", expect!["at the end: event 1: its thread does not wait"]);
    let try_wait =
        "semaphore s = 1; a: trysemwait s : ok; a: end; b: trysemwait s : ok; b: end; b: sempost s";
    ends_in(stuck(2), try_wait, "0 1", expect!["at the end: event 2: its thread does not wait"]);
    let barrier = "barrier r = 2; a: arrive r";
    ends_in(stuck(0), barrier, "0", expect!["Real"]);
    ends_in(stuck(0), barrier, "", expect!["at the end: event 0: its thread does not wait"]);
    let leave = "barrier r = 2; a: arrive r; b: branch : true; b: arrive r; a: leave r; b: leave r";
    ends_in(stuck(3), leave, "0", expect!["at the end: thread 1 is neither finished nor blocked"]);
}

#[test]
fn stuck_in_calls_that_nobody_feeds() {
    let pipe = "b: acquire m; b: release m; b: enter-call >x; b: leave-call; b: end; a: acquire m; a: enter-call <p waits-for d piece x; a: leave-call; a: release m; a: end";
    ends_in(stuck(7), pipe, "5 6", expect!["Real"]);
    ends_in(stuck(7), pipe, "5", expect!["at the end: event 7: its thread is elsewhere"]);
    // The write has begun.
    ends_in(
        stuck(7),
        pipe,
        "0 1 2 3 4 5 6",
        expect!["at the end: event 7: its thread does not wait"],
    );
    let plain = pipe.replace(" waits-for d piece x", "");
    ends_in(stuck(7), &plain, "5 6", expect!["at the end: event 7: its thread does not wait"]);
    let closed = "b: enter-call >d; b: leave-call; b: acquire m; b: release m; b: enter-call >x; b: leave-call; b: end; a: acquire m; a: enter-call waits-for d piece x; a: leave-call; a: release m; a: end";
    ends_in(stuck(9), closed, "0 1 7 8", expect!["at the end: event 9: its thread does not wait"]);
    ends_in(
        stuck(9),
        closed,
        "7 8",
        expect!["at the end: thread 0 is neither finished nor blocked"],
    );
    // What is there for another reader is there.
    let order = "b: enter-call >x; b: leave-call; b: end; c: acquire m; c: enter-call r waits-for d piece x; c: leave-call; c: enter-call >y; c: leave-call; c: release m; c: end; a: acquire m; a: enter-call r waits-for d piece y; a: leave-call; a: release m; a: end";
    ends_in(
        stuck(12),
        order,
        "0 1 2 10 11",
        expect!["at the end: event 12: its thread does not wait"],
    );
    ends_in(
        stuck(12),
        order,
        "10 11",
        expect!["at the end: thread 0 is neither finished nor blocked"],
    );
    let hung = "a: enter-call p waits-for d; b: enter-call * ; b: leave-call; b: end";
    ends_in(stuck(0), hung, "0", expect!["at the end: thread 1 is neither finished nor blocked"]);
    ends_in(stuck(0), hung, "0 1 2 3", expect!["at the end: event 0: its thread does not wait"]);
    ends_in(stuck(0), "a: enter-call p waits-for p", "0", expect!["Real"]);
    ends_in(
        stuck(0),
        "a: enter-call p",
        "0",
        expect!["at the end: event 0: its thread does not wait"],
    );
}

#[test]
fn a_stuck_state_blocks_joins_and_acquires_too() {
    let locked = "semaphore s = 1; a: semwait s; a: acquire m; a: end; b: semwait s; c: acquire m; c: release m; c: end; d: request join b; e: acquire shared m";
    ends_in(stuck(3), locked, "0 1 2 7", expect!["Real"]);
    // `a` is finished, and has the lock.
    ends_in(stuck(4), locked, "0 1 2 7", expect!["Real"]);
    let silent = "semaphore s = 1; a: semwait s; a: external; b: semwait s";
    ends_in(
        stuck(2),
        silent,
        "0 1",
        expect!["at the end: thread 0 is neither finished nor blocked"],
    );
    let unforked = "semaphore s = 1; a: semwait s; a: fork b; b: semwait s";
    ends_in(
        stuck(2),
        unforked,
        "0 1",
        expect!["at the end: thread 0 is neither finished nor blocked"],
    );
    let not_started =
        "semaphore s = 1; a: semwait s; a: request semwait s; b: external; c: fork b; c: end";
    ends_in(
        stuck(1),
        &not_started.replace("c: fork b; c: end", "a: fork b"),
        "0",
        expect!["at the end: event 1: its thread does not wait"],
    );
    ends_in(
        stuck(1),
        "semaphore s = 1; a: semwait s; a: semwait s; a: fork b; b: external",
        "0",
        expect!["Real"],
    );
    ends_in(
        stuck(1),
        not_started,
        "0 1 3 4",
        expect!["at the end: thread 1 is neither finished nor blocked"],
    );
    let join =
        "semaphore s = 1; a: semwait s; a: fork b; a: join b; b: begin; b: semwait s; b: end";
    ends_in(stuck(4), join, "0 1 3", expect!["Real"]);
    ends_in(stuck(2), join, "0 1 3", expect!["at the end: event 2: its thread does not wait"]);
    let recursive = "semaphore s = 1; lock m recursive; a: semwait s; a: request semwait s; b: acquire m; b: request acquire m";
    ends_in(
        stuck(1),
        recursive,
        "0 1 2 3",
        expect!["at the end: thread 1 is neither finished nor blocked"],
    );
    ends_in(stuck(1), &recursive.replace("recursive", "plain"), "0 1 2 3", expect!["Real"]);
}

#[test]
fn a_double_lock_blocks_its_own_holder() {
    let text = "lock m plain; a: acquire m; a: request acquire m";
    ends_in(misuse(LockMisuse::DoubleLock, 1), text, "0 1", expect!["Real"]);
    ends_in(
        misuse(LockMisuse::DoubleLock, 1),
        text,
        "0",
        expect!["at the end: event 1: its thread is not at such an operation"],
    );
    let recursive = text.replace("plain", "recursive");
    ends_in(
        misuse(LockMisuse::DoubleLock, 1),
        &recursive,
        "0 1",
        expect!["at the end: event 1: the lock is recursive"],
    );
    let foreign = "a: acquire m; b: release m; a: acquire m; a: release m";
    ends_in(misuse(LockMisuse::DoubleLock, 2), foreign, "0", expect!["Real"]);
    ends_in(
        misuse(LockMisuse::DoubleLock, 2),
        foreign,
        "0 1",
        expect!["at the end: event 2: the thread does not have the lock"],
    );
    let shared = "a: acquire shared m; a: request acquire shared m";
    ends_in(
        misuse(LockMisuse::DoubleLock, 1),
        shared,
        "0 1",
        expect!["at the end: event 1: its thread is not at such an operation"],
    );
}

#[test]
fn an_unlock_needs_the_thread_s_own_hold() {
    let text = "a: acquire m; b: release m; b: acquire m; b: release m";
    ends_in(misuse(LockMisuse::UnlockNotHeld, 1), text, "", expect!["Real"]);
    ends_in(
        misuse(LockMisuse::UnlockNotHeld, 1),
        text,
        "0",
        expect!["at the end: event 1: somebody has the lock"],
    );
    ends_in(misuse(LockMisuse::UnlockByOther, 1), text, "0", expect!["Real"]);
    ends_in(
        misuse(LockMisuse::UnlockByOther, 1),
        text,
        "",
        expect!["at the end: event 1: no other thread has the lock exclusively and once"],
    );
    ends_in(
        misuse(LockMisuse::UnlockByOther, 3),
        text,
        "0 1 2",
        expect!["at the end: event 3: no other thread has the lock exclusively and once"],
    );
    ends_in(
        misuse(LockMisuse::UnlockNotHeld, 0),
        text,
        "",
        expect!["at the end: event 0: its thread is not at such an operation"],
    );
}

#[test]
fn a_lock_is_not_destroyed_while_held() {
    let text = "a: acquire m; a: release m; b: destroy m";
    ends_in(misuse(LockMisuse::DestroyHeld, 2), text, "0", expect!["Real"]);
    ends_in(
        misuse(LockMisuse::DestroyHeld, 2),
        text,
        "0 1",
        expect!["at the end: event 2: nobody has the lock"],
    );
}
