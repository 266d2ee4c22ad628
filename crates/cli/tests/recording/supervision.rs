//! No process of the program outlives the command, however the command ends; and nothing else
//! changes for the program.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::harness::{Program, compile, foretrace};
use crate::replaying::{command_is_missing, report};

const WAYS: [&str; 3] = ["child", "setsid", "daemon"];
/// How a shell shows that a signal ended a process.
const KILLED: i32 = 128 + libc::SIGKILL;
const INTERRUPTED: i32 = 128 + libc::SIGINT;
/// For whatever has to happen soon.
const SOON: Duration = Duration::from_secs(20);

/// The processes of one run: the program, its parent, and the one that it started.
type Processes = [libc::pid_t; 3];

/// What the program has written to its file so far.
fn written(file: &str) -> Vec<Processes> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let processes = |line: &str| {
        let numbers: Vec<libc::pid_t> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        Processes::try_from(numbers).unwrap()
    };
    complete.lines().map(processes).collect()
}

/// Whether a process runs; ended ones that nobody has waited for do not.
fn runs(process: libc::pid_t) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    let state = text.rfind(')').and_then(|end| text[end..].chars().nth(2));
    !matches!(state, None | Some('Z' | 'X'))
}

#[track_caller]
fn soon<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < SOON, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn all_end(processes: &[libc::pid_t]) {
    for &process in processes {
        soon("a process ends", || (!runs(process)).then_some(()));
    }
}

fn send(process: libc::pid_t, signal: i32) {
    // SAFETY: a system call without pointers.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

/// A command under which the program stays; it has a process group of its own.
fn staying(program: &Program, how: &str, file: &str) -> (Child, Processes) {
    let _ = fs::remove_file(file);
    let child = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["run", "-o", &program.beside("run.ftb"), "--"])
        .arg(&program.path)
        .args([file, how, "stays"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let processes = soon("the program says who it is", || written(file).first().copied());
    assert!(processes.iter().all(|&process| runs(process)), "{processes:?}");
    (child, processes)
}

#[test]
fn what_the_program_leaves_behind_ends_with_it() {
    let program = compile("left", &["survivors.c"]);
    for how in WAYS {
        let file = program.beside(how);
        let run = program.run(&[], &[&file, how, "ends"]).ended_with(7);
        // They were gone before the command.
        let [own, supervisor, other] = written(&file)[0];
        assert!(![own, supervisor, other].into_iter().any(runs), "{how}");
        run.says("1 process that the program had started outlived it; foretrace killed it");
    }
}

/// How many processes were started from this file.
fn started_from(program: &Program) -> usize {
    let entries = fs::read_dir("/proc").unwrap();
    let is_it =
        |path: std::path::PathBuf| fs::read_link(path).is_ok_and(|file| file == program.path);
    entries.filter(|entry| is_it(entry.as_ref().unwrap().path().join("exe"))).count()
}

#[test]
fn a_process_that_is_another_one_all_the_time_is_caught() {
    let program = compile("chain", &["chain.c"]);
    program.run(&[], &[]).ended_with(0).says("foretrace killed");
    assert_eq!(started_from(&program), 0);
    // Where all threads run at once it really pauses.
    let options = ["--timeout", "50ms", "--schedule", "free"];
    program.run(&options, &[]).ended_with(137).says("foretrace killed");
    assert_eq!(started_from(&program), 0);
}

#[test]
fn so_it_is_in_replays() {
    let program = compile("replays", &["survivors.c"]);
    let (file, json) = (program.beside("processes"), program.beside("report.json"));
    let arguments = [&file, "daemon", "races"];
    program
        .with(&["test", "--check", "race"], &arguments)
        .ended_with(1)
        .says("confirmed by replay");
    assert_eq!(started_from(&program), 0);
    fs::remove_file(&file).unwrap();
    // These write to the file themselves.
    program
        .with(&["test", "--live", "--check", "race", "--json", &json], &arguments)
        .ended_with(1)
        .says("confirmed by replay");
    program.with(&["replay", "--live", &json], &arguments).ended_with(1);
    let processes = written(&file);
    assert!(processes.len() >= 3, "a recording and two replays: {processes:?}");
    assert!(!processes.as_flattened().iter().any(|&process| runs(process)), "{processes:?}");
    assert_eq!(started_from(&program), 0);
}

#[test]
fn a_timeout_kills_them_all() {
    let program = compile("timeout", &["survivors.c"]);
    for how in WAYS {
        let file = program.beside(how);
        let run = program.run(&["--timeout", "1s"], &[&file, how, "stays"]);
        run.ended_with(137).says("killed the program because it ran longer than --timeout");
        assert!(!written(&file).as_flattened().iter().any(|&process| runs(process)), "{how}");
    }
}

/// What is done to the command, and with which status it ends, as a shell shows it.
#[track_caller]
fn nothing_outlives(name: &str, does: impl Fn(&Child, Processes), expected: i32) {
    let program = compile(name, &["survivors.c"]);
    for how in WAYS {
        let (mut child, processes) = staying(&program, how, &program.beside(how));
        does(&child, processes);
        let status: ExitStatus = child.wait().unwrap();
        let shown = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(shown, Some(expected), "{how}: {status:?}");
        all_end(&processes);
    }
}

fn number(child: &Child) -> libc::pid_t {
    child.id() as libc::pid_t
}

#[test]
fn a_command_that_is_killed_takes_them_along() {
    nothing_outlives("killed", |child, _| send(number(child), libc::SIGKILL), KILLED);
}

#[test]
fn a_command_that_is_terminated_takes_them_along() {
    // It kills the program, whose status it has.
    nothing_outlives("terminated", |child, _| send(number(child), libc::SIGTERM), KILLED);
}

#[test]
fn an_interrupt_of_the_group_ends_them_all() {
    // The program ignores it, so it is killed after a while.
    nothing_outlives("interrupted", |child, _| send(-number(child), libc::SIGINT), KILLED);
}

#[test]
fn the_second_interrupt_ends_the_command_at_once() {
    let twice = |child: &Child, [own, ..]: Processes| {
        // It does not notice the first one.
        send(own, libc::SIGSTOP);
        send(number(child), libc::SIGINT);
        // What comes at once after another one belongs to it.
        soon("a later one ends the command", || {
            send(number(child), libc::SIGINT);
            (!runs(number(child))).then_some(())
        });
    };
    nothing_outlives("twice", twice, INTERRUPTED);
}

#[test]
fn a_signal_that_is_sent_twice_at_once_is_one() {
    // As `timeout` does it. The program is killed, and its status is reported.
    let twice = |child: &Child, _| (0..2).for_each(|_| send(number(child), libc::SIGTERM));
    nothing_outlives("sent-twice", twice, KILLED);
}

/// The folders in which commands work.
fn folders(base: &Path) -> Vec<PathBuf> {
    fs::read_dir(base).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn what_a_killed_command_leaves_behind_is_removed_by_the_next_one() {
    let program = compile("abandoned", &["survivors.c"]);
    let base = program.folder.join("temporary");
    fs::create_dir(&base).unwrap();
    let test = |how: &str, end: &str| {
        let file = program.beside(end);
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        command.env("TMPDIR", &base).args(["test", "--"]).arg(&program.path);
        command.args([&file, how, end]).stdin(Stdio::null());
        (command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(), file)
    };
    let (mut killed, file) = test("child", "stays");
    let processes = soon("the program says who it is", || written(&file).first().copied());
    killed.kill().unwrap();
    killed.wait().unwrap();
    all_end(&processes);
    let abandoned = folders(&base);
    assert_eq!(abandoned.len(), 1, "{abandoned:?}");
    let used = base.join("foretrace-work-0-0");
    fs::create_dir(&used).unwrap();
    let lock = File::open(&used).unwrap();
    lock.lock().unwrap();
    for folder in folders(&base) {
        let long_ago = SystemTime::now() - Duration::from_secs(600);
        File::open(folder).unwrap().set_modified(long_ago).unwrap();
    }
    test("child", "ends").0.wait().unwrap();
    // That of a command that still works stays.
    assert_eq!(folders(&base), [used]);
}

#[test]
fn stopped_processes_end_too() {
    let stop_and_kill = |child: &Child, _| {
        send(-number(child), libc::SIGSTOP);
        send(number(child), libc::SIGKILL);
    };
    nothing_outlives("stopped", stop_and_kill, KILLED);
}

#[test]
fn without_its_supervisor_the_command_kills_them() {
    let program = compile("unsupervised", &["survivors.c"]);
    for how in WAYS {
        let (mut child, processes) = staying(&program, how, &program.beside(how));
        let [_, supervisor, _] = processes;
        assert_ne!(supervisor, number(&child));
        send(supervisor, libc::SIGKILL);
        assert_eq!(child.wait().unwrap().code(), Some(125), "{how}");
        // The command has waited for it.
        assert!(!processes.into_iter().any(runs), "{how}");
    }
}

#[test]
fn the_program_inherits_what_is_ignored_and_blocked() {
    let program = compile("inherited", &["inherited.c"]);
    for (ignored, blocked) in
        [(libc::SIGCHLD, 0), (libc::SIGHUP, 0), (libc::SIGUSR1, libc::SIGUSR2)]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        command.args(["run", "-o", &program.beside("run.ftb"), "--"]).arg(&program.path);
        command.args([ignored, blocked].map(|signal| signal.to_string()));
        // SAFETY: a few system calls between fork and exec, with valid pointers.
        unsafe {
            command.pre_exec(move || {
                // Whoever runs the tests may ignore others.
                for signal in 1..32 {
                    libc::signal(signal, libc::SIG_DFL);
                }
                libc::signal(ignored, libc::SIG_IGN);
                let mut mask = std::mem::zeroed();
                libc::sigemptyset(&mut mask);
                if blocked != 0 {
                    libc::sigaddset(&mut mask, blocked);
                }
                libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
                Ok(())
            })
        };
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{ignored}, {blocked}: {output:?}");
    }
}

/// A command in the foreground of a new terminal, and our end of that.
fn in_a_terminal(words: &[&str], program: &Program, arguments: &[&str]) -> (Child, Terminal) {
    let (mut ours, mut theirs) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: the first two pointers are valid, and the others may be null; both files are ours
    // alone.
    let (ours, theirs) = unsafe {
        assert_eq!(libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast()), 0);
        libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
        (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
    command.args(words).arg("--").arg(&program.path).args(arguments).env("TERM", "dumb");
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    // SAFETY: two system calls between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
            Ok(())
        })
    };
    (command.spawn().unwrap(), Terminal { file: ours, said: String::new() })
}

/// Our end of a terminal, and what it has said that nobody has asked for yet.
struct Terminal {
    file: File,
    said: String,
}

impl Terminal {
    fn types(&mut self, text: &[u8]) {
        self.file.write_all(text).unwrap();
    }

    /// Reads until the terminal has said this; what it said up to there.
    #[track_caller]
    fn says(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.said.find(text) {
                let rest = self.said.split_off(at + text.len());
                return std::mem::replace(&mut self.said, rest);
            }
            let mut bytes = [0; 256];
            let length = self.file.read(&mut bytes).unwrap_or(0);
            assert!(length > 0, "`{text}` is not in: {}", self.said);
            self.said.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }
}

#[test]
fn the_program_has_the_terminal() {
    let program = compile("terminal", &["terminal.c"]);
    let trace = program.beside("run.ftb");
    let (mut child, mut terminal) = in_a_terminal(&["run", "-o", &trace], &program, &[]);
    terminal.types(b"a line\n");
    terminal.says("read a line");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interrupt_that_is_typed_ends_them_all() {
    let program = compile("typed", &["terminal.c"]);
    let trace = program.beside("run.ftb");
    let (mut child, mut terminal) = in_a_terminal(&["run", "-o", &trace], &program, &["waits"]);
    let ready = terminal.says(" is ready");
    let number = ready.split(' ').rev().nth(2).unwrap();
    let process: libc::pid_t = number.parse().unwrap();
    assert!(runs(process));
    terminal.types(b"\x03");
    // The program ignores it and is killed; the command keeps what was recorded.
    assert_eq!(child.wait().unwrap().code(), Some(KILLED));
    all_end(&[process]);
    foretrace(&["trace", "show", &trace]).ended_with(0).says("T0: begin");
}

#[test]
fn an_interrupt_at_the_prompt_of_the_debugger_is_for_the_debugger() {
    if command_is_missing("gdb") {
        foretrace_testing::skip("an interrupt at the prompt of the debugger", "there is no gdb");
        return;
    }
    let program = compile("prompt", &["racy.c"]);
    let first = format!("{}#race-1", report(&program, &[]));
    let (mut child, mut terminal) = in_a_terminal(&["replay", "--gdb", &first], &program, &[]);
    terminal.says("hit Breakpoint");
    terminal.says("(gdb)");
    terminal.types(b"\x03");
    terminal.says("(gdb)");
    terminal.types(b"set confirm off\nquit\n");
    terminal.says("race-1: confirmed");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
