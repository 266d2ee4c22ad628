//! The second pass: events from records.

use foretrace_recording::record::{self, acquire, kind};
use rustc_hash::FxHashMap;

use super::super::{ImportError, Position, Problem};
use super::Options;
use super::chunks::Recording;
use super::image::Image;
use super::objects::{Block, Change, Found, Objects, What};
use super::order::Order;
use super::records::{Record, Touch, for_each};
use super::survey::{Life, Survey, synchronises};
use super::sync::{Signals, Sync};
use super::tables::Tables;
use crate::*;

pub(super) struct Emit<'r> {
    pub(super) recording: &'r Recording<'r>,
    pub(super) tables: &'r Tables,
    survey: &'r Survey,
    options: &'r Options,
    pub(super) builder: Builder,
    pub(super) objects: Objects<'r>,
    /// Keyed by object and offset.
    image: Image,
    pub(super) sync: Sync,
    pub(super) signals: FxHashMap<CondId, Signals>,
    pub(super) threads: FxHashMap<u32, Row>,
    pub(super) object_ids: FxHashMap<u32, ObjectId>,
    /// Of each site, once it was checked, the location, once an event has it.
    locations: FxHashMap<u64, Option<LocationId>>,
    names: FxHashMap<String, u32>,
    pub(super) counts: Counts,
    pub(super) unknown_writers: FxHashMap<Option<LocationId>, u64>,
    /// The event after which nothing follows.
    exited: bool,
    /// Which record this is, from 1.
    pub(super) now: u64,
}

/// What is left out without harm.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) private: u64,
    pub(super) blocks: u64,
    pub(super) branches: u64,
    pub(super) switches: u64,
    pub(super) calls: u64,
    pub(super) after_exit: u64,
    pub(super) unresolved: u64,
    pub(super) freed: u64,
}

/// How far a thread is.
#[derive(Default)]
pub(super) struct Row {
    pub(super) id: Option<ThreadId>,
    records: u64,
    ordinal: u32,
    events: u64,
    forked: bool,
    joined: bool,
    pub(super) waiting: Option<Waiting>,
    /// Its waits that could not be made events.
    pub(super) lost_waits: u32,
    /// Nothing more can be said of it.
    abandoned: bool,
}

/// A wait whose wake has not come.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) cond: CondId,
    pub(super) lock: LockId,
    pub(super) lock_at: u64,
    pub(super) mode: Mode,
    pub(super) depth: u32,
    pub(super) timed: bool,
    pub(super) since: u64,
}

/// The record that events are made of.
#[derive(Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) thread: u32,
    pub(super) record: Record<'a>,
    ordinal: u32,
}

impl<'r> Emit<'r> {
    pub(super) fn new(
        recording: &'r Recording<'r>,
        tables: &'r Tables,
        survey: &'r Survey,
        options: &'r Options,
    ) -> Self {
        Emit {
            recording,
            tables,
            survey,
            options,
            builder: crate::import::imported(),
            objects: Objects::new(&tables.globals),
            image: Image::default(),
            sync: Sync::default(),
            signals: FxHashMap::default(),
            threads: FxHashMap::default(),
            object_ids: FxHashMap::default(),
            locations: FxHashMap::default(),
            // The name of the object that pins read.
            names: FxHashMap::from_iter([("object unexplained".to_string(), 1)]),
            counts: Counts::default(),
            unknown_writers: FxHashMap::default(),
            exited: false,
            now: 0,
        }
    }

    /// Makes the trace.
    pub(super) fn trace(mut self, order: &Order) -> Result<Trace, ImportError> {
        if self.survey.threads.contains_key(&0) {
            // The main thread is the first of the table, whoever has the first event.
            self.thread(0);
        }
        for_each(self.recording, order, |thread, record| self.record(thread, record))?;
        self.declare_benign();
        self.finish_notes(order);
        self.check_lineages();
        Ok(self.builder.finish())
    }

    fn record(&mut self, thread: u32, record: Record) -> Result<(), ImportError> {
        self.now += 1;
        if self.builder.so_far().len() >= (u32::MAX - 16) as usize {
            let problem = Problem::Unsupported("more than 2^32 events".into());
            return Err(record.error(problem));
        }
        self.check_site(&record)?;
        let row = self.threads.entry(thread).or_default();
        row.records += 1;
        let ordinal = row.ordinal;
        if record::visible(record.kind) {
            if ordinal == u32::MAX - 1 {
                let problem = Problem::Unsupported("more than 2^32 operations of a thread".into());
                return Err(record.error(problem));
            }
            row.ordinal += 1;
        }
        let now = Now { thread, record, ordinal };
        if self.exited {
            self.counts.after_exit += 1;
            return Ok(());
        }
        if let Some(touch) = record.touch()? {
            self.access(now, touch);
            return Ok(());
        }
        let change = self.objects.follow(thread, &record)?;
        for address in synchronises(&record) {
            self.objects.find(address);
        }
        let says_nothing = match record.kind {
            kind::BRANCH | kind::CALL => !self.options.keep_branches,
            kind::SWITCH | kind::RETURN | kind::WAKE => true,
            _ => false,
        };
        if !says_nothing && !self.goes_on(now) {
            return Ok(());
        }
        match record.kind {
            kind::ALLOC | kind::FREE => self.heap(now, change),
            kind::BEGIN | kind::END | kind::FORK | kind::JOIN | kind::REQUEST_JOIN | kind::EXIT => {
                self.life(now, change)?;
            }
            kind::BRANCH => match self.options.keep_branches {
                true => self.push(now, Op::Branch { taken: record.detail != 0 }),
                false => self.counts.branches += 1,
            },
            kind::SWITCH => self.counts.switches += 1,
            kind::CALL if self.tables.functions.contains(&record.word(0)) => {}
            kind::CALL => match self.options.keep_branches {
                true => self.push(now, Op::External),
                false => self.counts.calls += 1,
            },
            kind::FENCE => {
                let order = record.order(record.detail)?;
                self.push(now, Op::Fence { order });
            }
            kind::REGION_BEGIN => self.push(now, Op::RegionBegin),
            kind::REGION_END => self.push(now, Op::RegionEnd),
            kind::ASSERT => self.push(now, Op::Assert { holds: record.detail != 0 }),
            kind::RETURN => {}
            _ => self.synchronise(now)?,
        }
        Ok(())
    }

    /// Whether the record's site is one.
    fn check_site(&mut self, record: &Record) -> Result<(), ImportError> {
        if !self.locations.contains_key(&record.site) {
            self.tables.place(record.site).map_err(|problem| record.error(problem))?;
            self.locations.insert(record.site, None);
        }
        Ok(())
    }

    /// Where the record is.
    pub(super) fn location(&mut self, now: Now) -> Option<LocationId> {
        let known = self.locations.get(&now.record.site).copied().flatten();
        known.or_else(|| {
            let place = self.tables.place(now.record.site).ok().flatten()?;
            let location = self.builder.location(&place.show());
            self.locations.insert(now.record.site, Some(location));
            Some(location)
        })
    }

    fn thread(&mut self, number: u32) -> ThreadId {
        let builder = &mut self.builder;
        let row = self.threads.entry(number).or_default();
        *row.id.get_or_insert_with(|| builder.thread(&format!("T{number}")))
    }

    pub(super) fn row(&mut self, thread: u32) -> &mut Row {
        self.threads.entry(thread).or_default()
    }

    /// Appends an event of the record's thread, which can go on.
    pub(super) fn push(&mut self, now: Now, op: Op) {
        let thread = self.thread(now.thread);
        let event = Event { thread, op, location: self.location(now) };
        // A request has the ordinal of the operation that it announces, the thread's next one.
        let anchored = record::visible(now.record.kind)
            || matches!(
                now.record.kind,
                kind::REQUEST_ACQUIRE | kind::REQUEST_SEM_WAIT | kind::REQUEST_JOIN
            );
        match anchored {
            true => self.builder.push_recorded(event, now.ordinal, now.record.kind),
            false => self.builder.push(event),
        };
        self.row(now.thread).events += 1;
    }

    /// Whether the thread may do something other than wake: one that waits goes on with its wake only.
    fn goes_on(&mut self, now: Now) -> bool {
        let row = self.row(now.thread);
        if row.abandoned {
            self.counts.unresolved += 1;
            return false;
        }
        let Some(waiting) = row.waiting else { return true };
        // Its wake was not seen (it may have been cancelled): it has the lock again, or we lose it.
        if !self.reopen(now.thread, waiting) {
            self.row(now.thread).abandoned = true;
            self.builder.note("thread left out after a wait whose end is not known", 1);
            self.counts.unresolved += 1;
            return false;
        }
        self.row(now.thread).waiting = None;
        let Waiting { cond, lock, since, .. } = waiting;
        self.signals.entry(cond).or_default().wake(since, false);
        let thread = self.thread(now.thread);
        let op = Op::Wake { cond, lock, reason: WakeReason::Spurious };
        self.builder.push(Event { thread, op, location: None });
        self.pin(now);
        self.builder.note("end of a wait added that was not recorded", 1);
        true
    }

    /// Leaves the record out: behind this point everything before it must have happened, and nothing is certain.
    pub(super) fn leave_out(&mut self, now: Now, note: &str) {
        self.builder.note(note, 1);
        self.pin(now);
    }

    /// Appends a read that nothing explains.
    fn pin(&mut self, now: Now) {
        let row = self.row(now.thread);
        if row.abandoned || row.waiting.is_some() {
            return;
        }
        let known = self.builder.so_far().objects().find("unexplained");
        let object = self.builder.object("unexplained");
        let at = Place { object, offset: 0, size: 8 };
        if known.is_none() {
            self.builder.set_initial(at, 0);
        }
        let thread = self.thread(now.thread);
        let op = Op::Read { at, value: Some(1), order: MemoryOrder::Plain };
        let location = self.location(now);
        self.builder.push(Event { thread, op, location });
        self.row(now.thread).events += 1;
    }

    /// A name that nothing of its kind has had: `m`, then `m#2`.
    pub(super) fn fresh(&mut self, table: &str, name: String) -> String {
        let count = self.names.entry(format!("{table} {name}")).or_default();
        *count += 1;
        match *count {
            1 => name,
            count => {
                let next = format!("{name}#{count}");
                self.fresh(table, next)
            }
        }
    }

    /// What is at an address, for the name of a lock or the like.
    pub(super) fn describe(&mut self, address: u64) -> String {
        if let Some(name) = self.tables.lock_names.get(&address) {
            return name.clone();
        }
        let found = self.objects.find(address);
        if found.what == What::Region {
            return format!("{address:#x}");
        }
        let name = self.object_name(&found);
        match address - found.start {
            0 => name,
            offset => format!("{name}+{offset}"),
        }
    }

    fn object_name(&self, found: &Found) -> String {
        match found.what {
            What::Global(at) => self.tables.globals[at].name.clone(),
            What::Heap(block) => self.block_name(&block),
            What::Stack(thread) => format!("stack of T{thread}"),
            What::Region => format!("mem@{:#x}", found.start),
        }
    }

    fn block_name(&self, block: &Block) -> String {
        match self.tables.place(block.site) {
            Ok(Some(place)) => format!("heap#{}@{}", block.number, place.short()),
            _ => format!("heap#{}", block.number),
        }
    }

    pub(super) fn object(&mut self, found: &Found) -> ObjectId {
        if let Some(&known) = self.object_ids.get(&found.object) {
            return known;
        }
        let name = self.object_name(found);
        let name = self.fresh("object", name);
        let id = self.builder.object(&name);
        self.object_ids.insert(found.object, id);
        id
    }

    fn access(&mut self, now: Now, touch: Touch) {
        let mut pieces: Vec<(Found, u32, u32)> = Vec::new();
        let shadow = &self.survey.shadow;
        self.objects.split(touch.address, touch.size, |found, bytes| {
            let offset = |address: u64| (address - found.start) as u32;
            shadow.shared_parts(
                found.object,
                offset(bytes.start),
                offset(bytes.end),
                |start, end| {
                    pieces.push((found, start, end));
                },
            );
        });
        if pieces.is_empty() {
            self.counts.private += 1;
            return;
        }
        if !self.goes_on(now) {
            return;
        }
        if touch.writes.is_some() && touch.reads.is_some() && pieces.len() > 1 {
            self.builder.note("read-modify-write across objects taken apart", 1);
        }
        for (found, start, end) in pieces {
            self.piece(now, &touch, &found, start, end);
        }
    }

    /// One part of an access that is in one object.
    fn piece(&mut self, now: Now, touch: &Touch, found: &Found, start: u32, end: u32) {
        if found.what == What::Region && self.objects.is_freed(found.start + u64::from(start)) {
            self.counts.freed += 1;
        }
        let skipped = (found.start + u64::from(start) - touch.address) as usize;
        let size = end - start;
        let is_range = matches!(now.record.kind, kind::LOAD_RANGE | kind::STORE_RANGE);
        let key = u64::from(found.object) << 32 | u64::from(start);
        if let Some(read) = touch.reads {
            self.compare(now, key, size, is_range, |byte| read.byte(skipped + byte));
        }
        if let Some(written) = touch.writes {
            for byte in 0..size as usize {
                self.image.set(key + byte as u64, written.byte(skipped + byte), !is_range);
            }
        }
        let value = |of: Option<super::records::Value>| {
            let bytes = (0..size as usize).rev();
            let word = |of: super::records::Value| {
                bytes.fold(0u64, |word, byte| word << 8 | u64::from(of.byte(skipped + byte)))
            };
            of.filter(|_| !is_range).map(word)
        };
        let (read, written) = (value(touch.reads), value(touch.writes));
        let at = Place { object: self.object(found), offset: start, size };
        let order = touch.order;
        let op = match (touch.reads.is_some(), touch.writes.is_some()) {
            (true, false) => Op::Read { at, value: read, order },
            (true, true) => Op::Rmw { at, read, written, order },
            _ => Op::Write { at, value: written, order },
        };
        self.push(now, op);
    }

    /// Compares what was read with what memory holds. A difference that the trace cannot show by itself is pinned.
    fn compare(
        &mut self,
        now: Now,
        key: u64,
        size: u32,
        is_range: bool,
        read: impl Fn(usize) -> u8,
    ) {
        let (mut differs, mut shows) = (false, false);
        for byte in 0..size as usize {
            let address = key + byte as u64;
            match self.image.get(address) {
                None => self.image.set(address, read(byte), !is_range),
                Some((known, valued)) if known != read(byte) => {
                    differs = true;
                    shows |= valued && !is_range;
                }
                Some(_) => {}
            }
        }
        if differs {
            let location = self.location(now);
            *self.unknown_writers.entry(location).or_default() += 1;
            if !shows {
                self.pin(now);
            }
        }
    }

    fn heap(&mut self, now: Now, change: Change) {
        match change {
            Change::Alloc { block, gone } => {
                let overwritten = gone.len() as u64;
                if overwritten > 0 {
                    self.builder.note("block given out again without a recorded free", overwritten);
                }
                let (start, size) = (now.record.word(0), now.record.word(1));
                self.sync.forget(start, start.saturating_add(size));
                match block {
                    None => self
                        .builder
                        .note("block too large, or over other memory, taken as a region", 1),
                    Some(block) if !self.survey.shadow.is_kept(block.object) => {
                        self.counts.blocks += 1
                    }
                    Some(block) => {
                        let (object, start) = (block.object, block.start);
                        let found =
                            Found { object, start, end: block.end, what: What::Heap(block) };
                        let object = self.object(&found);
                        self.benign_in(&found);
                        let size = (block.end - block.start) as u32;
                        self.push(now, Op::Alloc { object, size, address: Some(start) });
                    }
                }
            }
            Change::Free(Some(block)) => {
                self.sync.forget(block.start, block.end);
                if let Some(&object) = self.object_ids.get(&block.object) {
                    self.push(now, Op::Free { object });
                }
            }
            Change::Free(None) if now.record.word(0) != 0 => {
                self.builder.note("free of a block that is not known", 1);
            }
            _ => {}
        }
    }

    /// Forks, joins, beginnings and ends.
    fn life(&mut self, now: Now, change: Change) -> Result<(), ImportError> {
        let whole =
            |survey: &Survey, thread: u32| survey.threads.get(&thread).copied().unwrap_or_default();
        match now.record.kind {
            kind::BEGIN => {
                if let Change::Begin { known: false, .. } = change {
                    self.builder.note("stack not known, or over other memory", 1);
                }
                if self.row(now.thread).events > 0 {
                    self.builder.note("repeated or late begin left out", 1);
                    return Ok(());
                }
                self.push(now, Op::Begin);
                if !self.row(now.thread).forked && now.thread != 0 {
                    self.leave_out(now, "thread that begins without a recorded fork");
                }
            }
            kind::END => {
                let Life { after_end, .. } = whole(self.survey, now.thread);
                match after_end {
                    true => self.builder.note("end of a thread that goes on left out", 1),
                    false => self.push(now, Op::End),
                }
            }
            kind::FORK => {
                let child = now.record.thread()?;
                let row = self.row(child);
                if row.forked || row.joined || row.events > 0 || child == now.thread {
                    self.leave_out(now, "fork of a thread that was there already left out");
                    return Ok(());
                }
                let id = self.thread(child);
                self.push(now, Op::Fork { child: id });
                self.row(child).forked = true;
            }
            kind::JOIN => {
                let child = now.record.thread()?;
                let all = whole(self.survey, child).records;
                if self.row(child).records < all || child == now.thread {
                    self.leave_out(now, "join of a thread that goes on left out");
                    return Ok(());
                }
                let id = self.thread(child);
                self.push(now, Op::Join { child: id });
                self.row(child).joined = true;
            }
            kind::REQUEST_JOIN => {
                let child = now.record.thread()?;
                let child = self.thread(child);
                self.push(now, Op::Request(Request::Join(child)));
            }
            _ => {
                self.push(now, Op::Exit);
                self.exited = true;
            }
        }
        Ok(())
    }

    /// How an acquire was tried.
    pub(super) fn attempt(record: &Record) -> Result<(Mode, Patience), ImportError> {
        let mode = match record.detail & 1 {
            acquire::EXCLUSIVE => Mode::Exclusive,
            _ => Mode::Shared,
        };
        Ok((mode, Self::patience(record, record.detail >> 1)?))
    }

    pub(super) fn patience(record: &Record, number: u8) -> Result<Patience, ImportError> {
        let all = [Patience::Blocking, Patience::Timed, Patience::Try];
        all.get(usize::from(number)).copied().ok_or_else(|| {
            let found = format!("patience {number} in a record of kind {}", record.kind);
            Problem::syntax(found, "0, 1 or 2").at(Position::Byte(record.offset))
        })
    }
}
