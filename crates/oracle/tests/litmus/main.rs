//! One small trace per rule of sections 3 and 4 of `docs/theory.md`, with the exact set of
//! violations.
//!
//! Events are numbered from 0 in recorded order. Where the models differ, each is shown.

mod assertions;
mod atomicity;
mod calls;
mod expressions;
mod locks;
mod memory;
mod papers;
mod threads;
mod waiting;

use expect_test::{Expect, expect};
use foretrace_oracle::{check as check_schedule, explore, is_recorded_order_feasible};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{LockMisuse, Model, Violation};

fn check(input: &str, expected: Expect) {
    check_with(input, false, expected);
}

fn check_inferred(input: &str, expected: Expect) {
    check_with(input, true, expected);
}

/// Under all four models.
fn check_models(input: &str, expected: Expect) {
    let trace = parse(input);
    let found = Model::ALL.map(|model| violations(&trace, model, false));
    if found.iter().all(|other| *other == found[0]) {
        return expected.assert_eq(&found[0]);
    }
    // Models that agree are told together.
    let mut shown = String::new();
    for (index, (model, found_by)) in Model::ALL.iter().zip(&found).enumerate() {
        let goes_on = found.get(index + 1) == Some(found_by);
        shown += model.name();
        shown += &if goes_on { ", ".to_string() } else { format!(":\n{found_by}") };
    }
    expected.assert_eq(&shown);
}

fn check_with(input: &str, infer_regions: bool, expected: Expect) {
    let trace = parse(input);
    let of = |model: Model| violations(&trace, model, infer_regions);
    let (strict, lenient) = (of(Model::ReadsFrom), of(Model::Values));
    if strict == lenient {
        expected.assert_eq(&strict);
    } else {
        expected.assert_eq(&format!("reads-from:\n{strict}values:\n{lenient}"));
    }
}

fn parse(input: &str) -> Trace {
    let trace = text::parse(input).unwrap_or_else(|error| panic!("{error}"));
    validate(&trace).unwrap_or_else(|invalid| panic!("{invalid}"));
    trace
}

/// The violations, one per line, after their witnesses have been checked.
fn violations(trace: &Trace, model: Model, infer_regions: bool) -> String {
    assert!(is_recorded_order_feasible(trace, model), "the recorded run is feasible");
    let explored = explore(trace, model, infer_regions);
    assert!(explored.complete && explored.unknown.is_empty());
    for violation in &explored.violations {
        let witness = explored.witness(violation).expect("each violation has a witness");
        let verdict = check_schedule(trace, model, infer_regions, &witness, violation);
        assert_eq!(verdict, Ok(()), "{violation:?}: {witness:?}");
    }
    explored.violations.iter().map(|violation| show(violation) + "\n").collect()
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
        Violation::Assertion(point) => format!("assertion {}", point.0),
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
