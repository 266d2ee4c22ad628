//! Holds a predictor against the enumeration of one random trace.
//!
//! **Computes.** For both models, with and without inferred regions, whether the predictor's findings
//! are exactly the oracle's violations, class by class at coarse granularities; whether nothing is left
//! undecided, ledgers add up, and each finding's schedule is feasible by the oracle's own rules.
//!
//! **Invariant.** A disagreement is somebody's bug: the predictor's, the oracle's or the theory's. It
//! comes with its seed and with the smallest trace that still shows it.
//!
//! **Cost.** One exploration and two predictions per model and choice of regions.

use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use foretrace_predict::{Finding, Granularity, Ledger, Options, Prediction, Undecided};
use foretrace_trace::{EventId, Model, Op, Trace, text};
use foretrace_witness::{Certainty, Property, Violation};

use crate::class::class_key;
use crate::coverage::Coverage;
use crate::explore::{self, Explored, Refused, explore};
use crate::generate::generate;
use crate::shrink::shrink;

/// What is judged.
pub type Predictor<'p> = &'p (dyn Fn(&Trace, &Options) -> Result<Prediction, String> + Sync);

/// One question to the predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Setting {
    pub model: Model,
    pub infer_regions: bool,
    pub granularity: Granularity,
}

/// In which way predictor and oracle differ.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Difference {
    /// The generator made a trace whose recorded order the enumerator does not accept.
    NotFeasible,
    /// The oracle has it (or its class), the predictor does not.
    Missed(Violation),
    /// The predictor has it (or its class), the oracle does not.
    Invented(Violation),
    /// Two findings of one class.
    Twice(Violation),
    /// The finding's schedule is no evidence.
    BadSchedule { finding: Box<Finding>, refused: Refused },
    /// The schedule proves more or less than the finding claims.
    WrongCertainty(Box<Finding>),
    /// The finding claims to be only possible, but some schedule of its class has no read with an unknown writer.
    NotPossible(Box<Finding>),
    /// The finding is about another object, or should name none.
    WrongObject(Box<Finding>),
    /// Small traces without a budget are decided.
    Undecided(Box<Undecided>),
    /// `candidates` is not the sum of the rest, or `violated` not the number of findings.
    BadLedger(Property, Ledger),
    /// A property is missing among the ledgers, or they are out of order.
    LedgerOrder(Vec<Property>),
    /// It failed or panicked.
    Failed(String),
}

/// A case on which predictor and oracle differ.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Disagreement {
    /// What `generate` made the case from.
    pub seed: u64,
    pub setting: Setting,
    pub difference: Difference,
    /// The smallest trace found that still shows a difference.
    pub trace: Trace,
    /// The oracle's schedule for a missed violation.
    pub witness: Option<Vec<EventId>>,
}

/// What one case counts for.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct CaseStats {
    pub coverage: Coverage,
    pub states: u64,
    pub violations: u64,
    /// The enumeration ran out of budget, so nothing was compared.
    pub skipped: bool,
}

/// Compares predictor and oracle on the trace of a seed. Without a predictor only the oracle runs.
pub fn compare(seed: u64, predictor: Option<Predictor>) -> Result<CaseStats, Box<Disagreement>> {
    let trace = generate(seed);
    let mut stats = CaseStats::default();
    for model in [Model::ReadsFrom, Model::Values] {
        for infer_regions in [false, true] {
            if infer_regions && !has_locks(&trace) {
                continue;
            }
            let explored = explore(&trace, model, infer_regions);
            stats.states += explored.states;
            if !explored.complete {
                stats.skipped = true;
                return Ok(stats);
            }
            for granularity in granularities(seed, infer_regions) {
                let setting = Setting { model, infer_regions, granularity };
                differ(&trace, &explored, setting, predictor)
                    .map_err(|found| Box::new(report(seed, &trace, setting, found, predictor)))?;
            }
            if infer_regions || !has_locks(&trace) {
                stats.violations += explored.violations.len() as u64;
                stats.coverage.count(&trace, model, &explored.violations);
            }
        }
    }
    Ok(stats)
}

/// Tuples of events always, and one coarse granularity, which the seed chooses.
fn granularities(seed: u64, infer_regions: bool) -> [Granularity; 2] {
    let coarse = if seed.is_multiple_of(2) == infer_regions {
        Granularity::Location
    } else {
        Granularity::Variable
    };
    [Granularity::Event, coarse]
}

/// Without locks there are no regions to infer.
fn has_locks(trace: &Trace) -> bool {
    trace.events().any(|(_, event)| matches!(event.op, Op::Acquire { .. }))
}

/// Shrinks a disagreement and explains it.
fn report(
    seed: u64,
    trace: &Trace,
    setting: Setting,
    found: Difference,
    predictor: Option<Predictor>,
) -> Disagreement {
    let difference_of = |trace: &Trace| {
        let explored = explore(trace, setting.model, setting.infer_regions);
        if !explored.complete {
            return None;
        }
        differ(trace, &explored, setting, predictor).err()
    };
    // A trace that is not valid cannot be shrunk to a valid one.
    let (trace, difference) = match found {
        Difference::NotFeasible => (trace.clone(), found),
        _ => shrink(trace, found, &difference_of),
    };
    let witness = match &difference {
        Difference::Missed(violation) => {
            explore(&trace, setting.model, setting.infer_regions).witness(violation)
        }
        _ => None,
    };
    Disagreement { seed, setting, difference, trace, witness }
}

/// Asks the predictor, and compares.
fn differ(
    trace: &Trace,
    explored: &Explored,
    setting: Setting,
    predictor: Option<Predictor>,
) -> Result<(), Difference> {
    if !explore::is_recorded_order_feasible(trace, setting.model) {
        return Err(Difference::NotFeasible);
    }
    let Some(predictor) = predictor else { return Ok(()) };
    let options = Options {
        model: Some(setting.model),
        granularity: setting.granularity,
        infer_regions: setting.infer_regions,
        ..Options::default()
    };
    let prediction = catch_unwind(AssertUnwindSafe(|| predictor(trace, &options)))
        .unwrap_or_else(|_| Err("the predictor panicked".into()))
        .map_err(Difference::Failed)?;
    if let Some(undecided) = prediction.undecided.first() {
        return Err(Difference::Undecided(Box::new(undecided.clone())));
    }
    same_classes(trace, explored, setting, &prediction)?;
    let key = |violation: &Violation| class_key(trace, setting.granularity, violation);
    let real: BTreeSet<_> = explored.real.iter().map(key).collect();
    for finding in &prediction.findings {
        check_finding(trace, setting, finding)?;
        if finding.certainty == Certainty::Possible && real.contains(&key(&finding.violation)) {
            return Err(Difference::NotPossible(Box::new(finding.clone())));
        }
    }
    check_ledgers(&options, &prediction)
}

fn same_classes(
    trace: &Trace,
    explored: &Explored,
    setting: Setting,
    prediction: &Prediction,
) -> Result<(), Difference> {
    let key = |violation: &Violation| class_key(trace, setting.granularity, violation);
    let expected: BTreeSet<_> = explored.violations.iter().map(key).collect();
    let mut found = BTreeSet::new();
    for Finding { violation, .. } in &prediction.findings {
        // The violation itself must exist, not only its class.
        if !explored.violations.contains(violation) || !expected.contains(&key(violation)) {
            return Err(Difference::Invented(violation.clone()));
        }
        if !found.insert(key(violation)) {
            return Err(Difference::Twice(violation.clone()));
        }
    }
    match explored.violations.iter().find(|violation| !found.contains(&key(violation))) {
        Some(missed) => Err(Difference::Missed(missed.clone())),
        None => Ok(()),
    }
}

fn check_finding(trace: &Trace, setting: Setting, finding: &Finding) -> Result<(), Difference> {
    let Setting { model, infer_regions, .. } = setting;
    let Finding { violation, schedule, certainty, object } = finding;
    explore::check(trace, model, infer_regions, schedule, violation).map_err(|refused| {
        Difference::BadSchedule { finding: Box::new(finding.clone()), refused }
    })?;
    let possible = explore::contains_unknown_writer(trace, model, schedule, violation);
    if possible != (*certainty == Certainty::Possible) {
        return Err(Difference::WrongCertainty(Box::new(finding.clone())));
    }
    let about = match violation {
        Violation::Race(access, _) | Violation::Atomicity { remote: access, .. } => {
            trace.op(*access).access().map(|access| access.at.object)
        }
        _ => None,
    };
    if about != *object {
        return Err(Difference::WrongObject(Box::new(finding.clone())));
    }
    Ok(())
}

fn check_ledgers(options: &Options, prediction: &Prediction) -> Result<(), Difference> {
    let properties: Vec<Property> = prediction.ledgers.iter().map(|(name, _)| *name).collect();
    if properties != options.properties {
        return Err(Difference::LedgerOrder(properties));
    }
    for &(property, ledger) in &prediction.ledgers {
        let of_property = |finding: &&Finding| finding.violation.property() == property;
        let findings = prediction.findings.iter().filter(of_property).count() as u64;
        let Ledger { candidates, pruned_mhb, pruned_lockset, violated, infeasible, undecided } =
            ledger;
        let sum = pruned_mhb + pruned_lockset + violated + infeasible + undecided;
        if candidates != sum || violated != findings || undecided != 0 {
            return Err(Difference::BadLedger(property, ledger));
        }
    }
    Ok(())
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Setting { model, infer_regions, granularity } = self.setting;
        writeln!(f, "seed {}: {:?}", self.seed, self.difference)?;
        writeln!(
            f,
            "model {model:?}, infer regions: {infer_regions}, granularity {granularity:?}"
        )?;
        if let Some(witness) = &self.witness {
            writeln!(f, "the oracle's schedule: {witness:?}")?;
        }
        write!(f, "{}", text::print(&self.trace))
    }
}
