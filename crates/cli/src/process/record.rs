//! `foretrace run`: runs a program once, and keeps what it did as a trace.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretrace::Format;
use foretrace_recording::file::{HEADER, Header, ending, flags, starts_children_again};
use foretrace_trace::provenance::Private;
use foretrace_trace::{Deadline, ThreadId, Trace, binary};

use super::launch::{Ended, Input, Launch, Output, Task};
use crate::args::{RecordOptions, RunArguments};
use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use crate::predict::READING;

/// A run that is over.
pub(crate) struct Recorded {
    pub(crate) ended: Ended,
    pub(crate) trace: Trace,
    /// Remarks on how it went.
    pub(crate) remarks: Vec<String>,
    pub(crate) deadlocked: bool,
    /// How long it took to read the recording.
    pub(crate) imported: Duration,
    /// Not all that happened is in the trace.
    pub(crate) incomplete: bool,
}

impl Recorded {
    /// How the run went, behind "the recorded run".
    pub(crate) fn in_words(&self) -> String {
        if self.deadlocked { "deadlocked".to_string() } else { self.ended.in_words() }
    }

    /// Whether the run shows a bug by itself: it crashed or deadlocked.
    pub(crate) fn failed(&self) -> bool {
        self.deadlocked || self.ended.crashed()
    }

    /// Whether the run failed in another way: it ended with a status that is not expected, or a
    /// signal from outside ended it. (What we have ended ourselves is only incomplete.)
    pub(crate) fn is_unexpected(&self, expected: &[u8]) -> bool {
        !self.failed() && !self.ended.is_cut_short() && !expected.contains(&self.ended.code())
    }

    /// Why no prediction from this run says anything, if that is so.
    pub(crate) fn says_nothing(&self) -> Option<String> {
        let has_events = |&thread: &ThreadId| !self.trace.thread_events(thread).is_empty();
        // Only instrumented code says where it is.
        let has_places = self.trace.events().any(|(_, event)| event.location.is_some());
        // Instrumented code used memory of one thread alone.
        let has_left_out = self.trace.has_fact(Private::Access);
        match self.trace.thread_ids().filter(has_events).count() {
            0 => None,
            1 => Some("only one thread was recorded".to_string()),
            _ if has_places || has_left_out => None,
            _ => Some("no code compiled with foretrace ran".to_string()),
        }
    }
}

/// Runs a program; the exit status is the program's own.
pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Failure> {
    let trace_path = match &arguments.output {
        Some(path) => path.clone(),
        None => default_output(&arguments.command[0]),
    };
    let raw = trace_path.extension().is_some_and(|extension| extension == "ftrec");
    let recording = if raw { trace_path.clone() } else { beside(&trace_path) };
    if raw && recording.exists() {
        fs::remove_file(&recording)
            .map_err(|error| Failure::input(format_args!("{}: {error}", recording.display())))?;
    }
    let input = Input::Inherited;
    interrupt::listen();
    let ended = launch(&arguments.command, &arguments.record, &recording, input, Output::Own)?;
    let (header, mut remarks) = look(&recording, &arguments.command)?;
    remarks.extend(ended.remarks());
    let deadlocked = header.ending == ending::DEADLOCK;
    if raw {
        say(&format!("the recording is in {}", recording.display()));
    } else {
        let mut all = vec![(recording.clone(), trace_path.clone())];
        for (recording, pid) in others(&recording) {
            let name = trace_path.with_extension(format!("{pid}.ftb"));
            all.push((recording, name));
        }
        for (recording, trace_path) in all {
            let trace = import(&recording, Deadline::NEVER)?;
            output::to_path(&trace_path, |writer| binary::write(&trace, writer)).map_err(
                |failure| {
                    failure.hint(format_args!("the recording is kept in {}", recording.display()))
                },
            )?;
            // What is there as a trace need not be there twice; if this fails, nothing is lost.
            let _ = fs::remove_file(&recording);
            remarks.insert(0, summary(&trace, &trace_path));
        }
    }
    if ended.timed_out {
        remarks.push("foretrace killed the program because it ran longer than --timeout".into());
    }
    remarks.iter().for_each(|remark| say(remark));
    if deadlocked {
        say("the program deadlocked in this very run; `foretrace predict` on the trace shows how");
    }
    Ok(ended.code())
}

/// Runs a program for `foretrace test`, and reads as much of its recording as the budget allows.
pub(crate) fn record(
    command: &[OsString],
    options: &RecordOptions,
    recording: &Path,
    input: Input,
    output: Output,
    budget: Duration,
) -> Result<Recorded, Failure> {
    let ended = launch(command, options, recording, input, output)?;
    let (header, mut remarks) = look(recording, command)?;
    remarks.extend(ended.remarks());
    let ended_at = Instant::now();
    if ended.interrupted {
        say("interrupted; Foretrace analyses what was recorded until then (Ctrl-C ends that, too)");
    }
    // That interrupt was for the program.
    interrupt::listen();
    let deadline = Deadline::after(budget).share(READING).or(interrupt::STOP);
    let trace = import(recording, deadline)?;
    let imported = ended_at.elapsed();
    let others = others(recording).len();
    if others > 0 {
        remarks.push(format!(
            "{others} more recorded processes were started; only the first one is analysed"
        ));
    }
    let incomplete =
        ended.is_cut_short() || header.flags & (flags::TRUNCATED | flags::HANDLER) != 0;
    Ok(Recorded {
        ended,
        trace,
        remarks,
        imported,
        incomplete,
        deadlocked: header.ending == ending::DEADLOCK,
    })
}

/// Runs a program, and keeps the recording as it is.
pub(crate) fn once(
    command: &[OsString],
    options: &RecordOptions,
    recording: &Path,
    input: Input,
) -> Result<(Ended, Header), Failure> {
    let ended = launch(command, options, recording, input, Output::StandardError)?;
    let (header, _) = look(recording, command)?;
    Ok((ended, header))
}

fn launch(
    command: &[OsString],
    options: &RecordOptions,
    recording: &Path,
    input: Input,
    output: Output,
) -> Result<Ended, Failure> {
    // The runtime could only say so in the midst of the program.
    File::create_new(recording).and_then(|_| fs::remove_file(recording)).map_err(|error| {
        Failure::input(format_args!("cannot write the recording {}: {error}", recording.display()))
            .hint("choose another place with --output, or another folder for TMPDIR")
    })?;
    let task = Task::Record {
        schedule: options.schedule,
        seed: options.seed,
        limit: options.max_size,
        control_flow: !options.no_control_flow,
        time: options.time,
    };
    let timeout = options.timeout;
    Launch { command, recording, task, input, output, timeout, debugger: false }.run()
}

/// The header of a recording, and what the user should know of it.
fn look(recording: &Path, command: &[OsString]) -> Result<(Header, Vec<String>), Failure> {
    let name = command[0].display();
    let bytes = match read_start(recording) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::input(format_args!(
                "{name} was not recorded: it is not linked with foretrace's runtime"
            ))
            .hint(
                "compile and link it with `foretrace cc` or `foretrace c++` (CC=\"foretrace cc\")",
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            // Not even its header is there; the runtime has said so.
            let _ = fs::remove_file(recording);
            let folder = recording.parent().unwrap_or(Path::new("."));
            return Err(Failure::input(format_args!(
                "{name} was not recorded: the disk of {} is full",
                folder.display()
            ))
            .hint("choose another place with --output, or another folder for TMPDIR"));
        }
        Err(error) => return Err(Failure::input(format_args!("{}: {error}", recording.display()))),
    };
    // SAFETY: any bytes are a header; it is `repr(C)` and has only numbers.
    let header: Header = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
    if header.flags & flags::UNSUPPORTED != 0 {
        // The runtime has said what.
        let _ = fs::remove_file(recording);
        return Err(Failure::input(format_args!("{name} cannot be recorded"))
            .hint("docs/roadmap.md lists what is not supported"));
    }
    let mut remarks = Vec::new();
    if header.flags & flags::TRUNCATED != 0 {
        let why = match header.flags & flags::LIMITED {
            0 => "the disk was full",
            _ => "the recording reached --max-size",
        };
        remarks.push(format!("{why}: the trace has only the first part of the run"));
    }
    if header.flags & (flags::FORKED | flags::STARTED) != 0 {
        let replays = match starts_children_again(header.flags, &bytes) {
            true => "start them again",
            false => "do not start them: they get again what these sent",
        };
        let how = if header.flags & flags::FORKED != 0 { "forked" } else { "started others" };
        remarks.push(format!(
            "the program {how}; what its child processes did is not recorded, and replays {replays}"
        ));
    }
    if header.flags & flags::WATCHDOG != 0 {
        remarks.push(
            "a thread blocked where foretrace cannot see it (input, a system call), so this run also depends on timing"
                .into(),
        );
    }
    if header.flags & flags::HANDLER != 0 {
        remarks.push(
            "a signal handler ran inside foretrace's runtime; its memory accesses are not recorded"
                .into(),
        );
    }
    if header.ending == 0 {
        let how = match header.flags & flags::ASSERTION_FAILED {
            0 if interrupt::STOP.is_set() => "the interrupt ended the program",
            0 => "the program was killed or crashed",
            _ => "an assertion of the program failed",
        };
        remarks.push(format!("{how}; the trace has everything up to that moment"));
    }
    Ok((header, remarks))
}

fn read_start(path: &Path) -> io::Result<[u8; HEADER]> {
    use io::Read;
    let mut bytes = [0; HEADER];
    fs::File::open(path)?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Recordings of other processes that the program started, with their process ids.
fn others(recording: &Path) -> Vec<(PathBuf, u32)> {
    let (Some(folder), Some(name)) =
        (recording.parent(), recording.file_name().and_then(|name| name.to_str()))
    else {
        return Vec::new();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(PathBuf, u32)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid =
                path.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?;
            Some((path, pid))
        })
        .collect();
    found.sort();
    found
}

fn import(recording: &Path, deadline: Deadline) -> Result<Trace, Failure> {
    let keep = |message: &dyn std::fmt::Display| {
        Failure::internal(format_args!(
            "the recording {} cannot be read: {message}",
            recording.display()
        ))
    };
    let opened = foretrace::open_until(recording, Some(Format::Recording), deadline);
    opened.map_err(|error| keep(&error))
}

fn summary(trace: &Trace, path: &Path) -> String {
    let threads = trace.threads().len();
    format!(
        "{} events of {threads} thread{} are in {}",
        trace.len(),
        if threads == 1 { "" } else { "s" },
        path.display()
    )
}

/// `program.ftb` in the current folder.
fn default_output(program: &OsString) -> PathBuf {
    let name = Path::new(program).file_name().unwrap_or(program.as_os_str());
    PathBuf::from(name).with_extension("ftb")
}

/// A name of our own in the same folder.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.ftrec", std::process::id()));
    path.with_file_name(name)
}

/// A remark on standard error; when that is closed there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "foretrace: {text}");
}
