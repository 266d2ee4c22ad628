//! The prefix tree of what a thread did in several runs.
//!
//! **Invariant.** A node has a statement unless all runs that come here end here, and one way on for each outcome that a run had.

use crate::ir::LocationId;

use super::steps::{Outcome, Statement, Step};
use super::{MergeError, Spot, exchange};

/// What a thread did; the first node is the root.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

/// A point that the thread comes to.
#[derive(Clone, Default, Debug)]
pub(super) struct Node {
    /// What it does there; `None` if no run shows it.
    pub(super) next: Option<Next>,
    ways: Vec<(Outcome, NodeId)>,
}

/// The statement at a point.
#[derive(Clone, Debug)]
pub(super) struct Next {
    pub(super) statement: Statement,
    pub(super) location: Option<LocationId>,
    /// Where the first run that came here has it.
    pub(super) spot: Spot,
}

/// A node of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NodeId(usize);

impl Default for Tree {
    fn default() -> Tree {
        Tree { nodes: vec![Node::default()] }
    }
}

impl Tree {
    pub(super) const ROOT: NodeId = NodeId(0);

    pub(super) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.0]
    }

    /// Adds what the thread did in one more run.
    pub(super) fn insert(&mut self, thread: &str, steps: Vec<Step>) -> Result<(), MergeError> {
        let mut at = Tree::ROOT;
        let mut steps = steps.into_iter();
        while let Some(step) = steps.next() {
            self.turn_into_exchange(at, &step);
            let node = &mut self.nodes[at.0];
            let outcome = match &node.next {
                None => {
                    let Step { statement, location, outcome, spot } = step;
                    node.next = Some(Next { statement, location, spot });
                    outcome
                }
                Some(next) if next.location != step.location => {
                    return Err(different(thread, next, step.spot));
                }
                Some(next) if next.statement == step.statement => step.outcome,
                Some(next) if exchange::may_be_failed(&next.statement, &step.statement) => {
                    let Some(branch) = steps.next() else { return Ok(()) };
                    let is_tested = exchange::is_tested_by(&next.statement, &branch.statement);
                    if !is_tested || branch.outcome != Outcome::Yes(false) {
                        return Err(different(thread, next, step.spot));
                    }
                    branch.outcome
                }
                Some(next) => return Err(different(thread, next, step.spot)),
            };
            at = self.follow(at, outcome);
        }
        Ok(())
    }

    /// If this run shows a compare-and-exchange, and others have shown how it failed, makes that the same statement.
    fn turn_into_exchange(&mut self, at: NodeId, step: &Step) {
        let Some(next) = &self.node(at).next else { return };
        let may_be = exchange::may_be_failed(&step.statement, &next.statement);
        if !may_be || next.location != step.location {
            return;
        }
        let behind = self.node(at).way(&Outcome::Only).map(|behind| self.node(behind));
        let ways = match behind.and_then(|behind| Some((behind.next.as_ref()?, &behind.ways))) {
            None => Vec::new(),
            Some((branch, ways)) if exchange::is_tested_by(&step.statement, &branch.statement) => {
                ways.clone()
            }
            Some(_) => return,
        };
        // Had it succeeded in this form, it would be a read and no exchange.
        if ways.iter().all(|(outcome, _)| *outcome == Outcome::Yes(false)) {
            let node = &mut self.nodes[at.0];
            let spot = step.spot.clone();
            let (statement, location) = (step.statement.clone(), step.location);
            (node.next, node.ways) = (Some(Next { statement, location, spot }), ways);
        }
    }

    /// Goes on from a node with an outcome.
    fn follow(&mut self, at: NodeId, outcome: Outcome) -> NodeId {
        if let Some(known) = self.node(at).way(&outcome) {
            return known;
        }
        let new = NodeId(self.nodes.len());
        self.nodes.push(Node::default());
        self.nodes[at.0].ways.push((outcome, new));
        new
    }
}

fn different(thread: &str, next: &Next, second: Spot) -> MergeError {
    let what = format!("thread {thread} goes on differently without a branch");
    MergeError::Different { what, first: next.spot.clone(), second }
}

impl Node {
    /// Where the thread goes on after this outcome, if a run had it.
    pub(super) fn way(&self, outcome: &Outcome) -> Option<NodeId> {
        self.ways.iter().find(|(known, _)| known == outcome).map(|(_, node)| *node)
    }

    /// All outcomes, and where they lead.
    pub(super) fn ways(&self) -> &[(Outcome, NodeId)] {
        &self.ways
    }
}
