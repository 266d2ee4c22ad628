//! Starting the user's program with the runtime switched on.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::args::{ScheduleChoice, TimeChoice};
use crate::failure::Failure;

/// What the runtime is to do.
pub(crate) enum Task<'a> {
    Record {
        schedule: ScheduleChoice,
        seed: u64,
        limit: Option<u64>,
        control_flow: bool,
        time: TimeChoice,
    },
    /// Follow the plan, and write the outcome.
    Replay {
        plan: &'a Path,
        outcome: &'a Path,
        /// What the recorded run got from outside.
        inputs: Option<&'a Path>,
        /// Calls on the outside are made all the same.
        live: bool,
    },
}

/// What the program reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Input {
    /// What we would read.
    Inherited,
    /// The file that is our standard input, from its start.
    Again,
    Nothing,
}

impl Input {
    /// What another run of the program should read: the same again where that is possible.
    pub(crate) fn of_this_program(or_inherited: bool) -> Input {
        let is_file = std::fs::metadata(OWN_INPUT).is_ok_and(|metadata| metadata.is_file());
        match (is_file, or_inherited) {
            (true, _) => Input::Again,
            (false, true) => Input::Inherited,
            (false, false) => Input::Nothing,
        }
    }
}

/// Opened, this is the same file with a place of its own.
const OWN_INPUT: &str = "/proc/self/fd/0";

/// Where the program writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Output<'a> {
    /// Where we would.
    Own,
    /// All of it to standard error.
    StandardError,
    /// All of it to a file.
    File(&'a Path),
}

/// How to start the program.
pub(crate) struct Launch<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [OsString],
    /// Where the runtime writes its recording.
    pub(crate) recording: &'a Path,
    pub(crate) task: Task<'a>,
    pub(crate) input: Input,
    pub(crate) output: Output<'a>,
    /// When to kill it.
    pub(crate) timeout: Option<Duration>,
    /// In a debugger that stops where the replay is over.
    pub(crate) debugger: bool,
}

/// How the program ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) timed_out: bool,
}

impl Ended {
    /// The status that a shell would show.
    pub(crate) fn code(self) -> u8 {
        let code = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0));
        code as u8
    }

    /// In words, behind "the program".
    pub(crate) fn in_words(self) -> String {
        if self.timed_out {
            return "was killed since it ran too long".to_string();
        }
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("ended with status {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}{}", signal_name(signal)),
            (None, None) => "ended".to_string(),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGABRT => " (abort)",
        libc::SIGSEGV => " (segmentation fault)",
        libc::SIGBUS => " (bus error)",
        libc::SIGFPE => " (arithmetic error)",
        libc::SIGILL => " (illegal instruction)",
        libc::SIGTRAP => " (trap)",
        libc::SIGKILL => " (killed)",
        libc::SIGTERM => " (terminated)",
        libc::SIGINT => " (interrupted)",
        _ => "",
    }
}

impl Launch<'_> {
    /// Runs the program to its end.
    pub(crate) fn run(&self) -> Result<Ended, Failure> {
        let name = self.command[0].display();
        let start = Instant::now();
        let mut child = self.prepare()?.spawn().map_err(|error| {
            let failure = Failure::input(format_args!("cannot start {name}: {error}"));
            match error.kind() {
                io::ErrorKind::NotFound => failure.hint("give the path of the program: ./program"),
                _ => failure,
            }
        })?;
        let mut timed_out = false;
        let wait =
            |error: io::Error| Failure::input(format_args!("cannot wait for {name}: {error}"));
        let status = match self.timeout {
            None => child.wait().map_err(wait)?,
            Some(timeout) => {
                let mut pause = Duration::from_micros(200);
                loop {
                    if let Some(status) = child.try_wait().map_err(wait)? {
                        break status;
                    }
                    if start.elapsed() > timeout {
                        timed_out = true;
                        // It may have ended meanwhile.
                        let _ = child.kill();
                        break child.wait().map_err(wait)?;
                    }
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(20));
                }
            }
        };
        Ok(Ended { status, timed_out })
    }

    fn prepare(&self) -> Result<Command, Failure> {
        let mut command = if self.debugger {
            let mut debugger = Command::new("gdb");
            let stop = ["set breakpoint pending on", "break foretrace_replayed", "run"];
            debugger.arg("-q").args(stop.iter().flat_map(|line| ["-ex", *line])).arg("--args");
            debugger.args(self.command);
            debugger
        } else {
            let mut command = Command::new(&self.command[0]);
            command.args(&self.command[1..]);
            command
        };
        for name in [
            "PLAN",
            "OUTCOME",
            "SCHEDULE",
            "SEED",
            "LIMIT",
            "CONTROL_FLOW",
            "TIME",
            "INPUTS",
            "LIVE",
        ] {
            command.env_remove(format!("FORETRACE_{name}"));
        }
        command.env("FORETRACE_RECORDING", self.recording);
        match &self.task {
            Task::Record { schedule, seed, limit, control_flow, time } => {
                command
                    .env("FORETRACE_SCHEDULE", schedule.name())
                    .env("FORETRACE_SEED", seed.to_string());
                if !*control_flow {
                    command.env("FORETRACE_CONTROL_FLOW", "0");
                }
                if *time == TimeChoice::Real {
                    command.env("FORETRACE_TIME", "real");
                }
                if let Some(limit) = limit {
                    command.env("FORETRACE_LIMIT", limit.to_string());
                }
            }
            Task::Replay { plan, outcome, inputs, live } => {
                command.env("FORETRACE_PLAN", plan).env("FORETRACE_OUTCOME", outcome);
                if let Some(inputs) = inputs {
                    command.env("FORETRACE_INPUTS", inputs);
                }
                if *live {
                    command.env("FORETRACE_LIVE", "1");
                }
            }
        }
        pad(&mut command);
        match self.input {
            Input::Inherited => {}
            Input::Nothing => drop(command.stdin(Stdio::null())),
            Input::Again => {
                let failed = |error| Failure::input(format_args!("standard input: {error}"));
                command.stdin(File::open(OWN_INPUT).map_err(failed)?);
            }
        }
        match self.output {
            Output::Own => {}
            Output::StandardError => drop(command.stdout(io::stderr())),
            Output::File(path) => {
                let failed = |error| Failure::input(format_args!("{}: {error}", path.display()));
                let file = File::create(path).map_err(failed)?;
                command.stdout(file.try_clone().map_err(failed)?).stderr(file);
            }
        }
        // SAFETY: one system call between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // The same addresses in every run. Where that is forbidden, replays still go by operations and places.
                let old = libc::personality(0xffff_ffff);
                if old >= 0 {
                    libc::personality((old | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
                }
                Ok(())
            })
        };
        Ok(command)
    }
}

/// Gives every run an environment of the same size: arguments and stacks are then at the same addresses in a recording and in
/// its replays.
fn pad(command: &mut Command) {
    const VARIABLES: usize = 8;
    const BYTES: usize = 16 * 1024;
    let sizes: Vec<usize> = command
        .get_envs()
        .filter_map(|(name, value)| Some(name.len() + value?.len() + 2))
        .collect();
    let mut left = BYTES.saturating_sub(sizes.iter().sum());
    for number in sizes.len()..VARIABLES {
        let name = format!("FORETRACE_PADDING{number}");
        left = left.saturating_sub(name.len() + 2);
        let length = if number + 1 == VARIABLES { left } else { 0 };
        command.env(name, "-".repeat(length));
    }
}
