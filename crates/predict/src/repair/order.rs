//! Another order of a recorded run, in which a change of the program is possible.
//!
//! **Computes.** An order of all events, near to the recorded one: a thread that comes to a lock
//! which the changed program has not given back yet waits for it, and others go on. Whatever a
//! thread that waits has still to do for another one (create it, signal, release), that one waits
//! for as well.
//!
//! **Invariant.** Nothing is claimed of the order: whether it is a run is for the checker and for
//! the validation of traces to say.
//!
//! **Cost.** Linear in the events where no thread waits; where one does, each event looks at all
//! that wait.

use std::collections::{HashMap, VecDeque};

use foretrace_trace::*;

use super::Patch;

/// An order, or `None` if threads wait for each other.
pub(super) fn find(patch: &Patch, trace: &Trace) -> Option<Vec<EventId>> {
    let forked = trace.other_ops().filter_map(|(_, op)| match op {
        Op::Fork { child } => Some((child, false)),
        ops!(memory data object lock cond sem barrier Request call mark)
        | ops!(Join Begin End Exit) => None,
    });
    let mut run = Run {
        patch,
        trace,
        order: Vec::with_capacity(trace.len()),
        holds: HashMap::new(),
        is_forked: forked.collect(),
        late: Vec::new(),
    };
    for event in (0..trace.len()).map(EventId::from) {
        let thread = trace.thread_of(event);
        match run.late.iter().position(|&(late, _)| late == thread) {
            Some(at) => run.late[at].1.push_back(event),
            None if run.may_happen(event) => run.execute(event),
            None => run.late.push((thread, VecDeque::from([event]))),
        }
        run.catch_up();
    }
    run.late.is_empty().then_some(run.order)
}

/// Who has a lock, how, and how often.
type Hold = (ThreadId, Mode, u32);

struct Run<'a> {
    patch: &'a Patch,
    trace: &'a Trace,
    order: Vec<EventId>,
    /// By the names of locks.
    holds: HashMap<&'a str, Vec<Hold>>,
    is_forked: HashMap<ThreadId, bool>,
    /// Threads that wait, and what they have to do from there on.
    late: Vec<(ThreadId, VecDeque<EventId>)>,
}

impl<'a> Run<'a> {
    fn is_free(&self, lock: &str, thread: ThreadId, mode: Mode) -> bool {
        let holds = self.holds.get(lock).into_iter().flatten();
        holds.into_iter().all(|&(of, held, _)| of == thread || !mode.conflicts(held))
    }

    fn lock(&self, lock: LockId) -> &'a str {
        self.trace.locks().get(lock.index())
    }

    /// Whether nothing that was left behind has to come before it.
    fn may_happen(&self, event: EventId) -> bool {
        let (thread, op) = (self.trace.thread_of(event), self.trace.op(event));
        let added = self.patch.acquire_before.get(&event).into_iter().flatten();
        let is_free = |lock: &String| self.is_free(lock, thread, Mode::Exclusive);
        if !self.is_forked.get(&thread).is_none_or(|&is| is) || !added.into_iter().all(is_free) {
            return false;
        }
        if self.patch.left_out.contains(&event) {
            return true;
        }
        match op {
            Op::Acquire { lock, mode, .. } => self.is_free(self.lock(lock), thread, mode),
            Op::Wake { cond, lock, .. } => {
                let is_of = |other: Op| match other {
                    Op::Signal { cond: of } | Op::Broadcast { cond: of } => of == cond,
                    ops!(memory data object lock sem barrier thread Request call mark)
                    | ops!(Wait Wake) => false,
                };
                self.is_free(self.lock(lock), thread, Mode::Exclusive) && !self.is_left(is_of)
            }
            // A signal wakes whom it has woken.
            Op::Signal { cond } | Op::Broadcast { cond } => {
                !self.is_left(|other| matches!(other, Op::Wait { cond: of, .. } if of == cond))
            }
            Op::SemWait { sem, .. } => {
                !self.is_left(|other| matches!(other, Op::SemPost { sem: of } if of == sem))
            }
            Op::Leave { barrier } => {
                !self.is_left(|other| matches!(other, Op::Arrive { barrier: of } if of == barrier))
            }
            Op::Join { child } => self.late.iter().all(|&(late, _)| late != child),
            Op::EnterCall { .. } | Op::LeaveCall => {
                !self.is_left(|other| matches!(other, ops!(call)))
            }
            Op::Exit => self.late.is_empty(),
            ops!(memory data object mark Request Fork Begin End)
            | ops!(AcquireFailed Release Destroy Wait SemWaitFailed SemPost Arrive) => true,
        }
    }

    /// Whether a thread that waits has such an operation before it.
    fn is_left(&self, is_it: impl Fn(Op) -> bool) -> bool {
        let events = self.late.iter().flat_map(|(_, events)| events);
        events.into_iter().any(|&event| is_it(self.trace.op(event)))
    }

    fn execute(&mut self, event: EventId) {
        let (thread, op) = (self.trace.thread_of(event), self.trace.op(event));
        let patch = self.patch;
        for lock in patch.acquire_before.get(&event).into_iter().flatten() {
            self.take(lock, thread, Mode::Exclusive);
        }
        if !patch.left_out.contains(&event) {
            match op {
                Op::Acquire { lock, mode, .. } => self.take(self.lock(lock), thread, mode),
                Op::Wake { lock, .. } => self.take(self.lock(lock), thread, Mode::Exclusive),
                Op::Release { lock, mode } => self.give_back(self.lock(lock), thread, mode),
                Op::Wait { lock, .. } => self.give_back(self.lock(lock), thread, Mode::Exclusive),
                Op::Fork { child } => _ = self.is_forked.insert(child, true),
                ops!(memory data object mark call sem barrier Request)
                | ops!(AcquireFailed Destroy Signal Broadcast Join Begin End Exit) => {}
            }
        }
        for lock in patch.release_behind.get(&event).into_iter().flatten() {
            self.give_back(lock, thread, Mode::Exclusive);
        }
        self.order.push(event);
    }

    fn take(&mut self, lock: &'a str, thread: ThreadId, mode: Mode) {
        let holds = self.holds.entry(lock).or_default();
        match holds.iter_mut().find(|(of, held, _)| *of == thread && *held == mode) {
            Some((.., depth)) => *depth += 1,
            None => holds.push((thread, mode, 1)),
        }
    }

    fn give_back(&mut self, lock: &'a str, thread: ThreadId, mode: Mode) {
        let holds = self.holds.entry(lock).or_default();
        // Another one may have it: a release by a stranger.
        let own = holds.iter().position(|&(of, held, _)| of == thread && held == mode);
        if let Some(at) = own.or((!holds.is_empty()).then_some(0)) {
            holds[at].2 -= 1;
            holds.retain(|&(.., depth)| depth > 0);
        }
    }

    /// Lets threads that wait go on as far as they can.
    fn catch_up(&mut self) {
        let mut at = 0;
        while at < self.late.len() {
            // What it has before it does not keep itself waiting.
            let (thread, mut events) = self.late.remove(at);
            let mut has_gone_on = false;
            while let Some(&event) = events.front().filter(|&&event| self.may_happen(event)) {
                self.execute(event);
                events.pop_front();
                has_gone_on = true;
            }
            if !events.is_empty() {
                self.late.insert(at, (thread, events));
            }
            at = if has_gone_on { 0 } else { at + 1 };
        }
    }
}
