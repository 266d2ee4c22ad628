//! What the memory of one thread holds, in terms of what the thread has read.
//!
//! **Computes.** For bytes that only this thread touches, what was last stored there. Of memory
//! whose accesses are recorded (*own* memory) only values that depend on reads are kept: for all
//! others the record says what is there. Of memory whose accesses are not (*private* memory),
//! everything.
//!
//! **Invariant.** Entries do not overlap. A line is there only if an entry begins in it.
//!
//! **Cost.** A few steps where an access finds the same bytes as the one before; else logarithmic
//! in the number of lines. Nothing while there are none.

use std::cell::Cell;
use std::collections::BTreeMap;

use foretrace_words::{BinaryOp, Cast};

use crate::terms::{TermId, Terms, Value};
use foretrace_words::cut;

/// The contents of some bytes.
#[derive(Default, Debug)]
pub(crate) struct Contents {
    /// Where each line is, by its number.
    index: BTreeMap<u64, u32>,
    lines: Vec<Line>,
    /// Lines that are not in use.
    spare: Vec<u32>,
    /// Where lines were found that were looked for, as caches of processors have it: the number,
    /// and where it is.
    recent: Vec<Cell<(u64, u32)>>,
}

/// Bytes in a row, so that one look-up finds what is near.
#[derive(Default, Debug)]
struct Line {
    /// Where entries begin.
    starts: u64,
    /// Their sizes and values, in order.
    entries: Vec<(u8, Value)>,
}

/// An entry: where it is, how many bytes it has, and its value.
type Entry = (u64, u8, Value);

/// Bytes of a line.
const LINE: u64 = 64;
/// As many lines are remembered as there are, within these limits.
const RECENT: (usize, usize) = (8, 1024);
/// There is no such line.
const NOWHERE: u32 = u32::MAX;

impl Line {
    /// How many entries begin before an offset.
    fn rank(&self, offset: u64) -> usize {
        (self.starts & ((1 << offset) - 1)).count_ones() as usize
    }

    /// The entry that begins there.
    fn get(&self, offset: u64) -> Option<&(u8, Value)> {
        (self.starts >> offset & 1 == 1).then(|| &self.entries[self.rank(offset)])
    }
}

/// The offsets from `from` on that are below `to`.
fn offsets(from: u64, to: u64) -> u64 {
    let below = |offset: u64| if offset >= LINE { u64::MAX } else { (1 << offset) - 1 };
    below(to) & !below(from)
}

impl Contents {
    /// What is stored in `size` bytes, at most 8, from `address` on. `recorded` is what was found
    /// there in the recorded run, if that is known; of bytes that nothing is kept of, this is all
    /// that is known.
    pub(crate) fn load(
        &self,
        terms: &mut Terms,
        address: u64,
        size: u8,
        recorded: Option<u64>,
    ) -> Value {
        let plain = recorded.map_or(Value::UNKNOWN, Value::number);
        if self.index.is_empty() {
            return plain;
        }
        if let Some(line) = self.line(address / LINE)
            && let Some(&(kept, value)) = line.get(address % LINE)
            && kept == size
        {
            return value;
        }
        let end = address.saturating_add(size.into());
        let mut overlapping = Vec::new();
        overlapping.extend(self.reaching(address));
        self.for_each(address, end, |entry| overlapping.push(entry));
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
        let is_kept = keep || value.term != TermId::NONE;
        if is_kept
            && let Some(at) = self.find(address / LINE)
            && let line = &mut self.lines[at as usize]
            && line.get(address % LINE).is_some_and(|(kept, _)| *kept == size)
        {
            let rank = line.rank(address % LINE);
            line.entries[rank].1 = value;
            return;
        }
        self.cut_out(terms, address, address.saturating_add(size.into()));
        if is_kept {
            self.insert(address, size, value);
        }
    }

    /// Forgets what is in a range; what reaches out of it keeps its other bytes.
    pub(crate) fn cut_out(&mut self, terms: &mut Terms, start: u64, end: u64) {
        if self.index.is_empty() || start >= end {
            return;
        }
        let first = self.reaching(start);
        if let Some((at, _, _)) = first {
            self.remove(at / LINE, at % LINE, at % LINE + 1);
        }
        let mut last = None;
        let (from, to) = (start / LINE, (end - 1) / LINE);
        if to - from <= 1 {
            for number in from..=to {
                last = self.cut_line(number, start, end).or(last);
            }
        } else {
            let numbers: Vec<u64> =
                self.index.range(from..=to).map(|(number, _)| *number).collect();
            for number in numbers {
                last = self.cut_line(number, start, end).or(last);
            }
        }
        // Where the first one covers all, there is no other.
        for (at, size, value) in first.into_iter().chain(last) {
            let stop = at.saturating_add(size.into());
            for (from, to) in [(at, start), (end, stop)] {
                if from < to && from >= at && to <= stop {
                    let part = bytes_of(terms, value, (from - at) as u8, (to - from) as u8);
                    self.insert(from, (to - from) as u8, part);
                }
            }
        }
    }

    /// Removes the entries that begin in a part of a line, and says which was the last.
    fn cut_line(&mut self, number: u64, start: u64, end: u64) -> Option<Entry> {
        let base = number * LINE;
        self.remove(number, start.saturating_sub(base), end - base)
    }

    /// The same by offsets.
    fn remove(&mut self, number: u64, from: u64, to: u64) -> Option<Entry> {
        let at = self.find(number)?;
        let line = &mut self.lines[at as usize];
        let hit = line.starts & offsets(from, to);
        if hit == 0 {
            return None;
        }
        let (rank, offset) = (line.rank(hit.trailing_zeros().into()), 63 - hit.leading_zeros());
        let mut removed = line.entries.drain(rank..rank + hit.count_ones() as usize);
        let (size, value) = removed.next_back()?;
        drop(removed);
        line.starts &= !hit;
        if line.starts == 0 {
            self.index.remove(&number);
            self.spare.push(at);
            self.remember(number, NOWHERE);
        }
        Some((number * LINE + u64::from(offset), size, value))
    }

    /// Adds an entry where there is none.
    fn insert(&mut self, address: u64, size: u8, value: Value) {
        let (number, offset) = (address / LINE, address % LINE);
        let at = self.find(number).unwrap_or_else(|| {
            let at = self.spare.pop().unwrap_or_else(|| {
                self.lines.push(Line::default());
                self.lines.len() as u32 - 1
            });
            self.index.insert(number, at);
            if self.index.len() > self.recent.len() && self.recent.len() < RECENT.1 {
                let size = (2 * self.recent.len()).max(RECENT.0);
                self.recent = vec![Cell::new((u64::MAX, NOWHERE)); size];
            }
            self.remember(number, at);
            at
        });
        let line = &mut self.lines[at as usize];
        line.entries.insert(line.rank(offset), (size, value));
        line.starts |= 1 << offset;
    }

    /// Where a line is.
    fn find(&self, number: u64) -> Option<u32> {
        if self.recent.is_empty() {
            return None;
        }
        let (known, mut at) = self.recent[number as usize & (self.recent.len() - 1)].get();
        if known != number {
            at = self.index.get(&number).copied().unwrap_or(NOWHERE);
            self.remember(number, at);
        }
        (at != NOWHERE).then_some(at)
    }

    fn remember(&self, number: u64, at: u32) {
        self.recent[number as usize & (self.recent.len() - 1)].set((number, at));
    }

    fn line(&self, number: u64) -> Option<&Line> {
        self.find(number).map(|at| &self.lines[at as usize])
    }

    /// The entry that begins before an address and reaches behind it.
    fn reaching(&self, address: u64) -> Option<Entry> {
        let least = address.saturating_sub(7);
        let last = |number: u64| {
            let (line, base) = (self.line(number)?, number * LINE);
            let before = line.starts & offsets(least.saturating_sub(base), address - base);
            let offset = 63 - u64::from((before != 0).then(|| before.leading_zeros())?);
            let (size, value) = *line.get(offset)?;
            Some((base + offset, size, value))
        };
        let found = last(address / LINE)
            .or_else(|| last(least / LINE).filter(|_| least / LINE != address / LINE));
        found.filter(|(at, size, _)| at.saturating_add((*size).into()) > address)
    }

    /// Shows the entries that begin in a range, in order.
    fn for_each(&self, start: u64, end: u64, mut each: impl FnMut(Entry)) {
        if start >= end {
            return;
        }
        for (number, at) in self.index.range(start / LINE..=(end - 1) / LINE) {
            let (line, base) = (&self.lines[*at as usize], number * LINE);
            let mut hit = line.starts & offsets(start.saturating_sub(base), end - base);
            while hit != 0 {
                let offset = u64::from(hit.trailing_zeros());
                let (size, value) = line.entries[line.rank(offset)];
                each((base + offset, size, value));
                hit &= hit - 1;
            }
        }
    }

    /// Shows all values, which may be changed.
    pub(crate) fn for_each_value(&mut self, mut each: impl FnMut(&mut Value)) {
        for at in self.index.values() {
            self.lines[*at as usize].entries.iter_mut().for_each(|(_, value)| each(value));
        }
    }

    /// All values in a range.
    pub(crate) fn values(&self, start: u64, end: u64) -> Vec<Value> {
        if self.index.is_empty() {
            return Vec::new();
        }
        let mut values: Vec<Value> =
            self.reaching(start).into_iter().map(|(_, _, value)| value).collect();
        self.for_each(start, end, |(_, _, value)| values.push(value));
        values
    }

    /// Forgets everything, and says what it was.
    pub(crate) fn clear(&mut self) -> Vec<Value> {
        let values = self.values(0, u64::MAX);
        for (number, at) in std::mem::take(&mut self.index) {
            self.lines[at as usize].starts = 0;
            self.lines[at as usize].entries.clear();
            self.spare.push(at);
            self.remember(number, NOWHERE);
        }
        values
    }
}

/// Some bytes of a value.
pub(crate) fn bytes_of(terms: &mut Terms, value: Value, offset: u8, size: u8) -> Value {
    let amount = Value::number(8 * u64::from(offset));
    let shifted = match offset {
        0 => value,
        _ => terms.binary(BinaryOp::LShr, 64, value, amount),
    };
    terms.cast(Cast::Truncate, shifted, 64, 8 * size)
}

/// The value of bytes of which parts are kept.
fn compose(
    terms: &mut Terms,
    address: u64,
    size: u8,
    recorded: Option<u64>,
    parts: &[Entry],
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
        let placed = terms.binary(BinaryOp::Shl, 64, piece, Value::number(shift));
        whole = terms.binary(BinaryOp::Or, 64, whole, placed);
    }
    whole
}
