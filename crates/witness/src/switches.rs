//! Reorders a schedule so that it switches between threads less often.
//!
//! **Computes.** An order of the same events, followed by those of the violation, with few context
//! switches, among the orders that keep the given partial order (see `partial_order`).
//!
//! **Follows.** A thread that has the turn keeps it as long as it can: executing an event earlier
//! at no cost never makes anything else impossible, so some best order has only such runs. What
//! remains is whom to give the turn next: a beam search over the number of runs, which keeps the
//! states that have come furthest. Where the beam never overflows, the result is the best order
//! that keeps the partial order. (If critical sections may change places, a run can lock others
//! out; so there a run may also stop before it takes a lock that it keeps, and the search may
//! fail.)
//!
//! **Cost.** At most `EFFORT` questions whether an event may come next, and from then on one linear
//! pass that gives the turn to the thread whose next event came first in the given schedule.

use std::cmp::Reverse;

use foretrace_trace::EventId;
use rustc_hash::FxHashSet;

use crate::checker::Checker;
use crate::partial_order::{PartialOrder, Sections};
use crate::reported::context_switches;
use foretrace_verdict::Violation;

/// How many states of equal cost are followed at once.
const BEAM: usize = 32;
/// How often the search may ask whether an event can come next, or note how far a lane is.
const EFFORT: usize = 200_000;

/// The same events in an order with few switches. The caller has it checked.
pub(crate) fn with_few_switches(
    checker: &Checker,
    violation: &Violation,
    schedule: &[EventId],
) -> Vec<EventId> {
    let order = |sections| PartialOrder::new(checker, violation, schedule, sections);
    // Without an order of the sections there is more to gain, but the search may end in a state in
    // which nobody can go on. With it, one order exists at least: the given one.
    let ordered = order(Sections::Ordered);
    let kept = search(&ordered).unwrap_or_else(|unfinished| unfinished.complete(&ordered));
    let free = Some(order(Sections::Free)).filter(PartialOrder::has_free_sections);
    let freed = free.and_then(|free| search(&free).ok());
    let switches = |events: &Vec<EventId>| context_switches(checker.trace, events);
    let best = freed.into_iter().chain([kept]).min_by_key(switches);
    let mut best = best.expect("one of one or two");
    // The violation's own events depend on all others, so they are at the end.
    best.truncate(schedule.len());
    best
}

/// A state of the search: how far each lane is, and the run that led to it.
struct State {
    progress: Vec<u32>,
    executed: usize,
    run: Option<usize>,
}

/// A run of one lane up to some node, after another run.
struct Run {
    before: Option<usize>,
    lane: usize,
    up_to: u32,
}

/// Where the search stopped: at its bound, or because nobody could go on.
struct Unfinished {
    events: Vec<EventId>,
    progress: Vec<u32>,
}

fn search(order: &PartialOrder) -> Result<Vec<EventId>, Unfinished> {
    let mut runs: Vec<Run> = Vec::new();
    let mut effort = 0;
    let mut beam = vec![State { progress: vec![0; order.lane_count()], executed: 0, run: None }];
    while effort < EFFORT && beam[0].executed < order.len() {
        let mut next: Vec<State> = Vec::new();
        let mut seen: FxHashSet<Vec<u32>> = FxHashSet::default();
        for state in &beam {
            for lane in 0..order.lane_count() {
                let from = state.progress[lane];
                let far = order.run_from(&state.progress, lane, &mut effort);
                // Going on to the end may lock others out, so stopping before is a choice too.
                let near = order.stop_before_open(lane, from, far, &mut effort);
                for up_to in [far, near].into_iter().filter(|&up_to| up_to > from) {
                    let mut progress = state.progress.clone();
                    progress[lane] = up_to;
                    effort += progress.len();
                    let executed = state.executed + (up_to - from) as usize;
                    // All complete states have come equally far, but not by the same last run.
                    if executed < order.len() && !seen.insert(progress.clone()) {
                        continue;
                    }
                    runs.push(Run { before: state.run, lane, up_to });
                    next.push(State { progress, executed, run: Some(runs.len() - 1) });
                }
            }
        }
        // The sort is stable, so equal states stay in the order of their lanes.
        next.sort_by_key(|state| Reverse(state.executed));
        next.truncate(BEAM);
        if next.is_empty() {
            break;
        }
        beam = next;
    }
    // Of equally good orders the one in which the violation's events are in their own order.
    let ends_well = |state: &State| {
        let lane = state.run.map(|run| runs[run].lane);
        state.executed == order.len() && lane == order.last_lane()
    };
    let best = beam.iter().position(ends_well).unwrap_or(0);
    let best = beam.swap_remove(best);
    let events = replay_runs(order, &runs, best.run);
    if best.executed == order.len() {
        Ok(events)
    } else {
        Err(Unfinished { events, progress: best.progress })
    }
}

/// The events of a run and of all runs before it.
fn replay_runs(order: &PartialOrder, runs: &[Run], last: Option<usize>) -> Vec<EventId> {
    let mut chain: Vec<usize> = std::iter::successors(last, |&run| runs[run].before).collect();
    chain.reverse();
    let mut progress = vec![0; order.lane_count()];
    let mut events = Vec::with_capacity(order.len());
    for run in chain {
        let Run { lane, up_to, .. } = runs[run];
        events.extend((progress[lane]..up_to).map(|at| order.event(lane, at)));
        progress[lane] = up_to;
    }
    events
}

impl Unfinished {
    /// Appends what is left: each thread runs as long as it can, then the one with the oldest
    /// event, which can always come next in an order that the given schedule keeps.
    fn complete(mut self, order: &PartialOrder) -> Vec<EventId> {
        while let Some(lane) = order.oldest_lane(&self.progress) {
            let from = self.progress[lane];
            let up_to = order.run_from(&self.progress, lane, &mut 0);
            assert!(up_to > from, "the given schedule keeps the order");
            self.events.extend((from..up_to).map(|at| order.event(lane, at)));
            self.progress[lane] = up_to;
        }
        self.events
    }
}
