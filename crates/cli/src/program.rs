//! `foretrace predict` of a program, and of several runs that are merged into one.

mod runs;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretrace_findings::{
    Frame, Mixing, Replayable, implicit_of_single_runs, report_program, report_unsupported,
    tell_what_is_left_out,
};
use foretrace_predict::{Options, ProgramError, predict_program};
use foretrace_program::merge::MergeError;
use foretrace_program::validate::check_bounded;
use foretrace_program::{Program, merge, merge_recorded, parse, validate};
use foretrace_report::{Certainty, Report, Subject};
use foretrace_verdict::{Model, Property};

use crate::args::{Implicit, ModelChoice, PredictArguments, PredictionOptions};
use crate::failure::Failure;
use crate::predict;
use crate::process::record::say;
use crate::progress::ProgressLine;
use crate::reports::Reports;

use runs::Runs;

/// How long `foretrace test --runs` predicts mixtures, if the user does not say it.
const MIXTURE_BUDGET: Duration = Duration::from_secs(60);

/// What the text of a program begins with.
const HEADER: &str = "foretrace-program";
const EXTENSION: &str = "ftp";

/// Whether the file is a program: it says so in its first line that is neither empty nor a comment,
/// or has our extension.
pub(crate) fn is_program(path: &Path) -> bool {
    if path.extension().is_some_and(|extension| extension == EXTENSION) {
        return true;
    }
    // A pipe can be read only once.
    if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(1 << 16).read_to_end(&mut start));
    let mut lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"));
    read.is_ok() && first.is_some_and(|line| line.starts_with(HEADER.as_bytes()))
}

/// Predicts what a program can do.
pub(crate) fn run_program(path: &Path, arguments: &PredictArguments) -> Result<Report, Failure> {
    refuse(arguments, "a program")?;
    if arguments.options.symbolic_addresses {
        return Err(Failure::input("--symbolic-addresses is for recorded runs, not for a program"));
    }
    let start = Instant::now();
    let program = read(path)?;
    let options = &arguments.options;
    let question = Question { options, start, path: path.display().to_string() };
    Ok(match check_bounded(&program) {
        Ok(()) => question.ask(&program, Subject::Program, None)?.0,
        Err(invalid) => {
            question.not_supported(Subject::Program, &format!("not supported: {invalid}"))
        }
    })
}

/// Predicts what a program can do of which these are runs; `None` if there is nothing to ask.
pub(crate) fn run_merged(
    paths: &[PathBuf],
    arguments: &PredictArguments,
) -> Result<Option<Report>, Failure> {
    let is_number = |path: &&PathBuf| {
        !path.exists() && path.to_str().is_some_and(|name| name.parse::<usize>().is_ok())
    };
    if let (Some(_), Some(number)) = (arguments.why, paths.iter().find(is_number)) {
        let number = number.display();
        return Err(Failure::input(format_args!("there is no trace `{number}`"))
            .hint(format_args!("to explain {number} refuted candidates, write --why={number}")));
    }
    refuse(arguments, "merged runs")?;
    if let Some(program) = paths.iter().find(|path| is_program(path)) {
        return Err(Failure::input(format_args!("{} is a program, not a run", program.display()))
            .hint("give one program, or one or more recorded runs"));
    }
    let start = Instant::now();
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let range = arguments.options.symbolic_addresses;
    let runs = Runs::open(&paths, arguments.format, range)?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let question = Question { options: &arguments.options, start, path: names.join(", ") };
    Ok(ask_all(&question, &runs)?.answered())
}

/// What runs can do together.
fn ask_all(question: &Question, runs: &Runs) -> Result<Asked, Failure> {
    if runs.are_recorded() {
        return ask_recorded(question, runs);
    }
    let traces = runs.traces();
    let subject = Subject::Runs(traces.len() as u64);
    match merge(&traces) {
        Ok(program) => {
            check(&program)?;
            let (report, replayable) = question.ask(&program, subject, None)?;
            Ok(Asked::Answered(report, replayable))
        }
        Err(error @ MergeError::Unsupported { .. }) => {
            let report = question.not_supported(subject, &error.to_string());
            Ok(Asked::Answered(report, Vec::new()))
        }
        Err(error) => {
            Err(Failure::input(error)
                .hint("runs are numbered in the order in which they are given"))
        }
    }
}

/// A run of which addresses are to range over their objects.
pub(crate) struct Ranging {
    runs: Runs,
    start: Instant,
    path: String,
}

impl Ranging {
    /// Reads the run.
    pub(crate) fn open(path: &Path, arguments: &PredictArguments) -> Result<Ranging, Failure> {
        refuse(arguments, "--symbolic-addresses")?;
        let start = Instant::now();
        let runs = Runs::open(&[path], arguments.format, true)?;
        if !runs.are_recorded() && !runs.have_address_guards() || runs.lack_accesses() {
            let path = path.display();
            let what = "lacks accesses to memory that only one thread touched, though with other addresses it may be shared";
            return Err(Failure::input(format_args!("--symbolic-addresses: {path} {what}"))
                .hint("give a recording (`foretrace run -o RUN.ftrec`), or use `foretrace test`"));
        }
        Ok(Ranging { runs, start, path: format!("{}, other addresses", path.display()) })
    }

    /// Predicts; `None` if no address ranges over its object.
    pub(crate) fn run(self, arguments: &PredictArguments) -> Result<Option<Report>, Failure> {
        let Ranging { runs, start, path } = self;
        let question = Question { options: &arguments.options, start, path };
        Ok(ask_all(&question, &runs)?.answered())
    }
}

/// What came of a question about recorded runs.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Asked {
    /// The report, and what replays of its findings follow.
    Answered(Report, Vec<Option<Replayable>>),
    /// Nothing would be different: no address of the run ranges over its object. What there is to
    /// say of its addresses.
    NoAddresses(Vec<String>),
}

impl Asked {
    /// The report; if there is none, the user hears why.
    fn answered(self) -> Option<Report> {
        match self {
            Asked::Answered(report, _) => Some(report),
            Asked::NoAddresses(notes) => {
                notes.iter().for_each(|note| say(note));
                None
            }
        }
    }
}

/// What recorded runs can do together, and what replays of the findings follow.
fn ask_recorded(question: &Question, runs: &Runs) -> Result<Asked, Failure> {
    let traces = runs.traces();
    let subject = Subject::Runs(traces.len() as u64);
    let merged = match merge_recorded(&traces) {
        Ok(merged) => merged,
        Err(error) => {
            let report = question.not_supported(subject, &error.to_string());
            return Ok(Asked::Answered(report, Vec::new()));
        }
    };
    check(&merged.program)?;
    let range = question.options.symbolic_addresses;
    if range && merged.ranging_accesses == 0 && traces.len() == 1 {
        return Ok(Asked::NoAddresses(runs.addresses(&merged)));
    }
    let mixing = Mixing { merged: &merged, traces: &traces };
    let (mut report, replayable) = question.ask(&merged.program, subject, Some(&mixing))?;
    if report.unsupported.is_none() {
        tell_what_is_left_out(&mut report, runs.reasons(&merged));
    }
    if range {
        report.notes.extend(runs.addresses(&merged));
    }
    if question.options.implicit.iter().any(|&check| check != Implicit::None) {
        implicit_of_single_runs(&mut report);
    }
    if report.findings.iter().any(|finding| finding.certainty == Certainty::Possible) {
        let option = if range { "--symbolic-addresses" } else { "--runs" };
        report.notes.push(format!(
            "findings that are on the path of no single run are possible until a replay confirms them (`foretrace test {option}`)"
        ));
    }
    Ok(Asked::Answered(report, replayable))
}

/// `foretrace test --runs`: what recordings of one program can do together.
pub(crate) fn predict_recordings(
    recordings: &[&Path],
    options: &PredictionOptions,
    path: String,
) -> Result<Asked, Failure> {
    // The single runs have been told by now; that mixtures take for ever should not keep the user
    // from them.
    let budget = options.budget.or(Some(MIXTURE_BUDGET));
    let options = &PredictionOptions { budget, ..options.clone() };
    let question = Question { options, start: Instant::now(), path };
    ask_recorded(&question, &Runs::of_recordings(recordings, options.symbolic_addresses)?)
}

/// A merged program is a program: if not, that is a bug of ours.
fn check(program: &Program) -> Result<(), Failure> {
    validate(program).and_then(|()| check_bounded(program)).map_err(|invalid| {
        Failure::internal(format_args!("the merged program is wrong: {invalid}"))
    })
}

/// Options that say nothing about programs.
fn refuse(arguments: &PredictArguments, subject: &str) -> Result<(), Failure> {
    let options = &arguments.options;
    let one = "programs and merged runs support only the model symbolic";
    let properties = predict::options(options).properties;
    let is_one_recording = options.symbolic_addresses && arguments.traces.len() == 1;
    let is_asked = |property: Property| properties.contains(&property);
    let (option, why) = match options.model {
        ModelChoice::ReadsFrom => ("--model reads-from", one),
        ModelChoice::Values => ("--model values", one),
        ModelChoice::Control => ("--model control", one),
        _ if arguments.compare_models => ("--compare-models", one),
        _ if arguments.solver.is_some() => {
            ("--solver", "the papers' formula exists for traces only")
        }
        _ if arguments.why.is_some() => ("--why", "only candidates of a trace are explained"),
        _ if options.infer_regions => {
            ("--infer-regions", "mark regions with `region begin` and `region end`")
        }
        _ if options.implicit.iter().any(|&check| check != Implicit::None) && !is_one_recording => {
            ("--implicit", "implicit checks apply to single runs only")
        }
        _ if is_asked(Property::Lock) && !is_asked(Property::Assertion) => {
            ("--check lock", "lock misuse is reported with assertions: --check assertion")
        }
        _ if !is_asked(Property::Race) && !is_asked(Property::Assertion) => {
            ("--check without race and assertion", "nothing else is checked")
        }
        _ => return Ok(()),
    };
    Err(Failure::input(format_args!("{option} is not for {subject}")).hint(why))
}

fn read(path: &Path) -> Result<Program, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::input(format_args!("{}: {error}", path.display())))?;
    let program = parse(&text).map_err(|error| {
        let (line, column) = (error.line, error.column);
        let failure =
            Failure::input(format_args!("{}:{line}:{column}: {}", path.display(), error.message));
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })?;
    validate(&program).map_err(|invalid| {
        Failure::input(format_args!("{}: {invalid}", path.display()))
            .hint("docs/program-form.md lists the rules of a well-formed program")
    })?;
    Ok(program)
}

/// What is asked of a program.
struct Question<'a> {
    options: &'a PredictionOptions,
    start: Instant,
    path: String,
}

impl Question<'_> {
    fn options(&self) -> Options {
        Options { model: Some(Model::Symbolic), ..predict::options(self.options) }
    }

    fn ask(
        &self,
        program: &Program,
        subject: Subject,
        mixing: Option<&Mixing>,
    ) -> Result<(Report, Vec<Option<Replayable>>), Failure> {
        let read_time = self.start.elapsed();
        let options = self.options();
        let progress = ProgressLine::new();
        let answer = predict_program(program, &options, &progress);
        progress.clear();
        let predict_time = self.start.elapsed() - read_time;
        let answer = match answer {
            Ok(answer) => answer,
            Err(ProgramError::Unsupported(what)) => {
                let report = self.not_supported(subject, &format!("not supported: {what}"));
                return Ok((report, Vec::new()));
            }
            Err(error) => return Err(Failure::internal(error)),
        };
        let mut frame = self.frame();
        frame.timing = self.options.timing.then(|| predict::timing(read_time, predict_time));
        Ok(report_program(program, answer, frame, subject, &options.properties, mixing)?)
    }

    /// Nothing is decided, for this reason.
    fn not_supported(&self, subject: Subject, reason: &str) -> Report {
        let mut asked = self.options().properties;
        asked.retain(|asked| !matches!(asked, Property::Deadlock | Property::Lock));
        report_unsupported(self.frame(), subject, reason, &asked)
    }

    fn frame(&self) -> Frame {
        let mut frame =
            predict::frame(&self.options(), self.path.clone(), self.options.full_schedule);
        frame.settings.symbolic_addresses = self.options.symbolic_addresses;
        frame.with_picture = Reports::have_picture(self.options);
        frame
    }
}
