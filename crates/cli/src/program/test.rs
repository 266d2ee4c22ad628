//! `foretrace test`: records a program, predicts, replays every finding, reports.

use std::time::Instant;

use foretrace_report::{Evidence, Replay, write_json, write_text};
use foretrace_trace::binary;

use super::record::{self, say};
use super::replay::Replayer;
use crate::args::TestArguments;
use crate::assemble::{Frame, assemble};
use crate::failure::{Failure, Status};
use crate::input;
use crate::output::{self, Folder};
use crate::predict;
use crate::progress::ProgressLine;

pub(crate) fn run(arguments: &TestArguments) -> Result<Status, Failure> {
    let start = Instant::now();
    let folder = Folder::create()?;
    let recorded = record::record(&arguments.command, &arguments.record, folder.path())?;
    let trace = &recorded.trace;
    recorded.remarks.iter().for_each(|remark| say(remark));
    say(&format!("the recorded run {}", recorded.ended.in_words()));
    if let Some(path) = &arguments.trace {
        output::to_path(path, |writer| binary::write(trace, writer))?;
    }

    let progress = ProgressLine::new();
    let options = predict::options(&arguments.prediction);
    let recorded_time = start.elapsed();
    let prediction = input::predict(trace, &options, &progress);
    progress.clear();
    let prediction = prediction?;
    let predicted_time = start.elapsed() - recorded_time;

    let replayer = Replayer {
        command: &arguments.command,
        timeout: arguments.replay_timeout,
        folder: folder.path(),
    };
    let mut replays = Vec::new();
    for (number, finding) in prediction.findings.iter().enumerate() {
        if number < arguments.replays {
            progress.replaying(number, prediction.findings.len());
            replays.push(replayer.replay(trace, &finding.violation, &finding.schedule, false)?);
        } else {
            let detail =
                format!("only the first {} findings are replayed (--replays)", arguments.replays);
            replays.push(Replay {
                evidence: Evidence::NotReplayed,
                detail,
                ending: None,
                output: Vec::new(),
            });
        }
    }
    progress.clear();

    let path = arguments.trace.as_ref().map(|path| path.display().to_string());
    let name = arguments.command[0].display().to_string();
    let timing =
        arguments.prediction.timing.then(|| predict::timing(recorded_time, predicted_time));
    let frame = Frame {
        path: Some(path.unwrap_or(name)),
        settings: predict::settings(&arguments.prediction),
        full_schedules: arguments.prediction.full_schedule,
        timing,
    };
    let mut report = assemble(trace, prediction, frame);
    for (finding, replay) in report.findings.iter_mut().zip(replays) {
        finding.replay = Some(replay);
    }
    if recorded.deadlocked {
        report.notes.push("the program deadlocked in the recorded run".into());
    }
    if let Some(path) = &arguments.prediction.json {
        output::to_path(path, |writer| write_json(&report, writer))?;
    }
    if !arguments.prediction.json.as_deref().is_some_and(output::is_stdout) {
        let style = predict::style(arguments.prediction.full_schedule);
        output::to_stdout(|writer| write_text(&report, style, writer))?;
    }
    Ok(predict::verdict(&report))
}
