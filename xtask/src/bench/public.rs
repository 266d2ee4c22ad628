//! `bench public`: whole predictions of recorded traces of public projects.
//!
//! **Computes.** For each file of the corpus that is there: events, candidates, findings, what is
//! undecided, and the seconds of the whole process, beside the limit that we set ourselves; then
//! the same with every tuple of events as a question of its own, and how much longer that takes
//! than the classes that are the default.

use std::path::Path;

use super::predicted::predict;
use crate::corpus;
use crate::shell::{Stop, release_binary};

/// Nobody waits longer for a trace whose events are all asked about one by one.
const MOST_TIME: &str = "120s";

/// How long a trace of that many events may take, in seconds.
fn limit(name: &str, events: u64) -> f64 {
    match events {
        _ if name.contains("jigsaw") => 30.0,
        0..1000 => 0.3,
        _ => 5.0,
    }
}

pub(super) fn public() -> Result<(), Stop> {
    let folder = corpus::default_folder();
    if !folder.is_dir() {
        println!("public: SKIPPED ({} is not there)", folder.display());
        return Ok(());
    }
    let program = release_binary()?;
    println!(
        "{:<58}{:>7}{:>12}{:>10}{:>11}{:>9}{:>7}{:>16}{:>9}",
        "trace",
        "events",
        "candidates",
        "findings",
        "undecided",
        "seconds",
        "limit",
        "event by event",
        "ratio"
    );
    let (mut files, mut over) = (0, 0);
    for name in corpus::names(&folder) {
        let path = folder.join(&name);
        if path.exists() {
            files += 1;
            over += u32::from(!row(&program, &name, &path)?);
        }
    }
    println!("public: {files} files, {over} over their limits");
    Ok(())
}

/// Measures one file; whether it is within its limit.
fn row(program: &Path, name: &str, path: &Path) -> Result<bool, Stop> {
    let classes = predict(program, path, &["--budget", MOST_TIME])?;
    let one_by_one = predict(program, path, &["--granularity", "event", "--budget", MOST_TIME])?;
    let one_by_one = one_by_one.time.as_secs_f64();
    let (report, seconds) = (&classes.report, classes.time.as_secs_f64());
    let limit = limit(name, report.trace.events);
    // Below this, it is the start of the process that is measured.
    let ratio = if seconds.max(one_by_one) < 0.1 {
        "-".to_string()
    } else {
        format!("× {:.1}", one_by_one / seconds)
    };
    let mark = if seconds < limit { "" } else { "  OVER" };
    println!(
        "{name:<58}{:>7}{:>12}{:>10}{:>11}{seconds:>9.2}{limit:>7}{:>16.2}{:>9}{mark}",
        report.trace.events,
        report.candidates(),
        report.findings.len(),
        report.undecided(),
        one_by_one,
        ratio,
    );
    Ok(seconds < limit)
}

#[cfg(test)]
mod tests {
    use super::limit;

    #[test]
    fn limits_grow_with_the_trace() {
        assert_eq!(limit("figures/Test2.csv", 9), 0.3);
        assert_eq!(limit("deadlock/Dbcp1.std", 2_000), 5.0);
        assert_eq!(limit("raceinjector/hb_missed_jigsaw.std.gz", 75_000), 30.0);
    }
}
