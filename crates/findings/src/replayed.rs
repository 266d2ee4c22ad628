//! The outcome of a replay in words; and the findings of a written report, turned back into
//! violations.

use foretrace_replay::{Operation, Outcome, Plan};
use foretrace_report::{Evidence, Recalled};
use foretrace_trace::{EventId, ImplicitFault, ThreadId, Trace};
use foretrace_verdict::Violation;

use crate::describe::operation;

/// The violation that a finding of a report is; `None` if it lacks events.
pub fn recalled_violation(finding: &Recalled) -> Option<Violation> {
    let events: Vec<EventId> = finding.events.iter().copied().map(EventId).collect();
    Violation::of_kind(finding.kind, &events)
}

/// The schedule of a finding of a report, step by step.
pub fn recalled_schedule(trace: &Trace, finding: &Recalled) -> Vec<EventId> {
    let mut steps = Vec::new();
    for run in &finding.schedule {
        let mut threads = vec![trace.thread_of(EventId(run.first))];
        let named = |name: &String| trace.threads().find(name).map(|index| ThreadId(index as u32));
        threads.extend(run.with.iter().filter_map(named));
        let last = run.last.min(trace.len() as u32 - 1);
        let within = (run.first..=last).map(EventId);
        steps.extend(within.filter(|&event| threads.contains(&trace.thread_of(event))));
    }
    steps
}

/// How good the evidence is that a replay gives, and what happened.
pub fn replay_in_words(
    trace: &Trace,
    violation: &Violation,
    plan: &Plan,
    outcome: &Outcome,
) -> (Evidence, String) {
    match outcome {
        Outcome::Confirmed => (Evidence::Confirmed, confirmed(trace, violation).to_string()),
        Outcome::NotReached => (
            Evidence::NotReached,
            "the program followed the schedule, but the bug was not there at its end".into(),
        ),
        Outcome::Ended { steps } => (
            Evidence::Diverged,
            format!("the program ended after {steps} of {} steps", plan.steps()),
        ),
        Outcome::OtherCall { step, call, why, place } => {
            let place = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
            (
                Evidence::Diverged,
                format!("at step {} of {}: {call}{place}: {why}", step + 1, plan.steps()),
            )
        }
        Outcome::Diverged { step, event, seen, ordinals } => {
            let expected = expected(trace, EventId(*event));
            let seen = match seen {
                Some(Operation { what, place: Some(place) }) => format!("{what} at {place}"),
                Some(Operation { what, place: None }) => (*what).to_string(),
                None => "no such thread".to_string(),
            };
            let counts = match *ordinals {
                (expected, Some(seen)) if expected != seen => {
                    format!(" (operation {seen} of its thread, not {expected})")
                }
                _ => String::new(),
            };
            (
                Evidence::Diverged,
                format!(
                    "at step {} of {}: expected {expected}, saw {seen}{counts}",
                    step + 1,
                    plan.steps()
                ),
            )
        }
    }
}

fn expected(trace: &Trace, event: EventId) -> String {
    let thread = trace.name(trace.thread_of(event));
    let place = trace.event(event).location.map(|id| trace.name(id));
    let place = place.map_or(String::new(), |place| format!(" at {place}"));
    format!("{thread}: {}{place}", operation(trace, event))
}

fn confirmed(trace: &Trace, violation: &Violation) -> &'static str {
    match violation {
        Violation::Race(..) => "both accesses were about to happen at once",
        Violation::Atomicity { .. } => "the other thread's access came in between",
        Violation::LockCycle(_) => "the threads waited for each other",
        Violation::Stuck(_) => "no thread could go on",
        Violation::Lock(..) => "the lock was misused",
        Violation::Assertion(event) => {
            trace.fault(*event).map_or("the assertion failed", confirmed_fault)
        }
    }
}

/// What a replay has seen where an assertion failed that nobody wrote.
fn confirmed_fault(fault: ImplicitFault) -> &'static str {
    match fault {
        ImplicitFault::Null => "a null pointer was about to be dereferenced",
        ImplicitFault::Division => "a number was divided by zero",
        ImplicitFault::Bounds => "an access outside of its object was about to happen",
        ImplicitFault::Freed => "a use after free was about to happen",
        ImplicitFault::Address => "an access to another address was about to happen",
    }
}

#[cfg(test)]
mod tests {
    use foretrace_predict::{Options, predict};
    use foretrace_report::{read_json, write_json};
    use foretrace_verdict::Property;

    use super::*;
    use crate::trace::{Frame, report_trace};

    #[test]
    fn long_schedules_are_short_in_json() {
        let turn = |thread: char, n: usize| {
            format!("{thread}: acquire m\n{thread}: write x = {n}\n{thread}: release m\n")
        };
        let turns = |n: usize| ['a', 'b', 'c'].map(|thread| turn(thread, n)).concat();
        let race = |line: usize| {
            let thread =
                |thread: char| format!("{thread}: write y{line} = 1 @ {thread}.c:{line}\n");
            ['a', 'b'].map(thread).concat()
        };
        let half: String = (0..400).map(turns).collect();
        let trace = [half.clone(), race(1), half.clone(), race(2), half, race(3)].concat();
        let trace = foretrace_trace::text::parse(&trace).unwrap();
        let options = Options { properties: vec![Property::Race], ..Options::default() };
        let prediction = predict(&trace, &options, &()).unwrap();
        let schedules: Vec<Vec<EventId>> =
            prediction.findings.iter().map(|finding| finding.schedule.clone()).collect();
        let mut frame = Frame::new(&options);
        frame.path = Some("long.trace".to_string());
        let mut json = Vec::new();
        write_json(&report_trace(&trace, prediction, frame), &mut json).unwrap();
        assert!(schedules.iter().map(Vec::len).sum::<usize>() > 10_000);
        assert!(json.len() < 50_000, "{} bytes", json.len());
        let recalled = read_json(&json).unwrap();
        let again: Vec<Vec<EventId>> =
            recalled.iter().map(|finding| recalled_schedule(&trace, finding)).collect();
        assert_eq!(again, schedules);
    }
}
