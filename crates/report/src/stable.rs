//! A name for a bug that survives changes of the program elsewhere: it has no line numbers in it.

use std::collections::HashMap;

use foretrace_trace::Location;

use crate::{Finding, Kind, Report, Side, fingerprint};

/// The lines of the source files that a report knows.
pub struct SourceLines<'a>(HashMap<&'a str, Vec<&'a str>>);

impl<'a> SourceLines<'a> {
    /// Those of the report.
    pub fn new(report: &'a Report) -> Self {
        let files = report.sources.iter().filter_map(|source| {
            Some((source.file.as_str(), source.text.as_deref()?.lines().collect()))
        });
        SourceLines(files.collect())
    }

    /// A line of a file, from 1.
    pub fn line(&self, file: &str, line: u32) -> Option<&'a str> {
        self.0.get(file)?.get((line as usize).checked_sub(1)?).copied()
    }

    /// A place in the source by its file's name, its function and the text of its line. The column
    /// counts from the first character of the line, so that it survives another indentation. Only
    /// if neither function nor text is known, the number of the line has to do.
    pub fn stable_place(&self, location: &str) -> String {
        let Some(place) = Location::parse(location) else { return location.to_string() };
        let (file, function) = (place.file_name(), place.function.unwrap_or(""));
        match self.line(place.file, place.line) {
            Some(line) => {
                let indent = line.len() - line.trim_start().len();
                let column = place.column.map(|column| column.saturating_sub(indent as u32));
                format!("{file} {function} {} {}", column.unwrap_or(0), code_of(line))
            }
            None if function.is_empty() => format!("{file}:{}", place.line),
            None => format!("{file} {function}"),
        }
    }
}

impl Report {
    /// Gives every finding its stable fingerprint: made of kind, object, and of each place the
    /// file's name, the function and the text of the line. Findings that only line numbers would
    /// tell apart are numbered: `…-2`.
    pub fn fingerprint_stably(&mut self) {
        let lines = SourceLines::new(self);
        let name = |finding| self.stable_fingerprint(finding, &lines);
        let names: Vec<String> = self.findings.iter().map(name).collect();
        let mut seen: HashMap<String, u32> = HashMap::new();
        for (finding, name) in self.findings.iter_mut().zip(names) {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            finding.stable_fingerprint = if *count == 1 { name } else { format!("{name}-{count}") };
        }
    }

    fn stable_fingerprint(&self, finding: &Finding, lines: &SourceLines) -> String {
        // Where the other threads happen to be belongs to the schedule; and if objects are asked
        // about, their places do not matter.
        let is_by_object = self.settings.granularity == "variable" && finding.object.is_some();
        let is_at_fault = |(index, _): &(usize, &Side)| finding.kind != Kind::Stuck || *index == 0;
        let sides = finding.sides.iter().enumerate().filter(is_at_fault);
        let place = |(_, side): (usize, &Side)| {
            let text = self.event(side.event);
            match &text.location {
                Some(location) => lines.stable_place(location),
                None => format!("{}: {}", self.thread_name(text), text.operation),
            }
        };
        let places: Vec<String> =
            if is_by_object { Vec::new() } else { sides.map(place).collect() };
        stable_name(finding.kind, finding.object.as_deref(), &places)
    }
}

/// The fingerprint of what happens at stable places.
pub(crate) fn stable_name(kind: Kind, object: Option<&str>, places: &[String]) -> String {
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    fingerprint(kind, object.map(lasting).as_deref(), &places)
}

/// The code of a line, without comments and with single spaces.
fn code_of(line: &str) -> String {
    let mut code = String::new();
    let mut rest = line;
    let mut quote = None;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match quote {
            Some(_) if character == '\\' => {
                length += rest[1..].chars().next().map_or(0, char::len_utf8);
            }
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if rest.starts_with("//") => break,
            None if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                code.push(' ');
                continue;
            }
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => {}
        }
        code.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name of memory without what another line or another schedule changes: numbers of blocks, lines
/// and columns, and addresses on stacks.
fn lasting(object: &str) -> String {
    let stack = object.find("stack of ").map_or(object, |at| &object[..at + "stack".len()]);
    let mut name = String::new();
    let mut characters = stack.chars().peekable();
    while let Some(character) = characters.next() {
        let has_number = characters.peek().is_some_and(char::is_ascii_digit);
        if matches!(character, '#' | ':') && has_number {
            while characters.next_if(char::is_ascii_digit).is_some() {}
        } else {
            name.push(character);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_spaces_are_no_code() {
        assert_eq!(code_of("  x  = 1; // benign"), "x = 1;");
        let quoted = "f(/* a */ \"// no \\\" comment\"); /* b";
        assert_eq!(code_of(quoted), "f( \"// no \\\" comment\");");
        assert_eq!(code_of("c = '\"'; // ä"), "c = '\"';");
        assert_eq!(code_of("\"ä\\"), "\"ä\\");
    }

    #[test]
    fn numbers_of_lines_and_blocks_are_left_out() {
        assert_eq!(lasting("heap#105@memcached.c:662:3+320"), "heap@memcached.c+320");
        assert_eq!(lasting("stack of T0+8369588"), "stack");
        assert_eq!(lasting("Cache::misses"), "Cache::misses");
    }

    #[test]
    fn a_place_survives_lines_above_it() {
        let place = |text: &str, location: &str| {
            let files = if text.is_empty() { vec![] } else { vec![("src/a.c", text)] };
            let lines = files.into_iter().map(|(file, text)| (file, text.lines().collect()));
            SourceLines(lines.collect()).stable_place(location)
        };
        let before = place("int x;\n\tx  += 1;\n", "src/a.c:2:4 (f)");
        assert_eq!(before, "a.c f 3 x += 1;");
        assert_eq!(before, place("\n\nint x;\n    x += 1; // new\n", "src/a.c:4:7 (f)"));
        assert_ne!(before, place("int x;\n\tx += 2;\n", "src/a.c:2:4 (f)"));
        assert_eq!(place("", "src/a.c:2:4 (f)"), "a.c f");
        assert_eq!(place("", "src/a.c:2:4"), "a.c:2");
    }
}
