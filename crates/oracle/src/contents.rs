//! What reads see, what writes leave, and what depends on it: the part of `docs/theory.md`, section
//! 3, in which the four models differ.
//!
//! **Computes.** Whether a read is pinned, whether it is enabled and what it sees; whether an event
//! that depends on reads is enabled; what an event leaves in its bytes.
//!
//! **Follows.** The first eight lines of the table. A read that is *as recorded* has seen its
//! recorded value, so the state names only the reads that have *strayed*, and forgets one when no
//! later event of its thread depends on it. Under `control` what is read is free, so the contents
//! of memory are not kept at all.
//!
//! **Invariant.** A read with an unknown writer that is executed under `reads-from`, `values` or
//! `symbolic` is as recorded.
//!
//! **Cost.** Linear in the bytes of the access and in the expression.

use foretrace_trace::*;
use foretrace_verdict::Model;

use crate::recorded::{Identity, Recorded};
use crate::state::State;

/// A read that is not as recorded, and what it saw; 0 if it has no recorded value, since then
/// nothing that counts uses it.
pub(crate) type Strayed = (EventId, u64);

impl Recorded<'_> {
    /// The contents of memory before anything has happened.
    pub(crate) fn initial_contents(&self) -> Vec<Identity> {
        (0..self.byte_count).map(|byte| self.identity(byte, None)).collect()
    }

    /// Whether a read must see what it saw in the recorded run.
    pub(crate) fn is_pinned(&self, read: EventId) -> bool {
        match self.model {
            Model::ReadsFrom | Model::Values => !self.released.contains(read),
            Model::Symbolic => {
                self.unknown_writer.contains(read)
                    || self.trace.dependences() == Dependences::Unknown
            }
            Model::Control => false,
        }
    }

    /// The lines *read, pinned* and *read, not pinned*.
    pub(crate) fn may_read(&self, state: &State, read: EventId) -> bool {
        let at = self.op(read).access().expect("a read is an access").at;
        if !self.is_live(state, at.object) {
            return false;
        }
        let is_executed = |earlier: u32| state.executed.contains(EventId(earlier));
        if !self.is_pinned(read) {
            self.model == Model::Control
                || self.bytes_of(state, read).all(|(byte, held, expected)| {
                    self.value_of(byte, held).is_some() || held == expected
                })
        } else if self.unknown_writer.contains(read) {
            self.is_private(read) || (0..read.0).all(is_executed)
        } else {
            self.sees_what_it_expects(state, read)
        }
    }

    /// The bytes of a read: their numbers, what they hold, and what the read expects.
    fn bytes_of<'s>(
        &'s self,
        state: &'s State,
        read: EventId,
    ) -> impl Iterator<Item = (usize, Identity, Identity)> + 's {
        let expected = &self.expected[read.index()];
        let bytes = self.bytes[read.index()].iter().zip(expected);
        bytes.map(|(&byte, &expected)| (byte, state.contents[byte], expected))
    }

    fn sees_what_it_expects(&self, state: &State, read: EventId) -> bool {
        self.bytes_of(state, read).all(|(_, held, expected)| held == expected)
    }

    /// Whether a read that is next is as recorded if it is executed now.
    fn would_be_as_recorded(&self, state: &State, read: EventId) -> bool {
        self.is_pinned(read) || self.sees_what_it_expects(state, read)
    }

    /// What a read that is next sees if it is executed now.
    fn would_see(&self, state: &State, read: EventId) -> u64 {
        let Some(recorded) = self.read_value(read) else { return 0 };
        if self.would_be_as_recorded(state, read) {
            return recorded;
        }
        let mut value = recorded.to_le_bytes();
        for (place, (byte, held, _)) in self.bytes_of(state, read).enumerate() {
            // Unvalued contents are seen only as recorded.
            value[place] = self.value_of(byte, held).unwrap_or(value[place]);
        }
        u64::from_le_bytes(value)
    }

    /// What a read saw; or, of one that is not executed, sees now.
    fn saw(&self, state: &State, read: EventId) -> u64 {
        if !state.executed.contains(read) {
            return self.would_see(state, read);
        }
        match state.strayed.iter().find(|(strayed, _)| *strayed == read) {
            Some(&(_, seen)) => seen,
            None => self.read_value(read).unwrap_or(0),
        }
    }

    /// Whether all reads of the thread that are executed are as recorded, as far as an opaque event
    /// that follows must know.
    pub(crate) fn is_thread_as_recorded(&self, state: &State, thread: ThreadId) -> bool {
        state.strayed.iter().all(|(read, _)| self.trace.thread_of(*read) != thread)
    }

    /// The value of the expression of an event that is next, if it counts.
    pub(crate) fn computed(&self, state: &State, event: EventId) -> Option<u64> {
        let term = self.expressions[event.index()].counting.as_ref()?;
        Some(term.value(&|read| self.saw(state, read)))
    }

    /// What `symbolic` asks of an event that depends on reads, besides the line of its kind.
    pub(crate) fn keeps_its_way(&self, state: &State, event: EventId) -> bool {
        if self.model != Model::Symbolic {
            return true;
        }
        if self.opaque.contains(event) {
            let reads = matches!(self.op(event), Op::Rmw { .. });
            return self.is_thread_as_recorded(state, self.trace.thread_of(event))
                && (!reads || self.would_be_as_recorded(state, event));
        }
        let outcome = || self.computed(state, event).map(|value| value != 0);
        match self.op(event) {
            Op::Rmw { .. } => {
                let assumed = self.expressions[event.index()].assumed.as_ref();
                assumed.is_none_or(|term| term.value(&|read| self.saw(state, read)) != 0)
            }
            Op::Branch { taken: recorded } | Op::Assume { holds: recorded } => {
                outcome() == Some(recorded)
            }
            Op::Assert { holds } => outcome() == Some(true) || !holds,
            ops!(object sync call mark Read Write Let) => true,
        }
    }

    /// The effect of an access on what its thread has seen and on memory.
    pub(crate) fn access(&self, before: &State, after: &mut State, event: EventId) {
        if self.model == Model::Control {
            return;
        }
        let access = self.op(event).access().expect("it is an access");
        let is_needed = self.last_need[event.index()].is_some_and(|last| last > event);
        if access.reads && is_needed && !self.would_be_as_recorded(before, event) {
            after.strayed.push((event, self.would_see(before, event)));
            after.strayed.sort();
        }
        if access.writes {
            // Under the other models every read that is used is as recorded, and so is what is
            // stored.
            let computed = self.computed(before, event).filter(|_| self.model == Model::Symbolic);
            for (place, &byte) in self.bytes[event.index()].iter().enumerate() {
                after.contents[byte] = match computed {
                    Some(value) => Identity::Value(value.to_le_bytes()[place]),
                    None => self.identity(byte, Some(event)),
                };
            }
        }
    }

    /// Forgets what reads saw on which nothing depends after this event.
    pub(crate) fn forget_strayed(&self, after: &mut State, event: EventId) {
        let thread = self.trace.thread_of(event);
        after.strayed.retain(|(read, _)| {
            self.trace.thread_of(*read) != thread
                || self.last_need[read.index()].is_some_and(|last| last > event)
        });
    }
}
