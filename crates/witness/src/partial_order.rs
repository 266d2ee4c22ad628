//! Which events of a schedule must keep their order.
//!
//! **Computes.** Two events keep their order if one of them may depend on it: same thread; same
//! cell or object, unless both only look; same lock, unless both are shared; same condition
//! variable; a failed semaphore wait and all else on the semaphore, a wait and the post whose token
//! it takes; a barrier's arrivals and what waits for them; the end of a call and the begin of those
//! that it rests on; fork, join, address reuse, and all that a read with an unknown writer was
//! recorded after. The violation's own events come after all others, in any order.
//!
//! With `Sections::Free` the critical sections of a lock may change places. They still exclude each
//! other, but this is a matter of the state and not of an order: what a thread has locked keeps
//! others from going on. Locks whose events depend on more than exclusion keep their order.
//!
//! **Invariant.** Every order that keeps this one, and exclusion, leads to the same state at the
//! end. (This is stricter than needed: the order of two writes stays even if nobody sees the
//! difference.)
//!
//! **Cost.** O(n) for n events, counting an access once per cell and per thread that reads the
//! cell.

use foretrace_trace::{EventId, LockId, Mode, Op, ThreadId, Trace, ops};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::checker::Checker;
use crate::recorded::{Recorded, Rule};
use crate::reported::next_events;
use crate::signals::cond_of;
use crate::step::lock_of;
use foretrace_verdict::Violation;

/// Whether the critical sections of a lock keep their order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sections {
    Ordered,
    Free,
}

/// The partial order: a lane per thread, in it the thread's events in order.
pub(crate) struct PartialOrder {
    lanes: Vec<Vec<Node>>,
    len: usize,
    /// The lane of the last one of the violation's events.
    last_lane: Option<usize>,
    /// The sections of each lock that may change places.
    sections: FxHashMap<LockId, Vec<Section>>,
}

/// A section: open while its lane has executed at least `opened` events and fewer than `closed`.
struct Section {
    lane: usize,
    hold: u32,
    mode: Mode,
    opened: u32,
    closed: u32,
}

struct Node {
    event: EventId,
    /// Its place in the given schedule.
    step: usize,
    after: Vec<Before>,
    /// The lock that it opens a section of.
    opens: Option<(LockId, Mode)>,
}

/// That many events of a lane come before.
#[derive(Clone, Copy)]
struct Before {
    lane: usize,
    count: u32,
}

impl PartialOrder {
    /// The order of an accepted schedule and, behind it, the violation's own events.
    pub(crate) fn new(
        checker: &Checker,
        violation: &Violation,
        schedule: &[EventId],
        sections: Sections,
    ) -> Self {
        let mut pass = Pass::new(checker, violation, schedule, sections);
        for &event in schedule {
            pass.add(event, violation);
        }
        let lanes = pass.order.lanes.iter().enumerate();
        let all: Vec<Before> =
            lanes.map(|(lane, nodes)| Before { lane, count: nodes.len() as u32 }).collect();
        for event in next_events(violation, schedule) {
            let here = pass.push(event, all.clone());
            pass.order.last_lane = Some(here.lane);
        }
        pass.order
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether some critical sections may change places.
    pub(crate) fn has_free_sections(&self) -> bool {
        !self.sections.is_empty()
    }

    pub(crate) fn last_lane(&self) -> Option<usize> {
        self.last_lane
    }

    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn event(&self, lane: usize, at: u32) -> EventId {
        self.lanes[lane][at as usize].event
    }

    /// How far a lane can go on alone. Counts the questions asked.
    pub(crate) fn run_from(&self, progress: &[u32], lane: usize, effort: &mut usize) -> u32 {
        let mut at = progress[lane];
        while let Some(node) = self.lanes[lane].get(at as usize) {
            *effort += 1 + node.after.len();
            let is_early = node.after.iter().any(|before| progress[before.lane] < before.count);
            let is_taken = |(lock, mode)| self.is_taken(progress, lane, lock, mode, effort);
            if is_early || node.opens.is_some_and(is_taken) {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether another lane is inside a section that excludes this one.
    fn is_taken(
        &self,
        progress: &[u32],
        lane: usize,
        lock: LockId,
        mode: Mode,
        effort: &mut usize,
    ) -> bool {
        let sections = self.sections.get(&lock).map_or(&[][..], Vec::as_slice);
        *effort += sections.len();
        sections.iter().any(|section| {
            let at = progress[section.lane];
            let is_inside = section.opened <= at && at < section.closed;
            section.lane != lane && is_inside && section.mode.conflicts(mode)
        })
    }

    /// Where a run could stop so as to leave no section open that it opens.
    pub(crate) fn stop_before_open(
        &self,
        lane: usize,
        from: u32,
        to: u32,
        effort: &mut usize,
    ) -> u32 {
        let sections = self.sections.values().flatten().inspect(|_| *effort += 1);
        let left_open = sections.filter(|section| {
            let is_in_run = from < section.opened && section.opened <= to;
            section.lane == lane && is_in_run && section.closed > to
        });
        left_open.map(|section| section.opened - 1).min().unwrap_or(to)
    }

    /// The lane whose next event came first in the given schedule.
    pub(crate) fn oldest_lane(&self, progress: &[u32]) -> Option<usize> {
        let step = |&lane: &usize| self.lanes[lane].get(progress[lane] as usize).map(|n| n.step);
        (0..self.lanes.len()).filter(|lane| step(lane).is_some()).min_by_key(step)
    }
}

/// What two events may both be about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Cell(u32),
    Object(u32),
    Lock(u32),
    Cond(u32),
    Sem(u32),
}

/// What an event is about, and whether it does more than look. The value of a free read is not.
pub(crate) fn for_each_subject(
    trace: &Trace,
    recorded: &Recorded,
    event: EventId,
    is_free: bool,
    mut visit: impl FnMut(Subject, bool),
) {
    let op = trace.op(event);
    match recorded.rule(event) {
        rule @ (Rule::Read | Rule::Write | Rule::Rmw) => {
            if recorded.is_mortal(event) {
                let object = op.access().expect("by its rule").at.object;
                visit(Subject::Object(object.0), false);
            }
            let span = recorded.span(event);
            let cells = span.first..span.first + if is_free { 0 } else { span.count };
            cells.for_each(|cell| visit(Subject::Cell(cell), rule != Rule::Read));
        }
        Rule::Alloc | Rule::Free => match op {
            Op::Alloc { object, .. } | Op::Free { object } => {
                visit(Subject::Object(object.0), true);
            }
            other => unreachable!("{other:?} is about no lifetime"),
        },
        Rule::Signal | Rule::Broadcast => visit(Subject::Cond(cond_of(op).0), true),
        Rule::SemWait | Rule::SemPost | Rule::SemWaitFailed => match op {
            Op::SemWait { sem, .. } | Op::SemPost { sem } => visit(Subject::Sem(sem.0), false),
            Op::SemWaitFailed { sem, .. } => visit(Subject::Sem(sem.0), true),
            other => unreachable!("{other:?} is about no semaphore"),
        },
        rule if rule.is_about_lock() => {
            let is_shared =
                rule.has_hold() && recorded.holds.get(recorded.hold(event)).mode == Mode::Shared;
            visit(Subject::Lock(lock_of(op).0), !is_shared);
            if let Op::Wait { cond, .. } | Op::Wake { cond, .. } = op {
                visit(Subject::Cond(cond.0), true);
            }
        }
        _ => {}
    }
}

/// The events about one subject that a later one may depend on.
#[derive(Default)]
struct Touched {
    changed: Option<Before>,
    /// The last look of each lane since the last change.
    looked: Vec<Before>,
}

impl Touched {
    fn touch(&mut self, here: Before, changes: bool, after: &mut Vec<Before>) {
        after.extend(self.changed);
        if changes {
            after.append(&mut self.looked);
            self.changed = Some(here);
        } else {
            self.looked.retain(|look| look.lane != here.lane);
            self.looked.push(here);
        }
    }
}

/// The order while it is being built.
struct Pass<'a> {
    checker: &'a Checker<'a>,
    order: PartialOrder,
    lane_of: FxHashMap<ThreadId, usize>,
    touched: FxHashMap<Subject, Touched>,
    place: FxHashMap<EventId, Before>,
    arrivals: FxHashMap<u32, Vec<Before>>,
    posts: FxHashMap<u32, Vec<Before>>,
    taken: FxHashMap<u32, usize>,
    /// The remote read of an atomicity violation, if its value is free.
    free_read: Option<EventId>,
    free_locks: FxHashSet<LockId>,
}

/// The locks of the schedule whose sections only exclude each other.
fn free_locks(checker: &Checker, schedule: &[EventId]) -> FxHashSet<LockId> {
    let lock = |event: &EventId| lock_of(checker.trace.op(*event));
    let needs_order = |rule| {
        let has_more =
            matches!(rule, Rule::AcquireFailed | Rule::CloseForeign | Rule::ReleaseUnheld);
        has_more || rule == Rule::Destroy
    };
    let rule = |event: &EventId| checker.recorded.rule(*event);
    let mut free: FxHashSet<LockId> =
        schedule.iter().filter(|event| rule(event).opens()).map(lock).collect();
    for ordered in schedule.iter().filter(|event| needs_order(rule(event))).map(lock) {
        free.remove(&ordered);
    }
    free
}

impl<'a> Pass<'a> {
    fn new(
        checker: &'a Checker<'a>,
        violation: &Violation,
        schedule: &[EventId],
        sections: Sections,
    ) -> Self {
        Pass {
            checker,
            order: PartialOrder {
                lanes: Vec::new(),
                len: 0,
                last_lane: None,
                sections: FxHashMap::default(),
            },
            free_locks: match sections {
                Sections::Ordered => FxHashSet::default(),
                Sections::Free => free_locks(checker, schedule),
            },
            lane_of: FxHashMap::default(),
            touched: FxHashMap::default(),
            place: FxHashMap::default(),
            arrivals: FxHashMap::default(),
            posts: FxHashMap::default(),
            taken: FxHashMap::default(),
            free_read: checker.free_read_in(violation, schedule),
        }
    }

    fn lane(&mut self, thread: ThreadId) -> usize {
        *self.lane_of.entry(thread).or_insert_with(|| {
            self.order.lanes.push(Vec::new());
            self.order.lanes.len() - 1
        })
    }

    fn push(&mut self, event: EventId, mut after: Vec<Before>) -> Before {
        let lane = self.lane(self.checker.trace.thread_of(event));
        after.retain(|before| before.lane != lane);
        let nodes = &mut self.order.lanes[lane];
        nodes.push(Node { event, step: self.order.len, after, opens: None });
        self.order.len += 1;
        let here = Before { lane, count: nodes.len() as u32 };
        self.place.insert(event, here);
        here
    }

    fn add(&mut self, event: EventId, violation: &Violation) {
        let trace = self.checker.trace;
        let thread = trace.thread_of(event);
        let lane = self.lane(thread);
        let here = Before { lane, count: self.order.lanes[lane].len() as u32 + 1 };
        let mut after = Vec::new();
        if self.free_read == Some(event) {
            // Only that it comes after the first access counts, and that its object is live.
            let Violation::Atomicity { first, .. } = *violation else { unreachable!("it is free") };
            after.extend(self.place.get(&first));
        }
        let is_free = self.free_read == Some(event);
        for_each_subject(trace, &self.checker.recorded, event, is_free, |subject, changes| {
            let keeps_order = match subject {
                Subject::Lock(lock) => !self.free_locks.contains(&LockId(lock)),
                _ => true,
            };
            if keeps_order {
                self.touched.entry(subject).or_default().touch(here, changes, &mut after);
            }
        });
        if here.count == 1 {
            let fork = self.checker.recorded.forks[thread.index()];
            after.extend(fork.and_then(|fork| self.place.get(&fork)));
        }
        self.add_counted(event, here, &mut after);
        self.push(event, after);
        self.add_section(event, here);
    }

    /// Opens or closes a section that may change places with others.
    fn add_section(&mut self, event: EventId, here: Before) {
        let recorded = &self.checker.recorded;
        let rule = recorded.rule(event);
        let opens = rule.opens();
        if !opens && !matches!(rule, Rule::Close | Rule::Wait) {
            return;
        }
        let lock = lock_of(self.checker.trace.op(event));
        if !self.free_locks.contains(&lock) {
            return;
        }
        let hold = recorded.hold(event);
        let sections = self.order.sections.entry(lock).or_default();
        if opens {
            let mode = recorded.holds.get(hold).mode;
            let (lane, opened) = (here.lane, here.count);
            sections.push(Section { lane, hold, mode, opened, closed: u32::MAX });
            let nodes = &mut self.order.lanes[here.lane];
            nodes.last_mut().expect("just pushed").opens = Some((lock, mode));
        } else if let Some(section) = sections.iter_mut().rev().find(|s| s.hold == hold) {
            section.closed = here.count;
        }
    }

    /// What an event comes after by name or by number.
    fn add_counted(&mut self, event: EventId, here: Before, after: &mut Vec<Before>) {
        let recorded = &self.checker.recorded;
        if recorded.follows_all(event) && self.free_read != Some(event) {
            let lanes = self.order.lanes.iter().enumerate();
            after.extend(lanes.map(|(lane, n)| Before { lane, count: n.len() as u32 }));
        }
        let round = recorded.round(event);
        match self.checker.trace.op(event) {
            Op::Join { child } => {
                let fork = recorded.forks[child.index()];
                after.extend(fork.and_then(|fork| self.place.get(&fork)));
                if let Some(&lane) = self.lane_of.get(&child) {
                    after.push(Before { lane, count: self.order.lanes[lane].len() as u32 });
                }
            }
            Op::Alloc { .. } => {
                let frees = recorded.frees_before(event);
                after.extend(frees.iter().filter_map(|free| self.place.get(free)));
            }
            Op::Arrive { .. } => {
                if recorded.rounds[round as usize].index > 0 {
                    after.extend(self.arrivals.get(&(round - 1)).into_iter().flatten());
                }
                self.arrivals.entry(round).or_default().push(here);
            }
            Op::LeaveCall => {
                let needed = recorded.calls.needed_by(event);
                after.extend(needed.iter().filter_map(|enter| self.place.get(enter)));
            }
            Op::Leave { .. } => after.extend(self.arrivals.get(&round).into_iter().flatten()),
            Op::SemPost { sem } => self.posts.entry(sem.0).or_default().push(here),
            Op::SemWait { sem, .. } => {
                let taken = self.taken.entry(sem.0).or_default();
                let post = taken.checked_sub(recorded.semaphores[sem.index()] as usize);
                *taken += 1;
                after.extend(post.map(|post| self.posts[&sem.0][post]));
            }
            ops!(memory data lock cond mark Free SemWaitFailed Fork Begin End Exit)
            | ops!(Request EnterCall) => {}
        }
    }
}
