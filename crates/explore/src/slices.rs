//! First a few objects, then as many as it takes.
//!
//! **Computes.** The answers to questions about a trace. A batch of questions is explored with the
//! objects that it needs in any case. What is impossible then is impossible. What is found is
//! repeated with all objects: if it holds there, it is found; if not, the objects are kept as well
//! that refuse it, and the batch is explored again.
//!
//! **Follows.** Counterexample-guided abstraction refinement (Clarke, Grumberg, Jha, Lu, Veith, CAV
//! 2000), where an abstraction is a set of objects. `docs/theory.md`, section 7, *slices*.
//!
//! **Invariant.** A round either answers a question or keeps another object. Questions that are
//! cheap are answered before dear ones are asked again with more states.

use std::collections::BTreeMap;

use foretrace_causality::{Locksets, MustHappenBefore};
use foretrace_model::Skeleton;
use foretrace_trace::{EventId, ThreadId, Trace};
use foretrace_verdict::{Kind, Model, Violation};

use crate::fault::{Fault, is_seeded};
use crate::formula::Code;
use crate::goals::Goals;
use crate::kept::Kept;
use crate::matter::Matter;
use crate::needs::Needs;
use crate::question::{Answer, Limits, Options, Question, Reason, Report, Slices};
use crate::rivals::Rivals;
use crate::script::Script;
use crate::search::{outcomes, search};
use crate::world::World;

/// How many states an exploration has at first, and how many times more when it is asked again.
const FIRST_STATES: u64 = 20_000;
const MORE_STATES: u64 = 8;
/// So many threads and bytes make a state cost as much as another one.
const PARTS_PER_STATE: u64 = 32;

/// How many events cost as much to prepare as one state to visit.
const EVENTS_PER_STATE: u64 = 4;

/// Over how many positions values may be used, all together.
const MOST_SPANS: u64 = 20_000_000;

/// How many worlds a repeated schedule may lead to: signals choose.
const MOST_WORLDS: usize = 64;

/// Answers questions about a trace.
pub fn explore(skeleton: &Skeleton, questions: &[Question], options: &Options) -> Report {
    let refused = match skeleton.model {
        Model::Control => Some(Reason::FreeValues),
        Model::ReadsFrom | Model::Values | Model::Symbolic => None,
    };
    let is_program = skeleton.is_program().then_some(Reason::Program);
    let too_wide = (skeleton.trace.threads().len() > u16::MAX.into()).then_some(Reason::TooWide);
    let answers = vec![Answer::GaveUp(Reason::States); questions.len()];
    let mut report = Report { answers, explorations: 0, states: 0, steps: 0, price: 0 };
    if let Some(reason) = refused.or(is_program).or(too_wide) {
        report.answers.fill(Answer::GaveUp(reason));
        return report;
    }
    if questions.is_empty() {
        return report;
    }
    let code = Code::new(skeleton);
    if code.spans(skeleton.trace) > MOST_SPANS {
        report.answers.fill(Answer::GaveUp(Reason::Memory));
        return report;
    }
    let asked = Goals::new(skeleton.trace, questions.iter().collect()).assertions();
    let whole = Whole {
        skeleton,
        options,
        matter: &Matter::new(skeleton, &asked),
        order: &MustHappenBefore::new(skeleton.trace),
        locksets: &Locksets::new(skeleton),
        all: &Kept::all(skeleton),
        code: &code,
    };
    let by_thread = by_thread(skeleton.trace, questions);
    let (owners, units) = units(skeleton.trace, questions, &by_thread);
    let answers = vec![Answer::GaveUp(Reason::States); units.len()];
    let mut of_units = Report { answers, explorations: 0, states: 0, steps: 0, price: 0 };
    whole.answer(&owners, &units, &mut of_units);
    report.answers.fill(Answer::Impossible);
    for (&owner, answer) in owners.iter().zip(of_units.answers) {
        let known = &mut report.answers[owner];
        match (&known, &answer) {
            (Answer::Found { .. }, _) | (_, Answer::Impossible) => {}
            (Answer::GaveUp(_), Answer::GaveUp(_)) => {}
            (Answer::Impossible | Answer::GaveUp(_), _) => *known = answer,
        }
    }
    Report { answers: report.answers, ..of_units }
}

/// The events of each assertion, apart for each thread.
fn by_thread(trace: &Trace, questions: &[Question]) -> Vec<Vec<Vec<EventId>>> {
    let parts = |question: &Question| {
        let mut parts: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
        if let Question::Assertion(events) = question {
            for &event in *events {
                parts.entry(trace.thread_of(event)).or_default().push(event);
            }
        }
        parts.into_values().collect()
    };
    questions.iter().map(parts).collect()
}

/// The questions in parts: races and atomicity violations of two threads each, assertions of one.
/// Returns which question a part is of. What is explored for a part need not distinguish how far
/// other threads are.
fn units<'q>(
    trace: &Trace,
    questions: &[Question<'q>],
    by_thread: &'q [Vec<Vec<EventId>>],
) -> (Vec<usize>, Vec<Question<'q>>) {
    let (mut owners, mut units) = (Vec::new(), Vec::new());
    let mut add = |owner: usize, unit: Question<'q>| {
        owners.push(owner);
        units.push(unit);
    };
    let threads = |a: EventId, b: EventId| {
        let (a, b) = (trace.thread_of(a), trace.thread_of(b));
        (a.min(b), a.max(b))
    };
    for (at, question) in questions.iter().enumerate() {
        match question {
            Question::Race(parts) => {
                let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for &part in parts {
                    pairs.entry(threads(part.0[0], part.1[0])).or_default().push(part);
                }
                pairs.into_values().for_each(|parts| add(at, Question::Race(parts)));
            }
            Question::Atomicity(parts) => {
                let mut pairs: BTreeMap<_, Vec<_>> = BTreeMap::new();
                for &part in parts {
                    pairs.entry(threads(part.0[0].0, part.1[0])).or_default().push(part);
                }
                pairs.into_values().for_each(|parts| add(at, Question::Atomicity(parts)));
            }
            Question::Assertion(_) => {
                by_thread[at].iter().for_each(|events| add(at, Question::Assertion(events)));
            }
            Question::LockCycle(_) | Question::Stuck(_) | Question::Lock(_) => {
                add(at, question.clone());
            }
        }
    }
    (owners, units)
}

/// What all explorations of a trace share.
struct Whole<'w> {
    skeleton: &'w Skeleton<'w>,
    options: &'w Options,
    matter: &'w Matter,
    order: &'w MustHappenBefore,
    locksets: &'w Locksets,
    all: &'w Kept,
    code: &'w Code,
}

/// Questions that are explored together.
struct Batch {
    questions: Vec<usize>,
    kept: Kept,
}

impl Whole<'_> {
    fn answer(&self, owners: &[usize], questions: &[Question], report: &mut Report) {
        let most = self.options.limits.states;
        let all: Vec<usize> = (0..questions.len()).collect();
        // With all objects guards cut most of it off: often that is the smallest exploration.
        let slices = self.options.slices;
        let mut states = if slices == Slices::Never { most } else { FIRST_STATES.min(most) };
        let whole = Batch { questions: all, kept: self.all.clone() };
        let limits = |states: u64| Limits { states, ..self.options.limits };
        let mut open = match slices {
            Slices::Always => vec![whole],
            Slices::Never | Slices::WhenLarge => {
                self.refine(questions, whole, &limits(states), report)
            }
        };
        if slices == Slices::Never {
            return;
        }
        open = open.into_iter().flat_map(|batch| self.split(questions, batch)).collect();
        while !open.is_empty() && !self.is_late(report) {
            let mut later = Vec::new();
            while let Some(mut batch) = open.pop() {
                if self.is_late(report) {
                    return;
                }
                batch.questions.retain(|&at| !is_found(owners, report, at));
                if batch.questions.is_empty() {
                    continue;
                }
                for left in self.refine(questions, batch, &limits(states), report) {
                    match self.halves(questions, &left) {
                        Some(halves) => open.extend(halves),
                        None => later.push(left),
                    }
                }
            }
            if states == most {
                return;
            }
            states = (states * MORE_STATES).min(most);
            later.reverse();
            open = later;
        }
    }

    /// Whether the explorations so far have cost all that they may.
    fn is_late(&self, report: &Report) -> bool {
        let limits = &self.options.limits;
        let preparation = self.skeleton.trace.len() as u64 / EVENTS_PER_STATE;
        let costs = report.price + report.explorations * preparation;
        costs >= limits.total || limits.deadline.has_passed()
    }

    /// The kinds of questions of a batch, each with the objects that it needs in any case.
    fn split(&self, questions: &[Question], batch: Batch) -> Vec<Batch> {
        let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for at in batch.questions {
            kinds.entry(key(self.skeleton.trace, questions, at).0).or_default().push(at);
        }
        kinds.into_values().rev().map(|list| self.batch(questions, list)).collect()
    }

    fn batch(&self, questions: &[Question], list: Vec<usize>) -> Batch {
        let asked: Vec<&Question> = list.iter().map(|&at| &questions[at]).collect();
        let kept = Kept::least(self.skeleton, self.matter, &asked);
        Batch { questions: list, kept }
    }

    /// The batch in two parts, if it is about more than one object.
    fn halves(&self, questions: &[Question], batch: &Batch) -> Option<[Batch; 2]> {
        let key = |at: usize| key(self.skeleton.trace, questions, at);
        let mut list = batch.questions.clone();
        list.sort_by_key(|&at| (key(at), at));
        let middle = key(list[list.len() / 2]);
        let mut half = list.partition_point(|&at| key(at) < middle);
        if half == 0 {
            half = list.partition_point(|&at| key(at) <= middle);
        }
        if half == list.len() {
            return None;
        }
        let second = list.split_off(half);
        Some([self.batch(questions, second), self.batch(questions, list)])
    }

    /// Explores a batch until all its questions are answered or an exploration is cut off. Returns
    /// what is left.
    fn refine(
        &self,
        questions: &[Question],
        mut batch: Batch,
        limits: &Limits,
        report: &mut Report,
    ) -> Vec<Batch> {
        loop {
            let asked: Vec<&Question> = batch.questions.iter().map(|&at| &questions[at]).collect();
            let goals = Goals::new(self.skeleton.trace, asked.clone());
            let mut script = self.script(&goals, &batch.kept);
            let needs = Needs::new(&script, self.order);
            script.stop_at(needs.reach(&script, &goals));
            let rivals = Rivals::new(&script, self.order, self.locksets, &goals.asked());
            let outcome = search(&script, &rivals, &needs, goals, limits);
            report.explorations += 1;
            report.states += outcome.states;
            report.price += outcome.states * price(&script);
            report.steps += outcome.steps;
            let is_whole = batch.kept == *self.all;
            let (mut left, mut kept) = (Vec::new(), batch.kept.clone());
            for ((&at, found), question) in batch.questions.iter().zip(outcome.found).zip(&asked) {
                let Some((violation, schedule)) = found else {
                    match outcome.cut_off {
                        None => report.answers[at] = Answer::Impossible,
                        Some(reason) => {
                            report.answers[at] = Answer::GaveUp(reason);
                            left.push(at);
                        }
                    }
                    continue;
                };
                if is_whole || is_seeded(Fault::SliceUnchecked) {
                    report.answers[at] = Answer::Found { violation, schedule };
                    continue;
                }
                match self.repeat(question, &violation, &schedule) {
                    Ok(schedule) => report.answers[at] = Answer::Found { violation, schedule },
                    Err(stalls) => {
                        left.push(at);
                        self.keep_more(&mut kept, &violation, &stalls);
                    }
                }
            }
            if left.is_empty() {
                return Vec::new();
            }
            let grown = kept != batch.kept;
            // What was cut off without having found anything is to be asked with more states.
            if self.is_late(report) || (outcome.cut_off.is_some() && (!grown || is_whole)) {
                return vec![Batch { questions: left, kept }];
            }
            if !grown {
                kept = self.all.clone();
            }
            batch = Batch { questions: left, kept };
        }
    }

    fn script<'k>(&'k self, goals: &Goals, kept: &'k Kept) -> Script<'k> {
        let explained = self.options.explained;
        Script::new(self.skeleton, self.code, self.matter, kept, &goals.assertions(), explained)
    }

    /// Keeps the objects that refuse a schedule: those of the threads of the violation first.
    fn keep_more(&self, kept: &mut Kept, violation: &Violation, stalls: &[Stall]) {
        let trace = self.skeleton.trace;
        let mut keep = |stall: &Stall| {
            let before = kept.clone();
            kept.keep_needs_of(self.skeleton, self.matter, stall.event, stall.stray);
            *kept != before
        };
        let threads: Vec<ThreadId> =
            violation.events().into_iter().map(|event| trace.thread_of(event)).collect();
        let own = stalls.iter().filter(|stall| threads.contains(&trace.thread_of(stall.event)));
        let mut is_more = false;
        own.for_each(|stall| is_more |= keep(stall));
        if !is_more {
            let _ = stalls.iter().any(keep);
        }
    }

    /// Repeats a schedule with all objects, without what cannot happen then. Returns what is left
    /// of it if the violation holds at its end, or else where threads came to a halt.
    fn repeat(
        &self,
        question: &Question,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<Vec<EventId>, Vec<Stall>> {
        let trace = self.skeleton.trace;
        let goals = Goals::new(trace, vec![question]);
        let script = self.script(&goals, self.all);
        let mut scratch = Vec::new();
        let mut worlds: Vec<World> = vec![script.start()];
        let mut strays: Vec<Option<EventId>> = vec![None; trace.threads().len()];
        let (mut stalls, mut executed) = (Vec::new(), Vec::new());
        let mut stalled = vec![false; trace.threads().len()];
        for &event in schedule {
            let thread = trace.thread_of(event);
            if stalled[thread.index()] {
                continue;
            }
            let mut after = Vec::new();
            for world in &mut worlds {
                if script.next(world, thread) == Some(event) {
                    after.extend(outcomes(&script, &goals, world, thread, &mut scratch));
                }
            }
            if after.is_empty() {
                stalls.push(Stall { event, stray: strays[thread.index()] });
                stalled[thread.index()] = true;
                continue;
            }
            let stray = &mut strays[thread.index()];
            if stray.is_none() && after.iter().all(|world| world.strayed[thread.index()]) {
                *stray = Some(event);
            }
            after.truncate(MOST_WORLDS);
            worlds = after;
            executed.push(event);
        }
        let mut found = Vec::new();
        for world in &worlds {
            goals.violated(&script, world, &mut scratch, &mut found);
            goals.stuck(&script, world, &mut found);
        }
        match found.iter().any(|(_, known)| known == violation) {
            true => Ok(executed),
            false => Err(stalls),
        }
    }
}

/// How much a state costs, in states of a small trace: to copy and compare it takes time for each
/// thread and each byte that is still read.
fn price(script: &Script) -> u64 {
    1 + (script.trace.threads().len() + script.last_looks.len()) as u64 / PARTS_PER_STATE
}

/// Where a thread came to a halt, and the read that had made it stray.
struct Stall {
    event: EventId,
    stray: Option<EventId>,
}

/// Whether some part of the same question is found.
fn is_found(owners: &[usize], report: &Report, at: usize) -> bool {
    // The parts of a question follow each other.
    let own = |other: &usize| owners[*other] == owners[at];
    let first = (0..at).rev().take_while(own).last().unwrap_or(at);
    let mut parts = (first..owners.len()).take_while(own);
    parts.any(|part| matches!(report.answers[part], Answer::Found { .. }))
}

/// What a question is about: its kind, its object and its threads; or itself.
fn key(trace: &Trace, questions: &[Question], at: usize) -> (Kind, u32, u32, u32) {
    let about = |kind: Kind, a: EventId, b: EventId| {
        let object = trace.access(a).map_or(0, |access| access.at.object.0);
        let (a, b) = (trace.thread_of(a).0, trace.thread_of(b).0);
        (kind, object, a.min(b), a.max(b))
    };
    match &questions[at] {
        Question::Race(parts) => about(Kind::Race, parts[0].0[0], parts[0].1[0]),
        Question::Atomicity(parts) => about(Kind::Atomicity, parts[0].0[0].0, parts[0].1[0]),
        Question::LockCycle(_) => (Kind::LockCycle, at as u32, 0, 0),
        Question::Stuck(_) => (Kind::Stuck, 0, 0, 0),
        Question::Lock(_) => (Kind::DoubleLock, at as u32, 0, 0),
        Question::Assertion(_) => (Kind::Assertion, at as u32, 0, 0),
    }
}
