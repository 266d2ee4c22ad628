//! Sections: how a file is cut into checked pieces.
//!
//! **Computes.** A file is a header (mark, version, checksum: 16 bytes), sections, and a last
//! section `END ` that counts them. A section has a header of 32 bytes: tag, flags, three zero
//! bytes, stored length, content length, checksum of what is stored, checksum of the header so far;
//! then what is stored, and zeros up to a multiple of 8 bytes.
//!
//! **Invariant.** Every byte of a file is under a checksum or must be zero, so a change of a few
//! bits is always noticed. Sections may come in any order; those with the same tag are one content,
//! cut into pieces (events: one block each).
//!
//! **Cost.** [`Index::new`] looks at the section headers only; each content is checked when it is
//! read.

use std::io::{self, Write};

use crate::binary::bytes::Cursor;
use crate::binary::{BinaryError, MAGIC, VERSION};

/// What a section holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag(pub(super) [u8; 4]);

impl Tag {
    pub(super) const THREADS: Tag = Tag(*b"THRD");
    pub(super) const OBJECTS: Tag = Tag(*b"OBJS");
    pub(super) const LOCKS: Tag = Tag(*b"LOCK");
    pub(super) const CONDS: Tag = Tag(*b"COND");
    pub(super) const SEMAPHORES: Tag = Tag(*b"SEMA");
    pub(super) const BARRIERS: Tag = Tag(*b"BARR");
    pub(super) const LOCATIONS: Tag = Tag(*b"LOCS");
    pub(super) const NAMES: Tag = Tag(*b"NAME");
    pub(super) const DECLARATIONS: Tag = Tag(*b"DECL");
    pub(super) const EVENTS: Tag = Tag(*b"EVTS");
    pub(super) const SIDE: Tag = Tag(*b"SIDE");
    pub(super) const NOTES: Tag = Tag(*b"NOTE");
    pub(super) const FACTS: Tag = Tag(*b"FACT");
    pub(super) const BENIGN: Tag = Tag(*b"BENI");
    pub(super) const ORDINALS: Tag = Tag(*b"ORDS");
    pub(super) const ASSUMPTIONS: Tag = Tag(*b"ASSU");
    pub(super) const DEPENDENCES: Tag = Tag(*b"DEPS");
    pub(super) const FAULTS: Tag = Tag(*b"FLTS");
    pub(super) const CHANNELS: Tag = Tag(*b"CHAN");
    pub(super) const FUNCTIONS: Tag = Tag(*b"FUNC");
    pub(super) const CHANNEL_LISTS: Tag = Tag(*b"CHLS");
    pub(super) const DELAYED: Tag = Tag(*b"CHDE");
    pub(super) const AWAITED: Tag = Tag(*b"CHAW");
    pub(super) const INPUTS: Tag = Tag(*b"INPT");
    pub(super) const STACKS: Tag = Tag(*b"STCK");
    pub(super) const LAYOUTS: Tag = Tag(*b"LAYT");
    const END: Tag = Tag(*b"END ");

    const KNOWN: [Tag; 27] = [
        Tag::THREADS,
        Tag::OBJECTS,
        Tag::LOCKS,
        Tag::CONDS,
        Tag::SEMAPHORES,
        Tag::BARRIERS,
        Tag::LOCATIONS,
        Tag::NAMES,
        Tag::DECLARATIONS,
        Tag::EVENTS,
        Tag::SIDE,
        Tag::NOTES,
        Tag::FACTS,
        Tag::BENIGN,
        Tag::ORDINALS,
        Tag::ASSUMPTIONS,
        Tag::DEPENDENCES,
        Tag::FAULTS,
        Tag::CHANNELS,
        Tag::FUNCTIONS,
        Tag::CHANNEL_LISTS,
        Tag::DELAYED,
        Tag::AWAITED,
        Tag::INPUTS,
        Tag::STACKS,
        Tag::LAYOUTS,
        Tag::END,
    ];
}

/// The section must be understood by whoever reads the file.
const CRITICAL: u8 = 1;
/// The content is stored in compressed form.
const COMPRESSED: u8 = 2;

const FILE_HEADER: usize = 16;
const SECTION_HEADER: usize = 32;
/// The largest content of a section; what is longer is cut into pieces.
pub(super) const MAX_CONTENT: usize = 2 << 20;
const PIECE: usize = 1 << 20;
const ZSTD_LEVEL: i32 = 3;

pub(super) fn header() -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Writes sections.
pub(super) struct SectionWriter<'a> {
    out: &'a mut dyn Write,
    compressor: zstd::bulk::Compressor<'static>,
    sections: u64,
}

impl<'a> SectionWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> io::Result<Self> {
        let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        Ok(SectionWriter { out, compressor, sections: 0 })
    }

    /// Writes a content of any length. An empty one needs no section.
    pub(super) fn pieces(&mut self, tag: Tag, content: &[u8]) -> io::Result<()> {
        content.chunks(PIECE).try_for_each(|piece| self.section(tag, piece))
    }

    /// The same, of a content that a reader can do without.
    pub(super) fn skippable(&mut self, tag: Tag, content: &[u8]) -> io::Result<()> {
        content.chunks(PIECE).try_for_each(|piece| self.flagged(tag, 0, piece))
    }

    /// Writes one section.
    pub(super) fn section(&mut self, tag: Tag, content: &[u8]) -> io::Result<()> {
        self.flagged(tag, CRITICAL, content)
    }

    fn flagged(&mut self, tag: Tag, flags: u8, content: &[u8]) -> io::Result<()> {
        assert!(content.len() <= MAX_CONTENT, "a section of {} bytes", content.len());
        let compressed = self.compressor.compress(content)?;
        let (flags, stored) = if compressed.len() < content.len() {
            (flags | COMPRESSED, &compressed[..])
        } else {
            (flags, content)
        };
        self.out.write_all(&section_header(tag, flags, stored, content.len()))?;
        self.out.write_all(stored)?;
        self.out.write_all(&[0; 8][..padding(stored.len())])?;
        self.sections += 1;
        Ok(())
    }

    /// Writes the last section.
    pub(super) fn end(mut self, events: u64) -> io::Result<()> {
        let content = [events.to_le_bytes(), self.sections.to_le_bytes()].concat();
        self.section(Tag::END, &content)?;
        self.out.flush()
    }
}

pub(super) fn section_header(
    tag: Tag,
    flags: u8,
    stored: &[u8],
    content: usize,
) -> [u8; SECTION_HEADER] {
    let mut header = [0; SECTION_HEADER];
    header[..4].copy_from_slice(&tag.0);
    header[4] = flags;
    header[8..16].copy_from_slice(&(stored.len() as u64).to_le_bytes());
    header[16..24].copy_from_slice(&(content as u64).to_le_bytes());
    header[24..28].copy_from_slice(&crc32fast::hash(stored).to_le_bytes());
    let checksum = crc32fast::hash(&header[..28]);
    header[28..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// How many zeros follow so many bytes.
fn padding(stored: usize) -> usize {
    stored.next_multiple_of(8) - stored
}

/// One section of a file that is read.
#[derive(Clone, Copy)]
struct Section<'a> {
    tag: Tag,
    /// Where its header is.
    offset: u64,
    compressed: bool,
    checksum: u32,
    content: usize,
    stored: &'a [u8],
}

/// All sections of a file.
pub(super) struct Index<'a> {
    sections: Vec<Section<'a>>,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// How many events the file announces.
    pub(super) events: u64,
    /// Where the file ends.
    pub(super) length: u64,
}

fn damaged(offset: usize, problem: impl Into<String>) -> BinaryError {
    BinaryError::Damaged { offset: offset as u64, problem: problem.into() }
}

impl<'a> Index<'a> {
    /// Walks over the section headers.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, BinaryError> {
        check_header(bytes)?;
        let decompressor = zstd::bulk::Decompressor::new()?;
        let length = bytes.len() as u64;
        let mut index = Index { sections: Vec::new(), decompressor, events: 0, length };
        let mut at = FILE_HEADER;
        let mut before = 0;
        loop {
            let (section, next) = parse_section(bytes, at)?;
            match section {
                Some(section) if section.tag == Tag::END => {
                    if next != bytes.len() {
                        return Err(damaged(next, "bytes after the last section"));
                    }
                    return index.close(section, before);
                }
                Some(section) => index.sections.push(section),
                None => {}
            }
            before += 1;
            at = next;
        }
    }

    fn close(mut self, end: Section<'a>, before: u64) -> Result<Self, BinaryError> {
        let mut content = Vec::new();
        self.read(end, &mut content)?;
        let mut cursor = Cursor::new(&content, end.offset);
        let mut word = || -> Result<u64, BinaryError> {
            let bytes = cursor.take(8)?;
            Ok(u64::from_le_bytes(std::array::from_fn(|byte| bytes[byte])))
        };
        self.events = word()?;
        let sections = word()?;
        if sections != before {
            return Err(cursor.damaged(format!("{sections} sections announced, {before} there")));
        }
        cursor.finish()?;
        Ok(self)
    }

    /// The pieces of one content put together, and where the first one is.
    pub(super) fn gather(&mut self, tag: Tag) -> Result<(Vec<u8>, u64), BinaryError> {
        let mut whole = Vec::new();
        let mut offset = None;
        for at in 0..self.sections.len() {
            let section = self.sections[at];
            if section.tag == tag {
                offset.get_or_insert(section.offset);
                self.read(section, &mut whole)?;
            }
        }
        Ok((whole, offset.unwrap_or(self.length)))
    }

    /// Calls `each` with every content of this tag and where it is.
    pub(super) fn for_each(
        &mut self,
        tag: Tag,
        mut each: impl FnMut(&[u8], u64) -> Result<(), BinaryError>,
    ) -> Result<(), BinaryError> {
        let mut content = Vec::new();
        for at in 0..self.sections.len() {
            let section = self.sections[at];
            if section.tag == tag {
                content.clear();
                self.read(section, &mut content)?;
                each(&content, section.offset)?;
            }
        }
        Ok(())
    }

    pub(super) fn count(&self, tag: Tag) -> usize {
        self.sections.iter().filter(|section| section.tag == tag).count()
    }

    /// Checks and decompresses a section and appends its content.
    fn read(&mut self, section: Section, content: &mut Vec<u8>) -> Result<(), BinaryError> {
        let at = section.offset as usize;
        if crc32fast::hash(section.stored) != section.checksum {
            return Err(damaged(at, "the checksum of the section's content is wrong"));
        }
        let start = content.len();
        if content.try_reserve(section.content).is_err() {
            return Err(damaged(at, "not enough memory for this section"));
        }
        if !section.compressed {
            content.extend_from_slice(section.stored);
        } else if start == 0 {
            let read = self.decompressor.decompress_to_buffer(section.stored, content);
            read.map_err(|error| damaged(at, format!("zstd: {error}")))?;
        } else {
            let read = self.decompressor.decompress(section.stored, section.content);
            content.extend(read.map_err(|error| damaged(at, format!("zstd: {error}")))?);
        }
        if content.len() - start != section.content {
            return Err(damaged(at, "the section's content has another length than announced"));
        }
        Ok(())
    }
}

fn check_header(bytes: &[u8]) -> Result<(), BinaryError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(BinaryError::NotATrace);
    }
    let Some((found, _)) = bytes.split_first_chunk::<FILE_HEADER>() else {
        return Err(damaged(bytes.len(), "the file ends in its header"));
    };
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| found[at + byte]));
    if crc32fast::hash(&found[..12]) != word(12) {
        return Err(damaged(8, "the checksum of the file's header is wrong"));
    }
    match word(8) {
        VERSION => Ok(()),
        other => Err(BinaryError::Version(other)),
    }
}

/// The section at this place, if it is known, and where the next one is.
fn parse_section(bytes: &[u8], at: usize) -> Result<(Option<Section<'_>>, usize), BinaryError> {
    let rest = &bytes[at..];
    let Some((header, rest)) = rest.split_first_chunk::<SECTION_HEADER>() else {
        return Err(damaged(at, "the file ends before its last section"));
    };
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    if crc32fast::hash(&header[..28]) != word(28) {
        return Err(damaged(at, "the checksum of the section's header is wrong"));
    }
    let tag = Tag(std::array::from_fn(|byte| header[byte]));
    let (flags, stored, content) = (header[4], long(8), long(16));
    let whole = usize::try_from(stored).ok().and_then(|stored| {
        let padded = stored.checked_next_multiple_of(8)?;
        (padded <= rest.len()).then_some((stored, padded))
    });
    let Some((stored, padded)) = whole else {
        let problem = format!("a section of {stored} bytes where {} are left", rest.len());
        return Err(damaged(at, problem));
    };
    if rest[stored..padded].iter().any(|&byte| byte != 0) {
        return Err(damaged(at, "the padding behind the section is not zero"));
    }
    let next = at + SECTION_HEADER + padded;
    if !Tag::KNOWN.contains(&tag) {
        if flags & CRITICAL != 0 {
            let tag = String::from_utf8_lossy(&tag.0).escape_debug().to_string();
            return Err(BinaryError::UnknownSection { offset: at as u64, tag });
        }
        return match crc32fast::hash(&rest[..stored]) == word(24) {
            true => Ok((None, next)),
            false => Err(damaged(at, "the checksum of the section's content is wrong")),
        };
    }
    if flags & !(CRITICAL | COMPRESSED) != 0 || header[5..8] != [0; 3] {
        return Err(damaged(at, "the section has unknown flags"));
    }
    if content > MAX_CONTENT as u64 {
        return Err(damaged(
            at,
            format!("a section of {content} bytes; the most is {MAX_CONTENT}"),
        ));
    }
    let section = Section {
        tag,
        offset: at as u64,
        compressed: flags & COMPRESSED != 0,
        checksum: word(24),
        content: content as usize,
        stored: &rest[..stored],
    };
    Ok((Some(section), next))
}
