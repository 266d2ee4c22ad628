//! Makes a disagreement small enough to be understood.
//!
//! **Computes.** A trace from which nothing more can be taken - no thread, no pair of events, no event, no
//! declaration, no value, no location - without it becoming invalid or the disagreement going away.
//!
//! **Follows.** Greedy delta debugging; pairs are tried because an acquire and its release, or a wait and its
//! wake, only go together.
//!
//! **Invariant.** The result is valid, and predictor and oracle still differ on it, perhaps about
//! something else.
//!
//! **Cost.** Quadratic in the events per round; each try is a comparison.

use foretrace_trace::validate::validate;
use foretrace_trace::*;

use crate::compare::Difference;
use crate::draft::Draft;
use crate::explore::is_recorded_order_feasible;

/// The smallest trace found, and how the two differ on it.
pub(crate) fn shrink(
    trace: &Trace,
    found: Difference,
    difference_of: &dyn Fn(&Trace) -> Option<Difference>,
) -> (Trace, Difference) {
    let mut best = (trace.clone(), found);
    'smaller: loop {
        let draft = Draft::of(&best.0);
        for smaller in candidates(&draft) {
            let trace = smaller.build();
            if is_valid(&trace)
                && let Some(difference) = difference_of(&trace)
            {
                best = (trace, difference);
                continue 'smaller;
            }
        }
        return best;
    }
}

/// What to try, the largest steps first.
fn candidates<'t>(draft: &Draft<'t>) -> Vec<Draft<'t>> {
    let mut all = Vec::new();
    let mut threads: Vec<ThreadId> = draft.events.iter().map(|event| event.thread).collect();
    threads.sort();
    threads.dedup();
    for thread in threads {
        let mut without = draft.clone();
        without.events.retain(|event| {
            event.thread != thread
                && !matches!(event.op, Op::Fork { child } | Op::Join { child } | Op::Request(Request::Join(child)) if child == thread)
        });
        all.push(without);
    }
    for first in 0..draft.events.len() {
        let mut without = draft.clone();
        without.events.remove(first);
        all.push(without);
    }
    for second in 0..draft.events.len() {
        for first in 0..second {
            let mut without = draft.clone();
            without.events.remove(second);
            without.events.remove(first);
            all.push(without);
        }
    }
    for index in 0..draft.declarations.len() {
        let mut without = draft.clone();
        without.declarations.remove(index);
        all.push(without);
    }
    for index in 0..draft.events.len() {
        if draft.events[index].location.is_some() {
            let mut without = draft.clone();
            without.events[index].location = None;
            all.push(without);
        }
    }
    all
}

/// Valid, and feasible by the oracle's own rules.
fn is_valid(trace: &Trace) -> bool {
    !trace.is_empty()
        && validate(trace).is_ok()
        && is_recorded_order_feasible(trace, Model::ReadsFrom)
        && is_recorded_order_feasible(trace, Model::Values)
}
