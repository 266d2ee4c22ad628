//! Expressions, with C's precedence.
//!
//! **Computes.** The term that a text means, and the text of a term; `spelling` is the one table
//! of operators that both use.
//!
//! **Invariant.** A minus directly before a digit, where an operand may stand, belongs to the
//! literal; so the printer puts a negated literal in parentheses. No term is deeper than
//! [`MAX_DEPTH`], so that recursion over terms is safe everywhere.

use crate::expr::{BinaryOp, Expr, UnaryOp};
use crate::ids::NameId;
use crate::store::Names;

use super::Error;
use super::cursor::{Cursor, quote};

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

/// Appends the text of an expression.
pub(super) fn show(expr: &Expr, names: &Names, out: &mut String) {
    show_above(expr, names, 0, out);
}

/// Whether a read name can be written without quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    !name.is_empty() && identifier_length(name) == name.len()
}

/// An operator's text and how tightly it binds. Longer operators come before their own prefixes.
const OPERATORS: [(&str, u8, BinaryOp); 18] = [
    ("||", 1, BinaryOp::LogicOr),
    ("&&", 2, BinaryOp::LogicAnd),
    ("|", 3, BinaryOp::Or),
    ("^", 4, BinaryOp::Xor),
    ("&", 5, BinaryOp::And),
    ("==", 6, BinaryOp::Eq),
    ("!=", 6, BinaryOp::Ne),
    ("<<", 8, BinaryOp::Shl),
    (">>", 8, BinaryOp::Shr),
    ("<=", 7, BinaryOp::Le),
    (">=", 7, BinaryOp::Ge),
    ("<", 7, BinaryOp::Lt),
    (">", 7, BinaryOp::Gt),
    ("+", 9, BinaryOp::Add),
    ("-", 9, BinaryOp::Sub),
    ("*", 10, BinaryOp::Mul),
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
                return self.name(&rest[..length], start);
            }
        };
        self.cursor.advance(1);
        let operand = self.operand(nesting + 1)?;
        self.node(Expr::Unary(unary, Box::new(operand.expr)), operand.depth)
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
        let rest = self.cursor.rest().as_bytes();
        OPERATORS.into_iter().find(|(text, ..)| rest.starts_with(text.as_bytes()))
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

fn show_above(expr: &Expr, names: &Names, level: u8, out: &mut String) {
    match expr {
        Expr::Literal(word) => out.push_str(&(*word as i64).to_string()),
        Expr::Name(name) => show_name(names.get(name.index()), out),
        Expr::Unary(op, operand) => {
            out.push(match op {
                UnaryOp::Neg => '-',
                UnaryOp::Not => '!',
                UnaryOp::BitNot => '~',
            });
            let literal = *op == UnaryOp::Neg && matches!(**operand, Expr::Literal(_));
            in_parentheses(literal, out, |out| show_above(operand, names, UNARY_LEVEL, out));
        }
        Expr::Binary(op, left, right) => {
            let (text, of_this) = spelling(*op);
            in_parentheses(of_this < level, out, |out| {
                show_above(left, names, of_this, out);
                out.extend([" ", text, " "]);
                show_above(right, names, of_this + 1, out);
            });
        }
        Expr::IfThenElse(condition, then, other) => in_parentheses(level > 0, out, |out| {
            show_above(condition, names, 1, out);
            out.push_str(" ? ");
            show_above(then, names, 0, out);
            out.push_str(" : ");
            show_above(other, names, 0, out);
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
    let first = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    if !text.starts_with(first) {
        return 0;
    }
    text.find(|c: char| !first(c) && !c.is_alphanumeric() && c != '.').unwrap_or(text.len())
}
