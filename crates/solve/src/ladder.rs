//! Ladders: what is known about one node against one whole chain.
//!
//! If the chain's event at position 7 is before y, so are those at 0..6. The order atoms of y
//! against a chain, sorted by position, are therefore monotone, like the rungs of a ladder. Two
//! uses:
//!
//! 1. **Rung clauses.** For neighbouring rungs, `later before y → earlier before y` goes to the
//!    SAT solver as a binary clause when an atom is made. Without them the theory would find each
//!    of these out through a conflict; "included is closed under program order" is the case that
//!    occurs all the time.
//! 2. **Absorption.** While an edge from y to position 3 is in, one from y to position 5 adds
//!    nothing and stays out of the graph. Together with the rung clauses this keeps the
//!    graph small: a moment X with an atom for each event has about one edge per chain.
//!
//! **Invariant.** `Reach` describes edges that are in the graph: `lowest_after` is the lowest
//! position of the chain that has an edge from y, `highest_before` the highest with an edge to y.
//!
//! **Cost.** O(log n) per atom made, O(1) per edge.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::ids::{Lit, Node};

/// Names the ladder of one node against one chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LadderId(u32);

impl LadderId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// All ladders with their rungs.
#[derive(Debug, Default)]
pub(crate) struct Ladders {
    ids: FxHashMap<(Node, u32), LadderId>,
    /// The rung's literal says "the chain's node is before the ladder's node".
    rungs: BTreeMap<(LadderId, u32), Lit>,
}

/// The neighbours of a new rung.
pub(crate) struct Neighbours {
    pub(crate) earlier: Option<Lit>,
    pub(crate) later: Option<Lit>,
}

impl Ladders {
    /// The ladder of `node` against `chain`.
    pub(crate) fn ladder(&mut self, node: Node, chain: u32) -> LadderId {
        let next = LadderId(u32::try_from(self.ids.len()).expect("too many ladders"));
        *self.ids.entry((node, chain)).or_insert(next)
    }

    /// Adds the literal "position `position` of the chain is before the ladder's node".
    pub(crate) fn add_rung(&mut self, ladder: LadderId, position: u32, lit: Lit) -> Neighbours {
        let here = (ladder, position);
        let same = |(&(other, _), &lit): (&(LadderId, u32), &Lit)| (other == ladder).then_some(lit);
        let earlier = self.rungs.range(..here).next_back().and_then(same);
        let later = self.rungs.range(here..).next().and_then(same);
        let old = self.rungs.insert(here, lit);
        assert!(old.is_none(), "one atom per pair of nodes");
        Neighbours { earlier, later }
    }

    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }
}

/// The edges between a ladder's node and its chain that are in the graph and matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    lowest_after: i64,
    highest_before: i64,
}

impl Reach {
    pub(crate) const NOTHING: Reach = Reach { lowest_after: i64::MAX, highest_before: -1 };

    /// Whether an edge from the ladder's node to `position` follows from one that is in.
    pub(crate) fn implies_after(self, position: u32) -> bool {
        self.lowest_after <= i64::from(position)
    }

    /// Whether an edge from `position` to the ladder's node follows from one that is in.
    pub(crate) fn implies_before(self, position: u32) -> bool {
        self.highest_before >= i64::from(position)
    }

    /// With a further edge from the ladder's node to `position`.
    pub(crate) fn with_after(self, position: u32) -> Reach {
        Reach { lowest_after: i64::from(position), ..self }
    }

    /// With a further edge from `position` to the ladder's node.
    pub(crate) fn with_before(self, position: u32) -> Reach {
        Reach { highest_before: i64::from(position), ..self }
    }
}
