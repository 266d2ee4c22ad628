//! What reads may see, and memory that lives and dies.

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
