//! Expressions in postfix order.
//!
//! **Computes.** The bytes that a trace keeps of an expression, in memory as in the binary form: a
//! code for each node, behind that of a literal or a name a number in LEB128, behind that of a cast
//! a byte. `r3 == 5` takes 6 bytes and no allocation.
//!
//! **Invariant.** The bytes behind an [`ExprRef`] are those of exactly one expression: only
//! [`encode`] makes them.

use super::{BinaryOp, CastWidth, Expr, UnaryOp};
use crate::ids::NameId;
use crate::text::eval;

/// One node of an expression; its operands are the nodes before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Node {
    Literal(u64),
    Name(NameId),
    Unary(UnaryOp),
    Binary(BinaryOp),
    /// Of the condition and the two values, in this order.
    IfThenElse,
}

/// An expression of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExprRef<'t> {
    code: &'t [u8],
}

/// The operators without a width.
pub(crate) const UNARY: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot];
pub(crate) const LITERAL: u8 = 0;
pub(crate) const NAME: u8 = 1;
pub(crate) const IF_THEN_ELSE: u8 = 2;
pub(crate) const FIRST_UNARY: u8 = 16;
/// Followed by a byte, how many bits are kept.
pub(crate) const ZERO_EXTEND: u8 = 24;
pub(crate) const SIGN_EXTEND: u8 = 25;
pub(crate) const FIRST_BINARY: u8 = 32;

/// Appends a number in LEB128: 7 bits per byte, the lowest first.
#[inline]
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a node.
#[inline]
pub(crate) fn encode(bytes: &mut Vec<u8>, node: Node) {
    match node {
        Node::Literal(word) => {
            bytes.push(LITERAL);
            put_number(bytes, word);
        }
        Node::Name(name) => {
            bytes.push(NAME);
            put_number(bytes, name.0.into());
        }
        Node::Unary(UnaryOp::Neg) => bytes.push(FIRST_UNARY),
        Node::Unary(UnaryOp::Not) => bytes.push(FIRST_UNARY + 1),
        Node::Unary(UnaryOp::BitNot) => bytes.push(FIRST_UNARY + 2),
        Node::Unary(UnaryOp::ZeroExtend(width)) => bytes.extend([ZERO_EXTEND, width.0]),
        Node::Unary(UnaryOp::SignExtend(width)) => bytes.extend([SIGN_EXTEND, width.0]),
        Node::Binary(op) => bytes.push(FIRST_BINARY + op as u8),
        Node::IfThenElse => bytes.push(IF_THEN_ELSE),
    }
}

/// The nodes of an expression.
#[derive(Clone, Debug)]
pub struct Nodes<'t> {
    rest: &'t [u8],
}

impl Nodes<'_> {
    #[inline]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.rest.split_first().expect("a node is there as a whole");
        self.rest = rest;
        byte
    }

    #[inline]
    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return number;
            }
            shift += 7;
        }
    }
}

impl Iterator for Nodes<'_> {
    type Item = Node;

    #[inline]
    fn next(&mut self) -> Option<Node> {
        if self.rest.is_empty() {
            return None;
        }
        Some(match self.byte() {
            LITERAL => Node::Literal(self.number()),
            NAME => Node::Name(NameId(self.number() as u32)),
            IF_THEN_ELSE => Node::IfThenElse,
            ZERO_EXTEND => Node::Unary(UnaryOp::ZeroExtend(CastWidth(self.byte()))),
            SIGN_EXTEND => Node::Unary(UnaryOp::SignExtend(CastWidth(self.byte()))),
            code if code < FIRST_BINARY => Node::Unary(UNARY[usize::from(code - FIRST_UNARY)]),
            code => Node::Binary(BinaryOp::ALL[usize::from(code - FIRST_BINARY)]),
        })
    }
}

impl<'t> ExprRef<'t> {
    /// The expression that [`encode`] has put into these bytes.
    pub(crate) fn new(code: &'t [u8]) -> Self {
        ExprRef { code }
    }

    /// Its bytes.
    pub(crate) fn code(self) -> &'t [u8] {
        self.code
    }

    /// Its nodes, the operands before their operator.
    pub fn nodes(self) -> Nodes<'t> {
        Nodes { rest: self.code }
    }

    /// The names in it, from left to right, each as often as it is there.
    pub fn names(self) -> impl Iterator<Item = NameId> + use<'t> {
        self.nodes().filter_map(|node| match node {
            Node::Name(name) => Some(name),
            _ => None,
        })
    }

    /// The number, if it is nothing else.
    pub fn literal(self) -> Option<u64> {
        match self.nodes().next() {
            Some(Node::Literal(word)) if self.nodes().nth(1).is_none() => Some(word),
            _ => None,
        }
    }

    /// The same as a tree.
    pub fn tree(self) -> Expr {
        let below = |parts: &mut Vec<Expr>| Box::new(parts.pop().expect(OPERANDS));
        self.fold(|node, parts| match node {
            Node::Literal(word) => Expr::Literal(word),
            Node::Name(name) => Expr::Name(name),
            Node::Unary(op) => Expr::Unary(op, below(parts)),
            Node::Binary(op) => {
                let (right, left) = (below(parts), below(parts));
                Expr::Binary(op, left, right)
            }
            Node::IfThenElse => {
                let (other, then, condition) = (below(parts), below(parts), below(parts));
                Expr::IfThenElse(condition, then, other)
            }
        })
    }

    /// What it is worth, as [`eval::evaluate`] says.
    pub fn evaluate(self, value: &impl Fn(NameId) -> Option<u64>) -> Option<u64> {
        let pop = |parts: &mut Vec<Option<u64>>| parts.pop().expect(OPERANDS);
        self.fold(|node, parts| match node {
            Node::Literal(word) => Some(word),
            Node::Name(name) => value(name),
            Node::Unary(op) => pop(parts).map(|operand| eval::unary(op, operand)),
            Node::Binary(op) => {
                let (right, left) = (pop(parts), pop(parts));
                match (op, left?) {
                    (BinaryOp::LogicAnd, 0) => Some(0),
                    (BinaryOp::LogicOr, 1..) => Some(1),
                    (_, left) => right.map(|right| eval::binary(op, left, right)),
                }
            }
            Node::IfThenElse => {
                let (other, then, condition) = (pop(parts), pop(parts), pop(parts));
                if condition? != 0 { then } else { other }
            }
        })
    }

    /// How many operators are on the longest way to a leaf.
    pub(crate) fn depth(self) -> usize {
        self.fold(|node, parts: &mut Vec<usize>| {
            let count = match node {
                Node::Literal(_) | Node::Name(_) => 0,
                Node::Unary(_) => 1,
                Node::Binary(_) => 2,
                Node::IfThenElse => 3,
            };
            let operands = parts.drain(parts.len() - count..);
            operands.map(|depth| depth + 1).max().unwrap_or(0)
        })
    }

    /// What becomes of the whole, where `each` takes what has become of a node's operands from the
    /// end of a list.
    fn fold<T>(self, mut each: impl FnMut(Node, &mut Vec<T>) -> T) -> T {
        let mut parts = Vec::with_capacity(8);
        for node in self.nodes() {
            let part = each(node, &mut parts);
            parts.push(part);
        }
        parts.pop().expect("an expression has a node")
    }
}

const OPERANDS: &str = "operands come before their operator";

impl Expr {
    /// Its nodes, the operands before their operator.
    pub fn nodes(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.for_each_node(|node| nodes.push(node));
        nodes
    }

    /// Shows all nodes, the operands before their operator. Without recursion: only expressions
    /// that are read from files have a limit to their depth.
    pub(crate) fn for_each_node(&self, mut each: impl FnMut(Node)) {
        // Operators wait here until their operands were shown.
        let mut waiting: Vec<Result<&Expr, Node>> = Vec::with_capacity(8);
        let mut next = Ok(self);
        loop {
            match next {
                Ok(Expr::Literal(word)) => each(Node::Literal(*word)),
                Ok(Expr::Name(name)) => each(Node::Name(*name)),
                Ok(Expr::Unary(op, operand)) => {
                    waiting.extend([Err(Node::Unary(*op)), Ok(&**operand)])
                }
                Ok(Expr::Binary(op, left, right)) => {
                    waiting.extend([Err(Node::Binary(*op)), Ok(&**right), Ok(left)]);
                }
                Ok(Expr::IfThenElse(condition, then, other)) => {
                    waiting.extend([Err(Node::IfThenElse), Ok(&**other), Ok(then), Ok(condition)]);
                }
                Err(operator) => each(operator),
            }
            let Some(waits) = waiting.pop() else { return };
            next = waits;
        }
    }
}
