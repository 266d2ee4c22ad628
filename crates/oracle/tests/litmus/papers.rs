//! Figures of papers 000 and 002 as traces.

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
