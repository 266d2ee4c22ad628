//! The events that an event needs directly, without what those need in turn.

use rustc_hash::FxHashMap;

use foretrace_model::{ReleaseRole, Skeleton};
use foretrace_trace::{EventId, LockId, Op, ThreadId, Trace, ops};
use foretrace_verdict::Model;

use super::written::only_writes;
use super::{Needs, Order, Rules};
use crate::givers::{Given, Givers, Known, Waiter};

/// Where reads, wakes and others get what they need.
pub(super) struct Sources<'s> {
    pub(super) skeleton: &'s Skeleton<'s>,
    givers: &'s Givers,
    rules: Rules,
    /// The notification of each notified wake, in recorded order.
    notifiers: FxHashMap<EventId, EventId>,
    /// The writes that a read needs, if not the recorded ones.
    writes: Option<FxHashMap<EventId, Vec<EventId>>>,
}

/// What the rows of a table say, as far as they are known.
struct Rows<'n>(&'n Needs);

impl Known for Rows<'_> {
    fn before(&self, thread: ThreadId, position: u32, clock: &mut Vec<u32>) -> bool {
        clock.clear();
        clock.extend_from_slice(self.0.of(thread, position));
        clock[thread.index()] = position;
        true
    }
}

impl<'s> Sources<'s> {
    pub(super) fn new(skeleton: &'s Skeleton<'s>, givers: &'s Givers, rules: Rules) -> Self {
        let notifiers = match rules.order {
            Order::Recorded => recorded_notifiers(skeleton),
            Order::Any => FxHashMap::default(),
        };
        let writes = match (rules.order, skeleton.model) {
            _ if !rules.data => None,
            (Order::Recorded, _) => None,
            _ if !skeleton.pins_reads() => Some(FxHashMap::default()),
            (Order::Any, Model::ReadsFrom) => None,
            (Order::Any, _) => Some(only_writes(skeleton)),
        };
        Sources { skeleton, givers, rules, notifiers, writes }
    }

    /// What comes before an event whoever gives what it waits for; `false`: nothing.
    pub(super) fn least(
        &self,
        needs: &Needs,
        event: EventId,
        op: Op,
        least: &mut Vec<u32>,
    ) -> bool {
        if self.rules.order == Order::Recorded || self.skeleton.is_program() {
            return false;
        }
        let trace = self.skeleton.trace;
        let waiter =
            Waiter { thread: trace.thread_of(event), position: trace.position(event) as u32 };
        let at_wait = needs.of(waiter.thread, waiter.position);
        let given = match op {
            Op::Wake { cond, .. } => {
                let (_, wait) = self.skeleton.waiting.wait_at(event);
                if wait.notified() != Some(event) {
                    return false;
                }
                self.givers.notified(cond, waiter, at_wait, &Rows(needs), least)
            }
            Op::SemWait { sem, .. } => {
                self.givers.posted(sem, waiter, at_wait, &Rows(needs), least)
            }
            ops!(memory object data lock barrier thread call mark Wait Signal Broadcast
                SemWaitFailed SemPost Request) => return false,
        };
        debug_assert_ne!(given, Given::Never, "the recorded run has a giver");
        !matches!(given, Given::Freely | Given::Never)
    }

    /// The events of other threads that an event needs, and perhaps some of its own; not its
    /// thread's fork.
    pub(super) fn direct(&self, event: EventId, op: Op, needs: &mut Vec<EventId>) {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let in_recorded_order = self.rules.order == Order::Recorded;
        if let Some(access) = op.access() {
            needs.extend(skeleton.lifetimes.alloc_of(access.at.object));
            if access.reads && self.rules.data {
                self.read(event, access, needs);
            }
            return;
        }
        match op {
            Op::Join { child } => {
                let last = trace.thread_events(child).last().copied();
                needs.extend(last.or_else(|| skeleton.fork_of(child)));
            }
            // A table of order alone has nothing of locks; the graph adds them.
            Op::Acquire { lock, .. } if in_recorded_order || self.rules.data => {
                // A hold of its own that another thread closed in the meantime.
                if let Some(new) = skeleton.locks.opened_by(event) {
                    let mode = skeleton.locks.hold(new).mode;
                    needs.extend(closes_before(skeleton, lock, event, |hold| {
                        hold.thread == trace.thread_of(event) && hold.mode == mode
                    }));
                }
            }
            Op::AcquireFailed { lock, mode, .. } if in_recorded_order => {
                let holds = skeleton.locks.holds_of(lock).iter().rev();
                let around = holds.map(|&id| skeleton.locks.hold(id)).find(|hold| {
                    hold.open < event
                        && hold.close.is_none_or(|close| close > event)
                        && hold.mode.conflicts(mode)
                });
                needs.extend(around.map(|hold| hold.open));
            }
            Op::Release { lock, .. } => match skeleton.locks.role(trace, event) {
                ReleaseRole::Foreign(hold) => {
                    needs.push(skeleton.locks.hold(hold).open);
                    needs.extend(skeleton.locks.inner(hold).last());
                }
                ReleaseRole::Unheld if in_recorded_order => {
                    needs.extend(closes_before(skeleton, lock, event, |_| true));
                }
                ReleaseRole::Lowers(_) | ReleaseRole::Closes(_) | ReleaseRole::Unheld => {}
            },
            Op::Destroy { lock } if in_recorded_order => {
                needs.extend(closes_before(skeleton, lock, event, |_| true));
            }
            Op::Wake { .. } => needs.extend(self.notifiers.get(&event)),
            Op::SemWait { sem, .. } if in_recorded_order => {
                let semaphore = skeleton.waiting.semaphore(sem);
                let nth = semaphore.waits.partition_point(|&wait| wait < event);
                if let Some(post) = nth.checked_sub(semaphore.initial as usize) {
                    needs.extend(semaphore.posts.get(post));
                }
            }
            Op::SemWaitFailed { sem, .. } if in_recorded_order => {
                let waits = &skeleton.waiting.semaphore(sem).waits;
                needs.extend(waits.iter().take_while(|&&wait| wait < event));
            }
            Op::Arrive { .. } => {
                let at = skeleton.waiting.arrival_at(event);
                if at.round > 0 {
                    let rounds = &skeleton.waiting.barrier(at.barrier).rounds;
                    needs.extend(&rounds[at.round as usize - 1]);
                }
            }
            Op::Leave { .. } => {
                let at = skeleton.waiting.arrival_at(event);
                needs.extend(&skeleton.waiting.barrier(at.barrier).rounds[at.round as usize]);
            }
            Op::LeaveCall => needs.extend(skeleton.calls.needed_by(event)),
            Op::Alloc { .. } => needs.extend(skeleton.lifetimes.freed_before(event)),
            Op::Free { object } => needs.extend(skeleton.lifetimes.alloc_of(object)),
            ops!(memory data sem mark Acquire AcquireFailed Destroy Wait Signal Broadcast Request
                Fork Begin End Exit EnterCall) => {}
        }
    }

    fn read(&self, event: EventId, access: foretrace_trace::Access, needs: &mut Vec<EventId>) {
        let (skeleton, trace) = (self.skeleton, self.skeleton.trace);
        let is_free = skeleton.model == Model::Control && self.rules.order == Order::Any;
        if skeleton.memory.follows_everything(trace, event) && !is_free {
            all_before(trace, event, needs);
        } else if let Some(writes) = &self.writes {
            needs.extend(writes.get(&event).into_iter().flatten());
        } else if !skeleton.memory.has_unknown_writer(event) {
            let mut last = None;
            for cell in skeleton.memory.cells_of(access.at) {
                let writer = skeleton.memory.recorded_writer(trace, event, cell);
                // Mostly, one write filled many cells.
                if writer != last {
                    needs.extend(writer);
                    last = writer;
                }
            }
        }
    }
}

fn recorded_notifiers(skeleton: &Skeleton) -> FxHashMap<EventId, EventId> {
    let trace = skeleton.trace;
    let mut notifiers = FxHashMap::default();
    let mut waiting: Vec<Vec<EventId>> = vec![Vec::new(); trace.conds().len()];
    for (event, op) in trace.other_ops() {
        match op {
            Op::Wait { cond, .. } => {
                waiting[cond.index()].extend(skeleton.waiting.wait_at(event).1.notified());
            }
            // A signal goes to the waiter that wakes first; a broadcast to all that wait.
            Op::Signal { cond } => {
                let wakes = &mut waiting[cond.index()];
                if let Some(first) = (0..wakes.len()).min_by_key(|&at| wakes[at]) {
                    notifiers.insert(wakes.swap_remove(first), event);
                }
            }
            Op::Broadcast { cond } => {
                notifiers.extend(waiting[cond.index()].drain(..).map(|wake| (wake, event)));
            }
            ops!(memory object data lock sem barrier thread call mark Wake Request) => {}
        }
    }
    notifiers
}

/// The events that close holds of a lock before an event in the recorded run.
fn closes_before(
    skeleton: &Skeleton,
    lock: LockId,
    event: EventId,
    wanted: impl Fn(&foretrace_model::Hold) -> bool,
) -> Vec<EventId> {
    // Without foreign releases, program order and the holds' own rule say all that is needed.
    if !skeleton.locks.is_irregular(lock) && skeleton.locks.destroyed_by(lock).is_none() {
        return Vec::new();
    }
    let holds = skeleton.locks.holds_of(lock).iter().map(|&id| skeleton.locks.hold(id));
    holds
        .take_while(|hold| hold.open < event)
        .filter(|hold| wanted(hold))
        .filter_map(|hold| hold.close.filter(|&close| close < event))
        .collect()
}

fn all_before(trace: &Trace, event: EventId, needs: &mut Vec<EventId>) {
    for thread in trace.thread_ids() {
        let events = trace.thread_events(thread);
        let count = events.partition_point(|&other| other < event);
        needs.extend(count.checked_sub(1).map(|last| events[last]));
    }
}
