//! The binary form of a trace (`.ftb`): columnar, checksummed, versioned, for 10^8 events.
//!
//! **Computes.** `decode(encode(t)) == t` for every trace. `docs/trace-format.md` has the layout;
//! in short: a header, then sections, each with a tag, its two lengths and two checksums, then its
//! content, compressed by zstd where that is shorter. Events are in blocks of 65,536, column by
//! column, so that a block is decoded without looking at the ones before it.
//!
//! **Follows.** PNG's chunks: a reader skips sections that it does not know unless they are marked
//! as critical. The tags `TERM` and `PROG` are reserved for terms and for the program image.
//!
//! **Invariant.** Whatever the bytes are, decoding ends with a trace whose ids are all inside their
//! tables, or with an error that has a byte offset. It allocates in proportion to what it has
//! decoded, never to what a length in the file promises: no section is larger than 2 MiB.
//!
//! **Cost.** Linear. Decoding is bound by memory: some 30 ns per event.

mod anchors;
mod bytes;
mod channels;
mod columns;
mod events;
mod layouts;
mod rows;
mod sections;
mod stacks;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::Trace;

use sections::{Index, SectionWriter, Tag};

/// The first bytes of every file. Not text, and changed by whoever treats it as text.
pub const MAGIC: [u8; 8] = *b"\x89FTB\r\n\x1a\n";
/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BinaryError {
    /// The file could not be opened or mapped.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Another kind of file.
    #[error("byte 0: not a binary trace: the first 8 bytes are not its mark")]
    NotATrace,
    /// Written by another version of this tool.
    #[error("byte 8: version {0} of the binary form; this tool reads version {VERSION}")]
    Version(u32),
    /// A section that must be understood, and is not.
    #[error("byte {offset}: the unknown section `{tag}` is marked as critical")]
    UnknownSection {
        /// Where it begins.
        offset: u64,
        /// What it is called.
        tag: String,
    },
    /// The bytes are not what was written.
    #[error("byte {offset}: {problem}")]
    Damaged {
        /// Where it was noticed.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
}

/// Reads the file at a path.
pub fn read(path: &Path) -> Result<Trace, BinaryError> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return decode(&[]);
    }
    // SAFETY: the map is read-only, and nothing is believed that was read from it once: a section's
    // content is decompressed or copied before its fields are checked. Another process that
    // shortens the file meanwhile ends this one with a bus error, as with every mapped file.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    decode(&map)
}

/// Reads the bytes of a file.
pub fn decode(bytes: &[u8]) -> Result<Trace, BinaryError> {
    let mut index = Index::new(bytes)?;
    let mut builder = Trace::builder();
    tables::decode_names(&mut index, &mut builder)?;
    channels::decode(&mut index, &mut builder)?;
    tables::decode_declarations(&mut index, &mut builder)?;
    events::decode(&mut index, &mut builder)?;
    tables::decode_side(&mut index, &mut builder)?;
    tables::decode_facts(&mut index, &mut builder)?;
    anchors::decode_benign(&mut index, &mut builder)?;
    anchors::decode_ordinals(&mut index, &mut builder)?;
    tables::decode_assumptions(&mut index, &mut builder)?;
    tables::decode_faults(&mut index, &mut builder)?;
    tables::decode_dependences(&mut index, &mut builder)?;
    layouts::decode(&mut index, &mut builder)?;
    stacks::decode(&mut index, &mut builder)?;
    builder.set_inputs(index.gather(Tag::INPUTS)?.0);
    Ok(builder.finish())
}

/// Writes a trace. Fails with `InvalidInput` on an expression that is nested more than
/// [`MAX_DEPTH`](crate::text::MAX_DEPTH) operators deep.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&sections::header())?;
    let mut writer = SectionWriter::new(out)?;
    for (tag, names) in tables::all_names(trace) {
        writer.pieces(tag, &tables::encode_names(names))?;
    }
    writer.pieces(Tag::CHANNEL_LISTS, &channels::encode(trace))?;
    writer.pieces(Tag::DELAYED, &channels::encode_delayed(trace))?;
    writer.pieces(Tag::AWAITED, &channels::encode_awaited(trace))?;
    writer.pieces(Tag::DECLARATIONS, &tables::encode_declarations(trace))?;
    events::encode(trace, &mut writer)?;
    writer.pieces(Tag::SIDE, &tables::encode_side(trace)?)?;
    writer.pieces(Tag::NOTES, &tables::encode_notes())?;
    writer.pieces(Tag::FACTS, &tables::encode_facts(trace))?;
    writer.pieces(Tag::BENIGN, &anchors::encode_benign(trace))?;
    writer.pieces(Tag::ORDINALS, &anchors::encode_ordinals(trace))?;
    writer.pieces(Tag::ASSUMPTIONS, &tables::encode_assumptions(trace)?)?;
    writer.pieces(Tag::DEPENDENCES, &tables::encode_dependences(trace))?;
    writer.pieces(Tag::FAULTS, &tables::encode_faults(trace))?;
    writer.skippable(Tag::LAYOUTS, &layouts::encode(trace))?;
    writer.skippable(Tag::STACKS, &stacks::encode(trace))?;
    writer.skippable(Tag::INPUTS, trace.inputs())?;
    writer.end(trace.len() as u64)
}

/// The bytes of a file that holds the trace.
pub fn encode(trace: &Trace) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write(trace, &mut bytes)?;
    Ok(bytes)
}
