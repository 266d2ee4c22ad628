//! Which rules of `docs/causality.md` are used.

/// Which rules count: the columns of section 7, and all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// *lsa*: the candidate's facts and locks.
    Locks,
    /// *mhb*: the candidate's facts, seeds and waiting.
    Order,
    /// *ucg*: both together.
    Synchronisation,
    /// As `Synchronisation`, and each wake is matched with the notification that woke it in the
    /// recorded run. **Not sound**, for comparison only: the checker refuses its proofs.
    Published,
    /// As `Synchronisation`, and data.
    All,
}

impl Scope {
    pub(crate) fn has_locks(self) -> bool {
        self != Scope::Order
    }

    pub(crate) fn has_order(self) -> bool {
        self != Scope::Locks
    }
}
