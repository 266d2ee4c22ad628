//! `demo`: from nothing to a finding with its witness.

use std::process::Command;

use crate::shell::{Stop, release_binary, root};
use crate::tools;

const EXAMPLE: &str = "examples/bank.trace";

/// Builds what is needed and predicts the bugs of the bundled bank.
pub(crate) fn demo() -> Result<(), Stop> {
    tools::ensure()?;
    let foretrace = release_binary()?;
    println!("\nA recorded run of a bank in which nothing went wrong: {EXAMPLE}");
    println!("$ foretrace predict {EXAMPLE}\n");
    let status =
        Command::new(&foretrace)
            .args(["predict", EXAMPLE])
            .current_dir(root())
            .status()
            .map_err(|error| Stop::usage(format!("cannot run {}: {error}", foretrace.display())))?;
    // 1 is the exit status for bugs found, and the bank has some.
    if status.code() != Some(1) {
        return Err(Stop::failed(format!("demo FAILED: expected findings, but {status}")));
    }
    println!("\nEach schedule above is an execution of the same events that was not recorded.");
    Ok(())
}
