//! One run of the program itself, as a user would start it, and what it says.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::shell::Stop;

/// A report, and how long it took from the start of the process to the last byte.
pub(super) struct Predicted {
    pub(super) report: Report,
    pub(super) time: Duration,
}

#[derive(Deserialize)]
pub(super) struct Report {
    pub(super) trace: TraceInfo,
    pub(super) findings: Vec<Finding>,
    summary: BTreeMap<String, Ledger>,
}

#[derive(Deserialize)]
pub(super) struct TraceInfo {
    pub(super) events: u64,
}

#[derive(Deserialize)]
pub(super) struct Finding {
    pub(super) events: Vec<Side>,
}

#[derive(Deserialize)]
pub(super) struct Side {
    pub(super) event: usize,
}

#[derive(Deserialize)]
struct Ledger {
    candidates: u64,
    undecided: u64,
}

impl Report {
    pub(super) fn candidates(&self) -> u64 {
        self.summary.values().map(|ledger| ledger.candidates).sum()
    }

    pub(super) fn undecided(&self) -> u64 {
        self.summary.values().map(|ledger| ledger.undecided).sum()
    }
}

/// Predicts, with these options besides.
pub(super) fn predict(program: &Path, trace: &Path, options: &[&str]) -> Result<Predicted, Stop> {
    let problem =
        |what: String| Stop::failed(format!("bench FAILED on {}: {what}", trace.display()));
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(["predict", "--json", "-"])
        .args(options)
        .arg(trace)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| problem(error.to_string()))?;
    let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it is piped"));
    let report = serde_json::from_reader(stdout);
    let status = child.wait().map_err(|error| problem(error.to_string()))?;
    let time = start.elapsed();
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        return Err(problem(status.to_string()));
    }
    report.map(|report| Predicted { report, time }).map_err(|error| problem(error.to_string()))
}
