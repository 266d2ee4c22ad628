//! Universal causality graphs, Fig. 1: neither locks nor wait and notify alone refute the race;
//! both together do.

use expect_test::{Expect, expect};
use foretrace_causality::{Scope, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::explore;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{Fact, Model, Refutation, Violation};
use foretrace_witness::check_refutation;

use crate::refuting;

pub(crate) fn read(name: &str) -> Trace {
    let path = format!("{}/../../litmus/{name}.trace", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the litmus trace is there");
    text::parse(&text).expect("it is a trace")
}

/// The event at a location.
pub(crate) fn at(trace: &Trace, location: &str) -> EventId {
    let is_there = |event: &EventId| {
        let known = trace.location_of(*event).map(|known| trace.name(known));
        known == Some(location)
    };
    (0..trace.len()).map(EventId::from).find(is_there).expect("something is there")
}

fn race(trace: &Trace) -> Violation {
    let (a, b) = (at(trace, "a9"), at(trace, "b9"));
    Violation::Race(a.min(b), a.max(b))
}

/// A proof, each event by its location.
fn shown(trace: &Trace, refutation: &Refutation) -> String {
    let name = |event| {
        let location = trace.location_of(event).expect("every event has one");
        trace.name(location).to_string()
    };
    let line = |(number, step): (usize, &foretrace_verdict::ProofStep)| {
        let fact = match step.fact {
            Fact::Executed(event) => format!("X({})", name(event)),
            Fact::NotExecuted(event) => format!("N({})", name(event)),
            Fact::Before(first, second) => format!("{} < {}", name(first), name(second)),
        };
        format!("{number}: {fact}  {:?} {:?}\n", step.rule, step.premises)
    };
    let steps: String = refutation.steps.iter().enumerate().map(line).collect();
    format!("{steps}contradiction: {:?}\n", refutation.contradiction)
}

fn check(name: &str, expected: Expect) {
    let trace = read(name);
    let skeleton = Skeleton::new(&trace, Model::Values);
    let race = race(&trace);
    let refutation = derive(&skeleton, &race, Scope::Synchronisation).expect("there is a proof");
    assert_eq!(check_refutation(&trace, Model::Values, &race, &refutation), Ok(()));
    expected.assert_eq(&shown(&trace, &refutation));
}

#[test]
fn neither_alone_refutes_the_race() {
    let trace = read("paper-004-fig1");
    let scopes = refuting(&trace, &race(&trace));
    assert_eq!(scopes, [Scope::Synchronisation, Scope::All, Scope::Published]);
    for name in ["paper-004-fig1-locks", "paper-004-fig1-wait"] {
        let trace = read(name);
        assert_eq!(refuting(&trace, &race(&trace)), [], "{name}");
        assert!(explore(&trace, Model::Values, false).violations.contains(&race(&trace)));
    }
}

#[test]
fn the_cycle_of_figure_1() {
    check(
        "paper-004-fig1",
        expect![[r#"
            0: X(a8)  Candidate []
            1: N(a9)  Candidate []
            2: X(b8)  Candidate []
            3: a2 < b1  Matched [0]
            4: b7 < a6  LockOrder [1, 2]
            5: b8 < a0  LockOrder [2, 4]
            6: a0 < a0  Chain [3, 5]
            7: N(a0)  Cycle [6]
            contradiction: (0, 7)
        "#]],
    );
}
