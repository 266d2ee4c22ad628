//! Events in blocks of 65,536, each the eight columns of the store.

use std::io;

use super::BinaryError;
use super::bytes::Cursor;
use super::columns::*;
use super::rows::Rules;
use super::sections::{Index, SectionWriter, Tag};
use crate::Trace;
use crate::store::{Builder, Columns};

/// How many events a block has at most.
pub(super) const BLOCK: usize = 1 << 16;

pub(super) fn encode(trace: &Trace, writer: &mut SectionWriter) -> io::Result<()> {
    let columns = &trace.columns;
    let mut content = Vec::new();
    for start in (0..trace.len()).step_by(BLOCK) {
        let block = start..trace.len().min(start + BLOCK);
        content.clear();
        content.extend_from_slice(&(block.len() as u32).to_le_bytes());
        encode_bytes(&columns.kind[block.clone()], &mut content);
        encode_bytes(&columns.detail[block.clone()], &mut content);
        encode_words(&columns.thread[block.clone()], &mut content);
        // One more than the id, so that "nowhere" is 0 and does not widen the column.
        let locations = columns.location[block.clone()].iter().map(|id| id.wrapping_add(1));
        encode_words(&locations.collect::<Vec<u32>>(), &mut content);
        encode_words(&columns.target[block.clone()], &mut content);
        encode_words(&columns.operand[block.clone()], &mut content);
        encode_words(&columns.size[block.clone()], &mut content);
        encode_longs(&columns.value[block], &mut content);
        writer.section(Tag::EVENTS, &content)?;
    }
    Ok(())
}

pub(super) fn decode(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (events, length) = (index.events, index.length);
    let damaged = |offset, problem| BinaryError::Damaged { offset, problem };
    // Before room is made for the events there must be as many blocks as they need.
    let most = index.count(Tag::EVENTS) as u64 * BLOCK as u64;
    if events > most || events >= u64::from(u32::MAX) {
        let problem = format!("{events} events announced, at most {most} there");
        return Err(damaged(length, problem));
    }
    if builder.try_reserve(events as usize).is_err() {
        return Err(damaged(length, format!("not enough memory for {events} events")));
    }
    let rules = Rules::new(builder.so_far());
    let mut rows = Columns::default();
    index.for_each(Tag::EVENTS, |content, offset| {
        decode_block(content, offset, &mut rows)?;
        if let Some(row) = rules.first_bad(&rows) {
            let problem = format!("row {row} of this block is not an event of this trace");
            return Err(damaged(offset, problem));
        }
        if (builder.so_far().len() + rows.kind.len()) as u64 > events {
            return Err(damaged(offset, format!("more than the {events} events announced")));
        }
        builder.append(&rows);
        Ok(())
    })?;
    match builder.so_far().len() as u64 {
        found if found == events => Ok(()),
        found => Err(damaged(length, format!("{events} events announced, {found} there"))),
    }
}

fn decode_block(content: &[u8], offset: u64, rows: &mut Columns) -> Result<(), BinaryError> {
    let mut cursor = Cursor::new(content, offset);
    let count = cursor.take(4)?;
    let count = u32::from_le_bytes(std::array::from_fn(|byte| count[byte])) as usize;
    if count == 0 || count > BLOCK {
        return Err(cursor.damaged(format!("a block of {count} events")));
    }
    decode_bytes(&mut cursor, count, &mut rows.kind)?;
    decode_bytes(&mut cursor, count, &mut rows.detail)?;
    decode_words(&mut cursor, count, &mut rows.thread)?;
    decode_words(&mut cursor, count, &mut rows.location)?;
    rows.location.iter_mut().for_each(|location| *location = location.wrapping_sub(1));
    decode_words(&mut cursor, count, &mut rows.target)?;
    decode_words(&mut cursor, count, &mut rows.operand)?;
    decode_words(&mut cursor, count, &mut rows.size)?;
    decode_longs(&mut cursor, count, &mut rows.value)?;
    cursor.finish()
}
