//! A plan: the schedule that a replay forces on the program, and the outcome that the runtime
//! reports.
//!
//! The file is words: [`MAGIC`], the counts of threads, of steps and of final operations, how to go
//! on afterwards ([`goal`]); then the threads (parent, which child of it; thread 0 is the main
//! thread), the steps in order, the final operations, and a [`GoalMemory`]. Each step or final
//! operation is a [`PlanStep`]. Last come the values that threads ask for (`__VERIFIER_nondet_int`
//! and the like): their number, then thread and value of each, in the order of the thread's calls.
//!
//! A plan is made of a recorded run, whose operations have ordinals, or of a verified program,
//! whose steps are the [`NEXT`] ones that fit.

/// First word.
pub const MAGIC: u64 = u64::from_le_bytes(*b"FTPLAN03");

/// In place of an ordinal: the next operation of the thread that has this kind and place. What the
/// thread does before is not in the plan, and done on the way. A free is such an operation too,
/// though no thread can be stopped before one: it may come earlier than the plan says.
pub const NEXT: u32 = u32::MAX;

/// One operation of one thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The thread, as the plan numbers them.
    pub thread: u32,
    /// Which visible operation of that thread, or [`NEXT`].
    pub ordinal: u32,
    /// What kind of record it makes, see [`crate::record::kind`], with [`WATCHED`] and
    /// [`BY_ITSELF`].
    pub kind: u32,
    /// Which event of the trace this is, for messages.
    pub event: u32,
    /// [`place_hash`] of where it is in the source; 0 if unknown.
    pub place: u64,
}

/// The memory that a goal is about; all 0 for goals that are not about memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoalMemory {
    /// Who frees it, as the plan numbers threads.
    pub thread: u32,
    /// Before which visible operations of that thread: the first.
    pub from: u32,
    /// And the last.
    pub to: u32,
    /// Where it was in the recorded run.
    pub start: u64,
    /// How many bytes it has.
    pub size: u64,
}

/// In [`PlanStep::kind`]: the replay remembers what this access touches. ([`goal::REACHED`] has two
/// such steps.)
pub const WATCHED: u32 = 1 << 8;
/// In [`PlanStep::kind`]: this wake was not the work of a notification.
pub const BY_ITSELF: u32 = 1 << 9;

/// An access below this is one through a null pointer.
pub const NULL_PAGE: u64 = 1 << 16;

/// What is confirmed when all steps are done and the final operations are next.
pub mod goal {
    #![allow(missing_docs)]
    /// Both final operations touch a common byte, one stores, not both are atomic.
    pub const RACE: u64 = 1;
    /// The final operation is reached, and touches what both watched steps touched.
    pub const REACHED: u64 = 2;
    /// The final operations are acquires, each of a lock that the thread of the following one has.
    pub const BLOCKED: u64 = 3;
    /// No thread can go on any more.
    pub const STUCK: u64 = 4;
    /// The final operation is a misuse of a lock.
    pub const LOCK_ERROR: u64 = 5;
    /// The thread of the final operation fails before it does that operation: by `assert`, `abort`,
    /// `std::terminate` or a trap, or, if it is an assertion, by that one. (Kind 0: whatever
    /// operation has that ordinal; [`super::NEXT`] with kind 0: the end of the thread, and if there
    /// is a place, it is a call there that fails.)
    pub const ASSERTION: u64 = 6;
    /// The final operation is reached, and is an access to what a null pointer points to: below
    /// [`super::NULL_PAGE`].
    pub const NULL: u64 = 7;
    /// The first final operation is reached, and is an access to a block of the
    /// [`super::GoalMemory`]: one that its thread has freed before one of these operations. (The
    /// replay keeps such blocks, so that nobody has them again. The second final operation, if
    /// there is one, is behind the free. In a plan of [`super::NEXT`] operations any block counts
    /// that any thread has freed.)
    pub const FREED: u64 = 8;
    /// The final operation is reached, and is an access that is not inside of the
    /// [`super::GoalMemory`]: the global variable that has this place and size, or, if there is
    /// none, any block of the heap that has this size.
    pub const BOUNDS: u64 = 9;
}

/// The runtime's answer, as words: verdict, step, then details.
pub mod outcome {
    #![allow(missing_docs)]
    pub const MAGIC: u64 = u64::from_le_bytes(*b"FTDONE01");
    /// The process ended before the plan did.
    pub const UNFINISHED: u64 = 0;
    /// Operand: how many calls were not made, but answered as recorded.
    pub const CONFIRMED: u64 = 1;
    /// Operands: thread, expected ordinal, kind, place; seen ordinal, kind, place.
    pub const DIVERGED: u64 = 2;
    /// The steps could be forced, but the final operations are not what they should be.
    pub const NOT_REACHED: u64 = 3;
    /// A call is not as recorded. Operands: which, see [`crate::input::call`]; why, see
    /// [`crate::input::problem`]; the line, and its column in the upper 32 bits; the length of the
    /// name of the file, and the name.
    pub const OTHER_CALL: u64 = 4;
}

/// FNV-1a of `file:line:column`, never 0.
pub fn place_hash(file: &[u8], line: u32, column: u32) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut eat = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    file.iter().for_each(|&byte| eat(byte));
    line.to_le_bytes().into_iter().chain(column.to_le_bytes()).for_each(eat);
    hash.max(1)
}
