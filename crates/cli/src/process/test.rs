//! `foretrace test`: records a program, predicts, replays every finding, reports; perhaps with
//! several runs, and then with all of them together.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretrace_findings::{assert_no, report_trace, say_what_is_open};
use foretrace_predict::{Budget, Options};
use foretrace_report::{Certainty, Evidence, Finding, Replay, Report, Run, Standing};
use foretrace_trace::binary;
use foretrace_verdict::Property;

use super::launch::Input;
use super::record::{self, say};
use super::replay::Replayer;
use crate::args::{RecordOptions, TestArguments};
use crate::failure::{Failure, Status};
use crate::output::{self, Folder};
use crate::predict;
use crate::program;
use crate::progress::ProgressLine;
use crate::project::bug;
use crate::reports::{Reports, numbered};

/// How long import, prediction and replays may take together.
const DEFAULT_BUDGET: Duration = Duration::from_secs(60);

pub(crate) fn run(arguments: &TestArguments) -> Result<Status, Failure> {
    let folder = Folder::create()?;
    let mut test = Test {
        arguments,
        folder: &folder,
        reports: Reports::new(&arguments.prediction)?.of_program(&arguments.command),
        confirmed: HashSet::new(),
        inputs: Vec::new(),
    };
    if arguments.runs == 1 {
        let recording = folder.path().join("recording.ftrec");
        let report = test.single(None, &recording)?;
        test.reports.show(report, None)?;
        if arguments.prediction.symbolic_addresses
            && let Some(report) = test.together(&[&recording])?
        {
            test.reports.show(report, Some("addresses"))?;
        }
        return test.reports.finish();
    }
    let mut recordings = Vec::new();
    for number in 1..=arguments.runs {
        let recording = folder.path().join(format!("recording-{number}.ftrec"));
        let report = test.single(Some(number), &recording)?;
        test.reports.show(report, Some(&number.to_string()))?;
        recordings.push(recording);
    }
    let recordings: Vec<&Path> = recordings.iter().map(PathBuf::as_path).collect();
    if let Some(report) = test.together(&recordings)? {
        test.reports.show(report, Some("merged"))?;
    }
    test.reports.finish()
}

/// What all runs of a test share.
struct Test<'a> {
    arguments: &'a TestArguments,
    folder: &'a Folder,
    reports: Reports<'a>,
    /// Bugs that a replay has confirmed: see [`bug`].
    confirmed: HashSet<String>,
    /// What the last run got from outside.
    inputs: Vec<u8>,
}

impl Test<'_> {
    fn replayer(&self) -> Replayer<'_> {
        Replayer {
            command: &self.arguments.command,
            timeout: self.arguments.replay_timeout,
            folder: self.folder.path(),
            input: Input::of_this_program(false),
            // Merged runs got different things.
            live: self.arguments.live || self.arguments.runs > 1,
            inputs: &self.inputs,
        }
    }

    /// Records a run, the one with this number from 1 if there are several, and predicts from it
    /// alone.
    fn single(&mut self, number: Option<u32>, recording: &Path) -> Result<Report, Failure> {
        let (arguments, start) = (self.arguments, Instant::now());
        let quiet = self.reports.take_stdout();
        let further = u64::from(number.unwrap_or(1) - 1);
        let options = RecordOptions {
            seed: arguments.record.seed.wrapping_add(further),
            ..arguments.record.clone()
        };
        let input = match number {
            None => Input::Inherited,
            Some(_) => Input::of_this_program(false),
        };
        let budget = arguments.prediction.budget.unwrap_or(DEFAULT_BUDGET);
        let command = &arguments.command;
        let mut recorded = record::record(command, &options, recording, input, quiet, budget)?;
        // Replays have at least a fifth of the budget.
        let imported = recorded.imported;
        let left = (budget * 4 / 5).saturating_sub(imported);
        predict::cut_to_budget(&mut recorded.trace, Some(left));
        let trace = &recorded.trace;
        recorded.remarks.iter().for_each(|remark| say(remark));
        match number {
            None => say(&format!("the recorded run {}", recorded.in_words())),
            Some(number) => say(&format!("run {number} {}", recorded.in_words())),
        }
        // A report without its trace could not be replayed.
        let json = self.reports.json_file();
        let kept = arguments.trace.clone().or(json.map(|path| path.with_extension("ftb")));
        let kept = kept.map(|path| match number {
            Some(number) => numbered(&path, &number.to_string()),
            None => path,
        });
        if let Some(path) = &kept {
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

        let path = kept.map(|path| path.display().to_string());
        let name = arguments.command[0].display();
        let name = number.map_or(name.to_string(), |number| format!("{name}, run {number}"));
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
        report.notes.extend(recorded.remarks.iter().cloned());
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
            finding.graded() == Certainty::Real && !bug(&report, finding).is_some_and(is_known)
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
            let is_known = bug(report, finding).is_some_and(|bug| self.confirmed.contains(&bug));
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
                    true => Ok(not_replayed(NO_TIME.to_string())),
                    false => replay(&Replayer { timeout, ..replayer }, index),
                };
                progress.clear();
                let replayed = replayed?;
                let is_cut = timeout < replayer.timeout && replayed.timed_out;
                if is_cut { not_replayed(NO_TIME.to_string()) } else { replayed }
            } else {
                not_replayed(format!("only the first {most} findings are replayed (--replays)"))
            });
        }
        progress.clear();
        Ok(replays)
    }

    fn remember(&mut self, report: &Report) {
        let confirmed = report.findings.iter().filter(|finding| finding.is_confirmed());
        let bugs = confirmed.filter_map(|finding| bug(report, finding));
        self.confirmed.extend(bugs);
    }
}

const NO_TIME: &str = "the time budget was used up (--budget)";

fn not_replayed(detail: String) -> Replay {
    Replay { detail, ..Replay::default() }
}
