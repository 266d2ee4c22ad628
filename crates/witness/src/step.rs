//! One step: the table of section 3 of `docs/theory.md`, row by row, where every read is pinned.
//!
//! **Computes.** Whether an event is enabled in the present state, and the state after it. What
//! signals, broadcasts and wakes ask of W, N and E is collected and decided at the end (`signals`),
//! because it depends on the wakes to come. Where reads are not pinned, `computing` has the rows
//! about memory and expressions; all others are here.
//!
//! **Cost.** Amortised constant per cell of an access and per open hold of a lock.

use foretrace_trace::{Dependences, EventId, LockId, ObjectId, Op, ThreadId, Trace};
use foretrace_verdict::Model;

use crate::recorded::{INITIAL, Recorded, Rule};
use crate::refuted::Refuted;
use crate::state::{Life, OpenHold, State};

/// A replay: the trace, its facts, and the state reached.
pub(crate) struct Replay<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) recorded: &'a Recorded,
    pub(crate) state: &'a mut State,
    /// The read whose value is free if it turns out to be the last event of its thread.
    pub(crate) perhaps_free: Option<EventId>,
    /// Whether the thread of that read was joined, so that the read was not free after all.
    pub(crate) remote_is_joined: bool,
    /// Why the free read would be refuted if it were not free.
    pub(crate) if_not_free: Option<Refuted>,
    /// Whether a read with an unknown writer was executed, other than the free one.
    pub(crate) is_possible: bool,
    pub(crate) reads: Reads,
    /// The reads that are released, though all others are pinned.
    pub(crate) released: Vec<EventId>,
    /// What those of them saw that did not see their recorded writers.
    pub(crate) released_saw: Vec<(EventId, Option<u64>)>,
}

/// What is asked of what reads see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reads {
    /// That it is what they saw in the recorded run.
    Pinned,
    /// That what is computed from it keeps the recorded path.
    Computed,
    /// Nothing.
    Free,
}

impl Reads {
    /// Without known dependences nothing may change behind a read: then `symbolic` pins them all,
    /// just as `values` does.
    pub(crate) fn under(model: Model, dependences: Dependences) -> Self {
        match (model, dependences) {
            (Model::ReadsFrom | Model::Values, _) => Reads::Pinned,
            (Model::Symbolic, Dependences::Unknown) => Reads::Pinned,
            (Model::Symbolic, Dependences::Recorded) => Reads::Computed,
            (Model::Control, _) => Reads::Free,
        }
    }
}

impl<'a> Replay<'a> {
    /// A replay in which nothing has happened, with no exceptions for reads.
    pub(crate) fn new(
        trace: &'a Trace,
        recorded: &'a Recorded,
        state: &'a mut State,
        reads: Reads,
    ) -> Self {
        Replay {
            trace,
            recorded,
            state,
            perhaps_free: None,
            remote_is_joined: false,
            if_not_free: None,
            is_possible: reads == Reads::Free,
            reads,
            released: Vec::new(),
            released_saw: Vec::new(),
        }
    }
}

impl Replay<'_> {
    pub(crate) fn is_executed(&self, event: EventId) -> bool {
        let done = self.state.progress.get(self.trace.thread_of(event).index()) as usize;
        self.trace.position(event) < done
    }

    /// "A thread is started if the trace has no fork of it, or the fork is executed."
    pub(crate) fn is_started(&self, thread: ThreadId) -> bool {
        self.recorded.forks[thread.index()].is_none_or(|fork| self.is_executed(fork))
    }

    pub(crate) fn is_live(&self, object: ObjectId) -> bool {
        match self.state.life.get(object.index()) {
            Life::AsAtStart => self.recorded.alloc_of(object).is_none(),
            Life::Allocated => true,
            Life::Freed => false,
        }
    }

    /// Executes a schedule, or says why one of its events is not enabled.
    pub(crate) fn run(&mut self, schedule: &[EventId]) -> Result<(), Refuted> {
        let steps = schedule.iter().copied().enumerate();
        match self.reads {
            Reads::Pinned => {
                for (step, event) in steps {
                    self.step(step, event)?;
                }
            }
            Reads::Computed => {
                for (step, event) in steps {
                    self.computing_step(step, event)?;
                }
            }
            Reads::Free => {
                for (step, event) in steps {
                    self.free_step(step, event)?;
                }
            }
        }
        Ok(())
    }

    /// Executes an event, or says why it is not enabled.
    #[inline]
    fn step(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let (thread, done) = self.enter(step, event)?;
        match self.recorded.rule(event) {
            Rule::Always | Rule::Fork => {}
            Rule::Read => self.read(step, event)?,
            Rule::Write => self.write(step, event)?,
            rule => self.other(step, event, thread, rule)?,
        }
        self.state.progress.set(thread.index(), done + 1);
        Ok(())
    }

    /// The thread of an event that is next in it, and how many it has executed.
    #[inline(always)]
    pub(crate) fn enter(&self, step: usize, event: EventId) -> Result<(ThreadId, u32), Refuted> {
        if event.index() >= self.trace.len() {
            return Err(Refuted::NoSuchEvent { step, event });
        }
        let thread = self.trace.thread_of(event);
        let done = self.state.progress.get(thread.index());
        // A thread that has executed an event was started before it.
        let is_next = self.trace.position(event) == done as usize && done > 0;
        if !is_next || self.state.has_exited {
            self.check_next(step, event, thread)?;
        }
        Ok((thread, done))
    }

    /// All rules but the most frequent ones.
    pub(crate) fn other(
        &mut self,
        step: usize,
        event: EventId,
        thread: ThreadId,
        rule: Rule,
    ) -> Result<(), Refuted> {
        match rule {
            Rule::Rmw => {
                self.read(step, event)?;
                self.write(step, event)?;
            }
            Rule::Signal | Rule::Broadcast => self.state.cond_steps.push((step, event)),
            Rule::Exit => self.state.has_exited = true,
            Rule::Alloc | Rule::Free => self.lifetime(step, event)?,
            Rule::Join => self.join(step, event)?,
            Rule::SemWait | Rule::SemWaitFailed | Rule::SemPost => self.semaphore(step, event)?,
            Rule::Arrive | Rule::Leave => self.barrier(step, event)?,
            Rule::LeaveCall => self.leave_call(step, event)?,
            Rule::Never => return Err(Refuted::NoRole { step, event }),
            rule => self.lock(step, event, thread, rule)?,
        }
        Ok(())
    }

    /// Whether the event is the next one of its thread.
    fn check_next(&self, step: usize, event: EventId, thread: ThreadId) -> Result<(), Refuted> {
        let done = self.state.progress.get(thread.index()) as usize;
        let position = self.trace.position(event);
        if position < done {
            return Err(Refuted::RunTwice { step, event });
        }
        if position > done {
            let due = self.trace.thread_events(thread)[done];
            return Err(Refuted::ProgramOrder { step, event, thread, due });
        }
        if done == 0 && !self.is_started(thread) {
            return Err(Refuted::NotStarted { step, event, thread });
        }
        if self.state.has_exited {
            return Err(Refuted::AfterExit { step, event });
        }
        Ok(())
    }

    /// Row *read, pinned*, and the first half of *rmw*.
    #[inline]
    fn read(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        if self.recorded.is_plain(event) && self.reads_recorded_writer(event) {
            return Ok(());
        }
        self.check_live(step, event)?;
        if self.released.contains(&event) {
            return self.see_released(step, event);
        }
        let bytes = self.check_bytes(step, event);
        if self.perhaps_free == Some(event) {
            self.if_not_free = bytes.err();
            return Ok(());
        }
        self.is_possible |= self.recorded.has_unknown_writer(event);
        bytes
    }

    /// Row *read, not pinned*, for a read that does not see its recorded writer.
    #[cold]
    fn see_released(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let sight = self.look(step, event)?;
        self.released_saw.push((event, sight.value));
        Ok(())
    }

    /// Whether the one cell that is read holds what its recorded writer wrote.
    #[inline]
    fn reads_recorded_writer(&self, event: EventId) -> bool {
        let cell = self.recorded.span(event).first as usize;
        self.recorded.recorded_writers(event) == [self.state.last_writer.get(cell)]
    }

    /// The part of the row about the value.
    pub(crate) fn check_bytes(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        if self.recorded.has_unknown_writer(event) {
            let is_private = !self.recorded.follows_all(event);
            return if is_private { Ok(()) } else { self.check_all_before(step, event) };
        }
        let first = self.recorded.span(event).first;
        for (cell, &expected) in (first..).zip(self.recorded.recorded_writers(event)) {
            let found = self.state.last_writer.get(cell as usize);
            let memory = &self.recorded.memory;
            if !memory.same_identity(self.trace, found, expected, cell) {
                let name = |writer| (writer != INITIAL).then_some(EventId(writer));
                let (found, expected) = (name(found), name(expected));
                let object = self.object_of(event);
                let offset = memory.cells.offset(cell);
                return Err(Refuted::WrongBytes { step, event, object, offset, found, expected });
            }
        }
        Ok(())
    }

    /// "Every event recorded before it is executed."
    fn check_all_before(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let mut missing = self.state.executed_up_to;
        while missing < event && self.is_executed(missing) {
            missing.0 += 1;
        }
        self.state.executed_up_to = missing;
        if missing < event { Err(Refuted::UnknownWriter { step, event, missing }) } else { Ok(()) }
    }

    /// Row *write*, and the second half of *rmw*.
    #[inline]
    fn write(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        if !self.recorded.is_plain(event) {
            self.check_live(step, event)?;
        }
        let span = self.recorded.span(event);
        for cell in span.first..span.first + span.count {
            self.state.last_writer.set(cell as usize, event.0);
        }
        Ok(())
    }

    pub(crate) fn check_live(&self, step: usize, event: EventId) -> Result<(), Refuted> {
        if self.recorded.is_mortal(event) {
            let object = self.object_of(event);
            if !self.is_live(object) {
                return Err(Refuted::NotLive { step, event, object });
            }
        }
        Ok(())
    }

    pub(crate) fn object_of(&self, access: EventId) -> ObjectId {
        self.trace.op(access).access().expect("called for accesses only").at.object
    }

    /// Rows *acquire* to *wake*.
    fn lock(
        &mut self,
        step: usize,
        event: EventId,
        thread: ThreadId,
        rule: Rule,
    ) -> Result<(), Refuted> {
        let op = self.trace.op(event);
        let lock = lock_of(op);
        let locks = &mut self.state.locks;
        if locks.is_destroyed(lock) {
            return Err(Refuted::Destroyed { step, event, lock });
        }
        let not_open = Refuted::HoldNotOpen { step, event, lock };
        let number = self.recorded.hold(event);
        match rule {
            Rule::Open | Rule::WakeNotified | Rule::WakeUnnotified => {
                let hold = self.recorded.holds.get(number);
                let mode = hold.mode;
                // A wake's own thread has no hold of this mode: the wait before it closed it.
                let own = locks.own_hold(lock, thread, mode).map(|own| own.thread);
                if let Some(holder) = locks.other_holder(lock, thread, mode).or(own) {
                    return Err(Refuted::LockHeld { step, event, lock, holder });
                }
                let open = OpenHold { hold: number, thread, mode, depth: hold.depth, changes: 0 };
                locks.push(lock, open);
                if rule != Rule::Open {
                    self.state.cond_steps.push((step, event));
                }
            }
            Rule::Deepen | Rule::Lower => {
                let hold = locks.find(lock, number).ok_or(not_open)?;
                hold.depth = if rule == Rule::Deepen { hold.depth + 1 } else { hold.depth - 1 };
                hold.changes += 1;
            }
            Rule::AcquireFailed => {
                let Op::AcquireFailed { mode, .. } = op else { unreachable!("by its rule") };
                if !locks.open(lock).iter().any(|open| open.mode.conflicts(mode)) {
                    return Err(Refuted::LockFree { step, event, lock });
                }
            }
            Rule::Close | Rule::CloseForeign => {
                let hold = locks.find(lock, number).ok_or(not_open)?;
                if hold.depth != 1 || hold.changes != self.recorded.holds.get(number).changes {
                    return Err(Refuted::HoldUnfinished { step, event, lock });
                }
                locks.close(lock, number);
            }
            Rule::Wait => {
                locks.close(lock, number).ok_or(not_open)?;
                self.state.cond_steps.push((step, event));
            }
            Rule::ReleaseUnheld | Rule::Destroy => {
                if let Some(&OpenHold { thread: holder, .. }) = locks.open(lock).first() {
                    return Err(Refuted::LockNotFree { step, event, lock, holder });
                }
                if rule == Rule::Destroy {
                    locks.destroy(lock);
                }
            }
            other => unreachable!("{other:?} is about no lock"),
        }
        Ok(())
    }

    /// Rows *semaphore wait*, *wait failed* and *post*.
    fn semaphore(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        match self.trace.op(event) {
            Op::SemWait { sem, .. } => {
                if self.count(sem.index()) == 0 {
                    return Err(Refuted::SemaphoreZero { step, event, sem });
                }
                let taken = self.state.taken.get(sem.index());
                self.state.taken.set(sem.index(), taken + 1);
            }
            Op::SemWaitFailed { sem, .. } => {
                let count = self.count(sem.index());
                if count != 0 {
                    return Err(Refuted::SemaphoreNotZero { step, event, sem, count });
                }
            }
            Op::SemPost { sem } => {
                let posted = self.state.posted.get(sem.index());
                self.state.posted.set(sem.index(), posted + 1);
            }
            other => unreachable!("{other:?} is about no semaphore"),
        }
        Ok(())
    }

    /// The present count of a semaphore.
    pub(crate) fn count(&self, sem: usize) -> u64 {
        self.recorded.semaphores[sem] + u64::from(self.state.posted.get(sem))
            - u64::from(self.state.taken.get(sem))
    }

    /// Rows *barrier arrive* and *leave*.
    fn barrier(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let round = self.recorded.round(event);
        let is_arrival = self.recorded.rule(event) == Rule::Arrive;
        let is_first = self.recorded.rounds[round as usize].index == 0;
        let needed = if is_arrival { (!is_first).then(|| round - 1) } else { Some(round) };
        if let Some(needed) = needed.filter(|&needed| !self.is_complete(needed)) {
            let arrived = self.state.arrived.get(needed as usize);
            let round = &self.recorded.rounds[needed as usize];
            let (barrier, parties) = (round.barrier, round.parties);
            return Err(Refuted::RoundIncomplete { step, event, barrier, arrived, parties });
        }
        if is_arrival {
            let arrived = self.state.arrived.get(round as usize);
            self.state.arrived.set(round as usize, arrived + 1);
        }
        Ok(())
    }

    /// Whether a round has as many arrivals as parties, all executed.
    pub(crate) fn is_complete(&self, round: u32) -> bool {
        let parties = self.recorded.rounds[round as usize].parties;
        self.state.arrived.get(round as usize) == parties
    }

    /// Row *join*.
    fn join(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let Op::Join { child } = self.trace.op(event) else { unreachable!("by its rule") };
        if self.is_started(child) && self.has_run_all(child) {
            let remote = self.perhaps_free.map(|read| self.trace.thread_of(read));
            self.remote_is_joined |= remote == Some(child);
            return Ok(());
        }
        Err(Refuted::ChildRunning { step, event, child })
    }

    /// Whether all recorded events of a thread are executed.
    pub(crate) fn has_run_all(&self, thread: ThreadId) -> bool {
        let done = self.state.progress.get(thread.index()) as usize;
        done == self.trace.thread_events(thread).len()
    }

    /// Row *leave-call*.
    fn leave_call(&self, step: usize, event: EventId) -> Result<(), Refuted> {
        let mut needed = self.recorded.calls.needed_by(event).iter();
        match needed.find(|&&enter| !self.is_executed(enter)) {
            Some(&enter) => Err(Refuted::CallNotEntered { step, event, enter }),
            None => Ok(()),
        }
    }

    /// Rows *alloc* and *free*.
    fn lifetime(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        match self.trace.op(event) {
            Op::Alloc { object, .. } => {
                let frees = self.recorded.frees_before(event);
                if let Some(&freed) = frees.iter().find(|&&free| !self.is_executed(free)) {
                    return Err(Refuted::StillAllocated { step, event, freed });
                }
                self.state.life.set(object.index(), Life::Allocated);
            }
            Op::Free { object } => {
                if !self.is_live(object) {
                    return Err(Refuted::NotLive { step, event, object });
                }
                self.state.life.set(object.index(), Life::Freed);
            }
            other => unreachable!("{other:?} is about no lifetime"),
        }
        Ok(())
    }
}

/// The lock of a lock event.
pub(crate) fn lock_of(op: Op) -> LockId {
    match op {
        Op::Acquire { lock, .. }
        | Op::AcquireFailed { lock, .. }
        | Op::Release { lock, .. }
        | Op::Destroy { lock }
        | Op::Wait { lock, .. }
        | Op::Wake { lock, .. } => lock,
        other => unreachable!("{other:?} is about no lock"),
    }
}
