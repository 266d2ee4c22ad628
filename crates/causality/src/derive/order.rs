//! What is known so far: order as clocks, and how far each thread must and can come. The general
//! rules of section 1.
//!
//! **Computes.** For each node, how many nodes of each thread come before it; for each thread, how
//! many nodes are executed and from which on none is. Program order makes prefixes and suffixes of
//! them all.
//!
//! **Invariant.** Clocks are closed under `chain`, the bounds under `need`, `never` and `cycle`.
//! `chain` leaves no trace in the list of facts: `proof` finds the way again.
//!
//! **Cost.** A new order is carried on to what follows, as far as it is new there: O(threads) for
//! each node that learns from it.

use std::collections::BTreeSet;

use foretrace_trace::EventId;
use foretrace_verdict::{Fact, Rule};

use super::Derived;
use super::nodes::{Node, Nodes};

/// The knowledge of one derivation.
pub(super) struct Order<'n> {
    pub(super) nodes: &'n Nodes,
    /// All facts in the order of their derivation.
    pub(super) facts: Vec<Derived>,
    /// For each node and thread, how many nodes of the thread come before it.
    clocks: Vec<u32>,
    /// Where each node's orders lead.
    leads_to: Vec<Vec<Node>>,
    /// How many nodes of each thread are executed.
    executed: Vec<u32>,
    /// From which node of each thread on none is executed.
    unexecuted: Vec<u32>,
    /// Nodes whose clock is to be carried on. The earliest first: most orders are those of the
    /// recorded run, so each is met once.
    queue: BTreeSet<Node>,
    is_changed: Vec<bool>,
    newly_executed: Vec<Node>,
}

impl<'n> Order<'n> {
    /// Program order alone.
    pub(super) fn new(nodes: &'n Nodes) -> Self {
        let threads = nodes.thread_count();
        let mut clocks = vec![0; nodes.len() * threads];
        for node in nodes.all() {
            clocks[node.index() * threads + nodes.thread(node)] = nodes.rank(node);
        }
        Order {
            nodes,
            facts: Vec::new(),
            clocks,
            leads_to: vec![Vec::new(); nodes.len()],
            executed: vec![0; threads],
            unexecuted: vec![u32::MAX; threads],
            queue: BTreeSet::new(),
            // Nothing has been looked at.
            is_changed: vec![true; nodes.len()],
            newly_executed: Vec::new(),
        }
    }

    /// How many nodes of the thread come before the node.
    pub(super) fn clock(&self, node: Node, thread: usize) -> u32 {
        self.clocks[node.index() * self.nodes.thread_count() + thread]
    }

    /// How many nodes of the thread come before the node, or are the node.
    pub(super) fn clock_with(&self, node: Node, thread: usize) -> u32 {
        let is_own = thread == self.nodes.thread(node);
        let own = if is_own { self.nodes.rank(node) + 1 } else { 0 };
        self.clock(node, thread).max(own)
    }

    /// e < f.
    pub(super) fn is_before(&self, first: Node, second: Node) -> bool {
        self.clock(second, self.nodes.thread(first)) > self.nodes.rank(first)
    }

    /// X(e).
    pub(super) fn is_executed(&self, node: Node) -> bool {
        self.nodes.rank(node) < self.executed[self.nodes.thread(node)]
    }

    /// N(e).
    pub(super) fn is_unexecuted(&self, node: Node) -> bool {
        self.nodes.rank(node) >= self.unexecuted[self.nodes.thread(node)]
    }

    /// How many nodes of the thread are executed.
    pub(super) fn executed(&self, thread: usize) -> u32 {
        self.executed[thread]
    }

    /// The threads that must come further than they can.
    pub(super) fn contradictions(&self) -> impl Iterator<Item = usize> + '_ {
        let bounds = self.executed.iter().zip(&self.unexecuted).enumerate();
        bounds.filter(|(_, (executed, unexecuted))| executed > unexecuted).map(|(thread, _)| thread)
    }

    fn knows(&self, fact: Fact) -> bool {
        let node = |event| self.nodes.node(event);
        match fact {
            Fact::Executed(event) => self.is_executed(node(event)),
            Fact::NotExecuted(event) => self.is_unexecuted(node(event)),
            Fact::Before(first, second) => self.is_before(node(first), node(second)),
        }
    }

    /// Takes in new facts and what the general rules make of them.
    pub(super) fn add(&mut self, found: Vec<Derived>) {
        for derived in found {
            if !self.knows(derived.fact) {
                self.learn(derived);
            }
        }
        self.close();
    }

    /// What has changed since this was asked last.
    pub(super) fn take_changes(&mut self) -> Changes {
        let is_changed = std::mem::replace(&mut self.is_changed, vec![false; self.nodes.len()]);
        let nodes = self.nodes.all().filter(|node| is_changed[node.index()]).collect();
        Changes { nodes, executed: std::mem::take(&mut self.newly_executed) }
    }

    fn learn(&mut self, derived: Derived) {
        match derived.fact {
            Fact::Executed(event) => {
                let node = self.nodes.node(event);
                let (thread, upto) = (self.nodes.thread(node), self.nodes.rank(node) + 1);
                let before = std::mem::replace(&mut self.executed[thread], upto);
                let new = &self.nodes.of_thread(thread)[before as usize..upto as usize];
                self.newly_executed.extend(new);
            }
            Fact::NotExecuted(event) => {
                let node = self.nodes.node(event);
                let (thread, from) = (self.nodes.thread(node), self.nodes.rank(node));
                let before = std::mem::replace(&mut self.unexecuted[thread], from) as usize;
                let until = before.min(self.nodes.of_thread(thread).len());
                for &node in &self.nodes.of_thread(thread)[from as usize..until] {
                    self.is_changed[node.index()] = true;
                }
            }
            Fact::Before(first, second) => {
                let (first, second) = (self.nodes.node(first), self.nodes.node(second));
                self.leads_to[first.index()].push(second);
                self.carry(first, second);
            }
        }
        self.facts.push(derived);
    }

    /// What comes before `from`, and `from`, comes before `to`.
    fn carry(&mut self, from: Node, to: Node) {
        let threads = self.nodes.thread_count();
        let mut is_new = false;
        for thread in 0..threads {
            let clock = self.clock_with(from, thread);
            let known = &mut self.clocks[to.index() * threads + thread];
            is_new |= clock > *known;
            *known = clock.max(*known);
        }
        if is_new {
            self.is_changed[to.index()] = true;
            self.queue.insert(to);
        }
    }

    /// Closes clocks and bounds.
    fn close(&mut self) {
        let mut cyclic: Vec<Node> = Vec::new();
        while let Some(node) = self.queue.pop_first() {
            if self.is_before(node, node) {
                cyclic.push(node);
            }
            if let Some(next) = self.nodes.next(node) {
                self.carry(node, next);
            }
            for at in 0..self.leads_to[node.index()].len() {
                self.carry(node, self.leads_to[node.index()][at]);
            }
        }
        cyclic.sort_unstable();
        for node in cyclic {
            let event = self.nodes.event(node);
            let needs = vec![Fact::Before(event, event)];
            let fact = Fact::NotExecuted(event);
            if !self.knows(fact) {
                self.learn(Derived { fact, rule: Rule::Cycle, needs });
            }
        }
        while self.need() | self.never() {}
    }

    /// X(f), e < f: X(e).
    fn need(&mut self) -> bool {
        let mut is_new = false;
        for thread in 0..self.nodes.thread_count() {
            let Some(last) = self.executed[thread].checked_sub(1) else { continue };
            let last = self.nodes.of_thread(thread)[last as usize];
            for other in 0..self.nodes.thread_count() {
                let needed = self.clock(last, other);
                if needed > self.executed[other] {
                    let first = self.at(other, needed - 1);
                    let last = self.nodes.event(last);
                    let needs = vec![Fact::Executed(last), Fact::Before(first, last)];
                    let fact = Fact::Executed(first);
                    self.learn(Derived { fact, rule: Rule::Need, needs });
                    is_new = true;
                }
            }
        }
        is_new
    }

    /// N(e), e < f: N(f).
    fn never(&mut self) -> bool {
        let mut is_new = false;
        for other in 0..self.nodes.thread_count() {
            let from = self.unexecuted[other];
            if from == u32::MAX {
                continue;
            }
            for thread in (0..self.nodes.thread_count()).filter(|&thread| thread != other) {
                let nodes = self.nodes.of_thread(thread);
                // Clocks do not fall along a thread.
                let first = nodes.partition_point(|&node| self.clock(node, other) <= from);
                if first < nodes.len() && (first as u32) < self.unexecuted[thread] {
                    let (source, event) = (self.at(other, from), self.nodes.event(nodes[first]));
                    let needs = vec![Fact::NotExecuted(source), Fact::Before(source, event)];
                    let fact = Fact::NotExecuted(event);
                    self.learn(Derived { fact, rule: Rule::Never, needs });
                    is_new = true;
                }
            }
        }
        is_new
    }

    /// The event of a thread's node with that rank.
    pub(super) fn at(&self, thread: usize, rank: u32) -> EventId {
        self.nodes.event(self.nodes.of_thread(thread)[rank as usize])
    }
}

/// The nodes of which more is known.
pub(super) struct Changes {
    /// Those that have more before them, or are not executed, in order.
    pub(super) nodes: Vec<Node>,
    /// Those that are executed.
    pub(super) executed: Vec<Node>,
}
