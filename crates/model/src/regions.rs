//! Regions that the programmer means to be atomic: marked, or inferred from critical sections.
//!
//! **Follows.** `docs/theory.md`, section 2, *Regions*; the inference is that of 000 section 9.2,
//! where synchronised blocks without a wait are taken for atomic.

use foretrace_trace::{EventId, Op, ThreadId, Trace, ops};

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
    let mut regions = marked(trace);
    if infer {
        inferred(trace, locks, &mut regions);
    }
    regions
}

/// The outermost marked regions, thread by thread.
fn marked(trace: &Trace) -> Vec<Region> {
    let mut regions = Vec::new();
    // How many regions a thread is in, and where the outermost one began.
    let mut open = vec![(0u32, 0u32); trace.threads().len()];
    for (event, op) in trace.other_ops() {
        let delta = match op {
            Op::RegionBegin => 1,
            Op::RegionEnd => -1,
            ops!(memory object data sync call Fence External) => continue,
        };
        let thread = trace.thread_of(event);
        let position = trace.position(event) as u32;
        let (depth, first) = &mut open[thread.index()];
        match (*depth, delta) {
            (0, -1) => continue,
            (0, _) => *first = position,
            (1, -1) => regions.push(Region { thread, first: *first, last: position }),
            _ => {}
        }
        *depth = depth.wrapping_add_signed(delta);
    }
    for (thread, (depth, first)) in trace.thread_ids().zip(open) {
        if depth > 0 {
            let last = trace.thread_events(thread).len() as u32 - 1;
            regions.push(Region { thread, first, last });
        }
    }
    regions.sort_unstable();
    regions
}

fn inferred(trace: &Trace, locks: &Locks, regions: &mut Vec<Region>) {
    let position = |event: EventId| trace.position(event) as u32;
    // Where each thread waits.
    let mut waits: Vec<Vec<u32>> = vec![Vec::new(); trace.threads().len()];
    for (event, op) in trace.other_ops() {
        if matches!(op, Op::Wait { .. }) {
            waits[trace.thread_of(event).index()].push(position(event));
        }
    }
    for index in 0..locks.len() {
        let hold = locks.hold(crate::locks::HoldId(index as u32));
        let Some(close) = hold.close else { continue };
        if trace.thread_of(close) != hold.thread {
            continue;
        }
        let (first, last) = (position(hold.open), position(close));
        // A wait between the two, or the one that closes the hold.
        let waits = &waits[hold.thread.index()];
        let next = waits.partition_point(|&wait| wait <= first);
        if waits.get(next).is_none_or(|&wait| wait > last) {
            regions.push(Region { thread: hold.thread, first, last });
        }
    }
}
