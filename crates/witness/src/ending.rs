//! What an accepted replay leaves behind for the reduction.

use foretrace_trace::{SemId, ThreadId};

use crate::signals::Notifiers;
use crate::step::Replay;

/// The end of an accepted schedule.
pub(crate) struct Ending {
    pub(crate) notifiers: Notifiers,
    /// How many events each thread has executed.
    executed: Vec<u32>,
    /// How often each semaphore was posted and taken.
    pub(crate) posted: Vec<u32>,
    pub(crate) taken: Vec<u32>,
}

impl Ending {
    pub(crate) fn of(replay: &Replay, notifiers: Notifiers) -> Self {
        let state = &replay.state;
        let semaphores = 0..replay.trace.semaphores().len();
        let threads = replay.trace.thread_ids();
        Ending {
            notifiers,
            executed: threads.map(|thread| state.progress.get(thread.index())).collect(),
            posted: semaphores.clone().map(|sem| state.posted.get(sem)).collect(),
            taken: semaphores.map(|sem| state.taken.get(sem)).collect(),
        }
    }

    pub(crate) fn executed(&self, thread: ThreadId) -> u32 {
        self.executed[thread.index()]
    }
}

/// Counts the operations on semaphores backwards.
pub(crate) struct Tokens {
    posted: Vec<u32>,
    taken: Vec<u32>,
}

impl Tokens {
    pub(crate) fn at(ending: &Ending) -> Self {
        Tokens { posted: ending.posted.clone(), taken: ending.taken.clone() }
    }

    /// Passes a post; returns its number among those of its semaphore.
    pub(crate) fn before_post(&mut self, sem: SemId) -> u32 {
        self.posted[sem.index()] -= 1;
        self.posted[sem.index()]
    }

    /// Passes a wait; returns its number among those of its semaphore.
    pub(crate) fn before_wait(&mut self, sem: SemId) -> u32 {
        self.taken[sem.index()] -= 1;
        self.taken[sem.index()]
    }
}
