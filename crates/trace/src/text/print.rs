//! The printer: a trace as text.
//!
//! **Computes.** One line per event, after the declarations. Reading a text gives names their ids
//! in the order of first appearance; where that is not the trace's own order, or a name does not
//! appear at all, the whole table is declared first (`thread t1`, `object x`, …).
//!
//! **Cost.** Two passes over the events; one reused buffer.

use std::fmt::Write as _;
use std::io;

use crate::event::*;
use crate::expr::Expr;
use crate::ids::*;
use crate::ops;
use crate::provenance::Provenance;
use crate::store::{Dependences, LockKind, Names, Trace};

use super::appearance::{Appearance, InOrder};
use super::cursor::is_bare;
use super::eval;
use super::expression;
use super::parse::DEFAULT_SIZE;
use super::quoting::{is_bare_location, quote};

/// The text form of a trace.
pub fn print(trace: &Trace) -> String {
    let mut out = Vec::new();
    write(trace, &mut out).expect("a Vec takes every byte");
    String::from_utf8(out).expect("the lines are strings")
}

/// Writes the text form of a trace.
pub fn write(trace: &Trace, out: &mut dyn io::Write) -> io::Result<()> {
    let mut buffer = String::from("foretrace-trace 1\n");
    declarations(trace, &mut buffer);
    for (id, event) in trace.events() {
        show_event(trace, id, event, &mut buffer);
        buffer.push('\n');
        if buffer.len() >= 1 << 16 {
            out.write_all(buffer.as_bytes())?;
            buffer.clear();
        }
    }
    out.write_all(buffer.as_bytes())
}

/// An event without its thread and location, as it stands in a text.
pub(crate) fn describe(trace: &Trace, id: EventId) -> String {
    let mut out = String::new();
    show_statement(trace, id, trace.op(id), &mut out);
    out
}

/// A place as it stands in a text.
pub(crate) fn show_place(trace: &Trace, at: Place) -> String {
    let mut out = String::new();
    push_place(trace, at, &mut out);
    out
}

/// A value of an access of `size` bytes: signed if it is a full word, as expressions take it.
pub(crate) fn show_value(value: u64, size: u32) -> String {
    if size >= 8 { (value as i64).to_string() } else { value.to_string() }
}

fn declarations(trace: &Trace, out: &mut String) {
    let appearance = Appearance::of(trace);
    let table = |out: &mut String, keyword: &str, names: &Names, order: &InOrder| {
        if !order.holds_for(names.len()) {
            for name in names.iter() {
                let _ = write!(out, "{keyword} ");
                push_name(name, out);
                out.push('\n');
            }
        }
    };
    table(out, "thread", trace.threads(), &appearance.threads);
    table(out, "object", trace.objects(), &appearance.objects);
    table(out, "cond", trace.conds(), &appearance.conds);
    table(out, "name", trace.names(), &appearance.names);
    table(out, "function", trace.functions(), &appearance.functions);
    // Lists name channels in another order than the events do.
    let lists_hold = appearance.channel_lists.holds_for(trace.channel_list_count());
    let channels_hold = if lists_hold { appearance.channels } else { InOrder::none() };
    let all = !channels_hold.holds_for(trace.channels().len());
    for (index, name) in trace.channels().iter().enumerate() {
        let is_delayed = trace.is_delayed(ChannelId::from(index));
        if all || is_delayed {
            out.push_str("channel ");
            push_name(name, out);
            out.push_str(if is_delayed { " delayed\n" } else { "\n" });
        }
    }
    if !lists_hold {
        for on in (0..trace.channel_list_count()).map(ChannelsId::from) {
            let _ = writeln!(out, "channels{}", channels(trace, on));
        }
    }
    if !appearance.locations.holds_for(trace.locations().len()) {
        for location in trace.locations().iter() {
            out.push_str("location ");
            push_location(location, out);
            out.push('\n');
        }
    }
    let all = !appearance.locks.holds_for(trace.locks().len());
    for (index, name) in trace.locks().iter().enumerate() {
        let kind = match trace.lock_kind(LockId::from(index)) {
            LockKind::Unknown if !all => continue,
            LockKind::Unknown => "",
            LockKind::Plain => " plain",
            LockKind::Recursive => " recursive",
        };
        out.push_str("lock ");
        push_name(name, out);
        let _ = writeln!(out, "{kind}");
    }
    let all = !appearance.semaphores.holds_for(trace.semaphores().len());
    for (index, name) in trace.semaphores().iter().enumerate() {
        counted(out, "semaphore", name, trace.semaphore_count(SemId::from(index)), all);
    }
    let all = !appearance.barriers.holds_for(trace.barriers().len());
    for (index, name) in trace.barriers().iter().enumerate() {
        counted(out, "barrier", name, trace.barrier_parties(BarrierId::from(index)), all);
    }
    for &(at, value) in trace.initial() {
        out.push_str("init ");
        push_place(trace, at, out);
        let _ = writeln!(out, " = {}", show_value(value, at.size));
    }
    for (at, reason) in trace.benign() {
        out.push_str("benign ");
        push_place(trace, *at, out);
        out.push(' ');
        quote(reason, out);
        out.push('\n');
    }
    if trace.dependences() == Dependences::Unknown {
        out.push_str("dependences unknown\n");
    }
    for (fact, count) in trace.provenance() {
        if let Provenance::Other(text) = fact {
            out.push_str("note ");
            push_name(text, out);
        } else {
            let _ = write!(out, "fact {}", fact.code());
            for detail in fact.details() {
                out.push(' ');
                push_name(&detail, out);
            }
        }
        let _ = writeln!(out, " = {count}");
    }
}

fn counted(out: &mut String, keyword: &str, name: &str, count: Option<u32>, always: bool) {
    if count.is_none() && !always {
        return;
    }
    let _ = write!(out, "{keyword} ");
    push_name(name, out);
    if let Some(count) = count {
        let _ = write!(out, " = {count}");
    }
    out.push('\n');
}

fn show_event(trace: &Trace, id: EventId, event: Event, out: &mut String) {
    push_name(trace.name(event.thread), out);
    out.push_str(": ");
    show_statement(trace, id, event.op, out);
    if let Some(location) = event.location {
        out.push_str(" @ ");
        push_location(trace.name(location), out);
    }
}

fn show_statement(trace: &Trace, id: EventId, op: Op, out: &mut String) {
    if let Op::Read { .. } | Op::Rmw { .. } = op
        && let Some(name) = trace.binding(id)
    {
        expression::show_name(trace.name(name), out);
        out.push_str(" = ");
    }
    let expr = match op {
        Op::Write { .. } | Op::Rmw { .. } => trace.expression(id),
        Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } | Op::Let => trace.expression(id),
        ops!(object sync call mark Read) => None,
    };
    let expr = expr.map(|expr| expr.tree());
    let expr = expr.as_ref();
    let lock = |lock: LockId| quoted_if(trace.name(lock), |name| name == "shared");
    let cond = |cond: CondId| named(trace.name(cond));
    let sem = |sem: SemId| named(trace.name(sem));
    let barrier = |barrier: BarrierId| named(trace.name(barrier));
    let thread = |thread: ThreadId| named(trace.name(thread));
    let object = |object: ObjectId| named(trace.name(object));
    let _ = match op {
        Op::Read { at, value, order } => {
            out.push_str("read ");
            push_place(trace, at, out);
            if let Some(value) = value {
                let _ = write!(out, " : {}", show_value(value, at.size));
            }
            out.write_str(order_suffix(order, MemoryOrder::Plain))
        }
        Op::Write { at, value, order } => {
            out.push_str("write ");
            push_place(trace, at, out);
            show_stored(trace, expr, value, at.size, out);
            out.write_str(order_suffix(order, MemoryOrder::Plain))
        }
        Op::Rmw { at, read, written, order } => {
            out.push_str("rmw ");
            push_place(trace, at, out);
            if let Some(read) = read {
                let _ = write!(out, " : {}", show_value(read, at.size));
            }
            match (expr, written) {
                (Some(expr), _) => {
                    out.push_str(" -> ");
                    expression::show(expr, trace.names(), out);
                    push_value(written, at.size, out);
                }
                (None, Some(written)) => {
                    let _ = write!(out, " -> {}", show_value(written, at.size));
                }
                (None, None) => {}
            }
            out.push_str(order_suffix(order, MemoryOrder::SeqCst));
            if let Some(assumption) = trace.assumption(id) {
                out.push_str(" assuming ");
                expression::show(&assumption.tree(), trace.names(), out);
            }
            Ok(())
        }
        Op::Let => {
            out.push_str("let ");
            if let (Some(name), Some(expr)) = (trace.binding(id), expr) {
                expression::show_name(trace.name(name), out);
                out.push_str(" = ");
                expression::show(expr, trace.names(), out);
            }
            Ok(())
        }
        Op::Branch { taken } => {
            let shown = show_condition(trace, "branch", expr, taken, out);
            let fault = trace.fault(id).map(|fault| format!(" else {}", fault.name()));
            let bytes = trace.guards_address(id).map(|bytes| format!(" {bytes}"));
            let behind = fault.unwrap_or_default() + &bytes.unwrap_or_default();
            shown.and_then(|()| out.write_str(&behind))
        }
        Op::Assert { holds } => show_condition(trace, "assert", expr, holds, out),
        Op::Assume { holds } => show_condition(trace, "assume", expr, holds, out),
        Op::Acquire { lock: on, mode, patience } => {
            let ok = if patience == Patience::Blocking { "" } else { " : ok" };
            write!(out, "{}acquire {}{}{ok}", attempt(patience), shared(mode), lock(on))
        }
        Op::AcquireFailed { lock: on, mode, patience } => {
            write!(out, "{}acquire {}{} : fail", attempt(patience), shared(mode), lock(on))
        }
        Op::Release { lock: on, mode } => write!(out, "release {}{}", shared(mode), lock(on)),
        Op::Destroy { lock: on } => write!(out, "destroy {}", lock(on)),
        Op::Wait { cond: on, lock: with, timed } => {
            let timed = if timed { "timed" } else { "" };
            write!(out, "{timed}wait {} {}", cond(on), lock(with))
        }
        Op::Wake { cond: on, lock: with, reason } => {
            let reason = match reason {
                WakeReason::Notified => "",
                WakeReason::TimedOut => " timeout",
                WakeReason::Spurious => " spurious",
            };
            write!(out, "wake {} {}{reason}", cond(on), lock(with))
        }
        Op::Signal { cond: on } => write!(out, "signal {}", cond(on)),
        Op::Broadcast { cond: on } => write!(out, "broadcast {}", cond(on)),
        Op::SemWait { sem: on, patience } => {
            let ok = if patience == Patience::Blocking { "" } else { " : ok" };
            write!(out, "{}semwait {}{ok}", attempt(patience), sem(on))
        }
        Op::SemWaitFailed { sem: on, patience } => {
            write!(out, "{}semwait {} : fail", attempt(patience), sem(on))
        }
        Op::SemPost { sem: on } => write!(out, "sempost {}", sem(on)),
        Op::Arrive { barrier: at } => write!(out, "arrive {}", barrier(at)),
        Op::Leave { barrier: at } => write!(out, "leave {}", barrier(at)),
        Op::Request(Request::Acquire(on, mode)) => {
            write!(out, "request acquire {}{}", shared(mode), lock(on))
        }
        Op::Request(Request::SemWait(on)) => write!(out, "request semwait {}", sem(on)),
        Op::Request(Request::Join(child)) => write!(out, "request join {}", thread(child)),
        Op::Fork { child } => write!(out, "fork {}", thread(child)),
        Op::Join { child } => write!(out, "join {}", thread(child)),
        Op::Begin => out.write_str("begin"),
        Op::End => out.write_str("end"),
        Op::Exit => out.write_str("exit"),
        Op::Alloc { object: made, size, address } => {
            let _ = write!(out, "alloc {} size {size}", object(made));
            address.map_or(Ok(()), |address| write!(out, " at {address:#x}"))
        }
        Op::Free { object: freed } => write!(out, "free {}", object(freed)),
        Op::RegionBegin => out.write_str("region begin"),
        Op::RegionEnd => out.write_str("region end"),
        Op::Fence { order } => write!(out, "fence {}", order_name(order)),
        Op::External => out.write_str("external"),
        Op::EnterCall { on, by } => {
            let _ = write!(out, "enter-call{}", channels(trace, on));
            by.map_or(Ok(()), |by| write!(out, " by {}", named(trace.name(by))))
        }
        Op::LeaveCall => out.write_str("leave-call"),
    };
}

/// The channels of a call, each with a space before it.
fn channels(trace: &Trace, on: ChannelsId) -> String {
    let Channels::Only(list) = trace.channels_of(on) else { return " *".to_string() };
    let is_read_otherwise =
        |name: &str| matches!(name, "*" | "by" | "waits-for") || name.starts_with(['<', '>']);
    let mut out = String::new();
    for (channel, direction) in list {
        out.push_str(match direction {
            Direction::Gives => " >",
            Direction::Takes => " <",
            Direction::Both => " ",
        });
        out.push_str(&quoted_if(trace.name(channel), is_read_otherwise));
    }
    if let Some(Awaited { source, piece }) = trace.awaited(on) {
        let name = |channel: ChannelId| named(trace.name(channel));
        let _ = write!(out, " waits-for {}", name(source));
        if let Some(piece) = piece {
            let _ = write!(out, " piece {}", name(piece));
        }
    }
    out
}

/// What a write stores: ` = expression : value`, with the value left out where a literal says it.
fn show_stored(
    trace: &Trace,
    expr: Option<&Expr>,
    value: Option<u64>,
    size: u32,
    out: &mut String,
) {
    match expr {
        Some(expr) => {
            out.push_str(" = ");
            expression::show(expr, trace.names(), out);
            let says_itself =
                matches!(*expr, Expr::Literal(word) if value == Some(eval::truncate(word, size)));
            if !says_itself {
                push_value(value, size, out);
            }
        }
        None if value.is_some() => push_value(value, size, out),
        None => {}
    }
}

fn push_value(value: Option<u64>, size: u32, out: &mut String) {
    match value {
        Some(value) => out.extend([" : ", &show_value(value, size)]),
        None => out.push_str(" : ?"),
    }
}

fn show_condition(
    trace: &Trace,
    keyword: &str,
    expr: Option<&Expr>,
    outcome: bool,
    out: &mut String,
) -> std::fmt::Result {
    out.push_str(keyword);
    if let Some(expr) = expr {
        out.push(' ');
        expression::show(expr, trace.names(), out);
    }
    write!(out, " : {outcome}")
}

fn order_suffix(order: MemoryOrder, default: MemoryOrder) -> &'static str {
    match order {
        _ if order == default => "",
        MemoryOrder::Plain => " plain",
        MemoryOrder::Relaxed => " atomic relaxed",
        MemoryOrder::Acquire => " atomic acquire",
        MemoryOrder::Release => " atomic release",
        MemoryOrder::AcqRel => " atomic acq_rel",
        MemoryOrder::SeqCst => " atomic seq_cst",
    }
}

fn order_name(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Plain => "plain",
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Acquire => "acquire",
        MemoryOrder::Release => "release",
        MemoryOrder::AcqRel => "acq_rel",
        MemoryOrder::SeqCst => "seq_cst",
    }
}

fn shared(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "",
        Mode::Shared => "shared ",
    }
}

fn attempt(patience: Patience) -> &'static str {
    match patience {
        Patience::Blocking => "",
        Patience::Timed => "timed",
        Patience::Try => "try",
    }
}

fn push_place(trace: &Trace, at: Place, out: &mut String) {
    push_name(trace.name(at.object), out);
    if at.offset != 0 || at.size != DEFAULT_SIZE {
        let _ = write!(out, "[{}:{}]", at.offset, at.size);
    }
}

fn push_name(name: &str, out: &mut String) {
    if is_bare(name) { out.push_str(name) } else { quote(name, out) }
}

fn push_location(location: &str, out: &mut String) {
    if is_bare_location(location) { out.push_str(location) } else { quote(location, out) }
}

/// A name as it stands in a text.
fn named(name: &str) -> String {
    quoted_if(name, |_| false)
}

/// A name as it stands in a text where some names would be taken for keywords.
fn quoted_if(name: &str, keyword: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    if keyword(name) {
        quote(name, &mut out)
    } else {
        push_name(name, &mut out)
    }
    out
}
