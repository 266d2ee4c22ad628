//! Events of synchronisation, as far as the rules allow them.

use foretrace_recording::record::{acquire, kind, lock, release};
use foretrace_trace::import::{ImportError, Problem};
use foretrace_trace::provenance::{LeftOut, Taken};
use foretrace_trace::*;

use super::emit::{Emit, Now, Waiting};
use super::emit_names::Nameless;
use super::sync::{Acquired, Barrier, Lock, Released, Semaphore};

impl Emit<'_> {
    pub(super) fn synchronise(&mut self, now: Now) -> Result<(), ImportError> {
        let address = now.record.word(0);
        match now.record.kind {
            kind::LOCK_INIT..=kind::LOCK_DESTROY => self.lock_record(now, address),
            kind::COND_INIT | kind::COND_DESTROY => {
                self.sync.conds.remove(&address);
                Ok(())
            }
            kind::WAIT => self.wait(now, address),
            kind::WAKE => self.wake(now),
            kind::SIGNAL | kind::BROADCAST => {
                let (cond, time) = (self.cond(address), self.now);
                let signals = self.signals.entry(cond).or_default();
                if now.record.kind == kind::SIGNAL {
                    signals.signal(time);
                    self.push(now, Op::Signal { cond });
                } else {
                    signals.broadcast(time);
                    self.push(now, Op::Broadcast { cond });
                }
                Ok(())
            }
            kind::SEM_INIT..=kind::SEM_DESTROY => self.semaphore_record(now, address),
            _ => self.barrier_record(now, address),
        }
    }

    /// The lock at an address; one that was not made is statically initialised.
    fn lock(&mut self, address: u64) -> &mut Lock {
        if !self.sync.locks.contains_key(&address) {
            let name = self.describe(address);
            let name = self.fresh("lock", name);
            let id = self.builder.lock(&name);
            self.builder.set_lock_kind(id, LockKind::Plain);
            self.note_nameless(Nameless::Lock(id), address);
            self.sync.locks.insert(address, Lock::new(id));
        }
        self.sync.locks.get_mut(&address).expect("it was put there")
    }

    fn cond(&mut self, address: u64) -> CondId {
        if let Some(&known) = self.sync.conds.get(&address) {
            return known;
        }
        let name = self.describe(address);
        let name = self.fresh("cond", name);
        let id = self.builder.cond(&name);
        self.note_nameless(Nameless::Cond(id), address);
        self.sync.conds.insert(address, id);
        id
    }

    fn lock_record(&mut self, now: Now, address: u64) -> Result<(), ImportError> {
        let (thread, record) = (now.thread, now.record);
        match record.kind {
            kind::LOCK_INIT => {
                self.sync.locks.remove(&address);
                let id = self.lock(address).id;
                match record.detail {
                    lock::RECURSIVE => self.builder.set_lock_kind(id, LockKind::Recursive),
                    lock::ERROR_CHECKING => self.builder.tell(Taken::ErrorCheckingLock, 1),
                    lock::PLAIN | lock::READER_WRITER | lock::SPIN => {}
                    other => {
                        let found = format!("lock kind {other}");
                        return Err(record.error(Problem::syntax(found, "0 to 4")));
                    }
                }
            }
            kind::REQUEST_ACQUIRE => {
                let (mode, patience) = Self::attempt(&record)?;
                let id = self.lock(address).id;
                // Only one that waits for ever can hang.
                if patience == Patience::Blocking {
                    self.push(now, Op::Request(Request::Acquire(id, mode)));
                }
            }
            kind::ACQUIRE => {
                let (mode, patience) = Self::attempt(&record)?;
                self.pin_robust(now, address);
                let lock = self.lock(address);
                let (id, acquired) = (lock.id, lock.acquire(thread, mode));
                match acquired {
                    Acquired::Impossible => {
                        self.leave_out(now, LeftOut::AcquireOfHeldLock);
                        return Ok(());
                    }
                    Acquired::Again if self.builder.so_far().lock_kind(id) == LockKind::Plain => {
                        self.builder.tell(Taken::RecursiveLock, 1);
                        self.builder.set_lock_kind(id, LockKind::Recursive);
                    }
                    Acquired::Opened | Acquired::Again => {}
                }
                self.push(now, Op::Acquire { lock: id, mode, patience });
            }
            kind::ACQUIRE_FAILED if record.detail & acquire::NOT_RECOVERABLE != 0 => {
                self.leave_out(now, LeftOut::AcquireOfUnrecoverableLock);
            }
            kind::ACQUIRE_FAILED => {
                self.pin_robust(now, address);
                let (mode, mut patience) = Self::attempt(&record)?;
                let lock = self.lock(address);
                let (id, refuses) = (lock.id, lock.refuses(mode));
                if !refuses {
                    self.leave_out(now, LeftOut::FailedAcquireOfFreeLock);
                    return Ok(());
                }
                if patience == Patience::Blocking {
                    // An error-checking lock says no to its holder at once.
                    patience = Patience::Try;
                    self.builder.tell(Taken::FailedAcquire, 1);
                }
                self.push(now, Op::AcquireFailed { lock: id, mode, patience });
            }
            kind::RELEASE => {
                let is_shared = record.detail & release::SHARED != 0;
                let mode = if is_shared { Mode::Shared } else { Mode::Exclusive };
                if record.detail & release::OWNER_DIED != 0 {
                    // Whoever had the mutex before this had it from an owner that lived.
                    self.leave_out(now, Taken::RobustMutex);
                    self.lock(address).owner_died = true;
                }
                let lock = self.lock(address);
                let id = lock.id;
                if record.detail & release::REFUSED != 0 && lock.refuses(Mode::Exclusive) {
                    self.builder.tell(LeftOut::RefusedRelease, 1);
                    return Ok(());
                }
                match lock.release(thread, mode) {
                    Released::Step(found) => {
                        if found != mode {
                            self.builder.tell(Taken::ReleaseMode, 1);
                        }
                        self.push(now, Op::Release { lock: id, mode: found });
                    }
                    Released::Phantom => {}
                    Released::Impossible => {
                        self.leave_out(now, LeftOut::ReleaseOfForeignHold);
                    }
                }
            }
            _ => {
                let lock = self.lock(address);
                let id = lock.id;
                if lock.is_held() {
                    self.builder.tell(LeftOut::DestroyOfHeldLock, 1);
                } else {
                    self.push(now, Op::Destroy { lock: id });
                    self.sync.locks.remove(&address);
                }
            }
        }
        Ok(())
    }

    /// What an attempt to take a robust mutex gives depends on whether its owner has ended, and on
    /// who was told: all that follows such an end stays where it is.
    fn pin_robust(&mut self, now: Now, address: u64) {
        if self.lock(address).owner_died {
            self.pin(now);
        }
    }

    fn wait(&mut self, now: Now, address: u64) -> Result<(), ImportError> {
        let (cond, lock_at) = (self.cond(address), now.record.word(1));
        let lock = self.lock(lock_at);
        let id = lock.id;
        let Some((mode, depth)) = lock.close_for_wait(now.thread) else {
            self.row(now.thread).lost_waits += 1;
            self.leave_out(now, LeftOut::WaitWithoutLock);
            return Ok(());
        };
        let timed = now.record.detail & 1 == 1;
        self.push(now, Op::Wait { cond, lock: id, timed });
        self.signals.entry(cond).or_default().wait();
        let since = self.now;
        self.row(now.thread).waiting =
            Some(Waiting { cond, lock: id, lock_at, mode, depth, timed, since });
        Ok(())
    }

    fn wake(&mut self, now: Now) -> Result<(), ImportError> {
        let reason = [WakeReason::Notified, WakeReason::TimedOut, WakeReason::Spurious];
        let Some(&recorded) = reason.get(usize::from(now.record.detail)) else {
            let found = format!("wake reason {}", now.record.detail);
            return Err(now.record.error(Problem::syntax(found, "0, 1 or 2")));
        };
        let row = self.row(now.thread);
        let Some(waiting) = row.waiting else {
            if row.lost_waits > 0 {
                row.lost_waits -= 1;
            } else {
                self.leave_out(now, LeftOut::EndOfWait);
            }
            return Ok(());
        };
        if !self.reopen(now.thread, waiting) {
            // If the lock is not free when the thread goes on, that is the end of it: `goes_on`
            // says so.
            return Ok(());
        }
        let Waiting { cond, lock, timed, since, .. } = waiting;
        let notified = recorded == WakeReason::Notified;
        let served = self.signals.entry(cond).or_default().wake(since, notified);
        let mut reason = recorded;
        if (notified && !served) || (recorded == WakeReason::TimedOut && !timed) {
            reason = WakeReason::Spurious;
        }
        self.push(now, Op::Wake { cond, lock, reason });
        self.row(now.thread).waiting = None;
        self.pin_robust(now, now.record.word(1));
        if reason != recorded {
            self.leave_out(now, Taken::SpuriousWake);
        }
        Ok(())
    }

    /// Gives a waiting thread its hold back, if the lock is free for it.
    pub(super) fn reopen(&mut self, thread: u32, waiting: Waiting) -> bool {
        match self.sync.locks.get_mut(&waiting.lock_at) {
            Some(lock) if lock.id == waiting.lock && lock.is_free_for(thread, waiting.mode) => {
                lock.open(thread, waiting.mode, waiting.depth);
                true
            }
            _ => false,
        }
    }

    fn semaphore(&mut self, address: u64, count: Option<u32>) -> &mut Semaphore {
        if !self.sync.semaphores.contains_key(&address) {
            let name = self.describe(address);
            let name = self.fresh("semaphore", name);
            let id = self.builder.semaphore(&name);
            if let Some(count) = count {
                self.builder.set_semaphore(id, count);
            }
            self.sync.semaphores.insert(address, Semaphore::new(id, count));
        }
        self.sync.semaphores.get_mut(&address).expect("it was put there")
    }

    fn semaphore_record(&mut self, now: Now, address: u64) -> Result<(), ImportError> {
        let record = now.record;
        match record.kind {
            kind::SEM_INIT => {
                self.sync.semaphores.remove(&address);
                let count = u32::try_from(record.word(1)).map_err(|_| {
                    let found = format!("a semaphore with count {}", record.word(1));
                    record.error(Problem::syntax(found, "a count of 32 bits"))
                })?;
                self.semaphore(address, Some(count));
            }
            kind::SEM_DESTROY => drop(self.sync.semaphores.remove(&address)),
            // One that gives up in time does not hang.
            kind::REQUEST_SEM_WAIT if record.detail != 0 => {}
            kind::REQUEST_SEM_WAIT => {
                let id = self.semaphore(address, None).id;
                self.push(now, Op::Request(Request::SemWait(id)));
            }
            kind::SEM_POST => {
                let sem = self.semaphore(address, None);
                sem.post();
                let sem = sem.id;
                self.push(now, Op::SemPost { sem });
            }
            kind::SEM_WAIT => {
                let patience = Self::patience(&record, record.detail)?;
                let sem = self.semaphore(address, None);
                let (id, possible) = (sem.id, sem.wait());
                match possible {
                    true => self.push(now, Op::SemWait { sem: id, patience }),
                    false => self.leave_out(now, LeftOut::SemaphoreWaitAtZero),
                }
            }
            _ => {
                let mut patience = Self::patience(&record, record.detail)?;
                if patience == Patience::Blocking {
                    patience = Patience::Try;
                    self.builder.tell(Taken::FailedSemaphoreWait, 1);
                }
                let sem = self.semaphore(address, None);
                let (id, possible) = (sem.id, sem.fail());
                match possible {
                    true => self.push(now, Op::SemWaitFailed { sem: id, patience }),
                    false => self.leave_out(now, LeftOut::FailedSemaphoreWait),
                }
            }
        }
        Ok(())
    }

    fn barrier_record(&mut self, now: Now, address: u64) -> Result<(), ImportError> {
        match now.record.kind {
            kind::BARRIER_INIT => {
                self.sync.barriers.remove(&address);
                let parties = u32::try_from(now.record.word(1)).ok().filter(|&parties| parties > 0);
                let Some(parties) = parties else {
                    let found = format!("a barrier for {} threads", now.record.word(1));
                    return Err(now.record.error(Problem::syntax(found, "1 to 2^32 - 1")));
                };
                let name = self.describe(address);
                let name = self.fresh("barrier", name);
                let id = self.builder.barrier(&name);
                self.builder.set_barrier(id, parties);
                self.sync.barriers.insert(address, Barrier::new(id, parties));
            }
            kind::BARRIER_DESTROY => drop(self.sync.barriers.remove(&address)),
            kind::ARRIVE => match self.sync.barriers.get_mut(&address) {
                Some(barrier) => {
                    barrier.arrive(now.thread);
                    let barrier = barrier.id;
                    self.push(now, Op::Arrive { barrier });
                }
                None => self.leave_out(now, LeftOut::BarrierArrival),
            },
            _ => match self.sync.barriers.get(&address) {
                Some(barrier) if barrier.leave(now.thread) => {
                    let barrier = barrier.id;
                    self.push(now, Op::Leave { barrier });
                }
                _ => self.leave_out(now, LeftOut::BarrierDeparture),
            },
        }
        Ok(())
    }
}
