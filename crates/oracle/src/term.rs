//! Expressions whose names are resolved, and their values.
//!
//! **Computes.** The value of an expression from what the reads that it uses have seen.
//!
//! **Follows.** `docs/trace-format.md`, *Expressions*: 64-bit words, arithmetic wraps, `/`, `%`,
//! `>>` and the comparisons are signed, those with a `u` behind them are not; `u8(x)` and `s8(x)`
//! keep the lowest bits. So that every term has a value: x / 0 is -1 and x % 0 is x, shifting by 64
//! or more shifts everything out.
//!
//! **Invariant.** Shares no code with the evaluator of the trace crate, with which traces are
//! generated and validated.
//!
//! **Cost.** Linear in the term, with `let`s written out.

use foretrace_trace::EventId;
use foretrace_trace::expr::{BinaryOp, UnaryOp};

use crate::event_set::EventSet;

/// An expression over reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Term {
    Word(u64),
    /// What this read, or the read half of this read-modify-write, saw.
    Read(EventId),
    Unary(UnaryOp, Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
}

impl Term {
    /// Its value, given what each read saw.
    pub(crate) fn value(&self, saw: &dyn Fn(EventId) -> u64) -> u64 {
        match self {
            Term::Word(word) => *word,
            Term::Read(read) => saw(*read),
            Term::Unary(op, operand) => unary(*op, operand.value(saw)),
            Term::Binary(op, left, right) => {
                binary(*op, left.value(saw) as i64, right.value(saw) as i64)
            }
            Term::If(condition, then, otherwise) => {
                if condition.value(saw) == 0 {
                    otherwise.value(saw)
                } else {
                    then.value(saw)
                }
            }
        }
    }

    /// The reads that it uses.
    pub(crate) fn reads(&self) -> EventSet {
        let mut all = EventSet::default();
        self.collect(&mut all);
        all
    }

    /// Whether it, or a part of it, is one of these.
    pub(crate) fn has(&self, is_one: &dyn Fn(&Term) -> bool) -> bool {
        is_one(self)
            || match self {
                Term::Word(_) | Term::Read(_) => false,
                Term::Unary(_, operand) => operand.has(is_one),
                Term::Binary(_, left, right) => left.has(is_one) || right.has(is_one),
                Term::If(condition, then, otherwise) => {
                    condition.has(is_one) || then.has(is_one) || otherwise.has(is_one)
                }
            }
    }

    /// Whether it cuts something to fewer bits.
    pub(crate) fn casts(&self) -> bool {
        self.has(&|term| {
            matches!(term, Term::Unary(UnaryOp::ZeroExtend(_) | UnaryOp::SignExtend(_), _))
        })
    }

    /// Whether it takes numbers as unsigned.
    pub(crate) fn is_unsigned(&self) -> bool {
        use BinaryOp::*;
        self.has(&|term| {
            matches!(term, Term::Binary(Ult | Ule | Ugt | Uge | UDiv | URem | LShr, ..))
        })
    }

    fn collect(&self, all: &mut EventSet) {
        match self {
            Term::Word(_) => {}
            Term::Read(read) => all.insert(*read),
            Term::Unary(_, operand) => operand.collect(all),
            Term::Binary(_, left, right) => {
                left.collect(all);
                right.collect(all);
            }
            Term::If(condition, then, otherwise) => {
                condition.collect(all);
                then.collect(all);
                otherwise.collect(all);
            }
        }
    }
}

fn unary(op: UnaryOp, a: u64) -> u64 {
    match op {
        UnaryOp::Neg => 0_u64.wrapping_sub(a),
        UnaryOp::Not => u64::from(a == 0),
        UnaryOp::BitNot => a ^ u64::MAX,
        UnaryOp::ZeroExtend(width) => a % (1 << width.bits()),
        UnaryOp::SignExtend(width) => {
            let range = 1_u64 << width.bits();
            let low = a % range;
            if low < range / 2 { low } else { low.wrapping_sub(range) }
        }
    }
}

/// As numbers without sign: the negative ones are above all others.
fn is_below(a: i64, b: i64) -> bool {
    if (a < 0) == (b < 0) { a < b } else { b < 0 }
}

/// Quotient and remainder of numbers without sign.
fn divided(a: u64, b: u64) -> (u64, u64) {
    match b {
        0 => (u64::MAX, a),
        _ => (a / b, a % b),
    }
}

fn binary(op: BinaryOp, a: i64, b: i64) -> u64 {
    let truth = u64::from;
    // As unsigned, a negative amount is far too large.
    let amount = u32::try_from(b).ok().filter(|amount| *amount < 64);
    match op {
        BinaryOp::Add => a.wrapping_add(b) as u64,
        BinaryOp::Sub => a.wrapping_sub(b) as u64,
        BinaryOp::Mul => a.wrapping_mul(b) as u64,
        BinaryOp::Div => match b {
            0 => u64::MAX,
            // The one quotient that does not fit wraps to its dividend, which is what negation
            // does.
            -1 => a.wrapping_neg() as u64,
            _ => (a / b) as u64,
        },
        BinaryOp::Rem => match b {
            0 => a as u64,
            -1 => 0,
            _ => (a % b) as u64,
        },
        BinaryOp::And => (a & b) as u64,
        BinaryOp::Or => (a | b) as u64,
        BinaryOp::Xor => (a ^ b) as u64,
        BinaryOp::Shl => amount.map_or(0, |amount| (a << amount) as u64),
        BinaryOp::Shr => match amount {
            Some(amount) => (a >> amount) as u64,
            None if a < 0 => u64::MAX,
            None => 0,
        },
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::LogicAnd => truth(a != 0 && b != 0),
        BinaryOp::LogicOr => truth(a != 0 || b != 0),
        BinaryOp::Ult => truth(is_below(a, b)),
        BinaryOp::Ule => truth(!is_below(b, a)),
        BinaryOp::Ugt => truth(is_below(b, a)),
        BinaryOp::Uge => truth(!is_below(a, b)),
        BinaryOp::UDiv => divided(a as u64, b as u64).0,
        BinaryOp::URem => divided(a as u64, b as u64).1,
        // The sign that came in from the left goes out again.
        BinaryOp::LShr => match amount {
            Some(0) => a as u64,
            Some(amount) => (a >> amount) as u64 % (1 << (64 - amount)),
            None => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use foretrace_trace::expr::CastWidth;
    use foretrace_trace::text::eval;

    use super::*;
    use foretrace_testing::Random;

    #[test]
    fn both_evaluators_agree() {
        let mut random = Random::new(0);
        let mut word = || match random.below(3) {
            0 => random.number(),
            1 => random.pick(&[0, 1, u64::MAX, 63, 64, 65, 1 << 63, i64::MAX as u64]),
            _ => (random.below(8) as u64).wrapping_sub(4),
        };
        for _ in 0..20_000 {
            let (a, b) = (word(), word());
            for op in BinaryOp::ALL {
                let ours = binary(op, a as i64, b as i64);
                assert_eq!(ours, eval::binary(op, a, b), "{op:?} {a} {b}");
            }
            let casts = (1..64).filter_map(CastWidth::new);
            let casts = casts.flat_map(|w| [UnaryOp::ZeroExtend(w), UnaryOp::SignExtend(w)]);
            for op in [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot].into_iter().chain(casts) {
                assert_eq!(unary(op, a), eval::unary(op, a), "{op:?} {a}");
            }
        }
    }
}
