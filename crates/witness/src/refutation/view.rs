//! The recorded run as the rules of `docs/causality.md` ask for it.
//!
//! **Computes.** Beside `recorded`: where each hold is closed, the notifications of each condition
//! variable, the waits and posts of each semaphore, the writes of each cell.
//!
//! **Cost.** One pass over the trace; the writes are collected when somebody asks first.

use std::sync::OnceLock;

use foretrace_trace::{CondId, EventId, LockId, Mode, ObjectId, Op, SemId, ThreadId, Trace, ops};
use foretrace_verdict::Model;

use crate::recorded::{INITIAL, Recorded, Rule};
use crate::step::Reads;

/// A hold, or a destruction as one that is never closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Section {
    pub(super) lock: LockId,
    pub(super) thread: ThreadId,
    mode: Mode,
    destroys: bool,
    pub(super) open: EventId,
    pub(super) close: Option<EventId>,
}

impl Section {
    /// Whether the two are never open at once, in any feasible schedule.
    pub(super) fn excludes(&self, other: &Section) -> bool {
        let is_apart = self.thread != other.thread;
        self.open != other.open
            && self.lock == other.lock
            && if self.destroys || other.destroys {
                is_apart
            } else if is_apart {
                self.mode.conflicts(other.mode)
            } else {
                self.mode == other.mode
            }
    }
}

/// A trace with what the rules look up.
#[derive(Debug)]
pub(super) struct View<'t> {
    pub(super) trace: &'t Trace,
    pub(super) model: Model,
    pub(super) recorded: Recorded,
    pub(super) reads: Reads,
    /// Where each hold is closed.
    closes: Vec<Option<EventId>>,
    /// The sections of each lock that are never closed.
    unclosed: Vec<Vec<Section>>,
    notifications: Vec<Vec<EventId>>,
    waits: Vec<Vec<EventId>>,
    posts: Vec<Vec<EventId>>,
    writes: OnceLock<Vec<Vec<EventId>>>,
}

impl<'t> View<'t> {
    pub(super) fn new(trace: &'t Trace, model: Model) -> Self {
        let recorded = Recorded::new(trace, model, false);
        let mut view = View {
            trace,
            model,
            reads: Reads::under(model, trace.dependences()),
            closes: Vec::new(),
            unclosed: vec![Vec::new(); trace.locks().len()],
            notifications: vec![Vec::new(); trace.conds().len()],
            waits: vec![Vec::new(); trace.semaphores().len()],
            posts: vec![Vec::new(); trace.semaphores().len()],
            writes: OnceLock::new(),
            recorded,
        };
        let mut openers = Vec::new();
        for (event, op) in trace.other_ops() {
            let rule = view.recorded.rule(event);
            if rule.opens() || rule == Rule::Destroy {
                openers.push(event);
            } else if rule.closes() {
                let hold = view.recorded.hold(event) as usize;
                view.closes.resize(view.closes.len().max(hold + 1), None);
                view.closes[hold] = Some(event);
            }
            match op {
                Op::Signal { cond } | Op::Broadcast { cond } => {
                    view.notifications[cond.index()].push(event);
                }
                Op::SemWait { sem, .. } => view.waits[sem.index()].push(event),
                Op::SemPost { sem } => view.posts[sem.index()].push(event),
                ops!(memory object data lock barrier thread call mark Wait Wake SemWaitFailed
                    Request) => {}
            }
        }
        for opener in openers {
            let section = view.opened_by(opener).filter(|section| section.close.is_none());
            section
                .into_iter()
                .for_each(|section| view.unclosed[section.lock.index()].push(section));
        }
        view
    }

    /// The section that an event opens.
    pub(super) fn opened_by(&self, event: EventId) -> Option<Section> {
        let rule = self.recorded.rule(event);
        let (lock, mode, close) = match self.trace.op(event) {
            Op::Destroy { lock } if rule == Rule::Destroy => (lock, Mode::Exclusive, None),
            Op::Acquire { lock, .. } | Op::Wake { lock, .. } if rule.opens() => {
                let hold = self.recorded.hold(event);
                let close = self.closes.get(hold as usize).copied().flatten();
                (lock, self.recorded.holds.get(hold).mode, close)
            }
            ops!(memory object data sync call mark) => return None,
        };
        let (thread, destroys) = (self.trace.thread_of(event), rule == Rule::Destroy);
        Some(Section { lock, thread, mode, destroys, open: event, close })
    }

    /// The section that an event closes.
    pub(super) fn closed_by(&self, event: EventId) -> Option<Section> {
        let closes = self.recorded.rule(event).closes();
        let hold = closes.then(|| self.recorded.holds.get(self.recorded.hold(event)))?;
        self.opened_by(hold.opener)
    }

    /// The sections of a lock that are never closed.
    pub(super) fn unclosed(&self, lock: LockId) -> &[Section] {
        &self.unclosed[lock.index()]
    }

    /// The signals and broadcasts of a condition variable.
    pub(super) fn notifications(&self, cond: CondId) -> &[EventId] {
        &self.notifications[cond.index()]
    }

    /// The successful waits on a semaphore.
    pub(super) fn waits(&self, sem: SemId) -> &[EventId] {
        &self.waits[sem.index()]
    }

    /// The posts of a semaphore.
    pub(super) fn posts(&self, sem: SemId) -> &[EventId] {
        &self.posts[sem.index()]
    }

    /// The notified wake of a wait, or the wait of a notified wake.
    pub(super) fn wake_of(&self, wait: EventId) -> Option<EventId> {
        let is_wait = self.recorded.rule(wait) == Rule::Wait;
        let next = self.trace.next(wait).filter(|_| is_wait);
        next.filter(|&wake| self.recorded.rule(wake) == Rule::WakeNotified)
    }

    /// Whether only this write leaves, in some cell, what the read expects there.
    pub(super) fn alone_explains(
        &self,
        write: EventId,
        read: EventId,
    ) -> Result<(), Option<EventId>> {
        let cells = self.recorded.span(read).cells();
        let writers = self.recorded.recorded_writers(read);
        let mut other = None;
        for (cell, &writer) in cells.zip(writers).filter(|&(_, &writer)| writer == write.0) {
            let same = |a| self.recorded.memory.same_identity(self.trace, a, writer, cell);
            if same(INITIAL) {
                continue;
            }
            let mut writes = self.writes()[cell as usize].iter();
            match writes.find(|&&w| w != read && w != write && same(w.0)) {
                None => return Ok(()),
                another => other = another.copied(),
            }
        }
        Err(other)
    }

    fn writes(&self) -> &[Vec<EventId>] {
        self.writes.get_or_init(|| {
            let mut writes = vec![Vec::new(); self.recorded.cell_count()];
            for (event, _) in self.trace.accesses().filter(|(_, access)| access.writes) {
                for cell in self.recorded.span(event).cells() {
                    writes[cell as usize].push(event);
                }
            }
            writes
        })
    }

    /// Whether the event is the same as the other, or precedes it in their thread.
    pub(super) fn is_up_to(&self, event: EventId, other: EventId) -> bool {
        event <= other && self.trace.thread_of(event) == self.trace.thread_of(other)
    }

    /// The addresses of an object with a recorded alloc.
    pub(super) fn range_of(&self, object: ObjectId) -> Option<(u64, u64)> {
        match self.trace.op(self.recorded.alloc_of(object)?) {
            Op::Alloc { size, address: Some(first), .. } => {
                Some((first, first.saturating_add(u64::from(size))))
            }
            ops!(memory object data sync call mark) => None,
        }
    }
}
