//! Locks and semaphores as cells.
//!
//! A lock's cell holds how many readers have it, or all ones if one thread has it alone. How often
//! a thread has which lock is known from its own way, so the cell is touched only when the thread's
//! hold begins or ends.

use foretrace_model::terms::TermId;
use foretrace_program::ir::{Mode, Patience};
use foretrace_trace::{EventId, LockId, MemoryOrder, ObjectId, Op, Place, SemId};

use crate::walk::Context;
use crate::{Origin, Part, Site, Summariser, Unsupported};

/// How wide the cells are, in bits.
const WIDTH: u32 = 32;
const EXCLUSIVE: u128 = u32::MAX as u128;

/// How often a thread has a lock, by mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Depth {
    pub(crate) exclusive: TermId,
    pub(crate) shared: TermId,
}

impl Depth {
    fn of(self, mode: Mode) -> TermId {
        match mode {
            Mode::Exclusive => self.exclusive,
            Mode::Shared => self.shared,
        }
    }

    fn set(&mut self, mode: Mode, depth: TermId) {
        match mode {
            Mode::Exclusive => self.exclusive = depth,
            Mode::Shared => self.shared = depth,
        }
    }
}

impl Summariser<'_> {
    fn cell(&mut self, name: &str) -> Place {
        let name = self.own_name(name);
        Place { object: self.trace.object(&name), offset: 0, size: WIDTH / 8 }
    }

    /// The lock of the trace.
    fn named_lock(&mut self, lock: LockId) -> LockId {
        let name = self.program.locks[lock.index()].name.clone();
        self.trace.lock(&name)
    }

    pub(crate) fn lock_cell(&mut self, lock: LockId) -> Place {
        let name = format!("lock {}", self.program.locks[lock.index()].name);
        self.cell(&name)
    }

    pub(crate) fn semaphore_cell(&mut self, sem: SemId) -> Place {
        let name = format!("semaphore {}", self.program.semaphores[sem.index()].name);
        self.cell(&name)
    }

    /// An atomic step on a cell: what it finds, and the event, whose terms are still to be given.
    pub(crate) fn touch(
        &mut self,
        context: &Context,
        at: Place,
        occurs: TermId,
        origin: Origin,
    ) -> (EventId, TermId) {
        let op = Op::Rmw { at, read: None, written: None, order: MemoryOrder::SeqCst };
        let event = self.emit(context.thread, op, occurs, origin);
        let old = self.symbol(event, 8 * at.size);
        (event, old)
    }

    /// Takes a lock; one bit, whether it has it, if it may give up.
    pub(crate) fn acquire(
        &mut self,
        context: &mut Context,
        lock: LockId,
        mode: Mode,
        patience: Patience,
        site: Site,
    ) -> Result<Option<TermId>, Unsupported> {
        let depth = self.depth(context, lock);
        let (one, zero) = (self.terms.constant(1, WIDTH), self.terms.constant(0, WIDTH));
        let has_mode = self.terms.ne(depth.of(mode), zero);
        let recursive = self.program.locks[lock.index()].recursive;
        let other = match mode {
            Mode::Exclusive => depth.shared,
            Mode::Shared => depth.exclusive,
        };
        if self.terms.as_constant(other) != Some(0) {
            return self.unsupported("a thread that takes one lock in both modes", site);
        }
        // A reader may take a lock again, a writer only a recursive one.
        let deepens = match mode {
            Mode::Exclusive if !recursive => self.terms.boolean(false),
            Mode::Exclusive | Mode::Shared => has_mode,
        };
        let is_mutex = patience == Patience::Blocking && mode == Mode::Exclusive;
        let is_free = self.terms.as_constant(depth.exclusive) == Some(0);
        let always = self.terms.as_constant(context.condition) == Some(1);
        if !(is_mutex && is_free && always) {
            self.varying.insert(lock);
        } else if self.plain.contains(&lock) {
            let origin = Origin { site, part: Part::Step };
            let op = Op::Acquire { lock: self.named_lock(lock), mode, patience };
            self.emit(context.thread, op, context.condition, origin);
            context.depths.entry(lock).or_insert(depth).set(mode, one);
            return Ok(None);
        }
        if patience == Patience::Blocking && mode == Mode::Exclusive && !recursive {
            self.check(context, has_mode, Origin { site, part: Part::DoubleLock });
        }
        let opens = self.terms.not(deepens);
        let occurs = self.terms.and(context.condition, opens);
        let at = self.lock_cell(lock);
        let (event, old) = self.touch(context, at, occurs, Origin { site, part: Part::Step });
        let free = match mode {
            Mode::Exclusive => self.terms.eq(old, zero),
            Mode::Shared => {
                let exclusive = self.terms.constant(EXCLUSIVE, WIDTH);
                self.terms.ne(old, exclusive)
            }
        };
        let taken = match mode {
            Mode::Exclusive => self.terms.constant(EXCLUSIVE, WIDTH),
            Mode::Shared => self.terms.add(old, one),
        };
        let (stored, success) = match patience {
            Patience::Blocking => {
                self.assumed.insert(event, free);
                (taken, None)
            }
            Patience::Timed | Patience::Try => {
                (self.terms.ite(free, taken, old), Some(self.terms.or(deepens, free)))
            }
        };
        self.results.insert(event, stored);
        let deeper = self.terms.add(depth.of(mode), one);
        let now = match success {
            Some(success) => self.terms.ite(success, deeper, depth.of(mode)),
            None => deeper,
        };
        context.depths.entry(lock).or_insert(depth).set(mode, now);
        Ok(success)
    }

    /// Gives a lock back, once.
    pub(crate) fn release(&mut self, context: &mut Context, lock: LockId, mode: Mode, site: Site) {
        let depth = self.depth(context, lock);
        let (one, zero) = (self.terms.constant(1, WIDTH), self.terms.constant(0, WIDTH));
        let is_held = self.terms.as_constant(depth.exclusive) == Some(1);
        let always = self.terms.as_constant(context.condition) == Some(1);
        if !(mode == Mode::Exclusive && is_held && always) {
            self.varying.insert(lock);
        } else if self.plain.contains(&lock) {
            let origin = Origin { site, part: Part::Step };
            let op = Op::Release { lock: self.named_lock(lock), mode };
            self.emit(context.thread, op, context.condition, origin);
            context.depths.entry(lock).or_insert(depth).set(mode, zero);
            return;
        }
        let lacks = self.terms.eq(depth.of(mode), zero);
        self.check(context, lacks, Origin { site, part: Part::NotHeld });
        let is_last = self.terms.eq(depth.of(mode), one);
        let occurs = self.terms.and(context.condition, is_last);
        let at = self.lock_cell(lock);
        let (event, old) = self.touch(context, at, occurs, Origin { site, part: Part::Step });
        let left = match mode {
            Mode::Exclusive => zero,
            Mode::Shared => self.terms.sub(old, one),
        };
        self.results.insert(event, left);
        let now = self.terms.sub(depth.of(mode), one);
        context.depths.entry(lock).or_insert(depth).set(mode, now);
    }

    /// Takes a token; one bit, whether it did, if it may give up.
    pub(crate) fn semaphore_wait(
        &mut self,
        context: &Context,
        sem: SemId,
        patience: Patience,
        site: Site,
    ) -> Option<TermId> {
        let at = self.semaphore_cell(sem);
        let origin = Origin { site, part: Part::Step };
        let (event, old) = self.touch(context, at, context.condition, origin);
        let (one, zero) = (self.terms.constant(1, WIDTH), self.terms.constant(0, WIDTH));
        let some = self.terms.ne(old, zero);
        let fewer = self.terms.sub(old, one);
        if patience == Patience::Blocking {
            self.assumed.insert(event, some);
            self.results.insert(event, fewer);
            return None;
        }
        let stored = self.terms.ite(some, fewer, old);
        self.results.insert(event, stored);
        Some(some)
    }

    pub(crate) fn semaphore_post(&mut self, context: &Context, sem: SemId, site: Site) {
        let at = self.semaphore_cell(sem);
        let origin = Origin { site, part: Part::Step };
        let (event, old) = self.touch(context, at, context.condition, origin);
        let one = self.terms.constant(1, WIDTH);
        let more = self.terms.add(old, one);
        self.results.insert(event, more);
    }

    /// The cells' contents at the start.
    pub(crate) fn declare_cells(&mut self) {
        for lock in (0..self.program.locks.len()).map(LockId::from) {
            let at = self.lock_cell(lock);
            self.trace.set_initial(at, 0);
        }
        for (index, semaphore) in self.program.semaphores.iter().enumerate() {
            let at = self.semaphore_cell(SemId::from(index));
            self.trace.set_initial(at, semaphore.count.into());
        }
    }

    fn depth(&mut self, context: &Context, lock: LockId) -> Depth {
        let zero = self.terms.constant(0, WIDTH);
        context.depths.get(&lock).copied().unwrap_or(Depth { exclusive: zero, shared: zero })
    }

    /// An assertion of our own: this is wrong.
    pub(crate) fn check(&mut self, context: &Context, wrong: TermId, origin: Origin) {
        if self.terms.as_constant(wrong) == Some(0) {
            return;
        }
        let op = Op::Assert { holds: true };
        let event = self.emit(context.thread, op, context.condition, origin);
        let right = self.terms.not(wrong);
        self.results.insert(event, right);
    }

    /// The flag of a thread, one byte.
    pub(crate) fn flag(&mut self, name: &str) -> Place {
        let name = self.own_name(name);
        let object: ObjectId = self.trace.object(&name);
        Place { object, offset: 0, size: 1 }
    }

    /// A name that no variable of the program has.
    pub(crate) fn own_name(&self, name: &str) -> String {
        let mut name = name.to_string();
        while self.program.find_global(&name).is_some() {
            name.push('\'');
        }
        name
    }
}
