//! Assertions: section 4 of `docs/theory.md`.
//!
//! **Computes.** Whether an assertion is false of what its thread has read; and, where every read
//! is pinned, which reads are *released* for it.
//!
//! **Follows.** The theory to the letter: a read is released only if the assertion names it itself.
//! One that it uses through a `let` is used by the expression of that `let`, which lies between.
//!
//! **Cost.** One walk from the assertion back to the first read that it names; under `control` a
//! bounded search once per assertion (`free_values`). If that is in vain, the values that the
//! schedule itself gives are tried, so that what fails under `symbolic` fails here too; this takes
//! a pass with tables of its own.

use foretrace_trace::{Dependences, EventId, Op};

use crate::at_end::require;
use crate::checker::Checker;
use crate::free_values::failing_values;
use crate::refuted::Refuted;
use crate::state::State;
use crate::step::{Reads, Replay};
use foretrace_verdict::Violation;

impl Checker<'_> {
    /// The reads that need not see what they saw in the recorded run, though all others must.
    pub(crate) fn released_reads(&self, violation: &Violation) -> Vec<EventId> {
        let Violation::Assertion(at) = *violation else { return Vec::new() };
        let is_pinned = self.reads == Reads::Pinned;
        if !is_pinned || self.trace.dependences() == Dependences::Unknown {
            return Vec::new();
        }
        let terms = self.recorded.terms(self.trace);
        if !terms.counts(at) {
            return Vec::new();
        }
        let is_simple_read = |read: EventId| {
            let is_read = matches!(self.trace.op(read), Op::Read { .. });
            is_read && !self.recorded.has_unknown_writer(read)
        };
        let named = terms.names(at).iter().map(|&(_, of)| of);
        let mut released: Vec<EventId> = named.filter(|&of| is_simple_read(of)).collect();
        let before = &self.trace.thread_events(self.trace.thread_of(at))[..self.trace.position(at)];
        for &event in before.iter().rev() {
            if released.iter().all(|&read| read >= event) {
                break;
            }
            if terms.is_opaque(self.trace, event) {
                released.retain(|&read| read >= event);
            }
            for &(_, used) in terms.names(event) {
                released.retain(|&read| read != used);
            }
        }
        released
    }
}

impl Replay<'_> {
    /// Assertion (e).
    pub(crate) fn check_assertion(&self, at: EventId, schedule: &[EventId]) -> Result<(), Refuted> {
        self.check_is_next(at)?;
        let terms = self.recorded.terms(self.trace);
        match (terms.counts(at), self.reads) {
            (false, Reads::Free) => Ok(()),
            (false, _) => self.check_opaque_assertion(at),
            (true, Reads::Free) => match failing_values(self.trace, terms, at) {
                Some(_) => Ok(()),
                None if self.fails_as_scheduled(at, schedule) => Ok(()),
                None => Err(Refuted::NoFailingValues { event: at }),
            },
            (true, _) => match self.value_of(at) {
                Some(0) => Ok(()),
                value => {
                    let value = value.expect("an expression that counts has a value");
                    Err(Refuted::AssertionHolds { event: at, value })
                }
            },
        }
    }

    /// Whether the assertion fails of what is there in this very schedule, though what is read is
    /// free.
    fn fails_as_scheduled(&self, at: EventId, schedule: &[EventId]) -> bool {
        let mut state = State::new(self.trace, self.recorded, true);
        let mut replay = Replay::new(self.trace, self.recorded, &mut state, Reads::Computed);
        for &event in schedule {
            replay.observe(event);
        }
        replay.value_of(at) == Some(0)
    }

    /// "e is opaque, was recorded not to hold, and all earlier reads of its thread are as
    /// recorded."
    fn check_opaque_assertion(&self, at: EventId) -> Result<(), Refuted> {
        let held = matches!(self.trace.op(at), Op::Assert { holds: true });
        require(!held, at, "the assertion held, and what it depends on is not known")?;
        match self.strayed_before(at) {
            Some(read) => {
                let (seen, recorded) = (self.given(read), self.trace.values(read).0);
                Err(Refuted::AssertionUnknown { event: at, read, seen, recorded })
            }
            None => Ok(()),
        }
    }
}
