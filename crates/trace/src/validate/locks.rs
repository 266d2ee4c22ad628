//! Locks: who holds which, in which mode and how deep.
//!
//! **Invariant.** Per lock at most one thread has an exclusive hold, and then no other thread has a
//! shared one. `readers` counts the lock's entries in `shared`.

use rustc_hash::FxHashMap;

use crate::event::Mode;
use crate::ids::*;
use crate::store::{LockKind, Trace};

use super::invalid::{Breach, breach};
use super::rule::Rule;

pub(super) struct Locks<'t> {
    trace: &'t Trace,
    rows: Vec<Row>,
    /// Shared holds are rare and may be many per lock, so they have no column.
    shared: FxHashMap<(LockId, ThreadId), Depth>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    exclusive: Option<(ThreadId, Depth)>,
    readers: u32,
    destroyed: Option<EventId>,
}

#[derive(Clone, Copy)]
struct Depth {
    depth: u32,
    since: EventId,
}

/// The hold that a wait closes and its wake opens again.
#[derive(Clone, Copy)]
pub(super) struct SavedHold {
    mode: Mode,
    depth: u32,
}

impl<'t> Locks<'t> {
    pub(super) fn new(trace: &'t Trace) -> Locks<'t> {
        let rows = vec![Row::default(); trace.locks().len()];
        Locks { trace, rows, shared: FxHashMap::default() }
    }

    pub(super) fn acquire(
        &mut self,
        id: EventId,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
    ) -> Result<(), Breach> {
        self.usable(lock)?;
        let row = &mut self.rows[lock.index()];
        match mode {
            Mode::Exclusive => {
                if let Some((owner, hold)) = &mut row.exclusive
                    && *owner == thread
                {
                    if self.trace.lock_kind(lock) == LockKind::Plain {
                        let why = "it is declared plain, and the thread itself has held it since ";
                        return Err(breach(Rule::PlainLockAgain, why).event(hold.since));
                    }
                    hold.depth += 1;
                    return Ok(());
                }
            }
            Mode::Shared => {
                if row.readers > 0
                    && let Some(hold) = self.shared.get_mut(&(lock, thread))
                {
                    hold.depth += 1;
                    return Ok(());
                }
            }
        }
        self.open(id, thread, lock, SavedHold { mode, depth: 1 })
    }

    pub(super) fn fail(&self, lock: LockId, mode: Mode) -> Result<(), Breach> {
        self.usable(lock)?;
        let row = &self.rows[lock.index()];
        let refused = row.exclusive.is_some() || (mode == Mode::Exclusive && row.readers > 0);
        if refused {
            return Ok(());
        }
        let held = if row.readers > 0 { "it is held only shared" } else { "nobody holds it" };
        Err(breach(Rule::LockFree, held))
    }

    pub(super) fn release(
        &mut self,
        thread: ThreadId,
        lock: LockId,
        mode: Mode,
    ) -> Result<(), Breach> {
        self.usable(lock)?;
        match mode {
            Mode::Exclusive => self.release_exclusive(thread, lock),
            Mode::Shared => self.release_shared(thread, lock),
        }
    }

    fn release_exclusive(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Breach> {
        let row = &mut self.rows[lock.index()];
        match &mut row.exclusive {
            Some((owner, hold)) if hold.depth > 1 => {
                if *owner == thread {
                    hold.depth -= 1;
                    return Ok(());
                }
                let owner = self.trace.name(*owner);
                let why = format!(
                    "{owner} holds it {} deep (a release by another thread is supported only at \
                     depth 1) since ",
                    hold.depth
                );
                Err(breach(Rule::ForeignDeep, why).event(hold.since))
            }
            Some(_) => {
                row.exclusive = None;
                Ok(())
            }
            // Nobody has a hold: an error of the program, but a step.
            None if row.readers == 0 => Ok(()),
            None => {
                let (reader, since) = self.reader_but(None, lock);
                let why = format!("it is held only shared: {reader} has held it since ");
                Err(breach(Rule::ReleaseMode, why).event(since))
            }
        }
    }

    fn release_shared(&mut self, thread: ThreadId, lock: LockId) -> Result<(), Breach> {
        let row = &mut self.rows[lock.index()];
        if row.readers > 0 {
            if let Some(hold) = self.shared.get_mut(&(lock, thread)) {
                hold.depth -= 1;
                if hold.depth == 0 {
                    self.shared.remove(&(lock, thread));
                    row.readers -= 1;
                }
                return Ok(());
            }
            let (reader, since) = self.reader_but(None, lock);
            let why = format!(
                "the thread has no shared hold (a release of another thread's is not supported): \
                 {reader} has held it shared since "
            );
            return Err(breach(Rule::ForeignShared, why).event(since));
        }
        match row.exclusive {
            None => Ok(()),
            Some((owner, hold)) => {
                let owner = self.trace.name(owner);
                let why = format!("it is not held shared: {owner} has held it exclusively since ");
                Err(breach(Rule::ReleaseMode, why).event(hold.since))
            }
        }
    }

    pub(super) fn destroy(&mut self, id: EventId, lock: LockId) -> Result<(), Breach> {
        self.usable(lock)?;
        let row = &mut self.rows[lock.index()];
        if let Some((owner, hold)) = row.exclusive {
            let owner = self.trace.name(owner);
            let why = format!("{owner} has held it since ");
            return Err(breach(Rule::DestroyHeld, why).event(hold.since));
        }
        if row.readers > 0 {
            let (reader, since) = self.reader_but(None, lock);
            let why = format!("{reader} has held it shared since ");
            return Err(breach(Rule::DestroyHeld, why).event(since));
        }
        row.destroyed = Some(id);
        Ok(())
    }

    /// Closes the thread's hold, whatever its depth.
    pub(super) fn close_for_wait(
        &mut self,
        thread: ThreadId,
        lock: LockId,
    ) -> Result<SavedHold, Breach> {
        self.usable(lock)?;
        let row = &mut self.rows[lock.index()];
        let exclusive = row.exclusive.filter(|(owner, _)| *owner == thread);
        let shared = self.shared.get(&(lock, thread)).copied();
        match (exclusive, shared) {
            (Some((_, hold)), None) => {
                row.exclusive = None;
                Ok(SavedHold { mode: Mode::Exclusive, depth: hold.depth })
            }
            (None, Some(hold)) => {
                self.shared.remove(&(lock, thread));
                row.readers -= 1;
                Ok(SavedHold { mode: Mode::Shared, depth: hold.depth })
            }
            (Some((_, exclusive)), Some(shared)) => {
                let why = "the thread holds the lock in both modes: exclusively since ";
                let why = breach(Rule::WaitBothModes, why).event(exclusive.since);
                Err(why.text(", shared since ").event(shared.since))
            }
            (None, None) => Err(breach(Rule::WaitNotHeld, "the thread does not hold the lock")),
        }
    }

    /// The second half of a wait.
    pub(super) fn reopen(
        &mut self,
        id: EventId,
        thread: ThreadId,
        lock: LockId,
        hold: SavedHold,
    ) -> Result<(), Breach> {
        self.usable(lock)?;
        self.open(id, thread, lock, hold)
    }

    fn open(
        &mut self,
        id: EventId,
        thread: ThreadId,
        lock: LockId,
        hold: SavedHold,
    ) -> Result<(), Breach> {
        let row = &mut self.rows[lock.index()];
        if let Some((owner, held)) = row.exclusive
            && owner != thread
        {
            let owner = self.trace.name(owner);
            let why = format!("{owner} has held it since ");
            return Err(breach(Rule::LockHeld, why).event(held.since));
        }
        let opened = Depth { depth: hold.depth, since: id };
        match hold.mode {
            Mode::Exclusive => {
                let own = row.readers > 0 && self.shared.contains_key(&(lock, thread));
                if row.readers > u32::from(own) {
                    let (reader, since) = self.reader_but(Some(thread), lock);
                    let why = format!("{reader} has held it shared since ");
                    return Err(breach(Rule::LockHeld, why).event(since));
                }
                row.exclusive = Some((thread, opened));
            }
            Mode::Shared => {
                row.readers += 1;
                self.shared.insert((lock, thread), opened);
            }
        }
        Ok(())
    }

    #[inline]
    fn usable(&self, lock: LockId) -> Result<(), Breach> {
        match self.rows[lock.index()].destroyed {
            None => Ok(()),
            Some(event) => {
                Err(breach(Rule::LockDestroyed, "the lock was destroyed at ").event(event))
            }
        }
    }

    /// The first of the readers, for a message.
    fn reader_but(&self, but: Option<ThreadId>, lock: LockId) -> (&'t str, EventId) {
        let readers = self.shared.iter().filter(|((of, _), _)| *of == lock);
        let others = readers.filter(|((_, reader), _)| Some(*reader) != but);
        let (reader, since) = others
            .map(|((_, reader), hold)| (*reader, hold.since))
            .min_by_key(|(_, since)| *since)
            .expect("`readers` counts them");
        (self.trace.name(reader), since)
    }
}
