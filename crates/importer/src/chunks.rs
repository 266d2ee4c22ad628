//! The header, and which chunks of the file make up each stream.
//!
//! **Invariant.** A stream is the chunks 0, 1, 2, … as far as they are there: what lies behind a
//! missing one is not used, but counted. The last chunk may be cut off.

use std::collections::BTreeMap;
use std::ops::Range;

use foretrace_recording::file::{self, CHUNK, CHUNK_MAGIC, ChunkHeader, HEADER, PAGE};
use foretrace_trace::Deadline;
use foretrace_trace::import::{ImportError, Position, Problem};

/// Threads have smaller numbers; more would be damage.
pub(super) const MAX_THREADS: u32 = 1 << 20;
/// So many chunks are looked for however little time there is.
const FIRST_CHUNKS: usize = 64;
const CHUNK_HEADER: usize = size_of::<ChunkHeader>();

/// A file cut into its streams.
pub(super) struct Recording<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) mode: u32,
    pub(super) flags: u32,
    /// Replays start children of the process again.
    pub(super) starts_children_again: bool,
    pub(super) has_copies: bool,
    pub(super) ending: u32,
    pub(super) status: u32,
    pub(super) lost: u64,
    /// The events: by thread, or one stream for all.
    pub(super) streams: BTreeMap<u32, Vec<Chunk>>,
    pub(super) meta: Vec<Chunk>,
    /// Chunks behind a missing one.
    pub(super) unreachable: u64,
    /// Not all chunks were looked for, because there was no time: some records may need tables
    /// that were not found.
    pub(super) is_part: bool,
}

/// The content of one chunk.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// Bytes of the file.
    pub(super) content: Range<usize>,
    /// Whether the file goes on to its end.
    pub(super) whole: bool,
    /// How many bytes it has when it is unpacked, if it is packed.
    pub(super) unpacked: Option<usize>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

pub(super) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

impl<'a> Recording<'a> {
    pub(super) fn parse(bytes: &'a [u8], deadline: Deadline) -> Result<Self, ImportError> {
        if bytes.len() < HEADER || !bytes.starts_with(&file::MAGIC) {
            let found = format!("a file of {} bytes", bytes.len());
            let expected = format!("a recording: {HEADER} bytes that begin with FTRECORD");
            return Err(Problem::syntax(found, expected).at(Position::Byte(0)));
        }
        if word(bytes, 8) != file::VERSION {
            let found = format!("version {} of recordings", word(bytes, 8));
            let expected = format!("version {}", file::VERSION);
            return Err(Problem::syntax(found, expected).at(Position::Byte(8)));
        }
        let mut recording = Recording {
            bytes,
            mode: word(bytes, 12),
            flags: word(bytes, 28),
            starts_children_again: file::starts_children_again(word(bytes, 28), bytes),
            has_copies: file::has_copies(bytes),
            ending: word(bytes, 32),
            status: word(bytes, 36),
            lost: long(bytes, 40),
            streams: BTreeMap::new(),
            meta: Vec::new(),
            unreachable: 0,
            is_part: false,
        };
        if recording.mode > file::mode::REPLAY {
            let found = format!("scheduling mode {}", recording.mode);
            return Err(Problem::syntax(found, "0 to 4").at(Position::Byte(12)));
        }
        recording.collect(deadline)?;
        Ok(recording)
    }

    /// Whether each thread has its own stream.
    pub(super) fn free_running(&self) -> bool {
        self.mode == file::mode::FREE
    }

    /// The bytes of all streams of records, or about so many.
    pub(super) fn size(&self) -> u64 {
        if self.is_part {
            return self.bytes.len() as u64;
        }
        let chunks = self.streams.values().flatten();
        chunks.map(|chunk| chunk.content.len() as u64).sum()
    }

    fn collect(&mut self, deadline: Deadline) -> Result<(), ImportError> {
        let mut found: BTreeMap<u32, BTreeMap<u64, Chunk>> = BTreeMap::new();
        let (mut next, mut number) = (HEADER, 0);
        while next < self.bytes.len() {
            let start = next;
            number += 1;
            // Each chunk may have to come from the disk. The first ones are those of which the
            // process was filling the next piece at its end; a few more make a trace.
            if number % 16 == 15 && number > FIRST_CHUNKS && deadline.has_passed() {
                self.is_part = true;
                break;
            }
            let chunk = &self.bytes[start..self.bytes.len().min(start + CHUNK)];
            if chunk.len() < CHUNK_HEADER || word(chunk, 0) != CHUNK_MAGIC {
                next += PAGE;
                continue;
            }
            let packed = usize::try_from(long(chunk, 24)).unwrap_or(usize::MAX).min(CHUNK);
            next += match packed {
                0 => CHUNK,
                _ => (CHUNK_HEADER + packed).next_multiple_of(PAGE),
            };
            if packed > 0 && CHUNK_HEADER + packed > chunk.len() {
                // The process was killed while it was written, and it is there unpacked as well.
                continue;
            }
            let (stream, sequence, used) = (word(chunk, 4), long(chunk, 8), long(chunk, 16));
            let at = |field: usize| Position::Byte((start + field) as u64);
            let is_event = match self.free_running() {
                true => stream < MAX_THREADS,
                false => stream == file::ALL_THREADS,
            };
            if stream != file::META && !is_event {
                let of = if self.free_running() { "free-running" } else { "scheduled" };
                let found = format!("a chunk of stream {stream}");
                return Err(Problem::syntax(found, format!("one of a {of} recording")).at(at(4)));
            }
            let there = (chunk.len() - CHUNK_HEADER) / 8 * 8;
            let mut length = there;
            if stream == file::META || packed > 0 {
                if used > (CHUNK - CHUNK_HEADER) as u64 {
                    let found = format!("{used} bytes in use");
                    return Err(Problem::syntax(found, "at most a chunk").at(at(16)));
                }
                length = there.min(used as usize);
            }
            let whole = packed > 0 || chunk.len() == CHUNK;
            let unpacked = (packed > 0).then_some(used as usize);
            let length = if packed > 0 { packed } else { length };
            let content = start + CHUNK_HEADER..start + CHUNK_HEADER + length;
            let chunk = Chunk { content, whole, unpacked };
            let empty = |chunk: &Chunk| {
                chunk.unpacked.is_none()
                    && (chunk.content.len() < 8 || long(self.bytes, chunk.content.start) == 0)
            };
            let same = found.entry(stream).or_default();
            match same.get(&sequence) {
                None => drop(same.insert(sequence, chunk)),
                // The process was killed between copying a full chunk and counting it: the copy is
                // there twice, or once.
                Some(_) if empty(&chunk) => {}
                // It was packed when it was copied.
                Some(known) if known.unpacked.is_some() != chunk.unpacked.is_some() => {
                    if empty(known) {
                        same.insert(sequence, chunk);
                    }
                }
                // Or while it was copied.
                Some(known)
                    if !chunk.whole
                        && self.bytes[known.content.clone()]
                            .starts_with(&self.bytes[chunk.content.clone()]) => {}
                Some(known)
                    if empty(known)
                        || self.bytes[known.content.clone()]
                            == self.bytes[chunk.content.clone()] =>
                {
                    same.insert(sequence, chunk);
                }
                Some(_) => {
                    let found = format!("chunk {sequence} of stream {stream} again");
                    return Err(Problem::syntax(found, "each chunk once").at(at(8)));
                }
            }
        }
        for (stream, chunks) in found {
            let count = chunks.len();
            let consecutive = chunks.into_iter().enumerate();
            let consecutive =
                consecutive.take_while(|(number, (sequence, _))| *number as u64 == *sequence);
            let chunks: Vec<Chunk> = consecutive.map(|(_, (_, chunk))| chunk).collect();
            self.unreachable += if self.is_part { 0 } else { (count - chunks.len()) as u64 };
            match stream {
                file::META => self.meta = chunks,
                _ => drop(self.streams.insert(stream, chunks)),
            }
        }
        Ok(())
    }
}
