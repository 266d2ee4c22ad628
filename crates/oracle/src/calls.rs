//! Recorded runs of threads that talk through channels.
//!
//! **Computes.** A trace with calls: any other one, into which they are put at random places; or
//! one of reads, writes and calls only, which has more of them. Calls have one or more channels or
//! none, give or take or both, are on every channel, nest, and may never leave.
//!
//! **Follows.** The rules of a valid trace: a call needs nothing but to be entered before it is
//! left.

use std::fmt::Write;

use foretrace_trace::{EventId, Op, ThreadId, Trace, text};

use foretrace_testing::Random;

/// A trace is not longer than this without its calls, if it has more than one.
const LONG: usize = 12;

/// A line of the text: of an event that was there, or a new one.
struct Line {
    thread: ThreadId,
    old: Option<EventId>,
    text: String,
}

/// The trace, with calls.
pub(crate) fn with_calls(trace: &Trace, mut random: Random) -> Trace {
    if trace.threads().is_empty() {
        return trace.clone();
    }
    let printed = text::print(trace);
    let lines: Vec<&str> = printed.lines().collect();
    let (declarations, events) = lines.split_at(lines.len() - trace.len());
    let mut all: Vec<Line> = Vec::new();
    for ((event, _), text) in trace.ops().zip(events) {
        let thread = trace.thread_of(event);
        all.push(Line { thread, old: Some(event), text: text.to_string() });
    }
    let calls = if trace.len() > LONG { 1 + random.below(2) } else { 2 + random.below(3) };
    for _ in 0..calls {
        let thread = ThreadId::from(random.below(trace.threads().len()));
        let enter = format!("enter-call {}", channels(&mut random));
        let Some(at) = insert(trace, &mut all, thread, 0, &enter, &mut random) else { continue };
        if random.chance(85) {
            insert(trace, &mut all, thread, at + 1, "leave-call", &mut random);
        }
    }
    let mut out: String = declarations.iter().map(|line| format!("{line}\n")).collect();
    if random.chance(15) {
        out.push_str("channel q delayed\n");
    }
    all.iter().for_each(|line| writeln!(out, "{}", line.text).unwrap());
    text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

/// Reads and writes of two or three threads.
pub(crate) fn accesses(random: &mut Random) -> Trace {
    let threads = 2 + random.below(2);
    let mut out = String::from("init x = 0\ninit y = 0\n");
    let mut values = [0, 0];
    for _ in 0..3 + random.below(4) {
        let (thread, place) = (random.below(threads), random.below(2));
        let (name, line) = (["x", "y"][place], 1 + random.below(4));
        let what = match random.chance(50) {
            true => format!("read {name} : {}", values[place]),
            false => {
                values[place] = random.below(3);
                format!("write {name} = {}", values[place])
            }
        };
        writeln!(out, "t{thread}: {what} @ a.c:{line}").unwrap();
    }
    text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
}

fn channels(random: &mut Random) -> String {
    if random.chance(12) {
        return "*".to_string();
    }
    let mut list = Vec::new();
    for name in ["p", "q", "r"] {
        if random.chance(45) {
            list.push(random.pick(&["", "", ">", "<"]).to_string() + name);
        }
    }
    list.join(" ")
}

/// Puts an event of a thread somewhere behind `from`. Returns where, if there is a place.
fn insert(
    trace: &Trace,
    lines: &mut Vec<Line>,
    thread: ThreadId,
    from: usize,
    text: &str,
    random: &mut Random,
) -> Option<usize> {
    let places: Vec<usize> =
        (from..=lines.len()).filter(|&at| is_possible(trace, lines, thread, at)).collect();
    if places.is_empty() {
        return None;
    }
    let at = random.pick(&places);
    let name = trace.name(thread);
    let text = format!("{name}: {text} @ a.c:{}", 1 + random.below(4));
    lines.insert(at, Line { thread, old: None, text });
    Some(at)
}

/// Whether the thread can do something else before this line.
fn is_possible(trace: &Trace, lines: &[Line], thread: ThreadId, at: usize) -> bool {
    let (before, behind) = lines.split_at(at);
    let op = |line: &Line| line.old.map(|event| trace.op(event));
    let is_forked = trace.other_ops().any(|(_, op)| op == Op::Fork { child: thread });
    let has_begun = !is_forked || before.iter().any(|l| op(l) == Some(Op::Fork { child: thread }));
    let is_over = |line: &Line| {
        matches!(op(line), Some(Op::Exit)) || op(line) == Some(Op::Join { child: thread })
    };
    let own = |line: &&Line| line.thread == thread;
    let last = before.iter().rev().find(own).and_then(op);
    let next = behind.iter().find(own);
    let is_hung = next.is_none() && matches!(last, Some(Op::Request(_) | Op::Arrive { .. }));
    has_begun
        && !before.iter().any(is_over)
        && !matches!(last, Some(Op::Wait { .. } | Op::End))
        && !is_hung
        && next.and_then(op) != Some(Op::Begin)
}
