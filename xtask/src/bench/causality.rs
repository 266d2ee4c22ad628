//! `bench causality`: what the universal causality graph saves, and what one more candidate costs.
//!
//! **Computes.** First, for generated traces and for those of public projects: how long the solver
//! works with nothing refuted before (`--no-prune`), with needs and common locks, and with the
//! graph; the time of the whole prediction; and what each analysis leaves. Then, for longer and
//! longer traces, the time for 1,000 candidates.

use std::path::Path;

use super::{Bench, Measured};
use crate::corpus;
use crate::shell::Stop;

const GENERATED: [(&str, usize); 7] = [
    ("sections", 2_000),
    ("sections", 5_000),
    ("hammer-guarded-plain", 10_000),
    ("hammer-handed-plain", 10_000),
    ("wide-guarded-plain", 75_000),
    ("wide-handed-plain", 75_000),
    ("program", 100_000),
];
const PRUNINGS: [&str; 3] = ["nothing", "needs", "graph"];
const LENGTHS: [usize; 3] = [100_000, 1_000_000, 10_000_000];
const CANDIDATES: &str = "1000";

/// Solvers that work less than this without the graph do not count.
const LEAST_SOLVER_TIME: f64 = 0.5;

pub(super) fn causality(bench: &Bench, quick: bool) -> Result<(), Stop> {
    pruning(bench, quick)?;
    candidates(bench, quick)
}

/// What the solver needs, summed up over the traces that count.
#[derive(Default)]
struct Sums {
    traces: u32,
    solver: [f64; 3],
    slowest: f64,
}

fn pruning(bench: &Bench, quick: bool) -> Result<(), Stop> {
    println!(
        "{:<44}{:>10}{:>8}{:>8}{:>8}{:>30}{:>30}",
        "", "", "", "", "", "solver, s", "whole prediction, s"
    );
    println!(
        "{:<44}{:>10}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "trace",
        "candidates",
        "lsa",
        "mhb",
        "ucg",
        "no prune",
        "needs",
        "graph",
        "no prune",
        "needs",
        "graph"
    );
    let mut sums = Sums::default();
    let generated = if quick { &GENERATED[..1] } else { &GENERATED[..] };
    for &(kind, events) in generated {
        let name = format!("{kind}, {events}");
        row(bench, &name, &bench.trace(kind, events)?, &mut sums)?;
    }
    let folder = corpus::default_folder();
    if quick || !folder.is_dir() {
        println!("public traces: SKIPPED");
    } else {
        for name in corpus::names(&folder) {
            let path = folder.join(&name);
            if path.exists() {
                row(bench, &name, &path, &mut sums)?;
            }
        }
    }
    let [nothing, needs, graph] = sums.solver;
    println!(
        "{} traces on which the solver works longer than {LEAST_SOLVER_TIME} s without pruning: \
         {nothing:.2} s without, {needs:.2} s with needs, {graph:.2} s with the graph (× {:.1} and × {:.1})",
        sums.traces,
        nothing / graph,
        needs / graph
    );
    println!("slowest beside needs alone: × {:.2} of the whole prediction", sums.slowest);
    Ok(())
}

fn row(bench: &Bench, name: &str, trace: &Path, sums: &mut Sums) -> Result<(), Stop> {
    let mut all: Vec<Measured> = Vec::new();
    for pruning in PRUNINGS {
        all.push(bench.measure_with("decide", trace, &[pruning])?);
    }
    let seconds = |at: usize, what: &str| all[at][what] as f64 / 1e9;
    for at in 1..all.len() {
        // A prediction that was cut off says less, never something else.
        let is_whole = all[0]["undecided"] == 0 && all[at]["undecided"] == 0;
        if is_whole && all[0]["violated"] != all[at]["violated"] {
            return Err(Stop::failed(format!("bench FAILED on {name}: the verdicts differ")));
        }
    }
    let [solver, whole] = ["solver", "predict"].map(|what| [0, 1, 2].map(|at| seconds(at, what)));
    if solver[0] >= LEAST_SOLVER_TIME {
        sums.traces += 1;
        for (sum, time) in sums.solver.iter_mut().zip(solver) {
            *sum += time;
        }
    }
    // Below this, it is other work on the machine that is measured; and what was cut off says
    // nothing.
    let is_whole = all[1]["undecided"] == 0 && all[2]["undecided"] == 0;
    if is_whole && whole[2].max(whole[1]) > 0.25 {
        sums.slowest = sums.slowest.max(whole[2] / whole[1]);
    }
    if whole[0] < 0.1 {
        return Ok(());
    }
    let graph = &all[2];
    print!("{name:<44}{:>10}", graph["candidates"]);
    for column in ["lsa", "mhb", "ucg"] {
        print!("{:>8}", graph[column]);
    }
    for (at, time) in solver.into_iter().chain(whole).enumerate() {
        // Cut off: it would have taken longer.
        let mark = if all[at % 3]["undecided"] > 0 { ">" } else { "" };
        print!("{:>10}", format!("{mark}{time:.2}"));
    }
    println!();
    Ok(())
}

fn candidates(bench: &Bench, quick: bool) -> Result<(), Stop> {
    println!(
        "{:>12}{:>12}{:>16}{:>16}{:>12}{:>12}",
        "events", "candidates", "prepare, s", "µs/candidate", "refuted", "MiB"
    );
    let lengths = if quick { &LENGTHS[..2] } else { &LENGTHS[..] };
    for &events in lengths {
        let trace = bench.trace("sections", events)?;
        let measured = bench.measure_with("candidates", &trace, &[CANDIDATES])?;
        println!(
            "{events:>12}{:>12}{:>16.2}{:>16.1}{:>12}{:>12}",
            measured["asked"],
            measured["prepare"] as f64 / 1e9,
            measured["ask"] as f64 / 1e3 / measured["asked"].max(1) as f64,
            measured["refuted"],
            measured["memory"] >> 20,
        );
    }
    Ok(())
}
