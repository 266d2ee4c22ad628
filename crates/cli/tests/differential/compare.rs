//! What is predicted of a recording, and where that differs from the truth.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use foretrace_predict::{Granularity, Options, Prediction, predict};
use foretrace_rewalk::Walker;
use foretrace_trace::provenance::{Lost, Walked};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Op, Provenance, Trace};
use foretrace_verdict::{Certainty, Model, Property, Violation};

use crate::explorer::{Failure, Operation, Recorded, Truth};
use crate::faults::ways;

/// A difference that begins like this is a finding that no execution shows.
pub(crate) const FALSE_ALARM: &str = "FALSE ALARM";
/// What is predicted of one recording.
pub(crate) struct Predicted {
    trace: Trace,
    pub(crate) recording: Recording,
    prediction: Prediction,
    /// The trace has calls, whose order is kept.
    pub(crate) keeps_order: bool,
    /// Nothing is kept as recorded for want of an expression, nor the order of calls.
    pub(crate) is_exact: bool,
}

/// What a recording says of the operations of its threads.
pub(crate) struct Recording {
    pub(crate) recorded: Recorded,
    /// What the assertions of the trace are.
    pub(crate) assertions: BTreeMap<EventId, Failure>,
    pub(crate) has_switch: bool,
}

pub(crate) fn thread_number(trace: &Trace, event: EventId) -> u32 {
    let name = trace.name(trace.thread_of(event));
    name[1..].parse().expect("threads of a recording are called T0, T1, ...")
}

impl Recording {
    /// Of a recording, the trace that became of it, and the walk along its paths.
    pub(crate) fn new(path: &Path, trace: &Trace, walker: &Walker) -> Recording {
        let mut kinds = HashMap::new();
        let mut assertions = BTreeMap::new();
        let mut branches: HashMap<u32, usize> = HashMap::new();
        for (id, event) in trace.events() {
            let thread = thread_number(trace, id);
            let ordinal = trace.ordinal(id);
            if let (Some(ordinal), Some(kind)) = (ordinal, trace.record_kind(id))
                && !matches!(event.op, Op::Request(_))
            {
                kinds.insert((thread, ordinal), kind);
            }
            if let Op::Assert { .. } = event.op {
                let failure = match ordinal {
                    Some(ordinal) => Failure::Operation(thread, ordinal),
                    None => {
                        let which = branches.entry(thread).or_default();
                        *which += 1;
                        Failure::Branch(thread, walker.assertions(thread)[*which - 1])
                    }
                };
                assertions.insert(id, failure);
            }
        }
        let (outcomes, has_switch) = ways(path);
        Recording { recorded: Recorded { outcomes, kinds }, assertions, has_switch }
    }

    /// The operation that an access is.
    pub(crate) fn operation(&self, trace: &Trace, access: EventId) -> Operation {
        let ordinal = trace.ordinal(access).expect("accesses are visible operations");
        (thread_number(trace, access), ordinal)
    }
}

/// Reads a recording and predicts. `is_initialised`: all that is read without having been written
/// has a recorded value.
pub(crate) fn prepare(recording: &Path, is_initialised: bool) -> Predicted {
    let mut walker = Walker::default();
    let trace = foretrace_importer::read(recording, Some(&mut walker)).unwrap();
    validate(&trace).unwrap();
    let recording = Recording::new(recording, &trace, &walker);
    let options = Options {
        model: Some(Model::Symbolic),
        properties: vec![Property::Race, Property::Assertion],
        granularity: Granularity::Event,
        ..Options::default()
    };
    let prediction = predict(&trace, &options, &()).unwrap();
    assert!(prediction.undecided.is_empty(), "nothing keeps the solver from deciding all");
    let keeps_order = trace.events().any(|(_, event)| matches!(event.op, Op::EnterCall { .. }));
    // A switch has more ways than its value tells: what the explorer takes for the same way may be
    // another one.
    let is_exact =
        is_initialised && !recording.has_switch && !keeps_order && !keeps_something(&trace);
    Predicted { trace, recording, prediction, keeps_order, is_exact }
}

/// Whether the model knows less than the program does.
pub(crate) fn keeps_something(trace: &Trace) -> bool {
    trace.provenance().iter().any(|(fact, _)| match fact {
        Provenance::UnknownWriter { .. } => true,
        Provenance::Walked(what) => matches!(
            what,
            Walked::ReadKept(_)
                | Walked::Concretised
                | Walked::PathLost { .. }
                | Walked::Unsupported { .. }
        ),
        _ => false,
    })
}

/// Whether the walk went wrong: not in programs like these. (It may well not know a number.)
fn went_wrong(trace: &Trace) -> bool {
    trace.provenance().iter().any(|(fact, _)| match fact {
        Provenance::Walked(Walked::NotAsComputed(_) | Walked::BrokenImage) => true,
        Provenance::Walked(Walked::PathLost { why, .. }) => !matches!(
            why,
            Lost::CallWithoutImage
                | Lost::OtherStack
                | Lost::UnknownCondition
                | Lost::UnknownSwitch
                | Lost::CopySize
                | Lost::CallWithoutBegin
                | Lost::NoImage
                | Lost::NoLabel
                | Lost::SilentLoop
                | Lost::LibraryTailCall
                | Lost::NoLandingPad
        ),
        _ => false,
    })
}

impl Predicted {
    /// Where model and truth differ, in words.
    pub(crate) fn differences(&self, truth: &Truth) -> Vec<String> {
        let mut differences = Vec::new();
        if went_wrong(&self.trace) {
            differences.push(format!("the walk went wrong: {:?}", self.trace.provenance()));
        }
        let (mut failing, mut racing) = (BTreeSet::new(), BTreeSet::new());
        for finding in &self.prediction.findings {
            let is_real = finding.certainty == Certainty::Real;
            match finding.violation {
                Violation::Assertion(id) => {
                    let failure = self.recording.assertions[&id];
                    failing.insert(failure);
                    if is_real && !truth.failures.contains(&failure) {
                        let place = self.place(id);
                        differences.push(format!("{FALSE_ALARM}: {failure:?} at {place}"));
                    }
                }
                Violation::Race(one, other) => {
                    let (a, b) = (
                        self.recording.operation(&self.trace, one),
                        self.recording.operation(&self.trace, other),
                    );
                    let pair = (a.min(b), a.max(b));
                    racing.insert(pair);
                    if is_real && !truth.races.contains(&pair) {
                        let (one, other) = (self.place(one), self.place(other));
                        differences.push(format!("{FALSE_ALARM}: race {pair:?}: {one}, {other}"));
                    }
                }
                _ => unreachable!("nobody asked for more"),
            }
        }
        if self.is_exact {
            let missed = truth.failures.difference(&failing);
            differences.extend(missed.map(|failure| format!("missed: {failure:?}")));
            let missed = truth.races.difference(&racing);
            differences.extend(missed.map(|pair| format!("missed: race {pair:?}")));
        }
        differences
    }

    fn place(&self, event: EventId) -> &str {
        let location = self.trace.location_of(event);
        location.map_or("an unknown place", |at| self.trace.name(at))
    }
}
