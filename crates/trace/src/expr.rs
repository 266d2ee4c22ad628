//! Expressions over the names that reads bind, as the text form writes them: `r1 + 1 > b`.
//!
//! They are parsed, printed and stored from the start; the models `reads-from` and `values` use
//! only the recorded values beside them.

use crate::ids::NameId;

pub(crate) mod nodes;

pub use nodes::{ExprRef, Node, Nodes};

/// A term over read names. All values are 64-bit words; arithmetic wraps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// A literal.
    Literal(u64),
    /// What the read bound to this name saw.
    Name(NameId),
    /// A unary operation.
    Unary(UnaryOp, Box<Expr>),
    /// A binary operation.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    IfThenElse(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `-a`
    Neg,
    /// `!a`: 1 if a is 0, else 0
    Not,
    /// `~a`
    BitNot,
    /// `u8(a)`: the lowest bits, with zeros above
    ZeroExtend(CastWidth),
    /// `s8(a)`: the lowest bits, with their sign above
    SignExtend(CastWidth),
}

/// How many bits a cast keeps: 1 to 63.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct CastWidth(u8);

impl CastWidth {
    /// The width, if there is a cast to it.
    pub fn new(bits: u32) -> Option<Self> {
        (1..64).contains(&bits).then_some(CastWidth(bits as u8))
    }

    /// In bits.
    pub fn bits(self) -> u32 {
        self.0.into()
    }
}

#[cfg(test)]
impl Expr {
    /// The lowest `bits` bits, with zeros above. The lowest 64 are the word itself.
    pub(crate) fn zero_extended(self, bits: u32) -> Expr {
        self.cast(UnaryOp::ZeroExtend, bits)
    }

    /// The lowest `bits` bits, with their sign above. The lowest 64 are the word itself.
    pub(crate) fn sign_extended(self, bits: u32) -> Expr {
        self.cast(UnaryOp::SignExtend, bits)
    }

    fn cast(self, op: fn(CastWidth) -> UnaryOp, bits: u32) -> Expr {
        if bits == 64 {
            return self;
        }
        let width = CastWidth::new(bits).unwrap_or_else(|| panic!("a cast to {bits} bits"));
        Expr::Unary(op(width), Box::new(self))
    }
}

/// Binary operators. Those without a `U` or an `L` in front are signed where C's `int64_t` is.
///
/// The binary form stores their numbers: new ones come last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    LogicAnd,
    LogicOr,
    Ult,
    Ule,
    Ugt,
    Uge,
    UDiv,
    URem,
    LShr,
}

impl BinaryOp {
    /// All of them, in the order of their numbers.
    pub const ALL: [BinaryOp; 25] = [
        BinaryOp::Add,
        BinaryOp::Sub,
        BinaryOp::Mul,
        BinaryOp::Div,
        BinaryOp::Rem,
        BinaryOp::And,
        BinaryOp::Or,
        BinaryOp::Xor,
        BinaryOp::Shl,
        BinaryOp::Shr,
        BinaryOp::Eq,
        BinaryOp::Ne,
        BinaryOp::Lt,
        BinaryOp::Le,
        BinaryOp::Gt,
        BinaryOp::Ge,
        BinaryOp::LogicAnd,
        BinaryOp::LogicOr,
        BinaryOp::Ult,
        BinaryOp::Ule,
        BinaryOp::Ugt,
        BinaryOp::Uge,
        BinaryOp::UDiv,
        BinaryOp::URem,
        BinaryOp::LShr,
    ];

    /// The comparison that says the same with its sides exchanged.
    pub fn flipped(self) -> Option<BinaryOp> {
        Some(match self {
            BinaryOp::Eq | BinaryOp::Ne => self,
            BinaryOp::Lt => BinaryOp::Gt,
            BinaryOp::Le => BinaryOp::Ge,
            BinaryOp::Gt => BinaryOp::Lt,
            BinaryOp::Ge => BinaryOp::Le,
            BinaryOp::Ult => BinaryOp::Ugt,
            BinaryOp::Ule => BinaryOp::Uge,
            BinaryOp::Ugt => BinaryOp::Ult,
            BinaryOp::Uge => BinaryOp::Ule,
            _ => return None,
        })
    }
}
