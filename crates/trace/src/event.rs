//! Events: what one thread did in one step of the recorded run.
//!
//! `docs/theory.md` gives each kind its operational rule; here is only what is recorded.

use crate::ids::*;

/// One step of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What.
    pub op: Op,
    /// Where in the source; `None` when the trace does not say.
    pub location: Option<LocationId>,
}

/// The bytes that an access touches: `size` bytes of `object` from `offset` on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The block of memory.
    pub object: ObjectId,
    /// First byte.
    pub offset: u32,
    /// How many bytes; at least 1.
    pub size: u32,
}

impl Place {
    /// The first byte after the place.
    pub fn end(self) -> u32 {
        self.offset + self.size
    }

    /// Whether two places share a byte.
    pub fn overlaps(self, other: Place) -> bool {
        self.object == other.object && self.offset < other.end() && other.offset < self.end()
    }
}

/// C11's memory order of an access. Foretrace reasons about sequentially consistent executions:
/// an atomic access never races with another atomic one, whatever their orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MemoryOrder {
    /// Not atomic.
    Plain,
    /// `memory_order_relaxed`
    Relaxed,
    /// `memory_order_acquire` (and `consume`)
    Acquire,
    /// `memory_order_release`
    Release,
    /// `memory_order_acq_rel`
    AcqRel,
    /// `memory_order_seq_cst`; Java's `volatile`
    SeqCst,
}

impl MemoryOrder {
    /// Whether it allows for executions that are not sequentially consistent. (Plain accesses that
    /// race do so too, but that is a bug.)
    pub fn is_weak(self) -> bool {
        !matches!(self, MemoryOrder::Plain | MemoryOrder::SeqCst)
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Mode {
    /// By one thread alone.
    Exclusive,
    /// By any number of readers.
    Shared,
}

impl Mode {
    /// Whether two threads may not hold one lock in these modes at once.
    pub fn conflicts(self, other: Mode) -> bool {
        self == Mode::Exclusive || other == Mode::Exclusive
    }
}

/// How an operation that may have to wait behaves when it has to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Patience {
    /// Waits for ever.
    Blocking,
    /// Gives up after a time.
    Timed,
    /// Gives up at once (try-lock).
    Try,
}

/// Why a waiting thread went on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum WakeReason {
    /// A signal or broadcast reached it.
    Notified,
    /// Its time was up.
    TimedOut,
    /// Neither: a spurious wake-up or an interrupt.
    Spurious,
}

/// Which way a call uses a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Direction {
    /// Other calls can see its effect; its result depends on none of them.
    Gives,
    /// Its result can depend on other calls; none of them sees an effect.
    Takes,
    /// Both.
    Both,
}

impl Direction {
    /// Whether other calls can see an effect of it.
    pub fn gives(self) -> bool {
        self != Direction::Takes
    }

    /// Whether its result can depend on other calls.
    pub fn takes(self) -> bool {
        self != Direction::Gives
    }

    /// The direction of a call that uses a channel in both ways.
    pub(crate) fn and(self, other: Direction) -> Direction {
        if self == other { self } else { Direction::Both }
    }
}

/// The channels of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels<'t> {
    /// All that there are, and any that no event names, in both directions: the call of a function
    /// of which nothing is known.
    Every,
    /// These, in the order of their ids, each once.
    Only(&'t [(ChannelId, Direction)]),
}

/// What a call waits for, if nothing is there: `docs/theory.md`, section 4.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Awaited {
    /// What the call waits on: a stream of bytes, a counter. Whoever gives here ends every wait on
    /// it.
    pub source: ChannelId,
    /// The part that the call took from it in the recorded run: whoever gives here feeds this call.
    /// `None` if it took nothing.
    pub piece: Option<ChannelId>,
}

/// What a `request` is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Blocking acquire of a lock.
    Acquire(LockId, Mode),
    /// Blocking wait on a semaphore.
    SemWait(SemId),
    /// Join of a thread.
    Join(ThreadId),
}

/// What happened. The fields are named after what they are.
#[allow(missing_docs)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A load. `value` is what it saw, little-endian in `at.size` bytes, if recorded.
    Read { at: Place, value: Option<u64>, order: MemoryOrder },
    /// A store of `value`, if recorded.
    Write { at: Place, value: Option<u64>, order: MemoryOrder },
    /// One indivisible load and store. (A failed compare-and-swap is an atomic `Read`.)
    Rmw { at: Place, read: Option<u64>, written: Option<u64>, order: MemoryOrder },
    /// Thread-local computation: gives a name to the value of an expression.
    Let,
    /// A conditional branch and which way it went.
    Branch { taken: bool },
    /// An assertion and whether it held.
    Assert { holds: bool },
    /// A condition that the user declares to hold.
    Assume { holds: bool },
    /// The lock was acquired (a recursive lock perhaps again).
    Acquire { lock: LockId, mode: Mode, patience: Patience },
    /// A try-lock or timed lock that did not get the lock.
    AcquireFailed { lock: LockId, mode: Mode, patience: Patience },
    /// The lock was released once.
    Release { lock: LockId, mode: Mode },
    /// The lock was destroyed.
    Destroy { lock: LockId },
    /// First half of a wait: gives the lock back, whatever its depth, and blocks.
    Wait { cond: CondId, lock: LockId, timed: bool },
    /// Second half of a wait: has the lock again, in the depth that it had.
    Wake { cond: CondId, lock: LockId, reason: WakeReason },
    /// Wakes one waiter, if there is one.
    Signal { cond: CondId },
    /// Wakes all waiters.
    Broadcast { cond: CondId },
    /// The semaphore was decremented.
    SemWait { sem: SemId, patience: Patience },
    /// A try-wait or timed wait that found the count zero.
    SemWaitFailed { sem: SemId, patience: Patience },
    /// The semaphore was incremented.
    SemPost { sem: SemId },
    /// The thread came to the barrier.
    Arrive { barrier: BarrierId },
    /// The thread went on behind the barrier.
    Leave { barrier: BarrierId },
    /// The thread is about to do an operation that may block.
    Request(Request),
    /// Creates a thread.
    Fork { child: ThreadId },
    /// Waits for a thread's end.
    Join { child: ThreadId },
    /// The thread runs.
    Begin,
    /// The thread is at its end.
    End,
    /// The whole process ends here; nothing follows.
    Exit,
    /// The object comes to life, at `address` if known.
    Alloc { object: ObjectId, size: u32, address: Option<u64> },
    /// The object's life ends.
    Free { object: ObjectId },
    /// A block begins that the programmer means to be atomic.
    RegionBegin,
    /// It ends.
    RegionEnd,
    /// A memory fence: no effect under sequential consistency.
    Fence { order: MemoryOrder },
    /// A call into code that is not recorded.
    External,
    /// A call begins that other threads can notice, or that can notice them, other than through
    /// memory.
    EnterCall { on: ChannelsId, by: Option<FunctionId> },
    /// The innermost open call of the thread returns.
    LeaveCall,
}

/// A pattern for several operations, by name or by kind: for arms of a `match` that treat all of
/// them alike, mostly by ignoring them. A match without `_` does not compile when an operation is
/// added, until it is in such a pattern or has an arm.
///
/// | kind | operations |
/// | --- | --- |
/// | `memory`, `object` | accesses; the life of objects |
/// | `data` | what a thread computes and decides |
/// | `sync` | synchronisation: `lock`, `cond`, `sem`, `barrier`, `thread`, and requests |
/// | `call` | calls that use channels |
/// | `mark` | what changes no state: regions, fences, code that is not recorded |
#[macro_export]
macro_rules! ops {
    (memory) => { $crate::ops!(Read Write Rmw) };
    (object) => { $crate::ops!(Alloc Free) };
    (data) => { $crate::ops!(Let Branch Assert Assume) };
    (sync) => { $crate::ops!(lock cond sem barrier thread Request) };
    (lock) => { $crate::ops!(Acquire AcquireFailed Release Destroy) };
    (cond) => { $crate::ops!(Wait Wake Signal Broadcast) };
    (sem) => { $crate::ops!(SemWait SemWaitFailed SemPost) };
    (barrier) => { $crate::ops!(Arrive Leave) };
    (thread) => { $crate::ops!(Fork Join Begin End Exit) };
    (call) => { $crate::ops!(EnterCall LeaveCall) };
    (mark) => { $crate::ops!(RegionBegin RegionEnd Fence External) };
    ($operation:ident) => { $crate::Op::$operation { .. } };
    ($first:ident $($other:ident)+) => { $crate::ops!($first) $(| $crate::ops!($other))+ };
}

/// What goes wrong if a check that no programmer wrote fails: the recorded run passed it, and
/// another schedule may not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ImplicitFault {
    /// A null pointer is used.
    Null,
    /// A number is divided by zero.
    Division,
    /// An index lies outside of its array.
    Bounds,
    /// Memory is used that another thread has freed.
    Freed,
    /// Nothing goes wrong, but the access that follows may be to another place of its object.
    Address,
}

impl ImplicitFault {
    /// All of them, in the order of their numbers.
    pub const ALL: [ImplicitFault; 5] = [
        ImplicitFault::Null,
        ImplicitFault::Division,
        ImplicitFault::Bounds,
        ImplicitFault::Freed,
        ImplicitFault::Address,
    ];

    /// Those of which an assertion can be made.
    pub const IMPLICIT: [ImplicitFault; 4] =
        [ImplicitFault::Null, ImplicitFault::Division, ImplicitFault::Bounds, ImplicitFault::Freed];

    /// What the text form calls it.
    pub fn name(self) -> &'static str {
        match self {
            ImplicitFault::Null => "null",
            ImplicitFault::Division => "division",
            ImplicitFault::Bounds => "bounds",
            ImplicitFault::Freed => "freed",
            ImplicitFault::Address => "address",
        }
    }
}

/// An access as the properties see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Which bytes.
    pub at: Place,
    /// Whether it stores (a read-modify-write does).
    pub writes: bool,
    /// Whether it loads (a read-modify-write does).
    pub reads: bool,
    /// Whether it is atomic.
    pub atomic: bool,
}

impl Access {
    /// Overlapping, and at least one of the two stores.
    pub fn conflicts(&self, other: &Access) -> bool {
        (self.writes || other.writes) && self.at.overlaps(other.at)
    }
}

impl Op {
    /// The memory access, if this is one.
    pub fn access(&self) -> Option<Access> {
        let (at, reads, writes, order) = match *self {
            Op::Read { at, order, .. } => (at, true, false, order),
            Op::Write { at, order, .. } => (at, false, true, order),
            Op::Rmw { at, order, .. } => (at, true, true, order),
            ops!(data sync object call mark) => return None,
        };
        Some(Access { at, reads, writes, atomic: order != MemoryOrder::Plain })
    }
}
