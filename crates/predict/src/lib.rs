//! From a trace to verdicts: properties, candidates, encoding, the pipeline.
//!
//! Knows nothing of the terminal.

mod candidates;
mod encode;
mod fault;
mod goal;
mod pipeline;
mod prediction;
mod preserve;

#[cfg(feature = "seeded-faults")]
pub use fault::{Fault, seed_fault};
pub use pipeline::{PredictError, Prepared, Stage, predict, prepare};
pub use prediction::{
    Budget, Finding, Granularity, Ledger, NotAsked, Options, Phase, Prediction, Progress, Undecided,
};
