//! What is known of channels: sections of their own, absent where a trace has none.
//!
//! The lists of channels that calls name: each is the number of its channels + 1, or 0 for every
//! channel; then, in increasing order, for each channel its id times 4 plus its direction: 0 gives,
//! 1 takes, 2 both.

use super::BinaryError;
use super::bytes::{Cursor, put_number};
use super::sections::{Index, Tag};
use crate::store::Builder;
use crate::{Awaited, ChannelId, Channels, ChannelsId, Direction, Trace};

const DIRECTIONS: [Direction; 3] = [Direction::Gives, Direction::Takes, Direction::Both];

pub(super) fn encode(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    for on in (0..trace.channel_list_count()).map(ChannelsId::from) {
        let Channels::Only(list) = trace.channels_of(on) else {
            put_number(&mut out, 0);
            continue;
        };
        put_number(&mut out, list.len() as u64 + 1);
        for &(channel, direction) in list {
            put_number(&mut out, u64::from(channel.0) << 2 | direction as u64);
        }
    }
    out
}

/// What calls on each list wait for: 0 for nothing, else the source + 1, and then the piece + 1 or
/// 0 for none. Empty if none waits.
pub(super) fn encode_awaited(trace: &Trace) -> Vec<u8> {
    let lists = || (0..trace.channel_list_count()).map(ChannelsId::from);
    let mut out = Vec::new();
    if lists().all(|on| trace.awaited(on).is_none()) {
        return out;
    }
    let number = |channel: Option<ChannelId>| channel.map_or(0, |channel| u64::from(channel.0) + 1);
    for awaited in lists().map(|on| trace.awaited(on)) {
        put_number(&mut out, number(awaited.map(|awaited| awaited.source)));
        if let Some(awaited) = awaited {
            put_number(&mut out, number(awaited.piece));
        }
    }
    out
}

/// What calls on the next list wait for.
fn awaited(cursor: &mut Cursor, channels: u64) -> Result<Option<Awaited>, BinaryError> {
    let mut channel = || {
        let number = cursor.below(channels + 1, "channel")?;
        Ok::<_, BinaryError>(number.checked_sub(1).map(ChannelId))
    };
    let Some(source) = channel()? else { return Ok(None) };
    Ok(Some(Awaited { source, piece: channel()? }))
}

/// The channels on which what is given may arrive late, in increasing order.
pub(super) fn encode_delayed(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    trace.delayed.iter().for_each(|channel| put_number(&mut out, channel.0.into()));
    out
}

fn decode_delayed(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    let (content, offset) = index.gather(Tag::DELAYED)?;
    let mut cursor = Cursor::new(&content, offset);
    let channels = builder.so_far().channels().len() as u64;
    while cursor.position() < content.len() as u64 {
        let channel = ChannelId(cursor.below(channels, "channel")?);
        if builder.so_far().delayed.last().is_some_and(|&last| last >= channel) {
            return Err(cursor.damaged(format!("channel {} out of order", channel.0)));
        }
        builder.set_delayed(channel);
    }
    cursor.finish()
}

pub(super) fn decode(index: &mut Index, builder: &mut Builder) -> Result<(), BinaryError> {
    decode_delayed(index, builder)?;
    let (content, offset) = index.gather(Tag::CHANNEL_LISTS)?;
    let mut cursor = Cursor::new(&content, offset);
    let channels = builder.so_far().channels().len() as u64;
    let (waits, offset) = index.gather(Tag::AWAITED)?;
    let mut waiting = Cursor::new(&waits, offset);
    let mut list = Vec::new();
    while cursor.position() < content.len() as u64 {
        let expected = builder.so_far().channel_list_count();
        let awaited = if waits.is_empty() { None } else { awaited(&mut waiting, channels)? };
        let on = match cursor.number()?.checked_sub(1) {
            None if awaited.is_some() => {
                return Err(cursor.damaged("a call on every channel that waits for one"));
            }
            None => builder.every_channel(),
            Some(count) => {
                list.clear();
                for _ in 0..count {
                    list.push(entry(&mut cursor, channels)?);
                }
                if !list.is_sorted_by(|(one, _), (next, _)| one < next) {
                    return Err(cursor.damaged("a list of channels out of order"));
                }
                builder.channels_awaiting(&list, awaited)
            }
        };
        if on.index() != expected {
            return Err(cursor.damaged("a list of channels twice"));
        }
    }
    waiting.finish()?;
    cursor.finish()
}

fn entry(cursor: &mut Cursor, channels: u64) -> Result<(ChannelId, Direction), BinaryError> {
    let number = cursor.number()?;
    let direction = DIRECTIONS.get((number & 3) as usize);
    match (u32::try_from(number >> 2), direction) {
        (Ok(channel), Some(&direction)) if u64::from(channel) < channels => {
            Ok((ChannelId(channel), direction))
        }
        _ => Err(cursor.damaged(format!("channel {number}, of which there are {channels}"))),
    }
}
