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

fn run(arguments: Arguments) -> Result<Status, Failure> {
    match arguments.command {
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Trace(command) => trace_commands::run(&command),
    }
}
