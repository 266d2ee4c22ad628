//! Bytes: initial contents, recorded writers, what reads expect, unknown writers.

use std::collections::BTreeMap;

use foretrace_trace::*;

use super::Recorded;

impl Recorded<'_> {
    pub(super) fn number_bytes(&mut self) {
        let mut numbers = BTreeMap::new();
        for op in &self.ops {
            let mut touched = Vec::new();
            if let Some(access) = op.access() {
                for offset in access.at.offset..access.at.end() {
                    let next = numbers.len();
                    touched.push(*numbers.entry((access.at.object, offset)).or_insert(next));
                }
            }
            self.bytes.push(touched);
        }
        self.byte_count = numbers.len();
        self.initial_bytes = vec![None; self.byte_count];
        for &(place, value) in self.trace.initial() {
            for offset in place.offset..place.end() {
                if let Some(&byte) = numbers.get(&(place.object, offset)) {
                    self.initial_bytes[byte] =
                        byte_of(Some(value), place.size, offset - place.offset);
                }
            }
        }
    }

    pub(super) fn find_initial_bytes(&mut self) {
        for byte in 0..self.byte_count {
            if self.initial_bytes[byte].is_none() {
                self.initial_bytes[byte] = self.first_seen(byte);
            }
        }
    }

    /// What the first valued read of a byte saw, if no write of it is recorded before.
    fn first_seen(&self, byte: usize) -> Option<u8> {
        for (event, op) in self.events() {
            if let Some(seen) = self.read_byte(event, byte) {
                return Some(seen);
            }
            let writes = op.access().is_some_and(|access| access.writes);
            if writes && self.bytes[event.index()].contains(&byte) {
                return None;
            }
        }
        None
    }

    pub(super) fn find_expected_bytes(&mut self) {
        let mut last_writer = vec![None; self.byte_count];
        for row in 0..self.ops.len() {
            let event = EventId::from(row);
            let access = self.ops[row].access();
            let mut expected = Vec::new();
            if access.is_some_and(|access| access.reads) {
                for &byte in &self.bytes[row] {
                    let writer = last_writer[byte];
                    expected.push(self.identity(byte, writer));
                    let left = self.left_by(byte, writer);
                    if let (Some(seen), Some(left)) = (self.read_byte(event, byte), left)
                        && seen != left
                    {
                        self.unknown_writer.insert(event);
                    }
                }
            }
            self.expected.push(expected);
            if access.is_some_and(|access| access.writes) {
                for &byte in &self.bytes[row] {
                    last_writer[byte] = Some(event);
                }
            }
        }
    }

    /// What an event saw in a byte: `None` if it does not read the byte or is unvalued.
    pub(crate) fn read_byte(&self, event: EventId, byte: usize) -> Option<u8> {
        match self.op(event) {
            Op::Read { at, value, .. } | Op::Rmw { at, read: value, .. } => {
                self.value_in(event, byte, at, value)
            }
            ops!(object data sync call mark Write) => None,
        }
    }

    /// What an event left in a byte: `None` if it does not write the byte or is unvalued.
    pub(super) fn written_byte(&self, event: EventId, byte: usize) -> Option<u8> {
        match self.op(event) {
            Op::Write { at, value, .. } | Op::Rmw { at, written: value, .. } => {
                self.value_in(event, byte, at, value)
            }
            ops!(object data sync call mark Read) => None,
        }
    }

    fn value_in(&self, event: EventId, byte: usize, at: Place, value: Option<u64>) -> Option<u8> {
        let index = self.bytes[event.index()].iter().position(|&touched| touched == byte)?;
        byte_of(value, at.size, index as u32)
    }
}

/// The byte of a value, if accesses of this size have values.
fn byte_of(value: Option<u64>, size: u32, index: u32) -> Option<u8> {
    if size > 8 {
        return None;
    }
    value.map(|value| value.to_le_bytes()[index as usize])
}
