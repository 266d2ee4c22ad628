//! Reads a report back, as far as a replay needs it.

use serde::Deserialize;

use crate::{Kind, SCHEMA};

/// A finding of a report that was written earlier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recalled {
    /// The trace, as the user named it.
    pub trace: String,
    /// The assertions that were added to it.
    pub implicit: Vec<String>,
    /// How many events it then had.
    pub trace_events: u64,
    /// Its id in the report.
    pub id: String,
    /// What kind of bug it is.
    pub kind: Kind,
    /// The events that make it, and for a stuck state those at which the other threads are.
    pub events: Vec<u32>,
    /// The schedule.
    pub schedule: Vec<RecalledRun>,
}

/// A part of a schedule: all events of some threads from one event to another, in the recorded
/// order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecalledRun {
    /// The first event, whose thread is one of them.
    pub first: u32,
    /// The last event.
    pub last: u32,
    /// The names of the other threads.
    pub with: Vec<String>,
}

/// Why a report cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not a report.
    #[error("not a report of foretrace: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version.
    #[error("schema {0:?}, expected {SCHEMA:?}")]
    Schema(String),
    /// There is no one trace that could be replayed.
    #[error(
        "findings of several runs together, or of other addresses than the recorded ones, are replayed only where they are found: by `foretrace test`"
    )]
    NotOneTrace,
    /// It does not say what was analysed.
    #[error("the report does not name its trace")]
    NoTrace,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    trace: TraceObject,
    #[serde(default)]
    settings: SettingsObject,
    findings: Vec<FindingObject>,
}

#[derive(Deserialize)]
struct TraceObject {
    path: Option<String>,
    #[serde(default)]
    subject: Option<String>,
    events: u64,
}

#[derive(Default, Deserialize)]
struct SettingsObject {
    #[serde(default)]
    implicit: Vec<String>,
}

#[derive(Deserialize)]
struct FindingObject {
    id: String,
    kind: Kind,
    events: Vec<EventObject>,
    schedule: Vec<StepObject>,
}

#[derive(Deserialize)]
struct EventObject {
    event: u32,
}

#[derive(Deserialize)]
struct StepObject {
    event: u32,
    through: Option<u32>,
    #[serde(default)]
    with: Vec<String>,
}

/// The findings of a report.
///
/// # Errors
/// If it is no report, or one that cannot be replayed.
pub fn read_json(text: &[u8]) -> Result<Vec<Recalled>, ReadError> {
    let document: Document = serde_json::from_slice(text)?;
    if document.schema != SCHEMA {
        return Err(ReadError::Schema(document.schema));
    }
    if document.trace.subject.is_some() {
        return Err(ReadError::NotOneTrace);
    }
    let trace = document.trace.path.ok_or(ReadError::NoTrace)?;
    let recall = |finding: FindingObject| Recalled {
        trace: trace.clone(),
        implicit: document.settings.implicit.clone(),
        trace_events: document.trace.events,
        id: finding.id,
        kind: finding.kind,
        events: finding.events.into_iter().map(|event| event.event).collect(),
        schedule: finding
            .schedule
            .into_iter()
            .map(|StepObject { event, through, with }| RecalledRun {
                first: event,
                last: through.unwrap_or(event),
                with,
            })
            .collect(),
    };
    Ok(document.findings.into_iter().map(recall).collect())
}
