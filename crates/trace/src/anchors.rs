//! Links between events and the recorded program, by which a replay finds the events again.
//!
//! **Computes.** Which visible operation of its thread an event is (`crates/recording` defines
//! them) and what kind of record it was; whose child a thread is, and which one; where races are
//! declared to be harmless.
//!
//! **Invariant.** The columns are empty, or have one entry per event. Events that an importer made
//! up have no ordinal, nor have those that are not visible operations, but for requests: these have
//! the ordinal of what they announce. Events that are pieces of one operation share theirs.

use crate::event::*;
use crate::ids::*;
use crate::location::Location;
use crate::store::{Builder, Trace};

const NO_ORDINAL: u32 = u32::MAX;

impl Trace {
    /// Which visible operation of its thread the event is, from 0, if that was recorded.
    #[inline]
    pub fn ordinal(&self, id: EventId) -> Option<u32> {
        self.ordinals.get(id.index()).copied().filter(|&ordinal| ordinal != NO_ORDINAL)
    }

    /// The kind of the event's record, as `foretrace_recording::record::kind` numbers them.
    #[inline]
    pub fn record_kind(&self, id: EventId) -> Option<u8> {
        self.ordinal(id)?;
        self.record_kinds.get(id.index()).copied()
    }

    /// Whether any event has an ordinal.
    pub fn has_ordinals(&self) -> bool {
        !self.ordinals.is_empty()
    }

    /// The thread that forks this one, and which of its children this is, from 0. O(events).
    pub fn lineage(&self, thread: ThreadId) -> Option<(ThreadId, u32)> {
        self.lineages()[thread.index()]
    }

    /// [`Trace::lineage`] of all threads at once.
    pub fn lineages(&self) -> Vec<Option<(ThreadId, u32)>> {
        let mut lineages = vec![None; self.threads().len()];
        let mut children = vec![0u32; self.threads().len()];
        for (id, op) in self.other_ops() {
            if let Op::Fork { child } = op {
                let parent = self.thread_of(id);
                let count = &mut children[parent.index()];
                lineages[child.index()].get_or_insert((parent, *count));
                *count += 1;
            }
        }
        lineages
    }

    /// Places on which races are declared to be harmless, and why.
    pub fn benign(&self) -> &[(Place, String)] {
        &self.benign
    }
}

impl Builder {
    /// Appends an event that is visible operation `ordinal` of its thread, recorded as `kind`.
    pub fn push_recorded(&mut self, event: Event, ordinal: u32, kind: u8) -> EventId {
        let id = self.push(event);
        self.set_ordinal(id, ordinal, kind);
        id
    }

    /// Declares that races on a place are harmless.
    pub fn declare_benign(&mut self, at: Place, reason: &str) {
        self.trace.benign.push((at, reason.to_string()));
    }

    pub(crate) fn set_ordinal(&mut self, id: EventId, ordinal: u32, kind: u8) {
        assert!(ordinal != NO_ORDINAL, "a thread has fewer than 2^32 - 1 operations");
        let trace = &mut self.trace;
        if trace.ordinals.is_empty() {
            trace.ordinals.resize(trace.columns.kind.len(), NO_ORDINAL);
            trace.record_kinds.resize(trace.columns.kind.len(), 0);
        }
        trace.ordinals[id.index()] = ordinal;
        trace.record_kinds[id.index()] = kind;
    }

    /// Keeps the columns as long as the others.
    #[inline]
    pub(crate) fn pad_anchors(&mut self) {
        if !self.trace.ordinals.is_empty() {
            self.trace.ordinals.push(NO_ORDINAL);
            self.trace.record_kinds.push(0);
        }
    }
}

/// The hash by which a replay knows a location that an importer of recordings wrote as
/// `file:line:column (function)`; 0 if it is of another form.
pub fn place_hash(location: &str) -> u64 {
    match Location::parse(location) {
        Some(Location { file, line, column: Some(column), .. }) => {
            foretrace_recording::plan::place_hash(file.as_bytes(), line, column)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::place_hash;
    use crate::*;

    #[test]
    fn ordinals_are_kept_beside_events_without() {
        let mut builder = Trace::builder();
        let thread = builder.thread("t");
        let event = Event { thread, op: Op::External, location: None };
        builder.push(event);
        builder.push_recorded(event, 7, 8);
        builder.push(event);
        let trace = builder.finish();
        let all: Vec<_> =
            (0..3).map(|at| (trace.ordinal(EventId(at)), trace.record_kind(EventId(at)))).collect();
        assert_eq!(all, [(None, None), (Some(7), Some(8)), (None, None)]);
        assert!(trace.has_ordinals() && !Trace::builder().finish().has_ordinals());
    }

    #[test]
    fn children_are_counted_in_program_order() {
        let trace = text::parse("a: fork b\nb: fork d\na: fork c\nd: begin\n").unwrap();
        let names = |thread: ThreadId| trace.name(thread).to_string();
        let all: Vec<_> =
            trace.thread_ids().map(|thread| (names(thread), trace.lineage(thread))).collect();
        let find = |name: &str| ThreadId::from(trace.threads().find(name).unwrap());
        for (name, lineage) in all {
            let expected = match &*name {
                "a" => None,
                "b" => Some((find("a"), 0)),
                "c" => Some((find("a"), 1)),
                _ => Some((find("b"), 0)),
            };
            assert_eq!(lineage, expected, "{name}");
        }
    }

    #[test]
    fn hashes_are_those_of_the_runtime() {
        let expected = foretrace_recording::plan::place_hash(b"/a b/bank.c", 12, 5);
        assert_eq!(place_hash("/a b/bank.c:12:5 (withdraw)"), expected);
        assert_eq!(place_hash("/a b/bank.c:12:5"), expected);
        assert_eq!(place_hash("/a b/bank.c:12:5 (operator() (int))"), expected);
        assert_eq!(place_hash("bank.c"), 0);
    }
}
