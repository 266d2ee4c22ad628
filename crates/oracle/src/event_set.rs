//! A set of events of a tiny trace, as one machine word.

use foretrace_trace::EventId;

/// Events by number; the oracle only takes traces of at most [`EventSet::CAPACITY`] events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct EventSet(u128);

impl EventSet {
    /// How many events a trace may have.
    pub(crate) const CAPACITY: usize = 128;

    pub(crate) fn contains(self, event: EventId) -> bool {
        self.0 & (1 << event.0) != 0
    }

    pub(crate) fn insert(&mut self, event: EventId) {
        self.0 |= 1 << event.0;
    }

    pub(crate) fn remove(&mut self, event: EventId) {
        self.0 &= !(1 << event.0);
    }

    /// The members of both.
    pub(crate) fn with(self, other: EventSet) -> EventSet {
        EventSet(self.0 | other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, smallest first.
    pub(crate) fn iter(self) -> impl Iterator<Item = EventId> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let event = EventId(rest.trailing_zeros());
                rest &= rest - 1;
                event
            })
        })
    }
}
