//! `foretrace test`: records a program, predicts, replays every finding, reports; perhaps with
//! several runs, and then with all of them together.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretrace_findings::{assert_no, report_trace, say_what_is_open};
use foretrace_predict::{Budget, Options};
use foretrace_recording::input::{call, inputs_of_replay};
use foretrace_report::{Certainty, Evidence, Finding, Replay, Report, Run, Standing};
use foretrace_trace::{LocationId, Op, Trace, binary};
use foretrace_verdict::Property;

use super::launch::{Input, Output};
use super::record::{self, say};
use super::replay::Replayer;
use crate::args::{RecordOptions, TestArguments};
use crate::failure::{Failure, Status};
use crate::folder::Folder;
use crate::interrupt;
use crate::output;
use crate::predict::{self, verdict};
use crate::program;
use crate::progress::ProgressLine;
use crate::reports::{Reports, numbered};

/// How long import, prediction and replays may take together.
const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

pub(crate) fn run(arguments: &TestArguments) -> Result<Status, Failure> {
    interrupt::listen();
    let folder = Folder::create()?;
    let mut test = Test {
        arguments,
        folder: &folder,
        reports: Reports::new(&arguments.prediction)?.of_program(&arguments.command),
        confirmed: HashSet::new(),
        inputs: Vec::new(),
        makes_calls: false,
    };
    let Some(runs) = arguments.runs.filter(|&runs| runs > 1) else {
        let recording = folder.path().join("recording.ftrec");
        let start = Instant::now();
        let report = test.single(Which::Only, &recording)?;
        let report = match arguments.runs {
            None if start.elapsed() < CHEAP && test.may_run_again(&report) => test.again(report)?,
            _ => report,
        };
        test.reports.show(report, None)?;
        if arguments.prediction.symbolic_addresses
            && !interrupt::STOP.is_set()
            && let Some(report) = test.together(&[&recording])?
        {
            test.reports.show(report, Some("addresses"))?;
        }
        return test.reports.finish();
    };
    let mut recordings = Vec::new();
    for number in 1..=runs {
        let recording = folder.path().join(format!("recording-{number}.ftrec"));
        let report = test.single(Which::Numbered(number), &recording)?;
        let is_interrupted = report.interrupted;
        test.reports.show(report, Some(&number.to_string()))?;
        recordings.push(recording);
        if is_interrupted {
            return test.reports.finish();
        }
    }
    let recordings: Vec<&Path> = recordings.iter().map(PathBuf::as_path).collect();
    if let Some(report) = test.together(&recordings)? {
        test.reports.show(report, Some("merged"))?;
    }
    test.reports.finish()
}

/// A run is repeated unasked if it took no longer than this, with all that was predicted from it;
/// so often; and with so much time for each.
const CHEAP: Duration = Duration::from_secs(2);
const FURTHER: u64 = 2;
const FURTHER_BUDGET: Duration = Duration::from_secs(5);

/// One of the runs of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The one that was asked for.
    Only,
    /// One of several that were asked for, from 1 on.
    Numbered(u32),
    /// One more, so many seeds further, which nobody asked for.
    Further(u64),
}

impl Which {
    /// How far its seed is from the first one.
    fn distance(self) -> u64 {
        match self {
            Which::Only => 0,
            Which::Numbered(number) => u64::from(number - 1),
            Which::Further(distance) => distance,
        }
    }
}

/// What all runs of a test share.
struct Test<'a> {
    arguments: &'a TestArguments,
    folder: &'a Folder,
    reports: Reports<'a>,
    /// Bugs that a replay has confirmed: see [`Report::bug`].
    confirmed: HashSet<String>,
    /// What the last run got from outside.
    inputs: Vec<u8>,
    /// Whether the order of its calls on files, pipes and the like matters.
    makes_calls: bool,
}

impl Test<'_> {
    fn replayer(&self) -> Replayer<'_> {
        Replayer {
            command: &self.arguments.command,
            timeout: self.arguments.replay_timeout,
            folder: self.folder.path(),
            input: Input::of_this_program(false),
            // Merged runs got different things.
            live: self.arguments.live || self.arguments.runs.is_some_and(|runs| runs > 1),
            inputs: &self.inputs,
        }
    }

    /// Whether another run does nothing to the world, and the world nothing to it: the first one
    /// shows nothing, and has neither changed a file nor waited for anything from outside.
    fn may_run_again(&self, report: &Report) -> bool {
        let harmless = [call::CLOCK, call::RANDOM, call::NUMBER, call::MEASURE, call::SEEN_FILE];
        let is_clean = verdict(report, true) == Status::Nothing;
        let is_alone = inputs_of_replay(&self.inputs).all(|input| harmless.contains(&input.call));
        is_clean && is_alone && !self.makes_calls && !interrupt::STOP.is_set()
    }

    /// Records further runs until one of them shows a bug. Its report takes the place of the first
    /// one then.
    fn again(&mut self, first: Report) -> Result<Report, Failure> {
        let seed = |distance: u64| self.arguments.record.seed.wrapping_add(distance).to_string();
        let seeds: Vec<String> = (0..=FURTHER).map(seed).collect();
        let mut clean = Vec::new();
        for distance in 1..=FURTHER {
            let recording = self.folder.path().join(format!("further-{distance}.ftrec"));
            // What goes wrong with a run that nobody asked for is nobody's problem.
            let Ok(mut report) = self.single(Which::Further(distance), &recording) else { break };
            match verdict(&report, false) {
                Status::Found => {
                    // What the first run did has been said already.
                    let ending = report.run.as_ref().map_or("went on", |run| &run.ending);
                    let seed = &seeds[distance as usize];
                    say(&format!("the run with --seed {seed} has a bug; it {ending}"));
                    report.notes.push(format!(
                        "this is a run with --seed {}; --seed {} showed no bug",
                        seeds[distance as usize],
                        seeds[..distance as usize].join(" and ")
                    ));
                    return Ok(report);
                }
                Status::Nothing => clean.push(seeds[distance as usize].clone()),
                _ => {}
            }
            if interrupt::STOP.is_set() || report.interrupted {
                break;
            }
        }
        let mut first = first;
        if !clean.is_empty() {
            let seeds = clean.join(" and ");
            let runs = if clean.len() == 1 { "a run" } else { "runs" };
            first.notes.push(format!("{runs} with --seed {seeds} showed no bug either"));
        }
        Ok(first)
    }

    /// Records a run, and predicts from it alone.
    fn single(&mut self, which: Which, recording: &Path) -> Result<Report, Failure> {
        let (arguments, start) = (self.arguments, Instant::now());
        let seed = arguments.record.seed.wrapping_add(which.distance());
        let options = RecordOptions { seed, ..arguments.record.clone() };
        let input = match which {
            Which::Only => Input::Inherited,
            Which::Numbered(_) | Which::Further(_) => Input::of_this_program(false),
        };
        let nowhere = self.folder.path().join("output");
        let output = match which {
            Which::Further(_) => Output::File(&nowhere),
            Which::Only | Which::Numbered(_) if self.reports.take_stdout() => Output::StandardError,
            Which::Only | Which::Numbered(_) => Output::Own,
        };
        let budget = arguments.prediction.budget.unwrap_or(DEFAULT_BUDGET);
        let budget = match which {
            Which::Further(_) => budget.min(FURTHER_BUDGET),
            Which::Only | Which::Numbered(_) => budget,
        };
        let command = &arguments.command;
        let mut recorded = record::record(command, &options, recording, input, output, budget)?;
        // Replays have at least a fifth of the budget.
        let imported = recorded.imported;
        let left = (budget * 4 / 5).saturating_sub(imported);
        predict::cut_to_budget(&mut recorded.trace, Some(left));
        let trace = &recorded.trace;
        let ending = recorded.in_words();
        match which {
            Which::Only => say_all(&recorded.remarks, &format!("the recorded run {ending}")),
            Which::Numbered(number) => {
                say_all(&recorded.remarks, &format!("run {number} {ending}"))
            }
            Which::Further(_) => {}
        }
        // A report without its trace could not be replayed.
        let json = self.reports.json_file();
        let kept = arguments.trace.clone().or(json.map(|path| path.with_extension("ftb")));
        let kept = kept.map(|path| match which {
            Which::Numbered(number) => numbered(&path, &number.to_string()),
            Which::Only | Which::Further(_) => path,
        });
        // That of a further run takes the place of the first one only if it is shown.
        let is_further = matches!(which, Which::Further(_));
        let aside = is_further.then(|| recording.with_extension("ftb"));
        if let Some(path) = &kept {
            let path = aside.as_ref().unwrap_or(path);
            output::to_path(path, |writer| binary::write(trace, writer))?;
        }
        let chosen = &arguments.prediction;
        let (checks, model) = (predict::implicit(&chosen.implicit), predict::model(chosen.model));
        let implicit = assert_no(&mut recorded.trace, &checks, model);
        let trace = &recorded.trace;

        let progress = ProgressLine::new();
        let mut options = predict::options(chosen);
        options.budget.time = Some(budget);
        let recorded_time = start.elapsed();
        let time = Some(left);
        let has_picture = Reports::have_picture(chosen);
        let budget_left = Budget { time, ..options.budget };
        let asked = Options { budget: budget_left, keep_refuted: has_picture, ..options.clone() };
        let prediction = foretrace_predict::predict(trace, &asked, &progress);
        drop(progress);
        let prediction = prediction?;
        let predicted_time = start.elapsed() - recorded_time;
        let schedules: Vec<_> = prediction
            .findings
            .iter()
            .map(|finding| (finding.violation.clone(), finding.schedule.clone()))
            .collect();

        let path = kept.as_ref().map(|path| path.display().to_string());
        let name = arguments.command[0].display();
        let name = match which {
            Which::Only => name.to_string(),
            Which::Numbered(number) => format!("{name}, run {number}"),
            Which::Further(_) => format!("{name}, seed {seed}"),
        };
        let mut frame = predict::frame(&options, path.unwrap_or(name), chosen.full_schedule);
        frame.timing = chosen.timing.then(|| predict::timing(recorded_time, predicted_time));
        frame.settings.implicit = implicit;
        frame.with_picture = has_picture;
        let refuted = predict::refuted_in_picture(trace, &asked, &prediction, has_picture)?;
        let mut report = report_trace(trace, prediction, frame);
        report.picture.iter_mut().for_each(|picture| picture.refuted.clone_from(&refuted));
        say_what_is_open(trace, &checks, model, &mut report);
        self.reports.settle(&mut report);
        self.inputs = trace.inputs().to_vec();
        self.makes_calls = trace.other_ops().any(|(_, op)| matches!(op, Op::EnterCall { .. }));
        let left = budget.saturating_sub(imported + predicted_time).max(budget / 5);
        let replays = self.replay(&report, Some(Instant::now() + left), |replayer, index| {
            let (violation, schedule) = &schedules[index];
            let replayer = Replayer { live: arguments.live, ..*replayer };
            replayer.replay(trace, violation, schedule, false)
        })?;
        for (finding, replay) in report.findings.iter_mut().zip(replays) {
            finding.replay = Some(replay);
        }
        report.run = Some(Run {
            ending: recorded.in_words(),
            failed: recorded.failed(),
            unexpected: recorded.is_unexpected(&arguments.expect_status),
            incomplete: recorded.incomplete,
            says_nothing: recorded.says_nothing(),
        });
        report.interrupted = recorded.ended.interrupted || interrupt::STOP.is_set();
        report.notes.extend(recorded.remarks.iter().cloned());
        let places = one_way(trace);
        if places > 0 && which == Which::Only && verdict(&report, true) == Status::Nothing {
            let (conditions, them) = match places {
                1 => ("a condition on what threads read".to_string(), "it goes"),
                _ => (format!("conditions on what threads read in {places} places"), "they go"),
            };
            report.notes.push(format!(
                "{conditions} went one way only in this run; `foretrace verify -- PROGRAM` decides \
                 what happens if {them} the other way"
            ));
        }
        if let (Some(path), Some(aside)) = (&kept, &aside)
            && verdict(&report, false) == Status::Found
        {
            let copy = |writer: &mut dyn Write| io::copy(&mut File::open(aside)?, writer).map(drop);
            output::to_path(path, copy)?;
        }
        self.remember(&report);
        Ok(report)
    }

    /// Predicts from all runs together; `None` if nothing is asked that this could answer.
    fn together(&mut self, recordings: &[&Path]) -> Result<Option<Report>, Failure> {
        let chosen = &self.arguments.prediction;
        let asked = predict::options(chosen).properties;
        if !asked.iter().any(|asked| matches!(asked, Property::Race | Property::Assertion)) {
            say(match recordings {
                [_] => {
                    "addresses stay as recorded, because other addresses are checked for races and assertions only"
                }
                _ => {
                    "the runs are not merged, because merged runs are checked for races and assertions only"
                }
            });
            return Ok(None);
        }
        let which = if recordings.len() == 1 { "other addresses" } else { "all runs" };
        let name = format!("{}, {which}", self.arguments.command[0].display());
        let (mut report, ways) = match program::predict_recordings(recordings, chosen, name)? {
            program::Asked::Answered(report, ways) => (report, ways),
            program::Asked::NoAddresses(notes) => {
                notes.iter().for_each(|note| say(note));
                return Ok(None);
            }
        };
        self.reports.settle(&mut report);
        let replays = self.replay(&report, None, |replayer, index| match &ways[index] {
            Some(way) => {
                let (mixed, violation) = (&way.mixed, &way.violation);
                replayer.replay(&mixed.trace, violation, &mixed.schedule, false)
            }
            None => Ok(not_replayed("no thread of a run follows this schedule".to_string())),
        })?;
        for (finding, replay) in report.findings.iter_mut().zip(replays) {
            finding.replay = Some(replay);
        }
        let is_new = |finding: &&Finding| {
            let is_known = |bug: String| self.confirmed.contains(&bug);
            let counts = finding.standing.counts() && finding.graded() == Certainty::Real;
            counts && !report.bug(finding).is_some_and(is_known)
        };
        let new = report.findings.iter().filter(is_new).count();
        if new > 0 {
            say(&match recordings {
                [_] => format!("{new} of the bugs need other addresses than the recorded ones"),
                _ => format!("{new} of the bugs appear in no single run"),
            });
        }
        Ok(Some(report))
    }

    /// Replays the findings of a report, the first time that each bug is confirmed, as long as
    /// there is time.
    fn replay(
        &self,
        report: &Report,
        deadline: Option<Instant>,
        replay: impl Fn(&Replayer, usize) -> Result<Replay, Failure>,
    ) -> Result<Vec<Replay>, Failure> {
        let (most, progress) = (self.arguments.replays, ProgressLine::new());
        let (replayer, mut replays) = (self.replayer(), Vec::new());
        for (index, finding) in report.findings.iter().enumerate() {
            let is_known = report.bug(finding).is_some_and(|bug| self.confirmed.contains(&bug));
            replays.push(if is_known {
                let detail =
                    "a replay of an earlier run confirmed it at the same places".to_string();
                Replay { evidence: Evidence::Confirmed, ..not_replayed(detail) }
            } else if let Standing::Suppressed(suppression) = &finding.standing {
                not_replayed(format!("suppressed by {}", suppression.by))
            } else if index < most {
                progress.replaying(index, report.findings.len());
                let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
                let timeout = left.map_or(replayer.timeout, |left| left.min(replayer.timeout));
                let replayed = match timeout.is_zero() {
                    _ if interrupt::STOP.is_set() => Ok(not_replayed(INTERRUPTED.to_string())),
                    true => Ok(not_replayed(NO_TIME.to_string())),
                    false => replay(&Replayer { timeout, ..replayer }, index),
                };
                progress.clear();
                let replayed = replayed?;
                let is_cut = timeout < replayer.timeout && replayed.timed_out;
                match () {
                    () if replayed.evidence == Evidence::Confirmed => replayed,
                    () if is_cut => not_replayed(NO_TIME.to_string()),
                    // The program got the interrupt as well.
                    () if interrupt::STOP.is_set() => not_replayed(INTERRUPTED.to_string()),
                    () => replayed,
                }
            } else {
                not_replayed(format!("only the first {most} findings are replayed (--replays)"))
            });
        }
        progress.clear();
        Ok(replays)
    }

    fn remember(&mut self, report: &Report) {
        let confirmed = report.findings.iter().filter(|finding| finding.is_confirmed());
        let bugs = confirmed.filter_map(|finding| report.bug(finding));
        self.confirmed.extend(bugs);
    }
}

/// In how many places of the source a condition on what threads read always went the same way. What
/// is beyond these conditions, no schedule of the same events shows.
fn one_way(trace: &Trace) -> usize {
    let mut ways: HashMap<LocationId, (bool, bool)> = HashMap::new();
    for (event, op) in trace.other_ops() {
        let Op::Branch { taken } = op else { continue };
        let Some(location) = trace.location_of(event) else { continue };
        let (yes, no) = ways.entry(location).or_default();
        *(if taken { yes } else { no }) = true;
    }
    ways.values().filter(|(yes, no)| yes != no).count()
}

const INTERRUPTED: &str = "interrupted";
const NO_TIME: &str = "the time budget was used up (--budget)";

fn say_all(remarks: &[String], last: &str) {
    remarks.iter().for_each(|remark| say(remark));
    say(last);
}

fn not_replayed(detail: String) -> Replay {
    Replay { detail, ..Replay::default() }
}
