//! From a trace to verdicts: properties, candidates, encoding, the pipeline.
//!
//! Knows nothing of the terminal.

mod prediction;

pub use prediction::{
    Budget, Finding, Granularity, Ledger, Options, Phase, Prediction, Progress, Undecided,
};
