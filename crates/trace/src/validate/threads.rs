//! Threads: forks, joins, beginnings and ends, and the two halves of a wait.
//!
//! **Invariant.** After each step, a row says what its thread has done: who forked it, whether it
//! is between a wait and its wake, and how the wait's hold was.

use crate::event::*;
use crate::ids::*;
use crate::ops;
use crate::store::Trace;

use super::invalid::{Breach, breach};
use super::locks::SavedHold;
use super::rule::Rule;

pub(super) struct Threads<'t> {
    trace: &'t Trace,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    forked: Option<EventId>,
    /// A join of this thread while it had no events: it must not be forked later.
    joined: Option<EventId>,
    ended: Option<EventId>,
    waiting: Option<Waiting>,
}

#[derive(Clone, Copy)]
struct Waiting {
    wait: EventId,
    hold: SavedHold,
    notified: bool,
}

impl<'t> Threads<'t> {
    pub(super) fn new(trace: &'t Trace) -> Threads<'t> {
        Threads { trace, rows: vec![Row::default(); trace.threads().len()] }
    }

    /// Nothing follows an end; a wake, and only a wake, follows its wait.
    #[inline]
    pub(super) fn may_continue(&self, id: EventId, thread: ThreadId, op: Op) -> Result<(), Breach> {
        let row = &self.rows[thread.index()];
        if let Some(end) = row.ended {
            return Err(breach(Rule::AfterEnd, "the thread has ended at ").event(end));
        }
        let is_wake = matches!(op, Op::Wake { .. });
        match row.waiting {
            None if is_wake => {
                let before = self.trace.previous(id);
                let reason = breach(Rule::WaitWakePair, "a wake directly follows its wait, and ");
                Err(match before {
                    Some(before) => reason.event(before).text(" of the thread is none"),
                    None => reason.text("this is the thread's first event"),
                })
            }
            None => Ok(()),
            Some(waiting) => self.continues(waiting, op),
        }
    }

    fn continues(&self, Waiting { wait, .. }: Waiting, op: Op) -> Result<(), Breach> {
        let Op::Wait { cond, lock, timed } = self.trace.op(wait) else {
            unreachable!("`waiting` holds waits only");
        };
        match op {
            Op::Wake { cond: on, lock: with, reason } if on == cond && with == lock => {
                if reason == WakeReason::TimedOut && !timed {
                    let why = "the wait has no time limit: ";
                    return Err(breach(Rule::TimeoutUntimed, why).event(wait));
                }
                Ok(())
            }
            Op::Wake { .. } => {
                let waits = self.trace.name(cond);
                let lock = self.trace.name(lock);
                let why = format!("its thread waits for {waits} with {lock} since ");
                Err(breach(Rule::WaitWakePair, why).event(wait))
            }
            ops!(memory object data lock sem barrier thread call mark Wait Signal Broadcast
                Request) => {
                let why = "the thread is not awake yet: it waits since ";
                Err(breach(Rule::WaitWakePair, why).event(wait))
            }
        }
    }

    pub(super) fn wait(&mut self, id: EventId, thread: ThreadId, hold: SavedHold) {
        self.rows[thread.index()].waiting = Some(Waiting { wait: id, hold, notified: false });
    }

    /// A signal or broadcast has reached the thread's wait.
    pub(super) fn notify(&mut self, thread: ThreadId) {
        if let Some(waiting) = &mut self.rows[thread.index()].waiting {
            waiting.notified = true;
        }
    }

    /// Ends the wait and gives back the hold that the wake opens again.
    pub(super) fn wake(
        &mut self,
        thread: ThreadId,
        reason: WakeReason,
    ) -> Result<SavedHold, Breach> {
        let waiting =
            self.rows[thread.index()].waiting.take().expect("`may_continue` has seen the wait");
        if reason == WakeReason::Notified && !waiting.notified {
            let why = "no signal or broadcast can have reached the wait at ";
            return Err(breach(Rule::WakeWithoutNotify, why).event(waiting.wait));
        }
        Ok(waiting.hold)
    }

    pub(super) fn fork(&mut self, id: EventId, child: ThreadId) -> Result<(), Breach> {
        let name = self.trace.name(child);
        let first = self.trace.thread_events(child).first();
        let row = &mut self.rows[child.index()];
        if let Some(fork) = row.forked {
            let why = format!("{name} was forked already at ");
            return Err(breach(Rule::ForkTwice, why).event(fork));
        }
        // The fork of a thread by itself is late too: `id` is then one of its own events.
        if let Some(&first) = first.filter(|&&first| first <= id) {
            return Err(breach(Rule::ForkLate, format!("{name} runs since ")).event(first));
        }
        if let Some(join) = row.joined {
            return Err(breach(Rule::ForkLate, format!("{name} was joined at ")).event(join));
        }
        row.forked = Some(id);
        Ok(())
    }

    pub(super) fn join(&mut self, id: EventId, child: ThreadId) -> Result<(), Breach> {
        match self.trace.thread_events(child).last() {
            Some(&last) if last >= id => {
                let name = self.trace.name(child);
                let why = format!("{name} has events left, up to ");
                Err(breach(Rule::JoinRunning, why).event(last))
            }
            Some(_) => Ok(()),
            None => {
                let row = &mut self.rows[child.index()];
                if row.forked.is_none() {
                    row.joined = Some(id);
                }
                Ok(())
            }
        }
    }

    pub(super) fn begin(&self, id: EventId) -> Result<(), Breach> {
        let first = self.trace.thread_events(self.trace.thread_of(id))[0];
        if first == id {
            return Ok(());
        }
        Err(breach(Rule::BeginNotFirst, "the first event of its thread is ").event(first))
    }

    pub(super) fn end(&mut self, id: EventId, thread: ThreadId) {
        self.rows[thread.index()].ended = Some(id);
    }
}
