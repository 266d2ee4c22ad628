//! Lines of the source with labels, as rustc shows them.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use foretrace_trace::Location;

use super::Style;
use crate::Report;

/// A place in the source, and what is said about it.
pub(super) struct Label<'r> {
    pub(super) location: &'r str,
    pub(super) text: String,
    /// Whether the bug is there, not only something that leads to it.
    pub(super) is_primary: bool,
}

/// Writes the source around the labels, as far as it was found; says whether anything was.
pub(super) fn write_snippet(
    report: &Report,
    labels: &[Label],
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<bool> {
    type Spans<'l, 'r> = Vec<(Range<usize>, &'l Label<'r>)>;
    let mut files: Vec<(&str, Spans)> = Vec::new();
    for label in labels {
        let Some(place) = Location::parse(label.location) else { continue };
        let text = report.source(place.file).and_then(|source| source.text.as_deref());
        let Some(span) = text.and_then(|text| span(text, &place)) else { continue };
        match files.iter_mut().find(|(file, _)| *file == place.file) {
            Some((_, spans)) => spans.push((span, label)),
            None => files.push((place.file, vec![(span, label)])),
        }
    }
    if files.is_empty() {
        return Ok(false);
    }
    let mut group = Group::with_level(Level::ERROR);
    for (file, spans) in &files {
        let source = report.source(file).and_then(|source| source.text.as_deref());
        let mut snippet = Snippet::source(source.unwrap_or_default()).path(*file);
        for (span, label) in spans {
            let kind = match label.is_primary {
                true => AnnotationKind::Primary,
                false => AnnotationKind::Context,
            };
            snippet = snippet.annotation(kind.span(span.clone()).label(label.text.as_str()));
        }
        group = group.element(snippet);
    }
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let text = renderer.term_width(style.width.saturating_sub(2)).render(&[group]);
    for line in text.lines() {
        writeln!(writer, "  {}", line.trim_end())?;
    }
    Ok(true)
}

/// The bytes of the word or sign at a place; `None` if the source has no such place any more.
fn span(text: &str, place: &Location) -> Option<Range<usize>> {
    let before: usize =
        text.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
    let line = text.get(before..)?.split('\n').next()?;
    if text.lines().count() < place.line as usize {
        return None;
    }
    let Some(column) = place.column else {
        let indent = line.len() - line.trim_start().len();
        return Some(before + indent..before + line.trim_end().len().max(indent));
    };
    let start = column as usize - 1;
    let rest = line.get(start..).filter(|rest| !rest.is_empty())?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word: usize = rest.chars().take_while(|&c| is_word(c)).map(char::len_utf8).sum();
    let signs = rest.chars().take_while(|c| "+-*/=<>!&|^%".contains(*c)).count();
    let length = word.max(signs).max(rest.chars().next().map_or(1, char::len_utf8));
    Some(before + start..before + start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_word_or_a_sign() {
        let text = "int x;\n  total += x;\n";
        let at = |location: &str| {
            span(text, &Location::parse(location).unwrap()).map(|span| &text[span])
        };
        assert_eq!(at("a.c:2:3"), Some("total"));
        assert_eq!(at("a.c:2:9"), Some("+="));
        assert_eq!(at("a.c:1"), Some("int x;"));
        assert_eq!(at("a.c:2:40"), None, "the line is shorter now");
        assert_eq!(at("a.c:9:1"), None, "the file is shorter now");
    }
}
