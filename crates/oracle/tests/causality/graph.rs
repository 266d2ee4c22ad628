//! The graph that prunes against the derivation that explains, and against the enumeration.

use std::collections::BTreeMap;

use foretrace_causality::{Givers, Graph, Needs, Question, Reach, Rules, Scope, Search, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::{case_seed, explore, generate};
use foretrace_trace::{EventId, Op, Trace, text};
use foretrace_verdict::{Model, Violation};

use crate::cases;
use crate::tuples::tuples;

const CASES: u64 = 1_500;
const SEED: u64 = 400;
const SCOPES: [Scope; 3] = [Scope::Locks, Scope::Order, Scope::Synchronisation];

/// What a graph is made from.
pub(crate) struct Tables {
    givers: Givers,
    order: Needs,
}

impl Tables {
    pub(crate) fn new(skeleton: &Skeleton) -> Self {
        let givers = Givers::new(skeleton);
        let order = Needs::new(skeleton, &givers, Rules::SYNCHRONISATION);
        Tables { givers, order: order.expect("a small trace has a table") }
    }

    pub(crate) fn graph<'t>(&'t self, skeleton: &'t Skeleton<'t>) -> Graph<'t> {
        let graph = Graph::new(skeleton, &self.givers, &self.order, None);
        graph.expect("a small trace has a graph")
    }
}

/// The graph, asked about violations.
pub(crate) struct Graphs<'g> {
    skeleton: &'g Skeleton<'g>,
    search: Search<'g>,
}

impl<'g> Graphs<'g> {
    pub(crate) fn new(skeleton: &'g Skeleton<'g>, graph: &'g Graph<'g>) -> Self {
        Graphs { skeleton, search: Search::new(graph) }
    }

    pub(crate) fn refutes(&mut self, violation: &Violation, scope: Scope) -> bool {
        self.search.refutes(&question(self.skeleton, violation), scope)
    }

    fn refutes_in_full(&mut self, violation: &Violation, scope: Scope) -> bool {
        self.search.refutes_in_full(&question(self.skeleton, violation), scope)
    }
}

/// What the graph refutes the derivation refutes, so there is a proof of it. Barriers change
/// nothing.
#[test]
fn the_graph_refutes_nothing_without_a_proof() {
    let mut counts: BTreeMap<Scope, [u64; 3]> = BTreeMap::new();
    for case in 0..cases(CASES) {
        let seed = case_seed(SEED, case);
        let trace = generate(seed);
        let skeleton = Skeleton::new(&trace, Model::Control);
        let tables = Tables::new(&skeleton);
        let graph = tables.graph(&skeleton);
        let mut graphs = Graphs::new(&skeleton, &graph);
        let explored = explore(&trace, Model::Control, true);
        for violation in tuples(&skeleton) {
            for scope in SCOPES {
                let context =
                    || format!("seed {seed}, {violation:?}, {scope:?}\n{}", text::print(&trace));
                let is_refuted = graphs.refutes(&violation, scope);
                let is_proven = derive(&skeleton, &violation, scope).is_some();
                assert!(is_proven || !is_refuted, "there is no proof: {}", context());
                let in_full = graphs.refutes_in_full(&violation, scope);
                assert_eq!(in_full, is_refuted, "barriers make a difference: {}", context());
                assert!(is_proven || !in_full, "there is no proof: {}", context());
                let is_feasible = explored.violations.contains(&violation);
                assert!(!(is_refuted && is_feasible), "it is feasible: {}", context());
                let count = counts.entry(scope).or_default();
                count[0] += u64::from(is_refuted);
                count[1] += u64::from(in_full);
                count[2] += u64::from(is_proven);
            }
        }
    }
    println!("refuted by the graph, by the graph without barriers, by the derivation: {counts:?}");
    // It may see less than the derivation, but hardly ever does.
    for [refuted, _, proven] in counts.into_values() {
        assert!(proven > 50 && 100 * refuted >= 99 * proven, "{refuted} of {proven}");
    }
}

fn question(skeleton: &Skeleton, violation: &Violation) -> Question {
    match *violation {
        Violation::Race(a, b) => Question::race(skeleton, a, b),
        Violation::Atomicity { first, remote, second } => {
            Question::atomicity(first, remote, second)
        }
        Violation::LockCycle(ref cycle) => {
            Question::points(cycle.iter().map(|&point| reach(skeleton.trace, point)))
        }
        _ => unreachable!("no other is asked"),
    }
}

fn reach(trace: &Trace, point: EventId) -> Reach {
    let waits = matches!(trace.op(point), Op::Request(_) | Op::Wait { .. });
    if waits && trace.next(point).is_none() { Reach::Done(point) } else { Reach::Next(point) }
}
