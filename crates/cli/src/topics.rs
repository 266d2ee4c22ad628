//! `foretrace help TOPIC`: what the bugs are, why they hurt, and how they are usually mended.

use std::ffi::OsString;

use foretrace_report::{TOPICS, Topic};

use crate::output;

/// The topics that an argument of `help` names; `None` if it is something else.
pub(crate) fn asked_for(arguments: &[OsString]) -> Option<Vec<&'static Topic>> {
    let [_, help, topic] = arguments else { return None };
    if help != "help" {
        return None;
    }
    let topic = topic.to_str()?;
    let fits = |one: &&Topic| {
        topic == "bugs" || one.kind.name() == topic || one.kind.property().name() == topic
    };
    let topics: Vec<&Topic> = TOPICS.iter().filter(fits).collect();
    (!topics.is_empty()).then_some(topics)
}

/// Explains topics.
pub(crate) fn explain(topics: &[&Topic]) {
    // If nobody reads it, there is nothing to be done about it.
    let _ = output::to_stdout(|writer| {
        for (index, topic) in topics.iter().enumerate() {
            if index > 0 {
                writeln!(writer)?;
            }
            let Topic { kind, title, what, why, mend } = topic;
            writeln!(writer, "{title} ({})\n", kind.name())?;
            for (heading, text) in [("", what), ("Why it hurts. ", why), ("How to mend it. ", mend)]
            {
                writeln!(writer, "{}", wrapped(&format!("{heading}{text}"), 80))?;
            }
        }
        Ok(())
    });
}

/// A paragraph in lines of at most so many columns.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if length > 0 && length + 1 + width > columns {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += width;
    }
    lines + "\n"
}
