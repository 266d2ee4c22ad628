//! Memory that the program gives to code which is not instrumented, while there are several
//! threads.
//!
//! **Computes.** In the first pass, which memory is given away, by which threads, and which threads
//! write to it. In the second pass, the pins that follow from it:
//!
//! - Before and behind a call that gets memory which another thread uses: what the call did and
//!   returned may depend on that, and others that come behind may find what it has written.
//! - Behind a read of bytes that the program has not stored itself, as far as was recorded, if
//!   another thread has given the memory away before: what was read may come from there.
//! - The same with memory that calls of which nothing is known can reach, whoever has given it away
//!   ([`super::reach`]): before such a call if another thread has used it, behind the call if
//!   another one has written to it, and behind a read of it if another one has made such a call,
//!   each since the thread's last pin. A thread that has no pin yet gets one behind its call if
//!   others ever write there.
//! - Where `realloc` copies what other threads have stored.
//!
//! **Invariant.** An object of the program is one place. Stacks, and memory of which nothing is
//! known, are many: lines of [`LINE`] bytes, and an address stands for the next [`REACH`] bytes.
//!
//! **Cost.** An entry per object that is accessed, if anything is given away at all.

use foretrace_recording::record::handed;
use foretrace_trace::Provenance;
use foretrace_trace::provenance::{Taken, Unseen};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::{Emit, Now};
use super::objects::{Block, Found, Objects, What};
use super::reach::{self, Reach};
use super::records::{Record, Touch};
use super::shadow::Shadow;
use super::tables::Tables;

const LINE: u64 = 64;
const REACH: u64 = 256;
/// More threads than one.
pub(super) const SEVERAL: u32 = u32::MAX;

/// An object, and a line of it or 0.
pub(super) type Place = (u32, u64);

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
    reach: Reach,
    /// What every call of which nothing is known may use, and who writes there.
    of_all: FxHashSet<Place>,
    writers_of_all: Option<u32>,
}

fn is_one_place(found: &Found) -> bool {
    matches!(found.what, What::Global(_) | What::Heap(_))
}

/// The places of the bytes `start..end`, which are in an object.
pub(super) fn places(found: &Found, start: u64, end: u64) -> impl Iterator<Item = Place> + use<> {
    let object = found.object;
    let lines = match is_one_place(found) {
        true => 0..1,
        false => 1 + start / LINE..2 + (end - 1) / LINE,
    };
    lines.map(move |line| (object, line))
}

pub(super) fn reach(found: &Found, address: u64) -> u64 {
    found.end.min(address.saturating_add(REACH))
}

pub(super) fn note(who: &mut FxHashMap<Place, u32>, place: Place, thread: u32) {
    who.entry(place).and_modify(|one| *one = joined(*one, thread)).or_insert(thread);
}

pub(super) fn joined(one: u32, other: u32) -> u32 {
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

    /// A thread accesses these bytes, which are in one object.
    pub(super) fn access(
        &mut self,
        objects: &Objects,
        found: &Found,
        touch: &Touch,
        bytes: std::ops::Range<u64>,
        thread: u32,
    ) {
        let (start, end) = (bytes.start, bytes.end);
        self.reach.store(objects, found, touch, bytes);
        if self.has_threads {
            self.reach.access(found, start, end, thread);
            if touch.writes.is_some() {
                places(found, start, end).for_each(|place| note(&mut self.writers, place, thread));
            }
        }
    }

    /// What variables of the program hold at first.
    pub(super) fn begin(&mut self, objects: &mut Objects, tables: &Tables) {
        for (at, word) in tables.initial_words() {
            let found = objects.known(at);
            if let Some(found) = found.filter(|found| at + 8 <= found.end) {
                self.reach.address(objects, &found, at, word);
            }
        }
    }

    /// A call begins, or comes back.
    pub(super) fn call(&mut self, thread: u32, record: &Record) {
        self.reach.call(thread, record);
    }

    /// A thread gets a block.
    pub(super) fn allocated(&mut self, block: Block, thread: u32) {
        if self.reach.is_inside(thread) {
            self.reach.give(thread, (block.object, 0), self.has_threads);
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
        let end = reach(&found, address);
        if self.reach.is_inside(thread) {
            let has_threads = self.has_threads;
            places(&found, address, end)
                .for_each(|place| self.reach.give(thread, place, has_threads));
        }
        if !self.has_threads {
            return;
        }
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
            None if self.reach.is_reached(block.object) => {}
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
        self.of_all = self.reach.of_all();
        let writers = self.of_all.iter().filter_map(|place| self.writers.get(place));
        self.writers_of_all = writers.copied().reduce(joined);
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
    /// When what every call may use was last written to and used, and when a call of which nothing
    /// is known was last under way, in records.
    written: Latest,
    used: Latest,
    called: Latest,
    /// The last pin of each thread.
    pinned: FxHashMap<u32, u64>,
    /// Of the open calls of each thread, whether nothing is known of them.
    open: FxHashMap<u32, Vec<bool>>,
}

/// The last time at which something happened, and the last one by another thread than that.
#[derive(Default)]
struct Latest {
    last: Option<(u32, u64)>,
    before: Option<(u32, u64)>,
}

impl Latest {
    fn note(&mut self, thread: u32, now: u64) {
        if self.last.is_some_and(|(last, _)| last != thread) {
            self.before = self.last;
        }
        self.last = Some((thread, now));
    }

    /// When another thread did it last.
    fn by_other(&self, thread: u32) -> Option<u64> {
        let both = [self.last, self.before];
        both.into_iter().flatten().find(|&(by, _)| by != thread).map(|(_, time)| time)
    }
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

    pub(super) fn has_threads(&self) -> bool {
        self.has_threads
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
            let handed = &self.survey.handed;
            may_depend |= has_other(&handed.writers, place, now.thread)
                || handed.reach.has_other_user(place, now.thread);
            note(&mut self.given.by, place, now.thread);
        }
        if may_depend {
            self.may_have_looked(now);
        }
    }

    fn may_have_looked(&mut self, now: Now) {
        let at =
            self.location(now).map(|location| self.builder.so_far().name(location).to_string());
        self.leave_out(now, Provenance::Unseen { what: Unseen::MemoryCall, at });
    }

    /// A thread has a pin here.
    pub(super) fn is_pinned(&mut self, thread: u32) {
        if !self.survey.handed.of_all.is_empty() {
            self.given.pinned.insert(thread, self.now);
        }
    }

    /// Whether something that others do has happened since the thread's last pin.
    fn is_news(&self, thread: u32, latest: &Latest) -> bool {
        let since = self.given.pinned.get(&thread).copied().unwrap_or(0);
        latest.by_other(thread).is_some_and(|time| time > since)
    }

    /// A call begins.
    pub(super) fn before_call(&mut self, now: Now) {
        if self.survey.handed.of_all.is_empty() {
            return;
        }
        let is_unknown = reach::is_unknown(&now.record);
        self.given.open.entry(now.thread).or_default().push(is_unknown);
        if is_unknown {
            if self.is_news(now.thread, &self.given.used) {
                self.may_have_looked(now);
            }
            self.given.called.note(now.thread, self.now);
        }
    }

    /// A call has come back.
    pub(super) fn behind_call(&mut self, now: Now) {
        let open = self.given.open.get_mut(&now.thread);
        if open.and_then(Vec::pop) != Some(true) {
            return;
        }
        let is_first = !self.given.pinned.contains_key(&now.thread)
            && self.survey.handed.writers_of_all.is_some_and(|by| by != now.thread);
        if is_first || self.is_news(now.thread, &self.given.written) {
            self.may_have_looked(now);
        }
        self.given.called.note(now.thread, self.now);
    }

    /// After an access to bytes of an object: whether every call of which nothing is known may use
    /// them, and may have changed what was read.
    fn reached_memory(&mut self, now: Now, touch: &Touch, found: &Found) -> bool {
        let bytes = touch.address.max(found.start)..(touch.address + touch.size).min(found.end);
        let of_all = &self.survey.handed.of_all;
        if !places(found, bytes.start, bytes.end).any(|place| of_all.contains(&place)) {
            return false;
        }
        if self.given.has_threads {
            self.given.used.note(now.thread, self.now);
            if touch.writes.is_some() {
                self.given.written.note(now.thread, self.now);
            }
        }
        touch.reads.is_some() && self.is_news(now.thread, &self.given.called)
    }

    /// After an access to these bytes of objects: whether what it read may have been written by
    /// code that is not instrumented, for another thread.
    pub(super) fn handed_memory(&mut self, now: Now, touch: &Touch, pieces: &[(Found, u32, u32)]) {
        let mut is_unknown = false;
        if !self.survey.handed.of_all.is_empty() {
            let mut all = Vec::new();
            self.objects.split(touch.address, touch.size, |found, _| all.push(found));
            for found in all {
                let may_be_new = self.reached_memory(now, touch, &found);
                is_unknown |= may_be_new && !self.has_stored(touch, &found, pieces);
            }
        }
        for &(found, start, end) in pieces {
            let bytes = found.start + u64::from(start)..found.start + u64::from(end);
            let handed = &self.survey.handed;
            let is_given =
                |place: &Place| handed.places.contains(place) || handed.of_all.contains(place);
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

    /// Whether the program has stored all bytes of the access that are in the object, as far as the
    /// trace has them: then they were compared.
    fn has_stored(&self, touch: &Touch, found: &Found, pieces: &[(Found, u32, u32)]) -> bool {
        let size = (touch.address + touch.size).min(found.end) - touch.address.max(found.start);
        let [(piece, start, end)] = pieces else { return false };
        let stored = &self.given.stored;
        piece.object == found.object
            && u64::from(end - start) == size
            && masks(*start, *end).all(|(line, mask)| {
                stored.get(&(found.object, line)).is_some_and(|known| known & mask == mask)
            })
    }
}
