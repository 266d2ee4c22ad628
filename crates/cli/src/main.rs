//! `foretrace`: the commands. Arguments, files, processes and exit statuses are handled here, and
//! nothing that decides or words an answer; no other code prints or exits.

mod args;
mod ci;
mod compile;
mod defaults;
mod doctor;
mod encode;
mod explain;
mod failure;
mod fix;
mod folder;
mod generate;
mod input;
mod interrupt;
mod output;
mod pager;
mod predict;
mod process;
mod program;
mod progress;
mod project;
mod reports;
mod settings;
mod sources;
mod terminal;
mod topics;
mod trace_commands;
mod verify;
mod whatif;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, CiCommand, Command};
use failure::{Failure, Status};

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(failure::print_panic));
    if let Some((language, arguments)) = compile::Language::asked_for(std::env::args_os()) {
        return compile::run(language, arguments);
    }
    if let Some((socket, command)) = process::supervise::asked_for(std::env::args_os()) {
        return process::supervise::run(socket, &command);
    }
    if let Some(topics) = topics::asked_for(&std::env::args_os().collect::<Vec<_>>()) {
        topics::explain(&topics);
        return ExitCode::SUCCESS;
    }
    let arguments = match defaults::command_line() {
        Ok(words) => Arguments::parse_from(words),
        Err(failure) => {
            failure.print();
            return ExitCode::from(failure.status as u8);
        }
    };
    let asks_solver = |command: &Command| {
        matches!(
            command,
            Command::Predict(_)
                | Command::Explain(_)
                | Command::WhatIf(_)
                | Command::Fix(_)
                | Command::Test(_)
                | Command::Encode(_)
                | Command::Verify(_)
        )
    };
    if asks_solver(&arguments.command) {
        forget_solver_settings();
        #[cfg(feature = "seeded-faults")]
        seed_fault();
    }
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

/// CaDiCaL takes its options, and files to write traces of its calls to, from `CADICAL_*` variables
/// of the environment, each time a solver is made. The answer must depend on the trace and on our
/// own options alone.
fn forget_solver_settings() {
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.as_encoded_bytes().starts_with(b"CADICAL")) {
        // SAFETY: this comes before anything that makes a thread.
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

fn run(arguments: Arguments) -> Result<u8, Failure> {
    match arguments.command {
        Command::Test(arguments) => process::test::run(&arguments).map(|status| status as u8),
        // The program's own status is the answer here; our failures must not look like one.
        Command::Run(arguments) => process::record::run(&arguments).or_else(|failure| {
            failure.print();
            Ok(RECORDING_FAILED)
        }),
        Command::Predict(arguments) => predict::run(&arguments).map(|status| status as u8),
        Command::Explain(arguments) => explain::run(&arguments).map(|status| status as u8),
        Command::WhatIf(arguments) => whatif::run(&arguments).map(|status| status as u8),
        Command::Fix(arguments) => fix::run(&arguments).map(|status| status as u8),
        Command::Encode(arguments) => encode::run(&arguments).map(|status| status as u8),
        Command::Verify(arguments) => verify::run(&arguments).map(|status| status as u8),
        Command::Replay(arguments) => process::replay::run(&arguments),
        Command::Doctor => doctor::run().map(|status| status as u8),
        Command::Ci(CiCommand::Init(arguments)) => ci::init(&arguments).map(|status| status as u8),
        Command::Generate { folder } => generate::run(&folder).map(|status| status as u8),
        Command::Suppress(arguments) => project::suppress(&arguments).map(|status| status as u8),
        Command::Cc(_) | Command::Cpp(_) => {
            unreachable!("the compilers take their arguments unchanged")
        }
        Command::Trace(command) => trace_commands::run(&command).map(|status| status as u8),
    }
}

/// Status of `foretrace run` when it could not do its work.
const RECORDING_FAILED: u8 = 125;
