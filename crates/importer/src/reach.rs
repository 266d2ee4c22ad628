//! What code that is not instrumented can reach from the memory that it gets.
//!
//! **Computes.** Of each place, the threads whose calls of such code may use it: those that give it
//! away, or a place from which it can be reached. A place leads to another one if the program has
//! stored the address of the one in the other; and all that one call gets, or allocates, may lead
//! to each other.
//!
//! **Invariant.** A place that several threads use, be it by accesses of the program, is one that
//! every call of such code may use, by addresses that the code has kept: so is all that can be
//! reached from there. So is what was given away before the first thread was created. What one
//! thread alone uses and gives away is its own.
//!
//! **Cost.** An entry for each pair of places of which one leads to the other.

use foretrace_recording::channel;
use foretrace_recording::record::kind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::handed::{Place, SEVERAL, joined, note, places, reach};
use super::objects::{Found, Objects};
use super::records::{Record, Touch};

/// No address of a variable is below.
const LOWEST: u64 = 1 << 16;

#[derive(Default)]
pub(super) struct Reach {
    leads: FxHashSet<(Place, Place)>,
    /// Objects to which places lead.
    targets: FxHashSet<u32>,
    /// Who gives places away.
    givers: FxHashMap<Place, u32>,
    /// Who accesses places, since there are several threads.
    users: FxHashMap<Place, u32>,
    /// The open calls of each thread; of those of which nothing is known, a place that they use.
    open: FxHashMap<u32, Vec<Option<Option<Place>>>>,
}

/// Whether the call that begins here is one of which nothing is known.
pub(super) fn is_unknown(record: &Record) -> bool {
    record.kind == kind::ENTER_CALL && record.word(0) == channel::EVERY
}

impl Reach {
    /// A thread accesses the bytes `start..end`.
    pub(super) fn access(&mut self, found: &Found, start: u64, end: u64, thread: u32) {
        places(found, start, end).for_each(|place| note(&mut self.users, place, thread));
    }

    /// A thread stores these bytes of an access, which are in one object.
    pub(super) fn store(
        &mut self,
        objects: &Objects,
        found: &Found,
        touch: &Touch,
        bytes: std::ops::Range<u64>,
    ) {
        let Some(written) = touch.writes else { return };
        let mut at = bytes.start.next_multiple_of(8);
        while at + 8 <= bytes.end {
            let first = (at - touch.address) as usize;
            let word = (0..8)
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(written.byte(first + byte)));
            self.address(objects, found, at, word);
            at += 8;
        }
    }

    /// A word of an object holds this.
    pub(super) fn address(&mut self, objects: &Objects, found: &Found, at: u64, word: u64) {
        if word < LOWEST {
            return;
        }
        let Some(target) = objects.known(word).filter(|target| target.object != found.object)
        else {
            return;
        };
        for from in places(found, at, at + 8) {
            for to in places(&target, word, reach(&target, word)) {
                self.leads.insert((from, to));
            }
        }
        self.targets.insert(target.object);
    }

    /// A call begins, or comes back.
    pub(super) fn call(&mut self, thread: u32, record: &Record) {
        let open = self.open.entry(thread).or_default();
        match record.kind {
            kind::ENTER_CALL => open.push(is_unknown(record).then_some(None)),
            _ => drop(open.pop()),
        }
    }

    /// A thread gives a place away, or code that is not instrumented allocates it.
    pub(super) fn give(&mut self, thread: u32, place: Place, has_threads: bool) {
        note(&mut self.givers, place, if has_threads { thread } else { SEVERAL });
        let open = self.open.get_mut(&thread).and_then(|open| open.last_mut());
        let Some(Some(call)) = open else { return };
        match call {
            None => *call = Some(place),
            Some(other) if *other == place => {}
            Some(other) => {
                let other = *other;
                self.leads.extend([(other, place), (place, other)]);
            }
        }
        self.targets.insert(place.0);
    }

    /// Whether the thread is in a call of which nothing is known.
    pub(super) fn is_inside(&self, thread: u32) -> bool {
        self.open.get(&thread).and_then(|open| open.last()).is_some_and(Option::is_some)
    }

    /// Whether something leads to the object.
    pub(super) fn is_reached(&self, object: u32) -> bool {
        self.targets.contains(&object)
    }

    /// Whether another thread accesses the place.
    pub(super) fn has_other_user(&self, place: Place, thread: u32) -> bool {
        self.users.get(&place).is_some_and(|&one| one != thread)
    }

    /// The places that every call of which nothing is known may use.
    pub(super) fn of_all(&mut self) -> FxHashSet<Place> {
        let mut next: FxHashMap<Place, Vec<Place>> = FxHashMap::default();
        for &(from, to) in &self.leads {
            next.entry(from).or_default().push(to);
        }
        let mut open: Vec<Place> = self.givers.keys().copied().collect();
        while let Some(place) = open.pop() {
            let by = self.givers[&place];
            let all = self.users.get(&place).map_or(by, |&user| joined(by, user));
            self.givers.insert(place, all);
            for &to in next.get(&place).into_iter().flatten() {
                let known = self.givers.get(&to).copied();
                let new = known.map_or(all, |known| joined(known, all));
                if known != Some(new) {
                    self.givers.insert(to, new);
                    open.push(to);
                }
            }
        }
        self.leads = FxHashSet::default();
        let of_all = self.givers.iter().filter(|(_, by)| **by == SEVERAL);
        of_all.map(|(place, _)| *place).collect()
    }
}
