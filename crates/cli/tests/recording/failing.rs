//! Replays in which an assertion fails.

use std::fs;
use std::process::Command;

use foretrace_replay::{Outcome, Plan};
use foretrace_trace::{EventId, Op, Trace, open};
use foretrace_verdict::Violation;

use crate::harness::{Program, compile};

/// The first write of the main thread behind its fork.
fn write(trace: &Trace) -> EventId {
    let forks = find(trace, 0, |op| matches!(op, Op::Fork { .. }));
    let mut behind = trace.thread_events(trace.thread_of(forks)).iter().copied();
    let is_write = |&event: &EventId| event > forks && matches!(trace.op(event), Op::Write { .. });
    behind.find(is_write).expect("a write")
}

/// The first event of such an operation in a thread.
fn find(trace: &Trace, thread: usize, wanted: impl Fn(Op) -> bool) -> EventId {
    let mut events = trace.events().map(|(id, event)| (id, event.thread.index(), event.op));
    events.find(|&(_, of, op)| of == thread && wanted(op)).expect("such an event").0
}

/// All of a thread up to an event.
fn upto(trace: &Trace, last: EventId) -> Vec<EventId> {
    let events = trace.thread_events(trace.thread_of(last));
    events.iter().copied().filter(|&event| event <= last).collect()
}

/// Forces the schedule on the program: how it ended, and what the runtime says.
fn replay(program: &Program, how: &str, plan: &Plan) -> (i32, Option<Outcome>) {
    use std::os::unix::process::ExitStatusExt;
    let [file, outcome, recording] =
        ["plan", "outcome", "replayed.ftrec"].map(|name| program.folder.join(name));
    for stale in [&outcome, &recording] {
        // There is none the first time.
        let _ = fs::remove_file(stale);
    }
    fs::write(&file, plan.to_bytes()).unwrap();
    let ended = Command::new(&program.path)
        .arg(how)
        .env("FORETRACE_RECORDING", &recording)
        .env("FORETRACE_PLAN", &file)
        .env("FORETRACE_OUTCOME", &outcome)
        .output()
        .unwrap()
        .status;
    let answer = fs::read(&outcome).ok().and_then(|bytes| Outcome::read(&bytes));
    (ended.signal().unwrap_or_else(|| ended.code().unwrap_or(-1)), answer)
}

/// Records runs until the thread sees 0, and so does not fail.
fn recorded(program: &Program, how: &str) -> Trace {
    let harmless = (1..50).find_map(|seed: u32| {
        let run = program.run(&["--seed", &seed.to_string()], &[how]);
        (run.done.status == 0).then(|| open(&run.trace).unwrap().trace)
    });
    harmless.expect("a run in which the thread is first")
}

#[test]
fn failures_are_confirmed_where_they_happen() {
    let program = compile("failing", &["failing.c"]);
    for (how, signal) in [
        ("assert", libc::SIGABRT),
        ("FORETRACE_ASSERT", libc::SIGABRT),
        ("Abort", libc::SIGABRT),
        ("trap", libc::SIGILL),
        ("debugtrap", libc::SIGTRAP),
    ] {
        let trace = recorded(&program, how);
        let forks = find(&trace, 0, |op| matches!(op, Op::Fork { .. }));
        let writes = write(&trace);
        let reads = find(&trace, 1, |op| matches!(op, Op::Read { .. }));
        let violation = Violation::Assertion(match how {
            "FORETRACE_ASSERT" => find(&trace, 1, |op| matches!(op, Op::Assert { .. })),
            // Stands for the assertion: it is between the same operations, and has no ordinal
            // either.
            _ => find(&trace, 1, |op| matches!(op, Op::Alloc { .. })),
        });
        let (first, second) = (upto(&trace, writes), upto(&trace, reads));
        let plan = Plan::new(&trace, &violation, &[&first[..], &second].concat()).unwrap();
        assert_eq!(replay(&program, how, &plan), (signal, Some(Outcome::Confirmed)), "{how}");
        // What others still had to do when it fails does not matter.
        let more = trace.thread_events(trace.thread_of(writes))[first.len()..].first().copied();
        let late: Vec<EventId> = [&first[..], &second].concat().into_iter().chain(more).collect();
        let plan = Plan::new(&trace, &violation, &late).unwrap();
        assert_eq!(replay(&program, how, &plan).1, Some(Outcome::Confirmed), "{how}");
        // As it was recorded, the thread sees 0.
        let plan = Plan::new(&trace, &violation, &[&upto(&trace, forks)[..], &second].concat());
        let (status, outcome) = replay(&program, how, &plan.unwrap());
        assert_eq!((status, outcome), (123, Some(Outcome::NotReached)), "{how}");
    }
}

#[test]
fn a_failure_of_another_program_is_not_the_predicted_one() {
    let program = compile("not-failing", &["failing.c"]);
    let trace = recorded(&program, "assert");
    let writes = write(&trace);
    let reads = find(&trace, 1, |op| matches!(op, Op::Read { .. }));
    let violation = Violation::Assertion(find(&trace, 1, |op| matches!(op, Op::Alloc { .. })));
    let schedule = [upto(&trace, writes), upto(&trace, reads)].concat();
    let plan = Plan::new(&trace, &violation, &schedule).unwrap();
    let (status, outcome) = replay(&program, "nothing", &plan);
    assert_eq!((status, outcome), (123, Some(Outcome::NotReached)));
}
