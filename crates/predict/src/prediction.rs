//! What is asked of a prediction, and what it answers.

use std::time::Duration;

use foretrace_model::Skeleton;
use foretrace_trace::{Dependences, EventId, ObjectId, Stop, ThreadId, Trace};
use foretrace_verdict::{Certainty, Ledger, Model, Property, Slicing, Violation};
use foretrace_witness::Explanation;

use crate::effort::{Effort, Engines};
use crate::unanswered::Unanswered;

/// What counts as one candidate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Granularity {
    /// One verdict per distinct tuple of source locations on one object.
    #[default]
    Location,
    /// One verdict per tuple of events.
    Event,
    /// One verdict per object.
    Variable,
}

impl Granularity {
    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Granularity::Location => "location",
            Granularity::Event => "event",
            Granularity::Variable => "variable",
        }
    }
}

/// When to stop early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budget {
    /// Wall-clock time for the whole prediction. The one thing that can make verdicts differ
    /// between two runs.
    pub time: Option<Duration>,
    /// Solver conflicts per candidate.
    pub conflicts: Option<u64>,
    /// Somebody may ask for an end in the midst.
    pub stop: Stop,
}

/// How many context switches a schedule may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Switches {
    /// Any number.
    #[default]
    Any,
    /// At most so many.
    AtMost(u32),
    /// As few as possible: each bound from 0 upward, until there is a witness or a proof that needs
    /// none.
    Fewest,
}

/// What is refuted before the solver is asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Prune {
    /// Nothing.
    Nothing,
    /// What order that always holds, common locks, or needs that no order avoids refute.
    Needs,
    /// What the universal causality graph refutes as well.
    #[default]
    Graph,
}

/// What to predict, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// `None`: the one that suits the trace, as [`Options::model_for`] says.
    pub model: Option<Model>,
    /// Which properties.
    pub properties: Vec<Property>,
    /// What counts as one candidate.
    pub granularity: Granularity,
    /// Take critical sections for atomic regions.
    pub infer_regions: bool,
    /// Threads that solve. Changes nothing in the result.
    pub jobs: usize,
    /// When to stop early.
    pub budget: Budget,
    /// Which schedules count.
    pub switches: Switches,
    /// What keeps candidates from the solver. Changes no verdict.
    pub prune: Prune,
    /// Who is asked. Changes no verdict, only which questions stay open.
    pub engines: Engines,
    /// Whether [`Prediction::refuted`] is filled.
    pub keep_refuted: bool,
    /// Whether questions about freed memory are asked only as far as the answer costs little.
    pub spare_freed: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            model: None,
            properties: vec![
                Property::Race,
                Property::Atomicity,
                Property::Deadlock,
                Property::Lock,
                Property::Assertion,
            ],
            granularity: Granularity::default(),
            infer_regions: false,
            jobs: 1,
            budget: Budget::default(),
            switches: Switches::default(),
            prune: Prune::default(),
            engines: Engines::default(),
            keep_refuted: false,
            spare_freed: false,
        }
    }
}

/// How many conflicts the solver may have over one candidate of a recorded program, unless the user
/// says otherwise: some questions about values, such as whether a lock made of atomics excludes,
/// take it for ever.
const RECORDED_CONFLICTS: u64 = 10_000;

impl Options {
    /// The model that is asked for, or else the one that suits the trace: `symbolic` if it has
    /// expressions, `values` if it has values, else `reads-from`.
    pub fn model_for(&self, trace: &Trace) -> Model {
        self.model.unwrap_or_else(|| Skeleton::suitable_model(trace))
    }

    /// These options with a limit of conflicts if the trace is a recorded program and no budget is
    /// given.
    pub fn limited_for(mut self, trace: &Trace) -> Options {
        let is_recorded = trace.has_ordinals() && trace.dependences() == Dependences::Recorded;
        let is_unlimited = self.budget.time.is_none() && self.budget.conflicts.is_none();
        if is_recorded && is_unlimited {
            self.budget.conflicts = Some(RECORDED_CONFLICTS);
        }
        self
    }
}

/// A violation with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// What happens.
    pub violation: Violation,
    /// The object it is about, where that is a memory object.
    pub object: Option<ObjectId>,
    /// A feasible schedule that ends in it, reduced and checked.
    pub schedule: Vec<EventId>,
    /// How much it proves.
    pub certainty: Certainty,
    /// What the schedule reads and computes, where that may differ from the recorded run.
    pub explanation: Option<Explanation>,
    /// What comes from outside, of a program: by event.
    pub inputs: Vec<(EventId, u64)>,
}

impl Finding {
    /// A finding of a trace whose schedule reads what the recorded run read.
    pub fn new(
        trace: &Trace,
        violation: Violation,
        schedule: Vec<EventId>,
        certainty: Certainty,
    ) -> Finding {
        let object = violation.object(trace);
        let (explanation, inputs) = (None, Vec::new());
        Finding { violation, object, schedule, certainty, explanation, inputs }
    }
}

/// A candidate without a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// Which property.
    pub property: Property,
    /// An example of the class.
    pub example: Violation,
    /// Why.
    pub reason: Unanswered,
}

/// A part of a property that no candidate is about, so that silence says nothing of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAsked {
    /// Atomicity: the trace marks no regions, and none were to be inferred.
    NoRegions,
    /// Stuck states in which these threads have run all their events: none of them ends with `end`,
    /// nor waiting, so what they would do next is not known.
    OpenEnds(Vec<ThreadId>),
    /// All stuck states: these threads are named, but have neither events nor a fork.
    SilentThreads(Vec<ThreadId>),
    /// Assertions: the trace has none.
    NoAssertions,
    /// Assertions: so many have no condition that can be computed, and held in the recorded run.
    OpaqueAssertions(u64),
    /// Use after free: so many questions whose answer would cost much.
    LateUses(u64),
}

impl NotAsked {
    /// The stable name, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            NotAsked::NoRegions => "no-regions",
            NotAsked::OpenEnds(_) => "open-ends",
            NotAsked::SilentThreads(_) => "silent-threads",
            NotAsked::NoAssertions => "no-assertions",
            NotAsked::OpaqueAssertions(_) => "opaque-assertions",
            NotAsked::LateUses(_) => "freed-costs-too-much",
        }
    }

    /// The property that it is a part of.
    pub fn property(&self) -> Property {
        match self {
            NotAsked::NoRegions => Property::Atomicity,
            NotAsked::OpenEnds(_) | NotAsked::SilentThreads(_) => Property::Deadlock,
            NotAsked::NoAssertions | NotAsked::OpaqueAssertions(_) | NotAsked::LateUses(_) => {
                Property::Assertion
            }
        }
    }
}

/// The answer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Prediction {
    /// The model used.
    pub model: Model,
    /// The ledger of each property asked for, in the order of `Property`.
    pub ledgers: Vec<(Property, Ledger)>,
    /// One per violated candidate, sorted by property and the first member of their class.
    pub findings: Vec<Finding>,
    /// One per undecided candidate.
    pub undecided: Vec<Undecided>,
    /// One per candidate that is impossible in every schedule in which each read before it returns
    /// its recorded value, and undecided for others. Never an assertion.
    pub for_recorded_values: Vec<Undecided>,
    /// How much of the trace matters to conditions, where reads are not pinned.
    pub slicing: Option<Slicing>,
    /// What was not even asked of the properties asked for, in their order.
    pub not_asked: Vec<NotAsked>,
    /// An example of each candidate that is refuted without a bound, sorted; empty unless they are
    /// to be kept.
    pub refuted: Vec<(Property, Violation)>,
    /// Who decided how much, and what that took.
    pub effort: Effort,
}

impl Prediction {
    /// The answer to no question.
    pub fn new(model: Model) -> Prediction {
        Prediction {
            model,
            ledgers: Vec::new(),
            findings: Vec::new(),
            undecided: Vec::new(),
            for_recorded_values: Vec::new(),
            slicing: None,
            not_asked: Vec::new(),
            refuted: Vec::new(),
            effort: Effort::default(),
        }
    }
}

/// What the pipeline is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Building the skeleton and the candidates.
    Preparing,
    /// Deciding candidates.
    Deciding,
}

/// Someone who wants to know how far it is. Called from several threads.
pub trait Progress: Sync {
    /// `decided` of `total` candidates are decided.
    fn report(&self, phase: Phase, decided: u64, total: u64);

    /// The solver has worked so long on a question, its encoding included.
    fn solved(&self, _: Duration) {}

    /// The rule of this name has refuted a candidate.
    fn refuted(&self, _: &'static str) {}
}

/// Nobody does.
impl Progress for () {
    fn report(&self, _: Phase, _: u64, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::text;

    #[test]
    fn the_model_suits_the_trace_unless_one_is_asked_for() {
        let model = |trace: &str, asked: Option<Model>| {
            let options = Options { model: asked, ..Options::default() };
            options.model_for(&text::parse(trace).unwrap())
        };
        assert_eq!(model("a: read x\n", None), Model::ReadsFrom);
        assert_eq!(model("a: read x : 1\n", None), Model::Values);
        assert_eq!(model("a: r = read x : 1\na: assert r == 1 : true\n", None), Model::Symbolic);
        assert_eq!(model("a: read x : 1\n", Some(Model::Control)), Model::Control);
    }

    #[test]
    fn a_trace_that_no_program_left_has_no_limit() {
        let trace = text::parse("a: r = read x : 1\na: assert r == 1 : true\n").unwrap();
        assert_eq!(Options::default().limited_for(&trace).budget, Budget::default());
    }
}
