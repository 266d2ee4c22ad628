//! Deadlock candidates: cycles in who wants what whom has, and points at which a thread may wait
//! for ever.
//!
//! **Computes.** Nodes (thread, lock held, lock wanted, source location); all simple cycles over
//! them with one node per thread; and the points of `docs/theory.md`, section 4, *Stuck*.
//!
//! **Follows.** The lock-order graph of Goodlock (Havelund, SPIN 2000), with cycles of any length
//! and reader-writer modes; here a cycle is only a question.
//!
//! **Cost.** Exponential in the worst case, like the number of cycles: cut off at `MOST_STEPS`, and
//! said so.

use rustc_hash::FxHashMap;

use foretrace_causality::LocksetId;
use foretrace_model::HoldId;
use foretrace_trace::{EventId, LockId, Mode, Op, Patience, Request, ThreadId, ops};
use foretrace_verdict::{Property, Violation};

use super::{Candidates, Context, Gathering, HoldsWalk, Parts, Site};
use crate::fault::{Fault, is_seeded};
use crate::goal::is_pending;
use crate::prediction::NotAsked;
use crate::unanswered::Unanswered;

/// How many steps the search for cycles may take.
const MOST_STEPS: u64 = 3_000_000;

/// Longer cycles are not looked for, and that is said: the search recurses once per thread.
const LONGEST_CYCLE: usize = 2_000;

/// Threads that can be at a blocked acquire while they have something.
#[derive(Clone, Debug)]
pub(crate) struct CycleNode {
    thread: ThreadId,
    site: Site,
    has: (LockId, Mode),
    wants: (LockId, Mode),
    lockset: LocksetId,
    /// In program order.
    pub(crate) points: Vec<EventId>,
}

/// One node per thread; each wants what the following one has.
#[derive(Clone, Debug)]
pub(crate) struct CyclePart {
    pub(crate) nodes: Vec<std::sync::Arc<CycleNode>>,
}

impl CyclePart {
    /// The cycle through these points, each of which is where a thread waits for a lock that the
    /// following one has.
    pub(super) fn of_points(context: &Context, points: &[EventId]) -> CyclePart {
        let wanted = |point| super::single::wanted(context, point).expect("a point of a cycle");
        let nodes = points.iter().enumerate().map(|(at, &point)| {
            let before = points[(at + points.len() - 1) % points.len()];
            let node = CycleNode {
                thread: context.skeleton.trace.thread_of(point),
                site: Site::Event(point),
                has: wanted(before),
                wants: wanted(point),
                lockset: LocksetId::EMPTY,
                points: vec![point],
            };
            node.into()
        });
        CyclePart { nodes: nodes.collect() }
    }
}

pub(super) fn list(context: &Context, blocking: &[Vec<EventId>], candidates: &mut Candidates) {
    let (nodes, stuck) = points(context, blocking);
    let nodes: Vec<std::sync::Arc<CycleNode>> =
        on_cycles(nodes).into_iter().map(Into::into).collect();
    list_cycles(context, &nodes, candidates);
    if !stuck.is_empty() {
        candidates.not_asked.extend(unknown_ends(context));
    }
    let mut gathering = Gathering::new();
    for event in stuck {
        let example = || Violation::Stuck(event);
        gathering.add(context.site_without_object(event), example, event);
    }
    gathering.finish(Property::Deadlock, candidates, Parts::Stuck);
}

/// The threads that keep a state from being stuck, because nothing says that they are finished.
fn unknown_ends(context: &Context) -> Vec<NotAsked> {
    let trace = context.skeleton.trace;
    let (mut open, mut silent) = (Vec::new(), Vec::new());
    for thread in trace.thread_ids() {
        match trace.thread_events(thread).last() {
            Some(&last) => {
                // At an `exit` there is no violation any more.
                let is_known = matches!(trace.op(last), Op::End | Op::Exit);
                let is_call = matches!(trace.op(last), Op::EnterCall { .. });
                let is_blocked = match is_call {
                    true => context.skeleton.waiting_calls.at(last).is_some(),
                    false => is_pending(trace, last),
                };
                if !is_known && !is_blocked {
                    open.push(thread);
                }
            }
            None if context.skeleton.fork_of(thread).is_some() => open.push(thread),
            None => silent.push(thread),
        }
    }
    let mut not_asked = Vec::new();
    if !open.is_empty() {
        not_asked.push(NotAsked::OpenEnds(open));
    }
    if !silent.is_empty() {
        not_asked.push(NotAsked::SilentThreads(silent));
    }
    not_asked
}

/// Walks all threads and collects the nodes of cycles and the points where a thread may be stuck.
fn points(context: &Context, blocking: &[Vec<EventId>]) -> (Vec<CycleNode>, Vec<EventId>) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let mut index = FxHashMap::default();
    let mut nodes: Vec<CycleNode> = Vec::new();
    let mut stuck = Vec::new();
    let left = left_locked(context);
    let may_be_left = |thread: ThreadId, lock: LockId, mode: Mode| {
        let holds = left.get(&lock).into_iter().flatten();
        holds.into_iter().any(|&(by, held)| by != thread && held.conflicts(mode))
    };
    for thread in trace.thread_ids() {
        let mut walk = HoldsWalk::new();
        for &event in &blocking[thread.index()] {
            let is_last = || trace.next(event).is_none();
            let op = trace.op(event);
            // After a wait, its lock is held no more; what else is held then is left to the solver.
            let lockset = match op {
                Op::Wait { .. } if !is_seeded(Fault::LocksetAfterWait) => LocksetId::EMPTY,
                ops!(memory object data sync call mark) => context.locksets.at(event),
            };
            let mut add = |walk: &HoldsWalk, wants: (LockId, Mode)| {
                for &id in walk.open() {
                    // A hold that another thread closes does not have to block for ever.
                    if skeleton.locks.closed_by_other(trace, id) {
                        continue;
                    }
                    let hold = skeleton.locks.hold(id);
                    let has = (hold.lock, hold.mode);
                    let site = context.site_without_object(event);
                    let key = (thread, site, has, wants, lockset);
                    let at = *index.entry(key).or_insert_with(|| {
                        let points = Vec::new();
                        nodes.push(CycleNode { thread, site, has, wants, lockset, points });
                        nodes.len() - 1
                    });
                    nodes[at].points.push(event);
                }
            };
            match op {
                Op::Acquire { lock, mode, patience: Patience::Blocking }
                    if skeleton.locks.opened_by(event).is_some() =>
                {
                    add(&walk, (lock, mode));
                    if may_be_left(thread, lock, mode) {
                        stuck.push(event);
                    }
                }
                Op::Request(Request::Acquire(lock, mode)) if is_last() => {
                    add(&walk, (lock, mode));
                    if may_be_left(thread, lock, mode) {
                        stuck.push(event);
                    }
                }
                Op::Wake { lock, .. } => {
                    let (_, wait) = skeleton.waiting.wait_at(event);
                    add(&walk, (lock, mode_given_back(context, wait.wait)));
                    if !wait.may_leave() {
                        stuck.push(event);
                    }
                }
                Op::Wait { lock, timed, .. } if is_last() => {
                    let mut after = HoldsWalk { open: walk.open().to_vec() };
                    after.pass(skeleton, event);
                    add(&after, (lock, mode_given_back(context, event)));
                    if !timed {
                        stuck.push(event);
                    }
                }
                Op::SemWait { patience: Patience::Blocking, .. } | Op::Leave { .. } => {
                    stuck.push(event);
                }
                Op::Request(Request::SemWait(_)) | Op::Arrive { .. } if is_last() => {
                    stuck.push(event);
                }
                Op::EnterCall { .. } | Op::LeaveCall => stuck.push(event),
                ops!(memory object data lock sem thread mark Wait Signal Broadcast Arrive
                    Request) => {}
            }
            walk.pass(skeleton, event);
        }
    }
    (nodes, stuck)
}

/// Which threads may end with a lock, and in which mode.
pub(super) fn left_locked(context: &Context) -> FxHashMap<LockId, Vec<(ThreadId, Mode)>> {
    let (skeleton, trace) = (context.skeleton, context.skeleton.trace);
    let mut left: FxHashMap<LockId, Vec<(ThreadId, Mode)>> = FxHashMap::default();
    for id in (0..skeleton.locks.len() as u32).map(HoldId) {
        if skeleton.locks.end_that_leaves(trace, id).is_some() {
            let hold = skeleton.locks.hold(id);
            let known = left.entry(hold.lock).or_default();
            if !known.contains(&(hold.thread, hold.mode)) {
                known.push((hold.thread, hold.mode));
            }
        }
    }
    left
}

pub(super) fn mode_given_back(context: &Context, wait: EventId) -> Mode {
    let locks = &context.skeleton.locks;
    locks.hold(locks.hold_at(wait).expect("a wait closes a hold")).mode
}

/// The search for cycles that start at their lowest thread.
struct Search<'s> {
    context: &'s Context<'s>,
    nodes: &'s [std::sync::Arc<CycleNode>],
    /// The nodes that have a given lock.
    having: Vec<Vec<usize>>,
    path: Vec<usize>,
    steps: u64,
    skip_guarded: bool,
    gathering: Gathering<Vec<Site>, CyclePart>,
}

/// The nodes that lie on some cycle of the lock order: those whose two locks reach each other.
///
/// **Follows.** Tarjan's strongly connected components, iterative, over locks as vertices.
fn on_cycles(nodes: Vec<CycleNode>) -> Vec<CycleNode> {
    let mut wanted: FxHashMap<LockId, Vec<LockId>> = FxHashMap::default();
    for node in &nodes {
        wanted.entry(node.has.0).or_default().push(node.wants.0);
    }
    for list in wanted.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    let component = components(&wanted);
    let same = |node: &CycleNode| component.get(&node.has.0) == component.get(&node.wants.0);
    nodes.into_iter().filter(same).collect()
}

/// The component of each lock that has an outgoing edge, or is reached from one that has.
fn components(edges: &FxHashMap<LockId, Vec<LockId>>) -> FxHashMap<LockId, usize> {
    let mut starts: Vec<LockId> = edges.keys().copied().collect();
    starts.sort_unstable();
    let mut component = FxHashMap::default();
    let mut number: FxHashMap<LockId, usize> = FxHashMap::default();
    let mut low: FxHashMap<LockId, usize> = FxHashMap::default();
    let mut stack = Vec::new();
    for start in starts {
        if number.contains_key(&start) {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some(&mut (lock, ref mut next)) = path.last_mut() {
            if *next == 0 {
                let new = number.len();
                number.insert(lock, new);
                low.insert(lock, new);
                stack.push(lock);
            }
            let list = edges.get(&lock).map_or(&[][..], |list| list);
            if let Some(&other) = list.get(*next) {
                *next += 1;
                if !number.contains_key(&other) {
                    path.push((other, 0));
                } else if !component.contains_key(&other) {
                    let least = low[&lock].min(number[&other]);
                    low.insert(lock, least);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                let least = low[&parent].min(low[&lock]);
                low.insert(parent, least);
            }
            if low[&lock] == number[&lock] {
                while let Some(member) = stack.pop() {
                    component.insert(member, number[&lock]);
                    if member == lock {
                        break;
                    }
                }
            }
        }
    }
    component
}

fn list_cycles(
    context: &Context,
    nodes: &[std::sync::Arc<CycleNode>],
    candidates: &mut Candidates,
) {
    let mut search = Search::new(context, nodes, false);
    if !search.run() {
        // Too many cycles to count those that a common lock refutes: look at the others only.
        search = Search::new(context, nodes, true);
        if !search.run() {
            let node = &nodes[0];
            candidates.unlisted.push((
                Property::Deadlock,
                Violation::LockCycle(vec![node.points[0]]),
                Unanswered::LockCycles { steps: MOST_STEPS, threads: LONGEST_CYCLE },
            ));
        }
    }
    search.gathering.finish(Property::Deadlock, candidates, Parts::LockCycle);
}

impl<'s> Search<'s> {
    fn new(
        context: &'s Context<'s>,
        nodes: &'s [std::sync::Arc<CycleNode>],
        skip_guarded: bool,
    ) -> Self {
        let mut having: Vec<Vec<usize>> = vec![Vec::new(); context.skeleton.trace.locks().len()];
        for (at, node) in nodes.iter().enumerate() {
            having[node.has.0.index()].push(at);
        }
        let (path, gathering) = (Vec::new(), Gathering::new());
        Search { context, nodes, having, path, steps: 0, skip_guarded, gathering }
    }

    /// Whether the search came to its end.
    fn run(&mut self) -> bool {
        (0..self.nodes.len()).all(|start| {
            self.path = vec![start];
            self.extend()
        })
    }

    fn extend(&mut self) -> bool {
        let (first, last) = (self.path[0], *self.path.last().expect("a path has a start"));
        let (lock, mode) = self.nodes[last].wants;
        for at in 0..self.having[lock.index()].len() {
            self.steps += 1;
            if self.steps > MOST_STEPS || self.path.len() > LONGEST_CYCLE {
                return false;
            }
            let next = self.having[lock.index()][at];
            let node = &self.nodes[next];
            if !node.has.1.conflicts(mode) && !is_seeded(Fault::CycleOfReaders) {
                continue;
            }
            if next == first && self.path.len() > 1 {
                self.close();
                continue;
            }
            let new_thread = node.thread > self.nodes[first].thread
                && self.path.iter().all(|&on| self.nodes[on].thread != node.thread);
            if new_thread && !(self.skip_guarded && self.guarded_with(next)) {
                self.path.push(next);
                let complete = self.extend();
                self.path.pop();
                if !complete {
                    return false;
                }
            }
        }
        true
    }

    fn guarded_with(&self, next: usize) -> bool {
        let lockset = self.nodes[next].lockset;
        self.path.iter().any(|&on| self.context.locksets.exclude(self.nodes[on].lockset, lockset))
    }

    /// Adds the cycle of the path to its class.
    fn close(&mut self) {
        let nodes: Vec<_> = self.path.iter().map(|&at| self.nodes[at].clone()).collect();
        let pairs = || {
            (0..nodes.len())
                .flat_map(|b| (0..b).map(move |a| (a, b)))
                .map(|(a, b)| (&nodes[a], &nodes[b]))
        };
        let sites: Vec<Site> = nodes.iter().map(|node| node.site).collect();
        let turns = (0..sites.len()).map(|by| {
            let mut turned = sites.clone();
            turned.rotate_left(by);
            turned
        });
        let key = turns.min().expect("a cycle has nodes");
        let points: Vec<EventId> = nodes.iter().map(|node| node.points[0]).collect();
        let class = self.gathering.class(key, || canonical_cycle(points));
        let guarded = self.context.prune
            && pairs().any(|(a, b)| self.context.locksets.exclude(a.lockset, b.lockset));
        if guarded && class.knows_locks() {
            return;
        }
        // A pending point is there because its event is executed, so being executed refutes
        // nothing.
        let trace = self.context.skeleton.trace;
        let pends = |node: &CycleNode| node.points.iter().any(|&event| is_pending(trace, event));
        let ordered = self.context.prune
            && pairs().any(|(a, b)| {
                !pends(a)
                    && !pends(b)
                    && !self.context.any_unordered_by(&a.points, &b.points, |&event| event)
            });
        class.add(guarded, ordered, || CyclePart { nodes: nodes.clone() });
    }
}

/// The cycle with its smallest event first.
pub(crate) fn canonical_cycle(mut points: Vec<EventId>) -> Violation {
    let least = (0..points.len()).min_by_key(|&at| points[at]).expect("a cycle has points");
    points.rotate_left(least);
    Violation::LockCycle(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_that_reach_each_other_are_one_component() {
        let edge = |from: u32, to: &[u32]| (LockId(from), to.iter().copied().map(LockId).collect());
        let edges: FxHashMap<LockId, Vec<LockId>> =
            [edge(0, &[1]), edge(1, &[2, 3]), edge(2, &[1]), edge(3, &[4]), edge(5, &[5])]
                .into_iter()
                .collect();
        let component = components(&edges);
        assert_eq!(component[&LockId(1)], component[&LockId(2)]);
        let others = [0, 3, 4, 5].map(|lock| component[&LockId(lock)]);
        for (at, one) in others.iter().enumerate() {
            assert_ne!(*one, component[&LockId(1)]);
            assert!(others[..at].iter().all(|other| other != one));
        }
    }
}
