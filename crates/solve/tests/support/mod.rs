//! What the tests share: a generator of random numbers and an independent check of models.

#![allow(dead_code, reason = "each test binary uses its part")]

use foretrace_solve::{Lit, Node, Solver};
pub(crate) use foretrace_testing::Random;

/// What the test itself knows of the problem, kept apart from the solver.
#[derive(Default)]
pub(crate) struct Problem {
    /// All nodes with their chain and position; `None` for free nodes.
    pub(crate) nodes: Vec<(Node, Option<(u32, u32)>)>,
    pub(crate) fixed: Vec<(Node, Node)>,
    pub(crate) atoms: Vec<(Lit, Node, Node)>,
    pub(crate) booleans: Vec<Lit>,
    pub(crate) clauses: Vec<Vec<Lit>>,
}

impl Problem {
    /// The edges that always hold: all pairs of a chain (not only neighbours), and fixed ones.
    pub(crate) fn hard_edges(&self) -> Vec<(Node, Node)> {
        let mut edges = self.fixed.clone();
        for &(a, a_place) in &self.nodes {
            for &(b, b_place) in &self.nodes {
                if let (Some((c, p)), Some((d, q))) = (a_place, b_place)
                    && c == d
                    && p < q
                {
                    edges.push((a, b));
                }
            }
        }
        edges
    }

    /// Asserts that the solver's model is one.
    pub(crate) fn check_model(&self, solver: &Solver, assumptions: &[Lit]) {
        for clause in &self.clauses {
            assert!(clause.iter().any(|&lit| solver.value(lit)), "clause {clause:?} is false");
        }
        for &lit in assumptions {
            assert!(solver.value(lit), "assumption {lit:?} is false");
        }
        let model_edges = solver.model_edges();
        for &(lit, a, b) in &self.atoms {
            let edge = if solver.value(lit) { (a, b) } else { (b, a) };
            let is_hard = |node: Node| self.nodes.iter().find(|&&(n, _)| n == node).unwrap().1;
            let same_chain = match (is_hard(a), is_hard(b)) {
                (Some((c, _)), Some((d, _))) => c == d,
                _ => false,
            };
            assert!(same_chain || model_edges.contains(&edge), "{edge:?} is no model edge");
        }
        let mut edges = self.hard_edges();
        edges.extend(model_edges);
        assert_acyclic(self.nodes.len(), &edges);
    }
}

/// Depth-first search with three colours.
pub(crate) fn assert_acyclic(node_count: usize, edges: &[(Node, Node)]) {
    fn visit(node: usize, next: &[Vec<usize>], colour: &mut [u8]) {
        assert_ne!(colour[node], 1, "the model has a cycle through {node}");
        if colour[node] == 0 {
            colour[node] = 1;
            for &other in &next[node] {
                visit(other, next, colour);
            }
            colour[node] = 2;
        }
    }
    let mut next = vec![Vec::new(); node_count];
    for &(from, to) in edges {
        next[from.index()].push(to.index());
    }
    let mut colour = vec![0; node_count];
    for node in 0..node_count {
        visit(node, &next, &mut colour);
    }
}
