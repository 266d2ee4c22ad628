//! The findings that a project knows already: a command fails only because of others.
//!
//! A known finding that is not found any more is *fixed* if its places ran and the question about
//! them was answered with no; else it was just *not seen*.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::oneline::title;
use crate::stable::stable_name;
use crate::{Finding, Kind, ReadError, Report, SCHEMA, SourceLines, Standing};

/// The name and version of the format of `--write-baseline`.
pub const BASELINE_SCHEMA: &str = "foretrace-baseline/1";

/// The findings that a project knows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Baseline(BTreeMap<String, Known>);

/// A known finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// By which it is known.
    #[serde(rename = "stable_fingerprint")]
    pub fingerprint: String,
    /// What kind of bug it is.
    pub kind: Kind,
    /// What happens, in words.
    #[serde(default)]
    pub title: String,
    /// Where it was.
    #[serde(default)]
    pub locations: Vec<String>,
    /// Its id, if this is the finding of a report.
    #[serde(default, skip_serializing)]
    pub id: Option<String>,
}

/// A candidate that is refuted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refuted {
    /// What kind of bug it would be.
    pub kind: Kind,
    /// What it would be about.
    pub object: Option<String>,
    /// Where it would be: locations as the trace writes them, or thread and operation.
    pub places: Vec<String>,
}

/// What came of a baseline.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct BaselineOutcome {
    /// Findings that it does not have.
    pub new: u64,
    /// Findings that it has.
    pub known: u64,
    /// Known findings that cannot happen any more.
    pub fixed: Vec<Known>,
    /// Known findings of which nothing is known this time.
    pub not_seen: Vec<Known>,
}

#[derive(Deserialize)]
struct Document {
    schema: String,
    findings: Vec<Known>,
}

impl Baseline {
    /// Reads a baseline, or an ordinary JSON report.
    ///
    /// # Errors
    /// If it is neither.
    pub fn read(text: &[u8]) -> Result<Baseline, ReadError> {
        let document: Document = serde_json::from_slice(text)?;
        if ![SCHEMA, BASELINE_SCHEMA].contains(&document.schema.as_str()) {
            return Err(ReadError::Schema(document.schema));
        }
        let known = document.findings.into_iter().map(|mut known| {
            if known.title.is_empty() {
                known.title = known.kind.name().to_string();
            }
            (known.fingerprint.clone(), known)
        });
        Ok(Baseline(known.collect()))
    }

    /// The finding of a report with this id.
    pub fn find(&self, id: &str) -> Option<&Known> {
        self.0.values().find(|known| known.id.as_deref() == Some(id))
    }

    /// Tells known findings from new ones; suppressed ones stay suppressed.
    pub fn apply(&self, report: &mut Report) {
        for finding in &mut report.findings {
            if finding.standing.counts() {
                let is_known = self.0.contains_key(&finding.stable_fingerprint);
                finding.standing = if is_known { Standing::Known } else { Standing::New };
            }
        }
    }
}

/// What reports say about the findings of a baseline.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    found: BTreeMap<String, Known>,
    new: BTreeSet<String>,
    open: BTreeSet<String>,
    /// By the name of their places.
    refuted: BTreeMap<String, String>,
}

impl Progress {
    /// Adds a report whose findings have their standing.
    pub fn add(&mut self, report: &Report) {
        for finding in &report.findings {
            let name = finding.stable_fingerprint.clone();
            match finding.standing {
                Standing::Suppressed(_) => drop(self.open.insert(base(&name).to_string())),
                Standing::New => drop(self.new.insert(name.clone())),
                Standing::Open | Standing::Known | Standing::Repeated { .. } => {}
            }
            if !matches!(finding.standing, Standing::Suppressed(_)) {
                self.found.entry(name).or_insert_with(|| known(report, finding));
            }
        }
        let lines = SourceLines::new(report);
        for open in report.undecided.iter().chain(&report.for_recorded_values) {
            let places = open.events.iter().map(|&event| {
                let text = report.event(event);
                match &text.location {
                    Some(location) => lines.stable_place(location),
                    None => format!("{}: {}", report.thread_name(text), text.operation),
                }
            });
            // What it is about is not known here: whatever has these places is open.
            self.open.insert(places_name(open.kind, places.collect()));
        }
        // Of a run that was not analysed as a whole, nothing is refuted.
        let is_whole = !report.trace.is_prefix()
            && report.run.as_ref().is_none_or(|run| !run.incomplete && run.says_nothing.is_none());
        for refuted in report.refuted.iter().filter(|_| is_whole) {
            let stable = |place: &String| lines.stable_place(place);
            let places: Vec<String> = refuted.places.iter().map(stable).collect();
            let name = stable_name(refuted.kind, refuted.object.as_deref(), &places);
            self.refuted.insert(name, places_name(refuted.kind, places));
        }
    }

    /// What came of the baseline.
    pub fn outcome(&self, baseline: &Baseline) -> BaselineOutcome {
        let mut outcome = BaselineOutcome { new: self.new.len() as u64, ..Default::default() };
        let found: BTreeSet<&str> = self.found.keys().map(|name| base(name)).collect();
        for (name, known) in &baseline.0 {
            if self.found.contains_key(name) {
                outcome.known += 1;
                continue;
            }
            let places = self.refuted.get(base(name));
            let is_refuted = places.is_some_and(|places| !self.open.contains(places));
            let is_left = self.open.contains(base(name)) || found.contains(base(name));
            match is_refuted && !is_left {
                true => outcome.fixed.push(known.clone()),
                false => outcome.not_seen.push(known.clone()),
            }
        }
        outcome
    }

    /// The next baseline: what was found, and what was just not seen.
    pub fn next(&self, outcome: Option<&BaselineOutcome>) -> String {
        let not_seen = outcome.map_or(&[][..], |outcome| &outcome.not_seen);
        let mut all: Vec<&Known> = self.found.values().chain(not_seen).collect();
        all.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
        let lines: Vec<String> = all
            .iter()
            .map(|known| serde_json::to_string(known).expect("strings can be written as JSON"))
            .collect();
        let findings = match lines.is_empty() {
            true => "[]".to_string(),
            false => format!("[\n  {}\n ]", lines.join(",\n  ")),
        };
        format!("{{\n \"schema\": \"{BASELINE_SCHEMA}\",\n \"findings\": {findings}\n}}\n")
    }
}

/// A fingerprint without the number that tells it from its like.
fn base(fingerprint: &str) -> &str {
    fingerprint.split('-').next().unwrap_or(fingerprint)
}

fn places_name(kind: Kind, places: Vec<String>) -> String {
    stable_name(kind, Some("?"), &places)
}

fn known(report: &Report, finding: &Finding) -> Known {
    Known {
        fingerprint: finding.stable_fingerprint.clone(),
        kind: finding.kind,
        title: title(finding),
        locations: report.locations(finding).map(str::to_string).collect(),
        id: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_thousand_known_findings_take_no_time() {
        let mut progress = Progress::default();
        for number in 0..1000 {
            let fingerprint = format!("{number:016x}");
            let (kind, title, locations) = (Kind::Race, "t".to_string(), vec!["a.c:1".to_string()]);
            let fingerprint = fingerprint.clone();
            let known =
                Known { fingerprint: fingerprint.clone(), kind, title, locations, id: None };
            progress.found.insert(fingerprint, known);
        }
        let text = progress.next(None);
        let start = Instant::now();
        let baseline = Baseline::read(text.as_bytes()).unwrap();
        let outcome = Progress::default().outcome(&baseline);
        assert_eq!((outcome.not_seen.len(), outcome.fixed.len()), (1000, 0));
        assert_eq!(progress.outcome(&baseline).known, 1000);
        assert!(start.elapsed() < Duration::from_secs(1));
        assert_eq!(Progress::default().next(Some(&outcome)), text, "what was not seen stays");
    }
}
