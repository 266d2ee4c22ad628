//! Searches for an order of accesses that explains the loaded values.
//!
//! **Computes.** Depth first: of the items that could be next one is taken, the most promising
//! first; where a load cannot be explained any more, the last choice that has an alternative is
//! taken back.
//!
//! **Invariant.** What has no effect on memory is taken as soon as it can be: a load that sees what
//! memory holds, and a stamped record whose turn it is. That loses nothing, since whatever could be
//! done before it can be done after it. So the only choices are which store comes next, and whether
//! a load is the first to say what an untouched byte holds. (A zero there is taken to be the
//! initial value.) A state in which nothing helped is remembered.
//!
//! **Cost.** At most [`HORIZON`] items are taken and not yet part of the order; after [`STEPS`]
//! returns without progress the search gives up, and goes on behind a load that it does not
//! explain.

use foretrace_trace::Deadline;
use foretrace_trace::import::ImportError;
use rustc_hash::FxHashSet;

use super::order::{Run, Windows, words};
use super::records::Touch;

const HORIZON: usize = 256;
const STEPS: usize = 3000;

/// How bad it is to take a store now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Harm {
    None,
    /// It destroys what a load waits for, but another store may bring it back.
    Mended,
    Lasting,
}

/// Whether a load sees what memory holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sees {
    All,
    /// As far as it is known.
    Known,
    Other,
}

/// A choice that was made, and what else could have been.
struct Choice {
    trail: usize,
    threads: Vec<usize>,
    next: usize,
    state: u64,
}

pub(super) struct Search<'a> {
    windows: Windows<'a>,
    /// The threads whose items were taken, in order, and how long `undo` was then.
    trail: Vec<(usize, usize)>,
    /// Bytes that were changed meanwhile, and what they held.
    undo: Vec<(u64, Option<u8>)>,
    choices: Vec<Choice>,
    /// States from which there is no way on.
    failed: FxHashSet<u64>,
    /// The longest trail since something became part of the order.
    best: Vec<usize>,
    left: usize,
    /// A number that tells what memory holds.
    contents: u64,
}

impl<'a> Search<'a> {
    pub(super) fn new(windows: Windows<'a>) -> Self {
        Search {
            windows,
            trail: Vec::new(),
            undo: Vec::new(),
            choices: Vec::new(),
            failed: FxHashSet::default(),
            best: Vec::new(),
            left: STEPS,
            contents: 0,
        }
    }

    /// Finds the order, or as much of it as there is time for.
    pub(super) fn run(mut self, deadline: Deadline) -> Result<Vec<Run>, ImportError> {
        for thread in 0..self.windows.threads.len() {
            self.windows.fill(thread)?;
        }
        let mut steps = 0u64;
        loop {
            self.take_harmless()?;
            if self.windows.threads.iter().all(|thread| thread.next().is_none()) {
                self.commit(self.trail.len());
                return Ok(self.windows.runs);
            }
            let state = self.state();
            let stuck = self.windows.is_stuck() || self.failed.contains(&state);
            let threads = if stuck { Vec::new() } else { self.windows.able(self.first_stamp()) };
            if threads.is_empty() {
                if self.trail.len() > self.best.len() {
                    self.best = self.trail.iter().map(|&(thread, _)| thread).collect();
                }
                if !self.go_back()? {
                    self.give_up()?;
                }
                continue;
            }
            steps += 1;
            if steps.is_multiple_of(256) && deadline.has_passed() {
                // What was taken so far may be taken back, what is part of the order not.
                return Ok(self.windows.runs);
            }
            let first = threads[0];
            self.choices.push(Choice { trail: self.trail.len(), threads, next: 1, state });
            self.take(first)?;
            if self.trail.len() > HORIZON {
                self.commit(HORIZON / 2);
            }
        }
    }

    /// The thread with the lowest stamp.
    fn first_stamp(&self) -> Option<usize> {
        let stamps = self.windows.threads.iter().enumerate();
        let stamps =
            stamps.filter_map(|(thread, row)| row.next_stamp().map(|stamp| (stamp, thread)));
        stamps.min().map(|(_, thread)| thread)
    }

    /// Takes all that changes nothing.
    fn take_harmless(&mut self) -> Result<(), ImportError> {
        loop {
            let mut progress = false;
            for thread in 0..self.windows.threads.len() {
                while let Some(item) = self.windows.threads[thread].next() {
                    let harmless = match &item.touch {
                        None => true,
                        Some(touch) => {
                            touch.writes.is_none() && self.windows.sees(touch) == Sees::All
                        }
                    };
                    if !harmless || (item.stamped && self.first_stamp() != Some(thread)) {
                        break;
                    }
                    if item.exit && self.windows.threads.iter().any(|row| row.has_window()) {
                        break;
                    }
                    let fresh =
                        item.fresh.filter(|&(start, end)| self.windows.image.knows(start, end));
                    self.take(thread)?;
                    if let Some((start, end)) = fresh {
                        // What is forgotten cannot be taken back.
                        self.commit(self.trail.len());
                        self.windows.image.clear(start, end);
                    } else if self.trail.len() > HORIZON {
                        self.commit(HORIZON / 2);
                    }
                    progress = true;
                }
            }
            if !progress {
                return Ok(());
            }
        }
    }

    fn take(&mut self, thread: usize) -> Result<(), ImportError> {
        let row = &mut self.windows.threads[thread];
        let item = &row.queue[row.head];
        let touch = item.touch;
        row.stamps_taken += usize::from(item.stamped);
        row.head += 1;
        self.trail.push((thread, self.undo.len()));
        if let Some(touch) = touch {
            for address in touch.address..touch.address + touch.size {
                let held = self.windows.image.get(address).map(|(held, _)| held);
                let read = read_byte(&touch, address).filter(|_| held.is_none());
                if let Some(byte) = write_byte(&touch, address).or(read) {
                    self.undo.push((address, held));
                    self.set(address, held, Some(byte));
                }
            }
        }
        self.windows.fill(thread)
    }

    fn set(&mut self, address: u64, old: Option<u8>, new: Option<u8>) {
        let number = |byte: Option<u8>| mix(mix(address) ^ byte.map_or(256, u64::from));
        self.contents = self.contents.wrapping_sub(number(old)).wrapping_add(number(new));
        match new {
            Some(byte) => self.windows.image.set(address, byte, true),
            None => self.windows.image.forget(address),
        }
    }

    /// A number that tells how far the threads are and what memory holds.
    fn state(&self) -> u64 {
        self.windows.threads.iter().enumerate().fold(self.contents, |sum, (thread, row)| {
            sum.wrapping_add(mix(mix(thread as u64) ^ row.position()))
        })
    }

    /// Takes back all but the first so many items.
    fn take_back(&mut self, trail: usize) {
        while self.trail.len() > trail {
            let (thread, undo) = self.trail.pop().expect("it is longer");
            let row = &mut self.windows.threads[thread];
            row.head -= 1;
            row.stamps_taken -= usize::from(row.queue[row.head].stamped);
            while self.undo.len() > undo {
                let (address, held) = self.undo.pop().expect("it is longer");
                let now = self.windows.image.get(address).map(|(now, _)| now);
                self.set(address, now, held);
            }
        }
    }

    /// Takes the next alternative of the last choice that has one.
    fn go_back(&mut self) -> Result<bool, ImportError> {
        while let Some(choice) = self.choices.last_mut() {
            if self.left == 0 {
                break;
            }
            let (trail, state) = (choice.trail, choice.state);
            let thread = choice.threads.get(choice.next).copied();
            choice.next += 1;
            self.take_back(trail);
            match thread {
                Some(thread) => {
                    self.left -= 1;
                    self.take(thread)?;
                    return Ok(true);
                }
                None => {
                    self.failed.insert(state);
                    self.choices.pop();
                }
            }
        }
        Ok(false)
    }

    /// Goes as far as it was possible, and takes what is next there as it is.
    fn give_up(&mut self) -> Result<(), ImportError> {
        self.take_back(0);
        for thread in std::mem::take(&mut self.best) {
            self.take(thread)?;
        }
        let first = self.first_stamp();
        let threads = self.windows.threads.iter().enumerate();
        let left = threads.filter(|(thread, row)| {
            row.next().is_some_and(|item| !item.stamped || Some(*thread) == first)
        });
        // A load that nothing explains, or else the thread that everybody waits for.
        let unexplained = |thread: usize| self.windows.is_unexplained(thread);
        let thread =
            left.map(|(thread, _)| (!unexplained(thread), Some(thread) != first, thread)).min();
        if let Some((.., thread)) = thread {
            self.take(thread)?;
        }
        self.commit(self.trail.len());
        Ok(())
    }

    /// Makes the first items that were taken part of the order.
    fn commit(&mut self, count: usize) {
        // What was changed up to here stays, and choices before that point are settled.
        let settled = self.trail.get(count).map_or(self.undo.len(), |&(_, undo)| undo);
        self.undo.drain(..settled);
        for (thread, _) in self.trail.drain(..count) {
            self.windows.commit(thread);
        }
        self.trail.iter_mut().for_each(|(_, undo)| *undo -= settled);
        self.choices.retain(|choice| choice.trail >= count);
        self.choices.iter_mut().for_each(|choice| choice.trail -= count);
        self.best.clear();
        self.failed.clear();
        self.left = STEPS;
    }
}

fn mix(number: u64) -> u64 {
    let number = (number ^ 0x5851_f42d_4c95_7f2d).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Windows<'_> {
    /// The threads that may go on with an effect on memory, the most promising first.
    fn able(&self, first: Option<usize>) -> Vec<usize> {
        let mut able: Vec<(Harm, bool, usize)> = Vec::new();
        for (thread, row) in self.threads.iter().enumerate() {
            let forced = Some(thread) == first;
            let Some(item) = row.next().filter(|item| !item.stamped || forced) else { continue };
            let Some(touch) = &item.touch else { continue };
            let sees = self.sees(touch);
            if sees == Sees::Other {
                continue;
            }
            let mut harm = self.harm(thread, touch, forced);
            if sees == Sees::Known && self.providers(thread, touch).next().is_some() {
                harm = harm.max(Harm::Mended);
            }
            able.push((harm, !forced, thread));
        }
        able.sort_unstable();
        able.into_iter().map(|(.., thread)| thread).collect()
    }

    /// Whether a load is next somewhere that nothing can explain any more.
    fn is_stuck(&self) -> bool {
        (0..self.threads.len()).any(|thread| self.is_unexplained(thread))
    }

    /// Whether the next item of a thread is a load that nothing can explain, as far as the threads
    /// are looked at.
    fn is_unexplained(&self, thread: usize) -> bool {
        let row = &self.threads[thread];
        let Some(touch) = row.next().and_then(|item| item.touch.as_ref()) else { return false };
        if self.sees(touch) != Sees::Other {
            return false;
        }
        let stamp = row.next_stamp().unwrap_or(u64::MAX);
        let mut others = self.threads.iter().enumerate().filter(|&(other, _)| other != thread);
        others.all(|(_, other)| other.is_seen_up_to(stamp))
            && (touch.address..touch.address + touch.size).any(|address| {
                let wanted = read_byte(touch, address);
                let held = self.image.get(address).map(|(held, _)| held);
                held.is_some() && held != wanted && {
                    !self.others(thread, touch).any(|place| {
                        self.item(place).is_some_and(|other| write_byte(other, address) == wanted)
                    })
                }
            })
    }

    /// Accesses of other windows to the same words that are not taken yet.
    fn others<'s>(&'s self, thread: usize, touch: &Touch) -> impl Iterator<Item = (u32, u64)> + 's {
        let entries = words(touch).filter_map(|word| self.index.get(&word)).flatten().copied();
        entries.filter(move |&(of, number)| {
            let row = &self.threads[of as usize];
            of as usize != thread && number >= row.position()
        })
    }

    fn item(&self, (thread, number): (u32, u64)) -> Option<&Touch<'_>> {
        let row = &self.threads[thread as usize];
        row.queue.get(number.checked_sub(row.base)? as usize)?.touch.as_ref()
    }

    /// Stores in other windows that write a byte which a load sees and memory does not hold.
    fn providers<'s>(
        &'s self,
        thread: usize,
        touch: &'s Touch,
    ) -> impl Iterator<Item = (u32, u64)> + 's {
        let places = touch.reads.map(|_| self.others(thread, touch)).into_iter().flatten();
        places.filter(move |&place| {
            let Some(other) = self.item(place) else { return false };
            let in_window = place.1 < self.threads[place.0 as usize].window_end();
            in_window
                && overlap(touch, other).any(|address| {
                    let wanted = read_byte(touch, address);
                    write_byte(other, address) == wanted
                        && self.image.get(address).is_none_or(|(held, _)| Some(held) != wanted)
                })
        })
    }

    fn sees(&self, touch: &Touch) -> Sees {
        let Some(read) = &touch.reads else { return Sees::All };
        let mut sees = Sees::All;
        for byte in 0..touch.size {
            match self.image.get(touch.address + byte) {
                Some((held, _)) if held != read.byte(byte as usize) => return Sees::Other,
                Some(_) => {}
                // Most memory is zero at first.
                None if read.byte(byte as usize) == 0 => {}
                None => sees = Sees::Known,
            }
        }
        sees
    }

    /// Whether a store comes too early for a load of another thread: for one that sees what memory
    /// holds now, or for one that sees what is stored, but has a store of its own thread before it.
    /// What the thread with the lowest stamp does (`forced`) comes before all that lies behind the
    /// other windows.
    fn harm(&self, thread: usize, touch: &Touch, forced: bool) -> Harm {
        let mut harm = Harm::None;
        if touch.writes.is_none() {
            return harm;
        }
        // Of each thread the last store before the load that is looked at, and whether the answer
        // is known.
        let mut rows = vec![(None, false); self.threads.len()];
        for address in touch.address..touch.address + touch.size {
            let Some(places) = self.index.get(&(address / 8)).filter(|places| places.len() > 1)
            else {
                continue;
            };
            let stored = write_byte(touch, address);
            let held = self.image.get(address).map(|(held, _)| held);
            rows.fill((None, false));
            for &place in places {
                let (own, known) = &mut rows[place.0 as usize];
                let row = &self.threads[place.0 as usize];
                let end = if forced { row.window_end() } else { u64::MAX };
                let past = place.1 < row.position() || row.position() >= end;
                if *known || past || place.0 as usize == thread {
                    continue;
                }
                let Some(other) = self.item(place) else { continue };
                if let wanted @ Some(_) = read_byte(other, address) {
                    let harms = match *own {
                        None => {
                            place.1 < end && stored != wanted && (held.is_none() || held == wanted)
                        }
                        Some((byte, at)) => at < end && Some(byte) != wanted && stored == wanted,
                    };
                    *known = harms || own.is_some();
                    if harms {
                        let again = self.comes_again(thread, place, address, wanted);
                        harm = harm.max(if again { Harm::Mended } else { Harm::Lasting });
                    }
                }
                if let Some(byte) = write_byte(other, address) {
                    *own = Some((byte, place.1));
                }
            }
            if harm == Harm::Lasting {
                break;
            }
        }
        harm
    }

    /// Whether another store in a window brings back what the load at a place waits for.
    fn comes_again(
        &self,
        thread: usize,
        place: (u32, u64),
        address: u64,
        wanted: Option<u8>,
    ) -> bool {
        let next = self.threads[thread].position();
        self.index.get(&(address / 8)).into_iter().flatten().any(|&other| {
            other.1 >= self.threads[other.0 as usize].position()
                && (other.0 as usize, other.1) != (thread, next)
                && !(other.0 == place.0 && other.1 >= place.1)
                && self.item(other).is_some_and(|other| write_byte(other, address) == wanted)
        })
    }
}

/// The bytes that both touch.
fn overlap(one: &Touch, other: &Touch) -> std::ops::Range<u64> {
    let end = (one.address + one.size).min(other.address + other.size);
    one.address.max(other.address)..end
}

/// Where in the access a byte is, if it touches it.
fn inside(touch: &Touch, address: u64) -> Option<usize> {
    let offset = address.checked_sub(touch.address)?;
    (offset < touch.size).then_some(offset as usize)
}

fn read_byte(touch: &Touch, address: u64) -> Option<u8> {
    touch.reads.and_then(|value| inside(touch, address).map(|offset| value.byte(offset)))
}

fn write_byte(touch: &Touch, address: u64) -> Option<u8> {
    touch.writes.and_then(|value| inside(touch, address).map(|offset| value.byte(offset)))
}
