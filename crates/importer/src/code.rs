//! The table of a module's code. `docs/image.md` has the encoding of images.

use foretrace_trace::import::Problem;

use super::tables::Words;

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
