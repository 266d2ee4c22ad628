//! The order theory as CaDiCaL sees it: an external propagator over order atoms.
//!
//! **Computes.** Whether the order atoms that are assigned, the chains and the fixed edges
//! together are acyclic; if not, a clause that forbids the cycle.
//!
//! **Follows.** Fazekas et al., *IPASIR-UP: User Propagators for CDCL*, SAT 2023; the use of a
//! dynamic topological order as the theory solver is as in He, Sun and Fan, *Satisfiability
//! modulo ordering consistency theory for multi-threaded program verification* (Deagle, Zord),
//! PLDI 2021. Deviations:
//! 1. No propagation from inside the theory: the rung clauses (see `ladder`) let the SAT solver
//!    do the propagation that pays.
//! 2. CaDiCaL may tell the same literal again and may still be at a deep level when `solve`
//!    returns. So assignments are a set, and [`Theory::rewind`] ends a solve by itself instead of
//!    waiting for CaDiCaL to backtrack.
//!
//! **Invariant.** `trail[..done]` is in the graph or absorbed; the rest is queued. Literals below
//! `levels[0]` are at the root level: CaDiCaL never tells them again, so they outlive the solve.
//! Between solves nothing is in the graph but chains, fixed edges, and the root-level edges
//! between chain nodes that agree with the homes; the other root-level literals are queued.
//!
//! **Cost.** See `order`; a rewind is linear in what the solve did beyond the persistent edges.
//!
//! Nothing here panics on purpose: a callback comes from C++, where a panic aborts the process.
//! What should be impossible is kept as a [`Theory::fault`], and the solver asserts on it.

use crate::ids::Node;
use crate::ladder::{LadderId, Reach};
use crate::order::{EdgeId, Order, Reason};

/// An order atom: its variable is true iff `first` is before `second`.
#[derive(Debug)]
pub(crate) struct Atom {
    pub(crate) variable: i32,
    pub(crate) first: AtomEnd,
    pub(crate) second: AtomEnd,
}

/// One side of an atom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomEnd {
    pub(crate) node: Node,
    /// Position in its chain and the ladder of the *other* side against that chain; `None` for a
    /// free node.
    pub(crate) rung: Option<(LadderId, u32)>,
}

#[derive(Debug)]
struct AtomState {
    atom: Atom,
    edge: EdgeId,
    /// 1 or -1 while the variable is assigned here, else 0.
    value: i8,
}

/// A literal on the trail and what undoes its effect.
#[derive(Debug)]
struct Step {
    literal: i32,
    atom: u32,
    effect: Effect,
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    /// Not handled yet, or implied by other edges.
    None,
    /// The edge is in the graph; these are the ladders' states from before, of the target's and
    /// of the source's rung.
    Linked(Reach, Reach),
}

const NO_ATOM: u32 = u32::MAX;

/// The theory's state.
#[derive(Debug, Default)]
pub(crate) struct Theory {
    pub(crate) order: Order,
    atoms: Vec<AtomState>,
    atom_of_variable: Vec<u32>,
    reaches: Vec<Reach>,
    trail: Vec<Step>,
    done: usize,
    levels: Vec<usize>,
    /// The literals of a conflict clause that CaDiCaL has still to fetch.
    clause: Vec<i32>,
    has_clause: bool,
    fault: Option<&'static str>,
    pub(crate) conflicts: u64,
    pub(crate) conflict_literals: u64,
}

impl Theory {
    /// Enters an atom. Its variable must become observed only afterwards.
    pub(crate) fn add_atom(&mut self, atom: Atom, ladder_count: usize) {
        let variable = atom.variable as usize;
        if self.atom_of_variable.len() <= variable {
            self.atom_of_variable.resize(variable + 1, NO_ATOM);
        }
        self.atom_of_variable[variable] = self.atoms.len() as u32;
        let edge = self.order.add_edge();
        self.atoms.push(AtomState { atom, edge, value: 0 });
        self.reaches.resize(ladder_count, Reach::NOTHING);
    }

    /// Enters an edge that always holds.
    pub(crate) fn add_fixed_edge(&mut self, from: Node, to: Node) {
        assert!(self.order.agrees_with_home(from, to), "a fixed edge goes forward in home order");
        let edge = self.order.add_edge();
        let inserted = self.order.insert(edge, from, to, Reason::Fixed);
        assert!(inserted, "all nodes are home, so a forward edge closes no cycle");
    }

    pub(crate) fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.atoms.iter().map(|state| &state.atom)
    }

    pub(crate) fn atom_count(&self) -> usize {
        self.atoms.len()
    }

    /// The value of an atom's variable; `None` if it is not an atom or not assigned.
    pub(crate) fn value(&self, variable: usize) -> Option<bool> {
        let value = self.atoms.get(self.atom_index(variable)?)?.value;
        (value != 0).then_some(value > 0)
    }

    /// What went wrong inside a callback, if anything.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        self.fault
    }

    /// Ends a solve: back to the root level, all nodes home, root-level edges kept or queued.
    pub(crate) fn rewind(&mut self) {
        self.backtrack(0);
        self.has_clause = false;
        for step in self.trail[..self.done].iter_mut().rev() {
            undo(step, &self.atoms, &mut self.order, &mut self.reaches);
        }
        self.done = 0;
        self.order.go_home();
        // An edge between two chain nodes that agrees with the homes agrees forever, so it goes
        // in for good. A free node's home may move, so its literals are queued for each solve.
        let mut kept = 0;
        for at in 0..self.trail.len() {
            let Step { literal, atom, .. } = self.trail[at];
            let side = self.directed(atom, literal);
            let is_permanent = side.from.rung.is_some()
                && side.to.rung.is_some()
                && self.order.agrees_with_home(side.from.node, side.to.node);
            if is_permanent {
                let effect = self.link(atom, literal, Reason::Root(literal));
                assert!(effect.is_some(), "an edge that agrees with the homes closes no cycle");
            } else {
                self.trail.swap(kept, at);
                kept += 1;
            }
        }
        self.trail.truncate(kept);
    }

    fn atom_index(&self, variable: usize) -> Option<usize> {
        let index = *self.atom_of_variable.get(variable)?;
        (index != NO_ATOM).then_some(index as usize)
    }

    fn directed(&self, atom: u32, literal: i32) -> Directed {
        let Atom { first, second, .. } = self.atoms[atom as usize].atom;
        if literal > 0 {
            Directed { from: first, to: second }
        } else {
            Directed { from: second, to: first }
        }
    }

    fn assign(&mut self, literal: i32) {
        let Some(index) = self.atom_index(literal.unsigned_abs() as usize) else {
            // CaDiCaL may tell a fixed variable that is not observed, after it has merged
            // variables.
            return;
        };
        let value = &mut self.atoms[index].value;
        let sign = literal.signum() as i8;
        if *value == sign {
            return;
        }
        if *value != 0 {
            self.fault = Some("CaDiCaL told both an atom and its negation");
            return;
        }
        *value = sign;
        self.trail.push(Step { literal, atom: index as u32, effect: Effect::None });
    }

    /// Handles the queue; false if a conflict clause is waiting.
    fn run(&mut self) -> bool {
        if self.has_clause {
            return false;
        }
        while self.done < self.trail.len() {
            let Step { literal, atom, .. } = self.trail[self.done];
            let is_root = self.levels.first().is_none_or(|&start| self.done < start);
            let reason = if is_root { Reason::Root(literal) } else { Reason::Literal(literal) };
            let Some(effect) = self.link(atom, literal, reason) else {
                self.clause.clear();
                self.clause.push(-literal);
                self.clause.extend(self.order.cycle().iter().map(|&literal| -literal));
                self.has_clause = true;
                self.conflicts += 1;
                self.conflict_literals += self.clause.len() as u64;
                return false;
            };
            self.trail[self.done].effect = effect;
            self.done += 1;
        }
        true
    }

    /// Puts an edge into the graph unless a ladder shows that it is implied; `None` for a cycle.
    fn link(&mut self, atom: u32, literal: i32, reason: Reason) -> Option<Effect> {
        let Directed { from, to } = self.directed(atom, literal);
        let reach = |rung: Option<(LadderId, u32)>| match rung {
            Some((ladder, position)) => (self.reaches[ladder.index()], position),
            None => (Reach::NOTHING, 0),
        };
        let (to_reach, to_position) = reach(to.rung);
        let (from_reach, from_position) = reach(from.rung);
        if to_reach.implies_after(to_position) || from_reach.implies_before(from_position) {
            return Some(Effect::None);
        }
        let edge = self.atoms[atom as usize].edge;
        if !self.order.insert(edge, from.node, to.node, reason) {
            return None;
        }
        if let Some((ladder, position)) = to.rung {
            self.reaches[ladder.index()] = to_reach.with_after(position);
        }
        if let Some((ladder, position)) = from.rung {
            self.reaches[ladder.index()] = from_reach.with_before(position);
        }
        Some(Effect::Linked(to_reach, from_reach))
    }

    fn backtrack(&mut self, level: usize) {
        if level >= self.levels.len() {
            return;
        }
        let start = self.levels[level];
        self.levels.truncate(level);
        self.has_clause = false;
        while self.trail.len() > start {
            let mut step = self.trail.pop().expect("the trail is longer than its start");
            undo(&mut step, &self.atoms, &mut self.order, &mut self.reaches);
            self.atoms[step.atom as usize].value = 0;
        }
        self.done = self.done.min(start);
    }
}

/// The two ends of an atom in the direction that its literal asserts.
struct Directed {
    from: AtomEnd,
    to: AtomEnd,
}

/// Takes back what [`Theory::link`] did for a step, which must be the last one in effect.
fn undo(step: &mut Step, atoms: &[AtomState], order: &mut Order, reaches: &mut [Reach]) {
    let Effect::Linked(to_reach, from_reach) = step.effect else {
        return;
    };
    step.effect = Effect::None;
    let AtomState { atom, edge, .. } = &atoms[step.atom as usize];
    order.remove(*edge);
    let (from, to) = match step.literal > 0 {
        true => (atom.first, atom.second),
        false => (atom.second, atom.first),
    };
    if let Some((ladder, _)) = to.rung {
        reaches[ladder.index()] = to_reach;
    }
    if let Some((ladder, _)) = from.rung {
        reaches[ladder.index()] = from_reach;
    }
}

impl cadical_sys::ExternalPropagator for Theory {
    fn are_reasons_forgettable(&mut self) -> bool {
        true
    }

    fn notify_assignment(&mut self, literals: &[i32]) {
        // Only queued: CaDiCaL is in the middle of something and takes no clause now.
        for &literal in literals {
            self.assign(literal);
        }
    }

    fn notify_new_decision_level(&mut self) {
        self.levels.push(self.trail.len());
    }

    fn notify_backtrack(&mut self, new_level: usize) {
        self.backtrack(new_level);
    }

    fn cb_check_found_model(&mut self, model: &[i32]) -> bool {
        if !self.run() {
            return false;
        }
        // The answer rests on the theory having seen the whole model, so this is checked.
        let mut seen = 0;
        for &literal in model {
            if let Some(index) = self.atom_index(literal.unsigned_abs() as usize) {
                seen += 1;
                if self.atoms[index].value != literal.signum() as i8 {
                    self.fault = Some("CaDiCaL found a model that it had not told");
                }
            }
        }
        if seen != self.atoms.len() {
            self.fault = Some("CaDiCaL found a model without some atom");
        }
        true
    }

    fn cb_propagate(&mut self) -> i32 {
        self.run();
        0
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = true;
        !self.run()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        match self.clause.pop() {
            Some(literal) => literal,
            None => {
                self.has_clause = false;
                0
            }
        }
    }
}
