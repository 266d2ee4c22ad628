//! SMT-LIB 2.6: the text of a formula, and the answers of a solver as trees.
//!
//! **Invariant.** The text depends on the formula alone, and has one `check-sat`. Behind it the
//! values of clocks and π-variables are asked for; a solver that said `unsat` answers that with an
//! error, which is to be ignored.
//!
//! **Cost.** Linear in the size of the formula.

use std::io;

use crate::expression::{DEFINED_DIVISION, DIVISION};
use crate::formula::{Formula, Item, Sort};
use crate::term::Term;

/// Lines that would be longer are broken.
const LINE: usize = 110;
/// How many values are asked for in one command.
const ASKED_AT_ONCE: usize = 64;

/// Writes the formula and the commands that decide it.
pub fn write(formula: &Formula, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "(set-option :produce-models true)")?;
    writeln!(out, "(set-logic {})", formula.logic)?;
    if formula.applies(DIVISION) {
        writeln!(out, "{DEFINED_DIVISION}")?;
    }
    let mut line = String::new();
    for item in &formula.items {
        line.clear();
        match item {
            Item::Comment(text) => {
                // A line break would end the comment.
                let text = text.replace(|c: char| c.is_control(), " ");
                line.push_str(format!("; {text}").trim_end());
            }
            Item::Declare { symbol, sort } => {
                line = format!("(declare-const {} {})", quoted(symbol), sort_name(*sort));
            }
            Item::Define { symbol, sort, term } => {
                line = format!("(define-fun {} () {} ", quoted(symbol), sort_name(*sort));
                show(term, 2, LINE.saturating_sub(line.len()), &mut line);
                line.push(')');
            }
            Item::Assert(term) => {
                line.push_str("(assert ");
                show(term, 2, LINE - 10, &mut line);
                line.push(')');
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    writeln!(out, "(check-sat)")?;
    let asked: Vec<String> = formula.asked().map(quoted).collect();
    for some in asked.chunks(ASKED_AT_ONCE) {
        writeln!(out, "(get-value ({}))", some.join(" "))?;
    }
    Ok(())
}

fn sort_name(sort: Sort) -> String {
    match sort {
        Sort::Int => "Int".to_string(),
        Sort::Bool => "Bool".to_string(),
        Sort::BitVec(width) => format!("(_ BitVec {width})"),
    }
}

/// A symbol as it is written: in bars unless it is a simple one. What bars cannot hold is replaced.
pub fn quoted(symbol: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "~!@$%^&*_-+=<>.?/".contains(c);
    let is_simple =
        symbol.chars().all(is_plain) && !symbol.starts_with(|c: char| c.is_ascii_digit());
    match is_simple && !symbol.is_empty() && !RESERVED.contains(&symbol) {
        true => symbol.to_string(),
        false => format!("|{}|", symbol.replace(['|', '\\'], "_")),
    }
}

/// Words that are no symbols.
const RESERVED: [&str; 8] = ["_", "!", "as", "let", "exists", "forall", "match", "par"];

/// Appends the term, broken into lines if it has more than `room` characters.
fn show(term: &Term, indent: usize, room: usize, out: &mut String) {
    let operands = match term {
        Term::Apply(_, operands) if !fits(term, room) => operands,
        _ => return show_flat(term, out),
    };
    let Term::Apply(op, _) = term else { unreachable!("only operations are broken") };
    out.push('(');
    out.push_str(op);
    for operand in operands {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
        show(operand, indent + 2, LINE.saturating_sub(indent).max(20), out);
    }
    out.push(')');
}

fn show_flat(term: &Term, out: &mut String) {
    use std::fmt::Write as _;
    match term {
        Term::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Term::Int(value) if *value < 0 => _ = write!(out, "(- {})", value.unsigned_abs()),
        Term::Int(value) => _ = write!(out, "{value}"),
        Term::Word { value, width } => _ = write!(out, "(_ bv{value} {width})"),
        Term::Symbol(symbol) => out.push_str(&quoted(symbol)),
        Term::Apply(op, operands) => {
            out.push('(');
            out.push_str(op);
            for operand in operands {
                out.push(' ');
                show_flat(operand, out);
            }
            out.push(')');
        }
        Term::Indexed(op, numbers, operand) => {
            _ = write!(out, "((_ {op}");
            for number in numbers {
                _ = write!(out, " {number}");
            }
            out.push_str(") ");
            show_flat(operand, out);
            out.push(')');
        }
    }
}

/// Whether the term has at most `room` characters; looks at no more of it than that.
fn fits(term: &Term, room: usize) -> bool {
    fn rest(term: &Term, room: usize) -> Option<usize> {
        match term {
            Term::Bool(_) => room.checked_sub(5),
            Term::Int(_) => room.checked_sub(4),
            Term::Word { .. } => room.checked_sub(12),
            Term::Symbol(symbol) => room.checked_sub(symbol.len()),
            Term::Apply(op, operands) => {
                let room = room.checked_sub(op.len() + 2)?;
                operands.iter().try_fold(room, |room, operand| rest(operand, room.checked_sub(1)?))
            }
            Term::Indexed(op, _, operand) => rest(operand, room.checked_sub(op.len() + 14)?),
        }
    }
    rest(term, room).is_some()
}

/// A tree of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tree {
    /// A symbol (without bars), number, keyword or string (with its quotes).
    Leaf(String),
    /// What stands in parentheses.
    List(Vec<Tree>),
}

/// The text is no sequence of trees.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("byte {at}: {what}")]
pub struct Malformed {
    /// Where.
    pub at: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// The trees that a text consists of.
pub fn parse(text: &str) -> Result<Vec<Tree>, Malformed> {
    let bytes = text.as_bytes();
    let mut open: Vec<Vec<Tree>> = Vec::new();
    let mut done = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let tree = match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b';' => {
                at +=
                    bytes[at..].iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'(' => {
                open.push(Vec::new());
                at += 1;
                continue;
            }
            b')' => {
                at += 1;
                let Some(list) = open.pop() else {
                    return Err(Malformed { at: start, what: "`)` closes nothing" });
                };
                Tree::List(list)
            }
            mark @ (b'|' | b'"') => {
                let Some(length) = bytes[at + 1..].iter().position(|&byte| byte == mark) else {
                    return Err(Malformed { at: start, what: "nothing ends this" });
                };
                at += length + 2;
                // Two strings without a space are one that has a quote in it.
                let inner = if mark == b'|' { start + 1..at - 1 } else { start..at };
                Tree::Leaf(text[inner].to_string())
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b"()|\";".contains(byte);
                at += bytes[at..].iter().position(ends).unwrap_or(bytes.len() - at);
                Tree::Leaf(text[start..at].to_string())
            }
        };
        open.last_mut().unwrap_or(&mut done).push(tree);
    }
    match open.is_empty() {
        true => Ok(done),
        false => Err(Malformed { at, what: "a `)` is missing at the end" }),
    }
}

/// The number that a value is: `5`, `(- 5)`, `#x0a`, `#b101`, `(_ bv5 8)`.
pub fn number(tree: &Tree) -> Option<i128> {
    match tree {
        Tree::Leaf(leaf) => match leaf.strip_prefix('#') {
            None => leaf.parse().ok(),
            Some(digits) if digits.starts_with('x') => i128::from_str_radix(&digits[1..], 16).ok(),
            Some(digits) if digits.starts_with('b') => i128::from_str_radix(&digits[1..], 2).ok(),
            Some(_) => None,
        },
        Tree::List(parts) => match &parts[..] {
            [Tree::Leaf(minus), operand] if minus == "-" => number(operand).map(|value| -value),
            [Tree::Leaf(mark), Tree::Leaf(value), Tree::Leaf(_)] if mark == "_" => {
                value.strip_prefix("bv")?.parse().ok()
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_symbols_are_quoted() {
        let shown = ["O3", "pi3.4", "3x", "a b", "let", "", "a|b"].map(quoted);
        assert_eq!(shown, ["O3", "pi3.4", "|3x|", "|a b|", "|let|", "||", "|a_b|"]);
    }

    #[test]
    fn answers_become_trees_and_numbers() {
        let trees =
            parse("sat ; fine\n((|a b| (- 3))\n (x #x0f) (y #b101) (z (_ bv7 8)))\n").unwrap();
        assert_eq!(trees[0], Tree::Leaf("sat".into()));
        let Tree::List(pairs) = &trees[1] else { panic!("{trees:?}") };
        let values: Vec<Option<i128>> = pairs
            .iter()
            .map(|pair| match pair {
                Tree::List(pair) => number(&pair[1]),
                Tree::Leaf(_) => None,
            })
            .collect();
        assert_eq!(values, [Some(-3), Some(15), Some(5), Some(7)]);
        assert!(parse("(a").is_err() && parse("a)").is_err() && parse("\"a").is_err());
    }

    #[test]
    fn long_terms_are_broken_between_operands() {
        let clock = |number: u32| Term::Symbol(format!("O{number}"));
        let orders = (0..12).map(|at| Term::binary("<", clock(at), clock(at + 1)));
        let mut out = String::new();
        show(&Term::and(orders), 2, LINE, &mut out);
        assert!(out.starts_with("(and\n  (< O0 O1)\n  (< O1 O2)\n"), "{out}");
    }
}
