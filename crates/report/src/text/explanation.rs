//! Explanations for people: the claim, what it would take, and the steps that lead to a
//! contradiction.

use std::io::{self, Write};

use super::table::length;
use super::{BOLD, GREEN, Paint, Style, counted};
use crate::{Explanation, Explanations};

/// Writes why a candidate cannot happen.
///
/// # Errors
/// Those of the writer.
pub fn write_explanation(
    explanation: &Explanation,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let title = Paint(BOLD, &explanation.title, style.color);
    let impossible = Paint(GREEN, "cannot happen", style.color);
    writeln!(writer, "{title}: {impossible}, refuted by {}", explanation.by.in_words())?;
    write_paragraph("  ", &explanation.demand, style, writer)?;
    for (number, step) in explanation.steps.iter().enumerate() {
        write_paragraph(&format!("  ({}) ", number + 1), step, style, writer)?;
    }
    write_paragraph("  ", &explanation.conclusion, style, writer)
}

/// Writes why the refuted candidates of a report cannot happen.
pub(super) fn write_explanations(
    why: &Explanations,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    for explanation in &why.explanations {
        writeln!(writer)?;
        write_explanation(explanation, style, writer)?;
    }
    if why.left_out > 0 {
        let more = counted(why.left_out, "more refuted candidate");
        writeln!(writer, "\nnot explained: {more}; --why=N explains N of them")?;
    }
    writeln!(writer)
}

/// Writes words in lines that fit, further lines indented as the first one's words.
///
/// # Errors
/// Those of the writer.
pub fn write_paragraph(
    start: &str,
    text: &str,
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    let indent = length(start);
    let (mut line, mut used) = (start.to_string(), indent);
    for word in text.split(' ') {
        if used > indent && used + 1 + length(word) > style.width {
            writeln!(writer, "{line}")?;
            line = " ".repeat(indent);
            used = indent;
        }
        if used > indent {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length(word);
    }
    writeln!(writer, "{line}")
}
