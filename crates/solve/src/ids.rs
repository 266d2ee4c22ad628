//! The two names that callers hold: literals and nodes.

use std::fmt;
use std::ops::Not;

/// A boolean variable or its negation.
///
/// A literal belongs to the [`Solver`](crate::Solver) that made it; `!literal` is its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(i32);

impl Lit {
    /// Wraps a literal in CaDiCaL's numbering: non-zero, the sign is the polarity.
    pub(crate) fn from_code(code: i32) -> Self {
        debug_assert!(code != 0 && code != i32::MIN);
        Lit(code)
    }

    /// The literal in CaDiCaL's numbering.
    pub(crate) fn code(self) -> i32 {
        self.0
    }

    /// Index of the variable, for tables.
    pub(crate) fn variable(self) -> usize {
        self.0.unsigned_abs() as usize
    }

    /// Whether this is the variable itself, not its negation.
    pub fn is_positive(self) -> bool {
        self.0 > 0
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(-self.0)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A point of the order: an event of a chain, or a free moment.
///
/// Nodes are numbered in the order of their creation, which says nothing about their place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The node with the given number.
    pub(crate) fn from_index(index: usize) -> Self {
        // Two values at the top are taken by the order's sentinels.
        assert!(index < (u32::MAX - 2) as usize, "too many nodes");
        Node(index as u32)
    }

    /// The number of this node: 0 for the first one created, and so on without gaps.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}
