//! Memory: what an access reads and writes, and what is an event.
//!
//! **Computes.** For an access, one read or write for each case of its address. The
//! cases share a node. What only this thread accesses is kept as terms; so is everything as long as
//! the thread is alone. Inside an atomic section, shared memory is read as it was at the begin of
//! the section, and written at its end.

use std::rc::Rc;

use foretrace_program::{BlockId, FunctionId, Site, Undefined, Violation};
use foretrace_words::{BinaryOp, Cast};

use super::addresses::Case;
use super::memory::{Memory, Piece, assemble};
use super::users::words;
use super::ways::{Arrival, Section, Way};
use super::{Made, Unfolder, key};
use crate::fault::{Fault, is_seeded};
use crate::skeleton::*;
use crate::terms::{Op, Term};

/// Stands for addresses that are not known.
pub(super) const ANYWHERE: (u64, u64) = (u64::MAX, 0);

/// An instruction that accesses memory.
#[derive(Clone, Copy)]
pub(super) struct Accessing {
    pub(super) site: Site,
    pub(super) size: u8,
    pub(super) reads: bool,
    pub(super) is_atomic: bool,
    /// Whether others could notice it, so that the interpreter takes it as a step.
    pub(super) is_step: bool,
}

/// What an access finds in one of its cases.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) condition: Term,
    /// What is there; without meaning if the access does not read.
    pub(super) value: Term,
}

impl Unfolder<'_> {
    /// The object with a key; made if there is none yet.
    pub(super) fn object(
        &mut self,
        key: u64,
        size: u32,
        initial: Option<Vec<u8>>,
        kind: ObjectKind,
    ) -> u32 {
        if let Some(&object) = self.objects.get(&key) {
            return object;
        }
        let object = self.skeleton.objects.len() as u32;
        self.skeleton.objects.push(Object { key, size, initial, kind });
        self.objects.insert(key, object);
        object
    }

    /// A state of four bytes that belongs to something.
    pub(super) fn state(&mut self, key: u64, initial: u32) -> Place {
        let bytes = Some(initial.to_le_bytes().to_vec());
        let object = self.object(key, 4, bytes, ObjectKind::State);
        Place { object, offset: 0, size: 4 }
    }

    /// A new object that the thread makes at a site.
    pub(super) fn allocate(
        &mut self,
        site: Site,
        size: u32,
        kind: ObjectKind,
        is_zero: bool,
    ) -> u32 {
        let instance = self.instances.entry((self.thread_key, site)).or_default();
        *instance += 1;
        let key = key(("object", self.thread_key, site, *instance));
        let made = Made { size, kind, is_zero };
        self.seen.made.insert(key, made);
        self.made(key, made)
    }

    /// The object with a key that a thread makes.
    fn made(&mut self, key: u64, Made { size, kind, is_zero }: Made) -> u32 {
        let initial = (is_zero || !self.bounds.indeterminate).then(|| vec![0; size as usize]);
        self.object(key, size, initial, kind)
    }

    pub(super) fn is_shared(&self, place: Place) -> bool {
        let key = self.skeleton.objects[place.object as usize].key;
        words(place).any(|word| self.known.shared.contains(&(key, word)))
    }

    /// Notes that the thread accesses memory.
    fn uses(&mut self, way: &Way, place: Place, writes: bool) {
        if !way.sequential {
            self.users.note(place, self.thread, writes);
        }
    }

    /// Reads bytes if the condition is true. `node` is the moment, made if it is needed.
    pub(super) fn read(
        &mut self,
        way: &mut Way,
        node: &mut Option<NodeId>,
        place: Place,
        condition: Term,
        site: Site,
    ) -> Term {
        self.uses(way, place, false);
        if way.sequential || !self.is_shared(place) {
            let word = self.known_word(&way.memory.clone(), place);
            if !self.is_determinate(word) {
                self.skeleton.uninitialised.push(site);
            }
            return word;
        }
        if let Some(Section { node, guard, memory, .. }) = way.section.clone() {
            self.note_protection(way, place.object, None);
            let pieces = (0..place.size).map(|index| {
                let offset = place.offset + u32::from(index);
                memory.get(place.object, offset)
            });
            if pieces.clone().all(|piece| piece.is_none()) {
                return self.used_snapshot(way, (node, guard), place, condition, site);
            }
            let pieces: Vec<Option<Piece>> = pieces.collect();
            let pieces: Vec<Piece> = pieces
                .into_iter()
                .zip(place.offset..)
                .map(|(piece, offset)| {
                    piece.unwrap_or_else(|| {
                        let byte = Place { offset, size: 1, ..place };
                        let at = (node, guard);
                        Piece { word: self.used_snapshot(way, at, byte, condition, site), index: 0 }
                    })
                })
                .collect();
            return assemble(&mut self.skeleton.terms, &pieces);
        }
        let node = *node.get_or_insert_with(|| self.node());
        self.note_protection(way, place.object, Some(node));
        let guard = way.guard(&mut self.skeleton.terms);
        let guard = self.skeleton.terms.and(guard, condition);
        let (value, is_first) = self.read_event(node, place, guard);
        if let Some(is_first) = is_first {
            let is_first = self.skeleton.terms.and(is_first, condition);
            self.exit_if(way, is_first, site, Why::Unsupported(NOT_INITIALISED.to_string()));
        }
        value
    }

    /// Whether an object is live, for who only asks. A critical section in which it dies looks the
    /// same to him from the middle as from its end, so he needs no lock.
    pub(super) fn read_life(&mut self, way: &mut Way, object: u32, site: Site) -> Term {
        let (life, truth) = (self.life(object), self.skeleton.terms.truth(true));
        if way.sequential || !self.is_shared(life) || way.section.is_some() {
            return self.read(way, &mut None, life, truth, site);
        }
        self.uses(way, life, false);
        let node = self.node();
        let guard = way.guard(&mut self.skeleton.terms);
        self.read_event(node, life, guard).0
    }

    fn read_event(&mut self, node: NodeId, place: Place, guard: Term) -> (Term, Option<Term>) {
        let terms = &mut self.skeleton.terms;
        let value = terms.symbol(8 * place.size);
        let is_unknown = self.skeleton.objects[place.object as usize].initial.is_none();
        let is_first = is_unknown.then(|| terms.symbol(1));
        self.reads_of.insert(value, place);
        self.skeleton.reads.push(Read { node, place, value, symbol: value, guard, is_first });
        (value, is_first)
    }

    /// What a section sees of memory that it has not written, and a condition that nobody has.
    fn seen_by_section(&mut self, node: NodeId, guard: Term, place: Place) -> (Term, Option<Term>) {
        if let Some(&seen) = self.snapshots.get(&(node, place)) {
            return seen;
        }
        let seen = self.read_event(node, place, guard);
        self.snapshots.insert((node, place), seen);
        seen
    }

    /// The same for an instruction, which must not use memory that is not initialised.
    fn used_snapshot(
        &mut self,
        way: &mut Way,
        (node, guard): (NodeId, Term),
        place: Place,
        condition: Term,
        site: Site,
    ) -> Term {
        let (value, is_first) = self.seen_by_section(node, guard, place);
        if let Some(is_first) = is_first {
            let is_first = self.skeleton.terms.and(is_first, condition);
            self.exit_if(way, is_first, site, Why::Unsupported(NOT_INITIALISED.to_string()));
        }
        value
    }

    /// The same for a merge of paths, only one of which has written there. What is not initialised
    /// would then be written at the end of the section, so the exit is there whether the value is
    /// used or not.
    pub(super) fn snapshot(&mut self, node: NodeId, guard: Term, place: Place) -> Term {
        let (value, is_first) = self.seen_by_section(node, guard, place);
        if let Some(guard) = is_first {
            let why = Why::Unsupported(NOT_INITIALISED.to_string());
            self.skeleton.exits.push(Exit { guard, why, site: NOWHERE });
        }
        value
    }

    /// Writes bytes if the condition is true.
    pub(super) fn write(
        &mut self,
        way: &mut Way,
        node: &mut Option<NodeId>,
        place: Place,
        value: Term,
        condition: Term,
    ) {
        if self.skeleton.terms.is_false(condition) {
            return;
        }
        let is_certain = self.skeleton.terms.is_true(condition);
        self.uses(way, place, is_certain || !is_seeded(Fault::WriterForgotten));
        let is_own = way.sequential || !self.is_shared(place);
        for outside in self.note_address(place, value).into_iter().filter(|_| !is_own) {
            let outside = self.skeleton.terms.and(outside, condition);
            self.exit_if(way, outside, NOWHERE, Why::Unsupported(OUTSIDE.to_string()));
        }
        if is_own {
            let value = if self.skeleton.terms.is_true(condition) {
                value
            } else {
                let old = self.known_word(&way.memory.clone(), place);
                self.skeleton.terms.ite(condition, value, old)
            };
            return way.memory.store(place, value);
        }
        match self.skeleton.terms.is_true(condition) {
            true => way.effects += 1,
            false => Rc::make_mut(&mut way.maybes).push(condition),
        }
        if way.section.is_some() {
            self.note_protection(way, place.object, None);
            let value = if self.skeleton.terms.is_true(condition) {
                value
            } else {
                let truth = self.skeleton.terms.truth(true);
                let old = self.read(way, &mut None, place, truth, NOWHERE);
                self.skeleton.terms.ite(condition, value, old)
            };
            way.section.as_mut().expect("it is there").memory.store(place, value);
            return;
        }
        let node = *node.get_or_insert_with(|| self.node());
        self.note_protection(way, place.object, Some(node));
        let guard = way.guard(&mut self.skeleton.terms);
        let guard = self.skeleton.terms.and(guard, condition);
        self.skeleton.writes.push(Write { node, place, value, guard });
    }

    /// Other threads begin to exist: they see what this one has written so far.
    pub(super) fn publish(&mut self, way: &mut Way) {
        if !way.sequential {
            return;
        }
        way.sequential = false;
        let bytes = way.memory.bytes();
        let byte = |(object, offset)| Place { object, offset, size: 1 };
        let bytes = bytes.into_iter().filter(|(at, _)| self.is_shared(byte(*at)));
        let bytes: Vec<((u32, u32), Piece)> = bytes.collect();
        if bytes.is_empty() {
            return;
        }
        let node = self.node();
        let guard = way.guard(&mut self.skeleton.terms);
        self.write_bytes(node, guard, &bytes, true);
        for &(at, _) in &bytes {
            self.uses(way, byte(at), true);
        }
        way.memory.forget_bytes(bytes.iter().map(|&(at, _)| at));
    }

    /// Writes bytes, which are in order, as words where they are: the first ones that others see,
    /// or those of a section.
    pub(super) fn write_bytes(
        &mut self,
        node: NodeId,
        guard: Term,
        bytes: &[((u32, u32), Piece)],
        is_first: bool,
    ) {
        let mut at = 0;
        while at < bytes.len() {
            let ((object, offset), Piece { word, index }) = bytes[at];
            let size = usize::from(self.skeleton.terms.width(word) / 8);
            let is_whole = index == 0
                && at + size <= bytes.len()
                && (0..size).all(|next| {
                    bytes[at + next]
                        == ((object, offset + next as u32), Piece { word, index: next as u8 })
                });
            let (value, size) = match is_whole {
                true => (word, size),
                false => (self.skeleton.terms.byte(word, index), 1),
            };
            let place = Place { object, offset, size: size as u8 };
            let is_outside = !self.note_address(place, value).is_empty();
            // In a section, it was the result of the store.
            if is_outside && is_first {
                let at = self.place_key(place);
                self.seen.stored.entry(at).or_default().insert(ANYWHERE);
            }
            self.skeleton.writes.push(Write { node, place, value, guard });
            at += size;
        }
    }

    /// Begins an atomic section, or one inside it.
    pub(super) fn begin_section(&mut self, way: &mut Way) {
        self.breaks_section(way);
        let guard = way.guard(&mut self.skeleton.terms);
        if let Some(section) = &mut way.section {
            section.depth += 1;
            return self.step(way, guard, None, How::Plain);
        }
        let node = self.node();
        let never = self.skeleton.terms.truth(false);
        self.skeleton.sections.push((node, never));
        way.section =
            Some(Section { node, depth: 1, guard, memory: Memory::default(), lock: None });
        self.step(way, guard, None, How::Plain);
    }

    /// Ends an atomic section; what it wrote becomes visible.
    pub(super) fn end_section(&mut self, way: &mut Way) {
        let guard = way.guard(&mut self.skeleton.terms);
        self.step(way, guard, None, How::Plain);
        let Some(section) = &mut way.section else { return };
        section.depth -= 1;
        if section.depth > 0 {
            return;
        }
        let section = way.section.take().expect("it is there");
        let bytes = section.memory.bytes();
        let node = if is_seeded(Fault::SectionTorn) { self.node() } else { section.node };
        self.write_bytes(node, guard, &bytes, false);
        self.skeleton.sections.push((section.node, guard));
    }

    /// The memory of a call ends with it.
    pub(super) fn end_slots(&mut self, here: &mut Arrival) {
        let is_shared = here.slots.iter().any(|&slot| self.is_visible_slot(slot));
        if is_shared {
            let guard = here.way.guard(&mut self.skeleton.terms);
            let mut node = None;
            for slot in here.slots.clone() {
                self.end_life(&mut here.way, &mut node, slot);
            }
            self.step(&here.way, guard, node, How::Plain);
        }
    }

    /// Ends the life of an object.
    fn end_life(&mut self, way: &mut Way, node: &mut Option<NodeId>, object: u32) {
        let key = self.skeleton.objects[object as usize].key;
        self.seen.ends.insert(key);
        if self.known.ends.contains(&key) {
            let life = self.life(object);
            let (dead, truth) =
                (self.skeleton.terms.constant(0, 32), self.skeleton.terms.truth(true));
            self.write(way, node, life, dead, truth);
        }
    }

    /// Whether the object is still live.
    pub(super) fn life(&mut self, object: u32) -> Place {
        let owner = self.skeleton.objects[object as usize].key;
        self.state(key(("life", owner)), 1)
    }

    /// How many bytes an object has whose size depends on data.
    pub(super) fn length(&mut self, object: u32) -> Place {
        let owner = self.skeleton.objects[object as usize].key;
        self.state(key(("length", owner)), 0)
    }

    /// How many bytes the block has that begins at an address; 0 if there is none. `None` if it is
    /// not known which block that is.
    pub(super) fn block_size(&mut self, way: &mut Way, address: Term, site: Site) -> Option<Term> {
        let address = self.settled(way, site, address);
        let Some((object, offset)) = self.skeleton.terms.as_address(address) else {
            self.skeleton.terms.as_constant(address)?;
            return Some(self.skeleton.terms.constant(0, 64));
        };
        let block = self.skeleton.objects.get(object as usize);
        let block = block.filter(|block| block.kind == ObjectKind::Heap && offset == 0);
        let Some((key, size)) = block.map(|block| (block.key, block.size)) else {
            return Some(self.skeleton.terms.constant(0, 64));
        };
        if !self.known.sized.contains(&key) {
            return Some(self.skeleton.terms.constant(size.into(), 64));
        }
        let (length, truth) = (self.length(object), self.skeleton.terms.truth(true));
        let size = self.read(way, &mut None, length, truth, site);
        Some(self.skeleton.terms.cast(Cast::ZeroExtend, size, 64))
    }

    fn is_visible_slot(&self, slot: u32) -> bool {
        self.skeleton.objects[slot as usize].kind == ObjectKind::Slot
    }

    /// Frees a block.
    pub(super) fn free(&mut self, way: &mut Way, address: Term, site: Site) {
        let address = self.settled(way, site, address);
        let guard = way.guard(&mut self.skeleton.terms);
        if self.skeleton.terms.as_constant(address) == Some(0) {
            return self.step(way, guard, None, How::Plain);
        }
        let target = self.skeleton.terms.as_address(address);
        let Some((object, offset)) = target else {
            self.exit(
                way,
                site,
                Why::Unsupported("free of an address that depends on data".into()),
            );
            return;
        };
        let kind = self.skeleton.objects.get(object as usize).map(|object| object.kind);
        let is_block = offset == 0 && kind == Some(ObjectKind::Heap);
        let what = Violation::Undefined(Undefined::BadFree, site);
        let mut node = None;
        if !is_block {
            self.step(way, guard, node, How::Plain);
            let truth = self.skeleton.terms.truth(true);
            return self.check(way, truth, what);
        }
        let key = self.skeleton.objects[object as usize].key;
        self.seen.ends.insert(key);
        if self.known.ends.contains(&key) {
            let life = self.life(object);
            let truth = self.skeleton.terms.truth(true);
            let is_live = self.read(way, &mut node, life, truth, site);
            let dead = self.skeleton.terms.equals(is_live, 0);
            let lives = self.skeleton.terms.not(dead);
            let zero = self.skeleton.terms.constant(0, 32);
            self.write(way, &mut node, life, zero, lives);
            self.step(way, guard, node, How::Plain);
            self.check(way, dead, what);
        } else {
            self.step(way, guard, node, How::Plain);
        }
    }

    /// Accesses what is at an address. `change` is told of each case; it may write there, and gives
    /// the condition under which it does. `None` if the way ends here.
    pub(super) fn access(
        &mut self,
        way: &mut Way,
        address: Term,
        accessing: Accessing,
        mut change: impl FnMut(&mut Self, &mut Way, &mut Option<NodeId>, Found) -> Term,
    ) -> Option<Term> {
        let Accessing { site, size, reads, is_step, .. } = accessing;
        let cases = match self.cases(address, size) {
            Ok(cases) => cases,
            Err(why) => {
                self.exit(way, site, Why::Unsupported(why));
                return None;
            }
        };
        let before = way.guard(&mut self.skeleton.terms);
        let mut is_good = self.skeleton.terms.truth(false);
        let mut value: Option<Term> = None;
        let mut node = None;
        let mut bad = Vec::new();
        for Case { condition, object, offset } in cases {
            if self.skeleton.terms.is_false(condition) {
                continue;
            }
            // Functions and threads have no bytes.
            let bytes = self.skeleton.objects.get(object as usize).map_or(0, |object| object.size);
            if u64::from(offset) + u64::from(size) > u64::from(bytes) {
                continue;
            }
            is_good = self.skeleton.terms.or(is_good, condition);
            let place = Place { object, offset, size };
            let key = self.skeleton.objects[object as usize].key;
            let mut happens = self.skeleton.terms.and(before, condition);
            if self.known.ends.contains(&key) {
                let life = self.life(object);
                let life = self.read(way, &mut node, life, condition, site);
                let dead = self.skeleton.terms.equals(life, 0);
                bad.push(self.skeleton.terms.and(condition, dead));
                let lives = self.skeleton.terms.not(dead);
                happens = self.skeleton.terms.and(happens, lives);
            }
            if self.known.sized.contains(&key) && !is_seeded(Fault::LengthForgotten) {
                let length = self.length(object);
                let length = self.read(way, &mut node, length, condition, site);
                let end = offset + u32::from(size);
                let end = self.skeleton.terms.constant(end.into(), 32);
                let ends_behind = self.skeleton.terms.binary(BinaryOp::Ult, length, end);
                bad.push(self.skeleton.terms.and(condition, ends_behind));
                let is_inside = self.skeleton.terms.not(ends_behind);
                happens = self.skeleton.terms.and(happens, is_inside);
            }
            let found = match reads {
                true => self.read(way, &mut node, place, condition, site),
                false => condition,
            };
            value = Some(match value {
                Some(value) if reads => self.skeleton.terms.ite(condition, found, value),
                _ => found,
            });
            let writes = change(self, way, &mut node, Found { place, condition, value: found });
            // What writes the value that is there can race.
            if !self.skeleton.terms.is_false(writes) {
                self.uses(way, place, true);
            }
            self.note_access(way, node, place, happens, writes, accessing);
        }
        if is_step {
            self.step(way, before, node, How::Plain);
        }
        let mut is_bad = self.skeleton.terms.not(is_good);
        for dead in bad {
            is_bad = self.skeleton.terms.or(is_bad, dead);
        }
        self.check(way, is_bad, Violation::Undefined(Undefined::BadAddress, site));
        value.filter(|_| !way.is_dead(&self.skeleton.terms))
    }

    /// The addresses that a value may be, each with its condition.
    pub(super) fn pointees(&mut self, term: Term) -> Result<Vec<(Term, u32, u64)>, String> {
        let unknown = "an address that is read from memory whose contents are not known";
        let mut found = Vec::new();
        let mut open = vec![(term, 0u64)];
        while let Some((part, added)) = open.pop() {
            match self.skeleton.terms.op(part) {
                Op::Constant(_) => (),
                Op::Address { object, offset } => found.push((object, offset.wrapping_add(added))),
                Op::Ite(_, a, b) => open.extend([(a, added), (b, added)]),
                Op::Binary(BinaryOp::Add, x, y) if self.skeleton.terms.as_constant(y).is_some() => {
                    let more = self.skeleton.terms.as_constant(y).unwrap_or(0);
                    open.push((x, added.wrapping_add(more)));
                }
                // An access through it is wrong, whatever the value is.
                Op::Symbol(_) if self.arbitrary.contains(&part) => (),
                Op::Symbol(_) => {
                    let Some(&place) = self.reads_of.get(&part) else {
                        return Err("an address that the outside gives".into());
                    };
                    let Some(stored) = self.known.stored.get(&self.place_key(place)) else {
                        continue;
                    };
                    for &(key, offset) in stored {
                        if (key, offset) == ANYWHERE {
                            return Err(unknown.into());
                        }
                        // Another thread may make it, whose turn has not come yet.
                        let object = match (self.objects.get(&key), self.known.made.get(&key)) {
                            _ if key <= u32::MAX.into() => key as u32,
                            (Some(&object), _) => object,
                            (None, Some(&made)) => self.made(key, made),
                            // Another thread's own copy of a variable, whose turn has not come.
                            _ if self.known.own.contains(&key) => return Err(unknown.into()),
                            (None, None) => continue,
                        };
                        found.push((object, offset.wrapping_add(added)));
                    }
                }
                _ => return Err("an address that is computed from data".into()),
            }
        }
        found.sort_unstable();
        found.dedup();
        let targets = found.into_iter().map(|(object, offset)| {
            let address = self.skeleton.terms.address(object, offset);
            let condition = self.skeleton.terms.binary(BinaryOp::Eq, term, address);
            (condition, object, offset)
        });
        Ok(targets.collect())
    }
}

const OUTSIDE: &str = "an address far outside of its object is stored";
const NOT_INITIALISED: &str = "memory is read that may not be initialised";

/// Where a step is that belongs to no instruction.
const NOWHERE: Site = Site { function: FunctionId(0), block: BlockId(0), index: 0 };
