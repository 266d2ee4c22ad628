//! Who is asked, and when: each class goes from cheap answers to dear ones.
//!
//! **Computes.** The answer to every class, in these stages: order, locks, the graph and schedules
//! close to the recorded one; the same and the solver under the weaker model `values`; the solver
//! under the model that is asked for, for what it sees soon; the explicit engine; and the solver
//! again, with more and more patience where time is short.
//!
//! **Sound.** Each schedule of `values` is one of `symbolic`. So what is found under `values` is
//! found; what is refuted there stays open, and the answer says how far the refutation goes.
//!
//! **Invariant.** Which classes make a shard depends on the trace and the options alone, and each
//! shard has solvers of its own. So who works on which shard changes nothing in the answers, and
//! neither does anything else but a time budget that fires.

use std::time::Instant;

use foretrace_explore::Answer as Answered;
use foretrace_model::Skeleton;
use foretrace_solve::Limits;
use foretrace_verdict::{Certainty, Columns, Model, Property};

use crate::explicit;
use crate::fault::{Fault, is_seeded, spoil_calls};
use crate::pipeline::{Asked, PredictError, Work};
use crate::prediction::{Finding, Phase, Prune, Switches};
use crate::rounds::{Round, Shards};
use crate::shard::{Decided, Shard};
use crate::unanswered::Unanswered;

/// Solver and explicit engine take turns, each time with more patience: how many conflicts each
/// question may cost the solver, and how many states all open questions together may then cost the
/// engine. What one is bad at, the other is often good at, and nobody knows before.
const TURNS: [(u64, u64); 3] = [(200, 50_000), (2_000, 500_000), (10_000, 2_000_000)];

/// How many states the questions of one shard may cost, however many shards there are.
const STATES_PER_SHARD: u64 = 20_000;

/// How much a question may cost, if time is short, once it is refuted under `values`: then it has
/// an answer, if only in part.
const MOST_CONFLICTS: u64 = 50_000;
const MOST_STATES: u64 = 500_000;

/// The answer to a class.
pub(crate) enum Answer {
    Decided(Decided),
    /// It is impossible in every schedule in which reads return their recorded values. Why it is
    /// not decided for others.
    OnlyForRecordedValues(Unanswered),
}

/// Answers all questions.
pub(crate) fn answer(asked: &Asked) -> Result<Vec<Answer>, PredictError> {
    asked.under(&asked.prepared.skeleton, |work| {
        let mut stages = Stages::new(asked, work);
        stages.run()?;
        Ok(stages.finish())
    })
}

/// What the weaker model says of a class.
#[derive(Clone)]
enum Weaker {
    Unknown,
    Refuted,
    /// A finding that may be real, or not.
    Possible(Finding),
}

struct Stages<'a> {
    asked: &'a Asked<'a>,
    work: &'a Work<'a>,
    /// By class; `None` if it has not been asked yet.
    decided: Vec<Option<Decided>>,
    weaker: Vec<Weaker>,
    /// How many conflicts each question has been allowed so far.
    allowed: Option<u64>,
}

impl<'a> Stages<'a> {
    fn new(asked: &'a Asked<'a>, work: &'a Work<'a>) -> Self {
        let classes = work.candidates.classes.len();
        let decided = std::iter::repeat_with(|| None).take(classes).collect();
        let weaker = vec![Weaker::Unknown; classes];
        Stages { asked, work, decided, weaker, allowed: None }
    }

    fn run(&mut self) -> Result<(), PredictError> {
        let all: Vec<usize> = (0..self.decided.len()).collect();
        let shards = Shards::new(&self.work.candidates.classes, &all);
        let quick = |shard: &mut Shard, at: usize| shard.without_solver(self.class(at));
        for (at, decided) in self.round(self.work, &self.asked.limits).ask(&shards, quick)? {
            self.decided[at] = decided;
        }
        let open = Shards::new(&self.work.candidates.classes, &self.open());
        if self.falls_back() && !open.is_empty() && !self.asked.limits.is_over() {
            let mut skeleton = Skeleton::new(self.work.context.skeleton.trace, Model::Values);
            spoil_calls(&mut skeleton);
            self.asked.under(&skeleton, |values| self.ask_weaker(values, &open))?;
        }
        let limits = &self.asked.limits;
        if self.asks_engine() && !open.is_empty() && !limits.is_over() {
            for (number, (conflicts, states)) in TURNS.into_iter().enumerate() {
                let most = limits.conflicts.unwrap_or(u64::MAX);
                self.ask_solver(&open, Some(conflicts.min(most)), number == 0)?;
                self.ask_engine(&open, states)?;
                if most <= conflicts {
                    break;
                }
            }
        }
        let most = limits.conflicts.map_or(MOST_CONFLICTS, |most| most.min(MOST_CONFLICTS));
        self.ask_solver(&open, Some(most), false)?;
        self.ask_solver(&open, limits.conflicts, false)
    }

    /// The answers, once all stages are over.
    fn finish(self) -> Vec<Answer> {
        let answers = self.decided.into_iter().zip(self.weaker).map(|(decided, weaker)| {
            match (decided.expect("the solver is asked last"), weaker) {
                (Decided::Undecided(reason), Weaker::Refuted) => {
                    Answer::OnlyForRecordedValues(reason)
                }
                (Decided::Undecided(_), Weaker::Possible(finding)) => {
                    Answer::Decided(Decided::Found(finding))
                }
                (decided, _) => Answer::Decided(decided),
            }
        });
        answers.collect()
    }

    fn class(&self, at: usize) -> &'a crate::candidates::Class {
        &self.work.candidates.classes[at]
    }

    fn round<'r>(&self, work: &'r Work<'r>, limits: &Limits) -> Round<'r> {
        let total = self.decided.len() as u64;
        let done = total - self.open().len() as u64;
        work.progress.report(Phase::Deciding, done, total);
        let (limits, jobs) = (limits.clone(), self.asked.options.jobs.max(1));
        Round { work, limits, in_haste: false, jobs, done, total }
    }

    /// The classes that more patience may decide.
    fn open(&self) -> Vec<usize> {
        let is_open = |&at: &usize| match &self.decided[at] {
            None => true,
            Some(Decided::Undecided(reason)) => {
                matches!(reason, Unanswered::ConflictBudget | Unanswered::TimeBudget)
            }
            Some(Decided::Found(_) | Decided::Infeasible(_) | Decided::InfeasibleInBound) => false,
        };
        (0..self.decided.len()).filter(is_open).collect()
    }

    /// Whether a weaker model is asked before the solver is asked under this one.
    fn falls_back(&self) -> bool {
        let (skeleton, options) = (self.work.context.skeleton, self.asked.options);
        skeleton.model == Model::Symbolic
            && !skeleton.pins_reads()
            && !skeleton.is_program()
            // Without pruning, everything is the solver's.
            && options.prune != Prune::Nothing
            && options.switches != Switches::Fewest
    }

    /// Asks under the weaker model about all classes of the shards.
    fn ask_weaker(&mut self, values: &Work, shards: &Shards) -> Result<(), PredictError> {
        let limits = &self.asked.limits;
        let limits = Limits { deadline: limits.deadline.map(early), ..limits.clone() };
        let quick = |shard: &mut Shard, at: usize| shard.without_solver(self.class(at));
        let quick = self.round(values, &limits).ask(shards, quick)?;
        self.learn(quick.into_iter().filter_map(|(at, decided)| Some((at, decided?))));
        for (number, (conflicts, _)) in TURNS.into_iter().enumerate() {
            let conflicts = limits.conflicts.map_or(conflicts, |most| most.min(conflicts));
            // Of assertions only findings count.
            let is_asked = |at: usize| {
                matches!(self.weaker[at], Weaker::Unknown)
                    && self.decided[at].is_none()
                    && (number == 0 || self.class(at).property != Property::Assertion)
            };
            let limits = Limits { conflicts: Some(conflicts), ..limits.clone() };
            let decide = |shard: &mut Shard, at: usize| shard.decide(self.class(at));
            let decided = self.round(values, &limits).ask(&shards.only(is_asked), decide)?;
            self.learn(decided.into_iter());
        }
        Ok(())
    }

    /// Takes over what the weaker model says.
    fn learn(&mut self, answers: impl Iterator<Item = (usize, Decided)>) {
        for (at, answer) in answers {
            let is_data = self.class(at).property == Property::Assertion;
            match answer {
                Decided::Found(finding) if finding.certainty == Certainty::Real => {
                    self.decided[at] = Some(Decided::Found(finding));
                }
                Decided::Found(finding) => self.weaker[at] = Weaker::Possible(finding),
                Decided::Infeasible(_) if is_seeded(Fault::RecordedValuesForAll) => {
                    self.decided[at] = Some(answer);
                }
                Decided::Infeasible(_) if !is_data => self.weaker[at] = Weaker::Refuted,
                Decided::Infeasible(_) | Decided::InfeasibleInBound | Decided::Undecided(_) => {}
            }
        }
    }

    /// Whether the weaker model refutes the class.
    fn is_refuted(&self, at: usize) -> bool {
        matches!(self.weaker[at], Weaker::Refuted)
    }

    /// Whether the explicit engine is asked.
    fn asks_engine(&self) -> bool {
        let options = self.asked.options;
        let skeleton = self.work.context.skeleton;
        // Without pruning, everything is the solver's.
        options.prune != Prune::Nothing
            && options.switches == Switches::Any
            && skeleton.model != Model::Control
            && !skeleton.is_program()
    }

    /// Asks the explicit engine about the open classes of the shards; all together may cost it so
    /// many states.
    fn ask_engine(&mut self, shards: &Shards, states: u64) -> Result<(), PredictError> {
        let mut open = self.open();
        let is_enough = |at: usize| states > MOST_STATES && self.is_refuted(at);
        open.retain(|&at| !is_enough(at));
        if open.is_empty() {
            return Ok(());
        }
        let shards = shards.only(|at| open.binary_search(&at).is_ok());
        let states = STATES_PER_SHARD.max(states / shards.len() as u64);
        let deadline = self.asked.limits.deadline.map(half_way);
        let round = self.round(self.work, &self.asked.limits);
        let decided = round.ask_shards(&shards, |numbers| {
            let (skeleton, groups) = (self.work.context.skeleton, &self.work.candidates.groups);
            let classes: Vec<_> = numbers.iter().map(|&at| self.class(at)).collect();
            let answers = explicit::ask(skeleton, groups, &classes, states, deadline);
            let shard = Shard::new(self.work, self.asked.limits.clone());
            let decided = numbers.iter().zip(answers).map(|(&at, answer)| {
                Ok(match answer {
                    Answered::Found { violation, schedule } => {
                        (at, Some(shard.found(violation, schedule)?))
                    }
                    Answered::Impossible => (at, Some(Decided::Infeasible(Columns::default()))),
                    Answered::GaveUp(_) => (at, None),
                })
            });
            decided.collect()
        })?;
        for (at, decided) in decided {
            match decided {
                Some(Decided::Found(finding)) if finding.certainty == Certainty::Possible => {
                    self.weaker[at] = Weaker::Possible(finding);
                }
                Some(decided) => self.decided[at] = Some(decided),
                None => {}
            }
        }
        Ok(())
    }

    /// Asks the solver about all open classes of the shards; each may cost so many conflicts.
    fn ask_solver(
        &mut self,
        shards: &Shards,
        conflicts: Option<u64>,
        in_haste: bool,
    ) -> Result<(), PredictError> {
        // With the same limit, the answer would be the same.
        if conflicts.is_some() && self.allowed >= conflicts {
            return Ok(());
        }
        self.allowed = conflicts;
        let open = self.open();
        let is_asked = |at: usize| {
            let is_much = conflicts.is_none_or(|conflicts| conflicts > MOST_CONFLICTS);
            let is_enough = is_much && self.is_refuted(at) && self.asked.limits.deadline.is_some();
            open.binary_search(&at).is_ok() && !is_enough
        };
        let limits = Limits { conflicts, ..self.asked.limits.clone() };
        let decide = |shard: &mut Shard, at: usize| shard.decide(self.class(at));
        let round = Round { in_haste, ..self.round(self.work, &limits) };
        // Where no question waits for another one, each has a solver of its own.
        let alone = open.len() <= self.asked.options.jobs && limits.deadline.is_some();
        let shards = if alone { Shards::alone(&open) } else { shards.only(is_asked) };
        for (at, decided) in round.ask(&shards.only(is_asked), decide)? {
            self.decided[at] = Some(decided);
        }
        Ok(())
    }
}

/// A moment before the deadline that leaves a third of the time.
fn early(deadline: Instant) -> Instant {
    deadline - deadline.saturating_duration_since(Instant::now()) / 3
}

/// A moment before the deadline that leaves half of the time.
fn half_way(deadline: Instant) -> Instant {
    deadline - deadline.saturating_duration_since(Instant::now()) / 2
}
