//! `foretrace replay`: forces the schedule of a finding on the program.

use std::ffi::OsString;
use std::fs;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::time::Duration;

use foretrace_findings::{assert_again, recalled_schedule, recalled_violation, replay_in_words};
use foretrace_replay::{Outcome, Plan};
use foretrace_report::{Evidence, ReadError, Recalled, Replay, read_json};
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::Violation;

use super::launch::{Ended, Input, Launch, Output, Task};
use super::record::say;
use crate::args::ReplayArguments;
use crate::failure::{Failure, Status};
use crate::folder::Folder;
use crate::input;

/// Replays findings of a report.
pub(crate) fn run(arguments: &ReplayArguments) -> Result<u8, Failure> {
    let (path, wanted) = split(&arguments.report);
    let failed = |error: &dyn std::fmt::Display| Failure::input(format_args!("{path}: {error}"));
    let text = fs::read(path).map_err(|error| failed(&error))?;
    let findings = read_json(&text).map_err(|error| match error {
        ReadError::NotOneTrace => failed(&error),
        _ => failed(&error).hint("give a file that --output json=FILE wrote"),
    })?;
    let known: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
    let chosen: Vec<&Recalled> = findings
        .iter()
        .filter(|finding| wanted.is_none_or(|wanted| finding.id == wanted))
        .collect();
    if chosen.is_empty() {
        let what = wanted.map_or("it has no findings".to_string(), |wanted| {
            format!("it has no finding {wanted}")
        });
        let failure = failed(&what);
        return Err(match &known[..] {
            [] => failure,
            known => failure.hint(format_args!("it has {}", known.join(", "))),
        });
    }
    let trace = open_trace(Path::new(path), chosen[0])?;
    let folder = Folder::create()?;
    let mut statuses = Vec::new();
    for finding in chosen {
        let violation =
            recalled_violation(finding).ok_or_else(|| failed(&"a finding lacks its events"))?;
        let schedule = recalled_schedule(&trace, finding);
        let replay = Replayer {
            command: &arguments.command,
            timeout: arguments.timeout,
            folder: folder.path(),
            input: Input::of_this_program(true),
            live: arguments.live,
            inputs: &[],
        };
        let result = replay.replay(&trace, &violation, &schedule, arguments.gdb)?;
        say(&format!("{}: {}: {}", finding.id, result.in_words(), result.detail));
        if let Some(ending) = &result.ending {
            say(&format!("the program {ending}"));
        }
        result.output.iter().for_each(|line| say(&format!("| {line}")));
        statuses.push(result.evidence);
    }
    let all = |evidence| statuses.contains(&evidence);
    Ok(if all(Evidence::Confirmed) {
        Status::Found as u8
    } else if all(Evidence::Diverged) || all(Evidence::NotReplayed) {
        Status::Uncertain as u8
    } else {
        Status::Nothing as u8
    })
}

/// The trace of a report: where the report says, or from there on where the report itself is.
pub(crate) fn open_trace(
    report: &Path,
    finding: &Recalled,
) -> Result<ManuallyDrop<Trace>, Failure> {
    let named = Path::new(&finding.trace);
    let beside = report.parent().map(|folder| folder.join(named)).filter(|path| path.exists());
    let path =
        if named.exists() { named.to_path_buf() } else { beside.unwrap_or(named.to_path_buf()) };
    let mut trace = input::open_valid(&path, None).map_err(|failure| {
        failure.hint("a replay needs the trace of its report: `foretrace run -o`, or `foretrace test --trace`")
    })?;
    let now = trace.len();
    assert_again(&mut trace, &finding.implicit);
    if now as u64 != finding.trace_events {
        let then = finding.trace_events;
        return Err(Failure::input(format_args!(
            "{}: the trace has {now} events; the report is about one with {then}",
            path.display()
        ))
        .hint("the trace was overwritten: predict again"));
    }
    Ok(trace)
}

/// `report.json#race-1`: the file and the finding.
pub(crate) fn split(report: &str) -> (&str, Option<&str>) {
    match report.rsplit_once('#') {
        Some((path, id)) if !id.is_empty() => (path, Some(id)),
        _ => (report, None),
    }
}

/// Replays schedules on one program.
#[derive(Clone, Copy)]
pub(crate) struct Replayer<'a> {
    pub(crate) command: &'a [OsString],
    pub(crate) timeout: Duration,
    /// For files on the way.
    pub(crate) folder: &'a Path,
    /// What the program reads.
    pub(crate) input: Input,
    /// Calls on the outside are made, and not answered as recorded.
    pub(crate) live: bool,
    /// What the recorded run got from outside, for traces that do not say so themselves.
    pub(crate) inputs: &'a [u8],
}

impl Replayer<'_> {
    /// Forces a schedule on the program, and says what came of it.
    pub(crate) fn replay(
        &self,
        trace: &Trace,
        violation: &Violation,
        schedule: &[EventId],
        debugger: bool,
    ) -> Result<Replay, Failure> {
        let plan = match Plan::new(trace, violation, schedule) {
            Ok(plan) => plan,
            Err(reason) => {
                let (evidence, detail) = (Evidence::NotReplayed, reason.to_string());
                return Ok(Replay { evidence, detail, ..Replay::default() });
            }
        };
        let known = if trace.inputs().is_empty() { self.inputs } else { trace.inputs() };
        let Forced { answer, given, ended } = self.force(&plan, known, debugger)?;
        let timed_out = ended.timed_out && answer.is_none();
        let ending = match ended.timed_out && !timed_out {
            true => "went on for seconds and was ended".to_string(),
            false => ending(ended),
        };
        let (evidence, detail) = match answer {
            Some(outcome) => replay_in_words(trace, violation, &plan, &outcome),
            None if ended.timed_out => {
                (Evidence::Diverged, "the program hung before the end of the schedule".into())
            }
            None => (Evidence::Diverged, "the program ended before the end of the schedule".into()),
        };
        Ok(Replay {
            evidence,
            detail,
            recorded_inputs: given > 0,
            ending: Some(ending),
            output: self.last_lines(),
            timed_out,
        })
    }

    /// Starts the program with a plan; `known` is what a recorded run got from outside.
    pub(crate) fn force(
        &self,
        plan: &Plan,
        known: &[u8],
        debugger: bool,
    ) -> Result<Forced, Failure> {
        let [plan_file, outcome, recording, output] =
            ["plan", "outcome", "replayed.ftrec", OUTPUT].map(|name| self.folder.join(name));
        for stale in [&outcome, &recording] {
            // Most often there is none.
            let _ = fs::remove_file(stale);
        }
        fs::write(&plan_file, plan.to_bytes())
            .map_err(|error| Failure::input(format_args!("{}: {error}", plan_file.display())))?;
        let inputs_file = self.folder.join("inputs");
        let inputs = (!known.is_empty()).then_some(&*inputs_file);
        if let Some(inputs) = inputs {
            fs::write(inputs, known)
                .map_err(|error| Failure::input(format_args!("{}: {error}", inputs.display())))?;
        }
        let launch = Launch {
            command: self.command,
            recording: &recording,
            task: Task::Replay { plan: &plan_file, outcome: &outcome, inputs, live: self.live },
            input: if debugger { Input::Inherited } else { self.input },
            output: if debugger { Output::Own } else { Output::File(&output) },
            timeout: (!debugger).then_some(self.timeout),
            debugger,
        };
        let ended = launch.run()?;
        let answer = fs::read(&outcome).unwrap_or_default();
        Ok(Forced { answer: Outcome::read(&answer), given: Outcome::given(&answer), ended })
    }

    /// The last lines that the program wrote, without our own.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let text = fs::read(self.folder.join(OUTPUT)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("foretrace: ")).collect();
        lines[lines.len().saturating_sub(5)..].iter().map(|line| line.to_string()).collect()
    }
}

/// Where the program's output goes.
const OUTPUT: &str = "output";

/// What came of a plan.
pub(crate) struct Forced {
    /// What the runtime says; `None` if it could not.
    pub(crate) answer: Option<Outcome>,
    /// How many calls were answered as recorded.
    pub(crate) given: u64,
    pub(crate) ended: Ended,
}

/// How the program ended, where it may be we who ended it.
pub(crate) fn ending(ended: Ended) -> String {
    match ended.status.code() {
        Some(DEADLOCKED) => "was ended by foretrace where it deadlocked".to_string(),
        Some(LEFT) => "was ended by foretrace there".to_string(),
        _ => ended.in_words(),
    }
}

/// How the runtime ends a program: see `foretrace_recording`.
const DEADLOCKED: i32 = 124;
const LEFT: i32 = 123;
