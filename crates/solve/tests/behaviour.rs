//! What callers rely on, one small case each.

mod support;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use foretrace_solve::{Limits, Lit, Outcome, Solver, Statistics};
use support::Random;

fn solve(solver: &mut Solver, assumptions: &[Lit]) -> Outcome {
    solver.solve(assumptions, &Limits::default())
}

/// `pigeons` in one hole less, all clauses guarded by the literal that is returned.
fn pigeonhole(solver: &mut Solver, pigeons: usize) -> Lit {
    let guard = solver.literal();
    let sits: Vec<Vec<Lit>> =
        (0..pigeons).map(|_| (1..pigeons).map(|_| solver.literal()).collect()).collect();
    for (at, pigeon) in sits.iter().enumerate() {
        let mut somewhere = pigeon.clone();
        somewhere.push(!guard);
        solver.clause(&somewhere);
        for other in &sits[..at] {
            for (&here, &there) in pigeon.iter().zip(other) {
                solver.clause(&[!guard, !here, !there]);
            }
        }
    }
    guard
}

/// A dense tangle of order clauses that takes many theory conflicts, guarded.
fn tangle(solver: &mut Solver, nodes: u32) -> Lit {
    let guard = solver.literal();
    let nodes: Vec<_> = (0..nodes).map(|at| solver.node(100 + at, 0, u64::from(at))).collect();
    // Each node has a predecessor: false in every finite order.
    for &node in &nodes {
        let mut clause = vec![!guard];
        clause
            .extend(nodes.iter().filter(|&&other| other != node).map(|&n| solver.before(n, node)));
        solver.clause(&clause);
    }
    guard
}

#[test]
fn atoms_are_shared_and_chains_are_constant() {
    let mut solver = Solver::new();
    let (a0, a5) = (solver.node(0, 0, 0), solver.node(0, 5, 10));
    let b = solver.node(1, 0, 5);
    assert_eq!(solver.before(a0, a5), solver.constant(true));
    assert_eq!(solver.before(a5, a0), solver.constant(false));
    assert_eq!(solver.before(a0, b), !solver.before(b, a0));
    assert_eq!(solver.before(a0, b), solver.before(a0, b));
    assert_eq!(solver.node(0, 5, 10), a5);
    assert_eq!(solver.statistics().atoms, 1);
}

#[test]
fn phases_prefer_the_record_and_leave_events_out() {
    let mut solver = Solver::new();
    let (a, b) = (solver.node(0, 0, 0), solver.node(1, 0, 1));
    let moment = solver.free_node(5);
    let (order, included) = (solver.before(b, a), solver.before(a, moment));
    let (plain, eager) = (solver.literal(), solver.literal_with_phase(true));
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    assert!(!solver.value(order) && !solver.value(included));
    assert!(!solver.value(plain) && solver.value(eager));
}

#[test]
fn included_is_closed_under_chains_and_fixed_edges() {
    let mut solver = Solver::new();
    let (fork, begin) = (solver.node(0, 3, 3), solver.node(1, 0, 4));
    let (early, late) = (solver.node(0, 1, 1), solver.node(1, 7, 9));
    solver.fixed_edge(fork, begin);
    let moment = solver.free_node(6);
    let (late, early) = (solver.before(late, moment), solver.before(early, moment));
    assert_eq!(solve(&mut solver, &[late]), Outcome::Satisfiable);
    assert!(solver.value(early));
    assert_eq!(solve(&mut solver, &[late, !early]), Outcome::Unsatisfiable);
    assert!(solver.failed(late) && solver.failed(!early));
    assert_eq!(solve(&mut solver, &[early, !late]), Outcome::Satisfiable);
}

/// Facts of the root level must bind nodes that appear later between old ones, whether the facts
/// agree with the recorded order or not.
#[test]
fn root_facts_bind_nodes_that_appear_later() {
    for against_record in [false, true] {
        let mut solver = Solver::new();
        let (p0, p9) = (solver.node(0, 0, 0), solver.node(0, 9, 18));
        let other = solver.node(1, 0, if against_record { 30 } else { 19 });
        let fact = match against_record {
            true => solver.before(other, p0),
            false => solver.before(p9, other),
        };
        solver.clause(&[fact]);
        for position in 1..9 {
            assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
            assert_eq!(solve(&mut solver, &[!fact]), Outcome::Unsatisfiable);
            let between = solver.node(0, position, 2 * u64::from(position));
            let follows = match against_record {
                true => solver.before(other, between),
                false => solver.before(between, other),
            };
            assert_eq!(solve(&mut solver, &[!follows]), Outcome::Unsatisfiable);
            assert!(solver.failed(!follows));
            assert_eq!(solve(&mut solver, &[follows]), Outcome::Satisfiable);
        }
    }
}

#[test]
fn root_facts_about_a_moment_survive_its_moves() {
    let mut solver = Solver::new();
    let (a, b) = (solver.node(0, 0, 10), solver.node(1, 0, 20));
    let moment = solver.free_node(0);
    let (in_a, in_b) = (solver.before(a, moment), solver.before(b, moment));
    let order = solver.before(a, b);
    solver.clause(&[in_b]);
    solver.clause(&[!in_a]);
    for home in [15, 40, 5, 20, 10] {
        solver.set_home(moment, home);
        assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
        assert!(!solver.value(order));
        assert_eq!(solve(&mut solver, &[order]), Outcome::Unsatisfiable);
        assert!(solver.failed(order));
    }
}

#[test]
fn contradicting_root_facts_end_it() {
    let mut solver = Solver::new();
    let nodes = [0, 1, 2].map(|at| solver.node(at, 0, u64::from(at)));
    let cycle = [(0, 1), (1, 2), (2, 0)].map(|(a, b)| solver.before(nodes[a], nodes[b]));
    for fact in cycle {
        assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
        solver.clause(&[fact]);
    }
    assert_eq!(solve(&mut solver, &[]), Outcome::Unsatisfiable);
    let later = solver.node(0, 1, 7);
    let atom = solver.before(later, nodes[1]);
    assert_eq!(solve(&mut solver, &[atom]), Outcome::Unsatisfiable);
    assert!(!solver.failed(atom));
}

#[test]
fn the_model_outlives_additions() {
    let mut solver = Solver::new();
    let (a, b) = (solver.node(0, 0, 0), solver.node(1, 0, 1));
    let atom = solver.before(a, b);
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    assert!(solver.value(atom));
    let c = solver.node(2, 0, 2);
    solver.before(a, c);
    solver.clause(&[!atom]);
    assert!(solver.value(atom));
    assert_eq!(solver.model_edges(), [(a, b)]);
    assert_eq!(solve(&mut solver, &[]), Outcome::Satisfiable);
    assert!(!solver.value(atom));
}

#[test]
#[should_panic(expected = "younger than the model")]
fn a_literal_younger_than_the_model_has_no_value() {
    let mut solver = Solver::new();
    solve(&mut solver, &[]);
    let lit = solver.literal();
    solver.value(lit);
}

#[test]
fn constants_in_clauses_and_assumptions() {
    let mut solver = Solver::new();
    let (yes, no) = (solver.constant(true), solver.constant(false));
    let lit = solver.literal();
    solver.clause(&[no, lit]);
    solver.clause(&[yes, !lit]);
    assert_eq!(solve(&mut solver, &[yes]), Outcome::Satisfiable);
    assert!(solver.value(lit) && solver.value(yes) && !solver.value(no));
    assert_eq!(solve(&mut solver, &[lit, no]), Outcome::Unsatisfiable);
    assert!(solver.failed(no) && !solver.failed(lit));
    solver.clause(&[no]);
    assert_eq!(solve(&mut solver, &[]), Outcome::Unsatisfiable);
}

#[test]
fn a_conflict_limit_interrupts_and_leaves_the_solver_usable() {
    let mut solver = Solver::new();
    let guard = pigeonhole(&mut solver, 8);
    assert_eq!(solver.solve(&[guard], &Limits::conflicts(20)), Outcome::Interrupted);
    assert!(solver.statistics().conflicts <= 21);
    assert_eq!(solver.solve(&[!guard], &Limits::conflicts(20)), Outcome::Satisfiable);
    assert_eq!(solve(&mut solver, &[guard]), Outcome::Unsatisfiable);
    assert!(solver.failed(guard));
}

#[test]
fn a_conflict_limit_counts_theory_conflicts() {
    let mut solver = Solver::new();
    let guard = tangle(&mut solver, 12);
    assert_eq!(solver.solve(&[guard], &Limits::conflicts(30)), Outcome::Interrupted);
    let Statistics { theory_conflicts, .. } = solver.statistics();
    assert!((1..60).contains(&theory_conflicts), "{theory_conflicts}");
    let limits = Limits::conflicts(1_000_000);
    let mut small = Solver::new();
    let guard = tangle(&mut small, 5);
    assert_eq!(small.solve(&[guard], &limits), Outcome::Unsatisfiable);
    assert_eq!(small.solve(&[!guard], &limits), Outcome::Satisfiable);
}

#[test]
fn a_deadline_interrupts() {
    let mut solver = Solver::new();
    let guard = pigeonhole(&mut solver, 13);
    let past = Limits { deadline: Some(Instant::now()), ..Limits::default() };
    assert_eq!(solver.solve(&[!guard], &past), Outcome::Interrupted);
    let soon = Instant::now() + Duration::from_millis(50);
    let soon = Limits { deadline: Some(soon), ..Limits::default() };
    assert_eq!(solver.solve(&[guard], &soon), Outcome::Interrupted);
    assert!(solver.statistics().conflicts > 0, "the search had begun");
    assert_eq!(solve(&mut solver, &[!guard]), Outcome::Satisfiable);
}

#[test]
fn a_stop_flag_interrupts() {
    let mut solver = Solver::new();
    let guard = pigeonhole(&mut solver, 13);
    static STOP: AtomicBool = AtomicBool::new(false);
    let limits = Limits { stop: Some(&STOP), ..Limits::default() };
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        STOP.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(solver.solve(&[guard], &limits), Outcome::Interrupted);
    other.join().unwrap();
}

/// The same calls give the same answers, models and counts.
#[test]
fn runs_are_repeatable() {
    let run = || {
        let mut random = Random::new(7);
        let mut solver = Solver::new();
        let nodes: Vec<_> = (0..40).map(|at| solver.node(at % 8, at / 8, u64::from(at))).collect();
        let mut trace = Vec::new();
        for _ in 0..20 {
            for _ in 0..12 {
                let clause: Vec<Lit> = (0..3)
                    .map(|_| {
                        loop {
                            let (a, b) = (random.pick(&nodes), random.pick(&nodes));
                            if a != b {
                                break solver.before(a, b);
                            }
                        }
                    })
                    .collect();
                solver.clause(&clause);
            }
            let outcome = solver.solve(&[], &Limits::conflicts(50));
            if outcome == Outcome::Satisfiable {
                trace.push(solver.model_edges());
            }
        }
        (trace, solver.statistics())
    };
    assert_eq!(run(), run());
}
