//! Which steps of other threads do not commute with a step.
//!
//! **Computes.** For each event and each other thread, the last position of a *rival*: a step that
//! can be executed, or be next, before the event is, and that makes a difference to it or to a
//! question, or to which it makes a difference. A step all of whose rivals are executed can be
//! taken at once.
//!
//! **Follows.** `docs/theory.md`, section 7, which has the table of rivals and the argument. Steps
//! that must come after the event are no rivals, nor are those for which their thread needs a lock
//! that the event's thread has.
//!
//! **Cost.** Events times groups of events of one thread that use the same object in the same way
//! with the same locks.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_causality::{LocksetId, Locksets, MustHappenBefore};
use foretrace_trace::{
    CondId, EventId, LockId, Mode, ObjectId, Op, SemId, ThreadId, Trace, WakeReason, ops,
};

use crate::fault::{Fault, is_seeded};
use crate::kept::Kept;
use crate::script::Script;

/// What is asked about, as far as it makes steps rivals.
#[derive(Default)]
pub(crate) struct Asked<'q> {
    /// The two groups of races; and of atomicity violations the accesses of the one thread, and of
    /// the other.
    pub(crate) meetings: Vec<(Vec<EventId>, &'q [EventId])>,
    /// Operations that may be misuses of locks.
    pub(crate) misuses: FxHashSet<EventId>,
}

/// The rivals.
pub(crate) struct Rivals {
    /// Where the list of each event ends.
    ends: Vec<u32>,
    /// Thread and position.
    list: Vec<(u32, u32)>,
}

impl Rivals {
    pub(crate) fn new(
        script: &Script,
        order: &MustHappenBefore,
        locksets: &Locksets,
        asked: &Asked<'_>,
    ) -> Self {
        let trace = script.trace;
        let mut uses: FxHashMap<Thing, Vec<(EventId, Way)>> = FxHashMap::default();
        let is_reached = |&event: &EventId| {
            (trace.position(event) as u32) < script.reach[trace.thread_of(event).index()]
        };
        for event in trace.ops().map(|(event, _)| event).filter(is_reached) {
            collect(script, asked, event, |thing, way| {
                uses.entry(thing).or_default().push((event, way));
            });
        }
        for (at, (one, other)) in asked.meetings.iter().enumerate() {
            let uses = uses.entry(Thing::Meeting(at as u32)).or_default();
            uses.extend(one.iter().map(|&event| (event, ONE)));
            uses.extend(other.iter().map(|&event| (event, OTHER)));
        }
        let mut lists: Vec<Vec<(u32, u32)>> = vec![Vec::new(); trace.len()];
        let close = Closure { trace, order, locksets, kept: script.kept };
        for (&thing, uses) in &uses {
            close.find(thing, uses, &mut lists);
        }
        let mut rivals = Rivals { ends: Vec::new(), list: Vec::new() };
        for list in lists {
            rivals.list.extend(list);
            rivals.ends.push(rivals.list.len() as u32);
        }
        rivals
    }

    /// Whether a rival of the event is to come.
    pub(crate) fn any(&self, cut: &[u32], gone: &[bool], event: EventId) -> bool {
        self.of(event)
            .iter()
            .any(|&(thread, last)| cut[thread as usize] <= last && !gone[thread as usize])
    }

    /// The threads with rivals of the event, and where the last one is.
    pub(crate) fn of(&self, event: EventId) -> &[(u32, u32)] {
        let start = if event.0 == 0 { 0 } else { self.ends[event.index() - 1] };
        &self.list[start as usize..self.ends[event.index()] as usize]
    }
}

/// What steps can be rivals about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    Cell(u32),
    Meeting(u32),
    Life(ObjectId),
    Lock(LockId),
    Cond(CondId),
    Semaphore(SemId),
}

/// How a step uses a thing: a set of the bits below.
type Way = u16;

const LOOKS: Way = 1;
const WRITES: Way = 1 << 1;

const ONE: Way = 1;
const OTHER: Way = 1 << 1;

const USES: Way = 1;
const FREES: Way = 1 << 1;

const OPENS: Way = 1;
const OPENS_SHARED: Way = 1 << 1;
const FAILS: Way = 1 << 2;
const CLOSES: Way = 1 << 3;
const UNHELD: Way = 1 << 4;
const DESTROYS: Way = 1 << 5;
const CHANGES: Way = 1 << 6;
const MISUSES: Way = 1 << 7;

const WAITS: Way = 1;
const GIVES_UP: Way = 1 << 1;
const SIGNALS: Way = 1 << 2;
const BROADCASTS: Way = 1 << 3;

const TAKES: Way = 1;
const POSTS: Way = 1 << 1;
const FINDS_NOTHING: Way = 1 << 2;

/// Pairs of ways that do not commute, by kind of thing; each pair in both directions.
fn pairs(thing: Thing) -> &'static [(Way, Way)] {
    match thing {
        Thing::Cell(_) => &[(LOOKS, WRITES), (WRITES, WRITES)],
        Thing::Meeting(_) => &[(ONE, OTHER)],
        Thing::Life(_) => &[(USES, FREES)],
        Thing::Lock(_) => &[
            (OPENS, OPENS | OPENS_SHARED),
            (OPENS | OPENS_SHARED, UNHELD),
            (FAILS, CLOSES),
            (DESTROYS, OPENS | OPENS_SHARED | FAILS | CLOSES | UNHELD | CHANGES),
            (MISUSES, OPENS | OPENS_SHARED | CLOSES | CHANGES | DESTROYS),
        ],
        Thing::Cond(_) => {
            &[(SIGNALS, WAITS | GIVES_UP | SIGNALS | BROADCASTS), (BROADCASTS, WAITS | GIVES_UP)]
        }
        Thing::Semaphore(_) => &[(TAKES, TAKES), (POSTS, FINDS_NOTHING)],
    }
}

fn is_forgotten(thing: Thing, pair: (Way, Way)) -> bool {
    let fault = match (thing, pair) {
        (Thing::Cell(_), (LOOKS, _)) => Fault::RivalReadsForgotten,
        (Thing::Cell(_), (WRITES, _)) => Fault::RivalWritesForgotten,
        (Thing::Meeting(_), _) => Fault::AskedForgotten,
        (Thing::Cell(_), _) => return false,
        (Thing::Life(_), _) => Fault::RivalFreeForgotten,
        (Thing::Lock(_), (OPENS, _)) => Fault::RivalAcquireForgotten,
        (Thing::Lock(_), (FAILS, _)) => Fault::RivalFailureForgotten,
        (Thing::Lock(_), (MISUSES, _)) => Fault::RivalMisuseForgotten,
        (Thing::Cond(_), _) => Fault::RivalSignalForgotten,
        (Thing::Semaphore(_), (POSTS, _)) => Fault::RivalPostForgotten,
        (Thing::Lock(_) | Thing::Semaphore(_), _) => return false,
    };
    is_seeded(fault)
}

/// Tells what an event uses, and how.
fn collect(script: &Script, asked: &Asked<'_>, event: EventId, mut tell: impl FnMut(Thing, Way)) {
    let misuse = if asked.misuses.contains(&event) { MISUSES } else { 0 };
    let locks = &script.skeleton.locks;
    let opens = |hold_mode: Mode| match hold_mode {
        Mode::Exclusive => OPENS,
        Mode::Shared => OPENS_SHARED,
    };
    let step = script.step(event);
    let kept = script.kept;
    let mut tell = |thing: Thing, way: Way| {
        let is_kept = match thing {
            Thing::Cell(_) | Thing::Meeting(_) => true,
            Thing::Life(object) => kept.life(object),
            Thing::Lock(lock) => kept.lock(lock),
            Thing::Cond(cond) => kept.cond(cond),
            Thing::Semaphore(sem) => kept.sem(sem),
        };
        if is_kept {
            tell(thing, way);
        }
    };
    match step.op {
        Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
            let touch = script.touch(event).expect("it is an access");
            for cell in script.skeleton.memory.cells_of(at) {
                if script.slot(cell).is_some() {
                    let looks = if touch.looks { LOOKS } else { 0 };
                    let writes = if touch.writes { WRITES } else { 0 };
                    tell(Thing::Cell(cell.0), looks | writes);
                }
            }
            if script.skeleton.lifetimes.free_of(at.object).is_some() {
                tell(Thing::Life(at.object), USES);
            }
        }
        Op::Free { object } => tell(Thing::Life(object), FREES),
        Op::Acquire { lock, mode, .. } => {
            let way = if locks.opened_by(event).is_some() { opens(mode) } else { CHANGES };
            tell(Thing::Lock(lock), way | misuse);
        }
        Op::AcquireFailed { lock, .. } => tell(Thing::Lock(lock), FAILS),
        Op::Release { lock, .. } => {
            let way = match locks.hold_at(event) {
                None => UNHELD,
                Some(hold) if locks.hold(hold).close == Some(event) => CLOSES,
                Some(_) => CHANGES,
            };
            tell(Thing::Lock(lock), way | misuse);
        }
        Op::Destroy { lock } => tell(Thing::Lock(lock), DESTROYS | misuse),
        Op::Wait { cond, lock, .. } => {
            tell(Thing::Lock(lock), CLOSES);
            tell(Thing::Cond(cond), WAITS);
        }
        Op::Wake { cond, lock, reason } => {
            let mode = locks.hold(step.hold.expect("a wake opens a hold")).mode;
            tell(Thing::Lock(lock), opens(mode));
            match reason {
                WakeReason::Notified => {}
                WakeReason::TimedOut | WakeReason::Spurious => tell(Thing::Cond(cond), GIVES_UP),
            }
        }
        Op::Signal { cond } => tell(Thing::Cond(cond), SIGNALS),
        Op::Broadcast { cond } => tell(Thing::Cond(cond), BROADCASTS),
        Op::SemWait { sem, .. } => tell(Thing::Semaphore(sem), TAKES),
        Op::SemWaitFailed { sem, .. } => tell(Thing::Semaphore(sem), FINDS_NOTHING),
        Op::SemPost { sem } => tell(Thing::Semaphore(sem), POSTS),
        Op::Request(foretrace_trace::Request::Acquire(lock, _)) if misuse != 0 => {
            tell(Thing::Lock(lock), misuse);
        }
        ops!(data barrier thread call mark Request Alloc) => {}
    }
}

/// What decides whether two steps that do not commute can meet.
struct Closure<'c> {
    trace: &'c Trace,
    order: &'c MustHappenBefore,
    locksets: &'c Locksets,
    kept: &'c Kept,
}

/// Steps of one thread that use a thing in the same way, with the same locks.
struct Group {
    thread: ThreadId,
    way: Way,
    lockset: LocksetId,
    positions: Vec<u32>,
}

impl Closure<'_> {
    /// Adds the rivals among the uses of one thing.
    fn find(&self, thing: Thing, uses: &[(EventId, Way)], lists: &mut [Vec<(u32, u32)>]) {
        let groups = self.groups(uses);
        let pairs: Vec<(Way, Way)> =
            pairs(thing).iter().copied().filter(|&pair| !is_forgotten(thing, pair)).collect();
        let conflict = |a: Way, b: Way| {
            pairs.iter().any(|&(x, y)| (a & x != 0 && b & y != 0) || (a & y != 0 && b & x != 0))
        };
        // What a group can meet is the same for all its members, but for order.
        for group in &groups {
            let others: Vec<&Group> = groups
                .iter()
                .filter(|other| {
                    other.thread != group.thread
                        && conflict(group.way, other.way)
                        && !self.exclude(group.lockset, other.lockset)
                })
                .collect();
            let thread = self.trace.thread_events(group.thread);
            for &position in &group.positions {
                let list = &mut lists[thread[position as usize].index()];
                for other in &others {
                    let Some(last) = self.last_before(group.thread, position, other) else {
                        continue;
                    };
                    match list.iter_mut().find(|(known, _)| *known == other.thread.0) {
                        Some((_, known)) => *known = last.max(*known),
                        None => list.push((other.thread.0, last)),
                    }
                }
            }
        }
    }

    /// Whether two threads cannot be at these steps at once.
    fn exclude(&self, a: LocksetId, b: LocksetId) -> bool {
        if is_seeded(Fault::AnyLockProtects) {
            return !self.locksets.locks(a).is_empty() && !self.locksets.locks(b).is_empty();
        }
        if is_seeded(Fault::ReadersProtect) {
            let locks = self.locksets.locks(b);
            let has = |lock: LockId| locks.iter().any(|&(other, _)| other == lock);
            return self.locksets.locks(a).iter().any(|&(lock, _)| has(lock));
        }
        let locks = self.locksets.locks(b);
        self.locksets.locks(a).iter().any(|&(lock, mode)| {
            let mut same = locks.iter().filter(|&&(other, _)| other == lock);
            let is_kept = self.kept.lock(lock) || is_seeded(Fault::LeftOutProtects);
            is_kept && same.any(|&(_, other)| mode.conflicts(other))
        })
    }

    /// The last position of the group that need not come after this one.
    fn last_before(&self, thread: ThreadId, position: u32, other: &Group) -> Option<u32> {
        let more = u32::from(is_seeded(Fault::OrderOffByOne));
        let after = |&at: &u32| {
            self.order.clock(other.thread, at as usize)[thread.index()] + more > position
        };
        let end = other.positions.partition_point(|at| !after(at));
        end.checked_sub(1).map(|last| other.positions[last])
    }

    fn groups(&self, uses: &[(EventId, Way)]) -> Vec<Group> {
        let mut index: FxHashMap<(ThreadId, Way, LocksetId), usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        for &(event, way) in uses.iter().filter(|&&(_, way)| way != 0) {
            let (thread, lockset) = (self.trace.thread_of(event), self.locksets.at(event));
            let at = *index.entry((thread, way, lockset)).or_insert_with(|| {
                groups.push(Group { thread, way, lockset, positions: Vec::new() });
                groups.len() - 1
            });
            groups[at].positions.push(self.trace.position(event) as u32);
        }
        groups
    }
}
