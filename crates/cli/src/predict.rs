//! `foretrace predict`: a trace in, verdicts out.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use foretrace_predict::{Budget, Granularity, Options, Prune, Switches};
use foretrace_report::{Certainty, Report, Run, Settings, Style, Timing, write_json, write_text};
use foretrace_trace::{Dependences, Trace};
use foretrace_verdict::Model;

use crate::args::{GranularityChoice, ModelChoice, PredictArguments, PredictionOptions};
use crate::assemble::{Frame, assemble};
use crate::failure::{Failure, Status};
use crate::implicit::{self, assert_no};
use crate::progress::ProgressLine;
use crate::{compare, explain, fallback, input, output, second_opinion, source};

pub(crate) fn run(arguments: &PredictArguments) -> Result<Status, Failure> {
    match &arguments.traces[..] {
        [path] if arguments.format.is_none() && source::is_program(path) => {
            source::run_program(path, arguments)
        }
        [path] if arguments.options.symbolic_addresses => {
            let ranging = source::Ranging::open(path, arguments)?;
            let statuses = [run_trace(path, arguments)?, ranging.run(arguments)?];
            Ok(overall(&statuses))
        }
        [path] => run_trace(path, arguments),
        paths => source::run_merged(paths, arguments),
    }
}

fn run_trace(path: &Path, arguments: &PredictArguments) -> Result<Status, Failure> {
    if arguments.solver.is_some() {
        second_opinion::refuse(arguments)?;
    }
    let start = Instant::now();
    let mut trace = input::open_valid(path, arguments.format)?;
    let implicit = assert_no(&mut trace, &arguments.options.implicit, arguments.options.model);
    let trace = trace;
    let read_time = start.elapsed();

    let chosen = &arguments.options;
    let options = Options { keep_refuted: arguments.why.is_some(), ..options_for(chosen, &trace) };
    let progress = ProgressLine::new();
    let predict = || match &arguments.solver {
        Some(command) => second_opinion::predict(&trace, command, &options, &progress),
        None => fallback::predict(&trace, &options, &progress),
    };
    let predicted = predict().and_then(|prediction| {
        let compared = arguments
            .compare_models
            .then(|| compare::predict_all(&trace, &options, &prediction, &progress))
            .transpose()?;
        let why = arguments
            .why
            .map(|most| explain::explain_refuted(&trace, &options, &prediction.refuted, most))
            .transpose()?;
        Ok((prediction, compared, why))
    });
    progress.clear();
    let (prediction, compared, why) = predicted?;
    let predict_time = start.elapsed() - read_time;

    let mut report = assemble(
        &trace,
        prediction,
        Frame {
            path: Some(path.display().to_string()),
            settings: Settings {
                solver: arguments.solver.clone(),
                granularity: match arguments.solver {
                    Some(_) => "event".to_string(),
                    None => settings(chosen, &options).granularity,
                },
                implicit,
                ..settings(chosen, &options)
            },
            full_schedules: chosen.full_schedule,
            timing: chosen.timing.then(|| timing(read_time, predict_time)),
        },
    );
    report.why = why;
    implicit::say_what_is_open(&trace, chosen, &mut report);
    if let Some(predictions) = &compared {
        report.comparison = Some(compare::table(&trace, options.granularity, predictions, &report));
    }
    if arguments.solver.is_some() {
        report.not_asked.extend(second_opinion::left_out(&trace, &options));
    }
    show(&report, chosen)?;
    Ok(verdict(&report))
}

/// Writes the report, for people first: if the file cannot be written, they have seen it.
pub(crate) fn show(report: &Report, options: &PredictionOptions) -> Result<(), Failure> {
    show_in(report, options, options.json.as_deref())
}

/// As [`show`], with another file for the report in JSON.
pub(crate) fn show_in(
    report: &Report,
    options: &PredictionOptions,
    json: Option<&Path>,
) -> Result<(), Failure> {
    if !json.is_some_and(output::is_stdout) {
        let style = style(options.full_schedule);
        output::to_stdout(|writer| write_text(report, style, writer))?;
    }
    match json {
        Some(path) => output::to_path(path, |writer| write_json(report, writer)),
        None => Ok(()),
    }
}

pub(crate) fn options(arguments: &PredictionOptions) -> Options {
    let mut properties = arguments.check.clone();
    properties.sort_unstable();
    properties.dedup();
    Options {
        model: model(arguments.model),
        properties,
        granularity: match arguments.granularity {
            GranularityChoice::Location => Granularity::Location,
            GranularityChoice::Event => Granularity::Event,
            GranularityChoice::Variable => Granularity::Variable,
        },
        infer_regions: arguments.infer_regions,
        prune: if arguments.no_prune { Prune::Nothing } else { Prune::default() },
        keep_refuted: false,
        jobs: jobs(arguments.jobs),
        budget: Budget { time: arguments.budget, conflicts: arguments.conflicts },
        switches: match arguments.context_bound {
            _ if arguments.iterate_bound => Switches::Fewest,
            Some(most) => Switches::AtMost(most),
            None => Switches::Any,
        },
    }
}

/// How many conflicts the solver may have over one candidate of a recorded program, unless the user
/// says otherwise: some questions about values, such as whether a lock made of atomics excludes,
/// take it for ever.
const RECORDED_CONFLICTS: u64 = 10_000;

/// The options for a trace.
pub(crate) fn options_for(arguments: &PredictionOptions, trace: &Trace) -> Options {
    let mut options = options(arguments);
    let is_recorded = trace.has_ordinals() && trace.dependences() == Dependences::Recorded;
    if is_recorded && options.budget == Budget::default() {
        options.budget.conflicts = Some(RECORDED_CONFLICTS);
    }
    options
}

/// The model that is asked for; `None`: the one that suits the trace.
pub(crate) fn model(choice: ModelChoice) -> Option<Model> {
    match choice {
        ModelChoice::Auto => None,
        ModelChoice::ReadsFrom => Some(Model::ReadsFrom),
        ModelChoice::Values => Some(Model::Values),
        ModelChoice::Symbolic => Some(Model::Symbolic),
        ModelChoice::Control => Some(Model::Control),
    }
}

/// How many threads solve.
pub(crate) fn jobs(choice: Option<u32>) -> usize {
    match choice {
        Some(jobs) => jobs as usize,
        None => available_parallelism().map_or(1, |cores| cores.get()),
    }
}

/// What the report says of how it was asked; `options` are those that were used.
pub(crate) fn settings(arguments: &PredictionOptions, options: &Options) -> Settings {
    Settings {
        granularity: match arguments.granularity {
            GranularityChoice::Location => "location",
            GranularityChoice::Event => "event",
            GranularityChoice::Variable => "variable",
        }
        .to_string(),
        infer_regions: arguments.infer_regions,
        conflicts: options.budget.conflicts,
        budget_ms: arguments.budget.map(milliseconds),
        context_bound: arguments.context_bound,
        iterate_bound: arguments.iterate_bound,
        no_prune: arguments.no_prune,
        implicit: Vec::new(),
        symbolic_addresses: false,
        solver: None,
    }
}

pub(crate) fn timing(read: Duration, predict: Duration) -> Timing {
    Timing { read_ms: milliseconds(read), predict_ms: milliseconds(predict) }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What standard output can show. `COLUMNS` is what shells tell of the terminal's width.
pub(crate) fn style(full_schedule: bool) -> Style {
    let is_terminal = io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = columns.filter(|&columns| columns >= 40).unwrap_or(Style::default().width);
    Style { width, color: is_terminal && !no_color, full_schedule }
}

/// The status of several reports.
pub(crate) fn overall(statuses: &[Status]) -> Status {
    let has = |status: Status| statuses.contains(&status);
    match () {
        () if has(Status::Found) => Status::Found,
        () if has(Status::RunFailed) => Status::RunFailed,
        () if has(Status::Uncertain) => Status::Uncertain,
        () => Status::Nothing,
    }
}

pub(crate) fn verdict(report: &Report) -> Status {
    let undecided: u64 = report.summary.iter().map(|(_, ledger)| ledger.undecided).sum();
    let run = |is_so: fn(&Run) -> bool| report.run.as_ref().is_some_and(is_so);
    let says_little = run(|run| run.incomplete || run.says_nothing.is_some());
    if report.count(Certainty::Real) > 0 || run(|run| run.failed) {
        Status::Found
    } else if run(|run| run.unexpected) {
        Status::RunFailed
    } else if undecided > 0
        || !report.findings.is_empty()
        || report.trace.events == 0
        || says_little
    {
        Status::Uncertain
    } else {
        Status::Nothing
    }
}
