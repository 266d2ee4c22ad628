//! What a read-modify-write does, as an instruction can say it.
//!
//! **Computes.** For `r = rmw x -> e`: an exchange, if `e` does not use `r`; a sum, difference or
//! bitwise operation of `r` and something; or a compare-and-exchange, for `r == a ? b : r` and for
//! an `e` that assumes `r == a`. All else is no single instruction.

use foretrace_trace::NameId;
use foretrace_trace::expr::{BinaryOp, Expr, UnaryOp};

use crate::ir::RmwOp;

/// What a read-modify-write stores, in terms of what was there before and what the thread has
/// computed.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Update {
    By(RmwOp, Expr),
    CompareExchange {
        expected: Expr,
        new: Expr,
        /// Whether runs part by whether it found what it expected.
        is_assumed: bool,
    },
}

/// The instruction that stores this where it finds `own`, if it finds what it assumes. The place
/// has `width` bits; `bits` says how long the value of an expression may be.
pub(super) fn update(
    stored: Expr,
    assumed: Option<Expr>,
    own: Option<NameId>,
    width: u32,
    bits: impl Fn(&Expr) -> u32,
) -> Option<Update> {
    let is_own = |expr: &Expr| own.is_some_and(|own| *expr == Expr::Name(own));
    let uses_own = |expr: &Expr| own.is_some_and(|own| uses(expr, own));
    // What does not fit in the place is never found there, but cut to the place it might be.
    let compare_exchange = |expected: Expr, new: &Expr, is_assumed: bool| {
        let fits = !uses_own(&expected) && bits(&expected) <= width;
        let new = own.map_or_else(|| new.clone(), |own| replaced(new, own, &expected));
        fits.then_some(Update::CompareExchange { expected, new, is_assumed })
    };
    if let Some(assumed) = assumed {
        return compare_exchange(compared(&assumed, own?)?, &stored, true);
    }
    // What is stored is cut to the place anyhow.
    let mut stored = stored;
    while let Expr::Unary(UnaryOp::ZeroExtend(to) | UnaryOp::SignExtend(to), inner) = &stored
        && to.bits() >= width
    {
        stored = (**inner).clone();
    }
    match &stored {
        _ if !uses_own(&stored) => Some(Update::By(RmwOp::Exchange, stored)),
        Expr::Binary(op, a, b) => {
            let (op, is_symmetric) = match op {
                BinaryOp::Add => (RmwOp::Add, true),
                BinaryOp::Sub => (RmwOp::Sub, false),
                BinaryOp::And => (RmwOp::And, true),
                BinaryOp::Or => (RmwOp::Or, true),
                BinaryOp::Xor => (RmwOp::Xor, true),
                _ => return None,
            };
            let operand = if is_own(a) { b } else { a };
            let is_other = !uses_own(operand) && (is_own(a) || (is_own(b) && is_symmetric));
            is_other.then(|| Update::By(op, (**operand).clone()))
        }
        Expr::IfThenElse(condition, then, otherwise) if is_own(otherwise) => {
            compare_exchange(compared(condition, own?)?, then, false)
        }
        _ => None,
    }
}

/// What a name is compared with, if the condition is that they are equal.
pub(super) fn compared(condition: &Expr, own: NameId) -> Option<Expr> {
    let is_own = |expr: &Expr| *expr == Expr::Name(own);
    match condition {
        Expr::Binary(BinaryOp::Eq, a, b) if is_own(a) => Some((**b).clone()),
        Expr::Binary(BinaryOp::Eq, a, b) if is_own(b) => Some((**a).clone()),
        Expr::Unary(UnaryOp::Not, a) if is_own(a) => Some(Expr::Literal(0)),
        _ => None,
    }
}

fn uses(expr: &Expr, name: NameId) -> bool {
    match expr {
        Expr::Literal(_) => false,
        Expr::Name(used) => *used == name,
        Expr::Unary(_, a) => uses(a, name),
        Expr::Binary(_, a, b) => uses(a, name) || uses(b, name),
        Expr::IfThenElse(a, b, c) => uses(a, name) || uses(b, name) || uses(c, name),
    }
}

/// The expression with something else instead of a name.
fn replaced(expr: &Expr, name: NameId, by: &Expr) -> Expr {
    let boxed = |expr: &Expr| Box::new(replaced(expr, name, by));
    match expr {
        Expr::Name(used) if *used == name => by.clone(),
        Expr::Literal(_) | Expr::Name(_) => expr.clone(),
        Expr::Unary(op, a) => Expr::Unary(*op, boxed(a)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a), boxed(b)),
        Expr::IfThenElse(a, b, c) => Expr::IfThenElse(boxed(a), boxed(b), boxed(c)),
    }
}
