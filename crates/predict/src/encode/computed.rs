//! What a proposed schedule computes: values along the replay, where reads are not pinned.
//!
//! **Computes.** What each read sees and each write stores, and from that the rules of
//! `docs/theory.md`, section 3, that the schedule breaks: a branch that goes another way, an opaque
//! event behind a read that is not as recorded, a read of contents without a value; and every read
//! for which the solver's model says something else than what it sees.
//!
//! **Cost.** One look at each cell of an access, and each term once.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_model::terms::{SymbolId, TermId, Values};
use foretrace_model::{CellId, Data, Identity, Skeleton};
use foretrace_trace::{EventId, Op, Place, ops};
use foretrace_verdict::Model;

use super::Encoder;
use super::lazy::{Broken, Proposal, Scratch};
use crate::fault::{Fault, is_seeded};

/// The values of one replay.
#[derive(Default)]
pub(super) struct Computed {
    asked: Option<EventId>,
    /// What reads of at most 8 bytes saw.
    seen: FxHashMap<EventId, u64>,
    /// What writes with a term stored.
    stored: FxHashMap<EventId, u64>,
    terms: Values,
    /// Of each thread the reads that are not as recorded.
    changed: Vec<Vec<EventId>>,
    /// Events that do not happen.
    skipped: FxHashSet<EventId>,
}

impl Computed {
    pub(super) fn start(&mut self, threads: usize, asked: Option<EventId>) {
        self.asked = asked;
        self.seen.clear();
        self.stored.clear();
        self.terms.clear();
        self.changed.resize(threads, Vec::new());
        self.changed.iter_mut().for_each(Vec::clear);
        self.skipped.clear();
    }

    /// The assertion that the question is about.
    pub(super) fn asked(&self) -> Option<EventId> {
        self.asked
    }

    fn value(&mut self, skeleton: &Skeleton, data: &Data, term: TermId) -> u64 {
        let seen = &self.seen;
        let assignment = |symbol: SymbolId| {
            let read = EventId(symbol.0);
            let value = seen.get(&read).copied().or_else(|| {
                // A term is computed when all its reads are executed, so it is a pinned one; or one
                // that does not happen.
                skeleton.trace.access(read).and_then(|_| skeleton.trace.values(read).0)
            });
            value.unwrap_or(0).into()
        };
        self.terms.value(data.terms(), term, assignment) as u64
    }
}

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Value(u64),
    /// Contents of its own, which the read expects.
    AsRecorded,
    Unreadable,
}

impl Encoder<'_> {
    /// Whether the event happens, or is skipped.
    pub(super) fn replay_occurs(&self, event: EventId, scratch: &mut Scratch) -> bool {
        let Some(data) = &self.skeleton.data else { return true };
        let occurs = data
            .occurs(event)
            .is_none_or(|occurs| scratch.computed.value(self.skeleton, data, occurs) != 0);
        if !occurs {
            scratch.computed.skipped.insert(event);
        }
        occurs
    }

    /// What the last proposal, which broke no rule, does: without what does not happen, and with
    /// what comes from outside.
    pub(super) fn settle(&self, proposal: &mut Proposal) {
        let computed = &self.scratch.computed;
        proposal.schedule.retain(|event| !computed.skipped.contains(event));
        if self.skeleton.is_program() {
            let inputs = proposal.schedule.iter().copied();
            let inputs = inputs.filter(|&event| self.skeleton.trace.op(event) == Op::External);
            proposal.inputs = inputs.map(|event| (event, self.input_value(event))).collect();
        }
    }

    /// Line *read, not pinned*.
    pub(super) fn replay_seen(
        &self,
        read: EventId,
        at: Place,
        scratch: &mut Scratch,
        broken: &mut Vec<Broken>,
    ) {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let recorded = trace.values(read).0.filter(|_| at.size <= 8);
        if memory.has_unknown_writer(read) {
            scratch.computed.seen.insert(read, recorded.unwrap_or(0));
            return;
        }
        let (mut value, mut as_recorded) = (0, true);
        for cell in memory.cells_of(at) {
            let seen = scratch.writer(cell);
            let found = self.found(read, cell, seen, scratch);
            let bits = match found {
                Found::Value(bits) => {
                    as_recorded &= memory.expected(trace, read, cell) == Identity::Value(bits);
                    Some(bits)
                }
                Found::AsRecorded => recorded.map(|value| memory.part(cell, at, value)),
                Found::Unreadable => None,
            };
            if let Some(bits) = bits
                && at.size <= 8
            {
                value |= bits << memory.bits_of(cell, at).0;
            }
            let is_other_source = || {
                let chosen = self.chosen_data_source(read, cell);
                let same = |write| self.found(read, cell, write, scratch) == found;
                chosen.is_some_and(|source| source.write != seen && !same(source.write))
            };
            let model = self.model_value(read, cell);
            let is_other_value = model.is_some() && bits.is_some() && model != bits;
            let is_rule = found == Found::Unreadable;
            if is_rule || is_other_value || is_other_source() {
                broken.push(Broken::Source { read, cell, seen, is_rule });
            }
        }
        scratch.computed.seen.insert(read, value);
        if !as_recorded {
            scratch.computed.changed[trace.thread_of(read).index()].push(read);
        }
    }

    /// What the cell holds if this was the last write.
    fn found(
        &self,
        read: EventId,
        cell: CellId,
        write: Option<EventId>,
        scratch: &Scratch,
    ) -> Found {
        let (trace, memory) = (self.skeleton.trace, &self.skeleton.memory);
        let left = match write {
            None => memory.initial_value(cell),
            Some(write) => match scratch.computed.stored.get(&write) {
                Some(&stored) => {
                    let at = trace.access(write).expect("a write is an access").at;
                    Some(memory.part(cell, at, stored))
                }
                None => memory.value_written(trace, write, cell),
            },
        };
        match left {
            Some(value) => Found::Value(value),
            None if self.recorded_writer(read, cell) == write => Found::AsRecorded,
            None => Found::Unreadable,
        }
    }

    /// What a write stores, and whether it may.
    pub(super) fn replay_stored(
        &self,
        write: EventId,
        scratch: &mut Scratch,
        broken: &mut Vec<Broken>,
    ) {
        let Some(data) = self.skeleton.free_data() else { return };
        if self.skeleton.model == Model::Control {
            return;
        }
        if let Some(condition) = data.assumed(write)
            && scratch.computed.value(self.skeleton, data, condition) == 0
            && !is_seeded(Fault::AssumptionUnchecked)
        {
            broken.push(Broken::Condition { event: write, condition, outcome: true });
        }
        match data.result(write) {
            Some(term) => {
                let value = scratch.computed.value(self.skeleton, data, term);
                scratch.computed.stored.insert(write, value);
            }
            None => self.replay_opaque(write, false, scratch, broken),
        }
    }

    /// Lines *branch, assume* and *assert*.
    pub(super) fn replay_condition(
        &self,
        event: EventId,
        op: Op,
        scratch: &mut Scratch,
        broken: &mut Vec<Broken>,
    ) {
        let Some(data) = self.skeleton.free_data() else { return };
        if self.skeleton.model == Model::Control {
            return;
        }
        if op == Op::External && data.is_program() {
            let value = self.input_value(event);
            scratch.computed.seen.insert(event, value);
            return;
        }
        let Some(condition) = data.result(event) else {
            return self.replay_opaque(event, false, scratch, broken);
        };
        let outcome = match op {
            Op::Branch { taken } => taken,
            Op::Assume { holds } => holds,
            Op::Assert { holds: true } if !is_seeded(Fault::FailedAssertionPassed) => true,
            ops!(memory object sync call mark Let Assert) => return,
        };
        if (scratch.computed.value(self.skeleton, data, condition) != 0) != outcome
            && !is_seeded(Fault::BranchUnchecked)
        {
            broken.push(Broken::Condition { event, condition, outcome });
        }
    }

    /// Line *opaque events*.
    fn replay_opaque(
        &self,
        event: EventId,
        is_asked: bool,
        scratch: &Scratch,
        broken: &mut Vec<Broken>,
    ) {
        if is_seeded(Fault::OpaqueIgnored) {
            return;
        }
        let thread = self.skeleton.trace.thread_of(event).index();
        let changed = scratch.computed.changed[thread].iter();
        broken.extend(changed.map(|&read| Broken::NotAsRecorded { read, by: event, is_asked }));
    }

    /// Whether what was asked for happens in the last proposal, with the values that it computes
    /// itself.
    pub(super) fn goal_holds(&mut self) -> bool {
        let Some(data) = &self.skeleton.data else { return true };
        let Some(asked) = self.scratch.computed.asked else {
            // Without conditions on events, all other questions are about order alone.
            return !data.is_program();
        };
        let computed = &mut self.scratch.computed;
        let occurs = data
            .occurs(asked)
            .is_none_or(|occurs| computed.value(self.skeleton, data, occurs) != 0);
        occurs
            && data
                .result(asked)
                .is_none_or(|holds| computed.value(self.skeleton, data, holds) == 0)
    }

    /// What the assertion asked about needs, if it is opaque.
    pub(super) fn replay_asked(
        &self,
        assertion: EventId,
        scratch: &Scratch,
        broken: &mut Vec<Broken>,
    ) {
        let opaque = |data: &Data| data.is_opaque(self.skeleton.trace, assertion);
        if self.skeleton.model != Model::Control && self.skeleton.free_data().is_some_and(opaque) {
            self.replay_opaque(assertion, true, scratch, broken);
        }
    }
}
