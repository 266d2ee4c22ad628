//! `bench programs`: *banking* and *indexer* of 000 Table 1 as C programs, recorded; whether the
//! assertion can fail, ours against the papers' formula in z3.
//!
//! **Computes.** For programs of `benches/programs`, in the table's numbers of threads, with and
//! without the error: a run that passes is recorded (`--schedule pct`, the first seed with which
//! nothing fails); then a row of `bench symbolic` for its trace, from the file to the verdict. What
//! is found must happen when it is replayed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::smtlib::Smtlib;
use super::symbolic::{BOUND, Goal, header, row};
use crate::shell::{Stop, release_build, root, run};
use crate::tools;

/// Programs with their numbers of threads.
const BANKING: [&str; 3] = ["2", "5", "10"];
const INDEXER: [&str; 4] = ["10", "15", "20", "25"];
/// With so few threads of *indexer*, no two use one entry.
const ALONE: &str = "10";
/// What we set ourselves.
const GOAL: Goal = Goal { most_seconds: 3.0, least_ratio: 20.0 };
/// With one of so many seeds nothing must fail.
const SEEDS: u32 = 100;

pub(super) fn programs(quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let (foretrace, smtlib) = (release_build()?, Smtlib::build()?);
    let folder = root().join(".bench").join("programs");
    fs::create_dir_all(&folder)
        .map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
    let mut recorded = Vec::new();
    for (name, sizes) in [("banking", &BANKING[..]), ("indexer", &INDEXER[..])] {
        let passing = compile(&foretrace, &folder, name, false)?;
        let failing = compile(&foretrace, &folder, name, true)?;
        for threads in sizes.iter().take(if quick { 1 } else { sizes.len() }) {
            recorded.push(record(&foretrace, &passing, format!("{name}-{threads}"), threads)?);
            if (name, *threads) != ("indexer", ALONE) {
                let kind = format!("{name}-{threads}a");
                recorded.push(record(&foretrace, &failing, kind, threads)?);
            }
        }
    }
    header();
    let mut missed = 0;
    for Recorded { kind, trace, replays } in &recorded {
        for bound in [None, Some(BOUND)] {
            let (meets, fails) = row(&foretrace, &smtlib, kind, trace, bound, &GOAL)?;
            if bound.is_none() && fails != *replays {
                return Err(Stop::failed(format!("{kind}: found {fails}, replayed {replays}")));
            }
            missed += u32::from(!meets);
        }
    }
    println!("programs: CPU seconds; {missed} rows miss what we set ourselves: {GOAL}");
    Ok(())
}

/// The trace of a run.
struct Recorded {
    kind: String,
    trace: PathBuf,
    /// Whether `foretrace test` finds a failing assertion from that run that happens when it is
    /// replayed.
    replays: bool,
}

fn compile(foretrace: &Path, folder: &Path, name: &str, fails: bool) -> Result<PathBuf, Stop> {
    let source = root().join("benches/programs").join(format!("{name}.c"));
    let program = folder.join(format!("{name}{}", if fails { "a" } else { "" }));
    let mut compile = Command::new(foretrace);
    compile.args(["cc", "-O2", "-g", "-pthread"]).args(fails.then_some("-DERROR"));
    run("compile", compile.arg(&source).arg("-o").arg(&program))?;
    Ok(program)
}

/// Records the first run that passes, and replays what is found in it.
fn record(foretrace: &Path, program: &Path, kind: String, threads: &str) -> Result<Recorded, Stop> {
    let trace = program.with_file_name(format!("{kind}.ftb"));
    let silent = |arguments: &[&str], output: Stdio| {
        let mut command = Command::new(foretrace);
        command.args(arguments).arg(program).arg(threads).stdout(output).stderr(Stdio::null());
        command.output().map_err(|error| Stop::usage(format!("{}: {error}", foretrace.display())))
    };
    let path = trace.to_str().ok_or_else(|| Stop::usage("a path that is no text"))?;
    for seed in 1..=SEEDS {
        let seed = seed.to_string();
        let how = ["--schedule", "pct", "--seed", &seed];
        let recording = silent(&[&["run", "-o", path], &how[..]].concat(), Stdio::null())?;
        if recording.status.success() {
            let test = [&["test", "--output", "text", "--check", "assertion"], &how[..]].concat();
            let said = silent(&test, Stdio::piped())?;
            let replays = String::from_utf8_lossy(&said.stdout).contains("replay: confirmed");
            return Ok(Recorded { kind, trace, replays });
        }
    }
    Err(Stop::failed(format!("{kind} fails with each of {SEEDS} seeds")))
}
