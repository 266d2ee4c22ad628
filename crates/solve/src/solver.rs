//! The solver: clauses over literals and order atoms, solved again and again.

use std::cell::RefCell;
use std::rc::Rc;

use cadical_sys::{CaDiCal, Status};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::chains::{ChainPlace, Chains};
use crate::ids::{Lit, Node};
use crate::ladder::Ladders;
use crate::limits::{Limits, Watch};
use crate::theory::{Atom, AtomEnd, Theory};

/// What [`Solver::solve`] found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// There is a model; [`Solver::value`] and [`Solver::model_edges`] describe it.
    Satisfiable,
    /// There is none; [`Solver::failed`] tells which assumptions are to blame.
    Unsatisfiable,
    /// A limit was hit first.
    Interrupted,
}

/// How much work was done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Calls of [`Solver::solve`].
    pub solves: u64,
    /// Conflicts of the SAT solver, theory conflicts included.
    pub conflicts: u64,
    /// Cycles found by the order theory.
    pub theory_conflicts: u64,
    /// Literals in the clauses of these cycles.
    pub theory_conflict_literals: u64,
    /// Order atoms.
    pub atoms: u64,
    /// Variables, order atoms included.
    pub variables: u64,
    /// Active nodes.
    pub nodes: u64,
    /// Edges against the current topological order that closed no cycle.
    pub reorders: u64,
    /// Nodes that got another place through these.
    pub relabelled: u64,
}

/// CaDiCaL's options that we insist on.
///
/// `chrono`: with chronological backtracking the trail is not in the order of the levels, which
/// the theory relies on. `factor`: would add variables of its own. `inprocessing`: the questions
/// are many and small; without it `bench orders` is up to a fifth faster.
const OPTIONS: [(&str, i32); 3] = [("chrono", 0), ("factor", 0), ("inprocessing", 0)];

/// A SAT solver with an order theory.
///
/// Nodes, atoms and clauses are only ever added, between calls of [`Solver::solve`]; what one
/// question needs and the next does not is an assumption. Learned clauses stay.
pub struct Solver {
    cadical: CaDiCal,
    theory: Rc<RefCell<Theory>>,
    watch: Rc<RefCell<Watch>>,
    chains: Chains,
    ladders: Ladders,
    /// By (smaller node, larger node): the literal "smaller before larger".
    atoms: FxHashMap<(Node, Node), Lit>,
    truth: Lit,
    variable_count: usize,
    clause_count: u64,
    /// By variable: the last model. Empty if the last solve found none.
    model: Vec<bool>,
    /// The failed assumptions of the last solve.
    core: FxHashSet<Lit>,
    last: Option<Outcome>,
    solves: u64,
}

impl Default for Solver {
    fn default() -> Self {
        Self::new()
    }
}

impl Solver {
    /// A solver without nodes, atoms and clauses.
    pub fn new() -> Self {
        let mut cadical = CaDiCal::new();
        for (name, value) in OPTIONS {
            assert!(cadical.set(name, value), "CaDiCaL knows no option {name}");
        }
        let theory = Rc::new(RefCell::new(Theory::default()));
        let watch = Rc::new(RefCell::new(Watch::new(theory.clone())));
        cadical.connect_external_propagator(theory.clone());
        cadical.connect_terminator(watch.clone());
        let truth = cadical.declare_one_more_variable();
        cadical.clause1(truth);
        Solver {
            cadical,
            theory,
            watch,
            chains: Chains::default(),
            ladders: Ladders::default(),
            atoms: FxHashMap::default(),
            truth: Lit::from_code(truth),
            variable_count: truth as usize,
            clause_count: 0,
            model: Vec::new(),
            core: FxHashSet::default(),
            last: None,
            solves: 0,
        }
    }

    /// The node at `position` of `chain`; the same node each time it is asked for.
    ///
    /// A chain is totally ordered by position. `home` is the node's place in the recorded total
    /// order: it increases along each chain, and no two chain nodes share it.
    pub fn node(&mut self, chain: u32, position: u32, home: u64) -> Node {
        let place = ChainPlace { chain, position };
        let order = &mut self.theory.borrow_mut().order;
        if let Some(node) = self.chains.find(place) {
            assert_eq!(order.home(node), home, "a chain node has one home");
            return node;
        }
        let node = order.add_node(home);
        let (previous, next) = self.chains.add(node, place);
        order.link_chain(node, previous, next);
        node
    }

    /// A new node in no chain: a moment of its own.
    ///
    /// Its home may equal that of a chain node; then which of the two comes first in the recorded
    /// order is unspecified.
    pub fn free_node(&mut self, home: u64) -> Node {
        let node = self.theory.borrow_mut().order.add_node(home);
        self.chains.add_free(node);
        node
    }

    /// Moves a free node's home. This is about speed only: facts that agree with the homes are
    /// cheap, so a home near to where the next question will put the node saves work.
    pub fn set_home(&mut self, node: Node, home: u64) {
        assert!(self.chains.place(node).is_none(), "only a free node can move its home");
        self.theory.borrow_mut().order.set_home(node, home);
    }

    /// Adds an edge that always holds, between chain nodes, forward in the order of the homes.
    pub fn fixed_edge(&mut self, from: Node, to: Node) {
        assert!(
            self.chains.place(from).is_some() && self.chains.place(to).is_some(),
            "the home of a free node moves, so it has no fixed edges"
        );
        self.theory.borrow_mut().add_fixed_edge(from, to);
    }

    /// The literal that is always true, or always false.
    pub fn constant(&self, value: bool) -> Lit {
        if value { self.truth } else { !self.truth }
    }

    /// A fresh variable that the solver first tries to make false.
    pub fn literal(&mut self) -> Lit {
        self.literal_with_phase(false)
    }

    /// A fresh variable that the solver first tries to give the value `phase`.
    pub fn literal_with_phase(&mut self, phase: bool) -> Lit {
        let code = self.cadical.declare_one_more_variable();
        self.variable_count += 1;
        assert_eq!(code as usize, self.variable_count, "CaDiCaL numbers variables in order");
        self.cadical.phase(if phase { code } else { -code });
        Lit::from_code(code)
    }

    /// The literal "`a` is before `b`"; its negation is "`b` is before `a`".
    ///
    /// The same pair gives the same literal each time. Two nodes of one chain give a constant.
    /// The solver first tries the recorded order; between a chain node and a free node it first
    /// tries the free node before the chain node.
    pub fn before(&mut self, a: Node, b: Node) -> Lit {
        assert!(a != b, "an order atom needs two nodes");
        if a > b {
            return !self.before(b, a);
        }
        let (a_place, b_place) = (self.chains.place(a), self.chains.place(b));
        if let (Some(a_place), Some(b_place)) = (a_place, b_place)
            && a_place.chain == b_place.chain
        {
            return self.constant(a_place.position < b_place.position);
        }
        if let Some(&lit) = self.atoms.get(&(a, b)) {
            return lit;
        }
        let recorded = self.theory.borrow().order.agrees_with_home(a, b);
        let phase = match (a_place, b_place) {
            (Some(_), None) => false,
            (None, Some(_)) => true,
            _ => recorded,
        };
        let lit = self.literal_with_phase(phase);
        self.atoms.insert((a, b), lit);
        let atom = Atom {
            variable: lit.code(),
            first: self.atom_end(a, b, lit),
            second: self.atom_end(b, a, !lit),
        };
        self.theory.borrow_mut().add_atom(atom, self.ladders.count());
        // CaDiCaL may call back from here, so the theory must not be borrowed.
        self.cadical.add_observed_var(lit.code());
        lit
    }

    /// One side of a new atom, with `lit` for "`node` is before `other`". Adds the rung clauses.
    fn atom_end(&mut self, node: Node, other: Node, lit: Lit) -> AtomEnd {
        let Some(ChainPlace { chain, position }) = self.chains.place(node) else {
            return AtomEnd { node, rung: None };
        };
        let ladder = self.ladders.ladder(other, chain);
        let neighbours = self.ladders.add_rung(ladder, position, lit);
        if let Some(earlier) = neighbours.earlier {
            self.clause(&[!lit, earlier]);
        }
        if let Some(later) = neighbours.later {
            self.clause(&[!later, lit]);
        }
        AtomEnd { node, rung: Some((ladder, position)) }
    }

    /// Adds a clause. The empty clause makes everything unsatisfiable from now on.
    pub fn clause(&mut self, lits: &[Lit]) {
        if lits.contains(&self.truth) {
            return;
        }
        for &lit in lits {
            assert!(lit.variable() <= self.variable_count, "a literal of another solver");
            if lit != !self.truth {
                self.cadical.add(lit.code());
            }
        }
        self.cadical.add(0);
        self.clause_count += 1;
    }

    /// Looks for a model of all clauses in which the assumptions hold and the order atoms,
    /// together with chains and fixed edges, form an order.
    pub fn solve(&mut self, assumptions: &[Lit], limits: &Limits) -> Outcome {
        self.solves += 1;
        self.model.clear();
        self.core.clear();
        let outcome = if assumptions.contains(&!self.truth) {
            self.core.insert(!self.truth);
            Outcome::Unsatisfiable
        } else if limits.is_over() {
            Outcome::Interrupted
        } else {
            self.search(assumptions, limits)
        };
        self.last = Some(outcome);
        outcome
    }

    fn search(&mut self, assumptions: &[Lit], limits: &Limits) -> Outcome {
        for &lit in assumptions {
            assert!(lit.variable() <= self.variable_count, "a literal of another solver");
            if lit != self.truth {
                self.cadical.assume(lit.code());
            }
        }
        if let Some(conflicts) = limits.conflicts {
            let limit = i32::try_from(conflicts).unwrap_or(i32::MAX);
            assert!(self.cadical.limit("conflicts", limit), "CaDiCaL has a conflict limit");
        }
        self.watch.borrow_mut().start(limits);
        let status = self.cadical.solve();
        if let Some(fault) = self.theory.borrow().fault() {
            panic!("order theory: {fault}");
        }
        let outcome = match status {
            Status::SATISFIABLE => {
                self.keep_model();
                Outcome::Satisfiable
            }
            Status::UNSATISFIABLE => {
                self.keep_core(assumptions);
                Outcome::Unsatisfiable
            }
            Status::UNKNOWN => Outcome::Interrupted,
        };
        self.theory.borrow_mut().rewind();
        outcome
    }

    /// Copies the model, because CaDiCaL forgets it with the next clause.
    fn keep_model(&mut self) {
        let theory = self.theory.borrow();
        self.model.push(false);
        for variable in 1..=self.variable_count {
            let value = match theory.value(variable) {
                Some(value) => value,
                None => self.cadical.val(variable as i32) > 0,
            };
            self.model.push(value);
        }
    }

    fn keep_core(&mut self, assumptions: &[Lit]) {
        for &lit in assumptions {
            if lit != self.truth && self.cadical.failed(lit.code()) {
                self.core.insert(lit);
            }
        }
    }

    /// The value of a literal in the model of the last solve, which must have found one.
    ///
    /// Adding nodes, atoms and clauses leaves the model as it is; a literal made since then has
    /// no value and panics.
    pub fn value(&self, lit: Lit) -> bool {
        assert_eq!(self.last, Some(Outcome::Satisfiable), "there is no model");
        assert!(lit.variable() < self.model.len(), "the literal is younger than the model");
        self.model[lit.variable()] == lit.is_positive()
    }

    /// Whether an assumption of the last solve, which must have been unsatisfiable, belongs to
    /// the reason: the clauses and the failed assumptions alone have no model.
    pub fn failed(&self, lit: Lit) -> bool {
        assert_eq!(self.last, Some(Outcome::Unsatisfiable), "nothing has failed");
        self.core.contains(&lit)
    }

    /// Each order atom of the last model as an edge from the earlier to the later node.
    ///
    /// All of them, together with the chains and the fixed edges, form no cycle.
    pub fn model_edges(&self) -> Vec<(Node, Node)> {
        assert_eq!(self.last, Some(Outcome::Satisfiable), "there is no model");
        let theory = self.theory.borrow();
        let known = theory.atoms().filter(|atom| (atom.variable as usize) < self.model.len());
        known
            .map(|atom| match self.model[atom.variable as usize] {
                true => (atom.first.node, atom.second.node),
                false => (atom.second.node, atom.first.node),
            })
            .collect()
    }

    /// The order atoms from number `start` on, in the order in which they were made: two nodes, and
    /// the literal that the first is before the second.
    pub fn atoms_from(&self, start: usize) -> Vec<(Node, Node, Lit)> {
        let theory = self.theory.borrow();
        let atoms = theory.atoms().skip(start);
        let atom = |atom: &Atom| (atom.first.node, atom.second.node, Lit::from_code(atom.variable));
        atoms.map(atom).collect()
    }

    /// How many clauses were added.
    pub fn clauses(&self) -> u64 {
        self.clause_count
    }

    /// How many variables there are, order atoms included.
    pub fn variables(&self) -> u64 {
        self.variable_count as u64
    }

    /// How much work was done so far.
    pub fn statistics(&self) -> Statistics {
        let theory = self.theory.borrow();
        Statistics {
            solves: self.solves,
            conflicts: self.cadical.get_statistic_value("conflicts").unsigned_abs(),
            theory_conflicts: theory.conflicts,
            theory_conflict_literals: theory.conflict_literals,
            atoms: theory.atom_count() as u64,
            variables: self.variable_count as u64,
            nodes: theory.order.node_count() as u64,
            reorders: theory.order.reorders(),
            relabelled: theory.order.relabelled(),
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // Disconnecting may call back once more, so it happens while all parts are alive.
        self.cadical.disconnect_external_propagator();
        self.cadical.disconnect_terminator();
    }
}
