//! Why a violation is impossible, or how it happens: one candidate, answered in full.
//!
//! **Computes.** For one violation: its witness; or a proof that there is none, in the rules of
//! `docs/causality.md` if they are enough; or else the rules of `docs/theory.md`, one instance
//! each, that together leave no schedule, and of which none can be left out.
//!
//! **Follows.** `docs/theory.md`; `encode::guards` says how the reasons are found.
//!
//! **Invariant.** Nothing here is the only ground of a verdict: a witness has passed the checker of
//! schedules, a proof the checker of refutations, and the reasons come from an encoding of their
//! own, which agrees with the one that decided.

mod reason;
#[cfg(test)]
mod tests;

use std::time::Instant;

use foretrace_causality::{Givers, Locksets, MustHappenBefore, Order, Scope, derive};
use foretrace_model::{Region, Skeleton, regions};
use foretrace_solve::Limits;
use foretrace_trace::Trace;
use foretrace_verdict::{Model, Property, Refutation, Violation};
use foretrace_witness::check_refutation;

pub use reason::{Reason, Section};

use crate::candidates::{Candidates, Context, single};
use crate::cells::Cells;
use crate::effort::Spent;
use crate::encode::{Encoder, Questions, Terms};
use crate::goal::{Goals, Verdict};
use crate::judge::TraceJudge;
use crate::pipeline::{PredictError, Work};
use crate::prediction::{Finding, Granularity, Options, Switches};
use crate::preserve::Preserve;
use crate::shard::{Decided, Shard};
use crate::unanswered::Unanswered;

/// What is to be said of a violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// It happens, in this way.
    Violated(Finding),
    /// It cannot happen: a proof from synchronisation and what reads need, checked.
    Refuted(Refutation),
    /// It cannot happen: these rules together leave no schedule. None of them: the order of each
    /// thread leaves none.
    Unsatisfiable(Vec<Reason>),
    /// It is not known, for this reason.
    Undecided(Unanswered),
    /// It cannot happen, but the search for the rules that exclude it ended for this reason.
    Unexplained(Unanswered),
    /// It is no candidate, for this reason.
    NoCandidate(String),
}

/// Explains violations of a valid trace.
pub struct Explainer<'t> {
    known: Known<'t>,
    options: Options,
}

impl<'t> Explainer<'t> {
    /// Which properties are asked about does not matter, nor does a bound on context switches.
    pub fn new(trace: &'t Trace, options: &Options) -> Self {
        Explainer { known: Known::new(trace, options), options: options.clone() }
    }

    /// The model that is used.
    pub fn model(&self) -> Model {
        self.known.skeleton.model
    }

    /// Whether the graph as published, in which each wake is matched with the notification of the
    /// recorded run, refutes the violation. Not sound: for comparison only.
    pub fn is_refuted_as_published(&self, violation: &Violation) -> bool {
        derive(&self.known.skeleton, violation, Scope::Published).is_some()
    }

    /// Explains one violation.
    pub fn explain(&self, violation: &Violation) -> Result<Why, PredictError> {
        let Explainer { known, options } = self;
        let deadline = options.budget.time.map(|time| Instant::now() + time);
        let (context, model) = (known.context(options), known.skeleton.model);
        let candidates = match single(&context, violation) {
            Ok(candidates) => candidates,
            Err(why) => return Ok(Why::NoCandidate(why)),
        };
        let violation = &candidates.classes[0].example;
        // The fewest rules that are enough, in the order of the ledger.
        let scopes = [Scope::Order, Scope::Locks, Scope::Synchronisation, Scope::All];
        let mut proofs = scopes.iter().map(|&scope| derive(&known.skeleton, violation, scope));
        if let Some(refutation) = proofs.find_map(|proof| proof) {
            let trace = known.skeleton.trace;
            check_refutation(trace, model, violation, &refutation).map_err(|error| {
                let (violation, why) = (violation.clone(), error.to_string());
                PredictError::Unproved { violation, why }
            })?;
            return Ok(Why::Refuted(refutation));
        }
        let limits = Limits {
            conflicts: options.budget.conflicts,
            deadline,
            stop: options.budget.stop.flag(),
        };
        match decide(&context, &candidates, &limits)? {
            Decided::Found(finding) => Ok(Why::Violated(finding)),
            Decided::Undecided(reason) => Ok(Why::Undecided(reason)),
            Decided::Infeasible(_) | Decided::InfeasibleInBound => {
                reasons(&context, &candidates, limits)
            }
        }
    }
}

/// What is known of a trace before anything is asked.
struct Known<'t> {
    skeleton: Skeleton<'t>,
    order: MustHappenBefore,
    locksets: Locksets,
    regions: Vec<Region>,
}

impl<'t> Known<'t> {
    fn new(trace: &'t Trace, options: &Options) -> Self {
        let model = options.model_for(trace);
        let skeleton = Skeleton::new(trace, model);
        Known {
            order: MustHappenBefore::new(trace),
            locksets: Locksets::new(&skeleton),
            regions: regions(trace, &skeleton.locks, options.infer_regions),
            skeleton,
        }
    }

    fn context(&self, options: &Options) -> Context<'_> {
        Context {
            skeleton: &self.skeleton,
            order: &self.order,
            synchronisation: None,
            locksets: &self.locksets,
            regions: &self.regions,
            infer_regions: options.infer_regions,
            granularity: Granularity::Event,
            prune: false,
        }
    }
}

/// The verdict, as predicted.
fn decide(
    context: &Context,
    candidates: &Candidates,
    limits: &Limits,
) -> Result<Decided, PredictError> {
    let skeleton = context.skeleton;
    let givers = Givers::new(skeleton);
    let recorded_order = Preserve::new(skeleton, &givers, Order::Recorded);
    let cells = Cells::new(skeleton, context.order);
    let judge = TraceJudge::new(skeleton.trace, skeleton.model, context.infer_regions);
    let work = Work {
        context,
        candidates,
        any_order: None,
        recorded_order: recorded_order.as_ref(),
        graph: None,
        synchronisation: None,
        judge: &judge,
        switches: Switches::Any,
        cells: &cells,
        progress: &(),
        spent: &Spent::default(),
    };
    Shard::new(&work, limits.clone()).decide(&candidates.classes[0])
}

/// Why a candidate that was found infeasible is so.
fn reasons(
    context: &Context,
    candidates: &Candidates,
    limits: Limits,
) -> Result<Why, PredictError> {
    let cells = Cells::default();
    let (mut encoder, verdict) = ask(context, candidates, limits, &cells);
    match verdict {
        Verdict::Infeasible | Verdict::InfeasibleInBound => {
            Ok(Why::Unsatisfiable(encoder.reasons()))
        }
        Verdict::Undecided(reason) => Ok(Why::Unexplained(reason)),
        Verdict::Violated(violation, _) => {
            let why = "with reasons, it has a schedule".to_string();
            Err(PredictError::Unproved { violation, why })
        }
    }
}

fn ask<'c>(
    context: &'c Context<'c>,
    candidates: &Candidates,
    limits: Limits,
    cells: &'c Cells,
) -> (Encoder<'c>, Verdict) {
    let class = &candidates.classes[0];
    let questions = match class.property {
        Property::Atomicity => Questions::Atomicity,
        Property::Assertion => Questions::Assertions,
        Property::Race | Property::Deadlock | Property::Lock => Questions::Plain,
    };
    let mut encoder = Encoder::explaining(context.skeleton, context.order, cells, questions);
    let mut terms = Terms::new(limits);
    let verdict =
        Goals::default().decide(&mut encoder, &candidates.groups, &class.parts, &mut terms);
    (encoder, verdict)
}
