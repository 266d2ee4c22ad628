//! The recording: a page of header, then chunks of [`CHUNK`] bytes, each part of one stream.
//!
//! The chunk that a stream fills at the moment is a shared memory map of the file, so whatever ends
//! the process, what it wrote is there; a full one is copied to the end of the file and filled
//! again. A scheduled recording has one stream of events, with [`crate::record::kind::THREAD`]
//! records in it; a free-running one has a stream for each thread. Stream [`META`] has the tables.

/// Where a chunk can begin, behind the header.
pub const PAGE: usize = 4096;

/// First bytes of the file.
pub const MAGIC: [u8; 8] = *b"FTRECORD";
/// Version of header, records and tables.
pub const VERSION: u32 = 4;
/// Size of the header, and alignment of chunks.
pub const HEADER: usize = 4096;
/// Size of a chunk, its own header included. Records do not cross chunks; tables do.
pub const CHUNK: usize = 256 * 1024;
/// First word of a chunk; other words here mean that the chunk was not begun.
pub const CHUNK_MAGIC: u32 = 0x4b_4e_48_43;
/// The bytes of longer constants are not copied into the recording.
pub const LONGEST_CONSTANT: u64 = 1 << 20;
/// What longer global variables hold at first is not copied into the recording.
pub const LONGEST_GLOBAL: u64 = 1 << 16;
/// The stream of tables.
pub const META: u32 = u32::MAX;
/// The one stream of events of a scheduled recording.
pub const ALL_THREADS: u32 = u32::MAX - 1;

/// The header, little-endian.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// See [`mode`].
    pub mode: u32,
    /// Of the random choices.
    pub seed: u64,
    /// The recorded process.
    pub pid: u32,
    /// See [`flags`]; the runtime sets them while it runs.
    pub flags: u32,
    /// How the process ended: 0 unknown (killed, or still running), else [`ending`].
    pub ending: u32,
    /// Exit status or number of the signal.
    pub status: u32,
    /// Operations that were not recorded since the disk was full, or a limit reached.
    pub lost: u64,
}

/// Behind the header, to the end of its page: a byte for each child of the process, see [`child`].
/// A child writes its own byte, so that it is there whatever ends the process.
pub const CHILDREN: std::ops::Range<usize> = size_of::<Header>()..HEADER;

/// What became of a child process.
pub mod child {
    /// It is a copy of the process, and stays one.
    pub const COPY: u8 = 1;
    /// It is another program, or has tried to become one.
    pub const PROGRAM: u8 = 2;
}

/// Whether replays start the children of the process again, by the flags and the page of the
/// header. They do if one of them is no other program, and where it is not known which bytes of a
/// pipe came from them.
pub fn starts_children_again(set: u32, page: &[u8]) -> bool {
    set & flags::CHILDREN_AGAIN != 0 || has_copies(page)
}

/// Whether a child of the process stayed a copy of it, or there were more children than the page
/// of the header has bytes for.
pub fn has_copies(page: &[u8]) -> bool {
    let is_copy = |page: &[u8]| page.contains(&child::COPY) || !page.contains(&0);
    page.get(CHILDREN).is_some_and(is_copy)
}

/// How threads were scheduled.
pub mod mode {
    #![allow(missing_docs)]
    pub const FREE: u32 = 0;
    pub const RANDOM: u32 = 1;
    pub const PCT: u32 = 2;
    pub const ROUND_ROBIN: u32 = 3;
    pub const REPLAY: u32 = 4;
}

/// What became of a recording.
pub mod flags {
    /// The disk was full, or a limit reached (then [`LIMITED`] is set too): the recording is a
    /// prefix of the run.
    pub const TRUNCATED: u32 = 1;
    /// A thread blocked where we cannot see it, and the watchdog let others run.
    pub const WATCHDOG: u32 = 2;
    /// The process forked; the child's part is not recorded.
    pub const FORKED: u32 = 4;
    /// A signal handler interrupted the runtime; what it did to memory is not recorded.
    pub const HANDLER: u32 = 8;
    /// The program does what cannot be recorded rightly, and was ended.
    pub const UNSUPPORTED: u32 = 16;
    /// Something of the control flow is missing (a signal handler interrupted the runtime): no walk
    /// along it can be trusted.
    pub const PATH_LOST: u32 = 32;
    /// An assertion of the program failed.
    pub const ASSERTION_FAILED: u32 = 64;
    /// The recording has the size that the user allowed.
    pub const LIMITED: u32 = 128;
    /// The program made locks or the like that other processes can use too.
    pub const SHARED: u32 = 256;
    /// Calls that wait may come to an end although no thread of the process feeds them: the program
    /// has installed a handler of signals, has cancelled a thread, or has given descriptors to
    /// other processes.
    pub const WAITS_END: u32 = 512;
    /// Replays must start the children of the process again: it is not known which bytes came from
    /// them, or there were too many.
    pub const CHILDREN_AGAIN: u32 = 1024;
    /// The process has started other programs, or copies of itself that became one.
    pub const STARTED: u32 = 2048;
    /// The program gave addresses to code that is not instrumented, see
    /// [`crate::record::kind::HANDED`].
    pub const HANDED: u32 = 4096;
}

/// How a process ended.
pub mod ending {
    #![allow(missing_docs)]
    pub const EXIT: u32 = 1;
    pub const SIGNAL: u32 = 2;
    /// Every thread was blocked for ever; the runtime ended the process.
    pub const DEADLOCK: u32 = 3;
}

/// At the start of each chunk.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`].
    pub magic: u32,
    /// The stream: a thread, [`ALL_THREADS`] or [`META`].
    pub stream: u32,
    /// Which chunk of its stream this is, from 0.
    pub sequence: u64,
    /// Bytes in use behind this header; kept up to date for [`META`] only. In a packed chunk, how
    /// many bytes there are when it is unpacked.
    pub used: u64,
    /// Bytes of a packed chunk behind this header, see [`crate::pack`]; 0 if it is not packed. The
    /// next chunk begins at the next multiple of [`PAGE`] bytes behind the file's header.
    pub packed: u64,
}

/// What the META stream is made of: `tag: u64, size: u64`, then `size` bytes, padded to words.
pub mod table {
    /// A module: address of its first site, then its counts of sites, bytes of strings, globals and
    /// functions (five words), then these four tables, each padded to words.
    pub const MODULE: u64 = 1;
    /// A thread: number, number of its parent, which child of its parent it is (three words).
    pub const THREAD: u64 = 2;
    /// The name that the user gave a lock: address, then the text.
    pub const LOCK_NAME: u64 = 3;
    /// A benign race: address, size, then the reason.
    pub const BENIGN: u64 = 4;
    /// Command line, arguments ended by NULs.
    pub const COMMAND: u64 = 5;
    /// Message of a failed assertion: `file:line: function: expression`.
    pub const ASSERTION: u64 = 6;
    /// The code of the module whose table was the last one: counts of bytes of its image, of
    /// symbols and of constants (three words), then image, symbols, and for each constant its
    /// address, its size, how many of its bytes are here (three words) and these bytes; each padded
    /// to words. All of its bytes are here, or none: of a constant of more than
    /// [`super::LONGEST_CONSTANT`] bytes.
    pub const IMAGE: u64 = 7;
    /// What the global variables of the module whose table was the last one held when it introduced
    /// itself: for each its address, its size, how many of its bytes are here (three words) and
    /// these bytes, padded to words. Bytes that are not here are 0. Variables of more than
    /// [`super::LONGEST_GLOBAL`] bytes are left out.
    pub const CONTENTS: u64 = 8;
    /// A channel: its number, then its name.
    pub const CHANNEL: u64 = 9;
    /// The channels of a call: number of the list, then for each channel its number, with a
    /// [`crate::channel::direction`] in the upper 32 bits. The list number
    /// [`crate::channel::EVERY`] has no table: it is all channels.
    pub const CHANNELS: u64 = 10;
    /// The name of a function that nothing is known of, and that keeps its order with all channels:
    /// address, then the text.
    pub const UNKNOWN_FUNCTION: u64 = 11;
    /// How the process began, for replays: see [`crate::input`].
    pub const START: u64 = 12;
    /// What a call got from outside, for replays: see [`crate::input`].
    pub const INPUT: u64 = 13;
    /// Two channels that became one while the program ran (an epoll object, and what it watches):
    /// two words. It holds for the whole recording.
    pub const JOINED: u64 = 14;
    /// What the programmer calls the memory of the module whose table was the last one: see
    /// [`crate::names`].
    pub const NAMES: u64 = 15;
}
