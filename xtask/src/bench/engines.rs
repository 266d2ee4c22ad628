//! `bench engines`: which engine decides what, and whether the choice between them is a good one.
//!
//! **Computes.** For each example program and its corrected twin, and for the trial programs if
//! they are there: one recorded run (`--schedule pct`, the first seed with which the program
//! passes); how many questions order and locks, the causality graph, tries, `values`, the explicit
//! engine and the solver decide, with how many conflicts and states; and the CPU seconds of the
//! solver alone, of the explicit engine alone, and of both in stages, behind the same pruning.
//!
//! **Follows.** What counts as good: the stages leave open no more than the better engine does, and
//! take at most `FACTOR` times as long, in `SHARE` of the rows; against the solver alone, in all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Bench, Measured};
use crate::corpus::shared;
use crate::shell::{Stop, release_build, root};
use crate::tools;

/// With one of so many seeds nothing must fail, or the program is left out.
const SEEDS: u32 = 20;
/// How much longer than the best engine the stages may take, and in which share of the rows.
const FACTOR: f64 = 3.0;
const SHARE: f64 = 0.75;
/// Times below this count as this: they are the start, not the engine.
const LEAST: f64 = 0.02;
/// What `--quick` keeps.
const QUICK: usize = 12;
const DECIDERS: [&str; 6] = ["order", "graph", "tries", "values", "explicit", "solver"];

pub(super) fn engines(bench: &Bench, quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let folder = root().join(".bench").join("engines");
    fs::create_dir_all(&folder)
        .map_err(|error| Stop::usage(format!("{}: {error}", folder.display())))?;
    let mut programs = examples()?;
    if quick {
        programs.truncate(QUICK);
    } else {
        programs.extend(trials()?);
    }
    header();
    let (mut rows, mut good, mut bad) = (0, 0, Vec::new());
    for program in &programs {
        let Some(trace) = program.record(&foretrace, &folder)? else {
            println!("{:<28}  left out: it fails to build, or in every run", program.name);
            continue;
        };
        let row = Row::measure(bench, &trace)?;
        row.print(&program.name);
        rows += 1;
        good += u32::from(row.is_near(row.best()));
        if !row.is_near(&row.solver) {
            bad.push(program.name.clone());
        }
    }
    let share = f64::from(good) / f64::from(rows);
    let verdict = |holds: bool| if holds { "holds" } else { "MISSED" };
    println!(
        "engines: the stages are the best engine, or within × {FACTOR}, in {good} of {rows} rows \
         ({:.0} %; goal {:.0} %: {})",
        share * 100.0,
        SHARE * 100.0,
        verdict(share >= SHARE)
    );
    println!(
        "engines: worse than the solver alone by more than that: {} ({})",
        if bad.is_empty() { "never".to_string() } else { bad.join(", ") },
        verdict(bad.is_empty())
    );
    Ok(())
}

/// A program, and how it is compiled.
struct Program {
    name: String,
    sources: Vec<PathBuf>,
}

/// The example programs with their twins.
fn examples() -> Result<Vec<Program>, Stop> {
    let mut programs = Vec::new();
    for folder in sorted(&root().join("examples/programs"))? {
        let example = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (twin, name) in [("bug", example.clone()), ("fixed", format!("{example}, corrected"))] {
            let sources = ["c", "cpp"].map(|kind| folder.join(format!("{twin}.{kind}")));
            let source = sources.into_iter().find(|source| source.is_file());
            programs.extend(source.map(|source| Program { name, sources: vec![source] }));
        }
    }
    Ok(programs)
}

/// The trial programs, if they are there.
fn trials() -> Result<Vec<Program>, Stop> {
    let folder = shared("trials/programs");
    if !folder.is_dir() {
        println!("engines: no trial programs ({} is not there)", folder.display());
        return Ok(Vec::new());
    }
    let mut programs = Vec::new();
    for source in sorted(&folder)? {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let kind = source.extension().unwrap_or_default();
        if (kind != "c" && kind != "cpp") || name == "pool" {
            continue;
        }
        let mut sources = vec![source.clone()];
        sources.extend(name.starts_with("app").then(|| folder.join("pool.cpp")));
        programs.push(Program { name: format!("trial: {name}"), sources });
    }
    Ok(programs)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, Stop> {
    let problem = |error| Stop::usage(format!("{}: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(problem)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

impl Program {
    /// The trace of the first run that passes, made once; `None` if there is none.
    fn record(&self, foretrace: &Path, folder: &Path) -> Result<Option<PathBuf>, Stop> {
        let name = self.name.replace([' ', ',', ':'], "_");
        let (binary, trace) = (folder.join(&name), folder.join(format!("{name}.ftb")));
        if trace.is_file() {
            return Ok(Some(trace));
        }
        let mut is_parallel = false;
        for source in &self.sources {
            let text = fs::read_to_string(source)
                .map_err(|error| Stop::usage(format!("{}: {error}", source.display())))?;
            is_parallel |= text.contains("#pragma omp");
        }
        let is_cpp = self.sources[0].extension().is_some_and(|kind| kind == "cpp");
        let mut compile = Command::new(foretrace);
        compile.args([if is_cpp { "c++" } else { "cc" }, "-g", "-pthread"]);
        compile.args(is_cpp.then_some("-std=c++20")).args(is_parallel.then_some("-fopenmp"));
        compile.args(&self.sources).arg("-o").arg(&binary);
        if !succeeds(&mut compile)? {
            return Ok(None);
        }
        for seed in 1..=SEEDS {
            let mut run = Command::new(foretrace);
            run.args(["run", "--schedule", "pct", "--seed", &seed.to_string(), "-o"]);
            if succeeds(run.arg(&trace).arg("--").arg(&binary))? {
                return Ok(Some(trace));
            }
        }
        let _ = fs::remove_file(&trace);
        Ok(None)
    }
}

fn succeeds(command: &mut Command) -> Result<bool, Stop> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status();
    Ok(status.map_err(|error| crate::shell::cannot_run(command, &error))?.success())
}

/// What was measured of a trace.
struct Row {
    solver: Measured,
    explicit: Measured,
    staged: Measured,
}

impl Row {
    fn measure(bench: &Bench, trace: &Path) -> Result<Row, Stop> {
        let by = |engines: &str| bench.measure_with("engines", trace, &[engines]);
        Ok(Row { solver: by("solver")?, explicit: by("explicit")?, staged: by("staged")? })
    }

    /// The engine that leaves the least open, and of two such the faster one.
    fn best(&self) -> &Measured {
        let both = [&self.solver, &self.explicit];
        both.into_iter().min_by_key(|by| (open(by), by["time"])).expect("there are two")
    }

    /// Whether the stages leave open no more than an engine, and take not much longer.
    fn is_near(&self, other: &Measured) -> bool {
        let (own, theirs) = (open(&self.staged), open(other));
        own < theirs || own == theirs && seconds(&self.staged) <= FACTOR * seconds(other).max(LEAST)
    }

    fn print(&self, name: &str) {
        let staged = &self.staged;
        let decided = DECIDERS.map(|decider| format!("{:>9}", staged[decider]));
        let mark = match (self.is_near(self.best()), self.is_near(&self.solver)) {
            (true, true) => "",
            (false, true) => "  slow",
            (_, false) => "  SLOW",
        };
        println!(
            "{name:<28}{:>8}{}{:>6}{:>10}{:>10}{:>12}{:>12}{:>12}{mark}",
            staged["events"],
            decided.concat(),
            staged["open"],
            staged["conflicts"],
            staged["states"],
            shown(&self.solver),
            shown(&self.explicit),
            shown(staged),
        );
    }
}

fn header() {
    let deciders = DECIDERS.map(|decider| format!("{decider:>9}"));
    println!(
        "{:<28}{:>8}{}{:>6}{:>10}{:>10}{:>12}{:>12}{:>12}",
        "program",
        "events",
        deciders.concat(),
        "open",
        "conflicts",
        "states",
        "solver, s",
        "explicit, s",
        "staged, s"
    );
}

/// How many questions are not decided under the model that was asked for.
fn open(measured: &Measured) -> u64 {
    measured["open"] + measured["recorded"]
}

fn seconds(measured: &Measured) -> f64 {
    measured["time"] as f64 / 1e9
}

/// The seconds, and how many questions were left open.
fn shown(measured: &Measured) -> String {
    let left = match open(measured) {
        0 => String::new(),
        open => format!(" ({open})"),
    };
    format!("{:.3}{left}", seconds(measured))
}
