//! Spices of planted scenes: small pieces of a run, one per primitive that is rare elsewhere.

use foretrace_trace::*;

use super::scenes::Scene;
use super::{Block, Lock, Machine, Pending};
use crate::profile::Action;

/// What is strewn in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spice {
    Annotations,
    Memory,
    Deepening,
    Failure,
    Impatience,
    Readers,
    Notified,
    DeepWait,
    TimedOut,
    Spurious,
    HungWait,
    Tokens,
    NoTokens,
    Foreign,
    Unheld,
    Destroy,
    Heap,
    Join,
    Round,
    HungArrival,
    HungRequest,
    Exit,
}

/// What a scene chooses from; some twice, since they come in several variants.
pub(super) const SPICES: &[Spice] = &[
    Spice::Annotations,
    Spice::Annotations,
    Spice::Memory,
    Spice::Memory,
    Spice::Deepening,
    Spice::Failure,
    Spice::Failure,
    Spice::Impatience,
    Spice::Readers,
    Spice::Notified,
    Spice::DeepWait,
    Spice::DeepWait,
    Spice::TimedOut,
    Spice::Spurious,
    Spice::HungWait,
    Spice::Tokens,
    Spice::NoTokens,
    Spice::NoTokens,
    Spice::Foreign,
    Spice::Unheld,
    Spice::Destroy,
    Spice::Heap,
    Spice::Heap,
    Spice::Join,
    Spice::Join,
    Spice::Round,
    Spice::HungArrival,
    Spice::HungRequest,
    Spice::Exit,
    Spice::Exit,
];

/// Longer scenes get no more spice.
const LONG: usize = 18;

impl Machine {
    /// The spice, if it comes at this place.
    pub(super) fn spice(&mut self, scene: &Scene, place: usize, thread: usize) {
        if !scene.places.contains(&place) || self.length > LONG || !self.is_idle(thread) {
            return;
        }
        let helper = (0..self.threads.len()).rev().find(|&u| u != thread && self.is_idle(u));
        let lock = self.lock_for_spice(scene.spice);
        let patience = self.random.pick(&[Patience::Try, Patience::Timed]);
        match scene.spice {
            Spice::Annotations => {
                for _ in 0..3 {
                    self.annotate(thread);
                }
            }
            Spice::Memory if self.random.chance(50) => self.read_privately(thread),
            Spice::Memory => {
                self.habits.unknown_writers = 40;
                self.habits.unvalued = self.random.pick(&[0, 40]);
                for action in [Action::Rmw, Action::Read] {
                    self.touch(thread, action);
                }
            }
            Spice::Deepening => {
                if self.take(thread, lock, Mode::Exclusive) {
                    let patience = Patience::Blocking;
                    self.record(thread, Op::Acquire { lock, mode: Mode::Exclusive, patience });
                    self.acquire(thread, lock, Mode::Exclusive);
                    self.release(thread, lock);
                    self.release(thread, lock);
                }
            }
            Spice::Failure => {
                let Some(helper) = helper else { return };
                self.acquire(helper, lock, Mode::Exclusive);
                if self.is_taken(thread, lock, Mode::Exclusive) && !self.is_destroyed(lock) {
                    self.record(
                        thread,
                        Op::AcquireFailed { lock, mode: Mode::Exclusive, patience },
                    );
                }
                self.release(helper, lock);
            }
            Spice::Impatience => {
                if self.take(thread, lock, Mode::Exclusive) {
                    self.record(thread, Op::Acquire { lock, mode: Mode::Exclusive, patience });
                    self.release(thread, lock);
                }
            }
            Spice::Readers => {
                self.acquire(thread, lock, Mode::Shared);
                self.release(thread, lock);
            }
            Spice::Notified | Spice::DeepWait | Spice::TimedOut | Spice::Spurious => {
                self.waits(scene.spice, thread, helper, lock);
            }
            Spice::HungWait => {
                let waiter = helper.unwrap_or(thread);
                self.acquire(waiter, lock, Mode::Exclusive);
                self.wait_on(waiter, lock, false, WakeReason::Notified);
            }
            Spice::Tokens | Spice::NoTokens => {
                let (sem, count) = self.semaphores[0];
                if scene.spice == Spice::Tokens {
                    self.post(helper.unwrap_or(thread), Some(sem));
                }
                let patience = self.random.pick(&[Patience::Blocking, patience]);
                if self.decrement(sem) {
                    self.record(thread, Op::SemWait { sem, patience });
                } else if count == 0 && patience != Patience::Blocking {
                    self.record(thread, Op::SemWaitFailed { sem, patience });
                }
            }
            Spice::Foreign => {
                let Some(helper) = helper else { return };
                self.acquire(helper, lock, Mode::Exclusive);
                self.misuse_of(thread, lock);
            }
            Spice::Unheld => self.misuse_of(thread, lock),
            Spice::Destroy => {
                self.acquire(thread, lock, Mode::Exclusive);
                self.release(thread, lock);
                let known = self.locks.iter().position(|known| known.id == lock);
                self.destroy_lock(helper.unwrap_or(thread), known.unwrap_or(0));
            }
            Spice::Heap => self.heap(thread, helper),
            Spice::Join => self.joins(thread),
            Spice::Round => {
                let Some(helper) = helper else { return };
                self.arrive(thread);
                self.arrive(helper);
                for thread in [thread, helper] {
                    self.settle(thread);
                }
            }
            Spice::HungArrival => self.arrive(helper.unwrap_or(thread)),
            Spice::HungRequest => self.hang(helper.unwrap_or(thread)),
            Spice::Exit => {}
        }
    }

    /// One of the plot's locks, or one of its own.
    fn lock_for_spice(&mut self, spice: Spice) -> LockId {
        let recursive = matches!(spice, Spice::Deepening | Spice::DeepWait);
        if self.random.chance(35) && !recursive {
            let chosen = self.random.below(self.locks.len());
            return self.locks[chosen].id;
        }
        let id = self.trace.lock("spare");
        if self.locks.iter().all(|known| known.id != id) {
            let has_readers = spice == Spice::Readers;
            self.locks.push(Lock { id, has_readers, recursive, destroyed: false });
        }
        id
    }

    /// Reads, twice, what nobody else touches, and something unrecorded changes it in between.
    fn read_privately(&mut self, thread: usize) {
        let object = self.trace.object(&format!("private{thread}"));
        let (at, order) = (Place { object, offset: 0, size: 1 }, MemoryOrder::Plain);
        for value in [0, 1] {
            self.record(thread, Op::Read { at, value: Some(value), order });
        }
    }

    /// A wait that comes to its end, and how.
    fn waits(&mut self, spice: Spice, thread: usize, helper: Option<usize>, lock: LockId) {
        let depth = if spice == Spice::DeepWait { 2 } else { 1 };
        for _ in 0..depth {
            self.acquire(thread, lock, Mode::Exclusive);
        }
        let (timed, plan) = match spice {
            Spice::TimedOut => (true, WakeReason::TimedOut),
            Spice::Spurious => (self.random.chance(30), WakeReason::Spurious),
            _ => (self.random.chance(20), WakeReason::Notified),
        };
        if self.wait_on(thread, lock, timed, plan) {
            if let Some(helper) = helper.filter(|_| self.random.chance(80)) {
                let cond = self.random.pick(&self.conds);
                self.notify(helper, cond);
            }
            self.settle(thread);
        }
        for _ in 0..depth {
            if self.is_idle(thread) {
                self.release(thread, lock);
            }
        }
    }

    /// Memory that is freed and allocated again at the same address.
    fn heap(&mut self, thread: usize, helper: Option<usize>) {
        let threads = [thread, helper.unwrap_or(thread)];
        let address = Some(0x4000);
        for name in ["p", "q"] {
            let id = self.trace.object(name);
            if self.blocks.iter().any(|block| block.id == id) {
                return;
            }
            let block = self.blocks.len();
            self.blocks.push(Block { id, size: 2, address, live: true, unit: 1 });
            self.record(thread, Op::Alloc { object: id, size: 2, address });
            if name == "p" && self.random.chance(30) {
                self.touch(threads[1], Action::Write);
            }
            if name == "p" || self.random.chance(30) {
                self.blocks[block].live = false;
                let freed_by = self.random.pick(&threads);
                self.record(freed_by, Op::Free { object: id });
            }
        }
    }

    /// Joins a thread that has ended, or waits for one, perhaps for ever.
    fn joins(&mut self, thread: usize) {
        let mut children = (0..self.threads.len()).rev();
        let Some(child) = children.find(|&child| child != thread && self.is_started(child)) else {
            return;
        };
        if !self.has_run(child) {
            if !self.is_idle(child) {
                return;
            }
            self.annotate(child);
        }
        if child > 1 && self.is_idle(child) && self.random.chance(40) {
            self.tidy(child);
            self.act(child, Action::Finish);
        }
        let id = self.thread_id(child);
        if self.threads[child].done {
            self.record(thread, Op::Join { child: id });
        } else {
            self.record(thread, Op::Request(Request::Join(id)));
            self.threads[thread].pending = Some(Pending::Join(child));
        }
    }
}
