//! Refutations against the enumeration: what no schedule can do, by the rules of
//! `docs/causality.md`, no schedule does.

mod graph;
mod needs;
mod papers;
mod published;
mod tampered;
mod tuples;
mod two_threads;

use std::collections::BTreeMap;

use foretrace_causality::{Scope, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::{case_seed, explore, generate};
use foretrace_trace::{Trace, text};
use foretrace_verdict::{Model, Property, Violation};
use foretrace_witness::RefutationChecker;

const CASES: u64 = 3_000;
const SEED: u64 = 4;
/// Scopes whose refutations are proofs.
const SOUND: [Scope; 4] = [Scope::Locks, Scope::Order, Scope::Synchronisation, Scope::All];

/// Of the infeasible candidates: how many there are, and how many each scope refutes.
type Shares = BTreeMap<(&'static str, Property), (u64, [u64; 4])>;

/// So many cases, or as many as `FORETRACE_CAUSALITY_CASES` says, for a longer run.
pub(crate) fn cases(usual: u64) -> u64 {
    let named = std::env::var("FORETRACE_CAUSALITY_CASES");
    named.map_or(foretrace_testing::cases(usual, 10 * usual), |cases| cases.parse().unwrap())
}

/// No refutation is wrong, and each passes the checker.
#[test]
fn nothing_feasible_is_refuted() {
    let cases = cases(CASES);
    let mut shares = Shares::new();
    for case in 0..cases {
        judge(case_seed(SEED, case), &mut shares);
    }
    println!("infeasible candidates, refuted by lsa, mhb, ucg, ucg and data:");
    for ((model, property), (infeasible, refuted)) in &shares {
        let percent = refuted.map(|refuted| 100 * refuted / infeasible);
        println!("{model:10} {property:?}: {infeasible}, {refuted:?}, {percent:?} %");
    }
    assert!(
        shares
            .values()
            .all(|(infeasible, refuted)| cases < CASES || *infeasible > 50 && refuted[3] > 0)
    );
}

fn judge(seed: u64, shares: &mut Shares) {
    let trace = generate(seed);
    for model in Model::ALL {
        let explored = explore(&trace, model, true);
        if !explored.complete {
            continue;
        }
        let skeleton = Skeleton::new(&trace, model);
        let checker = RefutationChecker::new(&trace, model);
        let asked = tuples::tuples(&skeleton);
        let others = explored.violations.iter().chain(&explored.unknown);
        for violation in asked.iter().chain(others) {
            let is_feasible = explored.violations.contains(violation);
            let is_unknown = explored.unknown.contains(violation);
            let share = shares.entry((model.name(), violation.property()));
            let mut refuted = [0; 4];
            for (nth, scope) in SOUND.into_iter().enumerate() {
                let Some(refutation) = derive(&skeleton, violation, scope) else { continue };
                let context = || {
                    let steps = &refutation.steps;
                    format!(
                        "seed {seed}, {violation:?} under {}, {scope:?}\n{steps:#?}\n{}",
                        model.name(),
                        text::print(&trace)
                    )
                };
                assert!(!is_feasible, "feasible, but refuted: {}", context());
                let checked = checker.check(violation, &refutation);
                assert_eq!(checked, Ok(()), "a proof is refused: {}", context());
                refuted[nth] = 1;
            }
            // What more rules refute fewer do not refute more.
            assert!(
                refuted[0].max(refuted[1]) <= refuted[2] && refuted[2] <= refuted[3],
                "seed {seed}"
            );
            if !is_feasible && !is_unknown {
                let share = share.or_default();
                share.0 += 1;
                (0..4).for_each(|nth| share.1[nth] += refuted[nth]);
            }
        }
    }
}

/// The skeleton's scopes that refute a violation.
pub(crate) fn refuting(trace: &Trace, violation: &Violation) -> Vec<Scope> {
    let skeleton = Skeleton::new(trace, Model::Values);
    let scopes = [Scope::Locks, Scope::Order, Scope::Synchronisation, Scope::All, Scope::Published];
    scopes.into_iter().filter(|&scope| derive(&skeleton, violation, scope).is_some()).collect()
}
