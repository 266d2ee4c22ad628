//! What the events of a witness read, store and compute, for the reader of a report.
//!
//! **Computes.** The values in an accepted schedule. Where a read is pinned, its recorded value;
//! else what it sees. Under `control` what is read is free: then only the values are given that
//! make the assertion fail, and what follows from them.
//!
//! **Cost.** A check, and one more pass with tables of its own. To be used for findings, not in a
//! search.

use foretrace_trace::text::eval::{bound_value, truncate};
use foretrace_trace::{EventId, NameId, Op, ops};
use rustc_hash::FxHashSet;

use crate::checker::Checker;
use crate::computing::Sight;
use crate::free_values::failing_values;
use crate::recorded::Rule;
use crate::refuted::Refuted;
use crate::signals;
use crate::state::State;
use crate::step::{Reads, Replay};
use foretrace_verdict::{Certainty, Violation};

/// The values in a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// What the witness proves.
    pub certainty: Certainty,
    /// One for each event of the schedule.
    pub steps: Vec<StepValues>,
    /// The assertion that fails, if the violation is one.
    pub assertion: Option<FailedAssertion>,
}

/// What one event of a witness read, stored and computed, as far as it did and as this is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepValues {
    /// What a read or the first half of a read-modify-write saw.
    pub seen: Option<u64>,
    /// What a write or the second half of a read-modify-write stored.
    pub stored: Option<u64>,
    /// What the expression of a branch, an assertion, an assumption or a `let` is worth.
    pub computed: Option<u64>,
}

/// An assertion at the end of a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedAssertion {
    /// What its expression is worth, 0; `None` if it has none that counts.
    pub value: Option<u64>,
    /// What the names in its expression are worth, ordered by name.
    pub names: Vec<NamedValue>,
}

/// What a name is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedValue {
    /// The name.
    pub name: NameId,
    /// The read, read-modify-write or `let` that it means.
    pub of: EventId,
    /// Its value, as far as known.
    pub value: Option<u64>,
}

impl Checker<'_> {
    /// The values in a schedule that is a witness of the violation.
    pub fn explain(
        &self,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<Explanation, Refuted> {
        let certainty = self.check(violation, schedule)?;
        let mut state = State::new(self.trace, &self.recorded, true);
        let mut replay = self.start(&mut state, Some(violation));
        replay.perhaps_free = self.free_read_in(violation, schedule);
        if let Violation::Assertion(at) = *violation {
            replay.assume_failing_values(at);
        }
        let steps = schedule.iter().map(|&event| replay.observe(event)).collect();
        let assertion = match *violation {
            Violation::Assertion(at) => Some(replay.failed_assertion(at)),
            Violation::Race(..)
            | Violation::Atomicity { .. }
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..) => None,
        };
        Ok(Explanation { certainty, steps, assertion })
    }

    /// The values in a schedule, whatever is at its end.
    ///
    /// # Errors
    /// The first event that is not enabled.
    pub fn values_along(&self, schedule: &[EventId]) -> Result<Vec<StepValues>, Refuted> {
        self.with_state(|state| {
            let mut replay = self.start(state, None);
            replay.run(schedule)?;
            let steps = &replay.state.cond_steps;
            signals::resolve(self.trace, &self.recorded, steps, &FxHashSet::default())
        })?;
        let mut state = State::new(self.trace, &self.recorded, true);
        let mut replay = self.start(&mut state, None);
        Ok(schedule.iter().map(|&event| replay.observe(event)).collect())
    }
}

impl Replay<'_> {
    /// Under `control`: what the reads that the assertion uses have seen, and its `let`s give. If
    /// no such values were found, it is what is there that makes the assertion fail.
    fn assume_failing_values(&mut self, assertion: EventId) {
        let terms = self.recorded.terms(self.trace);
        if self.reads != Reads::Free || !terms.counts(assertion) {
            return;
        }
        let Some(found) = failing_values(self.trace, terms, assertion) else {
            self.reads = Reads::Computed;
            return;
        };
        let values = self.state.values.as_mut().expect("made with values");
        for &(of, value) in found.iter() {
            values.given.set(of.index(), Some(value));
        }
    }

    /// Executes an event that is known to be enabled.
    pub(crate) fn observe(&mut self, event: EventId) -> StepValues {
        let mut step = StepValues::default();
        let rule = self.recorded.rule(event);
        if matches!(rule, Rule::Read | Rule::Rmw) {
            step.seen = self.observed(event);
            self.note(event, Sight { value: step.seen, is_as_recorded: true });
        }
        match self.trace.op(event) {
            Op::Write { at, value, .. } | Op::Rmw { at, written: value, .. } => {
                let recorded = value.filter(|_| self.reads != Reads::Free);
                let computed = self.value_of(event).map(|value| truncate(value, at.size));
                step.stored = computed.or(bound_value(recorded, at.size));
                self.store(event);
            }
            Op::Let => {
                self.define(event);
                step.computed = self.given(event);
            }
            Op::Branch { .. } | Op::Assert { .. } | Op::Assume { .. } => {
                step.computed = self.value_of(event);
            }
            ops!(object sync call mark Read) => {}
        }
        step
    }

    fn observed(&self, read: EventId) -> Option<u64> {
        let is_unpinned = match self.reads {
            Reads::Free => return self.given(read),
            Reads::Computed => !self.recorded.has_unknown_writer(read),
            Reads::Pinned => self.released.contains(&read),
        };
        let at = self.trace.access(read).expect("called for reads only").at;
        let recorded = bound_value(self.trace.values(read).0, at.size);
        let is_free = self.perhaps_free == Some(read);
        let pinned = recorded.filter(|_| !is_unpinned && !is_free);
        // What an unvalued read sees may have a value all the same.
        pinned.or_else(|| self.look(0, read).ok()?.value)
    }

    fn failed_assertion(&self, at: EventId) -> FailedAssertion {
        let names = self.recorded.terms(self.trace).names(at).iter();
        let worth = |&(name, of)| NamedValue { name, of, value: self.given(of) };
        FailedAssertion { value: self.value_of(at), names: names.map(worth).collect() }
    }
}
