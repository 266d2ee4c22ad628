//! Full chunks of records in fewer bytes.
//!
//! **Computes.** Programs repeat themselves: behind the same two records there is mostly the same
//! kind of record from the same place, and its words are as before, or grow as before. Each word is
//! predicted by the last one with the same context, and by how much that one had grown. What a load
//! sees is predicted by the last access to its address. What is written is a byte that says which
//! bytes differ from the prediction, and these bytes. Words that are as predicted are only counted,
//! so a loop that spins takes a few bytes.
//!
//! **Follows.** Predictors of values: Goeman, Vandierendonck and De Bosschere, *Differential FCM*,
//! HPCA 2001. Our context is not the last values but the last two records, without what they
//! loaded or stored.
//!
//! **Invariant.** What is unpacked is what was packed, whatever the words are, if the chunks of a
//! stream are packed and unpacked in their order, each time with one table, which is cleared at a
//! chunk that is not packed.
//!
//! **Cost.** Some 5 ns per word, both ways; 1.3 MiB for the table. It allocates nothing.

use crate::record::{self, kind, near};

/// How many contexts, and how many addresses, are told apart.
const CONTEXTS: usize = 1 << 14;
const ADDRESSES: usize = 1 << 17;

/// What both ends remember of a stream.
#[repr(C)]
pub struct Table {
    /// The last word of each context, and by how much it had grown.
    words: [(u64, u64); CONTEXTS],
    /// What was last seen at an address.
    memory: [u64; ADDRESSES],
    near: near::Table,
}

impl Table {
    /// An empty one: all of it is 0.
    pub fn empty() -> Box<Table> {
        // SAFETY: its fields are numbers, for which 0 is a value.
        unsafe { Box::<Table>::new_zeroed().assume_init() }
    }

    /// Forgets everything: so do both ends at a chunk that is not packed.
    pub fn clear(&mut self) {
        self.words.fill((0, 0));
        self.memory.fill(0);
        self.near.fill((0, 0));
    }
}

/// What both ends know: the words so far.
struct Known<'t> {
    table: &'t mut Table,
    /// The last two first words of records, without values.
    heads: [u32; 2],
    /// Which word of its record comes next, and how many are left.
    at: u32,
    left: u64,
    /// The kind of the record, and the address that it accesses.
    number: u8,
    address: u64,
}

/// Whether the first word has a distance, and a value in its upper half.
#[inline(always)]
fn is_near(number: u8) -> bool {
    matches!(number, kind::LOAD_NEAR..=kind::STORE_NEAR_WIDE)
}

/// Where the memory at an address is remembered.
#[inline(always)]
fn place(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 47) as usize
}

impl<'t> Known<'t> {
    fn new(table: &'t mut Table) -> Self {
        Known { table, heads: [0; 2], at: 0, left: 0, number: 0, address: 0 }
    }

    /// The context of the next word.
    #[inline(always)]
    fn context(&self) -> usize {
        let [last, before] = self.heads;
        let mixed = match self.left {
            0 => last.wrapping_mul(0x9e37_79b1) ^ before.wrapping_mul(0x85eb_ca6b).rotate_left(15),
            _ => (last ^ self.at.min(8) << 28).wrapping_mul(0xc2b2_ae35),
        };
        (mixed >> 18) as usize
    }

    /// Whether the next word is what a load saw at a known address.
    #[inline(always)]
    fn is_loaded(&self) -> bool {
        let value = match self.number {
            kind::LOAD => 2,
            kind::LOAD_NEAR_WIDE => 1,
            _ => 0,
        };
        self.left > 0 && self.at == value
    }

    #[inline(always)]
    fn predicted(&self, context: usize) -> u64 {
        if self.is_loaded() {
            return self.table.memory[place(self.address)];
        }
        let (last, step) = self.table.words[context];
        last.wrapping_add(step)
    }

    /// The same with the lower half known: the upper half of a near load is what it saw.
    #[inline(always)]
    fn predicted_upper(&self, predicted: u64, lower: u32) -> u64 {
        if self.left > 0 || lower as u8 != kind::LOAD_NEAR {
            return predicted;
        }
        let seen = self.table.memory[place(self.near_address(u64::from(lower)))];
        seen << 32 | predicted & 0xffff_ffff
    }

    #[inline(always)]
    fn near_address(&self, head: u64) -> u64 {
        let (_, last) = self.table.near[(head >> 10) as usize & 255];
        last.wrapping_add(head >> 18 & 0x3fff).wrapping_sub(1 << 13)
    }

    /// Takes the next word, which had this context.
    #[inline(always)]
    fn take(&mut self, context: usize, word: u64) {
        let (last, step) = &mut self.table.words[context];
        (*last, *step) = (word, word.wrapping_sub(*last));
        if self.left > 0 {
            match (self.number, self.at) {
                (kind::LOAD | kind::STORE, 1) => {
                    self.address = word;
                    self.table.near[self.heads[0] as usize & 255].1 = word;
                }
                (kind::LOAD | kind::STORE, 2)
                | (kind::LOAD_NEAR_WIDE | kind::STORE_NEAR_WIDE, 1) => {
                    self.table.memory[place(self.address)] = word;
                }
                // The second operand says how many bytes follow.
                (kind::LOAD_RANGE | kind::STORE_RANGE, 2) => self.left = 1 + word.div_ceil(8),
                _ => {}
            }
            self.at += 1;
            self.left -= 1;
            return;
        }
        self.number = word as u8;
        let mut head = word as u32;
        if is_near(self.number) {
            self.address = self.near_address(word);
            self.table.near[(word >> 10) as usize & 255].1 = self.address;
            head &= 0x3_ffff;
            if matches!(self.number, kind::LOAD_NEAR | kind::STORE_NEAR) {
                self.table.memory[place(self.address)] = word >> 32;
            }
        } else if matches!(self.number, kind::LOAD | kind::STORE) {
            // The place of its site in the table of near accesses, for the address that follows.
            head = (word as u32 & !0xff) << 8 | near::slot(word >> 16) as u32;
        }
        self.heads = [head, self.heads[0]];
        self.at = 1;
        self.left = record::operands(self.number).unwrap_or(0) as u64;
    }
}

/// Packs words, and says how many bytes they take; `None` if there is no room for them.
pub fn pack(words: impl Iterator<Item = u64>, table: &mut Table, out: &mut [u8]) -> Option<usize> {
    let mut known = Known::new(table);
    let (mut at, mut as_predicted) = (0, 0u8);
    for word in words {
        let context = known.context();
        let predicted = known.predicted_upper(known.predicted(context), word as u32);
        let mut differs = word ^ predicted;
        known.take(context, word);
        if differs == 0 {
            if as_predicted > 0 && as_predicted < u8::MAX {
                as_predicted += 1;
                out[at - 1] = as_predicted;
            } else {
                out.get_mut(at..at + 2)?.copy_from_slice(&[0, 1]);
                (at, as_predicted) = (at + 2, 1);
            }
            continue;
        }
        as_predicted = 0;
        // Room for the mark and 8 bytes, so that the loop need not ask.
        let room: &mut [u8; 9] = out.get_mut(at..at + 9)?.try_into().expect("it has 9 bytes");
        let (mut mark, mut bytes) = (0u8, 1);
        while differs != 0 {
            let byte = differs.trailing_zeros() / 8;
            mark |= 1 << byte;
            room[bytes] = (differs >> (8 * byte)) as u8;
            bytes += 1;
            differs &= !(0xff << (8 * byte));
        }
        room[0] = mark;
        at += bytes;
    }
    Some(at)
}

/// Unpacks so many words, and appends their bytes; `None` if there are other ones than these.
pub fn unpack(mut packed: &[u8], count: usize, table: &mut Table, out: &mut Vec<u8>) -> Option<()> {
    let mut known = Known::new(table);
    let mut left = count;
    while left > 0 {
        let (&mark, rest) = packed.split_first()?;
        packed = rest;
        let mut differs = 0;
        let mut repeat = 1;
        if mark == 0 {
            let (&times, rest) = packed.split_first()?;
            (repeat, packed) = (usize::from(times), rest);
        }
        let mut marks = mark;
        while marks != 0 {
            let (&byte, rest) = packed.split_first()?;
            differs |= u64::from(byte) << (8 * marks.trailing_zeros());
            packed = rest;
            marks &= marks - 1;
        }
        left = left.checked_sub(repeat).filter(|_| repeat > 0)?;
        for _ in 0..repeat {
            let context = known.context();
            let predicted = known.predicted(context);
            let lower = (predicted ^ differs) as u32;
            let word = known.predicted_upper(predicted, lower) ^ differs;
            known.take(context, word);
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    packed.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::head;

    fn packed(words: &[u64]) -> Vec<u8> {
        let (mut table, mut out) = (Table::empty(), vec![0; 9 * words.len() + 9]);
        let length = pack(words.iter().copied(), &mut table, &mut out).expect("there is room");
        out.truncate(length);
        let (mut again, mut table) = (Vec::new(), Table::empty());
        unpack(&out, words.len(), &mut table, &mut again).expect("it was packed just now");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(again == bytes, "{words:x?}");
        out
    }

    /// Numbers that look random.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> (*state >> 58)
    }

    #[test]
    fn whatever_is_packed_comes_back() {
        assert!(packed(&[]).is_empty());
        let mut state = 3;
        for length in 0..300 {
            let words: Vec<u64> = (0..length).map(|_| random(&mut state)).collect();
            packed(&words);
            let small: Vec<u64> = words.iter().map(|word| word % 24).collect();
            packed(&small);
        }
        packed(&[head(kind::LOAD_RANGE, 0, 3), 64, 20, 1, 2, 3, head(kind::FENCE, 0, 3)]);
        packed(&[head(kind::LOAD_RANGE, 0, 3), 64, u64::MAX, 1, 2, 3]);
    }

    #[test]
    fn a_loop_that_spins_takes_little() {
        let spin = |stamp: u64| [head(kind::ATOMIC_LOAD, 0x54, 77), 0x7fff_0010, 0, stamp];
        let words: Vec<u64> = (1..=8000).flat_map(spin).collect();
        assert!(packed(&words).len() < 400, "{} bytes", packed(&words).len());
    }

    #[test]
    fn there_must_be_room_and_all_bytes() {
        let mut table = Table::empty();
        let words = [1u64 << 60, 7, 9];
        assert_eq!(pack(words.into_iter(), &mut table, &mut [0; 8]), None);
        let bytes = packed(&words);
        let mut table = Table::empty();
        for length in 0..bytes.len() {
            assert_eq!(unpack(&bytes[..length], 3, &mut table, &mut Vec::new()), None);
        }
        assert_eq!(unpack(&bytes, 2, &mut table, &mut Vec::new()), None);
        assert_eq!(unpack(&[0, 0], 1, &mut table, &mut Vec::new()), None);
    }
}
