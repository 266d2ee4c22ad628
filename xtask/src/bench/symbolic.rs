//! `bench symbolic`: whether an assertion can fail, on traces with expressions in the sizes of 000
//! Table 1; ours against the papers' formula in z3.
//!
//! **Computes.** For each trace, without a bound and with at most two context switches (*predict*
//! and *predict-cb* of the table): our verdict, the CPU time of our whole process on one core, the
//! CPU time of z3 alone, and how many times as long that is. Where z3 answers, both verdicts must
//! be the same.

use std::path::Path;

use super::Bench;
use super::smtlib::{Smtlib, ratio, shown};
use crate::shell::{Stop, release_binary};

/// Programs with the number of threads; `a` are those with the error.
const TRACES: [&str; 13] = [
    "indexer-10",
    "indexer-15",
    "indexer-15a",
    "indexer-20",
    "indexer-20a",
    "indexer-25",
    "indexer-25a",
    "banking-2",
    "banking-2a",
    "banking-5",
    "banking-5a",
    "banking-10",
    "banking-10a",
];
/// What `--quick` keeps.
const QUICK: [&str; 4] = ["banking-2", "banking-2a", "indexer-10", "indexer-15a"];
/// The bound of the table.
pub(super) const BOUND: &str = "2";
/// Seconds that z3 may take for a question.
const LIMIT: u64 = 60;
/// What we set ourselves.
const GOAL: Goal = Goal { most_seconds: 2.0, least_ratio: 20.0 };

/// How fast it is to be: seconds for a question, and how many times as long z3 takes where it
/// answers.
pub(super) struct Goal {
    pub(super) most_seconds: f64,
    pub(super) least_ratio: f64,
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Goal { most_seconds, least_ratio } = self;
        write!(f, "{most_seconds} s, × {least_ratio} where z3 answers within {LIMIT} s")
    }
}

pub(super) fn symbolic(bench: &Bench, quick: bool) -> Result<(), Stop> {
    let (program, smtlib) = (release_binary()?, Smtlib::build()?);
    header();
    let mut missed = 0;
    for kind in if quick { &QUICK[..] } else { &TRACES[..] } {
        let trace = bench.trace(kind, 0)?;
        for bound in [None, Some(BOUND)] {
            missed += u32::from(!row(&program, &smtlib, kind, &trace, bound, &GOAL)?.0);
        }
    }
    println!("symbolic: CPU seconds; {missed} rows miss what we set ourselves: {GOAL}");
    Ok(())
}

pub(super) fn header() {
    println!(
        "{:<13}{:>8}{:>9}{:>7}{:>10}{:>10}{:>12}{:>9}",
        "trace", "events", "threads", "bound", "verdict", "ours, s", "z3, s", "ratio"
    );
}

/// Measures one row; whether it is as fast as it is to be, and whether the assertion can fail.
pub(super) fn row(
    program: &Path,
    smtlib: &Smtlib,
    kind: &str,
    trace: &Path,
    bound: Option<&str>,
    goal: &Goal,
) -> Result<(bool, bool), Stop> {
    let mut options = vec!["--check", "assertion", "--jobs", "1"];
    options.extend(bound.into_iter().flat_map(|bound| ["--context-bound", bound]));
    let ours = smtlib.predict(program, trace, &options)?;
    let limit = format!("limit={LIMIT}");
    let bounded = bound.map(|bound| format!("bound={bound}"));
    let asked: Vec<&str> = std::iter::once(&*limit).chain(bounded.as_deref()).collect();
    let theirs = smtlib.decide(trace, &ours.report.model, "assertion", &asked)?;
    let fails = !ours.report.findings.is_empty();
    if ours.report.undecided() > 0 || theirs.feasible.is_some_and(|feasible| feasible != fails) {
        let (undecided, said) = (ours.report.undecided(), theirs.feasible);
        return Err(Stop::failed(format!(
            "{kind}, bound {bound:?}: we say {fails} ({undecided} undecided), z3 {said:?}"
        )));
    }
    let seconds = ours.time.as_secs_f64();
    let is_slow = theirs.feasible.is_some() && theirs.seconds / seconds < goal.least_ratio;
    let mark = if seconds > goal.most_seconds || is_slow { "  MISSED" } else { "" };
    println!(
        "{kind:<13}{:>8}{:>9}{:>7}{:>10}{seconds:>10.3}{:>12}{:>9}{mark}",
        ours.report.trace.events,
        ours.report.trace.threads - 1,
        bound.unwrap_or("-"),
        if fails { "error" } else { "passed" },
        shown(&theirs, LIMIT),
        theirs.feasible.map_or("-".to_string(), |_| ratio(theirs.seconds, seconds)),
    );
    Ok((mark.is_empty(), fails))
}
