//! Guards: which instance of a rule each clause comes from, so that a proof can be told in rules.
//!
//! **Computes.** In an explaining encoder, every clause of a rule holds only if the guard of its
//! instance is true. A question assumes all guards; those that the proof of *unsatisfiable* needs
//! are its reasons, and they are reduced until none can be left out.
//!
//! **Follows.** Deletion-based minimal unsatisfiable subsets: Bakker et al., IJCAI 1993; with the
//! solver's failed assumptions after each step (clause-set refinement, Belov, Lynce and
//! Marques-Silva, AI Communications 25(2), 2012).
//!
//! **Invariant.** What has no guard is program order, the meaning of the question, and definitions
//! of literals that only rules and the question use: any assignment that makes some guards false
//! extends to these. An encoder that does not explain has no guards and no further cost.
//!
//! **Cost.** One solve for each reason that is tried, at most `MOST_SOLVES`.

use rustc_hash::FxHashMap;

use foretrace_solve::{Limits, Lit, Outcome};
use foretrace_trace::EventId;

use super::Encoder;
use crate::explain::Reason;

/// How many solves the reduction may take.
const MOST_SOLVES: usize = 200;
/// How many conflicts each of them may have: a reason that needs more to be left out stays.
const MOST_CONFLICTS: u64 = 5_000;

/// The instances so far.
#[derive(Default)]
pub(super) struct Guards {
    reasons: Vec<(Reason, Lit)>,
    index: FxHashMap<Reason, Lit>,
    /// The instance whose clauses are being added.
    current: Option<Lit>,
    /// What the last question assumed, without the guards.
    question: Vec<Lit>,
}

impl Encoder<'_> {
    /// Whether clauses have guards.
    pub(super) fn explains(&self) -> bool {
        self.guards.is_some()
    }

    /// The guard of the instance whose clauses are being added.
    pub(super) fn guard(&self) -> Option<Lit> {
        self.guards.as_ref().and_then(|guards| guards.current)
    }

    /// Adds clauses that belong to one instance of a rule.
    pub(super) fn under<R>(
        &mut self,
        reason: impl FnOnce() -> Reason,
        add: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let Some(guards) = &mut self.guards else { return add(self) };
        let reason = reason();
        let guard = match guards.index.get(&reason) {
            Some(&guard) => guard,
            None => {
                let guard = self.solver.literal_with_phase(true);
                guards.index.insert(reason.clone(), guard);
                guards.reasons.push((reason, guard));
                guard
            }
        };
        let outer = guards.current.replace(guard);
        let result = add(self);
        self.guards.as_mut().expect("an encoder goes on explaining").current = outer;
        result
    }

    /// Adds a clause of the present instance of a rule.
    pub(super) fn rule(&mut self, lits: &[Lit]) {
        match self.guard() {
            None => self.solver.clause(lits),
            Some(guard) => {
                let mut guarded = lits.to_vec();
                guarded.push(!guard);
                self.solver.clause(&guarded);
            }
        }
    }

    /// What a consequence of the present instance of a rule depends on.
    pub(super) fn conditions(&self, lits: &[Lit]) -> Vec<Lit> {
        lits.iter().copied().chain(self.guard()).collect()
    }

    /// What a question asks for, as an instance of a rule of its own.
    pub(crate) fn asked_by(&mut self, reason: impl FnOnce() -> Reason, lits: Vec<Lit>) -> Vec<Lit> {
        if !self.explains() {
            return lits;
        }
        let all = self.solver.literal();
        self.under(reason, |encoder| {
            for lit in lits {
                encoder.rule(&[!all, lit]);
            }
        });
        vec![all]
    }

    /// The assumptions of a question, with all guards.
    pub(super) fn with_guards(&mut self, assumptions: &[Lit]) -> Vec<Lit> {
        let mut all = assumptions.to_vec();
        if let Some(guards) = &mut self.guards {
            guards.question = assumptions.to_vec();
            all.extend(guards.reasons.iter().map(|&(_, guard)| guard));
        }
        all
    }

    /// Why the last question, which must have been infeasible, is so. None of the reasons can be
    /// left out, as far as that is known within the effort; no reasons: program order alone leaves
    /// no schedule.
    pub(crate) fn reasons(&mut self) -> Vec<Reason> {
        let guards = self.guards.as_ref().expect("only an explaining encoder has reasons");
        let question = guards.question.clone();
        let mut reasons = guards.reasons.clone();
        reasons.retain(|&(_, guard)| self.solver.failed(guard));
        // Late ones were added because of a proposal that earlier ones allowed, so early ones are
        // more often needed by many.
        let mut at = reasons.len();
        let mut solves = 0;
        while at > 0 && solves < MOST_SOLVES {
            at -= 1;
            solves += 1;
            let (reason, guard) = reasons.remove(at);
            if self.solve_with(&question, &reasons) == Outcome::Unsatisfiable {
                // What comes behind is needed, with or without this one.
                let failed: Vec<bool> =
                    reasons.iter().map(|&(_, guard)| self.solver.failed(guard)).collect();
                at = failed[..at].iter().filter(|&&failed| failed).count();
                let mut failed = failed.into_iter();
                reasons.retain(|_| failed.next().expect("one for each"));
            } else {
                reasons.insert(at, (reason, guard));
            }
        }
        let limits = Limits::default();
        let mut all = question;
        all.extend(reasons.iter().map(|&(_, guard)| guard));
        let outcome = self.solver.solve(&all, &limits);
        assert_eq!(outcome, Outcome::Unsatisfiable, "the reasons are enough");
        let mut reasons: Vec<Reason> = reasons.into_iter().map(|(reason, _)| reason).collect();
        reasons.sort_by_cached_key(|reason| (reason.events().first().copied(), reason.clone()));
        reasons
    }

    fn solve_with(&mut self, question: &[Lit], reasons: &[(Reason, Lit)]) -> Outcome {
        let mut assumptions = question.to_vec();
        assumptions.extend(reasons.iter().map(|&(_, guard)| guard));
        self.solver.solve(&assumptions, &Limits::conflicts(MOST_CONFLICTS))
    }

    /// Whether the last question has an answer with these of its reasons only; `None`: not known.
    #[cfg(test)]
    pub(crate) fn is_satisfiable_with(&mut self, reasons: &[Reason]) -> Option<bool> {
        let guards = self.guards.as_ref().expect("only an explaining encoder has reasons");
        let question = guards.question.clone();
        let reasons: Vec<(Reason, Lit)> =
            reasons.iter().map(|reason| (reason.clone(), guards.index[reason])).collect();
        match self.solve_with(&question, &reasons) {
            Outcome::Satisfiable => Some(true),
            Outcome::Unsatisfiable => Some(false),
            Outcome::Interrupted => None,
        }
    }

    /// Whether fork and join, or program order, put `a` before `b`. To an explaining encoder, fork
    /// and join are rules like others.
    pub(super) fn precedes_by_threads(&self, a: EventId, b: EventId) -> bool {
        let trace = self.skeleton.trace;
        if self.explains() {
            return trace.thread_of(a) == trace.thread_of(b) && a < b;
        }
        self.order.precedes(trace, a, b)
    }
}
