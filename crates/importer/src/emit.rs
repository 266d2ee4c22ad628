//! The second pass: events from records.

use std::collections::BTreeMap;

use foretrace_recording::record::{self, acquire, kind, unseen};
use foretrace_rewalk::{Extent, Sharing, Walker};
use foretrace_trace::import::{ImportError, Position, Problem};
use foretrace_trace::provenance::{Taken, Unseen};
use foretrace_trace::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Calls;
use super::chunks::Recording;
use super::emit_names::Nameless;
use super::emit_walk::Walking;
use super::handed::Given;
use super::image::Image;
use super::names::Evidence;
use super::objects::{Block, Found, Objects, What};
use super::order::Order;
use super::records::{Limit, Record, Touch, for_each};
use super::survey::{Survey, synchronises};
use super::sync::{Signals, Sync};
use super::tables::Tables;

pub(super) struct Emit<'r> {
    pub(super) recording: &'r Recording<'r>,
    pub(super) tables: &'r Tables,
    pub(super) survey: &'r Survey,
    pub(super) builder: Builder,
    pub(super) walk: Option<Walking<'r>>,
    pub(super) objects: Objects<'r>,
    /// Keyed by object and offset.
    pub(super) image: Image,
    pub(super) sync: Sync,
    pub(super) calls: Calls,
    pub(super) signals: FxHashMap<CondId, Signals>,
    pub(super) threads: FxHashMap<u32, Row>,
    pub(super) object_ids: FxHashMap<u32, ObjectId>,
    /// Of each site, once it was checked, the location, once an event has it.
    locations: FxHashMap<u64, Option<LocationId>>,
    pub(super) names: FxHashMap<String, u32>,
    /// What is called by its place, with object and offset.
    pub(super) nameless: Vec<(Nameless, u32, u32)>,
    pub(super) counts: Counts,
    pub(super) unknown_writers: FxHashMap<Option<LocationId>, u64>,
    /// Names are such that other recordings of the program have the same ones.
    pub(super) together: bool,
    /// Objects that addresses could range over, if all accesses to them were in the trace.
    ranged_over: FxHashSet<u32>,
    /// The bytes of pages that can be written elsewhere, of those that were stored to: block and
    /// address.
    pub(super) stored_in_pages: FxHashSet<(u32, u64)>,
    pub(super) given: Given,
    pub(super) evidence: Evidence,
    /// The blocks of the heap among the objects, and their sizes.
    pub(super) block_sizes: FxHashMap<ObjectId, u32>,
    /// Addresses of blocks of the trace that were freed.
    pub(super) given_back: BTreeMap<u64, u64>,
    /// Objects of which it is said what all their bytes held at first.
    pub(super) declared_whole: FxHashSet<u32>,
    /// The event after which nothing follows.
    pub(super) exited: bool,
    /// Which record this is, from 1.
    pub(super) now: u64,
    /// How many acts were there that all threads may notice.
    acts: u64,
    /// Its site, 0 if it has none.
    pub(super) site: u64,
}

/// What is left out without harm.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) private: u64,
    pub(super) blocks: u64,
    pub(super) after_exit: u64,
    pub(super) unresolved: u64,
    pub(super) freed: u64,
}

/// How far a thread is.
#[derive(Default)]
pub(super) struct Row {
    pub(super) id: Option<ThreadId>,
    pub(super) records: u64,
    ordinal: u32,
    pub(super) events: u64,
    pub(super) forked: bool,
    pub(super) joined: bool,
    pub(super) ended: bool,
    pub(super) waiting: Option<Waiting>,
    /// Its waits that could not be made events.
    pub(super) lost_waits: u32,
    /// Nothing more can be said of it.
    abandoned: bool,
    /// How many acts that all others may notice had happened when it last said so.
    noticed: u64,
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

impl Now<'_> {
    /// Which visible operation the record is, if it is an access.
    pub(super) fn access_ordinal(&self) -> Option<u32> {
        let is_access = matches!(self.record.touch(), Ok(Some(_)));
        is_access.then_some(self.ordinal)
    }
}

impl<'r> Emit<'r> {
    pub(super) fn new(
        recording: &'r Recording<'r>,
        tables: &'r Tables,
        survey: &'r Survey,
        walk: Option<&'r mut Walker>,
    ) -> Self {
        let mut builder = Trace::builder();
        builder.set_dependences(Dependences::Unknown);
        Emit {
            walk: Walking::new(walk, recording, tables),
            recording,
            tables,
            survey,
            builder,
            objects: Objects::new(&tables.globals),
            image: Image::default(),
            sync: Sync::default(),
            calls: Calls::default(),
            signals: FxHashMap::default(),
            threads: FxHashMap::default(),
            object_ids: FxHashMap::default(),
            locations: FxHashMap::default(),
            // The name of the object that pins read.
            names: FxHashMap::from_iter([("object unexplained".to_string(), 1)]),
            nameless: Vec::new(),
            counts: Counts::default(),
            unknown_writers: FxHashMap::default(),
            together: false,
            ranged_over: FxHashSet::default(),
            stored_in_pages: FxHashSet::default(),
            given: Given::default(),
            evidence: Evidence::default(),
            block_sizes: FxHashMap::default(),
            declared_whole: FxHashSet::default(),
            given_back: BTreeMap::new(),
            exited: false,
            now: 0,
            acts: 0,
            site: 0,
        }
    }

    /// The same, with names that other recordings of the program have as well.
    pub(super) fn together(self) -> Self {
        Emit { together: true, ..self }
    }

    /// Makes the trace. Beside it are the objects that addresses could range over, if all accesses
    /// to them were in it.
    pub(super) fn trace(
        mut self,
        order: &Order,
        limit: Limit,
    ) -> Result<(Trace, FxHashSet<u32>), ImportError> {
        if self.survey.threads.contains_key(&0) {
            // The main thread is the first of the table, whoever has the first event.
            self.thread(0);
        }
        if self.walk.is_some() {
            self.builder.set_dependences(Dependences::Recorded);
        }
        // What the survey has not seen cannot be understood.
        let limit = Limit { records: limit.records.min(self.survey.reached.records), ..limit };
        let reached =
            for_each(self.recording, order, limit, |thread, record| self.record(thread, record))?;
        self.finish_walk();
        self.builder
            .set_inputs(self.tables.inputs_for_replays(self.recording.starts_children_again));
        self.declare_benign();
        self.finish_names();
        self.finish_facts(order, reached);
        self.check_lineages();
        let mut trace = self.builder.finish();
        if !reached.is_all {
            trace.open_waits(|_| true);
        }
        Ok((trace, self.ranged_over))
    }

    fn record(&mut self, thread: u32, record: Record) -> Result<(), ImportError> {
        self.now += 1;
        if self.builder.so_far().len() >= (u32::MAX - 16) as usize {
            let problem = Problem::Unsupported("more than 2^32 events".into());
            return Err(record.error(problem));
        }
        self.check_site(&record)?;
        self.site = if record.has_site() { record.site } else { 0 };
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
            self.counts.after_exit += u64::from(!follows_the_way(record.kind));
            return Ok(());
        }
        if follows_the_way(record.kind) {
            self.walk_way(now);
            return Ok(());
        }
        self.before_record(now);
        if record.kind != kind::BEGIN {
            self.notice(now);
        }
        if let Some(touch) = record.touch()? {
            self.note_cancelled(thread, record.kind);
            self.access(now, touch);
            return Ok(());
        }
        self.note_cancelled(thread, record.kind);
        let change = self.objects.follow(thread, &record)?;
        for address in synchronises(&record) {
            self.objects.find(address);
        }
        if record.kind == kind::HANDED {
            self.objects.find(record.word(0));
        }
        if record.kind != kind::WAKE && !self.goes_on(now) {
            return Ok(());
        }
        let mut told = self.begin_walk(now, &change);
        match record.kind {
            kind::ALLOC | kind::FREE => self.heap(now, change),
            kind::BEGIN | kind::END | kind::FORK | kind::JOIN | kind::REQUEST_JOIN | kind::EXIT => {
                self.life(now, change)?;
            }
            kind::FENCE => {
                let order = record.order(record.detail)?;
                self.push(now, Op::Fence { order });
            }
            kind::ENTER_CALL => {
                self.before_call(now);
                self.call_record(now)?;
            }
            kind::LEAVE_CALL => {
                self.call_record(now)?;
                self.behind_call(now);
            }
            kind::UNSEEN => self.unseen(now),
            kind::HANDED => self.hand_over(now),
            kind::REGION_BEGIN => self.push(now, Op::RegionBegin),
            kind::REGION_END => self.push(now, Op::RegionEnd),
            kind::ASSERT if told.is_told => {}
            kind::ASSERT => {
                self.push(now, Op::Assert { holds: record.detail != 0 });
                self.express(&mut told);
            }
            _ => self.synchronise(now)?,
        }
        self.end_walk(now, told);
        Ok(())
    }

    /// Whether the record's site is one.
    fn check_site(&mut self, record: &Record) -> Result<(), ImportError> {
        if record.has_site() && !self.locations.contains_key(&record.site) {
            self.tables.place(record.site).map_err(|problem| record.error(problem))?;
            self.locations.insert(record.site, None);
        }
        Ok(())
    }

    /// Where the record is.
    pub(super) fn location(&mut self, now: Now) -> Option<LocationId> {
        self.location_of(now.record.site)
    }

    pub(super) fn location_of(&mut self, site: u64) -> Option<LocationId> {
        let known = self.locations.get(&site).copied().flatten();
        known.or_else(|| {
            let place = self.tables.place(site).ok().flatten()?;
            let location = self.builder.location(&place.show());
            self.locations.insert(site, Some(location));
            Some(location)
        })
    }

    /// Whether the thread may have events now.
    pub(super) fn may_add(&self, thread: u32) -> bool {
        let row = self.threads.get(&thread);
        row.is_some_and(|row| !row.abandoned && row.waiting.is_none())
    }

    /// Whether nothing can come behind this of the thread.
    pub(super) fn has_ended(&self, thread: u32) -> bool {
        self.threads.get(&thread).is_some_and(|row| row.ended || row.joined)
    }

    /// Appends an event that is no record.
    pub(super) fn push_between(
        &mut self,
        thread: u32,
        op: Op,
        location: Option<LocationId>,
    ) -> EventId {
        let id = self.thread(thread);
        self.row(thread).events += 1;
        self.builder.push(Event { thread: id, op, location });
        EventId(self.builder.so_far().len() as u32 - 1)
    }

    pub(super) fn thread(&mut self, number: u32) -> ThreadId {
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
        self.place_in_calls();
        self.row(now.thread).events += 1;
    }

    /// Whether the thread may do something other than wake: one that waits goes on with its wake
    /// only.
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
            self.builder.tell(Taken::ThreadLostInWait, 1);
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
        self.builder.tell(Taken::AddedEndOfWait, 1);
        true
    }

    /// Leaves the record out: behind this point everything before it must have happened, and
    /// nothing is certain.
    pub(super) fn leave_out(&mut self, now: Now, fact: impl Into<Provenance>) {
        self.builder.tell(fact, 1);
        self.pin(now);
    }

    /// Something was done that nobody saw: it may depend on all before it, and all behind it on it.
    fn unseen(&mut self, now: Now) {
        let what = match now.record.detail {
            unseen::ASSEMBLY => Unseen::InlineAssembly,
            unseen::WIDE_ATOMIC => Unseen::WideAtomic,
            unseen::MAPPED_FILE => Unseen::MappedFile,
            unseen::CALLED_BACK => Unseen::Callback,
            unseen::COPIED if !self.recording.has_copies => return,
            unseen::COPIED => Unseen::ProcessCopy,
            // There is nobody else yet.
            unseen::LOOKED | unseen::NOTICED if !self.given.has_threads() => return,
            unseen::LOOKED => Unseen::MemoryCall,
            unseen::NOTICED => {
                self.acts += 1;
                self.row(now.thread).noticed = self.acts;
                Unseen::MemoryCall
            }
            _ => Unseen::InterruptedWait,
        };
        let at = self
            .location(now)
            .map(|location| self.builder.so_far().locations().get(location.index()).to_string());
        self.leave_out(now, Provenance::Unseen { what, at });
    }

    /// Before the first record of a thread behind an act that all others may notice.
    fn notice(&mut self, now: Now) {
        let acts = self.acts;
        let row = self.row(now.thread);
        if row.noticed != acts && row.waiting.is_none() {
            row.noticed = acts;
            self.pin(now);
        }
    }

    /// Appends a read that nothing explains.
    pub(super) fn pin(&mut self, now: Now) {
        let row = self.row(now.thread);
        if row.abandoned || row.waiting.is_some() {
            return;
        }
        self.is_pinned(now.thread);
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

    fn access(&mut self, now: Now, touch: Touch) {
        let mut pieces: Vec<(Found, u32, u32)> = Vec::new();
        let shadow = &self.survey.shadow;
        let (mut extent, mut object, mut in_region) = (Extent::default(), None, false);
        let whole = &self.survey.whole;
        let mut pages = None;
        self.objects.split(touch.address, touch.size, |found, bytes| {
            in_region |= found.what == What::Region;
            pages = pages.or(found.block().filter(Block::is_shared));
            (extent, object) = match found.what {
                What::Global(_) | What::Heap(_) => {
                    let is_whole = whole.contains(&found.object);
                    let (start, end) = (found.start, found.end);
                    (Extent { start, end, is_whole }, Some(found.object))
                }
                What::Stack(_) | What::Region => (Extent::default(), None),
            };
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
        self.counts.freed += u64::from(in_region && self.objects.is_freed(touch.address));
        let sharing = match &pieces[..] {
            [] => Sharing::Own,
            [(_, start, end)] if u64::from(end - start) == touch.size => Sharing::Shared,
            _ => Sharing::Parts,
        };
        self.counts.private += u64::from(pieces.is_empty());
        if !pieces.is_empty() && !self.goes_on(now) {
            return;
        }
        let mut told = self.walk_access(now, &touch, sharing, extent);
        self.ranged_over.extend(object.filter(|_| told.ranges));
        if touch.writes.is_some() && touch.reads.is_some() && pieces.len() > 1 {
            self.builder.tell(Taken::SplitUpdate, 1);
        }
        for &(found, start, end) in &pieces {
            self.piece(now, &touch, &found, start, end);
            if sharing == Sharing::Shared {
                self.express(&mut told);
            }
        }
        self.end_walk(now, told);
        self.handed_memory(now, &touch, &pieces);
        if let Some(block) = pages {
            self.shared_pages(now, &touch, block);
        }
    }

    /// One part of an access that is in one object.
    fn piece(&mut self, now: Now, touch: &Touch, found: &Found, start: u32, end: u32) {
        self.declare_contents(found, touch, start..end);
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
        if skipped == 0 {
            self.note_base(found, at);
        }
        let order = touch.order;
        let op = match (touch.reads.is_some(), touch.writes.is_some()) {
            (true, false) => Op::Read { at, value: read, order },
            (true, true) => Op::Rmw { at, read, written, order },
            _ => Op::Write { at, value: written, order },
        };
        self.push(now, op);
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

/// Whether records of the kind only say which way the program went, which is no part of a trace.
fn follows_the_way(kind: u8) -> bool {
    matches!(kind, kind::ENTER | kind::PATH | kind::LAND | kind::SWITCH | kind::CALL | kind::RETURN)
}
