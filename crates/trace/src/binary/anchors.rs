//! Ordinals and benign places: sections of their own, absent where a trace has none.

use super::BinaryError;
use super::bytes::{Cursor, put_number, put_string};
use super::sections::{Index, Tag};
use crate::store::Builder;
use crate::{EventId, ObjectId, Place, Trace};

pub(super) fn encode_benign(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, reason) in trace.benign() {
        put_number(&mut out, at.object.0.into());
        put_number(&mut out, at.offset.into());
        put_number(&mut out, at.size.into());
        put_string(&mut out, reason);
    }
    out
}

pub(super) fn decode_benign(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::BENIGN)?;
    let mut cursor = Cursor::new(&content, offset);
    let objects = builder.so_far().objects().len() as u64;
    while cursor.position() < content.len() as u64 {
        let object = ObjectId(cursor.below(objects, "object")?);
        let (offset, size) = (cursor.word()?, cursor.word()?);
        if offset.checked_add(size).is_none() {
            return Err(cursor.damaged("a place that ends beyond 2^32"));
        }
        builder.declare_benign(Place { object, offset, size }, cursor.string()?);
    }
    cursor.finish()
}

/// For each event the kind of its record, and if there is one, how far its ordinal is from that
/// after the one before it in its thread, zigzag.
pub(super) fn encode_ordinals(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    if !trace.has_ordinals() {
        return out;
    }
    let mut expected = vec![0u32; trace.threads().len()];
    for event in (0..trace.len()).map(EventId::from) {
        let (Some(kind), Some(ordinal)) = (trace.record_kind(event), trace.ordinal(event)) else {
            out.push(0);
            continue;
        };
        // One more than the kind, so that any kind can be told from none.
        put_number(&mut out, u64::from(kind) + 1);
        let expected = &mut expected[trace.thread_of(event).index()];
        let distance = i64::from(ordinal) - i64::from(*expected);
        put_number(&mut out, (distance << 1 ^ distance >> 63) as u64);
        *expected = ordinal.wrapping_add(1);
    }
    out
}

pub(super) fn decode_ordinals(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::ORDINALS)?;
    if content.is_empty() {
        return Ok(());
    }
    let mut cursor = Cursor::new(&content, offset);
    let mut expected = vec![0u32; builder.so_far().threads().len()];
    let mut any = false;
    for event in 0..builder.so_far().len() {
        let kind = cursor.below(257, "kind of record + 1")?;
        let Some(kind) = kind.checked_sub(1) else { continue };
        let event = EventId::from(event);
        let thread = builder.so_far().thread_of(event).index();
        let zigzag = cursor.number()?;
        let distance = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let expected = &mut expected[thread];
        let ordinal = i64::from(*expected).checked_add(distance);
        let ordinal = ordinal.and_then(|ordinal| u32::try_from(ordinal).ok());
        let Some(ordinal) = ordinal.filter(|&ordinal| ordinal != u32::MAX) else {
            return Err(cursor.damaged(format!("an ordinal outside 32 bits for event {}", event.0)));
        };
        builder.set_ordinal(event, ordinal, kind as u8);
        *expected = ordinal.wrapping_add(1);
        any = true;
    }
    if !any {
        return Err(cursor.damaged("no event has an ordinal"));
    }
    cursor.finish()
}
