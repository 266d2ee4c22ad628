//! Classes as questions to the explicit engine.
//!
//! **Computes.** For each class the engine's answer: a violation with a schedule that is still to
//! be judged, that there is none, or that the engine gave up.

use std::time::Instant;

use foretrace_causality::{Locksets, MustHappenBefore};
use foretrace_explore::{Answer, Limits, Options as How, Question, Reason, Report};
use foretrace_model::{Skeleton, regions};
use foretrace_trace::Trace;
use foretrace_verdict::{Property, Violation};

use crate::candidates::{self, Class, Context, Groups, Parts};
use crate::prediction::{Options, Prune};

/// How many states one exploration may have, from try to try.
const STATES: [u64; 3] = [20_000, 200_000, 2_000_000];

/// How many bytes the states of one exploration may take.
const BYTES: usize = 1 << 28;

/// How many events of the trace cost as much to prepare as one state.
const EVENTS_PER_STATE: u64 = 4;

/// Asks the explicit engine about classes of one shard: first about all of them at once, then,
/// since few questions need fewer states, about one at a time, with more and more patience.
/// Together, all tries cost about so many `states`.
pub(crate) fn ask(
    skeleton: &Skeleton,
    groups: &Groups,
    classes: &[(usize, &Class)],
    states: u64,
    deadline: Option<Instant>,
) -> Vec<(usize, Answer)> {
    let mut left = states;
    let mut open: Vec<(usize, &Class)> = classes.to_vec();
    let mut answers = Vec::new();
    let mut explore = |those: &[(usize, &Class)], states: u64| {
        let start = skeleton.trace.len() as u64 / EVENTS_PER_STATE;
        let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over || left < start {
            return None;
        }
        let states = states.min(left - start);
        let how = How { explained: false, limits: Limits { states, bytes: BYTES, deadline } };
        let classes: Vec<&Class> = those.iter().map(|&(_, class)| class).collect();
        let report = explore(skeleton, groups, &classes, &how);
        left -= start + report.states;
        Some(report.answers)
    };
    if open.len() > 1
        && let Some(all) = explore(&open, STATES[0])
    {
        let answered = open.iter().map(|&(at, _)| at).zip(all);
        answers.extend(answered.filter(|(_, answer)| !matches!(answer, Answer::GaveUp(_))));
        let is_answered = |at| answers.iter().any(|&(answered, _)| answered == at);
        open.retain(|&(at, _)| !is_answered(at));
    }
    for states in STATES {
        let mut still_open = Vec::new();
        for (at, class) in open {
            let answer = explore(&[(at, class)], states).and_then(|mut answers| answers.pop());
            match answer {
                Some(answer @ (Answer::Found { .. } | Answer::Impossible)) => {
                    answers.push((at, answer));
                }
                Some(Answer::GaveUp(Reason::States)) => still_open.push((at, class)),
                Some(Answer::GaveUp(_)) | None => {}
            }
        }
        open = still_open;
    }
    answers
}

/// Asks the explicit engine about classes, all in one exploration.
fn explore(skeleton: &Skeleton, groups: &Groups, classes: &[&Class], how: &How) -> Report {
    let questions: Vec<Question> = classes.iter().map(|class| question(groups, class)).collect();
    foretrace_explore::explore(skeleton, &questions, how)
}

/// A class as a question.
fn question<'c>(groups: &'c Groups, class: &'c Class) -> Question<'c> {
    match &class.parts {
        Parts::Race(parts) => {
            let pair = |part: &candidates::RacePart| {
                (groups.events(part.first), groups.events(part.second))
            };
            Question::Race(parts.iter().map(pair).collect())
        }
        Parts::Atomicity(parts) => {
            let part = |part: &'c candidates::AtomicityPart| {
                (part.pairs.as_slice(), groups.events(part.remotes))
            };
            Question::Atomicity(parts.iter().map(part).collect())
        }
        Parts::LockCycle(parts) => {
            let cycle = |part: &'c candidates::CyclePart| {
                part.nodes.iter().map(|node| node.points.as_slice()).collect()
            };
            Question::LockCycle(parts.iter().map(cycle).collect())
        }
        Parts::Stuck(points) => Question::Stuck(points),
        Parts::Lock(errors) => Question::Lock(errors),
        Parts::Assertion(events) => Question::Assertion(events),
    }
}

/// Asks the explicit engine alone about every class of a property of a valid trace that order and
/// locks do not refute: for measurements, and to hold it against others. Returns an example of each
/// class, and the report.
pub fn ask_engine_alone(
    trace: &Trace,
    options: &Options,
    property: Property,
    how: &How,
) -> (Vec<Violation>, Report) {
    let skeleton = Skeleton::new(trace, options.model_for(trace));
    let order = MustHappenBefore::new(trace);
    let locksets = Locksets::new(&skeleton);
    let regions = regions(trace, &skeleton.locks, options.infer_regions);
    let context = Context {
        skeleton: &skeleton,
        order: &order,
        synchronisation: None,
        locksets: &locksets,
        regions: &regions,
        infer_regions: options.infer_regions,
        granularity: options.granularity,
        prune: options.prune != Prune::Nothing,
    };
    let candidates = candidates::list(&context, &[property]);
    let classes: Vec<&Class> = candidates.classes.iter().collect();
    let examples = classes.iter().map(|class| class.example.clone()).collect();
    (examples, explore(&skeleton, &candidates.groups, &classes, how))
}
