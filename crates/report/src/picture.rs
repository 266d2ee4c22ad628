//! What a picture of the run needs besides the words of a report.

use serde::Serialize;

use crate::{EffectKind, Explanations};

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
    /// What the source calls it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
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
