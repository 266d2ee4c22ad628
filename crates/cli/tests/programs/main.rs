//! The example programs, compiled, recorded, predicted and replayed as a user would.
//!
//! Plugin and runtime must lie beside the command line: `cargo build --workspace` puts them there.

mod dependences;
mod found;
mod papers;
mod twins;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Replays of each confirmed finding.
const REPLAYS: usize = 20;

fn foretrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(arguments)
        .output()
        .expect("foretrace starts")
}

/// A folder of the examples.
fn examples(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder)
}

/// Compiles a program.
fn compile(source: &Path, target: &Path, flags: &[&str]) {
    let compiler = if source.extension().is_some_and(|kind| kind == "cpp") { "c++" } else { "cc" };
    let mut arguments = vec![compiler, "-Wall", "-Wextra", "-Werror", "-pthread"];
    let text = std::fs::read_to_string(source).expect("the source is there");
    if text.contains("#pragma omp") {
        arguments.push("-fopenmp");
    }
    arguments.extend(flags);
    arguments.extend([source.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    let output = foretrace(&arguments);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {log}", source.display());
}

/// Replays a finding of a report: it must happen, and always in the same way.
fn replay_again(id: &str, json: &str, program: &str) -> Result<(), String> {
    let which = format!("{json}#{id}");
    let mut first = None;
    for round in 0..REPLAYS {
        let output = foretrace(&["replay", &which, "--", program]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(1) {
            return Err(format!("{which}: replay {round} gives {}\n{said}", output.status));
        }
        match &first {
            None => first = Some(said),
            Some(first) if *first != said => {
                return Err(format!("{which}: replay {round} says\n{said}\nand not\n{first}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}
