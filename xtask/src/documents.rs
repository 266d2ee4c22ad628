//! The rules for what people read: documents name files that exist; no line is too long, and no
//! file of Rust.

use std::path::Path;
use std::process::Command;

use crate::shell::{Stop, cannot_run};

/// Lines of Rust and Markdown have so many columns at most.
const COLUMNS: usize = 100;
/// A file of Rust that has more lines holds two subjects.
const LINES: usize = 600;

/// Folders of the workspace that documents speak of.
const FOLDERS: [&str; 8] =
    ["crates/", "docs/", "xtask/", "examples/", "litmus/", "fuzz/", "benches/", "include/"];

/// What is wrong with the documents and the sources under `root`.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Stop> {
    let mut errors = Vec::new();
    for file in tracked(root)? {
        let Ok(text) = std::fs::read_to_string(root.join(&file)) else { continue };
        let long = match file.rsplit_once('.').map(|(_, end)| end) {
            Some("md") => {
                let missing = missing_files(root, Path::new(&file), &text);
                errors.extend(missing.map(|name| format!("{file}: there is no {name}")));
                long_lines_of_markdown(&text)
            }
            Some("rs") => {
                let lines = text.lines().count();
                let is_long = lines > LINES;
                errors.extend(is_long.then(|| format!("{file}: {lines} lines, more than {LINES}")));
                long_lines_of_rust(&text)
            }
            _ => continue,
        };
        errors
            .extend(long.iter().map(|line| format!("{file}:{line}: more than {COLUMNS} columns")));
    }
    Ok(errors)
}

/// The files that belong to the repository.
fn tracked(root: &Path) -> Result<Vec<String>, Stop> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "*.md", "*.rs"]);
    let output = git.output().map_err(|error| cannot_run(&git, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
}

/// Names of files that a document mentions in code or links to, and that do not exist.
fn missing_files(root: &Path, document: &Path, text: &str) -> impl Iterator<Item = String> {
    let here = root.join(document.parent().unwrap_or(Path::new("")));
    let in_code = text.split('`').skip(1).step_by(2).filter_map(move |code| {
        let name = code.split([' ', ':', '*', '{', '#', '\n']).next().unwrap_or(code);
        let is_ours = FOLDERS.iter().any(|folder| name.starts_with(folder));
        (is_ours && !root.join(name).exists()).then(|| name.to_string())
    });
    let links = text.split("](").skip(1).filter_map(move |rest| {
        let name = rest.split([')', '#', ' ']).next().unwrap_or("");
        let is_file = !name.is_empty() && !name.contains("://");
        (is_file && !here.join(name).exists()).then(|| name.to_string())
    });
    in_code.chain(links)
}

/// Lines that could be broken: tables and code cannot.
fn long_lines_of_markdown(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut long = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        is_code ^= start.starts_with("```");
        let is_fixed = is_code || start.starts_with(['|', '#']) || line.starts_with("    ");
        // One word, say a link, stays whole.
        let is_one_word = !start.trim_start_matches("- ").contains(' ');
        if line.chars().count() > COLUMNS && !is_fixed && !is_one_word {
            long.push(index + 1);
        }
    }
    long
}

/// Lines of code and comments that are too long even without what strings say; rows of tables in
/// comments cannot be broken.
fn long_lines_of_rust(text: &str) -> Vec<usize> {
    let mut long = Vec::new();
    let mut reader = Reader::default();
    for (index, line) in text.lines().enumerate() {
        let length = reader.length_without_strings(line);
        let is_row = line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|');
        if length > COLUMNS && !is_row {
            long.push(index + 1);
        }
    }
    long
}

/// Reads Rust line by line, and knows what is a string.
#[derive(Default)]
struct Reader {
    /// The string that is open at the end of a line.
    open: Option<Quoted>,
}

#[derive(Clone, Copy)]
enum Quoted {
    Plain,
    /// With so many `#`.
    Raw(usize),
}

impl Reader {
    fn length_without_strings(&mut self, line: &str) -> usize {
        let characters: Vec<char> = line.chars().collect();
        let (mut at, mut length) = (0, 0);
        while at < characters.len() {
            at += match self.open {
                Some(quoted) => {
                    let (step, is_closed) = inside(quoted, &characters[at..]);
                    if is_closed {
                        self.open = None;
                        length += step;
                    }
                    step
                }
                None if characters[at..].starts_with(&['/', '/']) => {
                    return length + characters.len() - at;
                }
                None => {
                    let (step, opened) = outside(
                        &characters[at..],
                        at.checked_sub(1).map(|before| characters[before]),
                    );
                    self.open = opened;
                    length += step;
                    step
                }
            };
        }
        length
    }
}

/// One step inside a string: how far, and whether it is closed.
fn inside(quoted: Quoted, rest: &[char]) -> (usize, bool) {
    match quoted {
        Quoted::Plain if rest[0] == '\\' => (2, false),
        Quoted::Plain => (1, rest[0] == '"'),
        Quoted::Raw(marks) => {
            let is_end =
                rest[0] == '"' && rest[1..].iter().take_while(|c| **c == '#').count() >= marks;
            if is_end { (1 + marks, true) } else { (1, false) }
        }
    }
}

/// One step outside of strings: how far, and what it opens.
fn outside(rest: &[char], before: Option<char>) -> (usize, Option<Quoted>) {
    let is_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest {
        ['"', ..] => (1, Some(Quoted::Plain)),
        ['r', more @ ..] if !is_word || before == Some('b') => {
            let marks = more.iter().take_while(|c| **c == '#').count();
            match more.get(marks) {
                Some('"') => (2 + marks, Some(Quoted::Raw(marks))),
                _ => (1, None),
            }
        }
        // A character, which may be a quotation mark.
        ['\'', '\\', _, '\'', ..] => (4, None),
        ['\'', _, '\'', ..] => (3, None),
        _ => (1, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_name_files_that_exist() {
        let root = crate::shell::root();
        let missing = |text: &str| -> Vec<String> {
            missing_files(&root, Path::new("docs/a.md"), text).collect()
        };
        assert_eq!(missing("`crates/trace/src/lib.rs`, `crates/none.rs:3`"), ["crates/none.rs"]);
        assert_eq!(missing("[a](theory.md#stuck) [b](none.md) [c](https://a.b/c)"), ["none.md"]);
    }

    #[test]
    fn long_lines_are_those_that_could_be_shorter() {
        let word = "x".repeat(40);
        let prose = format!("{word} {word} {word}");
        assert_eq!(
            long_lines_of_markdown(&format!("a\n{prose}\n| {prose} |\n```\n{prose}\n```")),
            [2]
        );
        assert_eq!(
            long_lines_of_rust(&format!("// {prose}\n/// | {prose} |\nlet a = \"{prose}\";")),
            [1]
        );
        let raw = format!("let a = r#\"\n{prose}\n\"{prose}\"#; f('\"', {prose});\nlet b;");
        assert_eq!(long_lines_of_rust(&raw), [3]);
    }
}
