//! What locks, condition variables, semaphores and barriers mean: who holds what, who waits for
//! what.
//!
//! The objects are known by their addresses; the C library's own memory for them is only read, for
//! the kind of a mutex that was initialised statically.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use foretrace_recording::record::lock;

use crate::kernel::ready::Ready;

mod operations;

pub(crate) use operations::*;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// Nothing: it can run.
    Nothing,
    /// A lock, shared or not.
    Acquire { lock: usize, shared: bool },
    /// To be notified; then the lock.
    Wake { cond: usize, lock: usize },
    /// A semaphore's count.
    Semaphore(usize),
    /// A round of a barrier to be complete.
    Barrier { barrier: usize, round: u64 },
    /// A thread's end.
    Join(u32),
    /// Time to pass.
    Sleep,
    /// Descriptors to be ready.
    Ready(Ready),
}

impl Pending {
    /// Whether a signal with a handler ends the wait; the handler then runs behind it.
    pub(crate) fn ends_with_signals(self) -> bool {
        matches!(self, Pending::Sleep | Pending::Ready(_))
    }
}

/// A mutex, spin lock or reader-writer lock.
#[derive(Default, Debug)]
pub(crate) struct LockState {
    /// See [`lock`].
    pub(crate) kind: u8,
    /// It is no lock of the C library's, but the word of a `pthread_once` or of a static variable.
    pub(crate) guard: bool,
    pub(crate) robust: Robust,
    pub(crate) owner: Option<u32>,
    pub(crate) depth: u32,
    /// One entry for each shared hold.
    pub(crate) readers: Vec<u32>,
}

/// What is known of a robust mutex.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Robust {
    /// It is none.
    #[default]
    No,
    /// It is as it should be.
    Consistent,
    /// Its owner ended; whoever has it next is told.
    OwnerDied,
    /// Its owner was told.
    Inconsistent,
    /// It was given back inconsistent: nobody can have it any more.
    Lost,
}

#[derive(Default, Debug)]
pub(crate) struct BarrierState {
    pub(crate) parties: u32,
    pub(crate) arrived: u32,
    pub(crate) round: u64,
}

/// The kind of lock that a guard is, see [`LockState::guard`].
pub(crate) const GUARD: u8 = 0x80;

/// Added to the kind of a robust mutex.
pub(crate) const ROBUST: u8 = 0x40;

/// Addresses are spread by multiplication.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_usize(&mut self, address: usize) {
        self.0 = (address as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

type Map<T> = HashMap<usize, T, BuildHasherDefault<AddressHasher>>;

/// All objects of the process.
#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) locks: Map<LockState>,
    /// The robust mutexes that threads hold, in the order in which they took them.
    pub(crate) robust: Vec<(u32, usize)>,
    pub(crate) conds: Map<CondState>,
    pub(crate) semaphores: Map<u32>,
    pub(crate) barriers: Map<BarrierState>,
}

#[derive(Default, Debug)]
pub(crate) struct CondState {
    /// Those who wait and are not yet notified, in the order in which they came.
    pub(crate) waiters: Vec<u32>,
}

impl Objects {
    /// The memory is given back: what was in it is no more.
    pub(crate) fn forget(&mut self, start: usize, size: usize) {
        fn forget<T>(map: &mut Map<T>, start: usize, size: usize) {
            if map.is_empty() {
            } else if map.len() < size / 4 {
                map.retain(|address, _| !(start..start + size).contains(address));
            } else {
                (start..start + size).step_by(4).for_each(|address| drop(map.remove(&address)));
            }
        }
        forget(&mut self.locks, start, size);
        forget(&mut self.conds, start, size);
        forget(&mut self.semaphores, start, size);
        forget(&mut self.barriers, start, size);
        self.robust.retain(|(_, address)| !(start..start + size).contains(address));
    }
}

impl LockState {
    /// A new lock of this kind, with [`GUARD`] and [`ROBUST`].
    pub(crate) fn new(kind: u8) -> LockState {
        LockState {
            kind: kind & !(GUARD | ROBUST),
            guard: kind & GUARD != 0,
            robust: if kind & ROBUST != 0 { Robust::Consistent } else { Robust::No },
            ..LockState::default()
        }
    }

    /// Whether `thread` can have the lock now.
    pub(crate) fn free_for(&self, thread: u32, shared: bool) -> bool {
        match self.owner {
            Some(owner) => owner == thread && !shared && self.kind == lock::RECURSIVE,
            None => shared || self.readers.is_empty(),
        }
    }
}
