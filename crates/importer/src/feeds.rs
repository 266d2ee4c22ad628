//! Which calls block until another call feeds them.
//!
//! **Computes.** For each read that blocks while its pipe, connection or counter is empty, the
//! writes that put in what it took out: its *piece*. A `poll` or `select` takes nothing: its piece
//! is a write that put in what it found, or, if it waits for one of several, all writes. Calls that
//! may end such a wait otherwise (the end of a stream, a change of the descriptor's flags), and
//! writes of which something was taken by no such read, feed all reads.
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

use std::ops::Range;

use foretrace_recording::channel::direction::{self, GIVES, TAKES};
use foretrace_recording::file::flags;
use foretrace_recording::record::{kind, stream};
use rustc_hash::{FxHashMap, FxHashSet};

use super::records::Record;
use super::tables::Tables;

/// A channel, and whether it is its other direction.
pub(super) type Stock = (u32, bool);

/// What calls wait for: the number of a stock, or of several of which one is enough.
pub(super) type Source = u32;

/// A call: its source, what it does there, and which of those it is.
type Which = (Source, Does, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Put,
    Take,
    Look,
}

/// Of a source with more calls than this, nothing is said.
const MOST_CALLS: usize = 50_000;
/// Of more different sets of stocks, nothing is said: each write is noted for each of them.
const MOST_SETS: usize = 16;

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
    /// The stocks of each source, in order.
    stocks: Vec<Vec<Stock>>,
    numbers: FxHashMap<Vec<Stock>, Source>,
    /// The calls on each source.
    calls: Vec<Calls>,
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
    /// Those that wait until something is there, and take nothing.
    looks: Vec<Call>,
}

impl Calls {
    fn that(&mut self, does: Does) -> &mut Vec<Call> {
        match does {
            Does::Put => &mut self.puts,
            Does::Take => &mut self.takes,
            Does::Look => &mut self.looks,
        }
    }

    fn are_many(&self) -> bool {
        [&self.puts, &self.takes, &self.looks].into_iter().any(|calls| calls.len() > MOST_CALLS)
    }
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

    /// It has come back, and not because something was there.
    fn has_failed(&self) -> bool {
        self.left.is_some() && self.returned < 0
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
                if let Some((source, does, at)) = open {
                    let call = &mut self.calls[source as usize].that(does)[at];
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
            Some(_) if detail & stream::LOOKS == stream::LOOKS => {
                let looked = tables.channel_lists.get(&record.word(1));
                let looked = looked.filter(|_| detail & stream::WAITS != 0)?;
                let ways = [(TAKES, false), (GIVES, true)];
                let stocks = looked.iter().flat_map(|&(channel, how)| {
                    let ways = ways.into_iter().filter(move |(way, _)| how & way != 0);
                    ways.map(move |(_, is_back)| (channel, is_back))
                });
                return Some(self.call(thread, stocks.collect(), Does::Look, record));
            }
            Some(&[(channel, _)]) if detail & (stream::READ | stream::WRITE) != 0 => {
                let does = if detail & stream::WRITE != 0 { Does::Put } else { Does::Take };
                let stock = (channel, detail & stream::BACK != 0);
                return Some(self.call(thread, vec![stock], does, record));
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

    fn call(&mut self, thread: u32, of: Vec<Stock>, does: Does, record: &Record) -> Which {
        let source = self.number(of);
        let calls = self.calls[source as usize].that(does);
        let (entered, size, detail) = (self.now, record.word(1), record.detail);
        calls.push(Call { thread, entered, left: None, size, returned: -1, detail });
        (source, does, calls.len() - 1)
    }

    /// The number of a source; each of its stocks is one, too.
    fn number(&mut self, of: Vec<Stock>) -> Source {
        if let Some(&known) = self.numbers.get(&of) {
            return known;
        }
        if of.len() > 1 {
            of.iter().for_each(|&stock| _ = self.number(vec![stock]));
        }
        let new = self.stocks.len() as Source;
        self.numbers.insert(of.clone(), new);
        self.stocks.push(of);
        self.calls.push(Calls::default());
        new
    }

    /// Finds out who feeds whom.
    pub(super) fn finish(&mut self, set: u32) {
        self.open.clear();
        let calls = std::mem::take(&mut self.calls);
        if self.all_spoilt || set & flags::WAITS_END != 0 {
            return;
        }
        let (mut ending, mut sets) = (FxHashMap::default(), Vec::new());
        for (source, calls) in (0..).zip(calls) {
            match self.stocks[source as usize][..] {
                [stock] if !self.spoilt.contains(&stock.0) && !calls.are_many() => {
                    let Some(all) = self.stock(source, stock, calls) else { continue };
                    ending.insert(stock, all);
                }
                [_] => {}
                _ => sets.push((source, calls.looks)),
            }
        }
        for (source, looks) in sets.into_iter().take(MOST_SETS) {
            self.set(source, &looks, &ending);
        }
    }

    /// Before a socket is connected, reads from it fail. The other end is there only behind that.
    fn is_early(&self, (channel, is_back): Stock, call: &Call) -> bool {
        let connects = |&(other, by): &(u32, u32)| other == channel && by != call.thread;
        is_back && self.connecting.iter().any(connects)
    }

    /// The calls on one stock; returns those that may end a wait for it, unless something of it is
    /// not known.
    fn stock(&mut self, source: Source, stock: Stock, calls: Calls) -> Option<Vec<u64>> {
        let Calls { puts, mut takes, looks } = calls;
        if takes.iter().chain(&looks).any(|call| self.is_early(stock, call)) {
            return None;
        }
        // What was done before there were threads, and did not keep others from writing, is so for
        // all that follows.
        let first = puts.iter().find(|put| put.put() > Some(0)).map_or(0, |put| put.entered);
        let closing = self
            .closing
            .iter()
            .filter(|call| call.channel == stock.0 && !(call.alone && call.entered < first));
        let closing: Vec<u64> = closing.map(|call| call.entered).collect();
        // In the order in which they came back; those that never do took nothing.
        takes.sort_unstable_by_key(|take| take.left.unwrap_or(u64::MAX));
        let pieces = assign(&puts, &takes, &closing)?;
        let ending = puts.iter().map(|put| put.entered).chain(closing.iter().copied()).collect();
        let reads = takes.iter().zip(pieces.of_takes.iter().cloned());
        let reads = reads.filter(|(take, _)| take.waits() && !take.has_failed());
        let looks =
            looks.iter().filter_map(|look| Some((look, pieces.found(look, &puts, &closing)?)));
        let waiting: Vec<_> = reads.chain(looks).collect();
        if waiting.is_empty() {
            return Some(ending);
        }
        let mut gives: FxHashMap<u64, Vec<Option<u32>>> = FxHashMap::default();
        for (number, (call, piece)) in (0..).zip(waiting) {
            let waits = Some((source, (!piece.is_empty()).then_some(number)));
            self.known.entry(call.entered).or_default().waits = waits;
            for put in &puts[piece] {
                gives.entry(put.entered).or_default().push(Some(number));
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
        Some(ending)
    }

    /// Calls that wait for one of several stocks. Whatever is put into one of them ends all these
    /// waits, also where it was taken out since.
    fn set(&mut self, source: Source, looks: &[Call], ending: &FxHashMap<Stock, Vec<u64>>) {
        let stocks = &self.stocks[source as usize];
        let is_early = |look: &Call| stocks.iter().any(|&stock| self.is_early(stock, look));
        let ending = stocks.iter().map(|stock| ending.get(stock)).collect::<Option<Vec<_>>>();
        let Some(ending) = ending.filter(|_| !looks.iter().any(is_early)) else { return };
        let mut ending: Vec<u64> = ending.into_iter().flatten().copied().collect();
        ending.sort_unstable();
        ending.dedup();
        for look in looks {
            let is_fed = |left: u64| ending.first().is_some_and(|&first| first < left);
            if look.left.is_none_or(|left| look.returned > 0 && is_fed(left)) {
                self.known.entry(look.entered).or_default().waits = Some((source, None));
            }
        }
        for entered in ending {
            self.known.entry(entered).or_default().gives.push((source, None));
        }
    }

    /// What is known of the call that this record begins.
    pub(super) fn of(&self, record: u64) -> Option<&Fed> {
        self.known.get(&record)
    }

    /// The stocks of a source.
    pub(super) fn stocks(&self, source: Source) -> &[Stock] {
        &self.stocks[source as usize]
    }
}

/// Who took what.
struct Pieces {
    /// The writes of which each read took something.
    of_takes: Vec<Range<usize>>,
    /// Whether something of a write was taken by no read that waits.
    is_left_over: Vec<bool>,
    /// Behind each write, how much went in.
    ends: Vec<u64>,
    /// When each read came back that took something, and how much was taken by then.
    taken: Vec<(u64, u64)>,
}

impl Pieces {
    /// Of which write a call has found something; none if it was the end of the stream, or if the
    /// call never came back. `None`: nothing explains why it did.
    fn found(&self, look: &Call, puts: &[Call], closing: &[u64]) -> Option<Range<usize>> {
        let Some(left) = look.left else { return Some(0..0) };
        if look.returned <= 0 {
            return None;
        }
        let before = self.taken.partition_point(|&(at, _)| at < left);
        let taken = before.checked_sub(1).map_or(0, |last| self.taken[last].1);
        let next = self.ends.partition_point(|&end| end <= taken);
        match puts.get(next) {
            Some(put) if put.entered < left => Some(next..next + 1),
            _ => closing.iter().any(|&at| at < left).then_some(0..0),
        }
    }
}

/// `None` where the numbers do not fit together: then somebody else puts something in, or takes
/// something out.
fn assign(puts: &[Call], takes: &[Call], closing: &[u64]) -> Option<Pieces> {
    let mut ends: Vec<u64> = Vec::with_capacity(puts.len());
    for put in puts {
        ends.push(ends.last().copied().unwrap_or(0u64).checked_add(put.put()?)?);
    }
    let mut of_takes = Vec::with_capacity(takes.len());
    let mut is_left_over = vec![false; puts.len()];
    let mut taken: Vec<(u64, u64)> = Vec::new();
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
        let so_far = taken.last().map_or(0, |&(_, all)| all);
        let end = so_far.checked_add(amount)?;
        let first = ends.partition_point(|&end| end <= so_far);
        let last = ends.partition_point(|&before| before < end);
        if puts.get(last).is_none_or(|put| put.entered > left) {
            return None;
        }
        if !take.waits() {
            is_left_over[first..=last].fill(true);
        }
        of_takes.push(first..last + 1);
        taken.push((left, end));
    }
    let so_far = taken.last().map_or(0, |&(_, all)| all);
    let first = ends.partition_point(|&end| end <= so_far);
    is_left_over[first..].fill(true);
    Some(Pieces { of_takes, is_left_over, ends, taken })
}
