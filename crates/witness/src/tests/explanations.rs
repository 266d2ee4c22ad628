//! The values in witnesses.

use expect_test::{Expect, expect};
use foretrace_trace::EventId;
use foretrace_verdict::{Model, Violation};

use super::{lines, schedule, trace};
use crate::checker::{CheckOptions, Checker};
use crate::explain::Explanation;

/// One line per step: what it saw, stored and computed; and what the assertion's names are worth.
fn explain(model: Model, text: &str, violation: Violation, numbers: &str, expected: Expect) {
    let trace = trace(&lines(text));
    let checker = Checker::new(&trace, model, CheckOptions::default());
    let order = schedule(numbers);
    let Explanation { steps, assertion, .. } = checker.explain(&violation, &order).unwrap();
    let shown = |value: Option<u64>| value.map_or("-".to_string(), |value| value.to_string());
    let mut told = String::new();
    for (event, step) in order.iter().zip(steps) {
        let values = [step.seen, step.stored, step.computed].map(shown);
        told += &format!("{}: {}\n", event.0, values.join(" "));
    }
    if let Some(failed) = assertion {
        told += &format!("assertion: {}", shown(failed.value));
        for name in failed.names {
            let called = trace.name(name.name);
            told += &format!(", {called} = {} of {}", shown(name.value), name.of.0);
        }
        told += "\n";
    }
    expected.assert_eq(&told);
}

const TEXT: &str = "init x = 1; a: write x = 5; b: r = read x : 5; b: let s = r * 2; b: branch s > 1; b: write y[0:1] = s + 255; b: assert s == 10";

#[test]
fn computed_values_are_shown() {
    let assertion = Violation::Assertion(EventId(5));
    explain(
        Model::Symbolic,
        TEXT,
        assertion.clone(),
        "1 2 3 4",
        expect![[r#"
        1: 1 - -
        2: - - 2
        3: - - 1
        4: - 1 -
        assertion: 0, s = 2 of 2
    "#]],
    );
    explain(
        Model::Control,
        TEXT,
        assertion,
        "1 2 3 4",
        expect![[r#"
        1: 0 - -
        2: - - 0
        3: - - 0
        4: - 255 -
        assertion: 0, s = 0 of 2
    "#]],
    );
}

#[test]
fn pinned_reads_show_their_recorded_values() {
    let released = "init x = 1; a: write x = 5; b: q = read z : 3; b: write z : 4; b: r = read x : 5; b: assert r == q + 2";
    for model in [Model::ReadsFrom, Model::Values] {
        let expected = expect![[r#"
            1: 3 - -
            2: - 4 -
            3: 1 - -
            assertion: 0, q = 3 of 1, r = 1 of 3
        "#]];
        explain(model, released, Violation::Assertion(EventId(4)), "1 2 3", expected);
    }
    let race =
        "init x = 1; a: write x = 5; b: read x : 5; b: read x; b: write y = 1; a: write y = 2";
    explain(
        Model::Values,
        race,
        Violation::Race(EventId(3), EventId(4)),
        "0 1 2",
        expect![[r#"
            0: - 5 -
            1: 5 - -
            2: 5 - -
        "#]],
    );
}

#[test]
fn a_free_read_shows_what_is_there() {
    let text = "a: region begin; a: write x = 1; a: write x = 2; b: read x : 2";
    let [first, remote, second] = [1, 3, 2].map(EventId);
    let violation = Violation::Atomicity { first, remote, second };
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        explain(
            model,
            text,
            violation.clone(),
            "0 1 3",
            expect![[r#"
            0: - - -
            1: - 1 -
            3: 1 - -
        "#]],
        );
    }
}

#[test]
fn a_refused_schedule_has_no_explanation() {
    let trace = trace(&lines(TEXT));
    let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
    assert!(checker.explain(&Violation::Assertion(EventId(5)), &schedule("1 2 3 4")).is_err());
}
