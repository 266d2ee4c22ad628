//! `bench rewalk`: what it costs to walk along the recorded paths when a recording is imported.
//!
//! **Computes.** For programs of `benches/programs`: records and events, and of the import with and without the walk the time and the
//! peak memory. Each measurement is a process of its own (`crates/rewalk/examples/import.rs`); the best of the rounds counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Bench, Measured};
use crate::shell::{Stop, cargo, release_build, root, run, target_folder};
use crate::tools;

/// A program and its argument.
const PROGRAMS: [(&str, &str); 3] =
    [("private", "200"), ("primes", "300000"), ("partition", "200")];

const ROUNDS: usize = 3;
/// Events per second that the walk itself should reach, and bytes per event that the import may take.
const LEAST_SPEED: f64 = 1e6;
const MOST_MEMORY: f64 = 200.0;

pub(super) fn rewalk(quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let package = ["--package", "foretrace-rewalk", "--example", "import"];
    run("build", cargo(&["build", "--release", "--locked"]).args(package))?;
    let bench = Bench { program: target_folder().join("release").join("examples").join("import") };
    let folder = root().join(".bench").join("rewalk");
    fs::create_dir_all(&folder)
        .map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
    println!(
        "{:<11}{:>11}{:>11}{:>9}{:>9}{:>7}{:>16}{:>15}{:>15}{:>15}",
        "program",
        "records",
        "events",
        "plain s",
        "walk s",
        "ratio",
        "walk records/s",
        "walk events/s",
        "plain B/event",
        "walk B/event"
    );
    for (name, argument) in PROGRAMS {
        let argument = if quick { &argument[..argument.len() - 1] } else { argument };
        let recording = record(&foretrace, &folder, name, argument)?;
        row(&bench, name, &recording)?;
    }
    println!(
        "limits: {LEAST_SPEED} events per second of the walk itself (what it adds to the import), {MOST_MEMORY} bytes per event"
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

fn row(bench: &Bench, name: &str, recording: &Path) -> Result<(), Stop> {
    let best = |way: &str| -> Result<Measured, Stop> {
        let rounds: Result<Vec<Measured>, Stop> =
            (0..ROUNDS).map(|_| bench.measure(way, recording)).collect();
        Ok(rounds?.into_iter().min_by_key(|one| one["time"]).expect("there are rounds"))
    };
    let (plain, walk) = (best("plain")?, best("walk")?);
    let seconds = |measured: &Measured| measured["time"] as f64 / 1e9;
    let per_event = |measured: &Measured| measured["memory"] as f64 / measured["events"] as f64;
    let added = (seconds(&walk) - seconds(&plain)).max(1e-9);
    let (records, events) = (walk["records"], walk["events"]);
    let is_over = (events as f64 / added) < LEAST_SPEED || per_event(&walk) > MOST_MEMORY;
    println!(
        "{name:<11}{records:>11}{events:>11}{:>9.3}{:>9.3}{:>7.2}{:>16.0}{:>15.0}{:>15.0}{:>15.0}{}",
        seconds(&plain),
        seconds(&walk),
        seconds(&walk) / seconds(&plain),
        records as f64 / added,
        events as f64 / added,
        per_event(&plain),
        per_event(&walk),
        if is_over { "  OVER" } else { "" },
    );
    Ok(())
}
