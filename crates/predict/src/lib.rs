//! From a trace to verdicts: properties, candidates, encoding, the pipeline.
//!
//! Knows nothing of the terminal.

mod candidates;
mod cells;
mod delays;
mod encode;
mod explain;
mod fault;
mod goal;
pub mod implicit;
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
    Budget, Finding, Granularity, Ledger, NotAsked, Options, Phase, Prediction, Progress, Prune,
    Remaining, Switches, Undecided,
};
pub use unanswered::Unanswered;
