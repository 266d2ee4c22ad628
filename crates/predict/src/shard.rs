//! Decides classes one by one, with solvers of its own.
//!
//! **Computes.** The verdict on a class: by needs that no order avoids, by a schedule in recorded
//! order, by the solver, and for assertions by schedules in which one thread sleeps. Every schedule
//! goes to the judge.
//!
//! **Invariant.** What a shard answers depends on the classes that it was asked about before, and
//! on nothing else but a time budget that fires.

use std::time::Instant;

use foretrace_solve::Limits;
use foretrace_trace::EventId;
use foretrace_verdict::{Certainty, Columns, Model, Property, Violation};
use foretrace_witness::{context_switches, reported_order};

use crate::candidates::{Class, Parts};
use crate::delays::{self, Tries};
use crate::effort::Decider;
use crate::encode::{Encoder, Questions, Terms};
use crate::fault::{Fault, is_seeded};
use crate::goal::{Goals, Verdict};
use crate::judge::Judgement;
use crate::pipeline::{PredictError, Work};
use crate::prediction::{Finding, Switches};
use crate::prune::{Pruner, Tried};
use crate::unanswered::Unanswered;

/// A solver with more variables than this is replaced by a new one before the next question.
const MOST_VARIABLES: u64 = 30_000;

/// How many wrong proposals the solver may make for an assertion before something else is tried.
const PROPOSALS_AT_ONCE: u32 = 1;
const CONFLICTS_AT_ONCE: u64 = 100;

/// How hard it is tried to prove without the bound what was proved with it.
const CONFLICTS_TO_LIFT: u64 = 1_000;
const PROPOSALS_TO_LIFT: u32 = 50;

/// How many bounds on the context switches are tried before the question is asked without one.
const BOUNDS_BEFORE_NONE: u32 = 5;

/// The verdict on a class, with the evidence.
pub(crate) enum Decided {
    Found(Finding),
    Infeasible(Columns<bool>),
    InfeasibleInBound,
    Undecided(Unanswered),
}

/// The solvers of one shard.
pub(crate) struct Shard<'w> {
    work: &'w Work<'w>,
    /// The limits that were given for each question, and those of the present one, which leave time
    /// for the report.
    given: Limits,
    limits: Limits,
    /// How many schedules are tried for an assertion.
    tries: Tries,
    pruner: Pruner<'w>,
    /// Who has decided the last question, if it is decided.
    pub(crate) decider: Decider,
    plain: Option<(Encoder<'w>, Goals)>,
    atomicity: Option<(Encoder<'w>, Goals)>,
    assertions: Option<(Encoder<'w>, Goals)>,
}

impl<'w> Shard<'w> {
    /// `limits` are for each question.
    pub(crate) fn new(work: &'w Work<'w>, limits: Limits) -> Self {
        let pruner = Pruner::new(work);
        let tries = Tries::Many;
        let (plain, atomicity, assertions) = (None, None, None);
        let decider = Decider::Order;
        let given = limits.clone();
        Shard { work, given, limits, tries, pruner, decider, plain, atomicity, assertions }
    }

    /// One that leaves out what takes long.
    pub(crate) fn in_haste(work: &'w Work<'w>, limits: Limits) -> Self {
        Shard { tries: Tries::Few, ..Shard::new(work, limits) }
    }

    /// Decides a class. A finding that is only possible is asked for again without the reads that
    /// make it so.
    pub(crate) fn decide(&mut self, class: &Class) -> Result<Decided, PredictError> {
        self.limits = self.work.spent.before_report(&self.given);
        let decided = self.decide_certainly(class)?;
        self.count(&decided);
        Ok(decided)
    }

    fn decide_certainly(&mut self, class: &Class) -> Result<Decided, PredictError> {
        if self.limits.is_over() {
            return Ok(Decided::Undecided(Unanswered::over(&self.limits)));
        }
        let mut terms = Terms::new(self.limits.clone());
        terms.induced = self.pruner.induced(class);
        let decided = self.decide_on(class, &mut terms)?;
        // What is left of the budget is for the second question.
        terms.explained = true;
        if let Decided::Found(Finding { certainty: Certainty::Possible, .. }) = decided
            && self.work.context.skeleton.model != Model::Control
            && !is_seeded(Fault::PossibleAtOnce)
            && let Decided::Found(real) = self.decide_on(class, &mut terms)?
        {
            assert_eq!(real.certainty, Certainty::Real, "each read has a recorded writer");
            return Ok(Decided::Found(real));
        }
        Ok(decided)
    }

    /// The verdict, if closures give one that is certain.
    pub(crate) fn without_solver(
        &mut self,
        class: &Class,
    ) -> Result<Option<Decided>, PredictError> {
        self.limits = self.work.spent.before_report(&self.given);
        let terms = Terms::new(self.limits.clone());
        let most = match self.work.switches {
            Switches::Any => None,
            Switches::AtMost(most) => Some(most),
            Switches::Fewest => Some(0),
        };
        let decided = self.by_closures(class, &terms, most)?;
        if decided.is_none()
            && let Some((columns, by)) =
                self.pruner.refuted(class, Tried::AfterRecordedOrder, false)
        {
            self.decider = by;
            return Ok(Some(Decided::Infeasible(columns)));
        }
        let possible = |decided: &Decided| {
            matches!(decided, Decided::Found(Finding { certainty: Certainty::Possible, .. }))
        };
        let decided = decided.filter(|decided| !possible(decided));
        decided.iter().for_each(|decided| self.count(decided));
        Ok(decided)
    }

    /// Counts what is to be reported.
    fn count(&self, decided: &Decided) {
        match decided {
            Decided::Found(finding) => self.work.spent.add_found(finding.schedule.len()),
            Decided::Infeasible(_) | Decided::InfeasibleInBound | Decided::Undecided(_) => {}
        }
    }

    /// The verdict, if closures give one; `most`: only witnesses with at most so many context
    /// switches count.
    fn by_closures(
        &mut self,
        class: &Class,
        terms: &Terms,
        most: Option<u32>,
    ) -> Result<Option<Decided>, PredictError> {
        let work = self.work;
        if self.limits.is_over() {
            return Ok(Some(Decided::Undecided(Unanswered::over(&self.limits))));
        }
        if let Some((columns, by)) = self.pruner.refuted(class, Tried::First, terms.explained) {
            self.decider = by;
            return Ok(Some(Decided::Infeasible(columns)));
        }
        let groups = &work.candidates.groups;
        if let Some(recorded_order) = work.recorded_order
            && let Some((violation, schedule)) =
                recorded_order.witness(groups, class, terms.explained)
        {
            let finding = self.witness(violation, schedule, Vec::new())?;
            let finding = finding.expect("schedules in recorded order are not about values");
            if most.is_none_or(|most| self.switches_of(&finding) <= most) {
                self.decider = Decider::Tries;
                return Ok(Some(Decided::Found(finding)));
            }
        }
        Ok(None)
    }

    fn events(&self) -> usize {
        self.work.context.skeleton.trace.len()
    }

    fn switches_of(&self, finding: &Finding) -> u32 {
        let trace = self.work.context.skeleton.trace;
        let order = reported_order(trace, &finding.violation, &finding.schedule);
        context_switches(trace, &order) as u32
    }

    fn decide_on(&mut self, class: &Class, terms: &mut Terms) -> Result<Decided, PredictError> {
        match self.work.switches {
            Switches::Any => self.decide_within(class, None, terms),
            Switches::AtMost(most) => {
                // No schedule has more switches than events.
                let most = Some(most).filter(|&most| (most as usize) < self.events());
                match self.decide_within(class, most, terms)? {
                    Decided::InfeasibleInBound if self.is_lifted(class, terms) => {
                        Ok(Decided::Infeasible(Columns::default()))
                    }
                    decided @ (Decided::Found(_)
                    | Decided::Infeasible(_)
                    | Decided::InfeasibleInBound
                    | Decided::Undecided(_)) => Ok(decided),
                }
            }
            Switches::Fewest => self.fewest_switches(class, terms),
        }
    }

    /// Tries the bounds from 0 upward. A proof may go on to use the bound for ever, so at some
    /// point the question is asked without it.
    fn fewest_switches(
        &mut self,
        class: &Class,
        terms: &mut Terms,
    ) -> Result<Decided, PredictError> {
        let mut known = None;
        for bound in 0.. {
            match self.decide_within(class, Some(bound), terms)? {
                Decided::InfeasibleInBound => {}
                other @ (Decided::Found(_) | Decided::Infeasible(_) | Decided::Undecided(_)) => {
                    return Ok(other);
                }
            }
            if bound == BOUNDS_BEFORE_NONE {
                match self.decide_within(class, None, terms)? {
                    Decided::Found(finding) => known = Some(finding),
                    other @ (Decided::Infeasible(_)
                    | Decided::InfeasibleInBound
                    | Decided::Undecided(_)) => return Ok(other),
                }
            }
            if let Some(finding) = known.take_if(|finding| self.switches_of(finding) <= bound + 1) {
                return Ok(Decided::Found(finding));
            }
        }
        unreachable!("a schedule with as many switches as events has no other above it")
    }

    /// Schedules in which an assertion fails because one thread sleeps for a while; the judge has
    /// accepted them.
    fn delayed<'d>(
        &'d self,
        class: &'d Class,
        tries: Tries,
        terms: &'d Terms,
    ) -> impl Iterator<Item = (Violation, Vec<EventId>)> + 'd {
        let context = self.work.context;
        let events = match &class.parts {
            Parts::Assertion(events) if !context.skeleton.is_program() => &events[..],
            Parts::Race(_)
            | Parts::Atomicity(_)
            | Parts::LockCycle(_)
            | Parts::Stuck(_)
            | Parts::Lock(_)
            | Parts::LateUse(_)
            | Parts::Assertion(_) => &[],
        };
        let schedules = move |&event: &EventId| {
            delays::schedules(context.skeleton, context.order, event, tries)
                .map(move |schedule| (Violation::Assertion(event), schedule))
        };
        events
            .iter()
            .flat_map(schedules)
            .take_while(|_| !terms.limits.is_over())
            .filter(|(violation, schedule)| self.work.judge.accepts(violation, schedule))
    }

    /// A witness for an assertion in which one thread sleeps for a while.
    fn by_delays(
        &self,
        class: &Class,
        most: Option<u32>,
        tries: Tries,
        terms: &Terms,
    ) -> Result<Option<Finding>, PredictError> {
        for (violation, schedule) in self.delayed(class, tries, terms) {
            let finding = self.witness(violation, schedule, Vec::new())?;
            if let Ok(finding) = finding
                && most.is_none_or(|most| self.switches_of(&finding) <= most)
                && (!terms.explained || finding.certainty == Certainty::Real)
            {
                return Ok(Some(finding));
            }
        }
        Ok(None)
    }

    /// A witness for a race of one pair, or a use of freed memory, in which one thread comes late.
    fn late(&self, class: &Class, most: Option<u32>, terms: &Terms) -> Option<Finding> {
        // Without pruning, everything is the solver's.
        self.work.graph?;
        let (groups, recorded_order) = (&self.work.candidates.groups, self.work.recorded_order?);
        let tries: Box<dyn Iterator<Item = _>> = match &class.parts {
            Parts::Race(parts) => match &parts[..] {
                [part] => Box::new(recorded_order.late_races(groups, part, terms.explained)),
                _ => return None,
            },
            Parts::LateUse(events) => Box::new(recorded_order.late_uses(events, terms.explained)),
            Parts::Atomicity(_)
            | Parts::LockCycle(_)
            | Parts::Stuck(_)
            | Parts::Lock(_)
            | Parts::Assertion(_) => return None,
        };
        // That a try is refused is no bug.
        let mut findings = tries.filter_map(|(violation, schedule)| {
            self.witness(violation, schedule, Vec::new()).ok()?.ok()
        });
        findings.find(|finding| {
            most.is_none_or(|most| self.switches_of(finding) <= most)
                && (!terms.explained || finding.certainty == Certainty::Real)
        })
    }

    /// Decides a class; `most`: only schedules with at most so many context switches count.
    fn decide_within(
        &mut self,
        class: &Class,
        most: Option<u32>,
        terms: &mut Terms,
    ) -> Result<Decided, PredictError> {
        if let Some(decided) = self.by_closures(class, terms, most)? {
            return Ok(decided);
        }
        // What the solver does not see at once may be easy to find by trying.
        self.decider = Decider::Tries;
        if let Some(finding) = self.late(class, most, terms) {
            return Ok(Decided::Found(finding));
        }
        let mut verdict = None;
        if matches!(class.parts, Parts::Assertion(_)) {
            if let Some(finding) = self.by_delays(class, most, Tries::Few, terms)? {
                return Ok(Decided::Found(finding));
            }
            let quick = self.ask_quickly(class, most, terms);
            verdict = Some(quick).filter(|quick| !matches!(quick, Verdict::Undecided(_)));
            if verdict.is_none()
                && self.tries == Tries::Many
                && let Some(finding) = self.by_delays(class, most, Tries::Many, terms)?
            {
                return Ok(Decided::Found(finding));
            }
        }
        self.decider = Decider::Solver;
        match verdict.unwrap_or_else(|| self.ask(class, most, terms)) {
            Verdict::Violated(violation, proposal) => {
                let finding = match self.witness(violation, proposal.schedule, proposal.inputs)? {
                    Ok(finding) => finding,
                    Err(doubt) => return Ok(Decided::Undecided(doubt)),
                };
                let switches = self.switches_of(&finding);
                assert!(most.is_none_or(|most| switches <= most), "{switches} switches: {most:?}");
                Ok(Decided::Found(finding))
            }
            Verdict::Infeasible => Ok(Decided::Infeasible(Columns::default())),
            Verdict::InfeasibleInBound => Ok(Decided::InfeasibleInBound),
            Verdict::Undecided(_) if self.limits.is_over() => {
                Ok(Decided::Undecided(Unanswered::over(&self.limits)))
            }
            Verdict::Undecided(reason) => Ok(Decided::Undecided(reason)),
        }
    }

    /// Whether a class that has no witness within a bound has none at all, if that is easy to see:
    /// a proof may use the bound without needing it.
    fn is_lifted(&mut self, class: &Class, terms: &Terms) -> bool {
        let mut terms = terms.clone();
        let conflicts = terms.limits.conflicts.unwrap_or(u64::MAX).min(CONFLICTS_TO_LIFT);
        terms.limits.conflicts = Some(conflicts);
        if matches!(class.parts, Parts::Assertion(_)) {
            // A witness that is easy to find saves the search for a proof that there cannot be.
            if self.is_delayed(class, Tries::Few, &terms) {
                return false;
            }
            match self.ask_quickly(class, None, &mut terms) {
                Verdict::Undecided(_) => {}
                verdict @ (Verdict::Violated(..)
                | Verdict::Infeasible
                | Verdict::InfeasibleInBound) => return matches!(verdict, Verdict::Infeasible),
            }
            if self.is_delayed(class, Tries::Many, &terms) {
                return false;
            }
        }
        terms.proposals = Some(PROPOSALS_TO_LIFT);
        matches!(self.ask(class, None, &mut terms), Verdict::Infeasible)
    }

    /// Whether an assertion fails if one thread sleeps, whatever the switches.
    fn is_delayed(&self, class: &Class, tries: Tries, terms: &Terms) -> bool {
        // Then the judge does not ask for enough.
        !terms.explained && self.delayed(class, tries, terms).next().is_some()
    }

    /// Asks the solver for what it sees at once.
    fn ask_quickly(&mut self, class: &Class, most: Option<u32>, terms: &mut Terms) -> Verdict {
        let mut quick = terms.clone();
        let given = terms.limits.conflicts.unwrap_or(u64::MAX).min(CONFLICTS_AT_ONCE);
        quick.limits.conflicts = Some(given);
        quick.proposals = Some(PROPOSALS_AT_ONCE);
        let verdict = self.ask(class, most, &mut quick);
        if let Some(left) = &mut terms.limits.conflicts {
            *left -= given - quick.limits.conflicts.unwrap_or(0).min(given);
        }
        verdict
    }

    /// Asks the solver.
    fn ask(&mut self, class: &Class, most: Option<u32>, terms: &mut Terms) -> Verdict {
        let start = Instant::now();
        let work = self.work;
        let groups = &work.candidates.groups;
        let (questions, solver) = match class.property {
            Property::Atomicity => (Questions::Atomicity, &mut self.atomicity),
            Property::Assertion if class.parts.are_about_data() => {
                (Questions::Assertions, &mut self.assertions)
            }
            Property::Race | Property::Deadlock | Property::Lock | Property::Assertion => {
                (Questions::Plain, &mut self.plain)
            }
        };
        // Every model assigns every variable, so one that earlier questions have filled is slow.
        let is_full = |(encoder, _): &(Encoder, Goals)| encoder.solver.variables() > MOST_VARIABLES;
        if solver.as_ref().is_some_and(is_full) {
            *solver = None;
        }
        let (encoder, goals) = solver.get_or_insert_with(|| {
            let context = work.context;
            let encoder = Encoder::new(context.skeleton, context.order, work.cells, questions);
            (encoder.with_facts(work.facts(questions)), Goals::default())
        });
        terms.bound = None;
        encoder.begin(&terms.limits);
        let before = encoder.solver.statistics().conflicts;
        let verdict = match most {
            None => goals.decide(encoder, groups, &class.parts, terms),
            Some(most) => goals.decide_in_bound(encoder, groups, class, most, terms),
        };
        work.progress.solved(start.elapsed());
        work.spent.add_conflicts(encoder.solver.statistics().conflicts - before);
        if encoder.is_exhausted() {
            *solver = None;
            if matches!(verdict, Verdict::Undecided(_)) && !terms.limits.is_over() {
                return Verdict::Undecided(Unanswered::FormulaTooLarge);
            }
        }
        verdict
    }

    /// What a schedule decides that somebody else has found.
    pub(crate) fn found(
        &self,
        violation: Violation,
        schedule: Vec<EventId>,
    ) -> Result<Decided, PredictError> {
        let finding = self.witness(violation, schedule, Vec::new())?;
        let decided = finding.map_or_else(Decided::Undecided, Decided::Found);
        self.count(&decided);
        Ok(decided)
    }

    /// The finding that a schedule proves, or why it proves nothing certain.
    fn witness(
        &self,
        violation: Violation,
        schedule: Vec<EventId>,
        inputs: Vec<(EventId, u64)>,
    ) -> Result<Result<Finding, Unanswered>, PredictError> {
        let trace = self.work.context.skeleton.trace;
        match self.work.judge.judge(&violation, schedule, &inputs) {
            Judgement::Accepted { schedule, certainty, explanation } => {
                let finding = Finding::new(trace, violation, schedule, certainty);
                Ok(Ok(Finding { explanation, inputs, ..finding }))
            }
            Judgement::Doubted(reason) => Ok(Err(reason)),
            Judgement::Refuted(refuted) => Err(PredictError::Refuted { violation, refuted }),
        }
    }
}
