//! Accepted and refuted schedules for every violation of section 4.

use expect_test::expect;

use super::on;

#[test]
fn a_race_is_between_two_next_accesses() {
    let text =
        "a: acquire m; a: write x = 1; a: release m; b: read x : 1; b: write x = 2; b: external";
    on(text).gives(expect![[r#"
        race 1 3: 0 => Real
        race 3 1: 0 => Real
        race 1 3: => at the end: event 1: its thread is elsewhere
        race 1 3: 0 1 => at the end: event 1: its thread is elsewhere
        race 1 4: 0 => at the end: event 4: its thread is elsewhere
        race 3 4: => this is no violation: both accesses are of one thread
        race 1 5: 0 => this is no violation: a race is between accesses
        race 1 77: 0 => this is no violation: the trace has no such event
    "#]]);
    on("a: read x : 0; b: read x : 0")
        .gives(expect!["race 0 1: => this is no violation: the accesses do not conflict"]);
    on("a: write x[0:4] = 0; b: write x[4:4] = 0")
        .gives(expect!["race 0 1: => this is no violation: the accesses do not conflict"]);
    on("a: write x = 0 atomic; b: write x = 0 atomic relaxed")
        .gives(expect!["race 0 1: => this is no violation: both accesses are atomic"]);
    on("a: write x = 0 atomic; b: write x = 0").gives(expect!["race 0 1: => Real"]);
}

#[test]
fn a_race_needs_started_threads_and_a_live_object() {
    let forked = "a: fork b; a: write x = 1; b: write x = 2";
    on(forked).gives(expect!["race 1 2: 0 => Real"]);
    on("a: write x = 1; a: fork b; b: write x = 2")
        .gives(expect!["race 0 2: => at the end: event 2: its thread is not started"]);
    let freed = "c: alloc x size 8; a: write x = 1; b: write x = 2; c: free x";
    on(freed).gives(expect![[r#"
        race 1 2: 0 => Real
        race 1 2: => at the end: event 1: its object is not live
        race 1 2: 0 3 => at the end: event 1: its object is not live
    "#]]);
    on("a: write x = 1; b: write x = 2; c: exit")
        .gives(expect!["race 0 1: 2 => at the end: the process has exited"]);
}

const REGION: &str = "a: region begin; a: read x : 0; a: write x = 1; a: region end; b: write x = 2; b: external; b: read x : 2";

#[test]
fn an_atomicity_violation_has_its_remote_access_in_between() {
    on(REGION).gives(expect![[r#"
        atomicity 1 4 2: 0 1 4 => Real
        atomicity 1 4 2: 0 1 4 5 => Real
        atomicity 1 4 2: 0 1 => at the end: event 4: the remote access is not executed
        atomicity 1 4 2: 0 4 => at the end: event 1: the first access is not executed
        atomicity 1 4 2: 0 1 4 2 => at the end: event 2: its thread is elsewhere
        atomicity 2 4 1: 0 1 4 => this is no violation: the second access does not come after the first
        atomicity 1 2 4: 0 1 4 => this is no violation: the first and the second access are of different threads
        atomicity 1 2 2: 0 1 => this is no violation: the remote access is of the same thread
        atomicity 1 6 2: 0 1 => this is no violation: the remote access does not conflict with both others
        atomicity 1 5 2: 0 1 => this is no violation: an atomicity violation is between accesses
    "#]]);
    let order = "a: region begin; a: write x = 1; a: read x : 1; b: write x = 1";
    on(order).gives(expect![
        "atomicity 1 3 2: 0 3 1 => at the end: event 3: the remote access comes before the first"
    ]);
}

#[test]
fn regions_are_declared_or_inferred() {
    let open = "a: region begin; a: region begin; a: read x : 0; a: region end; a: read x : 0; b: write x = 1";
    on(open).gives(expect!["atomicity 2 5 4: 0 1 2 5 3 => Real"]);
    let outside = "a: region begin; a: read x : 0; a: region end; a: read x : 0; b: write x = 1";
    on(outside).gives(expect!["atomicity 1 4 3: 0 1 4 2 => at the end: event 3: it is not in one region with the first access"]);
    let section = "a: acquire m; a: read x : 0; a: read x : 0; a: release m; b: write x = 1";
    on(section).gives(expect!["atomicity 1 4 2: 0 1 4 => Real"]);
    let never_closed = "a: acquire m; a: read x : 0; a: read x : 0; b: write x = 1";
    on(never_closed).gives(expect!["atomicity 1 3 2: 0 1 3 => at the end: event 2: it is not in one region with the first access"]);
    let foreign = "a: acquire m; a: read x : 0; a: read x : 0; b: write x = 1; b: release m";
    on(foreign).gives(expect!["atomicity 1 3 2: 0 1 3 => at the end: event 2: it is not in one region with the first access"]);
    let waiting = "a: acquire m; a: acquire n; a: read x : 0; a: timedwait c n; a: wake c n timeout; a: read x : 0; a: read x : 0; a: release n; a: release m; b: write x = 1";
    on(waiting).gives(expect![[r#"
        atomicity 2 9 5: 0 1 2 3 4 9 => at the end: event 5: it is not in one region with the first access
        atomicity 5 9 6: 0 1 2 3 4 5 9 => Real
    "#]]);
}

#[test]
fn a_remote_read_at_the_end_of_its_thread_is_free() {
    let text = "a: region begin; a: write x = 1; a: write x = 2; b: read x : 2; b: external";
    on(text).gives(expect![[r#"
        atomicity 1 3 2: 0 1 3 => Real
        atomicity 1 3 2: 0 1 3 4 => step 2: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left
    "#]]);
    let unknown = "a: region begin; a: write x = 1; a: write x = 2; b: read x : 7; b: external";
    on(unknown).gives(expect![[r#"
        atomicity 1 3 2: 0 1 3 => Real
        atomicity 1 3 2: 0 1 3 4 => step 2: event 3 has an unknown writer, and event 2 was recorded before it
    "#]]);
    let rmw = "a: region begin; a: write x = 1; a: write x = 2; b: rmw x : 2 -> 3";
    on(rmw).gives(expect!["atomicity 1 3 2: 0 1 3 => step 2: event 3 reads what event 1 left in object 0 at 0, but expects what event 2 left"]);
    let dead = "c: alloc x size 8; a: region begin; a: write x = 1; a: write x = 2; b: read x : 2; c: free x";
    on(dead).gives(expect![[r#"
        atomicity 2 4 3: 0 1 2 4 => Real
        atomicity 2 4 3: 0 1 2 5 4 => step 4: event 4 uses object 0, which is not live
    "#]]);
}

const PHILOSOPHERS: &str = "a: acquire m; a: acquire n; a: release n; a: release m; b: acquire n; b: acquire m; b: release m; b: release n";

#[test]
fn a_lock_cycle_has_each_thread_wait_for_the_next() {
    on(PHILOSOPHERS).gives(expect![[r#"
        cycle 1 5: 0 4 => Real
        cycle 5 1: 0 4 => Real
        cycle 1 5: 0 => at the end: event 1: the next thread of the cycle does not hold its lock
        cycle 1 4: 0 => at the end: event 1: the next thread of the cycle does not hold its lock
        cycle 0 4: 0 4 => at the end: event 0: its thread is elsewhere
        cycle 1: 0 => this is no violation: a lock cycle has at least two threads
        cycle 0 1: 0 => this is no violation: a thread is twice in the cycle
    "#]]);
    let timed = PHILOSOPHERS.replace("a: acquire n", "a: timedacquire n : ok");
    on(&timed).gives(expect![
        "cycle 1 5: 0 4 => at the end: event 1: its thread is not at a blocked acquire"
    ]);
}

#[test]
fn a_lock_cycle_knows_upgrades_requests_and_wakes() {
    let upgrade = "a: acquire shared m; a: acquire m; a: release m; a: release shared m; b: acquire shared m; b: acquire m";
    on(upgrade).gives(expect!["cycle 1 5: 0 4 => Real"]);
    let shared =
        "a: acquire shared m; a: acquire shared n; b: acquire shared n; b: acquire shared m";
    on(shared).gives(expect![
        "cycle 1 3: 0 2 => at the end: event 1: the next thread of the cycle does not hold its lock"
    ]);
    let requests = "a: acquire m; a: request acquire n; b: acquire n; b: request acquire m";
    on(requests).gives(expect![[r#"
        cycle 1 3: 0 1 2 3 => Real
        cycle 1 3: 0 2 => at the end: event 1: its thread is not at a blocked acquire
    "#]]);
    let wake = "a: acquire n; a: acquire m; a: timedwait c m; a: wake c m timeout; a: release m; a: release n; b: acquire n; b: release n; b: acquire m; b: acquire n";
    on(wake).gives(expect!["cycle 3 9: 6 7 0 1 2 8 => Real"]);
    let wait = "a: acquire n; a: acquire m; a: wait c m; b: acquire m; b: request acquire n";
    on(wait).gives(expect!["cycle 2 4: 0 1 2 3 4 => Real"]);
}

#[test]
fn a_missed_signal_leaves_its_waiter_stuck() {
    let text = "a: begin; a: acquire m; a: wait c m; b: begin; b: signal c; b: end; a: wake c m; a: release m; a: end";
    on(text).gives(expect![[r#"
        stuck 6: 3 4 5 0 1 2 => Real
        stuck 6: 0 1 2 3 4 5 => step 4: event 4 has to wake the wait 2, which must not be woken
        stuck 6: 3 0 1 2 => at the end: thread 1 is neither finished nor blocked
        stuck 2: 3 4 5 0 1 2 => at the end: event 2: its thread is elsewhere
        stuck 5: 3 4 0 1 2 => at the end: event 5: its thread does not wait
    "#]]);
    let broadcast = text.replace("signal", "broadcast");
    on(&broadcast).gives(expect![
        "stuck 6: 0 1 2 3 4 5 => step 4: event 4 has to wake the wait 2, which must not be woken"
    ]);
    let timed = text.replace("wait", "timedwait");
    on(&timed)
        .gives(expect!["stuck 6: 3 4 5 0 1 2 => at the end: event 6: its thread does not wait"]);
}

#[test]
fn a_signal_may_wake_another_waiter_than_the_stuck_one() {
    let text = "a: acquire m; a: wait c m; b: acquire m; b: wait c m; d: signal c; d: end; b: wake c m; b: release m; b: end; d2: acquire q; d2: end";
    on(text).gives(expect![[r#"
        stuck 1: 0 1 2 3 4 5 6 7 8 9 10 => Real
        // A thread whose wait has been notified is not blocked while its lock is free ...
        stuck 1: 0 1 2 3 4 5 9 10 => step 4: event 4 has to wake the wait 1, which must not be woken
    "#]]);
    // ... but is if somebody has its lock, so that the signal may go to it.
    let held = "a: acquire m; a: wait c m; b: acquire n; b: wait c n; d: signal c; d: acquire n; d: end; b: wake c n";
    on(held).gives(expect![[r#"
        stuck 1: 0 1 2 3 4 5 6 => Real
        stuck 7: 0 1 2 3 4 5 6 => step 4: event 4 has to wake the wait 1, which must not be woken
    "#]]);
}

#[test]
fn stuck_at_semaphores_barriers_and_requests() {
    let semaphore =
        "semaphore s = 1; a: semwait s; a: end; b: semwait s; b: end; c: sempost s; c: end";
    on(semaphore)
        .gives(expect!["stuck 2: 0 1 => at the end: thread 2 is neither finished nor blocked"]);
    let lost = "semaphore s = 1; a: semwait s; a: end; b: sempost s; b: semwait s; b: end";
    on(lost).gives(expect!["stuck 3: 0 1 2 => at the end: event 3: its thread does not wait"]);
    let request = "semaphore s = 1; a: semwait s; a: request semwait s";
    on(request).gives(expect![[r#"
        stuck 1: 0 1 => Real
        stuck 1: 0 => at the end: event 1: its thread does not wait
    "#]]);
    let try_wait =
        "semaphore s = 1; a: trysemwait s : ok; a: end; b: trysemwait s : ok; b: end; b: sempost s";
    on(try_wait).gives(expect!["stuck 2: 0 1 => at the end: event 2: its thread does not wait"]);
    let barrier = "barrier r = 2; a: arrive r";
    on(barrier).gives(expect![[r#"
        stuck 0: 0 => Real
        stuck 0: => at the end: event 0: its thread does not wait
    "#]]);
    let leave = "barrier r = 2; a: arrive r; b: branch : true; b: arrive r; a: leave r; b: leave r";
    on(leave).gives(expect!["stuck 3: 0 => at the end: thread 1 is neither finished nor blocked"]);
}

#[test]
fn stuck_in_calls_that_nobody_feeds() {
    let pipe = "b: acquire m; b: release m; b: enter-call >x; b: leave-call; b: end; a: acquire m; a: enter-call <p waits-for d piece x; a: leave-call; a: release m; a: end";
    on(pipe).gives(expect![[r#"
        stuck 7: 5 6 => Real
        stuck 7: 5 => at the end: event 7: its thread is elsewhere
        // The write has begun.
        stuck 7: 0 1 2 3 4 5 6 => at the end: event 7: its thread does not wait
    "#]]);
    let plain = pipe.replace(" waits-for d piece x", "");
    on(&plain).gives(expect!["stuck 7: 5 6 => at the end: event 7: its thread does not wait"]);
    let closed = "b: enter-call >d; b: leave-call; b: acquire m; b: release m; b: enter-call >x; b: leave-call; b: end; a: acquire m; a: enter-call waits-for d piece x; a: leave-call; a: release m; a: end";
    on(closed).gives(expect![[r#"
        stuck 9: 0 1 7 8 => at the end: event 9: its thread does not wait
        stuck 9: 7 8 => at the end: thread 0 is neither finished nor blocked
    "#]]);
    // What is there for another reader is there.
    let order = "b: enter-call >x; b: leave-call; b: end; c: acquire m; c: enter-call r waits-for d piece x; c: leave-call; c: enter-call >y; c: leave-call; c: release m; c: end; a: acquire m; a: enter-call r waits-for d piece y; a: leave-call; a: release m; a: end";
    on(order).gives(expect![[r#"
        stuck 12: 0 1 2 10 11 => at the end: event 12: its thread does not wait
        stuck 12: 10 11 => at the end: thread 0 is neither finished nor blocked
    "#]]);
    let hung = "a: enter-call p waits-for d; b: enter-call * ; b: leave-call; b: end";
    on(hung).gives(expect![[r#"
        stuck 0: 0 => at the end: thread 1 is neither finished nor blocked
        stuck 0: 0 1 2 3 => at the end: event 0: its thread does not wait
    "#]]);
    on("a: enter-call p waits-for p").gives(expect!["stuck 0: 0 => Real"]);
    on("a: enter-call p")
        .gives(expect!["stuck 0: 0 => at the end: event 0: its thread does not wait"]);
}

#[test]
fn a_stuck_state_blocks_joins_and_acquires_too() {
    let locked = "semaphore s = 1; a: semwait s; a: acquire m; a: end; b: semwait s; c: acquire m; c: release m; c: end; d: request join b; e: acquire shared m";
    on(locked).gives(expect![[r#"
        stuck 3: 0 1 2 7 => Real
        // `a` is finished, and has the lock.
        stuck 4: 0 1 2 7 => Real
    "#]]);
    let silent = "semaphore s = 1; a: semwait s; a: external; b: semwait s";
    on(silent)
        .gives(expect!["stuck 2: 0 1 => at the end: thread 0 is neither finished nor blocked"]);
    let unforked = "semaphore s = 1; a: semwait s; a: fork b; b: semwait s";
    on(unforked)
        .gives(expect!["stuck 2: 0 1 => at the end: thread 0 is neither finished nor blocked"]);
    let not_started =
        "semaphore s = 1; a: semwait s; a: request semwait s; b: external; c: fork b; c: end";
    on(&not_started.replace("c: fork b; c: end", "a: fork b"))
        .gives(expect!["stuck 1: 0 => at the end: event 1: its thread does not wait"]);
    on("semaphore s = 1; a: semwait s; a: semwait s; a: fork b; b: external")
        .gives(expect!["stuck 1: 0 => Real"]);
    on(not_started)
        .gives(expect!["stuck 1: 0 1 3 4 => at the end: thread 1 is neither finished nor blocked"]);
    let join =
        "semaphore s = 1; a: semwait s; a: fork b; a: join b; b: begin; b: semwait s; b: end";
    on(join).gives(expect![[r#"
        stuck 4: 0 1 3 => Real
        stuck 2: 0 1 3 => at the end: event 2: its thread does not wait
    "#]]);
    let recursive = "semaphore s = 1; lock m recursive; a: semwait s; a: request semwait s; b: acquire m; b: request acquire m";
    on(recursive)
        .gives(expect!["stuck 1: 0 1 2 3 => at the end: thread 1 is neither finished nor blocked"]);
    on(&recursive.replace("recursive", "plain")).gives(expect!["stuck 1: 0 1 2 3 => Real"]);
}

#[test]
fn a_double_lock_blocks_its_own_holder() {
    let text = "lock m plain; a: acquire m; a: request acquire m";
    on(text).gives(expect![[r#"
        double-lock 1: 0 1 => Real
        double-lock 1: 0 => at the end: event 1: its thread is not at such an operation
    "#]]);
    let recursive = text.replace("plain", "recursive");
    on(&recursive)
        .gives(expect!["double-lock 1: 0 1 => at the end: event 1: the lock is recursive"]);
    let foreign = "a: acquire m; b: release m; a: acquire m; a: release m";
    on(foreign).gives(expect![[r#"
        double-lock 2: 0 => Real
        double-lock 2: 0 1 => at the end: event 2: the thread does not have the lock
    "#]]);
    let shared = "a: acquire shared m; a: request acquire shared m";
    on(shared).gives(expect![
        "double-lock 1: 0 1 => at the end: event 1: its thread is not at such an operation"
    ]);
}

#[test]
fn an_unlock_needs_the_thread_s_own_hold() {
    let text = "a: acquire m; b: release m; b: acquire m; b: release m";
    on(text).gives(expect![[r#"
        unlock-not-held 1: => Real
        unlock-not-held 1: 0 => at the end: event 1: somebody has the lock
        unlock-by-other 1: 0 => Real
        unlock-by-other 1: => at the end: event 1: no other thread has the lock exclusively and once
        unlock-by-other 3: 0 1 2 => at the end: event 3: no other thread has the lock exclusively and once
        unlock-not-held 0: => at the end: event 0: its thread is not at such an operation
    "#]]);
}

#[test]
fn a_lock_is_not_destroyed_while_held() {
    let text = "a: acquire m; a: release m; b: destroy m";
    on(text).gives(expect![[r#"
        destroy-held 2: 0 => Real
        destroy-held 2: 0 1 => at the end: event 2: nobody has the lock
    "#]]);
}
