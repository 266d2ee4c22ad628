//! Objects and locks that come and go, and reads of what unrecorded code wrote.

use foretrace_trace::{EventId, ObjectId, Op};

use super::Encoder;
use crate::explain::Reason;

impl Encoder<'_> {
    /// An access, or the free, needs its object live. Returns whether something is new.
    pub(super) fn require_live(&mut self, access: EventId, object: ObjectId) -> bool {
        let lifetimes = &self.skeleton.lifetimes;
        let (alloc, free) = (lifetimes.alloc_of(object), lifetimes.free_of(object));
        let free = free.filter(|&free| free != access);
        let reason = || Reason::Live { event: access, alloc, free };
        self.under(reason, |encoder| {
            let mut new = alloc.is_some_and(|alloc| encoder.must_follow(alloc, access));
            new |= free.is_some_and(|free| encoder.not_after(access, free));
            new
        })
    }

    /// An alloc needs the earlier objects at its address to be gone. Returns whether something is
    /// new.
    pub(super) fn require_freed(&mut self, alloc: EventId) -> bool {
        let skeleton = self.skeleton;
        let frees = skeleton.lifetimes.freed_before(alloc);
        let reason = || Reason::Freed { alloc, frees: frees.to_vec() };
        self.under(reason, |encoder| {
            frees.iter().fold(false, |new, &free| encoder.must_follow(free, alloc) | new)
        })
    }

    /// An operation on a lock needs that it is not destroyed. Returns whether this is new.
    pub(super) fn require_intact(&mut self, event: EventId, destroy: EventId) -> bool {
        let reason = || Reason::Intact { event, destroy };
        self.under(reason, |encoder| encoder.not_after(event, destroy))
    }

    /// A read with an unknown writer follows everything that is recorded before it. Returns whether
    /// this is new.
    pub(super) fn require_all_before(&mut self, read: EventId) -> bool {
        if !self.unknown_writers.insert(read) {
            return false;
        }
        let trace = self.skeleton.trace;
        let pinned = self.pinned(read);
        for thread in trace.thread_ids() {
            let events = trace.thread_events(thread);
            let count = events.partition_point(|&event| event < read);
            if thread != trace.thread_of(read) && count > 0 {
                let before = self.before(events[count - 1], read);
                let reason = || Reason::Unexplained { read };
                self.under(reason, |encoder| encoder.rule(&[!pinned, before]));
            }
        }
        true
    }

    /// "The object that an access touches is live at X".
    pub(crate) fn live_at_moment(&mut self, access: EventId) -> Vec<foretrace_solve::Lit> {
        let (Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. }) =
            self.skeleton.trace.op(access)
        else {
            return Vec::new();
        };
        let lifetimes = &self.skeleton.lifetimes;
        let (alloc, free) = (lifetimes.alloc_of(at.object), lifetimes.free_of(at.object));
        let mut lits = Vec::new();
        lits.extend(alloc.map(|alloc| self.included(alloc)));
        lits.extend(free.map(|free| !self.included(free)));
        lits
    }
}
