//! The protocol between the runtime and a test that runs a program under all its schedules.
//!
//! `FORETRACE_EXPLORE` names a file of [`WORDS`] words that both map. Before `main`, the runtime
//! waits for a byte on its standard input; for each it runs the program once, in a process of its
//! own, and answers on standard output with the four bytes of the status that `wait` gives. At each
//! visible operation it takes the thread that the choices name; behind their end, the first one
//! that can go on, before it those whose operation is local (no other thread can tell when it
//! happens).
//!
//! A thread **stops** for good, and the others go on, where it fails (`assert`, `abort`), crashes,
//! or its branches leave the expected outcomes. So one run shows what a thread before its failure
//! lets the others do.

/// Words of the file.
pub const WORDS: usize = RECORDS + crate::file::CHUNK / 8;

/// Instead of a number of outcomes: all are expected.
pub const ANY: u64 = u64::MAX;
/// How many choices there are, then the threads.
pub const CHOICES: usize = 0;
/// For each of [`THREADS`] threads [`EXPECTED_WORDS`] words: how many outcomes of branches are
/// expected, then their bits.
pub const EXPECTED: usize = 1024;
/// See [`EXPECTED`]. Other threads, and outcomes, have no place.
pub const THREADS: usize = 8;
/// See [`EXPECTED`].
pub const EXPECTED_WORDS: usize = 64;
/// How many threads have stopped, then of each: thread, [`stop`], ordinal of the operation that
/// would be its next, the outcome that was not as expected (from 0; or [`NONE`]).
pub const STOPS: usize = 2048;
/// No outcome.
pub const NONE: u64 = u64::MAX;
/// How many words the decisions take. Then each: who was chosen, how many threads live << 8, words
/// of [`RECORDS`] so far << 32; and for each living thread its number, [`ENABLED`], [`LOCAL`], the
/// kind of its next operation << 16 and that one's size << 32; and its address.
pub const DECISIONS: usize = 4096;
/// It can go on.
pub const ENABLED: u64 = 1 << 8;
/// No other thread can tell when its next operation happens.
pub const LOCAL: u64 = 1 << 9;
/// A chunk of records, without those of control flow.
pub const RECORDS: usize = 65536;

/// Why a thread has stopped.
pub mod stop {
    #![allow(missing_docs)]
    /// A failed assertion, or the like.
    pub const FAILED: u64 = 1;
    pub const CRASHED: u64 = 2;
    /// A branch went another way than expected.
    pub const LEFT: u64 = 3;
    /// The choice cannot be made.
    pub const NO_SUCH_CHOICE: u64 = 4;
}
