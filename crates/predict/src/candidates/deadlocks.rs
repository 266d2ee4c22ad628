//! Deadlock candidates: cycles in who wants what whom has, and points at which a thread may wait for ever.
//!
//! **Computes.** Nodes (thread, lock held, lock wanted, source location); all simple cycles over them with one node
//! per thread; and the points of `docs/theory.md`, section 4, *Stuck*.
//!
//! **Follows.** The lock-order graph of Goodlock (Havelund, SPIN 2000), with cycles of any length and
//! reader-writer modes; here a cycle is only a question.
//!
//! **Cost.** Exponential in the worst case, like the number of cycles: cut off at `MOST_STEPS`, and said so.

use rustc_hash::FxHashMap;

use foretrace_causality::LocksetId;
use foretrace_model::HoldId;
use foretrace_trace::{EventId, LockId, Mode, Op, Patience, Request, ThreadId};
use foretrace_witness::{Property, Violation};

use super::{Candidates, Context, Fate, Gathering, HoldsWalk, Parts, Site};
use crate::fault::{Fault, is_seeded};

/// How many steps the search for cycles may take.
const MOST_STEPS: u64 = 3_000_000;

/// Threads that can be at a blocked acquire while they have something.
#[derive(Clone, Debug)]
pub(crate) struct CycleNode {
    thread: ThreadId,
    site: Site,
    has: (LockId, Mode),
    wants: (LockId, Mode),
    lockset: LocksetId,
    /// The points, and the hold that each still has there.
    pub(crate) points: Vec<(EventId, HoldId)>,
}

/// One node per thread; each wants what the following one has.
#[derive(Clone, Debug)]
pub(crate) struct CyclePart {
    pub(crate) nodes: Vec<std::sync::Arc<CycleNode>>,
}

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let (nodes, stuck) = points(context);
    let nodes: Vec<std::sync::Arc<CycleNode>> = nodes.into_iter().map(Into::into).collect();
    list_cycles(context, &nodes, candidates);
    let mut gathering = Gathering::new();
    for event in stuck {
        let example = || Violation::Stuck(event);
        gathering.add(context.site_without_object(event), example, Fate::Open(event));
    }
    gathering.finish(Property::Deadlock, candidates, Parts::Stuck);
}

/// Walks all threads and collects the nodes of cycles and the points where a thread may be stuck.
fn points(context: &Context) -> (Vec<CycleNode>, Vec<EventId>) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let mut index = FxHashMap::default();
    let mut nodes: Vec<CycleNode> = Vec::new();
    let mut stuck = Vec::new();
    for thread in trace.thread_ids() {
        let events = trace.thread_events(thread);
        let mut walk = HoldsWalk::new();
        for (position, &event) in events.iter().enumerate() {
            let is_last = position + 1 == events.len();
            // After a wait, its lock is held no more; what else is held then is left to the solver.
            let lockset = match trace.op(event) {
                Op::Wait { .. } if !is_seeded(Fault::LocksetAfterWait) => LocksetId::EMPTY,
                _ => context.locksets.at(event),
            };
            let mut add = |walk: &HoldsWalk, wants: (LockId, Mode)| {
                for &id in walk.open() {
                    let hold = skeleton.locks.hold(id);
                    let has = (hold.lock, hold.mode);
                    let site = context.site_without_object(event);
                    let key = (thread, site, has, wants, lockset);
                    let at = *index.entry(key).or_insert_with(|| {
                        let points = Vec::new();
                        nodes.push(CycleNode { thread, site, has, wants, lockset, points });
                        nodes.len() - 1
                    });
                    nodes[at].points.push((event, id));
                }
            };
            match trace.op(event) {
                Op::Acquire { lock, mode, patience: Patience::Blocking }
                    if skeleton.locks.opened_by(event).is_some() =>
                {
                    add(&walk, (lock, mode));
                }
                Op::Request(Request::Acquire(lock, mode)) if is_last => add(&walk, (lock, mode)),
                Op::Wake { lock, .. } => {
                    let (_, wait) = skeleton.waiting.wait_at(event);
                    add(&walk, (lock, mode_given_back(context, wait.wait)));
                    if !wait.may_leave() {
                        stuck.push(event);
                    }
                }
                Op::Wait { lock, timed, .. } if is_last => {
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
                Op::Request(Request::SemWait(_)) | Op::Arrive { .. } if is_last => {
                    stuck.push(event);
                }
                _ => {}
            }
            walk.pass(skeleton, event);
        }
    }
    (nodes, stuck)
}

fn mode_given_back(context: &Context, wait: EventId) -> Mode {
    let locks = &context.skeleton.locks;
    locks.hold(locks.hold_at(wait).expect("a wait closes a hold")).mode
}

/// The search for cycles that start at their lowest thread.
struct Search<'s> {
    context: &'s Context<'s>,
    nodes: &'s [std::sync::Arc<CycleNode>],
    /// The nodes that have a given lock.
    having: FxHashMap<LockId, Vec<usize>>,
    path: Vec<usize>,
    steps: u64,
    skip_guarded: bool,
    gathering: Gathering<Vec<Site>, CyclePart>,
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
                Violation::LockCycle(vec![node.points[0].0]),
                format!("more lock cycles than can be listed in {MOST_STEPS} steps"),
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
        let mut having: FxHashMap<LockId, Vec<usize>> = FxHashMap::default();
        for (at, node) in nodes.iter().enumerate() {
            having.entry(node.has.0).or_default().push(at);
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
        for at in 0..self.having.get(&lock).map_or(0, Vec::len) {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return false;
            }
            let next = self.having[&lock][at];
            let node = &self.nodes[next];
            if !node.has.1.conflicts(mode) {
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
        let events = |node: &CycleNode| -> Vec<EventId> {
            let mut events: Vec<EventId> = node.points.iter().map(|&(event, _)| event).collect();
            events.dedup();
            events
        };
        let ordered = pairs().any(|(a, b)| !self.context.any_unordered(&events(a), &events(b)));
        let guarded = pairs().any(|(a, b)| self.context.locksets.exclude(a.lockset, b.lockset));
        let fate = if ordered {
            Fate::RefutedByOrder
        } else if guarded {
            Fate::RefutedByLocks
        } else {
            Fate::Open(CyclePart { nodes: nodes.clone() })
        };
        let sites: Vec<Site> = nodes.iter().map(|node| node.site).collect();
        let turns = (0..sites.len()).map(|by| {
            let mut turned = sites.clone();
            turned.rotate_left(by);
            turned
        });
        let key = turns.min().expect("a cycle has nodes");
        let points: Vec<EventId> = nodes.iter().map(|node| node.points[0].0).collect();
        self.gathering.add(key, || canonical_cycle(points), fate);
    }
}

/// The cycle with its smallest event first.
pub(crate) fn canonical_cycle(mut points: Vec<EventId>) -> Violation {
    let least = (0..points.len()).min_by_key(|&at| points[at]).expect("a cycle has points");
    points.rotate_left(least);
    Violation::LockCycle(points)
}
