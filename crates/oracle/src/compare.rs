//! Compares a predictor with the enumeration of one random trace.
//!
//! **Computes.** For every model, with and without inferred regions, whether the predictor's
//! findings are exactly the oracle's violations, class by class at coarse granularities; whether
//! nothing is left undecided, ledgers add up, and each finding's schedule is feasible by the
//! oracle's own rules. For some cases, the same with a bound on the context switches.
//!
//! **Invariant.** A disagreement is somebody's bug: the predictor's, the oracle's or the theory's.
//! It comes with its seed and with the smallest trace that still shows it.
//!
//! **Cost.** One exploration and two predictions per model and choice of regions, fewer under
//! `control`; and one prediction with a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use foretrace_predict::{
    Finding, Granularity, Options, Prediction, Prune, Switches, Undecided, implicit,
};
use foretrace_trace::{EventId, ImplicitFault, Op, Trace, text};
use foretrace_verdict::{Certainty, Column, Ledger, Model, Property, Violation};

use crate::class::class_key;
use crate::coverage::Coverage;
use crate::engine::{self, EngineStats};
use crate::explore::{self, Explored, Refused, explore};
use crate::generate::generate;
use crate::shrink::shrink;
use crate::switches::{Needed, count_switches, least_switches};

/// The models that the predictor is asked about.
const PREDICTED: &[Model] = &Model::ALL;

/// Cases with more states than this are not asked about with a bound on the context switches.
const MOST_STATES_WITH_BOUND: u64 = 4_000;

/// The predictor looks for the fewest switches only up to this number.
const MOST_FEWEST: u32 = 4;

/// What is judged.
pub type Predictor<'p> = &'p (dyn Fn(&Trace, &Options) -> Result<Prediction, String> + Sync);

/// One question to the predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Setting {
    pub model: Model,
    pub infer_regions: bool,
    pub granularity: Granularity,
    pub switches: Switches,
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
    /// The finding claims to be only possible, but some schedule of its class has no read with an
    /// unknown writer.
    NotPossible(Box<Finding>),
    /// The finding's schedule has so many context switches: more than the bound, or than the
    /// fewest.
    TooManySwitches(Box<Finding>, u32),
    /// Called infeasible whatever the bound, although it is violated without one.
    UnboundedProof(Property, Ledger),
    /// The finding is about another object, or should name none.
    WrongObject(Box<Finding>),
    /// Small traces without a budget are decided, unless the oracle has no verdict either.
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
    pub engine: EngineStats,
    pub states: u64,
    pub violations: u64,
    /// The enumeration ran out of budget, so nothing was compared.
    pub skipped: bool,
}

/// The trace of a seed. In every second one, uses of freed memory are asked about.
fn case(seed: u64) -> Trace {
    let mut trace = generate(seed);
    if seed.is_multiple_of(2) && implicit::given_out_again(&trace).is_empty() {
        implicit::assert_no(&mut trace, &[ImplicitFault::Freed]);
    }
    trace
}

/// Compares predictor and oracle on the trace of a seed. Without a predictor only the oracle runs.
pub fn compare(seed: u64, predictor: Option<Predictor>) -> Result<CaseStats, Box<Disagreement>> {
    let trace = case(seed);
    let mut stats = CaseStats::default();
    for model in Model::ALL {
        if !explore::is_recorded_order_feasible(&trace, model) {
            let setting = plain(model, false);
            let found = Difference::NotFeasible;
            return Err(Box::new(report(seed, &trace, setting, found, predictor)));
        }
        for &infer_regions in choices_of_regions(&trace, model) {
            let explored = explore(&trace, model, infer_regions);
            stats.states += explored.states;
            if !explored.complete {
                stats.skipped = true;
                return Ok(stats);
            }
            let states = explored.states;
            if predictor.is_some() {
                ask_engine(seed, &trace, &explored, plain(model, infer_regions), &mut stats)?;
            }
            if infer_regions || !has_locks(&trace) {
                stats.violations += explored.violations.len() as u64;
                stats.coverage.count(&trace, &explored, model);
            }
            let truth = Truth::from(explored);
            for setting in settings(seed, model, infer_regions) {
                differ(&trace, &truth, setting, predictor)
                    .map_err(|found| Box::new(report(seed, &trace, setting, found, predictor)))?;
            }
            let Some(setting) = bounded(seed, &trace, model, infer_regions) else { continue };
            if predictor.is_some()
                && states <= MOST_STATES_WITH_BOUND
                && let Some(truth) = truth.within(&trace, setting)
            {
                differ(&trace, &truth, setting, predictor)
                    .map_err(|found| Box::new(report(seed, &trace, setting, found, predictor)))?;
            }
        }
    }
    Ok(stats)
}

/// Compares the explicit engine and oracle on the trace of a seed.
pub fn compare_engine(seed: u64) -> Result<CaseStats, Box<Disagreement>> {
    compare_engine_on(&case(seed), seed)
}

/// Compares the explicit engine and oracle on a trace; the seed chooses what is asked alone.
pub fn compare_engine_on(trace: &Trace, seed: u64) -> Result<CaseStats, Box<Disagreement>> {
    let mut stats = CaseStats::default();
    for model in Model::ALL {
        for &infer_regions in choices_of_regions(trace, model) {
            let explored = explore(trace, model, infer_regions);
            stats.states += explored.states;
            if !explored.complete {
                stats.skipped = true;
                return Ok(stats);
            }
            if infer_regions || !has_locks(trace) {
                stats.violations += explored.violations.len() as u64;
                stats.coverage.count(trace, &explored, model);
            }
            ask_engine(seed, trace, &explored, plain(model, infer_regions), &mut stats)?;
        }
    }
    Ok(stats)
}

/// Asks the engine about one setting of a case.
fn ask_engine(
    seed: u64,
    trace: &Trace,
    explored: &Explored,
    setting: Setting,
    stats: &mut CaseStats,
) -> Result<(), Box<Disagreement>> {
    let Setting { model, infer_regions, .. } = setting;
    let found = match engine::differ(trace, explored, model, infer_regions, seed) {
        Ok(engine) => {
            stats.engine.add(engine);
            return Ok(());
        }
        Err(found) => found,
    };
    let difference_of = |trace: &Trace| {
        let explored = explore(trace, model, infer_regions);
        let complete = Some(explored).filter(|explored| explored.complete)?;
        engine::differ(trace, &complete, model, infer_regions, seed).err()
    };
    let (trace, difference) = shrink(trace, found, &difference_of);
    let mut witness = None;
    if let Difference::Missed(violation) = &difference {
        witness = explore(&trace, model, infer_regions).witness(violation);
    }
    Err(Box::new(Disagreement { seed, setting, difference, trace, witness }))
}

/// Without locks there are no regions to infer. Under `control`, where there is least to go wrong,
/// one choice is enough.
fn choices_of_regions(trace: &Trace, model: Model) -> &'static [bool] {
    match (has_locks(trace), model) {
        (false, _) => &[false],
        (true, Model::Control) => &[true],
        (true, _) => &[false, true],
    }
}

fn has_locks(trace: &Trace) -> bool {
    trace.events().any(|(_, event)| matches!(event.op, Op::Acquire { .. }))
}

/// Tuples of events, any number of context switches.
fn plain(model: Model, infer_regions: bool) -> Setting {
    let (granularity, switches) = (Granularity::Event, Switches::Any);
    Setting { model, infer_regions, granularity, switches }
}

/// Tuples of events always, and one coarse granularity, which the seed chooses.
fn settings(seed: u64, model: Model, infer_regions: bool) -> Vec<Setting> {
    let granularity = if seed.is_multiple_of(2) == infer_regions {
        Granularity::Location
    } else {
        Granularity::Variable
    };
    let plain = plain(model, infer_regions);
    match model {
        Model::Control => vec![plain],
        Model::ReadsFrom | Model::Values | Model::Symbolic => {
            vec![plain, Setting { granularity, ..plain }]
        }
    }
}

/// With a bound, which the seed chooses, and for which model.
fn bounded(seed: u64, trace: &Trace, model: Model, infer_regions: bool) -> Option<Setting> {
    let chosen = Model::ALL[(seed >> 3) as usize % Model::ALL.len()];
    let bounds = [Switches::AtMost(0), Switches::AtMost(1), Switches::AtMost(2), Switches::Fewest];
    let switches = bounds[(seed >> 5) as usize % bounds.len()];
    let is_last = choices_of_regions(trace, model).last() == Some(&infer_regions);
    (model == chosen && is_last).then_some(Setting { switches, ..plain(model, infer_regions) })
}

/// What is right, by the oracle.
struct Truth {
    violations: BTreeSet<Violation>,
    real: BTreeSet<Violation>,
    /// What is not known of.
    unknown: BTreeSet<Violation>,
    /// What is violated if the context switches are not bounded.
    unbounded: BTreeSet<Violation>,
    /// How many switches each violation needs, where that is asked.
    needed: BTreeMap<Violation, Needed>,
}

impl From<Explored> for Truth {
    fn from(explored: Explored) -> Truth {
        let unbounded = explored.violations.clone();
        let Explored { violations, real, unknown, .. } = explored;
        Truth { violations, real, unknown, unbounded, needed: BTreeMap::new() }
    }
}

impl Truth {
    /// The truth about any trace; `None` if there is too much to explore.
    fn of(trace: &Trace, setting: Setting) -> Option<Truth> {
        let explored = explore(trace, setting.model, setting.infer_regions);
        if !explored.complete {
            return None;
        }
        let truth = Truth::from(explored);
        match setting.switches {
            Switches::Any => Some(truth),
            Switches::AtMost(_) | Switches::Fewest => truth.within(trace, setting),
        }
    }

    /// What of it holds within the bound of the setting.
    fn within(&self, trace: &Trace, setting: Setting) -> Option<Truth> {
        let needed = least_switches(trace, setting.model, setting.infer_regions)?;
        let bound = match setting.switches {
            Switches::AtMost(bound) => bound,
            Switches::Any | Switches::Fewest => u32::MAX,
        };
        let some = |holds: &dyn Fn(&Needed) -> bool| {
            let held = needed.iter().filter(|(_, needed)| holds(needed));
            held.map(|(violation, _)| violation.clone()).collect()
        };
        Some(Truth {
            violations: some(&|needed| needed.any.switches <= bound),
            real: some(&|needed| needed.real.as_ref().is_some_and(|real| real.switches <= bound)),
            unknown: self.unknown.clone(),
            unbounded: self.unbounded.clone(),
            needed,
        })
    }
}

/// Shrinks a disagreement and explains it.
fn report(
    seed: u64,
    trace: &Trace,
    setting: Setting,
    found: Difference,
    predictor: Option<Predictor>,
) -> Disagreement {
    let difference_of =
        |trace: &Trace| differ(trace, &Truth::of(trace, setting)?, setting, predictor).err();
    // A trace that is not valid cannot be shrunk to a valid one.
    let (trace, difference) = if matches!(found, Difference::NotFeasible) {
        (trace.clone(), found)
    } else {
        shrink(trace, found, &difference_of)
    };
    let witness = if let Difference::Missed(violation) = &difference {
        explore(&trace, setting.model, setting.infer_regions).witness(violation)
    } else {
        None
    };
    Disagreement { seed, setting, difference, trace, witness }
}

/// Asks the predictor, and compares.
fn differ(
    trace: &Trace,
    truth: &Truth,
    setting: Setting,
    predictor: Option<Predictor>,
) -> Result<(), Difference> {
    let Some(predictor) = predictor.filter(|_| PREDICTED.contains(&setting.model)) else {
        return Ok(());
    };
    let options = Options {
        model: Some(setting.model),
        granularity: setting.granularity,
        infer_regions: setting.infer_regions,
        switches: setting.switches,
        // Half of the cases go to the solver without being looked at by anything cleverer.
        prune: if trace.len().is_multiple_of(2) { Prune::Graph } else { Prune::Needs },
        ..Options::default()
    };
    let prediction = catch_unwind(AssertUnwindSafe(|| predictor(trace, &options)))
        .unwrap_or_else(|_| Err("the predictor panicked".into()))
        .map_err(Difference::Failed)?;
    // What the oracle does not know either need not be decided.
    let is_known = |undecided: &&Undecided| !truth.unknown.contains(&undecided.example);
    if let Some(undecided) = prediction.undecided.iter().find(is_known) {
        return Err(Difference::Undecided(Box::new(undecided.clone())));
    }
    same_classes(trace, truth, setting, &prediction)?;
    let key = |violation: &Violation| class_key(trace, setting.granularity, violation);
    let real: BTreeSet<_> = truth.real.iter().map(key).collect();
    for finding in &prediction.findings {
        check_finding(trace, setting, finding)?;
        check_switches(trace, truth, setting, finding)?;
        // The fewest switches may be those of a schedule that proves less.
        if finding.certainty == Certainty::Possible
            && real.contains(&key(&finding.violation))
            && setting.switches != Switches::Fewest
        {
            return Err(Difference::NotPossible(Box::new(finding.clone())));
        }
    }
    check_ledgers(truth, setting, &options, &prediction)
}

fn same_classes(
    trace: &Trace,
    truth: &Truth,
    setting: Setting,
    prediction: &Prediction,
) -> Result<(), Difference> {
    let key = |violation: &Violation| class_key(trace, setting.granularity, violation);
    let mut found = BTreeSet::new();
    for Finding { violation, .. } in &prediction.findings {
        // The violation itself must exist, not only its class.
        if !truth.violations.contains(violation) && !truth.unknown.contains(violation) {
            return Err(Difference::Invented(violation.clone()));
        }
        if !found.insert(key(violation)) {
            return Err(Difference::Twice(violation.clone()));
        }
    }
    match truth.violations.iter().find(|violation| !found.contains(&key(violation))) {
        Some(missed) => Err(Difference::Missed(missed.clone())),
        None => Ok(()),
    }
}

fn check_finding(trace: &Trace, setting: Setting, finding: &Finding) -> Result<(), Difference> {
    let Setting { model, infer_regions, .. } = setting;
    let Finding { violation, schedule, certainty, object, .. } = finding;
    match explore::check(trace, model, infer_regions, schedule, violation) {
        Ok(()) | Err(Refused::NotKnown) => {}
        Err(refused) => {
            return Err(Difference::BadSchedule { finding: Box::new(finding.clone()), refused });
        }
    }
    let possible = explore::proves_only_possible(trace, model, schedule, violation);
    if possible != (*certainty == Certainty::Possible) {
        return Err(Difference::WrongCertainty(Box::new(finding.clone())));
    }
    let about = match violation {
        Violation::Race(access, _) | Violation::Atomicity { remote: access, .. } => {
            trace.op(*access).access().map(|access| access.at.object)
        }
        Violation::LockCycle(_)
        | Violation::Stuck(_)
        | Violation::Lock(..)
        | Violation::Assertion(_) => None,
    };
    if about != *object {
        return Err(Difference::WrongObject(Box::new(finding.clone())));
    }
    Ok(())
}

/// Whether the schedule is within the bound, or has the fewest switches of those that prove as
/// much.
fn check_switches(
    trace: &Trace,
    truth: &Truth,
    setting: Setting,
    finding: &Finding,
) -> Result<(), Difference> {
    let count = count_switches(trace, &finding.schedule, &finding.violation);
    let most = match (setting.switches, truth.needed.get(&finding.violation)) {
        (Switches::AtMost(bound), _) => bound,
        (Switches::Fewest, Some(Needed { any, real })) => {
            let least = match finding.certainty {
                Certainty::Real => real.as_ref().unwrap_or(any).switches,
                Certainty::Possible => any.switches,
            };
            if least <= MOST_FEWEST { least } else { u32::MAX }
        }
        (Switches::Fewest, None) | (Switches::Any, _) => u32::MAX,
    };
    if count > most {
        return Err(Difference::TooManySwitches(Box::new(finding.clone()), count));
    }
    Ok(())
}

fn check_ledgers(
    truth: &Truth,
    setting: Setting,
    options: &Options,
    prediction: &Prediction,
) -> Result<(), Difference> {
    let properties: Vec<Property> = prediction.ledgers.iter().map(|(name, _)| *name).collect();
    if properties != options.properties {
        return Err(Difference::LedgerOrder(properties));
    }
    for &(property, ledger) in &prediction.ledgers {
        let of_property = |violation: &&Violation| violation.property() == property;
        let findings = prediction.findings.iter().map(|finding| &finding.violation);
        let findings = findings.filter(of_property).count() as u64;
        let Ledger {
            candidates,
            pruned,
            violated,
            infeasible,
            infeasible_in_bound,
            infeasible_for_recorded_values,
            undecided,
            refuted,
        } = ledger;
        let open = prediction.undecided.iter().filter(|open| open.property == property).count();
        let decided = pruned.sum() + violated + infeasible + infeasible_in_bound;
        let is_split = refuted[Column::Both] == pruned.sum()
            && refuted.iter().all(|(_, count)| count <= refuted[Column::Both])
            && refuted[Column::Order] == pruned[Column::Order]
            && refuted[Column::Locks] >= pruned[Column::Locks];
        // Without limits everything is decided under the model that is asked for.
        if candidates != decided + undecided
            || infeasible_for_recorded_values != 0
            || violated != findings
            || undecided != open as u64
            || !is_split
        {
            return Err(Difference::BadLedger(property, ledger));
        }
        // What is violated without a bound has no proof that does not use it. (With a bound,
        // candidates are events.)
        let is_bounded = matches!(setting.switches, Switches::AtMost(_));
        let all = truth.unbounded.iter().filter(of_property).count() as u64;
        if is_bounded && infeasible_in_bound + violated < all {
            return Err(Difference::UnboundedProof(property, ledger));
        }
        if !is_bounded && infeasible_in_bound != 0 {
            return Err(Difference::BadLedger(property, ledger));
        }
    }
    Ok(())
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Setting { model, infer_regions, granularity, switches } = self.setting;
        writeln!(f, "seed {}: {:?}", self.seed, self.difference)?;
        writeln!(
            f,
            "model {}, infer regions: {infer_regions}, granularity {granularity:?}, switches: {switches:?}",
            model.name()
        )?;
        if let Some(witness) = &self.witness {
            writeln!(f, "the oracle's schedule: {witness:?}")?;
        }
        write!(f, "{}", text::print(&self.trace))
    }
}
