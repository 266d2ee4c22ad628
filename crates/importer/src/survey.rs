//! The first pass: what must be known of the whole recording before events can be made.

use std::collections::BTreeMap;

use foretrace_recording::file::flags;
use foretrace_recording::record::{alloc, free, kind};
use foretrace_trace::import::ImportError;
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Usage;
use super::chunks::Recording;
use super::feeds::Feeds;
use super::handed::Handed;
use super::objects::{Block, Change, Found, Objects, What};
use super::order::Order;
use super::records::{Limit, Reached, Record, for_each};
use super::shadow::Shadow;
use super::streams::Streams;
use super::tables::Tables;

/// A signal handler has run of which not everything was recorded.
pub(super) const UNSEEN_HANDLER: u32 = flags::HANDLER | flags::PATH_LOST;

/// Stands for signal handlers of which nothing was recorded.
const HANDLER: u32 = u32::MAX - 2;

pub(super) struct Survey {
    pub(super) shadow: Shadow,
    pub(super) threads: FxHashMap<u32, Life>,
    /// What the touched objects are, if that is asked for.
    pub(super) found: FxHashMap<u32, Found>,
    /// Who uses which channels.
    pub(super) calls: Usage,
    /// What reads and writes of streams need.
    pub(super) streams: Streams,
    /// Which calls wait, and which feed them.
    pub(super) feeds: Feeds,
    /// Objects of which all accesses belong into the trace.
    pub(super) whole: FxHashSet<u32>,
    /// How much of the recording it is about.
    pub(super) reached: Reached,
    /// What is given to code that is not instrumented.
    pub(super) handed: Handed,
    keeps_all: bool,
    /// Which threads a thread has joined.
    joined: FxHashSet<(u32, u32)>,
    /// Addresses that were given back: where they end, of which object they were, and who did it.
    given_back: BTreeMap<u64, (u64, u32, u32)>,
}

/// What a thread does over all.
#[derive(Clone, Copy, Default)]
pub(super) struct Life {
    pub(super) records: u64,
    pub(super) ended: bool,
    /// Whether it goes on after its end.
    pub(super) after_end: bool,
}

/// The addresses of what the record synchronises with.
pub(super) fn synchronises(record: &Record) -> impl Iterator<Item = u64> + use<> {
    let (first, second) = match record.kind {
        kind::WAIT | kind::WAKE => (Some(record.word(0)), Some(record.word(1))),
        kind::LOCK_INIT..=kind::LOCK_DESTROY
        | kind::COND_INIT..=kind::COND_DESTROY
        | kind::SEM_INIT..=kind::SEM_DESTROY
        | kind::BARRIER_INIT..=kind::BARRIER_DESTROY => (Some(record.word(0)), None),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

impl Survey {
    pub(super) fn of(
        recording: &Recording,
        tables: &Tables,
        order: &Order,
        limit: Limit,
    ) -> Result<Survey, ImportError> {
        Survey::run(recording, tables, order, limit, false)
    }

    /// As [`Survey::of`], but objects that are gone are remembered as well.
    pub(super) fn of_all(
        recording: &Recording,
        tables: &Tables,
        order: &Order,
    ) -> Result<Survey, ImportError> {
        Survey::run(recording, tables, order, Limit::ALL, true)
    }

    fn run(
        recording: &Recording,
        tables: &Tables,
        order: &Order,
        limit: Limit,
        keeps_all: bool,
    ) -> Result<Survey, ImportError> {
        let (shadow, threads, found, calls, streams, feeds, whole, joined) = Default::default();
        let handed = Handed::default();
        let given_back = BTreeMap::new();
        let mut survey = Survey {
            shadow,
            threads,
            found,
            calls,
            streams,
            feeds,
            whole,
            reached: Reached { records: 0, bytes: 0, is_all: false },
            handed,
            keeps_all,
            joined,
            given_back,
        };
        let mut objects = Objects::new(&tables.globals);
        let hands = recording.flags & flags::HANDED != 0;
        if hands {
            survey.handed.begin(&mut objects, tables);
        }
        let has_handler = recording.flags & UNSEEN_HANDLER != 0;
        survey.reached = for_each(recording, order, limit, |thread, record| {
            survey.streams.note(tables, thread, &record);
            survey.feeds.note(tables, thread, &record);
            if record.kind == kind::ENTER_CALL {
                survey.calls.note(tables, thread, &record);
            }
            if has_handler {
                survey.keep_unexplained(tables, &mut objects, &record)?;
            }
            survey.record(&mut objects, thread, record, hands)
        })?;
        survey.streams.finish();
        survey.feeds.finish(recording.flags);
        survey.handed.finish(&mut survey.shadow);
        Ok(survey)
    }

    /// A signal handler has run unseen: what it has stored in a variable is found by a read of
    /// something else than the variable held at first, perhaps of its only user.
    fn keep_unexplained(
        &mut self,
        tables: &Tables,
        objects: &mut Objects,
        record: &Record,
    ) -> Result<(), ImportError> {
        let Some(touch) = record.touch()? else { return Ok(()) };
        let Some(read) = touch.reads.filter(|_| touch.size <= 8) else { return Ok(()) };
        let found = objects.find(touch.address);
        let is_other = |at: u64| {
            let held = tables.content(touch.address + at);
            held.is_some_and(|held| held != read.byte(at as usize))
        };
        if matches!(found.what, What::Global(_)) && (0..touch.size).any(is_other) {
            let start = (touch.address - found.start) as u32;
            let end = (start + touch.size as u32).min((found.end - found.start) as u32);
            self.shadow.touch(found.object, start, end, HANDLER);
        }
        Ok(())
    }

    fn record(
        &mut self,
        objects: &mut Objects,
        thread: u32,
        record: Record,
        hands: bool,
    ) -> Result<(), ImportError> {
        let life = self.threads.entry(thread).or_default();
        life.records += 1;
        life.after_end |= life.ended;
        life.ended |= record.kind == kind::END;
        let (shadow, known, keeps_all) = (&mut self.shadow, &mut self.found, self.keeps_all);
        let handed = &mut self.handed;
        if let Some(touch) = record.touch()? {
            let mut pieces = Vec::new();
            objects.split(touch.address, touch.size, |found, bytes| {
                if keeps_all {
                    known.entry(found.object).or_insert(found);
                }
                let offset = |address: u64| (address - found.start) as u32;
                shadow.touch(found.object, offset(bytes.start), offset(bytes.end), thread);
                if hands {
                    pieces.push((found, bytes));
                }
            });
            for (found, bytes) in pieces {
                handed.access(objects, &found, &touch, bytes, thread);
            }
            return Ok(());
        }
        match record.kind {
            kind::JOIN => drop(self.joined.insert((thread, record.word(0) as u32))),
            kind::FORK => handed.has_forked(),
            kind::HANDED => handed.give(objects, shadow, thread, &record),
            kind::ENTER_CALL | kind::LEAVE_CALL if hands => handed.call(thread, &record),
            _ => {}
        }
        let change = objects.follow(thread, &record)?;
        if let Change::Free(Some(block)) = change {
            handed.free(shadow, block, record.detail & free::MOVES != 0, thread);
            let joined = &self.joined;
            shadow.free(block.object, block.end - block.start, thread, |other| {
                !joined.contains(&(thread, other))
            });
            self.given_back.insert(block.start, (block.end, block.object, thread));
        }
        if let Change::Alloc { block: Some(block), .. } = change {
            keep_reused(&mut self.given_back, shadow, block, thread);
            if hands {
                handed.allocated(block, thread);
            }
            if block.detail == alloc::MOVED {
                handed.moved(shadow, block, thread);
            }
        }
        match change {
            _ if keeps_all => {}
            Change::Alloc { gone, .. } | Change::Begin { gone, .. } => {
                gone.into_iter().for_each(|(object, size)| shadow.retire(object, size));
            }
            Change::Free(Some(block)) => shadow.retire(block.object, block.end - block.start),
            Change::Free(None) | Change::None => {}
        }
        for address in synchronises(&record) {
            let found = objects.find(address);
            if keeps_all {
                known.entry(found.object).or_insert(found);
            }
            shadow.keep(found.object);
        }
        Ok(())
    }
}

/// A thread gets memory that other threads have given back: the lives of these blocks belong into
/// the trace, whoever has touched them. Otherwise a schedule could have both blocks alive at one
/// address, and a pointer to the one would be a pointer to the other.
fn keep_reused(
    given_back: &mut BTreeMap<u64, (u64, u32, u32)>,
    shadow: &mut Shadow,
    block: Block,
    thread: u32,
) {
    let (start, end) = (block.start, block.end);
    while let Some((&from, &(upto, object, by))) = given_back.range(..end).next_back()
        && upto > start
    {
        given_back.remove(&from);
        if from < start {
            given_back.insert(from, (start, object, by));
        }
        if upto > end {
            given_back.insert(end, (upto, object, by));
        }
        if by != thread {
            shadow.keep(object);
        }
    }
}
