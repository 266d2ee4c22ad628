//! Whether a state of folded threads may be a violation that is asked about.
//!
//! **Computes.** Which questions are not refuted: some state may stand for one in which they are
//! violated.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::Skeleton;
use foretrace_trace::{EventId, ops};

use super::counts::Counts;
use super::graph::{Action, Graph};
use super::machine::{DEAD, Machine};
use crate::question::Question;

/// How many pairs of nodes questions about races may have; what has more is not refuted.
const MOST_PAIRS: usize = 1_000_000;

/// The questions, by nodes.
pub(super) struct Goals {
    /// Which may be violated.
    pub(super) is_hit: Vec<bool>,
    races: FxHashMap<(u32, u32), Vec<u32>>,
    assertions: FxHashMap<u32, Vec<u32>>,
    cycles: Vec<(u32, Vec<FxHashSet<u32>>)>,
    stuck: FxHashMap<u32, Vec<u32>>,
    counts: Counts,
}

/// The events at which threads must be seen.
pub(super) fn asked(questions: &[Question]) -> FxHashSet<EventId> {
    let mut asked = FxHashSet::default();
    for question in questions {
        match question {
            Question::Race(parts) => {
                parts.iter().for_each(|(one, other)| asked.extend(one.iter().chain(*other)));
            }
            Question::LockCycle(cycles) => {
                cycles.iter().flatten().for_each(|points| asked.extend(points.iter()));
            }
            Question::Stuck(events) | Question::Assertion(events) => asked.extend(events.iter()),
            Question::Atomicity(_) | Question::Lock(_) => {}
        }
    }
    asked
}

impl Goals {
    /// Of the questions that are open.
    pub(super) fn new(
        skeleton: &Skeleton,
        graph: &Graph,
        questions: &[Question],
        open: &[bool],
    ) -> Self {
        let trace = skeleton.trace;
        let mut goals = Goals {
            is_hit: open.iter().map(|&open| !open).collect(),
            races: FxHashMap::default(),
            assertions: FxHashMap::default(),
            cycles: Vec::new(),
            stuck: FxHashMap::default(),
            counts: Counts::new(skeleton, graph),
        };
        // Behind some last events a thread waits.
        let point = |event: EventId| {
            let thread = trace.thread_of(event);
            let is_last = trace.thread_events(thread).last() == Some(&event);
            let waits = match trace.op(event) {
                ops!(Request Wait Arrive EnterCall) => true,
                ops!(memory object data lock sem thread mark Wake Signal Broadcast Leave
                    LeaveCall) => false,
            };
            match is_last && waits {
                true => graph.last[thread.index()],
                false => graph.node_of[event.index()],
            }
        };
        let nodes = |events: &[EventId]| -> FxHashSet<u32> {
            events.iter().map(|event| graph.node_of[event.index()]).collect()
        };
        let may_wait_in_calls =
            trace.ops().any(|(event, _)| skeleton.waiting_calls.at(event).is_some());
        let mut pairs = 0;
        for (at, question) in questions.iter().enumerate().filter(|&(at, _)| open[at]) {
            let number = at as u32;
            match question {
                Question::Race(parts) => {
                    for (one, other) in parts {
                        pairs += one.len() + other.len();
                        let (nodes, others) = (nodes(one), nodes(other));
                        pairs += nodes.len() * others.len();
                        if pairs > MOST_PAIRS {
                            goals.is_hit[at] = true;
                            break;
                        }
                        for &a in &nodes {
                            for &b in &others {
                                let known = goals.races.entry((a.min(b), a.max(b))).or_default();
                                if known.last() != Some(&number) {
                                    known.push(number);
                                }
                            }
                        }
                    }
                }
                Question::LockCycle(cycles) => {
                    for cycle in cycles {
                        let points = cycle
                            .iter()
                            .map(|points| points.iter().map(|&event| point(event)).collect());
                        goals.cycles.push((number, points.collect()));
                    }
                }
                Question::Stuck(_) if may_wait_in_calls => goals.is_hit[at] = true,
                Question::Stuck(events) => {
                    for &event in *events {
                        goals.stuck.entry(point(event)).or_default().push(number);
                    }
                }
                Question::Assertion(events) => {
                    for node in nodes(events) {
                        goals.assertions.entry(node).or_default().push(number);
                    }
                }
                Question::Atomicity(_) | Question::Lock(_) => goals.is_hit[at] = true,
            }
        }
        goals
    }

    /// Whether nothing is left to be refuted.
    pub(super) fn is_over(&self) -> bool {
        self.is_hit.iter().all(|&is_hit| is_hit)
    }

    pub(super) fn look(&mut self, machine: &mut Machine, state: &[u32]) {
        let next = |thread: usize| {
            let is_next = machine.is_started(state, thread) && state[thread] != DEAD;
            is_next.then_some(state[thread])
        };
        let nodes: Vec<Option<u32>> = (0..machine.threads()).map(next).collect();
        for (thread, node) in nodes.iter().enumerate() {
            let Some(a) = *node else { continue };
            for b in nodes[thread + 1..].iter().flatten() {
                for &number in self.races.get(&(a.min(*b), a.max(*b))).into_iter().flatten() {
                    self.is_hit[number as usize] = true;
                }
            }
            if let Some(numbers) = self.assertions.get(&a) {
                let action = machine.graph.nodes[a as usize].action;
                let mut holds = false;
                if let Action::Assert { formula, .. } = action {
                    holds = machine.value(state, formula).is_some_and(|value| value != 0);
                }
                for &number in numbers.iter().filter(|_| !holds) {
                    self.is_hit[number as usize] = true;
                }
            }
        }
        for (number, points) in &self.cycles {
            if !self.is_hit[*number as usize] && is_cycle(machine, state, &nodes, points) {
                self.is_hit[*number as usize] = true;
            }
        }
        let waits = nodes.iter().flatten().any(|node| self.stuck.contains_key(node));
        if waits
            && (0..machine.threads()).all(|thread| may_be_at_rest(machine, state, thread))
            && self.counts.may_be(machine, state)
        {
            for node in nodes.iter().flatten() {
                for &number in self.stuck.get(node).into_iter().flatten() {
                    self.is_hit[number as usize] = true;
                }
            }
        }
    }
}

/// Whether threads are at all points of a cycle, each with the next one's lock.
fn is_cycle(
    machine: &Machine,
    state: &[u32],
    nodes: &[Option<u32>],
    points: &[FxHashSet<u32>],
) -> bool {
    let thread_at = |points: &FxHashSet<u32>| {
        nodes.iter().position(|node| node.is_some_and(|node| points.contains(&node)))
    };
    let Some(threads) = points.iter().map(thread_at).collect::<Option<Vec<usize>>>() else {
        return false;
    };
    (0..threads.len()).all(|at| {
        let holder = threads[(at + 1) % threads.len()];
        let action = machine.graph.nodes[state[threads[at]] as usize].action;
        if let Action::Acquire { lock, mode } | Action::Wake { lock, mode, .. } = action {
            return machine.has(state, holder, lock, mode);
        }
        true
    })
}

/// Whether a thread may be not started, finished or blocked.
fn may_be_at_rest(machine: &Machine, state: &[u32], thread: usize) -> bool {
    if !machine.is_started(state, thread) {
        return true;
    }
    if state[thread] == DEAD {
        return false;
    }
    let is_taken = |lock, mode| {
        machine.is_taken(state, thread, lock, mode) || machine.has(state, thread, lock, mode)
    };
    match machine.graph.nodes[state[thread] as usize].action {
        Action::Through => machine.may_wait_behind(thread),
        Action::Acquire { lock, mode } => is_taken(lock, mode),
        Action::Wake { lock, mode, .. } => {
            machine.is_waiting(state, thread) || is_taken(lock, mode)
        }
        Action::SemWait { sem, blocking } => {
            blocking && machine.count(state, sem).is_none_or(|count| count == 0)
        }
        Action::Leave { barrier } => machine.is_held_up(state, thread, barrier.index()),
        Action::Join { child } => {
            !(machine.is_started(state, child.index()) && machine.is_through(state, child.index()))
        }
        Action::Silent
        | Action::Test { .. }
        | Action::Assert { .. }
        | Action::Access(_)
        | Action::AcquireFailed { .. }
        | Action::Release { .. }
        | Action::ForeignRelease { .. }
        | Action::UnheldRelease { .. }
        | Action::Wait { .. }
        | Action::Signal { .. }
        | Action::Broadcast { .. }
        | Action::SemWaitFailed { .. }
        | Action::SemPost { .. }
        | Action::Arrive { .. }
        | Action::Fork { .. }
        | Action::Exit => false,
    }
}

impl Machine<'_, '_> {
    /// Whether a thread that has executed all its events may be finished or blocked.
    fn may_wait_behind(&self, thread: usize) -> bool {
        let trace = self.skeleton().trace;
        let last = trace.thread_events(foretrace_trace::ThreadId::from(thread)).last();
        last.is_none_or(|&last| match trace.op(last) {
            ops!(End Request Wait Arrive EnterCall) => true,
            ops!(memory object data lock sem mark Wake Signal Broadcast Leave LeaveCall Fork Join
                Begin Exit) => false,
        })
    }
}
