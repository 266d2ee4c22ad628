//! What deciding races takes in a process that runs already: the same again and again.

use std::path::Path;

use foretrace_predict::{Granularity, Options, predict};
use foretrace_trace::{open, validate::validate};
use foretrace_verdict::Property;

use crate::Outcome;

/// Reads the trace and decides every conflicting pair of it, so many times.
pub(crate) fn decide(path: &Path, times: usize) -> Outcome {
    let options = Options {
        properties: vec![Property::Race],
        granularity: Granularity::Event,
        jobs: 1,
        ..Options::default()
    };
    for _ in 0..times {
        let trace = open(path)?.trace;
        validate(&trace).map_err(|invalid| invalid.to_string())?;
        predict(&trace, &options, &())?;
    }
    Ok(())
}
