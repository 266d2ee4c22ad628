//! Events in words, close to the text form of traces but without what a reader does not need.

use std::fmt::Write;

use foretrace_trace::{
    ChannelId, Channels, ChannelsId, EventId, ImplicitFault, MemoryOrder, Mode, Op, Patience,
    Place, Request, Trace, WakeReason, ops,
};
use foretrace_witness::{FailedAssertion, StepValues};

use crate::readable::{Readable, small_negative};
use crate::trace::awaited;

/// What the event did, without thread and location: `write x : 5`.
pub fn operation(trace: &Trace, event: EventId) -> String {
    operation_of(trace, event, trace.op(event))
}

/// What the event does in a schedule in which it sees, stores and computes this.
pub(crate) fn operation_with(trace: &Trace, event: EventId, values: &StepValues) -> String {
    let truth = |recorded: bool| values.computed.map_or(recorded, |value| value != 0);
    let op = match trace.op(event) {
        Op::Read { at, order, .. } => Op::Read { at, value: values.seen, order },
        Op::Write { at, order, .. } => Op::Write { at, value: values.stored, order },
        Op::Rmw { at, order, .. } => {
            Op::Rmw { at, read: values.seen, written: values.stored, order }
        }
        Op::Branch { taken } => Op::Branch { taken: truth(taken) },
        Op::Assert { holds } => Op::Assert { holds: truth(holds) },
        Op::Assume { holds } => Op::Assume { holds: truth(holds) },
        op @ ops!(Let sync object mark call) => op,
    };
    let mut text = operation_of(trace, event, op);
    let is_constant = trace.expression(event).is_some_and(|expr| expr.literal().is_some());
    if let (Op::Let, Some(value), false) = (op, values.computed, is_constant) {
        push_value(&mut text, " : ", WORD, Some(value));
    }
    text
}

/// What a store that has not happened yet will do, where its value is not known: `write x = a + 1`.
pub(crate) fn coming_store(trace: &Trace, event: EventId) -> Option<String> {
    let expression = trace.expression(event)?;
    let (op, joint) = match trace.op(event) {
        Op::Write { at, order, .. } => (Op::Write { at, value: None, order }, "="),
        Op::Rmw { at, order, .. } => (Op::Rmw { at, read: None, written: None, order }, "->"),
        ops!(Read data sync object mark call) => return None,
    };
    let text = operation_of(trace, event, op);
    Some(format!("{text} {joint} {}", Readable::of(trace, event, expression).show()))
}

/// An access whose value is not known.
pub(crate) fn coming_access(trace: &Trace, event: EventId) -> String {
    let op = match trace.op(event) {
        Op::Read { at, order, .. } => Op::Read { at, value: None, order },
        Op::Write { at, order, .. } => Op::Write { at, value: None, order },
        Op::Rmw { at, order, .. } => Op::Rmw { at, read: None, written: None, order },
        op @ ops!(data sync object mark call) => op,
    };
    operation_of(trace, event, op)
}

/// The assertion and what its names are worth: `assert balance >= 0 : false (balance = -60)`.
pub(crate) fn failed_assertion(
    trace: &Trace,
    event: EventId,
    assertion: &FailedAssertion,
) -> String {
    let mut text = operation_of(trace, event, Op::Assert { holds: false });
    let Some(expression) = trace.expression(event) else { return text };
    let readable = Readable::of(trace, event, expression);
    let known = assertion.names.iter().filter_map(|named| Some((named.name, named.value?)));
    let names: Vec<String> = known.map(|(name, value)| readable.equation(name, value)).collect();
    if !names.is_empty() {
        write!(text, " ({})", names.join(", ")).expect("a string takes all text");
    }
    text
}

fn operation_of(trace: &Trace, event: EventId, op: Op) -> String {
    let condition = || {
        let expr = trace.expression(event);
        expr.map_or(String::new(), |expr| format!(" {}", Readable::of(trace, event, expr).show()))
    };
    let lock = |id: foretrace_trace::LockId| trace.locks().get(id.index());
    let cond = |id: foretrace_trace::CondId| trace.conds().get(id.index());
    let semaphore = |id: foretrace_trace::SemId| trace.semaphores().get(id.index());
    let barrier = |id: foretrace_trace::BarrierId| trace.barriers().get(id.index());
    let thread = |id: foretrace_trace::ThreadId| trace.threads().get(id.index());
    let object = |id: foretrace_trace::ObjectId| trace.objects().get(id.index());
    match op {
        Op::Read { at, value, order } => access("read", trace, at, order, " : ", value),
        Op::Write { at, value, order } => access("write", trace, at, order, " : ", value),
        Op::Rmw { at, read, written, order } => {
            let mut text = access("rmw", trace, at, order, " : ", read);
            push_value(&mut text, " -> ", at.size, written);
            text
        }
        // Nobody wrote it; what is next is the access.
        Op::Assert { .. } if trace.fault(event) == Some(ImplicitFault::Freed) => {
            trace.next(event).map_or(String::new(), |access| coming_access(trace, access))
        }
        Op::Branch { taken } => format!("branch{} : {taken}", condition()),
        Op::Assert { holds } => format!("assert{} : {holds}", condition()),
        Op::Assume { holds } => format!("assume{} : {holds}", condition()),
        Op::Acquire { lock: id, mode, patience } => {
            format!("{}acquire {}{}", eager(patience), shared(mode), lock(id))
        }
        Op::AcquireFailed { lock: id, mode, patience } => {
            format!("{}acquire {}{} : fail", eager(patience), shared(mode), lock(id))
        }
        Op::Release { lock: id, mode } => format!("release {}{}", shared(mode), lock(id)),
        Op::Destroy { lock: id } => format!("destroy {}", lock(id)),
        Op::Wait { cond: id, lock: with, timed } => {
            format!("{}wait {} {}", if timed { "timed" } else { "" }, cond(id), lock(with))
        }
        Op::Wake { cond: id, lock: with, reason } => {
            let reason = match reason {
                WakeReason::Notified => "",
                WakeReason::TimedOut => " timeout",
                WakeReason::Spurious => " spurious",
            };
            format!("wake {} {}{reason}", cond(id), lock(with))
        }
        Op::Signal { cond: id } => format!("signal {}", cond(id)),
        Op::Broadcast { cond: id } => format!("broadcast {}", cond(id)),
        Op::SemWait { sem, patience } => format!("{}semwait {}", eager(patience), semaphore(sem)),
        Op::SemWaitFailed { sem, patience } => {
            format!("{}semwait {} : fail", eager(patience), semaphore(sem))
        }
        Op::SemPost { sem } => format!("sempost {}", semaphore(sem)),
        Op::Arrive { barrier: id } => format!("arrive {}", barrier(id)),
        Op::Leave { barrier: id } => format!("leave {}", barrier(id)),
        Op::Request(Request::Acquire(id, mode)) => {
            format!("request acquire {}{}", shared(mode), lock(id))
        }
        Op::Request(Request::SemWait(id)) => format!("request semwait {}", semaphore(id)),
        Op::Request(Request::Join(id)) => format!("request join {}", thread(id)),
        Op::Fork { child } => format!("fork {}", thread(child)),
        Op::Join { child } => format!("join {}", thread(child)),
        Op::Begin => "begin".to_string(),
        Op::End => "end".to_string(),
        Op::Exit => "exit".to_string(),
        Op::Alloc { object: id, .. } => format!("alloc {}", object(id)),
        Op::Free { object: id } => format!("free {}", object(id)),
        Op::RegionBegin => "region begin".to_string(),
        Op::RegionEnd => "region end".to_string(),
        Op::Fence { .. } => "fence".to_string(),
        Op::External => "external".to_string(),
        Op::EnterCall { on, .. } => {
            format!("enter {} on {}", function(trace, Some(event)), channels(trace, on))
        }
        Op::LeaveCall => {
            let enter = trace.enter_of(event);
            let call = function(trace, enter);
            match enter.and_then(|enter| awaited(trace, enter)) {
                Some(source) => format!("leave {call} that waits for {source}"),
                None => format!("leave {call}"),
            }
        }
        Op::Let => {
            let name = trace.binding(event).map_or("?", |name| trace.names().get(name.index()));
            format!("let {name} ={}", condition())
        }
    }
}

/// The function of a call, given by its enter: `write()`.
fn function(trace: &Trace, enter: Option<EventId>) -> String {
    match enter.map(|enter| trace.op(enter)) {
        Some(Op::EnterCall { by: Some(by), .. }) => {
            format!("{}()", trace.functions().get(by.index()))
        }
        _ => "call".to_string(),
    }
}

/// The channels of a call, for readers: `pipe#1, clock`.
fn channels(trace: &Trace, on: ChannelsId) -> String {
    match trace.channels_of(on) {
        Channels::Every => "every channel".to_string(),
        Channels::Only([]) => "no channel".to_string(),
        Channels::Only(list) => {
            let name = |(channel, _): &(ChannelId, _)| trace.channels().get(channel.index());
            list.iter().map(name).collect::<Vec<&str>>().join(", ")
        }
    }
}

fn access(
    verb: &str,
    trace: &Trace,
    at: Place,
    order: MemoryOrder,
    sign: &str,
    value: Option<u64>,
) -> String {
    let atomic = if order == MemoryOrder::Plain || verb == "rmw" { "" } else { "atomic " };
    let mut text = format!("{atomic}{verb} {}", trace.place_name(at));
    push_value(&mut text, sign, at.size, value);
    text
}

/// How many bytes are computed with.
const WORD: u32 = 8;

/// Whole words are signed, as in the text form of traces. Of 32 bits those near 0 are.
fn push_value(text: &mut String, sign: &str, size: u32, value: Option<u64>) {
    let Some(value) = value else { return };
    let value = match size {
        WORD.. => i128::from(value as i64),
        4 => small_negative(value).map_or(value.into(), i128::from),
        _ => value.into(),
    };
    write!(text, "{sign}{value}").expect("a string takes all text");
}

pub(crate) fn eager(patience: Patience) -> &'static str {
    match patience {
        Patience::Blocking => "",
        Patience::Timed => "timed",
        Patience::Try => "try",
    }
}

pub(crate) fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => "shared ",
    }
}

/// The operation's name without its operands, for counting.
pub fn verb(op: &Op) -> &'static str {
    match op {
        Op::Read { .. } => "read",
        Op::Write { .. } => "write",
        Op::Rmw { .. } => "rmw",
        Op::Branch { .. } => "branch",
        Op::Assert { .. } => "assert",
        Op::Assume { .. } => "assume",
        Op::Acquire { .. } => "acquire",
        Op::AcquireFailed { .. } => "acquire (failed)",
        Op::Release { .. } => "release",
        Op::Destroy { .. } => "destroy",
        Op::Wait { .. } => "wait",
        Op::Wake { .. } => "wake",
        Op::Signal { .. } => "signal",
        Op::Broadcast { .. } => "broadcast",
        Op::SemWait { .. } => "semwait",
        Op::SemWaitFailed { .. } => "semwait (failed)",
        Op::SemPost { .. } => "sempost",
        Op::Arrive { .. } => "arrive",
        Op::Leave { .. } => "leave",
        Op::Request(_) => "request",
        Op::Fork { .. } => "fork",
        Op::Join { .. } => "join",
        Op::Begin => "begin",
        Op::End => "end",
        Op::Exit => "exit",
        Op::Alloc { .. } => "alloc",
        Op::Free { .. } => "free",
        Op::RegionBegin => "region begin",
        Op::RegionEnd => "region end",
        Op::Fence { .. } => "fence",
        Op::External => "external",
        Op::EnterCall { .. } => "enter call",
        Op::LeaveCall => "leave call",
        Op::Let => "let",
    }
}
