//! Which locks a thread has at a point.
//!
//! **Computes.** The holds just before and just after each asked event, along a sequence of events
//! (the recorded order, or a schedule).
//!
//! **Follows.** "Holds" in `docs/theory.md`, section 2.
//!
//! **Cost.** One pass over the sequence.

use std::collections::HashMap;

use foretrace_trace::{EventId, LockId, Mode, Op, ThreadId, Trace};

/// A lock that a thread has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OpenHold {
    pub(crate) lock: LockId,
    pub(crate) mode: Mode,
    depth: u32,
    /// The event that opened it.
    pub(crate) since: EventId,
}

/// The holds around some events.
pub(crate) struct Survey {
    around: HashMap<EventId, Around>,
    /// The holds of each thread at the end of the sequence.
    at_end: Vec<Vec<OpenHold>>,
    /// Whether a thread released a lock that another one had. Only then do the holds of a thread
    /// at a point depend on the sequence.
    pub(crate) has_foreign_release: bool,
}

#[derive(Default)]
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
        let threads = trace.threads().len();
        let mut holds = Holds {
            open: vec![Vec::new(); threads],
            given_back: vec![None; threads],
            foreign: false,
        };
        let mut around = HashMap::with_capacity(asked.len());
        for event in sequence {
            let thread = trace.thread_of(event);
            let is_asked = asked.binary_search(&event).is_ok();
            let before = if is_asked { holds.open[thread.index()].clone() } else { Vec::new() };
            holds.step(thread, event, trace.op(event));
            if is_asked {
                around.insert(event, Around { before, after: holds.open[thread.index()].clone() });
            }
        }
        Survey { around, at_end: holds.open, has_foreign_release: holds.foreign }
    }

    /// The holds of the thread of `event` just before it; if the sequence ends before the event, at
    /// that end.
    pub(crate) fn before(&self, trace: &Trace, event: EventId) -> &[OpenHold] {
        let end = &self.at_end[trace.thread_of(event).index()];
        self.around.get(&event).map_or(end, |around| &around.before)
    }

    /// The holds of the thread of `event` just after it.
    pub(crate) fn after(&self, trace: &Trace, event: EventId) -> &[OpenHold] {
        let end = &self.at_end[trace.thread_of(event).index()];
        self.around.get(&event).map_or(end, |around| &around.after)
    }
}

struct Holds {
    open: Vec<Vec<OpenHold>>,
    /// The hold that a waiting thread gave back and will have again.
    given_back: Vec<Option<OpenHold>>,
    foreign: bool,
}

impl Holds {
    fn step(&mut self, thread: ThreadId, event: EventId, op: Op) {
        let own = &mut self.open[thread.index()];
        match op {
            Op::Acquire { lock, mode, .. } => match find(own, lock, Some(mode)) {
                Some(at) => own[at].depth += 1,
                None => own.push(OpenHold { lock, mode, depth: 1, since: event }),
            },
            Op::Release { lock, mode } => match find(own, lock, Some(mode)) {
                Some(at) if own[at].depth > 1 => own[at].depth -= 1,
                Some(at) => drop(own.remove(at)),
                None => self.release_foreign(lock),
            },
            Op::Wait { lock, .. } => {
                let at = find(own, lock, None);
                self.given_back[thread.index()] = at.map(|at| own.remove(at));
            }
            Op::Wake { .. } => {
                let hold = self.given_back[thread.index()].take();
                own.extend(hold.map(|hold| OpenHold { since: event, ..hold }));
            }
            _ => {}
        }
    }

    fn release_foreign(&mut self, lock: LockId) {
        for open in &mut self.open {
            if let Some(at) = find(open, lock, Some(Mode::Exclusive)) {
                open.remove(at);
                self.foreign = true;
                return;
            }
        }
    }
}

fn find(open: &[OpenHold], lock: LockId, mode: Option<Mode>) -> Option<usize> {
    open.iter().position(|hold| hold.lock == lock && mode.is_none_or(|mode| hold.mode == mode))
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
        let words = |holds: &[OpenHold]| {
            holds.iter().map(|hold| trace.locks().get(hold.lock.index())).collect()
        };
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
