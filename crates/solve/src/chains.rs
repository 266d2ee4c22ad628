//! Which nodes a chain has so far, sorted by position.
//!
//! A chain is a thread of the trace. Only its active events are nodes, and they become active in
//! any order, so a new node has to find its neighbours among those that exist.
//!
//! **Cost.** O(log n) per new node or lookup, n being the active nodes of all chains.

use std::collections::BTreeMap;

use crate::ids::Node;

/// Where a node stands in its chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ChainPlace {
    pub(crate) chain: u32,
    pub(crate) position: u32,
}

/// The chains and their members.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    members: BTreeMap<ChainPlace, Node>,
    /// By node; `None` for a free node.
    places: Vec<Option<ChainPlace>>,
}

impl Chains {
    /// The node at a place, if it is active already.
    pub(crate) fn find(&self, place: ChainPlace) -> Option<Node> {
        self.members.get(&place).copied()
    }

    /// The place of a node; `None` for a free node.
    pub(crate) fn place(&self, node: Node) -> Option<ChainPlace> {
        self.places[node.index()]
    }

    /// Enters a node that is in no chain. Nodes are entered in the order of their numbers.
    pub(crate) fn add_free(&mut self, node: Node) {
        assert_eq!(node.index(), self.places.len(), "nodes are entered in order");
        self.places.push(None);
    }

    /// Enters a node and returns its neighbours in the chain.
    pub(crate) fn add(&mut self, node: Node, place: ChainPlace) -> (Option<Node>, Option<Node>) {
        assert_eq!(node.index(), self.places.len(), "nodes are entered in order");
        self.places.push(Some(place));
        let same_chain =
            |(other, &node): (&ChainPlace, &Node)| (other.chain == place.chain).then_some(node);
        let previous = self.members.range(..place).next_back().and_then(same_chain);
        let next = self.members.range(place..).next().and_then(same_chain);
        let old = self.members.insert(place, node);
        assert!(old.is_none(), "one node per place");
        (previous, next)
    }
}
