//! Regions: what a thread means to do atomically.

use foretrace_trace::*;

use super::{Hold, Recorded, Region, Role};

impl Recorded<'_> {
    pub(super) fn find_regions(&mut self, infer: bool) {
        for thread in self.trace.thread_ids() {
            let events = self.trace.thread_events(thread);
            let mut begins: Vec<usize> = Vec::new();
            for (position, &event) in events.iter().enumerate() {
                match self.op(event) {
                    Op::RegionBegin => begins.push(position),
                    Op::RegionEnd => {
                        if let (Some(first), true) = (begins.pop(), begins.is_empty()) {
                            self.regions.push(Region { thread, first, last: position });
                        }
                    }
                    ops!(memory object data sync call Fence External) => {}
                }
            }
            if let Some(&first) = begins.first() {
                self.regions.push(Region { thread, first, last: events.len() - 1 });
            }
        }
        if infer {
            let inferred: Vec<Region> =
                self.opened.values().filter_map(|hold| self.section(hold)).collect();
            self.regions.extend(inferred);
        }
    }

    /// The critical section of a hold, if it makes a region.
    fn section(&self, hold: &Hold) -> Option<Region> {
        let closes = |&event: &EventId| self.role(event) == Role::Closes(hold.opened_by);
        let close = (0..self.ops.len()).map(EventId::from).find(closes)?;
        if self.trace.thread_of(close) != hold.thread {
            return None;
        }
        let first = self.trace.position(hold.opened_by);
        let last = self.trace.position(close);
        // The closing event is part of the range, so a hold closed by a wait is refused as well.
        let waits = self.trace.thread_events(hold.thread)[first + 1..=last]
            .iter()
            .any(|&event| matches!(self.op(event), Op::Wait { .. }));
        (!waits).then_some(Region { thread: hold.thread, first, last })
    }
}
