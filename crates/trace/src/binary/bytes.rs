//! Numbers and strings in the content of a section.
//!
//! Numbers are in LEB128 (7 bits per byte, the lowest first), strings are their length and then
//! their bytes in UTF-8. A [`Cursor`] says where it stopped understanding.

use super::BinaryError;
pub(super) use crate::expr::nodes::put_number;

pub(super) fn put_string(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// Reads the content of a section from front to back.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where in the file the section begins.
    section: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], section: u64) -> Self {
        Cursor { bytes, at: 0, section }
    }

    /// How far it has read.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    /// An error at the place that was reached.
    pub(super) fn damaged(&self, problem: impl std::fmt::Display) -> BinaryError {
        let problem = format!("{problem} (in the section here, content byte {})", self.at);
        BinaryError::Damaged { offset: self.section, problem }
    }

    pub(super) fn byte(&mut self) -> Result<u8, BinaryError> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(self.damaged("the content ends too early"));
        };
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8], BinaryError> {
        let rest = &self.bytes[self.at..];
        if length > rest.len() as u64 {
            return Err(self.damaged(format!("{length} bytes announced, {} there", rest.len())));
        }
        self.at += length as usize;
        Ok(&rest[..length as usize])
    }

    pub(super) fn number(&mut self) -> Result<u64, BinaryError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || byte == 0 && shift > 0 {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.damaged("a number that is not in its shortest form or wider than 64 bits"))
    }

    /// A number below a limit, which `what` names.
    pub(super) fn below(&mut self, limit: u64, what: &str) -> Result<u32, BinaryError> {
        let number = self.number()?;
        match u32::try_from(number) {
            Ok(small) if number < limit => Ok(small),
            _ => Err(self.damaged(format!("{what} {number}, of which there are {limit}"))),
        }
    }

    pub(super) fn word(&mut self) -> Result<u32, BinaryError> {
        self.below(1 << 32, "32-bit number")
    }

    /// How many entries follow. Each takes a byte at least, which bounds what is believed.
    pub(super) fn count(&mut self) -> Result<usize, BinaryError> {
        let count = self.number()?;
        let rest = self.bytes.len() - self.at;
        if count > rest as u64 {
            return Err(self.damaged(format!("{count} entries announced in {rest} bytes")));
        }
        Ok(count as usize)
    }

    pub(super) fn string(&mut self) -> Result<&'a str, BinaryError> {
        let length = self.number()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.damaged("a string that is not UTF-8"))
    }

    pub(super) fn finish(self) -> Result<(), BinaryError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            rest => Err(self.damaged(format!("{rest} bytes too many"))),
        }
    }
}
