//! Regions that the programmer means to be atomic: marked, or inferred from critical sections.
//!
//! **Follows.** `docs/theory.md`, section 2, *Regions*; the inference is that of 000 section 9.2, where
//! synchronised blocks without a wait are taken for atomic.

use foretrace_trace::{EventId, Op, ThreadId, Trace};

use crate::locks::Locks;

/// The events of `thread` at positions `first..=last`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Region {
    /// Whose.
    pub thread: ThreadId,
    /// First position in the thread.
    pub first: u32,
    /// Last position in the thread.
    pub last: u32,
}

/// All regions of the trace, marked ones first.
pub fn regions(trace: &Trace, locks: &Locks, infer: bool) -> Vec<Region> {
    let mut regions = Vec::new();
    for thread in trace.thread_ids() {
        marked(trace, thread, &mut regions);
    }
    if infer {
        inferred(trace, locks, &mut regions);
    }
    regions
}

fn marked(trace: &Trace, thread: ThreadId, regions: &mut Vec<Region>) {
    let events = trace.thread_events(thread);
    let (mut depth, mut first) = (0u32, 0);
    for (position, &event) in events.iter().enumerate() {
        match trace.op(event) {
            Op::RegionBegin => {
                if depth == 0 {
                    first = position as u32;
                }
                depth += 1;
            }
            Op::RegionEnd if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    regions.push(Region { thread, first, last: position as u32 });
                }
            }
            _ => {}
        }
    }
    if depth > 0 {
        regions.push(Region { thread, first, last: events.len() as u32 - 1 });
    }
}

fn inferred(trace: &Trace, locks: &Locks, regions: &mut Vec<Region>) {
    // The number of waits of the thread before each of its positions tells in O(1) whether one
    // lies strictly between two events.
    let waits: Vec<Vec<u32>> = trace
        .thread_ids()
        .map(|thread| {
            let mut count = 0;
            let mut before = vec![0];
            for &event in trace.thread_events(thread) {
                count += u32::from(matches!(trace.op(event), Op::Wait { .. }));
                before.push(count);
            }
            before
        })
        .collect();
    let position = |event: EventId| trace.position(event) as u32;
    for index in 0..locks.len() {
        let hold = locks.hold(crate::locks::HoldId(index as u32));
        let Some(close) = hold.close else { continue };
        if trace.thread_of(close) != hold.thread || matches!(trace.op(close), Op::Wait { .. }) {
            continue;
        }
        let (first, last) = (position(hold.open), position(close));
        let before = &waits[hold.thread.index()];
        if before[last as usize] == before[first as usize + 1] {
            regions.push(Region { thread: hold.thread, first, last });
        }
    }
}
