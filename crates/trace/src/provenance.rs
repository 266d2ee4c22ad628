//! Facts about a trace besides its events: what an importer repaired, left out or could not see,
//! how the recorded run ended, and how much of its data flow the walk could express.
//!
//! These are facts, not sentences. Whoever has to decide something compares variants; only a
//! report makes English of them. Both forms of a trace write a fact as its code and its details.
//!
//! **Invariant.** Codes are stable: a code never changes its meaning, and no two facts share one.

#[cfg(test)]
mod tests;
mod walk;

use std::borrow::Cow;
use std::str::FromStr;

pub use walk::{Differing, Kept, Lost, Walked};

/// An enum whose variants have codes.
macro_rules! coded {
    ($(#[$about:meta])* $name:ident {
        $($(#[$meaning:meta])* $variant:ident = $code:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name { $($(#[$meaning])* $variant,)* }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The stable name, in kebab case.
            pub fn code(self) -> &'static str {
                match self { $($name::$variant => $code,)* }
            }

            /// The one with this code.
            pub fn from_code(code: &str) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use coded;

/// One thing that is known of a trace; a trace counts how often it was so.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Provenance {
    /// The importer of another tool's trace repaired a defect that the format has.
    Repaired(Repair),
    /// The importer left an event out, because it breaks the rules of a trace.
    LeftOut(LeftOut),
    /// The importer of recordings left out what only one thread touched: other schedules of the
    /// same events do not need it.
    Private(Private),
    /// The importer of recordings took something as something else than what was recorded, or
    /// does not know all of it.
    Taken(Taken),
    /// The recorded run accessed memory that it had freed.
    FreedAccess,
    /// A read saw what no recorded write had stored.
    UnknownWriter {
        /// Where; `None` for all the places that are not counted one by one.
        at: Option<String>,
    },
    /// The program did something that the recording does not show.
    Unseen {
        /// What it did.
        what: Unseen,
        /// Where, if that is known.
        at: Option<String>,
    },
    /// Something about the recorded run as a whole.
    Recorded(Recorded),
    /// The recording is only the first part of the run.
    Prefix(Cut),
    /// Only the first part was read, because there was no time for more.
    CutByBudget {
        /// How much was read.
        read: u64,
        /// How much there is.
        total: u64,
        /// Of what.
        unit: Unit,
    },
    /// Operations are missing in the recording.
    OperationLost(Cut),
    /// A signal ended the process.
    EndedBySignal(u32),
    /// An assertion failed in the recorded run: its condition, as the program writes it.
    AssertionFailed(String),
    /// How much of what was computed the walk along the recorded paths has expressed.
    Walked(Walked),
    /// Free text in a trace that this program did not write. It is shown, and decides nothing.
    Other(String),
}

coded! {
    /// What an importer of another tool's trace repairs.
    Repair {
        /// A fork or join names a thread by its number.
        ForkByNumber = "fork-by-number",
        /// A fork of a thread without events must mean the only thread that lacks a fork.
        ForkOfIdleThread = "fork-of-idle-thread",
        /// A thread is forked more than once.
        RepeatedFork = "repeated-fork",
        /// A begin that is not the first event of its thread, or not its only begin.
        MisplacedBegin = "misplaced-begin",
        /// An end that is not the last event of its thread, or not its only end.
        MisplacedEnd = "misplaced-end",
        /// An end of a thread that hangs in a request.
        EndOfHungThread = "end-of-hung-thread",
        /// A release that was logged behind the next acquire of its lock.
        LateRelease = "late-release",
        /// An access whose size the format does not say.
        AccessWithoutSize = "access-without-size",
        /// Racing accesses whose values refute the order in which they were logged.
        RacingAccesses = "racing-accesses-reordered",
        /// The end of a wait, whose notification the format does not record.
        EndOfWait = "end-of-wait-kept",
    }
}

coded! {
    /// What an importer leaves out, since it breaks the rules of a trace. Each of these is a blind
    /// spot.
    LeftOut {
        /// An access to the memory of a lock itself.
        LockMemory = "lock-memory-left-out",
        /// What was recorded after the exit of the process.
        AfterExit = "record-after-exit-left-out",
        /// What a thread did after its state was lost.
        LostThread = "record-of-lost-thread-left-out",
        /// A call ends that did not begin.
        EndOfCall = "end-of-call-left-out",
        /// A thread acquires a lock that another one holds.
        AcquireOfHeldLock = "acquire-of-held-lock-left-out",
        /// A thread acquires a robust mutex that cannot be recovered.
        AcquireOfUnrecoverableLock = "acquire-of-unrecoverable-lock-left-out",
        /// An acquire fails though nobody holds the lock.
        FailedAcquireOfFreeLock = "failed-acquire-of-free-lock-left-out",
        /// The system refused to release another thread's lock.
        RefusedRelease = "refused-release-left-out",
        /// A thread releases a shared or nested hold of another one.
        ReleaseOfForeignHold = "release-of-foreign-hold-left-out",
        /// A lock is destroyed while somebody holds it.
        DestroyOfHeldLock = "destroy-of-held-lock-left-out",
        /// A thread waits with a lock that it does not hold.
        WaitWithoutLock = "wait-without-lock-left-out",
        /// A wait ends that did not begin.
        EndOfWait = "end-of-wait-left-out",
        /// A wait on a semaphore succeeds at count 0.
        SemaphoreWaitAtZero = "semaphore-wait-at-zero-left-out",
        /// A wait on a semaphore fails above count 0.
        FailedSemaphoreWait = "failed-semaphore-wait-left-out",
        /// A thread arrives at a barrier whose initialisation was not recorded.
        BarrierArrival = "barrier-arrival-left-out",
        /// A thread leaves a barrier before its round is complete.
        BarrierDeparture = "barrier-departure-left-out",
        /// A begin that is not the first event of its thread.
        LateBegin = "late-begin-left-out",
        /// An end of a thread that goes on.
        EarlyEnd = "early-end-left-out",
        /// A fork of a thread that was there already.
        RepeatedFork = "repeated-fork-left-out",
        /// A join of a thread that goes on.
        EarlyJoin = "early-join-left-out",
    }
}

coded! {
    /// What only one thread touched. It is missing where another run shares the same memory.
    Private {
        /// An access to memory that no other thread touched.
        Access = "private-access-left-out",
        /// A block of memory that no other thread touched.
        Block = "private-block-left-out",
    }
}

coded! {
    /// What the importer of recordings took as something else, or knows only in part.
    Taken {
        /// A lock that checks for errors is taken as a plain one.
        ErrorCheckingLock = "error-checking-lock-as-plain",
        /// A holder acquires its lock again, so that the lock is recursive.
        RecursiveLock = "lock-acquired-again",
        /// An acquire that failed at once is taken as a try.
        FailedAcquire = "failed-acquire-as-try",
        /// A release is taken to be in the mode in which its thread holds the lock.
        ReleaseMode = "release-in-mode-of-hold",
        /// The owner of a robust mutex ended: the order of the mutex is kept from there on.
        RobustMutex = "robust-mutex-order-kept",
        /// A wait ends without a signal that explains it.
        SpuriousWake = "wait-end-as-spurious",
        /// A wait on a semaphore that failed at once is taken as a try.
        FailedSemaphoreWait = "failed-semaphore-wait-as-try",
        /// A thread begins whose fork was not recorded.
        ThreadWithoutFork = "thread-without-fork",
        /// A read from pages that others may write.
        SharedPages = "read-of-shared-pages",
        /// An answer of others who may have seen what was stored in shared pages.
        SharedAnswer = "answer-after-shared-pages",
        /// The allocator reused a block whose free was not recorded.
        BlockWithoutFree = "block-without-free",
        /// A block is too large for an object, or overlaps other memory: whose memory it was
        /// before is not known.
        BlockAsRegion = "block-as-region",
        /// A read of memory that code which is not instrumented may have written.
        HandedMemory = "handed-memory",
        /// A block to which `realloc` copied what other threads had stored.
        MovedBlock = "moved-block",
        /// A free of a block whose allocation was not recorded.
        FreeOfUnknownBlock = "free-of-unknown-block",
        /// A thread's stack is not known, or overlaps other memory.
        UnknownStack = "unknown-stack",
        /// A thread is not followed any further, since it is not known how its wait ended.
        ThreadLostInWait = "thread-lost-in-wait",
        /// The end of a wait is added that was not recorded.
        AddedEndOfWait = "end-of-wait-added",
        /// A read-modify-write that spans objects is split.
        SplitUpdate = "read-modify-write-split",
        /// The runtime counted the forks of a thread differently than the importer.
        ForksCounted = "forks-counted-differently",
    }
}

coded! {
    /// What the program did that a recording does not show.
    Unseen {
        /// Inline assembly.
        InlineAssembly = "inline-assembly",
        /// An atomic operation of 16 bytes.
        WideAtomic = "wide-atomic",
        /// A read from a file that is mapped into memory as well.
        MappedFile = "mapped-file",
        /// A callback from code that is not instrumented.
        Callback = "callback",
        /// A wait that a signal interrupted.
        InterruptedWait = "interrupted-wait",
        /// The process was copied, and the copy stayed one.
        ProcessCopy = "process-copy",
        /// A call that looks at memory in ways of its own.
        MemoryCall = "memory-call",
    }
}

coded! {
    /// Why a recording lacks something.
    Cut {
        /// The disk was full.
        DiskFull = "disk-full",
        /// The recording reached the size that it may have.
        SizeLimit = "size-limit",
    }
}

coded! {
    /// In what the part of a trace that was read is measured.
    Unit {
        /// Bytes of a file.
        Bytes = "bytes",
        /// Events of a trace.
        Events = "events",
    }
}

coded! {
    /// What is known of the recorded run as a whole.
    Recorded {
        /// All threads ran at once: the importer reconstructed the order of accesses.
        FreeRunning = "free-running",
        /// A part of the recording follows a part that is missing.
        ChunkUnreachable = "chunk-unreachable",
        /// The tables of the recording end early.
        TablesCutOff = "tables-cut-off",
        /// A thread blocked where the scheduler does not see it.
        BlockedUnseen = "thread-blocked-unseen",
        /// Other processes can use the locks of this one.
        SharedLocks = "locks-shared-with-processes",
        /// A signal handler ran inside of a wait: its accesses are not there.
        HandlerUnseen = "handler-unseen",
        /// The process forked.
        Forked = "process-forked",
        /// The process started programs.
        Started = "programs-started",
        /// Replays start children of the process again.
        StartsChildrenAgain = "children-started-again",
        /// The process ended in a deadlock.
        Deadlocked = "ended-in-deadlock",
    }
}

impl Provenance {
    /// The stable name of the fact, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            Provenance::Repaired(what) => what.code(),
            Provenance::LeftOut(what) => what.code(),
            Provenance::Private(what) => what.code(),
            Provenance::Taken(what) => what.code(),
            Provenance::FreedAccess => "access-to-freed-memory",
            Provenance::UnknownWriter { .. } => "unknown-writer",
            Provenance::Unseen { .. } => "unseen",
            Provenance::Recorded(what) => what.code(),
            Provenance::Prefix(_) => "recording-cut-off",
            Provenance::CutByBudget { .. } => "cut-by-budget",
            Provenance::OperationLost(_) => "operation-lost",
            Provenance::EndedBySignal(_) => "ended-by-signal",
            Provenance::AssertionFailed(_) => "assertion-failed",
            Provenance::Walked(what) => what.code(),
            Provenance::Other(_) => "other",
        }
    }

    /// What the code leaves open: a place, a number, the code of a reason.
    pub fn details(&self) -> Vec<Cow<'_, str>> {
        let optional = |text: &'_ Option<String>| text.clone().map(Cow::Owned);
        match self {
            Provenance::UnknownWriter { at } => optional(at).into_iter().collect(),
            Provenance::Unseen { what, at } => {
                [what.code().into()].into_iter().chain(optional(at)).collect()
            }
            Provenance::Prefix(why) | Provenance::OperationLost(why) => vec![why.code().into()],
            Provenance::CutByBudget { read, total, unit } => {
                vec![read.to_string().into(), total.to_string().into(), unit.code().into()]
            }
            Provenance::EndedBySignal(signal) => vec![signal.to_string().into()],
            Provenance::AssertionFailed(text) | Provenance::Other(text) => vec![text.into()],
            Provenance::Walked(what) => what.details(),
            Provenance::Repaired(_)
            | Provenance::LeftOut(_)
            | Provenance::Private(_)
            | Provenance::Taken(_)
            | Provenance::FreedAccess
            | Provenance::Recorded(_) => Vec::new(),
        }
    }

    /// The fact with this code and these details.
    pub fn from_parts(code: &str, details: &[&str]) -> Option<Provenance> {
        let text = |text: &&str| text.to_string();
        match (code, details) {
            (_, []) if let Some(fact) = Provenance::plain(code) => Some(fact),
            ("unknown-writer", [] | [_]) => {
                Some(Provenance::UnknownWriter { at: details.first().map(text) })
            }
            ("unseen", [what] | [what, _]) => {
                let what = Unseen::from_code(what)?;
                Some(Provenance::Unseen { what, at: details.get(1).map(text) })
            }
            ("recording-cut-off", [why]) => Cut::from_code(why).map(Provenance::Prefix),
            ("operation-lost", [why]) => Cut::from_code(why).map(Provenance::OperationLost),
            ("cut-by-budget", [read, total, unit]) => {
                let (read, total, unit) = (number(read)?, number(total)?, Unit::from_code(unit)?);
                Some(Provenance::CutByBudget { read, total, unit })
            }
            ("ended-by-signal", [signal]) => number(signal).map(Provenance::EndedBySignal),
            ("assertion-failed", [what]) => Some(Provenance::AssertionFailed(text(what))),
            ("other", [what]) => Some(Provenance::Other(text(what))),
            _ => Walked::from_parts(code, details).map(Provenance::Walked),
        }
    }

    /// The fact with this code, if it has no details.
    fn plain(code: &str) -> Option<Provenance> {
        let repaired = Repair::from_code(code).map(Provenance::Repaired);
        repaired
            .or_else(|| LeftOut::from_code(code).map(Provenance::LeftOut))
            .or_else(|| Private::from_code(code).map(Provenance::Private))
            .or_else(|| Taken::from_code(code).map(Provenance::Taken))
            .or_else(|| Recorded::from_code(code).map(Provenance::Recorded))
            .or_else(|| (code == "access-to-freed-memory").then_some(Provenance::FreedAccess))
    }

    /// Whether the trace has only the first part of the run.
    pub fn is_prefix(&self) -> bool {
        matches!(self, Provenance::Prefix(_) | Provenance::CutByBudget { .. })
    }

    /// Whether no recorded event explains what was seen there, so that everything before it is kept
    /// before it.
    pub fn is_blind_spot(&self) -> bool {
        matches!(self, Provenance::LeftOut(_) | Provenance::UnknownWriter { .. })
    }
}

/// A number that is written in the one way in which facts write it.
fn number<N: FromStr + ToString>(text: &str) -> Option<N> {
    text.parse().ok().filter(|number: &N| number.to_string() == text)
}

impl From<Repair> for Provenance {
    fn from(what: Repair) -> Self {
        Provenance::Repaired(what)
    }
}

impl From<LeftOut> for Provenance {
    fn from(what: LeftOut) -> Self {
        Provenance::LeftOut(what)
    }
}

impl From<Private> for Provenance {
    fn from(what: Private) -> Self {
        Provenance::Private(what)
    }
}

impl From<Taken> for Provenance {
    fn from(what: Taken) -> Self {
        Provenance::Taken(what)
    }
}

impl From<Recorded> for Provenance {
    fn from(what: Recorded) -> Self {
        Provenance::Recorded(what)
    }
}

impl From<Walked> for Provenance {
    fn from(what: Walked) -> Self {
        Provenance::Walked(what)
    }
}
