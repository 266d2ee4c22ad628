//! Makes a witness short and easy to follow.
//!
//! **Computes.** From an accepted schedule another one of the same violation, with no more events
//! and no more context switches: what the violation does not need is left out (`needs`), then the
//! ends of threads are cut off as far as the checker lets them, then the rest is reordered
//! (`switches`). Of a long schedule no ends are cut off, and it is reordered in one go (`runs`).
//!
//! **Invariant.** The result is the given schedule, or was accepted by the checker. Each step that
//! the checker refuses is undone. Deterministic.
//!
//! **Why this works under every model.** The part keeps for each of its reads the writes that it
//! saw in the given schedule, and the new order changes nothing about who sees what. So each read
//! of the result sees the bytes that it saw in the given schedule, from the same writers; by
//! induction along the result these left the same values; and so each expression has the value that
//! it had, and each read is as recorded if it was. In other words, every read is pinned to what it
//! saw in the given schedule, be that what it saw in the recorded run or not. Released reads are no
//! exception. Under `control` reads need no writers at all. (An assertion may fail there only of
//! what the schedule itself stores; then the part may be refused, and is undone.)
//!
//! **Cost.** Linear in the schedule: for a long one about as much as four checks, two of which are
//! checks, one of them that of the given schedule. For others a few checks of what is needed, and
//! two bounded searches: `CUTTING` steps of checks for the cuts, and `switches::EFFORT`.

use foretrace_trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;

use crate::checker::Checker;
use crate::ending::Ending;
use crate::needs::needed_part;
use crate::refuted::Refuted;
use crate::reported::{context_switches, reported_order};
use crate::runs::with_merged_runs;
use crate::switches::with_few_switches;
use foretrace_verdict::{Certainty, Violation};

/// How many steps all checks together may take that look for cuts.
const CUTTING: usize = 100_000;
/// From this length on the two searches would not come to their ends.
const LONG: usize = 4_000;

/// A schedule of the same violation with no event that the violation does not need, and as few
/// context switches as a bounded search finds; and what the checker says of it. One that is no
/// witness is refuted.
pub fn reduce(
    checker: &Checker,
    violation: &Violation,
    schedule: Vec<EventId>,
) -> Result<(Vec<EventId>, Certainty), Refuted> {
    let (certainty, ending) = checker.replay(violation, &schedule, Ending::of)?;
    let part = needed_part(checker, violation, &schedule, &ending);
    if part.len() > LONG {
        return Ok(merge_runs(checker, violation, (schedule, certainty), part));
    }
    let is_accepted = part.len() == schedule.len() || checker.check(violation, &part).is_ok();
    let part = if is_accepted { part } else { schedule };
    let part = cut_threads(checker, violation, part);
    let reordered = with_few_switches(checker, violation, &part);
    // The parts keep the order of the given schedule, and leaving out what lies between two runs
    // can only merge runs, so only the last step is compared. (The violation's own events have some
    // order behind the given schedule, which is as good behind a part of it; the best is no worse.)
    let is_better = switches(checker, violation, &reordered) < switches(checker, violation, &part);
    if is_better && let Ok(certainty) = checker.check(violation, &reordered) {
        return Ok((reordered, certainty));
    }
    let certainty = checker.check(violation, &part)?;
    Ok((part, certainty))
}

/// The last step for a part that is too long for a search.
fn merge_runs(
    checker: &Checker,
    violation: &Violation,
    given: (Vec<EventId>, Certainty),
    part: Vec<EventId>,
) -> (Vec<EventId>, Certainty) {
    let merged = with_merged_runs(checker, violation, &part);
    let is_better = switches(checker, violation, &merged) < switches(checker, violation, &part);
    if is_better && let Ok(certainty) = checker.check(violation, &merged) {
        return (merged, certainty);
    }
    if part.len() < given.0.len()
        && let Ok(certainty) = checker.check(violation, &part)
    {
        return (part, certainty);
    }
    given
}

fn switches(checker: &Checker, violation: &Violation, schedule: &[EventId]) -> usize {
    context_switches(checker.trace, &reported_order(checker.trace, violation, schedule))
}

/// Cuts off last events of threads until the checker accepts no such cut any more, or the effort is
/// spent. Tries to cut all of a thread, then half, a quarter ...
fn cut_threads(
    checker: &Checker,
    violation: &Violation,
    mut schedule: Vec<EventId>,
) -> Vec<EventId> {
    let trace = checker.trace;
    let mut lengths: Vec<(ThreadId, usize)> = Vec::new();
    let mut known: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for thread in schedule.iter().map(|&event| trace.thread_of(event)) {
        let index = *known.entry(thread).or_insert(lengths.len());
        if index == lengths.len() {
            lengths.push((thread, 0));
        }
        lengths[index].1 += 1;
    }
    let mut effort = 0;
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for (thread, length) in &mut lengths {
            let mut cut = *length;
            while cut > 0 && effort < CUTTING {
                effort += schedule.len();
                let is_left = |event: &EventId| {
                    trace.thread_of(*event) != *thread || trace.position(*event) < *length - cut
                };
                let shorter: Vec<EventId> = schedule.iter().copied().filter(is_left).collect();
                if checker.check(violation, &shorter).is_ok() {
                    schedule = shorter;
                    *length -= cut;
                    cut = cut.min(*length);
                    is_changed = true;
                } else {
                    cut /= 2;
                }
            }
        }
    }
    schedule
}
