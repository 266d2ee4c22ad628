//! `foretrace verify -- PROGRAM`: a program with its input, as a run of it shows them.

use std::env;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foretrace::importer::loaded;
use foretrace_lift::lift_recorded;

use super::Subject;
use super::native::{Native, Started};
use crate::args::{RecordOptions, ScheduleChoice, TimeChoice, VerifyArguments};
use crate::failure::Failure;
use crate::output::Folder;
use crate::process::launch::Input;
use crate::process::record;

/// Runs the program once; what the recording says of its code is what is verified.
pub(super) fn subject(arguments: &VerifyArguments) -> Result<Subject, Failure> {
    let command = &arguments.flags;
    let folder = Folder::create()?;
    let recording = folder.path().join("run.ftrec");
    let options = RecordOptions {
        schedule: ScheduleChoice::Random,
        seed: 1,
        time: TimeChoice::Virtual,
        max_size: None,
        no_control_flow: false,
        timeout: Some(arguments.timeout),
    };
    record::once(command, &options, &recording, Input::of_this_program(false))?;
    let loaded = loaded(&recording)
        .map_err(|error| Failure::input(format_args!("{}: {error}", recording.display())))?;
    let name = Path::new(&command[0]);
    let path = executable(name);
    let executable = fs::read(&path)
        .map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))?;
    let given: Vec<Vec<u8>> = command.iter().map(|one| one.as_bytes().to_vec()).collect();
    let environment = env::vars_os().filter(|(name, _)| name != "_");
    let environment = environment.chain([("_".into(), command[0].clone())]);
    let environment: Vec<Vec<u8>> = environment
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let lifted = lift_recorded(&loaded, &executable, &given, &environment)
        .map_err(|error| Failure::input(format_args!("{}: {error}", name.display())))?;
    let native = Some(Native { folder, how: Started::Command(command.clone()) });
    Ok(Subject { lifted, native, indeterminate: true, one_input: true })
}

/// The file that a command starts.
fn executable(command: &Path) -> PathBuf {
    if command.components().count() > 1 {
        return command.to_path_buf();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let files = env::split_paths(&folders).map(|folder| folder.join(command));
    files.into_iter().find(|file| file.is_file()).unwrap_or(command.to_path_buf())
}
