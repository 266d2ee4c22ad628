//! The programs behind `cargo xtask bench`, which builds and runs them in processes of their own.
//!
//! `bench generate KIND EVENTS FILE` writes a trace, `bench front FILE` measures the way up to the
//! candidates, `bench predict FILE` measures a whole prediction. Each measurement is one line on
//! standard output, `name value unit`, for xtask to read. `bench races FILE TIMES` reads the trace
//! and decides every race in it, so many times, and says nothing.

mod classes;
mod clock;
mod decide;
mod front;
mod program;
mod races;
mod sections;
mod staged;
mod symbolic;

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
        ["candidates", file, count] => count
            .parse()
            .map_err(Into::into)
            .and_then(|count| decide::candidates(Path::new(file), count)),
        ["races", file, times] => times
            .parse()
            .map_err(Into::into)
            .and_then(|times| races::decide(Path::new(file), times)),
        _ => Err("usage: bench generate KIND EVENTS FILE | front FILE | predict FILE | decide FILE PRUNING | candidates FILE COUNT | races FILE TIMES".into()),
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
