//! `bench staged`: 003 Fig. 3 once more. What summaries and pruning do for the formula in z3, and
//! our own solver beside them.
//!
//! **Computes.** For generated traces after the paper's benchmarks: events, reads and writes, and
//! the CPU seconds of z3 for the same question in three modes. *Old(+O)*: a variable for whatever a
//! thread computes, pruned. *+S-O*: summaries, each read linked with all writes of its cell.
//! *+S+O*: summaries, pruned. The last column is the CPU time of our whole process, on one core.
//! All verdicts must be the same.

use super::Bench;
use super::smtlib::{Smtlib, shown};
use crate::shell::{Stop, release_binary};

const TRACES: [&str; 10] = [
    "synch-2",
    "synch-7",
    "synch-13",
    "index-8",
    "index-12",
    "index-16",
    "index-20",
    "account-5",
    "account-11",
    "account-21",
];
const QUICK: [&str; 3] = ["synch-2", "index-8", "account-5"];
const MODES: [(&str, &[&str]); 3] =
    [("Old(+O)", &["variables"]), ("+S-O", &["eager"]), ("+S+O", &[])];
/// CPU seconds that z3 may take for a question.
const LIMIT: u64 = 30;
/// And seconds that we may take, by the clock on the wall.
const BUDGET: &str = "30s";

pub(super) fn staged(bench: &Bench, quick: bool) -> Result<(), Stop> {
    let (program, smtlib) = (release_binary()?, Smtlib::build()?);
    println!(
        "{:<12}{:>6}{:>6}{:>6}{:>12}{:>12}{:>12}{:>10}",
        "trace", "|N|", "|R|", "|W|", MODES[0].0, MODES[1].0, MODES[2].0, "ours"
    );
    for kind in if quick { &QUICK[..] } else { &TRACES[..] } {
        let trace = bench.trace(kind, 0)?;
        let ours = smtlib.predict(
            &program,
            &trace,
            &["--check", "assertion", "--jobs", "1", "--budget", BUDGET],
        )?;
        // Every answer, with who gave it.
        let own = !ours.report.findings.is_empty();
        let mut answers: Vec<(&str, bool)> =
            if ours.report.undecided() == 0 { vec![("ours", own)] } else { Vec::new() };
        let mut cells = String::new();
        let mut sizes = [0; 3];
        for (mode, options) in MODES {
            let limit = format!("limit={LIMIT}");
            let options: Vec<&str> = options.iter().copied().chain([&*limit]).collect();
            let theirs = smtlib.decide(&trace, &ours.report.model, "assertion", &options)?;
            answers.extend(theirs.feasible.map(|feasible| (mode, feasible)));
            sizes = ["events", "reads", "writes"].map(|name| theirs.measured[name]);
            cells += &format!("{:>12}", shown(&theirs, LIMIT));
        }
        if answers.iter().any(|(_, feasible)| *feasible != answers[0].1) {
            return Err(Stop::failed(format!("{kind}: not all say the same: {answers:?}")));
        }
        let [events, reads, writes] = sizes;
        let own = match ours.report.undecided() {
            0 => format!("{:.3}", ours.time.as_secs_f64()),
            _ => format!("> {LIMIT}"),
        };
        println!("{kind:<12}{events:>6}{reads:>6}{writes:>6}{cells}{own:>10}");
    }
    println!("staged: CPU seconds; z3 is stopped after {LIMIT} s");
    Ok(())
}
