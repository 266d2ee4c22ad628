//! Predictions under all models that make sense for a trace.
//!
//! **Follows.** 000 section 7: the models allow more and more schedules, so the first that finds
//! something says how much has to be known of the program for it.

use foretrace_trace::Trace;
use foretrace_verdict::Model;

use crate::pipeline::{PredictError, predict};
use crate::prediction::{Options, Prediction, Progress};

/// The predictions of all models that make sense for the trace, in the order of the models; `done`
/// is the one that is known already.
pub fn predict_all_models(
    trace: &Trace,
    options: &Options,
    done: &Prediction,
    progress: &dyn Progress,
) -> Result<Vec<Prediction>, PredictError> {
    // What is chosen without being told is the last model that sees a difference, but for
    // `control`.
    let suitable = Options { model: None, ..options.clone() }.model_for(trace);
    let makes_sense =
        |&model: &Model| model <= suitable || model == Model::Control || model == done.model;
    let under = |model: Model| match model == done.model {
        true => Ok(done.clone()),
        false => predict(trace, &Options { model: Some(model), ..options.clone() }, progress),
    };
    Model::ALL.into_iter().filter(makes_sense).map(under).collect()
}
