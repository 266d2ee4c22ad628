//! `corpus`: recorded traces of public projects, and what we expect to say of each.
//!
//! The expectations are a table in code: what is true of the program or was injected into the run,
//! not what the tool happened to print.

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::shell::{Stop, release_binary, root};
use crate::tools;

/// The longest that one file may take; what is then undecided fails the expectation.
const BUDGET: &str = "120s";

/// What must hold of the report on one file.
#[derive(Clone, Copy)]
enum Expected {
    /// A race on the object of that name.
    RaceOn(&'static str),
    /// Races at these pairs of lines of one source file.
    RacesAt(&'static str, &'static [(u32, u32)]),
    /// A lock cycle or a stuck state.
    Deadlock,
    /// Neither lock cycle nor stuck state.
    NoDeadlock,
    /// This many racy pairs of locations; if the authors of the figures count differently, why.
    Races { theirs: usize, ours: usize, why: &'static str },
}

/// Files of the folders `deadlock`, `rvpredict` and `figures`. All files in `raceinjector` have a
/// race on `BUGGY_ADDR`.
const TABLE: &[(&str, Expected)] = &[
    ("deadlock/Bensalem.std", Expected::Deadlock),
    ("deadlock/Bensalem.rapidbin", Expected::Deadlock),
    ("deadlock/Dbcp1.std", Expected::Deadlock),
    ("deadlock/Dbcp1.rapidbin", Expected::Deadlock),
    // T2 reads V2 before its first lock, and in this run saw what T1 wrote holding both locks. The
    // file has no values, so another schedule must repeat that, and T1 is then past its locks.
    ("deadlock/Deadlock.std", Expected::NoDeadlock),
    ("deadlock/Deadlock.rapidbin", Expected::NoDeadlock),
    ("deadlock/DiningPhil.std", Expected::Deadlock),
    ("deadlock/DiningPhil.rapidbin", Expected::Deadlock),
    // The run hangs; only the binary form has the requests that show it, so it has more candidates.
    ("deadlock/StringBuffer.std", Expected::Deadlock),
    ("deadlock/StringBuffer.rapidbin", Expected::Deadlock),
    // As in `Deadlock`: between its two acquires T2 reads V1, which T1 wrote holding both locks.
    ("deadlock/Transfer.std", Expected::NoDeadlock),
    ("deadlock/Transfer.rapidbin", Expected::NoDeadlock),
    // The corrected program.
    ("deadlock/cache4j_dlf.std.gz", Expected::NoDeadlock),
    // The pairs that the files `*.expected.out` name. Ours may be real or possible: in account
    // and BrokenSpinningLoop the schedules have reads of values that unrecorded code wrote.
    ("rvpredict/llvm.account.account.in", Expected::RacesAt("account.cc", &[(47, 47)])),
    // The log has a read at line 12 behind the write at line 25 that it did not see; the importer
    // puts the two into the order that explains the value.
    (
        "rvpredict/llvm.demo.example2.in",
        Expected::RacesAt("example2.c", &[(12, 25), (12, 14), (14, 25), (14, 23)]),
    ),
    (
        "rvpredict/llvm.examples.BrokenSpinningLoop.in",
        Expected::RacesAt("BrokenSpinningLoop.cpp", &[(14, 18)]),
    ),
    // RV-Predict reports a cycle in the lock order; the trace has one thread, and one thread alone
    // cannot deadlock with itself over two locks taken in two orders.
    ("rvpredict/llvm.deadlock.simple.in", Expected::NoDeadlock),
    ("figures/Test2.csv", figure(1)),
    ("figures/Test4.csv", figure(1)),
    (
        "figures/Test6.csv",
        Expected::Races {
            theirs: 6,
            ours: 30,
            why: "each of T1's 30 unguarded writes races with T2's",
        },
    ),
    ("figures/Test8.csv", figure(3)),
    ("figures/Test10.csv", figure(0)),
    ("figures/Test12.csv", figure(5)),
    ("figures/Test14.csv", figure(1)),
    ("figures/Test16.csv", figure(1)),
    ("figures/Test18.csv", figure(1)),
    ("figures/Test20.csv", figure(0)),
    ("figures/Test22.csv", figure(0)),
    ("figures/Test24.csv", figure(1)),
    ("figures/Test26.csv", figure(0)),
    ("figures/Test28.csv", figure(1)),
];

/// A figure on whose count all agree.
const fn figure(races: usize) -> Expected {
    Expected::Races { theirs: races, ours: races, why: "" }
}

/// Where the corpus is kept beside the repository.
pub(crate) fn default_folder() -> PathBuf {
    shared("traces")
}

/// A folder beside the checkout, or where `FORETRACE_SHARED` says.
pub(crate) fn shared(folder: &str) -> PathBuf {
    let shared = std::env::var_os("FORETRACE_SHARED");
    shared.map_or_else(|| root().join("../shared"), PathBuf::from).join(folder)
}

/// Checks every file; the number of files, or `None` if the corpus is not there.
pub(crate) fn corpus(folder: &Path) -> Result<Option<u64>, Stop> {
    if !folder.is_dir() {
        println!("corpus: SKIPPED ({} is not there)", folder.display());
        return Ok(None);
    }
    tools::ensure()?;
    let foretrace = release_binary()?;
    let (mut passed, mut failed) = (0, 0);
    for (name, expected) in files(folder) {
        let start = Instant::now();
        let outcome = judge(&foretrace, &folder.join(&name), expected);
        let (word, text) = match &outcome {
            Ok(text) => ("PASS", text),
            Err(text) => ("FAIL", text),
        };
        println!("{word} {name} ({}): {text}", seconds(start.elapsed()));
        if outcome.is_ok() { passed += 1 } else { failed += 1 }
    }
    println!("corpus: {passed} passed, {failed} failed");
    if failed > 0 { Err(Stop::failed("corpus FAILED")) } else { Ok(Some(passed)) }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The names of all files that are checked, also of those that are not there.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    files(folder).into_iter().map(|(name, _)| name).collect()
}

fn files(folder: &Path) -> Vec<(String, Expected)> {
    let entries = fs::read_dir(folder.join("raceinjector")).into_iter().flatten().flatten();
    let mut files: Vec<(String, Expected)> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".std") || name.ends_with(".std.gz"))
        .map(|name| (format!("raceinjector/{name}"), Expected::RaceOn("BUGGY_ADDR")))
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files.extend(TABLE.iter().map(|&(name, expected)| (name.to_string(), expected)));
    files
}

fn judge(foretrace: &Path, trace: &Path, expected: Expected) -> Result<String, String> {
    let property = match expected {
        Expected::Deadlock | Expected::NoDeadlock => "deadlock",
        Expected::RaceOn(_) | Expected::RacesAt(..) | Expected::Races { .. } => "race",
    };
    compare(&predict(foretrace, trace, property)?, expected)
}

/// What we look at in a report. The schedules, which can be gigabytes, are skipped while reading.
#[derive(Deserialize)]
struct Report {
    findings: Vec<Finding>,
    summary: std::collections::BTreeMap<String, Ledger>,
}

#[derive(Deserialize)]
struct Finding {
    object: Option<String>,
    locations: Vec<String>,
}

#[derive(Deserialize)]
struct Ledger {
    undecided: u64,
}

/// The report on one file, read while it is written.
fn predict(foretrace: &Path, trace: &Path, property: &str) -> Result<Report, String> {
    let mut child = Command::new(foretrace)
        .args(["predict", "--check", property, "--budget", BUDGET, "--json", "-"])
        .arg(trace)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it is piped"));
    let report = serde_json::from_reader(stdout);
    let mut errors = String::new();
    let stderr = child.stderr.take().expect("it is piped");
    BufReader::new(stderr).read_to_string(&mut errors).map_err(|error| error.to_string())?;
    let status = child.wait().map_err(|error| error.to_string())?;
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        return Err(format!("{status}: {}", errors.lines().next().unwrap_or("")));
    }
    report.map_err(|error| error.to_string())
}

fn compare(report: &Report, expected: Expected) -> Result<String, String> {
    let findings = &report.findings;
    match expected {
        Expected::RaceOn(object) => {
            let is_on =
                |finding: &Finding| finding.object.as_ref().is_some_and(|o| o.contains(object));
            let found = findings.iter().any(is_on);
            let text = counted(findings.len(), "race");
            if found { Ok(text) } else { Err(format!("{text}, none on {object}")) }
        }
        Expected::RacesAt(file, pairs) => {
            let missing: Vec<String> = pairs
                .iter()
                .filter(|pair| !findings.iter().any(|finding| is_at(finding, file, **pair)))
                .map(|(a, b)| format!("{file}:{a} and {b}"))
                .collect();
            let text = counted(findings.len(), "race");
            if missing.is_empty() {
                Ok(text)
            } else {
                Err(format!("{text}, missing {}", missing.join("; ")))
            }
        }
        Expected::Deadlock => match none(report, "deadlock") {
            Ok(text) => Err(text),
            Err(text) if findings.is_empty() => Err(text),
            Err(text) => Ok(text),
        },
        Expected::NoDeadlock => none(report, "deadlock"),
        Expected::Races { theirs, ours, why } => {
            let found = findings.len();
            let races = counted(found, "race");
            let text = match (found == theirs, why) {
                (true, _) => format!("{races}, as expected there"),
                (false, "") => format!("{races}, {theirs} expected there"),
                (false, why) => format!("{races}, {theirs} expected there: {why}"),
            };
            if ours == found { Ok(text) } else { Err(text) }
        }
    }
}

/// That nothing was found, and nothing left open.
fn none(report: &Report, what: &str) -> Result<String, String> {
    let undecided: u64 = report.summary.values().map(|ledger| ledger.undecided).sum();
    match (report.findings.len(), undecided) {
        (0, 0) => Ok(format!("no {what}")),
        (0, undecided) => Err(format!("no {what}, but {undecided} undecided")),
        (found, _) => Err(counted(found, what)),
    }
}

/// `1 race`, `2 races`
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Whether a finding is at two lines of a file, in whatever order.
fn is_at(finding: &Finding, file: &str, (a, b): (u32, u32)) -> bool {
    let lines: Vec<Option<u32>> =
        finding.locations.iter().map(|location| line_in(location, file)).collect();
    lines == [Some(a), Some(b)] || lines == [Some(b), Some(a)]
}

/// The line in a location such as `main a.c:12` or `fn:main;file:a.c;line:12`.
fn line_in(location: &str, file: &str) -> Option<u32> {
    let (_, rest) = location.split_once(file)?;
    let digits = rest.find(|c: char| c.is_ascii_digit())?;
    let number = rest[digits..].split(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_locations() {
        assert_eq!(line_in("MyThread example2.c:12", "example2.c"), Some(12));
        assert_eq!(line_in("fn:f;file:d/example2.c;line:7", "example2.c"), Some(7));
        assert_eq!(line_in("other.c:12", "example2.c"), None);
    }

    #[test]
    fn expectations_meet_reports() {
        let report = r#"{"findings": [{"object": "x", "locations": ["a.c:2", "a.c:1"],
            "schedule": [{"thread": "t", "event": 0}]}], "summary": {"race": {"undecided": 0}}}"#;
        let report: Report = serde_json::from_str(report).unwrap();
        assert!(compare(&report, Expected::RaceOn("x")).is_ok());
        assert!(compare(&report, Expected::RaceOn("y")).is_err());
        assert!(compare(&report, Expected::RacesAt("a.c", &[(1, 2)])).is_ok());
        assert!(compare(&report, Expected::RacesAt("a.c", &[(1, 2), (2, 2)])).is_err());
        assert!(compare(&report, Expected::NoDeadlock).is_err());
        assert!(compare(&report, Expected::Deadlock).is_ok());
        assert!(compare(&report, figure(1)).is_ok());
        assert!(compare(&report, figure(3)).is_err());
        assert!(compare(&report, Expected::Races { theirs: 3, ours: 1, why: "" }).is_ok());
    }
}
