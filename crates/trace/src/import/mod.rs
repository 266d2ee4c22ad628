//! Importers: traces that other tools recorded, one file per format.
//!
//! **Computes.** From bytes a [`Trace`](crate::Trace) that satisfies section 5 of `docs/theory.md`,
//! or an error that says where and what. Defects that are known of the public corpora are repaired,
//! and each repair is counted in the notes of the trace; any other defect is an error.
//!
//! **Invariant.** A repair never widens the model: every schedule that is feasible in the repaired
//! trace respects every order that held in the recorded run. Where the files leave something open,
//! the importer adds order (which can only hide a bug) and never takes any away.
//!
//! **Cost.** One pass over the file and about 20 bytes per event besides the trace.

use std::fmt;
use std::path::{Path, PathBuf};

pub mod csv;
pub mod rapidbin;
pub mod rapidstd;
mod rvmeta;
mod rvorder;
pub mod rvpredict;
mod steps;
mod threads;

/// Why a file could not be imported, and where in it.
#[derive(Debug, thiserror::Error)]
#[error("{}{at}{problem}", file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default())]
pub struct ImportError {
    /// The file, when it is known.
    pub file: Option<PathBuf>,
    /// The place in the file.
    pub at: Position,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// A byte offset, from 0.
    Byte(u64),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Position::File => Ok(()),
            Position::Line(line) => write!(f, "line {line}: "),
            Position::Byte(offset) => write!(f, "byte {offset}: "),
        }
    }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The bytes are not of this format.
    #[error("{found}; expected {expected}")]
    Syntax {
        /// What is there.
        found: String,
        /// What the format asks for.
        expected: String,
    },
    /// The events break a rule, and no known repair applies.
    #[error("{broken}, but {rule}")]
    Rule {
        /// What happens.
        broken: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The format can say this, but what it means for other schedules is not known.
    #[error("{0}")]
    Unsupported(String),
}

impl ImportError {
    /// The same error with the file that it is about.
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }
}

impl Problem {
    /// An error at this place.
    pub fn at(self, at: Position) -> ImportError {
        ImportError { file: None, at, problem: self }
    }

    /// The bytes are not of this format.
    pub fn syntax(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Problem::Syntax { found: found.into(), expected: expected.into() }
    }

    fn rule(broken: impl Into<String>, rule: &'static str) -> Self {
        Problem::Rule { broken: broken.into(), rule }
    }
}

/// An empty trace to fill. What depends on what was read, no imported format tells.
fn imported() -> crate::Builder {
    let mut builder = crate::Trace::builder();
    builder.set_dependences(crate::Dependences::Unknown);
    builder
}

/// A piece of the input for a message: short, and printable whatever it holds.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
    let dots = if bytes.len() > SHOWN { "…" } else { "" };
    format!("`{}{dots}`", text.escape_debug())
}

/// The longest line that any of the line formats may have. The bound keeps a file that is not of
/// this kind at all from being read into memory as a single line.
const LONGEST_LINE: u64 = 64 * 1024;

/// Calls `each` with the number and the text of every line.
fn for_each_line(
    mut reader: impl std::io::BufRead,
    mut each: impl FnMut(u64, &str) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    use std::io::{BufRead, Read};
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        number += 1;
        let at = Position::Line(number);
        let mut bounded = reader.by_ref().take(LONGEST_LINE + 1);
        let read = bounded.read_until(b'\n', &mut line).map_err(|err| Problem::Io(err).at(at))?;
        if read == 0 {
            return Ok(());
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() as u64 > LONGEST_LINE {
            let found = format!("a line that begins with {}", excerpt(&line));
            return Err(Problem::syntax(found, "lines of at most 64 KiB").at(at));
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let text = std::str::from_utf8(&line)
            .map_err(|_| Problem::syntax(excerpt(&line), "UTF-8 text").at(at))?;
        each(number, text)?;
    }
}
