//! What can be wrong at the end of a schedule: `docs/theory.md`, section 4.

use foretrace_trace::{EventId, LocationId, ObjectId, Trace};

use crate::{Kind, Property};

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
        self.kind().property()
    }

    /// The violation of a kind that names these events first; `None` if they are too few.
    pub fn of_kind(kind: Kind, events: &[EventId]) -> Option<Violation> {
        let &first = events.first()?;
        Some(match kind {
            Kind::Race => {
                let &second = events.get(1)?;
                Violation::Race(first.min(second), first.max(second))
            }
            Kind::Atomicity => {
                let (&remote, &second) = (events.get(1)?, events.get(2)?);
                Violation::Atomicity { first, remote, second }
            }
            Kind::LockCycle => Violation::LockCycle(events.to_vec()),
            Kind::Stuck => Violation::Stuck(first),
            Kind::DoubleLock => Violation::Lock(LockMisuse::DoubleLock, first),
            Kind::UnlockNotHeld => Violation::Lock(LockMisuse::UnlockNotHeld, first),
            Kind::UnlockByOther => Violation::Lock(LockMisuse::UnlockByOther, first),
            Kind::DestroyHeld => Violation::Lock(LockMisuse::DestroyHeld, first),
            Kind::Assertion => Violation::Assertion(first),
        })
    }

    /// What kind of bug it is.
    pub fn kind(&self) -> Kind {
        match self {
            Violation::Race(..) => Kind::Race,
            Violation::Atomicity { .. } => Kind::Atomicity,
            Violation::LockCycle(_) => Kind::LockCycle,
            Violation::Stuck(_) => Kind::Stuck,
            Violation::Lock(LockMisuse::DoubleLock, _) => Kind::DoubleLock,
            Violation::Lock(LockMisuse::UnlockNotHeld, _) => Kind::UnlockNotHeld,
            Violation::Lock(LockMisuse::UnlockByOther, _) => Kind::UnlockByOther,
            Violation::Lock(LockMisuse::DestroyHeld, _) => Kind::DestroyHeld,
            Violation::Assertion(_) => Kind::Assertion,
        }
    }

    /// The events that it names, in its own order.
    pub fn events(&self) -> Vec<EventId> {
        match *self {
            Violation::Race(first, second) => vec![first, second],
            Violation::Atomicity { first, remote, second } => vec![first, remote, second],
            Violation::LockCycle(ref cycle) => cycle.clone(),
            Violation::Stuck(at) | Violation::Lock(_, at) | Violation::Assertion(at) => vec![at],
        }
    }

    /// The memory that it is about, if it is about memory.
    pub fn object(&self, trace: &Trace) -> Option<ObjectId> {
        match *self {
            Violation::Race(access, _) | Violation::Atomicity { first: access, .. } => {
                trace.access(access).map(|access| access.at.object)
            }
            _ => None,
        }
    }

    /// Where those events are in the source, as far as the trace says so.
    pub fn locations(&self, trace: &Trace) -> Vec<Option<LocationId>> {
        self.events().into_iter().map(|event| trace.location_of(event)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_known_by_its_kind_and_its_events() {
        let [a, b, c] = [EventId(2), EventId(5), EventId(7)];
        let misuses = [
            LockMisuse::DoubleLock,
            LockMisuse::UnlockNotHeld,
            LockMisuse::UnlockByOther,
            LockMisuse::DestroyHeld,
        ];
        let mut violations = vec![
            Violation::Race(a, b),
            Violation::Atomicity { first: a, remote: c, second: b },
            Violation::LockCycle(vec![a, c, b]),
            Violation::Stuck(c),
            Violation::Assertion(b),
        ];
        violations.extend(misuses.map(|misuse| Violation::Lock(misuse, c)));
        for violation in violations {
            let again = Violation::of_kind(violation.kind(), &violation.events());
            assert_eq!(again, Some(violation));
        }
        assert_eq!(Violation::of_kind(Kind::Race, &[b, a]), Some(Violation::Race(a, b)));
        assert_eq!(Violation::of_kind(Kind::Race, &[a]), None);
        assert_eq!(Violation::of_kind(Kind::Atomicity, &[a, b]), None);
        assert_eq!(Violation::of_kind(Kind::Stuck, &[]), None);
    }
}
