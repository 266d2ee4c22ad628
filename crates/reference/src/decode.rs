//! Turns the solution of a solver back into the schedule that it describes.
//!
//! **Invariant.** All orders are asserted as strict ones, so events with one clock are ordered by
//! nothing but, within a thread, the program: any order of them will do, and the recorded one is
//! taken.

use foretrace_trace::EventId;
use rustc_hash::FxHashMap;

use crate::formula::Formula;

/// The values of the constants that [`Formula::asked`] lists. A solver has answered for each of
/// them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Assignment {
    values: FxHashMap<String, i128>,
}

impl Assignment {
    pub(crate) fn new(values: FxHashMap<String, i128>) -> Assignment {
        Assignment { values }
    }

    /// The value of a constant.
    pub fn get(&self, symbol: &str) -> Option<i128> {
        self.values.get(symbol).copied()
    }
}

/// The included events in the order of their clocks.
pub fn schedule(formula: &Formula, assignment: &Assignment) -> Vec<EventId> {
    let value = |symbol: &str| assignment.get(symbol).expect("the solver answers what is asked");
    let horizon = value(&formula.horizon);
    let clocks = formula.clocks.iter().enumerate();
    let mut included: Vec<(i128, EventId)> = clocks
        .map(|(index, clock)| (value(clock), EventId::from(index)))
        .filter(|&(clock, _)| clock < horizon)
        .collect();
    included.sort_unstable();
    included.into_iter().map(|(_, event)| event).collect()
}
