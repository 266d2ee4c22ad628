//! Mutual exclusion, lock errors and lock cycles.

use super::*;

#[test]
fn a_common_lock_excludes() {
    check(
        "t1: acquire m\nt1: write x : 1\nt1: release m\n\
         t2: acquire m\nt2: write x : 2\nt2: release m\n",
        expect![""],
    );
}

#[test]
fn readers_share() {
    check(
        "t1: acquire shared m\nt1: write x : 1\nt1: release shared m\n\
         t2: acquire shared m\nt2: write x : 2\nt2: release shared m\n",
        expect![[r#"
            race 1 4
        "#]],
    );
}

#[test]
fn a_failed_try_needs_a_conflicting_hold() {
    check(
        "t1: acquire m\n\
         t2: tryacquire m : fail\n\
         t2: write x : 1\n\
         t1: release m\n\
         t1: write x : 2\n",
        expect![[r#"
            race 2 4
        "#]],
    );
}

#[test]
fn opposite_orders_deadlock() {
    check(
        "t1: acquire a\nt1: acquire b\nt1: release b\nt1: release a\n\
         t2: acquire b\nt2: acquire a\nt2: release a\nt2: release b\n",
        expect![[r#"
            cycle 1 5
        "#]],
    );
}

#[test]
fn a_gate_lock_prevents_it() {
    check(
        "t1: acquire g\nt1: acquire a\nt1: acquire b\nt1: release b\nt1: release a\nt1: release g\n\
         t2: acquire g\nt2: acquire b\nt2: acquire a\nt2: release a\nt2: release b\nt2: release g\n",
        expect![""],
    );
}

#[test]
fn a_timed_acquire_is_not_part_of_a_cycle() {
    check(
        "t1: acquire a\nt1: timedacquire b : ok\nt1: release b\nt1: release a\n\
         t2: acquire b\nt2: acquire a\nt2: release a\nt2: release b\n",
        expect![""],
    );
}

#[test]
fn three_philosophers() {
    check(
        "t1: acquire a\nt1: acquire b\nt1: release b\nt1: release a\n\
         t2: acquire b\nt2: acquire c\nt2: release c\nt2: release b\n\
         t3: acquire c\nt3: acquire a\nt3: release a\nt3: release c\n",
        expect![[r#"
            cycle 1 5 9
        "#]],
    );
}

#[test]
fn two_upgrades_deadlock() {
    check(
        "t1: acquire shared m\nt1: request acquire m\n\
         t2: acquire shared m\nt2: request acquire m\n",
        expect![[r#"
            cycle 1 3
        "#]],
    );
}

#[test]
fn a_wait_with_another_lock_held_is_part_of_a_cycle() {
    // t1 wants m again and holds a; t2 holds m and wants a.
    check(
        "t1: acquire a\nt1: acquire m\nt1: timedwait c m\nt1: wake c m timeout\n\
         t1: release m\nt1: release a\n\
         t2: acquire m\nt2: acquire a\nt2: release a\nt2: release m\n",
        expect![[r#"
            cycle 1 7
            cycle 3 7
        "#]],
    );
}

#[test]
fn a_hung_double_lock() {
    check(
        "t1: acquire m\nt1: request acquire m\n",
        expect![[r#"
        double lock 1
    "#]],
    );
    check("lock m recursive\nt1: acquire m\nt1: request acquire m\n", expect![""]);
}

#[test]
fn a_foreign_release_predicts_misuse() {
    check(
        "t1: acquire m\nt2: release m\nt1: acquire m\nt1: release m\n",
        expect![[r#"
        double lock 2
        unlock not held 1
        unlock by other 1
    "#]],
    );
}

#[test]
fn an_unheld_release() {
    check(
        "t1: release m\nt2: acquire m\nt2: release m\n",
        expect![[r#"
        unlock not held 0
        unlock by other 0
    "#]],
    );
}

#[test]
fn recursive_holds_close_at_depth_one() {
    check(
        "t1: acquire m\nt1: acquire m\nt1: release m\nt1: write x : 1\nt1: release m\n\
         t2: acquire m\nt2: write x : 2\nt2: release m\n",
        expect![""],
    );
}

#[test]
fn destroyed_while_held() {
    check(
        "t1: acquire m\nt1: release m\nt2: destroy m\n",
        expect![[r#"
        destroy held 2
    "#]],
    );
}
