//! Tests as pairs of literals: a trace in text form, whose events are numbered from 0 by their
//! lines, and a schedule of such numbers.

mod assertions;
mod bytewise;
mod calls;
mod containment;
mod explanations;
mod paper;
mod random;
mod random_programs;
mod reduction;
mod rules;
mod signals;
mod symbolic;
mod violations;

use expect_test::Expect;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{Model, Violation};

use crate::checker::{CheckOptions, Checker};
use crate::recorded::Rule;
use crate::refuted::Refuted;

/// The trace that the text means.
fn trace(text: &str) -> Trace {
    text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// `"0 3 1"` as a schedule.
fn schedule(numbers: &str) -> Vec<EventId> {
    numbers.split_whitespace().map(|number| EventId(number.parse().unwrap())).collect()
}

/// The verdict under model `values`, with inferred regions.
fn verdict(text: &str, violation: &Violation, numbers: &str, expected: &Expect) {
    verdict_under(Model::Values, text, violation, numbers, expected);
}

fn verdict_under(
    model: Model,
    text: &str,
    violation: &Violation,
    numbers: &str,
    expected: &Expect,
) {
    let trace = trace(text);
    let checker = Checker::new(&trace, model, CheckOptions { infer_regions: true });
    let verdict = match checker.check(violation, &schedule(numbers)) {
        Ok(certainty) => format!("{certainty:?}"),
        Err(refuted) => refuted.to_string(),
    };
    expected.assert_eq(&verdict);
}

/// Whether each step is enabled, whatever the schedule ends in.
fn feasible(checker: &Checker, schedule: &[EventId]) -> Result<(), Refuted> {
    checker.with_state(|state| {
        let mut replay = checker.start(state, None);
        replay.run(schedule)?;
        let steps = &replay.state.cond_steps;
        let none = Default::default();
        crate::signals::resolve(checker.trace, &checker.recorded, steps, &none).map(|_| ())
    })
}

/// The next event of each thread after a schedule, started or not.
fn next_of_each(trace: &Trace, schedule: &[EventId]) -> Vec<EventId> {
    let done = |thread| schedule.iter().filter(|&&e| trace.thread_of(e) == thread).count();
    trace.thread_ids().filter_map(|t| trace.thread_events(t).get(done(t)).copied()).collect()
}

#[test]
fn every_rule_fits_beside_the_flags() {
    assert!((Rule::Never as u8) < 0x20);
}

#[test]
fn a_checker_is_shared_between_threads() {
    fn is_sync<T: Sync>() {}
    is_sync::<Checker>();
}
