//! Classes as questions to the explicit engine.
//!
//! **Computes.** For each class the engine's answer: a violation with a schedule that is still to
//! be judged, that there is none, or that the engine gave up.

use foretrace_causality::{Locksets, MustHappenBefore};
use foretrace_explore::{Answer, Limits, Options as How, Question, Reason, Report};
use foretrace_model::{Skeleton, regions};
use foretrace_trace::{Deadline, Trace};
use foretrace_verdict::{Property, Violation};

use crate::candidates::{self, Class, Context, Groups, Parts};
use crate::prediction::{Options, Prune};

/// How many states one exploration may have.
const STATES: u64 = 2_000_000;

/// How many bytes the states of one exploration may take.
const BYTES: usize = 1 << 28;

/// Asks the explicit engine about classes; `explained`: without reads of unknown writers. All
/// explorations together cost about `total` states.
pub(crate) fn ask(
    skeleton: &Skeleton,
    groups: &Groups,
    classes: &[&Class],
    explained: bool,
    total: u64,
    deadline: Deadline,
) -> Report {
    // What is asked of a long trace is rarely answered in so few states.
    let events = skeleton.trace.len() as u64;
    if events > total {
        let answers = vec![Answer::GaveUp(Reason::States); classes.len()];
        return Report { answers, explorations: 0, states: 0, steps: 0, price: 0 };
    }
    let limits = Limits { states: STATES.min(total), total, bytes: BYTES, deadline };
    explore(skeleton, groups, classes, &How { explained, limits, ..How::default() })
}

/// Puts classes as questions to the explicit engine.
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
        Parts::Assertion(events) | Parts::LateUse(events) => Question::Assertion(events),
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
