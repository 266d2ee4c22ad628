//! The prefix tree of what a thread did in several runs.
//!
//! **Invariant.** A node has a statement unless all runs that come here end here, and one way on
//! for each outcome that a run had. Where runs go on differently after the same outcomes the trees
//! of recorded runs are cut: what each of them did then depends on something that the traces do not
//! show, and must not be mixed with what the other one did.

use foretrace_trace::EventId;
use foretrace_trace::expr::{BinaryOp, Expr};

use crate::ir::LocationId;

use super::steps::{Condition, ExecutedStatement, Outcome, Statement};
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
    /// The events that are this statement, by run.
    pub(super) events: Vec<(usize, EventId)>,
    /// Runs part here for a reason that they do not show.
    is_cut: bool,
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
pub(super) struct NodeId(pub(super) usize);

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
    pub(super) fn insert(
        &mut self,
        thread: &str,
        steps: Vec<ExecutedStatement>,
    ) -> Result<(), MergeError> {
        self.add(thread, steps, false).map_err(|(_, error)| error)
    }

    /// As [`Tree::insert`], for a recorded run; where it goes on differently, both ways end there.
    /// Says where that is.
    pub(super) fn insert_recorded(
        &mut self,
        thread: &str,
        steps: Vec<ExecutedStatement>,
    ) -> Option<MergeError> {
        let (at, error) = self.add(thread, steps, true).err()?;
        self.nodes[at.0] = Node { is_cut: true, ..Node::default() };
        Some(error)
    }

    fn add(
        &mut self,
        thread: &str,
        steps: Vec<ExecutedStatement>,
        is_recorded: bool,
    ) -> Result<(), (NodeId, MergeError)> {
        let mut at = Tree::ROOT;
        let mut steps = steps.into_iter();
        while let Some(step) = steps.next() {
            while is_recorded && self.is_another_value(at, &step) {
                let here = step.spot.event.map(|event| (step.spot.run, event));
                self.nodes[at.0].events.extend(here);
                at = self.follow(at, Outcome::Yes(false));
            }
            self.turn_into_exchange(at, &step);
            let node = &mut self.nodes[at.0];
            if node.is_cut {
                return Ok(());
            }
            let differs = |next: &Next, second: &Spot| {
                let what = format!("thread {thread} goes on differently without a branch");
                let (first, second) = (next.spot.clone(), second.clone());
                (at, MergeError::Different { what, first, second })
            };
            let come = step.spot.event.map(|event| (step.spot.run, event));
            let outcome = match &node.next {
                None => {
                    let ExecutedStatement { statement, location, outcome, spot } = step;
                    node.next = Some(Next { statement, location, spot });
                    outcome
                }
                Some(next) if next.location != step.location => {
                    return Err(differs(next, &step.spot));
                }
                Some(next) if next.statement == step.statement => step.outcome,
                Some(next) if exchange::may_be_failed(&next.statement, &step.statement) => {
                    let Some(branch) = steps.next() else { return Ok(()) };
                    let is_tested = exchange::is_tested_by(&next.statement, &branch.statement);
                    if !is_tested || branch.outcome != Outcome::Yes(false) {
                        return Err(differs(next, &step.spot));
                    }
                    branch.outcome
                }
                Some(next) => return Err(differs(next, &step.spot)),
            };
            node.events.extend(come);
            at = self.follow(at, outcome);
        }
        Ok(())
    }

    /// Whether the step says that a value is what it was in its run, and the node says the same of
    /// another run, where it was another value. The two exclude each other.
    fn is_another_value(&self, at: NodeId, step: &ExecutedStatement) -> bool {
        let Some(next) = &self.node(at).next else { return false };
        let values = (tested_value(&next.statement), tested_value(&step.statement));
        let (Some((of, value)), Some((also_of, other))) = values else { return false };
        let is_at = next.location == step.location && step.outcome == Outcome::Yes(true);
        is_at && of == also_of && value != other
    }

    /// If this run shows a compare-and-exchange, and others have shown how it failed, makes that
    /// the same statement.
    fn turn_into_exchange(&mut self, at: NodeId, step: &ExecutedStatement) {
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

/// The value with which a branch compares, and what.
fn tested_value(statement: &Statement) -> Option<(&Expr, u64)> {
    match statement {
        Statement::Branch(Condition::Of(Expr::Binary(BinaryOp::Eq, of, with))) => match **with {
            Expr::Literal(value) => Some((of, value)),
            _ => None,
        },
        _ => None,
    }
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
