//! A topological order of the nodes, kept while edges come and go.
//!
//! **Computes.** Whether a new edge closes a cycle with the edges that are in; if so, the cycle
//! with the fewest literals.
//!
//! **Follows.** Pearce and Kelly, *A dynamic topological sort algorithm for directed acyclic
//! graphs*, JEA 11, 2006. Deviations:
//! 1. The labels are not 0..n but the *homes* of the nodes, their places in the recorded order.
//!    A node can therefore appear between two others without any relabelling.
//! 2. Chains are implicit: each node knows its neighbours, there are no edge records for them.
//! 3. The forward search runs in layers of equally many literals, so that a cycle that it meets
//!    is a shortest explanation. Chains, fixed edges and root-level edges cost nothing.
//! 4. Removal is last in, first out, and leaves the labels alone: any order that fits a graph
//!    fits a subgraph. Only [`Order::go_home`] undoes the reordering.
//!
//! **Invariant.** For each edge and each chain step from a to b, `label(a) < label(b)`. The
//! labels are a permutation of the nodes' own labels, hence distinct. After
//! [`Order::go_home`] every node has its own label.
//!
//! **Cost.** An edge that agrees with the labels is O(1). Any other edge visits the nodes between
//! the labels of its ends that are reachable from one of them, and sorts those that move.
//! Allocates only when the tables grow.

use crate::ids::Node;

const NONE: u32 = u32::MAX;
/// In [`Place::via`]: reached over the chain, from the previous node.
const OVER_CHAIN: u32 = u32::MAX - 1;

/// A place in the topological order. The owner makes labels distinct even if homes are not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Label {
    home: u64,
    owner: u32,
}

/// Names an edge record. A record is made once and is then in or out of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EdgeId(u32);

/// Why an edge holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// It always does.
    Fixed,
    /// The literal is true at the root level, so it costs nothing in a conflict.
    Root(i32),
    /// The literal is true for now.
    Literal(i32),
}

impl Reason {
    fn is_free(self) -> bool {
        !matches!(self, Reason::Literal(_))
    }
}

#[derive(Debug)]
struct Place {
    label: Label,
    home: u64,
    next: u32,
    previous: u32,
    first_out: u32,
    first_in: u32,
    /// Equals `Order::stamp` if the current search has been here.
    mark: u32,
    /// The edge over which the forward search came here.
    via: u32,
}

#[derive(Debug)]
struct Edge {
    from: u32,
    to: u32,
    next_out: u32,
    next_in: u32,
    reason: Reason,
}

/// The graph and its topological order.
#[derive(Debug, Default)]
pub(crate) struct Order {
    places: Vec<Place>,
    edges: Vec<Edge>,
    /// Nodes that left their own label since the last `go_home`; may hold duplicates.
    moved: Vec<u32>,
    stamp: u32,
    // Working space of one insertion.
    forward: Vec<u32>,
    backward: Vec<u32>,
    pool: Vec<Label>,
    /// The literals of the cycle that the last refused edge would have closed, without its own.
    cycle: Vec<i32>,
    reorders: u64,
    relabelled: u64,
}

impl Order {
    /// Adds a node without neighbours.
    pub(crate) fn add_node(&mut self, home: u64) -> Node {
        let node = Node::from_index(self.places.len());
        let label = Label { home, owner: node.index() as u32 };
        self.places.push(Place {
            label,
            home,
            next: NONE,
            previous: NONE,
            first_out: NONE,
            first_in: NONE,
            mark: 0,
            via: NONE,
        });
        node
    }

    /// Puts a new node into its chain, between its neighbours. Only while all nodes are home.
    pub(crate) fn link_chain(&mut self, node: Node, previous: Option<Node>, next: Option<Node>) {
        assert!(self.moved.is_empty(), "a node appears while others are not home");
        let home = self.home(node);
        if let Some(previous) = previous {
            assert!(self.home(previous) < home, "homes must increase along a chain");
            self.places[previous.index()].next = node.index() as u32;
            self.places[node.index()].previous = previous.index() as u32;
        }
        if let Some(next) = next {
            assert!(home < self.home(next), "homes must increase along a chain");
            self.places[next.index()].previous = node.index() as u32;
            self.places[node.index()].next = next.index() as u32;
        }
    }

    pub(crate) fn home(&self, node: Node) -> u64 {
        self.places[node.index()].home
    }

    /// Moves the home of a node that has neither neighbours nor edges.
    pub(crate) fn set_home(&mut self, node: Node, home: u64) {
        assert!(self.moved.is_empty(), "a home moves while nodes are not home");
        let place = &mut self.places[node.index()];
        assert!(
            place.next == NONE
                && place.previous == NONE
                && place.first_out == NONE
                && place.first_in == NONE,
            "only a node without edges can move its home"
        );
        place.home = home;
        place.label.home = home;
    }

    pub(crate) fn node_count(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn reorders(&self) -> u64 {
        self.reorders
    }

    pub(crate) fn relabelled(&self) -> u64 {
        self.relabelled
    }

    /// Makes an edge record; the edge is not in the graph yet.
    pub(crate) fn add_edge(&mut self) -> EdgeId {
        let id = u32::try_from(self.edges.len()).expect("too many edges");
        assert!(id < OVER_CHAIN, "too many edges");
        self.edges.push(Edge {
            from: NONE,
            to: NONE,
            next_out: NONE,
            next_in: NONE,
            reason: Reason::Fixed,
        });
        EdgeId(id)
    }

    /// Whether the edge goes forward in the order of the homes.
    pub(crate) fn agrees_with_home(&self, from: Node, to: Node) -> bool {
        let own = |node: Node| (self.places[node.index()].home, node);
        own(from) < own(to)
    }

    /// Puts an edge into the graph, or returns false and leaves the graph as it was. Then
    /// [`Order::cycle`] tells why.
    pub(crate) fn insert(&mut self, edge: EdgeId, from: Node, to: Node, reason: Reason) -> bool {
        let (from, to) = (from.index() as u32, to.index() as u32);
        assert!(from != to, "an edge needs two ends");
        if self.label(from) > self.label(to) {
            if self.reaches(to, from) {
                return false;
            }
            self.collect_backward(from, to);
            self.reorder();
        }
        let record = &mut self.edges[edge.0 as usize];
        *record = Edge {
            from,
            to,
            next_out: self.places[from as usize].first_out,
            next_in: self.places[to as usize].first_in,
            reason,
        };
        self.places[from as usize].first_out = edge.0;
        self.places[to as usize].first_in = edge.0;
        true
    }

    /// Takes out the edge that was put in last among those that are in.
    pub(crate) fn remove(&mut self, edge: EdgeId) {
        let Edge { from, to, next_out, next_in, .. } = self.edges[edge.0 as usize];
        assert!(
            self.places[from as usize].first_out == edge.0
                && self.places[to as usize].first_in == edge.0,
            "edges are removed last in, first out"
        );
        self.places[from as usize].first_out = next_out;
        self.places[to as usize].first_in = next_in;
    }

    /// The literals on the cycle that the refused edge would have closed, without its own.
    pub(crate) fn cycle(&self) -> &[i32] {
        &self.cycle
    }

    /// Gives every node its own label again. All edges that are in must agree with the homes.
    pub(crate) fn go_home(&mut self) {
        for &node in &self.moved {
            let place = &mut self.places[node as usize];
            place.label = Label { home: place.home, owner: node };
        }
        self.moved.clear();
    }

    fn label(&self, node: u32) -> Label {
        self.places[node as usize].label
    }

    fn next_stamp(&mut self) {
        if self.stamp == u32::MAX {
            for place in &mut self.places {
                place.mark = 0;
            }
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// Searches a path from `start` to `target`; collects in `forward` what it visits. A path can
    /// only run through labels below the target's.
    fn reaches(&mut self, start: u32, target: u32) -> bool {
        self.next_stamp();
        self.forward.clear();
        self.forward.push(start);
        let bound = self.label(target);
        let place = &mut self.places[start as usize];
        place.mark = self.stamp;
        place.via = NONE;

        let mut layer = 0;
        while layer < self.forward.len() {
            // First everything that costs no further literal ...
            let mut cursor = layer;
            while cursor < self.forward.len() {
                let node = self.forward[cursor];
                cursor += 1;
                let next = self.places[node as usize].next;
                if next != NONE && self.visit(next, OVER_CHAIN, target, bound) {
                    return true;
                }
                if self.visit_out(node, true, target, bound) {
                    return true;
                }
            }
            // ... then what costs one more.
            let end = self.forward.len();
            for at in layer..end {
                if self.visit_out(self.forward[at], false, target, bound) {
                    return true;
                }
            }
            layer = end;
        }
        false
    }

    fn visit_out(&mut self, node: u32, free: bool, target: u32, bound: Label) -> bool {
        let mut edge = self.places[node as usize].first_out;
        while edge != NONE {
            let Edge { to, next_out, reason, .. } = self.edges[edge as usize];
            if reason.is_free() == free && self.visit(to, edge, target, bound) {
                return true;
            }
            edge = next_out;
        }
        false
    }

    /// Marks a node that the forward search has reached; true if it is the target.
    fn visit(&mut self, node: u32, via: u32, target: u32, bound: Label) -> bool {
        let place = &mut self.places[node as usize];
        if node == target {
            place.via = via;
            self.read_cycle(target);
            return true;
        }
        if place.mark != self.stamp && place.label < bound {
            place.mark = self.stamp;
            place.via = via;
            self.forward.push(node);
        }
        false
    }

    /// Walks back from the target of a successful forward search.
    fn read_cycle(&mut self, target: u32) {
        self.cycle.clear();
        let mut node = target;
        loop {
            let place = &self.places[node as usize];
            match place.via {
                NONE => break,
                OVER_CHAIN => node = place.previous,
                edge => {
                    let edge = &self.edges[edge as usize];
                    match edge.reason {
                        Reason::Fixed => {}
                        // A root literal may be left out in theory. It is given all the same, so
                        // that the clause is valid by itself; CaDiCaL strips it.
                        Reason::Root(literal) | Reason::Literal(literal) => {
                            self.cycle.push(literal);
                        }
                    }
                    node = edge.from;
                }
            }
        }
    }

    /// Collects in `backward` what reaches `start`, down to the label of `limit`.
    fn collect_backward(&mut self, start: u32, limit: u32) {
        self.next_stamp();
        let bound = self.label(limit);
        self.backward.clear();
        self.backward.push(start);
        self.places[start as usize].mark = self.stamp;
        let mut cursor = 0;
        while cursor < self.backward.len() {
            let node = self.backward[cursor];
            cursor += 1;
            let previous = self.places[node as usize].previous;
            if previous != NONE {
                self.visit_backward(previous, bound);
            }
            let mut edge = self.places[node as usize].first_in;
            while edge != NONE {
                let Edge { from, next_in, .. } = self.edges[edge as usize];
                self.visit_backward(from, bound);
                edge = next_in;
            }
        }
    }

    fn visit_backward(&mut self, node: u32, bound: Label) {
        let place = &mut self.places[node as usize];
        if place.mark != self.stamp && place.label > bound {
            place.mark = self.stamp;
            self.backward.push(node);
        }
    }

    /// Deals the labels of both searches out again, first to `backward`, then to `forward`, each
    /// in its old order.
    fn reorder(&mut self) {
        let places = &mut self.places;
        self.backward.sort_unstable_by_key(|&node| places[node as usize].label);
        self.forward.sort_unstable_by_key(|&node| places[node as usize].label);
        self.pool.clear();
        let nodes = || self.backward.iter().chain(&self.forward).copied();
        self.pool.extend(nodes().map(|node| places[node as usize].label));
        self.pool.sort_unstable();
        for (node, &label) in nodes().zip(&self.pool) {
            let place = &mut places[node as usize];
            if place.label.owner == node {
                self.moved.push(node);
            }
            place.label = label;
        }
        self.reorders += 1;
        self.relabelled += self.pool.len() as u64;
    }
}

#[cfg(test)]
mod tests;
