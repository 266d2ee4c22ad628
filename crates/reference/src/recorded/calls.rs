//! Calls on channels: which must have begun before which ends.
//!
//! **Follows.** `docs/theory.md`, section 2, from behind: a chain of calls that leads to one that
//! ends, longer by one call at its front each time. Of two chains with the same front, the one
//! whose first end is later can go on wherever the other can.
//!
//! **Cost.** Quadratic in the calls for each one that ends.

use foretrace_trace::{Channels, ChannelsId, EventId, Op, Trace, ops};

use crate::Unsupported;

/// How many calls a formula may have.
const MOST_CALLS: usize = 1_000;

struct Call {
    enter: EventId,
    leave: Option<EventId>,
    on: ChannelsId,
}

/// For each end of a call, the begins that must be executed before it.
pub(super) fn call_needs(trace: &Trace) -> Result<Vec<(EventId, Vec<EventId>)>, Unsupported> {
    let mut calls: Vec<Call> = Vec::new();
    for (event, op) in trace.other_ops() {
        match op {
            Op::EnterCall { on, .. } => calls.push(Call { enter: event, leave: None, on }),
            Op::LeaveCall => {
                let thread = trace.thread_of(event);
                let is_innermost = |call: &&mut Call| {
                    call.leave.is_none() && trace.thread_of(call.enter) == thread
                };
                if let Some(call) = calls.iter_mut().rev().find(is_innermost) {
                    call.leave = Some(event);
                }
            }
            ops!(memory object data sync mark) => {}
        }
    }
    if calls.len() > MOST_CALLS {
        return Err(Unsupported::new("more than 1,000 calls on channels"));
    }
    let mut taken = vec![false; trace.channels().len()];
    for call in &calls {
        if let Channels::Only(list) = trace.channels_of(call.on) {
            list.iter().for_each(|(channel, way)| taken[channel.index()] |= way.takes());
        }
    }
    let leads = |from: &Call, to: &Call| leads(trace, &taken, from.on, to.on);
    let mut needs = Vec::new();
    for (last, call) in calls.iter().enumerate() {
        let Some(leave) = call.leave else { continue };
        // Of each call the latest first end of a chain that begins with it.
        let mut first_end: Vec<Option<EventId>> = vec![None; calls.len()];
        let mut open = vec![(last, leave)];
        while let Some((front, end)) = open.pop() {
            for (at, call) in calls.iter().enumerate() {
                let new_end = call.leave.map_or(end, |leave| leave.min(end));
                let is_better = first_end[at].is_none_or(|known| known < new_end);
                if call.enter < end && is_better && leads(call, &calls[front]) {
                    first_end[at] = Some(new_end);
                    open.push((at, new_end));
                }
            }
        }
        let begun = first_end.iter().zip(&calls).filter(|(end, _)| end.is_some());
        let enters = begun.map(|(_, call)| call.enter);
        let others = enters.filter(|&enter| trace.thread_of(enter) != trace.thread_of(leave));
        needs.push((leave, others.collect()));
    }
    Ok(needs)
}

fn leads(trace: &Trace, taken: &[bool], from: ChannelsId, to: ChannelsId) -> bool {
    match (trace.channels_of(from), trace.channels_of(to)) {
        (Channels::Only([]), _) | (_, Channels::Only([])) => false,
        (Channels::Only(from), Channels::Only(to)) => from.iter().any(|&(channel, gives)| {
            let Some(&(_, takes)) = to.iter().find(|(other, _)| *other == channel) else {
                return false;
            };
            match trace.is_delayed(channel) {
                true => gives.gives() && takes.takes(),
                false => taken[channel.index()] && (gives.gives() || takes.gives()),
            }
        }),
        _ => true,
    }
}
