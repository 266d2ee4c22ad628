//! What a picture of the run needs besides the words of a report.

use serde::Serialize;

use crate::Explanations;

/// What a picture of the run shows that no sentence of the report says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Picture {
    /// What each event of the excerpt does, in its order.
    pub effects: Vec<Effect>,
    /// The memory that effects name.
    pub places: Vec<MemoryPlace>,
    /// The locks, condition variables, semaphores and barriers that effects name.
    pub names: Vec<String>,
    /// For each thread, how many events it has in each part of the recorded run, all parts equally
    /// long.
    pub lanes: Vec<Vec<u32>>,
    /// For each finding, why its schedule may differ from the recorded run where it does.
    pub reorderings: Vec<Vec<Reordering>>,
    /// Why some of the refuted candidates cannot happen.
    pub refuted: Option<Explanations>,
}

/// A piece of memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryPlace {
    /// The object.
    pub object: String,
    /// Where in it, in bytes.
    pub offset: u32,
    /// How many bytes.
    pub size: u32,
}

/// What an event does to memory, locks and threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Effect {
    /// What it does.
    pub kind: EffectKind,
    /// To what: an index into [`Picture::places`], [`Picture::names`] or the threads.
    pub on: u32,
    /// The condition variable of a wait: an index into [`Picture::names`].
    pub with: Option<u32>,
}

/// The kinds of effects that a picture shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EffectKind {
    /// None of the others.
    #[default]
    Other,
    /// Reads a place.
    Read,
    /// Writes a place.
    Write,
    /// Reads and writes a place at once.
    Update,
    /// Takes a lock.
    Acquire,
    /// Gives a lock back.
    Release,
    /// Gives a lock back to wait.
    Wait,
    /// Has the lock again.
    Wake,
    /// Wakes others: signal, broadcast, or post of a semaphore.
    Notify,
    /// Takes what a post gave.
    Take,
    /// Starts a thread.
    Fork,
    /// Waits for the end of a thread.
    Join,
    /// The first event of a thread.
    Begin,
    /// The last event of a thread.
    End,
    /// A condition, an assertion or an assumption.
    Condition,
}

impl EffectKind {
    /// One letter, for compact tables.
    pub fn letter(self) -> char {
        match self {
            EffectKind::Other => '-',
            EffectKind::Read => 'r',
            EffectKind::Write => 'w',
            EffectKind::Update => 'u',
            EffectKind::Acquire => 'a',
            EffectKind::Release => 'l',
            EffectKind::Wait => 't',
            EffectKind::Wake => 'k',
            EffectKind::Notify => 'n',
            EffectKind::Take => 's',
            EffectKind::Fork => 'f',
            EffectKind::Join => 'j',
            EffectKind::Begin => 'b',
            EffectKind::End => 'e',
            EffectKind::Condition => 'c',
        }
    }
}

/// One difference between a schedule and the recorded run, and why it is allowed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reordering {
    /// What is different.
    pub what: String,
    /// Why an execution may do that.
    pub why: String,
    /// The events that it is about.
    pub events: Vec<u32>,
}
