//! Compiles programs, runs them, and keeps what came of it.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// All ways of scheduling.
pub(crate) const SCHEDULES: [&str; 4] = ["random", "pct", "round-robin", "free"];
/// Those that run one thread at a time.
pub(crate) const ONE_AT_A_TIME: [&str; 3] = ["random", "pct", "round-robin"];

/// What a command did.
pub(crate) struct Done {
    /// As a shell would show it.
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) log: String,
    pub(crate) took: Duration,
}

impl Done {
    pub(crate) fn new(output: &Output, took: Duration) -> Done {
        use std::os::unix::process::ExitStatusExt;
        let status = output.status;
        Done {
            status: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            log: String::from_utf8_lossy(&output.stderr).into_owned(),
            took,
        }
    }

    /// Fails with all that is known unless the status is this one.
    #[track_caller]
    pub(crate) fn ended_with(self, status: i32) -> Done {
        let Done { status: seen, out, log, .. } = &self;
        assert_eq!(*seen, status, "the status is not as expected:\n{out}\n{log}");
        self
    }

    /// Fails unless the output has this text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Done {
        let all = format!("{}\n{}", self.out, self.log);
        assert!(all.contains(text), "`{text}` is not in:\n{all}");
        self
    }

    /// Fails if the output has this text.
    #[track_caller]
    pub(crate) fn says_not(self, text: &str) -> Done {
        let all = format!("{}\n{}", self.out, self.log);
        assert!(!all.contains(text), "`{text}` is in:\n{all}");
        self
    }
}

/// Runs the command line.
pub(crate) fn foretrace(arguments: &[impl AsRef<OsStr>]) -> Done {
    command(Path::new(env!("CARGO_BIN_EXE_foretrace")), arguments, "")
}

/// Runs a command with this input.
pub(crate) fn command(program: &Path, arguments: &[impl AsRef<OsStr>], input: &str) -> Done {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    // A program that does not read it may be gone already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Done::new(&child.wait_with_output().unwrap(), start.elapsed())
}

/// Where the sources are.
pub(crate) fn source(name: &str) -> String {
    format!("{}/tests/recording/programs/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A program in a folder of its own.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
}

/// A new folder for a test, below one with the test's own name: tests run side by side.
pub(crate) fn folder(name: &str) -> PathBuf {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("unnamed").replace("::", "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recording").join(test).join(name);
    // Most often there is one, of the last time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles sources to a program. `name` is that of its folder.
pub(crate) fn compile(name: &str, arguments: &[&str]) -> Program {
    let folder = folder(name);
    let path = folder.join("program");
    build(arguments, &path);
    Program { path, folder }
}

/// Runs the compiler that the first source asks for; whatever is in `programs` is meant by its
/// name.
pub(crate) fn build(arguments: &[&str], output: &Path) {
    let cpp = arguments.iter().any(|argument| argument.ends_with(".cpp"));
    let mut line: Vec<String> = match cpp {
        true => ["c++", "-std=c++20"].map(str::to_string).to_vec(),
        false => ["cc", "-std=gnu11"].map(str::to_string).to_vec(),
    };
    line.extend(["-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"].map(str::to_string));
    line.extend(arguments.iter().map(|&argument| {
        let own = argument.ends_with(".c") || argument.ends_with(".cpp");
        if own { source(argument) } else { argument.to_string() }
    }));
    line.extend(["-o".to_string(), output.display().to_string()]);
    foretrace(&line).ended_with(0);
}

/// A recorded run.
pub(crate) struct Run {
    pub(crate) done: Done,
    pub(crate) trace: PathBuf,
}

impl Run {
    /// The trace as text.
    pub(crate) fn shown(&self) -> String {
        foretrace(&[OsStr::new("trace"), OsStr::new("show"), self.trace.as_os_str()])
            .ended_with(0)
            .out
    }

    /// What is predicted of it, with the status that belongs to it.
    #[track_caller]
    pub(crate) fn predicted(&self) -> Done {
        // Threads that run freely may spin for so long that questions become hard.
        let [predict, budget, time] = ["predict", "--budget", "30s"].map(OsStr::new);
        let done = foretrace(&[predict, self.trace.as_os_str(), budget, time]);
        let has = |text: &str| done.out.lines().any(|line| line.contains(text));
        let status = match () {
            () if has("-1 (real") => 1,
            () if has("-1 (possible") || has("undecided: ") || has(": 0 events") => 3,
            () if has("recording is a prefix: ") => 3,
            () => 0,
        };
        done.ended_with(status)
    }

    #[track_caller]
    pub(crate) fn ended_with(self, status: i32) -> Run {
        Run { done: self.done.ended_with(status), trace: self.trace }
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Run {
        Run { done: self.done.says(text), trace: self.trace }
    }

    /// How many events of the trace contain a text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.shown().lines().filter(|line| line.contains(text)).count()
    }
}

impl Program {
    fn words<'a>(&'a self, arguments: &'a [&'a str]) -> Vec<&'a OsStr> {
        let mut words = vec![OsStr::new("--"), self.path.as_os_str()];
        words.extend(arguments.iter().map(OsStr::new));
        words
    }

    /// Without foretrace.
    pub(crate) fn alone(&self, arguments: &[&str], input: &str) -> Done {
        command(&self.path, arguments, input)
    }

    /// `foretrace run`.
    pub(crate) fn run(&self, options: &[&str], arguments: &[&str]) -> Run {
        self.run_with_input(options, arguments, "")
    }

    pub(crate) fn run_with_input(&self, options: &[&str], arguments: &[&str], input: &str) -> Run {
        let trace = self.folder.join("run.ftb");
        let mut words = vec![OsStr::new("run"), OsStr::new("-o"), trace.as_os_str()];
        if !options.contains(&"--timeout") {
            words.extend(["--timeout", "30s"].map(OsStr::new));
        }
        words.extend(options.iter().map(OsStr::new));
        words.extend(self.words(arguments));
        let done = command(Path::new(env!("CARGO_BIN_EXE_foretrace")), &words, input);
        Run { done, trace }
    }

    /// `foretrace test`, `foretrace replay` and the like, with the program behind it.
    pub(crate) fn with(&self, command: &[&str], arguments: &[&str]) -> Done {
        let mut words: Vec<&OsStr> = command.iter().map(OsStr::new).collect();
        // The whole report, where tests look for it.
        if command.first() == Some(&"test") && !command.contains(&"-") {
            words.splice(1..1, ["--verbose", "--output", "text"].map(OsStr::new));
        }
        words.extend(self.words(arguments));
        foretrace(&words)
    }

    /// By itself, then under each schedule with a few seeds: it ends with the status, and the trace
    /// can be analysed.
    #[track_caller]
    pub(crate) fn everywhere(&self, arguments: &[&str], status: i32, check: impl Fn(&str, &Run)) {
        self.alone(arguments, "").ended_with(status);
        self.recorded(arguments, status, check);
    }

    /// The same without the run by itself.
    #[track_caller]
    pub(crate) fn recorded(&self, arguments: &[&str], status: i32, check: impl Fn(&str, &Run)) {
        for schedule in SCHEDULES {
            for seed in ["1", "2", "3"] {
                let options = ["--schedule", schedule, "--seed", seed];
                let run = self.run(&options, arguments).ended_with(status);
                if seed == "1" {
                    run.predicted();
                }
                check(schedule, &run);
            }
        }
    }

    /// A path in the program's folder.
    pub(crate) fn beside(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}
