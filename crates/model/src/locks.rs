//! Holds: from the event that opens a hold on a lock to the one that closes it.
//!
//! **Computes.** All holds, the part that each lock operation plays, and which locks are recursive.
//!
//! **Follows.** `docs/theory.md`, section 2, *Holds*; recursion as in 002 section 4.3: depth is
//! local to a thread, so only the outermost acquire and release matter to others.
//!
//! **Cost.** Linear; 4 bytes per event and 28 per hold.

use rustc_hash::FxHashMap;

use foretrace_trace::{EventId, LockId, LockKind, Mode, Op, ThreadId, Trace, ops};

/// A hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HoldId(pub u32);

impl HoldId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One thread has one lock, from `open` to `close`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// What is held.
    pub lock: LockId,
    /// By whom.
    pub thread: ThreadId,
    /// How.
    pub mode: Mode,
    /// An acquire or a wake.
    pub open: EventId,
    /// A release, perhaps of another thread, or a wait; `None`: held to the end.
    pub close: Option<EventId>,
}

/// The part that a release plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseRole {
    /// It makes a hold one less deep.
    Lowers(HoldId),
    /// It ends its own thread's hold.
    Closes(HoldId),
    /// It ends another thread's hold.
    Foreign(HoldId),
    /// There is no hold.
    Unheld,
}

/// The lock part of the skeleton.
#[derive(Debug)]
pub struct Locks {
    holds: Vec<Hold>,
    by_lock: Vec<Vec<HoldId>>,
    /// The hold that each lock event opens, deepens, lowers or closes.
    hold_of: Vec<u32>,
    /// Deepening acquires and lowering releases of each hold that has any.
    inner: FxHashMap<HoldId, Vec<EventId>>,
    recursive: Vec<bool>,
    /// Locks with a foreign or unheld release.
    irregular: Vec<bool>,
    destroyed: Vec<Option<EventId>>,
    /// All events on a lock that is destroyed at some time.
    uses_of_destroyed: FxHashMap<LockId, Vec<EventId>>,
}

const NONE: u32 = u32::MAX;

/// A hold that is open while the recorded run is followed.
struct Open {
    hold: HoldId,
    depth: u32,
}

impl Locks {
    pub(crate) fn new(trace: &Trace) -> Self {
        let count = trace.locks().len();
        let mut locks = Locks {
            holds: Vec::new(),
            by_lock: vec![Vec::new(); count],
            hold_of: vec![NONE; trace.len()],
            inner: FxHashMap::default(),
            recursive: (0..count)
                .map(|lock| trace.lock_kind(LockId::from(lock)) == LockKind::Recursive)
                .collect(),
            irregular: vec![false; count],
            destroyed: vec![None; count],
            uses_of_destroyed: FxHashMap::default(),
        };
        locks.follow(trace);
        locks.collect_uses_of_destroyed(trace);
        locks
    }

    fn follow(&mut self, trace: &Trace) {
        // Few holds of one lock are open at once, so a list per lock is searched.
        let mut open: Vec<Vec<Open>> = (0..self.by_lock.len()).map(|_| Vec::new()).collect();
        // What a thread's last wait gave back.
        let mut given_back: Vec<(Mode, u32)> = vec![(Mode::Exclusive, 1); trace.threads().len()];
        for (event, op) in trace.other_ops() {
            let thread = trace.thread_of(event);
            match op {
                Op::Acquire { lock, mode, .. } => {
                    let open = &mut open[lock.index()];
                    if let Some(own) = open.iter_mut().find(|own| {
                        let hold = &self.holds[own.hold.index()];
                        hold.thread == thread && hold.mode == mode
                    }) {
                        own.depth += 1;
                        self.hold_of[event.index()] = own.hold.0;
                        self.inner.entry(own.hold).or_default().push(event);
                        self.recursive[lock.index()] |= mode == Mode::Exclusive;
                    } else {
                        let hold = self.open(event, lock, thread, mode);
                        open.push(Open { hold, depth: 1 });
                    }
                }
                Op::Wake { lock, .. } => {
                    let (mode, depth) = given_back[thread.index()];
                    let hold = self.open(event, lock, thread, mode);
                    open[lock.index()].push(Open { hold, depth });
                }
                Op::Release { lock, mode } => {
                    self.release(event, thread, lock, mode, &mut open[lock.index()]);
                }
                Op::Wait { lock, .. } => {
                    let open = &mut open[lock.index()];
                    let own = open
                        .iter()
                        .position(|own| self.holds[own.hold.index()].thread == thread)
                        .expect("a thread waits with a hold: the trace is valid");
                    let own = open.swap_remove(own);
                    given_back[thread.index()] = (self.holds[own.hold.index()].mode, own.depth);
                    self.close(event, own.hold);
                }
                Op::Destroy { lock } => self.destroyed[lock.index()] = Some(event),
                ops!(memory object data sem barrier thread call mark AcquireFailed Signal Broadcast
                    Request) => {}
            }
        }
    }

    fn open(&mut self, event: EventId, lock: LockId, thread: ThreadId, mode: Mode) -> HoldId {
        let hold = HoldId(self.holds.len() as u32);
        self.holds.push(Hold { lock, thread, mode, open: event, close: None });
        self.by_lock[lock.index()].push(hold);
        self.hold_of[event.index()] = hold.0;
        hold
    }

    fn close(&mut self, event: EventId, hold: HoldId) {
        self.holds[hold.index()].close = Some(event);
        self.hold_of[event.index()] = hold.0;
    }

    fn release(
        &mut self,
        event: EventId,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
        open: &mut Vec<Open>,
    ) {
        let holds = &self.holds;
        let own = open.iter().position(|own| {
            let hold = &holds[own.hold.index()];
            hold.thread == thread && hold.mode == mode
        });
        let ended = own.or_else(|| {
            let exclusive = |other: &Open| holds[other.hold.index()].mode == Mode::Exclusive;
            open.iter().position(exclusive)
        });
        let Some(at) = ended else {
            self.irregular[lock.index()] = true;
            return;
        };
        let hold = open[at].hold;
        if own.is_some() && open[at].depth > 1 {
            open[at].depth -= 1;
            self.hold_of[event.index()] = hold.0;
            self.inner.entry(hold).or_default().push(event);
            return;
        }
        self.irregular[lock.index()] |= own.is_none();
        open.swap_remove(at);
        self.close(event, hold);
    }

    fn collect_uses_of_destroyed(&mut self, trace: &Trace) {
        if self.destroyed.iter().all(Option::is_none) {
            return;
        }
        for (event, op) in trace.other_ops() {
            if let Op::Acquire { lock, .. }
            | Op::AcquireFailed { lock, .. }
            | Op::Release { lock, .. }
            | Op::Wait { lock, .. }
            | Op::Wake { lock, .. } = op
                && self.destroyed[lock.index()].is_some()
            {
                self.uses_of_destroyed.entry(lock).or_default().push(event);
            }
        }
    }

    /// How many holds there are.
    pub fn len(&self) -> usize {
        self.holds.len()
    }

    /// Whether nothing is ever held.
    pub fn is_empty(&self) -> bool {
        self.holds.is_empty()
    }

    /// The hold with that id.
    pub fn hold(&self, hold: HoldId) -> &Hold {
        &self.holds[hold.index()]
    }

    /// All holds of a lock in the recorded order of their opening.
    pub fn holds_of(&self, lock: LockId) -> &[HoldId] {
        &self.by_lock[lock.index()]
    }

    /// The hold that an event opens, deepens, lowers or closes.
    pub fn hold_at(&self, event: EventId) -> Option<HoldId> {
        let hold = self.hold_of[event.index()];
        (hold != NONE).then_some(HoldId(hold))
    }

    /// The hold that an acquire or wake opens; `None` for an acquire that deepens.
    pub fn opened_by(&self, event: EventId) -> Option<HoldId> {
        self.hold_at(event).filter(|&hold| self.hold(hold).open == event)
    }

    /// The part that a release plays.
    pub fn role(&self, trace: &Trace, release: EventId) -> ReleaseRole {
        match self.hold_at(release) {
            None => ReleaseRole::Unheld,
            Some(id) if self.hold(id).close != Some(release) => ReleaseRole::Lowers(id),
            Some(id) if self.hold(id).thread == trace.thread_of(release) => ReleaseRole::Closes(id),
            Some(id) => ReleaseRole::Foreign(id),
        }
    }

    /// Deepening acquires and lowering releases of a hold, in order.
    pub fn inner(&self, hold: HoldId) -> &[EventId] {
        self.inner.get(&hold).map_or(&[], |inner| inner)
    }

    /// Whether another thread closes the hold.
    pub fn closed_by_other(&self, trace: &Trace, hold: HoldId) -> bool {
        let hold = self.hold(hold);
        hold.close.is_some_and(|close| trace.thread_of(close) != hold.thread)
    }

    /// The end of the hold's thread, if the thread ends without giving it back itself.
    pub fn end_that_leaves(&self, trace: &Trace, hold: HoldId) -> Option<EventId> {
        let closes_itself = self.hold(hold).close.is_some() && !self.closed_by_other(trace, hold);
        let last = trace.thread_events(self.hold(hold).thread).last().copied();
        last.filter(|&last| !closes_itself && trace.op(last) == Op::End)
    }

    /// Whether its holder may take the lock again.
    pub fn is_recursive(&self, lock: LockId) -> bool {
        self.recursive[lock.index()]
    }

    /// Whether the lock has a release by a thread that does not hold it.
    pub fn is_irregular(&self, lock: LockId) -> bool {
        self.irregular[lock.index()]
    }

    /// The event that destroys a lock.
    pub fn destroyed_by(&self, lock: LockId) -> Option<EventId> {
        self.destroyed[lock.index()]
    }

    /// All operations on a lock that is destroyed at some time.
    pub fn uses_of_destroyed(&self, lock: LockId) -> &[EventId] {
        self.uses_of_destroyed.get(&lock).map_or(&[], |uses| uses)
    }
}
