//! The metadata of RV-Predict's LLVM recorder: names for addresses and source locations.
//!
//! **Computes.** `var_metadata.bin` and `loc_metadata.bin` are lists of an id (i64, little-endian)
//! and a text that ends with a zero byte. For an address the text is, for example,
//! `global 'x' of size 4 at 0x14ab3e0 (a.out + 0x14ab3e1)`: the variable, and then the address
//! itself.
//!
//! **Invariant.** [`Cell`] is the same for two recorded addresses only if they are the same byte
//! (or the same cell, with the older recorder). The recorders write an address in three ways, all
//! of them with the number (id) that they gave it when they first met it:
//!
//! 1. the id alone;
//! 2. the id in the upper half and the offset from the variable's start in the lower half. If the
//!    offset is wider, it runs into the id. Such an address is taken apart only if the metadata of
//!    the id confirm the offset; otherwise the whole word is the key, for the lower half of it
//!    still tells bytes of one variable apart;
//! 3. minus the id in 32 bits (the older recorder, for variables that it has a name for).
//!
//! Forms 1 and 2 of one id do occur for one byte (a mutex is looked up without its name), so they
//! are the same cell: two cells for one byte would lose a conflict.

use rustc_hash::FxHashMap;

use super::{ImportError, Position, Problem};

/// One unit of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Cell {
    /// The address with that id.
    Id(u32),
    /// An address whose id cannot be told.
    Word(u64),
}

/// Texts by id.
pub(super) struct Texts {
    by_id: FxHashMap<i64, String>,
}

impl Texts {
    pub(super) fn parse(bytes: &[u8]) -> Result<Texts, ImportError> {
        let mut by_id = FxHashMap::default();
        let mut at = 0;
        // One of the published files ends with a newline that some editor added.
        while at < bytes.len() && &bytes[at..] != b"\n" {
            let error = |problem: Problem| problem.at(Position::Byte(at as u64));
            let rest = &bytes[at..];
            let record = rest.split_first_chunk::<8>().and_then(|(id, text)| {
                let end = text.iter().position(|&byte| byte == 0)?;
                Some((i64::from_le_bytes(*id), &text[..end]))
            });
            let Some((id, text)) = record else {
                let found = format!("{} bytes without an end", rest.len());
                return Err(error(Problem::syntax(found, "an id of 8 bytes, a text, a zero byte")));
            };
            let text = String::from_utf8_lossy(text).into_owned();
            if by_id.get(&id).is_some_and(|known| *known != text) {
                let found = format!("a second text for id {id}");
                return Err(error(Problem::syntax(found, "one text for each id")));
            }
            at += 8 + text_length(&bytes[at + 8..]) + 1;
            by_id.insert(id, text);
        }
        Ok(Texts { by_id })
    }

    pub(super) fn get(&self, id: i64) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    /// The cell that a recorded address means.
    pub(super) fn cell(&self, address: u64) -> Cell {
        let (upper, lower) = ((address >> 32) as u32, address as u32);
        if upper == 0 {
            let negative = (lower as i32).checked_neg().filter(|&id| id > 0);
            return Cell::Id(negative.map_or(lower, |id| id as u32));
        }
        match self.get(upper.into()).and_then(offset_in_variable) {
            Some(offset) if offset == u64::from(lower) => Cell::Id(upper),
            _ => Cell::Word(address),
        }
    }

    /// What to call a cell.
    pub(super) fn name(&self, cell: Cell) -> String {
        match cell {
            Cell::Id(id) => self.get(id.into()).map_or_else(|| format!("{id:#x}"), str::to_string),
            Cell::Word(word) => format!("{word:#x}"),
        }
    }
}

fn text_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())
}

/// How far the address is from the start of its variable, by a text such as
/// `global 'x' of size 4 at 0x14ab3e0 (a.out + 0x14ab3e1)`.
fn offset_in_variable(text: &str) -> Option<u64> {
    let (before, address) = text.strip_suffix(')')?.rsplit_once(" + 0x")?;
    let (_, start) = before.rsplit_once(" (")?.0.rsplit_once(" at 0x")?;
    let start = u64::from_str_radix(start, 16).ok()?;
    u64::from_str_radix(address, 16).ok()?.checked_sub(start)
}

#[cfg(test)]
mod tests {
    use super::{Cell, Texts, offset_in_variable};

    fn texts(list: &[(i64, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, text) in list {
            bytes.extend(id.to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    #[test]
    fn the_three_ways_to_write_an_address() {
        let x1 = "global 'x' of size 4 at 0x14ab3e0 (a.out + 0x14ab3e1)";
        let metadata = Texts::parse(&texts(&[(0x33, x1), (0x34, "odd")])).unwrap();
        assert_eq!(metadata.cell(0x33), Cell::Id(0x33));
        assert_eq!(metadata.cell(0x33_0000_0001), Cell::Id(0x33));
        assert_eq!(metadata.cell(0xffff_ffcd), Cell::Id(0x33));
        // An offset that the metadata do not confirm, an id without or with unreadable metadata.
        assert_eq!(metadata.cell(0x33_0000_0002), Cell::Word(0x33_0000_0002));
        assert_eq!(metadata.cell(0x34_0000_0001), Cell::Word(0x34_0000_0001));
        assert_eq!(metadata.cell(0x35_0000_0001), Cell::Word(0x35_0000_0001));
        assert_eq!(metadata.name(Cell::Id(0x33)), x1);
        assert_eq!(metadata.name(Cell::Id(0x35)), "0x35");
        assert_eq!(metadata.cell(0x8000_0000), Cell::Id(0x8000_0000));
    }

    #[test]
    fn offsets() {
        assert_eq!(offset_in_variable("global '??' of size 0 at 0x0 (a.out + 0x4ac)"), Some(0x4ac));
        assert_eq!(offset_in_variable("global 'x' of size 4 at 0x20 (a.out + 0x10)"), None);
        assert_eq!(offset_in_variable("0x20"), None);
    }

    #[test]
    fn damage_is_an_error_with_its_offset() {
        let good = texts(&[(1, "a"), (2, "b")]);
        for length in 0..good.len() {
            assert_eq!(Texts::parse(&good[..length]).is_ok(), length % 10 == 0);
        }
        let twice = Texts::parse(&texts(&[(1, "a"), (1, "b")])).err().unwrap().to_string();
        assert_eq!(twice, "byte 10: a second text for id 1; expected one text for each id");
        assert!(Texts::parse(b"\n").is_ok());
    }
}
