//! The text form of a program: for people, tests and documentation.
//!
//! `docs/program-form.md` has the grammar. A function is written either as labelled blocks or as
//! statements with `if` and variables that are assigned; the parser turns the latter into blocks.
//! The printer always writes blocks. `parse(print(p)) == p` for every program that [`parse`] gives,
//! and for every valid one whose functions are [canonical](crate::ir::Function::canonicalise).
//!
//! | file | what it does |
//! | --- | --- |
//! | `token` | words, numbers, operators, locations |
//! | `names` | which names need quotes |
//! | `cursor` | the token that is next |
//! | `parse` | declarations, and the bodies of functions one after the other |
//! | `body` | registers and blocks that a body has so far; what a variable stands for |
//! | `blocks` | bodies of labelled blocks |
//! | `structured` | bodies with `if` |
//! | `statement` | single instructions |
//! | `expression` | expressions, with C's precedence |
//! | `print` | the way back |
//! | `print_op` | the way back for one instruction |

mod blocks;
mod body;
mod cursor;
mod expression;
mod names;
mod parse;
mod print;
mod print_op;
mod statement;
mod structured;
#[cfg(test)]
mod tests;
mod token;

use crate::ir::Program;

pub use print::{describe, print};

/// How deeply expressions and conditional statements may be nested.
pub const MAX_NESTING: usize = 128;

/// Reads a program in text form.
///
/// Never panics, whatever the text is. Whether registers are defined on every way to their uses,
/// and the like, is the business of [`validate`](crate::validate::validate).
pub fn parse(text: &str) -> Result<Program, Error> {
    parse::parse(text)
}

/// Where a text is not a program, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}{}", hint_line(.hint))]
#[non_exhaustive]
pub struct Error {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Error {
    fn new(at: token::Position, message: impl Into<String>) -> Error {
        Error { line: at.line, column: at.column, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

fn hint_line(hint: &Option<String>) -> String {
    hint.as_ref().map_or(String::new(), |hint| format!("\n  hint: {hint}"))
}
