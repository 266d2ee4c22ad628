//! The report as the page's block of JSON: names once, everything else by index.

use std::borrow::Cow;
use std::collections::HashMap;

use foretrace_trace::Location;
use serde::Serialize;

use super::source::{self, SourceFile};
use crate::provenance::is_news;
use crate::text::{doing, function_in_short, is_blocked, operation_of_side, ranked};
use crate::{
    BaselineOutcome, CallFrame, Certainty, Column, Explanation, Finding, Hold, Kind, MemoryPlace,
    Origin, Reordering, Report, Run, Side, SideState, Subject, Undecided, in_words,
};

#[derive(Serialize)]
pub(super) struct Data<'a> {
    version: &'a str,
    model: &'a str,
    path: Option<&'a str>,
    json: Option<&'a str>,
    program: Option<&'a str>,
    run: Option<&'a Run>,
    /// Whether this is about a run, and not about a program.
    is_recorded: bool,
    event_count: u64,
    threads: &'a [String],
    verdict: String,
    notes: Vec<String>,
    /// What came of a baseline.
    baseline: Option<&'a BaselineOutcome>,
    ledger: Vec<Row>,
    events: Events,
    /// The distinct texts of operations.
    operations: Vec<&'a str>,
    locations: Vec<Place<'a>>,
    files: Vec<SourceFile>,
    frames: Vec<CallFrame>,
    stacks: &'a [Vec<u32>],
    created: &'a [Option<Origin>],
    places: &'a [MemoryPlace],
    names: &'a [String],
    lanes: &'a [Vec<u32>],
    findings: Vec<FindingData<'a>>,
    undecided: Vec<Open<'a>>,
    refuted: &'a [Explanation],
    refuted_left_out: u64,
}

/// The excerpt, a column for each field.
#[derive(Default, Serialize)]
struct Events {
    /// Event numbers, each as the difference to the one before.
    number: Vec<u32>,
    thread: Vec<u32>,
    operation: Vec<u32>,
    /// From 1; 0 where it is not known.
    location: Vec<u32>,
    /// From 1; 0 where it is not known.
    stack: Vec<u32>,
    /// One letter for each event.
    effect: String,
    /// What each effect is on.
    on: Vec<u32>,
    /// The second operand of those effects that have one: index of the event, and operand.
    with: Vec<(u32, u32)>,
}

#[derive(Serialize)]
struct Place<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<Cow<'a, str>>,
}

/// A row of the ledger.
#[derive(Serialize)]
struct Row {
    property: &'static str,
    candidates: u64,
    parts: Vec<(&'static str, u64)>,
    not_asked: Vec<String>,
}

#[derive(Serialize)]
struct FindingData<'a> {
    id: &'a str,
    fingerprint: &'a str,
    kind: &'static str,
    certainty: Certainty,
    grade: Grade,
    /// What the project knows of it: `new`, `known`, `suppressed`, `repeated`.
    standing: Option<&'static str>,
    title: String,
    cause: String,
    object: Option<&'a str>,
    group: &'a str,
    functions: &'a [String],
    allocated: Option<&'a Origin>,
    sides: Vec<SideData<'a>>,
    /// Thread, number of steps, thread, number of steps, and so on: each thread takes its events of
    /// the excerpt one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<u32>>,
    /// Indices of events, where a schedule is no such sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<u32>>,
    switches: u64,
    changes: Vec<(u32, &'a str)>,
    reads: Vec<u32>,
    inputs: &'a [crate::Input],
    replay: Option<&'a crate::Replay>,
    reorderings: &'a [Reordering],
}

/// How good the evidence is, for people.
#[derive(Serialize)]
struct Grade {
    /// For the style sheet: `confirmed`, `real` or `possible`.
    name: &'static str,
    words: String,
}

#[derive(Serialize)]
struct SideData<'a> {
    event: u32,
    state: SideState,
    holds: &'a [Hold],
}

#[derive(Serialize)]
struct Open<'a> {
    kind: &'static str,
    events: &'a [u32],
    reason: &'a str,
}

impl<'a> Data<'a> {
    pub(super) fn new(report: &'a Report) -> Self {
        let mut operations = Table::default();
        let mut locations = Table::default();
        let (mut events, mut previous) = (Events::default(), 0);
        for (index, text) in report.excerpt.iter().enumerate() {
            events.number.push(text.event - previous);
            previous = text.event;
            events.thread.push(text.thread);
            events.operation.push(operations.id(&text.operation.text));
            let location = text.location.as_deref();
            events.location.push(location.map_or(0, |text| locations.id(text) + 1));
            events.stack.push(text.stack.map_or(0, |stack| stack + 1));
            let effect = report.picture.as_ref().map(|picture| picture.effects[index]);
            let effect = effect.unwrap_or_default();
            events.effect.push(effect.kind.letter());
            events.on.push(effect.on);
            events.with.extend(effect.with.map(|with| (index as u32, with)));
        }
        let locations: Vec<Place> = locations.names.into_iter().map(Place::new).collect();
        let places = locations.iter().filter_map(|place| Some((place.file?, place.line?)));
        let frames = report.frames.iter().filter(|frame| frame.line > 0);
        let places = places.chain(frames.map(|frame| (frame.file.as_str(), frame.line)));
        let files = source::files(places, report);
        let picture = report.picture.as_ref();
        let why = report.why.as_ref().or(picture.and_then(|picture| picture.refuted.as_ref()));
        let steps = Steps::new(report);
        Data {
            version: &report.version,
            model: &report.model,
            path: report.trace.path.as_deref(),
            json: report.again.json.as_deref(),
            program: report.again.program.as_deref(),
            run: report.run.as_ref(),
            is_recorded: report.trace.subject == Subject::Trace,
            event_count: report.trace.events,
            threads: &report.trace.threads,
            verdict: crate::text::verdict(report).0,
            notes: notes(report),
            baseline: report.baseline.as_ref(),
            ledger: ledger(report),
            events,
            operations: operations.names,
            locations,
            files,
            frames: report.frames.iter().map(frame).collect(),
            stacks: &report.stacks,
            created: &report.created,
            places: picture.map_or(&[], |picture| &picture.places),
            names: picture.map_or(&[], |picture| &picture.names),
            lanes: picture.map_or(&[], |picture| &picture.lanes),
            findings: ranked(report)
                .into_iter()
                .map(|(at, finding)| {
                    let reorderings = picture.and_then(|picture| picture.reorderings.get(at));
                    FindingData::new(report, finding, &steps, reorderings.map_or(&[], |all| all))
                })
                .collect(),
            undecided: report
                .undecided
                .iter()
                .chain(&report.for_recorded_values)
                .map(open)
                .collect(),
            refuted: why.map_or(&[], |why| &why.explanations),
            refuted_left_out: why.map_or(0, |why| why.left_out),
        }
    }
}

fn notes(report: &Report) -> Vec<String> {
    let facts = report.trace.provenance.iter().filter(|(fact, _)| is_news(fact));
    let facts = facts.map(|(fact, _)| in_words(fact));
    report.unsupported.iter().cloned().chain(report.notes.iter().cloned()).chain(facts).collect()
}

fn ledger(report: &Report) -> Vec<Row> {
    let row = |(property, ledger): &(crate::Property, crate::Ledger)| {
        let by = |column: Column| match column {
            Column::Order => "refuted by order",
            Column::Locks => "refuted by locks",
            Column::Both => "refuted by order and locks",
        };
        let mut parts = vec![("violated", ledger.violated)];
        parts.push(("undecided", ledger.undecided));
        parts.push((
            "impossible for recorded values, else open",
            ledger.infeasible_for_recorded_values,
        ));
        parts.push(("impossible within the bound", ledger.infeasible_in_bound));
        parts.push(("refuted by the solver", ledger.infeasible));
        parts.extend(ledger.pruned.iter().map(|(column, count)| (by(column), count)));
        let not_asked = report.not_asked.iter().filter(|part| part.property == *property);
        Row {
            property: property.name(),
            candidates: ledger.candidates,
            parts,
            not_asked: not_asked.map(|part| part.reason.sentence.clone()).collect(),
        }
    };
    report.summary.iter().map(row).collect()
}

fn frame(frame: &CallFrame) -> CallFrame {
    let short = |name: &String| function_in_short(name).into_owned();
    CallFrame { function: frame.function.as_ref().map(short), ..frame.clone() }
}

fn open(open: &Undecided) -> Open<'_> {
    Open { kind: open.kind.name(), events: &open.events, reason: &open.reason.sentence }
}

impl<'a> FindingData<'a> {
    fn new(
        report: &'a Report,
        finding: &'a Finding,
        steps: &Steps,
        reorderings: &'a [Reordering],
    ) -> Self {
        let runs = steps.runs(&finding.schedule);
        let list = runs.is_none().then(|| steps.indices(&finding.schedule));
        FindingData {
            id: &finding.id,
            fingerprint: &finding.fingerprint,
            kind: finding.kind.name(),
            certainty: finding.graded(),
            grade: grade(finding),
            standing: finding.standing.name(),
            title: crate::text::headline(finding),
            cause: cause(report, finding),
            object: finding.object.as_deref(),
            group: &finding.group,
            functions: &finding.functions,
            allocated: finding.allocated.as_ref(),
            sides: finding
                .sides
                .iter()
                .map(|side| SideData { event: side.event, state: side.state, holds: &side.holds })
                .collect(),
            runs,
            steps: list,
            switches: finding.context_switches,
            changes: finding
                .changes
                .iter()
                .map(|(event, text)| (*event, text.text.as_str()))
                .collect(),
            reads: finding.reads.clone(),
            inputs: &finding.inputs,
            replay: finding.replay.as_ref(),
            reorderings,
        }
    }
}

/// What happens and where, in one sentence.
fn cause(report: &Report, finding: &Finding) -> String {
    let side = |side: &Side| {
        let event = report.event(side.event);
        let doing = match is_blocked(finding, side) {
            true => doing(report, finding, side),
            false => third_person(&operation_of_side(report, finding, side)),
        };
        let place = event.location.as_deref().map(Location::in_short);
        let place = place.map_or(String::new(), |place| format!(" at {place}"));
        let holding = match &side.holds[..] {
            [] => String::new(),
            holds => {
                let locks: Vec<&str> = holds.iter().map(|hold| hold.lock.as_str()).collect();
                format!(" holding {}", locks.join(", "))
            }
        };
        format!("{} {doing}{place}{holding}", report.thread_name(event))
    };
    let sides: Vec<String> = finding.sides.iter().map(side).collect();
    let joint = match finding.kind {
        Kind::Race | Kind::LockCycle => " while ",
        Kind::Atomicity => ", then ",
        Kind::Stuck
        | Kind::DoubleLock
        | Kind::UnlockNotHeld
        | Kind::UnlockByOther
        | Kind::DestroyHeld
        | Kind::Assertion => "; ",
    };
    format!("{}.", sides.join(joint))
}

/// `write x : 5` as `writes x : 5`.
fn third_person(operation: &str) -> String {
    let (verb, rest) = operation.split_once(' ').unwrap_or((operation, ""));
    let (verb, rest) = match verb {
        "rmw" => ("updates".to_string(), rest.to_string()),
        "atomic" => {
            let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (format!("atomically {verb}s"), rest.to_string())
        }
        "branch" => ("branches on".to_string(), rest.to_string()),
        other => (format!("{other}s"), rest.to_string()),
    };
    format!("{verb} {rest}").trim_end().to_string()
}

fn grade(finding: &Finding) -> Grade {
    let confirmed = finding.is_confirmed();
    let words = match (&finding.replay, finding.graded()) {
        (Some(replay), _) => replay.in_words(),
        (None, Certainty::Real) => "real: the schedule is checked, not replayed".to_string(),
        (None, Certainty::Possible) => "possible: not proved feasible".to_string(),
    };
    let name = match finding.graded() {
        Certainty::Real if confirmed => "confirmed",
        Certainty::Real => "real",
        Certainty::Possible => "possible",
    };
    Grade { name, words }
}

/// The events of the excerpt by thread, to write schedules in short.
struct Steps {
    /// The number of each event, its index in the excerpt.
    index: HashMap<u32, u32>,
    thread: Vec<u32>,
    /// The position of each event of the excerpt among those of its thread.
    position: Vec<u32>,
    threads: usize,
}

impl Steps {
    fn new(report: &Report) -> Steps {
        let mut counts = vec![0; report.trace.threads.len()];
        let events = report.excerpt.iter().enumerate();
        let index = events.map(|(at, text)| (text.event, at as u32)).collect();
        let position = report.excerpt.iter().map(|text| {
            let count = &mut counts[text.thread as usize];
            *count += 1;
            *count - 1
        });
        let position = position.collect();
        let thread = report.excerpt.iter().map(|text| text.thread).collect();
        Steps { index, thread, position, threads: report.trace.threads.len() }
    }

    fn indices(&self, schedule: &[u32]) -> Vec<u32> {
        schedule.iter().map(|event| self.index[event]).collect()
    }

    /// `None` if a thread leaves out one of its events.
    fn runs(&self, schedule: &[u32]) -> Option<Vec<u32>> {
        let mut due = vec![0; self.threads];
        let mut runs: Vec<u32> = Vec::new();
        let mut current = None;
        for event in schedule {
            let at = self.index[event] as usize;
            let thread = self.thread[at];
            if self.position[at] != due[thread as usize] {
                return None;
            }
            due[thread as usize] += 1;
            if current == Some(thread) {
                *runs.last_mut().expect("a run has begun") += 1;
            } else {
                runs.extend([thread, 1]);
                current = Some(thread);
            }
        }
        Some(runs)
    }
}

impl<'a> Place<'a> {
    fn new(text: &'a str) -> Self {
        match Location::parse(text) {
            Some(place) => Place {
                text,
                file: Some(place.file),
                line: Some(place.line),
                function: place.function.map(function_in_short),
            },
            None => Place { text, file: None, line: None, function: None },
        }
    }
}

/// Strings by number.
#[derive(Default)]
struct Table<'a> {
    names: Vec<&'a str>,
    ids: HashMap<&'a str, u32>,
}

impl<'a> Table<'a> {
    fn id(&mut self, name: &'a str) -> u32 {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u32 - 1
        })
    }
}
