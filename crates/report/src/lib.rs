//! One [`Report`] value, rendered as text for people and as JSON for programs. It does not know how
//! the findings were made, files, or the terminal.
//!
//! A report is plain data with all names resolved. Facts about the trace become English here, and
//! nowhere else.
//!
//! **Invariant.** Equal reports are rendered to equal bytes, and nothing in a report depends on the
//! time or the machine but [`Report::timing`].

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod baseline;
mod compare;
mod explanation;
mod fingerprint;
mod format;
mod github;
mod graph;
mod html;
mod json;
mod junit;
mod lines;
mod oneline;
mod operation;
mod picture;
mod provenance;
mod read;
mod sarif;
mod source;
mod stable;
mod standing;
mod suppress;
mod text;
mod topics;
mod tsan;
pub mod verified;

pub use baseline::{BASELINE_SCHEMA, Baseline, BaselineOutcome, Known, Progress, Refuted};
pub use compare::{Compared, ComparedModel, Comparison, ModelVerdict};
pub use explanation::{Explanation, Explanations, Grounds};
pub use fingerprint::{fingerprint, group_key};
pub use format::{Format, write_report};
pub use github::write_github;
pub use graph::{Edge, EdgeKind, Graph, Node, ThreadNodes, write_dot};
pub use html::write_html;
pub use json::{SCHEMA, write_json};
pub use junit::write_junit;
pub use lines::write_lines;
pub use operation::{Access, EffectKind, Operation};
pub use picture::{Effect, MemoryPlace, Picture, Reordering};
pub use provenance::{in_words, kept_in_words};
pub use read::{ReadError, Recalled, RecalledRun, read_json};
pub use sarif::write_sarif;
pub use source::{CallFrame, Origin, SourceFile};
pub use stable::SourceLines;
pub use standing::{Standing, Suppression, ToldBugs};
pub use suppress::Suppressions;
pub use text::{
    Style, function_in_short, in_order, write_explanation, write_finding, write_paragraph,
    write_text, write_whole_story,
};
pub use topics::{TOPICS, Topic};
pub use tsan::write_tsan;

use foretrace_trace::Provenance;
pub use foretrace_verdict::{Certainty, Column, Columns, Kind, Ledger, Model, Property, Slicing};
use serde::Serialize;

/// What one run of the tool has to say about one trace.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The version of the tool.
    pub version: String,
    /// What was analysed.
    pub trace: TraceInfo,
    /// How the recorded run went, if it was recorded just now.
    pub run: Option<Run>,
    /// Whether the user ended the command before it was done.
    pub interrupted: bool,
    /// The strength of the analysis: `reads-from`, `values`, `symbolic` or `control`.
    pub model: String,
    /// The options that change the answer.
    pub settings: Settings,
    /// Where the candidates of each property went, in the order of [`Property`].
    pub summary: Vec<(Property, Ledger)>,
    /// How much of the trace matters to its conditions; `None` where what is read does not change.
    pub slicing: Option<Slicing>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What was left open.
    pub undecided: Vec<Undecided>,
    /// What is impossible in every schedule in which reads return their recorded values, and open
    /// for others.
    pub for_recorded_values: Vec<Undecided>,
    /// Why nothing at all is decided: something in the program is not supported.
    pub unsupported: Option<String>,
    /// What no candidate is about, so that silence says nothing of it.
    pub not_asked: Vec<NotAsked>,
    /// Candidates that are refuted, if somebody wants to know them.
    pub refuted: Vec<Refuted>,
    /// What came of a baseline; `None` if there is none.
    pub baseline: Option<BaselineOutcome>,
    /// Why refuted candidates cannot happen; `None` if that was not asked.
    pub why: Option<Explanations>,
    /// What other models find; `None` if they were not asked.
    pub comparison: Option<Comparison>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// Whether long schedules are written step by step in JSON too.
    pub full_schedules: bool,
    /// The events that findings, schedules and open questions mention, sorted by number.
    pub excerpt: Vec<EventText>,
    /// How to see its findings again.
    pub again: Again,
    /// What a picture of the run shows besides; `None` if nobody draws one.
    pub picture: Option<Picture>,
    /// The places that stacks consist of, each once.
    pub frames: Vec<CallFrame>,
    /// Call stacks, each once: numbers of [`Report::frames`], the innermost first. The first one
    /// is where the thread is, the others are the calls that led there.
    pub stacks: Vec<Vec<u32>>,
    /// Where each thread was created, as far as known: as many as there are threads, or none.
    pub created: Vec<Option<Origin>>,
    /// The files of the source that [`Report::files`] names, as far as somebody has looked for
    /// them.
    pub sources: Vec<SourceFile>,
    /// How long it took; `None` when bytes are to be compared.
    pub timing: Option<Timing>,
}

/// What commands need that run a finding again, as a shell takes it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Again {
    /// The file of the same report in JSON.
    pub json: Option<String>,
    /// The program and its arguments.
    pub program: Option<String>,
}

/// How the recorded run went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Run {
    /// In words, behind "the recorded run".
    pub ending: String,
    /// Whether it shows a bug by itself: a crash, a failed assertion, a deadlock.
    pub failed: bool,
    /// Whether it failed in another way: with a status that is not expected, or killed from
    /// outside.
    pub unexpected: bool,
    /// Whether the trace lacks a part of it.
    pub incomplete: bool,
    /// Why no prediction from it says anything; `None` if there is no such reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says_nothing: Option<String>,
}

/// What was analysed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Subject {
    /// One recorded run.
    #[default]
    Trace,
    /// A program.
    Program,
    /// So many recorded runs, merged into one program.
    Runs(u64),
}

/// The analysed trace, or the events of the analysed program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceInfo {
    /// Which of them.
    pub subject: Subject,
    /// The file, as the user named it.
    pub path: Option<String>,
    /// How many events it has.
    pub events: u64,
    /// The threads' names.
    pub threads: Vec<String>,
    /// The folders in which the program was compiled, where relative names of files start.
    pub folders: Vec<String>,
    /// What is known of the trace besides its events, and how often it was so.
    pub provenance: Vec<(Provenance, u64)>,
    /// How many relaxed, acquire and release accesses were taken as sequentially consistent.
    pub weak_accesses: u64,
}

impl TraceInfo {
    /// Whether these are only the first events of the run.
    pub fn is_prefix(&self) -> bool {
        self.provenance.iter().any(|(fact, _)| fact.is_prefix())
    }
}

/// The options that change the answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Settings {
    /// What counts as one candidate: `location`, `event` or `variable`.
    pub granularity: String,
    /// Whether critical sections were taken for atomic regions.
    pub infer_regions: bool,
    /// The limit of solver conflicts per candidate.
    pub conflicts: Option<u64>,
    /// The limit of time for the whole prediction, in milliseconds.
    pub budget_ms: Option<u64>,
    /// The most context switches that a schedule may have.
    pub context_bound: Option<u32>,
    /// Whether schedules with the fewest context switches were looked for.
    pub iterate_bound: bool,
    /// Whether nothing was refuted before the solver was asked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_prune: bool,
    /// Assertions that nobody wrote: `null`, `division`, `bounds`, `freed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub implicit: Vec<String>,
    /// Whether addresses that depend on reads range over their objects.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub symbolic_addresses: bool,
    /// The command of the solver that decided, if it is not our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solver: Option<String>,
}

/// One bug with its evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// Unique in this report: the kind and a number, `race-1`.
    pub id: String,
    /// The same for the same bug in another recording of the same program; see [`fingerprint`].
    pub fingerprint: String,
    /// What kind of bug it is.
    pub kind: Kind,
    /// How much the schedule proves.
    pub certainty: Certainty,
    /// The variable, lock, condition variable, semaphore or barrier that it is about; for a lock
    /// cycle the locks.
    pub object: Option<String>,
    /// What the programmer calls the memory that it is about: `queue.slots[3].ready`; `None` if it
    /// is about no memory.
    pub place: Option<String>,
    /// The same for findings that have one cause: the same kind, object and functions; see
    /// [`group_key`].
    pub group: String,
    /// The functions of its sides, each once, in alphabetical order.
    pub functions: Vec<String>,
    /// Where the memory that it is about was allocated.
    pub allocated: Option<Origin>,
    /// The operations that make the bug.
    pub sides: Vec<Side>,
    /// A feasible schedule that leads to it: event numbers, all in [`Report::excerpt`].
    pub schedule: Vec<u32>,
    /// How often neighbours of the schedule, with the sides that are next at its end, are of
    /// different threads.
    pub context_switches: u64,
    /// What operations do in this schedule, where that is not what they did in the recorded run: by
    /// event.
    pub changes: Vec<(u32, Operation)>,
    /// Reads of the schedule whose memory it is about too: what an asserted condition is computed
    /// from.
    pub reads: Vec<u32>,
    /// What happens, in words, if the kind does not say it.
    pub what: Option<String>,
    /// What comes from outside of the program in this schedule.
    pub inputs: Vec<Input>,
    /// What came of forcing the schedule on the program; `None` if that was not tried.
    pub replay: Option<Replay>,
    /// Its name after changes of the program elsewhere: [`Report::fingerprint_stably`].
    pub stable_fingerprint: String,
    /// What the project already knows of it.
    pub standing: Standing,
}

/// A value that a program gets from outside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Input {
    /// The event that gets it; it is in [`Report::excerpt`].
    pub event: u32,
    /// What is called.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// How good the evidence for a finding is, once its schedule was forced on the real program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The program did it.
    Confirmed,
    /// The program left the schedule before its end.
    Diverged,
    /// The program followed the schedule, but the bug was not there.
    NotReached,
    /// It could not be tried.
    #[default]
    NotReplayed,
}

impl Evidence {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Confirmed => "confirmed",
            Evidence::Diverged => "diverged",
            Evidence::NotReached => "not reached",
            Evidence::NotReplayed => "not replayed",
        }
    }
}

/// What came of a replay on the program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Replay {
    /// The grade.
    pub evidence: Evidence,
    /// What happened, in words.
    pub detail: String,
    /// What came from outside in the recorded run was given to the program again, instead of
    /// talking to the world.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorded_inputs: bool,
    /// How the program ended, in words; `None` if it was not started.
    pub ending: Option<String>,
    /// The last lines that the program wrote.
    pub output: Vec<String>,
    /// Whether it was killed because its time was over.
    #[serde(skip)]
    pub timed_out: bool,
}

impl Replay {
    /// The grade in words.
    pub fn in_words(&self) -> String {
        let inputs = self.recorded_inputs && self.evidence == Evidence::Confirmed;
        format!("{}{}", self.evidence.name(), if inputs { " with recorded inputs" } else { "" })
    }
}

/// One of the operations that make a bug.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// The event; it is in [`Report::excerpt`].
    pub event: u32,
    /// Where its thread is when the bug happens.
    pub state: SideState,
    /// The locks that its thread has there.
    pub holds: Vec<Hold>,
}

/// Where the thread of a side is when the bug happens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SideState {
    /// The event is part of the schedule.
    Executed,
    /// The event is the thread's next.
    Next,
    /// The event is the thread's last, executed, and the thread waits in it.
    Waiting,
}

/// A lock that a thread has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hold {
    /// The lock.
    pub lock: String,
    /// Whether other readers may have it too.
    pub shared: bool,
    /// The event that took it.
    pub since: u32,
    /// Where that was.
    pub location: Option<String>,
    /// The calls that led there: a number of [`Report::stacks`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<u32>,
}

/// One event in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventText {
    /// Its number in the trace, from 0.
    pub event: u32,
    /// Who: an index into [`TraceInfo::threads`].
    pub thread: u32,
    /// What.
    pub operation: Operation,
    /// Where, as the trace writes it.
    pub location: Option<String>,
    /// The calls that led there: a number of [`Report::stacks`]; `None` if they are not known.
    pub stack: Option<u32>,
}

/// A candidate without a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// Of which property.
    pub property: Property,
    /// Of which kind.
    pub kind: Kind,
    /// An example of the class: event numbers, all in [`Report::excerpt`].
    pub events: Vec<u32>,
    /// Why it was left open.
    pub reason: Reason,
}

/// A property, or a part of one, that was not asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAsked {
    /// Which property.
    pub property: Property,
    /// Whether nothing at all was asked about it.
    pub whole: bool,
    /// What was not asked, and why.
    pub reason: Reason,
}

/// A reason: its code is for programs and never changes, the sentence is for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// The stable name, in kebab case.
    pub code: &'static str,
    /// The same in words.
    pub sentence: String,
}

impl Reason {
    /// A reason with its code and its sentence.
    pub fn new(code: &'static str, sentence: impl Into<String>) -> Self {
        Reason { code, sentence: sentence.into() }
    }
}

/// How long it took, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Timing {
    /// To read and validate the trace.
    pub read_ms: u64,
    /// To predict.
    pub predict_ms: u64,
}

impl Report {
    /// A report in which nothing was asked, and nothing found.
    pub fn new(model: Model, settings: Settings) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION").to_string(),
            trace: TraceInfo::default(),
            run: None,
            interrupted: false,
            model: model.name().to_string(),
            settings,
            summary: Vec::new(),
            slicing: None,
            findings: Vec::new(),
            undecided: Vec::new(),
            for_recorded_values: Vec::new(),
            unsupported: None,
            not_asked: Vec::new(),
            refuted: Vec::new(),
            baseline: None,
            why: None,
            comparison: None,
            notes: Vec::new(),
            full_schedules: false,
            excerpt: Vec::new(),
            again: Again::default(),
            picture: None,
            frames: Vec::new(),
            stacks: Vec::new(),
            created: Vec::new(),
            sources: Vec::new(),
            timing: None,
        }
    }

    /// The text of an event.
    ///
    /// # Panics
    /// If the event is not in the excerpt, which breaks the report's invariant.
    pub fn event(&self, event: u32) -> &EventText {
        let at = self.excerpt.binary_search_by_key(&event, |text| text.event);
        &self.excerpt[at.expect("a mentioned event is in the excerpt")]
    }

    /// The name of the thread of an event.
    pub fn thread_name(&self, event: &EventText) -> &str {
        &self.trace.threads[event.thread as usize]
    }

    /// What an event does in the schedule of a finding.
    pub fn operation_in<'a>(&'a self, finding: &'a Finding, event: u32) -> &'a Operation {
        match finding.changes.binary_search_by_key(&event, |&(event, _)| event) {
            Ok(at) => &finding.changes[at].1,
            Err(_) => &self.event(event).operation,
        }
    }

    /// The known source locations of a finding, in the order of its sides.
    pub fn locations<'a>(&'a self, finding: &'a Finding) -> impl Iterator<Item = &'a str> {
        finding.sides.iter().filter_map(|side| self.event(side.event).location.as_deref())
    }

    /// Adds a candidate without a verdict, if candidates of its property were asked about.
    pub fn leave_open(&mut self, kind: Kind, reason: Reason) {
        let property = kind.property();
        let row = self.summary.iter_mut().find(|(known, _)| *known == property);
        let Some((_, ledger)) = row else { return };
        ledger.candidates += 1;
        ledger.undecided += 1;
        self.undecided.push(Undecided { property, kind, events: Vec::new(), reason });
    }

    /// How many findings that the user has to hear of a replay has confirmed.
    pub fn confirmed(&self) -> usize {
        self.open_findings().filter(|finding| finding.is_confirmed()).count()
    }

    /// How many findings that the user has to hear of have that certainty, all evidence considered.
    pub fn count(&self, certainty: Certainty) -> usize {
        self.open_findings().filter(|finding| finding.graded() == certainty).count()
    }
}

impl Finding {
    /// A finding with its fingerprint, which depends on `places`; the rest is still empty.
    pub fn new(
        id: String,
        kind: Kind,
        certainty: Certainty,
        object: Option<String>,
        places: &[String],
    ) -> Finding {
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        Finding {
            id,
            fingerprint: fingerprint(kind, object.as_deref(), &places),
            kind,
            certainty,
            group: group_key(kind, object.as_deref(), &[]),
            place: None,
            functions: Vec::new(),
            allocated: None,
            object,
            sides: Vec::new(),
            schedule: Vec::new(),
            context_switches: 0,
            changes: Vec::new(),
            reads: Vec::new(),
            what: None,
            inputs: Vec::new(),
            replay: None,
            stable_fingerprint: String::new(),
            standing: Standing::Open,
        }
    }

    /// Sets the functions of its sides, and the group to which it then belongs.
    pub fn set_functions<'f>(&mut self, functions: impl Iterator<Item = &'f str>) {
        self.functions = functions.map(str::to_string).collect();
        self.functions.sort_unstable();
        self.functions.dedup();
        let object = self.place.as_deref().or(self.object.as_deref());
        self.group = group_key(self.kind, object, &self.functions);
    }

    /// Whether the program did it in a replay.
    pub fn is_confirmed(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.evidence == Evidence::Confirmed)
    }

    /// How sure the finding is: what the program did in a replay outweighs what the trace says.
    pub fn graded(&self) -> Certainty {
        match self.replay.as_ref().map(|replay| replay.evidence) {
            Some(Evidence::Confirmed) => Certainty::Real,
            Some(Evidence::Diverged | Evidence::NotReached) => Certainty::Possible,
            Some(Evidence::NotReplayed) | None => self.certainty,
        }
    }
}
