//! `foretrace predict`: a trace in, verdicts out.

use std::path::Path;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use foretrace_findings::{
    Frame, Implicit as Checks, REFUTED_IN_PICTURE, assert_no, compare_models, explain_refuted,
    left_out_by_solver, predict_by_solver, report_trace, say_what_is_open,
};
use foretrace_predict::{
    Budget, Engines, Granularity, Options, Prediction, Prune, Switches, predict_all_models,
};
use foretrace_report::{Certainty, Explanations, Ledger, Report, Run, Style, Timing};
use foretrace_trace::{Deadline, ImplicitFault, Trace};
use foretrace_verdict::Model;

use crate::args::{GranularityChoice, Implicit, ModelChoice, PredictArguments, PredictionOptions};
use crate::failure::{Failure, Status};
use crate::progress::ProgressLine;
use crate::reports::Reports;
use crate::{input, interrupt, program};

/// The share of a budget that reading may take.
pub(crate) const READING: f64 = 0.4;

/// How many events can be prepared for questions in a second, if preparation is to leave as much
/// time for answers.
const EVENTS_PER_SECOND: f64 = 100_000.0;

/// So many take no time worth speaking of.
const EVENTS_AT_ONCE: usize = 20_000;

/// Cuts a trace to its first events if the time that is left of the budget is too short for all.
pub(crate) fn cut_to_budget(trace: &mut Trace, left: Option<Duration>) {
    if let Some(left) = left {
        let events = (left.as_secs_f64() * EVENTS_PER_SECOND) as usize;
        trace.cut_to(events.max(EVENTS_AT_ONCE));
    }
}

pub(crate) fn run(arguments: &PredictArguments) -> Result<Status, Failure> {
    let mut reports = Reports::new(&arguments.options)?;
    interrupt::listen();
    match &arguments.traces[..] {
        [path] if arguments.format.is_none() && program::is_program(path) => {
            reports.show(program::run_program(path, arguments)?, None)?;
        }
        [path] => {
            let ranging = arguments.options.symbolic_addresses;
            let ranging = ranging.then(|| program::Ranging::open(path, arguments)).transpose()?;
            reports.show(run_trace(path, arguments)?, None)?;
            let ranging = ranging.map(|ranging| ranging.run(arguments)).transpose()?;
            if let Some(report) = ranging.flatten() {
                reports.show(report, Some("addresses"))?;
            }
        }
        paths => {
            if let Some(report) = program::run_merged(paths, arguments)? {
                reports.show(report, None)?;
            }
        }
    }
    reports.finish()
}

fn run_trace(path: &Path, arguments: &PredictArguments) -> Result<Report, Failure> {
    if arguments.solver.is_some() {
        refuse_with_solver(arguments)?;
    }
    let start = Instant::now();
    let chosen = &arguments.options;
    let deadline = chosen.budget.map_or(Deadline::NEVER, Deadline::after).or(interrupt::STOP);
    let mut trace = input::open_until(path, arguments.format, deadline.share(READING))?;
    cut_to_budget(&mut trace, chosen.budget.map(|time| time.saturating_sub(start.elapsed())));
    let (mut checks, model) = (implicit(&chosen.implicit), model(chosen.model));
    // Other solvers and models are compared as they are.
    if checks == Checks::ByDefault && (arguments.solver.is_some() || arguments.compare_models) {
        checks = Checks::Chosen(Vec::new());
    }
    let implicit = assert_no(&mut trace, &checks, model);
    let trace = trace;
    let read_time = start.elapsed();

    let mut options = options(chosen).limited_for(&trace);
    // What reading took is gone. (Another solver has the budget for each question.)
    if arguments.solver.is_none() {
        options.budget.time = options.budget.time.map(|time| time.saturating_sub(read_time));
    }
    let has_picture = Reports::have_picture(chosen);
    let keep_refuted = options.keep_refuted || arguments.why.is_some() || has_picture;
    let options = Options { keep_refuted, ..options };
    let progress = ProgressLine::new();
    let predict = || -> Result<_, Failure> {
        let prediction = match &arguments.solver {
            Some(command) => predict_by_solver(&trace, command, &options, &progress)?,
            None => foretrace_predict::predict(&trace, &options, &progress)?,
        };
        let compared = arguments
            .compare_models
            .then(|| predict_all_models(&trace, &options, &prediction, &progress))
            .transpose()?;
        let why = arguments
            .why
            .map(|most| explain_refuted(&trace, &options, &prediction.refuted, most))
            .transpose()?;
        Ok((prediction, compared, why))
    };
    let predicted = predict();
    progress.clear();
    let (prediction, compared, why) = predicted?;
    let predict_time = start.elapsed() - read_time;

    let mut frame = frame(&options, path.display().to_string(), chosen.full_schedule);
    frame.timing = chosen.timing.then(|| timing(read_time, predict_time));
    frame.settings.implicit = implicit;
    frame.settings.budget_ms = chosen.budget.map(milliseconds);
    if let Some(solver) = &arguments.solver {
        frame.settings.solver = Some(solver.clone());
        frame.settings.granularity = Granularity::Event.name().to_string();
    }
    frame.with_picture = has_picture;
    let refuted = refuted_in_picture(&trace, &options, &prediction, has_picture && why.is_none())?;
    let mut report = report_trace(&trace, prediction, frame);
    report.why = why;
    report.picture.iter_mut().for_each(|picture| picture.refuted.clone_from(&refuted));
    say_what_is_open(&trace, &checks, model, &mut report);
    if let Some(predictions) = &compared {
        report.comparison = Some(compare_models(&trace, options.granularity, predictions, &report));
    }
    if arguments.solver.is_some() {
        report.not_asked.extend(left_out_by_solver(&trace, &options));
    }
    Ok(report)
}

/// How long a picture may search for the explanation of one refuted candidate, and how many events
/// a trace may have if that is to be so short.
const EXPLAINED_IN: Duration = Duration::from_secs(1);
const MOST_EVENTS: usize = 100_000;

/// Why refuted candidates cannot happen, as far as a picture shows it.
pub(crate) fn refuted_in_picture(
    trace: &Trace,
    options: &Options,
    prediction: &Prediction,
    is_shown: bool,
) -> Result<Option<Explanations>, Failure> {
    if !is_shown || trace.len() > MOST_EVENTS {
        return Ok(None);
    }
    let budget = Budget { time: Some(EXPLAINED_IN), ..options.budget };
    let options = Options { budget, ..options.clone() };
    Ok(Some(explain_refuted(trace, &options, &prediction.refuted, REFUTED_IN_PICTURE)?))
}

/// Options that do not go with `--solver`.
fn refuse_with_solver(arguments: &PredictArguments) -> Result<(), Failure> {
    let options = &arguments.options;
    let (option, why) = match options.model {
        ModelChoice::Control => ("--model control", "it has no formula"),
        _ if arguments.compare_models => ("--compare-models", "name one model with --model"),
        _ if arguments.why.is_some() => ("--why", "foretrace explain does not need it"),
        _ if options.infer_regions => {
            ("--infer-regions", "mark regions with `region begin` and `region end`")
        }
        _ if options.granularity == GranularityChoice::Variable => {
            ("--granularity variable", "each tuple of events is asked about by itself")
        }
        _ if options.iterate_bound => ("--iterate-bound", "give a bound with --context-bound"),
        _ if options.conflicts.is_some() => {
            ("--conflicts", "give a --budget, which is for each candidate")
        }
        _ => return Ok(()),
    };
    Err(Failure::input(format_args!("{option} cannot be used with --solver")).hint(why))
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
        keep_refuted: arguments.project.baseline.is_some(),
        engines: Engines::Staged,
        spare_freed: implicit(&arguments.implicit) == Checks::ByDefault,
        jobs: jobs(arguments.jobs),
        budget: Budget {
            time: arguments.budget,
            conflicts: arguments.conflicts,
            stop: interrupt::STOP,
        },
        switches: match arguments.context_bound {
            _ if arguments.iterate_bound => Switches::Fewest,
            Some(most) => Switches::AtMost(most),
            None => Switches::Any,
        },
    }
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

/// The implicit checks that an option names.
pub(crate) fn implicit(chosen: &[Implicit]) -> Checks {
    if chosen.is_empty() {
        return Checks::ByDefault;
    }
    let fault = |implicit: &Implicit| match implicit {
        Implicit::Null => vec![ImplicitFault::Null],
        Implicit::Division => vec![ImplicitFault::Division],
        Implicit::Bounds => vec![ImplicitFault::Bounds],
        Implicit::Freed => vec![ImplicitFault::Freed],
        Implicit::All => ImplicitFault::IMPLICIT.to_vec(),
        Implicit::None => Vec::new(),
    };
    let mut faults: Vec<ImplicitFault> = chosen.iter().flat_map(fault).collect();
    faults.sort_unstable();
    faults.dedup();
    Checks::Chosen(faults)
}

/// How many threads solve.
pub(crate) fn jobs(choice: Option<u32>) -> usize {
    match choice {
        Some(jobs) => jobs as usize,
        None => available_parallelism().map_or(1, |cores| cores.get()),
    }
}

/// What the report says besides the answer; `options` are those that were used.
pub(crate) fn frame(options: &Options, path: String, full_schedules: bool) -> Frame {
    let mut frame = Frame::new(options);
    frame.path = Some(path);
    frame.full_schedules = full_schedules;
    frame
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn timing(read: Duration, predict: Duration) -> Timing {
    Timing { read_ms: milliseconds(read), predict_ms: milliseconds(predict) }
}

/// What standard output can show.
pub(crate) fn style(full_schedule: bool) -> Style {
    Style { full_schedule, ..crate::terminal::style(Some(false)) }
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

/// `strict`: what is refuted for recorded values only counts as undecided.
pub(crate) fn verdict(report: &Report, strict: bool) -> Status {
    let open = |ledger: &Ledger| match strict {
        true => ledger.undecided + ledger.infeasible_for_recorded_values,
        false => ledger.undecided,
    };
    let undecided: u64 = report.summary.iter().map(|(_, ledger)| open(ledger)).sum();
    let run = |is_so: fn(&Run) -> bool| report.run.as_ref().is_some_and(is_so);
    let says_little = report.interrupted
        || report.trace.is_prefix()
        || run(|run| run.incomplete || run.says_nothing.is_some());
    if report.count(Certainty::Real) > 0 || run(|run| run.failed) {
        Status::Found
    } else if run(|run| run.unexpected) {
        Status::RunFailed
    } else if undecided > 0
        || report.open_findings().next().is_some()
        || report.trace.events == 0
        || says_little
    {
        Status::Uncertain
    } else {
        Status::Nothing
    }
}
