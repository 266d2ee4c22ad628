//! Whether a recorded run obeys the rules: section 5 of `docs/theory.md`.
//!
//! **Computes.** The first event that cannot happen where it is recorded, and which rule it breaks.
//!
//! **Follows.** The table of steps in section 3, on the recorded order. Bytes need no state: a read
//! expects what its recorded writer left, and in recorded order it gets that, or it has an unknown
//! writer, and then everything recorded before it has been executed; so only the life of its object
//! counts. Likewise, rounds of a barrier, roles of releases and re-used addresses are *defined* by
//! the recorded order. The one choice that a schedule leaves open, whom a signal wakes, is settled
//! in `conds`.
//!
//! Beyond section 5, what no recorder can mean is rejected too: contradictory declarations, values
//! that do not fit, operations that block for ever and yet fail. `docs/trace-format.md` lists all
//! rules with their codes.
//!
//! **Cost.** Linear in the trace, but for a heap of the waiting threads of each condition variable.
//! One table row per thread, lock, object, condition variable, semaphore and barrier; no allocation
//! per event.

mod barriers;
#[cfg(test)]
mod brute;
mod calls;
mod conds;
mod invalid;
mod locks;
mod memory;
#[cfg(test)]
mod naive;
mod names;
mod rule;
mod semaphores;
#[cfg(test)]
mod tests;
mod threads;

use crate::deadline::Deadline;
use crate::event::*;
use crate::ids::*;
use crate::store::Trace;

use invalid::{Breach, breach};

pub use invalid::{Invalid, Piece};
pub use rule::Rule;

/// Checks the whole trace and names the first event that breaks a rule.
pub fn validate(trace: &Trace) -> Result<(), Invalid> {
    validate_until(trace, Deadline::NEVER).map(drop)
}

/// The same as far as there is time; says how many of the first events were checked.
pub fn validate_until(trace: &Trace, deadline: Deadline) -> Result<usize, Invalid> {
    memory::check_initial(trace).map_err(Invalid::declaration)?;
    memory::check_benign(trace).map_err(Invalid::declaration)?;
    barriers::check_parties(trace).map_err(Invalid::declaration)?;
    if let Some((id, breach)) = names::misplaced(trace) {
        return Err(if id.index() < trace.len() {
            Invalid::event(trace, id, breach)
        } else {
            Invalid::declaration(breach)
        });
    }
    let mut state = State {
        trace,
        exit: None,
        threads: threads::Threads::new(trace),
        locks: locks::Locks::new(trace),
        conds: conds::Conds::new(trace),
        semaphores: semaphores::Semaphores::new(trace),
        barriers: barriers::Barriers::new(trace),
        memory: memory::Lifetimes::new(trace),
        names: names::Bound::default(),
        calls: calls::Calls::new(trace),
    };
    for (id, event) in trace.events() {
        if id.index() % 1024 == 1023 && deadline.has_passed() {
            return Ok(id.index());
        }
        names::check_ids(trace, event)
            .and_then(|()| state.step(id, event))
            .map_err(|breach| Invalid::event(trace, id, breach))?;
    }
    Ok(trace.len())
}

struct State<'t> {
    trace: &'t Trace,
    exit: Option<EventId>,
    threads: threads::Threads<'t>,
    locks: locks::Locks<'t>,
    conds: conds::Conds<'t>,
    semaphores: semaphores::Semaphores,
    barriers: barriers::Barriers,
    memory: memory::Lifetimes,
    names: names::Bound,
    calls: calls::Calls<'t>,
}

impl State<'_> {
    fn step(&mut self, id: EventId, Event { thread, op, .. }: Event) -> Result<(), Breach> {
        if let Some(exit) = self.exit {
            return Err(breach(Rule::AfterExit, "the process exited at ").event(exit));
        }
        self.threads.may_continue(id, thread, op)?;
        match op {
            Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
                self.memory.access(id, at)?;
                self.names.access(self.trace, id, thread, op)?;
            }
            Op::Let => self.names.local(self.trace, id, thread)?,
            Op::Branch { taken: outcome }
            | Op::Assert { holds: outcome }
            | Op::Assume { holds: outcome } => {
                self.names.condition(self.trace, id, thread, outcome)?;
            }
            Op::Acquire { lock, mode, .. } => self.locks.acquire(id, thread, lock, mode)?,
            Op::AcquireFailed { lock, mode, patience } => {
                may_fail(patience)?;
                self.locks.fail(lock, mode)?;
            }
            Op::Release { lock, mode } => self.locks.release(thread, lock, mode)?,
            Op::Destroy { lock } => self.locks.destroy(id, lock)?,
            Op::Wait { cond, lock, .. } => {
                let hold = self.locks.close_for_wait(thread, lock)?;
                self.threads.wait(id, thread, hold);
                self.conds.wait(id, thread, cond);
            }
            Op::Wake { lock, reason, .. } => {
                let hold = self.threads.wake(thread, reason)?;
                self.locks.reopen(id, thread, lock, hold)?;
            }
            Op::Signal { cond } => {
                if let Some(woken) = self.conds.signal(cond) {
                    self.threads.notify(woken);
                }
            }
            Op::Broadcast { cond } => {
                while let Some(woken) = self.conds.signal(cond) {
                    self.threads.notify(woken);
                }
            }
            Op::SemWait { sem, .. } => self.semaphores.wait(id, sem)?,
            Op::SemWaitFailed { sem, patience } => {
                may_fail(patience)?;
                self.semaphores.fail(id, sem)?;
            }
            Op::SemPost { sem } => self.semaphores.post(sem),
            Op::Arrive { barrier } => self.barriers.arrive(thread, barrier),
            Op::Leave { barrier } => self.barriers.leave(thread, barrier)?,
            Op::Fork { child } => self.threads.fork(id, child)?,
            Op::Join { child } => self.threads.join(id, child)?,
            Op::Begin => self.threads.begin(id)?,
            Op::End => self.threads.end(id, thread),
            Op::Exit => self.exit = Some(id),
            Op::Alloc { object, size, .. } => self.memory.alloc(id, object, size)?,
            Op::Free { object } => self.memory.free(id, object)?,
            Op::EnterCall { on, .. } => self.calls.enter(thread, on),
            Op::LeaveCall => self.calls.leave(thread)?,
            Op::Request(_) | Op::RegionBegin | Op::RegionEnd | Op::Fence { .. } | Op::External => {}
        }
        Ok(())
    }
}

fn may_fail(patience: Patience) -> Result<(), Breach> {
    match patience {
        Patience::Blocking => {
            Err(breach(Rule::BlockingFailed, "what is neither `try` nor `timed` cannot fail"))
        }
        Patience::Timed | Patience::Try => Ok(()),
    }
}
