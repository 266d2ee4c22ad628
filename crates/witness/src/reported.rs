//! The order of events that a reader of a report sees.

use foretrace_trace::{EventId, Trace};

use foretrace_verdict::Violation;

/// The schedule, followed by the events of the violation that come next, in the best order: that of
/// the thread that ran last comes first, the others in the violation's order. (They are of
/// different threads, so no other order has fewer context switches.) A point whose thread has
/// executed all its events is in the schedule already.
pub fn reported_order(trace: &Trace, violation: &Violation, schedule: &[EventId]) -> Vec<EventId> {
    let mut next = next_events(violation, schedule);
    if let Some(&last) = schedule.last() {
        next.sort_by_key(|&event| trace.thread_of(event) != trace.thread_of(last));
    }
    let mut order = schedule.to_vec();
    order.append(&mut next);
    order
}

/// The violation's events that are not in the schedule.
pub(crate) fn next_events(violation: &Violation, schedule: &[EventId]) -> Vec<EventId> {
    let not_executed = |event: &EventId| !schedule.contains(event);
    match *violation {
        Violation::Race(a, b) => vec![a, b],
        Violation::Atomicity { second, .. } => vec![second],
        Violation::LockCycle(ref cycle) => cycle.iter().copied().filter(not_executed).collect(),
        Violation::Stuck(at) | Violation::Lock(_, at) | Violation::Assertion(at) => {
            Some(at).into_iter().filter(not_executed).collect()
        }
    }
}

/// How often two neighbours are events of different threads.
pub fn context_switches(trace: &Trace, order: &[EventId]) -> usize {
    let is_switch = |pair: &&[EventId]| trace.thread_of(pair[0]) != trace.thread_of(pair[1]);
    order.windows(2).filter(is_switch).count()
}
