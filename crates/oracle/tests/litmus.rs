//! One small trace per rule of sections 3 and 4 of `docs/theory.md`, with the exact set of violations.
//!
//! Events are numbered from 0 in recorded order. Where the models differ, both are shown.

use expect_test::{Expect, expect};
use foretrace_oracle::{check as check_schedule, explore, is_recorded_order_feasible};
use foretrace_trace::{EventId, Model, text};
use foretrace_witness::{LockMisuse, Violation};

fn check(input: &str, expected: Expect) {
    check_with(input, false, expected);
}

fn check_inferred(input: &str, expected: Expect) {
    check_with(input, true, expected);
}

fn check_with(input: &str, infer_regions: bool, expected: Expect) {
    let trace = text::parse(input).unwrap_or_else(|error| panic!("{error}"));
    let of = |model: Model| {
        assert!(is_recorded_order_feasible(&trace, model), "the recorded run is feasible");
        let explored = explore(&trace, model, infer_regions);
        assert!(explored.complete);
        for violation in &explored.violations {
            let witness = explored.witness(violation).expect("each violation has a witness");
            let verdict = check_schedule(&trace, model, infer_regions, &witness, violation);
            assert_eq!(verdict, Ok(()), "{violation:?}: {witness:?}");
        }
        explored.violations.iter().map(|violation| show(violation) + "\n").collect::<String>()
    };
    let (strict, lenient) = (of(Model::ReadsFrom), of(Model::Values));
    if strict == lenient {
        expected.assert_eq(&strict);
    } else {
        expected.assert_eq(&format!("reads-from:\n{strict}values:\n{lenient}"));
    }
}

fn show(violation: &Violation) -> String {
    let list = |events: &[EventId]| {
        let numbers: Vec<String> = events.iter().map(|event| event.0.to_string()).collect();
        numbers.join(" ")
    };
    match violation {
        Violation::Race(a, b) => format!("race {}", list(&[*a, *b])),
        Violation::Atomicity { first, remote, second } => {
            format!("atomicity {}", list(&[*first, *remote, *second]))
        }
        Violation::LockCycle(points) => format!("cycle {}", list(points)),
        Violation::Stuck(point) => format!("stuck {}", point.0),
        Violation::Lock(misuse, point) => {
            let name = match misuse {
                LockMisuse::DoubleLock => "double lock",
                LockMisuse::UnlockNotHeld => "unlock not held",
                LockMisuse::UnlockByOther => "unlock by other",
                LockMisuse::DestroyHeld => "destroy held",
            };
            format!("{name} {}", point.0)
        }
    }
}

mod papers {
    use super::*;

    /// Paper 002, Fig. 1, run 1: `get` is not synchronised.
    #[test]
    fn figure_1_run_1_races_on_a_x_alone() {
        check(
            "init a.x = 1\n\
             init b.x = 1\n\
             t1: fork t2\n\
             t1: fork t3\n\
             t2: acquire a\n\
             t2: read a.x : 1 @ 3\n\
             t2: read b.x : 1 @ 6\n\
             t2: write a.x : 2 @ 3\n\
             t2: release a\n\
             t3: acquire b\n\
             t3: read b.x : 1 @ 3\n\
             t3: read a.x : 2 @ 6\n\
             t3: write b.x : 3 @ 3\n\
             t3: release b\n",
            expect![[r#"
                race 5 9
            "#]],
        );
    }

    /// Paper 002, Fig. 1, run 2: `get` is synchronised.
    #[test]
    fn figure_1_run_2_deadlocks() {
        check(
            "init a.x = 1\n\
             init b.x = 1\n\
             t1: fork t2\n\
             t1: fork t3\n\
             t2: acquire a\n\
             t2: read a.x : 1 @ 3\n\
             t2: acquire b\n\
             t2: read b.x : 1 @ 6\n\
             t2: release b\n\
             t2: write a.x : 2 @ 3\n\
             t2: release a\n\
             t3: acquire b\n\
             t3: read b.x : 1 @ 3\n\
             t3: acquire a\n\
             t3: read a.x : 2 @ 6\n\
             t3: release a\n\
             t3: write b.x : 3 @ 3\n\
             t3: release b\n",
            expect![[r#"
                cycle 4 11
            "#]],
        );
    }

    /// Paper 002, Fig. 3: the read of x pins thread 2 between the two critical sections.
    #[test]
    fn figure_3_has_no_race_on_y() {
        check(
            "init x = 0\n\
             init y = 0\n\
             t1: acquire l\n\
             t1: write x : 10\n\
             t1: release l\n\
             t2: acquire l\n\
             t2: read x : 10\n\
             t2: write y : 20\n\
             t2: release l\n\
             t1: acquire l\n\
             t1: write x : 20\n\
             t1: release l\n\
             t1: write y : 30\n",
            expect![""],
        );
    }

    /// Paper 000, Fig. 10 (b), with a semaphore: the remote write cannot come between.
    #[test]
    fn a_semaphore_keeps_the_remote_access_out() {
        check(
            "semaphore s = 0\n\
             init x = 0\n\
             t1: region begin\n\
             t1: read x : 0\n\
             t1: write x : 1\n\
             t1: region end\n\
             t1: sempost s\n\
             t2: semwait s\n\
             t2: write x : 3\n",
            expect![""],
        );
    }
}

mod memory {
    use super::*;

    #[test]
    fn two_writes_race() {
        check(
            "t1: write x : 1\nt2: write x : 2\n",
            expect![[r#"
            race 0 1
        "#]],
        );
    }

    #[test]
    fn two_reads_do_not() {
        check("t1: read x : 0\nt2: read x : 0\n", expect![""]);
    }

    #[test]
    fn two_atomics_do_not_but_an_atomic_and_a_plain_access_do() {
        check(
            "t1: write x : 1 atomic\nt2: write x : 2 atomic\nt3: read x : 2\n",
            expect![[r#"
            race 0 2
            race 1 2
        "#]],
        );
    }

    #[test]
    fn a_read_waits_for_its_writer_or_its_value() {
        // Event 3 meets event 0 only if the read sees the same value from event 2.
        check(
            "init x = 0\n\
             t1: write x : 1\n\
             t2: read x : 1\n\
             t3: write x : 1\n\
             t2: write x : 5\n",
            expect![[r#"
                reads-from:
                race 0 1
                race 0 2
                race 1 2
                race 2 3
                values:
                race 0 1
                race 0 2
                race 0 3
                race 1 2
                race 2 3
            "#]],
        );
    }

    #[test]
    fn bytes_overlap() {
        check(
            "t1: write x[0:2] : 1\nt2: write x[1:2] : 1\nt2: write x[2:1] : 1\n",
            expect![[r#"
            race 0 1
        "#]],
        );
    }

    #[test]
    fn a_read_may_see_two_writers() {
        // Byte 0 comes from event 0 and byte 1 from event 1, so both must be executed.
        check(
            "init x = 0\n\
             t1: write x[0:1] : 1\n\
             t2: write x[1:1] : 1\n\
             t3: read x[0:2] : 0x0101\n\
             t3: write y : 1\n\
             t1: read y : 1\n",
            expect![[r#"
                race 0 2
                race 1 2
                race 3 4
            "#]],
        );
    }

    #[test]
    fn an_unvalued_write_is_known_by_itself() {
        check(
            "t1: write x\n\
             t2: read x\n\
             t2: write y : 1\n\
             t1: write x\n\
             t1: write y : 2\n",
            expect![[r#"
                race 0 1
                race 1 3
                race 2 4
            "#]],
        );
    }

    #[test]
    fn an_unknown_writer_needs_all_that_was_recorded_before() {
        check(
            "init x = 0\n\
             t1: write z : 1\n\
             t2: read x : 7\n\
             t2: write z : 2\n",
            expect![""],
        );
    }

    #[test]
    fn an_undeclared_first_read_gives_the_initial_value() {
        check(
            "t1: read x : 4\n\
             t2: write x : 4\n\
             t1: write y : 1\n\
             t2: write y : 1\n",
            expect![[r#"
                race 0 1
                race 2 3
            "#]],
        );
    }

    #[test]
    fn accesses_need_a_live_object() {
        check(
            "t1: alloc h size 8\n\
             t1: write h : 1\n\
             t2: read h : 1\n\
             t2: free h\n",
            expect![[r#"
                race 1 2
            "#]],
        );
    }

    #[test]
    fn a_used_address_is_used_again_after_the_free() {
        check(
            "t1: alloc h size 8 at 0x1000\n\
             t1: write h : 1\n\
             t1: write flag : 1\n\
             t1: free h\n\
             t2: alloc k size 8 at 0x1004\n\
             t2: write flag : 2\n",
            expect![""],
        );
    }
}

mod locks {
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
}

mod waiting {
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
}

mod threads {
    use super::*;

    #[test]
    fn fork_and_join_order() {
        check(
            "t1: write x : 1\nt1: fork t2\nt1: write y : 1\nt2: write x : 2\nt2: write y : 2\n\
             t1: join t2\nt1: write x : 3\nt1: write y : 3\n",
            expect![[r#"
                race 2 4
            "#]],
        );
    }

    #[test]
    fn nothing_follows_an_exit() {
        check(
            "t1: write x : 1\nt2: write y : 1\nt1: write y : 2\nt2: exit\n",
            expect![[r#"
            race 1 2
        "#]],
        );
    }
}

mod atomicity {
    use super::*;

    #[test]
    fn the_five_patterns() {
        // RWR, RWW, WRW, WWR, WWW: every pair of the region, with each remote access.
        check(
            "t1: region begin\n\
             t1: read x : 0\n\
             t1: write x : 0\n\
             t1: region end\n\
             t2: write x : 0\n",
            expect![[r#"
                race 1 4
                race 2 4
                atomicity 1 4 2
            "#]],
        );
        check(
            "t1: region begin\nt1: write x : 1\nt1: write x : 2\nt1: region end\nt2: read x : 2\n",
            expect![[r#"
                race 1 4
                race 2 4
                atomicity 1 4 2
            "#]],
        );
    }

    #[test]
    fn the_value_of_a_last_remote_read_is_free() {
        // The remote read saw 2 and would see 1 between the writes; it is the last of its thread.
        check(
            "t1: region begin\nt1: write x : 1\nt1: write x : 2\nt1: region end\n\
             t2: read x : 2\nt2: write z : 1\n\
             t3: write z : 2\n",
            expect![[r#"
                race 1 4
                race 2 4
                race 5 6
                atomicity 1 4 2
            "#]],
        );
    }

    #[test]
    fn a_remote_read_modify_write_is_pinned() {
        check(
            "t1: region begin\nt1: write x : 1\nt1: write x : 2\nt1: region end\n\
             t2: rmw x : 2 -> 5\n",
            expect![[r#"
                race 1 4
                race 2 4
            "#]],
        );
    }

    #[test]
    fn only_one_read_is_free() {
        // r of t2 would have to be free for t3 to go on to its own remote read of y.
        check(
            "init x = 0\ninit y = 0\n\
             t1: region begin\nt1: write x : 1\nt1: write y : 1\nt1: write y : 2\nt1: write x : 2\nt1: region end\n\
             t2: read x : 2\n\
             t3: join t2\n\
             t3: read y : 2\n",
            expect![[r#"
                race 1 6
                race 4 6
                atomicity 1 6 4
            "#]],
        );
    }

    #[test]
    fn critical_sections_are_regions_if_asked() {
        let text = "t1: acquire m\nt1: read x : 0\nt1: write x : 1\nt1: release m\n\
                    t2: write x : 2\n";
        check(
            text,
            expect![[r#"
            race 1 4
            race 2 4
        "#]],
        );
        check_inferred(
            text,
            expect![[r#"
            race 1 4
            race 2 4
            atomicity 1 4 2
        "#]],
        );
    }

    #[test]
    fn a_section_with_a_wait_is_none() {
        check_inferred(
            "t1: acquire n\nt1: acquire m\nt1: read x : 0\nt1: timedwait c m\nt1: wake c m timeout\n\
             t1: write x : 1\nt1: release m\nt1: release n\n\
             t2: write x : 2\n",
            expect![[r#"
                race 2 8
                race 5 8
            "#]],
        );
    }

    #[test]
    fn the_inner_end_does_not_end_a_region() {
        check(
            "t1: region begin\nt1: region begin\nt1: read x : 0\nt1: region end\nt1: read x : 0\n\
             t1: region end\nt1: read x : 0\n\
             t2: write x : 1\n",
            expect![[r#"
                race 2 7
                race 4 7
                race 6 7
                atomicity 2 7 4
            "#]],
        );
    }
}
