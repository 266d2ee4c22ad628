//! `foretrace verify -- PROGRAM`: a program with its input, as a run of it shows them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use foretrace::importer::loaded;
use foretrace_lift::{Given, lift_recorded};

use super::Subject;
use super::native::{Native, Started};
use crate::args::{RecordOptions, ScheduleChoice, TimeChoice, VerifyArguments};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::process::launch::{Input, OWN_INPUT};
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
        // What is loaded comes first; the events are not used.
        max_size: 1 << 30,
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
    let constants = loaded.variables.iter().filter_map(|variable| variable.bytes.as_deref());
    let files = files(&given, constants);
    let environment = env::vars_os().filter(|(name, _)| name != "_");
    let environment = environment.chain([("_".into(), command[0].clone())]);
    let environment: Vec<Vec<u8>> = environment
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    let input = match Input::of_this_program(false) {
        Input::Again => fs::read(OWN_INPUT)
            .map_err(|error| Failure::input(format_args!("standard input: {error}")))?,
        Input::Inherited | Input::Nothing => Vec::new(),
    };
    let processors = processors();
    let given = Given { arguments: given, environment, files, input, processors };
    let lifted = lift_recorded(&loaded, &executable, &given)
        .map_err(|error| Failure::input(format_args!("{}: {error}", name.display())))?;
    let native = Some(Native { folder, how: Started::Command(command.clone()) });
    Ok(Subject { lifted, native, indeterminate: true, one_input: true })
}

/// Larger files are not known to the program that is verified, nor are more than so many.
const MOST_BYTES: u64 = 1 << 20;
const MOST_FILES: usize = 100;

/// The files that a program may read: those that its arguments and its constants name. Files that
/// the system makes when they are read may be others each time.
fn files<'a>(
    arguments: &'a [Vec<u8>],
    variables: impl Iterator<Item = &'a [u8]>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let of_arguments = arguments.iter().skip(1).flat_map(|argument| {
        let value = argument.iter().position(|&byte| byte == b'=');
        [Some(&argument[..]), value.map(|at| &argument[at + 1..])].into_iter().flatten()
    });
    let of_variables = variables.flat_map(|bytes| bytes.split(|&byte| byte == 0));
    let mut names: Vec<&[u8]> = of_arguments.chain(of_variables).collect();
    names.retain(|name| (1..=200).contains(&name.len()));
    names.sort_unstable();
    names.dedup();
    let known = names.into_iter().filter_map(|name| {
        let path = fs::canonicalize(OsStr::from_bytes(name)).ok()?;
        if path == Path::new("/dev/null") {
            return Some((name.to_vec(), Vec::new()));
        }
        let is_made = ["/proc", "/sys", "/dev"].iter().any(|folder| path.starts_with(folder));
        let metadata = fs::metadata(&path).ok()?;
        let is_known = metadata.is_file() && !is_made && metadata.len() <= MOST_BYTES;
        Some((name.to_vec(), is_known.then(|| fs::read(&path).ok()).flatten()?))
    });
    known.take(MOST_FILES).collect()
}

/// How many processors a program of ours finds.
fn processors() -> u32 {
    // SAFETY: sysconf has no effects.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(0)
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
