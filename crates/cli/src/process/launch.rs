//! Starting the user's program with the runtime switched on.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::supervise::{self, Answer, Left};
use crate::args::{ScheduleChoice, TimeChoice};
use crate::failure::Failure;
use crate::interrupt;

/// How often to look whether the user wants an end.
const LOOK: Duration = Duration::from_millis(100);

/// How long a program may go on behind the end of a replay, where it may wait for ever for what
/// the replayed bug has destroyed.
const AFTERWARDS: Duration = Duration::from_secs(3);

/// What the runtime is to do.
pub(crate) enum Task<'a> {
    Record {
        schedule: ScheduleChoice,
        seed: u64,
        limit: u64,
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
pub(crate) const OWN_INPUT: &str = "/proc/self/fd/0";

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
    /// The user wanted it to end.
    pub(crate) interrupted: bool,
    /// What the program had started and left behind.
    pub(crate) left: Left,
}

impl Ended {
    /// What the user should know of processes that the program left behind.
    pub(crate) fn remarks(self) -> Vec<String> {
        let mut remarks = Vec::new();
        let mut remark = |count: u32, what: &str| {
            let (processes, them) = match count {
                0 => return,
                1 => ("1 process".to_string(), "it"),
                _ => (format!("{count} processes"), "them"),
            };
            let outlived = "that the program had started outlived it";
            remarks.push(format!("{processes} {outlived}; foretrace {what} {them}"));
        };
        remark(self.left.killed, "killed");
        remark(self.left.alive, "cannot kill");
        remarks
    }

    /// Whether the program would have gone on.
    pub(crate) fn is_cut_short(self) -> bool {
        self.timed_out || self.interrupted
    }

    /// Whether a mistake of the program itself ended it, and not somebody else's signal.
    pub(crate) fn crashed(self) -> bool {
        let crashes = [
            libc::SIGABRT,
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGSYS,
        ];
        self.status.signal().is_some_and(|signal| crashes.contains(&signal))
    }

    /// The status that a shell would show.
    pub(crate) fn code(self) -> u8 {
        let code = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0));
        code as u8
    }

    /// In words, behind "the program".
    pub(crate) fn in_words(self) -> String {
        if self.timed_out {
            return "was killed because it ran too long".to_string();
        }
        if self.interrupted {
            return "was interrupted".to_string();
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
    /// Runs the program to its end; then no process that it has started is left.
    pub(crate) fn run(&self) -> Result<Ended, Failure> {
        let name = self.command[0].display();
        let wait =
            |error: io::Error| Failure::input(format_args!("cannot wait for {name}: {error}"));
        let (ours, theirs) = UnixStream::pair().map_err(wait)?;
        // If the supervisor is killed, its children are ours.
        supervise::adopt_orphans().map_err(wait)?;
        let start = Instant::now();
        let mut supervisor = self.prepare(&theirs)?.spawn().map_err(wait)?;
        drop(theirs);
        let interrupts = self.debugger.then(IgnoredInterrupts::begin);
        let (mut timed_out, mut interrupted, mut is_ended) = (false, None, false);
        let mut answered = None;
        let answer = loop {
            let left = self.timeout.map_or(LOOK, |timeout| timeout.saturating_sub(start.elapsed()));
            // A time-out of 0 would be none.
            let left = left.clamp(Duration::from_micros(1), LOOK);
            ours.set_read_timeout((!is_ended).then_some(left)).map_err(wait)?;
            match Answer::read(&ours) {
                Err(error) if is_timeout(&error) => {}
                answer => break answer,
            }
            timed_out = self.timeout.is_some_and(|timeout| start.elapsed() >= timeout);
            if interrupt::STOP.is_set() {
                interrupted.get_or_insert_with(Instant::now);
            }
            if self.is_answered() {
                timed_out |= answered.get_or_insert_with(Instant::now).elapsed() >= AFTERWARDS;
            }
            if timed_out || interrupted.is_some_and(|since| since.elapsed() >= self.grace()) {
                is_ended = true;
                // It kills everything then, and answers.
                ours.shutdown(Shutdown::Write).map_err(wait)?;
            }
        };
        let interrupted = !timed_out && interrupt::STOP.is_set();
        drop(interrupts);
        // It has said all; if the signals of children are ignored, nobody can wait for it.
        let _ = supervisor.wait();
        match answer {
            Ok(Answer::Ended { status, left }) => {
                Ok(Ended { status, timed_out, interrupted, left })
            }
            Ok(Answer::NotStarted(error)) => {
                let error = io::Error::from_raw_os_error(error);
                let failure = Failure::input(format_args!("cannot start {name}: {error}"));
                Err(match error.kind() {
                    io::ErrorKind::NotFound => {
                        failure.hint("give the path of the program: ./program")
                    }
                    _ => failure,
                })
            }
            Err(_) => {
                supervise::kill_children();
                Err(Failure::input(format_args!("the supervisor of {name} was killed")))
            }
        }
    }

    /// Whether a replay has come to its end, and what the program does now is its own affair.
    fn is_answered(&self) -> bool {
        let Task::Replay { outcome, .. } = self.task else { return false };
        !self.debugger && fs::metadata(outcome).is_ok_and(|file| file.len() > 0)
    }

    /// How long the program has to end by itself after an interrupt, if the terminal has sent it to
    /// the program as well: a server may have to close what is open.
    fn grace(&self) -> Duration {
        match self.task {
            Task::Record { .. } if interrupt::was_typed() => Duration::from_secs(5),
            Task::Record { .. } | Task::Replay { .. } => Duration::ZERO,
        }
    }

    /// The supervisor that runs the program, with all that the program inherits from it.
    fn prepare(&self, socket: &UnixStream) -> Result<Command, Failure> {
        let mut command = supervise::command(socket);
        if self.debugger {
            let stop = ["set breakpoint pending on", "break foretrace_replayed", "run"];
            command.args(["gdb", "-q"]).args(stop.iter().flat_map(|line| ["-ex", *line]));
            command.arg("--args");
        }
        command.args(self.command);
        // A shell says here what it starts: that is the program, however the shell started us.
        command.env("_", &self.command[0]);
        for name in VARIABLES {
            command.env_remove(name);
        }
        command.env("FORETRACE_RECORDING", self.recording);
        command.env("FORETRACE_ABI", foretrace_recording::site::ABI.to_string());
        match &self.task {
            Task::Record { schedule, seed, limit, control_flow, time } => {
                command
                    .env("FORETRACE_SCHEDULE", schedule.name())
                    .env("FORETRACE_SEED", seed.to_string())
                    .env("FORETRACE_LIMIT", limit.to_string());
                if !*control_flow {
                    command.env("FORETRACE_CONTROL_FLOW", "0");
                }
                if *time == TimeChoice::Real {
                    command.env("FORETRACE_TIME", "real");
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
        Ok(command)
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// While a debugger has the terminal, an interrupt that is typed there is meant for it and not for
/// us.
struct IgnoredInterrupts(libc::sighandler_t);

impl IgnoredInterrupts {
    fn begin() -> IgnoredInterrupts {
        // SAFETY: no handler is installed.
        IgnoredInterrupts(unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) })
    }
}

impl Drop for IgnoredInterrupts {
    fn drop(&mut self) {
        // SAFETY: what was there before.
        unsafe { libc::signal(libc::SIGINT, self.0) };
    }
}

/// What the runtime is told; `foretrace_runtime::config` reads it.
const VARIABLES: [&str; 11] = [
    "FORETRACE_RECORDING",
    "FORETRACE_ABI",
    "FORETRACE_PLAN",
    "FORETRACE_OUTCOME",
    "FORETRACE_SCHEDULE",
    "FORETRACE_SEED",
    "FORETRACE_LIMIT",
    "FORETRACE_CONTROL_FLOW",
    "FORETRACE_TIME",
    "FORETRACE_INPUTS",
    "FORETRACE_LIVE",
];

/// Gives every run the same variables, each of the same length. Arguments and stacks are then at
/// the same addresses in a recording and in its replays, and a program that copies its environment,
/// to change the title of its process for example, makes the same accesses. The runtime takes an
/// empty value for none.
fn pad(command: &mut Command) {
    const LENGTH: usize = 1024;
    const BYTES: usize = 16 * 1024;
    let mut left = BYTES;
    for name in VARIABLES {
        let given = command.get_envs().find(|(known, _)| *known == name);
        let mut value = given.and_then(|(_, value)| value).unwrap_or_default().to_owned();
        value.push("\n");
        value.push("-".repeat(LENGTH.saturating_sub(value.len())));
        left = left.saturating_sub(value.len());
        command.env(name, value);
    }
    // Paths of more than that are rare; then at least the size of the whole is the same.
    command.env("FORETRACE_PADDING", "-".repeat(left));
}
