//! Terms as straight-line code.
//!
//! **Computes.** The value of a term from what reads saw. A read that keeps no place among the
//! values of its thread has seen what it saw in the recorded run.
//!
//! **Cost.** One pass over the distinct parts of the term, without a table.

use foretrace_model::terms::{BinaryOp, Node, SymbolId, TermId, Terms, UnaryOp};
use foretrace_words::{cut, signed};

/// What a read saw: kept in the state, or a constant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    Slot(u32),
    Recorded(u64),
}

/// The code of one term. The last instruction gives the value.
#[derive(Debug)]
pub(crate) struct Formula {
    code: Vec<Instruction>,
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Constant(u128),
    Slot(u32),
    Unary { op: UnaryOp, of: u32, from: u32, width: u32 },
    Binary { op: BinaryOp, left: u32, right: u32, width: u32 },
    Concat { high: u32, low: u32, width_of_low: u32 },
    Extract { of: u32, low: u32, width: u32 },
    Ite(u32, u32, u32),
}

impl Formula {
    pub(crate) fn new(terms: &Terms, term: TermId, seen: &impl Fn(SymbolId) -> Seen) -> Self {
        let parts = terms.reachable([term]);
        let at = |part: TermId| parts.binary_search(&part).expect("children are parts") as u32;
        let code = parts.iter().map(|&part| {
            let width = terms.width(part);
            match terms.node(part) {
                Node::Constant(bits) => Instruction::Constant(bits.get()),
                Node::Symbol(symbol) => match seen(symbol) {
                    Seen::Slot(slot) => Instruction::Slot(slot),
                    Seen::Recorded(value) => Instruction::Constant(cut(value.into(), width)),
                },
                Node::Unary(op, of) => {
                    Instruction::Unary { op, of: at(of), from: terms.width(of), width }
                }
                Node::Binary(op, left, right) => {
                    let width = terms.width(right);
                    Instruction::Binary { op, left: at(left), right: at(right), width }
                }
                Node::Concat(high, low) => Instruction::Concat {
                    high: at(high),
                    low: at(low),
                    width_of_low: terms.width(low),
                },
                Node::Extract { of, low } => {
                    Instruction::Extract { of: at(of), low: low.into(), width }
                }
                Node::Ite(condition, then, other) => {
                    Instruction::Ite(at(condition), at(then), at(other))
                }
            }
        });
        Formula { code: code.collect() }
    }

    /// The value; `values` are what reads saw, by slot, and `scratch` is room to compute in.
    pub(crate) fn value(&self, values: &[u64], scratch: &mut Vec<u128>) -> u128 {
        scratch.clear();
        for &instruction in &self.code {
            let part = |at: u32| scratch[at as usize];
            let value = match instruction {
                Instruction::Constant(value) => value,
                Instruction::Slot(slot) => values[slot as usize].into(),
                Instruction::Unary { op, of, from, width } => {
                    let value = part(of);
                    match op {
                        UnaryOp::Not => cut(!value, width),
                        UnaryOp::Neg => cut(value.wrapping_neg(), width),
                        UnaryOp::ZeroExtend => value,
                        UnaryOp::SignExtend => cut(signed(value, from) as u128, width),
                    }
                }
                Instruction::Binary { op, left, right, width } => {
                    op.apply(part(left), part(right), width)
                }
                Instruction::Concat { high, low, width_of_low } => {
                    part(high) << width_of_low | part(low)
                }
                Instruction::Extract { of, low, width } => cut(part(of) >> low, width),
                Instruction::Ite(condition, then, other) => {
                    part(if part(condition) == 1 { then } else { other })
                }
            };
            scratch.push(value);
        }
        *scratch.last().expect("a term has a value")
    }
}
