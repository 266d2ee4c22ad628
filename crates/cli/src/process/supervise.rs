//! The supervisor: a process between the command and the program, so that no process of the program
//! outlives the command.
//!
//! The command starts its own binary once more in this hidden mode, with one end of a socket, and
//! the supervisor starts the program. As a *child subreaper* it becomes the parent of every process
//! below it whose own parent ends: of daemons, double forks and whatever calls `setsid`. When the
//! program ends, or when the socket says that the command wants it to end or is gone itself
//! (`kill -9` closes it too), the supervisor kills its children until it has none.
//!
//! **Invariant.** It only kills its own children. A child keeps its number until it is waited for,
//! so no signal can hit a stranger; deeper descendants become children when their parents are
//! killed.
//!
//! It blocks all signals and leaves the process group of the terminal, so that only `kill -9` ends
//! it. Then the program dies with it, and what the program had started is adopted by the command,
//! which does the same ([`kill_children`]).

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

/// The first argument of a supervisor; then come the number of its socket, the program, and the
/// program's arguments.
const MODE: &str = "supervise-program";

/// A process that the kernel does not end in this time (it hangs in a driver, or belongs to another
/// user) is left alone.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the supervisor says in the end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// The program could not be started: the number of the error.
    NotStarted(i32),
    Ended {
        status: ExitStatus,
        left: Left,
    },
}

/// What was still running when the program had ended.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Left {
    /// So many processes were killed.
    pub(crate) killed: u32,
    /// So many could not be.
    pub(crate) alive: u32,
}

impl Answer {
    const BYTES: usize = 13;

    fn to_bytes(self) -> [u8; Answer::BYTES] {
        let (tag, number, left) = match self {
            Answer::NotStarted(error) => (0, error, Left::default()),
            Answer::Ended { status, left } => (1, status.into_raw(), left),
        };
        let mut bytes = [tag; Answer::BYTES];
        bytes[1..5].copy_from_slice(&number.to_le_bytes());
        bytes[5..9].copy_from_slice(&left.killed.to_le_bytes());
        bytes[9..].copy_from_slice(&left.alive.to_le_bytes());
        bytes
    }

    /// Reads the answer; an error if the supervisor was killed before it gave one.
    pub(super) fn read(mut socket: &UnixStream) -> io::Result<Answer> {
        let mut bytes = [0; Answer::BYTES];
        socket.read_exact(&mut bytes)?;
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            word
        };
        Ok(match bytes[0] {
            0 => Answer::NotStarted(i32::from_le_bytes(word(1))),
            _ => Answer::Ended {
                status: ExitStatus::from_raw(i32::from_le_bytes(word(1))),
                left: Left {
                    killed: u32::from_le_bytes(word(5)),
                    alive: u32::from_le_bytes(word(9)),
                },
            },
        })
    }
}

/// The command that starts a supervisor for a program; `socket` is the supervisor's end.
pub(super) fn command(socket: &UnixStream) -> Command {
    let socket = socket.as_raw_fd();
    let mut command = Command::new("/proc/self/exe");
    command.arg0("foretrace").arg(MODE).arg(socket.to_string());
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::fcntl(socket, libc::F_SETFD, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    };
    command
}

/// From now on, processes whose parents end become children of this process.
pub(super) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: a system call without pointers.
    match unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The arguments of a supervisor, if this process is one: its socket, and the program with its
/// arguments.
pub(crate) fn asked_for(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<(RawFd, Vec<OsString>)> {
    if arguments.nth(1)? != MODE {
        return None;
    }
    let socket = arguments.next()?.to_str()?.parse().ok()?;
    let program: Vec<OsString> = arguments.collect();
    (!program.is_empty()).then_some((socket, program))
}

/// Runs the program, and ends when all its processes have.
pub(crate) fn run(socket: RawFd, program: &[OsString]) -> ExitCode {
    // The program must not inherit it: the command would wait for the program's children then. This
    // fails if there is no such file: somebody has called this mode by hand. SAFETY: a system call
    // without pointers.
    if unsafe { libc::fcntl(socket, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return ExitCode::from(crate::failure::Status::BadInput as u8);
    }
    // SAFETY: the command gave us this end of the socket, and nobody else here knows its number.
    let socket = unsafe { UnixStream::from(OwnedFd::from_raw_fd(socket)) };
    let answer = supervise(&socket, program).unwrap_or_else(|error| {
        kill_children();
        Answer::NotStarted(error.raw_os_error().unwrap_or(libc::EINVAL))
    });
    // If the command is gone, nobody wants to know.
    let _ = (&socket).write_all(&answer.to_bytes());
    ExitCode::SUCCESS
}

fn supervise(socket: &UnixStream, program: &[OsString]) -> io::Result<Answer> {
    let (ended_children, old_mask) = block_signals()?;
    // Else it would be called `exe`, after the file that was started.
    // SAFETY: the pointer is to a text with a 0 at its end.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"foretrace".as_ptr()) };
    // Where they are ignored, the kernel does not say how children end.
    // SAFETY: no handler is installed.
    let old_action = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    adopt_orphans()?;
    let mut child = Command::new(&program[0]);
    child.args(&program[1..]);
    // SAFETY: a few system calls between fork and exec.
    unsafe {
        child.pre_exec(move || {
            libc::signal(libc::SIGCHLD, old_action);
            libc::sigprocmask(libc::SIG_SETMASK, &old_mask, std::ptr::null_mut());
            // The same addresses in every run. Where that is forbidden, replays still go by
            // operations and places.
            let old = libc::personality(0xffff_ffff);
            if old >= 0 {
                libc::personality((old | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
            }
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        })
    };
    let child = child.spawn()?.id() as libc::pid_t;
    // The program stays in the group that has the terminal; what is typed there is not for us.
    // SAFETY: a system call without pointers. (It fails if we have a group of our own already.)
    unsafe { libc::setpgid(0, 0) };
    let mut status = None;
    while status.is_none() && !wait_for(socket, &ended_children)? {
        while let Some((process, ended)) = wait_for_any() {
            if process == child {
                status = Some(ended);
            }
        }
    }
    if status.is_none() {
        // SAFETY: a system call without pointers; it is a child that nobody has waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
        let mut raw = 0;
        // SAFETY: the kernel writes to a local variable.
        unsafe { libc::waitpid(child, &mut raw, 0) };
        status = Some(raw);
    }
    let status = ExitStatus::from_raw(status.unwrap_or_default());
    Ok(Answer::Ended { status, left: kill_children() })
}

/// Blocks all signals. The first result can be read when a child has ended, the second is what was
/// blocked before.
fn block_signals() -> io::Result<(OwnedFd, libc::sigset_t)> {
    let (mut signals, mut old) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are local variables, and each is filled before it is used. The descriptor
    // is new, and nobody else has it.
    unsafe {
        libc::sigfillset(signals.as_mut_ptr());
        if libc::sigprocmask(libc::SIG_SETMASK, signals.as_ptr(), old.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGCHLD);
        match libc::signalfd(-1, signals.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            file => Ok((OwnedFd::from_raw_fd(file), old.assume_init())),
        }
    }
}

/// Waits until a child has ended, or until everything is to end: then the answer is `true`.
fn wait_for(socket: &UnixStream, ended_children: &OwnedFd) -> io::Result<bool> {
    let watch = |file: RawFd| libc::pollfd { fd: file, events: libc::POLLIN, revents: 0 };
    let mut files = [watch(socket.as_raw_fd()), watch(ended_children.as_raw_fd())];
    // SAFETY: the pointer is to so many entries.
    if unsafe { libc::poll(files.as_mut_ptr(), files.len() as libc::nfds_t, -1) } < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    let mut record = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    // Takes the signal; it may stand for several children.
    // SAFETY: the pointer is to so many bytes.
    unsafe {
        let size = size_of::<libc::signalfd_siginfo>();
        libc::read(ended_children.as_raw_fd(), record.as_mut_ptr().cast(), size)
    };
    // The command sends nothing: what can be read is the end.
    Ok(files[0].revents != 0)
}

/// A child that has ended, and its raw status.
fn wait_for_any() -> Option<(libc::pid_t, i32)> {
    let mut status = 0;
    // SAFETY: the kernel writes to a local variable.
    let process = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
    (process > 0).then_some((process, status))
}

/// Kills all children, and those that become children thereby, until there is none left.
pub(super) fn kill_children() -> Left {
    let (start, mut pause) = (Instant::now(), Duration::from_micros(100));
    let (mut killed, mut dying) = (0, HashSet::new());
    loop {
        while let Some((process, _)) = wait_for_any() {
            killed += u32::from(dying.remove(&process));
        }
        if !has_children() {
            return Left { killed, alive: 0 };
        }
        let children = children();
        // SAFETY: a system call without pointers.
        let kill = |child: &&libc::pid_t| unsafe { libc::kill(**child, libc::SIGKILL) } == 0;
        let new = children.iter().filter(kill).filter(|&&child| dying.insert(child)).count();
        if start.elapsed() > PATIENCE {
            return Left { killed, alive: children.len() as u32 };
        }
        // One that forks again and again is only caught in haste.
        if new == 0 {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Whether this process has children, ended ones that nobody has waited for included.
fn has_children() -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes to a local variable, which is large enough.
    unsafe { libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), options) == 0 }
}

/// The children of this process that have not ended, by what the kernel says of all processes.
fn children() -> Vec<libc::pid_t> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let is_child = |process: &libc::pid_t| {
        let Ok(text) = fs::read(format!("/proc/{process}/stat")) else { return false };
        // The name is in parentheses and may hold anything; state and parent come behind the last
        // one.
        let Some(end) = text.iter().rposition(|&byte| byte == b')') else { return false };
        let text = String::from_utf8_lossy(&text[end + 1..]);
        let mut fields = text.split_ascii_whitespace();
        !matches!(fields.next(), None | Some("Z" | "X")) && fields.next() == Some(&own)
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(is_child).collect()
}
