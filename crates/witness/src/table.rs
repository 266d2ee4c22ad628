//! A dense table that forgets everything at once.
//!
//! **Invariant.** A slot counts only if it carries the stamp of the present round; all others read
//! as the default. So clearing costs nothing, however large the trace is, and one check costs no
//! more than the events that it looks at.

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
