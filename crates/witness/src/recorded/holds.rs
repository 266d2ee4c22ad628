//! Theory, section 2: holds, the roles of acquires and releases, recursive locks.
//!
//! **Computes.** A number for each hold, and for each lock event its role and the hold that it
//! opens, changes or closes. One call per lock event in recorded order.
//!
//! **Cost.** O(h) per event for h holds open on its lock at once.

use foretrace_trace::{EventId, LockId, LockKind, Mode, ThreadId, Trace};

use super::Rule;
use super::regions::Regions;

/// A hold of the recorded run, from the event that opens it to the one that closes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) mode: Mode,
    /// The depth with which it opens: above 1 only after a wait in a deeper hold.
    pub(crate) depth: u32,
    /// How many events deepen and lower it.
    pub(crate) changes: u32,
    pub(crate) opener: EventId,
}

/// What the recorded run says about locks.
#[derive(Debug)]
pub(crate) struct Holds {
    list: Vec<Hold>,
    recursive: Vec<bool>,
}

impl Holds {
    pub(crate) fn get(&self, hold: u32) -> &Hold {
        &self.list[hold as usize]
    }

    pub(crate) fn is_recursive(&self, lock: LockId) -> bool {
        self.recursive[lock.index()]
    }
}

/// A hold that is open at this point of the recorded run.
struct Open {
    hold: u32,
    thread: ThreadId,
    mode: Mode,
    depth: u32,
    opener: EventId,
    /// How many waits its thread had begun when it was opened.
    waits: u32,
}

/// The open holds of the recorded run so far.
pub(super) struct HoldPass {
    holds: Holds,
    open: Vec<Vec<Open>>,
    /// What the last wait of a thread gave back.
    given_back: Vec<Option<(LockId, Mode, u32)>>,
    waits: Vec<u32>,
    infer_regions: bool,
}

/// A role, and the hold that it is about.
pub(super) type Role = (Rule, u32);

const NOBODY: Role = (Rule::Never, u32::MAX);

impl HoldPass {
    pub(super) fn new(trace: &Trace, infer_regions: bool) -> Self {
        let locks = trace.locks().len();
        let recursive = (0..locks).map(|lock| trace.lock_kind(lock.into()) == LockKind::Recursive);
        HoldPass {
            holds: Holds { list: Vec::new(), recursive: recursive.collect() },
            open: (0..locks).map(|_| Vec::new()).collect(),
            given_back: vec![None; trace.threads().len()],
            waits: vec![0; trace.threads().len()],
            infer_regions,
        }
    }

    pub(super) fn acquire(&mut self, at: EventId, by: ThreadId, lock: LockId, mode: Mode) -> Role {
        let own = self.open[lock.index()].iter_mut().find(|o| o.thread == by && o.mode == mode);
        let Some(own) = own else {
            return (Rule::Open, self.opens(at, by, lock, mode, 1));
        };
        own.depth += 1;
        self.holds.list[own.hold as usize].changes += 1;
        self.holds.recursive[lock.index()] |= mode == Mode::Exclusive;
        (Rule::Deepen, own.hold)
    }

    pub(super) fn release(
        &mut self,
        at: EventId,
        by: ThreadId,
        lock: LockId,
        mode: Mode,
        regions: &mut Regions,
    ) -> Role {
        let open = &mut self.open[lock.index()];
        if let Some(index) = open.iter().position(|o| o.thread == by && o.mode == mode) {
            let own = &mut open[index];
            if own.depth > 1 {
                own.depth -= 1;
                self.holds.list[own.hold as usize].changes += 1;
                return (Rule::Lower, own.hold);
            }
            // A region runs from the opening to the closing event of one thread without a wait.
            if self.infer_regions && own.waits == self.waits[by.index()] {
                regions.add(by, own.opener, at);
            }
            return (Rule::Close, open.swap_remove(index).hold);
        }
        let is_closable = |o: &Open| o.mode == Mode::Exclusive && o.depth == 1;
        match open.iter().position(is_closable) {
            Some(index) if mode == Mode::Exclusive => {
                (Rule::CloseForeign, open.swap_remove(index).hold)
            }
            _ if open.is_empty() => (Rule::ReleaseUnheld, u32::MAX),
            _ => NOBODY,
        }
    }

    pub(super) fn wait(&mut self, by: ThreadId, lock: LockId) -> Role {
        self.waits[by.index()] += 1;
        self.given_back[by.index()] = None;
        let open = &mut self.open[lock.index()];
        if open.iter().filter(|o| o.thread == by).count() != 1 {
            return NOBODY;
        }
        let index = open.iter().position(|o| o.thread == by).expect("just counted");
        let closed = open.swap_remove(index);
        self.given_back[by.index()] = Some((lock, closed.mode, closed.depth));
        (Rule::Wait, closed.hold)
    }

    /// `rule` says how the wait ended.
    pub(super) fn wake(&mut self, at: EventId, by: ThreadId, lock: LockId, rule: Rule) -> Role {
        match self.given_back[by.index()].take() {
            Some((given, mode, depth)) if given == lock => {
                (rule, self.opens(at, by, lock, mode, depth))
            }
            _ => NOBODY,
        }
    }

    pub(super) fn finish(self) -> Holds {
        self.holds
    }

    fn opens(
        &mut self,
        opener: EventId,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
        depth: u32,
    ) -> u32 {
        let hold = self.holds.list.len() as u32;
        self.holds.list.push(Hold { mode, depth, changes: 0, opener });
        let waits = self.waits[thread.index()];
        self.open[lock.index()].push(Open { hold, thread, mode, depth, opener, waits });
        hold
    }
}
