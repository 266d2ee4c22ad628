//! The table of states that were seen.
//!
//! **Computes.** Whether a state, as bytes, was seen before. Bytes are compared, not only hashes,
//! so that "seen" is exact.
//!
//! **Cost.** The bytes of each state, and 16 more.

use std::hash::Hasher;

use rustc_hash::FxHasher;

const EMPTY: u32 = u32::MAX;

/// The states.
#[derive(Default)]
pub(crate) struct Table {
    bytes: Vec<u8>,
    /// Where each state ends, and its hash.
    ends: Vec<(usize, u32)>,
    /// States by hash, open addressing.
    slots: Vec<u32>,
}

impl Table {
    /// Adds a state; `false` if it was there.
    pub(crate) fn insert(&mut self, state: &[u8]) -> bool {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(state);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            let known = self.slots[at] as usize;
            if self.ends[known].1 == hash && self.state(known) == state {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = self.ends.len() as u32;
        self.bytes.extend_from_slice(state);
        self.ends.push((self.bytes.len(), hash));
        true
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes all of it takes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + 16 * self.ends.len() + 4 * self.slots.len()
    }

    fn state(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1].0 };
        &self.bytes[start..self.ends[index].0]
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(1024);
        self.slots = vec![EMPTY; size];
        for (index, &(_, hash)) in self.ends.iter().enumerate() {
            let mut at = hash as usize & (size - 1);
            while self.slots[at] != EMPTY {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = index as u32;
        }
    }
}

fn hash(state: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(state);
    let hash = hasher.finish();
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_once() {
        let mut table = Table::default();
        for round in 0..2 {
            for number in 0..5_000u32 {
                let state = &number.to_le_bytes()[..1 + number as usize % 4];
                let is_new = round == 0
                    && (number % 4 == 3 || number < 256 || {
                        let shorter = number & ((1 << (8 * (1 + number % 4))) - 1);
                        shorter == number
                    });
                if is_new || round == 1 {
                    assert_eq!(table.insert(state), is_new, "{number}");
                }
            }
        }
        assert!(table.len() > 1_000);
    }
}
