//! JUnit XML, for the test pages of CI servers: each report is a suite, each property that was
//! asked about is a test, and each finding is a test that fails. What is only possible, undecided,
//! suppressed or known counts as skipped, with the reason.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::oneline::{first_spot, grade, message, title};
use crate::{Certainty, Finding, Property, Report, Standing, Style, write_finding};

/// Writes the reports as one document.
///
/// # Errors
/// Those of the writer.
pub fn write_junit(reports: &[Report], writer: &mut dyn Write) -> io::Result<()> {
    let suites: Vec<Suite> = reports.iter().map(Suite::new).collect();
    let count = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>();
    writeln!(writer, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        writer,
        "<testsuites name=\"foretrace\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        count(|suite| suite.cases.len()),
        count(|suite| suite.failures()),
        count(|suite| suite.skipped()),
    )?;
    for suite in &suites {
        suite.write(writer)?;
    }
    writeln!(writer, "</testsuites>")
}

struct Suite<'a> {
    name: &'a str,
    time: f64,
    cases: Vec<Case>,
}

/// A test and what came of it.
struct Case {
    name: String,
    place: Option<(String, u32)>,
    outcome: Outcome,
}

enum Outcome {
    Passed,
    Skipped { message: String },
    Failed { kind: String, message: String, text: String },
}

impl<'a> Suite<'a> {
    fn new(report: &'a Report) -> Self {
        let mut cases: Vec<Case> = recorded_run(report).into_iter().collect();
        for (property, ledger) in &report.summary {
            let findings = report.findings.iter().filter(|one| one.kind.property() == *property);
            let before = cases.len();
            let is_shown = |one: &&Finding| !matches!(one.standing, Standing::Repeated { .. });
            cases.extend(findings.filter(is_shown).map(|finding| case(report, finding)));
            let open = undecided(report, *property);
            if cases.len() > before && open.is_none() {
                continue;
            }
            let not_asked = report
                .not_asked
                .iter()
                .find(|part| part.property == *property && part.whole && ledger.candidates == 0);
            let outcome = match (open, not_asked) {
                (Some(message), _) => Outcome::Skipped { message },
                (None, Some(part)) => {
                    Outcome::Skipped { message: format!("not checked: {}", part.reason.sentence) }
                }
                (None, None) => Outcome::Passed,
            };
            cases.push(Case { name: format!("no {}", in_words(*property)), place: None, outcome });
        }
        let name = report.trace.path.as_deref().unwrap_or("trace");
        let time = report.timing.map_or(0, |timing| timing.read_ms + timing.predict_ms);
        Suite { name, time: time as f64 / 1000.0, cases }
    }

    fn failures(&self) -> usize {
        let is_failed = |case: &&Case| matches!(case.outcome, Outcome::Failed { .. });
        self.cases.iter().filter(is_failed).count()
    }

    fn skipped(&self) -> usize {
        let is_skipped = |case: &&Case| matches!(case.outcome, Outcome::Skipped { .. });
        self.cases.iter().filter(is_skipped).count()
    }

    fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        let (name, time) = (attribute(self.name), self.time);
        writeln!(
            writer,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"0\" \
             skipped=\"{}\" time=\"{time}\">",
            self.cases.len(),
            self.failures(),
            self.skipped(),
        )?;
        for case in &self.cases {
            write!(
                writer,
                "    <testcase classname=\"{name}\" name=\"{}\"",
                attribute(&case.name)
            )?;
            if let Some((file, line)) = &case.place {
                write!(writer, " file=\"{}\" line=\"{line}\"", attribute(file))?;
            }
            match &case.outcome {
                Outcome::Passed => writeln!(writer, "/>")?,
                Outcome::Skipped { message } => {
                    let message = attribute(message);
                    writeln!(writer, "><skipped message=\"{message}\"/></testcase>")?;
                }
                Outcome::Failed { kind, message, text } => {
                    let (kind, message) = (attribute(kind), attribute(message));
                    let text = content(text);
                    writeln!(
                        writer,
                        "><failure type=\"{kind}\" message=\"{message}\">{text}</failure></testcase>"
                    )?;
                }
            }
        }
        writeln!(writer, "  </testsuite>")
    }
}

/// The test that a finding fails.
fn case(report: &Report, finding: &Finding) -> Case {
    let said = format!("{} ({})", message(report, finding), grade(finding));
    let outcome = match (&finding.standing, finding.graded()) {
        (Standing::Suppressed(suppression), _) => {
            let why = suppression.reason.as_deref().unwrap_or(&suppression.rule);
            Outcome::Skipped { message: format!("suppressed by {}: {why}", suppression.by) }
        }
        (Standing::Known, _) => Outcome::Skipped { message: format!("in the baseline: {said}") },
        (_, Certainty::Possible) => Outcome::Skipped { message: said },
        (_, Certainty::Real) => Outcome::Failed {
            kind: finding.kind.name().to_string(),
            message: said,
            text: full_text(report, finding),
        },
    };
    let place = first_spot(report, finding).map(|spot| (spot.file, spot.line));
    let fingerprint = match finding.stable_fingerprint.as_str() {
        "" => &finding.fingerprint,
        stable => stable,
    };
    Case { name: format!("{} ({fingerprint})", title(finding)), place, outcome }
}

/// The test that the recorded run itself is, if it was recorded just now.
fn recorded_run(report: &Report) -> Option<Case> {
    let run = report.run.as_ref()?;
    let outcome = if run.failed || run.unexpected {
        let message = format!("the recorded run {}", run.ending);
        Outcome::Failed { kind: "run".into(), message: message.clone(), text: message }
    } else if let Some(why) = &run.says_nothing {
        Outcome::Skipped { message: format!("nothing can be predicted, since {why}") }
    } else {
        Outcome::Passed
    };
    Some(Case { name: "recorded run".into(), place: None, outcome })
}

fn full_text(report: &Report, finding: &Finding) -> String {
    let mut text = Vec::new();
    // A vector takes all that is written.
    let _ = write_finding(report, finding, Style::default(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// What is undecided of a property.
fn undecided(report: &Report, property: Property) -> Option<String> {
    let mut open = report.undecided.iter().filter(|open| open.property == property).peekable();
    let first = open.peek()?.reason.sentence.clone();
    let mut message = format!("{} undecided: {first}", open.count());
    if let Some(why) = &report.unsupported {
        let _ = write!(message, "; {why}");
    }
    Some(message)
}

fn in_words(property: Property) -> &'static str {
    match property {
        Property::Race => "data race",
        Property::Atomicity => "atomicity violation",
        Property::Deadlock => "deadlock",
        Property::Lock => "lock error",
        Property::Assertion => "failing assertion",
    }
}

/// Text between tags. XML has no way to write most control characters.
fn content(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\t' | '\n' => escaped.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The value of an attribute.
fn attribute(text: &str) -> String {
    content(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}
