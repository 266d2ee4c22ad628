//! From a trace to verdicts: properties, candidates, encoding, the pipeline. It does not know the
//! terminal, files, or how its answers are worded.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod candidates;
mod cells;
mod delays;
mod effort;
mod encode;
mod explain;
mod explicit;
mod fault;
mod goal;
pub mod implicit;
mod judge;
mod models;
mod pipeline;
mod prediction;
mod preserve;
mod program;
mod prune;
mod repair;
mod rounds;
mod shard;
mod stages;
mod unanswered;
mod whatif;

pub use candidates::ClassKey;
pub use effort::{Decider, Effort, Engines};
pub use explain::{Explainer, Reason, Section, Why};
pub use explicit::ask_engine_alone;
#[cfg(feature = "seeded-faults")]
pub use fault::{Fault, seed_fault};
pub use judge::{Judge, Judgement, TraceJudge};
pub use models::predict_all_models;
pub use pipeline::{PredictError, Prepared, Stage, predict, predict_skeleton, prepare};
pub use prediction::{
    Budget, Finding, Granularity, NotAsked, Options, Phase, Prediction, Progress, Prune, Switches,
    Undecided,
};
pub use program::{ProgramError, ProgramPrediction, predict_program};
pub use repair::{Changed, Patch};
pub use unanswered::Unanswered;
pub use whatif::Question;
