//! Judges decide what a schedule proves: nothing is reported that a judge has not accepted.

use std::sync::OnceLock;

use foretrace_model::pins_reads;
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{Certainty, Model, Violation};
use foretrace_witness::{CheckOptions, Checker, Explanation, Refuted, reduce};

use crate::unanswered::Unanswered;

/// Checks the schedules that the solver proposes, independently of how they were found.
pub trait Judge: Sync {
    /// What a schedule proves; `inputs` is what came from outside, by event.
    fn judge(
        &self,
        violation: &Violation,
        schedule: Vec<EventId>,
        inputs: &[(EventId, u64)],
    ) -> Judgement;

    /// Whether a schedule, which may not even be feasible, proves the violation.
    fn accepts(&self, violation: &Violation, schedule: &[EventId]) -> bool;
}

/// What a judge says of a schedule.
#[derive(Debug)]
pub enum Judgement {
    /// It proves the violation.
    #[allow(missing_docs)]
    Accepted {
        /// Perhaps shorter than the one that was proposed.
        schedule: Vec<EventId>,
        certainty: Certainty,
        /// What is read and computed in it, where that is of interest.
        explanation: Option<Explanation>,
    },
    /// The judge cannot tell, for this reason.
    Doubted(Unanswered),
    /// It does not: our own bug.
    Refuted(String),
}

/// The witness checker, made when the first schedule is to be checked.
pub struct TraceJudge<'t> {
    checker: OnceLock<Checker<'t>>,
    trace: &'t Trace,
    model: Model,
    options: CheckOptions,
}

impl<'t> TraceJudge<'t> {
    /// The judge of the schedules of a trace.
    pub fn new(trace: &'t Trace, model: Model, infer_regions: bool) -> Self {
        TraceJudge {
            checker: OnceLock::new(),
            trace,
            model,
            options: CheckOptions { infer_regions },
        }
    }

    fn checker(&self) -> &Checker<'t> {
        self.checker.get_or_init(|| Checker::new(self.trace, self.model, self.options))
    }

    /// Checks and reduces; what is left was checked as it is.
    fn accept(&self, violation: &Violation, schedule: Vec<EventId>) -> Result<Judgement, Refuted> {
        let checker = self.checker();
        let (schedule, certainty) = reduce(checker, violation, schedule)?;
        let may_differ =
            matches!(violation, Violation::Assertion(_)) || !pins_reads(self.trace, self.model);
        let explanation = match may_differ {
            true => Some(checker.explain(violation, &schedule)?),
            false => None,
        };
        Ok(Judgement::Accepted { schedule, certainty, explanation })
    }
}

impl Judge for TraceJudge<'_> {
    fn accepts(&self, violation: &Violation, schedule: &[EventId]) -> bool {
        self.checker().check(violation, schedule).is_ok()
    }

    fn judge(
        &self,
        violation: &Violation,
        schedule: Vec<EventId>,
        _: &[(EventId, u64)],
    ) -> Judgement {
        match self.accept(violation, schedule) {
            Ok(judgement) => judgement,
            Err(refuted @ Refuted::NoFailingValues { .. }) => {
                Judgement::Doubted(Unanswered::NoFailingValues(refuted.to_string()))
            }
            Err(refuted) => Judgement::Refuted(refuted.to_string()),
        }
    }
}
