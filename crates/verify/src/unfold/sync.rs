//! Locks, semaphores, barriers, waits.
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

use foretrace_program::{
    LockError, Mode, Op, Patience, RegisterId, Site, SyncRef, Undefined, Violation,
};
use foretrace_words::{BinaryOp, Cast};

use super::ways::{Arrival, Way};
use super::{Unfolder, key};
use crate::fault::{Fault, is_seeded};
use crate::skeleton::*;
use crate::terms::{Term, Terms};

/// The state of a lock that a thread has exclusively.
pub(crate) const EXCLUSIVE: u64 = u32::MAX as u64;

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
                let Some(lock) = self.lock(here, site, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                self.acquire(&mut here.way, &lock, *mode, *patience, site)
            }
            Op::Release { lock, mode } => {
                let Some(lock) = self.lock(here, site, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                self.release(&mut here.way, &lock, *mode, site);
                None
            }
            Op::Wait { cond, lock, timed } => {
                let Some(lock) = self.lock(here, site, lock) else {
                    return self.refuse(here, site, BY_DATA);
                };
                let cond = self.cond(here, site, cond);
                let woken = self.wait(&mut here.way, cond, &lock, *timed, site);
                timed.then_some(woken)
            }
            Op::Signal { cond } => {
                self.notify(here, site, cond, false);
                None
            }
            Op::Broadcast { cond } => {
                self.notify(here, site, cond, true);
                None
            }
            Op::SemWait { sem, patience } => {
                let state = match *sem {
                    SyncRef::Named(sem) => {
                        let count = self.program.semaphores[sem.index()].count;
                        Some(self.state(key(("semaphore", sem.index())), count))
                    }
                    SyncRef::At(address) => self.state_at(here, site, address, "semaphore at"),
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
                    SyncRef::At(address) => self.state_at(here, site, address, "semaphore at"),
                };
                let Some(state) = state else { return self.refuse(here, site, BY_DATA) };
                let guard = here.way.guard(&mut self.skeleton.terms);
                let mut node = None;
                self.add(&mut here.way, &mut node, state, 1, site);
                self.step(&here.way, guard, node, How::Plain);
                None
            }
            Op::Barrier { barrier: SyncRef::Named(barrier), .. } => {
                let parties = self.program.barriers[barrier.index()].parties;
                let parties = self.skeleton.terms.constant(parties.into(), 32);
                let state = self.state(key(("barrier", barrier.index())), 0);
                self.meet(&mut here.way, state, None, parties, site);
                None
            }
            Op::Barrier { barrier: SyncRef::At(address), parties } => {
                let state = self.state_at(here, site, *address, "barrier at");
                let before = self.state_at(here, site, *address, "parties at");
                let (Some(state), Some(parties)) = (state, *parties) else {
                    return self.refuse(here, site, BY_DATA);
                };
                let parties = self.operand(here, parties);
                self.meet(&mut here.way, state, before, parties, site);
                None
            }
            Op::Fork { callee, args } => return self.fork(here, site, callee, args, result),
            Op::Join { thread } => {
                let handle = self.operand(here, *thread);
                return self.join(here, site, handle, result);
            }
            _ => unreachable!("all other operations are done elsewhere"),
        };
        if let (Some(result), Some(value)) = (result, value) {
            here.set(result, value);
        }
        !here.way.is_dead(&self.skeleton.terms)
    }

    fn lock(
        &mut self,
        here: &mut Arrival,
        site: Site,
        lock: &SyncRef<foretrace_program::LockId>,
    ) -> Option<Lock> {
        match *lock {
            SyncRef::Named(lock) => {
                let recursive = self.program.locks[lock.index()].recursive;
                Some(Lock { state: self.state(key(("lock", lock.index())), 0), recursive })
            }
            SyncRef::At(address) => {
                let state = self.state_at(here, site, address, "lock at")?;
                Some(Lock { state, recursive: false })
            }
        }
    }

    /// The state of what is at an address.
    fn state_at(
        &mut self,
        here: &mut Arrival,
        site: Site,
        address: foretrace_program::Operand,
        what: &str,
    ) -> Option<Place> {
        let address = self.operand(here, address);
        let address = self.settled(&mut here.way, site, address);
        let (owner, offset) = self.lies_at(&mut here.way, address, site)?;
        Some(self.state(key((what, owner, offset)), 0))
    }

    /// In which memory an object of synchronisation lies, and where; the program is wrong if that
    /// is not live.
    pub(super) fn lies_at(
        &mut self,
        way: &mut Way,
        address: Term,
        site: Site,
    ) -> Option<(u64, u64)> {
        let at = self.skeleton.terms.as_address(address);
        let found = at.map(|(object, _)| self.skeleton.objects.get(object as usize));
        if found.is_none() && self.skeleton.terms.as_constant(address).is_none() {
            return None;
        }
        let inside = found.flatten().zip(at).filter(|(found, (_, at))| *at < found.size.into());
        let inside = inside.map(|(found, (object, offset))| (object, found.key, offset));
        let mut bad = self.skeleton.terms.truth(inside.is_none());
        if let Some((object, owner, _)) = inside
            && self.known.ends.contains(&owner)
        {
            let life = self.read_life(way, object, site);
            bad = self.skeleton.terms.equals(life, 0);
        }
        let what = Violation::Undefined(Undefined::BadAddress, site);
        if inside.is_none() {
            self.check(way, bad, what);
        } else if !is_seeded(Fault::LockInFreedMemory) {
            // What it then does is as if the memory were live.
            self.note_check(way, bad, what, None);
        }
        inside.map(|(_, owner, offset)| (owner, offset))
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
        // An attempt that fails does nothing that others can notice, and what one that succeeds
        // writes is noted.
        way.effects += u32::from(patience == Patience::Blocking);
        let is_plain = mode == Mode::Exclusive && patience == Patience::Blocking && !lock.recursive;
        self.breaks_section(way);
        if !is_plain || way.section.is_some() || way.holds_any(lock.state.object) {
            self.breaks(lock.state.object);
        } else if self.is_simple(way, lock.state.object) {
            self.begin_critical(way, lock.state.object);
            let one = self.skeleton.terms.constant(1, 8);
            self.set_depth(way, lock, mode, one);
            return None;
        }
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
            self.blocks_for_ever(way, site, own);
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
        let can_be_had = |terms: &mut Terms, state: Term| match mode {
            Mode::Exclusive => terms.equals(state, 0),
            Mode::Shared => {
                let taken = terms.equals(state, EXCLUSIVE);
                terms.not(taken)
            }
        };
        if is_blocking {
            let goes_on = self.skeleton.terms.or(wants, own);
            let state = (lock.state, found);
            self.may_block(way, site, goes_on, state, |terms, state| {
                let free = can_be_had(terms, state);
                terms.or(free, own)
            });
        }
        let terms = &mut self.skeleton.terms;
        let is_free = can_be_had(terms, found);
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
        // Whoever goes on behind a blocking acquire has the lock once more.
        let more = match is_blocking {
            true => terms.constant(1, 8),
            false => terms.cast(Cast::ZeroExtend, has, 8),
        };
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
        if way.critical() == Some(lock.state.object) && mode == Mode::Exclusive {
            self.end_critical(way, How::Plain);
            let zero = self.skeleton.terms.constant(0, 8);
            return self.set_depth(way, lock, mode, zero);
        }
        self.breaks_section(way);
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
        if is_listed || mode != Mode::Exclusive {
            self.breaks(lock.state.object);
        }
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
    fn wait(
        &mut self,
        way: &mut Way,
        cond: Option<u64>,
        lock: &Lock,
        timed: bool,
        site: Site,
    ) -> Term {
        let (before, maybes) = (way.effects, way.maybes.clone());
        way.effects += 1;
        if way.critical() == Some(lock.state.object) {
            way.waits += 1;
            return self.wait_critically(way, cond, lock.state.object, timed, site);
        }
        self.breaks_section(way);
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
        let begin = self.moment(way, node);
        let begun = self.skeleton.threads[self.thread].steps.len();
        self.step(way, guard, Some(begin), How::Wait(woken, None));
        self.check(way, missing, Violation::LockError(LockError::WaitNotHeld, site));
        // Wakes up, as soon as it gets the lock.
        let guard = way.guard(&mut self.skeleton.terms);
        let passes = self.skeleton.terms.symbol(1);
        let mut node = None;
        let found = self.read(way, &mut node, lock.state, passes, site);
        let wake = self.moment(way, node);
        let still = self.still(way, lock.state, found, |terms, state| terms.equals(state, 0));
        let wait = self.begin_wait(way, site, cond, begin, (woken, passes), timed, still);
        self.wakes_at(wait, wake);
        self.skeleton.threads[self.thread].steps[begun].how = How::Wait(woken, wait);
        let mut node = Some(wake);
        let is_free = self.skeleton.terms.equals(found, 0);
        let asked = self.skeleton.terms.and(guard, passes);
        self.require(asked, is_free);
        let taken = self.skeleton.terms.constant(EXCLUSIVE, 32);
        self.write(way, &mut node, lock.state, taken, passes);
        self.step(way, asked, node, How::Plain);
        let stops = self.skeleton.terms.not(passes);
        way.stop_if(&mut self.skeleton.terms, stops);
        way.waits += way.effects - before;
        way.maybes = maybes;
        woken
    }

    /// The same with a simple lock, whose critical section ends here; another one begins.
    fn wait_critically(
        &mut self,
        way: &mut Way,
        cond: Option<u64>,
        lock: u32,
        timed: bool,
        site: Site,
    ) -> Term {
        let woken = match timed {
            true => self.skeleton.terms.symbol(1),
            false => self.skeleton.terms.truth(true),
        };
        let begin = self.moment(way, None);
        let begun = self.skeleton.threads[self.thread].steps.len();
        self.end_critical(way, How::Wait(woken, None));
        let passes = self.skeleton.terms.symbol(1);
        // Whoever is notified gets the lock: nobody is blocked with it.
        let still = self.skeleton.terms.truth(false);
        let wait = self.begin_wait(way, site, cond, begin, (woken, passes), timed, still);
        self.skeleton.threads[self.thread].steps[begun].how = How::Wait(woken, wait);
        let stops = self.skeleton.terms.not(passes);
        way.stop_if(&mut self.skeleton.terms, stops);
        self.begin_critical(way, lock);
        let wake = self.moment(way, None);
        self.wakes_at(wait, wake);
        woken
    }

    /// The node of an operation: that of its section, if it is in one.
    fn moment(&mut self, way: &Way, node: Option<NodeId>) -> NodeId {
        let section = way.section.as_ref().map(|section| section.node);
        section.or(node).unwrap_or_else(|| self.node())
    }

    fn take_token(
        &mut self,
        way: &mut Way,
        state: Place,
        patience: Patience,
        site: Site,
    ) -> Option<Term> {
        way.effects += u32::from(patience == Patience::Blocking);
        self.breaks_section(way);
        let is_blocking = patience == Patience::Blocking;
        let terms = &mut self.skeleton.terms;
        let wants = if is_blocking { terms.symbol(1) } else { terms.truth(true) };
        let guard = way.guard(&mut self.skeleton.terms);
        let mut node = None;
        let found = self.read(way, &mut node, state, wants, site);
        if is_blocking {
            self.may_block(way, site, wants, (state, found), |terms, count| {
                terms.is_nonzero(count)
            });
        }
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
        let maybes = way.maybes.clone();
        self.write(way, &mut node, state, less, takes);
        if !is_blocking && is_seeded(Fault::TokenForgotten) {
            way.maybes = maybes;
        }
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

    /// Comes to a barrier, and leaves it when the round is complete. `known` is where the number
    /// of parties is kept that the first arrival named.
    fn meet(
        &mut self,
        way: &mut Way,
        state: Place,
        known: Option<Place>,
        parties: Term,
        site: Site,
    ) {
        self.breaks_section(way);
        let guard = way.guard(&mut self.skeleton.terms);
        let truth = self.skeleton.terms.truth(true);
        let mut node = None;
        let mut is_bad = self.skeleton.terms.truth(false);
        if let Some(known) = known {
            let named = self.read(way, &mut node, known, truth, site);
            let terms = &mut self.skeleton.terms;
            let is_first = terms.equals(named, 0);
            let differs = terms.binary(BinaryOp::Ne, named, parties);
            let is_other = terms.not(is_first);
            let is_other = terms.and(is_other, differs);
            let is_none = terms.equals(parties, 0);
            is_bad = terms.or(is_other, is_none);
            self.write(way, &mut node, known, parties, is_first);
        }
        let before = self.add(way, &mut node, state, 1, site);
        self.step(way, guard, node, How::Plain);
        self.check(way, is_bad, Violation::Undefined(Undefined::BadBarrier, site));
        let guard = way.guard(&mut self.skeleton.terms);
        let passes = self.skeleton.terms.symbol(1);
        let mut node = None;
        let now = self.read(way, &mut node, state, passes, site);
        let terms = &mut self.skeleton.terms;
        let round = terms.binary(BinaryOp::UDiv, before, parties);
        let has_come = |terms: &mut Terms, now: Term| {
            let rounds = terms.binary(BinaryOp::UDiv, now, parties);
            terms.binary(BinaryOp::Ult, round, rounds)
        };
        let is_complete = has_come(terms, now);
        self.may_block(way, site, passes, (state, now), has_come);
        let terms = &mut self.skeleton.terms;
        let asked = terms.and(guard, passes);
        self.require(asked, is_complete);
        self.step(way, asked, node, How::Plain);
        let stops = self.skeleton.terms.not(passes);
        way.stop_if(&mut self.skeleton.terms, stops);
    }
}

const BY_DATA: &str = "an object of synchronisation that depends on data";
