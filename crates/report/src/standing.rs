//! What a project already knows of a finding: it is in the baseline, somebody has suppressed it, or
//! an earlier report of the same command has it.

use std::collections::HashMap;

use serde::Serialize;

use crate::text::ranked;
use crate::{Certainty, Finding, Report};

/// How a finding stands with its project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// Nothing is known of it.
    #[default]
    Open,
    /// There is a baseline, and it does not have it.
    New,
    /// The baseline has it.
    Known,
    /// The user does not want to hear of it.
    Suppressed(Suppression),
    /// An earlier report of the same command has it.
    Repeated {
        /// Which one: `run 1`.
        of: String,
    },
}

/// Who does not want to hear of a finding, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Suppression {
    /// Where that is said: `foretrace.supp:3`, or a place in the source.
    pub by: String,
    /// What is said there.
    pub rule: String,
    /// The reason that is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the program itself says so, and not a file beside it.
    pub in_source: bool,
}

impl Standing {
    /// The name in reports; `None` if there is nothing to say.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Standing::Open => None,
            Standing::New => Some("new"),
            Standing::Known => Some("known"),
            Standing::Suppressed(_) => Some("suppressed"),
            Standing::Repeated { .. } => Some("repeated"),
        }
    }

    /// Whether the user has to hear of it, and a command fails because of it.
    pub fn counts(&self) -> bool {
        matches!(self, Standing::Open | Standing::New)
    }
}

/// The bugs that earlier reports of a command have: how sure they were, and which report.
#[derive(Default, Debug)]
pub struct ToldBugs(HashMap<String, (u8, String)>);

impl ToldBugs {
    /// Marks what an earlier report has as surely, and remembers the rest; `name` is that of the
    /// report.
    pub fn mark(&mut self, report: &mut Report, name: &str) {
        let bugs: Vec<Option<String>> =
            report.findings.iter().map(|finding| report.bug(finding)).collect();
        for (finding, bug) in report.findings.iter_mut().zip(bugs) {
            let (Some(bug), sure) = (bug, sureness(finding)) else { continue };
            match self.0.get(&bug) {
                Some((before, of)) if *before >= sure && of != name => {
                    if finding.standing.counts() {
                        finding.standing = Standing::Repeated { of: of.clone() };
                    }
                }
                _ => drop(self.0.insert(bug, (sure, name.to_string()))),
            }
        }
    }
}

/// How sure a finding is.
fn sureness(finding: &Finding) -> u8 {
    match finding.graded() {
        _ if finding.is_confirmed() => 2,
        Certainty::Real => 1,
        Certainty::Possible => 0,
    }
}

impl Report {
    /// What makes two findings the same bug in different runs: the kind and the places, in any
    /// order. (Names of memory may differ.) `None` if a place is not known.
    pub fn bug(&self, finding: &Finding) -> Option<String> {
        let place = |event: u32| self.event(event).location.as_deref();
        let places = finding.sides.iter().map(|side| place(side.event));
        let mut places = places.collect::<Option<Vec<&str>>>()?;
        places.sort_unstable();
        Some(format!("{} {}", finding.kind.name(), places.join(" ")))
    }

    /// The findings that the user has to hear of, the most certain and the worst first.
    pub fn open_findings(&self) -> impl Iterator<Item = &Finding> {
        let findings = ranked(self).into_iter().map(|(_, finding)| finding);
        findings.filter(|finding| finding.standing.counts())
    }

    /// How many findings the user need not hear of, by reason: `2 suppressed, 1 known`.
    pub fn set_aside(&self) -> Option<String> {
        let names = ["suppressed", "known", "repeated"];
        let count = |name: &str| {
            self.findings.iter().filter(|finding| finding.standing.name() == Some(name)).count()
        };
        let counts = names.into_iter().map(|name| (count(name), name));
        let words: Vec<String> = counts
            .filter(|&(count, _)| count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
