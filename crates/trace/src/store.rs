//! The trace in memory: one row of packed columns per event, and the tables that ids point into.
//!
//! **Invariant.** Every id in a row is inside its table, and rows are in recorded order. Whether
//! the events obey the rules of `docs/theory.md` is the business of `validate`.
//!
//! **Cost.** 31 bytes per event in the columns and 8 in the thread index; wide or rare fields
//! (second values, names, expressions) are in columns with gaps.

use rustc_hash::FxHashMap;

use crate::event::*;
use crate::expr::{Expr, ExprRef};
use crate::ids::*;
use crate::provenance::Provenance;

mod builder;
mod channels;
mod cut;
mod expressions;
mod faults;
mod layouts;
mod named;
mod names;
mod sparse;
mod stacks;

pub use builder::Builder;
pub(crate) use expressions::Expressions;
pub use faults::Otherwise;
pub(crate) use layouts::Layouts;
pub use layouts::{Called, Layout, Member, Shape, TypeInfo};
pub use named::Named;
pub use names::Names;
use sparse::Sparse;
pub use stacks::Calls;
pub(crate) use stacks::Stacks;

/// Whether a trace says what depends on what was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dependences {
    /// By expressions; what has none may depend on everything that its thread has read before.
    #[default]
    Recorded,
    /// No: addresses and ways may depend on every read, and branches are not recorded.
    Unknown,
}

/// How a lock behaves when its holder takes it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// Not declared: recursive if the trace shows it being taken again by its holder.
    Unknown,
    /// Taking it again blocks for ever.
    Plain,
    /// Taking it again deepens the hold.
    Recursive,
}

/// The event columns. `kind` and `detail` together encode the operation without its operands.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    pub(crate) kind: Vec<u8>,
    pub(crate) detail: Vec<u8>,
    pub(crate) thread: Vec<u32>,
    pub(crate) location: Vec<u32>,
    /// The object, lock, condition variable, semaphore, barrier, thread or channels operated on.
    pub(crate) target: Vec<u32>,
    /// An access's offset; a wait's lock; a call's function + 1, or 0.
    pub(crate) operand: Vec<u32>,
    pub(crate) size: Vec<u32>,
    pub(crate) value: Vec<u64>,
}

/// One recorded run: totally ordered and self-contained.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Trace {
    pub(crate) columns: Columns,
    /// What read-modify-writes stored, by event.
    pub(crate) written: Sparse<u64>,
    pub(crate) bindings: Sparse<NameId>,
    pub(crate) expressions: Expressions,
    /// What read-modify-writes assume of what they see.
    pub(crate) assumptions: Expressions,
    /// Branches behind which the program does not go on if they go the other way.
    pub(crate) faults: Sparse<Otherwise>,
    /// The first of the objects that are no memory of the program, see [`Trace::is_made_up`].
    pub(crate) first_cell: Option<ObjectId>,
    pub(crate) dependences: Dependences,
    initial: Vec<(Place, u64)>,
    pub(crate) lock_kinds: FxHashMap<LockId, LockKind>,
    pub(crate) semaphore_counts: FxHashMap<SemId, u32>,
    pub(crate) barrier_parties: FxHashMap<BarrierId, u32>,
    provenance: Vec<(Provenance, u64)>,
    /// Races that the programmer declares to be harmless, see `anchors`.
    pub(crate) benign: Vec<(Place, String)>,
    /// What the program got from outside, for replays; nobody else looks inside.
    pub(crate) inputs: Vec<u8>,
    /// Of each event which visible operation of its thread it is, see `anchors`; empty if none has
    /// one.
    pub(crate) ordinals: Vec<u32>,
    /// Of each event what kind of record it was; as long as `ordinals`.
    pub(crate) record_kinds: Vec<u8>,
    /// The calls inside which events happen.
    pub(crate) stacks: Stacks,
    /// What the programmer calls memory.
    pub(crate) layouts: Layouts,
    threads: Names,
    objects: Names,
    locks: Names,
    conds: Names,
    semaphores: Names,
    barriers: Names,
    channels: Names,
    /// Lists of channels, each once.
    channel_lists: channels::Lists,
    /// The channels on which what is given may arrive late, in order.
    pub(crate) delayed: Vec<ChannelId>,
    functions: Names,
    locations: Names,
    names: Names,
    /// The events of each thread in program order, thread by thread.
    by_thread: Vec<EventId>,
    thread_start: Vec<u32>,
    /// Each event's place in its thread.
    position: Vec<u32>,
}

pub(crate) const NO_LOCATION: u32 = u32::MAX;

impl Trace {
    /// An empty trace to fill.
    pub fn builder() -> Builder {
        Builder { trace: Trace::default() }
    }

    /// What the program got from outside, as a replay gives it again; empty if nothing is known.
    /// Layout: `foretrace_recording::input`.
    pub fn inputs(&self) -> &[u8] {
        &self.inputs
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.columns.kind.len()
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.columns.kind.is_empty()
    }

    /// The event with that id.
    #[inline]
    pub fn event(&self, id: EventId) -> Event {
        let row = id.index();
        let location = self.columns.location[row];
        Event {
            thread: ThreadId(self.columns.thread[row]),
            op: self.op(id),
            location: (location != NO_LOCATION).then_some(LocationId(location)),
        }
    }

    /// All events in recorded order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = (EventId, Event)> + '_ {
        (0..self.len()).map(|row| (EventId::from(row), self.event(EventId::from(row))))
    }

    /// All operations in recorded order.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = (EventId, Op)> + '_ {
        (0..self.len()).map(|row| (EventId::from(row), self.op(EventId::from(row))))
    }

    /// The memory access that an event is, if it is one. Cheaper than [`Trace::op`]: most events
    /// are accesses, and most analyses look only at these, or only at the others.
    #[inline]
    pub fn access(&self, id: EventId) -> Option<Access> {
        let row = id.index();
        let columns = &self.columns;
        let kind = columns.kind[row];
        if kind > Kind::Rmw as u8 {
            return None;
        }
        let object = ObjectId(columns.target[row]);
        Some(Access {
            at: Place { object, offset: columns.operand[row], size: columns.size[row] },
            writes: kind != Kind::Read as u8,
            reads: kind != Kind::Write as u8,
            atomic: columns.detail[row] & 7 != MemoryOrder::Plain as u8,
        })
    }

    /// Whether an event is a memory access.
    #[inline]
    pub fn is_access(&self, id: EventId) -> bool {
        self.columns.kind[id.index()] <= Kind::Rmw as u8
    }

    /// All memory accesses in recorded order.
    #[inline]
    pub fn accesses(&self) -> impl Iterator<Item = (EventId, Access)> + '_ {
        (0..self.len()).filter_map(|row| {
            let event = EventId(row as u32);
            self.access(event).map(|access| (event, access))
        })
    }

    /// All operations that are no memory accesses, in recorded order.
    #[inline]
    pub fn other_ops(&self) -> impl Iterator<Item = (EventId, Op)> + '_ {
        let kinds = self.columns.kind.iter().enumerate();
        let others = kinds.filter(|&(_, &kind)| kind > Kind::Rmw as u8);
        others.map(|(row, _)| (EventId(row as u32), self.op(EventId(row as u32))))
    }

    /// What an access saw and what it stored, each as far as recorded.
    #[inline]
    pub fn values(&self, access: EventId) -> (Option<u64>, Option<u64>) {
        let row = access.index();
        let value = (self.columns.detail[row] & HAS_VALUE != 0).then(|| self.columns.value[row]);
        match self.columns.kind[row] {
            kind if kind == Kind::Read as u8 => (value, None),
            kind if kind == Kind::Write as u8 => (None, value),
            _ => (value, self.written.get(access).copied()),
        }
    }

    /// Who did it.
    #[inline]
    pub fn thread_of(&self, id: EventId) -> ThreadId {
        ThreadId(self.columns.thread[id.index()])
    }

    /// Where in the source.
    #[inline]
    pub fn location_of(&self, id: EventId) -> Option<LocationId> {
        let location = self.columns.location[id.index()];
        (location != NO_LOCATION).then_some(LocationId(location))
    }

    /// Its place in its thread, from 0.
    #[inline]
    pub fn position(&self, id: EventId) -> usize {
        self.position[id.index()] as usize
    }

    /// The events of a thread in program order.
    #[inline]
    pub fn thread_events(&self, thread: ThreadId) -> &[EventId] {
        let at = thread.index();
        &self.by_thread[self.thread_start[at] as usize..self.thread_start[at + 1] as usize]
    }

    /// The event before it in its thread.
    #[inline]
    pub fn previous(&self, id: EventId) -> Option<EventId> {
        let position = self.position(id);
        (position > 0).then(|| self.thread_events(self.thread_of(id))[position - 1])
    }

    /// The event after it in its thread.
    #[inline]
    pub fn next(&self, id: EventId) -> Option<EventId> {
        self.thread_events(self.thread_of(id)).get(self.position(id) + 1).copied()
    }

    /// All threads.
    pub fn thread_ids(&self) -> impl ExactSizeIterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::from)
    }

    /// The name that a read binds.
    pub fn binding(&self, id: EventId) -> Option<NameId> {
        self.bindings.get(id).copied()
    }

    /// The expression that a write stores, that a branch, assertion or assumption tests, or that a
    /// `let` names.
    pub fn expression(&self, id: EventId) -> Option<ExprRef<'_>> {
        self.expressions.get(id)
    }

    /// What a read-modify-write assumes of what it sees: it happens only when this holds.
    pub fn assumption(&self, id: EventId) -> Option<ExprRef<'_>> {
        self.assumptions.get(id)
    }

    /// Whether any event has an expression.
    pub fn has_expressions(&self) -> bool {
        !self.expressions.is_empty()
    }

    /// Whether the trace says what depends on what was read.
    pub fn dependences(&self) -> Dependences {
        self.dependences
    }

    /// Declared initial contents of memory.
    pub fn initial(&self) -> &[(Place, u64)] {
        &self.initial
    }

    /// Whether a lock is recursive, as far as declared.
    pub fn lock_kind(&self, lock: LockId) -> LockKind {
        self.lock_kinds.get(&lock).copied().unwrap_or(LockKind::Unknown)
    }

    /// The declared initial count of a semaphore.
    pub fn semaphore_count(&self, sem: SemId) -> Option<u32> {
        self.semaphore_counts.get(&sem).copied()
    }

    /// How many threads a barrier waits for, if declared.
    pub fn barrier_parties(&self, barrier: BarrierId) -> Option<u32> {
        self.barrier_parties.get(&barrier).copied()
    }

    /// What is known of the trace besides its events, and how often it was so.
    pub fn provenance(&self) -> &[(Provenance, u64)] {
        &self.provenance
    }

    /// Whether this is known of the trace.
    pub fn has_fact(&self, fact: impl Into<Provenance>) -> bool {
        let fact = fact.into();
        self.provenance.iter().any(|(known, _)| *known == fact)
    }

    /// The threads' names.
    pub fn threads(&self) -> &Names {
        &self.threads
    }

    /// The memory objects' names.
    pub fn objects(&self) -> &Names {
        &self.objects
    }

    /// The locks' names.
    pub fn locks(&self) -> &Names {
        &self.locks
    }

    /// The condition variables' names.
    pub fn conds(&self) -> &Names {
        &self.conds
    }

    /// The semaphores' names.
    pub fn semaphores(&self) -> &Names {
        &self.semaphores
    }

    /// The barriers' names.
    pub fn barriers(&self) -> &Names {
        &self.barriers
    }

    /// The source locations.
    pub fn locations(&self) -> &Names {
        &self.locations
    }

    /// The names that reads bind.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The operation of an event.
    #[inline]
    pub fn op(&self, id: EventId) -> Op {
        let row = id.index();
        let columns = &self.columns;
        let detail = columns.detail[row];
        let target = columns.target[row];
        let operand = columns.operand[row];
        let value = (detail & HAS_VALUE != 0).then(|| columns.value[row]);
        let place = || Place { object: ObjectId(target), offset: operand, size: columns.size[row] };
        let order = || ORDERS[(detail & 7) as usize];
        let mode = if detail & SHARED != 0 { Mode::Shared } else { Mode::Exclusive };
        let patience = || PATIENCES[(detail & 3) as usize];
        let yes = detail & 1 != 0;
        let (lock, cond, sem, barrier, child, object) = (
            LockId(target),
            CondId(target),
            SemId(target),
            BarrierId(target),
            ThreadId(target),
            ObjectId(target),
        );
        match KINDS[columns.kind[row] as usize] {
            Kind::Read => Op::Read { at: place(), value, order: order() },
            Kind::Write => Op::Write { at: place(), value, order: order() },
            Kind::Rmw => {
                let written = self.written.get(id).copied();
                Op::Rmw { at: place(), read: value, written, order: order() }
            }
            Kind::Branch => Op::Branch { taken: yes },
            Kind::Assert => Op::Assert { holds: yes },
            Kind::Assume => Op::Assume { holds: yes },
            Kind::Acquire => Op::Acquire { lock, mode, patience: patience() },
            Kind::AcquireFailed => Op::AcquireFailed { lock, mode, patience: patience() },
            Kind::Release => Op::Release { lock, mode },
            Kind::Destroy => Op::Destroy { lock },
            Kind::Wait => Op::Wait { cond, lock: LockId(operand), timed: yes },
            Kind::Wake => {
                Op::Wake { cond, lock: LockId(operand), reason: REASONS[(detail & 3) as usize] }
            }
            Kind::Signal => Op::Signal { cond },
            Kind::Broadcast => Op::Broadcast { cond },
            Kind::SemWait => Op::SemWait { sem, patience: patience() },
            Kind::SemWaitFailed => Op::SemWaitFailed { sem, patience: patience() },
            Kind::SemPost => Op::SemPost { sem },
            Kind::Arrive => Op::Arrive { barrier },
            Kind::Leave => Op::Leave { barrier },
            Kind::RequestAcquire => Op::Request(Request::Acquire(lock, mode)),
            Kind::RequestSemWait => Op::Request(Request::SemWait(sem)),
            Kind::RequestJoin => Op::Request(Request::Join(child)),
            Kind::Fork => Op::Fork { child },
            Kind::Join => Op::Join { child },
            Kind::Begin => Op::Begin,
            Kind::End => Op::End,
            Kind::Exit => Op::Exit,
            Kind::Alloc => Op::Alloc { object, size: columns.size[row], address: value },
            Kind::Free => Op::Free { object },
            Kind::RegionBegin => Op::RegionBegin,
            Kind::RegionEnd => Op::RegionEnd,
            Kind::Fence => Op::Fence { order: order() },
            Kind::External => Op::External,
            Kind::Let => Op::Let,
            Kind::EnterCall => {
                let by = operand.checked_sub(1).map(FunctionId);
                Op::EnterCall { on: ChannelsId(target), by }
            }
            Kind::LeaveCall => Op::LeaveCall,
        }
    }
}

/// The bit of `detail` that says that the value column counts.
pub(crate) const HAS_VALUE: u8 = 0x80;
/// The bit of `detail` for shared mode.
const SHARED: u8 = 0x40;

const ORDERS: [MemoryOrder; 8] = [
    MemoryOrder::Plain,
    MemoryOrder::Relaxed,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
    MemoryOrder::SeqCst,
    MemoryOrder::SeqCst,
    MemoryOrder::SeqCst,
];
const PATIENCES: [Patience; 4] =
    [Patience::Blocking, Patience::Timed, Patience::Try, Patience::Try];
const REASONS: [WakeReason; 4] =
    [WakeReason::Notified, WakeReason::TimedOut, WakeReason::Spurious, WakeReason::Spurious];

macro_rules! kinds {
    ($($name:ident),* $(,)?) => {
        /// The operation without its operands; the number is the one in the kind column.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        enum Kind { $($name),* }
        const KINDS: &[Kind] = &[$(Kind::$name),*];
    };
}

kinds! {
    Read, Write, Rmw, Branch, Assert, Assume, Acquire, AcquireFailed, Release, Destroy, Wait, Wake,
    Signal, Broadcast, SemWait, SemWaitFailed, SemPost, Arrive, Leave, RequestAcquire,
    RequestSemWait, RequestJoin, Fork, Join, Begin, End, Exit, Alloc, Free, RegionBegin, RegionEnd,
    Fence, External, Let, EnterCall, LeaveCall,
}

/// How many kinds there are: the kind column holds smaller numbers only.
pub(crate) const KIND_COUNT: usize = KINDS.len();

/// Every kind and detail that some operation packs to, with that operation: one whose other numbers
/// are zeros.
pub(crate) fn packed_operations() -> Vec<(u8, u8, Op)> {
    let rows =
        || (0..KIND_COUNT as u8).flat_map(|kind| (0..=u8::MAX).map(move |detail| (kind, detail)));
    let count = rows().count();
    let columns = Columns {
        kind: rows().map(|(kind, _)| kind).collect(),
        detail: rows().map(|(_, detail)| detail).collect(),
        thread: vec![0; count],
        location: vec![NO_LOCATION; count],
        target: vec![0; count],
        operand: vec![0; count],
        size: vec![0; count],
        value: vec![0; count],
    };
    let trace = Trace { columns, ..Trace::default() };
    let operations =
        rows().enumerate().map(|(at, (kind, detail))| (kind, detail, trace.op(EventId::from(at))));
    let is_packed = |&(kind, detail, op): &(u8, u8, Op)| {
        let row = pack(op);
        row.kind as u8 == kind && row.detail == detail
    };
    operations.filter(is_packed).collect()
}

/// One packed row, without thread and location.
struct Row {
    kind: Kind,
    detail: u8,
    target: u32,
    operand: u32,
    size: u32,
    value: u64,
}

fn pack(op: Op) -> Row {
    let row = |kind: Kind, detail: u8, target: u32| Row {
        kind,
        detail,
        target,
        operand: 0,
        size: 0,
        value: 0,
    };
    let access = |kind: Kind, at: Place, value: Option<u64>, order: MemoryOrder| Row {
        kind,
        detail: order as u8 | if value.is_some() { HAS_VALUE } else { 0 },
        target: at.object.0,
        operand: at.offset,
        size: at.size,
        value: value.unwrap_or(0),
    };
    let shared = |mode: Mode| if mode == Mode::Shared { SHARED } else { 0 };
    match op {
        Op::Read { at, value, order } => access(Kind::Read, at, value, order),
        Op::Write { at, value, order } => access(Kind::Write, at, value, order),
        Op::Rmw { at, read, order, .. } => access(Kind::Rmw, at, read, order),
        Op::Branch { taken } => row(Kind::Branch, taken as u8, 0),
        Op::Assert { holds } => row(Kind::Assert, holds as u8, 0),
        Op::Assume { holds } => row(Kind::Assume, holds as u8, 0),
        Op::Acquire { lock, mode, patience } => {
            row(Kind::Acquire, patience as u8 | shared(mode), lock.0)
        }
        Op::AcquireFailed { lock, mode, patience } => {
            row(Kind::AcquireFailed, patience as u8 | shared(mode), lock.0)
        }
        Op::Release { lock, mode } => row(Kind::Release, shared(mode), lock.0),
        Op::Destroy { lock } => row(Kind::Destroy, 0, lock.0),
        Op::Wait { cond, lock, timed } => {
            Row { operand: lock.0, ..row(Kind::Wait, timed as u8, cond.0) }
        }
        Op::Wake { cond, lock, reason } => {
            Row { operand: lock.0, ..row(Kind::Wake, reason as u8, cond.0) }
        }
        Op::Signal { cond } => row(Kind::Signal, 0, cond.0),
        Op::Broadcast { cond } => row(Kind::Broadcast, 0, cond.0),
        Op::SemWait { sem, patience } => row(Kind::SemWait, patience as u8, sem.0),
        Op::SemWaitFailed { sem, patience } => row(Kind::SemWaitFailed, patience as u8, sem.0),
        Op::SemPost { sem } => row(Kind::SemPost, 0, sem.0),
        Op::Arrive { barrier } => row(Kind::Arrive, 0, barrier.0),
        Op::Leave { barrier } => row(Kind::Leave, 0, barrier.0),
        Op::Request(Request::Acquire(lock, mode)) => {
            row(Kind::RequestAcquire, shared(mode), lock.0)
        }
        Op::Request(Request::SemWait(sem)) => row(Kind::RequestSemWait, 0, sem.0),
        Op::Request(Request::Join(child)) => row(Kind::RequestJoin, 0, child.0),
        Op::Fork { child } => row(Kind::Fork, 0, child.0),
        Op::Join { child } => row(Kind::Join, 0, child.0),
        Op::Begin => row(Kind::Begin, 0, 0),
        Op::End => row(Kind::End, 0, 0),
        Op::Exit => row(Kind::Exit, 0, 0),
        Op::Alloc { object, size, address } => Row {
            size,
            value: address.unwrap_or(0),
            ..row(Kind::Alloc, if address.is_some() { HAS_VALUE } else { 0 }, object.0)
        },
        Op::Free { object } => row(Kind::Free, 0, object.0),
        Op::RegionBegin => row(Kind::RegionBegin, 0, 0),
        Op::RegionEnd => row(Kind::RegionEnd, 0, 0),
        Op::Fence { order } => row(Kind::Fence, order as u8, 0),
        Op::External => row(Kind::External, 0, 0),
        Op::Let => row(Kind::Let, 0, 0),
        Op::EnterCall { on, by } => {
            Row { operand: by.map_or(0, |by| by.0 + 1), ..row(Kind::EnterCall, 0, on.0) }
        }
        Op::LeaveCall => row(Kind::LeaveCall, 0, 0),
    }
}
