//! One candidate alone: a violation that somebody names, as a class of its own.
//!
//! **Computes.** Whether the violation has the form that `docs/theory.md`, section 4, asks for, as
//! far as that does not depend on the schedule; if so, the question about it and nothing else.

use foretrace_trace::{Access, EventId, LockId, Mode, Op, Patience, Request, ops};
use foretrace_verdict::{Columns, LockMisuse, Violation};

use super::benign::Benign;
use super::{
    AtomicityPart, Candidates, Class, Context, CyclePart, Parts, RacePart, assertions,
    canonical_cycle, deadlocks,
};
use crate::goal::is_pending;

/// The violation as the only candidate, or why it is none.
pub(crate) fn single(context: &Context, violation: &Violation) -> Result<Candidates, String> {
    let trace = context.skeleton.trace;
    let mut candidates = Candidates::default();
    if violation.events().iter().any(|point| point.index() >= trace.len()) {
        return Err("the trace has no such event".to_string());
    }
    let mut example = violation.clone();
    let parts = match *violation {
        Violation::Race(a, b) => {
            race(context, a, b)?;
            let [first, second] = [a.min(b), a.max(b)].map(|event| candidates.groups.add(&[event]));
            example = Violation::Race(a.min(b), a.max(b));
            Parts::Race(vec![RacePart { first, second }])
        }
        Violation::Atomicity { first, remote, second } => {
            atomicity(context, first, remote, second)?;
            let remotes = candidates.groups.add(&[remote]);
            Parts::Atomicity(vec![AtomicityPart { pairs: vec![(first, second)].into(), remotes }])
        }
        Violation::LockCycle(ref points) => {
            cycle(context, points)?;
            example = canonical_cycle(points.clone());
            Parts::LockCycle(vec![CyclePart::of_points(context, points)])
        }
        Violation::Stuck(point) => {
            stuck(context, point)?;
            Parts::Stuck(vec![point])
        }
        Violation::Lock(misuse, event) => {
            lock_error(context, misuse, event)?;
            Parts::Lock(vec![(misuse, event)])
        }
        Violation::Assertion(event) => {
            let Op::Assert { holds } = trace.op(event) else {
                return no("it is not an assertion");
            };
            if !assertions::may_fail(context.skeleton, event, holds) {
                return no("the assertion held, and how it is computed is not recorded");
            }
            Parts::Assertion(vec![event])
        }
    };
    let listed = Columns::all(true);
    let property = violation.property();
    candidates.classes.push(Class { property, example, parts, listed });
    Ok(candidates)
}

fn no<T>(why: &str) -> Result<T, String> {
    Err(why.to_string())
}

/// How messages call an event.
fn at(context: &Context, event: EventId) -> String {
    let trace = context.skeleton.trace;
    match trace.location_of(event) {
        Some(location) => {
            format!("event {} ({})", event.0, trace.name(location))
        }
        None => format!("event {}", event.0),
    }
}

fn access(context: &Context, event: EventId) -> Result<Access, String> {
    context.skeleton.trace.access(event).ok_or_else(|| {
        format!("it is about accesses of memory, and {} is none", at(context, event))
    })
}

fn race(context: &Context, a: EventId, b: EventId) -> Result<(), String> {
    let trace = context.skeleton.trace;
    let (one, two) = (access(context, a)?, access(context, b)?);
    if trace.thread_of(a) == trace.thread_of(b) {
        return no("both accesses are of one thread");
    }
    if !one.conflicts(&two) {
        return no("the accesses do not overlap, or both only read");
    }
    if one.atomic && two.atomic {
        return no("both accesses are atomic");
    }
    if Benign::new(trace).has(one.at, two.at) {
        return no("races there are declared to be wanted");
    }
    Ok(())
}

fn atomicity(
    context: &Context,
    first: EventId,
    remote: EventId,
    second: EventId,
) -> Result<(), String> {
    let trace = context.skeleton.trace;
    let [one, between, two] = [first, remote, second].map(|event| access(context, event));
    let (one, between, two) = (one?, between?, two?);
    let thread = trace.thread_of(first);
    if trace.thread_of(second) != thread || first >= second {
        return no("the first and the last access are not of one thread, in this order");
    }
    if trace.thread_of(remote) == thread {
        return no("all accesses are of one thread");
    }
    if !between.conflicts(&one) || !between.conflicts(&two) {
        return no("the access between does not conflict with both others");
    }
    let shared = context.regions.iter().any(|region| {
        let has = |event| {
            let at = trace.position(event) as u32;
            region.first <= at && at <= region.last
        };
        region.thread == thread && has(first) && has(second)
    });
    if shared { Ok(()) } else { no("the first and the last access are in no common region") }
}

/// The lock and mode that a thread is after at a blocked acquire.
pub(super) fn wanted(context: &Context, event: EventId) -> Option<(LockId, Mode)> {
    let (skeleton, trace) = (context.skeleton, context.skeleton.trace);
    let given_back = |wait| deadlocks::mode_given_back(context, wait);
    match trace.op(event) {
        Op::Acquire { lock, mode, patience: Patience::Blocking } => {
            skeleton.locks.opened_by(event).map(|_| (lock, mode))
        }
        Op::Request(Request::Acquire(lock, mode)) => {
            trace.next(event).is_none().then_some((lock, mode))
        }
        Op::Wake { lock, .. } => {
            let (_, wait) = skeleton.waiting.wait_at(event);
            Some((lock, given_back(wait.wait)))
        }
        Op::Wait { lock, .. } => trace.next(event).is_none().then(|| (lock, given_back(event))),
        ops!(memory object data lock sem barrier thread call mark Signal Broadcast Request) => None,
    }
}

/// Whether the thread, when it is at the point, has a conflicting hold: one that another thread
/// closes, or one that no other thread closes.
fn has(
    context: &Context,
    point: EventId,
    (lock, mode): (LockId, Mode),
    closed_by_other: bool,
) -> bool {
    let (skeleton, trace) = (context.skeleton, context.skeleton.trace);
    let is_executed = |event: EventId| event < point || event == point && is_pending(trace, point);
    skeleton.locks.holds_of(lock).iter().any(|&id| {
        let hold = skeleton.locks.hold(id);
        hold.thread == trace.thread_of(point)
            && hold.mode.conflicts(mode)
            && skeleton.locks.closed_by_other(trace, id) == closed_by_other
            && is_executed(hold.open)
            && !hold.close.is_some_and(is_executed)
    })
}

fn cycle(context: &Context, points: &[EventId]) -> Result<(), String> {
    let trace = context.skeleton.trace;
    let mut threads: Vec<_> = points.iter().map(|&point| trace.thread_of(point)).collect();
    threads.sort_unstable();
    threads.dedup();
    if points.len() < 2 || threads.len() < points.len() {
        return no("a lock cycle is of two or more different threads");
    }
    for (at, &point) in points.iter().enumerate() {
        let Some(wanted) = wanted(context, point) else {
            return Err(format!(
                "{} is not where a thread waits for a lock",
                self::at(context, point)
            ));
        };
        let holder = points[(at + 1) % points.len()];
        if !has(context, holder, wanted, false) {
            let lock = trace.name(wanted.0);
            let thread = trace.name(trace.thread_of(holder));
            let place = self::at(context, holder);
            return Err(match has(context, holder, wanted, true) {
                true => format!(
                    "the lock {lock} that {thread} has at {place} is given back by another thread, so that it does not block for ever"
                ),
                false => format!(
                    "{thread} does not have the lock {lock} at {place}, which the one before it in the cycle wants"
                ),
            });
        }
    }
    Ok(())
}

fn stuck(context: &Context, point: EventId) -> Result<(), String> {
    let (skeleton, trace) = (context.skeleton, context.skeleton.trace);
    if let Op::Join { child } | Op::Request(Request::Join(child)) = trace.op(point) {
        let child = trace.name(child);
        return Err(format!(
            "a join is not a candidate of its own; what the joined thread, {child}, waits for is one"
        ));
    }
    let is_last = trace.next(point).is_none();
    let waits = match trace.op(point) {
        Op::Acquire { .. } | Op::Request(Request::Acquire(..)) => {
            let left = deadlocks::left_locked(context);
            wanted(context, point).is_some_and(|(lock, mode)| {
                let mut holds = left.get(&lock).into_iter().flatten();
                holds.any(|&(by, held)| by != trace.thread_of(point) && held.conflicts(mode))
            })
        }
        Op::Wake { .. } => !skeleton.waiting.wait_at(point).1.may_leave(),
        Op::Wait { timed, .. } => is_last && !timed,
        Op::SemWait { patience: Patience::Blocking, .. } | Op::Leave { .. } => true,
        Op::Request(Request::SemWait(_)) | Op::Arrive { .. } => is_last,
        Op::EnterCall { .. } | Op::LeaveCall => skeleton.waiting_calls.at(point).is_some(),
        ops!(memory object data sem thread mark AcquireFailed Release Destroy Signal Broadcast
            Request) => false,
    };
    match trace.op(point) {
        _ if waits => Ok(()),
        Op::EnterCall { .. } | Op::LeaveCall => {
            no("nothing says that this call waits until another thread feeds it")
        }
        Op::Acquire { .. } | Op::Request(Request::Acquire(..))
            if wanted(context, point).is_some() =>
        {
            no(
                "no other thread ends with a hold that excludes this one; threads that wait for each other's locks are a lock cycle",
            )
        }
        ops!(memory object data sync mark) => {
            Err(format!("no thread can wait for ever at {}", at(context, point)))
        }
    }
}

fn lock_error(context: &Context, misuse: LockMisuse, event: EventId) -> Result<(), String> {
    let (skeleton, trace) = (context.skeleton, context.skeleton.trace);
    let fits = match (misuse, trace.op(event)) {
        (LockMisuse::DoubleLock, op) => {
            let is_exclusive = matches!(
                op,
                Op::Acquire { mode: Mode::Exclusive, .. }
                    | Op::Request(Request::Acquire(_, Mode::Exclusive))
            );
            is_exclusive
                && wanted(context, event)
                    .is_some_and(|(lock, _)| !skeleton.locks.is_recursive(lock))
        }
        (LockMisuse::UnlockNotHeld, Op::Release { .. }) => true,
        (LockMisuse::UnlockByOther, Op::Release { mode, .. }) => mode == Mode::Exclusive,
        (LockMisuse::DestroyHeld, Op::Destroy { .. }) => true,
        _ => false,
    };
    if fits { Ok(()) } else { no("the event is not an operation that can be misused like that") }
}
