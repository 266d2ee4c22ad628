//! The graph that prunes against the derivation that explains, and against the enumeration.

use std::collections::BTreeMap;

use foretrace_causality::{Givers, Graph, Needs, Question, Reach, Rules, Scope, Search, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::{case_seed, explore, generate};
use foretrace_trace::{EventId, Model, Op, Trace, text};
use foretrace_witness::Violation;

use crate::cases;
use crate::tuples::tuples;

const CASES: u64 = 1_500;
const SEED: u64 = 400;
const SCOPES: [Scope; 3] = [Scope::Locks, Scope::Order, Scope::Synchronisation];

/// What the graph refutes the derivation refutes, so there is a proof of it. Barriers change nothing.
#[test]
fn the_graph_refutes_nothing_without_a_proof() {
    let mut counts: BTreeMap<Scope, [u64; 3]> = BTreeMap::new();
    for case in 0..cases(CASES) {
        let seed = case_seed(SEED, case);
        let trace = generate(seed);
        let skeleton = Skeleton::new(&trace, Model::Control);
        let givers = Givers::new(&skeleton);
        let order = Needs::new(&skeleton, &givers, Rules::SYNCHRONISATION);
        let order = order.expect("a small trace has a table");
        let graph =
            Graph::new(&skeleton, &givers, &order, None).expect("a small trace has a graph");
        let mut search = Search::new(&graph);
        let explored = explore(&trace, Model::Control, true);
        for violation in tuples(&skeleton) {
            let question = question(&skeleton, &violation);
            for scope in SCOPES {
                let context =
                    || format!("seed {seed}, {violation:?}, {scope:?}\n{}", text::print(&trace));
                let is_refuted = search.refutes(&question, scope);
                let is_proven = derive(&skeleton, &violation, scope).is_some();
                assert!(is_proven || !is_refuted, "there is no proof: {}", context());
                let in_full = search.refutes_in_full(&question, scope);
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
