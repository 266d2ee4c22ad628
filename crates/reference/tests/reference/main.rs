//! The reference against what is known: the litmus traces, the papers' examples, misbehaving
//! solvers, and the meaning of expressions.
//!
//! These tests ask z3, and fail without it. `FORETRACE_REFERENCE_SOLVER` names another solver, such
//! as `cvc5`.

mod brute;
mod expressions;
mod litmus;
mod papers;
mod random;
mod rules;
mod solvers;

use foretrace_reference::{Answer, Limits, Options, SolverCommand, decide_with};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{Model, Violation};

/// z3, which CI installs with apt-get, unless another one is named.
fn solver() -> SolverCommand {
    let named = std::env::var("FORETRACE_REFERENCE_SOLVER");
    if named.is_err() {
        let found = std::process::Command::new("z3").arg("--version").output();
        assert!(found.is_ok(), "these tests need z3: apt-get install z3");
    }
    SolverCommand::parse(named.as_deref().unwrap_or("z3 -in")).expect("it is a command")
}

/// A valid trace.
fn parse(input: &str) -> Trace {
    let trace = text::parse(input).unwrap_or_else(|error| panic!("{error}\n{input}"));
    validate(&trace).unwrap_or_else(|invalid| panic!("{invalid}\n{input}"));
    trace
}

/// The event at a location.
fn at(trace: &Trace, location: &str) -> EventId {
    let index =
        trace.locations().find(location).unwrap_or_else(|| panic!("no event at {location}"));
    let is_there =
        |event: &EventId| trace.location_of(*event).is_some_and(|at| at.index() == index);
    (0..trace.len()).map(EventId::from).find(is_there).expect("a location has an event")
}

/// The schedule that the reference finds, if there is one; everything must be decided.
fn schedule(trace: &Trace, violation: &Violation, options: &Options) -> Option<Vec<EventId>> {
    match decide_with(trace, violation, options, &solver(), Limits::default()) {
        Answer::Feasible(schedule) => Some(schedule),
        Answer::Infeasible => None,
        Answer::Unknown(reason) => panic!("{violation:?}: {reason}"),
    }
}

/// Whether the race of the events at two locations is possible.
fn races(input: &str, model: Model, a: &str, b: &str) -> bool {
    let trace = parse(input);
    let (a, b) = (at(&trace, a), at(&trace, b));
    schedule(&trace, &Violation::Race(a.min(b), a.max(b)), &Options::new(model)).is_some()
}

/// Whether the assertion at the location `here` can fail.
fn fails(input: &str, model: Model) -> bool {
    let trace = parse(input);
    let violation = Violation::Assertion(at(&trace, "here"));
    schedule(&trace, &violation, &Options::new(model)).is_some()
}
