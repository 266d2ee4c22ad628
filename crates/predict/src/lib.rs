//! From a trace to verdicts: properties, candidates, encoding, the pipeline.
//!
//! Knows nothing of the terminal.

mod candidates;
mod encode;
mod goal;
mod pipeline;
mod prediction;
mod preserve;

pub use pipeline::{PredictError, predict};
pub use prediction::{
    Budget, Finding, Granularity, Ledger, Options, Phase, Prediction, Progress, Undecided,
};
