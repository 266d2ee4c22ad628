//! Events in words, close to the text form of traces but without what a reader does not need.

use std::fmt::Write;

use foretrace_report::{Access, EffectKind, Operation};
use foretrace_trace::{
    ChannelId, Channels, ChannelsId, EventId, ImplicitFault, MemoryOrder, Mode, Op, Patience,
    Place, Request, Trace, WakeReason, ops,
};
use foretrace_witness::{FailedAssertion, StepValues};

use crate::readable::{Readable, small_negative};
use crate::trace::awaited;

/// What the event did, without thread and location: `write x : 5`.
pub fn operation(trace: &Trace, event: EventId) -> String {
    recorded(trace, event).text
}

/// The same for reports.
pub(crate) fn recorded(trace: &Trace, event: EventId) -> Operation {
    described(trace, event, trace.op(event))
}

/// What the event does in a schedule in which it sees, stores and computes this.
pub(crate) fn operation_with(trace: &Trace, event: EventId, values: &StepValues) -> Operation {
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
    let mut operation = described(trace, event, op);
    let is_constant = trace.expression(event).is_some_and(|expr| expr.literal().is_some());
    if let (Op::Let, Some(value), false) = (op, values.computed, is_constant) {
        push_value(&mut operation.text, " : ", WORD, Some(value));
    }
    operation
}

/// What a store that has not happened yet will do, where its value is not known: `write x = a + 1`.
pub(crate) fn coming_store(trace: &Trace, event: EventId) -> Option<Operation> {
    let expression = trace.expression(event)?;
    let (op, joint) = match trace.op(event) {
        Op::Write { at, order, .. } => (Op::Write { at, value: None, order }, "="),
        Op::Rmw { at, order, .. } => (Op::Rmw { at, read: None, written: None, order }, "->"),
        ops!(Read data sync object mark call) => return None,
    };
    let operation = described(trace, event, op);
    let value = Readable::of(trace, event, expression).show();
    Some(Operation { text: format!("{operation} {joint} {value}"), ..operation })
}

/// An access whose value is not known.
pub(crate) fn coming_access(trace: &Trace, event: EventId) -> Operation {
    let op = match trace.op(event) {
        Op::Read { at, order, .. } => Op::Read { at, value: None, order },
        Op::Write { at, order, .. } => Op::Write { at, value: None, order },
        Op::Rmw { at, order, .. } => Op::Rmw { at, read: None, written: None, order },
        op @ ops!(data sync object mark call) => op,
    };
    described(trace, event, op)
}

/// The assertion and what its names are worth: `assert balance >= 0 : false (balance = -60)`.
pub(crate) fn failed_assertion(
    trace: &Trace,
    event: EventId,
    assertion: &FailedAssertion,
) -> Operation {
    let mut operation = described(trace, event, Op::Assert { holds: false });
    let Some(expression) = trace.expression(event) else { return operation };
    let readable = Readable::of(trace, event, expression);
    let known = assertion.names.iter().filter_map(|named| Some((named.name, named.value?)));
    let names: Vec<String> = known.map(|(name, value)| readable.equation(name, value)).collect();
    if !names.is_empty() {
        write!(operation.text, " ({})", names.join(", ")).expect("a string takes all text");
    }
    operation
}

fn described(trace: &Trace, event: EventId, op: Op) -> Operation {
    // Nobody wrote it; what is next is the access.
    if let (Op::Assert { .. }, Some(ImplicitFault::Freed)) = (op, trace.fault(event)) {
        let access = trace.next(event).map(|access| coming_access(trace, access));
        return Operation { kind: EffectKind::Condition, ..access.unwrap_or_default() };
    }
    let (kind, on) = effect(trace, op);
    let on = on.into_iter().map(str::to_string).collect();
    Operation { text: operation_of(trace, event, op), kind, on, access: accessed(trace, op) }
}

/// What kind of effect an operation has, and on what.
fn effect(trace: &Trace, op: Op) -> (EffectKind, Vec<&str>) {
    match op {
        Op::Read { at, .. } => (EffectKind::Read, vec![trace.name(at.object)]),
        Op::Write { at, .. } => (EffectKind::Write, vec![trace.name(at.object)]),
        Op::Rmw { at, .. } => (EffectKind::Update, vec![trace.name(at.object)]),
        Op::Acquire { lock: id, .. } => (EffectKind::Acquire, vec![trace.name(id)]),
        Op::Release { lock: id, .. } => (EffectKind::Release, vec![trace.name(id)]),
        Op::Wait { cond: on, lock: id, .. } => {
            (EffectKind::Wait, vec![trace.name(id), trace.name(on)])
        }
        Op::Wake { cond: on, lock: id, .. } => {
            (EffectKind::Wake, vec![trace.name(id), trace.name(on)])
        }
        Op::Signal { cond: id } | Op::Broadcast { cond: id } => {
            (EffectKind::Notify, vec![trace.name(id)])
        }
        Op::SemPost { sem } => (EffectKind::Notify, vec![trace.name(sem)]),
        Op::SemWait { sem, .. } => (EffectKind::Take, vec![trace.name(sem)]),
        Op::Arrive { barrier: id } => (EffectKind::Notify, vec![trace.name(id)]),
        Op::Leave { barrier: id } => (EffectKind::Take, vec![trace.name(id)]),
        Op::Fork { child } => (EffectKind::Fork, vec![trace.name(child)]),
        Op::Join { child } => (EffectKind::Join, vec![trace.name(child)]),
        Op::Begin => (EffectKind::Begin, Vec::new()),
        Op::End => (EffectKind::End, Vec::new()),
        Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
            (EffectKind::Condition, Vec::new())
        }
        Op::AcquireFailed { lock: id, .. }
        | Op::Destroy { lock: id }
        | Op::Request(Request::Acquire(id, _)) => (EffectKind::Other, vec![trace.name(id)]),
        Op::SemWaitFailed { sem, .. } | Op::Request(Request::SemWait(sem)) => {
            (EffectKind::Other, vec![trace.name(sem)])
        }
        Op::Request(Request::Join(child)) => (EffectKind::Other, vec![trace.name(child)]),
        Op::Free { object: id } => (EffectKind::Other, vec![trace.name(id)]),
        Op::Exit | Op::Let | Op::Alloc { .. } | ops!(mark call) => (EffectKind::Other, Vec::new()),
    }
}

/// What an access finds and leaves.
fn accessed(trace: &Trace, op: Op) -> Option<Access> {
    let (at, seen, stored, is_plain) = match op {
        Op::Read { at, value, order } => (at, value, None, order == MemoryOrder::Plain),
        Op::Write { at, value, order } => (at, None, value, order == MemoryOrder::Plain),
        Op::Rmw { at, read, written, .. } => (at, read, written, true),
        ops!(data sync object mark call) => return None,
    };
    let shown = |value: Option<u64>| value.map(|value| shown(value, at.size));
    let (seen, stored) = (shown(seen), shown(stored));
    Some(Access { place: trace.place_name(at), seen, stored, is_plain })
}

fn operation_of(trace: &Trace, event: EventId, op: Op) -> String {
    let condition = || {
        let expr = trace.expression(event);
        expr.map_or(String::new(), |expr| format!(" {}", Readable::of(trace, event, expr).show()))
    };
    match op {
        Op::Read { at, value, order } => access("read", trace, at, order, " : ", value),
        Op::Write { at, value, order } => access("write", trace, at, order, " : ", value),
        Op::Rmw { at, read, written, order } => {
            let mut text = access("rmw", trace, at, order, " : ", read);
            push_value(&mut text, " -> ", at.size, written);
            text
        }
        Op::Branch { taken } => format!("branch{} : {taken}", condition()),
        Op::Assert { holds } => format!("assert{} : {holds}", condition()),
        Op::Assume { holds } => format!("assume{} : {holds}", condition()),
        Op::Acquire { lock: id, mode, patience } => {
            format!("{}acquire {}{}", eager(patience), shared(mode), trace.name(id))
        }
        Op::AcquireFailed { lock: id, mode, patience } => {
            format!("{}acquire {}{} : fail", eager(patience), shared(mode), trace.name(id))
        }
        Op::Release { lock: id, mode } => format!("release {}{}", shared(mode), trace.name(id)),
        Op::Destroy { lock: id } => format!("destroy {}", trace.name(id)),
        Op::Wait { cond: id, lock: with, timed } => {
            format!(
                "{}wait {} {}",
                if timed { "timed" } else { "" },
                trace.name(id),
                trace.name(with)
            )
        }
        Op::Wake { cond: id, lock: with, reason } => {
            let reason = match reason {
                WakeReason::Notified => "",
                WakeReason::TimedOut => " timeout",
                WakeReason::Spurious => " spurious",
            };
            format!("wake {} {}{reason}", trace.name(id), trace.name(with))
        }
        Op::Signal { cond: id } => format!("signal {}", trace.name(id)),
        Op::Broadcast { cond: id } => format!("broadcast {}", trace.name(id)),
        Op::SemWait { sem, patience } => format!("{}semwait {}", eager(patience), trace.name(sem)),
        Op::SemWaitFailed { sem, patience } => {
            format!("{}semwait {} : fail", eager(patience), trace.name(sem))
        }
        Op::SemPost { sem } => format!("sempost {}", trace.name(sem)),
        Op::Arrive { barrier: id } => format!("arrive {}", trace.name(id)),
        Op::Leave { barrier: id } => format!("leave {}", trace.name(id)),
        Op::Request(Request::Acquire(id, mode)) => {
            format!("request acquire {}{}", shared(mode), trace.name(id))
        }
        Op::Request(Request::SemWait(id)) => format!("request semwait {}", trace.name(id)),
        Op::Request(Request::Join(id)) => format!("request join {}", trace.name(id)),
        Op::Fork { child } => format!("fork {}", trace.name(child)),
        Op::Join { child } => format!("join {}", trace.name(child)),
        Op::Begin => "begin".to_string(),
        Op::End => "end".to_string(),
        Op::Exit => "exit".to_string(),
        Op::Alloc { object, .. } => format!("alloc {}", trace.block_name(object)),
        Op::Free { object } => format!("free {}", trace.block_name(object)),
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
            let name = trace.binding(event).map_or("?", |name| trace.name(name));
            format!("let {name} ={}", condition())
        }
    }
}

/// The function of a call, given by its enter: `write()`.
fn function(trace: &Trace, enter: Option<EventId>) -> String {
    match enter.map(|enter| trace.op(enter)) {
        Some(Op::EnterCall { by: Some(by), .. }) => {
            format!("{}()", trace.name(by))
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
            let name = |(channel, _): &(ChannelId, _)| trace.name(channel);
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
    write!(text, "{sign}{}", shown(value, size)).expect("a string takes all text");
}

fn shown(value: u64, size: u32) -> String {
    match size {
        WORD.. => (value as i64).to_string(),
        4 => small_negative(value).map_or(value.to_string(), |value| value.to_string()),
        _ => value.to_string(),
    }
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
