//! Running other programs, and saying so.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Stop {
    /// A check failed.
    pub(crate) fn failed(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), code: 1 }
    }

    /// The command was called wrongly, or the machine lacks something.
    pub(crate) fn usage(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), code: 2 }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target_folder() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A call of the cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo(arguments: &str) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(root());
    command
}

/// Builds the optimised command line and returns its path.
pub(crate) fn release_binary() -> Result<PathBuf, Stop> {
    run("build", &mut cargo("build --release --locked --package foretrace"))?;
    Ok(target_folder().join("release").join("foretrace"))
}

/// Builds all that users run: the command line, the compiler plugin and the runtime, side by side.
pub(crate) fn release_build() -> Result<PathBuf, Stop> {
    let parts = ["foretrace", "foretrace-llvm", "foretrace-runtime"];
    let mut build = cargo("build --release --locked");
    run("build", build.args(parts.iter().flat_map(|part| ["--package", *part])))?;
    Ok(target_folder().join("release").join("foretrace"))
}

/// Runs a program to its end and says how long that took. Fails if the program does.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<(), Stop> {
    announce(name, command);
    let start = Instant::now();
    let status = command.status().map_err(|error| cannot_run(command, &error))?;
    if !status.success() {
        return Err(Stop::failed(format!("{name} FAILED ({status})")));
    }
    finished(name, start.elapsed());
    Ok(())
}

/// Like [`run`]; also hands each line of standard output to `each_line` after printing it.
pub(crate) fn run_and_read(
    name: &str,
    command: &mut Command,
    mut each_line: impl FnMut(&str),
) -> Result<(), Stop> {
    announce(name, command);
    let start = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| cannot_run(command, &error))?;
    let stdout = child.stdout.take().expect("standard output is piped");
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| cannot_run(command, &error))?;
        println!("{line}");
        each_line(&line);
    }
    let status = child.wait().map_err(|error| cannot_run(command, &error))?;
    if !status.success() {
        return Err(Stop::failed(format!("{name} FAILED ({status})")));
    }
    finished(name, start.elapsed());
    Ok(())
}

/// What a program says on standard output, without the last line's end. Fails if the program does.
pub(crate) fn output(name: &str, command: &mut Command) -> Result<String, Stop> {
    let said = command.stderr(Stdio::inherit()).output();
    let said = said.map_err(|error| cannot_run(command, &error))?;
    if !said.status.success() {
        return Err(Stop::failed(format!("{name} FAILED ({})", said.status)));
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim_end().to_string())
}

/// Does a step that is no program of its own.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
    println!("== {name}");
    let start = Instant::now();
    let result = work()?;
    finished(name, start.elapsed());
    Ok(result)
}

/// Shows a command as the user could type it.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    [program].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

fn announce(name: &str, command: &Command) {
    println!("== {name}: {}", show(command));
}

fn finished(name: &str, time: Duration) {
    println!("== {name}: ok ({:.1} s)", time.as_secs_f64());
}

pub(crate) fn cannot_run(command: &Command, error: &std::io::Error) -> Stop {
    Stop::usage(format!("cannot run `{}`: {error}", show(command)))
}
