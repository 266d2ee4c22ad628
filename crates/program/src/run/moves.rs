//! Which steps are possible; at which operation a thread is.

use foretrace_trace::{Access, MemoryOrder, Patience, ThreadId};

use crate::ir::*;

use super::memory::{NULL_PAGE, ObjectKind};
use super::state::{Phase, State, Status, Undefined, Wait, Why};
use super::{Action, Choice, Event, Input, Machine, Move};

/// The visible operation at which a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    /// Its instruction, or the end of its block.
    pub site: Site,
    /// What is left to do of it.
    pub kind: NextKind,
}

/// What is left to do of a visible operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextKind {
    /// An access to live memory. A compare-and-exchange writes if it would now.
    Access(Access),
    /// The second half of a wait.
    Wake,
    /// The second half of a barrier.
    Leave,
    /// Anything else, as a whole.
    Other,
}

/// What is wrong with an access that is not inside one live object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadAccess {
    /// The address is that of a null pointer, or close to it.
    Null,
    /// The object was freed.
    Freed,
    /// It goes beyond an object of the heap, or a global one, that has so many bytes.
    Outside(u32),
    /// It is outside of the memory of a function, or nowhere.
    Elsewhere,
}

impl Machine<'_> {
    /// All steps that are possible, in a fixed order.
    pub fn moves(&self, state: &State) -> Vec<Move> {
        state.thread_ids().flat_map(|thread| self.moves_of(state, thread)).collect()
    }

    /// The steps of one thread that are possible; none if it is blocked, finished or stopped.
    pub fn moves_of(&self, state: &State, thread: ThreadId) -> Vec<Move> {
        let is_there = thread.index() < state.threads.len();
        if !is_there
            || state.is_kept_out(thread)
            || state.exited
            || state.status(thread) != Status::Running
        {
            return Vec::new();
        }
        let choices = match state.thread(thread).phase {
            Phase::Waiting { lock, mode, wait, .. } => match wait {
                Wait::Open => {
                    let expires = self.is_timed(state, thread).then_some(Choice::Expires);
                    let spurious = self.spurious.then_some(Choice::Spurious);
                    expires.into_iter().chain(spurious).collect()
                }
                Wait::Notified | Wait::Expired => {
                    only_if(!state.is_held_by_others(lock, mode, thread))
                }
            },
            Phase::Arrived { barrier, round, parties } => {
                only_if(state.arrivals[barrier.index()] / u64::from(parties) > round)
            }
            Phase::Before => match self.instruction(state, thread) {
                Some(instruction) => self.choices(state, thread, instruction),
                None => vec![Choice::Only],
            },
        };
        choices.into_iter().map(|choice| Move { thread, choice }).collect()
    }

    fn choices(
        &self,
        state: &State,
        thread: ThreadId,
        Instruction { op, result, .. }: &Instruction,
    ) -> Vec<Choice> {
        let or_gives_up = |is_possible: bool, patience: Patience| match (is_possible, patience) {
            (true, _) => vec![Choice::Only],
            (false, Patience::Blocking) => vec![],
            (false, _) => vec![Choice::GivesUp],
        };
        match op {
            // It stops there.
            _ if self.means_nothing(state, thread, op) => vec![Choice::Only],
            Op::Acquire { lock, mode, patience } => {
                let lock = self.find_lock(state, thread, lock);
                let is_possible =
                    lock.is_none_or(|lock| self.can_acquire(state, lock, *mode, *patience, thread));
                or_gives_up(is_possible, *patience)
            }
            Op::SemWait { sem, patience } => {
                let sem = self.find_semaphore(state, thread, sem);
                or_gives_up(sem.is_some_and(|sem| state.semaphores[sem.index()] > 0), *patience)
            }
            Op::Signal { cond } => {
                let waits = self.find_cond(state, thread, cond);
                let waits = waits.map_or(Vec::new(), |cond| state.open_waits(cond));
                let waiters: Vec<Choice> = waits.into_iter().map(Choice::Wakes).collect();
                if waiters.is_empty() { vec![Choice::Only] } else { waiters }
            }
            Op::Join { thread: handle } => {
                match state.thread_of_handle(self.value(state, thread, *handle)) {
                    Some(child) => only_if(state.status(child) == Status::Finished),
                    None => vec![Choice::Only],
                }
            }
            Op::External { name, args } => match result {
                Some(result) => self.input_choices(state, thread, name, args, *result),
                None => vec![Choice::Only],
            },
            _ => vec![Choice::Only],
        }
    }

    fn input_choices(
        &self,
        state: &State,
        thread: ThreadId,
        name: &str,
        args: &[Operand],
        result: RegisterId,
    ) -> Vec<Choice> {
        let width = self.program.function(state.site(thread).function).width(result);
        let args = self.values(state, thread, args);
        let asking = state.thread(thread);
        let input =
            Input { thread: &asking.name, ordinal: asking.inputs, name, args: &args, width };
        let mut values: Vec<u64> =
            (self.inputs)(&input).iter().map(|&value| cut(value, width)).collect();
        if values.is_empty() {
            values.push(0);
        }
        values.sort_unstable();
        values.dedup();
        values.into_iter().map(Choice::Input).collect()
    }

    fn is_timed(&self, state: &State, thread: ThreadId) -> bool {
        let instruction = self.instruction(state, thread);
        instruction
            .is_some_and(|instruction| matches!(instruction.op, Op::Wait { timed: true, .. }))
    }

    /// The visible operation at which a thread is; `None` if it does not run any more.
    pub fn next(&self, state: &State, thread: ThreadId) -> Option<Next> {
        if state.exited || state.status(thread) != Status::Running {
            return None;
        }
        let kind = match state.thread(thread).phase {
            Phase::Waiting { .. } => NextKind::Wake,
            Phase::Arrived { .. } => NextKind::Leave,
            Phase::Before => match self.next_access(state, thread) {
                Some(access) => NextKind::Access(access),
                None => NextKind::Other,
            },
        };
        Some(Next { site: state.site(thread), kind })
    }

    /// What a thread is about to do that has not ended, as far as that is an event; values are left
    /// out. A thread that was stopped is about to do what it was stopped for.
    pub fn coming(&self, state: &State, thread: ThreadId) -> Option<Event> {
        if state.status(thread) == Status::Finished {
            return None;
        }
        let site = state.site(thread);
        let op = self.instruction(state, thread).map(|instruction| &instruction.op);
        let action = op.map_or(Action::External, |op| self.coming_action(state, thread, op));
        Some(Event { thread, action, site })
    }

    fn coming_action(&self, state: &State, thread: ThreadId, op: &Op) -> Action {
        let at = self.next_access(state, thread).map(|access| access.at);
        let action = match op {
            Op::Load { order, .. } => at.map(|at| Action::Read { at, value: None, order: *order }),
            Op::Store { order, .. } => {
                at.map(|at| Action::Write { at, value: None, order: *order })
            }
            Op::Rmw { order, .. } | Op::CompareExchange { order, .. } => {
                at.map(|at| Action::Rmw { at, read: None, written: None, order: *order })
            }
            Op::Acquire { lock, mode, patience } => {
                let lock = self.find_lock(state, thread, lock);
                lock.map(|lock| Action::Acquire { lock, mode: *mode, patience: *patience })
            }
            Op::Release { lock, mode } => {
                let lock = self.find_lock(state, thread, lock);
                lock.map(|lock| Action::Release { lock, mode: *mode })
            }
            Op::Wait { cond, lock, timed, .. } => {
                let cond = self.find_cond(state, thread, cond);
                let lock = self.find_lock(state, thread, lock);
                cond.zip(lock).map(|(cond, lock)| Action::Wait { cond, lock, timed: *timed })
            }
            Op::SemWait { sem, patience } => {
                let sem = self.find_semaphore(state, thread, sem);
                sem.map(|sem| Action::SemWait { sem, patience: *patience })
            }
            Op::Join { thread: handle } => {
                let child = state.thread_of_handle(self.value(state, thread, *handle));
                child.map(|child| Action::Join { child })
            }
            _ => None,
        };
        action.unwrap_or(Action::External)
    }

    fn next_access(&self, state: &State, thread: ThreadId) -> Option<Access> {
        let op = &self.instruction(state, thread)?.op;
        let (address, size) = op.access()?;
        let at = state.resolve(self.value(state, thread, address), size)?;
        let (reads, writes, order) = match *op {
            Op::Load { order, .. } => (true, false, order),
            Op::Store { order, .. } => (false, true, order),
            Op::Rmw { order, .. } => (true, true, order),
            Op::CompareExchange { expected, order, .. } => {
                (true, state.read(at) == self.value(state, thread, expected), order)
            }
            _ => return None,
        };
        Some(Access { at, reads, writes, atomic: order != MemoryOrder::Plain })
    }
}

impl Machine<'_> {
    /// What is wrong with the access at which a thread was stopped, if that is why.
    pub fn bad_access(&self, state: &State, thread: ThreadId) -> Option<BadAccess> {
        let stop = match state.status(thread) {
            Status::Stopped(stop) => stop,
            _ => return None,
        };
        if stop.why != Why::Undefined(Undefined::BadAddress) {
            return None;
        }
        let (address, _) = self.instruction(state, thread)?.op.access()?;
        let address = self.value(state, thread, address);
        if address < NULL_PAGE {
            return Some(BadAccess::Null);
        }
        let before = state.objects.iter().rev().find(|object| object.base <= address);
        Some(match before {
            Some(object) if object.kind == ObjectKind::Slot => BadAccess::Elsewhere,
            Some(object) if !object.is_live() => BadAccess::Freed,
            Some(object) => BadAccess::Outside(object.size),
            None => BadAccess::Elsewhere,
        })
    }
}

fn only_if(is_possible: bool) -> Vec<Choice> {
    if is_possible { vec![Choice::Only] } else { vec![] }
}
