//! The end of a plan: what threads stand before, and whether that is the violation.

use foretrace_recording::plan::{BY_ITSELF, NEXT, NULL_PAGE, goal, outcome};
use foretrace_recording::record::{acquire, kind};

use super::{Choice, Replay, atomic, conflict, fits, foretrace_replayed, place_of, same_kind};
use crate::message;
use crate::sync::Pending;
use crate::world::{Entry, State, World};

impl World {
    /// All steps are done: brings the threads to their final operations, then looks at them.
    pub(super) fn reach_finals(&mut self, replay: &mut Replay, me: u32, consume: bool) -> Choice {
        for &last in &replay.finals {
            let Some(thread) = self.by_plan(last.thread) else { replay.diverged(last, None) };
            let entry = &self.threads[thread as usize];
            if replay.awaits_failure()
                && (entry.state == State::Done || entry.ordinal >= last.ordinal)
            {
                // Had it failed, it would not have come here.
                break;
            }
            if entry.state == State::Done || entry.ordinal > last.ordinal {
                replay.diverged(last, Some(entry));
            }
            // A thread that sleeps, is inside of a call, or has just come back from one has not
            // come to its operation yet.
            let asleep = entry.pending == Pending::Sleep;
            let is_on_its_way = match entry.pending {
                Pending::Ready(_) => true,
                Pending::Nothing => entry.state == State::Live && entry.next.kind == 0,
                _ => false,
            };
            let is_before = match last.ordinal {
                NEXT => last.kind == 0 || !fits(entry.next, last),
                ordinal => entry.ordinal < ordinal,
            };
            if is_before || asleep || is_on_its_way {
                if thread != me {
                    return Choice::Other(thread);
                }
                if asleep {
                    self.wake_up(me);
                    return Choice::Me(0);
                }
                if !self.can_go_on(me, last.kind & !BY_ITSELF) {
                    replay.diverged(last, Some(&self.threads[me as usize]));
                }
                return Choice::Me(match consume {
                    true if last.ordinal == NEXT && last.kind != 0 => 1,
                    true => u64::from(last.ordinal - self.threads[me as usize].ordinal),
                    false => 0,
                });
            }
            let elsewhere = last.place != 0 && place_of(entry.next.site) != last.place;
            let is_other = last.kind as u8 != 0 && !same_kind(entry.next.kind, last.kind);
            if entry.next.kind != 0 && (is_other || elsewhere) {
                replay.diverged(last, Some(entry));
            }
        }
        if replay.goal == goal::STUCK
            && let Some(other) = self.not_yet_stuck(replay)
        {
            // It has nothing left in the plan: let it come to where it waits.
            return if other == me { Choice::Me(1) } else { Choice::Other(other) };
        }
        if !self.confirms(replay) {
            foretrace_replayed();
            replay.answer(&[outcome::NOT_REACHED, replay.done as u64]);
            message::say("the replay reached the end of its plan, but not the violation");
            message::leave(123);
        }
        let given = self.inputs.as_ref().map_or(0, |inputs| inputs.given);
        replay.answer(&[outcome::CONFIRMED, replay.done as u64, given]);
        foretrace_replayed();
        match replay.goal {
            goal::BLOCKED | goal::STUCK => {
                crate::log::ends(foretrace_recording::file::ending::DEADLOCK, 0);
                message::say("the program is deadlocked, as predicted");
                message::leave(124);
            }
            // What the program would do to its memory helps nobody.
            goal::FREED | goal::BOUNDS => {
                message::say(
                    "the program is about to use memory that is not its own, as predicted",
                );
                message::leave(123);
            }
            goal::RACE => replay.carried_out = Some(0),
            _ => replay.carried_out = Some(replay.finals.len()),
        }
        self.next_of(replay, me, consume)
    }

    /// A thread without a final operation that can still go on.
    fn not_yet_stuck(&self, replay: &Replay) -> Option<u32> {
        let is_final =
            |entry: &Entry| replay.finals.iter().any(|last| entry.planned == Some(last.thread));
        let free = |index: &u32| {
            let entry = &self.threads[*index as usize];
            entry.state == State::Live && !is_final(entry) && !self.disabled(*index)
        };
        (0..self.threads.len() as u32).find(free)
    }

    /// Whether the threads, all at their final operations, are in the violation.
    fn confirms(&self, replay: &Replay) -> bool {
        let at: Vec<u32> =
            replay.finals.iter().filter_map(|last| self.by_plan(last.thread)).collect();
        let next = |index: usize| self.threads[at[index] as usize].next;
        match replay.goal {
            goal::RACE => {
                let (a, b) = (next(0), next(1));
                conflict(a, b) && !(atomic(a.kind) && atomic(b.kind))
            }
            goal::REACHED => match replay.watched[..] {
                [first, remote] => conflict(first, remote) && conflict(remote, next(0)),
                _ => false,
            },
            goal::BLOCKED => (0..at.len()).all(|index| {
                self.disabled(at[index])
                    && self.wants_lock_of(at[index], at[(index + 1) % at.len()])
            }),
            goal::STUCK => (0..self.threads.len() as u32).all(|thread| {
                let entry = &self.threads[thread as usize];
                entry.state == State::Done
                    || (self.disabled(thread) && !self.may_be_interrupted(thread))
            }),
            goal::LOCK_ERROR => self.misuses(at[0]),
            goal::NULL => next(0).address < NULL_PAGE,
            goal::FREED => replay.memory.is_gone(next(0)),
            goal::BOUNDS => replay.memory.is_outside(next(0)),
            _ => false,
        }
    }

    /// The lock that a thread waits for or is about to take, and whether shared.
    fn wanted(&self, thread: u32) -> Option<(usize, bool)> {
        let entry = &self.threads[thread as usize];
        match entry.pending {
            Pending::Acquire { lock, shared } => Some((lock, shared)),
            Pending::Wake { lock, .. } => Some((lock, false)),
            Pending::Nothing if entry.next.kind == kind::ACQUIRE => Some((
                entry.next.address as usize,
                entry.next.size & u64::from(acquire::SHARED) != 0,
            )),
            _ => None,
        }
    }

    /// Whether another thread has the lock that this one wants.
    fn wants_lock_of(&self, thread: u32, other: u32) -> bool {
        self.wanted(thread).is_some_and(|(lock, shared)| {
            let state = self.objects.locks.get(&lock);
            state.is_some_and(|state| {
                state.owner == Some(other) || (!shared && state.readers.contains(&other))
            })
        })
    }

    /// Whether a signal may end what the thread waits for: handlers end waits for semaphores.
    fn may_be_interrupted(&self, thread: u32) -> bool {
        let entry = &self.threads[thread as usize];
        let waits =
            matches!(entry.pending, Pending::Semaphore(_)) || entry.next.kind == kind::SEM_WAIT;
        waits && crate::interpose::signals::handled()
    }

    /// Whether a thread cannot do what it is about to do, and time will not change that.
    pub(crate) fn disabled(&self, thread: u32) -> bool {
        let entry = &self.threads[thread as usize];
        if entry.pending != Pending::Nothing {
            return entry.deadline.is_none() && !self.enabled(thread);
        }
        let object = entry.next.address as usize;
        match entry.next.kind {
            kind::ACQUIRE => {
                !self.lock_free(object, thread, entry.next.size & u64::from(acquire::SHARED) != 0)
            }
            kind::SEM_WAIT => self.objects.semaphores.get(&object).is_none_or(|&count| count == 0),
            kind::JOIN => self.threads.get(object).is_some_and(|child| child.state != State::Done),
            _ => false,
        }
    }

    /// Whether the operation that a thread is about to do misuses a lock.
    fn misuses(&self, thread: u32) -> bool {
        let entry = &self.threads[thread as usize];
        let state = self.objects.locks.get(&(entry.next.address as usize));
        match entry.next.kind {
            kind::RELEASE => state.is_none_or(|state| {
                state.owner != Some(thread) && !state.readers.contains(&thread)
            }),
            kind::LOCK_DESTROY => {
                state.is_some_and(|state| state.owner.is_some() || !state.readers.is_empty())
            }
            kind::ACQUIRE => state.is_some_and(|state| state.owner == Some(thread)),
            _ => false,
        }
    }
}
