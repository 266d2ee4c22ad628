//! The state of locks, condition variables, semaphores and barriers, so that the importer makes
//! only events that the rules of a trace allow.
//!
//! **Invariant.** Each state is the one that `docs/theory.md` gives after the events made so far.
//! Keys are addresses; what is destroyed, made anew, or in memory that is given back, leaves its
//! table, and what comes after it has a new id.

use std::collections::BTreeMap;

use foretrace_trace::{BarrierId, CondId, LockId, Mode, SemId};

/// All that is alive, by address.
#[derive(Default)]
pub(super) struct Sync {
    pub(super) locks: BTreeMap<u64, Lock>,
    pub(super) conds: BTreeMap<u64, CondId>,
    pub(super) semaphores: BTreeMap<u64, Semaphore>,
    pub(super) barriers: BTreeMap<u64, Barrier>,
}

impl Sync {
    /// The memory is given back, or given out anew.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        remove(&mut self.locks, start, end);
        remove(&mut self.conds, start, end);
        remove(&mut self.semaphores, start, end);
        remove(&mut self.barriers, start, end);
    }
}

fn remove<T>(map: &mut BTreeMap<u64, T>, start: u64, end: u64) {
    if start < end {
        let keys: Vec<u64> = map.range(start..end).map(|(&key, _)| key).collect();
        keys.iter().for_each(|key| drop(map.remove(key)));
    }
}

pub(super) struct Lock {
    pub(super) id: LockId,
    exclusive: Option<(u32, u32)>,
    readers: Vec<(u32, u32)>,
    /// Threads whose acquire could not be made an event, once for each.
    phantoms: Vec<u32>,
    pub(super) used: bool,
    /// An owner of this robust mutex has ended.
    pub(super) owner_died: bool,
}

/// What an acquire does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acquired {
    Opened,
    /// The thread had an exclusive hold already.
    Again,
    /// Another thread has a hold in the way.
    Impossible,
}

/// What a release does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Released {
    /// A step, in this mode.
    Step(Mode),
    /// It belongs to an acquire that is not in the trace either.
    Phantom,
    /// It releases what other threads hold, in a way that the rules do not know.
    Impossible,
}

impl Lock {
    pub(super) fn new(id: LockId) -> Lock {
        let (readers, phantoms) = (Vec::new(), Vec::new());
        Lock { id, exclusive: None, readers, phantoms, used: false, owner_died: false }
    }

    fn reader(&mut self, thread: u32) -> Option<usize> {
        self.readers.iter().position(|&(reader, _)| reader == thread)
    }

    pub(super) fn is_held(&self) -> bool {
        self.exclusive.is_some() || !self.readers.is_empty()
    }

    /// Whether the thread may open a hold.
    pub(super) fn is_free_for(&self, thread: u32, mode: Mode) -> bool {
        self.exclusive.is_none_or(|(owner, _)| owner == thread)
            && (mode == Mode::Shared || self.readers.iter().all(|&(reader, _)| reader == thread))
    }

    /// Whether an attempt may fail.
    pub(super) fn refuses(&self, mode: Mode) -> bool {
        self.exclusive.is_some() || (mode == Mode::Exclusive && !self.readers.is_empty())
    }

    pub(super) fn acquire(&mut self, thread: u32, mode: Mode) -> Acquired {
        self.used = true;
        if mode == Mode::Exclusive
            && let Some((owner, depth)) = &mut self.exclusive
            && *owner == thread
        {
            *depth += 1;
            return Acquired::Again;
        }
        if mode == Mode::Shared
            && let Some(reader) = self.reader(thread)
        {
            self.readers[reader].1 += 1;
            return Acquired::Opened;
        }
        if !self.is_free_for(thread, mode) {
            self.phantoms.push(thread);
            return Acquired::Impossible;
        }
        self.open(thread, mode, 1);
        Acquired::Opened
    }

    pub(super) fn open(&mut self, thread: u32, mode: Mode, depth: u32) {
        match mode {
            Mode::Exclusive => self.exclusive = Some((thread, depth)),
            Mode::Shared => self.readers.push((thread, depth)),
        }
    }

    pub(super) fn release(&mut self, thread: u32, mode: Mode) -> Released {
        self.used = true;
        let other = if mode == Mode::Shared { Mode::Exclusive } else { Mode::Shared };
        for mode in [mode, other] {
            if self.lower(thread, mode) {
                return Released::Step(mode);
            }
        }
        if let Some(phantom) = self.phantoms.iter().position(|&of| of == thread) {
            self.phantoms.swap_remove(phantom);
            return Released::Phantom;
        }
        if !self.is_held() {
            return Released::Step(mode);
        }
        if mode == Mode::Exclusive && self.exclusive.is_some_and(|(_, depth)| depth == 1) {
            self.exclusive = None;
            return Released::Step(mode);
        }
        Released::Impossible
    }

    /// Lowers or closes the thread's hold of that mode, if it has one.
    fn lower(&mut self, thread: u32, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => match &mut self.exclusive {
                Some((owner, depth)) if *owner == thread => {
                    *depth -= 1;
                    if *depth == 0 {
                        self.exclusive = None;
                    }
                    true
                }
                _ => false,
            },
            Mode::Shared => match self.reader(thread) {
                Some(reader) => {
                    self.readers[reader].1 -= 1;
                    if self.readers[reader].1 == 0 {
                        self.readers.swap_remove(reader);
                    }
                    true
                }
                None => false,
            },
        }
    }

    /// Closes the hold of a thread that waits, if it has exactly one.
    pub(super) fn close_for_wait(&mut self, thread: u32) -> Option<(Mode, u32)> {
        self.used = true;
        let exclusive = self.exclusive.filter(|&(owner, _)| owner == thread);
        match (exclusive, self.reader(thread)) {
            (Some((_, depth)), None) => {
                self.exclusive = None;
                Some((Mode::Exclusive, depth))
            }
            (None, Some(reader)) => {
                let (_, depth) = self.readers.swap_remove(reader);
                Some((Mode::Shared, depth))
            }
            _ => None,
        }
    }
}

/// Which signals can have woken whom.
///
/// Wakes come in the order of their deadlines, so giving each the earliest signal behind its wait
/// that is left finds a signal for all if any choice does.
#[derive(Default)]
pub(super) struct Signals {
    /// When signals came that nobody has used, in order.
    unused: Vec<u64>,
    last_broadcast: u64,
    waiting: usize,
}

impl Signals {
    pub(super) fn wait(&mut self) {
        self.waiting += 1;
    }

    /// `now` counts from 1.
    pub(super) fn signal(&mut self, now: u64) {
        if self.waiting > 0 {
            self.unused.push(now);
        }
    }

    pub(super) fn broadcast(&mut self, now: u64) {
        self.last_broadcast = now;
    }

    /// Whether the wait that began at `since` can have been notified, if it is to be.
    pub(super) fn wake(&mut self, since: u64, notified: bool) -> bool {
        self.waiting = self.waiting.saturating_sub(1);
        let mut served = self.last_broadcast > since;
        if notified && !served {
            let signal = self.unused.iter().position(|&signal| signal > since);
            served = signal.map(|signal| self.unused.remove(signal)).is_some();
        }
        if self.waiting == 0 {
            self.unused.clear();
        }
        served
    }
}

/// A semaphore's count, as far as it is known.
pub(super) struct Semaphore {
    pub(super) id: SemId,
    /// Posts minus waits.
    balance: i64,
    least: i64,
    exact: Option<i64>,
}

impl Semaphore {
    pub(super) fn new(id: SemId, count: Option<u32>) -> Semaphore {
        Semaphore { id, balance: 0, least: 0, exact: count.map(i64::from) }
    }

    pub(super) fn post(&mut self) {
        self.balance += 1;
    }

    /// Whether the count can have been above 0.
    pub(super) fn wait(&mut self) -> bool {
        let needed = 1 - self.balance;
        if self.exact.is_some_and(|exact| exact < needed) {
            return false;
        }
        self.least = self.least.max(needed);
        self.balance -= 1;
        true
    }

    /// Whether the count can have been 0.
    pub(super) fn fail(&mut self) -> bool {
        let implied = -self.balance;
        match self.exact {
            Some(exact) => exact == implied,
            None if implied < self.least => false,
            None => {
                self.exact = Some(implied);
                true
            }
        }
    }
}

/// A barrier's rounds.
pub(super) struct Barrier {
    pub(super) id: BarrierId,
    parties: u64,
    arrived: u64,
    /// The round of each thread's last arrival.
    rounds: Vec<(u32, u64)>,
}

impl Barrier {
    pub(super) fn new(id: BarrierId, parties: u32) -> Barrier {
        Barrier { id, parties: u64::from(parties), arrived: 0, rounds: Vec::new() }
    }

    pub(super) fn arrive(&mut self, thread: u32) {
        let round = self.arrived / self.parties;
        match self.rounds.iter_mut().find(|(of, _)| *of == thread) {
            Some((_, last)) => *last = round,
            None => self.rounds.push((thread, round)),
        }
        self.arrived += 1;
    }

    /// Whether the thread may go on.
    pub(super) fn leave(&self, thread: u32) -> bool {
        let round = self.rounds.iter().find(|(of, _)| *of == thread);
        round.is_some_and(|(_, round)| self.arrived >= (round + 1) * self.parties)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_given_to_the_earliest_wake() {
        let mut signals = Signals::default();
        signals.wait();
        signals.signal(2);
        signals.wait();
        signals.signal(4);
        // The second wait cannot use the first signal.
        assert!(signals.wake(3, true));
        assert!(signals.wake(1, true));
        signals.wait();
        assert!(!signals.wake(5, true));
        signals.wait();
        signals.broadcast(7);
        assert!(signals.wake(6, true));
    }

    #[test]
    fn a_release_without_a_hold_has_a_role() {
        let mut lock = Lock::new(LockId(0));
        assert_eq!(lock.release(1, Mode::Exclusive), Released::Step(Mode::Exclusive));
        assert_eq!(lock.acquire(1, Mode::Exclusive), Acquired::Opened);
        assert_eq!(lock.acquire(2, Mode::Exclusive), Acquired::Impossible);
        assert_eq!(lock.release(2, Mode::Exclusive), Released::Phantom);
        assert_eq!(lock.release(2, Mode::Exclusive), Released::Step(Mode::Exclusive));
        assert_eq!(lock.acquire(1, Mode::Shared), Acquired::Opened);
        assert_eq!(lock.release(2, Mode::Shared), Released::Impossible);
    }
}
