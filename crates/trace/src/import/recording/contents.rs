//! What memory holds at first, and whether reads see what it holds.

use super::emit::{Emit, Now};
use super::objects::{Found, What};
use crate::*;

/// Of larger objects it is not said what all bytes hold: addresses do not range over them.
const MOST_BYTES: u32 = 1 << 20;

impl Emit<'_> {
    /// What bytes that are about to be written for the first time, and were not read, held at first. (Where a read came first, it says so itself:
    /// code that is not instrumented may have been there before it.)
    pub(super) fn declare_contents(&mut self, found: &Found, start: u32, end: u32) {
        let key = u64::from(found.object) << 32;
        let mut at = start;
        while at < end {
            let mut value = 0;
            let from = at;
            // Pieces of at most 8 bytes are numbers.
            while at < end
                && at - from < 8
                && self.image.get(key | u64::from(at)).is_none()
                && let Some(byte) = self.tables.content(found.start + u64::from(at))
            {
                value |= u64::from(byte) << (8 * (at - from));
                at += 1;
            }
            if at > from {
                let object = self.object(found);
                self.builder.set_initial(Place { object, offset: from, size: at - from }, value);
            } else {
                at += 1;
            }
        }
    }

    /// Says what a variable holds at the start, where that is known. (Of one recording the first read says it; but in a mixture of several an earlier one may be the first.)
    pub(super) fn declare_zeros(&mut self, found: &Found, start: u32, end: u32) {
        let is_zero = match found.what {
            What::Global(at) => self.tables.globals[at].is_zero,
            What::Heap(block) => block.is_zero,
            What::Stack(_) | What::Region => false,
        };
        if !self.together || !is_zero {
            return;
        }
        let length = (found.end - found.start) as u32;
        // Where addresses range over the object, all of it may be read.
        let is_whole = self.survey.whole.contains(&found.object) && length <= MOST_BYTES;
        let (start, end) = if is_whole { (0, length) } else { (start, end) };
        for word in start / 8..=(end - 1) / 8 {
            if self.zeros.insert((found.object, word)) {
                let (offset, size) = (8 * word, (length - 8 * word).min(8));
                let object = self.object(found);
                self.builder.set_initial(Place { object, offset, size }, 0);
                let key = u64::from(found.object) << 32 | u64::from(offset);
                (0..u64::from(size)).for_each(|byte| self.image.set(key + byte, 0, true));
            }
        }
    }

    /// What bytes of variables hold that nobody has accessed, where every byte may be read. (Of those that are zero it is declared.)
    pub(super) fn declare_whole_objects(&mut self) {
        let mut whole: Vec<u32> = self.survey.whole.iter().copied().collect();
        whole.sort_unstable();
        for object in whole {
            let Some(&id) = self.object_ids.get(&object) else { continue };
            let Some(global) = self.tables.globals.get(object as usize) else { continue };
            let key = u64::from(object) << 32;
            let length = u32::try_from(global.end - global.start).unwrap_or(u32::MAX);
            for offset in 0..length.min(MOST_BYTES) {
                let held = self.tables.content(global.start + u64::from(offset));
                if let (Some(byte), None) = (held, self.image.get(key | u64::from(offset))) {
                    let at = Place { object: id, offset, size: 1 };
                    self.builder.set_initial(at, byte.into());
                }
            }
        }
    }

    /// Compares what was read with what memory holds. A difference that the trace cannot show by itself is pinned.
    pub(super) fn compare(
        &mut self,
        now: Now,
        key: u64,
        size: u32,
        is_range: bool,
        read: impl Fn(usize) -> u8,
    ) {
        let (mut differs, mut shows) = (false, false);
        for byte in 0..size as usize {
            let address = key + byte as u64;
            match self.image.get(address) {
                None => self.image.set(address, read(byte), !is_range),
                Some((known, valued)) if known != read(byte) => {
                    differs = true;
                    shows |= valued && !is_range;
                }
                Some(_) => {}
            }
        }
        if differs {
            let location = self.location(now);
            *self.unknown_writers.entry(location).or_default() += 1;
            if !shows {
                self.pin(now);
            }
        }
    }
}
