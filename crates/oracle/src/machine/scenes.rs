//! Planted scenes: two threads that nearly break a rule, and one rare primitive beside them.
//!
//! **Computes.** A recorded run around one property: two threads that could deadlock, race, break a
//! region, lose a notification or misuse a lock; perhaps something that keeps them from it (a gate
//! lock, a token, a barrier, fork, join, a value); and a *spice*, some primitive that random
//! programs seldom use next to such a pair.
//!
//! **Follows.** The table of `coverage`: property × verdict × primitive, one choice each.
//!
//! **Invariant.** Everything goes through the machine, so a scene that cannot go on is cut short,
//! never invalid.

use foretrace_trace::*;

use super::spices::{SPICES, Spice};
use super::{Block, Lock, Machine, Pending};
use crate::profile::Action;

/// The property that the scene is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plot {
    Cycle,
    Race,
    /// A race inside one thread's critical section, which the other's must overtake; what they do
    /// inside may forbid that.
    Overtake,
    Region,
    /// A region whose lock another thread gives back.
    Handover,
    Stuck,
    /// Two waits, two signals, and a race between the signals.
    TwoWaits,
    Misuse,
    /// One thread writes several things, and the other asserts something about what it reads of
    /// them.
    Relay,
}

/// What orders the second thread's part behind the first's, or keeps them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    Nothing,
    Gate,
    Token,
    Barrier,
    Fork,
    Join,
    Value,
}

const PLOTS: &[Plot] = &[
    Plot::Cycle,
    Plot::Cycle,
    Plot::Cycle,
    Plot::Cycle,
    Plot::Region,
    Plot::Region,
    Plot::Region,
    Plot::Region,
    Plot::Race,
    Plot::Overtake,
    Plot::Handover,
    Plot::Stuck,
    Plot::Stuck,
    Plot::TwoWaits,
    Plot::Misuse,
];

/// How often, in percent, the scene of a program that computes is about an assertion.
const RELAYS: usize = 25;

const GUARDS: &[Guard] =
    &[Guard::Gate, Guard::Token, Guard::Barrier, Guard::Fork, Guard::Join, Guard::Value];

/// The thread that comes first in the recorded run, and the one that follows.
const FIRST: usize = 0;
const SECOND: usize = 1;
/// The lock of the gate; the plots use the two before it.
const GATE: usize = 2;

/// One scene, as it was chosen.
pub(super) struct Scene {
    plot: Plot,
    guard: Guard,
    pub(super) spice: Spice,
    /// At which of the five places the spice comes, and a second time, if it does.
    pub(super) places: [usize; 2],
    token: Option<SemId>,
}

impl Machine {
    /// Plays one scene. Returns whether the process shall exit at its end.
    pub(crate) fn play(&mut self) -> bool {
        let mut plot = self.random.pick(PLOTS);
        if self.reckoning.is_some() && self.random.chance(RELAYS) {
            plot = Plot::Relay;
        }
        let guarded = self.random.chance(50);
        let guard = match plot {
            // Of the guards, only a token can come before the wait itself.
            Plot::Stuck if self.random.chance(50) => Guard::Token,
            _ if guarded => self.random.pick(GUARDS),
            _ => Guard::Nothing,
        };
        let spice = self.random.pick(SPICES);
        let places = [self.random.below(5), self.random.below(12)];
        let mut scene = Scene { plot, guard, spice, places, token: None };
        self.set(&mut scene);
        match plot {
            Plot::Handover => self.handover(),
            Plot::TwoWaits => self.two_waits(),
            _ => self.play_parts(&scene),
        }
        for thread in 0..self.threads.len() {
            self.settle(thread);
        }
        if spice == Spice::Exit {
            for thread in SECOND..self.threads.len() {
                if self.is_idle(thread) {
                    self.tidy(thread);
                    self.act(thread, Action::Finish);
                }
            }
        }
        spice == Spice::Exit
    }

    /// The parts of the two threads, one after the other in the recorded run.
    fn play_parts(&mut self, scene: &Scene) {
        self.spice(scene, 0, FIRST);
        self.read_and_ponder(FIRST);
        self.first_part(scene);
        self.spice(scene, 2, FIRST);
        if self.enter(scene) {
            self.second_part(scene);
        }
        self.spice(scene, 4, SECOND);
        self.read_and_ponder(SECOND);
    }

    fn set(&mut self, scene: &mut Scene) {
        self.barriers[0].parties = 2;
        match scene.guard {
            Guard::Fork => self.threads[SECOND].started = false,
            Guard::Token => {
                let token = self.trace.semaphore("token");
                if self.random.chance(70) {
                    self.trace.set_semaphore(token, 0);
                }
                self.semaphores.push((token, 0));
                scene.token = Some(token);
            }
            _ => {}
        }
        for thread in 1..self.threads.len() {
            if !self.threads[thread].started && (thread != SECOND || scene.guard != Guard::Fork) {
                self.fork(FIRST, thread);
            }
        }
    }

    pub(super) fn fork(&mut self, parent: usize, child: usize) {
        let id = self.thread_id(child);
        self.record(parent, Op::Fork { child: id });
        self.threads[child].started = true;
    }

    /// Completes what a thread is in the middle of, if it can.
    pub(super) fn settle(&mut self, thread: usize) {
        if self.is_started(thread) {
            self.wake_up(thread);
        }
    }

    fn first_part(&mut self, scene: &Scene) {
        let gate = self.locks[GATE].id;
        if scene.guard == Guard::Gate {
            self.acquire(FIRST, gate, Mode::Exclusive);
        }
        match scene.plot {
            Plot::Cycle => self.nested(scene, FIRST, 0, 1, 1),
            Plot::Race => {
                self.touch(FIRST, Action::Write);
                self.spice(scene, 1, FIRST);
            }
            Plot::Overtake => self.overtaken(scene),
            Plot::Region => self.region(scene),
            Plot::Stuck => self.blocks(scene),
            Plot::Misuse => {
                self.acquire(FIRST, self.locks[0].id, Mode::Exclusive);
                self.spice(scene, 1, FIRST);
                if self.random.chance(60) && self.is_idle(FIRST) {
                    self.release(FIRST, self.locks[0].id);
                }
            }
            Plot::Relay => self.sends(scene),
            Plot::Handover | Plot::TwoWaits => {}
        }
        // A thread that waits for the second one orders nothing.
        if !self.is_idle(FIRST) {
            return;
        }
        match scene.guard {
            Guard::Gate => self.release(FIRST, gate),
            Guard::Token => self.post(FIRST, scene.token),
            Guard::Barrier => self.arrive(FIRST),
            Guard::Fork => self.fork(FIRST, SECOND),
            Guard::Join => {
                self.tidy(FIRST);
                self.act(FIRST, Action::Finish);
            }
            Guard::Value => self.touch(FIRST, Action::Write),
            Guard::Nothing => {}
        }
    }

    /// The second thread passes the guard. False if it cannot.
    fn enter(&mut self, scene: &Scene) -> bool {
        if !self.is_idle(SECOND) {
            return false;
        }
        match scene.guard {
            Guard::Gate => self.acquire(SECOND, self.locks[GATE].id, Mode::Exclusive),
            Guard::Token => {
                if let Some(sem) = scene.token.filter(|&sem| self.decrement(sem)) {
                    self.record(SECOND, Op::SemWait { sem, patience: Patience::Blocking });
                }
            }
            Guard::Barrier => {
                self.arrive(SECOND);
                if let Some(leave) = self.leave(SECOND) {
                    self.record(SECOND, leave);
                    self.threads[SECOND].pending = None;
                }
                self.settle(FIRST);
            }
            Guard::Join if self.threads[FIRST].done => {
                let child = self.thread_id(FIRST);
                self.record(SECOND, Op::Join { child });
            }
            Guard::Value => self.touch(SECOND, Action::Read),
            _ => {}
        }
        self.is_idle(SECOND)
    }

    fn second_part(&mut self, scene: &Scene) {
        let lock = self.locks[0].id;
        match scene.plot {
            Plot::Cycle => self.nested(scene, SECOND, 1, 0, 3),
            Plot::Race => {
                self.spice(scene, 3, SECOND);
                if self.is_idle(SECOND) {
                    let action = self.random.pick(&[Action::Write, Action::Read, Action::Rmw]);
                    self.touch(SECOND, action);
                    self.touch(SECOND, Action::Write);
                }
            }
            Plot::Region => {
                let locked = self.random.chance(50);
                if locked {
                    self.acquire(SECOND, lock, Mode::Exclusive);
                }
                self.spice(scene, 3, SECOND);
                if self.is_idle(SECOND) {
                    self.touch(SECOND, Action::Write);
                    self.release(SECOND, lock);
                }
            }
            Plot::Overtake => self.overtakes(scene),
            Plot::Relay => self.receives(scene),
            Plot::Handover | Plot::TwoWaits => {}
            Plot::Stuck => self.unblocks(scene),
            Plot::Misuse => {
                self.spice(scene, 3, SECOND);
                if self.is_idle(SECOND) {
                    let foreign = self.holder(lock).is_some_and(|holder| holder != SECOND);
                    if foreign || self.random.chance(50) {
                        self.misuse_of(SECOND, lock);
                    } else {
                        self.destroy_lock(SECOND, 0);
                    }
                }
            }
        }
        if scene.guard == Guard::Gate && self.is_idle(SECOND) {
            self.release(SECOND, self.locks[GATE].id);
        }
    }

    /// Takes one lock and then another.
    fn nested(&mut self, scene: &Scene, thread: usize, outer: usize, inner: usize, place: usize) {
        let (outer, inner) = (self.locks[outer], self.locks[inner]);
        let mode = |machine: &mut Machine, lock: Lock| {
            let shared = lock.has_readers && machine.random.chance(40);
            if shared { Mode::Shared } else { Mode::Exclusive }
        };
        let (first, second) = (mode(self, outer), mode(self, inner));
        self.acquire(thread, outer.id, first);
        self.spice(scene, place, thread);
        if !self.is_idle(thread) {
            return;
        }
        if self.random.chance(self.habits.requests / 3) {
            self.record(thread, Op::Request(Request::Acquire(inner.id, second)));
            self.threads[thread].pending = Some(Pending::Acquire(inner.id, second));
            self.settle(thread);
        } else {
            self.acquire(thread, inner.id, second);
        }
        match self.random.below(20) {
            0 | 1 => {}
            // The lock is taken again when the wait ends, so this closes a cycle too.
            2 | 3 => {
                let (timed, plan) = self.random.pick(&[
                    (false, WakeReason::Notified),
                    (true, WakeReason::TimedOut),
                    (false, WakeReason::Spurious),
                ]);
                self.wait_on(thread, inner.id, timed, plan);
                self.settle(thread);
            }
            4 => {
                self.release(thread, inner.id);
                let other = self.some_thread();
                if self.is_idle(other) {
                    self.misuse_of(other, outer.id);
                }
            }
            _ => {
                self.release(thread, inner.id);
                self.release(thread, outer.id);
            }
        }
    }

    /// Touches memory at the end of a critical section.
    fn overtaken(&mut self, scene: &Scene) {
        let lock = self.locks[0];
        let shared = lock.has_readers && self.random.chance(50);
        let mode = if shared { Mode::Shared } else { Mode::Exclusive };
        self.acquire(FIRST, lock.id, mode);
        match self.random.below(4) {
            // It may be in the midst of a wait, where a thread does nothing.
            0 if self.is_idle(FIRST) => {
                let id = self.trace.object("own");
                let block = Block { id, size: 2, address: None, live: true, unit: 1 };
                self.blocks.push(block);
                let op = Op::Write {
                    at: Place { object: id, offset: 0, size: 1 },
                    value: None,
                    order: MemoryOrder::Plain,
                };
                self.record(FIRST, op);
            }
            1 => self.post(FIRST, scene.token),
            2 => self.touch(FIRST, Action::Write),
            _ => {}
        }
        self.spice(scene, 1, FIRST);
        self.touch(FIRST, Action::Write);
        self.release(FIRST, lock.id);
    }

    /// Touches memory behind a critical section.
    fn overtakes(&mut self, scene: &Scene) {
        let lock = self.locks[0];
        let shared = lock.has_readers && self.random.chance(50);
        let mode = if shared { Mode::Shared } else { Mode::Exclusive };
        self.acquire(SECOND, lock.id, mode);
        let own = self.trace.object("own");
        let is_idle = self.is_idle(SECOND);
        let found = self.blocks.iter_mut().find(|block| block.id == own && is_idle);
        if let Some(block) = found {
            block.live = false;
            self.record(SECOND, Op::Free { object: own });
        } else {
            self.touch(SECOND, Action::Read);
        }
        self.spice(scene, 3, SECOND);
        self.release(SECOND, lock.id);
        self.touch(SECOND, Action::Write);
    }

    /// A region that begins with a lock which another thread then gives back and takes itself.
    fn handover(&mut self) {
        let lock = self.locks[0].id;
        let begin = |machine: &mut Machine| machine.mark(FIRST, Action::RegionBegin);
        if self.random.chance(50) {
            begin(self);
            self.acquire(FIRST, lock, Mode::Exclusive);
        } else {
            self.acquire(FIRST, lock, Mode::Exclusive);
            begin(self);
        }
        self.touch(FIRST, Action::Read);
        if self.is_idle(SECOND) {
            self.misuse_of(SECOND, lock);
        }
        if self.random.chance(80) {
            self.acquire(SECOND, lock, Mode::Exclusive);
        }
        self.touch(SECOND, Action::Write);
        self.release(SECOND, lock);
        self.touch(FIRST, Action::Read);
        self.mark(FIRST, Action::RegionEnd);
    }

    /// The last thread signals twice, and what it does in between needs that one signal woke one
    /// waiter.
    fn two_waits(&mut self) {
        let notifier = self.threads.len() - 1;
        let lock = self.locks[0].id;
        let sem = self.semaphores[0].0;
        for thread in [FIRST, SECOND] {
            if thread != notifier && self.is_idle(thread) {
                self.acquire(thread, lock, Mode::Exclusive);
                let timed = self.random.chance(25);
                let may_leave = [WakeReason::Notified, WakeReason::Spurious];
                let plan = if self.random.chance(70) { may_leave[0] } else { may_leave[1] };
                self.wait_on(thread, lock, timed, plan);
            }
        }
        let cond = self.conds[0];
        self.notify(notifier, cond);
        self.touch(notifier, Action::Write);
        self.notify(notifier, cond);
        for thread in [SECOND, FIRST] {
            self.settle(thread);
            if thread != notifier && self.is_idle(thread) {
                self.release(thread, lock);
                match thread {
                    SECOND => self.post(SECOND, Some(sem)),
                    _ if self.decrement(sem) => {
                        self.record(FIRST, Op::SemWait { sem, patience: Patience::Blocking });
                    }
                    _ => {}
                }
            }
        }
        self.touch(FIRST, Action::Write);
    }

    /// Writes what the other thread reads, perhaps in critical sections.
    fn sends(&mut self, scene: &Scene) {
        let lock = self.locks[0].id;
        let locked = self.random.chance(30);
        if self.random.chance(50) {
            self.touch(FIRST, Action::Read);
        }
        for turn in 0..3 {
            if locked && turn != 1 {
                self.acquire(FIRST, lock, Mode::Exclusive);
            }
            self.touch(FIRST, Action::Write);
            self.release(FIRST, lock);
        }
        self.spice(scene, 1, FIRST);
    }

    /// Reads once or twice, and asserts something.
    fn receives(&mut self, scene: &Scene) {
        let lock = self.locks[0].id;
        self.spice(scene, 3, SECOND);
        if self.random.chance(30) {
            self.acquire(SECOND, lock, Mode::Exclusive);
        }
        for _ in 0..1 + self.random.below(2) {
            self.touch(SECOND, Action::Read);
        }
        self.assert_something(SECOND);
        self.release(SECOND, lock);
    }

    /// Two accesses in one region, declared or a critical section.
    fn region(&mut self, scene: &Scene) {
        let lock = self.locks[0].id;
        let declared = self.random.chance(40);
        if declared {
            self.mark(FIRST, Action::RegionBegin);
        } else {
            self.acquire(FIRST, lock, Mode::Exclusive);
        }
        self.touch(FIRST, Action::Read);
        self.spice(scene, 1, FIRST);
        if !self.is_idle(FIRST) {
            return;
        }
        let action = self.random.pick(&[Action::Read, Action::Write]);
        self.touch(FIRST, action);
        if declared {
            self.mark(FIRST, Action::RegionEnd);
        } else {
            self.release(FIRST, lock);
        }
    }

    /// The first thread waits for the second one; if that was first, perhaps for ever.
    fn blocks(&mut self, scene: &Scene) {
        self.spice(scene, 1, FIRST);
        if !self.is_idle(FIRST) {
            return;
        }
        match self.random.below(3) {
            0 => {
                let lock = self.locks[0].id;
                self.acquire(FIRST, lock, Mode::Exclusive);
                if self.random.chance(60) {
                    self.post(FIRST, scene.token);
                }
                let plan = self.random.pick(&[WakeReason::Notified, WakeReason::Spurious]);
                let timed = self.random.chance(20);
                self.wait_on(FIRST, lock, timed, plan);
            }
            1 => self.arrive(FIRST),
            _ => self.post(FIRST, Some(self.semaphores[0].0)),
        }
    }

    fn unblocks(&mut self, scene: &Scene) {
        let lock = self.locks[0].id;
        self.spice(scene, 3, SECOND);
        if !self.is_idle(SECOND) {
            return;
        }
        if self.threads[FIRST].pending == Some(Pending::Wake) {
            let locked = self.random.chance(60);
            if locked {
                self.acquire(SECOND, lock, Mode::Exclusive);
            }
            let cond = self.conds[0];
            self.notify(SECOND, cond);
            if locked {
                self.release(SECOND, lock);
            }
            if self.random.chance(35) {
                self.hang(SECOND);
            }
        } else if self.threads[FIRST].arrived.is_some() {
            self.arrive(SECOND);
        } else {
            let sem = self.semaphores[0].0;
            if self.decrement(sem) {
                self.record(SECOND, Op::SemWait { sem, patience: Patience::Blocking });
            }
        }
        self.settle(FIRST);
        self.settle(SECOND);
    }
}
