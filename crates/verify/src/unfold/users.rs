//! Which memory several threads must share.
//!
//! **Computes.** The words that two threads access, at least one of them writing, of which neither
//! makes all its accesses before it forks the other; and words that one access reaches together
//! with these. Of all others, a thread knows what it reads: it is what the thread has written
//! itself, or what its parent knew when it forked it.
//!
//! **Invariant.** What a thread does later is noted later: instructions are unfolded in the order
//! in which executions come to them. What `main` does before its first fork comes before
//! everything, and is not noted.
//!
//! **Cost.** For each word, the number of its writers times that of its users.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fault::{Fault, is_seeded};
use crate::skeleton::Place;

/// How many bytes of an object are shared together.
const WORD: u32 = 4;

/// The numbers of the words that an access reaches.
pub(super) fn words(place: Place) -> impl Iterator<Item = u32> {
    place.offset / WORD..=(place.offset + u32::from(place.size) - 1) / WORD
}

/// When a thread was the last to do something to a word.
#[derive(Clone, Copy, Default)]
struct Used {
    accessed: u64,
    written: Option<u64>,
}

#[derive(Default)]
pub(super) struct Users {
    /// By object and word, and by thread.
    of: FxHashMap<(u32, u32), BTreeMap<usize, Used>>,
    /// Accesses to several words.
    long: FxHashSet<Place>,
    /// The parent of each thread that was forked, and when that was.
    forks: FxHashMap<usize, (usize, u64)>,
    now: u64,
}

impl Users {
    pub(super) fn note(&mut self, place: Place, thread: usize, writes: bool) {
        self.now += 1;
        for word in words(place) {
            let used = self.of.entry((place.object, word)).or_default().entry(thread).or_default();
            used.accessed = self.now;
            if writes {
                used.written = Some(self.now);
            }
        }
        if words(place).nth(1).is_some() {
            self.long.insert(place);
        }
    }

    pub(super) fn fork(&mut self, parent: usize, child: usize) {
        self.now += 1;
        self.forks.insert(child, (parent, self.now));
    }

    /// The words that must be shared.
    pub(super) fn shared(&self) -> FxHashSet<(u32, u32)> {
        let of = self.of.iter().filter(|(_, users)| self.disturb_each_other(users));
        let mut shared: FxHashSet<(u32, u32)> = of.map(|(&at, _)| at).collect();
        loop {
            let before = shared.len();
            for &place in &self.long {
                if words(place).any(|word| shared.contains(&(place.object, word))) {
                    shared.extend(words(place).map(|word| (place.object, word)));
                }
            }
            if shared.len() == before {
                return shared;
            }
        }
    }

    fn disturb_each_other(&self, users: &BTreeMap<usize, Used>) -> bool {
        let writers = users.iter().filter(|(_, used)| used.written.is_some());
        writers.into_iter().any(|(&writer, written)| {
            let mut others = users.iter().filter(|&(&other, _)| other != writer);
            others.any(|(&other, used)| {
                let hands_over = self.fork_towards(writer, other).is_some_and(|fork| {
                    // Whoever only reads what it has handed over may go on to do so.
                    let last = if used.written.is_some() {
                        written.accessed
                    } else {
                        written.written.unwrap_or(0)
                    };
                    last < fork || is_seeded(Fault::SeenTooEarly)
                });
                let is_given =
                    self.fork_towards(other, writer).is_some_and(|fork| used.accessed < fork);
                !hands_over && !is_given
            })
        })
    }

    /// When a thread forked the one that is another one, or its ancestor.
    fn fork_towards(&self, ancestor: usize, thread: usize) -> Option<u64> {
        let mut child = thread;
        while let Some(&(parent, at)) = self.forks.get(&child) {
            if parent == ancestor {
                return Some(at);
            }
            child = parent;
        }
        None
    }
}
