//! Expressions of the trace for operations of the image, over words in which values of fewer bits
//! are zero-extended.

use foretrace_trace::expr::{BinaryOp, CastWidth, Expr, UnaryOp};
use foretrace_words::{BinaryOp as WordOp, cut, signed};

fn cast_width(width: u8) -> CastWidth {
    CastWidth::new(width.into()).expect("casts of 64 bits are left out, of 0 there are none")
}

/// Drops casts that do not change the lowest `width` bits.
fn lowest(width: u8, expr: Expr) -> Expr {
    match expr {
        Expr::Unary(UnaryOp::ZeroExtend(kept) | UnaryOp::SignExtend(kept), of)
            if kept.bits() >= u32::from(width) =>
        {
            lowest(width, *of)
        }
        Expr::Binary(op, left, right)
            if matches!(
                op,
                BinaryOp::Add
                    | BinaryOp::Sub
                    | BinaryOp::Mul
                    | BinaryOp::And
                    | BinaryOp::Or
                    | BinaryOp::Xor
            ) =>
        {
            Expr::Binary(op, Box::new(lowest(width, *left)), Box::new(lowest(width, *right)))
        }
        expr => expr,
    }
}

/// The lowest bits of a word.
pub(crate) fn cut_to(width: u8, expr: Expr) -> Expr {
    match (width, lowest(width, expr)) {
        (64.., expr) => expr,
        (width, Expr::Literal(word)) => Expr::Literal(cut(word, width)),
        (width, expr) => Expr::Unary(UnaryOp::ZeroExtend(cast_width(width)), Box::new(expr)),
    }
}

/// The word with the sign of a value of `width` bits.
pub(crate) fn extended(width: u8, expr: Expr) -> Expr {
    match (width, lowest(width, expr)) {
        (64.., expr) => expr,
        (width, Expr::Literal(word)) => Expr::Literal(signed(word, width) as u64),
        (width, expr) => Expr::Unary(UnaryOp::SignExtend(cast_width(width)), Box::new(expr)),
    }
}

pub(crate) fn operation(op: WordOp, width: u8, left: Expr, right: Expr) -> Expr {
    let is_word = width >= 64;
    let make = |op: BinaryOp, left: Expr, right: Expr| {
        // As people write comparisons: the number on the right.
        let (op, left, right) = match (&left, op.flipped()) {
            (Expr::Literal(_), Some(flipped)) => (flipped, right, left),
            _ => (op, left, right),
        };
        Expr::Binary(op, Box::new(left), Box::new(right))
    };
    let with_signs = |op: BinaryOp, left: Expr, right: Expr| {
        make(op, extended(width, left), extended(width, right))
    };
    match op {
        WordOp::Add => cut_to(width, make(BinaryOp::Add, left, right)),
        WordOp::Sub => cut_to(width, make(BinaryOp::Sub, left, right)),
        WordOp::Mul => cut_to(width, make(BinaryOp::Mul, left, right)),
        WordOp::UDiv => cut_to(width, make(BinaryOp::UDiv, left, right)),
        WordOp::URem => make(BinaryOp::URem, left, right),
        WordOp::SDiv => cut_to(width, with_signs(BinaryOp::Div, left, right)),
        WordOp::SRem => cut_to(width, with_signs(BinaryOp::Rem, left, right)),
        WordOp::And => make(BinaryOp::And, left, right),
        WordOp::Or => make(BinaryOp::Or, left, right),
        WordOp::Xor => make(BinaryOp::Xor, left, right),
        WordOp::Shl => cut_to(width, make(BinaryOp::Shl, left, right)),
        WordOp::LShr => make(BinaryOp::LShr, left, right),
        WordOp::AShr => cut_to(width, make(BinaryOp::Shr, extended(width, left), right)),
        WordOp::Eq => make(BinaryOp::Eq, left, right),
        WordOp::Ne => make(BinaryOp::Ne, left, right),
        // Words that are zero-extended have no sign.
        WordOp::Ult if !is_word => make(BinaryOp::Lt, left, right),
        WordOp::Ule if !is_word => make(BinaryOp::Le, left, right),
        WordOp::Ult => make(BinaryOp::Ult, left, right),
        WordOp::Ule => make(BinaryOp::Ule, left, right),
        WordOp::Slt => with_signs(BinaryOp::Lt, left, right),
        WordOp::Sle => with_signs(BinaryOp::Le, left, right),
    }
}
