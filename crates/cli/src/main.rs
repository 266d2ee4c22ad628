//! `foretrace`: the commands. This crate alone prints and exits.

mod args;
mod assemble;
mod compile;
mod describe;
mod failure;
mod holds;
mod input;
mod output;
mod predict;
mod program;
mod progress;
mod trace_commands;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use failure::{Failure, Status};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(failure::print_panic));
    if let Some((language, arguments)) = compile::Language::asked_for(std::env::args_os()) {
        return compile::run(language, arguments);
    }
    let arguments = Arguments::parse();
    // A panic anywhere is a bug of ours and must not look like a verdict.
    let outcome = std::panic::catch_unwind(|| run(arguments));
    let status = match outcome {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => {
            failure.print();
            failure.status as u8
        }
        Err(_) => Status::Internal as u8,
    };
    ExitCode::from(status)
}

fn run(arguments: Arguments) -> Result<u8, Failure> {
    match arguments.command {
        Command::Test(arguments) => program::test::run(&arguments).map(|status| status as u8),
        // The program's own status is the answer here; our failures must not look like one.
        Command::Run(arguments) => program::record::run(&arguments).or_else(|failure| {
            failure.print();
            Ok(RECORDING_FAILED)
        }),
        Command::Predict(arguments) => predict::run(&arguments).map(|status| status as u8),
        Command::Replay(arguments) => program::replay::run(&arguments),
        Command::Cc(_) | Command::Cpp(_) => {
            unreachable!("the compilers take their arguments as they are")
        }
        Command::Trace(command) => trace_commands::run(&command).map(|status| status as u8),
    }
}

/// Status of `foretrace run` when it could not do its work.
const RECORDING_FAILED: u8 = 125;
