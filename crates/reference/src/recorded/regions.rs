//! Regions: between an outermost `region begin` and its end; critical sections too, if asked for.

use foretrace_trace::{EventId, Op, Trace, ops};

use super::Sync;

/// Whether two events of one thread, the first of which comes first, lie in one region.
pub(crate) fn share_a_region(
    trace: &Trace,
    sync: &Sync,
    infer_regions: bool,
    first: EventId,
    second: EventId,
) -> bool {
    let events = trace.thread_events(trace.thread_of(first));
    let (from, to) = (trace.position(first), trace.position(second));
    let mut depth = 0;
    let mut stays_inside = false;
    for (position, &event) in events[..=to].iter().enumerate() {
        match trace.op(event) {
            Op::RegionBegin => depth += 1,
            Op::RegionEnd if depth > 0 => depth -= 1,
            ops!(memory object data sync call RegionEnd Fence External) => {}
        }
        if position == from {
            stays_inside = depth > 0;
        }
        stays_inside &= depth > 0 || position < from;
    }
    let guards = |hold: &crate::recorded::Hold| {
        let closes_behind = hold.close.is_some_and(|close| close >= second);
        hold.thread == trace.thread_of(first) && hold.open <= first && closes_behind
    };
    stays_inside || (infer_regions && sync.holds.iter().any(guards))
}
