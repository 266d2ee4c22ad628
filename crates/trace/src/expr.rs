//! Expressions over the names that reads bind, as the text form writes them: `r1 + 1 > b`.
//!
//! They are parsed, printed and stored from the start; the models `reads-from` and `values` use
//! only the recorded values beside them.

use crate::ids::NameId;

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
}

/// Binary operators, signed where C's `int64_t` is.
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
}
