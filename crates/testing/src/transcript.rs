//! Expected text that shows inputs and answers in turn.

/// The transcript with each answer replaced by what `answer` says now, so that a test compares the
/// two. The lines of an input begin with `> `, and `; ` in them ends a line, too; lines that begin
/// with `# ` are comments; all others are answers.
pub fn transcript(expected: &str, mut answer: impl FnMut(&str) -> String) -> String {
    let mut shown = String::new();
    let mut input: Vec<String> = Vec::new();
    for line in expected.lines().map(str::trim_start).chain([""]) {
        let part = line.strip_prefix("> ");
        if part.is_none() && !input.is_empty() {
            shown += &format!("{}\n", answer(&std::mem::take(&mut input).join("\n")).trim_end());
        }
        if part.is_some() || line.starts_with("# ") {
            shown += &format!("{line}\n");
        }
        input.extend(part.map(|part| part.replace("; ", "\n")));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::transcript;

    #[test]
    fn answers_are_given_anew() {
        let expected = "
            > a; b
            # why
            > c
            old
            older
            > d
        ";
        let now = transcript(expected, |input| format!("{input:?}"));
        assert_eq!(now, "> a; b\n\"a\\nb\"\n# why\n> c\n\"c\"\n> d\n\"d\"\n");
    }
}
