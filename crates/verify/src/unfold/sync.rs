//! Locks, semaphores, barriers, waits, threads.
//!
//! **Computes.** Each object of synchronisation is a state of four bytes in memory that only these
//! operations access: 0 for a free lock, the number of readers, or [`EXCLUSIVE`]; the count of a
//! semaphore; how many threads have come to a barrier. A blocking operation *passes* if the solver
//! says so (a symbol), and passing implies that the state allows it; otherwise the thread stops
//! here, which it always may.
//!
//! A wait gives its lock back and takes it again: since it may wake up spuriously at any time,
//! signals make no difference to what can go wrong, except that a thread may wait for ever.

use std::rc::Rc;

use foretrace_program::{LockError, Mode, Op, Patience, RegisterId, Site, SyncRef, Violation};
use foretrace_words::{BinaryOp, Cast};

use super::ways::{Arrival, Way};
use super::{Unfolder, Waiting, key};
use crate::fault::{Fault, is_seeded};
use crate::skeleton::*;
use crate::terms::Term;

/// The state of a lock that a thread has exclusively.
const EXCLUSIVE: u64 = u32::MAX as u64;

/// A lock as one of its operations sees it.
struct Lock {
    state: Place,
    recursive: bool,
}

impl Unfolder<'_> {
    pub(super) fn synchronise(
        &mut self,
        here: &mut Arrival,
        site: Site,
        op: &Op,
        result: Option<RegisterId>,
    ) -> bool {
        let value = match op {
            Op::Acquire { lock, mode, patience } => {
                let Some(lock) = self.lock(here, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                self.acquire(&mut here.way, &lock, *mode, *patience, site)
            }
            Op::Release { lock, mode } => {
                let Some(lock) = self.lock(here, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                self.release(&mut here.way, &lock, *mode, site);
                None
            }
            Op::Wait { lock, timed, .. } => {
                let Some(lock) = self.lock(here, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                let woken = self.wait(&mut here.way, &lock, *timed, site);
                timed.then_some(woken)
            }
            Op::Signal { .. } | Op::Broadcast { .. } => {
                let guard = here.way.guard(&mut self.skeleton.terms);
                self.step(&here.way, guard, None, How::Plain);
                None
            }
            Op::SemWait { sem, patience } => {
                let state = match *sem {
                    SyncRef::Named(sem) => {
                        let count = self.program.semaphores[sem.index()].count;
                        Some(self.state(key(("semaphore", sem.index())), count))
                    }
                    SyncRef::At(address) => self.state_at(here, address, "semaphore at"),
                };
                let Some(state) = state else { return self.refuse(here, site, BY_DATA) };
                self.take_token(&mut here.way, state, *patience, site)
            }
            Op::SemPost { sem } => {
                let state = match *sem {
                    SyncRef::Named(sem) => {
                        let count = self.program.semaphores[sem.index()].count;
                        Some(self.state(key(("semaphore", sem.index())), count))
                    }
                    SyncRef::At(address) => self.state_at(here, address, "semaphore at"),
                };
                let Some(state) = state else { return self.refuse(here, site, BY_DATA) };
                let guard = here.way.guard(&mut self.skeleton.terms);
                let mut node = None;
                self.add(&mut here.way, &mut node, state, 1, site);
                self.step(&here.way, guard, node, How::Plain);
                None
            }
            Op::Barrier { barrier: SyncRef::Named(barrier) } => {
                let parties = self.program.barriers[barrier.index()].parties;
                let state = self.state(key(("barrier", barrier.index())), 0);
                self.meet(&mut here.way, state, parties, site);
                None
            }
            Op::Barrier { .. } => {
                return self.refuse(here, site, "a barrier that is known by its address");
            }
            Op::Fork { callee, args } => return self.fork(here, site, callee, args, result),
            Op::Join { thread } => {
                let handle = self.operand(here, *thread);
                return self.join(here, site, handle);
            }
            _ => unreachable!("all other operations are done elsewhere"),
        };
        if let (Some(result), Some(value)) = (result, value) {
            here.set(result, value);
        }
        !here.way.is_dead(&self.skeleton.terms)
    }

    fn lock(&mut self, here: &Arrival, lock: &SyncRef<foretrace_program::LockId>) -> Option<Lock> {
        match *lock {
            SyncRef::Named(lock) => {
                let recursive = self.program.locks[lock.index()].recursive;
                Some(Lock { state: self.state(key(("lock", lock.index())), 0), recursive })
            }
            SyncRef::At(address) => {
                let state = self.state_at(here, address, "lock at")?;
                Some(Lock { state, recursive: false })
            }
        }
    }

    /// The state of what is at an address.
    fn state_at(
        &mut self,
        here: &Arrival,
        address: foretrace_program::Operand,
        what: &str,
    ) -> Option<Place> {
        let address = self.operand(here, address);
        let (object, offset) = self.skeleton.terms.as_address(address)?;
        let owner = self.skeleton.objects.get(object as usize)?.key;
        Some(self.state(key((what, owner, offset)), 0))
    }

    fn depth(&mut self, way: &Way, lock: &Lock, mode: Mode) -> Term {
        let depth = way.holds.get(&(lock.state.object, mode == Mode::Shared)).copied();
        depth.unwrap_or_else(|| self.skeleton.terms.constant(0, 8))
    }

    fn set_depth(&mut self, way: &mut Way, lock: &Lock, mode: Mode, depth: Term) {
        let key = (lock.state.object, mode == Mode::Shared);
        let holds = Rc::make_mut(&mut way.holds);
        match self.skeleton.terms.as_constant(depth) {
            Some(0) => holds.remove(&key),
            _ => holds.insert(key, depth),
        };
    }

    fn acquire(
        &mut self,
        way: &mut Way,
        lock: &Lock,
        mode: Mode,
        patience: Patience,
        site: Site,
    ) -> Option<Term> {
        way.effects += 1;
        let other = if mode == Mode::Shared { Mode::Exclusive } else { Mode::Shared };
        let other = self.depth(way, lock, other);
        let other = self.skeleton.terms.is_nonzero(other);
        let why = "a lock that the thread has in the other mode already";
        self.exit_if(way, other, site, Why::Unsupported(why.into()));
        let depth = self.depth(way, lock, mode);
        let own = self.skeleton.terms.is_nonzero(depth);
        let deepens = mode == Mode::Shared || lock.recursive;
        let is_blocking = patience == Patience::Blocking;
        if is_blocking && !deepens {
            let what = Violation::LockError(LockError::DoubleLock, site);
            self.check(way, own, what);
        }
        let terms = &mut self.skeleton.terms;
        let fresh = terms.not(own);
        // The thread gets the lock: because it is free, or because it has it already.
        let wants = if is_blocking { terms.symbol(1) } else { terms.truth(true) };
        let asks = terms.and(fresh, wants);
        let guard = way.guard(&mut self.skeleton.terms);
        let mut node = None;
        let found = self.read(way, &mut node, lock.state, asks, site);
        let terms = &mut self.skeleton.terms;
        let is_free = match mode {
            Mode::Exclusive => terms.equals(found, 0),
            Mode::Shared => {
                let taken = terms.equals(found, EXCLUSIVE);
                terms.not(taken)
            }
        };
        let opens = match is_blocking {
            true => {
                let asked = terms.and(guard, asks);
                if !is_seeded(Fault::LockTaken) {
                    self.require(asked, is_free);
                }
                asks
            }
            false => terms.and(asks, is_free),
        };
        let terms = &mut self.skeleton.terms;
        let taken = match mode {
            Mode::Exclusive => terms.constant(EXCLUSIVE, 32),
            Mode::Shared => {
                let one = terms.constant(1, 32);
                terms.binary(BinaryOp::Add, found, one)
            }
        };
        self.write(way, &mut node, lock.state, taken, opens);
        let terms = &mut self.skeleton.terms;
        let has = match deepens {
            true => terms.or(opens, own),
            false => opens,
        };
        let more = terms.cast(Cast::ZeroExtend, has, 8);
        let depth = terms.binary(BinaryOp::Add, depth, more);
        self.set_depth(way, lock, mode, depth);
        if is_blocking {
            let passes = self.skeleton.terms.and(guard, has);
            self.step(way, passes, node, How::Plain);
            let stops = self.skeleton.terms.not(has);
            way.stop_if(&mut self.skeleton.terms, stops);
            None
        } else {
            self.step(way, guard, node, How::Attempt(has));
            Some(has)
        }
    }

    /// The condition holds whenever the guard does.
    fn require(&mut self, guard: Term, condition: Term) {
        let terms = &mut self.skeleton.terms;
        let not = terms.not(guard);
        let fact = terms.or(not, condition);
        self.skeleton.facts.push(fact);
    }

    fn release(&mut self, way: &mut Way, lock: &Lock, mode: Mode, site: Site) {
        way.effects += 1;
        let guard = way.guard(&mut self.skeleton.terms);
        let depth = self.depth(way, lock, mode);
        let own = self.skeleton.terms.is_nonzero(depth);
        let missing = self.skeleton.terms.not(own);
        let mut node = None;
        // Whether anybody else has it decides which error it is.
        if !self.skeleton.terms.is_false(missing) {
            let found = self.read(way, &mut node, lock.state, missing, site);
            let terms = &mut self.skeleton.terms;
            let is_free = terms.equals(found, 0);
            let nobody = terms.and(missing, is_free);
            let taken = terms.not(is_free);
            let somebody = terms.and(missing, taken);
            self.step(way, guard, node, How::Plain);
            self.check(way, nobody, Violation::LockError(LockError::ReleaseNotHeld, site));
            self.check(way, somebody, Violation::LockError(LockError::ReleaseByOther, site));
        }
        let is_listed = node.is_some() || !self.skeleton.terms.is_false(missing);
        let last = self.skeleton.terms.equals(depth, 1);
        self.give_back(way, &mut node, lock, mode, last, site);
        if !is_listed {
            self.step(way, guard, node, How::Plain);
        }
        let one = self.skeleton.terms.constant(1, 8);
        let depth = self.skeleton.terms.binary(BinaryOp::Sub, depth, one);
        self.set_depth(way, lock, mode, depth);
    }

    /// Lowers the state of a lock if the condition is true.
    fn give_back(
        &mut self,
        way: &mut Way,
        node: &mut Option<NodeId>,
        lock: &Lock,
        mode: Mode,
        condition: Term,
        site: Site,
    ) {
        let lowered = match mode {
            Mode::Exclusive => self.skeleton.terms.constant(0, 32),
            Mode::Shared => {
                let found = self.read(way, node, lock.state, condition, site);
                let one = self.skeleton.terms.constant(1, 32);
                self.skeleton.terms.binary(BinaryOp::Sub, found, one)
            }
        };
        self.write(way, node, lock.state, lowered, condition);
    }

    /// Waits with a lock; gives whether the wait ends as if it was notified.
    fn wait(&mut self, way: &mut Way, lock: &Lock, timed: bool, site: Site) -> Term {
        way.effects += 1;
        let truth = self.skeleton.terms.truth(true);
        let shared = self.depth(way, lock, Mode::Shared);
        let shared = self.skeleton.terms.is_nonzero(shared);
        let why = "a wait with a lock that the thread has in shared mode";
        self.exit_if(way, shared, site, Why::Unsupported(why.into()));
        let guard = way.guard(&mut self.skeleton.terms);
        let depth = self.depth(way, lock, Mode::Exclusive);
        let own = self.skeleton.terms.is_nonzero(depth);
        let missing = self.skeleton.terms.not(own);
        let mut node = None;
        self.give_back(way, &mut node, lock, Mode::Exclusive, own, site);
        let woken = match timed {
            true => self.skeleton.terms.symbol(1),
            false => truth,
        };
        self.step(way, guard, node, How::Wait(woken));
        self.check(way, missing, Violation::LockError(LockError::WaitNotHeld, site));
        // Wakes up, as soon as it gets the lock.
        let guard = way.guard(&mut self.skeleton.terms);
        let passes = self.skeleton.terms.symbol(1);
        let mut node = None;
        let found = self.read(way, &mut node, lock.state, passes, site);
        let is_free = self.skeleton.terms.equals(found, 0);
        let asked = self.skeleton.terms.and(guard, passes);
        self.require(asked, is_free);
        let taken = self.skeleton.terms.constant(EXCLUSIVE, 32);
        self.write(way, &mut node, lock.state, taken, passes);
        self.step(way, asked, node, How::Plain);
        let stops = self.skeleton.terms.not(passes);
        way.stop_if(&mut self.skeleton.terms, stops);
        woken
    }

    fn take_token(
        &mut self,
        way: &mut Way,
        state: Place,
        patience: Patience,
        site: Site,
    ) -> Option<Term> {
        way.effects += 1;
        let is_blocking = patience == Patience::Blocking;
        let terms = &mut self.skeleton.terms;
        let wants = if is_blocking { terms.symbol(1) } else { terms.truth(true) };
        let guard = way.guard(&mut self.skeleton.terms);
        let mut node = None;
        let found = self.read(way, &mut node, state, wants, site);
        let some = self.skeleton.terms.is_nonzero(found);
        let takes = match is_blocking {
            true => {
                let asked = self.skeleton.terms.and(guard, wants);
                self.require(asked, some);
                wants
            }
            false => some,
        };
        let one = self.skeleton.terms.constant(1, 32);
        let less = self.skeleton.terms.binary(BinaryOp::Sub, found, one);
        self.write(way, &mut node, state, less, takes);
        if is_blocking {
            let passes = self.skeleton.terms.and(guard, wants);
            self.step(way, passes, node, How::Plain);
            let stops = self.skeleton.terms.not(wants);
            way.stop_if(&mut self.skeleton.terms, stops);
            None
        } else {
            self.step(way, guard, node, How::Attempt(takes));
            Some(takes)
        }
    }

    /// Adds to a state and gives what it was.
    fn add(
        &mut self,
        way: &mut Way,
        node: &mut Option<NodeId>,
        state: Place,
        amount: u64,
        site: Site,
    ) -> Term {
        way.effects += 1;
        let truth = self.skeleton.terms.truth(true);
        let found = self.read(way, node, state, truth, site);
        let amount = self.skeleton.terms.constant(amount, 32);
        let sum = self.skeleton.terms.binary(BinaryOp::Add, found, amount);
        self.write(way, node, state, sum, truth);
        found
    }

    /// Comes to a barrier, and leaves it when the round is complete.
    fn meet(&mut self, way: &mut Way, state: Place, parties: u32, site: Site) {
        let guard = way.guard(&mut self.skeleton.terms);
        let mut node = None;
        let before = self.add(way, &mut node, state, 1, site);
        self.step(way, guard, node, How::Plain);
        let passes = self.skeleton.terms.symbol(1);
        let mut node = None;
        let now = self.read(way, &mut node, state, passes, site);
        let terms = &mut self.skeleton.terms;
        let parties = terms.constant(parties.into(), 32);
        let round = terms.binary(BinaryOp::UDiv, before, parties);
        let rounds = terms.binary(BinaryOp::UDiv, now, parties);
        let is_complete = terms.binary(BinaryOp::Ult, round, rounds);
        let asked = terms.and(guard, passes);
        self.require(asked, is_complete);
        self.step(way, asked, node, How::Plain);
        let stops = self.skeleton.terms.not(passes);
        way.stop_if(&mut self.skeleton.terms, stops);
    }

    fn fork(
        &mut self,
        here: &mut Arrival,
        site: Site,
        callee: &foretrace_program::Callee,
        args: &[foretrace_program::Operand],
        result: Option<RegisterId>,
    ) -> bool {
        let Some(function) = self.callee(here, callee) else {
            return self.refuse(here, site, "a thread whose function depends on data");
        };
        let args = self.operands(here, args);
        if !self.takes(function, &args) {
            return self.refuse(here, site, "a thread with other types than its function has");
        }
        if here.way.section.is_some() {
            return self.refuse(here, site, "a thread that is started in an atomic section");
        }
        if self.skeleton.threads.len() >= MOST_THREADS {
            return self.refuse(here, site, "more than 1000 threads");
        }
        here.way.effects += 1;
        self.publish(&mut here.way);
        let guard = here.way.guard(&mut self.skeleton.terms);
        let node = self.node();
        let instance = self.instances.entry((self.thread_key, site)).or_default();
        *instance += 1;
        let key = key(("thread", self.thread_key, site, *instance));
        let child = self.new_thread(Some(node));
        self.step(&here.way, guard, Some(node), How::Fork(child));
        let truth = self.skeleton.terms.truth(true);
        let mut way = Way::new(truth, guard, false);
        way.memory = here.way.memory.clone();
        self.waiting.push(Waiting { thread: child, key, function, args, way });
        if let Some(result) = result {
            let handle = self.skeleton.terms.address(THREADS + child as u32, 0);
            here.set(result, handle);
        }
        true
    }

    fn join(&mut self, here: &mut Arrival, site: Site, handle: Term) -> bool {
        let guard = here.way.guard(&mut self.skeleton.terms);
        let child = match self.skeleton.terms.as_address(handle) {
            Some((object, 0)) if object >= THREADS => (object - THREADS) as usize,
            _ if self.skeleton.terms.as_constant(handle).is_some_and(|handle| {
                !(1..=self.program.threads.len() as u64).contains(&handle)
            }) =>
            {
                // No thread has such a handle, whatever the schedule.
                return self.refuse(here, site, "a join of something that is no thread");
            }
            _ => {
                return self.refuse(here, site, "a join of a thread that depends on data");
            }
        };
        if here.way.section.is_some() {
            return self.refuse(here, site, "a join in an atomic section");
        }
        here.way.effects += 1;
        let node = self.node();
        let passes = self.skeleton.terms.symbol(1);
        let always = self.skeleton.terms.is_true(here.way.path);
        let asked = self.skeleton.terms.and(guard, passes);
        self.skeleton.joins.push(Join { node, child, passes: asked, choice: passes, always });
        self.step(&here.way, asked, Some(node), How::Join(child));
        let stops = self.skeleton.terms.not(passes);
        here.way.stop_if(&mut self.skeleton.terms, stops);
        true
    }
}

/// The object that stands for the first thread's handle.
const THREADS: u32 = 1 << 29;
const MOST_THREADS: usize = 1000;
const BY_DATA: &str = "an object of synchronisation that depends on data";
