//! Bugs of verified programs on the compiled program: what the interpreter has checked is forced on
//! the very object files that were verified.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use foretrace_findings::Replayed;
use foretrace_lift::Lifted;
use foretrace_replay::{Attempt, Outcome};
use foretrace_verify::Bug;

use crate::compile;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::process::launch::Input;
use crate::process::replay::{Replayer, ending};

/// A program that can be run.
pub(crate) struct Native {
    pub(crate) folder: Folder,
    pub(crate) how: Started,
}

/// What is started.
pub(crate) enum Started {
    /// Object files, linked first; there may be libraries among the arguments for the compiler.
    Linked { objects: Vec<PathBuf>, flags: Vec<OsString> },
    /// A program with its arguments.
    Command(Vec<OsString>),
}

/// How long a replay may take.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Native {
    /// Forces the schedule of a bug on the program.
    pub(crate) fn replay(&self, lifted: &Lifted, bug: &Bug) -> Result<Replayed, Failure> {
        let attempt = match Attempt::new(lifted, bug) {
            Ok(attempt) => attempt,
            Err(reason) => return Ok(Replayed::Not(reason)),
        };
        let (command, input) = match &self.how {
            Started::Linked { objects, flags } => {
                let program = self.folder.path().join("program");
                if let Err(said) = compile::link(objects, flags, &program) {
                    let reason = said.lines().next().unwrap_or("").to_string();
                    return Ok(Replayed::Not(format!("the program cannot be linked: {reason}")));
                }
                let arguments = (1..attempt.arguments).map(|number| number.to_string().into());
                (std::iter::once(program.into()).chain(arguments).collect(), Input::Nothing)
            }
            Started::Command(command) => (command.clone(), Input::of_this_program(false)),
        };
        let command: Vec<OsString> = command;
        let replayer = Replayer {
            command: &command,
            timeout: TIMEOUT,
            folder: self.folder.path(),
            input,
            live: true,
            inputs: &[],
        };
        let forced = replayer.force(&attempt.plan, &[], false)?;
        let what = match forced.answer {
            Some(Outcome::Confirmed) => return Ok(Replayed::Confirmed(ending(forced.ended))),
            Some(outcome) => Attempt::told(&lifted.program, bug, &outcome),
            None if forced.ended.timed_out => "the program hung".to_string(),
            None => format!("the program {}", ending(forced.ended)),
        };
        Ok(match attempt.doubt {
            Some(doubt) => Replayed::Not(doubt),
            None => Replayed::Diverged(what),
        })
    }
}
