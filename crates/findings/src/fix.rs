//! Proposals that mend a bug, each tried on the trace.
//!
//! **Computes.** Small changes of the source (hold a lock around some lines or in a function, take
//! locks in another order, make accesses atomic), and for each what is predicted of the recorded
//! run with that change: which findings are gone, which remain, which are new.
//!
//! **Invariant.** Nothing is claimed of a change that was not tried. Where the recorded order does
//! not allow a change (a lock was not free), it is tried on another order of the run, if one is
//! found, and that is said. What is said holds for the reorderings of this trace, as all
//! predictions.
//!
//! **Cost.** One prediction for each proposal.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod ways;

use std::collections::HashSet;

use foretrace_predict::{Options, Patch, predict};
use foretrace_report::Report;
use foretrace_trace::{Location, Trace};
use foretrace_verdict::{Kind, Property, Violation};

use crate::error::Error;
use crate::trace::{Frame, report_trace};
use ways::Ways;

/// A change, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// What to change.
    pub what: String,
    /// What is predicted then; or why it was not tried.
    pub tried: Result<Tried, String>,
}

/// What is predicted of the recorded run with a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried {
    /// Whether the run with the change has another order than the recorded one, which does not
    /// allow it.
    pub is_reordered: bool,
    /// Whether the finding is gone, and its candidates decided.
    pub mends: bool,
    /// Findings that are gone, in words.
    pub removes: Vec<String>,
    /// Findings that remain, in words.
    pub remains: Vec<String>,
    /// New findings, in words.
    pub adds: Vec<String>,
    /// Whether a reordering of the trace deadlocks.
    pub deadlock: Deadlock,
    /// How many candidates have no verdict.
    pub undecided: u64,
}

/// Whether a changed program can deadlock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Deadlock {
    /// No reordering of the trace deadlocks.
    Impossible,
    /// Only as without the change.
    AsBefore,
    /// That is not decided.
    Open,
    /// The change makes it possible.
    New,
}

impl Deadlock {
    /// As a sentence without its end.
    pub fn in_words(self) -> &'static str {
        match self {
            Deadlock::Impossible => "cannot deadlock",
            Deadlock::AsBefore => "can deadlock as before, and in no other way",
            Deadlock::Open => "it is not decided whether this can deadlock",
            Deadlock::New => "can deadlock, because of the change",
        }
    }
}

/// Proposals that mend a violation, the best first.
pub fn propose(
    trace: &Trace,
    violation: &Violation,
    options: &Options,
) -> Result<Vec<Proposal>, Error> {
    let ways = Ways::new(trace);
    let patches = match violation {
        Violation::Race(a, b) => ways.of_race(*a, *b),
        Violation::Atomicity { first, remote, second } => {
            ways.of_atomicity(*first, *remote, *second)
        }
        Violation::LockCycle(events) => ways.of_cycle(events),
        Violation::Stuck(event) | Violation::Lock(_, event) | Violation::Assertion(event) => {
            ways.of_data(*event)
        }
    };
    let base = Predicted::of(trace, options)?;
    let target = base.violations.iter().position(|known| known == violation);
    let mut proposals: Vec<Proposal> = Vec::new();
    for (what, patch) in patches {
        if patch == Patch::default() {
            continue;
        }
        let tried = match patch.apply(trace, options.model_for(trace)) {
            Err(why) => Err(format!(
                "neither the recorded order nor another one that was found allows it: {why}"
            )),
            Ok(changed) => {
                let predicted = Predicted::of(&changed.trace, options)?;
                let tried = base.compare(&predicted, target);
                Ok(Tried { is_reordered: changed.is_reordered, ..tried })
            }
        };
        // A larger scope of the same lock that mends no more is not worth a line.
        let is_same = |known: &Proposal| {
            let locks = [&known.what, &what].map(|what| locks_of(what));
            locks[0].is_some() && locks[0] == locks[1] && known.tried == tried
        };
        if proposals.iter().any(is_same) {
            continue;
        }
        proposals.push(Proposal { what, tried });
    }
    // Stable: what is proposed first is the smaller change.
    proposals.sort_by_key(|proposal| match &proposal.tried {
        Ok(tried) if tried.mends => (0, tried.adds.len(), tried.deadlock),
        Ok(tried) => (1, 0, tried.deadlock),
        Err(_) => (2, 0, Deadlock::Open),
    });
    Ok(proposals)
}

/// What is predicted of a trace, as far as it is compared.
struct Predicted {
    violations: Vec<Violation>,
    report: Report,
}

impl Predicted {
    fn of(trace: &Trace, options: &Options) -> Result<Predicted, Error> {
        let prediction = predict(trace, options, &()).map_err(Error::internal)?;
        let violations = prediction.findings.iter().map(|found| found.violation.clone()).collect();
        let report = report_trace(trace, prediction, Frame::new(options));
        Ok(Predicted { violations, report })
    }

    /// `target`: the finding that is to be gone.
    fn compare(&self, changed: &Predicted, target: Option<usize>) -> Tried {
        let prints = |report: &Report| -> HashSet<String> {
            report.findings.iter().map(|finding| finding.fingerprint.clone()).collect()
        };
        let (before, after) = (prints(&self.report), prints(&changed.report));
        let of = |report: &Report, is_told: &dyn Fn(&str) -> bool| -> Vec<String> {
            let told = report.findings.iter().filter(|finding| is_told(&finding.fingerprint));
            told.map(|finding| in_words(report, finding)).collect()
        };
        let ledgers = changed.report.summary.iter().map(|(_, ledger)| ledger);
        let target = target.map(|at| &self.report.findings[at]);
        let is_gone = target.is_some_and(|finding| {
            !after.contains(&finding.fingerprint) && !changed.leaves_open(&self.report, finding)
        });
        Tried {
            is_reordered: false,
            mends: is_gone,
            removes: of(&self.report, &|print| !after.contains(print)),
            remains: of(&changed.report, &|print| before.contains(print)),
            adds: of(&changed.report, &|print| !before.contains(print)),
            deadlock: changed.deadlock(&before),
            undecided: ledgers
                .map(|ledger| ledger.undecided + ledger.infeasible_for_recorded_values)
                .sum(),
        }
    }

    /// Whether a candidate without a full verdict may be the finding of another report.
    fn leaves_open(&self, other: &Report, finding: &foretrace_report::Finding) -> bool {
        let place = |report: &Report, event: u32| report.event(event).location.clone();
        let mut places: Vec<Option<String>> =
            finding.sides.iter().map(|side| place(other, side.event)).collect();
        places.sort();
        let open = self.report.undecided.iter().chain(&self.report.for_recorded_values);
        open.filter(|open| open.kind == finding.kind).any(|open| {
            let mut here: Vec<Option<String>> =
                open.events.iter().map(|&event| place(&self.report, event)).collect();
            here.sort();
            here == places || here.is_empty()
        })
    }

    fn deadlock(&self, before: &HashSet<String>) -> Deadlock {
        let is_deadlock = |finding: &&foretrace_report::Finding| {
            matches!(finding.kind, Kind::LockCycle | Kind::Stuck)
        };
        let mut found = self.report.findings.iter().filter(is_deadlock).peekable();
        let is_any = found.peek().is_some();
        let is_new = found.any(|finding| !before.contains(&finding.fingerprint));
        let row = self.report.summary.iter().find(|(known, _)| *known == Property::Deadlock);
        let is_open = row
            .is_none_or(|(_, ledger)| ledger.undecided + ledger.infeasible_for_recorded_values > 0);
        let is_asked =
            !self.report.not_asked.iter().any(|part| part.property == Property::Deadlock);
        match (is_new, is_open || !is_asked, is_any) {
            (true, ..) => Deadlock::New,
            (_, true, _) => Deadlock::Open,
            (_, _, true) => Deadlock::AsBefore,
            _ => Deadlock::Impossible,
        }
    }
}

/// The lock of `hold LOCK around …` and `hold LOCK from …`.
fn locks_of(what: &str) -> Option<&str> {
    let rest = what.strip_prefix("hold ")?;
    let end = [" around ", " from "].iter().filter_map(|word| rest.find(word)).min()?;
    Some(&rest[..end])
}

/// `race on x at a.c:2, a.c:9`
fn in_words(report: &Report, finding: &foretrace_report::Finding) -> String {
    let mut places: Vec<String> = report.locations(finding).map(Location::in_short).collect();
    places.dedup();
    let name = finding.place.as_deref().or(finding.object.as_deref());
    let object = name.map_or(String::new(), |name| format!(" on {name}"));
    format!("{}{object} at {}", finding.kind.name(), places.join(", "))
}
