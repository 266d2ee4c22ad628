//! Expressions of the trace for operations of the image, over words in which values of fewer bits
//! are zero-extended.

use foretrace_recording::image::binary;
use foretrace_trace::expr::{BinaryOp, CastWidth, Expr, UnaryOp};

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
        (width, Expr::Literal(word)) => Expr::Literal(crate::arithmetic::cut(word, width)),
        (width, expr) => Expr::Unary(UnaryOp::ZeroExtend(cast_width(width)), Box::new(expr)),
    }
}

/// The word with the sign of a value of `width` bits.
pub(crate) fn extended(width: u8, expr: Expr) -> Expr {
    match (width, lowest(width, expr)) {
        (64.., expr) => expr,
        (width, Expr::Literal(word)) => {
            Expr::Literal(crate::arithmetic::signed(word, width) as u64)
        }
        (width, expr) => Expr::Unary(UnaryOp::SignExtend(cast_width(width)), Box::new(expr)),
    }
}

pub(crate) fn operation(op: u8, width: u8, left: Expr, right: Expr) -> Expr {
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
    match u64::from(op) {
        binary::ADD => cut_to(width, make(BinaryOp::Add, left, right)),
        binary::SUB => cut_to(width, make(BinaryOp::Sub, left, right)),
        binary::MUL => cut_to(width, make(BinaryOp::Mul, left, right)),
        binary::UDIV => cut_to(width, make(BinaryOp::UDiv, left, right)),
        binary::UREM => make(BinaryOp::URem, left, right),
        binary::SDIV => cut_to(width, with_signs(BinaryOp::Div, left, right)),
        binary::SREM => cut_to(width, with_signs(BinaryOp::Rem, left, right)),
        binary::AND => make(BinaryOp::And, left, right),
        binary::OR => make(BinaryOp::Or, left, right),
        binary::XOR => make(BinaryOp::Xor, left, right),
        binary::SHL => cut_to(width, make(BinaryOp::Shl, left, right)),
        binary::LSHR => make(BinaryOp::LShr, left, right),
        binary::ASHR => cut_to(width, make(BinaryOp::Shr, extended(width, left), right)),
        binary::EQ => make(BinaryOp::Eq, left, right),
        binary::NE => make(BinaryOp::Ne, left, right),
        // Words that are zero-extended have no sign.
        binary::ULT if !is_word => make(BinaryOp::Lt, left, right),
        binary::ULE if !is_word => make(BinaryOp::Le, left, right),
        binary::ULT => make(BinaryOp::Ult, left, right),
        binary::ULE => make(BinaryOp::Ule, left, right),
        binary::SLT => with_signs(BinaryOp::Lt, left, right),
        _ => with_signs(BinaryOp::Le, left, right),
    }
}
