//! Who decided how many questions, and what that took.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foretrace_solve::Limits;

/// What it takes to report a finding, each step of its schedule, and, once, each event that some
/// schedule has. A time budget ends with the report, so this much of it is kept back.
const TO_REPORT: Duration = Duration::from_micros(20);
const TO_REPORT_STEP: Duration = Duration::from_nanos(10);
const TO_REPORT_EVENT: Duration = Duration::from_nanos(1_500);

/// Who is asked, once order and locks have refuted what they can. Each is sound alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engines {
    /// Each where it is likely to be the fastest, in turns.
    #[default]
    Staged,
    /// Only the solver, under the model that is asked for.
    Solver,
    /// Only the explicit engine. Where it cannot work (under `control`, with a bound, of a
    /// program), the solver.
    Explicit,
}

/// Who has decided a question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Decider {
    /// Order that no schedule avoids, and locks.
    Order,
    /// The causality graph.
    Graph,
    /// A schedule close to the recorded one.
    Tries,
    /// Whoever it was, under the weaker model `values`.
    Values,
    /// The explicit engine.
    Explicit,
    /// The solver.
    Solver,
}

impl Decider {
    /// All of them, from cheap to dear.
    pub const ALL: [Decider; 6] = [
        Decider::Order,
        Decider::Graph,
        Decider::Tries,
        Decider::Values,
        Decider::Explicit,
        Decider::Solver,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Decider::Order => "order",
            Decider::Graph => "graph",
            Decider::Tries => "tries",
            Decider::Values => "values",
            Decider::Explicit => "explicit",
            Decider::Solver => "solver",
        }
    }
}

/// What a prediction took. The same for every number of threads, unless a time budget fires.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Effort {
    decided: [u64; Decider::ALL.len()],
    /// Conflicts of all solvers.
    pub conflicts: u64,
    /// States that the explicit engine visited.
    pub states: u64,
}

impl Effort {
    /// How many questions somebody has decided.
    pub fn decided_by(&self, decider: Decider) -> u64 {
        self.decided[decider as usize]
    }

    pub(crate) fn count(&mut self, decider: Decider, questions: u64) {
        self.decided[decider as usize] += questions;
    }
}

/// What all shards together have spent so far.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    conflicts: AtomicU64,
    states: AtomicU64,
    /// Nanoseconds that the report of what was found so far will take.
    to_report: AtomicU64,
    /// How many steps the longest schedule has that was found so far.
    longest: AtomicU32,
}

impl Spent {
    pub(crate) fn add_conflicts(&self, conflicts: u64) {
        self.conflicts.fetch_add(conflicts, Ordering::Relaxed);
    }

    pub(crate) fn add_states(&self, states: u64) {
        self.states.fetch_add(states, Ordering::Relaxed);
    }

    /// A schedule of so many steps was found.
    pub(crate) fn add_found(&self, steps: usize) {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let time = TO_REPORT + TO_REPORT_STEP * steps;
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.to_report.fetch_add(nanoseconds, Ordering::Relaxed);
        self.longest.fetch_max(steps, Ordering::Relaxed);
    }

    /// These limits with a deadline that leaves time to report what was found so far.
    pub(crate) fn before_report(&self, limits: &Limits) -> Limits {
        let of_findings = Duration::from_nanos(self.to_report.load(Ordering::Relaxed));
        let to_report = of_findings + TO_REPORT_EVENT * self.longest.load(Ordering::Relaxed);
        // What no clock can show is over.
        let before = |deadline: Instant| deadline.checked_sub(to_report).unwrap_or(deadline);
        Limits { deadline: limits.deadline.map(before), ..limits.clone() }
    }

    pub(crate) fn effort(&self) -> Effort {
        let [conflicts, states] =
            [&self.conflicts, &self.states].map(|count| count.load(Ordering::Relaxed));
        Effort { conflicts, states, ..Effort::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_findings_leave_less_time() {
        let (spent, now) = (Spent::default(), Instant::now());
        let end = now + Duration::from_secs(100);
        let limits = Limits { deadline: Some(end), ..Limits::default() };
        let left = |spent: &Spent| spent.before_report(&limits).deadline.unwrap();
        assert_eq!(left(&spent), end);
        spent.add_found(1_000_000);
        let one = left(&spent);
        spent.add_found(1_000_000);
        // The events are told once, the steps of each schedule.
        assert!(end - one > one - left(&spent) && one > left(&spent));
        assert_eq!(spent.before_report(&Limits::default()).deadline, None);
    }
}
