//! Which locks a thread holds at a point: the one computation for reports and explanations.
//!
//! **Computes.** The open holds along a sequence of operations (the recorded order, a schedule, or
//! what the interpreter did), and from them the holds just before and just after events.
//!
//! **Follows.** "Holds" in `docs/theory.md`, section 2.
//!
//! **Cost.** One pass over the sequence.

use std::collections::HashMap;

use foretrace_trace::{EventId, LockId, Mode, Op, ThreadId, Trace, ops};

/// A lock that a thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpenHold {
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
    depth: u32,
    /// The event that opened it.
    pub(crate) since: EventId,
}

/// What an operation does to the holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Nothing,
    Opens(OpenHold),
    Closes(OpenHold),
}

/// The open holds after some operations.
#[derive(Default)]
pub(crate) struct Holds {
    threads: Vec<Thread>,
    /// Whether a thread released a lock that another one had. Only then do the holds of a thread at
    /// a point depend on the sequence.
    has_foreign_release: bool,
}

#[derive(Clone, Default)]
struct Thread {
    open: Vec<OpenHold>,
    /// The hold that it gave back to wait, and will have again.
    given_back: Option<OpenHold>,
}

impl Holds {
    /// The holds of a thread.
    pub(crate) fn of(&self, thread: ThreadId) -> &[OpenHold] {
        self.threads.get(thread.index()).map_or(&[], |thread| &thread.open)
    }

    /// Takes the next operation into account.
    pub(crate) fn step(&mut self, thread: ThreadId, event: EventId, op: Op) -> Change {
        if self.threads.len() <= thread.index() {
            self.threads.resize(thread.index() + 1, Thread::default());
        }
        let Thread { open: own, given_back } = &mut self.threads[thread.index()];
        let closed = match op {
            Op::Acquire { lock, mode, .. } => {
                if let Some(at) = find(own, lock, Some(mode)) {
                    own[at].depth += 1;
                    return Change::Nothing;
                }
                let hold = OpenHold { lock, mode, depth: 1, since: event };
                own.push(hold);
                return Change::Opens(hold);
            }
            Op::Wake { .. } => {
                let Some(hold) = given_back.take() else { return Change::Nothing };
                let hold = OpenHold { since: event, ..hold };
                own.push(hold);
                return Change::Opens(hold);
            }
            Op::Wait { lock, .. } => {
                *given_back = find(own, lock, None).map(|at| own.remove(at));
                *given_back
            }
            Op::Release { lock, mode } => match find(own, lock, Some(mode)) {
                Some(at) if own[at].depth > 1 => {
                    own[at].depth -= 1;
                    None
                }
                Some(at) => Some(own.remove(at)),
                None => self.release_foreign(lock),
            },
            ops!(memory data object mark call thread sem barrier Request)
            | ops!(AcquireFailed Destroy Signal Broadcast) => None,
        };
        closed.map_or(Change::Nothing, Change::Closes)
    }

    fn release_foreign(&mut self, lock: LockId) -> Option<OpenHold> {
        let closed = self.threads.iter_mut().find_map(|Thread { open, .. }| {
            find(open, lock, Some(Mode::Exclusive)).map(|at| open.remove(at))
        });
        self.has_foreign_release |= closed.is_some();
        closed
    }
}

fn find(open: &[OpenHold], lock: LockId, mode: Option<Mode>) -> Option<usize> {
    open.iter().position(|hold| hold.lock == lock && mode.is_none_or(|mode| hold.mode == mode))
}

/// The holds around some events.
pub(crate) struct Survey {
    around: HashMap<EventId, Around>,
    /// The holds at the end of the sequence.
    at_end: Holds,
}

struct Around {
    before: Vec<OpenHold>,
    after: Vec<OpenHold>,
}

impl Survey {
    /// Runs along `sequence` and notes the holds around the events in `asked`, which is sorted.
    pub(crate) fn along(
        trace: &Trace,
        sequence: impl Iterator<Item = EventId>,
        asked: &[EventId],
    ) -> Survey {
        let mut holds = Holds::default();
        let mut around = HashMap::with_capacity(asked.len());
        for event in sequence {
            let thread = trace.thread_of(event);
            let is_asked = asked.binary_search(&event).is_ok();
            let before = if is_asked { holds.of(thread).to_vec() } else { Vec::new() };
            holds.step(thread, event, trace.op(event));
            if is_asked {
                around.insert(event, Around { before, after: holds.of(thread).to_vec() });
            }
        }
        Survey { around, at_end: holds }
    }

    /// Whether the holds of a thread at a point depend on the sequence.
    pub(crate) fn has_foreign_release(&self) -> bool {
        self.at_end.has_foreign_release
    }

    /// The holds of the thread of `event` just before it; if the sequence ends before the event, at
    /// that end.
    pub(crate) fn before(&self, trace: &Trace, event: EventId) -> &[OpenHold] {
        let around = self.around.get(&event);
        around.map_or_else(|| self.at_end.of(trace.thread_of(event)), |around| &around.before)
    }

    /// The holds of the thread of `event` just after it.
    pub(crate) fn after(&self, trace: &Trace, event: EventId) -> &[OpenHold] {
        let around = self.around.get(&event);
        around.map_or_else(|| self.at_end.of(trace.thread_of(event)), |around| &around.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::{Event, Patience, WakeReason};

    /// One thread; the locks that it has before each event and at the end.
    fn locks(ops: impl Fn(LockId, LockId) -> Vec<Op>) -> Vec<String> {
        let mut builder = Trace::builder();
        let thread = builder.thread("t");
        let (m, n) = (builder.lock("m"), builder.lock("n"));
        for op in ops(m, n) {
            builder.push(Event { thread, op, location: None });
        }
        let trace = builder.finish();
        let all: Vec<EventId> = trace.events().map(|(id, _)| id).collect();
        let survey = Survey::along(&trace, all.iter().copied(), &all);
        let words = |holds: &[OpenHold]| holds.iter().map(|hold| trace.name(hold.lock)).collect();
        let mut result: Vec<String> =
            all.iter().map(|&event| words(survey.before(&trace, event))).collect();
        result.push(words(survey.after(&trace, *all.last().unwrap())));
        result
    }

    fn acquire(lock: LockId) -> Op {
        Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking }
    }

    fn release(lock: LockId) -> Op {
        Op::Release { lock, mode: Mode::Exclusive }
    }

    #[test]
    fn nesting_and_depth() {
        let seen = locks(|m, n| vec![acquire(m), acquire(n), acquire(m), release(m), release(m)]);
        assert_eq!(seen, ["", "m", "mn", "mn", "mn", "n"]);
    }

    #[test]
    fn a_wait_gives_the_lock_back() {
        let cond = foretrace_trace::CondId(0);
        let seen = locks(|lock, n| {
            let wait = Op::Wait { cond, lock, timed: false };
            let wake = Op::Wake { cond, lock, reason: WakeReason::Notified };
            vec![acquire(lock), acquire(n), wait, wake, release(n)]
        });
        assert_eq!(seen, ["", "m", "mn", "n", "nm", "m"]);
    }
}
