//! Which calls wait until another one feeds them.
//!
//! **Computes.** For each read that blocks while its pipe, connection or counter is empty, the
//! writes that put in what it took out: its *piece*. Calls that may end such a wait otherwise (the
//! end of a stream, a change of the descriptor's flags), and writes of which something was taken by
//! no such read, feed all reads.
//!
//! **Why that is right** is in `docs/theory.md`, section 6: whatever was put in by the writes that
//! have been made was taken out by reads that have returned, so nothing is left. For this any
//! assignment does in which each byte that was taken is one that was put in. Here the first that
//! went in is the first that came out.
//!
//! **Invariant.** Where something else may put bytes in or take some out, where not all that was
//! taken is known, and in recordings of programs that handle signals, cancel threads or share their
//! descriptors with others, no call waits.
//!
//! **Cost.** Linear in the calls.

use foretrace_recording::channel::direction;
use foretrace_recording::file::flags;
use foretrace_recording::record::{kind, stream};
use rustc_hash::{FxHashMap, FxHashSet};

use super::records::Record;
use super::tables::Tables;

/// A channel, and whether it is its other direction.
pub(super) type Source = (u32, bool);

/// A call: its source, whether it puts something in, and which of those it is.
type Which = (Source, bool, usize);

/// Of a source with more calls than this, nothing is said.
const MOST_CALLS: usize = 50_000;

/// What is known of a call.
#[derive(Default)]
pub(super) struct Fed {
    /// What it feeds: a piece of a source, or all of it.
    pub(super) gives: Vec<(Source, Option<u32>)>,
    /// What it waits for: a piece of a source, or only its end.
    pub(super) waits: Option<(Source, Option<u32>)>,
}

/// The calls that wait, and those that feed them.
#[derive(Default)]
pub(super) struct Feeds {
    sources: FxHashMap<Source, Calls>,
    /// The open calls of each thread.
    open: FxHashMap<u32, Vec<Option<Which>>>,
    /// Calls that move no bytes, but may change how a channel's objects answer.
    closing: Vec<Closing>,
    /// The sockets that were connected while there were several threads, and by whom.
    connecting: Vec<(u32, u32)>,
    /// The thread that was there first, and whether there was another one so far.
    first: Option<u32>,
    has_others: bool,
    /// The channels of which nothing can be known.
    spoilt: FxHashSet<u32>,
    all_spoilt: bool,
    now: u64,
    /// By the number of the record that begins the call.
    known: FxHashMap<u64, Fed>,
}

/// A call that may end waits.
#[derive(Clone, Copy)]
struct Closing {
    entered: u64,
    channel: u32,
    /// There were no other threads yet: it comes before all that they do.
    alone: bool,
}

/// The calls on one source.
#[derive(Default)]
struct Calls {
    puts: Vec<Call>,
    takes: Vec<Call>,
}

#[derive(Clone, Copy)]
struct Call {
    thread: u32,
    entered: u64,
    /// `None` if it never does.
    left: Option<u64>,
    /// How much it wants to put in or to take out.
    size: u64,
    returned: i64,
    detail: u8,
}

impl Call {
    /// How much it has put in.
    fn put(&self) -> Option<u64> {
        self.left?;
        match self.detail & stream::COUNTER != 0 {
            true if self.returned >= 0 => Some(self.size),
            _ => Some(u64::try_from(self.returned).unwrap_or(0)),
        }
    }

    fn waits(&self) -> bool {
        self.detail & stream::WAITS != 0 && self.size > 0
    }
}

impl Feeds {
    /// Takes note of a record; all must come here, in their order.
    pub(super) fn note(&mut self, tables: &Tables, thread: u32, record: &Record) {
        self.now += 1;
        self.has_others |= *self.first.get_or_insert(thread) != thread || record.kind == kind::FORK;
        match record.kind {
            kind::ENTER_CALL => {
                let call = self.begun(tables, thread, record);
                self.open.entry(thread).or_default().push(call);
            }
            kind::LEAVE_CALL => {
                let open = self.open.entry(thread).or_default().pop().flatten();
                if let Some((source, puts, at)) = open
                    && let Some(calls) = self.sources.get_mut(&source)
                {
                    let call = if puts { &mut calls.puts[at] } else { &mut calls.takes[at] };
                    (call.left, call.returned) = (Some(self.now), record.word(0) as i64);
                }
            }
            _ => {}
        }
    }

    fn begun(&mut self, tables: &Tables, thread: u32, record: &Record) -> Option<Which> {
        let list = tables.channel_lists.get(&record.word(0)).map(Vec::as_slice);
        let detail = record.detail;
        match list {
            _ if detail & stream::CANCELS != 0 => self.all_spoilt = true,
            None => self.all_spoilt = true,
            Some(&[(channel, _)]) if detail & (stream::READ | stream::WRITE) != 0 => {
                let source = (channel, detail & stream::BACK != 0);
                let calls = self.sources.entry(source).or_default();
                let puts = detail & stream::WRITE != 0;
                let calls = if puts { &mut calls.puts } else { &mut calls.takes };
                let (entered, size) = (self.now, record.word(1));
                calls.push(Call { thread, entered, left: None, size, returned: -1, detail });
                return Some((source, puts, calls.len() - 1));
            }
            Some(list) => {
                let given = list.iter().filter(|(_, how)| how & direction::GIVES != 0);
                for &(channel, _) in given {
                    let (entered, alone) = (self.now, !self.has_others);
                    let is = |flag: u8| detail & (stream::QUIET | flag) == stream::QUIET | flag;
                    if is(stream::CONNECTS) {
                        self.connecting.extend((!alone).then_some((channel, thread)));
                    } else if is(stream::WAITS) {
                        // What a read would do before it is not known.
                        self.spoilt.extend((!alone).then_some(channel));
                    } else if is(0) {
                        self.closing.push(Closing { entered, channel, alone });
                    } else {
                        self.spoilt.insert(channel);
                    }
                }
            }
        }
        None
    }

    /// Finds out who feeds whom.
    pub(super) fn finish(&mut self, set: u32) {
        self.open.clear();
        let mut sources: Vec<_> = std::mem::take(&mut self.sources).into_iter().collect();
        if self.all_spoilt || set & flags::WAITS_END != 0 {
            return;
        }
        sources.sort_unstable_by_key(|(source, _)| *source);
        for (source, calls) in sources {
            let is_known = !self.spoilt.contains(&source.0)
                && calls.takes.len().max(calls.puts.len()) <= MOST_CALLS;
            if is_known {
                self.source(source, calls);
            }
        }
    }

    fn source(&mut self, source: Source, Calls { puts, mut takes }: Calls) {
        // Before a socket is connected, reads from it fail. The other end is there only behind
        // that.
        let is_early = |take: &Call| {
            let connects = |&(channel, by): &(u32, u32)| channel == source.0 && by != take.thread;
            source.1 && self.connecting.iter().any(connects)
        };
        if !takes.iter().any(Call::waits) || takes.iter().any(is_early) {
            return;
        }
        // What was done before there were threads, and did not keep others from writing, is so for
        // all that follows.
        let first = puts.iter().find(|put| put.put() > Some(0)).map_or(0, |put| put.entered);
        let closing = self
            .closing
            .iter()
            .filter(|call| call.channel == source.0 && !(call.alone && call.entered < first));
        let closing: Vec<u64> = closing.map(|call| call.entered).collect();
        // In the order in which they came back; those that never do took nothing.
        takes.sort_unstable_by_key(|take| take.left.unwrap_or(u64::MAX));
        let Some(pieces) = assign(&puts, &takes, &closing) else { return };
        let mut gives: FxHashMap<u64, Vec<Option<u32>>> = FxHashMap::default();
        for (number, (take, piece)) in takes.iter().zip(&pieces.of_takes).enumerate() {
            if !take.waits() || take.returned < 0 && take.left.is_some() {
                continue;
            }
            let number = number as u32;
            let has_piece = !piece.is_empty();
            let waits = Some((source, has_piece.then_some(number)));
            self.known.entry(take.entered).or_default().waits = waits;
            for put in piece.clone() {
                gives.entry(puts[put].entered).or_default().push(Some(number));
            }
        }
        // What no read that waits has taken is there for all of them.
        let left_over = puts.iter().zip(&pieces.is_left_over).filter(|(_, is)| **is);
        let left_over = left_over.map(|(put, _)| put.entered).chain(closing);
        left_over.for_each(|entered| gives.entry(entered).or_default().push(None));
        for (entered, pieces) in gives {
            let fed = self.known.entry(entered).or_default();
            fed.gives.extend(pieces.into_iter().map(|piece| (source, piece)));
        }
    }

    /// What is known of the call that this record begins.
    pub(super) fn of(&self, record: u64) -> Option<&Fed> {
        self.known.get(&record)
    }
}

/// Who took what.
struct Pieces {
    /// The writes of which each read took something.
    of_takes: Vec<std::ops::Range<usize>>,
    /// Whether something of a write was taken by no read that waits.
    is_left_over: Vec<bool>,
}

/// `None` where the numbers do not fit together: then somebody else puts something in, or takes
/// something out.
fn assign(puts: &[Call], takes: &[Call], closing: &[u64]) -> Option<Pieces> {
    // Behind each write, how much went in.
    let mut ends: Vec<u64> = Vec::with_capacity(puts.len());
    for put in puts {
        ends.push(ends.last().copied().unwrap_or(0u64).checked_add(put.put()?)?);
    }
    let mut of_takes = Vec::with_capacity(takes.len());
    let mut is_left_over = vec![false; puts.len()];
    let mut taken = 0u64;
    for take in takes {
        let Some(left) = take.left else {
            of_takes.push(0..0);
            continue;
        };
        let amount = u64::try_from(take.returned).unwrap_or(0);
        if amount == 0 {
            // The end of the stream: somebody has closed it.
            let is_end = take.returned == 0 && take.waits();
            if is_end && !closing.iter().any(|&at| at < left) {
                return None;
            }
            of_takes.push(0..0);
            continue;
        }
        let end = taken.checked_add(amount)?;
        let first = ends.partition_point(|&end| end <= taken);
        let last = ends.partition_point(|&before| before < end);
        if puts.get(last).is_none_or(|put| put.entered > left) {
            return None;
        }
        if !take.waits() {
            is_left_over[first..=last].fill(true);
        }
        of_takes.push(first..last + 1);
        taken = end;
    }
    let first = ends.partition_point(|&end| end <= taken);
    is_left_over[first..].fill(true);
    Some(Pieces { of_takes, is_left_over })
}
