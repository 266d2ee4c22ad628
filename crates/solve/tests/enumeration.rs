//! Random small problems against brute force: every linear extension, every valuation.
//!
//! The problems grow over several rounds as the real ones do: nodes appear in the middle of
//! chains, homes of free nodes move, clauses and atoms are added between solves.

mod support;

use foretrace_solve::{Limits, Lit, Node, Outcome, Solver};
use support::{Problem, Random};

const CASES: u64 = 3000;
const CHAINS: u32 = 3;
const POSITIONS: u32 = 4;
const MAX_NODES: usize = 7;

/// A random problem together with the solver that it is told to.
struct Game {
    random: Random,
    solver: Solver,
    problem: Problem,
    /// The recorded order: by chain and position.
    homes: Vec<Vec<u64>>,
}

impl Game {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        // A random interleaving of the chains; even numbers, free nodes get odd ones.
        let mut homes = vec![Vec::new(); CHAINS as usize];
        let mut home = 0;
        while homes.iter().any(|chain| chain.len() < POSITIONS as usize) {
            let chain = random.below(CHAINS as usize);
            if homes[chain].len() < POSITIONS as usize {
                homes[chain].push(home);
                home += 2;
            }
        }
        Game { random, solver: Solver::new(), problem: Problem::default(), homes }
    }

    fn free_home(&mut self) -> u64 {
        2 * self.random.below((CHAINS * POSITIONS) as usize) as u64 + 1
    }

    fn add_nodes(&mut self) {
        for _ in 0..1 + self.random.below(3) {
            if self.problem.nodes.len() == MAX_NODES {
                return;
            }
            if self.random.chance(20) {
                let home = self.free_home();
                let node = self.solver.free_node(home);
                self.problem.nodes.push((node, None));
                continue;
            }
            let chain = self.random.below(CHAINS as usize) as u32;
            let position = self.random.below(POSITIONS as usize) as u32;
            let home = self.homes[chain as usize][position as usize];
            let node = self.solver.node(chain, position, home);
            assert_eq!(node, self.solver.node(chain, position, home), "idempotent");
            if self.problem.nodes.iter().all(|&(other, _)| other != node) {
                self.problem.nodes.push((node, Some((chain, position))));
            }
        }
    }

    fn move_homes(&mut self) {
        for at in 0..self.problem.nodes.len() {
            if let (node, None) = self.problem.nodes[at]
                && self.random.chance(50)
            {
                let home = self.free_home();
                self.solver.set_home(node, home);
            }
        }
    }

    fn add_fixed_edge(&mut self) {
        let (a, a_place) = self.random.pick(&self.problem.nodes);
        let (b, b_place) = self.random.pick(&self.problem.nodes);
        let (Some(a_place), Some(b_place)) = (a_place, b_place) else { return };
        let home = |(chain, position): (u32, u32)| self.homes[chain as usize][position as usize];
        if home(a_place) < home(b_place) {
            self.solver.fixed_edge(a, b);
            self.problem.fixed.push((a, b));
        }
    }

    fn random_lit(&mut self) -> Lit {
        let lit = if self.random.chance(15) && !self.problem.booleans.is_empty() {
            self.random.pick(&self.problem.booleans)
        } else {
            let (a, _) = self.random.pick(&self.problem.nodes);
            let (b, _) = self.random.pick(&self.problem.nodes);
            if a == b {
                self.solver.constant(self.random.chance(10))
            } else {
                let lit = self.solver.before(a, b);
                assert_eq!(lit, !self.solver.before(b, a));
                if self.problem.atoms.iter().all(|&(_, c, d)| (c, d) != (a, b)) {
                    self.problem.atoms.push((lit, a, b));
                }
                lit
            }
        };
        if self.random.chance(50) { lit } else { !lit }
    }

    fn add_clause(&mut self) {
        let size = self.random.pick(&[1, 2, 2, 3, 3, 3, 4]);
        let clause: Vec<Lit> = (0..size).map(|_| self.random_lit()).collect();
        self.solver.clause(&clause);
        self.problem.clauses.push(clause);
    }

    /// All linear extensions, as the rank of each node.
    fn extensions(&self) -> Vec<Vec<usize>> {
        fn extend(
            ranks: &mut Vec<usize>,
            at: usize,
            hard: &[(Node, Node)],
            all: &mut Vec<Vec<usize>>,
        ) {
            if at == ranks.len() {
                all.push(ranks.clone());
                return;
            }
            for node in 0..ranks.len() {
                let is_next = ranks[node] == usize::MAX
                    && hard
                        .iter()
                        .all(|(a, b)| b.index() != node || ranks[a.index()] != usize::MAX);
                if is_next {
                    ranks[node] = at;
                    extend(ranks, at + 1, hard, all);
                    ranks[node] = usize::MAX;
                }
            }
        }
        let mut all = Vec::new();
        let mut ranks = vec![usize::MAX; self.problem.nodes.len()];
        extend(&mut ranks, 0, &self.problem.hard_edges(), &mut all);
        all
    }

    fn reference(&self, extensions: &[Vec<usize>], assumptions: &[Lit]) -> bool {
        let truth = self.solver.constant(true);
        let holds = |lit: Lit, ranks: &[usize], valuation: usize| {
            for (positive, value) in [(lit, true), (!lit, false)] {
                if positive == truth {
                    return value;
                }
                if let Some(at) = self.problem.booleans.iter().position(|&b| b == positive) {
                    return (valuation >> at & 1 == 1) == value;
                }
                let atom = self.problem.atoms.iter().find(|&&(atom, ..)| atom == positive);
                if let Some((_, a, b)) = atom {
                    return (ranks[a.index()] < ranks[b.index()]) == value;
                }
            }
            panic!("{lit:?} is no literal of the problem");
        };
        (0..1 << self.problem.booleans.len()).any(|valuation| {
            extensions.iter().any(|ranks| {
                assumptions.iter().all(|&lit| holds(lit, ranks, valuation))
                    && self
                        .problem
                        .clauses
                        .iter()
                        .all(|clause| clause.iter().any(|&lit| holds(lit, ranks, valuation)))
            })
        })
    }

    fn ask(&mut self, tally: &mut Tally) {
        let count = self.random.below(5);
        let assumptions: Vec<Lit> = (0..count).map(|_| self.random_lit()).collect();
        let extensions = self.extensions();
        let expected = self.reference(&extensions, &assumptions);
        match self.solver.solve(&assumptions, &Limits::default()) {
            Outcome::Satisfiable => {
                assert!(expected, "wrongly satisfiable under {assumptions:?}");
                self.problem.check_model(&self.solver, &assumptions);
                tally.satisfiable += 1;
            }
            Outcome::Unsatisfiable => {
                assert!(!expected, "wrongly unsatisfiable under {assumptions:?}");
                let core: Vec<Lit> =
                    assumptions.iter().copied().filter(|&lit| self.solver.failed(lit)).collect();
                assert!(!self.reference(&extensions, &core), "{core:?} is no core");
                assert_eq!(self.solver.solve(&core, &Limits::default()), Outcome::Unsatisfiable);
                tally.unsatisfiable += 1;
                tally.unsatisfiable_by_assumption += usize::from(!core.is_empty());
            }
            Outcome::Interrupted => panic!("interrupted without a limit"),
        }
    }
}

#[derive(Default, Debug)]
struct Tally {
    satisfiable: usize,
    unsatisfiable: usize,
    unsatisfiable_by_assumption: usize,
    theory_conflicts: u64,
    reorders: u64,
}

fn play(seed: u64, tally: &mut Tally) {
    let mut game = Game::new(seed);
    for _ in 0..game.random.below(3) {
        let lit = game.solver.literal();
        game.problem.booleans.push(lit);
    }
    for _ in 0..4 {
        game.add_nodes();
        game.move_homes();
        if game.random.chance(40) {
            game.add_fixed_edge();
        }
        for _ in 0..1 + game.random.below(4) {
            game.add_clause();
        }
        for _ in 0..1 + game.random.below(3) {
            game.ask(tally);
        }
    }
    tally.theory_conflicts += game.solver.statistics().theory_conflicts;
    tally.reorders += game.solver.statistics().reorders;
}

#[test]
fn agrees_with_enumeration() {
    let mut tally = Tally::default();
    for seed in 0..CASES {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            play(seed, &mut tally);
        }));
        if let Err(panic) = result {
            eprintln!("seed {seed} fails");
            std::panic::resume_unwind(panic);
        }
    }
    eprintln!("{tally:?}");
    // The test must not be vacuous.
    assert!(tally.satisfiable > 2000 && tally.unsatisfiable_by_assumption > 2000, "{tally:?}");
    assert!(tally.theory_conflicts > 500 && tally.reorders > 500, "{tally:?}");
}
