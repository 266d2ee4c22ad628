//! What a term is made of.
//!
//! Few operations, so that whoever takes terms apart has few cases: `!=` is a negated `==`,
//! greater-than is less-than with its operands swapped, an implication is `!a || b`, a truncation
//! is the extraction of the lowest bits. Booleans are terms of one bit.

use foretrace_words::BinaryOp;

/// A term of one arena.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(u32);

impl TermId {
    /// The id as an index: terms are numbered from 0, children before parents.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for TermId {
    #[inline]
    fn from(index: usize) -> Self {
        Self(u32::try_from(index).expect("an arena has at most 2^32 terms"))
    }
}

/// The value that one read saw.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(pub u32);

/// The value of a constant. Packed, so that it does not make every node larger.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(Rust, packed(4))]
pub struct Bits(u128);

impl Bits {
    pub(super) fn new(value: u128) -> Self {
        Bits(value)
    }

    /// The number.
    #[inline]
    pub fn get(self) -> u128 {
        self.0
    }
}

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// One operation with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// A number.
    Constant(Bits),
    /// What a read saw.
    Symbol(SymbolId),
    /// An operation on one term.
    Unary(UnaryOp, TermId),
    /// An operation on two terms of one width; never [`BinaryOp::Ne`].
    Binary(BinaryOp, TermId, TermId),
    /// The first operand's bits above the second's; of any widths.
    Concat(TermId, TermId),
    /// As many bits as the term is wide, from bit `low` of a wider term on; bit 0 is the lowest.
    Extract {
        /// The wider term.
        of: TermId,
        /// Its first bit that counts.
        low: u8,
    },
    /// The second operand if the first, of one bit, is 1; else the third.
    Ite(TermId, TermId, TermId),
}

/// Operations on one term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// Every bit the other way.
    Not,
    /// The number that gives 0 when added.
    Neg,
    /// Zeros put before, up to the width of the term.
    ZeroExtend,
    /// The highest bit repeated, up to the width of the term.
    SignExtend,
}

impl Node {
    /// The operands, from left to right.
    pub fn children(self) -> impl Iterator<Item = TermId> {
        let children = match self {
            Node::Constant(_) | Node::Symbol(_) => [None; 3],
            Node::Unary(_, a) | Node::Extract { of: a, .. } => [Some(a), None, None],
            Node::Binary(_, a, b) | Node::Concat(a, b) => [Some(a), Some(b), None],
            Node::Ite(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        children.into_iter().flatten()
    }
}

/// A node with its width: what makes a term the term that it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Row {
    pub(super) node: Node,
    pub(super) width: u8,
}

impl Row {
    pub(super) fn new(node: Node, width: u32) -> Self {
        Row { node, width: width as u8 }
    }
}
