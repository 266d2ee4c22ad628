//! What a weaker model finds where `symbolic` gives no answer.
//!
//! **Computes.** A prediction; candidates that are undecided under `symbolic` are asked for once
//! more under `values`, where what the program computes does not matter.
//!
//! **Sound.** Each schedule of `values` is one of `symbolic`, so a finding of it is one of both.
//! What it does not find stays undecided.

use std::collections::HashMap;
use std::time::Instant;

use foretrace_trace::Trace;
use foretrace_verdict::{Certainty, Model, Violation};

use crate::candidates::ClassKey;
use crate::pipeline::{PredictError, predict};
use crate::prediction::{Budget, Options, Prediction, Progress};

/// Predicts, and falls back to `values`.
pub fn predict_with_fallback(
    trace: &Trace,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Prediction, PredictError> {
    let start = Instant::now();
    let mut prediction = predict(trace, options, progress)?;
    let left = options.budget.time.map(|time| time.saturating_sub(start.elapsed()));
    if prediction.model != Model::Symbolic
        || prediction.undecided.is_empty()
        || left.is_some_and(|left| left.is_zero())
    {
        return Ok(prediction);
    }
    let budget = Budget { time: left, ..options.budget };
    let properties = options.properties.iter().copied();
    let is_open = |property| prediction.undecided.iter().any(|open| open.property == property);
    let options = Options {
        model: Some(Model::Values),
        properties: properties.filter(|&property| is_open(property)).collect(),
        budget,
        keep_refuted: false,
        ..options.clone()
    };
    let class = |violation: &Violation| ClassKey::new(trace, options.granularity, violation);
    let weaker = predict(trace, &options, progress)?;
    let real = weaker.findings.into_iter().filter(|finding| finding.certainty == Certainty::Real);
    let mut found: HashMap<ClassKey, _> =
        real.map(|finding| (class(&finding.violation), finding)).collect();
    for open in std::mem::take(&mut prediction.undecided) {
        let Some(mut finding) = found.remove(&class(&open.example)) else {
            prediction.undecided.push(open);
            continue;
        };
        finding.fallback = Some((Model::Values, open.reason));
        prediction.findings.push(finding);
        let mut ledgers = prediction.ledgers.iter_mut();
        let of_property = ledgers.find(|(property, _)| *property == open.property);
        let (_, ledger) = of_property.expect("each property that is asked for has a ledger");
        ledger.undecided -= 1;
        ledger.violated += 1;
    }
    prediction.findings.sort_by_key(|finding| finding.violation.property());
    Ok(prediction)
}
