//! Barriers: rounds of arrivals.
//!
//! **Computes.** For each leave, whether the round of its thread's last arrival is complete. Rounds
//! are N arrivals each, in recorded order, so the arrival number k (from 0) belongs to round k / N,
//! and round g is complete after (g + 1) · N arrivals.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::event::Op;
use crate::ids::*;
use crate::store::Trace;

use super::invalid::{Breach, breach};
use super::rule::Rule;

pub(super) struct Barriers {
    rows: Vec<Row>,
    /// The round of each thread's last arrival at each barrier.
    round: FxHashMap<(BarrierId, ThreadId), u64>,
}

#[derive(Clone, Copy)]
struct Row {
    parties: u64,
    arrived: u64,
}

/// Whether each declared barrier has a party at all.
pub(super) fn check_parties(trace: &Trace) -> Result<(), Breach> {
    for (index, name) in trace.barriers().iter().enumerate() {
        if trace.barrier_parties(BarrierId::from(index)) == Some(0) {
            let why = format!("barrier {name} is declared for 0 parties");
            return Err(breach(Rule::BarrierParties, why));
        }
    }
    Ok(())
}

impl Barriers {
    pub(super) fn new(trace: &Trace) -> Barriers {
        let declared = |index: usize| trace.barrier_parties(BarrierId::from(index));
        let count = trace.barriers().len();
        let mut rows: Vec<Row> = (0..count)
            .map(|index| Row { parties: declared(index).map_or(0, u64::from), arrived: 0 })
            .collect();
        if (0..count).any(|index| declared(index).is_none()) {
            let mut seen: FxHashSet<(BarrierId, ThreadId)> = FxHashSet::default();
            for (_, event) in trace.events() {
                if let Op::Arrive { barrier } = event.op
                    && barrier.index() < count
                    && declared(barrier.index()).is_none()
                    && seen.insert((barrier, event.thread))
                {
                    rows[barrier.index()].parties += 1;
                }
            }
        }
        Barriers { rows, round: FxHashMap::default() }
    }

    pub(super) fn arrive(&mut self, thread: ThreadId, barrier: BarrierId) {
        let row = &mut self.rows[barrier.index()];
        self.round.insert((barrier, thread), row.arrived / row.parties);
        row.arrived += 1;
    }

    pub(super) fn leave(&self, thread: ThreadId, barrier: BarrierId) -> Result<(), Breach> {
        let Some(round) = self.round.get(&(barrier, thread)) else {
            let why = "the thread has not arrived at the barrier";
            return Err(breach(Rule::LeaveWithoutArrive, why));
        };
        let Row { parties, arrived } = self.rows[barrier.index()];
        let complete = (round + 1) * parties;
        if arrived < complete {
            let here = arrived - round * parties;
            let why = format!("only {here} of {parties} have arrived in this round");
            return Err(breach(Rule::LeaveEarly, why));
        }
        Ok(())
    }
}
