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
use foretrace_verdict::{LockMisuse, Model, Violation};

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

/// Statements separated by semicolons, one per line.
fn lines(text: &str) -> String {
    text.split(';').map(str::trim).collect::<Vec<_>>().join("\n")
}

/// A trace, as statements separated by semicolons, and the model under which it is checked.
struct Under<'a>(Model, &'a str);

fn under(model: Model, text: &str) -> Under<'_> {
    Under(model, text)
}

/// Under model `values`.
fn on(text: &str) -> Under<'_> {
    Under(Model::Values, text)
}

fn symbolic(text: &str) -> Under<'_> {
    Under(Model::Symbolic, text)
}

fn control(text: &str) -> Under<'_> {
    Under(Model::Control, text)
}

impl Under<'_> {
    /// Compares the verdicts of a table: each row has a violation, a colon, a schedule, and behind
    /// `=>` the verdict, with inferred regions. A row without a violation asks about its steps
    /// only: for a race of two threads behind the trace, whatever happens in it.
    fn gives(&self, table: Expect) {
        let Under(model, text) = *self;
        let raced = trace(&format!("{}\nleft: write raced\nright: write raced", lines(text)));
        let plain = trace(&lines(text));
        let last = raced.events().len();
        let behind = Violation::Race(EventId::from(last - 2), EventId::from(last - 1));
        let shown = table.data().trim().lines().map(|row| {
            let Some((question, _)) = row.split_once("=>") else { return row.trim().to_string() };
            let question = question.trim();
            let (trace, violation, steps) = match question.split_once(':') {
                Some((violation, steps)) => (&plain, parsed(violation), steps),
                None => (&raced, behind.clone(), question),
            };
            let checker = Checker::new(trace, model, CheckOptions { infer_regions: true });
            let verdict = match checker.check(&violation, &schedule(steps)) {
                Ok(certainty) => format!("{certainty:?}"),
                Err(refuted) => refuted.to_string(),
            };
            format!("{question} => {verdict}").trim_start().to_string()
        });
        let shown = shown.collect::<Vec<_>>().join("\n");
        let is_table = table.data().contains('\n');
        table.assert_eq(&if is_table { shown + "\n" } else { shown });
    }
}

/// `race 1 3` as a violation.
fn parsed(violation: &str) -> Violation {
    let (kind, events) = violation.split_once(' ').unwrap();
    let events = schedule(events);
    let misuse = |misuse| Violation::Lock(misuse, events[0]);
    match kind {
        "race" => Violation::Race(events[0], events[1]),
        "atomicity" => {
            Violation::Atomicity { first: events[0], remote: events[1], second: events[2] }
        }
        "cycle" => Violation::LockCycle(events),
        "stuck" => Violation::Stuck(events[0]),
        "assertion" => Violation::Assertion(events[0]),
        "double-lock" => misuse(LockMisuse::DoubleLock),
        "unlock-not-held" => misuse(LockMisuse::UnlockNotHeld),
        "unlock-by-other" => misuse(LockMisuse::UnlockByOther),
        "destroy-held" => misuse(LockMisuse::DestroyHeld),
        _ => panic!("unknown violation {kind}"),
    }
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
