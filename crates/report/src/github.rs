//! Annotations for GitHub Actions: workflow commands on standard output, which GitHub shows beside
//! the lines of a change.

use std::io::{self, Write};

use crate::oneline::{first_spot, grade, message, title};
use crate::{Certainty, Report};

/// Writes one annotation for each open finding of the reports.
///
/// # Errors
/// Those of the writer.
pub fn write_github(reports: &[Report], writer: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        for finding in report.open_findings() {
            let level = match finding.graded() {
                Certainty::Real => "error",
                Certainty::Possible => "warning",
            };
            let mut properties = Vec::new();
            if let Some(spot) = first_spot(report, finding) {
                properties.push(format!("file={}", property(&spot.file)));
                properties.push(format!("line={}", spot.line));
                properties.extend(spot.column.map(|column| format!("col={column}")));
            }
            properties.push(format!("title={}", property(&title(finding))));
            let text = format!("{} [{}, {}]", message(report, finding), finding.id, grade(finding));
            writeln!(writer, "::{level} {}::{}", properties.join(","), data(&text))?;
        }
    }
    Ok(())
}

/// Text behind the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_command_is_escaped() {
        assert_eq!(data("100%\nA::b, c"), "100%25%0AA::b, c");
        assert_eq!(property("A::b, 5%"), "A%3A%3Ab%2C 5%25");
    }
}
