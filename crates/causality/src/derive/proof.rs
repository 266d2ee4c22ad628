//! Reads a proof off the list of facts.
//!
//! **Computes.** The facts that a contradiction rests on, each as a step; and where the rule needs
//! an order that is made of several, a step that chains them: as few as possible, and among these
//! the ones found first.
//!
//! **Invariant.** A fact rests on facts before it only, so going backwards through the list meets
//! each after all that need it.
//!
//! **Cost.** For each order that is needed, a breadth-first search over the orders found before.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_verdict::{Fact, ProofStep, Refutation, Rule};
use rustc_hash::FxHashMap;

use super::nodes::Node;
use super::order::Order;

/// How many contradictions are worked out, to choose the one with the shortest proof.
const MOST_TRIED: usize = 32;

/// The shortest proof of a contradiction, if there is one.
pub(super) fn smallest(order: &Order) -> Option<Refutation> {
    let proofs = Proofs::new(order);
    let mut pairs: Vec<(usize, usize)> =
        order.contradictions().flat_map(|thread| proofs.pairs(thread)).collect();
    // What was found early rests on little.
    pairs.sort_by_key(|&(x, n)| (x.max(n), x, n));
    let mut best: Option<Refutation> = None;
    for (x, n) in pairs.into_iter().take(MOST_TRIED) {
        let limit = best.as_ref().map_or(usize::MAX, |best| best.steps.len());
        best = proofs.write(x, n, limit).or(best);
    }
    best
}

/// What gives a fact that is needed.
enum Reason {
    /// Program order.
    Evident,
    /// This fact of the list.
    Known(usize),
    /// These orders, one behind the other.
    Chain(Vec<usize>),
}

/// An order of the list, by where it leads.
#[derive(Clone, Copy)]
struct Link {
    to_rank: u32,
    from: Node,
    fact: usize,
}

struct Proofs<'o> {
    order: &'o Order<'o>,
    /// The orders into each thread, by rank.
    links: Vec<Vec<Link>>,
    /// What is executed of each thread, and what is not, in the order of the list.
    executed: Vec<Vec<(usize, Node)>>,
    unexecuted: Vec<Vec<(usize, Node)>>,
}

impl<'o> Proofs<'o> {
    fn new(order: &'o Order<'o>) -> Self {
        let (nodes, threads) = (order.nodes, order.nodes.thread_count());
        let mut proofs = Proofs {
            order,
            links: vec![Vec::new(); threads],
            executed: vec![Vec::new(); threads],
            unexecuted: vec![Vec::new(); threads],
        };
        for (fact, derived) in order.facts.iter().enumerate() {
            let at = |event| (nodes.thread(nodes.node(event)), nodes.node(event));
            match derived.fact {
                Fact::Executed(event) => {
                    let (thread, node) = at(event);
                    proofs.executed[thread].push((fact, node));
                }
                Fact::NotExecuted(event) => {
                    let (thread, node) = at(event);
                    proofs.unexecuted[thread].push((fact, node));
                }
                Fact::Before(first, second) => {
                    let ((_, from), (thread, to)) = (at(first), at(second));
                    proofs.links[thread].push(Link { to_rank: nodes.rank(to), from, fact });
                }
            }
        }
        proofs.links.iter_mut().for_each(|links| links.sort_by_key(|link| link.to_rank));
        proofs
    }

    /// The contradictions in a thread: of each fact that some node is executed with each that it is
    /// not.
    fn pairs(&self, thread: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.executed[thread].iter().flat_map(move |&(x, late)| {
            let contradicts = move |&&(_, early): &&(usize, Node)| early <= late;
            self.unexecuted[thread].iter().filter(contradicts).map(move |&(n, _)| (x, n))
        })
    }

    /// The proof that ends in these two facts, if it has fewer steps than that.
    fn write(&self, executed: usize, unexecuted: usize, limit: usize) -> Option<Refutation> {
        let mut due = BTreeSet::from([executed, unexecuted]);
        let mut used: BTreeMap<usize, Vec<(Fact, Reason)>> = BTreeMap::new();
        while let Some(fact) = due.pop_last() {
            let needs = &self.order.facts[fact].needs;
            let reasons: Vec<_> =
                needs.iter().map(|&need| (need, self.reason(need, fact))).collect();
            for (_, reason) in &reasons {
                match reason {
                    Reason::Evident => {}
                    Reason::Known(known) => drop(due.insert(*known)),
                    Reason::Chain(links) => due.extend(links),
                }
            }
            used.insert(fact, reasons);
            if used.len() + due.len() >= limit {
                return None;
            }
        }
        let mut writing =
            Writing { order: self.order, steps: Vec::new(), step_of: FxHashMap::default() };
        used.into_iter().for_each(|(fact, reasons)| writing.add(fact, &reasons));
        let step = |fact: usize| writing.step_of[&self.order.facts[fact].fact];
        let contradiction = (step(executed), step(unexecuted));
        (writing.steps.len() < limit).then_some(Refutation { steps: writing.steps, contradiction })
    }

    /// What gives the fact, of all that is before the limit in the list.
    fn reason(&self, need: Fact, limit: usize) -> Reason {
        let nodes = self.order.nodes;
        let find = |facts: &[(usize, Node)], gives: &dyn Fn(Node) -> bool| {
            let found = facts.iter().find(|&&(fact, node)| fact < limit && gives(node));
            Reason::Known(found.expect("what a rule needs is known before").0)
        };
        match need {
            Fact::Executed(event) => {
                let node = nodes.node(event);
                find(&self.executed[nodes.thread(node)], &|late| node <= late)
            }
            Fact::NotExecuted(event) => {
                let node = nodes.node(event);
                find(&self.unexecuted[nodes.thread(node)], &|early| early <= node)
            }
            Fact::Before(first, second) => {
                let (first, second) = (nodes.node(first), nodes.node(second));
                if first != second && nodes.is_up_to(first, second) {
                    return Reason::Evident;
                }
                let links = self.way(first, second, limit);
                if let [link] = links[..] { Reason::Known(link) } else { Reason::Chain(links) }
            }
        }
    }

    /// The orders of the list, before the limit, that lead from the first node to the second.
    fn way(&self, first: Node, second: Node, limit: usize) -> Vec<usize> {
        let nodes = self.order.nodes;
        // How many of the links into each thread are reached, and from which reached link each was.
        let mut reached = vec![0; nodes.thread_count()];
        let mut parents: FxHashMap<usize, Option<usize>> = FxHashMap::default();
        let mut layer: Vec<(Link, Option<usize>)> = Vec::new();
        let mut reach = |node: Node, parent: Option<usize>, layer: &mut Vec<_>| {
            let links = &self.links[nodes.thread(node)];
            let until = links.partition_point(|link| link.to_rank <= nodes.rank(node));
            let from = reached[nodes.thread(node)];
            if from < until {
                reached[nodes.thread(node)] = until;
                let new = links[from..until].iter().filter(|link| link.fact < limit);
                layer.extend(new.map(|&link| (link, parent)));
            }
        };
        reach(second, None, &mut layer);
        while !layer.is_empty() {
            layer.sort_by_key(|(link, _)| link.fact);
            let mut next = Vec::new();
            for &(link, parent) in &layer {
                parents.insert(link.fact, parent);
                if nodes.is_up_to(first, link.from) {
                    let mut way = vec![link.fact];
                    while let Some(parent) = parents[&way[way.len() - 1]] {
                        way.push(parent);
                    }
                    return way;
                }
                reach(link.from, Some(link.fact), &mut next);
            }
            layer = next;
        }
        unreachable!("an order that a rule needs is made of orders before")
    }
}

/// The steps so far.
struct Writing<'o> {
    order: &'o Order<'o>,
    steps: Vec<ProofStep>,
    step_of: FxHashMap<Fact, u32>,
}

impl Writing<'_> {
    fn add(&mut self, fact: usize, reasons: &[(Fact, Reason)]) {
        let mut premises = Vec::new();
        for (need, reason) in reasons {
            match reason {
                Reason::Evident => {}
                Reason::Known(known) => premises.push(self.step_of[&self.order.facts[*known].fact]),
                Reason::Chain(links) => premises.push(self.chain(*need, links)),
            }
        }
        premises.sort_unstable();
        premises.dedup();
        let derived = &self.order.facts[fact];
        self.push(ProofStep { fact: derived.fact, rule: derived.rule, premises });
    }

    fn chain(&mut self, need: Fact, links: &[usize]) -> u32 {
        if let Some(&known) = self.step_of.get(&need) {
            return known;
        }
        let premises =
            links.iter().map(|&link| self.step_of[&self.order.facts[link].fact]).collect();
        self.push(ProofStep { fact: need, rule: Rule::Chain, premises })
    }

    fn push(&mut self, step: ProofStep) -> u32 {
        let number = self.steps.len() as u32;
        self.step_of.entry(step.fact).or_insert(number);
        self.steps.push(step);
        number
    }
}
