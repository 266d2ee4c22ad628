//! Aligned columns of plain text.

use std::io::{self, Write};

/// Between columns.
pub(super) const GAP: usize = 2;

/// Rows of cells; each column is as wide as its widest cell.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    right_aligned: Vec<usize>,
}

impl Table {
    /// Appends a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        self.widths.resize(self.widths.len().max(cells.len()), 0);
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(length(cell));
        }
        self.rows.push(cells);
    }

    /// Numbers stand below each other.
    pub(super) fn right_align(&mut self, column: usize) {
        self.right_aligned.push(column);
    }

    /// Writes the rows.
    pub(super) fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        self.lines().try_for_each(|line| writeln!(writer, "{line}"))
    }

    /// The rows, with a gap between the columns and none at the end of a line.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|cells| {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let padding = self.widths[column] - length(cell);
                let (before, after) =
                    if self.right_aligned.contains(&column) { (padding, 0) } else { (0, padding) };
                line.extend(std::iter::repeat_n(' ', before));
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', after + GAP));
            }
            line.truncate(line.trim_end().len());
            line
        })
    }
}

/// How many columns of the screen a text takes, as far as one per character is right.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in at most `width` characters, cut at its end.
pub(super) fn cut_end(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_string();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// An operation in at most `width` characters: its end says most, what was read, written or
/// decided, as in `branch seen < 60… : false`. What else stands there in parentheses goes first.
pub(super) fn cut_operation(operation: &str, width: usize) -> String {
    const SHORTEST: usize = 8;
    let change = || operation.contains(" → ").then(|| operation.split_once(": ")).flatten();
    let (what, sign, value) = match (operation.rsplit_once(" : "), change()) {
        (Some((what, value)), _) => (what, " : ", value),
        (None, Some((what, value))) => (what, ": ", value),
        (None, None) => return cut_what(operation, width),
    };
    let value = match length(operation) > width {
        true => value.split_once(" (").map_or(value, |(value, _)| value),
        false => value,
    };
    let room = width.checked_sub(length(value) + length(sign));
    match room.filter(|&room| room >= SHORTEST) {
        Some(room) => format!("{}{sign}{value}", cut_what(what, room)),
        None => cut_end(operation, width),
    }
}

/// What is done to what: of a name, `work::Pool::stats_.finished`, the end says most.
fn cut_what(what: &str, width: usize) -> String {
    const SHORTEST: usize = 6;
    let (verb, name) = what.rsplit_once(' ').unwrap_or(("", what));
    let room = width.saturating_sub(if verb.is_empty() { 0 } else { length(verb) + 1 });
    let is_name = verb.chars().all(|c| c.is_alphabetic() || c == ' ');
    match is_name && room >= SHORTEST {
        true if verb.is_empty() => cut_start(name, room),
        true => format!("{verb} {}", cut_start(name, room)),
        false => cut_end(what, width),
    }
}

/// The text in at most `width` characters, cut at its beginning: of a path the end says most.
pub(super) fn cut_start(text: &str, width: usize) -> String {
    let length = length(text);
    if length <= width {
        return text.to_string();
    }
    ['…'].into_iter().chain(text.chars().skip(length - width.saturating_sub(1))).collect()
}
