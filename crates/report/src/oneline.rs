//! One finding in one line, and its places: what the formats for other programs share.

use foretrace_trace::Location;

use crate::text::headline;
use crate::{Certainty, Finding, Report, Side};

/// A place in the source that other programs can open.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Spot {
    /// A path from the folder in which the command ran, or an absolute one.
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: Option<u32>,
    pub(crate) function: Option<String>,
}

impl Spot {
    /// The place that a location of a trace names, if it is one in a file.
    pub(crate) fn new(report: &Report, location: &str) -> Option<Spot> {
        let Location { file, line, column, function } = Location::parse(location)?;
        Some(Spot {
            file: path(report, file),
            line,
            column,
            function: function.map(str::to_string),
        })
    }

    /// `bank.c:13:5`
    pub(crate) fn short(&self) -> String {
        match self.column {
            Some(column) => format!("{}:{}:{column}", self.file, self.line),
            None => format!("{}:{}", self.file, self.line),
        }
    }
}

/// Where a file of the source can be opened, as far as known.
pub(crate) fn path(report: &Report, file: &str) -> String {
    let found = report.source(file).and_then(|source| source.path.as_deref());
    without_detours(found.unwrap_or(file))
}

/// A path without `.` and without folders that `..` leaves again.
fn without_detours(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|&last| last != ".." && !last.is_empty()) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What happens, in a few words.
pub(crate) fn title(finding: &Finding) -> String {
    headline(finding)
}

/// What happens, and where each side is.
pub(crate) fn message(report: &Report, finding: &Finding) -> String {
    let sides: Vec<String> =
        finding.sides.iter().map(|side| side_in_words(report, finding, side)).collect();
    format!("{}: {}", title(finding), sides.join("; "))
}

/// `T1 is about to write x : 1 at a.c:3 (f)`
pub(crate) fn side_in_words(report: &Report, finding: &Finding, side: &Side) -> String {
    let text = report.event(side.event);
    let (thread, doing) = (report.thread_name(text), crate::text::doing(report, finding, side));
    let place = text.location.as_deref().map(Location::without_folders);
    let place = place.map_or(String::new(), |place| format!(" at {place}"));
    format!("{thread} {doing}{place}")
}

/// `real, confirmed by replay`
pub(crate) fn grade(finding: &Finding) -> String {
    let certainty = match finding.graded() {
        Certainty::Real => "real",
        Certainty::Possible => "possible",
    };
    match &finding.replay {
        Some(replay) => format!("{certainty}, {}", replay.in_words()),
        None => certainty.to_string(),
    }
}

/// The place of a side.
pub(crate) fn spot(report: &Report, side: &Side) -> Option<Spot> {
    Spot::new(report, report.event(side.event).location.as_deref()?)
}

/// The first place of a finding that is known: where other programs show it.
pub(crate) fn first_spot(report: &Report, finding: &Finding) -> Option<Spot> {
    finding.sides.iter().find_map(|side| spot(report, side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_as_short_as_they_can_be() {
        assert_eq!(without_detours("build/../src/./a.c"), "src/a.c");
        assert_eq!(without_detours("../a.c"), "../a.c");
        assert_eq!(without_detours("../../b/../a.c"), "../../a.c");
        assert_eq!(without_detours("/usr//x/../a.c"), "/usr/a.c");
    }
}
