//! `bench rewalk`: what it costs to walk along the recorded paths when a recording is imported.
//!
//! **Computes.** For programs of `benches/programs`: records, events and instructions of the image
//! that were followed; of the import with and without the walk the CPU time and the peak of the
//! resident set, which has the mapped recording in it. Each measurement is a process of its own
//! (`benches/src/import.rs`), the two ways in turn; the least time of the rounds counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Bench, Measured};
use crate::shell::{Stop, release_build, root, run};
use crate::tools;

/// A program, its argument, and whether the limits that we set ourselves are about it: of what a
/// program computes without a record, the time per instruction says more.
const PROGRAMS: [(&str, &str, bool); 3] =
    [("private", "200", false), ("primes", "300000", true), ("partition", "200", true)];

const ROUNDS: usize = 3;
/// Events per second that the walk itself should reach, and bytes per event that the import may
/// take.
const LEAST_SPEED: f64 = 1e6;
const MOST_MEMORY: f64 = 200.0;

pub(super) fn rewalk(quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let bench = Bench::build()?;
    let folder = root().join(".bench").join("rewalk");
    fs::create_dir_all(&folder)
        .map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
    println!(
        "{:<11}{:>11}{:>11}{:>13}{:>9}{:>9}{:>12}{:>17}{:>14}{:>15}{:>14}",
        "program",
        "records",
        "events",
        "instructions",
        "plain s",
        "walk s",
        "ns / record",
        "ns / instruction",
        "events / s",
        "plain B/event",
        "walk B/event"
    );
    for (name, argument, limited) in PROGRAMS {
        let argument = if quick { &argument[..argument.len() - 1] } else { argument };
        let recording = record(&foretrace, &folder, name, argument)?;
        row(&bench, name, &recording, limited)?;
    }
    println!(
        "rates are those of the walk itself, what it adds to the import; limits: {LEAST_SPEED} events per second, {MOST_MEMORY} bytes per event, on `primes` and `partition`"
    );
    Ok(())
}

fn record(foretrace: &Path, folder: &Path, name: &str, argument: &str) -> Result<PathBuf, Stop> {
    let source = root().join("benches/programs").join(format!("{name}.c"));
    let (program, file) = (folder.join(name), folder.join(format!("{name}.ftrec")));
    let mut compile = Command::new(foretrace);
    compile.args(["cc", "-O2", "-g", "-pthread"]).arg(&source).arg("-o").arg(&program);
    run("compile", &mut compile)?;
    // Most often there is none.
    let _ = fs::remove_file(&file);
    let mut record = Command::new(foretrace);
    record.args(["run", "-o"]).arg(&file).arg(&program).arg(argument);
    run("record", &mut record)?;
    Ok(file)
}

fn row(bench: &Bench, name: &str, recording: &Path, limited: bool) -> Result<(), Stop> {
    let (mut plains, mut walks) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plains.push(bench.measure("import", recording)?);
        walks.push(bench.measure("walk", recording)?);
    }
    let best = |rounds: Vec<Measured>| {
        rounds.into_iter().min_by_key(|one| one["time"]).expect("there are rounds")
    };
    let (plain, walk) = (best(plains), best(walks));
    let seconds = |measured: &Measured| measured["time"] as f64 / 1e9;
    let per_event = |measured: &Measured| measured["memory"] as f64 / measured["events"] as f64;
    let added = (seconds(&walk) - seconds(&plain)).max(1e-9);
    let nanoseconds = |count: u64| 1e9 * added / count.max(1) as f64;
    let (records, events, instructions) = (walk["records"], walk["events"], walk["instructions"]);
    let is_over = (events as f64 / added) < LEAST_SPEED || per_event(&walk) > MOST_MEMORY;
    println!(
        "{name:<11}{records:>11}{events:>11}{instructions:>13}{:>9.3}{:>9.3}{:>12.0}{:>17.1}{:>14.0}{:>15.0}{:>14.0}{}",
        seconds(&plain),
        seconds(&walk),
        nanoseconds(records),
        nanoseconds(instructions),
        events as f64 / added,
        per_event(&plain),
        per_event(&walk),
        if limited && is_over { "  OVER" } else { "" },
    );
    Ok(())
}
