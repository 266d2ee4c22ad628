//! What memory holds at first, and whether each read sees what memory holds.

use std::ops::Range;

use foretrace_trace::*;

use super::emit::{Emit, Now};
use super::objects::{Found, What};
use super::records::Touch;

/// Of larger objects it is not said what all bytes hold: addresses do not range over them.
const MOST_BYTES: u32 = 1 << 20;

impl Emit<'_> {
    /// What bytes that are about to be accessed for the first time held at first, if that is known.
    /// Of one recording this is asked for writes to variables only: where a read comes first, it
    /// says so itself, and code that is not instrumented may have been there before it. In a
    /// mixture of several another access may be the first. Where addresses range over an object,
    /// all its bytes may be read.
    pub(super) fn declare_contents(&mut self, found: &Found, touch: &Touch, bytes: Range<u32>) {
        let is_known = match found.what {
            What::Global(_) => self.together || touch.reads.is_none(),
            What::Heap(block) => self.together && block.is_zero,
            What::Stack(_) | What::Region => false,
        };
        if !is_known {
            return;
        }
        let length = (found.end - found.start) as u32;
        let is_whole = self.survey.whole.contains(&found.object) && length <= MOST_BYTES;
        let Range { start, end } = match is_whole {
            true if self.declared_whole.insert(found.object) => 0..length,
            true => return,
            false => bytes,
        };
        let key = u64::from(found.object) << 32;
        let mut at = start;
        while at < end {
            let mut value = 0;
            let from = at;
            // Pieces of at most 8 bytes are numbers.
            while at < end
                && at - from < 8
                && self.image.get(key | u64::from(at)).is_none()
                && let Some(byte) = self.content(found, at)
            {
                self.image.set(key | u64::from(at), byte, true);
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

    /// What a byte of a variable, or of a block that is zero, held at first.
    fn content(&self, found: &Found, offset: u32) -> Option<u8> {
        match found.what {
            What::Global(_) => self.tables.content(found.start + u64::from(offset)),
            What::Heap(_) | What::Stack(_) | What::Region => Some(0),
        }
    }

    /// Compares what was read with what memory holds. A difference that the trace cannot show by
    /// itself is pinned.
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
