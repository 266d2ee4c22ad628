//! A dense table that forgets everything at once, and a pool to keep such tables in.
//!
//! **Invariant.** A slot counts only if it carries the stamp of the present round; all others read
//! as the default. So clearing costs nothing, however large the trace is, and one check costs no
//! more than the events that it looks at.

use std::sync::Mutex;

/// A table with a default, indexed by a typed id's number.
#[derive(Debug)]
pub(crate) struct Table<T> {
    stamp: u32,
    default: T,
    slots: Vec<(u32, T)>,
}

impl<T: Copy> Table<T> {
    /// A table of that length in which every slot has the default.
    pub(crate) fn new(len: usize, default: T) -> Self {
        Table { stamp: 1, default, slots: vec![(0, default); len] }
    }

    /// Sets every slot to the default.
    pub(crate) fn clear(&mut self) {
        if self.stamp == u32::MAX {
            self.slots.fill((0, self.default));
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> T {
        let (stamp, value) = self.slots[index];
        if stamp == self.stamp { value } else { self.default }
    }

    #[inline]
    pub(crate) fn set(&mut self, index: usize, value: T) {
        self.slots[index] = (self.stamp, value);
    }
}

/// Workspaces that are lent and given back, one for each thread of this program that works at the
/// same time as others.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    idle: Mutex<Vec<T>>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { idle: Mutex::default() }
    }
}

impl<T> Pool<T> {
    /// Lends a workspace, as the last borrower left it.
    pub(crate) fn lend<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.idle.lock().expect("nobody panics with the lock").pop();
        let mut space = idle.unwrap_or_else(make);
        let result = work(&mut space);
        self.idle.lock().expect("nobody panics with the lock").push(space);
        result
    }
}
