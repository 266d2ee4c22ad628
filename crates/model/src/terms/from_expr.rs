//! Terms of the text form's expressions.
//!
//! **Computes.** A term of 64 bits that is worth what `foretrace_trace::text::eval` says: a name is
//! zero-extended; comparisons, `!`, `&&` and `||` give the words 0 and 1 and take every word but 0
//! as true.
//!
//! **Invariant.** No recursion, though expressions that are read from files are at most 128
//! operators deep.

use foretrace_trace::NameId;
use foretrace_trace::expr::{BinaryOp as ExprBinary, Node, UnaryOp as ExprUnary};

use super::{BinaryOp, TermId, Terms};

/// The width of the text form's values.
pub(crate) const WORD: u32 = 64;

impl Terms {
    /// The value of an expression, given by its nodes, a word of 64 bits. `bind` says what a name
    /// is: a term of at most 64 bits, as wide as the read that bound it. What is stored in a
    /// smaller place is the `trunc` of the result.
    pub fn from_expr(
        &mut self,
        nodes: impl IntoIterator<Item = Node>,
        mut bind: impl FnMut(NameId) -> TermId,
    ) -> TermId {
        let mut done: Vec<TermId> = Vec::with_capacity(16);
        for node in nodes {
            let mut operand = || done.pop().expect("operands come before their operator");
            let term = match node {
                Node::Literal(word) => self.constant(word as u128, WORD),
                Node::Name(name) => self.zext(bind(name), WORD),
                Node::Unary(op) => self.unary_word(op, operand()),
                Node::Binary(op) => {
                    let (b, a) = (operand(), operand());
                    self.binary_word(op, a, b)
                }
                Node::IfThenElse => {
                    let (b, a, condition) = (operand(), operand(), operand());
                    let condition = self.truth(condition);
                    self.ite(condition, a, b)
                }
            };
            done.push(term);
        }
        done.pop().expect("one expression gives one term")
    }

    fn unary_word(&mut self, op: ExprUnary, a: TermId) -> TermId {
        match op {
            ExprUnary::Neg => self.neg(a),
            ExprUnary::BitNot => self.not(a),
            ExprUnary::Not => {
                let truth = self.truth(a);
                let falsehood = self.not(truth);
                self.zext(falsehood, WORD)
            }
            ExprUnary::ZeroExtend(width) => {
                let low = self.trunc(a, width.bits());
                self.zext(low, WORD)
            }
            ExprUnary::SignExtend(width) => {
                let low = self.trunc(a, width.bits());
                self.sext(low, WORD)
            }
        }
    }

    fn binary_word(&mut self, op: ExprBinary, a: TermId, b: TermId) -> TermId {
        let bit = match op {
            ExprBinary::Add => return self.add(a, b),
            ExprBinary::Sub => return self.sub(a, b),
            ExprBinary::Mul => return self.mul(a, b),
            ExprBinary::Div => return self.sdiv(a, b),
            ExprBinary::Rem => return self.srem(a, b),
            ExprBinary::And => return self.and(a, b),
            ExprBinary::Or => return self.or(a, b),
            ExprBinary::Xor => return self.xor(a, b),
            ExprBinary::Shl => return self.shl(a, b),
            ExprBinary::Shr => return self.ashr(a, b),
            ExprBinary::UDiv => return self.udiv(a, b),
            ExprBinary::URem => return self.urem(a, b),
            ExprBinary::LShr => return self.lshr(a, b),
            ExprBinary::Eq => self.eq(a, b),
            ExprBinary::Ne => self.ne(a, b),
            ExprBinary::Lt => self.slt(a, b),
            ExprBinary::Le => self.sle(a, b),
            ExprBinary::Gt => self.sgt(a, b),
            ExprBinary::Ge => self.sge(a, b),
            ExprBinary::Ult => self.ult(a, b),
            ExprBinary::Ule => self.ule(a, b),
            ExprBinary::Ugt => self.ugt(a, b),
            ExprBinary::Uge => self.uge(a, b),
            ExprBinary::LogicAnd => self.connective(BinaryOp::And, a, b),
            ExprBinary::LogicOr => self.connective(BinaryOp::Or, a, b),
        };
        self.zext(bit, WORD)
    }

    /// `&&` or `||` of words, as one bit.
    fn connective(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let (a, b) = (self.truth(a), self.truth(b));
        self.binary(op, a, b)
    }
}
