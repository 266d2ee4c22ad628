//! Expressions, with C's precedence.
//!
//! **Computes.** The term that a text means, and the text of a term; `spelling` is the one table
//! of operators that both use.
//!
//! **Invariant.** A minus directly before a digit, where an operand may stand, belongs to the
//! literal; so the printer puts a negated literal in parentheses. No term is deeper than
//! [`MAX_DEPTH`], so that recursion over terms is safe everywhere. No name is directly followed by
//! a parenthesis, so `u8(` can only be a cast, though `u8` may be a name; and the `u` of `<u`
//! belongs to the operator unless it is the beginning of a longer word, as in `a <u8(b)`.

use crate::expr::{BinaryOp, CastWidth, Expr, UnaryOp};
use crate::ids::NameId;
use crate::store::Names;

use super::Error;
use super::cursor::Cursor;
use super::quoting::quote;

/// How many operators may lie on a path from the root of an expression to a leaf.
pub const MAX_DEPTH: usize = 128;
/// How far the parser recurses: enough for every term of [`MAX_DEPTH`] with the parentheses that
/// the printer gives it.
const MAX_NESTING: usize = 3 * MAX_DEPTH + 3;

/// Parses one expression; `resolve` knows the names that the thread has bound.
pub(super) fn parse(
    cursor: &mut Cursor,
    resolve: &dyn Fn(&str) -> Result<NameId, Unbound>,
) -> Result<Expr, Error> {
    Parser { cursor, resolve }.whole(0).map(|term| term.expr)
}

/// Why a name in an expression means nothing.
pub(super) struct Unbound {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// How names and numbers are written.
pub struct Leaves<'l> {
    /// Appends a name.
    pub name: &'l dyn Fn(NameId, &mut String),
    /// Appends a number.
    pub number: &'l dyn Fn(u64, &mut String),
}

/// Appends the text of an expression.
pub(super) fn show(expr: &Expr, names: &Names, out: &mut String) {
    let name = |name: NameId, out: &mut String| show_name(names.get(name.index()), out);
    let number = |word: u64, out: &mut String| out.push_str(&(word as i64).to_string());
    show_above(expr, &Leaves { name: &name, number: &number }, 0, out);
}

/// An expression with other names and numbers.
pub fn show_with(expr: &Expr, leaves: &Leaves) -> String {
    let mut out = String::new();
    show_above(expr, leaves, 0, &mut out);
    out
}

/// Whether a read name can be written without quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    !name.is_empty() && identifier_length(name) == name.len()
}

/// An operator's text and how tightly it binds. Longer operators come before their own prefixes.
const OPERATORS: [(&str, u8, BinaryOp); 25] = [
    ("||", 1, BinaryOp::LogicOr),
    ("&&", 2, BinaryOp::LogicAnd),
    ("|", 3, BinaryOp::Or),
    ("^", 4, BinaryOp::Xor),
    ("&", 5, BinaryOp::And),
    ("==", 6, BinaryOp::Eq),
    ("!=", 6, BinaryOp::Ne),
    ("<<", 8, BinaryOp::Shl),
    (">>u", 8, BinaryOp::LShr),
    (">>", 8, BinaryOp::Shr),
    ("<=u", 7, BinaryOp::Ule),
    (">=u", 7, BinaryOp::Uge),
    ("<=", 7, BinaryOp::Le),
    (">=", 7, BinaryOp::Ge),
    ("<u", 7, BinaryOp::Ult),
    (">u", 7, BinaryOp::Ugt),
    ("<", 7, BinaryOp::Lt),
    (">", 7, BinaryOp::Gt),
    ("+", 9, BinaryOp::Add),
    ("-", 9, BinaryOp::Sub),
    ("*", 10, BinaryOp::Mul),
    ("/u", 10, BinaryOp::UDiv),
    ("%u", 10, BinaryOp::URem),
    ("/", 10, BinaryOp::Div),
    ("%", 10, BinaryOp::Rem),
];
const UNARY_LEVEL: u8 = 11;

struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    resolve: &'c dyn Fn(&str) -> Result<NameId, Unbound>,
}

struct Term {
    expr: Expr,
    depth: usize,
}

impl Parser<'_, '_> {
    /// An expression, a conditional one included.
    fn whole(&mut self, nesting: usize) -> Result<Term, Error> {
        let condition = self.operators(1, nesting)?;
        if !self.cursor.eat("?") {
            return Ok(condition);
        }
        let then = self.whole(nesting + 1)?;
        self.cursor.expect(":")?;
        let other = self.whole(nesting + 1)?;
        let depth = condition.depth.max(then.depth).max(other.depth);
        let boxed = |term: Term| Box::new(term.expr);
        self.node(Expr::IfThenElse(boxed(condition), boxed(then), boxed(other)), depth)
    }

    /// Operands joined by operators that bind at least as tightly as `level`.
    fn operators(&mut self, level: u8, nesting: usize) -> Result<Term, Error> {
        let mut left = self.operand(nesting)?;
        while let Some((text, of_this, op)) = self.next_operator() {
            if of_this < level {
                break;
            }
            self.cursor.advance(text.len());
            let right = self.operators(of_this + 1, nesting + 1)?;
            let depth = left.depth.max(right.depth);
            left = self.node(Expr::Binary(op, Box::new(left.expr), Box::new(right.expr)), depth)?;
        }
        Ok(left)
    }

    fn operand(&mut self, nesting: usize) -> Result<Term, Error> {
        let start = self.cursor.place();
        if nesting > MAX_NESTING {
            return Err(self.too_deep(start));
        }
        let rest = self.cursor.rest();
        let mut bytes = rest.bytes();
        let unary = match bytes.next() {
            Some(b'-') if !bytes.next().is_some_and(|byte| byte.is_ascii_digit()) => UnaryOp::Neg,
            Some(b'!') => UnaryOp::Not,
            Some(b'~') => UnaryOp::BitNot,
            Some(b'(') => {
                self.cursor.advance(1);
                let inside = self.whole(nesting + 1)?;
                self.cursor.expect(")")?;
                return Ok(inside);
            }
            Some(b'-' | b'0'..=b'9') => {
                let number = self.cursor.number("a number")?;
                return Ok(Term { expr: Expr::Literal(number.word()), depth: 0 });
            }
            Some(b'"') => {
                let name = self.cursor.quoted()?;
                return self.name(&name, start);
            }
            _ => {
                let length = identifier_length(rest);
                if length == 0 {
                    return Err(self.cursor.expected("a number or the name of a read"));
                }
                self.cursor.advance(length);
                let name = &rest[..length];
                return match self.cursor.rest().starts_with('(') {
                    true => self.cast(name, start, nesting),
                    false => self.name(name, start),
                };
            }
        };
        self.cursor.advance(1);
        let operand = self.operand(nesting + 1)?;
        self.node(Expr::Unary(unary, Box::new(operand.expr)), operand.depth)
    }

    /// What follows `u8`, or whatever stands before the parenthesis.
    fn cast(&mut self, name: &str, start: usize, nesting: usize) -> Result<Term, Error> {
        let Some(bits) = name.strip_prefix(['u', 's']).filter(|bits| is_number(bits)) else {
            return self.name(name, start);
        };
        let width = bits.parse().ok().filter(|_| !bits.starts_with('0')).and_then(CastWidth::new);
        let Some(width) = width else {
            let error = self.cursor.error(start, format!("there is no cast `{name}`"));
            return Err(error.hint("a cast keeps 1 to 63 bits: u1(x) to u63(x), s1(x) to s63(x)"));
        };
        let op = match name.starts_with('u') {
            true => UnaryOp::ZeroExtend(width),
            false => UnaryOp::SignExtend(width),
        };
        self.cursor.advance(1);
        let inside = self.whole(nesting + 1)?;
        self.cursor.expect(")")?;
        self.node(Expr::Unary(op, Box::new(inside.expr)), inside.depth)
    }

    fn name(&mut self, name: &str, start: usize) -> Result<Term, Error> {
        match (self.resolve)(name) {
            Ok(id) => Ok(Term { expr: Expr::Name(id), depth: 0 }),
            Err(unbound) => {
                let error = self.cursor.error(start, unbound.message);
                Err(Error { hint: unbound.hint, ..error })
            }
        }
    }

    fn next_operator(&mut self) -> Option<(&'static str, u8, BinaryOp)> {
        self.cursor.skip_space();
        let rest = self.cursor.rest();
        OPERATORS.into_iter().find(|(text, ..)| {
            let behind = rest.strip_prefix(text);
            // Not the `u` of a longer word.
            let goes_on =
                |behind: &str| text.ends_with('u') && behind.starts_with(is_in_identifier);
            behind.is_some_and(|behind| !goes_on(behind))
        })
    }

    fn node(&mut self, expr: Expr, depth_below: usize) -> Result<Term, Error> {
        let depth = depth_below + 1;
        if depth > MAX_DEPTH {
            let place = self.cursor.place();
            return Err(self.too_deep(place));
        }
        Ok(Term { expr, depth })
    }

    fn too_deep(&self, place: usize) -> Error {
        let message = format!("the expression is nested more than {MAX_DEPTH} operators deep");
        self.cursor.error(place, message)
    }
}

fn show_above(expr: &Expr, leaves: &Leaves, level: u8, out: &mut String) {
    match expr {
        Expr::Literal(word) => (leaves.number)(*word, out),
        Expr::Name(name) => (leaves.name)(*name, out),
        Expr::Unary(op, operand) => {
            match op {
                UnaryOp::Neg => out.push('-'),
                UnaryOp::Not => out.push('!'),
                UnaryOp::BitNot => out.push('~'),
                UnaryOp::ZeroExtend(width) | UnaryOp::SignExtend(width) => {
                    let kind = if matches!(op, UnaryOp::ZeroExtend(_)) { "u" } else { "s" };
                    out.extend([kind, &width.bits().to_string()]);
                    return in_parentheses(true, out, |out| show_above(operand, leaves, 0, out));
                }
            }
            let literal = *op == UnaryOp::Neg && matches!(**operand, Expr::Literal(_));
            in_parentheses(literal, out, |out| show_above(operand, leaves, UNARY_LEVEL, out));
        }
        Expr::Binary(op, left, right) => {
            let (text, of_this) = spelling(*op);
            in_parentheses(of_this < level, out, |out| {
                show_above(left, leaves, of_this, out);
                out.extend([" ", text, " "]);
                show_above(right, leaves, of_this + 1, out);
            });
        }
        Expr::IfThenElse(condition, then, other) => in_parentheses(level > 0, out, |out| {
            show_above(condition, leaves, 1, out);
            out.push_str(" ? ");
            show_above(then, leaves, 0, out);
            out.push_str(" : ");
            show_above(other, leaves, 0, out);
        }),
    }
}

/// Appends a read name, as it stands before `=` and in expressions.
pub(super) fn show_name(name: &str, out: &mut String) {
    if is_identifier(name) { out.push_str(name) } else { quote(name, out) }
}

fn in_parentheses(needed: bool, out: &mut String, inside: impl FnOnce(&mut String)) {
    if needed {
        out.push('(');
    }
    inside(out);
    if needed {
        out.push(')');
    }
}

fn spelling(op: BinaryOp) -> (&'static str, u8) {
    let (text, level, _) =
        OPERATORS.into_iter().find(|&(.., of_row)| of_row == op).expect("every operator is listed");
    (text, level)
}

/// How long the identifier at the start of `text` is: letters, digits, `_`, `$` and `.`, not
/// beginning with a digit or `.`.
fn identifier_length(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
        return 0;
    }
    text.find(|c: char| !is_in_identifier(c)).unwrap_or(text.len())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_in_identifier(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.')
}
