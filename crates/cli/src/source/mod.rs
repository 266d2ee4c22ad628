//! `foretrace predict` of a program, and of several runs that are merged into one.

mod assemble;
mod expression;
mod words;

use std::fs::{self, File};
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Instant;

use foretrace_predict::{Options, ProgramError, predict_program};
use foretrace_program::merge::MergeError;
use foretrace_program::validate::check_bounded;
use foretrace_program::{Program, merge, parse, validate};
use foretrace_report::Subject;
use foretrace_trace::{Model, Trace};
use foretrace_witness::Property;

use crate::args::{ModelChoice, PredictArguments};
use crate::assemble::Frame;
use crate::failure::{Failure, Status};
use crate::progress::ProgressLine;
use crate::{input, predict};

/// What the text of a program begins with.
const HEADER: &str = "foretrace-program";
const EXTENSION: &str = "ftp";

/// Whether the file is a program: it says so in its first line that is neither empty nor a comment, or has our extension.
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
    let start = String::from_utf8_lossy(&start);
    let mut lines = start.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    read.is_ok() && first.is_some_and(|line| line.starts_with(HEADER))
}

/// Predicts what a program can do.
pub(crate) fn run_program(path: &Path, arguments: &PredictArguments) -> Result<Status, Failure> {
    refuse(arguments, "a program")?;
    let start = Instant::now();
    let program = read(path)?;
    let question = Question { arguments, start, path: path.display().to_string() };
    match check_bounded(&program) {
        Ok(()) => question.ask(&program, Subject::Program),
        Err(invalid) => {
            question.not_supported(Subject::Program, &format!("not supported: {invalid}"))
        }
    }
}

/// Predicts what a program can do of which these are runs.
pub(crate) fn run_merged(
    paths: &[PathBuf],
    arguments: &PredictArguments,
) -> Result<Status, Failure> {
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
    let open = |path: &PathBuf| input::open_valid(path, arguments.format);
    let traces = paths.iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let question = Question { arguments, start, path: names.join(", ") };
    let subject = Subject::Runs(traces.len() as u64);
    match merge(&traces.iter().map(Deref::deref).collect::<Vec<&Trace>>()) {
        Ok(program) => {
            validate(&program).and_then(|()| check_bounded(&program)).map_err(|invalid| {
                Failure::internal(format_args!("the merged program is wrong: {invalid}"))
            })?;
            question.ask(&program, subject)
        }
        Err(error @ MergeError::Unsupported { .. }) => {
            question.not_supported(subject, &error.to_string())
        }
        Err(error) => {
            Err(Failure::input(error)
                .hint("runs are numbered in the order in which they are given"))
        }
    }
}

/// Options that say nothing about programs.
fn refuse(arguments: &PredictArguments, subject: &str) -> Result<(), Failure> {
    let options = &arguments.options;
    let one = "programs and merged runs have one model, symbolic";
    let properties = predict::options(options).properties;
    let is_asked = |property: Property| properties.contains(&property);
    let (option, why) = match options.model {
        ModelChoice::ReadsFrom => ("--model reads-from", one),
        ModelChoice::Values => ("--model values", one),
        ModelChoice::Control => ("--model control", one),
        _ if arguments.compare_models => ("--compare-models", one),
        _ if arguments.solver.is_some() => {
            ("--solver", "the formula of the papers is one of a trace")
        }
        _ if arguments.why.is_some() => ("--why", "only candidates of a trace are explained"),
        _ if options.infer_regions => {
            ("--infer-regions", "mark regions with `region begin` and `region end`")
        }
        _ if is_asked(Property::Lock) && !is_asked(Property::Assertion) => {
            ("--check lock", "misuse of locks is found with assertions: --check assertion")
        }
        _ if !is_asked(Property::Race) && !is_asked(Property::Assertion) => {
            ("--check without race and assertion", "nothing else is looked for")
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
    arguments: &'a PredictArguments,
    start: Instant,
    path: String,
}

impl Question<'_> {
    fn options(&self) -> Options {
        Options { model: Some(Model::Symbolic), ..predict::options(&self.arguments.options) }
    }

    fn ask(self, program: &Program, subject: Subject) -> Result<Status, Failure> {
        let read_time = self.start.elapsed();
        let options = self.options();
        let progress = ProgressLine::new();
        let answer = predict_program(program, &options, &progress);
        progress.clear();
        let predict_time = self.start.elapsed() - read_time;
        let answer = match answer {
            Ok(answer) => answer,
            Err(ProgramError::Unsupported(what)) => {
                return self.not_supported(subject, &format!("not supported: {what}"));
            }
            Err(error) => return Err(Failure::internal(error)),
        };
        let chosen = &self.arguments.options;
        let timing = chosen.timing.then(|| predict::timing(read_time, predict_time));
        let frame = Frame { timing, ..self.frame() };
        let report = assemble::assemble(program, answer, frame, subject, &options.properties)?;
        predict::show(&report, chosen)?;
        Ok(predict::verdict(&report))
    }

    /// Nothing is decided, for this reason.
    fn not_supported(self, subject: Subject, reason: &str) -> Result<Status, Failure> {
        let mut asked = self.options().properties;
        asked.retain(|asked| !matches!(asked, Property::Deadlock | Property::Lock));
        let report = assemble::undecided(self.frame(), subject, reason, &asked);
        predict::show(&report, &self.arguments.options)?;
        Ok(predict::verdict(&report))
    }

    fn frame(&self) -> Frame {
        Frame {
            path: Some(self.path.clone()),
            settings: predict::settings(&self.arguments.options),
            full_schedules: self.arguments.options.full_schedule,
            timing: None,
        }
    }
}
