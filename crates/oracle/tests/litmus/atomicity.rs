//! Atomicity violations.

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
