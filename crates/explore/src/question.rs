//! What is asked, and what is answered.

use foretrace_trace::{Deadline, EventId};
use foretrace_verdict::{LockMisuse, Violation};

/// First and second accesses of one thread.
pub type Pairs = [(EventId, EventId)];

/// A set of violations: does any of them happen? Groups of events are of one thread each, in
/// program order.
#[derive(Clone, Debug)]
pub enum Question<'q> {
    /// For each pair of groups: an event of the one and an event of the other.
    Race(Vec<(&'q [EventId], &'q [EventId])>),
    /// For each pair of lists: a first and second access, and a remote one.
    Atomicity(Vec<(&'q Pairs, &'q [EventId])>),
    /// For each cycle: for each of its threads, the points at which it may be.
    LockCycle(Vec<Vec<&'q [EventId]>>),
    /// Nobody can go on, and a thread waits at one of these points.
    Stuck(&'q [EventId]),
    /// A lock operation that must not happen in this state is next.
    Lock(&'q [(LockMisuse, EventId)]),
    /// One of these assertions is next, and false.
    Assertion(&'q [EventId]),
}

impl Question<'_> {
    /// An access to each object that must be live.
    pub(crate) fn accesses(&self) -> Vec<EventId> {
        match self {
            Question::Race(parts) => parts.iter().map(|&(group, _)| group[0]).collect(),
            Question::Atomicity(parts) => parts.iter().map(|&(_, remotes)| remotes[0]).collect(),
            Question::LockCycle(_)
            | Question::Stuck(_)
            | Question::Lock(_)
            | Question::Assertion(_) => Vec::new(),
        }
    }
}

/// The answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// This happens at the end of this schedule.
    #[allow(missing_docs)]
    Found { violation: Violation, schedule: Vec<EventId> },
    /// In no schedule.
    Impossible,
    /// Not known.
    GaveUp(Reason),
}

/// Why a question has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Too many states.
    States,
    /// The states take too much memory.
    Memory,
    /// The time is up.
    Deadline,
    /// What is read is free under `control`, so there are no values to compute with.
    FreeValues,
    /// A program has no recorded run.
    Program,
    /// More threads, or more that a signal can choose from, than a state has room for.
    TooWide,
}

/// When to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many states one exploration visits at most.
    pub states: u64,
    /// How much all explorations together may cost, about, in states of a small trace. Large states
    /// cost more, and to prepare an exploration costs as much as a state for every few events.
    pub total: u64,
    /// How many bytes all states together may take, roughly.
    pub bytes: usize,
    /// When the time is up.
    pub deadline: Deadline,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { states: 1_000_000, total: u64::MAX, bytes: 1 << 29, deadline: Deadline::NEVER }
    }
}

/// Whether a few objects are tried before all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slices {
    /// All objects at once.
    Never,
    /// All objects at once, and where these are too many states, a few first.
    WhenLarge,
    /// A few objects first.
    Always,
}

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether reads with an unknown writer are left out, other than a remote read whose value is
    /// free: then what is found is real.
    pub explained: bool,
    /// Whether a few objects are tried before all.
    pub slices: Slices,
    /// When to stop.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options { explained: false, slices: Slices::WhenLarge, limits: Limits::default() }
    }
}

/// All answers, and what they have cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// One for each question.
    pub answers: Vec<Answer>,
    /// How many explorations there were.
    pub explorations: u64,
    /// How many states all explorations together have visited.
    pub states: u64,
    /// How many steps were taken.
    pub steps: u64,
    /// What the states have cost, in states of a small trace.
    pub price: u64,
}
