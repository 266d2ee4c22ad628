//! What comes before what in every execution.
//!
//! **Computes.** The closure of program order, forks, and joins that every path of a thread passes;
//! and a linear order that agrees with it.
//!
//! **Cost.** One row of bits for each node.

use crate::skeleton::{NodeId, Skeleton};

/// Nodes that every execution orders.
pub(crate) struct Order {
    rows: Vec<Vec<u64>>,
    /// Nodes in an order that agrees.
    pub(crate) linear: Vec<NodeId>,
    /// Whether joins are part of it.
    pub(crate) has_joins: bool,
}

impl Order {
    pub(crate) fn new(skeleton: &Skeleton) -> Order {
        // Threads that join each other make a circle; then no join orders anything by itself.
        Order::with_joins(skeleton, true)
            .or_else(|| Order::with_joins(skeleton, false))
            .expect("program order and forks make no circle")
    }

    /// Edges besides program order.
    pub(crate) fn edges(skeleton: &Skeleton, joins: bool) -> Vec<(NodeId, NodeId)> {
        let mut edges = Vec::new();
        for thread in &skeleton.threads {
            if let (Some(fork), Some(&first)) = (thread.fork, thread.nodes.first()) {
                edges.push((fork, first));
            }
        }
        if let Some(end) = skeleton.ending.node {
            let last = skeleton.threads.iter().filter_map(|thread| thread.nodes.last());
            edges.extend(last.filter(|&&node| node != end).map(|&node| (node, end)));
        }
        for join in skeleton.joins.iter().filter(|join| joins && join.always) {
            if let Some(&last) = skeleton.threads[join.child].nodes.last() {
                edges.push((last, join.node));
            }
        }
        edges
    }

    fn with_joins(skeleton: &Skeleton, joins: bool) -> Option<Order> {
        let count = skeleton.nodes.len();
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut missing = vec![0u32; count];
        let chains = skeleton.threads.iter().flat_map(|thread| thread.nodes.windows(2));
        let edges = chains.map(|pair| (pair[0], pair[1])).chain(Order::edges(skeleton, joins));
        for (from, to) in edges {
            successors[from.index()].push(to.index());
            missing[to.index()] += 1;
        }
        let mut linear: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
        let mut at = 0;
        while at < linear.len() {
            for &to in &successors[linear[at]] {
                missing[to] -= 1;
                if missing[to] == 0 {
                    linear.push(to);
                }
            }
            at += 1;
        }
        if linear.len() < count {
            return None;
        }
        let words = count.div_ceil(64);
        let mut rows = vec![vec![0u64; words]; count];
        for &node in linear.iter().rev() {
            let mut row = vec![0u64; words];
            for &to in &successors[node] {
                row[to / 64] |= 1 << (to % 64);
                for (word, other) in row.iter_mut().zip(&rows[to]) {
                    *word |= other;
                }
            }
            rows[node] = row;
        }
        let linear = linear.into_iter().map(|node| NodeId(node as u32)).collect();
        Some(Order { rows, linear, has_joins: joins })
    }

    /// Whether `a` is before `b` in every execution.
    pub(crate) fn before(&self, a: NodeId, b: NodeId) -> bool {
        self.rows[a.index()][b.index() / 64] >> (b.index() % 64) & 1 == 1
    }
}
