//! The least number of context switches that a violation needs.
//!
//! **Computes.** For each violation a witness with the least number of switches, and one of those
//! without reads of unknown writers.
//!
//! **Follows.** `docs/theory.md`, end of section 4. Breadth-first search over states and the thread
//! that ran last, where a step of another thread costs 1; the events that are next in the violation
//! are counted in the best order.
//!
//! **Invariant.** The searches are those of `explore`, so what has a number here is violated there,
//! and the other way round.
//!
//! **Cost.** As many states as `explore` visits, times the threads; bounded by [`SWITCH_BUDGET`].

use std::collections::{BTreeMap, VecDeque};

use foretrace_trace::*;
use foretrace_verdict::{Model, Violation};
use rustc_hash::FxHashMap;

use crate::explore::{Point, Search};

/// How many states with their last threads are visited before the search gives up.
const SWITCH_BUDGET: usize = 40_000;

/// A witness with as few context switches as there can be.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub struct Fewest {
    pub switches: u32,
    pub schedule: Vec<EventId>,
}

/// What a violation needs at least.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needed {
    /// By any witness.
    pub any: Fewest,
    /// By one that proves it real, if there is one.
    pub real: Option<Fewest>,
}

/// The fewest context switches of every violation; `None` if there is too much to search.
pub fn least_switches(
    trace: &Trace,
    model: Model,
    infer_regions: bool,
) -> Option<BTreeMap<Violation, Needed>> {
    let mut all: BTreeMap<Violation, Needed> = BTreeMap::new();
    for mut search in Search::all(trace, model, infer_regions) {
        let by_any = fewest(&search)?;
        let mut real = if model == Model::Control {
            BTreeMap::new()
        } else if search.has_unknown_writers() {
            search.explained = true;
            fewest(&search)?
        } else {
            by_any.clone()
        };
        for (violation, any) in by_any {
            let needed = Needed { any, real: real.remove(&violation) };
            match all.get_mut(&violation) {
                Some(known) => known.improve(needed),
                None => drop(all.insert(violation, needed)),
            }
        }
    }
    Some(all)
}

impl Needed {
    fn improve(&mut self, other: Needed) {
        if other.any.switches < self.any.switches {
            self.any = other.any;
        }
        let switches = |real: &Fewest| real.switches;
        if let Some(real) = other.real
            && self.real.as_ref().map(switches).is_none_or(|known| real.switches < known)
        {
            self.real = Some(real);
        }
    }
}

/// A state and the thread that ran last.
type Place = (Point, Option<ThreadId>);

/// How a place was reached: from which earlier step, by which event.
type Step = Option<(usize, EventId)>;

fn fewest(search: &Search) -> Option<BTreeMap<Violation, Fewest>> {
    let mut found: BTreeMap<Violation, (u32, usize)> = BTreeMap::new();
    let start: Place = (search.start(), None);
    let mut steps: Vec<Step> = vec![None];
    let mut reached: FxHashMap<Place, u32> = FxHashMap::from_iter([(start.clone(), 0)]);
    let mut open = VecDeque::from([(start, 0, 0)]);
    while let Some((place, switches, step)) = open.pop_front() {
        if reached[&place] < switches {
            continue;
        }
        if reached.len() > SWITCH_BUDGET {
            return None;
        }
        let (point, last) = place;
        for violation in search.violations_at(&point) {
            let total = switches + switches_behind(search, &point, last, &violation);
            let least = found.entry(violation).or_insert((total, step));
            *least = (total, step).min(*least);
        }
        for (event, after) in search.successors(&point) {
            let thread = search.recorded.trace.thread_of(event);
            let cost = u32::from(last.is_some_and(|last| last != thread));
            let (place, total) = ((after, Some(thread)), switches + cost);
            if reached.get(&place).is_none_or(|&known| total < known) {
                reached.insert(place.clone(), total);
                steps.push(Some((step, event)));
                let next = (place, total, steps.len() - 1);
                match cost {
                    0 => open.push_front(next),
                    _ => open.push_back(next),
                }
            }
        }
    }
    let schedule = |mut at: usize| {
        let mut schedule = Vec::new();
        while let Some((before, event)) = steps[at] {
            schedule.push(event);
            at = before;
        }
        schedule.reverse();
        schedule
    };
    let shown = found.into_iter().map(|(violation, (switches, step))| {
        (violation, Fewest { switches, schedule: schedule(step) })
    });
    Some(shown.collect())
}

/// The switches from the schedule to the events that are next in the violation, and between these.
fn switches_behind(
    search: &Search,
    point: &Point,
    last: Option<ThreadId>,
    violation: &Violation,
) -> u32 {
    let is_executed = |event: EventId| point.state.executed.contains(event);
    tail(search.recorded.trace, &is_executed, last, violation)
}

/// The context switches of a witness, with the events that are next behind its schedule.
pub fn count_switches(trace: &Trace, schedule: &[EventId], violation: &Violation) -> u32 {
    let threads: Vec<ThreadId> = schedule.iter().map(|&event| trace.thread_of(event)).collect();
    let within = threads.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32;
    let is_executed = |event: EventId| schedule.contains(&event);
    within + tail(trace, &is_executed, threads.last().copied(), violation)
}

fn tail(
    trace: &Trace,
    is_executed: &dyn Fn(EventId) -> bool,
    last: Option<ThreadId>,
    violation: &Violation,
) -> u32 {
    let events = match violation {
        Violation::Race(a, b) => vec![*a, *b],
        Violation::Atomicity { second, .. } => vec![*second],
        Violation::LockCycle(points) => points.clone(),
        Violation::Stuck(event) | Violation::Lock(_, event) | Violation::Assertion(event) => {
            vec![*event]
        }
    };
    // They are of different threads. A point that is executed is part of the schedule already.
    let next: Vec<ThreadId> = events
        .into_iter()
        .filter(|&event| !is_executed(event))
        .map(|event| trace.thread_of(event))
        .collect();
    let goes_on = last.is_none_or(|last| next.contains(&last));
    match next.len() as u32 {
        0 => 0,
        threads => threads - u32::from(goes_on),
    }
}
