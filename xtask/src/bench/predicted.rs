//! One run of the program itself, as a user would start it, and what it says.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
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
    pub(super) model: String,
    pub(super) findings: Vec<Finding>,
    summary: BTreeMap<String, Ledger>,
}

#[derive(Deserialize)]
pub(super) struct TraceInfo {
    pub(super) events: u64,
    pub(super) threads: u64,
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
    report_of(&mut Command::new(program), trace, options).map(|(predicted, _)| predicted)
}

/// Predicts with a program in between that says what was used, see
/// `benches/src/reference`. The time is CPU time.
pub(super) fn predict_metered(
    meter: &Path,
    program: &Path,
    trace: &Path,
    options: &[&str],
) -> Result<Predicted, Stop> {
    let mut command = Command::new(meter);
    command.args(["reference", "run"]).arg(program).stderr(Stdio::piped());
    let (predicted, said) = report_of(&mut command, trace, options)?;
    let used = said.lines().find_map(|line| line.strip_prefix("cpu ")?.strip_suffix(" ns"));
    let nanoseconds = used.and_then(|used| used.parse().ok()).ok_or_else(|| {
        Stop::failed(format!("bench FAILED on {}: no CPU time in `{said}`", trace.display()))
    })?;
    Ok(Predicted { time: Duration::from_nanos(nanoseconds), ..predicted })
}

/// Runs the prediction; also what it said on standard error, if that is piped.
fn report_of(
    command: &mut Command,
    trace: &Path,
    options: &[&str],
) -> Result<(Predicted, String), Stop> {
    let problem =
        |what: String| Stop::failed(format!("bench FAILED on {}: {what}", trace.display()));
    let start = Instant::now();
    let mut child = command
        .args(["predict", "--json", "-"])
        .args(options)
        .arg(trace)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| problem(error.to_string()))?;
    let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it is piped"));
    let report = serde_json::from_reader(stdout);
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut said).map_err(|error| problem(error.to_string()))?;
    }
    let status = child.wait().map_err(|error| problem(error.to_string()))?;
    let time = start.elapsed();
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        return Err(problem(status.to_string()));
    }
    let report = report.map_err(|error| problem(error.to_string()))?;
    Ok((Predicted { report, time }, said))
}
