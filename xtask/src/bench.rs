//! `bench`: how long what takes, on generated traces and on those of public projects.
//!
//! The program that measures parts of the pipeline is in `benches`; each measurement is a process
//! of its own and prints lines `name value unit`. The other parts run the command line itself.
//! Generated traces are kept in `.bench`.

mod causality;
mod classes;
mod compiling;
mod engines;
mod front;
mod predicted;
mod programs;
mod public;
mod recording;
mod reference;
mod rewalk;
mod smtlib;
mod staged;
mod symbolic;
mod verify;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{Stop, cargo, root, run, target_folder};
use crate::tools;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// From the file to the candidates.
    Front,
    /// Whole predictions with many conflicting pairs in few classes.
    Classes,
    /// What the causality graph saves, and what it costs.
    Causality,
    /// Recorded traces of public projects, by classes and event by event.
    Public,
    /// Assertions of traces with expressions, and the papers' formula in z3.
    Symbolic,
    /// The same of recorded C programs.
    Programs,
    /// Which engine decides what, of example and trial programs.
    Engines,
    /// Races, and the papers' formula in z3.
    Reference,
    /// The stages of the papers' formula in z3.
    Staged,
    /// What compiling for recording costs, and what of that is debug information.
    Compiling,
    /// What recording a program costs, beside ThreadSanitizer.
    Recording,
    /// What the walk along recorded paths costs.
    Rewalk,
    /// C programs verified without a run, beside the paper's figures and z3.
    Verify,
    /// The solver alone: circuits, and orders of synthetic traces.
    Solver,
}

/// All of them.
pub(crate) const ALL: [Part; 14] = [
    Part::Front,
    Part::Classes,
    Part::Causality,
    Part::Public,
    Part::Symbolic,
    Part::Programs,
    Part::Engines,
    Part::Reference,
    Part::Staged,
    Part::Compiling,
    Part::Recording,
    Part::Rewalk,
    Part::Verify,
    Part::Solver,
];

/// Measures the parts; `quick` leaves out what takes minutes.
pub(crate) fn bench(parts: &[Part], quick: bool) -> Result<(), Stop> {
    tools::ensure_for_comparison()?;
    for part in parts {
        match part {
            Part::Front => front::front(&Bench::build()?, quick)?,
            Part::Classes => classes::classes(&Bench::build()?, quick)?,
            Part::Causality => causality::causality(&Bench::build()?, quick)?,
            Part::Public => public::public()?,
            Part::Symbolic => symbolic::symbolic(&Bench::build()?, quick)?,
            Part::Programs => programs::programs(quick)?,
            Part::Engines => engines::engines(&Bench::build()?, quick)?,
            Part::Reference => reference::reference(&Bench::build()?, quick)?,
            Part::Staged => staged::staged(&Bench::build()?, quick)?,
            Part::Compiling => compiling::compiling(quick)?,
            Part::Recording => recording::recording(quick)?,
            Part::Rewalk => rewalk::rewalk(quick)?,
            Part::Verify => verify::verify(&Bench::build()?, quick)?,
            Part::Solver => {
                let bench = Bench::build()?;
                for part in ["circuits", "orders"] {
                    run(part, Command::new(&bench.program).arg(part))?;
                }
            }
        }
    }
    Ok(())
}

/// The program that generates and measures.
struct Bench {
    program: PathBuf,
}

/// What one process measured: values by name.
type Measured = BTreeMap<String, u64>;

impl Bench {
    fn build() -> Result<Bench, Stop> {
        let package = ["--package", "foretrace-bench"];
        run("build", cargo("build --release --locked").args(package))?;
        Ok(Bench { program: target_folder().join("release").join("bench") })
    }

    /// The generated trace of that kind and length, made once. A change of the generator calls for
    /// a new version here.
    fn trace(&self, kind: &str, events: usize) -> Result<PathBuf, Stop> {
        const VERSION: u32 = 2;
        let folder = root().join(".bench");
        let path = folder.join(format!("{kind}-{events}-v{VERSION}.ftb"));
        if path.exists() {
            return Ok(path);
        }
        fs::create_dir_all(&folder).map_err(|error| {
            Stop::usage(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        let mut generate = Command::new(&self.program);
        generate.args(["generate", kind, &events.to_string()]).arg(&path);
        run("generate", &mut generate)?;
        Ok(path)
    }

    /// Measures a trace in a process of its own.
    fn measure(&self, what: &str, trace: &Path) -> Result<Measured, Stop> {
        self.measure_with(what, trace, &[])
    }

    /// The same with more arguments.
    fn measure_with(&self, what: &str, trace: &Path, arguments: &[&str]) -> Result<Measured, Stop> {
        let mut command = Command::new(&self.program);
        let output = command.arg(what).arg(trace).args(arguments).stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| {
            Stop::usage(format!("cannot run {}: {error}", self.program.display()))
        })?;
        if !output.status.success() {
            let problem = format!("bench FAILED on {}: {}", trace.display(), output.status);
            return Err(Stop::failed(problem));
        }
        Ok(parse(&String::from_utf8_lossy(&output.stdout)))
    }
}

fn parse(lines: &str) -> Measured {
    let pair = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_string(), words.next()?.parse().ok()?))
    };
    lines.lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn measurements_are_names_and_numbers() {
        let measured = parse("read 12 ns\n\nevents 7 events\nsome words\n");
        assert_eq!(measured.len(), 2);
        assert_eq!((measured["read"], measured["events"]), (12, 7));
    }
}
