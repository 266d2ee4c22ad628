//! Theory, section 3, row *alloc*: which objects must be freed before an address is used again.
//!
//! **Computes.** For each alloc the frees recorded before it of objects whose address ranges
//! overlap, without those that another of these frees implies: if object F was allocated after G
//! was freed and covers the shared bytes, F's free needs F's alloc, which needs G's free.
//!
//! **Invariant.** `freed` maps disjoint address ranges to the frees of objects that covered the
//! whole range, in recorded order.
//!
//! **Cost.** O(log f + ranges touched) per event for f ranges.

use std::collections::BTreeMap;

use foretrace_trace::{EventId, ObjectId};
use rustc_hash::FxHashMap;

/// The address ranges of the recorded run so far.
#[derive(Default)]
pub(super) struct ReusePass {
    /// First address of a range → the first one behind it, and the frees.
    freed: BTreeMap<u64, (u64, Vec<EventId>)>,
    /// The alloc of each object whose address is known, and its range.
    allocated: FxHashMap<ObjectId, (EventId, u64, u64)>,
}

impl ReusePass {
    /// Appends the frees that the alloc needs.
    pub(super) fn alloc(
        &mut self,
        event: EventId,
        object: ObjectId,
        size: u32,
        address: Option<u64>,
        needed: &mut Vec<EventId>,
    ) {
        let Some(begin) = address else { return };
        let end = begin.saturating_add(u64::from(size));
        let from = needed.len();
        for (_, (_, frees)) in self.overlapping(begin, end) {
            needed.extend(frees);
        }
        needed[from..].sort_unstable();
        let mut kept = from;
        for at in from..needed.len() {
            if at == from || needed[at] != needed[kept - 1] {
                needed[kept] = needed[at];
                kept += 1;
            }
        }
        needed.truncate(kept);
        self.allocated.insert(object, (event, begin, end));
    }

    pub(super) fn free(&mut self, event: EventId, object: ObjectId) {
        let Some((alloc, begin, end)) = self.allocated.remove(&object) else { return };
        if begin == end {
            return;
        }
        let covered: Vec<u64> = self.overlapping(begin, end).map(|(&first, _)| first).collect();
        // Inside the object's range only frees that its alloc does not imply stay.
        let mut inside: Vec<(u64, u64, Vec<EventId>)> = Vec::new();
        for first in covered {
            let (behind, frees) = self.freed.remove(&first).expect("just listed");
            if first < begin {
                self.freed.insert(first, (begin, frees.clone()));
            }
            if behind > end {
                self.freed.insert(end, (behind, frees.clone()));
            }
            let kept: Vec<EventId> = frees.into_iter().filter(|&free| free > alloc).collect();
            if !kept.is_empty() {
                inside.push((first.max(begin), behind.min(end), kept));
            }
        }
        let mut at = begin;
        for (first, behind, mut frees) in inside {
            if at < first {
                self.freed.insert(at, (first, vec![event]));
            }
            frees.push(event);
            self.freed.insert(first, (behind, frees));
            at = behind;
        }
        if at < end {
            self.freed.insert(at, (end, vec![event]));
        }
    }

    /// The ranges that share an address with `begin..end`, in order.
    fn overlapping(
        &self,
        begin: u64,
        end: u64,
    ) -> impl Iterator<Item = (&u64, &(u64, Vec<EventId>))> {
        let before = self.freed.range(..begin).next_back();
        let first = before.filter(|(_, (behind, _))| *behind > begin);
        first.into_iter().chain(self.freed.range(begin..end.max(begin)))
    }
}
