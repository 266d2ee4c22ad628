//! The papers' formula in z3: `crates/reference/examples/reference`, which encodes a question, asks z3, and says what CPU time that took.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Measured, parse};
use crate::shell::{Stop, cargo, run, target_folder};

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
    pub(super) fn build() -> Result<Smtlib, Stop> {
        let package = ["--package", "foretrace-reference", "--example", "reference"];
        run("build", cargo(&["build", "--release", "--locked"]).args(package))?;
        Ok(Smtlib { program: target_folder().join("release").join("examples").join("reference") })
    }

    /// Asks one question, with options of the program.
    pub(super) fn decide(
        &self,
        trace: &Path,
        model: &str,
        violation: &str,
        options: &[&str],
    ) -> Result<Answered, Stop> {
        let mut command = Command::new(&self.program);
        command.arg("decide").arg(trace).args([model, violation]).args(options);
        let measured = parse(&self.output(&mut command, trace)?);
        let seconds = measured.get("solve").map_or(0.0, |&nanoseconds| nanoseconds as f64 / 1e9);
        let feasible = measured.get("feasible").map(|&feasible| feasible == 1);
        Ok(Answered { feasible, seconds, measured })
    }

    /// Pairs of accesses that conflict under no common lock.
    pub(super) fn races(&self, trace: &Path) -> Result<Vec<(usize, usize)>, Stop> {
        let mut command = Command::new(&self.program);
        command.arg("races").arg(trace);
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
