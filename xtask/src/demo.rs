//! `demo`: from nothing to a bug that happens before your eyes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::shell::{Stop, release_build, root, target_folder};
use crate::tools;

const EXAMPLE: &str = "examples/programs/bank-transfer/bug.c";

/// Installs what is missing, and builds all that users run.
pub(crate) fn build() -> Result<PathBuf, Stop> {
    tools::ensure_for_programs()?;
    let foretrace = release_build()?;
    println!("built {} with its plugin and runtime beside it", foretrace.display());
    Ok(foretrace)
}

/// Builds, compiles the bundled bank, and tests it: one run that goes well, and the bug of one that
/// does not.
pub(crate) fn demo() -> Result<(), Stop> {
    let foretrace = build()?;
    let program = target_folder().join("demo-bank");
    println!("\nA bank with a bug that a normal run does not show: {EXAMPLE}");
    let compiled = run(&foretrace, &["cc", "-O1", "-pthread", EXAMPLE, "-o", text(&program)?])?;
    if !compiled.success() {
        return Err(Stop::failed(format!("demo FAILED: the compiler says {compiled}")));
    }
    let status = run(&foretrace, &["test", "--", text(&program)?])?;
    // 1 is the exit status for bugs found, and the bank has one.
    if status.code() != Some(1) {
        return Err(Stop::failed(format!("demo FAILED: expected a finding, but {status}")));
    }
    println!("\nThe schedule above was never recorded. It was predicted, and then made to happen.");
    Ok(())
}

fn run(foretrace: &Path, arguments: &[&str]) -> Result<ExitStatus, Stop> {
    println!("$ foretrace {}\n", arguments.join(" "));
    let status = Command::new(foretrace).args(arguments).current_dir(root()).status();
    status.map_err(|error| Stop::usage(format!("cannot run {}: {error}", foretrace.display())))
}

fn text(path: &Path) -> Result<&str, Stop> {
    path.to_str().ok_or_else(|| Stop::usage(format!("{}: not a name in UTF-8", path.display())))
}
