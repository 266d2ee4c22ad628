//! What the memory of one thread holds, in terms of what the thread has read.
//!
//! **Computes.** For bytes that only this thread touches, what was last stored there. Of memory whose accesses are recorded
//! (*own* memory) only values that depend on reads are kept: for all others the record says what is there. Of memory whose accesses
//! are not (*private* memory), everything.
//!
//! **Invariant.** Entries do not overlap.
//!
//! **Cost.** Logarithmic in the number of entries; nothing while there are none.

use std::collections::BTreeMap;

use foretrace_recording::image::binary;

use crate::arithmetic::cut;
use crate::terms::{TermId, Terms, Value};

/// The contents of some bytes.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    entries: BTreeMap<u64, (u8, Value)>,
}

impl Memory {
    /// What is stored in `size` bytes, at most 8, from `address` on. `recorded` is what was found there in the recorded run, if
    /// that is known; of bytes that nothing is kept of, this is all that is known.
    pub(crate) fn load(
        &self,
        terms: &mut Terms,
        address: u64,
        size: u8,
        recorded: Option<u64>,
    ) -> Value {
        let plain = recorded.map_or(Value::UNKNOWN, Value::number);
        if self.entries.is_empty() {
            return plain;
        }
        if let Some(&(kept, value)) = self.entries.get(&address)
            && kept == size
        {
            return value;
        }
        let end = address.saturating_add(size.into());
        let overlapping: Vec<(u64, u8, Value)> = self
            .entries
            .range(address.saturating_sub(7)..end)
            .map(|(&at, &(kept, value))| (at, kept, value))
            .filter(|&(at, kept, _)| at + u64::from(kept) > address)
            .collect();
        match overlapping.is_empty() {
            true => plain,
            false => compose(terms, address, size, recorded, &overlapping),
        }
    }

    /// Stores a value; `keep` says whether values that depend on nothing are kept too.
    pub(crate) fn store(
        &mut self,
        terms: &mut Terms,
        address: u64,
        size: u8,
        value: Value,
        keep: bool,
    ) {
        let value = terms.now(value);
        self.cut_out(terms, address, address.saturating_add(size.into()));
        if keep || value.term != TermId::NONE {
            self.entries.insert(address, (size, value));
        }
    }

    /// Forgets what is in a range; what reaches out of it keeps its other bytes.
    pub(crate) fn cut_out(&mut self, terms: &mut Terms, start: u64, end: u64) {
        if self.entries.is_empty() || start >= end {
            return;
        }
        let hit: Vec<u64> = self
            .entries
            .range(start.saturating_sub(7)..end)
            .filter(|(at, (size, _))| **at + u64::from(*size) > start)
            .map(|(&at, _)| at)
            .collect();
        for at in hit {
            let (size, value) = self.entries.remove(&at).expect("found just now");
            let stop = at + u64::from(size);
            for (from, to) in [(at, start), (end, stop)] {
                if from < to && from >= at && to <= stop {
                    let part = bytes_of(terms, value, (from - at) as u8, (to - from) as u8);
                    self.entries.insert(from, ((to - from) as u8, part));
                }
            }
        }
    }

    /// Shows all values, which may be changed.
    pub(crate) fn for_each_value(&mut self, mut each: impl FnMut(&mut Value)) {
        self.entries.values_mut().for_each(|(_, value)| each(value));
    }

    /// All values in a range.
    pub(crate) fn values(&self, start: u64, end: u64) -> Vec<Value> {
        let inside = self.entries.range(start.saturating_sub(7)..end.max(start));
        inside
            .filter(|(at, (size, _))| **at + u64::from(*size) > start)
            .map(|(_, &(_, value))| value)
            .collect()
    }

    /// Forgets everything, and says what it was.
    pub(crate) fn clear(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.entries).into_values().map(|(_, value)| value).collect()
    }
}

/// Some bytes of a value.
pub(crate) fn bytes_of(terms: &mut Terms, value: Value, offset: u8, size: u8) -> Value {
    let amount = Value::number(8 * u64::from(offset));
    let shifted = match offset {
        0 => value,
        _ => terms.binary(binary::LSHR as u8, 64, value, amount),
    };
    terms.cast(foretrace_recording::image::cast::TRUNCATE as u8, shifted, 64, 8 * size)
}

/// The value of bytes of which parts are kept.
fn compose(
    terms: &mut Terms,
    address: u64,
    size: u8,
    recorded: Option<u64>,
    parts: &[(u64, u8, Value)],
) -> Value {
    let end = address + u64::from(size);
    let mut rest = cut(recorded.unwrap_or(0), 8 * size);
    let mut covered = 0;
    let mut pieces = Vec::new();
    for &(at, kept, value) in parts {
        let (from, to) = (at.max(address), (at + u64::from(kept)).min(end));
        let piece = bytes_of(terms, value, (from - at) as u8, (to - from) as u8);
        let shift = 8 * (from - address);
        rest &= !(cut(u64::MAX, 8 * (to - from) as u8) << shift);
        covered += to - from;
        pieces.push((piece, shift));
    }
    if covered < u64::from(size) && recorded.is_none() {
        return terms.unmodelled(pieces.into_iter().map(|(piece, _)| piece));
    }
    let mut whole = Value::number(rest);
    for (piece, shift) in pieces {
        let placed = terms.binary(binary::SHL as u8, 64, piece, Value::number(shift));
        whole = terms.binary(binary::OR as u8, 64, whole, placed);
    }
    whole
}
