//! Section 3 where the models differ: what reads see, and what depends on it.
//!
//! In most of these t1 reads x in a critical section and then writes y. The race on y needs t2's
//! critical section, and so its write of x, to come first: where nothing forbids it, t1 then sees
//! another x than in the recorded run.

use super::*;

fn after_another_write(of_t1: &str, of_t2: &str) -> String {
    format!(
        "init x[0:1] = 0\n\
         t1: acquire l\n\
         {of_t1}\
         t1: write y[0:1] = 1\n\
         t1: release l\n\
         t2: acquire l\n\
         {of_t2}\
         t2: release l\n\
         t2: write y[0:1] = 2\n"
    )
}

fn after_five(between: &str) -> String {
    after_another_write(&format!("t1: a = read x[0:1] : 0\n{between}"), "t2: write x[0:1] = 5\n")
}

#[test]
fn a_read_that_nothing_depends_on_is_free() {
    check_models(
        &after_five(""),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 2 7
        "#]],
    );
}

#[test]
fn a_branch_keeps_its_way() {
    check_models(
        &after_five("t1: branch a < 5 : true\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: branch a < 6 : true\n"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: assume a < 5 : true\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
}

#[test]
fn an_assertion_that_held_goes_on_only_if_it_holds() {
    check_models(
        &after_five("t1: assert a < 5 : true\n"),
        expect![[r#"
            reads-from, values, symbolic:
            assertion 2
            control:
            race 3 8
            assertion 2
        "#]],
    );
    check_models(
        &after_five("t1: assert a == 1 : false\n"),
        expect![[r#"
            reads-from, values:
            assertion 2
            symbolic, control:
            race 3 8
            assertion 2
        "#]],
    );
}

#[test]
fn opaque_events_depend_on_all_reads() {
    check_models(
        &after_five("t1: external\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: branch : true\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: write z : 1\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: fence seq_cst\n"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 3 8
        "#]],
    );
}

#[test]
fn without_its_values_an_expression_does_not_count() {
    check_models(
        &after_five("t1: write z = a : ?\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 3 8
        "#]],
    );
    check_models(
        &after_five("t1: read u\nt1: b = read u\nt1: let c = b\nt1: branch c - c : false\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 6 11
        "#]],
    );
}

#[test]
fn what_is_computed_goes_through_memory() {
    let squared = |stored: u64| {
        after_another_write(
            "t1: a = read x[0:1] : 0\n\
             t1: let b = a - 1\n\
             t1: write z[0:1] = b * b : 1\n\
             t1: c = read z[0:1] : 1\n\
             t1: branch c : true\n",
            &format!("t2: write x[0:1] = {stored}\n"),
        )
    };
    check_models(
        &squared(1),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 6 11
        "#]],
    );
    check_models(
        &squared(2),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 6 11
        "#]],
    );
}

#[test]
fn unvalued_contents_are_seen_only_as_recorded() {
    // Whatever t2 leaves there, nobody can compute with it.
    check_models(
        &after_another_write("t1: read x[0:1] : 0\n", "t2: write x[0:1]\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 2 7
        "#]],
    );
    // As recorded, the read counts with its recorded value.
    check_models(
        &after_another_write(
            "t1: write x[0:1]\nt1: a = read x[0:1] : 3\nt1: branch a == 3 : true\n",
            "t2: write x[0:1] = 5\n",
        ),
        expect![[r#"
            race 4 9
        "#]],
    );
}

#[test]
fn values_are_put_together_from_bytes() {
    // x is 0x0100, and 0x0105 if t2 comes first.
    let branch = |condition: &str| {
        after_another_write(
            &format!(
                "t1: write x[1:1] = 1\nt1: a = read x[0:2] : 256\nt1: branch {condition} : true\n"
            ),
            "t2: write x[0:1] = 5\n",
        )
    };
    check_models(
        &branch("a != 261"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 4 9
        "#]],
    );
    check_models(
        &branch("a == 256 || a == 261"),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 4 9
        "#]],
    );
}

#[test]
fn what_a_read_modify_write_assumes_must_hold() {
    let increment = |assumption: &str| {
        after_another_write(
            &format!("t1: a = rmw x[0:1] : 0 -> a + 1 : 1{assumption}\n"),
            "t2: write x[0:1] = 5\n",
        )
    };
    check_models(
        &increment(""),
        expect![[r#"
            reads-from, values:
            symbolic, control:
            race 2 7
        "#]],
    );
    check_models(
        &increment(" assuming a == 0"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 2 7
        "#]],
    );
}

#[test]
fn a_read_modify_write_without_an_expression_depends_on_what_it_sees() {
    check_models(
        &after_another_write("t1: rmw x[0:1] : 0 -> 1\n", "t2: write x[0:1] = 5\n"),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 2 7
        "#]],
    );
}

#[test]
fn unknown_dependences_pin_all_reads() {
    check_models(
        &format!("dependences unknown\n{}", after_five("")),
        expect![[r#"
            reads-from, values, symbolic:
            control:
            race 2 7
        "#]],
    );
}

#[test]
fn a_read_with_an_unknown_writer_is_pinned() {
    check_models(
        "init x[0:1] = 0\n\
         t2: write y[0:1] = 2\n\
         t2: write x[0:1] = 5\n\
         t1: a = read x[0:1] : 7\n\
         t1: branch a == 7 : true\n\
         t1: write y[0:1] = 1\n",
        expect![[r#"
            reads-from, values, symbolic:
            race 1 2
            control:
            race 0 4
            race 1 2
        "#]],
    );
}
