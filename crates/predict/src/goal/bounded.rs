//! The parts of a class one by one, each with the threads of the events that are next at its end.
//!
//! **Follows.** `docs/theory.md`, section 4, *Context switches*.

use std::sync::Arc;

use foretrace_trace::{EventId, ThreadId, Trace};

use super::is_pending;
use crate::candidates::{CycleNode, CyclePart, Groups, Parts};

/// Each part alone, and the threads that the reported schedule ends with, in some order.
pub(super) fn parts(trace: &Trace, groups: &Groups, parts: &Parts) -> Vec<(Parts, Vec<ThreadId>)> {
    let thread = |event: EventId| trace.thread_of(event);
    let end = |event: EventId| match is_pending(trace, event) {
        true => Vec::new(),
        false => vec![thread(event)],
    };
    match parts {
        Parts::Race(parts) => parts
            .iter()
            .map(|part| {
                let ends = [part.first, part.second].map(|group| thread(groups.events(group)[0]));
                (Parts::Race(vec![*part]), ends.to_vec())
            })
            .collect(),
        Parts::Atomicity(parts) => parts
            .iter()
            .map(|part| (Parts::Atomicity(vec![part.clone()]), vec![thread(part.pairs[0].1)]))
            .collect(),
        Parts::LockCycle(parts) => parts.iter().flat_map(|part| cycle_parts(trace, part)).collect(),
        Parts::Stuck(points) => {
            points.iter().map(|&point| (Parts::Stuck(vec![point]), end(point))).collect()
        }
        Parts::Lock(errors) => {
            errors.iter().map(|&error| (Parts::Lock(vec![error]), end(error.1))).collect()
        }
        Parts::Assertion(events) => events
            .iter()
            .map(|&event| (Parts::Assertion(vec![event]), vec![thread(event)]))
            .collect(),
        Parts::LateUse(events) => {
            events.iter().map(|&event| (Parts::LateUse(vec![event]), vec![thread(event)])).collect()
        }
    }
}

/// A cycle, split by which of its threads are next at their point and which have executed it.
fn cycle_parts(trace: &Trace, part: &CyclePart) -> Vec<(Parts, Vec<ThreadId>)> {
    let mut split: Vec<(Vec<Arc<CycleNode>>, Vec<ThreadId>)> = vec![(Vec::new(), Vec::new())];
    for node in &part.nodes {
        let (pending, next): (Vec<EventId>, Vec<EventId>) =
            node.points.iter().partition(|&&point| is_pending(trace, point));
        let thread = trace.thread_of(node.points[0]);
        let before = std::mem::take(&mut split);
        for (points, ends) in [(pending, None), (next, Some(thread))] {
            if points.is_empty() {
                continue;
            }
            for (nodes, threads) in &before {
                let mut nodes = nodes.clone();
                let mut node = CycleNode::clone(node);
                node.points = points.clone();
                nodes.push(Arc::new(node));
                let threads = threads.iter().copied().chain(ends).collect();
                split.push((nodes, threads));
            }
        }
    }
    split
        .into_iter()
        .map(|(nodes, ends)| (Parts::LockCycle(vec![CyclePart { nodes }]), ends))
        .collect()
}
