//! Seeded faults in the order of calls.
//!
//! **Computes.** What each leave must follow, by chains of calls taken one by one, with one part of
//! the definition missing.
//!
//! **Cost.** Exponential; for the tiny traces of the oracle.

use foretrace_model::{Calls, Skeleton};
use foretrace_trace::{Channels, ChannelsId, EventId, Op, Trace, ops};
use rustc_hash::FxHashMap;

use super::{Fault, is_seeded};

struct Call {
    enter: EventId,
    leave: Option<EventId>,
    on: ChannelsId,
}

/// Replaces the order of calls if a fault about it is seeded.
pub(crate) fn spoil_calls(skeleton: &mut Skeleton) {
    let faults = [
        Fault::ChannelForgotten,
        Fault::ChainForgotten,
        Fault::OnlyLeftCalls,
        Fault::OnlyEnteredBefore,
        Fault::NothingFoundForgotten,
        Fault::GiversUnordered,
    ];
    if !faults.into_iter().any(is_seeded) {
        return;
    }
    let trace = skeleton.trace;
    let calls = calls(trace);
    let mut needed = FxHashMap::default();
    for call in &calls {
        let Some(leave) = call.leave else { continue };
        let mut enters = Vec::new();
        extend(trace, &calls, &mut vec![call], &mut enters);
        enters.retain(|&enter| trace.thread_of(enter) != trace.thread_of(leave));
        enters.sort_unstable();
        enters.dedup();
        needed.insert(leave, enters);
    }
    skeleton.calls = Calls::given(needed);
}

fn calls(trace: &Trace) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for (event, op) in trace.other_ops() {
        match op {
            Op::EnterCall { on, .. } => calls.push(Call { enter: event, leave: None, on }),
            Op::LeaveCall => {
                let is_own = |call: &&mut Call| {
                    call.leave.is_none() && trace.thread_of(call.enter) == trace.thread_of(event)
                };
                calls.iter_mut().rev().find(is_own).expect("the trace is valid").leave =
                    Some(event);
            }
            ops!(memory object data sync mark) => {}
        }
    }
    calls
}

fn extend<'c>(
    trace: &Trace,
    calls: &'c [Call],
    chain: &mut Vec<&'c Call>,
    enters: &mut Vec<EventId>,
) {
    if chain.len() > 1 && is_seeded(Fault::ChainForgotten) {
        return;
    }
    for call in calls {
        let is_new = chain.iter().all(|other| other.enter != call.enter);
        let in_time = chain.iter().all(|later| comes_first(call, later));
        if is_new && in_time && leads(trace, calls, call.on, chain[chain.len() - 1].on) {
            enters.push(call.enter);
            chain.push(call);
            extend(trace, calls, chain, enters);
            chain.pop();
        }
    }
}

fn comes_first(call: &Call, later: &Call) -> bool {
    if is_seeded(Fault::OnlyLeftCalls) {
        return call.leave.is_some_and(|leave| leave < later.enter);
    }
    if is_seeded(Fault::OnlyEnteredBefore) {
        return call.enter < later.enter;
    }
    later.leave.is_none_or(|leave| call.enter < leave)
}

fn leads(trace: &Trace, calls: &[Call], from: ChannelsId, to: ChannelsId) -> bool {
    let (from, to) = (trace.channels_of(from), trace.channels_of(to));
    let (Channels::Only(from), Channels::Only(to)) = (from, to) else {
        return from != Channels::Only(&[]) && to != Channels::Only(&[]);
    };
    let from = if is_seeded(Fault::ChannelForgotten) { &from[..from.len().min(1)] } else { from };
    from.iter().any(|&(channel, one)| {
        let is_taken = calls.iter().any(|call| match trace.channels_of(call.on) {
            Channels::Every => false,
            Channels::Only(list) => list.iter().any(|&(on, way)| on == channel && way.takes()),
        });
        to.iter().filter(|(other, _)| *other == channel).any(|&(_, two)| {
            match trace.is_delayed(channel) {
                true => one.gives() && two.takes(),
                false if is_seeded(Fault::NothingFoundForgotten) => is_taken && one.gives(),
                false if is_seeded(Fault::GiversUnordered) => {
                    one.gives() && two.takes() || one.takes() && two.gives()
                }
                false => is_taken && (one.gives() || two.gives()),
            }
        })
    })
}
