//! Reads that see the same value in every schedule of a recorded run.
//!
//! **Computes.** Reads of memory that nobody writes, or that the main thread sets up before it forks the first thread and to which nobody ever writes anything else: pointers to
//! tables and buffers, most often. Where an address is made of such a pointer and an index, the index alone says how far apart its places are.
//!
//! **Invariant.** No execution of the run as a program in which these reads happen has them see another value: other threads begin behind the first fork, and
//! no write that could come later leaves another value.
//!
//! **Cost.** Linear in the bytes that are accessed.

use foretrace_trace::expr::Expr;
use foretrace_trace::{EventId, ObjectId, Op, Place, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is written where.
pub(super) struct Settled<'t> {
    trace: &'t Trace,
    main: Option<ThreadId>,
    /// Threads that begin behind the first fork.
    forked: FxHashSet<ThreadId>,
    writes: FxHashMap<Key, Writes>,
    /// Places that have a byte.
    at: FxHashMap<(ObjectId, u32), Vec<Key>>,
    /// Objects of which nobody knows where they are written.
    open: FxHashSet<ObjectId>,
}

/// A place: object, first byte, size.
type Key = (ObjectId, u32, u32);

/// The writes of one place.
#[derive(Default)]
struct Writes {
    /// The last one of the main thread before the first fork.
    prepared: Option<(EventId, u64)>,
    /// What the others behind that one leave: `Some(None)` if that is not one number.
    later: Option<Option<u64>>,
}

impl<'t> Settled<'t> {
    pub(super) fn of(trace: &'t Trace) -> Settled<'t> {
        let fork = trace.other_ops().find(|(_, op)| matches!(op, Op::Fork { .. }));
        let (first_fork, main) =
            (fork.map(|(event, _)| event), fork.map(|(event, _)| trace.thread_of(event)));
        let child = |(_, op)| match op {
            Op::Fork { child } => Some(child),
            _ => None,
        };
        let forked = trace.other_ops().filter_map(child).collect();
        let (writes, at, open) = Default::default();
        let mut settled = Settled { trace, main, forked, writes, at, open };
        let guards = trace
            .address_guards()
            .filter_map(|(guard, _)| super::cells::access_behind(trace, guard));
        for access in guards.filter_map(|event| trace.access(event)).filter(|access| access.writes)
        {
            settled.open.insert(access.at.object);
        }
        for (event, access) in trace.accesses().filter(|(_, access)| access.writes) {
            let value = trace.values(event).1.filter(|_| settled.is_number(event) && !access.reads);
            let is_early =
                Some(trace.thread_of(event)) == main && first_fork.is_some_and(|fork| event < fork);
            settled.write(event, access.at, value, is_early);
        }
        settled
    }

    /// Whether what is stored depends on nothing that was read, or is as recorded anyhow.
    fn is_number(&self, event: EventId) -> bool {
        self.trace.expression(event).is_none_or(|expr| matches!(expr, Expr::Literal(_)))
    }

    fn write(&mut self, event: EventId, at: Place, value: Option<u64>, is_early: bool) {
        let key = (at.object, at.offset, at.size);
        if !self.writes.contains_key(&key) {
            for byte in at.offset..at.end() {
                self.at.entry((at.object, byte)).or_default().push(key);
            }
        }
        let writes = self.writes.entry(key).or_default();
        match (is_early, value) {
            (true, Some(value)) => writes.prepared = Some((event, value)),
            _ => {
                let same = writes.later.is_none_or(|later| later == value);
                writes.later = Some(value.filter(|_| same));
            }
        }
    }

    /// The value that a read sees in every schedule, if it is known.
    pub(super) fn value(&self, read: EventId) -> Option<u64> {
        let Op::Read { at, value: Some(seen), .. } = self.trace.op(read) else { return None };
        if self.open.contains(&at.object) {
            return None;
        }
        let key = (at.object, at.offset, at.size);
        let nothing = Vec::new();
        let known = |byte| self.at.get(&(at.object, byte)).unwrap_or(&nothing);
        let mut overlapping = (at.offset..at.end()).flat_map(known);
        if overlapping.clone().next().is_none() {
            return Some(seen);
        }
        let writes = self.writes.get(&key)?;
        let (prepared, value) = writes.prepared?;
        let thread = self.trace.thread_of(read);
        let is_behind = match Some(thread) == self.main {
            true => read > prepared,
            false => self.forked.contains(&thread),
        };
        let is_only = overlapping.all(|other| *other == key)
            && writes.later.is_none_or(|later| later == Some(value));
        (is_behind && is_only && seen == value).then_some(value)
    }
}
