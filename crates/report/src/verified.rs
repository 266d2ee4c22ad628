//! Answers of a verifier for other programs: JSON, and witnesses in the format of the verification
//! competition.
//!
//! A witness of a violation is a chain: one edge for each step of the schedule that has a line in
//! the source. A witness of correctness claims nothing beyond the verdict.

mod hash;

use std::fmt::Write;

use serde::Serialize;

use hash::sha256;

/// The name and version of the format, the value of the field `schema`.
pub const VERIFIED_SCHEMA: &str = "foretrace-verify/1";

/// What was found out about a program.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// [`VERIFIED_SCHEMA`].
    pub schema: &'static str,
    /// `bug`, `proved`, `bounded` or `unknown`.
    pub verdict: &'static str,
    /// What a property file asked.
    pub property: Option<String>,
    /// Why nothing more is known.
    pub open: Vec<Reason>,
    /// What goes wrong, in words.
    pub violation: Option<String>,
    /// How it comes about.
    pub schedule: Vec<Step>,
    /// The verdict about everything but data races, if there is one.
    pub besides: Option<&'static str>,
    /// The bound of loops.
    pub bound: u32,
    /// Threads of the unfolding.
    pub threads: usize,
    /// Its instructions.
    pub instructions: u64,
    /// Its reads and writes of shared memory.
    pub accesses: usize,
}

/// A reason why nothing more is known.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// In words.
    pub reason: String,
    /// Where in the source.
    pub place: Option<String>,
}

/// A step of a schedule.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The name of the thread.
    pub thread: String,
    /// Its number, in the order in which threads are made.
    pub number: u32,
    /// The number of the thread that the step makes.
    pub makes: Option<u32>,
    /// Where in the source.
    pub place: Option<String>,
    /// What it does.
    pub operation: String,
    /// The value that the outside gives.
    pub input: Option<u64>,
}

/// What a witness is about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The name of the source.
    pub file: &'a str,
    /// Its text.
    pub source: &'a [u8],
    /// What was asked.
    pub specification: &'a str,
}

impl Answer {
    /// The answer as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// A witness in GraphML; `None` if there is nothing to witness.
    pub fn witness(&self, about: About) -> Option<String> {
        let kind = match self.verdict {
            "bug" => "violation_witness",
            "proved" => "correctness_witness",
            _ => return None,
        };
        let mut text = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n\
             <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        );
        for (name, of) in KEYS {
            let _ = writeln!(
                text,
                " <key id=\"{name}\" attr.name=\"{name}\" attr.type=\"string\" for=\"{of}\"/>"
            );
        }
        text.push_str(" <graph edgedefault=\"directed\">\n");
        for (name, value) in [
            ("witness-type", kind),
            ("sourcecodelang", "C"),
            ("producer", concat!("foretrace ", env!("CARGO_PKG_VERSION"))),
            ("specification", about.specification),
            ("programfile", about.file),
            ("programhash", &sha256(about.source)),
            ("architecture", "64bit"),
        ] {
            let _ = writeln!(text, "  <data key=\"{name}\">{}</data>", escaped(value.trim()));
        }
        text.push_str("  <node id=\"N0\"><data key=\"entry\">true</data></node>\n");
        let edges: Vec<String> = self.schedule.iter().filter_map(edge).collect();
        for (number, edge) in edges.iter().enumerate() {
            let is_last = number + 1 == edges.len();
            let mark = if is_last { "<data key=\"violation\">true</data>" } else { "" };
            let next = number + 1;
            let _ = writeln!(text, "  <node id=\"N{next}\">{mark}</node>");
            let _ = writeln!(text, "  <edge source=\"N{number}\" target=\"N{next}\">{edge}</edge>");
        }
        text.push_str(" </graph>\n</graphml>\n");
        Some(text)
    }
}

const KEYS: [(&str, &str); 12] = [
    ("entry", "node"),
    ("violation", "node"),
    ("startline", "edge"),
    ("threadId", "edge"),
    ("createThread", "edge"),
    ("witness-type", "graph"),
    ("sourcecodelang", "graph"),
    ("producer", "graph"),
    ("specification", "graph"),
    ("programfile", "graph"),
    ("programhash", "graph"),
    ("architecture", "graph"),
];

/// What the edge of a step says.
fn edge(step: &Step) -> Option<String> {
    let line = line(step.place.as_deref()?)?;
    let thread = step.number;
    let mut edge =
        format!("<data key=\"startline\">{line}</data><data key=\"threadId\">{thread}</data>");
    if let Some(made) = step.makes {
        let _ = write!(edge, "<data key=\"createThread\">{made}</data>");
    }
    Some(edge)
}

/// The line of `file:line:column` or `file:line`.
fn line(place: &str) -> Option<u32> {
    let mut numbers = place.rsplit(':').map_while(|part| part.parse::<u32>().ok());
    let (last, before) = (numbers.next()?, numbers.next());
    Some(before.unwrap_or(last))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_places() {
        assert_eq!(line("a.c:12:7"), Some(12));
        assert_eq!(line("a.c:12"), Some(12));
        assert_eq!(line("a.c"), None);
    }
}
