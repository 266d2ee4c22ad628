//! The operations on synchronisation objects, each a step of the calling thread.
//!
//! Each begins with a scheduling point outside the world, then takes effect, and is recorded, while
//! the thread holds the world.

use std::sync::atomic::Ordering::Relaxed;

use foretrace_recording::record::{acquire, kind, lock, release, unseen};

use crate::interpose::process;
use crate::replay::Replay;
use crate::schedule::{self, Waited};
use crate::sync::{GUARD, LockState, Pending, ROBUST, Robust};
use crate::thread::Thread;
use crate::world::{Held, State, World, hold};

/// How long an operation waits.
#[derive(Clone, Copy)]
pub(crate) enum Patience {
    Blocking,
    Until(libc::timespec),
    Try,
}

impl Patience {
    fn detail(self) -> u8 {
        match self {
            Patience::Blocking => acquire::BLOCKING,
            Patience::Until(_) => acquire::TIMED,
            Patience::Try => acquire::TRY,
        }
    }

    fn deadline(self) -> Option<libc::timespec> {
        match self {
            Patience::Until(time) => Some(time),
            _ => None,
        }
    }
}

impl World {
    /// Whether what a thread waits for is there.
    pub(crate) fn available(&self, index: u32) -> bool {
        let entry = &self.threads[index as usize];
        match entry.pending {
            Pending::Nothing => true,
            Pending::Acquire { lock, shared } => self.lock_free(lock, index, shared),
            Pending::Wake { lock, .. } => {
                (entry.notified || entry.timed_out) && self.lock_free(lock, index, false)
            }
            Pending::Semaphore(semaphore) => {
                self.objects.semaphores.get(&semaphore).is_some_and(|&count| count > 0)
            }
            Pending::Barrier { barrier, round } => {
                self.objects.barriers.get(&barrier).is_none_or(|state| state.round != round)
            }
            Pending::Join(child) => self.threads[child as usize].state == State::Done,
            Pending::Sleep => entry.timed_out,
            Pending::Ready(ready) => ready.is_there(),
        }
    }

    /// Whether a thread can go on: what it waits for is there, or it has waited long enough. (After
    /// a wait on a condition variable it needs the lock in any case.)
    pub(crate) fn enabled(&self, index: u32) -> bool {
        let entry = &self.threads[index as usize];
        self.available(index)
            || (entry.timed_out && !matches!(entry.pending, Pending::Wake { .. }))
            || entry.interrupted
            || self.leaves(index)
    }

    /// Whether a thread gives up waiting since it is to end. Locks and barriers are waited for all
    /// the same.
    pub(crate) fn leaves(&self, index: u32) -> bool {
        let entry = &self.threads[index as usize];
        entry.cancelled
            && !entry.uncancellable
            && match entry.pending {
                Pending::Wake { lock, .. } => self.lock_free(lock, index, false),
                Pending::Semaphore(_) | Pending::Join(_) | Pending::Sleep | Pending::Ready(_) => {
                    true
                }
                Pending::Nothing | Pending::Acquire { .. } | Pending::Barrier { .. } => false,
            }
    }

    /// Who holds a lock alone.
    fn owner(&self, lock: usize) -> Option<u32> {
        self.objects.locks.get(&lock).and_then(|state| state.owner)
    }

    pub(crate) fn lock_free(&self, lock: usize, thread: u32, shared: bool) -> bool {
        self.objects.locks.get(&lock).is_none_or(|state| state.free_for(thread, shared))
    }

    /// The state of a lock; `kind` is for one that is not known yet.
    pub(crate) fn lock_state(
        &mut self,
        thread: &mut Thread,
        address: usize,
        kind_if_new: u8,
    ) -> &mut LockState {
        let known = self.objects.locks.len();
        let new = || LockState::new(kind_if_new);
        let kind_if_new = kind_if_new & !(GUARD | ROBUST);
        let state = self.objects.locks.entry(address).or_insert_with(new);
        // Another lock in the place of one that nobody holds and nobody destroyed: C++'s do not say
        // so.
        let is_other =
            state.kind != kind_if_new && state.owner.is_none() && state.readers.is_empty();
        if is_other {
            *state = new();
        }
        if is_other || self.objects.locks.len() != known {
            let site = thread.call_site;
            self.stamped(thread, kind::LOCK_INIT, kind_if_new, site, [address as u64]);
        }
        self.objects.locks.get_mut(&address).expect("it was just put there")
    }
}

/// A lock is made (again).
pub(crate) fn lock_init(thread: &mut Thread, address: usize, lock_kind: u8) {
    let mut world = hold();
    let state = LockState::new(lock_kind);
    let lock_kind = state.kind;
    world.objects.locks.insert(address, state);
    world.objects.robust.retain(|&(_, held)| held != address);
    let site = thread.call_site;
    world.stamped(thread, kind::LOCK_INIT, lock_kind, site, [address as u64]);
}

/// A lock is destroyed; returns whether nobody held it.
pub(crate) fn lock_destroy(thread: &mut Thread, address: usize, lock_kind: u8) -> bool {
    let site = thread.call_site;
    thread.point(kind::LOCK_DESTROY, site, address as u64, 0);
    let mut world = hold();
    let state = world.lock_state(thread, address, lock_kind);
    let free = state.owner.is_none() && state.readers.is_empty();
    world.stamped(thread, kind::LOCK_DESTROY, 0, site, [address as u64]);
    if free {
        world.objects.locks.remove(&address);
    }
    free
}

/// Acquires a lock. Returns 0 or an error number, as pthreads do.
pub(crate) fn lock_acquire(
    thread: &mut Thread,
    address: usize,
    lock_kind: u8,
    shared: bool,
    patience: Patience,
) -> i32 {
    let site = thread.call_site;
    let (index, detail) = (thread.index, patience.detail() | u8::from(shared));
    // These do not wait for themselves, and nothing is recorded: hence before the point, which
    // counts.
    let checks = matches!(lock_kind & !ROBUST, lock::ERROR_CHECKING | lock::READER_WRITER);
    if checks && !matches!(patience, Patience::Try) && hold().owner(address) == Some(index) {
        return libc::EDEADLK;
    }
    thread.point(kind::ACQUIRE, site, address as u64, u64::from(shared));
    let mut world = hold();
    let state = world.lock_state(thread, address, lock_kind);
    if !state.free_for(index, shared) {
        if matches!(patience, Patience::Try) {
            world.stamped(thread, kind::ACQUIRE_FAILED, detail, site, [address as u64]);
            return libc::EBUSY;
        }
        world.stamped(thread, kind::REQUEST_ACQUIRE, detail, site, [address as u64]);
        let (held, waited) = schedule::block(
            world,
            thread,
            Pending::Acquire { lock: address, shared },
            patience.deadline(),
        );
        world = held;
        if waited == Waited::TimedOut {
            world.stamped(thread, kind::ACQUIRE_FAILED, detail, site, [address as u64]);
            return libc::ETIMEDOUT;
        }
    }
    let status = take(&mut world, thread, address, lock_kind, shared, 1);
    let (record, detail) = match status {
        libc::ENOTRECOVERABLE => (kind::ACQUIRE_FAILED, detail | acquire::NOT_RECOVERABLE),
        _ => (kind::ACQUIRE, detail),
    };
    world.stamped(thread, record, detail, site, [address as u64]);
    status
}

/// Takes a lock that is free. Returns 0, or what a robust mutex has to say: `EOWNERDEAD` with the
/// lock, `ENOTRECOVERABLE` without.
fn take(
    world: &mut World,
    thread: &mut Thread,
    address: usize,
    lock_kind: u8,
    shared: bool,
    depth: u32,
) -> i32 {
    let index = thread.index;
    let state = world.lock_state(thread, address, lock_kind);
    if shared {
        state.readers.push(index);
        return 0;
    }
    let status = match state.robust {
        Robust::Lost => return libc::ENOTRECOVERABLE,
        Robust::OwnerDied => {
            state.robust = Robust::Inconsistent;
            libc::EOWNERDEAD
        }
        Robust::No | Robust::Consistent | Robust::Inconsistent => 0,
    };
    let is_first = state.owner.is_none();
    state.owner = Some(index);
    state.depth += depth;
    if is_first && state.robust != Robust::No {
        world.objects.robust.push((index, address));
    }
    status
}

/// The owner of a lock gives it back wholly.
fn give_back(world: &mut World, address: usize) {
    let Some(state) = world.objects.locks.get_mut(&address) else { return };
    state.owner = None;
    state.depth = 0;
    if state.robust == Robust::No {
        return;
    }
    if state.robust == Robust::Inconsistent {
        state.robust = Robust::Lost;
    }
    world.objects.robust.retain(|&(_, held)| held != address);
}

/// What a robust mutex guards is in order again. Returns 0 or `EINVAL`. (Who says so, the C library
/// does not ask.)
pub(crate) fn make_consistent(address: usize) -> i32 {
    match hold().objects.locks.get_mut(&address) {
        Some(state) if state.robust == Robust::Inconsistent => {
            state.robust = Robust::Consistent;
            0
        }
        _ => libc::EINVAL,
    }
}

/// The thread ends: others find the robust mutexes that it still holds without an owner.
fn leave_robust_mutexes(thread: &mut Thread) {
    loop {
        let mine = |&&(owner, _): &&(u32, usize)| owner == thread.index;
        let last = hold().objects.robust.iter().rev().find(mine).map(|&(_, address)| address);
        let Some(address) = last else { return };
        thread.point(kind::RELEASE, 0, address as u64, 0);
        let mut world = hold();
        give_back(&mut world, address);
        if let Some(state) = world.objects.locks.get_mut(&address) {
            state.robust = Robust::OwnerDied;
        }
        world.stamped(thread, kind::RELEASE, release::OWNER_DIED, 0, [address as u64]);
        schedule::changed(&mut world);
    }
}

/// How deep its owner is in a lock.
pub(crate) fn lock_depth(address: usize) -> u32 {
    hold().objects.locks.get(&address).map_or(0, |state| state.depth)
}

/// Releases a lock once. Returns 0 or an error number.
pub(crate) fn lock_release(thread: &mut Thread, address: usize, lock_kind: u8) -> i32 {
    let site = thread.call_site;
    thread.point(kind::RELEASE, site, address as u64, 0);
    let mut world = hold();
    let index = thread.index;
    let state = world.lock_state(thread, address, lock_kind);
    let shared = state.owner.is_none() && !state.readers.is_empty();
    let mut status = 0;
    if shared {
        let mine = state.readers.iter().position(|&reader| reader == index);
        state.readers.swap_remove(mine.unwrap_or(0));
    } else if state.owner == Some(index) {
        state.depth -= 1;
        if state.depth == 0 {
            give_back(&mut world, address);
        }
    } else if matches!(state.kind, lock::RECURSIVE | lock::ERROR_CHECKING)
        || state.robust != Robust::No
    {
        status = libc::EPERM;
    } else {
        // Undefined by POSIX. What the C library does: a plain mutex is free afterwards.
        state.owner = None;
        state.depth = 0;
    }
    let refused = if status != 0 { release::REFUSED } else { 0 };
    let detail = if shared { release::SHARED | refused } else { refused };
    world.stamped(thread, kind::RELEASE, detail, site, [address as u64]);
    schedule::changed(&mut world);
    status
}

/// Waits on a condition variable. Returns 0, `ETIMEDOUT`, `EPERM`, `EOWNERDEAD`, or `ECANCELED`:
/// the thread is to end, and has the lock.
pub(crate) fn cond_wait(
    thread: &mut Thread,
    cond: usize,
    lock: usize,
    lock_kind: u8,
    deadline: Option<libc::timespec>,
) -> i32 {
    let (site, index) = (thread.call_site, thread.index);
    // Nothing is recorded: hence before the point, which counts.
    let checks = matches!(lock_kind & !ROBUST, lock::RECURSIVE | lock::ERROR_CHECKING);
    if checks && hold().owner(lock) != Some(index) {
        return libc::EPERM;
    }
    thread.point(kind::WAIT, site, cond as u64, 0);
    let mut world = hold();
    let timed = deadline.is_some();
    let state = world.lock_state(thread, lock, lock_kind);
    let held = state.owner == Some(index);
    let depth = if held { state.depth } else { 0 };
    if held {
        give_back(&mut world, lock);
    }
    world.objects.conds.entry(cond).or_default().waiters.push(index);
    let entry = world.entry(index);
    (entry.notified, entry.timed_out) = (false, false);
    world.stamped(thread, kind::WAIT, u8::from(timed), site, [cond as u64, lock as u64]);
    schedule::changed(&mut world);
    let (mut world, waited) =
        schedule::block(world, thread, Pending::Wake { cond, lock }, deadline);
    let entry = world.entry(index);
    let timed_out = entry.timed_out && !entry.notified;
    let cancelled = waited == Waited::Cancelled && !timed_out;
    if !entry.notified
        && let Some(state) = world.objects.conds.get_mut(&cond)
    {
        state.waiters.retain(|&waiter| waiter != index);
    }
    let mut taken = 0;
    if depth > 0 || lock_free_of_owner(&world, lock) {
        taken = take(&mut world, thread, lock, lock_kind, false, depth.max(1));
        if taken == libc::ENOTRECOVERABLE {
            process::refuse("a thread waits with a robust mutex that is lost meanwhile");
        }
    }
    let how = u8::from(timed_out) | u8::from(cancelled) << 1;
    world.stamped(thread, kind::WAKE, how, site, [cond as u64, lock as u64]);
    thread.count();
    match (timed_out, cancelled) {
        (false, true) => libc::ECANCELED,
        _ if taken != 0 => taken,
        (true, _) => libc::ETIMEDOUT,
        (false, false) => 0,
    }
}

fn lock_free_of_owner(world: &World, lock: usize) -> bool {
    world.objects.locks.get(&lock).is_none_or(|state| state.owner.is_none())
}

/// Wakes one waiter or all.
pub(crate) fn cond_notify(thread: &mut Thread, cond: usize, all: bool) {
    let site = thread.call_site;
    let kind = if all { kind::BROADCAST } else { kind::SIGNAL };
    thread.point(kind, site, cond as u64, 0);
    let mut world = hold();
    let world = &mut *world;
    if let Some(state) = world.objects.conds.get_mut(&cond) {
        while !state.waiters.is_empty() {
            let replayed = world
                .replay
                .as_deref()
                .and_then(|replay: &Replay| replay.whom_to_wake(&state.waiters, &world.threads));
            let woken = state.waiters.remove(replayed.unwrap_or(0));
            world.threads[woken as usize].notified = true;
            if !all {
                break;
            }
        }
    }
    world.stamped(thread, kind, 0, site, [cond as u64]);
    schedule::changed(world);
}

/// A condition variable is made or destroyed.
pub(crate) fn cond_note(thread: &mut Thread, kind: u8, cond: usize) {
    let mut world = hold();
    world.objects.conds.remove(&cond);
    let site = thread.call_site;
    world.stamped(thread, kind, 0, site, [cond as u64]);
}

/// A semaphore is made.
pub(crate) fn semaphore_init(thread: &mut Thread, address: usize, count: u32) {
    let mut world = hold();
    world.objects.semaphores.insert(address, count);
    let site = thread.call_site;
    world.stamped(thread, kind::SEM_INIT, 0, site, [address as u64, u64::from(count)]);
}

/// A semaphore is made with a count of 0, unless it is there already.
pub(crate) fn semaphore_declare(thread: &mut Thread, address: usize) {
    let mut world = hold();
    if world.objects.semaphores.contains_key(&address) {
        return;
    }
    world.objects.semaphores.insert(address, 0);
    let site = thread.call_site;
    world.stamped(thread, kind::SEM_INIT, 0, site, [address as u64, 0]);
}

/// A semaphore is destroyed.
pub(crate) fn semaphore_destroy(thread: &mut Thread, address: usize) {
    let mut world = hold();
    world.objects.semaphores.remove(&address);
    let site = thread.call_site;
    world.stamped(thread, kind::SEM_DESTROY, 0, site, [address as u64]);
}

/// Decrements a semaphore; 0, `EAGAIN`, `ETIMEDOUT`, or `ECANCELED`: the thread is to end.
pub(crate) fn semaphore_wait(thread: &mut Thread, address: usize, patience: Patience) -> i32 {
    let site = thread.call_site;
    thread.point(kind::SEM_WAIT, site, address as u64, 0);
    let mut world = hold();
    let detail = patience.detail() >> 1;
    if *world.objects.semaphores.entry(address).or_default() == 0 {
        if matches!(patience, Patience::Try) {
            world.stamped(thread, kind::SEM_WAIT_FAILED, detail, site, [address as u64]);
            return libc::EAGAIN;
        }
        world.stamped(thread, kind::REQUEST_SEM_WAIT, detail, site, [address as u64]);
        // A handler that ran before the wait interrupts nothing.
        thread.interrupted.store(false, Relaxed);
        let (held, waited) =
            schedule::block(world, thread, Pending::Semaphore(address), patience.deadline());
        world = held;
        if waited != Waited::Ready {
            let timed = acquire::TIMED >> 1;
            world.stamped(thread, kind::SEM_WAIT_FAILED, timed, site, [address as u64]);
            return match waited {
                Waited::TimedOut => libc::ETIMEDOUT,
                Waited::Interrupted => {
                    world.stamped(thread, kind::UNSEEN, unseen::INTERRUPTION, site, []);
                    libc::EINTR
                }
                _ => libc::ECANCELED,
            };
        }
    }
    *world.objects.semaphores.entry(address).or_default() -= 1;
    world.stamped(thread, kind::SEM_WAIT, detail, site, [address as u64]);
    0
}

/// Increments a semaphore.
pub(crate) fn semaphore_post(thread: &mut Thread, address: usize) {
    let site = thread.call_site;
    thread.point(kind::SEM_POST, site, address as u64, 0);
    let mut world = hold();
    *world.objects.semaphores.entry(address).or_default() += 1;
    world.stamped(thread, kind::SEM_POST, 0, site, [address as u64]);
    schedule::changed(&mut world);
}

/// A barrier is made.
pub(crate) fn barrier_init(thread: &mut Thread, address: usize, parties: u32) {
    let mut world = hold();
    world
        .objects
        .barriers
        .insert(address, crate::sync::BarrierState { parties, arrived: 0, round: 0 });
    let site = thread.call_site;
    world.stamped(thread, kind::BARRIER_INIT, 0, site, [address as u64, u64::from(parties)]);
}

/// A barrier is destroyed.
pub(crate) fn barrier_destroy(thread: &mut Thread, address: usize) {
    let mut world = hold();
    world.objects.barriers.remove(&address);
    let site = thread.call_site;
    world.stamped(thread, kind::BARRIER_DESTROY, 0, site, [address as u64]);
}

/// Arrives at a barrier and leaves it; true for the one that completes the round.
pub(crate) fn barrier_wait(thread: &mut Thread, address: usize) -> bool {
    let site = thread.call_site;
    thread.point(kind::ARRIVE, site, address as u64, 0);
    let mut world = hold();
    world.stamped(thread, kind::ARRIVE, 0, site, [address as u64]);
    let state = world.objects.barriers.entry(address).or_default();
    state.arrived += 1;
    let (round, last) = (state.round, state.arrived >= state.parties);
    if last {
        state.arrived = 0;
        state.round += 1;
        schedule::changed(&mut world);
    } else {
        world =
            schedule::block(world, thread, Pending::Barrier { barrier: address, round }, None).0;
    }
    drop(world);
    thread.point(kind::LEAVE, site, address as u64, 0);
    hold().stamped(thread, kind::LEAVE, 0, site, [address as u64]);
    last
}

/// Waits for a thread's end. A join that does not come about is not recorded: hence the wait is
/// before the point.
pub(crate) fn join(thread: &mut Thread, child: u32, deadline: Option<libc::timespec>) -> Waited {
    let site = thread.call_site;
    let mut world = hold();
    if world.threads[child as usize].state != State::Done {
        if deadline.is_none() {
            world.stamped(thread, kind::REQUEST_JOIN, 0, site, [u64::from(child)]);
        }
        let (held, waited) = schedule::block(world, thread, Pending::Join(child), deadline);
        world = held;
        if waited != Waited::Ready {
            return waited;
        }
    }
    drop(world);
    thread.point(kind::JOIN, site, u64::from(child), 0);
    hold().stamped(thread, kind::JOIN, 0, site, [u64::from(child)]);
    Waited::Ready
}

/// The thread is at its end: others go on.
pub(crate) fn end(thread: &mut Thread) {
    leave_robust_mutexes(thread);
    thread.point(kind::END, 0, 0, 0);
    let mut world = hold();
    world.stamped(thread, kind::END, 0, 0, []);
    world.entry(thread.index).state = State::Done;
    schedule::changed(&mut world);
    schedule::retire(world, thread);
    thread.own.close();
}

/// Lets time pass: others run first. Whether a signal ended that.
pub(crate) fn sleep(thread: &mut Thread, deadline: libc::timespec) -> bool {
    let world: Held = hold();
    schedule::block(world, thread, Pending::Sleep, Some(deadline)).1 == Waited::Interrupted
}
