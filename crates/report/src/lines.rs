//! One line for each finding, `file:line:column: message`: what editors jump to.

use std::io::{self, Write};

use crate::oneline::{first_spot, grade, message};
use crate::{Certainty, Report};

/// Writes the open findings of the reports, one line each.
///
/// # Errors
/// Those of the writer.
pub fn write_lines(reports: &[Report], writer: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        for finding in report.open_findings() {
            let place = match first_spot(report, finding) {
                Some(spot) => spot.short(),
                None => report.trace.path.clone().unwrap_or_else(|| "trace".to_string()),
            };
            let level = match finding.graded() {
                Certainty::Real => "error",
                Certainty::Possible => "warning",
            };
            let (message, grade) = (message(report, finding), grade(finding));
            writeln!(writer, "{place}: {level}: {message} [{}, {grade}]", finding.id)?;
        }
    }
    Ok(())
}
