//! `foretrace doctor`: what recording needs, what of it is missing and how to get it, and a test of
//! the whole way from a program to its confirmed bug.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::compile;
use crate::failure::{Failure, Status};
use crate::folder::Folder;
use crate::output;

/// A program whose recorded run goes well, and whose assertion another schedule breaks.
const PROGRAM: &str = r#"#include "foretrace.h"
#include <pthread.h>
static int count;
static void *add(void *unused) { count++; return unused; }
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    FORETRACE_ASSERT(count == 2);
    return 0;
}
"#;

/// One thing that was looked at.
struct Check {
    name: &'static str,
    /// What was found, or what is wrong.
    outcome: Result<String, String>,
    /// The command that mends it.
    remedy: &'static str,
    /// Whether recording works without it.
    optional: bool,
}

/// Looks at everything; status 0 if all that is needed is there.
pub(crate) fn run() -> Result<Status, Failure> {
    let mut checks = vec![
        Check {
            name: "foretrace",
            outcome: Ok(format!("{} ({})", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)),
            remedy: "",
            optional: false,
        },
        check("compiler (C)", version(&compile::clang(false)), APT_CLANG, false),
        check("compiler (C++)", version(&compile::clang(true)), APT_CLANG, false),
        check("plugin", compile::plugin(), BUILD, false),
        check("runtime", compile::runtime(), BUILD, false),
        check("foretrace.h", compile::header(), BUILD, false),
        check("gdb (for replay --gdb)", version("gdb"), "sudo apt-get install -y gdb", true),
        check("z3 (for --solver)", version("z3"), "sudo apt-get install -y z3", true),
    ];
    let is_ready = checks.iter().all(|check| check.outcome.is_ok() || check.optional);
    if is_ready {
        checks.extend(self_test()?);
    }
    let is_fine = checks.iter().all(|check| check.outcome.is_ok() || check.optional);
    output::to_stdout(|writer| {
        for check in &checks {
            let (mark, text) = match &check.outcome {
                Ok(text) => ("ok", text),
                Err(text) if check.optional => ("--", text),
                Err(text) => ("no", text),
            };
            writeln!(writer, "{mark}  {:24} {text}", check.name)?;
            if check.outcome.is_err() && !check.remedy.is_empty() {
                writeln!(writer, "    {:24} install it: {}", "", check.remedy)?;
            }
        }
        writeln!(
            writer,
            "{}",
            match is_fine {
                true => "everything that is needed is there, and works",
                false =>
                    "something is missing or does not work: see the lines that begin with `no`",
            }
        )
    })?;
    Ok(if is_fine { Status::Nothing } else { Status::Found })
}

const APT_CLANG: &str = "sudo apt-get install -y clang-19";
const BUILD: &str = "cargo xtask install (or reinstall the package)";

fn check(
    name: &'static str,
    outcome: Result<String, String>,
    remedy: &'static str,
    optional: bool,
) -> Check {
    let first = |text: String| text.lines().next().unwrap_or_default().to_string();
    Check { name, outcome: outcome.map_err(first), remedy, optional }
}

/// The first line that a program says of its version.
fn version(program: &str) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text.lines().next().filter(|_| output.status.success()) {
        Some(line) => Ok(line.to_string()),
        None => Err(format!("{program} --version: {}", output.status)),
    }
}

/// Compiles, runs and tests a small program with this very command.
fn self_test() -> Result<Vec<Check>, Failure> {
    let folder = Folder::create()?;
    let source = folder.path().join("small.c");
    fs::write(&source, PROGRAM)
        .map_err(|error| Failure::input(format_args!("{}: {error}", source.display())))?;
    let steps: [(&'static str, &[&str], i32, &str); 3] = [
        ("test: compile", &["cc", "-g", "-pthread", "small.c", "-o", "small"], 0, ""),
        ("test: record", &["run", "-o", "small.ftb", "--", "./small"], 0, ""),
        ("test: predict and replay", &["test", "--", "./small"], 1, "confirmed"),
    ];
    let mut checks = Vec::new();
    for (name, arguments, status, says) in steps {
        let outcome = step(folder.path(), arguments, status, says);
        let failed = outcome.is_err();
        checks.push(Check { name, outcome, remedy: "", optional: false });
        if failed {
            break;
        }
    }
    Ok(checks)
}

fn step(folder: &Path, arguments: &[&str], status: i32, says: &str) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env_remove("FORETRACE_OPTIONS");
    let output = command.output().map_err(|error| error.to_string())?;
    let said = said(&output);
    if output.status.code() == Some(status) && said.contains(says) {
        return Ok(milliseconds(start.elapsed()));
    }
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{}, expected {status}: {}", output.status, last.join(" | ")))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}
