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

use std::time::{Duration, Instant};

use foretrace_explore::Answer as Answered;
use foretrace_model::Skeleton;
use foretrace_solve::Limits;
use foretrace_trace::Deadline;
use foretrace_verdict::{Certainty, Columns, Model, Property};

use crate::candidates::Parts;
use crate::effort::{Decider, Effort, Engines};
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
const TURNS: [(u64, u64); 3] = [(300, 50_000), (2_000, 500_000), (10_000, 2_000_000)];

/// How many states the questions of one shard may cost, however many shards there are.
const STATES_PER_SHARD: u64 = 20_000;

/// How much a question may cost, if time is short, once it is refuted under `values`: then it has
/// an answer, if only in part.
const MOST_CONFLICTS: u64 = 50_000;
const MOST_STATES: u64 = 500_000;

/// How much a question about freed memory may cost that nobody has asked for by name.
const SPARED_CONFLICTS: u64 = 200;
const SPARED_STATES: u64 = 50_000;

/// The answer to a class.
pub(crate) enum Answer {
    Decided(Decided),
    /// It is impossible in every schedule in which reads return their recorded values. Why it is
    /// not decided for others.
    OnlyForRecordedValues(Unanswered),
}

/// Answers all questions.
pub(crate) fn answer(asked: &Asked) -> Result<(Vec<Answer>, Effort), PredictError> {
    if asked.prepared.candidates() == 0 {
        return Ok((Vec::new(), Effort::default()));
    }
    let start = Instant::now();
    asked.under(&asked.prepared.skeleton, |work| {
        let mut stages = Stages { preparation: start.elapsed(), ..Stages::new(asked, work) };
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

/// What the explicit engine says of a class.
enum Explored {
    Open,
    /// A finding that may be real, or not.
    Possible(Finding),
    Decided(Decided),
}

struct Stages<'a> {
    asked: &'a Asked<'a>,
    work: &'a Work<'a>,
    /// By class; `None` if it has not been asked yet.
    decided: Vec<Option<Decided>>,
    weaker: Vec<Weaker>,
    /// Who has decided what is decided.
    deciders: Vec<Decider>,
    /// How many conflicts each question has been allowed so far.
    allowed: Option<u64>,
    /// How long it took to prepare the questions of a model.
    preparation: Duration,
}

impl<'a> Stages<'a> {
    fn new(asked: &'a Asked<'a>, work: &'a Work<'a>) -> Self {
        let classes = work.candidates.classes.len();
        let decided = std::iter::repeat_with(|| None).take(classes).collect();
        let weaker = vec![Weaker::Unknown; classes];
        let deciders = vec![Decider::Solver; classes];
        let preparation = Duration::ZERO;
        Stages { asked, work, decided, weaker, deciders, allowed: None, preparation }
    }

    fn run(&mut self) -> Result<(), PredictError> {
        let all: Vec<usize> = (0..self.decided.len()).collect();
        let shards = Shards::new(&self.work.candidates.classes, &all);
        let quick = |shard: &mut Shard, at: usize| {
            let decided = shard.without_solver(self.class(at))?;
            Ok((decided, shard.decider))
        };
        let quick = self.round(self.work, &self.asked.limits).ask(&shards, quick)?;
        for (at, (decided, decider)) in quick {
            self.decided[at] = decided;
            self.deciders[at] = decider;
        }
        let open = Shards::new(&self.work.candidates.classes, &self.open());
        if self.falls_back() && !open.is_empty() && self.has_time_to_prepare() {
            let mut skeleton = Skeleton::new(self.work.context.skeleton.trace, Model::Values);
            spoil_calls(&mut skeleton);
            self.asked.under(&skeleton, |values| self.ask_weaker(values, &open))?;
        }
        if self.asked.options.engines == Engines::Explicit && self.can_explore() {
            return self.ask_engine_alone(&open);
        }
        let limits = &self.asked.limits;
        if self.asks_engine() && !open.is_empty() && !self.limits().is_over() {
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
    fn finish(self) -> (Vec<Answer>, Effort) {
        let mut effort = self.work.spent.effort();
        let answers = self.decided.into_iter().zip(self.weaker).zip(self.deciders);
        let answers = answers.map(|((decided, weaker), decider)| {
            let decided = decided.expect("the solver is asked last");
            match (&decided, &weaker) {
                (Decided::Undecided(_), Weaker::Unknown) => {}
                (Decided::Undecided(_), _) => effort.count(Decider::Values, 1),
                _ => effort.count(decider, 1),
            }
            match (decided, weaker) {
                (Decided::Undecided(reason), Weaker::Refuted) => {
                    Answer::OnlyForRecordedValues(reason)
                }
                (Decided::Undecided(_), Weaker::Possible(finding)) => {
                    Answer::Decided(Decided::Found(finding))
                }
                (decided, _) => Answer::Decided(decided),
            }
        });
        (answers.collect(), effort)
    }

    /// The limits of what is asked next: the report needs some of the time.
    fn limits(&self) -> Limits {
        self.work.spent.before_report(&self.asked.limits)
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
                matches!(
                    reason,
                    Unanswered::ConflictBudget | Unanswered::TimeBudget | Unanswered::Interrupted
                )
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
            && options.engines == Engines::Staged
    }

    /// Whether another model can be prepared in half of the time that is left.
    fn has_time_to_prepare(&self) -> bool {
        let end = self.limits().deadline;
        end.is_none_or(|end| {
            half_way(end).saturating_duration_since(Instant::now()) > self.preparation
        })
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
                    self.deciders[at] = Decider::Values;
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

    /// Whether the class is asked only as far as the answer costs little.
    fn is_spared(&self, at: usize) -> bool {
        self.asked.options.spare_freed && matches!(self.class(at).parts, Parts::LateUse(_))
    }

    /// Whether the explicit engine is asked.
    fn asks_engine(&self) -> bool {
        let options = self.asked.options;
        // Without pruning, everything is the solver's.
        options.prune != Prune::Nothing && options.engines == Engines::Staged && self.can_explore()
    }

    /// Whether the explicit engine knows how to answer.
    fn can_explore(&self) -> bool {
        let skeleton = self.work.context.skeleton;
        self.asked.options.switches == Switches::Any
            && skeleton.model != Model::Control
            && !skeleton.is_program()
    }

    /// Asks the explicit engine about the open classes of the shards; all together may cost it so
    /// many states.
    fn ask_engine(&mut self, shards: &Shards, states: u64) -> Result<(), PredictError> {
        let mut open = self.open();
        let is_enough = |at: usize| {
            (states > MOST_STATES && self.is_refuted(at))
                || (states > SPARED_STATES && self.is_spared(at))
        };
        open.retain(|&at| !is_enough(at));
        if open.is_empty() || self.limits().is_over() {
            return Ok(());
        }
        let shards = shards.only(|at| open.binary_search(&at).is_ok());
        let states = STATES_PER_SHARD.max(states / shards.len() as u64);
        let moment = match self.asked.options.engines {
            Engines::Explicit => self.limits().deadline,
            Engines::Staged | Engines::Solver => self.limits().deadline.map(half_way),
        };
        let stop = self.asked.options.budget.stop;
        let deadline = moment.map_or(Deadline::NEVER, Deadline::at).or(stop);
        let round = self.round(self.work, &self.asked.limits);
        let explored =
            round.ask_shards(&shards, |numbers| self.explore(numbers, states, deadline))?;
        for (at, explored) in explored {
            match explored {
                Explored::Open => {}
                Explored::Possible(finding) => self.weaker[at] = Weaker::Possible(finding),
                Explored::Decided(decided) => {
                    self.decided[at] = Some(decided);
                    self.deciders[at] = Decider::Explicit;
                }
            }
        }
        Ok(())
    }

    /// What the explicit engine says of the classes of a shard.
    fn explore(
        &self,
        numbers: &[usize],
        states: u64,
        deadline: Deadline,
    ) -> Result<Vec<(usize, Explored)>, PredictError> {
        let (skeleton, groups) = (self.work.context.skeleton, &self.work.candidates.groups);
        let ask = |numbers: &[usize], explained: bool| {
            let classes: Vec<_> = numbers.iter().map(|&at| self.class(at)).collect();
            let report = explicit::ask(skeleton, groups, &classes, explained, states, deadline);
            self.work.spent.add_states(report.states);
            report.answers
        };
        let shard = Shard::new(self.work, self.asked.limits.clone());
        let mut explored = Vec::new();
        for (&at, answer) in numbers.iter().zip(ask(numbers, false)) {
            let first = self.explored(&shard, answer)?;
            let Explored::Possible(possible) = first else {
                explored.push((at, first));
                continue;
            };
            // It may also happen without the reads that make it only possible.
            let again = self.explored(&shard, ask(&[at], true).swap_remove(0))?;
            explored.push((
                at,
                match again {
                    Explored::Decided(Decided::Infeasible(_)) => {
                        Explored::Decided(Decided::Found(possible))
                    }
                    Explored::Decided(decided) => Explored::Decided(decided),
                    Explored::Open | Explored::Possible(_) => Explored::Possible(possible),
                },
            ));
        }
        Ok(explored)
    }

    fn explored(&self, shard: &Shard, answer: Answered) -> Result<Explored, PredictError> {
        Ok(match answer {
            Answered::Found { violation, schedule } => match shard.found(violation, schedule)? {
                Decided::Found(finding) if finding.certainty == Certainty::Possible => {
                    Explored::Possible(finding)
                }
                decided @ (Decided::Found(_)
                | Decided::Infeasible(_)
                | Decided::InfeasibleInBound
                | Decided::Undecided(_)) => Explored::Decided(decided),
            },
            Answered::Impossible => Explored::Decided(Decided::Infeasible(Columns::default())),
            Answered::GaveUp(_) => Explored::Open,
        })
    }

    /// Asks nobody but the explicit engine.
    fn ask_engine_alone(&mut self, shards: &Shards) -> Result<(), PredictError> {
        let (_, states) = TURNS[TURNS.len() - 1];
        self.ask_engine(shards, states * shards.len().max(1) as u64)?;
        for decided in self.decided.iter_mut().filter(|decided| decided.is_none()) {
            *decided = Some(Decided::Undecided(Unanswered::ConflictBudget));
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
        if self.limits().is_over() {
            for at in open {
                let reason = Unanswered::over(&self.limits());
                self.decided[at] = Some(Decided::Undecided(reason));
            }
            return Ok(());
        }
        let is_asked = |at: usize| {
            let is_much = conflicts.is_none_or(|conflicts| conflicts > MOST_CONFLICTS);
            let is_enough = is_much && self.is_refuted(at) && self.asked.limits.deadline.is_some();
            let is_dear = conflicts.is_none_or(|conflicts| conflicts > SPARED_CONFLICTS);
            let is_too_dear = is_dear && self.decided[at].is_some() && self.is_spared(at);
            open.binary_search(&at).is_ok() && !is_enough && !is_too_dear
        };
        let limits = Limits { conflicts, ..self.asked.limits.clone() };
        let decide = |shard: &mut Shard, at: usize| {
            let decided = shard.decide(self.class(at))?;
            Ok((decided, shard.decider))
        };
        let round = Round { in_haste, ..self.round(self.work, &limits) };
        // Where no question waits for another one, each has a solver of its own.
        let alone = open.len() <= self.asked.options.jobs && limits.deadline.is_some();
        let shards = if alone { Shards::alone(&open) } else { shards.only(is_asked) };
        for (at, (decided, decider)) in round.ask(&shards.only(is_asked), decide)? {
            self.decided[at] = Some(decided);
            self.deciders[at] = decider;
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
