//! Terms for people: `r3 + 1 > b0`.
//!
//! **Computes.** Infix, with C's operators and precedence and no parentheses but the necessary
//! ones. Plain operators are signed, as in the text form of traces; the unsigned ones are `<u`,
//! `/u`, `%u`, `>>u`. A symbol stands for its number in any width, so its extension by zeros is not
//! shown, nor that of a boolean or of bits and choices of such numbers; other casts are: `u8(x)`
//! cuts or extends by zeros, `i64(x)` by the sign. `docs/terms.md` has the whole list.
//!
//! **Invariant.** Recursion ends at the depth that is shown, so deep that there are at most
//! `MAX_NODES` operations and operands. What is deeper is `…`.

use std::fmt;

use foretrace_model::terms::{BinaryOp, Node, SymbolId, TermId, Terms, UnaryOp};
use foretrace_words::signed;

use crate::definitions::mask;

/// How deep a term is shown, if nobody says otherwise.
const DEPTH: u8 = 12;

/// How many operations inside each other are looked at to hide a cast.
const PLAIN_DEPTH: u8 = 3;

/// How many operations and operands are shown at most, unless one operation has more.
const MAX_NODES: u32 = 60;

/// The term for people, with names for the symbols.
pub(crate) fn show<N: Fn(SymbolId) -> String>(
    terms: &Terms,
    term: TermId,
    names: N,
) -> Shown<'_, N> {
    Shown { terms, term, names, depth: DEPTH }
}

/// A term that can be printed.
pub(crate) struct Shown<'t, N> {
    terms: &'t Terms,
    term: TermId,
    names: N,
    depth: u8,
}

impl<N> Shown<'_, N> {
    /// Shows this many operations inside each other.
    pub(crate) fn depth(self, depth: u8) -> Self {
        Shown { depth, ..self }
    }
}

impl<N: Fn(SymbolId) -> String> fmt::Display for Shown<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printer = Printer { terms: self.terms, names: &self.names };
        let is_short = |depth: &u8| printer.count(self.term, *depth, MAX_NODES + 1) <= MAX_NODES;
        let depth = (1..=self.depth).rev().find(is_short).unwrap_or(self.depth.min(1));
        printer.write(f, self.term, Place { level: TERNARY, depth, unsigned: false })
    }
}

// How tightly operators bind.
const TERNARY: u8 = 1;
const LOGIC_OR: u8 = 2;
const LOGIC_AND: u8 = 3;
const BIT_OR: u8 = 4;
const BIT_XOR: u8 = 5;
const BIT_AND: u8 = 6;
const EQUALITY: u8 = 7;
const ORDER: u8 = 8;
const SHIFT: u8 = 9;
const SUM: u8 = 10;
const PRODUCT: u8 = 11;
const PREFIX: u8 = 12;

/// Where a term is printed.
#[derive(Clone, Copy)]
struct Place {
    /// An operator that binds less tightly than this gets parentheses.
    level: u8,
    /// How many operations inside each other are still shown.
    depth: u8,
    /// Whether numbers are meant without sign.
    unsigned: bool,
}

struct Printer<'p, N> {
    terms: &'p Terms,
    names: &'p N,
}

/// An operation between two operands, as it is written.
struct Infix {
    level: u8,
    symbol: &'static str,
    unsigned: bool,
    /// Whether the same operator may follow on the right without parentheses.
    is_associative: bool,
}

impl<N: Fn(SymbolId) -> String> Printer<'_, N> {
    /// How many operations and operands are shown of a term; `limit` stands for all higher numbers.
    fn count(&self, term: TermId, depth: u8, limit: u32) -> u32 {
        let Some(depth) = depth.checked_sub(1) else { return 1 };
        let children = self.terms.children(self.without_hidden_cast(term));
        children.fold(1, |count, child| match count < limit {
            true => count + self.count(child, depth, limit - count),
            false => limit,
        })
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, term: TermId, place: Place) -> fmt::Result {
        let term = self.without_hidden_cast(term);
        let width = self.terms.width(term);
        let node = self.terms.node(term);
        match node {
            Node::Constant(bits) => return f.write_str(&number(bits.get(), width, place.unsigned)),
            Node::Symbol(symbol) => return f.write_str(&(self.names)(symbol)),
            _ => {}
        }
        let Some(depth) = place.depth.checked_sub(1) else { return f.write_str("…") };
        let at = |level| Place { level, depth, unsigned: false };
        match node {
            Node::Constant(_) | Node::Symbol(_) => unreachable!("leaves are written"),
            Node::Unary(UnaryOp::Not, a) => match self.terms.node(a) {
                Node::Binary(BinaryOp::Eq, x, y) => {
                    let (x, y) = self.simple_right(x, y);
                    self.infix(f, place, infix(EQUALITY, "!=", false), x, y)
                }
                _ => {
                    f.write_str(if width == 1 { "!" } else { "~" })?;
                    self.write(f, a, at(PREFIX))
                }
            },
            Node::Unary(UnaryOp::Neg, a) => {
                f.write_str("-")?;
                self.write(f, a, at(PREFIX))
            }
            Node::Unary(UnaryOp::ZeroExtend, a) => self.cast(f, 'u', width, a, at(TERNARY)),
            Node::Unary(UnaryOp::SignExtend, a) => self.cast(f, 'i', width, a, at(TERNARY)),
            Node::Extract { of, low: 0 } => self.cast(f, 'u', width, of, at(TERNARY)),
            Node::Extract { of, low } => {
                f.write_str("bits(")?;
                self.write(f, of, at(TERNARY))?;
                write!(f, ", {low}..{})", low as u32 + width)
            }
            Node::Concat(a, b) => {
                f.write_str("concat(")?;
                self.write(f, a, at(TERNARY))?;
                f.write_str(", ")?;
                self.write(f, b, at(TERNARY))?;
                f.write_str(")")
            }
            Node::Binary(op, a, b) => self.binary(f, place, op, a, b),
            Node::Ite(condition, then, other) => parenthesised(f, place.level > TERNARY, |f| {
                self.write(f, condition, at(LOGIC_OR))?;
                f.write_str(" ? ")?;
                self.write(f, then, at(TERNARY))?;
                f.write_str(" : ")?;
                self.write(f, other, at(TERNARY))
            }),
        }
    }

    fn binary(
        &self,
        f: &mut fmt::Formatter<'_>,
        place: Place,
        op: BinaryOp,
        a: TermId,
        b: TermId,
    ) -> fmt::Result {
        use BinaryOp::*;
        let width = self.terms.width(b);
        let is_boolean = width == 1;
        if op == Add
            && let Some(c) = self.terms.as_constant(b)
            && looks_negative(c, width)
        {
            return self.minus(f, place, a, -signed(c, width));
        }
        let (a, b) = if op == Eq { self.simple_right(a, b) } else { (a, b) };
        let is_turned = matches!(op, Ult | Ule | Slt | Sle) && self.simple_right(a, b) != (a, b);
        let written = match op {
            Add => associative(SUM, "+"),
            Sub => infix(SUM, "-", false),
            Mul => associative(PRODUCT, "*"),
            UDiv => infix(PRODUCT, "/u", true),
            SDiv => infix(PRODUCT, "/", false),
            URem => infix(PRODUCT, "%u", true),
            SRem => infix(PRODUCT, "%", false),
            And if is_boolean => associative(LOGIC_AND, "&&"),
            Or if is_boolean => associative(LOGIC_OR, "||"),
            Xor if is_boolean => infix(EQUALITY, "!=", false),
            And => associative(BIT_AND, "&"),
            Or => associative(BIT_OR, "|"),
            Xor => associative(BIT_XOR, "^"),
            Shl => infix(SHIFT, "<<", false),
            LShr => infix(SHIFT, ">>u", false),
            AShr => infix(SHIFT, ">>", false),
            Eq => infix(EQUALITY, "==", false),
            Ne => infix(EQUALITY, "!=", false),
            Ult => infix(ORDER, if is_turned { ">u" } else { "<u" }, true),
            Ule => infix(ORDER, if is_turned { ">=u" } else { "<=u" }, true),
            Slt => infix(ORDER, if is_turned { ">" } else { "<" }, false),
            Sle => infix(ORDER, if is_turned { ">=" } else { "<=" }, false),
        };
        let (a, b) = if is_turned { (b, a) } else { (a, b) };
        self.infix(f, place, written, a, b)
    }

    fn infix(
        &self,
        f: &mut fmt::Formatter<'_>,
        place: Place,
        infix: Infix,
        a: TermId,
        b: TermId,
    ) -> fmt::Result {
        let Infix { level, symbol, unsigned, is_associative } = infix;
        let depth = place.depth.saturating_sub(1);
        let is_same = is_associative && self.has_operator_of(b, a, symbol);
        // Not necessary, but `a < b == c < d` is hard to read.
        let level_inside = if level == EQUALITY { SHIFT } else { level };
        let right = match level {
            _ if is_same => level,
            EQUALITY => SHIFT,
            _ => level + 1,
        };
        parenthesised(f, place.level > level, |f| {
            self.write(f, a, Place { level: level_inside, depth, unsigned })?;
            write!(f, " {symbol} ")?;
            self.write(f, b, Place { level: right, depth, unsigned })
        })
    }

    /// Whether `term` is written with the associative operator `symbol`, as its left neighbour `of`
    /// is wide.
    fn has_operator_of(&self, term: TermId, of: TermId, symbol: &str) -> bool {
        if self.terms.width(term) != self.terms.width(of) {
            return false;
        }
        let Node::Binary(op, _, b) = self.terms.node(term) else { return false };
        use BinaryOp::*;
        match (symbol, op) {
            ("+", Add) => {
                let c = self.terms.as_constant(b);
                !c.is_some_and(|c| looks_negative(c, self.terms.width(b)))
            }
            ("*", Mul) | ("&" | "&&", And) | ("|" | "||", Or) | ("^", Xor) => true,
            _ => false,
        }
    }

    fn minus(
        &self,
        f: &mut fmt::Formatter<'_>,
        place: Place,
        a: TermId,
        what: i128,
    ) -> fmt::Result {
        let depth = place.depth.saturating_sub(1);
        parenthesised(f, place.level > SUM, |f| {
            self.write(f, a, Place { level: SUM, depth, unsigned: false })?;
            write!(f, " - {what}")
        })
    }

    fn cast(
        &self,
        f: &mut fmt::Formatter<'_>,
        kind: char,
        width: u32,
        of: TermId,
        place: Place,
    ) -> fmt::Result {
        write!(f, "{kind}{width}(")?;
        self.write(f, of, place)?;
        f.write_str(")")
    }

    /// What is the same number in any width, instead of its extension by zeros.
    fn without_hidden_cast(&self, term: TermId) -> TermId {
        match self.terms.node(term) {
            Node::Unary(UnaryOp::ZeroExtend, a) if self.is_same_in_any_width(a, PLAIN_DEPTH) => a,
            _ => term,
        }
    }

    /// Whether a term reads as one number, however wide its operands are taken to be.
    fn is_same_in_any_width(&self, term: TermId, depth: u8) -> bool {
        let width = self.terms.width(term);
        let node = self.terms.node(term);
        match node {
            _ if width == 1 => return true,
            Node::Symbol(_) => return true,
            Node::Constant(bits) => return !looks_negative(bits.get(), width),
            _ if depth == 0 => return false,
            _ => {}
        }
        let is_same = |a| self.is_same_in_any_width(a, depth - 1);
        use BinaryOp::*;
        match node {
            Node::Unary(UnaryOp::ZeroExtend, a) => is_same(a),
            Node::Binary(And | Or | Xor | LShr | URem, a, b) | Node::Ite(_, a, b) => {
                is_same(a) && is_same(b)
            }
            _ => false,
        }
    }

    /// The operands of a comparison, the simpler one on the right where they differ in that.
    fn simple_right(&self, a: TermId, b: TermId) -> (TermId, TermId) {
        let rank = |term| match self.terms.node(self.without_hidden_cast(term)) {
            Node::Constant(_) => 0,
            Node::Symbol(_) => 1,
            _ => 2,
        };
        if rank(a) < rank(b) { (b, a) } else { (a, b) }
    }
}

fn infix(level: u8, symbol: &'static str, unsigned: bool) -> Infix {
    Infix { level, symbol, unsigned, is_associative: false }
}

fn associative(level: u8, symbol: &'static str) -> Infix {
    Infix { level, symbol, unsigned: false, is_associative: true }
}

fn parenthesised(
    f: &mut fmt::Formatter<'_>,
    is_needed: bool,
    write: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    if !is_needed {
        return write(f);
    }
    f.write_str("(")?;
    write(f)?;
    f.write_str(")")
}

/// Whether a constant is most likely meant as a negative number: it is nearer to 0 than 2^(width /
/// 2).
fn looks_negative(value: u128, width: u32) -> bool {
    width >= 8 && value > mask(width) - (1 << (width / 2))
}

fn number(value: u128, width: u32, unsigned: bool) -> String {
    match value {
        _ if width == 1 => (if value == 1 { "true" } else { "false" }).to_owned(),
        _ if !unsigned && looks_negative(value, width) => signed(value, width).to_string(),
        _ if value < 1 << 32 => value.to_string(),
        _ => format!("{value:#x}"),
    }
}
