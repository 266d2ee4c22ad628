//! `foretrace test`: records a program, predicts, replays every finding, reports.

use std::time::Instant;

use foretrace_report::{Evidence, Replay, Run};
use foretrace_trace::binary;

use super::launch::Input;
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
    let json = arguments.prediction.json.as_deref();
    let quiet = json.is_some_and(output::is_stdout);
    let recorded = record::record(&arguments.command, &arguments.record, folder.path(), quiet)?;
    let trace = &recorded.trace;
    recorded.remarks.iter().for_each(|remark| say(remark));
    say(&format!("the recorded run {}", recorded.in_words()));
    // A report without its trace could not be replayed.
    let beside = json.filter(|_| !quiet).map(|path| path.with_extension("ftb"));
    let kept = arguments.trace.clone().or(beside);
    if let Some(path) = &kept {
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
        input: Input::of_this_program(false),
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

    let path = kept.map(|path| path.display().to_string());
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
    let (ending, failed) = (recorded.in_words(), recorded.failed());
    report.run = Some(Run { ending, failed, incomplete: recorded.incomplete });
    report.notes.extend(recorded.remarks.iter().cloned());
    predict::show(&report, &arguments.prediction)?;
    Ok(predict::verdict(&report))
}
