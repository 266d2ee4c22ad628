//! When objects live: allocs, frees, and the order that re-used addresses keep.
//!
//! **Follows.** `docs/theory.md`, section 3: an access needs a live object; an alloc needs the
//! recorded earlier objects at its address to be freed.

use rustc_hash::FxHashMap;

use foretrace_trace::{EventId, ObjectId, Op, Trace, ops};

/// The lifetime part of the skeleton.
#[derive(Debug)]
pub struct Lifetimes {
    allocs: FxHashMap<ObjectId, EventId>,
    frees: FxHashMap<ObjectId, EventId>,
    /// For an alloc: the frees that it must follow.
    freed_before: FxHashMap<EventId, Vec<EventId>>,
}

impl Lifetimes {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut lifetimes = Lifetimes {
            allocs: FxHashMap::default(),
            frees: FxHashMap::default(),
            freed_before: FxHashMap::default(),
        };
        // Freed address ranges by start; a later free replaces what it covers only if equal, so the
        // list per alloc may repeat what is implied already, which costs little.
        let mut freed: std::collections::BTreeMap<u64, Vec<(u64, EventId)>> = Default::default();
        let mut longest = 0;
        let mut ranges: FxHashMap<ObjectId, (u64, u64)> = FxHashMap::default();
        for (event, op) in trace.other_ops() {
            match op {
                Op::Alloc { object, size, address } => {
                    lifetimes.allocs.insert(object, event);
                    let Some(start) = address else { continue };
                    let end = start.saturating_add(u64::from(size));
                    ranges.insert(object, (start, end));
                    let nearby = freed.range(start.saturating_sub(longest)..end);
                    let before: Vec<EventId> = nearby
                        .flat_map(|(_, list)| list)
                        .filter(|(freed_end, _)| *freed_end > start)
                        .map(|&(_, free)| free)
                        .collect();
                    if !before.is_empty() {
                        lifetimes.freed_before.insert(event, before);
                    }
                }
                Op::Free { object } => {
                    lifetimes.frees.insert(object, event);
                    if let Some(&(start, end)) = ranges.get(&object) {
                        longest = longest.max(end - start);
                        freed.entry(start).or_default().push((end, event));
                    }
                }
                ops!(memory data sync call mark) => {}
            }
        }
        lifetimes
    }

    /// Whether some object comes to life in the recorded run.
    pub fn has_allocs(&self) -> bool {
        !self.allocs.is_empty()
    }

    /// The alloc of an object; `None`: it lives from the start.
    pub fn alloc_of(&self, object: ObjectId) -> Option<EventId> {
        self.allocs.get(&object).copied()
    }

    /// The free of an object.
    pub fn free_of(&self, object: ObjectId) -> Option<EventId> {
        self.frees.get(&object).copied()
    }

    /// The frees that must precede an alloc.
    pub fn freed_before(&self, alloc: EventId) -> &[EventId] {
        self.freed_before.get(&alloc).map_or(&[], |frees| frees)
    }
}
