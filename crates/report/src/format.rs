//! The forms in which reports can be written.

use std::io::{self, Write};

use crate::{
    Report, Style, write_github, write_html, write_json, write_junit, write_lines, write_sarif,
    write_text, write_tsan,
};

/// A form of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Format {
    /// For people, in a terminal.
    Text,
    /// All that is known, for programs: `docs/report.schema.json`.
    Json,
    /// For people, in a browser: one file.
    Html,
    /// SARIF 2.1.0, for code scanners and editors.
    Sarif,
    /// JUnit XML, for the test pages of CI servers.
    Junit,
    /// Annotations of GitHub Actions.
    Github,
    /// One line for each finding, for editors.
    Lines,
    /// As ThreadSanitizer would write it.
    Tsan,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 8] = [
        Format::Text,
        Format::Json,
        Format::Html,
        Format::Sarif,
        Format::Junit,
        Format::Github,
        Format::Lines,
        Format::Tsan,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Html => "html",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
            Format::Github => "github",
            Format::Lines => "lines",
            Format::Tsan => "tsan",
        }
    }

    /// The format with this name.
    pub fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether it is one document, which nothing may precede or follow.
    pub fn is_document(self) -> bool {
        match self {
            Format::Json | Format::Html | Format::Sarif | Format::Junit => true,
            Format::Text | Format::Github | Format::Lines | Format::Tsan => false,
        }
    }

    /// Whether all reports of a command go into one file. The others have a file for each report.
    pub fn joins_reports(self) -> bool {
        match self {
            Format::Text | Format::Json | Format::Html => false,
            Format::Sarif | Format::Junit | Format::Github | Format::Lines | Format::Tsan => true,
        }
    }
}

/// Writes reports in a format; `style` is for those that people read in a terminal.
///
/// # Errors
/// Those of the writer.
pub fn write_report(
    format: Format,
    reports: &[Report],
    style: Style,
    writer: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Text => reports.iter().try_for_each(|one| write_text(one, style, writer)),
        Format::Json => reports.iter().try_for_each(|one| write_json(one, writer)),
        Format::Html => reports.iter().try_for_each(|one| write_html(one, writer)),
        Format::Sarif => write_sarif(reports, writer),
        Format::Junit => write_junit(reports, writer),
        Format::Github => write_github(reports, writer),
        Format::Lines => write_lines(reports, writer),
        Format::Tsan => write_tsan(reports, writer),
    }
}
