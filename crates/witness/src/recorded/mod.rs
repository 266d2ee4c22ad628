//! What the recorded run fixes: `docs/theory.md`, section 2.
//!
//! **Computes.** For each event the row of the table of section 3 that it follows (its *rule*), and
//! what that row refers to: the cells and the recorded writers of an access, the hold of a lock
//! event, the round of a barrier event, the frees that an alloc needs. Once per trace; every check
//! only looks things up.
//!
//! **Invariant.** An event whose recorded behaviour has no rule gets `Rule::Never`, so no schedule
//! that contains it is accepted.
//!
//! **Cost.** One pass, linear but for the sorting of distinct places; 9 bytes per event, 16 per
//! hold, and one word per recorded writer of an access to several cells.

mod cells;
mod counts;
mod holds;
mod memory;
mod regions;
mod reuse;
mod terms;

use std::sync::OnceLock;

use rustc_hash::FxHashSet;

use foretrace_trace::{Event, EventId, ObjectId, Op, ThreadId, Trace, WakeReason, ops};
use foretrace_verdict::Model;

pub(crate) use cells::{INITIAL, Span};
pub(crate) use counts::Round;
pub(crate) use holds::{Hold, Holds};
pub(crate) use memory::Memory;
pub(crate) use regions::Regions;
pub(crate) use terms::{Assignment, Terms};

use crate::calls::Kept;
use crate::starved::Waits;
use cells::Layout;
use counts::{BarrierPass, SemaphorePass};
use holds::HoldPass;
use memory::MemoryPass;
use reuse::ReusePass;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// A row of the table in section 3.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub(crate) enum Rule { $($(#[$doc])* $name),* }
        const RULES: &[Rule] = &[$(Rule::$name),*];
    };
}

rules! {
    /// those that are always enabled and do nothing, but for what `computing` asks of some of them
    Always,
    Read, Write, Rmw,
    Open, Deepen, AcquireFailed, Lower, Close, CloseForeign, ReleaseUnheld, Destroy,
    Wait, WakeNotified,
    /// timed out or spurious
    WakeUnnotified,
    Signal, Broadcast,
    SemWait, SemWaitFailed, SemPost, Arrive, Leave, Fork, Join, Exit, Alloc, Free, LeaveCall,
    /// no row: the trace is not valid here
    Never,
}

impl Rule {
    /// Opens a hold.
    #[inline]
    pub(crate) fn opens(self) -> bool {
        matches!(self, Rule::Open | Rule::WakeNotified | Rule::WakeUnnotified)
    }

    /// Closes a hold.
    #[inline]
    pub(crate) fn closes(self) -> bool {
        matches!(self, Rule::Close | Rule::CloseForeign | Rule::Wait)
    }

    /// Opens, changes or closes a hold.
    #[inline]
    pub(crate) fn has_hold(self) -> bool {
        self.opens() || self.closes() || matches!(self, Rule::Deepen | Rule::Lower)
    }

    /// Its operation has a lock.
    #[inline]
    pub(crate) fn is_about_lock(self) -> bool {
        let looks = matches!(self, Rule::AcquireFailed | Rule::ReleaseUnheld | Rule::Destroy);
        looks || self.has_hold()
    }
}

/// The rule of an event with three flags, in one byte.
#[derive(Clone, Copy, Debug)]
struct Tag(u8);

/// The access covers more than one cell.
const WIDE: u8 = 0x80;
/// The object of the access has a recorded alloc or free.
const MORTAL: u8 = 0x40;
/// The writer is unknown.
const UNKNOWN: u8 = 0x20;

/// The facts of section 2, laid out for lookups by event.
#[derive(Debug)]
pub(crate) struct Recorded {
    tags: Vec<Tag>,
    /// An access's first cell, a lock event's hold, a barrier event's round, the begin of an
    /// alloc's list in `frees`.
    link: Vec<u32>,
    /// A one-cell read's recorded writer; a wide access's place in `wide`; the end of an alloc's
    /// list.
    more: Vec<u32>,
    wide: Vec<Wide>,
    writers: Vec<u32>,
    frees: Vec<EventId>,
    pub(crate) memory: Memory,
    pub(crate) holds: Holds,
    pub(crate) regions: Regions,
    pub(crate) semaphores: Vec<u64>,
    pub(crate) rounds: Vec<Round>,
    /// The fork of each thread.
    pub(crate) forks: Vec<Option<EventId>>,
    /// The alloc of each object that has one.
    allocs: Vec<u32>,
    /// Which calls keep their order.
    pub(crate) calls: Kept,
    /// Which calls wait until they are fed.
    pub(crate) waits: Waits,
    /// Reads with an unknown writer of bytes that are the reading thread's own.
    private: FxHashSet<EventId>,
    /// Holds that another thread closes.
    handed_over: FxHashSet<u32>,
    terms: OnceLock<Terms>,
}

/// Which threads touch a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Nobody,
    Only(ThreadId),
    Several,
}

/// No event.
const NONE: u32 = u32::MAX;

/// An access to several cells.
#[derive(Debug)]
struct Wide {
    count: u32,
    /// Where its recorded writers begin in `writers`, if it reads.
    writers: u32,
}

impl Recorded {
    /// Reads the whole trace once.
    pub(crate) fn new(trace: &Trace, model: Model, infer_regions: bool) -> Self {
        let mut recorded = Pass::new(trace, model, infer_regions).run();
        recorded.find_private(trace);
        let releases = (0..trace.len()).map(EventId::from);
        let foreign = releases.filter(|&release| recorded.rule(release) == Rule::CloseForeign);
        recorded.handed_over = foreign.map(|release| recorded.hold(release)).collect();
        recorded
    }

    /// Finds the reads whose unknown writer is taken to be the reading thread.
    fn find_private(&mut self, trace: &Trace) {
        let has_unknown = |row: &usize| self.tags[*row].0 & UNKNOWN != 0;
        let unknown: Vec<EventId> =
            (0..self.tags.len()).filter(has_unknown).map(EventId::from).collect();
        if unknown.is_empty() {
            return;
        }
        let mut is_declared = vec![false; self.cell_count()];
        for &(place, _) in trace.initial() {
            let declared = self.memory.cells.span(place).cells();
            is_declared[declared.start as usize..declared.end as usize].fill(true);
        }
        // The one thread that touches a cell, if it is one.
        let mut owner = vec![Owner::Nobody; self.cell_count()];
        for access in (0..trace.len()).map(EventId::from) {
            if !matches!(self.rule(access), Rule::Read | Rule::Write | Rule::Rmw) {
                continue;
            }
            let mine = Owner::Only(trace.thread_of(access));
            let cells = self.span(access).cells();
            for owner in &mut owner[cells.start as usize..cells.end as usize] {
                let is_free = *owner == Owner::Nobody || *owner == mine;
                *owner = if is_free { mine } else { Owner::Several };
            }
        }
        for read in unknown {
            let is_own = |cell: u32| {
                matches!(owner[cell as usize], Owner::Only(_)) && !is_declared[cell as usize]
            };
            if self.span(read).cells().all(is_own) {
                self.private.insert(read);
            }
        }
    }

    /// Whether another thread than the holder closes the hold in the recorded run.
    pub(crate) fn is_handed_over(&self, hold: u32) -> bool {
        self.handed_over.contains(&hold)
    }

    /// Whether everything that was recorded before a read has to stay before it.
    #[inline]
    pub(crate) fn follows_all(&self, event: EventId) -> bool {
        self.has_unknown_writer(event) && !self.private.contains(&event)
    }

    #[inline]
    pub(crate) fn rule(&self, event: EventId) -> Rule {
        RULES[(self.tags[event.index()].0 & 0x1f) as usize]
    }

    #[inline]
    pub(crate) fn has_unknown_writer(&self, event: EventId) -> bool {
        self.tags[event.index()].0 & UNKNOWN != 0
    }

    /// Whether the object of an access may be not live.
    #[inline]
    pub(crate) fn is_mortal(&self, access: EventId) -> bool {
        self.tags[access.index()].0 & MORTAL != 0
    }

    /// Whether an access covers one cell of an object that is always live, with a known writer.
    #[inline]
    pub(crate) fn is_plain(&self, access: EventId) -> bool {
        self.tags[access.index()].0 & (WIDE | MORTAL | UNKNOWN) == 0
    }

    /// The cells of an access.
    #[inline]
    pub(crate) fn span(&self, access: EventId) -> Span {
        let row = access.index();
        let is_wide = self.tags[row].0 & WIDE != 0;
        let count = if is_wide { self.wide[self.more[row] as usize].count } else { 1 };
        Span { first: self.link[row], count }
    }

    /// The recorded writer of each cell of a read or read-modify-write.
    #[inline]
    pub(crate) fn recorded_writers(&self, reader: EventId) -> &[u32] {
        let row = reader.index();
        if self.tags[row].0 & WIDE == 0 {
            return std::slice::from_ref(&self.more[row]);
        }
        let wide = &self.wide[self.more[row] as usize];
        &self.writers[wide.writers as usize..(wide.writers + wide.count) as usize]
    }

    /// The hold that a lock event opens, changes or closes.
    #[inline]
    pub(crate) fn hold(&self, event: EventId) -> u32 {
        self.link[event.index()]
    }

    /// The round that an arrival belongs to, or that a leave comes after.
    #[inline]
    pub(crate) fn round(&self, event: EventId) -> u32 {
        self.link[event.index()]
    }

    /// The frees that must be executed before an alloc.
    pub(crate) fn frees_before(&self, alloc: EventId) -> &[EventId] {
        let row = alloc.index();
        &self.frees[self.link[row] as usize..self.more[row] as usize]
    }

    /// The recorded alloc of an object. Without one it is live from the start.
    pub(crate) fn alloc_of(&self, object: ObjectId) -> Option<EventId> {
        Some(EventId(self.allocs[object.index()])).filter(|&alloc| alloc != EventId(NONE))
    }

    pub(crate) fn cell_count(&self) -> usize {
        self.memory.cells.len()
    }

    /// The expressions, resolved when somebody asks first.
    pub(crate) fn terms(&self, trace: &Trace) -> &Terms {
        self.terms.get_or_init(|| Terms::new(trace))
    }
}

/// The one pass over the recorded run.
struct Pass<'a> {
    trace: &'a Trace,
    tags: Vec<Tag>,
    link: Vec<u32>,
    more: Vec<u32>,
    wide: Vec<Wide>,
    writers: Vec<u32>,
    frees: Vec<EventId>,
    spans: Vec<Span>,
    memory: MemoryPass,
    holds: HoldPass,
    regions: Regions,
    semaphores: SemaphorePass,
    barriers: BarrierPass,
    reuse: ReusePass,
    forks: Vec<Option<EventId>>,
    allocs: Vec<u32>,
    is_mortal: Vec<bool>,
    /// How many calls each thread has entered and not left.
    open_calls: Vec<u32>,
}

impl<'a> Pass<'a> {
    fn new(trace: &'a Trace, model: Model, infer_regions: bool) -> Self {
        let Layout { cells, place_of, spans, is_mortal } = Layout::new(trace);
        Pass {
            trace,
            tags: vec![Tag(Rule::Always as u8); trace.len()],
            link: place_of,
            more: vec![0; trace.len()],
            wide: Vec::new(),
            writers: Vec::new(),
            frees: Vec::new(),
            spans,
            memory: MemoryPass::new(trace, model, cells),
            holds: HoldPass::new(trace, infer_regions),
            regions: Regions::new(trace.threads().len()),
            semaphores: SemaphorePass::new(trace),
            barriers: BarrierPass::new(trace),
            reuse: ReusePass::default(),
            forks: vec![None; trace.threads().len()],
            allocs: vec![NONE; trace.objects().len()],
            is_mortal,
            open_calls: vec![0; trace.threads().len()],
        }
    }

    fn run(mut self) -> Recorded {
        for (id, event) in self.trace.events() {
            let rule = if event.op.access().is_some() {
                self.access(id, event.op)
            } else {
                self.other(id, event) as u8
            };
            self.tags[id.index()] = Tag(rule);
        }
        let (tags, link) = (&mut self.tags, &mut self.link);
        let rounds = self.barriers.finish(self.trace, |event, round| match round {
            Some(round) => link[event.index()] = round,
            None => tags[event.index()] = Tag(Rule::Never as u8),
        });
        Recorded {
            tags: self.tags,
            link: self.link,
            more: self.more,
            wide: self.wide,
            writers: self.writers,
            frees: self.frees,
            memory: self.memory.finish(),
            holds: self.holds.finish(),
            regions: self.regions.finish(),
            semaphores: self.semaphores.finish(self.trace),
            rounds,
            forks: self.forks,
            allocs: self.allocs,
            calls: Kept::of(self.trace),
            waits: Waits::of(self.trace),
            private: FxHashSet::default(),
            handed_over: FxHashSet::default(),
            terms: OnceLock::new(),
        }
    }

    /// Notes an access's cells and recorded writers; returns its tag.
    fn access(&mut self, id: EventId, op: Op) -> u8 {
        let row = id.index();
        let span = self.spans[self.link[row] as usize];
        self.link[row] = span.first;
        let from = self.writers.len();
        let (memory, writers) = (&mut self.memory, &mut self.writers);
        let (rule, at, is_unknown) = match op {
            Op::Read { at, value, .. } => {
                (Rule::Read, at, memory.read(id, at, span, value, writers))
            }
            Op::Rmw { at, read, written, .. } => {
                let is_unknown = memory.read(id, at, span, read, writers);
                memory.write(id, at, span, written);
                (Rule::Rmw, at, is_unknown)
            }
            Op::Write { at, value, .. } => {
                memory.write(id, at, span, value);
                (Rule::Write, at, false)
            }
            other @ ops!(object data sync call mark) => unreachable!("{other:?} is no access"),
        };
        let mut tag = rule as u8;
        if span.count > 1 {
            tag |= WIDE;
            self.more[row] = self.wide.len() as u32;
            self.wide.push(Wide { count: span.count, writers: from as u32 });
        } else if rule != Rule::Write {
            self.more[row] = self.writers.pop().expect("a read has a cell");
        }
        if self.is_mortal[at.object.index()] {
            tag |= MORTAL;
        }
        if is_unknown {
            tag |= UNKNOWN;
        }
        tag
    }

    fn other(&mut self, id: EventId, Event { thread, op, .. }: Event) -> Rule {
        let row = id.index();
        let (rule, link) = match op {
            Op::Acquire { lock, mode, .. } => self.holds.acquire(id, thread, lock, mode),
            Op::Release { lock, mode } => {
                self.holds.release(id, thread, lock, mode, &mut self.regions)
            }
            Op::Wait { lock, .. } => self.holds.wait(thread, lock),
            Op::Wake { lock, reason, .. } => {
                let rule = match reason {
                    WakeReason::Notified => Rule::WakeNotified,
                    WakeReason::TimedOut | WakeReason::Spurious => Rule::WakeUnnotified,
                };
                let role = self.holds.wake(id, thread, lock, rule);
                if self.follows_its_wait(id, thread, op) { role } else { (Rule::Never, u32::MAX) }
            }
            ops!(memory object data sem barrier thread call mark AcquireFailed Destroy Signal
                Broadcast Request) => (self.without_hold(id, thread, op), self.link[row]),
        };
        self.link[row] = link;
        rule
    }

    /// Whether a wake directly follows a wait on the same condition variable and lock.
    fn follows_its_wait(&self, id: EventId, thread: ThreadId, wake: Op) -> bool {
        let before = self.trace.previous(id).map(|previous| self.trace.event(previous));
        let Some(before) = before.filter(|before| before.thread == thread) else { return false };
        match (wake, before.op) {
            (Op::Wake { cond, lock, .. }, Op::Wait { cond: waited, lock: given, .. }) => {
                cond == waited && lock == given
            }
            _ => false,
        }
    }

    fn without_hold(&mut self, id: EventId, thread: ThreadId, op: Op) -> Rule {
        match op {
            Op::AcquireFailed { .. } => Rule::AcquireFailed,
            Op::Destroy { .. } => Rule::Destroy,
            Op::Signal { .. } => Rule::Signal,
            Op::Broadcast { .. } => Rule::Broadcast,
            Op::SemWait { sem, .. } => {
                self.semaphores.wait(sem);
                Rule::SemWait
            }
            Op::SemWaitFailed { sem, .. } => {
                self.semaphores.wait_failed(sem);
                Rule::SemWaitFailed
            }
            Op::SemPost { sem } => {
                self.semaphores.post(sem);
                Rule::SemPost
            }
            Op::Arrive { barrier } => {
                self.barriers.arrive(id, thread, barrier);
                Rule::Arrive
            }
            Op::Leave { barrier } => {
                self.barriers.leave(id, thread, barrier);
                Rule::Leave
            }
            // With two forks of one thread, or two allocs of one object, the trace is not valid;
            // the second gets no rule.
            Op::Fork { child } if self.forks[child.index()].is_some() => Rule::Never,
            Op::Fork { child } => {
                self.forks[child.index()] = Some(id);
                Rule::Fork
            }
            Op::Join { .. } => Rule::Join,
            Op::Exit => Rule::Exit,
            Op::Alloc { object, .. } if self.allocs[object.index()] != NONE => Rule::Never,
            Op::Alloc { object, size, address } => {
                self.allocs[object.index()] = id.0;
                let from = self.frees.len();
                self.reuse.alloc(id, object, size, address, &mut self.frees);
                self.link[id.index()] = from as u32;
                self.more[id.index()] = self.frees.len() as u32;
                Rule::Alloc
            }
            Op::Free { object } => {
                self.reuse.free(id, object);
                Rule::Free
            }
            Op::RegionBegin => {
                self.regions.begin(thread, id);
                Rule::Always
            }
            Op::RegionEnd => {
                self.regions.end(thread, id);
                Rule::Always
            }
            ops!(data Begin End Fence Request External) => Rule::Always,
            Op::EnterCall { .. } => {
                self.open_calls[thread.index()] += 1;
                Rule::Always
            }
            Op::LeaveCall => match &mut self.open_calls[thread.index()] {
                0 => Rule::Never,
                open => {
                    *open -= 1;
                    Rule::LeaveCall
                }
            },
            ops!(memory Acquire Release Wait Wake) => unreachable!("handled by the callers"),
        }
    }
}
