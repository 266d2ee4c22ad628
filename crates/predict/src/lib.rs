//! From a trace to verdicts: properties, candidates, encoding, the pipeline.
//!
//! Knows nothing of the terminal.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod candidates;
mod cells;
mod delays;
mod encode;
mod explain;
mod fault;
mod goal;
mod judge;
mod pipeline;
mod prediction;
mod preserve;
mod program;
mod prune;
mod shard;
mod unanswered;

pub use program::{ProgramError, ProgramPrediction, predict_program};

pub use explain::{Explainer, Reason, Section, Why};
#[cfg(feature = "seeded-faults")]
pub use fault::{Fault, seed_fault};
pub use foretrace_model::Sizes;
pub use judge::{Judge, Judgement};
pub use pipeline::{PredictError, Prepared, Stage, predict, predict_skeleton, prepare};
pub use prediction::{
    Budget, Finding, Granularity, NotAsked, Options, Phase, Prediction, Progress, Prune, Switches,
    Undecided,
};
pub use unanswered::Unanswered;
