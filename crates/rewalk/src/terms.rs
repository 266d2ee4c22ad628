//! Values as terms over what a thread has read.
//!
//! **Computes.** Terms over the reads of one thread, shared where they are equal, each with the
//! value that it had in the recorded run; and the expressions of the trace for them. All values are
//! words in which a value of fewer bits is zero-extended, so to extend by zeros is nothing.
//!
//! **Invariant.** A term is *exact*, that is, worth the same as the program's value whatever was
//! read, and short enough to be written down, unless it is `Unmodelled`, or deeper than [`DEEP`],
//! or made of such: those say only which reads a value may depend on. A term is *fixed* once the
//! thread has passed a guard, branch or assertion after which it can only have its recorded value:
//! from then on it is a number.
//!
//! **Cost.** Constant time per operation. An expression has at most [`LARGE`] operators: what is
//! larger gets names for its parts.

use foretrace_trace::NameId;
use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_words::{BinaryOp as WordOp, Cast};
use rustc_hash::FxHashSet;

use crate::expressions::{cut_to, extended, operation};
use crate::sharing::Shared;
use crate::told::WalkStep;

mod keep;

/// Parts of an expression that have more operators get names of their own.
const LARGE: u16 = 24;

/// So many operations in a row are expressed; what is computed by more is kept as recorded, since
/// each would cost the trace an event.
const DEEP: u16 = 4096;

/// How deep to look whether a term is fixed.
const DEPTH: u32 = 6;

/// A term; 0 is none: the value does not depend on what was read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TermId(pub(crate) u32);

impl TermId {
    pub(crate) const NONE: TermId = TermId(0);
}

/// A value of the recorded run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    /// What it was, if that is known.
    pub(crate) bits: u64,
    pub(crate) known: bool,
    /// What it is of what was read.
    pub(crate) term: TermId,
}

impl Value {
    /// A value that is not known, and depends on nothing that was read.
    pub(crate) const UNKNOWN: Value = Value { bits: 0, known: false, term: TermId::NONE };

    pub(crate) fn number(bits: u64) -> Value {
        Value { bits, known: true, term: TermId::NONE }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Number(u64),
    Read(u32),
    Binary {
        op: WordOp,
        width: u8,
        left: TermId,
        right: TermId,
    },
    Truncate {
        to: u8,
        of: TermId,
    },
    SignExtend {
        from: u8,
        to: u8,
        of: TermId,
    },
    Choice {
        condition: TermId,
        then: TermId,
        otherwise: TermId,
    },
    /// Depends on these two, nobody knows how.
    Unmodelled(TermId, TermId),
}

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    bits: u64,
    /// Operators, if it were written out.
    size: u16,
    /// Operations in a row since the last read or name.
    depth: u16,
    /// How many bits it can have.
    width: u8,
    exact: bool,
    fixed: bool,
    /// Whether it was given a name, `number`.
    named: bool,
    name: u32,
}

/// The terms of a thread.
#[derive(Debug)]
pub(crate) struct Terms {
    nodes: Vec<Node>,
    shared: Shared,
    next_name: u32,
    /// When there are so many terms, those that nothing refers to are dropped.
    limit: usize,
    /// Kept so that nothing is allocated whenever terms are dropped.
    spare_moved: Vec<u32>,
    spare_nodes: Vec<Node>,
}

/// So many terms may be there before any is dropped.
const FEW: usize = 1 << 15;

impl Terms {
    pub(crate) fn new() -> Terms {
        let none = Node {
            kind: Kind::Number(0),
            bits: 0,
            size: 0,
            depth: 0,
            width: 0,
            exact: true,
            fixed: true,
            named: false,
            name: 0,
        };
        Terms {
            nodes: vec![none],
            shared: Shared::new(),
            next_name: 0,
            limit: FEW,
            spare_moved: Vec::new(),
            spare_nodes: Vec::new(),
        }
    }

    /// Whether it is time to drop terms.
    pub(crate) fn are_many(&self) -> bool {
        self.nodes.len() > self.limit
    }

    fn node(&self, term: TermId) -> &Node {
        &self.nodes[term.0 as usize]
    }

    fn push(&mut self, kind: Kind, bits: u64, width: u8) -> TermId {
        let place = self.shared.find(kind, |term| self.nodes[term as usize].kind);
        if let Some(known) = place.term {
            return TermId(known);
        }
        let term = self.push_new(kind, bits, width);
        let Terms { nodes, shared, .. } = self;
        shared.put(place, term.0, |term| nodes[term as usize].kind);
        term
    }

    /// The term of this kind, if there is one.
    fn find(&self, kind: Kind) -> Option<TermId> {
        self.shared.find(kind, |term| self.nodes[term as usize].kind).term.map(TermId)
    }

    fn push_new(&mut self, kind: Kind, bits: u64, width: u8) -> TermId {
        let is_decided = self.contrary_of(kind).is_some_and(|term| self.node(term).fixed);
        let size = self.size_of(kind);
        let (mut exact, mut fixed) = (!matches!(kind, Kind::Unmodelled(..)), true);
        let mut depth = 0;
        for child in children(kind) {
            let child = self.node(child);
            exact &= child.exact;
            fixed &= child.fixed;
            if !child.fixed {
                depth = child.depth.saturating_add(1).max(depth);
            }
        }
        exact &= depth <= DEEP;
        fixed &= !matches!(kind, Kind::Read(_));
        fixed |= is_decided;
        let term = TermId(self.nodes.len() as u32);
        self.nodes.push(Node {
            kind,
            bits,
            size,
            depth,
            width,
            exact,
            fixed,
            named: false,
            name: 0,
        });
        term
    }

    /// A new read of `width` bits, and its name.
    pub(crate) fn read(&mut self, bits: u64, width: u8) -> (Value, u32) {
        let name = self.next_name;
        self.next_name += 1;
        let term = self.push_new(Kind::Read(name), bits, width);
        (Value { bits, known: true, term }, name)
    }

    /// Notices that all parts of a term have been fixed since it was made.
    pub(crate) fn refresh(&mut self, value: Value) -> Value {
        self.settle(value.term, 0);
        self.now(value)
    }

    fn settle(&mut self, term: TermId, depth: u32) -> bool {
        let node = *self.node(term);
        if node.fixed || depth > DEPTH || matches!(node.kind, Kind::Read(_)) {
            return node.fixed;
        }
        let fixed = children(node.kind).all(|child| self.settle(child, depth + 1));
        self.nodes[term.0 as usize].fixed = fixed;
        fixed
    }

    /// The value as it is now: a number if its term is fixed.
    #[inline]
    pub(crate) fn now(&self, value: Value) -> Value {
        match value.term != TermId::NONE && self.node(value.term).fixed {
            // What was not known before does not become known, but it depends on nothing any more.
            true => Value { term: TermId::NONE, ..value },
            false => value,
        }
    }

    fn term_of(&mut self, value: Value) -> TermId {
        match value.term {
            TermId::NONE => self.push(
                Kind::Number(value.bits),
                value.bits,
                64 - value.bits.leading_zeros() as u8,
            ),
            term => term,
        }
    }

    /// Something that depends on these values, nobody knows how. What it was is not known either.
    pub(crate) fn unmodelled(&mut self, values: impl IntoIterator<Item = Value>) -> Value {
        let mut term = TermId::NONE;
        for value in values {
            let value = self.now(value);
            term = match (term, value.term) {
                (so_far, TermId::NONE) => so_far,
                (TermId::NONE, first) if !self.node(first).exact => first,
                (so_far, next) => self.push(Kind::Unmodelled(so_far, next), 0, 64),
            };
        }
        Value { term, ..Value::UNKNOWN }
    }

    /// An operation on two values of `width` bits.
    pub(crate) fn binary(&mut self, op: WordOp, width: u8, left: Value, right: Value) -> Value {
        let (left, right) = (self.now(left), self.now(right));
        let depends = left.term != TermId::NONE || right.term != TermId::NONE;
        if !left.known || !right.known || !self.is_exact(left) || !self.is_exact(right) {
            let known = left.known && right.known;
            let bits = if known { op.apply(left.bits, right.bits, width) } else { 0 };
            return match depends {
                true => Value { bits, known, ..self.unmodelled([left, right]) },
                false => Value { bits, known, term: TermId::NONE },
            };
        }
        let bits = op.apply(left.bits, right.bits, width);
        if !depends {
            return Value::number(bits);
        }
        if let Some(simple) = self.simplify(op, left, right) {
            return Value { bits, known: true, term: simple };
        }
        let (left, right) = (self.term_of(left), self.term_of(right));
        let result = if op.is_comparison() { 1 } else { width };
        let term = self.push(Kind::Binary { op, width, left, right }, bits, result);
        Value { bits, known: true, term }
    }

    /// A comparison of a bit with 0 or 1 is the bit, or its contrary. (So compilers write
    /// conditions.)
    fn simplify(&mut self, op: WordOp, left: Value, right: Value) -> Option<TermId> {
        if left.term == TermId::NONE || right.term != TermId::NONE {
            let is_neutral = match op {
                WordOp::Add | WordOp::Or | WordOp::Xor => left.bits == 0,
                _ => false,
            };
            return (left.term == TermId::NONE && is_neutral).then_some(right.term);
        }
        let (node, constant) = (*self.node(left.term), right.bits);
        match op {
            WordOp::Add | WordOp::Sub | WordOp::Or | WordOp::Xor | WordOp::Shl | WordOp::LShr
                if constant == 0 =>
            {
                Some(left.term)
            }
            WordOp::Ne if node.width == 1 && constant == 0 => Some(left.term),
            WordOp::Eq if node.width == 1 && constant == 1 => Some(left.term),
            WordOp::Eq | WordOp::Ne if node.width == 1 && constant <= 1 => self.contrary(left.term),
            WordOp::Xor if node.width == 1 && constant == 1 => self.contrary(left.term),
            _ => None,
        }
    }

    /// The comparison that holds where this one does not.
    fn contrary(&mut self, term: TermId) -> Option<TermId> {
        let node = *self.node(term);
        contrary(node.kind).map(|kind| self.push(kind, 1 - node.bits, 1))
    }

    /// The same, if there is a term of it.
    fn contrary_of(&self, kind: Kind) -> Option<TermId> {
        contrary(kind).and_then(|kind| self.find(kind))
    }

    /// A change of width.
    pub(crate) fn cast(&mut self, cast: Cast, value: Value, from: u8, to: u8) -> Value {
        let value = self.now(value);
        let bits = if value.known { cast.apply(value.bits, from, to) } else { 0 };
        if value.term == TermId::NONE || !self.is_exact(value) {
            return Value { bits, ..value };
        }
        let width = self.node(value.term).width;
        let is_same = match cast {
            Cast::SignExtend => from == to || width < from,
            _ => width <= to,
        };
        let term = match cast {
            _ if is_same => value.term,
            Cast::SignExtend => self.push(Kind::SignExtend { from, to, of: value.term }, bits, to),
            _ => self.push(Kind::Truncate { to, of: value.term }, bits, to),
        };
        Value { bits, known: true, term }
    }

    /// `then` if the condition is 1, else `otherwise`.
    pub(crate) fn choice(&mut self, condition: Value, then: Value, otherwise: Value) -> Value {
        let [condition, then, otherwise] = [condition, then, otherwise].map(|one| self.now(one));
        if condition.term == TermId::NONE {
            return match (condition.known, condition.bits) {
                (true, 0) => otherwise,
                (true, _) => then,
                (false, _) => self.unmodelled([then, otherwise]),
            };
        }
        let taken = match (condition.known, condition.bits) {
            (false, _) => Value::UNKNOWN,
            (true, 0) => otherwise,
            (true, _) => then,
        };
        let all = [condition, then, otherwise];
        if all.iter().any(|one| !one.known || !self.is_exact(*one)) {
            return Value { bits: taken.bits, known: taken.known, ..self.unmodelled(all) };
        }
        if then.term == otherwise.term && then.bits == otherwise.bits {
            return then;
        }
        if (then.term, then.bits, otherwise.term, otherwise.bits)
            == (TermId::NONE, 1, TermId::NONE, 0)
        {
            return condition;
        }
        let [condition, then, otherwise] = all.map(|one| self.term_of(one));
        let width = self.node(then).width.max(self.node(otherwise).width);
        let term = self.push(Kind::Choice { condition, then, otherwise }, taken.bits, width);
        Value { bits: taken.bits, known: true, term }
    }

    /// How many bits the value can have, as far as its term knows.
    pub(crate) fn width(&self, value: Value) -> u8 {
        self.node(value.term).width
    }

    /// Whether an expression can say what the value is.
    pub(crate) fn is_exact(&self, value: Value) -> bool {
        self.node(value.term).exact
    }

    /// From here on the value is what it was in the recorded run.
    pub(crate) fn fix(&mut self, value: Value) {
        if value.term == TermId::NONE {
            return;
        }
        let node = &mut self.nodes[value.term.0 as usize];
        node.fixed = true;
        let node = *node;
        if let Some(contrary) = self.contrary_of(node.kind) {
            self.nodes[contrary.0 as usize].fixed = true;
        }
        // An equation that holds fixes one side if the other is fixed.
        let Kind::Binary { op, left, right, .. } = node.kind else { return };
        let holds = (op, node.bits);
        if holds == (WordOp::Eq, 1) || holds == (WordOp::Ne, 0) {
            let sides = [left, right].map(|side| self.node(side).fixed);
            if sides[0] || sides[1] {
                for side in [left, right] {
                    self.nodes[side.0 as usize].fixed = true;
                }
            }
        }
    }

    /// The part of an address that is not a number: what is added to a base need not be guarded.
    pub(crate) fn base(&self, value: Value) -> Value {
        let mut value = value;
        while value.term != TermId::NONE
            && let Kind::Binary { op, width: 64, left, right } = self.node(value.term).kind
            && op == WordOp::Add
        {
            let (a, b) = (self.node(left), self.node(right));
            let term = match (a.fixed, b.fixed) {
                (_, true) => left,
                (true, _) => right,
                _ => break,
            };
            value = Value { bits: self.node(term).bits, known: true, term };
        }
        value
    }

    /// The reads that the value depends on, and that may still differ from the recorded run. They
    /// are fixed afterwards.
    pub(crate) fn fix_reads(&mut self, value: Value) -> Vec<Value> {
        let mut reads = Vec::new();
        let mut open = vec![value.term];
        while let Some(term) = open.pop() {
            let node = &mut self.nodes[term.0 as usize];
            if std::mem::replace(&mut node.fixed, true) {
                continue;
            }
            match node.kind {
                Kind::Read(_) => reads.push(Value { bits: node.bits, known: true, term }),
                kind => open.extend(children(kind)),
            }
        }
        reads
    }

    /// The condition that a value is what it was, with the parts that need names.
    pub(crate) fn equals_recorded(&mut self, value: Value, lets: &mut Vec<WalkStep>) -> Expr {
        let expr = self.express(value, lets);
        Expr::Binary(BinaryOp::Eq, Box::new(expr), Box::new(Expr::Literal(value.bits)))
    }

    /// The expression of a value that is exact and known.
    pub(crate) fn express(&mut self, value: Value, lets: &mut Vec<WalkStep>) -> Expr {
        if value.term == TermId::NONE {
            return Expr::Literal(value.bits);
        }
        self.name_large_parts(value.term, lets);
        self.expression(value.term)
    }

    /// Gives names to all large parts of a term, so that nothing that is left is deep. Parts have
    /// smaller numbers than what they are parts of.
    fn name_large_parts(&mut self, term: TermId, lets: &mut Vec<WalkStep>) {
        let mut seen = FxHashSet::default();
        let mut open = vec![term];
        while let Some(term) = open.pop() {
            for child in children(self.node(term).kind) {
                let node = self.node(child);
                if node.size > LARGE && !node.named && !node.fixed && seen.insert(child) {
                    open.push(child);
                }
            }
        }
        let mut large: Vec<TermId> = seen.into_iter().collect();
        large.sort_unstable_by_key(|term| term.0);
        for part in large {
            // Its own parts have names by now, if they need them.
            let size = self.size_of(self.node(part).kind);
            self.nodes[part.0 as usize].size = size;
            if size > LARGE {
                let expr = self.expression(part);
                self.give_name(part, expr, lets);
            }
        }
    }

    /// How many operators a term has, if it is written out.
    fn size_of(&self, kind: Kind) -> u16 {
        let size = |child: &Node| if child.named || child.fixed { 1 } else { child.size };
        children(kind).fold(1, |sum: u16, child| sum.saturating_add(size(self.node(child))))
    }

    /// The expression of a term, though it may be fixed.
    fn expression(&self, term: TermId) -> Expr {
        let node = self.node(term);
        if node.named {
            return Expr::Name(NameId(node.name));
        }
        match node.kind {
            Kind::Number(number) => Expr::Literal(number),
            Kind::Read(name) => Expr::Name(NameId(name)),
            Kind::Truncate { to, of } => cut_to(to, self.part(of)),
            Kind::SignExtend { from, to, of } => cut_to(to, extended(from, self.part(of))),
            Kind::Choice { condition, then, otherwise } => Expr::IfThenElse(
                Box::new(self.part(condition)),
                Box::new(self.part(then)),
                Box::new(self.part(otherwise)),
            ),
            Kind::Binary { op, width, left, right } => {
                operation(op, width, self.part(left), self.part(right))
            }
            Kind::Unmodelled(..) => unreachable!("only exact terms are expressed"),
        }
    }

    /// A part of an expression: a number if it is fixed.
    fn part(&self, term: TermId) -> Expr {
        let node = self.node(term);
        if node.fixed { Expr::Literal(node.bits) } else { self.expression(term) }
    }

    fn give_name(&mut self, term: TermId, value: Expr, lets: &mut Vec<WalkStep>) {
        let name = self.next_name;
        self.next_name += 1;
        lets.push(WalkStep::Let { name, value });
        let node = &mut self.nodes[term.0 as usize];
        (node.named, node.name, node.depth) = (true, name, 0);
    }

    /// Sees to it that the value can be used often: gives it a name if it is more than a few
    /// operators.
    pub(crate) fn make_small(&mut self, value: Value, lets: &mut Vec<WalkStep>) {
        let value = self.now(value);
        let node = *self.node(value.term);
        if value.term != TermId::NONE && node.exact && !node.named && node.size > LARGE / 8 {
            let expr = self.express(value, lets);
            self.give_name(value.term, expr, lets);
        }
    }
}

fn children(kind: Kind) -> impl Iterator<Item = TermId> {
    let parts = match kind {
        Kind::Number(_) | Kind::Read(_) => [TermId::NONE; 3],
        Kind::Binary { left, right, .. } => [left, right, TermId::NONE],
        Kind::Truncate { of, .. } | Kind::SignExtend { of, .. } => [of, TermId::NONE, TermId::NONE],
        Kind::Choice { condition, then, otherwise } => [condition, then, otherwise],
        Kind::Unmodelled(a, b) => [a, b, TermId::NONE],
    };
    parts.into_iter().filter(|&part| part != TermId::NONE)
}

/// The comparison that holds where this one does not.
fn contrary(kind: Kind) -> Option<Kind> {
    let Kind::Binary { op, width, left, right } = kind else { return None };
    let (op, left, right) = match op {
        WordOp::Eq => (WordOp::Ne, left, right),
        WordOp::Ne => (WordOp::Eq, left, right),
        WordOp::Ult => (WordOp::Ule, right, left),
        WordOp::Ule => (WordOp::Ult, right, left),
        WordOp::Slt => (WordOp::Sle, right, left),
        WordOp::Sle => (WordOp::Slt, right, left),
        _ => return None,
    };
    Some(Kind::Binary { op, width, left, right })
}
