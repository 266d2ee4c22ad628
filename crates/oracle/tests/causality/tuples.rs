//! Tuples of events that are a race, an atomicity violation or a lock cycle in some schedule, or in
//! none.

use std::collections::BTreeSet;

use foretrace_model::{Skeleton, regions};
use foretrace_trace::{EventId, LockId, Mode, Op, Patience, Request, Trace};
use foretrace_verdict::Violation;

/// All candidates: what each thread does by itself allows them.
pub(crate) fn tuples(skeleton: &Skeleton) -> BTreeSet<Violation> {
    let trace = skeleton.trace;
    let mut all = races(trace);
    all.extend(triples(skeleton));
    all.extend(cycles(skeleton));
    all
}

fn events(trace: &Trace) -> impl Iterator<Item = EventId> + Clone + use<> {
    (0..trace.len()).map(EventId::from)
}

fn conflict(trace: &Trace, a: EventId, b: EventId) -> bool {
    match (trace.access(a), trace.access(b)) {
        (Some(one), Some(two)) => trace.thread_of(a) != trace.thread_of(b) && one.conflicts(&two),
        _ => false,
    }
}

fn races(trace: &Trace) -> BTreeSet<Violation> {
    let atomic = |event| trace.access(event).is_some_and(|access| access.atomic);
    let mut all = BTreeSet::new();
    for a in events(trace) {
        for b in events(trace).filter(|&b| a < b && conflict(trace, a, b)) {
            if !(atomic(a) && atomic(b)) {
                all.insert(Violation::Race(a, b));
            }
        }
    }
    all
}

fn triples(skeleton: &Skeleton) -> BTreeSet<Violation> {
    let trace = skeleton.trace;
    let mut all = BTreeSet::new();
    for region in regions(trace, &skeleton.locks, true) {
        let inside =
            &trace.thread_events(region.thread)[region.first as usize..=region.last as usize];
        for (at, &first) in inside.iter().enumerate() {
            for &second in &inside[at + 1..] {
                let remotes = events(trace)
                    .filter(|&r| conflict(trace, first, r) && conflict(trace, r, second));
                all.extend(remotes.map(|remote| Violation::Atomicity { first, remote, second }));
            }
        }
    }
    all
}

/// The lock that a thread at this point is after.
fn wanted(skeleton: &Skeleton, event: EventId) -> Option<(LockId, Mode)> {
    let is_last = skeleton.trace.next(event).is_none();
    let hold = || skeleton.locks.hold_at(event).map(|hold| skeleton.locks.hold(hold).mode);
    match skeleton.trace.op(event) {
        Op::Acquire { lock, mode, patience: Patience::Blocking } => {
            skeleton.locks.opened_by(event).map(|_| (lock, mode))
        }
        Op::Wake { lock, .. } => Some((lock, hold()?)),
        Op::Request(Request::Acquire(lock, mode)) if is_last => Some((lock, mode)),
        Op::Wait { lock, .. } if is_last => Some((lock, hold()?)),
        _ => None,
    }
}

/// Whether the thread of the event has what is wanted when it is at the event.
fn has(skeleton: &Skeleton, event: EventId, (lock, mode): (LockId, Mode)) -> bool {
    let (trace, locks) = (skeleton.trace, &skeleton.locks);
    // A last wait is executed, and has given its lock back.
    let is_behind = trace.next(event).is_none() && matches!(trace.op(event), Op::Wait { .. });
    locks.holds_of(lock).iter().any(|&id| {
        let hold = locks.hold(id);
        let is_open = hold.close.is_none_or(|close| close > event || close == event && !is_behind);
        hold.thread == trace.thread_of(event)
            && hold.open < event
            && is_open
            && hold.mode.conflicts(mode)
            && !locks.closed_by_other(trace, id)
    })
}

/// Cycles of two or three threads.
fn cycles(skeleton: &Skeleton) -> BTreeSet<Violation> {
    let trace = skeleton.trace;
    let points: Vec<EventId> =
        events(trace).filter(|&event| wanted(skeleton, event).is_some()).collect();
    let waits_for = |a: EventId, b: EventId| {
        trace.thread_of(a) != trace.thread_of(b)
            && wanted(skeleton, a).is_some_and(|wanted| has(skeleton, b, wanted))
    };
    let mut all = BTreeSet::new();
    for &a in &points {
        for &b in points.iter().filter(|&&b| a < b) {
            if waits_for(a, b) && waits_for(b, a) {
                all.insert(Violation::LockCycle(vec![a, b]));
            }
        }
        for &b in points.iter().filter(|&&b| a < b && waits_for(a, b)) {
            for &c in points.iter().filter(|&&c| a < c && trace.thread_of(c) != trace.thread_of(a))
            {
                if waits_for(b, c) && waits_for(c, a) {
                    all.insert(Violation::LockCycle(vec![a, b, c]));
                }
            }
        }
    }
    all
}
