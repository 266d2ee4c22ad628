//! Which words of memory more than one thread touches.
//!
//! **Computes.** Per object and aligned word of 8 bytes: nobody, one thread, or several. A word
//! stands for all its bytes, so more may count as shared than is, never less.
//!
//! **Cost.** 4 bytes per touched word of a living object, and of objects that were shared.

use rustc_hash::{FxHashMap, FxHashSet};

const WORDS: u32 = 64;
const PAGE: u32 = 8 * WORDS;
const SHARED: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Shadow {
    pages: FxHashMap<(u32, u32), Box<[u32; WORDS as usize]>>,
    /// Objects with a shared word, or in which there is something to synchronise with.
    kept: FxHashSet<u32>,
}

impl Shadow {
    /// A thread touches the bytes `start..end` of an object.
    pub(super) fn touch(&mut self, object: u32, start: u32, end: u32, thread: u32) {
        let mut word = start / 8;
        let last = (end - 1) / 8;
        while word <= last {
            let page = word / WORDS;
            let rows =
                self.pages.entry((object, page)).or_insert_with(|| Box::new([0; WORDS as usize]));
            let upto = last.min(page * WORDS + WORDS - 1);
            for row in &mut rows[(word % WORDS) as usize..=(upto % WORDS) as usize] {
                if *row == 0 {
                    *row = thread + 1;
                } else if *row != thread + 1 && *row != SHARED {
                    *row = SHARED;
                    self.kept.insert(object);
                }
            }
            word = upto + 1;
        }
    }

    /// The object's life belongs into the trace: there is a lock or the like in it, or another
    /// thread gets its memory later.
    pub(super) fn keep(&mut self, object: u32) {
        self.kept.insert(object);
    }

    /// Whether the object's life belongs into the trace.
    pub(super) fn is_kept(&self, object: u32) -> bool {
        self.kept.contains(&object)
    }

    /// A thread frees the object of that size: it takes all words from those who might still use
    /// them.
    pub(super) fn free(
        &mut self,
        object: u32,
        size: u64,
        thread: u32,
        may_use: impl Fn(u32) -> bool,
    ) {
        for page in 0..=(size.saturating_sub(1) / u64::from(PAGE)) as u32 {
            let Some(rows) = self.pages.get_mut(&(object, page)) else { continue };
            for row in rows.iter_mut() {
                if *row != 0 && *row != SHARED && *row != thread + 1 && may_use(*row - 1) {
                    *row = SHARED;
                    self.kept.insert(object);
                }
            }
        }
    }

    /// The object of that size is no more: what was not shared will not be.
    pub(super) fn retire(&mut self, object: u32, size: u64) {
        for page in 0..=(size.saturating_sub(1) / u64::from(PAGE)) as u32 {
            let private = |rows: &[u32; WORDS as usize]| rows.iter().all(|&row| row != SHARED);
            if self.pages.get(&(object, page)).is_some_and(|rows| private(rows)) {
                self.pages.remove(&(object, page));
            }
        }
    }

    /// Whether others than this thread, which may be none (`u32::MAX`), have touched the object of
    /// that size.
    pub(super) fn has_others(&self, object: u32, size: u64, thread: u32) -> bool {
        let mut pages = 0..=(size.saturating_sub(1) / u64::from(PAGE)) as u32;
        pages.any(|page| {
            let rows = self.pages.get(&(object, page));
            let is_other = |&row: &u32| row != 0 && row != thread.wrapping_add(1);
            rows.is_some_and(|rows| rows.iter().any(is_other))
        })
    }

    /// Code that is not instrumented has touched the object of that size for a thread, or for
    /// several (`u32::MAX`): if others have been there too, all that is touched of it is shared.
    pub(super) fn share_with(&mut self, object: u32, size: u64, thread: u32) {
        if !self.has_others(object, size, thread) {
            return;
        }
        for page in 0..=(size.saturating_sub(1) / u64::from(PAGE)) as u32 {
            let Some(rows) = self.pages.get_mut(&(object, page)) else { continue };
            rows.iter_mut().filter(|row| **row != 0).for_each(|row| *row = SHARED);
        }
        self.kept.insert(object);
    }

    /// Takes in what another one says, with other numbers for its objects and threads.
    pub(super) fn join(
        &mut self,
        other: &Shadow,
        objects: &FxHashMap<u32, u32>,
        threads: &FxHashMap<u32, u32>,
    ) {
        for (&(object, page), rows) in &other.pages {
            let object = objects[&object];
            let mine =
                self.pages.entry((object, page)).or_insert_with(|| Box::new([0; WORDS as usize]));
            for (mine, &row) in mine.iter_mut().zip(rows.iter()) {
                let row = if row == 0 || row == SHARED { row } else { threads[&(row - 1)] + 1 };
                if row != 0 && *mine != row {
                    *mine = if *mine == 0 { row } else { SHARED };
                }
                if *mine == SHARED {
                    self.kept.insert(object);
                }
            }
        }
        self.kept.extend(other.kept.iter().filter_map(|object| objects.get(object)));
    }

    /// Counts as shared what another one, with other numbers for objects, says is.
    pub(super) fn share_as(&mut self, all: &Shadow, objects: &FxHashMap<u32, u32>) {
        for (&(object, page), rows) in &mut self.pages {
            let Some(others) = all.pages.get(&(objects[&object], page)) else { continue };
            for (row, &other) in rows.iter_mut().zip(others.iter()) {
                if *row != 0 && other == SHARED {
                    *row = SHARED;
                }
            }
        }
        let is_kept = |(_, key): &(&u32, &u32)| all.kept.contains(key);
        self.kept.extend(objects.iter().filter(is_kept).map(|(object, _)| object));
    }

    /// Counts as shared all that is touched of these objects.
    pub(super) fn share_whole(&mut self, whole: &FxHashSet<u32>) {
        for ((object, _), rows) in &mut self.pages {
            if whole.contains(object) {
                rows.iter_mut().filter(|row| **row != 0).for_each(|row| *row = SHARED);
            }
        }
        self.kept.extend(whole);
    }

    fn is_shared(&self, object: u32, word: u32) -> bool {
        let rows = self.pages.get(&(object, word / WORDS));
        rows.is_some_and(|rows| rows[(word % WORDS) as usize] == SHARED)
    }

    /// Calls `each` with the longest parts of `start..end` that lie in shared words.
    pub(super) fn shared_parts(
        &self,
        object: u32,
        start: u32,
        end: u32,
        mut each: impl FnMut(u32, u32),
    ) {
        if !self.is_kept(object) {
            return;
        }
        let mut part = None;
        for word in start / 8..=(end - 1) / 8 {
            let shared = self.is_shared(object, word);
            match part {
                None if shared => part = Some((8 * word).max(start)),
                Some(from) if !shared => {
                    each(from, 8 * word);
                    part = None;
                }
                _ => {}
            }
        }
        if let Some(from) = part {
            each(from, end);
        }
    }
}
