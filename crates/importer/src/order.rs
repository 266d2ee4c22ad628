//! The order of a free-running recording.
//!
//! **Computes.** One order of the records of all streams, in which stamped records follow their
//! stamps, every thread its program, and, if it is found, every load sees what memory holds then.
//!
//! **How.** A thread's accesses since its last stamped record are its *window*: they may happen
//! now, or at any time before its next stamped record does. `search` takes items of all threads one
//! after the other, and goes back where a load turns out to have no explanation. What it has taken
//! long ago becomes part of the order; where it finds no way on, a load is taken as it is, and has
//! an unknown writer.
//!
//! **Invariant.** Whether or not an explanation is found, the order respects stamps and programs.
//! To find one in general is NP-hard (Gibbons and Korach, *Testing shared memories*, SIAM J.
//! Comput. 26(4), 1997).
//!
//! **Cost.** Linear: threads are looked at only [`LOOKAHEAD`] items ahead, and the search goes back
//! only so far and so often.

use std::collections::VecDeque;

use foretrace_recording::record::kind;
use foretrace_trace::Deadline;
use foretrace_trace::import::{ImportError, Problem};
use rustc_hash::FxHashMap;

use super::chunks::Recording;
use super::image::Image;
use super::records::{Record, Stream, Touch};
use super::search::Search;
use super::shadow::Shadow;

/// How many items of each thread are looked at.
const LOOKAHEAD: usize = 64;

/// Which share of the time the search leaves to the pass before it.
const SCAN: f64 = 0.3;

/// In which order the records of all streams happened.
pub(super) enum Order {
    /// As they lie in the one stream.
    Recorded,
    /// So many of one stream, then so many of another.
    Runs(Vec<Run>),
}

/// Records of one stream that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) stream: u32,
    pub(super) records: u64,
}

impl Order {
    pub(super) fn find(recording: &Recording, deadline: Deadline) -> Result<Order, ImportError> {
        if !recording.free_running() {
            return Ok(Order::Recorded);
        }
        let windows = Windows::new(recording, deadline.share(SCAN))?;
        Ok(Order::Runs(Search::new(windows).run(deadline)?))
    }
}

/// One step of a thread: an access that others may see, or a stamped record; with the records
/// before it that concern nobody else.
pub(super) struct Item<'a> {
    records: u64,
    pub(super) touch: Option<Touch<'a>>,
    pub(super) stamped: bool,
    /// The end of the process, before which all threads do what they do.
    pub(super) exit: bool,
    /// Memory that is new from here on.
    pub(super) fresh: Option<(u64, u64)>,
}

pub(super) struct Thread<'a> {
    stream: Stream<'a>,
    /// What comes next: first what the search has taken, then the rest of the window, then what
    /// lies behind its end.
    pub(super) queue: VecDeque<Item<'a>>,
    /// How many of the queue are taken.
    pub(super) head: usize,
    /// The number of the queue's first item.
    pub(super) base: u64,
    /// The numbers of the stamped items in the queue.
    stamped: VecDeque<u64>,
    /// All stamps.
    stamps: Vec<u64>,
    /// How many stamped items are taken, and how many are part of the order.
    pub(super) stamps_taken: usize,
    stamps_done: usize,
    /// Records since the last item.
    pending: u64,
    /// Records that are left to read.
    left: u64,
    /// Whether the queue has all that is left.
    pub(super) at_end: bool,
}

impl<'a> Thread<'a> {
    /// The item that is next.
    pub(super) fn next(&self) -> Option<&Item<'a>> {
        self.queue.get(self.head)
    }

    /// The number of the item that is next.
    pub(super) fn position(&self) -> u64 {
        self.base + self.head as u64
    }

    /// The stamp that is next.
    pub(super) fn next_stamp(&self) -> Option<u64> {
        self.stamps.get(self.stamps_taken).copied()
    }

    /// The number of the first item behind the window.
    pub(super) fn window_end(&self) -> u64 {
        self.stamped.get(self.stamps_taken - self.stamps_done).copied().unwrap_or(u64::MAX)
    }

    /// Whether anything is left in the window.
    pub(super) fn has_window(&self) -> bool {
        self.next().is_some_and(|item| !item.stamped)
    }

    /// Whether all that the thread does before a stamp is in the queue.
    pub(super) fn is_seen_up_to(&self, stamp: u64) -> bool {
        let seen = self.stamps[..self.stamps_done + self.stamped.len()].last();
        self.at_end || seen.is_some_and(|&seen| seen > stamp)
    }
}

/// The windows of all threads.
pub(super) struct Windows<'a> {
    pub(super) threads: Vec<Thread<'a>>,
    shadow: Shadow,
    pub(super) image: Image,
    /// The accesses in the queues, by word: thread and number.
    pub(super) index: FxHashMap<u64, Vec<(u32, u64)>>,
    pub(super) runs: Vec<Run>,
}

/// The words that an access touches.
pub(super) fn words(touch: &Touch) -> impl Iterator<Item = u64> + use<> {
    touch.address / 8..=(touch.address + touch.size - 1) / 8
}

/// The parts of an access as the shadow wants them: where regions of 2^31 bytes end, a part ends.
fn parts(touch: &Touch, mut each: impl FnMut(u32, u32, u32)) {
    const REGION: u64 = 1 << 31;
    let (mut at, end) = (touch.address, touch.address + touch.size);
    while at < end {
        let upto = end.min((at / REGION * REGION).saturating_add(REGION));
        let start = at % REGION;
        each((at / REGION) as u32, start as u32, (start + (upto - at)) as u32);
        at = upto;
    }
}

impl<'a> Windows<'a> {
    fn new(recording: &'a Recording, deadline: Deadline) -> Result<Self, ImportError> {
        let mut shadow = Shadow::default();
        let stream = |chunks| Stream::new(recording.bytes, chunks);
        let scan =
            |chunks| Scan { stream: stream(chunks), stamps: Vec::new(), records: 0, all: false };
        let mut scans: Vec<Scan> = recording.streams.values().map(|chunks| scan(chunks)).collect();
        // All streams alike, so that what is read of them when time is over is of one time.
        while !scans.iter().all(|scan| scan.all) && !deadline.has_passed() {
            for (number, scan) in scans.iter_mut().enumerate() {
                scan.chunk(number as u32, &mut shadow)?;
            }
        }
        // What comes behind the last stamp of a stream that was not read to its end comes behind
        // that stamp in all.
        let unread = scans.iter().filter(|scan| !scan.all);
        let upto = unread.map(|scan| scan.stamps.last().map_or(0, |&(stamp, _)| stamp)).min();
        let threads = scans.into_iter().zip(recording.streams.values());
        let threads = threads.map(|(mut scan, chunks)| {
            let left = upto.map(|upto| scan.cut(upto));
            Thread {
                stream: stream(chunks),
                queue: VecDeque::new(),
                head: 0,
                base: 0,
                stamped: VecDeque::new(),
                stamps: scan.stamps.into_iter().map(|(stamp, _)| stamp).collect(),
                stamps_taken: 0,
                stamps_done: 0,
                pending: 0,
                left: left.unwrap_or(u64::MAX),
                at_end: false,
            }
        });
        let threads = threads.collect();
        let (image, index) = (Image::default(), FxHashMap::default());
        Ok(Windows { threads, shadow, image, index, runs: Vec::new() })
    }

    /// Fills a thread's queue.
    pub(super) fn fill(&mut self, number: usize) -> Result<(), ImportError> {
        let thread = &mut self.threads[number];
        while !thread.at_end && thread.queue.len() - thread.head < LOOKAHEAD {
            let next = if thread.left == 0 { None } else { thread.stream.next()? };
            let Some(record) = next else {
                thread.at_end = true;
                if thread.pending > 0 {
                    let records = std::mem::take(&mut thread.pending);
                    thread.queue.push_back(Item {
                        records,
                        touch: None,
                        stamped: false,
                        exit: false,
                        fresh: None,
                    });
                }
                return Ok(());
            };
            thread.pending += 1;
            thread.left -= 1;
            let shared = |touch: &Touch| {
                let mut any = false;
                parts(touch, |object, start, end| {
                    self.shadow.shared_parts(object, start, end, |_, _| any = true);
                });
                any
            };
            let touch = record.touch()?.filter(shared);
            let stamped = record.stamp().is_some();
            if touch.is_none() && !stamped {
                continue;
            }
            if let Some(touch) = &touch {
                let place = (number as u32, thread.base + thread.queue.len() as u64);
                words(touch).for_each(|word| self.index.entry(word).or_default().push(place));
            }
            if stamped {
                thread.stamped.push_back(thread.base + thread.queue.len() as u64);
            }
            let records = std::mem::take(&mut thread.pending);
            thread.queue.push_back(Item {
                records,
                touch,
                stamped,
                exit: record.kind == kind::EXIT,
                fresh: fresh(&record),
            });
        }
        Ok(())
    }

    /// Makes the first taken item of a thread part of the order.
    pub(super) fn commit(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        let item = thread.queue.pop_front().expect("what was taken is in the queue");
        let place = (number as u32, thread.base);
        thread.base += 1;
        if item.stamped {
            thread.stamped.pop_front();
            thread.stamps_done += 1;
        }
        thread.head -= 1;
        for word in item.touch.iter().flat_map(words) {
            if let Some(places) = self.index.get_mut(&word) {
                places.retain(|&of| of != place);
                if places.is_empty() {
                    self.index.remove(&word);
                }
            }
        }
        match self.runs.last_mut() {
            Some(run) if run.stream == number as u32 => run.records += item.records,
            _ => self.runs.push(Run { stream: number as u32, records: item.records }),
        }
    }
}

/// The first look at a stream: who touches what, and which stamps there are.
struct Scan<'a> {
    stream: Stream<'a>,
    /// Each with the number of records up to it.
    stamps: Vec<(u64, u64)>,
    records: u64,
    /// Whether it is at its end.
    all: bool,
}

impl Scan<'_> {
    /// Looks at one chunk.
    fn chunk(&mut self, number: u32, shadow: &mut Shadow) -> Result<(), ImportError> {
        let chunk = self.stream.chunk();
        while self.stream.chunk() == chunk {
            let Some(record) = self.stream.next()? else {
                self.all = true;
                return Ok(());
            };
            self.records += 1;
            if let Some(touch) = record.touch()? {
                parts(&touch, |object, start, end| shadow.touch(object, start, end, number));
            }
            if record.kind == kind::THREAD {
                let found = "a record that changes the thread";
                let expected = "a stream of one thread";
                return Err(record.error(Problem::syntax(found, expected)));
            }
            if let Some(stamp) = record.stamp() {
                if let Some((last, _)) = self.stamps.last().filter(|&&(last, _)| last >= stamp) {
                    let found = format!("stamp {stamp} after {last}");
                    return Err(record.error(Problem::syntax(found, "stamps that grow")));
                }
                self.stamps.push((stamp, self.records));
            }
        }
        Ok(())
    }

    /// Forgets all stamps behind this one, and says how many records are left.
    fn cut(&mut self, upto: u64) -> u64 {
        self.stamps.truncate(self.stamps.partition_point(|&(stamp, _)| stamp <= upto));
        self.stamps.last().map_or(0, |&(_, records)| records)
    }
}

/// The memory that a record makes new: what it held before does not count any more.
fn fresh(record: &Record) -> Option<(u64, u64)> {
    match record.kind {
        kind::ALLOC => Some((record.word(0), record.word(0).saturating_add(record.word(1)))),
        kind::BEGIN => Some((record.word(0), record.word(1))),
        _ => None,
    }
}
