//! Programs: summarise, decide, and run every witness on the interpreter.

use foretrace_model::Skeleton;
use foretrace_program::ir::Program;
use foretrace_summarise::{Summary, Unsupported, Wrong, replay, summarise};
use foretrace_trace::EventId;
use foretrace_verdict::{Certainty, Property, Violation};

use crate::judge::{Judge, Judgement};
use crate::pipeline::{PredictError, predict_skeleton};
use crate::prediction::{Options, Prediction, Progress};
use crate::unanswered::Unanswered;

/// Why a program has no verdicts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It has something that cannot be summarised.
    #[error("not supported: {0}")]
    Unsupported(#[from] Unsupported),
    /// Our own bug.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// The answer for a program.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProgramPrediction {
    /// The events that the findings name.
    pub summary: Summary,
    /// The verdicts. Assertions include the checks of locks and of places that are not to be
    /// reached.
    pub prediction: Prediction,
}

/// Decides every assertion and race of a valid program without loops and recursion.
pub fn predict_program(
    program: &Program,
    options: &Options,
    progress: &dyn Progress,
) -> Result<ProgramPrediction, ProgramError> {
    let mut summary = summarise(program)?;
    let data = summary.take_data();
    let skeleton = Skeleton::of_program(&summary.trace, data);
    let asked = [Property::Race, Property::Assertion];
    let mut options = options.clone();
    options.properties.retain(|property| asked.contains(property));
    let judge = ProgramJudge { program, summary: &summary };
    let prediction = predict_skeleton(skeleton, &options, &judge, progress)?;
    Ok(ProgramPrediction { summary, prediction })
}

/// The interpreter.
struct ProgramJudge<'p> {
    program: &'p Program,
    summary: &'p Summary,
}

impl Judge for ProgramJudge<'_> {
    fn accepts(&self, _: &Violation, _: &[EventId]) -> bool {
        false
    }

    fn judge(
        &self,
        violation: &Violation,
        schedule: Vec<EventId>,
        inputs: &[(EventId, u64)],
    ) -> Judgement {
        let wrong = match *violation {
            Violation::Assertion(event) => Wrong::Check(event),
            Violation::Race(a, b) => Wrong::Race(a, b),
            _ => return Judgement::Doubted(Unanswered::NotInPrograms),
        };
        match replay(self.program, self.summary, &schedule, inputs, wrong) {
            Ok(()) => {
                Judgement::Accepted { schedule, certainty: Certainty::Real, explanation: None }
            }
            Err(reason) => Judgement::Refuted(reason),
        }
    }
}
