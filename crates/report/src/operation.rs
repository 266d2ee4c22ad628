//! What an event does: in words for people, and as facts for what decides by it.

use std::fmt;

/// What an event does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Operation {
    /// As the text form of traces writes it.
    pub text: String,
    /// What kind of effect it has.
    pub kind: EffectKind,
    /// The names of what it is on: the object of an access, a lock, a thread; of a wait the lock
    /// and then the condition variable.
    pub on: Vec<String>,
    /// What it accesses, if it does.
    pub access: Option<Access>,
}

/// What an access finds and leaves, as shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Access {
    /// The place.
    pub place: String,
    /// The value that it reads, if that is known.
    pub seen: Option<String>,
    /// The value that it stores, if that is known.
    pub stored: Option<String>,
    /// Whether the words say nothing but what changes where.
    pub is_plain: bool,
}

/// The kinds of effects that events have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
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

impl Operation {
    /// Whether it is on what has that name.
    pub fn is_on(&self, name: &str) -> bool {
        self.on.iter().any(|on| on == name)
    }

    /// Whether it changes memory.
    pub fn writes(&self) -> bool {
        matches!(self.kind, EffectKind::Write | EffectKind::Update)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
