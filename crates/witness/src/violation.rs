//! What can be wrong at the end of a schedule: `docs/theory.md`, section 4.

use foretrace_trace::EventId;

/// The families of properties.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// Data races.
    Race,
    /// Three-access atomicity violations.
    Atomicity,
    /// Lock cycles and stuck states.
    Deadlock,
    /// Misuse of locks.
    Lock,
    /// Assertions.
    Assertion,
}

/// Which misuse of a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockMisuse {
    /// The thread takes a lock that it has.
    DoubleLock,
    /// Nobody has the lock.
    UnlockNotHeld,
    /// Another thread has the lock.
    UnlockByOther,
    /// Somebody has the lock.
    DestroyHeld,
}

/// A violation at the moment X. Events name points as in `docs/theory.md`: the event that is next
/// in its thread, or the thread's last event where all are executed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Violation {
    /// Two conflicting accesses, both next; the earlier recorded one first.
    Race(EventId, EventId),
    /// `first` and `remote` are executed, `second` is next.
    #[allow(missing_docs)]
    Atomicity { first: EventId, remote: EventId, second: EventId },
    /// Each thread wants what the following one has. The smallest event id comes first.
    LockCycle(Vec<EventId>),
    /// Nobody can go on, and a thread waits at this point.
    Stuck(EventId),
    /// A lock operation that must not happen in this state is next.
    Lock(LockMisuse, EventId),
    /// An assertion is next, and false.
    Assertion(EventId),
}

impl Violation {
    /// The family that the violation belongs to.
    pub fn property(&self) -> Property {
        match self {
            Violation::Race(..) => Property::Race,
            Violation::Atomicity { .. } => Property::Atomicity,
            Violation::LockCycle(_) | Violation::Stuck(_) => Property::Deadlock,
            Violation::Lock(..) => Property::Lock,
            Violation::Assertion(_) => Property::Assertion,
        }
    }
}

/// How much a feasible schedule proves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Certainty {
    /// The execution exists.
    Real,
    /// It exists if what unrecorded code wrote does not depend on the schedule; under model
    /// `control`, if the program can read what it takes.
    Possible,
}
