//! Reads a page: what it writes to files, and which commands it runs.

/// Something that a reader of the page would do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Write a file.
    File { line: usize, name: String, text: String },
    /// Run a command.
    Command { line: usize, command: String },
    /// Run a command, and compare what it prints.
    Transcript { line: usize, command: String, expected: Vec<String> },
}

impl Part {
    /// Its line in the page.
    pub(crate) fn line(&self) -> usize {
        match self {
            Part::File { line, .. }
            | Part::Command { line, .. }
            | Part::Transcript { line, .. } => *line,
        }
    }
}

const COMMANDS: [&str; 3] = ["foretrace ", "make ", "export "];

/// The parts of a page, from top to bottom.
pub(crate) fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = (1..).zip(page.lines());
    while let Some((number, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let block: Vec<(usize, &str)> =
                lines.by_ref().take_while(|(_, line)| !line.starts_with("```")).collect();
            fenced(info, number, &block, &mut parts);
        } else if let Some(indented) = line.strip_prefix("    ") {
            parts.extend(command(number, indented));
        }
    }
    parts
}

fn fenced(info: &str, number: usize, block: &[(usize, &str)], parts: &mut Vec<Part>) {
    let mut words = info.split_whitespace();
    let (language, file) = (words.next(), words.next());
    if let Some(name) = file {
        let text = block.iter().map(|(_, line)| format!("{line}\n")).collect();
        parts.push(Part::File { line: number, name: name.to_string(), text });
    } else if language == Some("sh") {
        parts.extend(block.iter().filter_map(|(number, line)| command(*number, line)));
    } else if block.first().is_some_and(|(_, line)| line.starts_with("$ ")) {
        for (number, text) in block {
            match (text.strip_prefix("$ "), parts.last_mut()) {
                (Some(command), _) => parts.push(Part::Transcript {
                    line: *number,
                    command: without_comment(command),
                    expected: Vec::new(),
                }),
                (None, Some(Part::Transcript { expected, .. })) => expected.push(text.to_string()),
                (None, _) => unreachable!("the block begins with a command"),
            }
        }
    }
}

fn command(line: usize, text: &str) -> Option<Part> {
    let is_command = COMMANDS.iter().any(|word| text.starts_with(word));
    is_command.then(|| Part::Command { line, command: without_comment(text) })
}

/// A comment begins with `#` behind white space.
fn without_comment(command: &str) -> String {
    command.split(" #").next().unwrap_or_default().trim_end().to_string()
}

/// The first expected line that is missing. `...` stands for any number of lines.
pub(crate) fn difference(expected: &[String], said: &str) -> Option<String> {
    let mut said = said.lines().map(str::trim_end);
    let mut anything = false;
    for line in expected.iter().map(|line| line.trim_end()) {
        if line.trim_start() == "..." {
            anything = true;
            continue;
        }
        let found = if anything { said.find(|said| *said == line) } else { said.next() };
        if found != Some(line) {
            let instead = found.map_or(String::new(), |found| format!(", but `{found}`"));
            return Some(format!("it does not print `{line}`{instead}"));
        }
        anything = false;
    }
    match said.next() {
        Some(more) if !anything && !expected.is_empty() => Some(format!("it also prints `{more}`")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_files_commands_and_transcripts() {
        let page = "\
text
```c a.c
int x;
```
    foretrace trace show x   # prints it
    another line
```
$ foretrace cc a.c
$ ./a.out
1
...
3
```
";
        let transcript = |line, command: &str, expected: &[&str]| Part::Transcript {
            line,
            command: command.to_string(),
            expected: expected.iter().map(|line| line.to_string()).collect(),
        };
        assert_eq!(
            parts(page),
            [
                Part::File { line: 2, name: "a.c".to_string(), text: "int x;\n".to_string() },
                Part::Command { line: 5, command: "foretrace trace show x".to_string() },
                transcript(8, "foretrace cc a.c", &[]),
                transcript(9, "./a.out", &["1", "...", "3"]),
            ]
        );
    }

    #[test]
    fn transcripts_are_compared_line_by_line() {
        let expected = ["1".to_string(), "  ...".to_string(), "3".to_string()];
        assert_eq!(difference(&expected, "1\n2\n3\n"), None);
        assert!(difference(&expected, "1\n2\n").is_some(), "a line is missing");
        assert!(difference(&expected, "1\n3\n4\n").is_some(), "a line too many");
        assert!(difference(&expected, "0\n3\n").is_some(), "another line");
        assert_eq!(difference(&[], "anything"), None, "nothing is said of what it prints");
    }
}
