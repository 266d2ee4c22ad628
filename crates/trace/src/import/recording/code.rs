//! What the code of a module is, for a walk along the recorded path. `docs/image.md` has the
//! encoding of images.

use super::super::Problem;
use super::tables::Words;

/// What the code of a module is.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The address of its first site; each has 16 bytes.
    pub sites_base: u64,
    /// Of each site whether it is in a header of the system: its records may have the site of the
    /// user's call instead.
    pub is_system: Vec<bool>,
    /// Its strings, each ended by a NUL.
    pub strings: &'a [u8],
    /// Its functions, encoded.
    pub image: &'a [u8],
    /// The addresses that the image names.
    pub symbols: &'a [u64],
    /// Addresses and contents of constants. Those that were too long are not there.
    pub constants: Vec<(u64, &'a [u8])>,
    /// Addresses and names of the functions that are instrumented.
    pub functions: &'a [(u64, String)],
}

/// A table of code.
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    pub(super) symbols: Vec<u64>,
    constants: Vec<(u64, Vec<u8>)>,
}

impl Image {
    pub(super) fn parse(words: &mut Words) -> Result<Image, Problem> {
        let [bytes, symbols, constants] = [words.long()?, words.long()?, words.long()?];
        let bytes = words.take(bytes)?.to_vec();
        let symbols = words.rows(symbols, 8)?.map(|row| row.long(0)).collect();
        let mut image = Image { bytes, symbols, constants: Vec::new() };
        for _ in 0..constants {
            let [address, size, kept] = [words.long()?, words.long()?, words.long()?];
            if kept != 0 && kept != size {
                let found = format!("{kept} of the {size} bytes of a constant");
                return Err(Problem::syntax(found, "all of them, or none"));
            }
            if address.checked_add(size).is_none() {
                let found = format!("a constant of {size} bytes at {address:#x}");
                return Err(Problem::syntax(found, "one below 2^64"));
            }
            let content = words.take(kept)?;
            if kept > 0 {
                image.constants.push((address, content.to_vec()));
            }
        }
        Ok(image)
    }

    pub(super) fn constants(&self) -> Vec<(u64, &[u8])> {
        self.constants.iter().map(|(address, bytes)| (*address, &bytes[..])).collect()
    }
}
