//! Solvers of SMT-LIB as child processes: the formula goes into the standard input, the answer
//! comes out of the standard output.
//!
//! **Invariant.** When [`SolverCommand::solve`] returns, the child is gone and waited for, and so
//! is every process of its group. Input and output are moved by threads of their own, so a child
//! that writes before it has read everything blocks nobody.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::Limits;
use crate::decode::Assignment;
use crate::formula::Formula;
use crate::smtlib::{self, Tree};

/// How a solver is started: a program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SolverCommand {
    program: String,
    arguments: Vec<String>,
}

/// Why a solver gave no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SolverError {
    /// Nothing was named.
    #[error("the command of the solver is empty: name one, such as `z3 -in` or `cvc5`")]
    NoCommand,
    /// No such program.
    #[error("{program} was not found: {}, or name another solver with --solver", install(.program))]
    NotFound { program: String },
    /// The program is there and does not start.
    #[error(
        "{program} cannot be started: {reason}; see whether it runs by itself, or name another solver with --solver"
    )]
    NotStarted { program: String, reason: String },
    /// The limit was reached; the solver is ended.
    #[error("{program} gave no answer in {} s: allow it more time, or ask for less (fewer events, a smaller bound)", .limit.as_secs_f64())]
    OutOfTime { program: String, limit: Duration },
    /// A crash, or the system's own limits.
    #[error("{program} was ended by signal {signal} before it answered: it has crashed, or was out of memory{}", said(.message))]
    Killed { program: String, signal: i32, message: String },
    /// It ended by itself and said neither `sat` nor `unsat`.
    #[error("{program} ended without an answer, with status {status}: does it read SMT-LIB 2 from its standard input (z3 needs -in)?{}", said(.message))]
    NoAnswer { program: String, status: i32, message: String },
    /// It does not know.
    #[error("{program} answered `unknown`: it has given up; try another solver")]
    SaidUnknown { program: String },
    /// It answered with an error.
    #[error(
        "{program} does not accept the formula: {message}; try another solver, and please report this"
    )]
    Rejected { program: String, message: String },
    /// It answered something else.
    #[error("what {program} answered cannot be read ({reason}): is it a solver of SMT-LIB 2?")]
    Unreadable { program: String, reason: String },
}

fn install(program: &str) -> String {
    match program {
        "z3" | "cvc5" | "cvc4" => format!("install it with apt-get install {program}"),
        _ => "see that it is installed and in the PATH".to_string(),
    }
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" It said: {message}") }
}

impl SolverCommand {
    /// Takes a command line apart. Words are separated by spaces, and quotes of either kind keep
    /// them together. `z3` alone is taken as `z3 -in`, since it reads its standard input only then.
    pub fn parse(line: &str) -> Result<SolverCommand, SolverError> {
        let mut words: Vec<String> = Vec::new();
        let mut quote = None;
        let mut is_inside = false;
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    if !is_inside {
                        words.push(String::new());
                    }
                    is_inside = true;
                }
                (None, c) if c.is_whitespace() => is_inside = false,
                (_, c) => {
                    if !is_inside {
                        words.push(String::new());
                    }
                    is_inside = true;
                    words.last_mut().expect("a word has begun").push(c);
                }
            }
        }
        let mut words = words.into_iter();
        let program = words.next().filter(|word| !word.is_empty()).ok_or(SolverError::NoCommand)?;
        let mut arguments: Vec<String> = words.collect();
        let name = program.rsplit('/').next().unwrap_or_default();
        if name == "z3" && arguments.is_empty() {
            arguments.push("-in".to_string());
        }
        Ok(SolverCommand { program, arguments })
    }

    /// Asks the solver. The values of a solution, or `None` if there is none.
    pub fn solve(
        &self,
        formula: &Formula,
        limits: Limits,
    ) -> Result<Option<Assignment>, SolverError> {
        let mut text = Vec::new();
        smtlib::write(formula, &mut text).expect("a Vec takes every byte");
        let output = self.run(text, limits)?;
        self.read(formula, &output)
    }

    /// Asks one process all of the questions, one after the other: for many small ones. The limit
    /// is for all of them together.
    pub fn solve_all(
        &self,
        formulas: &[Formula],
        limits: Limits,
    ) -> Vec<Result<Option<Assignment>, SolverError>> {
        let mut text = Vec::new();
        for formula in formulas {
            smtlib::write(formula, &mut text).expect("a Vec takes every byte");
            text.extend_from_slice(format!("(echo \"{BEHIND}\")\n(reset)\n").as_bytes());
        }
        let output = match self.run(text, limits) {
            Ok(output) => output,
            Err(error) => return vec![Err(error); formulas.len()],
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // Some solvers echo the quotes too.
        let mut parts = said.split(BEHIND).map(|part| part.trim_matches(['"', '\n', '\r']));
        let each = formulas.iter().map(|formula| {
            let stdout = parts.next().unwrap_or_default().as_bytes().to_vec();
            self.read(formula, &Output { stdout, ..output.clone() })
        });
        each.collect()
    }

    /// Gives the child its input and takes what it says.
    fn run(&self, input: Vec<u8>, limits: Limits) -> Result<Output, SolverError> {
        let start = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // In a group of its own, the child does not hear the user's interrupt: it ends when we do.
        #[cfg(target_os = "linux")]
        // SAFETY: `prctl` may be called between fork and exec, and nothing else is done there.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => SolverError::NotFound { program: self.program.clone() },
            _ => self.not_started(&error),
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut group = Group { child, status: None };
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three are pipes");
        };
        // A child that ends early closes its input; then its output says why.
        thread::spawn(move || _ = stdin.write_all(&input));
        let (output, errors) = (gather(stdout), gather(stderr));
        let timed_out =
            || SolverError::OutOfTime { program: self.program.clone(), limit: limits.time };
        let left = || limits.time.saturating_sub(start.elapsed());
        let stdout = output.recv_timeout(left()).map_err(|_| timed_out())?;
        while !group.has_ended() {
            if left().is_zero() {
                return Err(timed_out());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let status = group.end().map_err(|error| self.not_started(&error))?;
        // Only a process that has left the group can still have this pipe, and it is not to hold us
        // up.
        let stderr = errors.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
        Ok(Output { stdout, stderr, status })
    }

    fn not_started(&self, error: &std::io::Error) -> SolverError {
        SolverError::NotStarted { program: self.program.clone(), reason: error.to_string() }
    }

    /// The answer in what the child said. Errors behind `unsat` belong to the values that were
    /// asked for in vain.
    fn read(&self, formula: &Formula, output: &Output) -> Result<Option<Assignment>, SolverError> {
        let program = || self.program.clone();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let unreadable = |reason: String| SolverError::Unreadable { program: program(), reason };
        let killed = output.status.signal().map(|signal| {
            let message = shortened(stderr.trim());
            SolverError::Killed { program: program(), signal, message }
        });
        let trees = smtlib::parse(&stdout)
            .map_err(|error| killed.clone().unwrap_or_else(|| unreadable(error.to_string())))?;
        let mut assignment = None;
        for tree in &trees {
            match tree {
                Tree::Leaf(word) => match (&assignment, &**word) {
                    (None, "sat") => assignment = Some(FxHashMap::default()),
                    (None, "unsat") => return Ok(None),
                    // z3 says `timeout` at a limit of its own.
                    (None, "unknown" | "timeout") => {
                        return Err(SolverError::SaidUnknown { program: program() });
                    }
                    (_, "success") => {}
                    _ => return Err(unreadable(format!("it says `{}`", shortened(word)))),
                },
                Tree::List(parts) => match (&mut assignment, parts.first()) {
                    (_, Some(Tree::Leaf(word))) if word == "error" => {
                        let message = parts[1..].iter().map(shown).collect::<Vec<_>>().join(" ");
                        let message = shortened(&message);
                        return Err(SolverError::Rejected { program: program(), message });
                    }
                    (Some(values), _) => values.extend(parts.iter().filter_map(pair)),
                    (None, _) => return Err(unreadable("a list before `sat` or `unsat`".into())),
                },
            }
        }
        let Some(values) = assignment else {
            let message = shortened(stderr.trim());
            let status = output.status.code().unwrap_or(-1);
            let silent = SolverError::NoAnswer { program: program(), status, message };
            return Err(killed.unwrap_or(silent));
        };
        match formula.asked().find(|&symbol| !values.contains_key(symbol)) {
            None => Ok(Some(Assignment::new(values))),
            Some(missing) => Err(unreadable(format!("no value of {missing}"))),
        }
    }
}

/// What a solver says between the answers to two questions.
const BEHIND: &str = "foretrace.answered";

/// What a child has said, and how it ended.
#[derive(Clone)]
struct Output {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: ExitStatus,
}

/// A child that is the first of its process group. All of the group ends with it.
struct Group {
    child: Child,
    /// How it ended, once it is waited for.
    status: Option<ExitStatus>,
}

impl Group {
    /// Whether the child has ended. It is not waited for, so its number stays taken.
    fn has_ended(&self) -> bool {
        // SAFETY: all zeros is a value of `siginfo_t`, and `waitid` writes only to the one that it
        // is given.
        unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let failed = libc::waitid(libc::P_PID, self.child.id(), &mut info, options) != 0;
            failed || info.si_pid() != 0
        }
    }

    /// Ends what is left of the group, and waits for the child.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let group = self.child.id() as libc::pid_t;
        // SAFETY: `kill` touches no memory of ours. The child is not waited for yet, so the number
        // is still that of its group.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        _ = self.end();
    }
}

/// Reads a pipe to its end in a thread of its own.
fn gather(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        _ = pipe.read_to_end(&mut bytes);
        _ = sender.send(bytes);
    });
    receiver
}

/// One entry of the answer to `get-value`.
fn pair(tree: &Tree) -> Option<(String, i128)> {
    match tree {
        Tree::List(parts) => match &parts[..] {
            [Tree::Leaf(symbol), value] => Some((symbol.clone(), smtlib::number(value)?)),
            _ => None,
        },
        Tree::Leaf(_) => None,
    }
}

fn shown(tree: &Tree) -> String {
    match tree {
        Tree::Leaf(leaf) => leaf.trim_matches('"').to_string(),
        Tree::List(parts) => format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(" ")),
    }
}

/// The first words of a message.
fn shortened(message: &str) -> String {
    let line: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
