//! The calls inside which events happen: a section that a reader can do without.

use super::BinaryError;
use super::bytes::{Cursor, put_number};
use super::sections::{Index, Tag};
use crate::Trace;
use crate::ids::*;
use crate::store::Builder;

pub(super) fn encode(trace: &Trace) -> Vec<u8> {
    let (mut out, stacks) = (Vec::new(), &trace.stacks);
    if stacks.end() == 0 {
        return out;
    }
    put_number(&mut out, stacks.calls().len() as u64);
    for (caller, at) in stacks.calls() {
        put_number(&mut out, caller.0.into());
        put_number(&mut out, at.0.into());
    }
    put_number(&mut out, stacks.end() as u64);
    let mut before = 0;
    for event in (0..stacks.end()).map(EventId::from) {
        let stack = stacks.of(event).map_or(0, |stack| i64::from(stack.0) + 1);
        let distance = stack - before;
        put_number(&mut out, (distance << 1 ^ distance >> 63) as u64);
        before = stack;
    }
    out
}

pub(super) fn decode(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::STACKS)?;
    if content.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&content, offset);
    let locations = builder.so_far().locations().len() as u64;
    let stacks = cursor.count()? as u64;
    for stack in 1..=stacks {
        // Callers come before those whom they call.
        let caller = StackId(cursor.below(stack, "stack")?);
        let at = LocationId(cursor.below(locations, "location")?);
        if builder.called(caller, at).0 as u64 != stack {
            return Err(cursor.damaged("a stack that is there twice"));
        }
    }
    let events = cursor.count()?;
    if events == 0 || events > builder.so_far().len() {
        return Err(cursor.damaged(format!("stacks of {events} events")));
    }
    let mut before = 0i64;
    for event in (0..events).map(EventId::from) {
        let zigzag = cursor.number()?;
        let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let stack = before.checked_add(distance).and_then(|number| u64::try_from(number).ok());
        let Some(stack) = stack.filter(|&number| number <= stacks + 1) else {
            return Err(cursor.damaged(format!("an unknown stack of event {}", event.0)));
        };
        before = stack as i64;
        match (stack as u32).checked_sub(1) {
            Some(stack) => builder.happens_in(event, StackId(stack)),
            None if event.index() + 1 == events => {
                return Err(cursor.damaged("the last event has no stack"));
            }
            None => {}
        }
    }
    cursor.finish()
}
