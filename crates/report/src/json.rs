//! The report as JSON, schema `foretrace-report/1`.
//!
//! Fields are only ever added. The file is written as a stream; each finding, each event of the
//! excerpt and each row of the summary is one line, so that two reports can be compared by lines
//! and a schedule of 50,000 steps does not become 200,000 lines.

pub(crate) mod layout;
mod runs;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufWriter, Write};

use foretrace_trace::{Location, Provenance};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct, Serializer};

use layout::Lines;

use crate::{
    Column, Compared, Comparison, EventText, Finding, Ledger, ModelVerdict, Operation, Property,
    Report, Side, Standing, Subject, Undecided, in_words,
};

/// The name and version of the format, the value of the field `schema`.
pub const SCHEMA: &str = "foretrace-report/1";

/// If the schedules of a report have more steps than this together, they are written as runs, and
/// steps inside of a run are not in the excerpt, unless the report asks for all steps: thousands of
/// findings with tens of thousands of steps each would fill a disk.
const MOST_STEPS: usize = 10_000;

/// Writes the report as JSON, with a line feed at the end.
///
/// # Errors
/// Those of the writer.
pub fn write_json(report: &Report, writer: &mut dyn Write) -> io::Result<()> {
    // A buffer of known type: the serialiser writes a few bytes at a time, millions of times.
    let mut buffer = BufWriter::with_capacity(1 << 16, writer);
    let mut serializer = serde_json::Serializer::with_formatter(&mut buffer, Lines::new(2));
    Document::new(report).serialize(&mut serializer)?;
    buffer.write_all(b"\n")?;
    buffer.flush()
}

/// The report with what is needed to resolve its schedules.
struct Document<'a> {
    report: &'a Report,
    /// The thread of each event of the excerpt; an array, since schedules ask for it millions of
    /// times.
    thread_of: Vec<u32>,
    /// Whether schedules are written as runs.
    in_runs: bool,
}

impl<'a> Document<'a> {
    fn new(report: &'a Report) -> Self {
        let length = report.excerpt.last().map_or(0, |last| last.event as usize + 1);
        let mut thread_of = vec![u32::MAX; length];
        for text in &report.excerpt {
            thread_of[text.event as usize] = text.thread;
        }
        let steps: usize = report.findings.iter().map(|finding| finding.schedule.len()).sum();
        Document { report, thread_of, in_runs: steps > MOST_STEPS && !report.full_schedules }
    }

    /// The events that the document names.
    fn excerpt(&self) -> Vec<&'a EventText> {
        let report = self.report;
        if !self.in_runs {
            return report.excerpt.iter().collect();
        }
        let open = report.undecided.iter().chain(&report.for_recorded_values);
        let mut named: HashSet<u32> = open.flat_map(|open| &open.events).copied().collect();
        for finding in &report.findings {
            for step in self.runs(&finding.schedule) {
                named.extend([step.event, step.through.unwrap_or(step.event)]);
            }
            named.extend(finding.sides.iter().map(|side| side.event));
            named.extend(finding.sides.iter().flat_map(|side| &side.holds).map(|hold| hold.since));
            named.extend(finding.changes.iter().map(|(event, _)| event));
            named.extend(&finding.reads);
            named.extend(finding.inputs.iter().map(|input| input.event));
        }
        report.excerpt.iter().filter(|text| named.contains(&text.event)).collect()
    }

    /// A schedule as runs. What has no recorded order has runs of one thread each.
    fn runs(&self, schedule: &[u32]) -> Vec<StepObject<'a>> {
        let is_recorded = self.report.trace.subject == Subject::Trace;
        let name = |&thread: &u32| self.report.trace.threads[thread as usize].as_str();
        let runs = runs::runs(schedule, |event| self.thread_of[event as usize], !is_recorded);
        runs.iter()
            .map(|run| StepObject {
                thread: self.thread_name(run.event),
                event: run.event,
                through: (run.through != run.event).then_some(run.through),
                with: run.threads[1..].iter().map(name).collect(),
            })
            .collect()
    }

    fn thread_name(&self, event: u32) -> &'a str {
        &self.report.trace.threads[self.thread_of[event as usize] as usize]
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = self.report;
        let mut object = serializer.serialize_struct("Report", 16)?;
        object.serialize_field("schema", SCHEMA)?;
        object.serialize_field("tool", &Tool { name: "foretrace", version: &report.version })?;
        object.serialize_field(
            "trace",
            &TraceObject {
                path: report.trace.path.as_deref(),
                subject: match report.trace.subject {
                    Subject::Trace => None,
                    Subject::Program => Some("program"),
                    Subject::Runs(_) => Some("merged-runs"),
                },
                runs: match report.trace.subject {
                    Subject::Runs(runs) => Some(runs),
                    Subject::Trace | Subject::Program => None,
                },
                events: report.trace.events,
                threads: report.trace.threads.len(),
                thread_names: &report.trace.threads,
                repairs: report.trace.provenance.iter().map(FactObject::new).collect(),
                blind_spots: report.trace.blind_spots(),
                weak_accesses: report.trace.weak_accesses,
            },
        )?;
        if report.interrupted {
            object.serialize_field("interrupted", &true)?;
        }
        if let Some(run) = &report.run {
            object.serialize_field("run", run)?;
        }
        object.serialize_field("model", &report.model)?;
        object.serialize_field("settings", &report.settings)?;
        let summary: Vec<(Property, Summary)> = report
            .summary
            .iter()
            .map(|&(property, ledger)| self.summary(property, ledger))
            .collect();
        object.serialize_field("summary", &Map(summary))?;
        if let Some(slicing) = &report.slicing {
            object.serialize_field("slicing", slicing)?;
        }
        object.serialize_field(
            "findings",
            &List(&report.findings, |finding| FindingObject { document: self, finding }),
        )?;
        let open = |open| self.open(open, None);
        object.serialize_field("undecided", &List(&report.undecided, open))?;
        if !report.for_recorded_values.is_empty() {
            let open = |open| self.open(open, Some(crate::Model::Values.name()));
            let those = &List(&report.for_recorded_values, open);
            object.serialize_field("for_recorded_values", those)?;
        }
        if let Some(baseline) = &report.baseline {
            object.serialize_field("baseline", baseline)?;
        }
        if let Some(why) = &report.why {
            object.serialize_field("refuted", &why.explanations)?;
            object.serialize_field("refuted_not_explained", &why.left_out)?;
        }
        if let Some(comparison) = &report.comparison {
            object.serialize_field("compared_models", &comparison.models)?;
            let row = |row| ComparedObject::new(comparison, row);
            object.serialize_field("compare", &List(&comparison.rows, row))?;
        }
        object.serialize_field("notes", &report.notes)?;
        let excerpt: Vec<EventObject> =
            self.excerpt().into_iter().map(|one| self.event(one)).collect();
        object.serialize_field("excerpt", &excerpt)?;
        if !report.stacks.is_empty() {
            object.serialize_field("frames", &report.frames)?;
            object.serialize_field("stacks", &report.stacks)?;
        }
        if report.created.iter().any(Option::is_some) {
            let names = report.trace.threads.iter();
            let threads: Vec<ThreadObject> = names
                .zip(&report.created)
                .map(|(name, created)| ThreadObject { name, created: created.as_ref() })
                .collect();
            object.serialize_field("threads", &threads)?;
        }
        if !report.sources.is_empty() {
            object.serialize_field("sources", &report.sources)?;
        }
        if let Some(timing) = &report.timing {
            object.serialize_field("timing", timing)?;
        }
        object.end()
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct TraceObject<'a> {
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    events: u64,
    threads: usize,
    thread_names: &'a [String],
    repairs: Vec<FactObject<'a>>,
    blind_spots: u64,
    #[serde(skip_serializing_if = "is_zero")]
    weak_accesses: u64,
}

/// A fact: its code and details are for programs, the sentence is for people.
#[derive(Serialize)]
struct FactObject<'a> {
    code: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Cow<'a, str>>,
    what: String,
    count: u64,
}

impl<'a> FactObject<'a> {
    fn new((fact, count): &'a (Provenance, u64)) -> Self {
        let (code, details, what) = (fact.code(), fact.details(), in_words(fact));
        FactObject { code, details, what, count: *count }
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A thread, and where it comes from.
#[derive(Serialize)]
struct ThreadObject<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<&'a crate::Origin>,
}

#[derive(Serialize)]
struct EventObject<'a> {
    event: u32,
    thread: &'a str,
    operation: &'a str,
    location: Option<&'a str>,
    /// The same, taken apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceObject<'a>>,
    /// A number of the report's stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<u32>,
}

/// A place in the source.
#[derive(Serialize)]
struct SourceObject<'a> {
    file: &'a str,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
}

impl<'a> SourceObject<'a> {
    /// `None` if the trace calls its locations otherwise.
    fn new(location: &'a str) -> Option<Self> {
        let Location { file, line, column, function } = Location::parse(location)?;
        Some(SourceObject { file, line, column, function })
    }
}

#[derive(Serialize)]
struct SideObject<'a> {
    #[serde(flatten)]
    event: EventObject<'a>,
    state: crate::SideState,
    locks_held: &'a [crate::Hold],
}

/// A step; with `through`, all steps of the thread, and of those in `with`, from `event` to that
/// one, in the recorded order.
#[derive(Serialize)]
struct StepObject<'a> {
    thread: &'a str,
    event: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    with: Vec<&'a str>,
}

/// Which models find a bug.
#[derive(Serialize)]
struct ComparedObject<'a> {
    id: Option<&'a str>,
    kind: crate::Kind,
    object: Option<&'a str>,
    places: &'a [String],
    models: Map<Vec<(&'a str, ModelVerdict)>>,
    first: Option<&'a str>,
}

impl<'a> ComparedObject<'a> {
    fn new(comparison: &'a Comparison, row: &'a Compared) -> Self {
        let models = comparison.models.iter().map(|model| model.model.as_str());
        ComparedObject {
            id: row.id.as_deref(),
            kind: row.kind,
            object: row.object.as_deref(),
            places: &row.places,
            models: Map(models.zip(row.verdicts.iter().copied()).collect()),
            first: comparison.first(row).map(|at| comparison.models[at].model.as_str()),
        }
    }
}

/// What an event does in a schedule, where that is not what it did in the recorded run.
#[derive(Serialize)]
struct Change {
    event: u32,
    operation: String,
}

/// The ledger of a property, and what was not asked of it.
struct Summary<'a> {
    ledger: Ledger,
    not_asked: Vec<&'a str>,
    not_asked_codes: Vec<&'static str>,
}

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ledger = &self.ledger;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("candidates", &ledger.candidates)?;
        for (column, count) in ledger.pruned.iter() {
            object.serialize_entry(&format!("pruned_{}", column.name()), &count)?;
        }
        object.serialize_entry("violated", &ledger.violated)?;
        object.serialize_entry("infeasible", &ledger.infeasible)?;
        object.serialize_entry("infeasible_in_bound", &ledger.infeasible_in_bound)?;
        let for_recorded_values = &ledger.infeasible_for_recorded_values;
        object.serialize_entry("infeasible_for_recorded_values", for_recorded_values)?;
        object.serialize_entry("undecided", &ledger.undecided)?;
        let remaining = Column::ALL.map(|column| (column.name(), ledger.remaining(column)));
        let remaining: BTreeMap<_, _> = remaining.into();
        let total = [("total", ledger.candidates)];
        object.serialize_entry(
            "remaining",
            &Map(total.into_iter().chain(remaining).collect::<Vec<_>>()),
        )?;
        object.serialize_entry("not_asked", &self.not_asked)?;
        if !self.not_asked_codes.is_empty() {
            object.serialize_entry("not_asked_codes", &self.not_asked_codes)?;
        }
        object.end()
    }
}

#[derive(Serialize)]
struct UndecidedObject<'a> {
    property: crate::Property,
    kind: crate::Kind,
    events: Vec<EventObject<'a>>,
    /// The weaker model under which it is refuted.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_under: Option<&'static str>,
    code: &'static str,
    reason: &'a str,
}

impl<'a> Document<'a> {
    fn event(&self, text: &'a EventText) -> EventObject<'a> {
        EventObject {
            event: text.event,
            thread: self.report.thread_name(text),
            operation: &text.operation.text,
            location: text.location.as_deref(),
            source: text.location.as_deref().and_then(SourceObject::new),
            stack: text.stack,
        }
    }

    fn side(&self, finding: &'a Finding, side: &'a Side) -> SideObject<'a> {
        let operation = self.report.operation_in(finding, side.event);
        let operation = &operation.text;
        let event = EventObject { operation, ..self.event(self.report.event(side.event)) };
        SideObject { event, state: side.state, locks_held: &side.holds }
    }

    fn summary(&self, property: Property, ledger: Ledger) -> (Property, Summary<'a>) {
        let parts = self.report.not_asked.iter().filter(|part| part.property == property);
        let not_asked = parts.clone().map(|part| part.reason.sentence.as_str()).collect();
        let not_asked_codes = parts.map(|part| part.reason.code).collect();
        (property, Summary { ledger, not_asked, not_asked_codes })
    }

    fn open(
        &self,
        open: &'a Undecided,
        decided_under: Option<&'static str>,
    ) -> UndecidedObject<'a> {
        UndecidedObject {
            property: open.property,
            kind: open.kind,
            events: open.events.iter().map(|&e| self.event(self.report.event(e))).collect(),
            decided_under,
            code: open.reason.code,
            reason: &open.reason.sentence,
        }
    }
}

struct FindingObject<'a> {
    document: &'a Document<'a>,
    finding: &'a Finding,
}

impl Serialize for FindingObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let FindingObject { document, finding } = *self;
        let report = document.report;
        let locations: Vec<&str> = report.locations(finding).collect();
        let mut object = serializer.serialize_struct("Finding", 16)?;
        object.serialize_field("id", &finding.id)?;
        object.serialize_field("fingerprint", &finding.fingerprint)?;
        if !finding.stable_fingerprint.is_empty() {
            object.serialize_field("stable_fingerprint", &finding.stable_fingerprint)?;
        }
        if let Some(standing) = finding.standing.name() {
            object.serialize_field("standing", standing)?;
        }
        match &finding.standing {
            Standing::Suppressed(suppression) => {
                object.serialize_field("suppression", suppression)?;
            }
            Standing::Repeated { of } => object.serialize_field("repeats", of)?,
            Standing::Open | Standing::New | Standing::Known => {}
        }
        object.serialize_field("group", &finding.group)?;
        object.serialize_field("kind", &finding.kind)?;
        object.serialize_field("certainty", &finding.certainty)?;
        if let Some(replay) = &finding.replay {
            object.serialize_field("evidence", &replay.evidence)?;
            object.serialize_field("replay", replay)?;
        }
        object.serialize_field("model", &report.model)?;
        object.serialize_field("object", &finding.object)?;
        if let Some(place) = &finding.place {
            object.serialize_field("place", place)?;
        }
        if !finding.functions.is_empty() {
            object.serialize_field("functions", &finding.functions)?;
        }
        if let Some(allocated) = &finding.allocated {
            object.serialize_field("allocated", allocated)?;
        }
        object.serialize_field("locations", &locations)?;
        object.serialize_field(
            "events",
            &List(&finding.sides, |side| document.side(finding, side)),
        )?;
        if !finding.changes.is_empty() {
            let change = |(event, operation): &(u32, Operation)| Change {
                event: *event,
                operation: operation.text.clone(),
            };
            object.serialize_field("changes", &List(&finding.changes, change))?;
        }
        if let Some(what) = &finding.what {
            object.serialize_field("what", what)?;
        }
        if !finding.inputs.is_empty() {
            object.serialize_field("inputs", &finding.inputs)?;
        }
        object.serialize_field("context_switches", &finding.context_switches)?;
        if !document.in_runs {
            let step = |&event| {
                let thread = document.thread_name(event);
                StepObject { thread, event, through: None, with: Vec::new() }
            };
            object.serialize_field("schedule", &List(&finding.schedule, step))?;
        } else {
            object.serialize_field("schedule", &document.runs(&finding.schedule))?;
        }
        object.end()
    }
}

/// A slice whose items are turned into their JSON form one by one, never all at once.
struct List<'a, T, F>(&'a [T], F);

impl<'a, T, R: Serialize, F: Fn(&'a T) -> R> Serialize for List<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        for item in self.0 {
            sequence.serialize_element(&(self.1)(item))?;
        }
        sequence.end()
    }
}

/// Pairs as an object, in their order.
struct Map<P>(P);

impl<K: Serialize, V: Serialize> Serialize for Map<Vec<(K, V)>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
