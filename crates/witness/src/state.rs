//! The state of section 3 of `docs/theory.md`, as a workspace that is used again and again.
//!
//! **Invariant.** Between two checks everything reads as "nothing has happened". What is local to a
//! condition variable (W, N and E) is not here: see `signals`.
//!
//! **Cost.** One word pair per thread, cell, object, lock, semaphore and round of the trace, once
//! per thread of this program that checks; another for each event if values are computed; clearing
//! is constant plus the locks touched.

use foretrace_trace::{EventId, LockId, Mode, ThreadId, Trace};

use crate::recorded::{INITIAL, Recorded};
use crate::table::Table;

/// How far a schedule has come.
#[derive(Debug)]
pub(crate) struct State {
    /// How many events each thread has executed.
    pub(crate) progress: Table<u32>,
    pub(crate) has_exited: bool,
    /// The last writer of each cell.
    pub(crate) last_writer: Table<u32>,
    pub(crate) locks: Locks,
    /// How often each semaphore was posted and taken.
    pub(crate) posted: Table<u32>,
    pub(crate) taken: Table<u32>,
    /// How many arrivals of each round are executed.
    pub(crate) arrived: Table<u32>,
    /// Whether an alloc or a free of an object is executed, and which was last.
    pub(crate) life: Table<Life>,
    /// All events recorded before this one are executed. (Moved on only when somebody asks.)
    pub(crate) executed_up_to: EventId,
    /// The steps that concern condition variables, in order.
    pub(crate) cond_steps: Vec<(usize, EventId)>,
    /// What is computed, if reads need not see what they saw in the recorded run.
    pub(crate) values: Option<Values>,
}

/// What reads have seen and writes have left, where that may differ from the recorded run.
#[derive(Debug)]
pub(crate) struct Values {
    /// What the last writer of each cell left there: a value that it computed, or what it left in
    /// the recorded run.
    pub(crate) left: Table<Option<u64>>,
    /// What each executed read saw, and each executed `let` gave.
    pub(crate) given: Table<Option<u64>>,
    /// The first executed read of each thread that is not as recorded.
    pub(crate) strayed: Table<Option<EventId>>,
}

impl Values {
    fn new(trace: &Trace, recorded: &Recorded) -> Self {
        Values {
            left: Table::new(recorded.cell_count(), None),
            given: Table::new(trace.len(), None),
            strayed: Table::new(trace.threads().len(), None),
        }
    }

    fn clear(&mut self) {
        self.left.clear();
        self.given.clear();
        self.strayed.clear();
    }
}

/// What a schedule has done to the life of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// Nothing: it is live if the trace has no alloc of it.
    AsAtStart,
    Allocated,
    Freed,
}

impl State {
    /// The start; `computes` if it is to keep values.
    pub(crate) fn new(trace: &Trace, recorded: &Recorded, computes: bool) -> Self {
        State {
            progress: Table::new(trace.threads().len(), 0),
            has_exited: false,
            last_writer: Table::new(recorded.cell_count(), INITIAL),
            locks: Locks::new(trace.locks().len()),
            posted: Table::new(trace.semaphores().len(), 0),
            taken: Table::new(trace.semaphores().len(), 0),
            arrived: Table::new(recorded.rounds.len(), 0),
            life: Table::new(trace.objects().len(), Life::AsAtStart),
            executed_up_to: EventId(0),
            cond_steps: Vec::new(),
            values: computes.then(|| Values::new(trace, recorded)),
        }
    }

    /// Back to the start.
    pub(crate) fn clear(&mut self) {
        self.progress.clear();
        self.has_exited = false;
        self.last_writer.clear();
        self.locks.clear();
        self.posted.clear();
        self.taken.clear();
        self.arrived.clear();
        self.life.clear();
        self.executed_up_to = EventId(0);
        self.cond_steps.clear();
        self.values.iter_mut().for_each(Values::clear);
    }
}

/// An open hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenHold {
    /// Its number: as good as the opening event.
    pub(crate) hold: u32,
    pub(crate) thread: ThreadId,
    pub(crate) mode: Mode,
    pub(crate) depth: u32,
    /// How many of its recorded deepenings and lowerings are executed.
    pub(crate) changes: u32,
}

/// The open holds of each lock, and which locks are destroyed.
#[derive(Debug)]
pub(crate) struct Locks {
    locks: Vec<Lock>,
    touched: Vec<LockId>,
}

#[derive(Clone, Default, Debug)]
struct Lock {
    is_touched: bool,
    is_destroyed: bool,
    open: Vec<OpenHold>,
}

impl Locks {
    fn new(count: usize) -> Self {
        Locks { locks: vec![Lock::default(); count], touched: Vec::new() }
    }

    fn clear(&mut self) {
        for lock in self.touched.drain(..) {
            let lock = &mut self.locks[lock.index()];
            lock.open.clear();
            lock.is_touched = false;
            lock.is_destroyed = false;
        }
    }

    fn touch(&mut self, lock: LockId) -> &mut Lock {
        let state = &mut self.locks[lock.index()];
        if !state.is_touched {
            state.is_touched = true;
            self.touched.push(lock);
        }
        state
    }

    pub(crate) fn open(&self, lock: LockId) -> &[OpenHold] {
        &self.locks[lock.index()].open
    }

    pub(crate) fn is_destroyed(&self, lock: LockId) -> bool {
        self.locks[lock.index()].is_destroyed
    }

    /// Another thread that has a hold in a conflicting mode.
    pub(crate) fn other_holder(&self, lock: LockId, of: ThreadId, mode: Mode) -> Option<ThreadId> {
        let in_the_way = |open: &&OpenHold| open.thread != of && open.mode.conflicts(mode);
        self.open(lock).iter().find(in_the_way).map(|open| open.thread)
    }

    /// The thread's own hold of that mode.
    pub(crate) fn own_hold(&self, lock: LockId, of: ThreadId, mode: Mode) -> Option<&OpenHold> {
        self.open(lock).iter().find(|open| open.thread == of && open.mode == mode)
    }

    pub(crate) fn destroy(&mut self, lock: LockId) {
        self.touch(lock).is_destroyed = true;
    }

    pub(crate) fn push(&mut self, lock: LockId, open: OpenHold) {
        self.touch(lock).open.push(open);
    }

    pub(crate) fn find(&mut self, lock: LockId, hold: u32) -> Option<&mut OpenHold> {
        self.locks[lock.index()].open.iter_mut().find(|open| open.hold == hold)
    }

    /// Closes a hold; `None` if it is not open.
    pub(crate) fn close(&mut self, lock: LockId, hold: u32) -> Option<OpenHold> {
        let open = &mut self.locks[lock.index()].open;
        let index = open.iter().position(|open| open.hold == hold)?;
        Some(open.swap_remove(index))
    }
}
