//! The papers' formula in z3: `benches/src/reference`, which encodes a question, asks z3, and says
//! what CPU time that took.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::predicted::{Predicted, predict_metered};
use super::{Bench, Measured, parse};
use crate::shell::Stop;

/// Everything is measured again and again for about so many seconds, at least and at most so many
/// times; the least counts, on both sides. What takes longer than a second is measured once.
const SECONDS: f64 = 0.5;
const LEAST_RUNS: f64 = 3.0;
const MOST_RUNS: f64 = 15.0;
/// The same is done again until it takes about so many seconds, but not more often than this.
const ENOUGH: f64 = 0.1;
const MOST_TIMES: f64 = 200.0;
/// The least time that means anything, in seconds: the system counts microseconds.
const RESOLUTION: f64 = 1e-6;

pub(super) struct Smtlib {
    pub(super) program: PathBuf,
}

/// What z3 said to one question.
pub(super) struct Answered {
    /// `None`: no answer within the limit, or the formula is too large to be made.
    pub(super) feasible: Option<bool>,
    /// CPU seconds of z3 alone.
    pub(super) seconds: f64,
    pub(super) measured: Measured,
}

impl Smtlib {
    /// Our prediction; the time is CPU time, the least of some runs.
    pub(super) fn predict(
        &self,
        program: &Path,
        trace: &Path,
        options: &[&str],
    ) -> Result<Predicted, Stop> {
        let mut best = predict_metered(&self.program, program, trace, options)?;
        for _ in 1..runs(best.time.as_secs_f64()) {
            let again = predict_metered(&self.program, program, trace, options)?;
            best.time = best.time.min(again.time);
        }
        Ok(best)
    }

    pub(super) fn build() -> Result<Smtlib, Stop> {
        Ok(Smtlib { program: Bench::build()?.program })
    }

    /// Asks one question, with options of the program. The time is the least of some runs.
    pub(super) fn decide(
        &self,
        trace: &Path,
        model: &str,
        violation: &str,
        options: &[&str],
    ) -> Result<Answered, Stop> {
        let mut best = self.decide_once(trace, model, violation, options)?;
        for _ in 1..runs(best.seconds) {
            let again = self.decide_once(trace, model, violation, options)?;
            best.seconds = best.seconds.min(again.seconds);
        }
        Ok(best)
    }

    /// CPU seconds of z3 for the same question in a process that runs already: what it takes to ask
    /// it some times more, `once` being what one process takes for it.
    pub(super) fn decide_again(
        &self,
        trace: &Path,
        model: &str,
        violation: &str,
        once: f64,
    ) -> Result<f64, Stop> {
        let ask = |times: u32| -> Result<f64, Stop> {
            let times = format!("times={times}");
            Ok(self.decide_once(trace, model, violation, &[&times])?.seconds)
        };
        again(once, ask)
    }

    /// CPU seconds of this program with these arguments and a number of times, for each time but
    /// the first.
    pub(super) fn run_again(&self, program: &Path, arguments: &[&str]) -> Result<f64, Stop> {
        let ask = |times: u32| -> Result<f64, Stop> {
            let mut command = Command::new(&self.program);
            command.args(["reference", "run"]).arg(program).args(arguments).arg(times.to_string());
            let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output();
            let output = output
                .map_err(|error| Stop::usage(format!("{}: {error}", self.program.display())))?;
            let said = String::from_utf8_lossy(&output.stderr);
            let nanoseconds = parse(&said).get("cpu").copied().filter(|_| output.status.success());
            let problem = || Stop::failed(format!("bench FAILED on {arguments:?}: {said}"));
            Ok(nanoseconds.ok_or_else(problem)? as f64 / 1e9)
        };
        again(least(|| ask(1))?, ask)
    }

    fn decide_once(
        &self,
        trace: &Path,
        model: &str,
        violation: &str,
        options: &[&str],
    ) -> Result<Answered, Stop> {
        let mut command = Command::new(&self.program);
        command.args(["reference", "decide"]).arg(trace).args([model, violation]).args(options);
        let measured = parse(&self.output(&mut command, trace)?);
        let seconds = measured.get("solve").map_or(0.0, |&nanoseconds| nanoseconds as f64 / 1e9);
        let feasible = measured.get("feasible").map(|&feasible| feasible == 1);
        Ok(Answered { feasible, seconds, measured })
    }

    /// Pairs of accesses that conflict under no common lock.
    pub(super) fn races(&self, trace: &Path) -> Result<Vec<(usize, usize)>, Stop> {
        let mut command = Command::new(&self.program);
        command.args(["reference", "races"]).arg(trace);
        let pair = |line: &str| {
            let (a, b) = line.split_once(' ')?;
            Some((a.parse().ok()?, b.parse().ok()?))
        };
        Ok(self.output(&mut command, trace)?.lines().filter_map(pair).collect())
    }

    fn output(&self, command: &mut Command, trace: &Path) -> Result<String, Stop> {
        let problem =
            |what: String| Stop::failed(format!("bench FAILED on {}: {what}", trace.display()));
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| problem(error.to_string()))?;
        if !output.status.success() {
            return Err(problem(output.status.to_string()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Seconds for one time more, where doing something so many times in one process takes what
/// `measure` says, and once takes `once`.
fn again(once: f64, measure: impl Fn(u32) -> Result<f64, Stop>) -> Result<f64, Stop> {
    let more = (ENOUGH / once).clamp(2.0, MOST_TIMES).round() as u32;
    Ok(((least(|| measure(1 + more))? - once) / f64::from(more)).max(RESOLUTION))
}

/// How often something is measured that took so many seconds.
fn runs(seconds: f64) -> u32 {
    if seconds > 1.0 { 1 } else { (SECONDS / seconds).clamp(LEAST_RUNS, MOST_RUNS) as u32 }
}

/// The least of some measurements.
fn least(measure: impl Fn() -> Result<f64, Stop>) -> Result<f64, Stop> {
    let first = measure()?;
    (1..runs(first)).try_fold(first, |least, _| Ok(least.min(measure()?)))
}

/// Seconds as a cell of a table; beyond the limit, that there is no answer.
pub(super) fn shown(answered: &Answered, limit: u64) -> String {
    match answered.feasible {
        Some(_) => format!("{:.2}", answered.seconds),
        None if answered.measured.contains_key("solve") => format!("> {limit}"),
        None => "too large".to_string(),
    }
}

/// How many times as long they took.
pub(super) fn ratio(theirs: f64, ours: f64) -> String {
    format!("× {:.0}", theirs / ours.max(1e-9))
}
