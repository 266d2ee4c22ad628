//! The text form of a trace: one event per line, for people, tests and documentation.
//!
//! `docs/trace-format.md` has the grammar. [`parse`] and [`print`] are inverse: for every trace
//! that [`validate`](crate::validate::validate) accepts, `parse(print(t)) == t`, ids included.
//!
//! | file | what it does |
//! | --- | --- |
//! | `cursor` | the words of one line: names, numbers, quoted strings, comments |
//! | `parse` | lines, declarations, and what one line tells the next |
//! | `statement` | what follows the thread on an event's line |
//! | `expression` | expressions, with C's precedence |
//! | `eval` | what an expression is worth |
//! | `print` | the way back |
//! | `quoting` | quotes, escapes and comments, of programs as well |
//! | `appearance` | which names a text must declare so that they keep their ids |

mod appearance;
mod cursor;
pub mod eval;
mod expression;
mod parse;
mod print;
pub mod quoting;
#[cfg(test)]
pub(crate) mod random;
mod statement;
#[cfg(test)]
mod tests;

use crate::ids::EventId;
use crate::store::Trace;

pub use expression::{Leaves, MAX_DEPTH, show_with};
pub(crate) use print::{describe, show_place, show_value};
pub use print::{print, write};

/// Reads a trace in text form.
///
/// Never panics, whatever the bytes are. Whether the events obey the rules of `docs/theory.md` is
/// the business of [`validate`](crate::validate::validate).
pub fn parse(text: impl AsRef<[u8]>) -> Result<Trace, Error> {
    parse::parse(text.as_ref(), &mut |_| ())
}

/// Reads a trace in text form, and remembers on which line each event is.
pub fn parse_with_lines(text: impl AsRef<[u8]>) -> Result<(Trace, Lines), Error> {
    let mut lines = Lines(Vec::new());
    let trace = parse::parse(text.as_ref(), &mut |line| lines.0.push(line))?;
    Ok((trace, lines))
}

/// On which line of the text each event is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lines(Vec<u32>);

impl Lines {
    /// The line of an event, from 1.
    pub fn line(&self, event: EventId) -> u32 {
        self.0[event.index()]
    }
}

/// Where a text is not a trace, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {message}{}", hint_line(.hint))]
#[non_exhaustive]
pub struct Error {
    /// From 1.
    pub line: u32,
    /// From 1, in characters; in bytes if the line is not UTF-8.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl Error {
    fn new(line: u32, column: usize, message: impl Into<String>) -> Error {
        Error { line, column, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

fn hint_line(hint: &Option<String>) -> String {
    hint.as_ref().map_or(String::new(), |hint| format!("\n  hint: {hint}"))
}
