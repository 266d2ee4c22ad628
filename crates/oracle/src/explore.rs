//! Enumerates all feasible schedules of a tiny trace and the violations at their ends.
//!
//! **Computes.** The exact set of violations of section 4 of `docs/theory.md`, with one witness
//! each; the complete linearisations; whether a given schedule is feasible and ends in a given
//! violation.
//!
//! **Follows.** Depth-first search over states, once with the reads pinned that the model pins, and
//! once for each assertion that releases some of them; two schedules that lead to the same state
//! have the same future. Two things that are not in the theory's state are added, both for
//! atomicity: which first accesses were executed *before* which remote ones, and the remote read
//! whose value is free. The latter freezes its thread, and while there is one only its triples are
//! violations.
//!
//! **Invariant.** Shares no code with the encoder or the witness checker: they are what it judges.
//!
//! **Cost.** Exponential; bounded by [`STATE_BUDGET`].

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::*;
use foretrace_verdict::{Model, Violation};
use rustc_hash::FxHashSet;

use crate::recorded::Recorded;
use crate::state::State;
use crate::violations::Triple;

/// How many states an exploration visits before it gives up.
pub const STATE_BUDGET: u64 = 300_000;

/// What an exploration found.
#[derive(Debug, Default)]
pub struct Explored {
    /// Every violation that some feasible schedule ends in.
    pub violations: BTreeSet<Violation>,
    /// Those of them that some schedule ends in which has no read with an unknown writer, other
    /// than a remote read whose value is free; none under `control`.
    pub real: BTreeSet<Violation>,
    /// Assertions of which it is not known whether they are violated, since their reads have too
    /// many values.
    pub unknown: BTreeSet<Violation>,
    /// How many states were visited.
    pub states: u64,
    /// Whether these were all; if not, violations may be missing.
    pub complete: bool,
    /// Those without reads of unknown writers first.
    runs: Vec<Run>,
}

impl Explored {
    /// One feasible schedule that ends in the violation; without reads of unknown writers if there
    /// is such a one.
    pub fn witness(&self, violation: &Violation) -> Option<Vec<EventId>> {
        self.runs.iter().find_map(|run| run.witness(violation))
    }
}

/// The states that one search has visited.
#[derive(Debug)]
struct Run {
    states: u64,
    complete: bool,
    steps: Vec<Arrival>,
    ends: BTreeMap<Violation, usize>,
}

impl Run {
    fn witness(&self, violation: &Violation) -> Option<Vec<EventId>> {
        let mut schedule = Vec::new();
        let mut at = *self.ends.get(violation)?;
        while let Some((before, event)) = self.steps[at].taken {
            schedule.push(event);
            at = before;
        }
        schedule.reverse();
        Some(schedule)
    }
}

/// How a visited point was reached: by which event, from which earlier step.
#[derive(Debug)]
struct Arrival {
    taken: Option<(usize, EventId)>,
}

/// A state, and what an atomicity violation must know of the way to it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Point {
    pub(crate) state: State,
    /// Pairs (c, r), c executed before r, that a c' not yet executed could complete.
    intrusions: Vec<(EventId, EventId)>,
    /// The remote read whose value is free; its thread is frozen.
    free: Option<EventId>,
}

/// Finds every violation of the trace under the model.
pub fn explore(trace: &Trace, model: Model, infer_regions: bool) -> Explored {
    let mut explored = Explored { complete: true, ..Explored::default() };
    let mut unexplained = Vec::new();
    for mut search in Search::all(trace, model, infer_regions) {
        explored.unknown.extend(search.unknown());
        let mut runs = vec![search.run()];
        if search.has_unknown_writers() && model != Model::Control {
            search.explained = true;
            runs.push(search.run());
        }
        for run in &runs {
            explored.states += run.states;
            explored.complete &= run.complete;
            explored.violations.extend(run.ends.keys().cloned());
        }
        let explained = runs.pop().expect("there is a run");
        if model != Model::Control {
            explored.real.extend(explained.ends.keys().cloned());
        }
        explored.runs.push(explained);
        unexplained.extend(runs);
    }
    explored.runs.extend(unexplained);
    explored
}

/// All feasible schedules that contain every event.
pub fn linearisations(trace: &Trace, model: Model) -> BTreeSet<Vec<EventId>> {
    fn extend(
        recorded: &Recorded,
        state: &State,
        schedule: &mut Vec<EventId>,
        all: &mut BTreeSet<Vec<EventId>>,
    ) {
        if schedule.len() == recorded.trace.len() {
            all.insert(schedule.clone());
        }
        for thread in recorded.trace.thread_ids() {
            let Some(event) = recorded.next(state, thread) else { continue };
            if recorded.enabled(state, event) {
                schedule.push(event);
                for after in recorded.execute(state, event) {
                    extend(recorded, &after, schedule, all);
                }
                schedule.pop();
            }
        }
    }
    let recorded = Recorded::new(trace, model, false);
    let mut all = BTreeSet::new();
    extend(&recorded, &State::initial(&recorded), &mut Vec::new(), &mut all);
    all
}

/// Whether a feasible schedule executes all these events in this order; `None` if there are too
/// many states.
pub fn in_order(trace: &Trace, model: Model, chain: &[EventId]) -> Option<bool> {
    let recorded = Recorded::new(trace, model, false);
    let start = State::initial(&recorded);
    let mut seen = FxHashSet::from_iter([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let done = chain.iter().take_while(|&&event| state.executed.contains(event)).count();
        if done == chain.len() {
            return Some(true);
        }
        if seen.len() as u64 > STATE_BUDGET {
            return None;
        }
        for thread in trace.thread_ids() {
            let Some(event) = recorded.next(&state, thread) else { continue };
            let is_early = chain[done + 1..].contains(&event);
            if is_early || !recorded.enabled(&state, event) {
                continue;
            }
            for after in recorded.execute(&state, event) {
                if seen.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }
    Some(false)
}

/// Which event can be missing where which other one is executed; `None` if there are too many
/// states.
pub fn missing(trace: &Trace, model: Model) -> Option<BTreeSet<(EventId, EventId)>> {
    let recorded = Recorded::new(trace, model, false);
    let start = State::initial(&recorded);
    let mut seen = FxHashSet::from_iter([start.clone()]);
    let (mut open, mut pairs) = (vec![start], BTreeSet::new());
    let all: Vec<EventId> = trace.events().map(|(event, _)| event).collect();
    while let Some(state) = open.pop() {
        if seen.len() as u64 > STATE_BUDGET {
            return None;
        }
        let missing: Vec<EventId> =
            all.iter().copied().filter(|&event| !state.executed.contains(event)).collect();
        for thread in trace.thread_ids() {
            let Some(event) = recorded.next(&state, thread) else { continue };
            if recorded.enabled(&state, event) {
                pairs.extend(missing.iter().map(|&other| (other, event)));
                for after in recorded.execute(&state, event) {
                    if seen.insert(after.clone()) {
                        open.push(after);
                    }
                }
            }
        }
    }
    Some(pairs)
}

/// Why a schedule is no evidence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The event at this place of the schedule is not enabled, whatever earlier signals chose.
    NotEnabled(usize, EventId),
    /// The schedule is feasible, but the violation does not hold at its end.
    NotViolated,
    /// The schedule is feasible, but the assertion at its end has too many values to be tried.
    NotKnown,
}

/// Checks that a schedule is feasible and ends in the violation.
pub fn check(
    trace: &Trace,
    model: Model,
    infer_regions: bool,
    schedule: &[EventId],
    violation: &Violation,
) -> Result<(), Refused> {
    let search = Search::of(trace, model, infer_regions, violation);
    let mut points = BTreeSet::from([search.start()]);
    for (place, &event) in schedule.iter().enumerate() {
        // Signals choose, so one schedule may lead to several states.
        let mut after = BTreeSet::new();
        for point in &points {
            let taken = search.successors(point).into_iter().filter(|(taken, _)| *taken == event);
            after.extend(taken.map(|(_, point)| point));
        }
        if after.is_empty() {
            return Err(Refused::NotEnabled(place, event));
        }
        points = after;
    }
    if points.iter().any(|point| search.violations_at(point).contains(violation)) {
        Ok(())
    } else if search.unknown().contains(violation) {
        Err(Refused::NotKnown)
    } else {
        Err(Refused::NotViolated)
    }
}

/// Whether the recorded order of the trace is itself a feasible schedule.
pub fn is_recorded_order_feasible(trace: &Trace, model: Model) -> bool {
    let recorded = Recorded::new(trace, model, false);
    let mut states = BTreeSet::from([State::initial(&recorded)]);
    for (event, _) in trace.events() {
        states = states
            .iter()
            .filter(|state| recorded.enabled(state, event))
            .flat_map(|state| recorded.execute(state, event))
            .collect();
    }
    !states.is_empty()
}

/// Whether a schedule proves only *possible*: under `control`, or if it contains a read with an
/// unknown writer, other than a remote read whose value is free.
pub fn proves_only_possible(
    trace: &Trace,
    model: Model,
    schedule: &[EventId],
    violation: &Violation,
) -> bool {
    let recorded = Recorded::new(trace, model, false);
    let goes_on = |read: EventId| {
        let thread = trace.thread_of(read);
        schedule.iter().any(|&event| {
            (trace.thread_of(event) == thread && event > read)
                || trace.op(event) == Op::Join { child: thread }
        })
    };
    let is_free = |event: EventId| match *violation {
        Violation::Atomicity { remote, .. } => {
            remote == event && matches!(trace.op(event), Op::Read { .. }) && !goes_on(event)
        }
        Violation::Race(..)
        | Violation::LockCycle(_)
        | Violation::Stuck(_)
        | Violation::Lock(..)
        | Violation::Assertion(_) => false,
    };
    model == Model::Control
        || schedule.iter().any(|&event| recorded.unknown_writer.contains(event) && !is_free(event))
}

/// The rules, and the triples to look for.
pub(crate) struct Search<'t> {
    pub(crate) recorded: Recorded<'t>,
    triples: BTreeSet<Triple>,
    /// The second accesses that complete a pair (c, r).
    completions: BTreeMap<(EventId, EventId), Vec<EventId>>,
    /// Whether reads with an unknown writer are left out, unless their values are free.
    pub(crate) explained: bool,
    /// The assertion whose reads are released; then nothing else is checked.
    only: Option<EventId>,
}

impl<'t> Search<'t> {
    fn new(trace: &'t Trace, model: Model, infer_regions: bool) -> Self {
        let recorded = Recorded::new(trace, model, infer_regions);
        let triples = recorded.triples();
        let mut completions: BTreeMap<_, Vec<EventId>> = BTreeMap::new();
        for triple in &triples {
            completions.entry((triple.first, triple.remote)).or_default().push(triple.second);
        }
        Search { recorded, triples, completions, explained: false, only: None }
    }

    /// The search for one assertion, with the reads that it releases.
    fn for_assertion(trace: &'t Trace, model: Model, assertion: EventId) -> Self {
        let mut recorded = Recorded::new(trace, model, false);
        recorded.released = recorded.released_by(assertion);
        let (triples, completions) = (BTreeSet::new(), BTreeMap::new());
        Search { recorded, triples, completions, explained: false, only: Some(assertion) }
    }

    /// The search that finds everything that holds with all reads pinned that the model pins; and
    /// one for each assertion that releases some of them.
    pub(crate) fn all(trace: &'t Trace, model: Model, infer_regions: bool) -> Vec<Self> {
        let mut all = vec![Search::new(trace, model, infer_regions)];
        for (event, _) in trace.events() {
            if !all[0].recorded.released_by(event).is_empty() {
                all.push(Search::for_assertion(trace, model, event));
            }
        }
        all
    }

    /// The search that finds this violation, if any does.
    fn of(trace: &'t Trace, model: Model, infer_regions: bool, violation: &Violation) -> Self {
        match *violation {
            Violation::Assertion(event) => Search::for_assertion(trace, model, event),
            Violation::Race(..)
            | Violation::Atomicity { .. }
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..) => Search::new(trace, model, infer_regions),
        }
    }

    pub(crate) fn has_unknown_writers(&self) -> bool {
        !self.recorded.unknown_writer.is_empty()
    }

    /// The assertions that this search cannot decide.
    fn unknown(&self) -> Vec<Violation> {
        let recorded = &self.recorded;
        let is_unknown = |event: &EventId| {
            recorded.model == Model::Control
                && matches!(recorded.op(*event), Op::Assert { .. })
                && !recorded.opaque.contains(*event)
                && recorded.may_fail(*event).is_none()
        };
        let events = recorded.trace.events().map(|(event, _)| event);
        events.filter(is_unknown).map(Violation::Assertion).collect()
    }

    /// Visits every state.
    fn run(&self) -> Run {
        let mut run = Run {
            states: 0,
            complete: true,
            steps: vec![Arrival { taken: None }],
            ends: BTreeMap::new(),
        };
        let start = self.start();
        let mut seen = FxHashSet::from_iter([start.clone()]);
        let mut open = vec![(start, 0)];
        while let Some((point, step)) = open.pop() {
            if run.states == STATE_BUDGET {
                run.complete = false;
                break;
            }
            run.states += 1;
            for violation in self.violations_at(&point) {
                run.ends.entry(violation).or_insert(step);
            }
            for (event, after) in self.successors(&point) {
                if seen.insert(after.clone()) {
                    run.steps.push(Arrival { taken: Some((step, event)) });
                    open.push((after, run.steps.len() - 1));
                }
            }
        }
        run
    }

    pub(crate) fn start(&self) -> Point {
        Point { state: State::initial(&self.recorded), intrusions: Vec::new(), free: None }
    }

    /// The next event of a thread that is not frozen.
    fn next(&self, point: &Point, thread: ThreadId) -> Option<EventId> {
        let frozen = point.free.is_some_and(|free| self.recorded.trace.thread_of(free) == thread);
        if frozen { None } else { self.recorded.next(&point.state, thread) }
    }

    pub(crate) fn successors(&self, point: &Point) -> Vec<(EventId, Point)> {
        let mut all = Vec::new();
        for thread in self.recorded.trace.thread_ids() {
            let Some(event) = self.next(point, thread) else { continue };
            // What the thread of a free read does next is not known, so it is not at its end.
            if let (Op::Join { child }, Some(free)) = (self.recorded.op(event), point.free)
                && self.recorded.trace.thread_of(free) == child
            {
                continue;
            }
            let left_out = self.explained && self.recorded.unknown_writer.contains(event);
            if self.recorded.enabled(&point.state, event) && !left_out {
                for state in self.recorded.execute(&point.state, event) {
                    all.push((event, self.arrive(point, event, state, point.free)));
                }
            } else if point.free.is_none() && self.may_read_freely(point, event) {
                // Where the read is enabled as it is, the step above leads to more than this one.
                let mut state = point.state.clone();
                state.executed.insert(event);
                all.push((event, self.arrive(point, event, state, Some(event))));
            }
        }
        all
    }

    /// Whether the event is a read that could be the remote one of a triple whose first access is
    /// executed. Then its value does not count, only that its object is live.
    fn may_read_freely(&self, point: &Point, event: EventId) -> bool {
        let Op::Read { at, .. } = self.recorded.op(event) else { return false };
        let executed = |event| point.state.executed.contains(event);
        self.recorded.is_live(&point.state, at.object)
            && self.triples.iter().any(|triple| {
                triple.remote == event && executed(triple.first) && !executed(triple.second)
            })
    }

    /// The point after an event: notes which first accesses it intrudes after, and forgets the
    /// pairs that nothing can complete any more.
    fn arrive(&self, from: &Point, event: EventId, state: State, free: Option<EventId>) -> Point {
        let pairs = self.completions.keys().copied();
        let made = pairs.filter(|&(c, r)| r == event && from.state.executed.contains(c));
        let mut intrusions: Vec<_> = from.intrusions.iter().copied().chain(made).collect();
        intrusions.retain(|pair| {
            let open = self.completions[pair].iter().any(|&c2| !state.executed.contains(c2));
            open && free.is_none_or(|free| pair.1 == free)
        });
        intrusions.sort();
        Point { state, intrusions, free }
    }

    pub(crate) fn violations_at(&self, point: &Point) -> BTreeSet<Violation> {
        let mut all = match point.free {
            Some(_) => BTreeSet::new(),
            None => self.recorded.violations_in(&point.state),
        };
        for &(first, remote) in &point.intrusions {
            for &second in &self.completions[&(first, remote)] {
                let thread = self.recorded.trace.thread_of(second);
                if self.next(point, thread) == Some(second) {
                    all.insert(Violation::Atomicity { first, remote, second });
                }
            }
        }
        if let Some(assertion) = self.only {
            all.retain(|violation| *violation == Violation::Assertion(assertion));
        }
        all
    }
}
