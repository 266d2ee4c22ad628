//! The program behind `cargo xtask bench`, which runs it in a new process for each measurement.
//!
//! Each measurement is one line on standard output, `name value unit`, for xtask to read.
//!
//! | command | does |
//! | --- | --- |
//! | `generate KIND EVENTS FILE` | writes a trace |
//! | `front FILE` | measures the way up to the candidates |
//! | `predict FILE` | measures a whole prediction |
//! | `decide FILE PRUNING` | the same, for races and atomicity violations |
//! | `engines FILE ENGINES` | the same by one choice of engines: `staged`, `solver` or `explicit` |
//! | `candidates FILE COUNT` | asks the causality graph alone |
//! | `races FILE TIMES` | reads the trace and decides every race in it, so many times; says nothing |
//! | `reference ...` | the papers' formula in z3, see `reference/mod.rs` |
//! | `import FILE`, `walk FILE` | imports a recording; walks along its paths as well |
//! | `verify FILE SECONDS`, `verify-smtlib FILE SECONDS` | verifies a program; prints the question |
//! | `circuits` | what circuits cost; for people |
//! | `orders THREADS EVENTS CANDIDATES SEED [eager]` | the solver on synthetic traces; for people |

mod circuits;
mod classes;
mod clock;
mod decide;
mod engines;
mod front;
mod import;
mod orders;
mod program;
mod races;
mod reference;
mod sections;
mod staged;
mod symbolic;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use foretrace_trace::{Trace, binary, validate::validate};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["generate", kind, events, file] => {
            events.parse().map_err(Into::into).and_then(|events| generate(kind, events, file))
        }
        ["front", file] => front::front(Path::new(file)),
        ["predict", file] => classes::predict(Path::new(file)),
        ["decide", file, pruning] => decide::decide(Path::new(file), pruning),
        ["engines", file, engines] => engines::predict_by(Path::new(file), engines),
        ["candidates", file, count] => count
            .parse()
            .map_err(Into::into)
            .and_then(|count| decide::candidates(Path::new(file), count)),
        ["races", file, times] => times
            .parse()
            .map_err(Into::into)
            .and_then(|times| races::decide(Path::new(file), times)),
        ["reference", "run", program, ref arguments @ ..] => {
            return reference::run(program, arguments);
        }
        ["reference", ref arguments @ ..] => reference::reference(arguments),
        ["import", file] => import::import(Path::new(file), false),
        ["walk", file] => import::import(Path::new(file), true),
        ["verify", file, seconds] => seconds
            .parse()
            .map_err(Into::into)
            .and_then(|seconds| verify::decide(Path::new(file), seconds)),
        ["verify-smtlib", file, seconds] => seconds
            .parse()
            .map_err(Into::into)
            .and_then(|seconds| verify::export(Path::new(file), seconds)),
        ["circuits"] => {
            circuits::circuits();
            Ok(())
        }
        ["orders", ref arguments @ ..] => orders::orders(arguments),
        _ => Err("no such command, see benches/src/main.rs".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Writes a trace of a kind, whole or not at all.
fn generate(kind: &str, events: usize, file: &str) -> Outcome {
    let trace: Trace = match kind {
        "program" => program::generate(events),
        _ => classes::generate(kind, events)
            .or_else(|| symbolic::generate(kind))
            .or_else(|| staged::generate(kind))
            .or_else(|| sections::generate(kind, events))
            .ok_or_else(|| format!("no kind `{kind}`"))?,
    };
    validate(&trace).map_err(|invalid| invalid.to_string())?;
    let partial = format!("{file}.partial");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&partial)?);
    binary::write(&trace, &mut out)?;
    drop(out);
    std::fs::rename(&partial, file)?;
    Ok(())
}
