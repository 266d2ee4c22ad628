//! `foretrace-oracle --cases N --seed S [--threads T] [--engine NAME]
//! [--enumerate-only] [--replay SEED]`
//!
//! Compares the predictor with the oracle on random tiny traces. Ends with
//! `N cases, 0 disagreements`, or with status 1 and what differs, or what 20,000 cases or more did
//! not cover.

use std::process::ExitCode;
use std::time::Instant;

use foretrace_oracle::{EngineStats, Predictor, Summary, compare, run};
use foretrace_predict::{Engines, Options, Prediction};
use foretrace_trace::Trace;

const USAGE: &str = "usage: foretrace-oracle [--cases N] [--seed S] [--threads T] \
                     [--engine staged|solver|explicit] [--enumerate-only] [--replay SEED]";

/// So many cases fill every cell of the table of coverage; if not, the run fails.
const ENOUGH_TO_COVER: usize = 20_000;

struct Arguments {
    cases: usize,
    seed: u64,
    threads: usize,
    /// Who answers; otherwise all, in stages.
    engines: Engines,
    /// Runs generator and oracle without a predictor: shows coverage and speed.
    enumerate_only: bool,
    /// Only this one case.
    replay: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("foretrace-oracle: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let ask = |trace: &Trace, options: &Options| {
        predictor(trace, &Options { engines: arguments.engines, ..options.clone() })
    };
    let predictor: Option<Predictor> = if arguments.enumerate_only { None } else { Some(&ask) };
    if let Some(seed) = arguments.replay {
        return match compare(seed, predictor) {
            Ok(_) => {
                println!("seed {seed}: no disagreement");
                ExitCode::SUCCESS
            }
            Err(disagreement) => {
                print!("{disagreement}");
                ExitCode::from(1)
            }
        };
    }
    let start = Instant::now();
    let progress = |done: usize, total: usize| {
        if done.is_multiple_of(1000) || done == total {
            eprint!("\r{done} / {total} cases");
        }
    };
    let summary = run(arguments.cases, arguments.seed, arguments.threads, predictor, &progress);
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("\n{:.0} cases per second", summary.cases as f64 / seconds);
    print_summary(&summary);
    let agrees = summary.disagreements.is_empty();
    let covers = arguments.cases < ENOUGH_TO_COVER || summary.coverage.empty_cells().is_empty();
    if agrees && covers { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn print_summary(summary: &Summary) {
    println!("Cases with a violated / a not violated tuple, by the primitives in the trace:");
    print!("{}", summary.coverage);
    for cell in summary.coverage.empty_cells() {
        println!("empty: {cell}");
    }
    for disagreement in &summary.disagreements {
        println!("\n{disagreement}");
    }
    let Summary { cases, skipped, states, violations, engine, disagreements, .. } = summary;
    let EngineStats { found, impossible, folded, states: visited } = engine;
    println!("explicit engine: {found} found, {impossible} impossible, {visited} states");
    println!("folded threads: {folded} impossible");
    println!("{states} states, {violations} violations, {skipped} cases too large");
    println!("{cases} cases, {} disagreements", disagreements.len());
}

/// The predictor under test.
fn predictor(trace: &Trace, options: &Options) -> Result<Prediction, String> {
    foretrace_predict::predict(trace, options, &()).map_err(|error| error.to_string())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut arguments = Arguments {
        cases: 10_000,
        seed: 1,
        threads,
        engines: Engines::Staged,
        enumerate_only: false,
        replay: None,
    };
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let text = words.next().ok_or(format!("{word} needs a number"))?;
            text.parse().map_err(|_| format!("{word}: {text:?} is not a number"))
        };
        match word.as_str() {
            "--cases" => arguments.cases = number()? as usize,
            "--seed" => arguments.seed = number()?,
            "--threads" => arguments.threads = number()? as usize,
            "--replay" => arguments.replay = Some(number()?),
            "--engine" => {
                arguments.engines = match words.next().as_deref() {
                    Some("staged") => Engines::Staged,
                    Some("solver") => Engines::Solver,
                    Some("explicit") => Engines::Explicit,
                    _ => return Err(format!("{word} needs staged, solver or explicit")),
                };
            }
            "--enumerate-only" => arguments.enumerate_only = true,
            _ => return Err(format!("unknown argument {word:?}")),
        }
    }
    Ok(arguments)
}
