//! Threads that repeat themselves, folded into graphs: a quick refutation of what no number of
//! repetitions makes possible.
//!
//! **Computes.** For each question, whether it is impossible even if each thread may take any way
//! through a graph that has its recorded run as a path. A state says at which node each thread is,
//! and what memory, locks and counts hold, and not how often anything has happened: so there are
//! few, however long the trace is.
//!
//! **Follows.** `docs/theory.md`, section 7, *folded threads*.
//!
//! **Invariant.** "Impossible" is sound, and nothing else is said.
//!
//! **Cost.** Linear in the states of the folded threads. What takes too many values (a counter that
//! only grows) is looked away from; then those who count are unfolded.

mod counts;
mod goals;
mod graph;
mod machine;
mod policy;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use rustc_hash::FxHashSet;

use foretrace_model::Skeleton;
use foretrace_trace::{Op, ThreadId};
use foretrace_verdict::Model;

use crate::formula::Code;
use crate::matter::Matter;
use crate::question::{Limits, Question};
use goals::{Goals, asked};
use graph::Graph;
use machine::{Grown, Machine};
use policy::Policy;

/// What a cell may hold before it is looked away from; and if those who count there are unfolded.
const MOST_CONTENTS: usize = 40;
const MOST_COUNTED: usize = 2_000;

/// A state has one bit for each thread that reads under a lock.
const MOST_THREADS: usize = 32;

/// How often something may be looked away from.
const MOST_GROWN: usize = 64;

/// How many steps before its own a node knows: first none, so that nodes are few.
const HISTORIES: [usize; 3] = [0, 4, 12];

/// So many words make a state cost as much as another one, and so many events to look at.
const WORDS_PER_STATE: usize = 64;
const EVENTS_PER_STATE: u64 = 16;

/// The answers, and what they cost.
#[derive(Clone, Debug)]
pub struct Folded {
    /// Of each question, whether it is impossible.
    pub impossible: Vec<bool>,
    /// How many states were visited.
    pub states: u64,
    /// What that has cost, in states of a small trace.
    pub price: u64,
}

/// Refutes questions about a trace whose reads are not pinned. `by_place`: events at different
/// places of the source are told apart.
pub fn fold(
    skeleton: &Skeleton,
    questions: &[Question],
    limits: &Limits,
    by_place: bool,
) -> Folded {
    let trace = skeleton.trace;
    let mut folded = Folded { impossible: vec![false; questions.len()], states: 0, price: 0 };
    let is_free = skeleton.model == Model::Symbolic && skeleton.free_data().is_some();
    let can_answer =
        |question: &Question| !matches!(question, Question::Atomicity(_) | Question::Lock(_));
    if !is_free
        || skeleton.is_program()
        || trace.threads().len() > MOST_THREADS
        || !questions.iter().any(can_answer)
    {
        return folded;
    }
    let matter = Matter::new(skeleton, &FxHashSet::default());
    let whole = Whole { skeleton, questions, code: Code::new(skeleton), limits };
    let folds = HISTORIES.map(|history| (history, false));
    for (history, unfolds) in folds.into_iter().chain([(0, true)]) {
        if folded.impossible.iter().all(|&impossible| impossible) || whole.is_late(&folded) {
            break;
        }
        let policy = Policy::new(skeleton, &matter, history, by_place);
        whole.refute(policy, unfolds, &mut folded);
    }
    folded
}

struct Whole<'w> {
    skeleton: &'w Skeleton<'w>,
    questions: &'w [Question<'w>],
    code: Code,
    limits: &'w Limits,
}

impl Whole<'_> {
    /// Explores until nothing grows.
    fn refute(&self, mut policy: Policy, unfolds: bool, folded: &mut Folded) {
        let asked = asked(self.questions);
        for _ in 0..MOST_GROWN {
            let open: Vec<bool> = folded.impossible.iter().map(|&known| !known).collect();
            folded.price += self.skeleton.trace.len() as u64 / EVENTS_PER_STATE;
            if self.is_late(folded) {
                return;
            }
            let graph = Graph::new(self.skeleton, &self.code, &policy, &asked);
            let goals = Goals::new(self.skeleton, &graph, self.questions, &open);
            let most = if unfolds { MOST_COUNTED } else { MOST_CONTENTS };
            let mut machine = Machine::new(self.skeleton, &graph, &policy, most);
            match self.explore(&mut machine, goals, folded) {
                End::Over(is_hit) => {
                    for (impossible, is_hit) in folded.impossible.iter_mut().zip(is_hit) {
                        *impossible |= !is_hit;
                    }
                    return;
                }
                End::CutOff => return,
                End::Grown(Grown::Sem(sem)) => policy.drop_sem(sem),
                End::Grown(Grown::Cell(cell)) => {
                    let is_new = unfolds && policy.unfold(self.who_computes(cell));
                    if !is_new {
                        policy.drop_cell(cell);
                    }
                }
            }
        }
    }

    /// The threads that store in a cell what they compute.
    fn who_computes(&self, cell: foretrace_model::CellId) -> Vec<ThreadId> {
        let trace = self.skeleton.trace;
        let accesses = self.skeleton.memory.accesses(cell).iter();
        let computes = accesses.filter(|&&access| {
            let is_computed = self.code.result(access).is_some_and(|code| !code.reads.is_empty());
            is_computed && !matches!(trace.op(access), Op::Read { .. })
        });
        computes.map(|&access| trace.thread_of(access)).collect()
    }

    /// Whether all explorations together have cost what they may.
    fn is_late(&self, folded: &Folded) -> bool {
        folded.price > self.limits.total || self.limits.deadline.has_passed()
    }

    fn explore(&self, machine: &mut Machine, mut goals: Goals, folded: &mut Folded) -> End {
        let mut known: FxHashSet<Rc<[u32]>> = FxHashSet::default();
        let mut open: Vec<Rc<[u32]>> = Vec::new();
        let mut found = machine.start();
        let (mut visited, mut bytes) = (0, 0);
        loop {
            for state in found.drain(..) {
                let state: Rc<[u32]> = state.into();
                if known.insert(state.clone()) {
                    bytes += 4 * state.len() + 64;
                    open.push(state);
                }
            }
            if let Some(grown) = machine.grown.take() {
                return End::Grown(grown);
            }
            let Some(state) = open.pop() else { return End::Over(goals.is_hit) };
            goals.look(machine, &state);
            if goals.is_over() {
                return End::Over(goals.is_hit);
            }
            visited += 1;
            folded.states += 1;
            folded.price += 1 + (state.len() / WORDS_PER_STATE) as u64;
            let is_late = visited % 256 == 0 && self.is_late(folded);
            if is_late || visited > self.limits.states || bytes > self.limits.bytes {
                return End::CutOff;
            }
            for thread in 0..machine.threads() {
                machine.step(&state, thread, &mut found);
            }
        }
    }
}

/// How an exploration ended.
enum End {
    /// Everything is visited; or nothing is left to be refuted. Which questions may be violated.
    Over(Vec<bool>),
    CutOff,
    Grown(Grown),
}
