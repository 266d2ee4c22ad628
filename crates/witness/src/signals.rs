//! Which wait a signal wakes: the one choice that a schedule leaves open.
//!
//! **Computes.** Whether there is a way to resolve all signals of a schedule such that every wake
//! in it is enabled and certain waits are still in W at its end; and one such way. Condition
//! variables do not influence each other here, since locks do not depend on the choice.
//!
//! **Follows.** `docs/theory.md`, section 3, rows *wait* to *broadcast*. Seen from the schedule, a
//! wait is one of four things:
//!
//! - *due*: the schedule has its notified wake. Something must bring it from W to N in between.
//! - *leaving*: the schedule has its timed-out or spurious wake. No signal may bring it to N.
//! - *kept*: the schedule has no wake of it, and it must be in W at the end. Only waits that may
//!   not leave are kept, so while one is in W, no signal can send all of W to E.
//! - *open*: the schedule has no wake of it, and nothing is asked of it.
//!
//! **The greedy choice.** A signal takes the due wait in W whose wake comes first; if none is in W,
//! an open one; if none is either, then a kept one in W refutes the schedule, and without a kept
//! one all of W (only leaving waits, which may leave) goes to E. A broadcast refutes the schedule
//! if a kept wait is in W.
//!
//! *It is complete.* Take a resolution that works and the first signal s at which it differs.
//!
//! 1. There is a due wait in W, and the greedy choice is d. The resolution cannot send W to E,
//!    since d needs N, nor take a leaving or kept wait; it takes x, due after d or open. Something
//!    later, before the wake of d, notifies d. If that is a signal s', let s take d and s' take x:
//!    until s' x stays in W, for the wake of x, if any, comes after that of d; and no signal in
//!    between sends W to E, because d was in W. If it is a broadcast, let s take d and leave x to
//!    the broadcast, which brings it to N in time if it is due, and of which nothing is asked if it
//!    is open.
//! 2. There is no due wait but an open one o. If the resolution takes another open one x, it may
//!    take o instead: let x and o change places from here on. If it sends W to E, which is possible
//!    only without kept waits in W, taking o instead leaves more open waits in W. That never hurts:
//!    a signal with an open wait in W always has a choice that disturbs nothing else.
//! 3. There is neither. Then all of W goes to E or nothing can be done; there is no choice.
//!
//! Each case moves the first difference further on, so the greedy resolution works as well. The
//! tests compare it with all resolutions of random schedules.
//!
//! **Cost.** O(k log k) for k steps on condition variables.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretrace_trace::{CondId, EventId, Op, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::recorded::{Recorded, Rule};
use crate::refuted::Refuted;

/// Which step notified the wait of each notified wake.
pub(crate) type Notifiers = FxHashMap<EventId, usize>;

/// The waits on one condition variable that are in W.
#[derive(Default)]
struct Waiters {
    /// By the step of the wake.
    due: BinaryHeap<Reverse<(usize, EventId)>>,
    open: usize,
    /// The first one.
    kept: Option<EventId>,
}

/// Resolves the signals of the given steps, which are all that concern condition variables.
pub(crate) fn resolve(
    trace: &Trace,
    recorded: &Recorded,
    steps: &[(usize, EventId)],
    kept: &FxHashSet<EventId>,
) -> Result<Notifiers, Refuted> {
    let mut notifiers = Notifiers::default();
    if steps.is_empty() {
        return Ok(notifiers);
    }
    let wakes = steps.iter().filter(|(_, event)| is_wake(recorded.rule(*event)));
    let step_of_wake: FxHashMap<EventId, usize> = wakes.map(|&(step, wake)| (wake, step)).collect();
    let mut waiters: FxHashMap<CondId, Waiters> = FxHashMap::default();
    for &(step, event) in steps {
        let cond = cond_of(trace.op(event));
        let waiting = waiters.entry(cond).or_default();
        match recorded.rule(event) {
            Rule::Wait => {
                let wake = trace.next(event);
                match wake.and_then(|wake| Some((*step_of_wake.get(&wake)?, wake))) {
                    Some(due) if recorded.rule(due.1) == Rule::WakeNotified => {
                        waiting.due.push(Reverse(due));
                    }
                    Some(_) => {}
                    None if kept.contains(&event) => waiting.kept = waiting.kept.or(Some(event)),
                    None => waiting.open += 1,
                }
            }
            Rule::Signal => {
                if let Some(Reverse((_, wake))) = waiting.due.pop() {
                    notifiers.insert(wake, step);
                } else if waiting.open > 0 {
                    waiting.open -= 1;
                } else if let Some(wait) = waiting.kept {
                    return Err(Refuted::WakesWaiter { step, event, wait });
                }
            }
            Rule::Broadcast => {
                if let Some(wait) = waiting.kept {
                    return Err(Refuted::WakesWaiter { step, event, wait });
                }
                notifiers.extend(waiting.due.drain().map(|Reverse((_, wake))| (wake, step)));
                waiting.open = 0;
            }
            Rule::WakeNotified if !notifiers.contains_key(&event) => {
                return Err(Refuted::NotNotified { step, event, cond });
            }
            Rule::WakeNotified | Rule::WakeUnnotified => {}
            other => unreachable!("{other:?} is about no condition variable"),
        }
    }
    Ok(notifiers)
}

fn is_wake(rule: Rule) -> bool {
    matches!(rule, Rule::WakeNotified | Rule::WakeUnnotified)
}

/// The condition variable of an event that is about one.
pub(crate) fn cond_of(op: Op) -> CondId {
    match op {
        Op::Wait { cond, .. }
        | Op::Wake { cond, .. }
        | Op::Signal { cond }
        | Op::Broadcast { cond } => cond,
        other => unreachable!("{other:?} is about no condition variable"),
    }
}
