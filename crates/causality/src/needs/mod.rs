//! What each event needs of other threads: in the recorded order, or in any.
//!
//! **Computes.** For each event, how many events of each thread a schedule must contain if it
//! contains the event: transitive, except for the holds of locks, which depend on what else is
//! there.
//!
//! **Follows.** `docs/causality.md`, sections 3, 5 and 6.
//!
//! **Cost.** A row of numbers only where a thread's needs change: O(n + rows · threads).

mod meets;
mod sources;
mod written;

use foretrace_model::{Origins, Skeleton};
use foretrace_trace::{EventId, ThreadId};

use crate::givers::Givers;
use meets::Meets;
use sources::Sources;

/// The largest table, in numbers.
const MOST_NUMBERS: usize = 400_000_000;

/// Which needs a table is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Needed for the recorded order to be kept, or needed in any order.
    pub order: Order,
    /// Whether reads need what they read from, as far as the model pins them.
    pub data: bool,
}

/// In which orders something is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// In the recorded one. What is closed under these needs and has no open conflicting holds, in
    /// recorded order, is a feasible schedule.
    Recorded,
    /// In any. No feasible schedule has an event without what it needs.
    Any,
}

impl Rules {
    /// All that keeps the recorded order.
    pub const RECORDED: Rules = Rules { order: Order::Recorded, data: true };
    /// All that no order avoids.
    pub const ANY: Rules = Rules { order: Order::Any, data: true };
    /// What synchronisation needs in any order.
    pub const SYNCHRONISATION: Rules = Rules { order: Order::Any, data: false };
    /// What synchronisation needs to keep the recorded order.
    pub const RECORDED_SYNCHRONISATION: Rules = Rules { order: Order::Recorded, data: false };
}

/// The table.
#[derive(Debug)]
pub struct Needs {
    threads: usize,
    /// For each thread, the positions from which on a row holds.
    changes: Vec<Vec<(u32, u32)>>,
    rows: Vec<u32>,
}

impl Needs {
    /// `None` if the table would be too large.
    pub fn new(skeleton: &Skeleton, givers: &Givers, rules: Rules) -> Option<Self> {
        let trace = skeleton.trace;
        let threads = trace.threads().len();
        let mut needs =
            Needs { threads, changes: vec![vec![(0, 0)]; threads], rows: vec![0; threads] };
        let sources = Sources::new(skeleton, givers, rules);
        let mut builder = Builder { row: vec![0; threads], least: Vec::new(), direct: Vec::new() };
        if rules.data || skeleton.lifetimes.has_allocs() {
            for (event, op) in trace.ops() {
                builder.step(&mut needs, &sources, event, op)?;
            }
        } else {
            for (event, op) in trace.other_ops() {
                builder.step(&mut needs, &sources, event, op)?;
            }
        }
        Some(needs)
    }

    /// The same table for needs in any order, with what follows from what threads must have seen.
    pub fn sharpened(self, skeleton: &Skeleton, origins: &Origins) -> Self {
        let sharper = Meets::new(skeleton, &self, origins).and_then(Meets::table);
        sharper.unwrap_or(self)
    }

    /// What the event at that position, and all before it in its thread, need.
    pub fn of(&self, thread: ThreadId, position: u32) -> &[u32] {
        let changes = &self.changes[thread.index()];
        let at = changes.partition_point(|&(from, _)| from <= position) - 1;
        let row = changes[at].1 as usize * self.threads;
        &self.rows[row..row + self.threads]
    }

    /// The last position up to `most` before which the thread needs at most `count` events of
    /// `other`.
    pub fn last_within(&self, thread: ThreadId, most: u32, other: ThreadId, count: u32) -> u32 {
        let changes = &self.changes[thread.index()];
        let first_above = changes.partition_point(|&(_, row)| {
            self.rows[row as usize * self.threads + other.index()] <= count
        });
        changes.get(first_above).map_or(most, |&(position, _)| position.min(most))
    }

    /// From that position on, the row holds.
    fn set(&mut self, thread: ThreadId, position: u32, row: &[u32]) -> Option<()> {
        if self.rows.len() + self.threads > MOST_NUMBERS {
            return None;
        }
        let index = (self.rows.len() / self.threads) as u32;
        self.rows.extend_from_slice(row);
        match self.changes[thread.index()].last_mut() {
            Some(last) if last.0 == position => last.1 = index,
            _ => self.changes[thread.index()].push((position, index)),
        }
        Some(())
    }
}

/// What is used again from event to event.
struct Builder {
    row: Vec<u32>,
    least: Vec<u32>,
    direct: Vec<EventId>,
}

impl Builder {
    fn step(
        &mut self,
        needs: &mut Needs,
        sources: &Sources,
        event: EventId,
        op: foretrace_trace::Op,
    ) -> Option<()> {
        let trace = sources.skeleton.trace;
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        if let foretrace_trace::Op::Fork { child } = op {
            self.row.copy_from_slice(needs.of(thread, position));
            let own = &mut self.row[thread.index()];
            *own = (*own).max(position + 1);
            needs.set(child, 0, &self.row)?;
        }
        self.direct.clear();
        sources.direct(event, op, &mut self.direct);
        let has_least = sources.least(needs, event, op, &mut self.least);
        if self.direct.is_empty() && !has_least {
            return Some(());
        }
        self.row.copy_from_slice(needs.of(thread, position));
        let mut changed = false;
        for &source in &self.direct {
            let from = trace.thread_of(source);
            if from == thread {
                continue;
            }
            let at = trace.position(source) as u32;
            if self.row[from.index()] > at {
                continue;
            }
            changed = true;
            join(&mut self.row, needs.of(from, at));
            self.row[from.index()] = self.row[from.index()].max(at + 1);
        }
        if has_least {
            changed |= self.least.iter().zip(&self.row).any(|(least, own)| least > own);
            join(&mut self.row, &self.least);
        }
        if changed { needs.set(thread, position, &self.row) } else { Some(()) }
    }
}

/// The pointwise maximum.
pub(crate) fn join(row: &mut [u32], other: &[u32]) {
    for (mine, &theirs) in row.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}
