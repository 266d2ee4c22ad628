//! Everything but the event columns: names, declarations, side tables, facts.
//!
//! Each is a list of numbers and strings. Lists by id or event are written in increasing order and
//! only read in increasing order, so that equal traces are equal files and no entry is there twice.

use std::io;

use super::BinaryError;
use super::bytes::{Cursor, put_number, put_string};
use super::sections::{Index, Tag};
use crate::expr::nodes::*;
use crate::expr::{BinaryOp, CastWidth, Node, UnaryOp};
use crate::provenance::Provenance;
use crate::store::{Builder, Dependences, Expressions, LockKind};
use crate::text::MAX_DEPTH;
use crate::{BarrierId, EventId, LockId, NameId, Names, ObjectId, Op, Place, SemId, Trace};
use crate::{ImplicitFault, Otherwise};

/// The tables of names with their tags.
pub(super) fn all_names(trace: &Trace) -> [(Tag, &Names); 10] {
    [
        (Tag::THREADS, trace.threads()),
        (Tag::OBJECTS, trace.objects()),
        (Tag::LOCKS, trace.locks()),
        (Tag::CONDS, trace.conds()),
        (Tag::SEMAPHORES, trace.semaphores()),
        (Tag::BARRIERS, trace.barriers()),
        (Tag::LOCATIONS, trace.locations()),
        (Tag::NAMES, trace.names()),
        (Tag::CHANNELS, trace.channels()),
        (Tag::FUNCTIONS, trace.functions()),
    ]
}

pub(super) fn encode_names(names: &Names) -> Vec<u8> {
    let mut out = Vec::new();
    if !names.is_empty() {
        put_number(&mut out, names.len() as u64);
        names.iter().for_each(|name| put_string(&mut out, name));
    }
    out
}

pub(super) fn decode_names(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    type Intern = fn(&mut Builder, &str) -> u32;
    let tables: [(Tag, Intern); 10] = [
        (Tag::THREADS, |builder, name| builder.thread(name).0),
        (Tag::OBJECTS, |builder, name| builder.object(name).0),
        (Tag::LOCKS, |builder, name| builder.lock(name).0),
        (Tag::CONDS, |builder, name| builder.cond(name).0),
        (Tag::SEMAPHORES, |builder, name| builder.semaphore(name).0),
        (Tag::BARRIERS, |builder, name| builder.barrier(name).0),
        (Tag::LOCATIONS, |builder, name| builder.location(name).0),
        (Tag::NAMES, |builder, name| builder.name(name).0),
        (Tag::CHANNELS, |builder, name| builder.channel(name).0),
        (Tag::FUNCTIONS, |builder, name| builder.function(name).0),
    ];
    for (tag, intern) in tables {
        let (content, offset) = index.gather(tag)?;
        if content.is_empty() {
            continue;
        }
        let mut cursor = Cursor::new(&content, offset);
        let count = cursor.count()?;
        if count >= u32::MAX as usize {
            return Err(cursor.damaged(format!("a table of {count} names")));
        }
        for expected in 0..count {
            let name = cursor.string()?;
            if intern(builder, name) as usize != expected {
                return Err(cursor.damaged(format!("the name `{}` twice", name.escape_debug())));
            }
        }
        cursor.finish()?;
    }
    Ok(())
}

pub(super) fn encode_declarations(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, trace.initial().len() as u64);
    for &(place, value) in trace.initial() {
        put_number(&mut out, place.object.0.into());
        put_number(&mut out, place.offset.into());
        put_number(&mut out, place.size.into());
        put_number(&mut out, value);
    }
    let kinds = trace.lock_kinds.iter().map(|(lock, &kind)| (lock.0, kind as u64));
    put_pairs(&mut out, kinds);
    let counts = trace.semaphore_counts.iter().map(|(sem, &count)| (sem.0, count.into()));
    put_pairs(&mut out, counts);
    let parties = trace.barrier_parties.iter().map(|(barrier, &count)| (barrier.0, count.into()));
    put_pairs(&mut out, parties);
    out
}

pub(super) fn decode_declarations(
    index: &mut Index,
    builder: &mut Builder,
) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::DECLARATIONS)?;
    let mut cursor = Cursor::new(&content, offset);
    let so_far = builder.so_far();
    let objects = so_far.objects().len() as u64;
    let (locks, semaphores) = (so_far.locks().len() as u64, so_far.semaphores().len() as u64);
    let barriers = so_far.barriers().len() as u64;
    for _ in 0..cursor.count()? {
        let object = ObjectId(cursor.below(objects, "object")?);
        let (offset, size, value) = (cursor.word()?, cursor.word()?, cursor.number()?);
        if offset.checked_add(size).is_none() {
            return Err(cursor.damaged("a place that ends beyond 2^32"));
        }
        builder.set_initial(Place { object, offset, size }, value);
    }
    take_pairs(&mut cursor, locks, "lock", |cursor, lock| {
        let kind = match cursor.number()? {
            1 => LockKind::Plain,
            2 => LockKind::Recursive,
            other => return Err(cursor.damaged(format!("the lock kind {other}"))),
        };
        builder.set_lock_kind(LockId(lock), kind);
        Ok(())
    })?;
    take_pairs(&mut cursor, semaphores, "semaphore", |cursor, sem| {
        builder.set_semaphore(SemId(sem), cursor.word()?);
        Ok(())
    })?;
    take_pairs(&mut cursor, barriers, "barrier", |cursor, barrier| {
        builder.set_barrier(BarrierId(barrier), cursor.word()?);
        Ok(())
    })?;
    cursor.finish()
}

pub(super) fn encode_side(trace: &Trace) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    put_pairs(&mut out, trace.written.iter().map(|(event, &value)| (event.0, value)));
    put_pairs(&mut out, trace.bindings.iter().map(|(event, name)| (event.0, name.0.into())));
    put_expressions(&mut out, &trace.expressions)?;
    Ok(out)
}

/// What read-modify-writes assume; nothing if none does.
pub(super) fn encode_assumptions(trace: &Trace) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    if !trace.assumptions.is_empty() {
        put_expressions(&mut out, &trace.assumptions)?;
    }
    Ok(out)
}

pub(super) fn decode_assumptions(
    index: &mut Index,
    builder: &mut Builder,
) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::ASSUMPTIONS)?;
    if content.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&content, offset);
    take_expressions(&mut cursor, offset, builder, Builder::assume_nodes)?;
    cursor.finish()
}

/// What goes wrong where branches go the other way; nothing if that is never known.
pub(super) fn encode_faults(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    if !trace.faults.is_empty() {
        let number = |otherwise: &Otherwise| {
            let operation = otherwise.operation.map_or(0, |ordinal| u64::from(ordinal) + 1);
            otherwise.fault as u64 | operation << 8
        };
        let faults = || trace.faults.iter();
        put_pairs(&mut out, faults().map(|(event, fault)| (event.0, number(fault))));
        let objects = || faults().filter_map(|(event, fault)| Some((event.0, fault.object?)));
        put_pairs(&mut out, objects().map(|(event, (start, _))| (event, start)));
        put_pairs(&mut out, objects().map(|(event, (_, size))| (event, size)));
    }
    out
}

pub(super) fn decode_faults(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::FAULTS)?;
    if content.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&content, offset);
    let events = builder.so_far().len() as u64;
    take_pairs(&mut cursor, events, "event", |cursor, event| {
        let number = cursor.number()?;
        let ordinal = (number >> 8).checked_sub(1).map(u32::try_from);
        let (Some(&fault), Ok(ordinal)) =
            (ImplicitFault::ALL.get((number & 0xff) as usize), ordinal.transpose())
        else {
            return Err(cursor.damaged(format!("unknown fault {number}")));
        };
        if !matches!(builder.so_far().op(EventId(event)), Op::Branch { .. }) {
            return Err(cursor.damaged(format!("event {event} is no branch")));
        }
        let otherwise = Otherwise { fault, operation: ordinal, object: None };
        builder.fails_otherwise(EventId(event), otherwise);
        Ok(())
    })?;
    for is_size in [false, true] {
        take_pairs(&mut cursor, events, "event", |cursor, event| {
            let number = cursor.number()?;
            let Some(otherwise) = builder.trace.faults.get_mut(EventId(event)) else {
                return Err(cursor.damaged(format!("event {event} cannot go wrong")));
            };
            let (start, size) = otherwise.object.get_or_insert_default();
            *if is_size { size } else { start } = number;
            Ok(())
        })?;
    }
    cursor.finish()
}

/// One byte if dependences are not recorded; else nothing.
pub(super) fn encode_dependences(trace: &Trace) -> Vec<u8> {
    match trace.dependences() {
        Dependences::Recorded => Vec::new(),
        Dependences::Unknown => vec![1],
    }
}

pub(super) fn decode_dependences(
    index: &mut Index,
    builder: &mut Builder,
) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::DEPENDENCES)?;
    match content[..] {
        [] => {}
        [1] => builder.set_dependences(Dependences::Unknown),
        _ => return Err(Cursor::new(&content, offset).damaged("unknown dependences")),
    }
    Ok(())
}

fn put_expressions(out: &mut Vec<u8>, of: &Expressions) -> io::Result<()> {
    put_number(out, of.len() as u64);
    for (event, expression) in of.iter() {
        if expression.depth() > MAX_DEPTH {
            let message = format!("event {}: an expression is nested too deep", event.0);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        put_number(out, event.0.into());
        put_number(out, expression.code().len() as u64);
        out.extend(expression.code());
    }
    Ok(())
}

fn take_expressions(
    cursor: &mut Cursor,
    offset: u64,
    builder: &mut Builder,
    put: fn(&mut Builder, EventId, &[Node]),
) -> Result<(), BinaryError> {
    let events = builder.so_far().len() as u64;
    let names = builder.so_far().names().len() as u64;
    let mut nodes = Vec::new();
    take_pairs(cursor, events, "event", |cursor, event| {
        let length = cursor.number()?;
        let code = cursor.take(length)?;
        take_expression(Cursor::new(code, offset), length, names, &mut nodes)?;
        put(builder, EventId(event), &nodes);
        Ok(())
    })
}

pub(super) fn decode_side(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::SIDE)?;
    let mut cursor = Cursor::new(&content, offset);
    let events = builder.so_far().len() as u64;
    let names = builder.so_far().names().len() as u64;
    take_pairs(&mut cursor, events, "event", |cursor, event| {
        let value = cursor.number()?;
        if !matches!(builder.so_far().op(EventId(event)), Op::Rmw { .. }) {
            return Err(cursor.damaged(format!("event {event} is no read-modify-write")));
        }
        builder.set_written(EventId(event), value);
        Ok(())
    })?;
    take_pairs(&mut cursor, events, "event", |cursor, event| {
        builder.bind(EventId(event), NameId(cursor.below(names, "name")?));
        Ok(())
    })?;
    take_expressions(&mut cursor, offset, builder, Builder::express_nodes)?;
    cursor.finish()
}

pub(super) fn encode_facts(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    for (fact, count) in trace.provenance() {
        put_string(&mut out, fact.code());
        let details = fact.details();
        put_number(&mut out, details.len() as u64);
        details.iter().for_each(|detail| put_string(&mut out, detail));
        put_number(&mut out, *count);
    }
    out
}

pub(super) fn decode_facts(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    decode_notes(index)?;
    let (content, offset) = index.gather(Tag::FACTS)?;
    let mut cursor = Cursor::new(&content, offset);
    while cursor.position() < content.len() as u64 {
        let code = cursor.string()?;
        let mut details = Vec::new();
        for _ in 0..cursor.count()? {
            details.push(cursor.string()?);
        }
        let Some(fact) = Provenance::from_parts(code, &details) else {
            return Err(cursor.damaged(format!("no fact is called {code:?} with these details")));
        };
        count_fact(&mut cursor, builder, fact)?;
    }
    cursor.finish()
}

fn count_fact(
    cursor: &mut Cursor,
    builder: &mut Builder,
    fact: Provenance,
) -> Result<(), BinaryError> {
    let count = cursor.number()?;
    if builder.so_far().provenance().iter().any(|(known, _)| *known == fact) {
        return Err(cursor.damaged(format!("the fact {:?} is there already", fact.code())));
    }
    builder.tell(fact, count);
    Ok(())
}

/// Facts were English sentences before they had codes; the section stays, and stays empty.
pub(super) fn encode_notes() -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, 0);
    out
}

fn decode_notes(index: &mut Index) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::NOTES)?;
    let mut cursor = Cursor::new(&content, offset);
    if cursor.count()? > 0 {
        return Err(cursor.damaged("notes from before facts had codes; record the run again"));
    }
    cursor.finish()
}

fn put_pairs(out: &mut Vec<u8>, pairs: impl Iterator<Item = (u32, u64)>) {
    let mut pairs: Vec<(u32, u64)> = pairs.collect();
    pairs.sort_unstable();
    put_number(out, pairs.len() as u64);
    for (id, value) in pairs {
        put_number(out, id.into());
        put_number(out, value);
    }
}

/// Reads a list of ids below a limit, which must increase; `each` reads what belongs to the id.
fn take_pairs<'a>(
    cursor: &mut Cursor<'a>,
    limit: u64,
    what: &str,
    mut each: impl FnMut(&mut Cursor<'a>, u32) -> Result<(), BinaryError>,
) -> Result<(), BinaryError> {
    let mut before = None;
    for _ in 0..cursor.count()? {
        let id = cursor.below(limit, what)?;
        if before.is_some_and(|before| before >= id) {
            return Err(cursor.damaged(format!("{what} {id} out of order")));
        }
        before = Some(id);
        each(cursor, id)?;
    }
    Ok(())
}

/// Reads an expression of `length` bytes into `nodes`.
pub(super) fn take_expression(
    mut cursor: Cursor,
    length: u64,
    names: u64,
    nodes: &mut Vec<Node>,
) -> Result<(), BinaryError> {
    nodes.clear();
    // The depths of the parts that no operator has taken yet.
    let mut parts: Vec<usize> = Vec::with_capacity(8);
    while cursor.position() < length {
        let code = cursor.byte()?;
        let unary = code.checked_sub(FIRST_UNARY).and_then(|op| UNARY.get(usize::from(op)));
        let binary =
            code.checked_sub(FIRST_BINARY).and_then(|op| BinaryOp::ALL.get(usize::from(op)));
        let (node, operands) = match (code, unary, binary) {
            (LITERAL, ..) => (Node::Literal(cursor.number()?), 0),
            (NAME, ..) => (Node::Name(NameId(cursor.below(names, "name")?)), 0),
            (IF_THEN_ELSE, ..) => (Node::IfThenElse, 3),
            (ZERO_EXTEND | SIGN_EXTEND, ..) => {
                let bits = cursor.byte()?;
                let width = CastWidth::new(bits.into())
                    .ok_or_else(|| cursor.damaged(format!("a cast to {bits} bits")))?;
                let op = match code {
                    ZERO_EXTEND => UnaryOp::ZeroExtend(width),
                    _ => UnaryOp::SignExtend(width),
                };
                (Node::Unary(op), 1)
            }
            (_, Some(&op), _) => (Node::Unary(op), 1),
            (_, _, Some(&op)) => (Node::Binary(op), 2),
            _ => return Err(cursor.damaged(format!("the unknown operator {code}"))),
        };
        let Some(first) = parts.len().checked_sub(operands) else {
            return Err(cursor.damaged("an operator without its operands"));
        };
        let depth = parts.drain(first..).map(|depth| depth + 1).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            return Err(cursor.damaged("an expression that is nested too deep"));
        }
        parts.push(depth);
        nodes.push(node);
    }
    match parts.len() {
        1 => Ok(()),
        _ => Err(cursor.damaged("not exactly one expression")),
    }
}
