//! One step where reads are not pinned: under `symbolic` and `control`.
//!
//! **Computes.** The rows of the table in section 3 of `docs/theory.md` about memory and
//! expressions. Under `symbolic` a read sees what is there, an expression that counts is worked out
//! from what its thread has seen, and an opaque event needs all its thread's reads as recorded.
//! Under `control` only that objects live is asked.
//!
//! **Follows.** The theory byte by byte, by way of cells, each of whose bytes have the same last
//! writer and are valued or not together. Where the text leaves room: a pinned read has seen its
//! recorded value, so it counts as recorded, whatever its bytes hold.
//!
//! **Invariant.** The value of every executed read and `let` that a counting expression uses is in
//! `Values::given`. What a thread's reads saw never changes again, so one event per thread says
//! whether all of them are as recorded.
//!
//! **Cost.** Amortised constant per cell of an access and per name of an expression.

use foretrace_trace::text::eval::truncate;
use foretrace_trace::{EventId, Op, ops};

use crate::recorded::{INITIAL, Rule};
use crate::refuted::Refuted;
use crate::step::Replay;

/// What a read sees.
pub(crate) struct Sight {
    /// Made of its bytes; `None` if it is too wide, or if a byte has no value.
    pub(crate) value: Option<u64>,
    /// Whether each byte holds the expected identity.
    pub(crate) is_as_recorded: bool,
}

impl Replay<'_> {
    /// Executes an event under `symbolic`, or says why it is not enabled.
    #[allow(clippy::wildcard_enum_match_arm)]
    pub(crate) fn computing_step(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let (thread, done) = self.enter(step, event)?;
        match self.recorded.rule(event) {
            Rule::Fork => {}
            Rule::Always => self.compute(step, event)?,
            Rule::Read => self.see(step, event)?,
            Rule::Write => {
                self.check_live(step, event)?;
                self.check_dependences(step, event)?;
                self.store(event);
            }
            Rule::Rmw => {
                self.see(step, event)?;
                self.check_assumption(step, event)?;
                self.check_dependences(step, event)?;
                self.store(event);
            }
            rule => self.other(step, event, thread, rule)?,
        }
        self.state.progress.set(thread.index(), done + 1);
        Ok(())
    }

    /// Executes an event under `control`, or says why it is not enabled.
    #[allow(clippy::wildcard_enum_match_arm)]
    pub(crate) fn free_step(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let (thread, done) = self.enter(step, event)?;
        match self.recorded.rule(event) {
            Rule::Always | Rule::Fork => {}
            Rule::Read | Rule::Write | Rule::Rmw => self.check_live(step, event)?,
            rule => self.other(step, event, thread, rule)?,
        }
        self.state.progress.set(thread.index(), done + 1);
        Ok(())
    }

    /// Rows *read*, and the first half of *rmw*.
    fn see(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        self.check_live(step, event)?;
        let is_pinned = self.recorded.has_unknown_writer(event);
        let seen = if is_pinned {
            let value = self.trace.values(event).0;
            self.check_bytes(step, event).map(|()| Sight { value, is_as_recorded: true })
        } else {
            self.look(step, event)
        };
        if self.perhaps_free == Some(event) {
            // If the thread goes on, or is joined, a refusal comes back at the end.
            match seen {
                Ok(sight) => self.note(event, sight),
                Err(refuted) => self.if_not_free = Some(refuted),
            }
            return Ok(());
        }
        self.is_possible |= is_pinned;
        self.note(event, seen?);
        Ok(())
    }

    /// Keeps what a read has seen.
    pub(crate) fn note(&mut self, read: EventId, sight: Sight) {
        let thread = self.trace.thread_of(read).index();
        let values = self.state.values.as_mut().expect("reads are computed");
        values.given.set(read.index(), sight.value);
        if !sight.is_as_recorded && values.strayed.get(thread).is_none() {
            values.strayed.set(thread, Some(read));
        }
    }

    /// What a read that is not pinned sees in the present state: in each byte a value, or the
    /// expected identity.
    pub(crate) fn look(&self, step: usize, read: EventId) -> Result<Sight, Refuted> {
        let at = self.trace.access(read).expect("called for reads only").at;
        let memory = &self.recorded.memory;
        let own = self.trace.values(read).0;
        let mut sight = Sight { value: (at.size <= 8).then_some(0), is_as_recorded: true };
        let first = self.recorded.span(read).first;
        for (cell, &expected) in (first..).zip(self.recorded.recorded_writers(read)) {
            let found = self.state.last_writer.get(cell as usize);
            let contents = self.contents(cell);
            let expected_contents = memory.content(self.trace, expected, cell);
            if contents.is_none() && (expected_contents.is_some() || found != expected) {
                let name = |writer| (writer != INITIAL).then_some(EventId(writer));
                let (found, expected) = (name(found), name(expected));
                let (object, offset) = (at.object, memory.cells.offset(cell));
                let event = read;
                return Err(Refuted::Unvalued { step, event, object, offset, found, expected });
            }
            sight.is_as_recorded &= contents == expected_contents;
            if let Some(value) = sight.value {
                // Unvalued contents count with the value that the read itself saw in the recorded
                // run.
                let part = contents.or(own.map(|own| memory.cells.part(at, own, cell)));
                let shift = 8 * (memory.cells.offset(cell) - at.offset);
                sight.value = part.map(|part| value | part << shift);
            }
        }
        Ok(sight)
    }

    /// The value in a cell; `None` if it is the last writer's own unvalued contents.
    fn contents(&self, cell: u32) -> Option<u64> {
        let computed = self.state.values.as_ref().and_then(|v| v.left.get(cell as usize));
        let writer = self.state.last_writer.get(cell as usize);
        computed.or_else(|| self.recorded.memory.content(self.trace, writer, cell))
    }

    /// The effect of row *write*: leaves the value of its expression, if that counts, else what it
    /// left in the recorded run.
    pub(crate) fn store(&mut self, event: EventId) {
        let at = self.trace.access(event).expect("called for writes only").at;
        let stored = self.value_of(event).map(|value| truncate(value, at.size));
        let values = self.state.values.as_mut().expect("reads are computed");
        for cell in self.recorded.span(event).cells() {
            let part = stored.map(|value| self.recorded.memory.cells.part(at, value, cell));
            values.left.set(cell as usize, part);
            self.state.last_writer.set(cell as usize, event.0);
        }
    }

    /// Rows *opaque events*, *branch, assume*, *assert* and *let*, for events that are no accesses.
    fn compute(&mut self, step: usize, event: EventId) -> Result<(), Refuted> {
        let op = self.trace.op(event);
        match op {
            Op::Let => {
                self.define(event);
                return Ok(());
            }
            Op::External | Op::Branch { .. } | Op::Assume { .. } | Op::Assert { .. } => {}
            ops!(memory object sync call RegionBegin RegionEnd Fence) => return Ok(()),
        }
        let Some(value) = self.value_of(event) else {
            return self.check_dependences(step, event);
        };
        match op {
            Op::Branch { taken: outcome } | Op::Assume { holds: outcome }
                if outcome != (value != 0) =>
            {
                Err(Refuted::OtherOutcome { step, event, outcome, value })
            }
            Op::Assert { holds: true } if value == 0 => {
                Err(Refuted::AssertionFails { step, event })
            }
            ops!(memory object data sync call mark) => Ok(()),
        }
    }

    /// Row *let*.
    pub(crate) fn define(&mut self, event: EventId) {
        let value = self.value_of(event);
        let values = self.state.values.as_mut().expect("reads are computed");
        values.given.set(event.index(), value);
    }

    /// "What it assumes, if anything, holds of what it sees."
    fn check_assumption(&self, step: usize, event: EventId) -> Result<(), Refuted> {
        let terms = self.recorded.terms(self.trace);
        if !terms.counts(event) {
            // It is opaque: if all reads are as recorded, what was assumed holds as it did.
            return Ok(());
        }
        match terms.evaluate_assumption(self.trace, event, |of| self.given(of)) {
            Some(0) => Err(Refuted::AssumptionFails { step, event, seen: self.given(event) }),
            _ => Ok(()),
        }
    }

    /// "Every read on which it depends is as recorded", if the event is opaque.
    fn check_dependences(&self, step: usize, event: EventId) -> Result<(), Refuted> {
        if !self.recorded.terms(self.trace).is_opaque(self.trace, event) {
            return Ok(());
        }
        match self.strayed_before(event) {
            Some(read) => {
                let (seen, recorded) = (self.given(read), self.trace.values(read).0);
                Err(Refuted::NotAsRecorded { step, event, read, seen, recorded })
            }
            None => Ok(()),
        }
    }

    /// The first executed read of the event's thread that is not as recorded.
    pub(crate) fn strayed_before(&self, event: EventId) -> Option<EventId> {
        let thread = self.trace.thread_of(event).index();
        self.state.values.as_ref().and_then(|values| values.strayed.get(thread))
    }

    /// The value of an event's expression in the present state, if it counts.
    pub(crate) fn value_of(&self, event: EventId) -> Option<u64> {
        let terms = self.recorded.terms(self.trace);
        let value = || terms.evaluate(self.trace, event, |of| self.given(of));
        if terms.counts(event) { value() } else { None }
    }

    /// What an executed read saw, or an executed `let` gave.
    pub(crate) fn given(&self, of: EventId) -> Option<u64> {
        if let Some(values) = &self.state.values {
            return values.given.get(of.index());
        }
        let released = self.released_saw.iter().find(|&&(read, _)| read == of);
        released.map_or_else(
            || self.recorded.terms(self.trace).recorded(self.trace, of),
            |&(_, seen)| seen,
        )
    }
}
