//! Which writes a read from a stream of bytes depends on.
//!
//! **Computes.** For each read that got all the bytes that it wanted, the last write that it got
//! bytes of; for each write, the read before which there may not have been room for it.
//!
//! **Why that is enough.** Bytes come out of a stream in the order in which they went in. A read
//! that got all that it wanted would have got the same if less had been written behind these bytes,
//! or more: it needs the write of its last byte, and with it all writes before, which keep their
//! order; and the reads before it. A write that finds room returns at once; it needs the reads
//! without which the bytes in the stream could be more than surely fit. All other calls (reads that
//! found less than they wanted, writes that had to wait, questions, closes) keep their order with
//! everything, as on any channel.
//!
//! **Invariant.** Where the order in the kernel is not known, since writes or reads overlap,
//! nothing is said of the stream.

use foretrace_recording::channel::direction;
use foretrace_recording::record::{kind, stream};
use rustc_hash::{FxHashMap, FxHashSet};

use super::records::Record;
use super::tables::Tables;

/// So many bytes fit into every stream, in so many writes: a pipe has 16 pages, and a write may
/// take a page for itself.
const ROOM: u64 = 4096;
const WRITES: usize = 15;

/// What one call on a stream needs, beyond those of its own kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exact {
    /// It is write number `write`, which some read needs if `is_read`.
    Write { write: u32, is_read: bool, after: After },
    /// It is read number `read`, which some write needs if `frees`; and it needs write number `of`.
    Read { read: u32, frees: bool, of: u32 },
}

/// Which reads a write needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// None: there was room from the start.
    Nothing,
    /// This one, and those before it.
    Read(u32),
    /// All: it had to wait, or nothing is known of its room.
    All,
}

/// A call on a stream.
#[derive(Clone, Copy)]
struct Call {
    entered: u64,
    left: u64,
    size: u64,
    result: i64,
    /// Whether the recording says that a write found room at once.
    at_once: bool,
}

/// The calls on all streams.
#[derive(Default)]
pub(super) struct Streams {
    streams: FxHashMap<Key, (Vec<Call>, Vec<Call>)>,
    /// The open calls of each thread: on which stream, which read or write of it.
    open: FxHashMap<u32, Vec<Option<Which>>>,
    /// By the number of the record that begins the call.
    exact: FxHashMap<u64, Exact>,
    /// The channels of which more is known.
    channels: FxHashSet<u32>,
    /// Those of which nothing can be known.
    spoilt: FxHashSet<u32>,
    /// Something that may use all channels was called: nothing can be known of any.
    all_spoilt: bool,
    now: u64,
}

/// Channel and direction.
type Key = (u32, bool);

/// A call on a stream: whether it writes, and which of the reads or writes it is.
type Which = (Key, bool, usize);

impl Streams {
    /// Takes note of a record; all must come here, in their order.
    pub(super) fn note(&mut self, tables: &Tables, thread: u32, record: &Record) {
        self.now += 1;
        match record.kind {
            kind::ENTER_CALL => {
                let call = self.begun(tables, record);
                self.open.entry(thread).or_default().push(call);
            }
            kind::LEAVE_CALL => {
                let open = self.open.entry(thread).or_default().pop().flatten();
                if let Some((key, writes, at)) = open
                    && let Some((written, read)) = self.streams.get_mut(&key)
                {
                    let call = if writes { &mut written[at] } else { &mut read[at] };
                    (call.left, call.result) = (self.now, record.word(0) as i64);
                }
            }
            _ => {}
        }
    }

    fn begun(&mut self, tables: &Tables, record: &Record) -> Option<Which> {
        let Some(list) = tables.channel_lists.get(&record.word(0)) else {
            self.all_spoilt = true;
            return None;
        };
        let is_stream = record.detail & (stream::READ | stream::WRITE) != 0
            && record.detail & (stream::COUNTER | stream::QUIET) == 0;
        let [(channel, how)] = list[..] else {
            // Calls on a stream have no other channel.
            self.spoil(record, list);
            return None;
        };
        if !is_stream {
            self.spoil(record, list);
            return None;
        }
        let writes = record.detail & stream::WRITE != 0;
        let key = (channel, record.detail & stream::BACK != 0);
        let (written, read) = self.streams.entry(key).or_default();
        let calls = if writes { written } else { read };
        calls.push(Call {
            entered: self.now,
            left: u64::MAX,
            size: record.word(1),
            result: -1,
            at_once: how == direction::GIVES,
        });
        Some((key, writes, calls.len() - 1))
    }

    /// Something may have put bytes into streams, or taken some out: how many, nobody knows.
    fn spoil(&mut self, record: &Record, list: &[(u32, u32)]) {
        if record.detail & stream::QUIET == 0 {
            let gives = list.iter().filter(|(_, how)| how & direction::GIVES != 0);
            self.spoilt.extend(gives.map(|&(channel, _)| channel));
        }
    }

    /// Finds out what reads and writes need.
    pub(super) fn finish(&mut self) {
        let mut streams: Vec<_> = std::mem::take(&mut self.streams).into_iter().collect();
        streams.sort_unstable_by_key(|(key, _)| *key);
        for ((channel, _), (written, read)) in streams {
            let is_spoilt = self.all_spoilt || self.spoilt.contains(&channel);
            let is_known = !is_spoilt && !overlap(&written) && !overlap(&read);
            if is_known && self.stream(&written, &read) {
                self.channels.insert(channel);
            }
        }
        self.open.clear();
    }

    /// Says `false` where more came out than went in: then somebody else writes too.
    fn stream(&mut self, written: &[Call], read: &[Call]) -> bool {
        // Behind each call, how many bytes went in or came out.
        let ends = |calls: &[Call]| -> Vec<u64> {
            let mut sum = 0;
            let mut add = |call: &Call| {
                sum += u64::try_from(call.result).unwrap_or(0);
                sum
            };
            calls.iter().map(&mut add).collect()
        };
        let (put, taken) = (ends(written), ends(read));
        let (mut is_read, mut frees) = (vec![false; written.len()], vec![false; read.len()]);
        let mut reads: Vec<Option<u32>> = vec![None; read.len()];
        for (at, call) in read.iter().enumerate() {
            let got_all = call.result > 0 && call.result as u64 == call.size;
            // The write that its last byte came from: the first behind which there are so many.
            let of = put.partition_point(|&end| end < taken[at]);
            if call.result > 0 && written.get(of).is_none_or(|write| write.entered > call.left) {
                return false;
            }
            if got_all {
                is_read[of] = true;
                reads[at] = Some(of as u32);
            }
        }
        let mut after = vec![After::All; written.len()];
        for (at, call) in written.iter().enumerate() {
            let wrote_all = call.result > 0 && call.result as u64 == call.size;
            if !call.at_once || !wrote_all {
                continue;
            }
            // What must be gone, so that the rest and this surely fit.
            let bytes = put[at].saturating_sub(ROOM);
            let pieces = (at + 1).checked_sub(WRITES + 1).map_or(0, |gone| put[gone]);
            let gone = bytes.max(pieces);
            if gone == 0 {
                after[at] = After::Nothing;
                continue;
            }
            let last = taken.partition_point(|&end| end < gone);
            if read.get(last).is_some_and(|read| read.left < call.entered) && reads[last].is_some()
            {
                frees[last] = true;
                after[at] = After::Read(last as u32);
            }
        }
        for (at, call) in read.iter().enumerate() {
            if let Some(of) = reads[at] {
                let exact = Exact::Read { read: at as u32, frees: frees[at], of };
                self.exact.insert(call.entered, exact);
            }
        }
        for (at, call) in written.iter().enumerate() {
            let (write, is_read, after) = (at as u32, is_read[at], after[at]);
            if is_read || after != After::All {
                self.exact.insert(call.entered, Exact::Write { write, is_read, after });
            }
        }
        true
    }

    /// Whether more is known of some calls on this channel than that they keep their order.
    pub(super) fn has(&self, channel: u32) -> bool {
        self.channels.contains(&channel)
    }

    /// What is known of the call that this record begins.
    pub(super) fn of(&self, record: u64) -> Option<Exact> {
        self.exact.get(&record).copied()
    }
}

/// Whether two calls were made at the same time.
fn overlap(calls: &[Call]) -> bool {
    calls.windows(2).any(|pair| pair[1].entered < pair[0].left)
}
