//! The witness checker: the last line of defence. Every reported bug passes it.
//!
//! **Computes.** Let σ = e0 ... e(n-1) be a schedule and V a violation. σ is accepted as a witness
//! of V iff there are states S0 ... Sn such that
//!
//! 1. S0 is the state in which nothing has happened;
//! 2. each e(i) is enabled in S(i), and S(i+1) is S(i) with the effect of e(i) (section 3 of
//!    `docs/theory.md`, under the given model; the effect of a signal is a choice, so there may be
//!    several S(i+1)); except that a pure read that is V's remote access, and the last event of its
//!    thread in σ, with no join of that thread in σ, only needs its object live; and that the reads
//!    which are released for V, an assertion, are not pinned;
//! 3. V holds in Sn (section 4).
//!
//! The result is *possible* if σ has a read with an unknown writer that is not the excepted one,
//! and under `control`; else *real*.
//!
//! **Follows.** `docs/theory.md`, and nothing else: it shares no code with the encoder, the solver
//! or the oracle. `recorded` is section 2; `step`, `computing` and `signals` are section 3;
//! `at_end` and `assertions` are section 4. Where the text leaves room, the reading that refuses
//! more is taken: see `at_end` and `free_values`, and (3) a read with an unknown writer needs its
//! object live too, and all that was recorded before it even if its bytes hold what they held then;
//! (4) a declared initial value of more than 8 bytes counts as not declared.
//!
//! **Cost.** O(n) per check, whatever the size of the trace, plus O(threads) for a stuck state.
//! Where reads are pinned, nothing is computed. A workspace with a few words per cell, lock and
//! thread of the trace (and per event, under `symbolic`) is kept for each thread of this program
//! that checks at the same time as others, and another for each that reduces.

use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::{Certainty, Model, Violation};

use crate::at_end::check_form;
use crate::needs::Words;
use crate::recorded::Recorded;
use crate::refuted::Refuted;
use crate::runs::Turns;
use crate::signals::{self, Notifiers};
use crate::state::State;
use crate::step::{Reads, Replay};
use crate::table::Pool;

/// What the checker takes for granted beside the trace and the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CheckOptions {
    /// Critical sections are atomic regions too, beside the declared ones.
    pub infer_regions: bool,
}

/// Checks schedules of one trace. To be shared between threads.
#[derive(Debug)]
pub struct Checker<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) recorded: Recorded,
    pub(crate) reads: Reads,
    states: Pool<State>,
    /// Workspaces of the reduction.
    pub(crate) needs: Pool<Words>,
    pub(crate) runs: Pool<Turns>,
}

impl<'a> Checker<'a> {
    /// Computes what the recorded run fixes, in one pass.
    pub fn new(trace: &'a Trace, model: Model, options: CheckOptions) -> Self {
        let recorded = Recorded::new(trace, model, options.infer_regions);
        let (states, needs, runs) = (Pool::default(), Pool::default(), Pool::default());
        let reads = Reads::under(model, trace.dependences());
        Checker { trace, recorded, reads, states, needs, runs }
    }

    /// The trace whose schedules are checked.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// Whether the schedule is a witness of the violation, and what it proves.
    pub fn check(&self, violation: &Violation, schedule: &[EventId]) -> Result<Certainty, Refuted> {
        self.replay(violation, schedule, |_, _| ()).map(|(certainty, ())| certainty)
    }

    /// Checks, and lets `look` at the end of an accepted schedule.
    pub(crate) fn replay<T>(
        &self,
        violation: &Violation,
        schedule: &[EventId],
        look: impl FnOnce(&Replay, Notifiers) -> T,
    ) -> Result<(Certainty, T), Refuted> {
        check_form(self.trace, violation)?;
        self.with_state(|state| {
            let mut replay = self.start(state, Some(violation));
            replay.run(schedule)?;
            if let Some(read) = replay.perhaps_free {
                replay.settle_free_read(read)?;
            }
            let kept = replay.check_violation(violation, schedule)?;
            let steps = &replay.state.cond_steps;
            let notifiers = signals::resolve(self.trace, &self.recorded, steps, &kept)?;
            let certainty = if replay.is_possible { Certainty::Possible } else { Certainty::Real };
            Ok((certainty, look(&replay, notifiers)))
        })
    }

    /// A replay that is to end in the violation, if one is given.
    pub(crate) fn start<'s>(
        &'s self,
        state: &'s mut State,
        violation: Option<&Violation>,
    ) -> Replay<'s> {
        let mut replay = Replay::new(self.trace, &self.recorded, state, self.reads);
        if let Some(violation) = violation {
            replay.perhaps_free = self.free_read(violation);
            replay.released = self.released_reads(violation);
        }
        replay
    }

    /// The read that is free if its thread is not seen to go on or to end.
    pub(crate) fn free_read(&self, violation: &Violation) -> Option<EventId> {
        match *violation {
            Violation::Atomicity { remote, .. } => {
                matches!(self.trace.op(remote), Op::Read { .. }).then_some(remote)
            }
            Violation::Race(..)
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..)
            | Violation::Assertion(_) => None,
        }
    }

    /// The read that is free in this schedule.
    pub(crate) fn free_read_in(
        &self,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Option<EventId> {
        let read = self.free_read(violation)?;
        let thread = self.trace.thread_of(read);
        let mut behind = schedule.iter().rev().take_while(|&&event| event != read);
        let is_seen = |&event: &EventId| {
            let goes_on = self.trace.thread_of(event) == thread;
            goes_on || self.trace.op(event) == Op::Join { child: thread }
        };
        (!behind.any(is_seen)).then_some(read)
    }

    /// Lends a cleared workspace.
    pub(crate) fn with_state<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let make = || State::new(self.trace, &self.recorded, self.reads == Reads::Computed);
        self.states.lend(make, |state| {
            state.clear();
            work(state)
        })
    }
}

impl Replay<'_> {
    /// Decides, now that all steps are done, whether the remote read was free.
    fn settle_free_read(&mut self, read: EventId) -> Result<(), Refuted> {
        let done = self.state.progress.get(self.trace.thread_of(read).index()) as usize;
        if done <= self.trace.position(read) + 1 && !self.remote_is_joined {
            return Ok(());
        }
        self.is_possible |= self.recorded.has_unknown_writer(read);
        self.if_not_free.take().map_or(Ok(()), Err)
    }
}
