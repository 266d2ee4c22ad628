//! Assertions under all models, and the reads that are released for them.

use expect_test::expect;
use foretrace_trace::EventId;
use foretrace_verdict::{Certainty, Model, Violation};

use super::{control, on, schedule, symbolic, trace, under};
use crate::checker::{CheckOptions, Checker};

/// Wang, Kundu, Limaye, Ganai and Gupta, *Symbolic Predictive Analysis for Concurrent Programs*,
/// figure 1.
const FIGURE_1: &str = "\
init x = 0
init y = 0
T1: a = read x : 0
T1: acquire l
T1: write x = 2 + a
T1: release l
T1: write y = 1 + a
T1: acquire l
T1: write x = 1 + a
T1: release l
T2: let b = 0
T2: acquire l
T2: c = read x : 1
T2: branch c > b
T2: d = read y : 1
T2: assert d == 1
T2: release l
";

#[test]
fn figure_1_needs_the_values_that_are_computed() {
    let assertion = Violation::Assertion(EventId(13));
    // t1-t4, t9-t11, and t12 up to its read.
    let witness = schedule("0 1 2 3 8 9 10 11 12");
    let check = |text: &str, model| {
        let figure = trace(text);
        Checker::new(&figure, model, CheckOptions::default()).check(&assertion, &witness)
    };
    assert_eq!(check(FIGURE_1, Model::Symbolic), Ok(Certainty::Real));
    assert_eq!(check(FIGURE_1, Model::Control), Ok(Certainty::Possible));
    expect![
        "step 6: event 10 reads what event 2 left in object 0 at 0, but expects what event 6 left"
    ]
    .assert_eq(&check(FIGURE_1, Model::Values).unwrap_err().to_string());
    // If x is 1 from the first section on, only y differs, and only the assertion reads it.
    let same = FIGURE_1.replace("2 + a", "1 + a");
    assert_eq!(check(&same, Model::Symbolic), Ok(Certainty::Real));
    assert_eq!(check(&same, Model::Values), Ok(Certainty::Real));
    expect![
        "step 6: event 10 reads what event 2 left in object 0 at 0, but expects what event 6 left"
    ]
    .assert_eq(&check(&same, Model::ReadsFrom).unwrap_err().to_string());
}

#[test]
fn an_assertion_fails_if_its_expression_is_false() {
    let text = "init x = 0; a: write x = 5; b: r = read x : 5; b: assert r == 5; b: external";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        under(model, text).gives(expect![[r#"
            assertion 2: 1 => Real
            assertion 2: 0 1 => at the end: event 2: the assertion holds, its condition gives 1
            assertion 2: 0 => at the end: event 2: its thread is elsewhere
            assertion 1: 0 => this is no violation: it is not at an assertion
        "#]]);
    }
    // One that was recorded to fail is a violation where it was recorded, and not where it holds.
    let failed = "init x = 0; a: write x = 5; b: r = read x : 5; b: assert r == 0";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        under(model, failed).gives(expect![[r#"
            assertion 2: 0 1 => Real
            assertion 2: 1 => at the end: event 2: the assertion holds, its condition gives 1
        "#]]);
    }
}

#[test]
fn an_opaque_assertion_fails_only_as_recorded() {
    let text = "init x = 0; a: write x = 5; b: r = read x : 5; b: assert : false";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        under(model, text).gives(expect!["assertion 2: 0 1 => Real"]);
    }
    on(text).gives(expect!["assertion 2: 1 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    symbolic(text).gives(expect!["assertion 2: 1 => at the end: event 2: the assertion may depend on event 1, which is not as recorded: it reads 0 instead of 5"]);
    control(text).gives(expect!["assertion 2: 1 => Possible"]);
    let held = text.replace("false", "true");
    symbolic(&held).gives(expect!["assertion 2: 0 1 => at the end: event 2: the assertion held, and what it depends on is not known"]);
    control(&held).gives(expect!["assertion 2: 1 => Possible"]);
    let unvalued = "init x = 0; a: write x = 5; b: r = read x; b: assert r == 5 : false";
    symbolic(unvalued).gives(expect![[r#"
        assertion 2: 0 1 => Real
        assertion 2: 1 => at the end: event 2: the assertion may depend on event 1, which is not as recorded: it reads 0 instead of an unrecorded value
    "#]]);
}

#[test]
fn only_reads_that_nothing_else_uses_are_released() {
    let between = |events: &str| {
        format!("init x = 0; a: write x = 5; b: r = read x : 5; {events} b: assert r == 5")
    };
    for model in [Model::Values, Model::ReadsFrom] {
        under(model, &between("")).gives(expect!["assertion 2: 1 => Real"]);
        for harmless in ["write y = 7", "acquire m", "let s = 3", "branch 1"] {
            let text = between(&format!("b: {harmless}; "));
            under(model, &text).gives(expect!["assertion 3: 1 2 => Real"]);
        }
    }
    for user in ["write y = r", "let s = r", "branch r > 3", "external", "write y", "assert : true"]
    {
        on(&between(&format!("b: {user}; "))).gives(expect!["assertion 3: 1 2 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    }
    // Opaque events before the read, and what comes behind the assertion, do not matter.
    let around = "init x = 0; a: write x = 5; b: external; b: r = read x : 5; b: assert r == 5; b: write y = r; b: external";
    on(around).gives(expect!["assertion 3: 1 2 => Real"]);
    // A read that is used through a `let` is used by that.
    let through = "init x = 0; a: write x = 5; b: r = read x : 5; b: let s = r; b: assert s == 5";
    on(through).gives(expect!["assertion 3: 1 2 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    symbolic(through).gives(expect!["assertion 3: 1 2 => Real"]);
    let rmw = "init x = 0; a: write x = 5; b: r = rmw x : 5 -> 6 : 6; b: assert r == 5";
    on(rmw).gives(expect!["assertion 2: 1 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    symbolic(rmw).gives(expect!["assertion 2: 1 => Real"]);
    let unused = "init x = 0; a: write x = 5; b: read x : 5; b: r = read x : 5; b: assert r == 5";
    on(unused).gives(expect!["assertion 3: 1 2 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    symbolic(unused).gives(expect!["assertion 3: 1 2 => Real"]);
    let unknown = format!("dependences unknown; {}", between(""));
    on(&unknown).gives(expect!["assertion 2: 1 => step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"]);
    let strange = "init x = 0; a: write x = 5; b: r = read x : 6; b: assert r == 5";
    on(strange).gives(expect![[r#"
        assertion 2: 0 1 => Possible
        assertion 2: 1 => step 0: event 1 has an unknown writer, and event 0 was recorded before it
    "#]]);
}

#[test]
fn a_released_read_sees_values_byte_by_byte() {
    let text = "init x[0:2] = 0; a: write x[0:1] = 1; b: write x[1:1] = 2; c: write x; d: r = read x[0:2] : 513; d: s = read x[1:1] : 2; d: assert r != 256 * s";
    let recorded = text.replace("c: write x;", "c: fence acquire;");
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        under(model, &recorded).gives(expect![[r#"
            assertion 5: 1 3 4 => Real
            assertion 5: 0 1 3 4 => at the end: event 5: the assertion holds, its condition gives 1
            assertion 5: 3 4 => Real
            assertion 5: 3 1 4 => at the end: event 5: the assertion holds, its condition gives 1
        "#]]);
    }
    let mixed = text.replace("c: write x; d: r", "d: r") + "; c: write x";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        under(model, &mixed).gives(expect!["assertion 4: 5 0 2 => step 2: event 2 reads what event 5 left in object 0 at 1, which has no value, but expects what event 1 left"]);
    }
}

#[test]
fn under_control_some_values_are_enough() {
    let with = |condition: &str| {
        format!(
            "init x = 0; init b[0:1] = 5; init c[0:1] = 6; t: r = read x : 0; t: p = read b[0:1] : 5; \
             t: q = read c[0:1] : 6; t: let n = q - 1; t: assert {condition}"
        )
    };
    for condition in [
        "r == 0",
        "r != 123456",
        "p != 77",
        "p * 256 + q != 4711",
        "n <= 254 && n != 77",
        "r != 3 * 41 + 7",
        "r / 5 != 3",
        "r + p == 5",
        "r < 1000000 || r > 1000001",
    ] {
        control(&with(condition)).gives(expect!["assertion 4: 0 1 2 3 => Possible"]);
    }
    // No search finds this root, but a schedule may.
    let root = "init x = 0; t: r = read x : 0; u: write x = 1234; t: assert r * r != 1522756";
    control(root).gives(expect![[r#"
        assertion 2: 1 0 => Possible
        assertion 2: 0 1 => at the end: event 2: no values found that make the assertion fail
    "#]]);
    for condition in ["1", "p < 256", "n < 255", "p + q <= 510", "r == r"] {
        control(&with(condition)).gives(expect!["assertion 4: 0 1 2 3 => at the end: event 4: no values found that make the assertion fail"]);
    }
}
