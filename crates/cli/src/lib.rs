//! Foretrace as a library: it records one run of a program, predicts the concurrency bugs that
//! other schedules of the same events lead to, and tells of them in a report. It does not know the
//! command line, and prints nothing.
//!
//! The way is always the same: a [`Trace`] comes from a program that a [`Recorder`] runs, from a
//! file ([`open`]) or from a text ([`parse`]); [`predict`] decides every candidate of it;
//! [`report_trace`] turns the [`Prediction`] into a [`Report`], in which ids are names; and
//! [`write_text`] or [`write_json`] writes it.
//!
//! ```
//! use foretrace::{Frame, Options, Style};
//!
//! let trace = foretrace::parse(
//!     "main: fork a            @ bank.c:9
//!      main: read balance : 0  @ bank.c:10
//!      a: write balance : 10   @ bank.c:4
//!      main: join a            @ bank.c:11",
//! )?;
//! let options = Options::default();
//! let prediction = foretrace::predict(&trace, &options)?;
//! let report = foretrace::report_trace(&trace, prediction, Frame::new(&options));
//!
//! let race = &report.findings[0];
//! assert_eq!((race.id.as_str(), race.object.as_deref()), ("race-1", Some("balance")));
//! assert_eq!(report.locations(race).collect::<Vec<_>>(), ["bank.c:10", "bank.c:4"]);
//!
//! let mut text = Vec::new();
//! foretrace::write_text(&report, Style::default(), &mut text)?;
//! assert!(String::from_utf8(text)?.contains("race-1 (real): data race on balance"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Options
//!
//! [`Options`] say what is asked. A verdict is a value and never an error: an error of [`predict`]
//! is a bug of Foretrace. What could not be decided is in [`Prediction::undecided`], with the
//! reason, and what was not even asked in [`Prediction::not_asked`].
//!
//! ```
//! use foretrace::{Certainty, Model, Options, Property, Violation};
//!
//! // Both deposits read the balance before either of them writes it: then one is lost.
//! let trace = foretrace::parse(
//!     "init balance = 100
//!      main: fork a
//!      main: fork b
//!      a: acquire m
//!      a: r = read balance : 100
//!      a: release m
//!      a: acquire m
//!      a: write balance = r + 10 : 110
//!      a: release m
//!      b: acquire m
//!      b: r = read balance : 110
//!      b: release m
//!      b: acquire m
//!      b: write balance = r + 20 : 130
//!      b: release m
//!      main: join a
//!      main: join b
//!      main: now = read balance : 130
//!      main: assert now == 130 : true  @ bank.c:30",
//! )?;
//! let found = |model| {
//!     let properties = vec![Property::Assertion];
//!     let options = Options { model, properties, ..Options::default() };
//!     foretrace::predict(&trace, &options).map(|prediction| prediction.findings)
//! };
//! // No schedule in which every read sees the recorded value is wrong.
//! assert!(found(Some(Model::Values))?.is_empty());
//! // By default, reads may see other values, as long as every branch goes the recorded way.
//! let lost = &found(None)?[0];
//! assert!(matches!(lost.violation, Violation::Assertion(_)));
//! assert_eq!(lost.certainty, Certainty::Real);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why something cannot happen
//!
//! [`parse_candidate`] reads how people name a candidate, and [`explain_candidates`] says how it
//! can happen, or why it cannot. Its proof has passed an independent checker.
//!
//! ```
//! use foretrace::{Explainer, Named, Options, Style};
//!
//! let trace = foretrace::parse(
//!     "a: acquire m @ a.c:1
//!      a: write x   @ a.c:2
//!      a: release m @ a.c:3
//!      b: acquire m @ a.c:7
//!      b: write x   @ a.c:8
//!      b: release m @ a.c:9",
//! )?;
//! let words = ["race", "a.c:2", "a.c:8"].map(String::from);
//! let Named::Candidates(races) = foretrace::parse_candidate(&trace, &words)? else {
//!     unreachable!("a kind and places are no finding")
//! };
//! let explainer = Explainer::new(&trace, &Options::default());
//! let answers = foretrace::explain_candidates(&trace, &explainer, &races)?;
//! let (explanation, _graph) = answers.refuted.expect("a common lock guards both writes");
//!
//! let mut text = Vec::new();
//! foretrace::write_explanation(&explanation, Style::default(), &mut text)?;
//! assert!(String::from_utf8(text)?.contains("But they cannot both have it at once"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Whole programs
//!
//! [`predict_program`] decides every assertion and race of a small program, for all its inputs;
//! `docs/program-form.md` describes its text.
//!
//! ```
//! use foretrace::{Frame, Options, Property, Subject};
//!
//! let text = "foretrace-program 1
//!     global balance = 100
//!     thread main {
//!         wanted := external wanted : 32
//!         a := fork withdraw(wanted)
//!         join a
//!         assert load balance >= 0 @ bank:7
//!     }
//!     func withdraw(amount: 32) {
//!         store balance, load balance - amount
//!     }";
//! let program = foretrace::program::parse(text)?;
//! foretrace::program::validate(&program)?;
//! let properties = vec![Property::Assertion];
//! let options = Options { properties: properties.clone(), ..Options::default() };
//! let answer = foretrace::predict_program(&program, &options, &())?;
//! let frame = Frame::new(&options);
//! let (report, _) =
//!     foretrace::report_program(&program, answer, frame, Subject::Program, &properties, None)?;
//! let wanted = &report.findings[0].inputs[0];
//! assert!(wanted.name == "wanted" && wanted.value > 100);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The rest
//!
//! The modules are the crates that this one is made of, whole. `ARCHITECTURE.md` says what each of
//! them does. CaDiCaL, the solver inside, reads `CADICAL_*` variables of the environment: unset
//! them, as the command line does, if the answer is to depend on the trace and the options alone.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use foretrace_findings as findings;
pub use foretrace_importer as importer;
pub use foretrace_predict as prediction;
pub use foretrace_program as program;
pub use foretrace_report as report;
pub use foretrace_trace as trace;
pub use foretrace_verdict as verdict;

pub use findings::{
    Frame, Named, explain_candidates, parse_candidate, report_program, report_trace,
};
pub use importer::Format;
pub use prediction::{Explainer, Options, PredictError, Prediction, predict_program};
pub use report::{Report, Style, Subject, write_explanation, write_json, write_text};
pub use trace::{Deadline, Trace};
pub use verdict::{Certainty, Model, Property, Violation};

use trace::validate::validate_until;
use trace::{OpenError, Opened, text};

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The text is not that of a trace.
    #[error(transparent)]
    Text(#[from] text::Error),
    /// The events break a rule of `docs/theory.md`.
    #[error("{0}")]
    Invalid(String),
    /// `foretrace run` cannot be started.
    #[error("cannot start {}: {error}", command.display())]
    #[allow(missing_docs)]
    NotStarted { command: PathBuf, error: io::Error },
    /// `foretrace run` recorded nothing; it has said on standard error why.
    #[error("{} was not recorded", .0.display())]
    NotRecorded(PathBuf),
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Open(error) => error.hint(),
            Error::Text(error) => error.hint.as_ref().map(|hint| hint.to_string()),
            Error::Invalid(_) => {
                Some("docs/trace-format.md lists the rules of a valid trace".into())
            }
            Error::NotStarted { .. } => Some("give the path of the command `foretrace`".into()),
            Error::NotRecorded(_) => {
                Some("compile it with `foretrace cc` or `foretrace c++`".into())
            }
        }
    }
}

/// Reads a trace of any known format from a file, and checks that it is valid.
pub fn open(path: impl AsRef<Path>) -> Result<Trace, Error> {
    open_as(path.as_ref(), None)
}

/// Reads a trace of a given format, or else of any, from a file, and checks that it is valid.
pub fn open_as(path: &Path, format: Option<Format>) -> Result<Trace, Error> {
    open_until(path, format, Deadline::NEVER)
}

/// As [`open_as`], but if there is no time for the whole, the trace has only its first events, and
/// a [fact](trace::Provenance::CutByBudget) says so. Whatever the deadline, what is there is valid.
pub fn open_until(path: &Path, format: Option<Format>, deadline: Deadline) -> Result<Trace, Error> {
    // The check is much faster than what comes before it.
    let opened = importer::open_until(path, format, deadline.share(0.7))?;
    let Opened { mut trace, lines, .. } = opened;
    let events = check(&trace, lines.as_ref(), &format!("{}: ", path.display()), deadline)?;
    trace.cut_to(events);
    Ok(trace)
}

/// As [`open_as`], but the trace need not be valid: only look at it, and predict nothing from it.
pub fn open_unchecked(path: &Path, format: Option<Format>) -> Result<Opened, OpenError> {
    match format {
        None => importer::open(path),
        Some(format) => importer::open_as(path, format),
    }
}

/// Reads a trace in the text form of `docs/trace-format.md`, and checks that it is valid.
///
/// ```
/// assert_eq!(foretrace::parse("a: write x : 1\nb: read x : 1")?.len(), 2);
/// let error = foretrace::parse("a: end\na: write x").unwrap_err();
/// assert!(error.to_string().starts_with("line 2 (a): write x"), "{error}");
/// # Ok::<(), foretrace::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Trace, Error> {
    let (trace, lines) = text::parse_with_lines(text)?;
    check(&trace, Some(&lines), "", Deadline::NEVER)?;
    Ok(trace)
}

/// Says how many of the first events were checked in time.
fn check(
    trace: &Trace,
    lines: Option<&text::Lines>,
    before: &str,
    deadline: Deadline,
) -> Result<usize, Error> {
    validate_until(trace, deadline).map_err(|invalid| {
        let reason = match lines {
            Some(lines) => invalid.with_lines(lines).to_string(),
            None => invalid.to_string(),
        };
        Error::Invalid(format!("{before}{reason}"))
    })
}

/// Decides every candidate of a valid trace, as `foretrace predict` does: with a weaker model for
/// what the chosen one leaves undecided. Each finding has passed the independent checker of
/// schedules. Questions about a recorded program may take for ever without a limit:
/// [`Options::limited_for`] sets one.
pub fn predict(trace: &Trace, options: &Options) -> Result<Prediction, PredictError> {
    prediction::predict(trace, options, &())
}

/// Records runs of programs that `foretrace cc` or `foretrace c++` compiled. The command
/// `foretrace run` does the work: it has the runtime, and lets no process outlive the program.
///
/// ```no_run
/// use foretrace::{Options, Recorder};
///
/// let recorder = Recorder::new("foretrace").seed(3);
/// let trace = recorder.record(&["./bank", "--accounts", "2"], "bank.ftb")?;
/// let options = Options::default().limited_for(&trace);
/// let prediction = foretrace::predict(&trace, &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    command: PathBuf,
    seed: u64,
}

impl Recorder {
    /// Records with this command `foretrace`: its path, or a name that is in the search path.
    pub fn new(command: impl Into<PathBuf>) -> Recorder {
        Recorder { command: command.into(), seed: 1 }
    }

    /// With another seed of the random choices: the same seed gives the same run.
    pub fn seed(self, seed: u64) -> Recorder {
        Recorder { seed, ..self }
    }

    /// Runs a program, given with its arguments, and keeps what it did in a file (`.ftb`), which is
    /// replaced. Standard input, output and error are shared with the program.
    pub fn record(
        &self,
        program: &[impl AsRef<OsStr>],
        file: impl AsRef<Path>,
    ) -> Result<Trace, Error> {
        let file = file.as_ref();
        // An old trace must not be taken for the one of this run; most often there is none.
        let _ = fs::remove_file(file);
        let mut run = Command::new(&self.command);
        run.arg("run").arg("--seed").arg(self.seed.to_string()).arg("-o").arg(file);
        // The status is that of the program; what is recorded is in the file.
        run.arg("--").args(program).status().map_err(|error| {
            let command = self.command.clone();
            Error::NotStarted { command, error }
        })?;
        if !file.exists() {
            let name = program.first().map(|name| PathBuf::from(name.as_ref()));
            return Err(Error::NotRecorded(name.unwrap_or_default()));
        }
        open(file)
    }
}
