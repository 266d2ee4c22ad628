//! Memory that the program gives to code which is not instrumented, while there are several
//! threads.
//!
//! **Computes.** In the first pass, which memory is given away, by which threads, and which threads
//! write to it. In the second pass, the pins that follow from it:
//!
//! - Behind a call that may have read memory to which another thread writes: what the call did and
//!   returned may depend on that.
//! - Behind a read of bytes that the program has not stored itself, as far as was recorded, if
//!   another thread has given the memory away before: what was read may come from there.
//! - Where `realloc` copies what other threads have stored.
//!
//! **Invariant.** An object of the program is one place. Stacks, and memory of which nothing is
//! known, are many: lines of [`LINE`] bytes, and an address stands for the next [`REACH`] bytes.
//!
//! **Cost.** An entry per object that is written to, if anything is given away at all.

use foretrace_recording::record::handed;
use foretrace_trace::Provenance;
use foretrace_trace::provenance::{Taken, Unseen};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::{Emit, Now};
use super::objects::{Block, Found, Objects, What};
use super::records::{Record, Touch};
use super::shadow::Shadow;

const LINE: u64 = 64;
const REACH: u64 = 256;
/// More threads than one.
const SEVERAL: u32 = u32::MAX;

/// An object, and a line of it or 0.
type Place = (u32, u64);

/// The first pass.
#[derive(Default)]
pub(super) struct Handed {
    /// There is more than one thread.
    has_threads: bool,
    /// What was given away.
    places: FxHashSet<Place>,
    /// Who gave objects of the program away, and how large they are.
    objects: FxHashMap<u32, (u32, u64)>,
    /// Who writes to which places.
    writers: FxHashMap<Place, u32>,
    /// Whether a thread has just begun to move a block in which others have been.
    moving: FxHashMap<u32, bool>,
    /// Blocks to which `realloc` has moved what other threads have stored.
    moved: FxHashSet<u32>,
}

fn is_one_place(found: &Found) -> bool {
    matches!(found.what, What::Global(_) | What::Heap(_))
}

/// The places of the bytes `start..end`, which are in an object.
fn places(found: &Found, start: u64, end: u64) -> impl Iterator<Item = Place> + use<> {
    let object = found.object;
    let lines = match is_one_place(found) {
        true => 0..1,
        false => 1 + start / LINE..2 + (end - 1) / LINE,
    };
    lines.map(move |line| (object, line))
}

fn reach(found: &Found, address: u64) -> u64 {
    found.end.min(address.saturating_add(REACH))
}

fn note(who: &mut FxHashMap<Place, u32>, place: Place, thread: u32) {
    who.entry(place).and_modify(|one| *one = joined(*one, thread)).or_insert(thread);
}

fn joined(one: u32, other: u32) -> u32 {
    if one == other { one } else { SEVERAL }
}

fn has_other(who: &FxHashMap<Place, u32>, place: Place, thread: u32) -> bool {
    who.get(&place).is_some_and(|&one| one != thread)
}

impl Handed {
    /// A thread is forked.
    pub(super) fn has_forked(&mut self) {
        self.has_threads = true;
    }

    /// A thread writes to the bytes `start..end`.
    pub(super) fn write(&mut self, found: &Found, start: u64, end: u64, thread: u32) {
        if self.has_threads {
            places(found, start, end).for_each(|place| note(&mut self.writers, place, thread));
        }
    }

    /// A thread gives an address away.
    pub(super) fn give(
        &mut self,
        objects: &mut Objects,
        shadow: &mut Shadow,
        thread: u32,
        record: &Record,
    ) {
        let address = record.word(0);
        let found = objects.find(address);
        if !self.has_threads {
            return;
        }
        let end = reach(&found, address);
        for place in places(&found, address, end) {
            self.places.insert(place);
            if record.detail != handed::UNKNOWN {
                note(&mut self.writers, place, thread);
            }
        }
        if is_one_place(&found) {
            let size = found.end - found.start;
            let given = self.objects.entry(found.object).or_insert((thread, size));
            given.0 = joined(given.0, thread);
        } else {
            let offset = |address: u64| (address - found.start) as u32;
            shadow.touch(found.object, offset(address), offset(end), thread);
        }
    }

    /// A block's life ends.
    pub(super) fn free(&mut self, shadow: &mut Shadow, block: Block, moves: bool, thread: u32) {
        if moves {
            let is_foreign = self.has_threads
                && shadow.has_others(block.object, block.end - block.start, thread);
            self.moving.insert(thread, is_foreign);
        }
        match self.objects.remove(&block.object) {
            Some((by, size)) => shadow.share_with(block.object, size, by),
            None => drop(self.writers.remove(&(block.object, 0))),
        }
    }

    /// A thread gets a block with what the one held that it gave back.
    pub(super) fn moved(&mut self, shadow: &mut Shadow, block: Block, thread: u32) {
        if self.moving.remove(&thread) == Some(true) {
            self.moved.insert(block.object);
            // Others find there what the thread has copied.
            self.objects.insert(block.object, (thread, block.end - block.start));
            shadow.keep(block.object);
        }
    }

    /// At the end of the recording.
    pub(super) fn finish(&mut self, shadow: &mut Shadow) {
        for (object, (by, size)) in self.objects.drain() {
            shadow.share_with(object, size, by);
        }
    }

    /// Whether what `realloc` copied there was stored by others.
    pub(super) fn is_moved(&self, object: u32) -> bool {
        self.moved.contains(&object)
    }
}

/// The second pass.
#[derive(Default)]
pub(super) struct Given {
    has_threads: bool,
    /// Who gave which places away so far.
    by: FxHashMap<Place, u32>,
    /// Of lines of 64 bytes, the bytes that were stored: object and line.
    stored: FxHashMap<(u32, u32), u64>,
}

/// The lines of the bytes `start..end` of an object, each with a mask of its bytes.
fn masks(start: u32, end: u32) -> impl Iterator<Item = (u32, u64)> {
    (start / 64..=(end - 1) / 64).map(move |line| {
        let first = start.saturating_sub(64 * line);
        let last = (end - 64 * line).min(64);
        (line, (u64::MAX >> (64 - (last - first))) << first)
    })
}

impl Given {
    pub(super) fn has_forked(&mut self) {
        self.has_threads = true;
    }
}

impl Emit<'_> {
    /// An address is given away.
    pub(super) fn hand_over(&mut self, now: Now) {
        let address = now.record.word(0);
        let found = self.objects.find(address);
        if !self.given.has_threads {
            return;
        }
        let mut may_depend = false;
        for place in places(&found, address, reach(&found, address)) {
            may_depend |= has_other(&self.survey.handed.writers, place, now.thread);
            note(&mut self.given.by, place, now.thread);
        }
        if may_depend && now.record.detail != handed::WRITTEN {
            let at = self.location(now).map(|location| {
                self.builder.so_far().locations().get(location.index()).to_string()
            });
            self.leave_out(now, Provenance::Unseen { what: Unseen::MemoryCall, at });
        }
    }

    /// After an access to these bytes of objects: whether what it read may have been written by
    /// code that is not instrumented, for another thread.
    pub(super) fn handed_memory(&mut self, now: Now, touch: &Touch, pieces: &[(Found, u32, u32)]) {
        let mut is_unknown = false;
        for &(found, start, end) in pieces {
            let bytes = found.start + u64::from(start)..found.start + u64::from(end);
            let is_given = |place: &Place| self.survey.handed.places.contains(place);
            let given: Vec<Place> =
                places(&found, bytes.start, bytes.end).filter(is_given).collect();
            if given.is_empty() {
                continue;
            }
            let stored = &mut self.given.stored;
            if touch.reads.is_some()
                && given.iter().any(|&place| has_other(&self.given.by, place, now.thread))
            {
                is_unknown |= masks(start, end).any(|(line, mask)| {
                    stored.get(&(found.object, line)).is_none_or(|known| known & mask != mask)
                });
            }
            if touch.writes.is_some() {
                for (line, mask) in masks(start, end) {
                    *stored.entry((found.object, line)).or_default() |= mask;
                }
            }
        }
        if is_unknown {
            self.leave_out(now, Taken::HandedMemory);
        }
    }
}
