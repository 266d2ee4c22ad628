//! Reads that can see only a few values in every schedule of a recorded run.
//!
//! **Computes.** For reads of memory to which nobody writes anything but numbers: these, and what
//! is there at the start, unless the main thread has set the memory up before it forks the first
//! thread. Such are pointers to tables and buffers, most often. Where an address is made of such a
//! pointer and an index, the index alone says how far apart its places are.
//!
//! **Invariant.** No execution of the run as a program has such a read see anything else: other
//! threads begin behind the first fork, and what is not known to be there at the start is taken
//! as 0.
//!
//! **Cost.** Linear in the bytes that are accessed.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::BTreeSet;

use foretrace_trace::{EventId, ObjectId, Op, Place, ThreadId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many numbers are few.
const FEW: usize = 4;

/// What is written where.
pub(super) struct Settled<'t> {
    trace: &'t Trace,
    main: Option<ThreadId>,
    first_fork: Option<EventId>,
    /// Threads that begin behind the first fork.
    forked: FxHashSet<ThreadId>,
    initial: FxHashMap<(ObjectId, u32), u8>,
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
    /// What is left by those that are not such, and by earlier ones of the main thread.
    others: BTreeSet<u64>,
    /// Not all leave a number.
    is_open: bool,
}

impl<'t> Settled<'t> {
    pub(super) fn of(trace: &'t Trace) -> Settled<'t> {
        let child = |(event, op)| {
            let Op::Fork { child } = op else { return None };
            Some((event, child))
        };
        let forks = || trace.other_ops().filter_map(child);
        let first_fork = forks().next().map(|(event, _)| event);
        let mut settled = Settled {
            trace,
            main: first_fork.map(|fork| trace.thread_of(fork)),
            first_fork,
            forked: forks().map(|(_, child)| child).collect(),
            initial: FxHashMap::default(),
            writes: FxHashMap::default(),
            at: FxHashMap::default(),
            open: FxHashSet::default(),
        };
        for &(at, value) in trace.initial() {
            settled.starts_with(at, value);
        }
        let guards = trace.address_guards();
        let behind = guards.filter_map(|(guard, _)| super::cells::access_behind(trace, guard));
        for access in behind.filter_map(|event| trace.access(event)).filter(|access| access.writes)
        {
            settled.open.insert(access.at.object);
        }
        for (event, access) in trace.accesses() {
            let (seen, stored) = trace.values(event);
            if let Some(seen) = seen.filter(|_| access.reads && access.at.size <= 8) {
                settled.starts_with(access.at, seen);
            }
            if access.writes {
                let is_number = settled.is_number(event) && !access.reads;
                settled.write(event, access.at, stored.filter(|_| is_number));
            }
        }
        settled
    }

    /// What is there at the start, where nothing is known and nothing was written so far.
    fn starts_with(&mut self, at: Place, value: u64) {
        for (byte, value) in (at.offset..at.end()).zip(value.to_le_bytes()) {
            let key = (at.object, byte);
            if !self.at.contains_key(&key) {
                self.initial.entry(key).or_insert(value);
            }
        }
    }

    /// Whether what is stored depends on nothing that was read, or is as recorded anyhow.
    fn is_number(&self, event: EventId) -> bool {
        self.trace.expression(event).is_none_or(|expr| expr.literal().is_some())
    }

    fn write(&mut self, event: EventId, at: Place, value: Option<u64>) {
        let is_early = Some(self.trace.thread_of(event)) == self.main
            && self.first_fork.is_some_and(|fork| event < fork);
        let key = (at.object, at.offset, at.size);
        if !self.writes.contains_key(&key) {
            for byte in at.offset..at.end() {
                self.at.entry((at.object, byte)).or_default().push(key);
            }
        }
        let writes = self.writes.entry(key).or_default();
        match value {
            Some(value) if is_early => writes.prepared = Some((event, value)),
            Some(value) => _ = writes.others.insert(value),
            None => writes.is_open = true,
        }
    }

    /// The numbers that a read can see, if they are few.
    pub(super) fn values(&self, read: EventId) -> Option<BTreeSet<u64>> {
        let Op::Read { at, value: Some(seen), .. } = self.trace.op(read) else { return None };
        if self.open.contains(&at.object) || at.size > 8 {
            return None;
        }
        let key = (at.object, at.offset, at.size);
        let nothing = Vec::new();
        let known = |byte| self.at.get(&(at.object, byte)).unwrap_or(&nothing);
        if (at.offset..at.end()).flat_map(known).any(|other| *other != key) {
            return None;
        }
        let none = Writes::default();
        let writes = self.writes.get(&key).unwrap_or(&none);
        let thread = self.trace.thread_of(read);
        let is_behind = |prepared: EventId| match Some(thread) == self.main {
            true => read > prepared,
            false => self.forked.contains(&thread),
        };
        let mut values = writes.others.clone();
        values.insert(match writes.prepared {
            Some((prepared, value)) if is_behind(prepared) => value,
            // It may see any of the early ones.
            Some(_) => return None,
            None => self.start(at),
        });
        (!writes.is_open && values.len() <= FEW && values.contains(&seen)).then_some(values)
    }

    /// What is there at the start.
    fn start(&self, at: Place) -> u64 {
        let byte = |byte| u64::from(self.initial.get(&(at.object, byte)).copied().unwrap_or(0));
        (at.offset..at.end()).rev().fold(0, |word, at| word << 8 | byte(at))
    }
}
