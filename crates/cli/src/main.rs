//! `foretrace`: the commands. This crate alone prints and exits.

mod args;
mod assemble;
mod describe;
mod failure;
mod holds;
mod input;
mod output;
mod predict;
mod progress;
mod trace_commands;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use failure::{Failure, Status};

fn main() -> ExitCode {
    forget_solver_settings();
    #[cfg(feature = "seeded-faults")]
    seed_fault();
    std::panic::set_hook(Box::new(failure::print_panic));
    let arguments = Arguments::parse();
    // A panic anywhere is a bug of ours and must not look like a verdict.
    let outcome = std::panic::catch_unwind(|| run(arguments));
    let status = match outcome {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => {
            failure.print();
            failure.status
        }
        Err(_) => Status::Internal,
    };
    ExitCode::from(status as u8)
}

/// CaDiCaL takes its options, and files to write traces of its calls to, from `CADICAL_*` variables of the environment, each time a
/// solver is made. The answer must depend on the trace and on our own options alone.
fn forget_solver_settings() {
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(b"CADICAL")) {
        // SAFETY: this is the first thing that the program does, so there is no other thread yet.
        unsafe { std::env::remove_var(name) };
    }
}

/// Builds in the fault that the environment names.
#[cfg(feature = "seeded-faults")]
fn seed_fault() {
    use foretrace_predict::Fault;
    if let Ok(name) = std::env::var("FORETRACE_SEEDED_FAULT") {
        let fault = Fault::ALL.iter().find(|fault| format!("{fault:?}") == name);
        foretrace_predict::seed_fault(Some(*fault.expect("a fault has that name")));
    }
}

fn run(arguments: Arguments) -> Result<Status, Failure> {
    match arguments.command {
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Trace(command) => trace_commands::run(&command),
    }
}
