//! Condition variables, semaphores, barriers, and the stuck state.

use super::*;

#[test]
fn a_signal_may_come_too_early() {
    check(
        "t1: acquire m\nt1: wait c m\n\
         t2: acquire m\nt2: signal c\nt2: release m\nt2: end\n\
         t1: wake c m\nt1: release m\nt1: end\n",
        expect![[r#"
            stuck 6
        "#]],
    );
}

#[test]
fn one_signal_is_not_enough_for_two() {
    // Either the signal comes too early for both, or t2 is left as in the recorded run.
    check(
        "t1: acquire m\nt1: wait c m\n\
         t2: acquire m\nt2: wait c m\n\
         t3: signal c\nt3: end\n\
         t1: wake c m\nt1: release m\nt1: end\n",
        expect![[r#"
            stuck 3
            stuck 6
        "#]],
    );
}

#[test]
fn a_timed_waiter_may_take_the_signal_and_is_then_not_followed() {
    // If the signal reaches t2, t2 did not time out, and what it does is not known: not stuck.
    check(
        "t1: acquire m\nt1: wait c m\n\
         t2: acquire m\nt2: timedwait c m\n\
         t3: acquire m\nt3: read x : 0\nt3: signal c\nt3: release m\nt3: end\n\
         t1: wake c m\nt1: release m\nt1: end\n\
         t2: wake c m timeout\nt2: write x : 0\nt2: release m\nt2: end\n",
        expect![[r#"
            stuck 9
        "#]],
    );
}

#[test]
fn a_broadcast_wakes_all_that_wait() {
    check(
        "t1: acquire m\nt1: wait c m\n\
         t2: acquire m\nt2: broadcast c\nt2: release m\nt2: end\n\
         t1: wake c m\nt1: write x : 1\nt1: release m\nt1: end\n\
         t3: write x : 2\nt3: end\n",
        expect![[r#"
            race 7 10
            stuck 6
        "#]],
    );
}

#[test]
fn a_spurious_wake_needs_no_signal() {
    check(
        "t1: acquire m\nt1: wait c m\nt1: wake c m spurious\nt1: write x : 1\nt1: release m\n\
         t2: acquire m\nt2: signal c\nt2: release m\nt2: write x : 2\n",
        expect![[r#"
            race 3 8
        "#]],
    );
}

#[test]
fn a_thread_without_an_end_is_not_stuck() {
    check(
        "t1: acquire m\nt1: wait c m\n\
         t2: signal c\n\
         t1: wake c m\nt1: release m\nt1: end\n",
        expect![""],
    );
}

#[test]
fn semaphores_order_and_block() {
    check(
        "semaphore s = 0\n\
         t1: write x : 1\nt1: sempost s\nt1: end\n\
         t2: semwait s\nt2: write x : 2\nt2: end\n",
        expect![""],
    );
}

#[test]
fn the_taker_that_does_not_post_goes_first() {
    // t1 takes and posts, t2 takes. If t2 goes first, t1 waits for ever.
    check(
        "semaphore s = 1\n\
         t1: semwait s\nt1: sempost s\nt1: end\n\
         t2: semwait s\nt2: end\n",
        expect![[r#"
            stuck 0
        "#]],
    );
}

#[test]
fn an_undeclared_semaphore_starts_with_the_least() {
    check(
        "t1: semwait s\nt1: sempost s\nt1: end\nt2: semwait s\nt2: end\n\
         t3: semwait s2\nt3: end\n",
        expect![[r#"
            stuck 0
        "#]],
    );
}

#[test]
fn a_failed_semaphore_wait_needs_zero() {
    check(
        "semaphore s = 0\n\
         t2: trysemwait s : fail\nt2: write x : 1\n\
         t1: sempost s\nt1: write x : 2\n",
        expect![[r#"
            race 1 3
        "#]],
    );
}

#[test]
fn barriers_separate() {
    check(
        "t1: write x : 1\nt1: arrive b\nt2: write x : 2\nt2: arrive b\n\
         t1: leave b\nt1: write y : 1\nt1: end\nt2: leave b\nt2: write x : 3\nt2: end\n",
        expect![[r#"
            race 0 2
        "#]],
    );
}

#[test]
fn a_barrier_with_a_party_too_few() {
    check(
        "barrier b = 3\nt1: arrive b\nt2: arrive b\n",
        expect![[r#"
        stuck 0
        stuck 1
    "#]],
    );
}

#[test]
fn hung_runs() {
    check(
        "semaphore s = 0\n\
         t1: request semwait s\n\
         t2: request join t1\n",
        expect![[r#"
            stuck 0
        "#]],
    );
}
