//! The oracle: all interleavings of a small program.
//!
//! **Computes.** The exact set of violations that executions of a program can reach, each with the
//! steps that lead to it; and the executions themselves, one by one.
//!
//! **Follows.** Depth-first search over states; two executions that lead to the same state have the
//! same future. No reduction is made that would have to be argued: this is what cleverer analyses
//! are compared with.
//!
//! **Cost.** Exponential; bounded by a number of states, and what was not seen then is said to be
//! missing.

mod executions;
#[cfg(test)]
mod tests;
mod violations;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::run::{Event, Machine, Move, State};

pub use executions::{Execution, Executions, executions};
pub use violations::{Violation, violations};

/// How many states are enough for the examples of papers.
pub const STATE_BUDGET: u64 = 1_000_000;

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Every violation that was found, with the steps to the first state that showed it.
    pub violations: BTreeMap<Violation, Vec<Move>>,
    /// How many different states were seen.
    pub states: u64,
    /// Whether these were all; if not, the search gave up and violations may be missing.
    pub complete: bool,
}

/// Finds every violation, or gives up after so many states.
pub fn explore(machine: &Machine, budget: u64) -> Explored {
    let mut explored = Explored { violations: BTreeMap::new(), states: 0, complete: true };
    let mut seen: FxHashSet<State> = FxHashSet::default();
    // How each state on the stack was reached: by which step, from which earlier entry.
    let mut ways: Vec<Option<(usize, Move)>> = vec![None];
    let mut open = vec![(machine.start().0, 0)];
    while let Some((state, way)) = open.pop() {
        if seen.contains(&state) {
            continue;
        }
        if explored.states == budget {
            explored.complete = false;
            return explored;
        }
        explored.states += 1;
        for violation in violations(machine, &state) {
            explored.violations.entry(violation).or_insert_with(|| steps(&ways, way));
        }
        for chosen in machine.moves(&state).into_iter().rev() {
            let mut after = state.clone();
            machine.step(&mut after, chosen).expect("the step is possible");
            ways.push(Some((way, chosen)));
            open.push((after, ways.len() - 1));
        }
        seen.insert(state);
    }
    explored
}

/// Repeats steps from the start; `None` if one of them is not possible.
pub fn replay(machine: &Machine, steps: &[Move]) -> Option<(State, Vec<Event>)> {
    let (mut state, mut events) = machine.start();
    for &step in steps {
        events.extend(machine.step(&mut state, step)?);
    }
    Some((state, events))
}

fn steps(ways: &[Option<(usize, Move)>], mut at: usize) -> Vec<Move> {
    let mut steps = Vec::new();
    while let Some((before, step)) = ways[at] {
        steps.push(step);
        at = before;
    }
    steps.reverse();
    steps
}
