//! Random middle-sized problems against a plain SAT encoding of orders.
//!
//! The reference has a variable for each pair of nodes and a clause for each triple, and no
//! theory at all. The problems are near the border between the two verdicts and take hundreds of
//! conflicts, so that restarts, clause deletion and inprocessing of CaDiCaL meet the theory.

mod support;

use cadical_sys::{CaDiCal, Status};
use foretrace_solve::{Limits, Lit, Node, Outcome, Solver};
use support::{Problem, Random};

/// Orders as plain clauses.
struct Reference {
    cadical: CaDiCal,
    nodes: usize,
}

impl Reference {
    fn new(nodes: usize) -> Self {
        let mut reference = Reference { cadical: CaDiCal::new(), nodes };
        for a in 0..nodes {
            for b in 0..nodes {
                for c in 0..nodes {
                    if a != b && b != c && a != c {
                        let (ab, bc, ac) =
                            (reference.pair(a, b), reference.pair(b, c), reference.pair(a, c));
                        reference.cadical.clause3(-ab, -bc, ac);
                    }
                }
            }
        }
        reference
    }

    fn pair(&self, a: usize, b: usize) -> i32 {
        if a < b { (a * self.nodes + b + 1) as i32 } else { -((b * self.nodes + a + 1) as i32) }
    }
}

struct Rounds {
    random: Random,
    solver: Solver,
    reference: Reference,
    problem: Problem,
    /// The names of the nodes in the reference, by the solver's number.
    names: Vec<usize>,
}

impl Rounds {
    fn name(&self, node: Node) -> usize {
        self.names[node.index()]
    }

    /// A random order literal, in both languages.
    fn random_lit(&mut self) -> (Lit, i32) {
        loop {
            let (a, a_place) = self.random.pick(&self.problem.nodes);
            let (b, b_place) = self.random.pick(&self.problem.nodes);
            let chain = |place: Option<(u32, u32)>| place.map(|(chain, _)| chain);
            if a == b || (a_place.is_some() && chain(a_place) == chain(b_place)) {
                continue;
            }
            let lit = self.solver.before(a, b);
            if self.problem.atoms.iter().all(|&(other, ..)| other != lit) {
                self.problem.atoms.push((lit, a, b));
            }
            return (lit, self.reference.pair(self.name(a), self.name(b)));
        }
    }

    fn ask(&mut self, tally: &mut [usize; 2]) {
        let assumed: Vec<(Lit, i32)> =
            (0..self.random.below(6)).map(|_| self.random_lit()).collect();
        let assumptions: Vec<Lit> = assumed.iter().map(|&(lit, _)| lit).collect();
        for &(_, code) in &assumed {
            self.reference.cadical.assume(code);
        }
        let expected = self.reference.cadical.solve();
        let found = self.solver.solve(&assumptions, &Limits::default());
        match found {
            Outcome::Satisfiable => {
                assert_eq!(expected, Status::SATISFIABLE);
                self.problem.check_model(&self.solver, &assumptions);
                tally[0] += 1;
            }
            Outcome::Unsatisfiable => {
                assert_eq!(expected, Status::UNSATISFIABLE);
                for &(lit, code) in &assumed {
                    if self.solver.failed(lit) {
                        self.reference.cadical.assume(code);
                    }
                }
                assert_eq!(self.reference.cadical.solve(), Status::UNSATISFIABLE, "no core");
                tally[1] += 1;
            }
            Outcome::Interrupted => panic!("interrupted without a limit"),
        }
    }
}

fn play(seed: u64, tally: &mut [usize; 2], conflicts: &mut u64) {
    const CHAINS: usize = 16;
    const POSITIONS: usize = 3;
    const FREE: usize = 2;
    let mut random = Random::new(seed);
    // All places in random order: so nodes appear anywhere in their chains.
    let mut places: Vec<(u32, u32)> = (0..CHAINS as u32)
        .flat_map(|chain| (0..POSITIONS as u32).map(move |position| (chain, position)))
        .collect();
    for at in (1..places.len()).rev() {
        places.swap(at, random.below(at + 1));
    }
    let mut rounds = Rounds {
        random,
        solver: Solver::new(),
        reference: Reference::new(CHAINS * POSITIONS + FREE),
        problem: Problem::default(),
        names: Vec::new(),
    };
    for free in 0..FREE {
        let node = rounds.solver.free_node(free as u64);
        rounds.problem.nodes.push((node, None));
        rounds.names.push(CHAINS * POSITIONS + free);
    }
    for (chain, position) in (0..CHAINS).flat_map(|c| (1..POSITIONS).map(move |p| (c, p))) {
        let name = |position| chain * POSITIONS + position;
        let step = rounds.reference.pair(name(position - 1), name(position));
        rounds.reference.cadical.clause1(step);
    }
    for round in 0..4 {
        for (chain, position) in places.split_off(places.len() - places.len() / (4 - round)) {
            let home = u64::from(position) * 100 + u64::from(chain * 7 % 16) + 10;
            let node = rounds.solver.node(chain, position, home);
            rounds.problem.nodes.push((node, Some((chain, position))));
            rounds.names.push(chain as usize * POSITIONS + position as usize);
        }
        for &(node, place) in &rounds.problem.nodes {
            if place.is_none() {
                let home = rounds.random.below(300) as u64;
                rounds.solver.set_home(node, home);
            }
        }
        for _ in 0..rounds.problem.nodes.len() * 3 {
            let clause: Vec<(Lit, i32)> = (0..3).map(|_| rounds.random_lit()).collect();
            for &(_, code) in &clause {
                rounds.reference.cadical.add(code);
            }
            rounds.reference.cadical.add(0);
            let clause: Vec<Lit> = clause.iter().map(|&(lit, _)| lit).collect();
            rounds.solver.clause(&clause);
            rounds.problem.clauses.push(clause);
        }
        for _ in 0..8 {
            rounds.ask(tally);
        }
    }
    *conflicts += rounds.solver.statistics().conflicts;
}

#[test]
fn agrees_with_plain_clauses() {
    let (mut tally, mut conflicts) = ([0; 2], 0);
    for seed in 0..10 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            play(seed, &mut tally, &mut conflicts);
        }));
        if let Err(panic) = result {
            eprintln!("seed {seed} fails");
            std::panic::resume_unwind(panic);
        }
    }
    eprintln!("satisfiable, unsatisfiable: {tally:?}; {conflicts} conflicts");
    assert!(tally.iter().all(|&count| count > 50), "{tally:?}");
    assert!(conflicts > 10_000, "{conflicts} conflicts");
}
