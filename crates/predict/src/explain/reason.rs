//! Reasons: instances of the rules of `docs/theory.md` that together leave no schedule for a
//! violation.

use foretrace_trace::{ChannelId, CondId, EventId, LockId, SemId, ThreadId};

/// A hold: the event that opens it, and the one that closes it, if any does.
pub type Section = (EventId, Option<EventId>);

/// One instance of a rule of section 3; or, for stuck states, assertions and locks, of section 4.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Reason {
    /// A thread runs after its fork.
    Fork { fork: EventId, first: EventId },
    /// A join waits for the last event of the child; for its fork, if the child has no events.
    Join { last: EventId, join: EventId },
    /// The read sees what it saw in the recorded run: one of these writes leaves it, or it is there
    /// from the start.
    Read { read: EventId, sources: Vec<EventId>, initial: bool },
    /// The read sees what one of these writes leaves, or what is there from the start.
    Value { read: EventId, sources: Vec<EventId>, initial: bool },
    /// If the read sees what the source left (`None`: what is there from the start), then this
    /// write is not between them.
    Between { read: EventId, source: Option<EventId>, write: EventId },
    /// Nobody is known to have written what the read saw, so all that was recorded before it comes
    /// before it.
    Unexplained { read: EventId },
    /// What the event does may depend on the read, which must be as recorded.
    AsRecorded { read: EventId, by: EventId },
    /// The condition of the event has this outcome.
    Condition { event: EventId, outcome: bool },
    /// The event needs its object, which is there from the alloc up to the free.
    Live { event: EventId, alloc: Option<EventId>, free: Option<EventId> },
    /// The memory of a new object is free only after these.
    Freed { alloc: EventId, frees: Vec<EventId> },
    /// Two holds of a lock do not overlap.
    Exclusion { lock: LockId, first: Section, second: Section },
    /// The event needs that this hold is not open.
    NotWithin { event: EventId, lock: LockId, hold: Section },
    /// The attempt failed, so somebody has the lock: one of these holds is open.
    Failed { failure: EventId, lock: LockId, holds: Vec<Section> },
    /// The hold that a release closes is open, and was deepened and lowered as recorded.
    Open { release: EventId, lock: LockId, open: EventId },
    /// The event needs a lock that is not destroyed.
    Intact { event: EventId, destroy: EventId },
    /// The wait is over, so one of these signals and broadcasts reached it; a signal reaches one
    /// wait only.
    Notified { wait: EventId, wake: EventId, by: Vec<EventId> },
    /// The wait took one token of the semaphore, which no other wait took.
    Token { wait: EventId, semaphore: SemId },
    /// No token of the semaphore was left at the event (`None`: at the end).
    NoToken { event: Option<EventId>, semaphore: SemId },
    /// The event needs that all these have arrived at the barrier.
    Round { event: EventId, arrivals: Vec<EventId> },
    /// The end of a call comes after these calls have begun, because their recorded order is kept.
    Calls { leave: EventId, enters: Vec<EventId> },
    /// A process that has exited does nothing more.
    Exit { exit: EventId },
    /// The assertion fails only if its condition gives 0.
    Fails { assertion: EventId },
    /// The operation is a misuse only in some states of the lock.
    Misuse { event: EventId, lock: LockId },
    /// In a stuck state, the thread is not started, finished or blocked.
    Halted { thread: ThreadId },
    /// In a stuck state, whom the signals of the condition variable woke, and who still waits.
    Signals { condition: CondId },
    /// In a stuck state, what was put into a source of calls that wait has been taken out, and
    /// nobody has closed it.
    Drained { source: ChannelId },
}

impl Reason {
    /// The events that it is about, in recorded order, each once.
    pub fn events(&self) -> Vec<EventId> {
        let section = |&(open, close): &Section| [Some(open), close];
        let mut events = match self {
            Reason::Fork { fork, first } => vec![*fork, *first],
            Reason::Join { last, join } => vec![*last, *join],
            Reason::Read { read, sources, .. } | Reason::Value { read, sources, .. } => {
                [&[*read], &sources[..]].concat()
            }
            Reason::Between { read, source, write } => {
                [Some(*read), *source, Some(*write)].into_iter().flatten().collect()
            }
            Reason::Unexplained { read } => vec![*read],
            Reason::AsRecorded { read, by } => vec![*read, *by],
            Reason::Condition { event, .. } => vec![*event],
            Reason::Live { event, alloc, free } => {
                [Some(*event), *alloc, *free].into_iter().flatten().collect()
            }
            Reason::Freed { alloc, frees } => [&[*alloc], &frees[..]].concat(),
            Reason::Exclusion { first, second, .. } => {
                [first, second].into_iter().flat_map(section).flatten().collect()
            }
            Reason::NotWithin { event, hold, .. } => {
                std::iter::once(*event).chain(section(hold).into_iter().flatten()).collect()
            }
            Reason::Failed { failure, holds, .. } => {
                let holds = holds.iter().flat_map(section).flatten();
                std::iter::once(*failure).chain(holds).collect()
            }
            Reason::Open { release, open, .. } => vec![*release, *open],
            Reason::Intact { event, destroy } => vec![*event, *destroy],
            Reason::Notified { wait, wake, by } => [&[*wait, *wake], &by[..]].concat(),
            Reason::Token { wait, .. } => vec![*wait],
            Reason::NoToken { event, .. } => event.iter().copied().collect(),
            Reason::Round { event, arrivals } => [&[*event], &arrivals[..]].concat(),
            Reason::Calls { leave, enters } => [&[*leave], &enters[..]].concat(),
            Reason::Exit { exit } => vec![*exit],
            Reason::Fails { assertion } => vec![*assertion],
            Reason::Misuse { event, .. } => vec![*event],
            Reason::Halted { .. } | Reason::Signals { .. } | Reason::Drained { .. } => Vec::new(),
        };
        events.sort_unstable();
        events.dedup();
        events
    }
}
