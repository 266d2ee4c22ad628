//! What a program received from outside: results, errors and data of calls whose outcome the
//! process itself does not decide. A recording contains them, and a replay supplies them instead of
//! making the calls.
//!
//! The recording has a [`crate::file::table::START`] and for each call a
//! [`crate::file::table::INPUT`]: the words of an [`Input`], then its data. A replay gets a file of
//! words: [`MAGIC`], those of the START, the count of threads, for each of them its parent and
//! which child of it it is (2^32 - 1 and 0 for the main thread), then the inputs in order.

/// First word of the file for a replay.
pub const MAGIC: u64 = u64::from_le_bytes(*b"FTINPUT1");

/// How many words a START has: wall-clock time and monotonic time at the start, in nanoseconds (0
/// if no clock was read), and what descriptors 0 to 2 were, a byte each, see [`descriptor`].
pub const START_WORDS: usize = 3;

/// How many words come before the data of an [`Input`].
pub const INPUT_WORDS: usize = 5;

/// One call: `thread | call << 32`, `ordinal | errno << 32`, result, hash of what was sent, count
/// of bytes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// The thread, as the recording numbers them.
    pub thread: u32,
    /// What was called, see [`call`].
    pub call: u32,
    /// How many visible operations of the thread came before: those of the call itself included.
    pub ordinal: u32,
    /// `errno` behind the call, if it failed; with [`OF_CHILD`].
    pub errno: u32,
    /// What it returned.
    pub result: i64,
    /// [`hash`] of the bytes that it sent; of a signal, in how many calls its thread was; else 0.
    pub sent: u64,
}

impl Input {
    /// As words; the count of bytes of data comes last.
    pub fn words(&self, data: usize) -> [u64; INPUT_WORDS] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [
            pair(self.thread, self.call),
            pair(self.ordinal, self.errno),
            self.result as u64,
            self.sent,
            data as u64,
        ]
    }

    /// What words say, and how many bytes of data follow.
    pub fn read(words: [u64; INPUT_WORDS]) -> (Input, u64) {
        let [a, b, result, sent, data] = words;
        let input = Input {
            thread: a as u32,
            call: (a >> 32) as u32,
            ordinal: b as u32,
            errno: (b >> 32) as u32,
            result: result as i64,
            sent,
        };
        (input, data)
    }
}

/// The inputs that a list of them has, as far as it is whole.
pub fn inputs(list: &[u8]) -> impl Iterator<Item = Input> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let (words, behind) = rest.split_at_checked(8 * INPUT_WORDS)?;
        let (input, data) = Input::read(std::array::from_fn(|at| word(words, at)));
        let data = usize::try_from(data).ok()?.checked_next_multiple_of(8)?;
        rest = behind.get(data..).unwrap_or_default();
        Some(input)
    })
}

/// The inputs in the file of a replay; none if it is no such file.
pub fn inputs_of_replay(file: &[u8]) -> impl Iterator<Item = Input> {
    let before = 2 + START_WORDS;
    let threads = file.get(8 * (before - 1)..8 * before).map_or(0, |bytes| word(bytes, 0) as usize);
    inputs(file.get(8 * (before + threads)..).unwrap_or_default())
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * at + byte]))
}

/// In [`Input::errno`]: a child process answered. Where replays start children again, they do so
/// themselves.
pub const OF_CHILD: u32 = 1 << 31;

/// FNV-1a of bytes that are sent in pieces, beginning with [`NOTHING_SENT`].
pub fn hash(so_far: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(so_far, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The [`hash`] of no bytes.
pub const NOTHING_SENT: u64 = 0xcbf2_9ce4_8422_2325;

/// What a descriptor was at the start of the process.
pub mod descriptor {
    #![allow(missing_docs)]
    pub const CLOSED: u8 = 0;
    /// A file.
    pub const INSIDE: u8 = 1;
    /// Output that nobody of the process reads.
    pub const LOG: u8 = 2;
    /// Something that others feed.
    pub const OUTSIDE: u8 = 3;
    /// `/dev/null` and the like.
    pub const NOTHING: u8 = 4;
}

/// How many bytes of a `siginfo_t` are kept of a signal: all that says who sent it, and why.
pub const SIGNAL_BYTES: usize = 48;

/// What was called.
pub mod call {
    #![allow(missing_docs)]
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 2;
    pub const ACCEPT: u32 = 3;
    pub const CONNECT: u32 = 4;
    pub const BIND: u32 = 5;
    pub const LISTEN: u32 = 6;
    pub const SHUTDOWN: u32 = 7;
    pub const OPTION: u32 = 8;
    pub const SET_OPTION: u32 = 9;
    pub const NAME: u32 = 10;
    pub const PEER: u32 = 11;
    pub const POLL: u32 = 12;
    pub const SELECT: u32 = 13;
    pub const EPOLL: u32 = 14;
    pub const WATCH: u32 = 15;
    pub const CLOCK: u32 = 16;
    pub const RANDOM: u32 = 17;
    pub const ABOUT: u32 = 18;
    pub const WAIT_SIGNAL: u32 = 20;
    pub const TIMER: u32 = 21;
    /// A signal from outside was handled: the result is its number, the data are the first
    /// [`super::SIGNAL_BYTES`] bytes of what its handler is told of it.
    pub const SIGNAL: u32 = 24;
    /// No call: from here on the process is known to talk to itself over the network.
    pub const TALKS_TO_ITSELF: u32 = 25;
    pub const KILL: u32 = 26;
    /// No call: a number of the process, or of a thread. The ordinal says which, see
    /// [`super::number`].
    pub const NUMBER: u32 = 27;
    /// What the system has measured: `getrusage` and the like.
    pub const MEASURE: u32 = 28;
    /// The process was copied: the result is the number of the child.
    pub const FORK: u32 = 29;
    /// `posix_spawn`; the data are the number of the child.
    pub const SPAWN: u32 = 30;
    pub const SYSTEM: u32 = 31;
    pub const WAIT: u32 = 32;
    /// A process group or session of a child.
    pub const CHILD: u32 = 33;
    /// No call: from here on only children have the other end of the descriptor that is the result.
    pub const GIVEN: u32 = 34;
    /// No call: replays start children again.
    pub const CHILDREN_AGAIN: u32 = 35;
    /// No call: what was there before the process first changed a file. The result is its mode, or
    /// one of [`super::file`]; the data are its name, ended by a NUL, and its content.
    pub const FILE: u32 = 36;
    /// No call: a file that the process opened to read it. The result is its size; the data are its
    /// name, ended by a NUL, and padded to words its inode and the seconds and nanoseconds of its
    /// last change.
    pub const SEEN_FILE: u32 = 37;
    /// The name of a new temporary file.
    pub const TEMPORARY: u32 = 38;
    /// `getaddrinfo`: for each address its flags, family, kind, protocol and length, a word each,
    /// the address, and the name of the host with its length before it, each padded to words.
    pub const RESOLVE: u32 = 39;
    /// `getnameinfo`, `gethostname`.
    pub const HOST: u32 = 42;
    /// Bytes that go from one descriptor to another.
    pub const SPLICE: u32 = 43;
    /// A signal that a thread of the process has sent was handled: the result is its number. A
    /// replay runs its handler at the same place, once the signal is sent there too.
    pub const OWN_SIGNAL: u32 = 40;
    /// No call: while the call before it waited, others began to decide its result too.
    pub const LATE: u32 = 41;

    /// The name of a call, for messages.
    pub fn name(call: u32) -> &'static str {
        match call {
            READ => "read",
            WRITE => "write",
            ACCEPT => "accept",
            CONNECT => "connect",
            BIND => "bind",
            LISTEN => "listen",
            SHUTDOWN => "shutdown",
            OPTION => "getsockopt",
            SET_OPTION => "setsockopt",
            NAME => "getsockname",
            PEER => "getpeername",
            POLL => "poll",
            SELECT => "select",
            EPOLL => "epoll_wait",
            WATCH => "epoll_ctl",
            CLOCK => "reading of a clock",
            RANDOM => "random number",
            ABOUT => "question about a descriptor",
            WAIT_SIGNAL => "wait for a signal",
            TIMER => "setting of a timer",
            SIGNAL => "signal",
            KILL => "signal to another process",
            FORK => "fork",
            SPAWN => "start of a program",
            SYSTEM => "system",
            WAIT => "wait for a child",
            CHILD => "question about a child",
            FILE | SEEN_FILE => "use of a file",
            TEMPORARY => "name of a temporary file",
            RESOLVE => "getaddrinfo",
            HOST => "name of a host",
            SPLICE => "splice",
            MEASURE => "question about time and memory that were used",
            OWN_SIGNAL => "signal of the process to itself",
            _ => "call",
        }
    }
}

/// Numbers that the kernel gives, and that are other ones in each run.
pub mod number {
    #![allow(missing_docs)]
    pub const PROCESS: u32 = 0;
    /// Of the process that started the program.
    pub const PARENT: u32 = 1;
    /// The process group at the start.
    pub const GROUP: u32 = 2;
    /// The session at the start.
    pub const SESSION: u32 = 3;
    /// Of the thread that the input names.
    pub const THREAD: u32 = 4;
    /// How many kinds there are.
    pub const COUNT: u32 = 5;
}

/// What was there before a file was changed, if no content is kept.
pub mod file {
    /// Nothing.
    pub const ABSENT: i64 = -1;
    /// Something that cannot be kept: too much, or neither a file nor an empty folder.
    pub const NOT_KEPT: i64 = -2;
    /// The bytes of a larger file are not kept.
    pub const LARGEST: u64 = 32 << 20;
    /// Nor are more bytes than this in all.
    pub const LARGEST_TOGETHER: u64 = 128 << 20;
}

/// Why a call in a replay is not the recorded one: see [`crate::plan::outcome::OTHER_CALL`].
pub mod problem {
    #![allow(missing_docs)]
    /// The recording does not have it.
    pub const NOT_RECORDED: u64 = 1;
    /// It sends other bytes.
    pub const OTHER_BYTES: u64 = 2;
    /// A descriptor that only the process itself feeds is not ready, though it was.
    pub const NOT_READY: u64 = 3;
    /// The new descriptor has another number.
    pub const OTHER_DESCRIPTOR: u64 = 4;
    /// A file has changed since the recorded run.
    pub const OTHER_FILE: u64 = 5;
    /// What a file held before the recorded run changed it is not kept.
    pub const FILE_NOT_KEPT: u64 = 6;
    /// The recorded run did not change this file.
    pub const FILE_NOT_CHANGED: u64 = 7;
    /// What the recorded run got here is not kept: descriptors, or bytes that never came to its
    /// memory.
    pub const NOT_GIVEN: u64 = 8;
    /// Nobody has sent the signal that was handled here.
    pub const NOT_SENT: u64 = 16;
}
