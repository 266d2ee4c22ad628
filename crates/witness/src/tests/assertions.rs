//! Assertions under all models, and the reads that are released for them.

use expect_test::{Expect, expect};
use foretrace_trace::EventId;
use foretrace_verdict::{Certainty, Model, Violation};

use super::{schedule, trace, verdict_under, violations::lines};
use crate::checker::{CheckOptions, Checker};

fn fails(model: Model, at: u32, text: &str, numbers: &str, expected: Expect) {
    verdict_under(model, &lines(text), &Violation::Assertion(EventId(at)), numbers, &expected);
}

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
        fails(model, 2, text, "1", expect!["Real"]);
        fails(
            model,
            2,
            text,
            "0 1",
            expect!["at the end: event 2: the assertion holds, its condition gives 1"],
        );
        fails(model, 2, text, "0", expect!["at the end: event 2: its thread is elsewhere"]);
        fails(model, 1, text, "0", expect!["this is no violation: it is not at an assertion"]);
    }
    // One that was recorded to fail is a violation where it was recorded, and not where it holds.
    let failed = "init x = 0; a: write x = 5; b: r = read x : 5; b: assert r == 0";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        fails(model, 2, failed, "0 1", expect!["Real"]);
        fails(
            model,
            2,
            failed,
            "1",
            expect!["at the end: event 2: the assertion holds, its condition gives 1"],
        );
    }
}

#[test]
fn an_opaque_assertion_fails_only_as_recorded() {
    let text = "init x = 0; a: write x = 5; b: r = read x : 5; b: assert : false";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        fails(model, 2, text, "0 1", expect!["Real"]);
    }
    fails(
        Model::Values,
        2,
        text,
        "1",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
    fails(
        Model::Symbolic,
        2,
        text,
        "1",
        expect![
            "at the end: event 2: the assertion may depend on event 1, which is not as recorded: it reads 0 instead of 5"
        ],
    );
    fails(Model::Control, 2, text, "1", expect!["Possible"]);
    let held = text.replace("false", "true");
    fails(
        Model::Symbolic,
        2,
        &held,
        "0 1",
        expect!["at the end: event 2: the assertion held, and what it depends on is not known"],
    );
    fails(Model::Control, 2, &held, "1", expect!["Possible"]);
    let unvalued = "init x = 0; a: write x = 5; b: r = read x; b: assert r == 5 : false";
    fails(Model::Symbolic, 2, unvalued, "0 1", expect!["Real"]);
    fails(
        Model::Symbolic,
        2,
        unvalued,
        "1",
        expect![
            "at the end: event 2: the assertion may depend on event 1, which is not as recorded: it reads 0 instead of an unrecorded value"
        ],
    );
}

#[test]
fn only_reads_that_nothing_else_uses_are_released() {
    let between = |events: &str| {
        format!("init x = 0; a: write x = 5; b: r = read x : 5; {events} b: assert r == 5")
    };
    for harmless in ["", "b: write y = 7; ", "b: acquire m; ", "b: let s = 3; ", "b: branch 1; "] {
        let at = if harmless.is_empty() { 2 } else { 3 };
        let steps = if harmless.is_empty() { "1" } else { "1 2" };
        fails(Model::Values, at, &between(harmless), steps, expect!["Real"]);
        fails(Model::ReadsFrom, at, &between(harmless), steps, expect!["Real"]);
    }
    for user in ["write y = r", "let s = r", "branch r > 3", "external", "write y", "assert : true"]
    {
        let expected = expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ];
        fails(Model::Values, 3, &between(&format!("b: {user}; ")), "1 2", expected);
    }
    // Opaque events before the read, and what comes behind the assertion, do not matter.
    let around = "init x = 0; a: write x = 5; b: external; b: r = read x : 5; b: assert r == 5; b: write y = r; b: external";
    fails(Model::Values, 3, around, "1 2", expect!["Real"]);
    // A read that is used through a `let` is used by that.
    let through = "init x = 0; a: write x = 5; b: r = read x : 5; b: let s = r; b: assert s == 5";
    fails(
        Model::Values,
        3,
        through,
        "1 2",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
    fails(Model::Symbolic, 3, through, "1 2", expect!["Real"]);
    let rmw = "init x = 0; a: write x = 5; b: r = rmw x : 5 -> 6 : 6; b: assert r == 5";
    fails(
        Model::Values,
        2,
        rmw,
        "1",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
    fails(Model::Symbolic, 2, rmw, "1", expect!["Real"]);
    let unused = "init x = 0; a: write x = 5; b: read x : 5; b: r = read x : 5; b: assert r == 5";
    fails(
        Model::Values,
        3,
        unused,
        "1 2",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
    fails(Model::Symbolic, 3, unused, "1 2", expect!["Real"]);
    let unknown = format!("dependences unknown; {}", between(""));
    fails(
        Model::Values,
        2,
        &unknown,
        "1",
        expect![
            "step 0: event 1 reads what the initial state left in object 0 at 0, but expects what event 0 left"
        ],
    );
    let strange = "init x = 0; a: write x = 5; b: r = read x : 6; b: assert r == 5";
    fails(Model::Values, 2, strange, "0 1", expect!["Possible"]);
    fails(
        Model::Values,
        2,
        strange,
        "1",
        expect!["step 0: event 1 has an unknown writer, and event 0 was recorded before it"],
    );
}

#[test]
fn a_released_read_sees_values_byte_by_byte() {
    let text = "init x[0:2] = 0; a: write x[0:1] = 1; b: write x[1:1] = 2; c: write x; d: r = read x[0:2] : 513; d: s = read x[1:1] : 2; d: assert r != 256 * s";
    let recorded = text.replace("c: write x;", "c: fence acquire;");
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        fails(model, 5, &recorded, "1 3 4", expect!["Real"]);
        fails(
            model,
            5,
            &recorded,
            "0 1 3 4",
            expect!["at the end: event 5: the assertion holds, its condition gives 1"],
        );
        fails(model, 5, &recorded, "3 4", expect!["Real"]);
        fails(
            model,
            5,
            &recorded,
            "3 1 4",
            expect!["at the end: event 5: the assertion holds, its condition gives 1"],
        );
    }
    let mixed = text.replace("c: write x; d: r", "d: r") + "; c: write x";
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        fails(
            model,
            4,
            &mixed,
            "5 0 2",
            expect![
                "step 2: event 2 reads what event 5 left in object 0 at 1, which has no value, but expects what event 1 left"
            ],
        );
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
    let found = |condition: &str, expected: Expect| {
        fails(Model::Control, 4, &with(condition), "0 1 2 3", expected);
    };
    for condition in
        ["r == 0", "r != 123456", "p != 77", "p * 256 + q != 4711", "n <= 254 && n != 77"]
    {
        found(condition, expect!["Possible"]);
    }
    for condition in ["r != 3 * 41 + 7", "r / 5 != 3", "r + p == 5", "r < 1000000 || r > 1000001"] {
        found(condition, expect!["Possible"]);
    }
    // No search finds this root, but a schedule may.
    let root = "init x = 0; t: r = read x : 0; u: write x = 1234; t: assert r * r != 1522756";
    fails(Model::Control, 2, root, "1 0", expect!["Possible"]);
    let none = expect!["at the end: event 2: no values found that make the assertion fail"];
    fails(Model::Control, 2, root, "0 1", none);
    for condition in ["1", "p < 256", "n < 255", "p + q <= 510"] {
        let none = expect!["at the end: event 4: no values found that make the assertion fail"];
        found(condition, none);
    }
    found("r == r", expect!["at the end: event 4: no values found that make the assertion fail"]);
}
