//! The whole way: skeleton, candidates, verdicts, witnesses.
//!
//! **Invariant.** Every finding has passed the witness checker.

use std::time::Instant;

use foretrace_causality::{Givers, Graph, Locksets, MustHappenBefore, Needs, Order, Rules};
use foretrace_model::{Region, Skeleton, regions};
use foretrace_solve::Limits;
use foretrace_trace::Trace;
use foretrace_verdict::{Ledger, Property, Violation};

use crate::candidates::{self, Candidates, Class, Context, Parts};
use crate::cells::Cells;
use crate::effort::{Decider, Spent};
use crate::encode::Questions;
use crate::fault::spoil_calls;
use crate::judge::{Judge, TraceJudge};
use crate::prediction::*;
use crate::preserve::Preserve;
use crate::shard::Decided;
use crate::stages::{self, Answer};

/// Our own bug: what must never happen, happened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// The solver found a schedule that the independent checker refuses.
    #[error("internal error: the witness of {violation:?} is refused by the checker: {refuted}")]
    #[allow(missing_docs)]
    Refuted { violation: Violation, refuted: String },
    /// What was found infeasible is not proved to be so.
    #[error("internal error: the proof that {violation:?} is impossible is refused: {why}")]
    #[allow(missing_docs)]
    Unproved { violation: Violation, why: String },
}

/// What is done before anything is decided, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The interference skeleton.
    Skeleton,
    /// Must-happen-before.
    MustHappenBefore,
    /// Locksets.
    Locksets,
    /// The classes of candidates.
    Candidates,
}

/// All that is known of a trace before anything is decided.
#[derive(Debug)]
pub struct Prepared<'t> {
    pub(crate) skeleton: Skeleton<'t>,
    order: MustHappenBefore,
    givers: Givers,
    synchronisation: Option<Needs>,
    locksets: Locksets,
    regions: Vec<Region>,
    candidates: Candidates,
}

impl Prepared<'_> {
    /// How many questions are left to decide.
    pub fn candidates(&self) -> usize {
        self.candidates.classes.len()
    }
}

/// Prepares the prediction of a valid trace; calls `done` after each stage.
pub fn prepare<'t>(
    trace: &'t Trace,
    options: &Options,
    done: &mut dyn FnMut(Stage),
) -> Prepared<'t> {
    let model = options.model_for(trace);
    let mut skeleton = Skeleton::new(trace, model);
    spoil_calls(&mut skeleton);
    prepare_skeleton(skeleton, options, done)
}

fn prepare_skeleton<'t>(
    skeleton: Skeleton<'t>,
    options: &Options,
    done: &mut dyn FnMut(Stage),
) -> Prepared<'t> {
    let trace = skeleton.trace;
    done(Stage::Skeleton);
    let order = MustHappenBefore::new(trace);
    let givers = Givers::new(&skeleton);
    // Whether an assertion fails is a question of data, unless it is about freed memory.
    let is_about_order = |&asked: &Property| match asked {
        Property::Assertion => trace.has_cells(),
        Property::Race | Property::Atomicity | Property::Deadlock | Property::Lock => true,
    };
    let asks_for_order = options.properties.iter().any(is_about_order);
    let is_useless = !asks_for_order || options.prune == Prune::Nothing || skeleton.is_program();
    let synchronisation =
        if is_useless { None } else { Needs::new(&skeleton, &givers, Rules::SYNCHRONISATION) };
    done(Stage::MustHappenBefore);
    let locksets = Locksets::new(&skeleton);
    done(Stage::Locksets);
    let regions = regions(trace, &skeleton.locks, options.infer_regions);
    let candidates = Candidates::default();
    let mut prepared =
        Prepared { skeleton, order, givers, synchronisation, locksets, regions, candidates };
    let context = context(&prepared, options);
    let candidates = candidates::list(&context, &properties(options));
    prepared.candidates = candidates;
    done(Stage::Candidates);
    prepared
}

fn context<'p>(prepared: &'p Prepared<'_>, options: &Options) -> Context<'p> {
    Context {
        skeleton: &prepared.skeleton,
        order: &prepared.order,
        synchronisation: prepared.synchronisation.as_ref(),
        locksets: &prepared.locksets,
        regions: &prepared.regions,
        infer_regions: options.infer_regions,
        granularity: options.granularity,
        prune: options.prune != Prune::Nothing,
    }
}

/// The properties asked for, each once, in their order.
fn properties(options: &Options) -> Vec<Property> {
    let mut properties = options.properties.clone();
    properties.sort_unstable();
    properties.dedup();
    properties
}

/// Decides every candidate of a valid trace.
pub fn predict(
    trace: &Trace,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Prediction, PredictError> {
    let deadline = options.budget.time.map(|time| Instant::now() + time);
    progress.report(Phase::Preparing, 0, 0);
    let prepared = prepare(trace, options, &mut |_| {});
    let judge = TraceJudge::new(trace, prepared.skeleton.model, options.infer_regions);
    decide(&prepared, options, &judge, deadline, progress)
}

/// Decides every candidate of a program; `judge` says what a schedule proves.
pub fn predict_skeleton(
    skeleton: Skeleton,
    options: &Options,
    judge: &dyn Judge,
    progress: &dyn Progress,
) -> Result<Prediction, PredictError> {
    let deadline = options.budget.time.map(|time| Instant::now() + time);
    progress.report(Phase::Preparing, 0, 0);
    let prepared = prepare_skeleton(skeleton, options, &mut |_| {});
    decide(&prepared, options, judge, deadline, progress)
}

fn decide(
    prepared: &Prepared,
    options: &Options,
    judge: &dyn Judge,
    deadline: Option<Instant>,
    progress: &dyn Progress,
) -> Result<Prediction, PredictError> {
    let (skeleton, candidates) = (&prepared.skeleton, &prepared.candidates);
    let (model, properties) = (skeleton.model, properties(options));
    let Budget { conflicts, stop, .. } = options.budget;
    let limits = Limits { conflicts, deadline, stop: stop.flag() };
    let asked = Asked { prepared, options, judge, limits, progress, spent: Spent::default() };
    let (answers, mut effort) = stages::answer(&asked)?;
    let listed: u64 = candidates.pruned.values().map(|ledger| ledger.candidates).sum();
    effort.count(Decider::Order, listed);
    let slicing = skeleton.slicing();
    let refuted = if options.keep_refuted { refuted(candidates, &answers) } else { Vec::new() };
    let spared = |class: &Class| options.spare_freed && matches!(class.parts, Parts::LateUse(_));
    let answered = assemble(model, &properties, candidates, answers, spared);
    Ok(Prediction { slicing, refuted, effort, ..answered })
}

/// All questions, and how they are to be answered.
pub(crate) struct Asked<'a> {
    pub(crate) prepared: &'a Prepared<'a>,
    pub(crate) options: &'a Options,
    pub(crate) judge: &'a dyn Judge,
    pub(crate) limits: Limits,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) spent: Spent,
}

impl Asked<'_> {
    /// Calls `ask` with all that helps to answer the questions under the model of `skeleton`, which
    /// is one of the same trace.
    pub(crate) fn under<R>(
        &self,
        skeleton: &Skeleton,
        ask: impl FnOnce(&Work) -> Result<R, PredictError>,
    ) -> Result<R, PredictError> {
        let Asked { prepared, options, .. } = self;
        let candidates = &prepared.candidates;
        let context = Context { skeleton, ..context(prepared, options) };
        let givers = &prepared.givers;
        let closures = |order| {
            // A program has no recorded order.
            let is_useless = match order {
                Order::Recorded => skeleton.is_program(),
                Order::Any => options.prune == Prune::Nothing,
            };
            let is_closed = |class: &Class| match order {
                Order::Recorded => !class.parts.are_about_data(),
                Order::Any => !class.parts.are_about_data() || !skeleton.pins_reads(),
            };
            if is_useless || !candidates.classes.iter().any(is_closed) {
                None
            } else {
                Preserve::new(skeleton, givers, order)
            }
        };
        let (any_order, recorded_order) = (closures(Order::Any), closures(Order::Recorded));
        let graph = match (&any_order, &prepared.synchronisation) {
            (Some(any_order), Some(order)) if options.prune == Prune::Graph => {
                Graph::new(skeleton, givers, order, Some(any_order.needs()))
            }
            _ => None,
        };
        let cells = Cells::new(skeleton, &prepared.order);
        ask(&Work {
            context: &context,
            candidates,
            any_order: any_order.as_ref(),
            recorded_order: recorded_order.as_ref(),
            graph: graph.as_ref(),
            synchronisation: prepared.synchronisation.as_ref(),
            judge: self.judge,
            switches: options.switches,
            cells: &cells,
            progress: self.progress,
            spent: &self.spent,
        })
    }
}

/// What all shards share.
pub(crate) struct Work<'w> {
    pub(crate) context: &'w Context<'w>,
    pub(crate) candidates: &'w Candidates,
    pub(crate) any_order: Option<&'w Preserve<'w>>,
    pub(crate) recorded_order: Option<&'w Preserve<'w>>,
    pub(crate) graph: Option<&'w Graph<'w>>,
    pub(crate) synchronisation: Option<&'w Needs>,
    pub(crate) judge: &'w dyn Judge,
    pub(crate) switches: Switches,
    pub(crate) cells: &'w Cells,
    pub(crate) progress: &'w dyn Progress,
    pub(crate) spent: &'w Spent,
}

impl<'w> Work<'w> {
    /// Order that no schedule avoids, whatever read may be free in questions of this kind.
    pub(crate) fn facts(&self, questions: Questions) -> Option<&'w Needs> {
        let is_released = self.context.skeleton.pins_reads();
        let needs = match questions {
            Questions::Plain => self.any_order.map(Preserve::needs),
            Questions::Assertions if !is_released => {
                self.any_order.map(Preserve::needs).or(self.synchronisation)
            }
            Questions::Atomicity | Questions::Assertions => self.synchronisation,
        };
        needs.filter(|_| !self.context.skeleton.is_program())
    }
}

/// An example of each class that is refuted without a bound.
fn refuted(candidates: &Candidates, answers: &[Answer]) -> Vec<(Property, Violation)> {
    let is_refuted = |answer: &Answer| matches!(answer, Answer::Decided(Decided::Infeasible(_)));
    let answers = candidates.classes.iter().zip(answers);
    let by_decision = answers.filter(|(_, answer)| is_refuted(answer));
    let mut refuted = candidates.refuted.clone();
    refuted.extend(by_decision.map(|(class, _)| (class.property, class.example.clone())));
    refuted.sort_unstable();
    refuted
}

fn assemble(
    model: foretrace_verdict::Model,
    properties: &[Property],
    candidates: &Candidates,
    answers: Vec<Answer>,
    is_spared: impl Fn(&Class) -> bool,
) -> Prediction {
    let pruned = |property| candidates.pruned.get(&property).copied().unwrap_or_default();
    let mut ledgers: Vec<(Property, Ledger)> =
        properties.iter().map(|&property| (property, pruned(property))).collect();
    let mut findings = Vec::new();
    let (mut undecided, mut for_recorded_values) = (Vec::new(), Vec::new());
    let mut spared = 0;
    for (class, answer) in candidates.classes.iter().zip(answers) {
        if matches!(answer, Answer::Decided(Decided::Undecided(_))) && is_spared(class) {
            spared += 1;
            continue;
        }
        let entry = ledgers.iter_mut().find(|(known, _)| *known == class.property);
        let ledger = &mut entry.expect("only asked properties have candidates").1;
        ledger.candidates += 1;
        let open = |reason| {
            let (property, example) = (class.property, class.example.clone());
            Undecided { property, example, reason }
        };
        match answer {
            Answer::Decided(Decided::Found(finding)) => {
                ledger.violated += 1;
                findings.push((&class.example, finding));
            }
            Answer::Decided(Decided::Infeasible(columns)) => ledger.refute(columns),
            Answer::Decided(Decided::InfeasibleInBound) => ledger.infeasible_in_bound += 1,
            Answer::Decided(Decided::Undecided(reason)) => {
                ledger.undecided += 1;
                undecided.push(open(reason));
            }
            Answer::OnlyForRecordedValues(reason) => {
                ledger.infeasible_for_recorded_values += 1;
                for_recorded_values.push(open(reason));
            }
        }
    }
    for (property, example, reason) in &candidates.unlisted {
        let entry = ledgers.iter_mut().find(|(known, _)| known == property);
        let ledger = &mut entry.expect("only asked properties have candidates").1;
        ledger.candidates += 1;
        ledger.undecided += 1;
        let (property, example, reason) = (*property, example.clone(), reason.clone());
        undecided.push(Undecided { property, example, reason });
    }
    // By what the class is, not by which member was found: that may differ with what was pruned.
    findings.sort_by_key(|(example, _)| (example.property(), *example));
    let findings = findings.into_iter().map(|(_, finding)| finding).collect();
    let mut not_asked = candidates.not_asked.clone();
    if spared > 0 {
        not_asked.push(NotAsked::LateUses(spared));
    }
    let answered = Prediction { ledgers, findings, undecided, ..Prediction::new(model) };
    Prediction { for_recorded_values, not_asked, ..answered }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use foretrace_testing::Random;

    use super::*;
    use crate::encode::{Encoder, Terms};
    use crate::goal::{Goals, Verdict};

    /// Threads that read and write a few variables, most of it under locks; each value is one of
    /// three.
    fn contended() -> Trace {
        let (mut random, mut values) = (Random::new(7), [0u64; 4]);
        let mut lines = String::from("init x0 = 0\ninit x1 = 0\ninit x2 = 0\ninit x3 = 0\n");
        for step in 0..120 {
            let (thread, lock) = (random.below(6), random.below(3));
            if step % 4 != 0 {
                writeln!(lines, "t{thread}: acquire m{lock}").unwrap();
            }
            for _ in 0..2 {
                let at = random.below(4);
                let value = random.below_u64(3);
                if random.one_in(2) {
                    writeln!(lines, "t{thread}: read x{at} : {}", values[at]).unwrap();
                } else {
                    values[at] = value;
                    writeln!(lines, "t{thread}: write x{at} = {value}").unwrap();
                }
            }
            if step % 4 != 0 {
                writeln!(lines, "t{thread}: release m{lock}").unwrap();
            }
        }
        foretrace_trace::text::parse(&lines).unwrap()
    }

    #[test]
    fn a_limit_of_conflicts_is_for_all_rounds_of_a_question() {
        let trace = contended();
        let model = Some(foretrace_verdict::Model::Values);
        let properties = vec![Property::Race];
        let options = Options { model, properties, ..Options::default() };
        let prepared = prepare(&trace, &options, &mut |_| {});
        let mut cut_short = 0;
        for class in prepared.candidates.classes.iter().step_by(37) {
            let decide = |conflicts: Option<u64>| {
                let cells = Cells::default();
                let mut encoder =
                    Encoder::new(&prepared.skeleton, &prepared.order, &cells, Questions::Plain);
                let limits = Limits { conflicts, ..Limits::default() };
                let mut terms = Terms::new(limits);
                let groups = &prepared.candidates.groups;
                let verdict =
                    Goals::default().decide(&mut encoder, groups, &class.parts, &mut terms);
                (verdict, encoder.solver.statistics())
            };
            let (_, needed) = decide(None);
            let limit = needed.conflicts / 2;
            let (verdict, used) = decide(Some(limit));
            assert!(used.conflicts <= limit + 1, "{} of {limit} conflicts", used.conflicts);
            if needed.conflicts > 20 && needed.solves > 3 {
                assert!(matches!(verdict, Verdict::Undecided(_)), "{verdict:?}");
                cut_short += 1;
            }
        }
        assert!(cut_short > 5, "{cut_short}");
    }

    /// Counts how often a solver is asked.
    #[derive(Default)]
    struct Asked(AtomicUsize);

    impl Progress for Asked {
        fn report(&self, _: Phase, _: u64, _: u64) {}

        fn solved(&self, _: std::time::Duration) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_thread_that_comes_late_needs_no_solver() {
        // For b to be at its read, c must have had m before a has it; e cannot read what it read
        // then, and stays away.
        let text = "a: acquire m\na: write v\n\
             e: acquire n\ne: read v\ne: release n\n\
             d: acquire n\nd: write w\nd: release n\n\
             a: write x\na: release m\n\
             c: acquire m\nc: write y\nc: read w\nc: release m\n\
             b: read y\nb: read x\n";
        let trace = foretrace_trace::text::parse(text).unwrap();
        let options = Options { properties: vec![Property::Race], ..Options::default() };
        let asked = Asked::default();
        let prediction = predict(&trace, &options, &asked).unwrap();
        let [first, last] = [8, 15].map(foretrace_trace::EventId::from);
        let race = Violation::Race(first, last);
        assert!(prediction.findings.iter().any(|finding| finding.violation == race));
        assert_eq!(asked.0.into_inner(), 0);
    }
}
