//! Plans: `foretrace_recording::plan` has their layout.

use foretrace_recording::plan::{BY_ITSELF, GoalMemory, MAGIC, PlanStep, WATCHED, goal};
use foretrace_recording::record::kind;
use foretrace_trace::{
    EventId, ImplicitFault, Op, Otherwise, Request, ThreadId, Trace, WakeReason, ops, place_hash,
};
use foretrace_verdict::Violation;

use crate::calls;

/// A schedule that the runtime can follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub(crate) threads: Vec<(u32, u32)>,
    pub(crate) steps: Vec<PlanStep>,
    pub(crate) finals: Vec<PlanStep>,
    pub(crate) goal: u64,
    pub(crate) memory: GoalMemory,
    /// Values that threads ask for, in the order of their calls.
    pub(crate) values: Vec<(u32, u64)>,
}

/// Why a schedule cannot be forced on the program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotReplayable {
    /// The trace does not come from our runtime.
    #[error(
        "the trace was not recorded by `foretrace run`, so its events cannot be found again in the program"
    )]
    NotRecorded,
    /// A thread that the trace does not see being created.
    #[error("thread {0} is created by code that was not recorded")]
    UnknownThread(String),
    /// An event of the violation has no counterpart.
    #[error("event {0} is no operation of the program that a replay can wait for")]
    NoOperation(u32),
    /// How large the array is has not been recorded.
    #[error("the trace does not say which memory the index belongs to")]
    UnknownArray,
}

impl Plan {
    /// The plan that leads the program through `schedule` into `violation`.
    pub fn new(
        trace: &Trace,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<Plan, NotReplayable> {
        if !trace.has_ordinals() {
            return Err(NotReplayable::NotRecorded);
        }
        let numbers = Numbers::of(trace, violation, schedule)?;
        let mut steps: Vec<PlanStep> = Vec::with_capacity(schedule.len());
        let mut last: Vec<Option<(u32, usize)>> = vec![None; numbers.lineage.len()];
        let is_stuck = matches!(violation, Violation::Stuck(_));
        for event in calls::at_once(trace, schedule, is_stuck) {
            let Some(mut step) = numbers.step(trace, event) else { continue };
            if watched(violation, event) {
                step.kind |= WATCHED;
            }
            // Events that are pieces of one operation happen together.
            let known = last[step.thread as usize].filter(|&(ordinal, _)| ordinal == step.ordinal);
            match known {
                Some((_, at)) => {
                    let known: &mut PlanStep = &mut steps[at];
                    known.kind |= step.kind & WATCHED;
                }
                None => {
                    last[step.thread as usize] = Some((step.ordinal, steps.len()));
                    steps.push(step);
                }
            }
        }
        let (goal, finals, memory) = numbers.finals(trace, violation, schedule)?;
        Ok(Plan { threads: numbers.lineage, steps, finals, goal, memory, values: Vec::new() })
    }

    /// How many operations it forces.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The event of the trace that is step `number`.
    pub fn event(&self, number: usize) -> Option<EventId> {
        self.steps.get(number).or(self.finals.first()).map(|step| EventId(step.event))
    }

    /// The plan as the runtime reads it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let counts =
            [self.threads.len(), self.steps.len(), self.finals.len()].map(|count| count as u64);
        let mut words = vec![MAGIC];
        words.extend(counts);
        words.push(self.goal);
        for &(parent, place) in &self.threads {
            words.extend([pair(parent, place), 0, 0]);
        }
        for step in self.steps.iter().chain(&self.finals) {
            words.extend([
                pair(step.thread, step.ordinal),
                pair(step.kind, step.event),
                step.place,
            ]);
        }
        let GoalMemory { thread, from, to, start, size } = self.memory;
        words.extend([pair(thread, from), u64::from(to), start, size]);
        words.push(self.values.len() as u64);
        words.extend(self.values.iter().flat_map(|&(thread, value)| [u64::from(thread), value]));
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The plan's numbers of the threads: the main thread is 0, parents come before their children.
struct Numbers {
    number: Vec<Option<u32>>,
    lineage: Vec<(u32, u32)>,
}

impl Numbers {
    fn of(
        trace: &Trace,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<Numbers, NotReplayable> {
        let lineages = trace.lineages();
        let main = trace.thread_ids().next().ok_or(NotReplayable::NotRecorded)?;
        let mut numbers =
            Numbers { number: vec![None; trace.threads().len()], lineage: vec![(u32::MAX, 0)] };
        numbers.number[main.index()] = Some(0);
        for event in schedule.iter().copied().chain(violation.events()) {
            numbers.add(trace, &lineages, trace.thread_of(event))?;
        }
        Ok(numbers)
    }

    fn add(
        &mut self,
        trace: &Trace,
        lineages: &[Option<(ThreadId, u32)>],
        thread: ThreadId,
    ) -> Result<u32, NotReplayable> {
        if let Some(known) = self.number[thread.index()] {
            return Ok(known);
        }
        let name = || trace.name(thread).to_string();
        let (parent, place) =
            lineages[thread.index()].ok_or_else(|| NotReplayable::UnknownThread(name()))?;
        let parent = self.add(trace, lineages, parent)?;
        let new = self.lineage.len() as u32;
        self.lineage.push((parent, place));
        self.number[thread.index()] = Some(new);
        Ok(new)
    }

    /// The step that an event is; `None` for those that follow from others (allocations, requests).
    fn step(&self, trace: &Trace, event: EventId) -> Option<PlanStep> {
        if matches!(trace.op(event), Op::Request(_)) {
            return None;
        }
        let (ordinal, kind) = (trace.ordinal(event)?, trace.record_kind(event)?);
        let mut step = self.at(trace, event, ordinal, kind)?;
        if matches!(trace.op(event), Op::Wake { reason, .. } if reason != WakeReason::Notified) {
            step.kind |= BY_ITSELF;
        }
        Some(step)
    }

    fn at(&self, trace: &Trace, event: EventId, ordinal: u32, kind: u8) -> Option<PlanStep> {
        let location = trace.event(event).location;
        Some(PlanStep {
            thread: self.number[trace.thread_of(event).index()]?,
            ordinal,
            kind: u32::from(kind),
            event: event.0,
            place: location.map_or(0, |id| place_hash(trace.name(id))),
        })
    }

    /// The operation before which a thread stands at the point `event`.
    fn last(
        &self,
        trace: &Trace,
        event: EventId,
        executed: bool,
    ) -> Result<PlanStep, NotReplayable> {
        let found = match trace.op(event) {
            // The thread waits behind its last recorded event.
            Op::Wait { .. } if executed => trace
                .ordinal(event)
                .and_then(|ordinal| self.at(trace, event, ordinal + 1, kind::WAKE)),
            Op::Arrive { .. } if executed => trace
                .ordinal(event)
                .and_then(|ordinal| self.at(trace, event, ordinal + 1, kind::LEAVE)),
            Op::Request(request) => trace.ordinal(event).and_then(|ordinal| {
                let kind = match request {
                    Request::Acquire(..) => kind::ACQUIRE,
                    Request::SemWait(_) => kind::SEM_WAIT,
                    Request::Join(_) => kind::JOIN,
                };
                self.at(trace, event, ordinal, kind)
            }),
            ops!(memory object data lock cond sem barrier thread call mark) => {
                self.step(trace, event)
            }
        };
        found.ok_or(NotReplayable::NoOperation(event.0))
    }

    fn finals(
        &self,
        trace: &Trace,
        violation: &Violation,
        schedule: &[EventId],
    ) -> Result<(u64, Vec<PlanStep>, GoalMemory), NotReplayable> {
        let last = |event: &EventId| self.last(trace, *event, schedule.contains(event));
        let (goal, finals) = match violation {
            // The one that only reads goes first: it then misses what the other one stores.
            Violation::Race(a, b) => {
                let reads =
                    |event: &EventId| trace.access(*event).is_some_and(|access| !access.writes);
                let (first, second) = if reads(b) { (b, a) } else { (a, b) };
                (goal::RACE, vec![last(first)?, last(second)?])
            }
            Violation::Atomicity { second, .. } => (goal::REACHED, vec![last(second)?]),
            Violation::LockCycle(events) => {
                (goal::BLOCKED, events.iter().map(last).collect::<Result<_, _>>()?)
            }
            Violation::Stuck(_) => (goal::STUCK, self.stuck(trace, schedule)?),
            Violation::Lock(_, event) => (goal::LOCK_ERROR, vec![last(event)?]),
            Violation::Assertion(event) => match trace.otherwise(*event) {
                Some(otherwise) => return self.fault(trace, *event, otherwise, schedule),
                None => (goal::ASSERTION, vec![self.assertion(trace, *event)?]),
            },
        };
        Ok((goal, finals, GoalMemory::default()))
    }

    /// Where an assertion fails that nobody wrote.
    fn fault(
        &self,
        trace: &Trace,
        event: EventId,
        otherwise: Otherwise,
        schedule: &[EventId],
    ) -> Result<(u64, Vec<PlanStep>, GoalMemory), NotReplayable> {
        let access = || {
            let step = otherwise
                .operation
                .and_then(|ordinal| self.at(trace, event, ordinal, kind::END_OF_STREAM));
            step.ok_or(NotReplayable::NoOperation(event.0))
        };
        match otherwise.fault {
            ImplicitFault::Null => Ok((goal::NULL, vec![access()?], GoalMemory::default())),
            ImplicitFault::Division | ImplicitFault::Address => {
                Ok((goal::ASSERTION, vec![self.assertion(trace, event)?], GoalMemory::default()))
            }
            ImplicitFault::Bounds => {
                let (start, size) = otherwise.object.ok_or(NotReplayable::UnknownArray)?;
                let memory = GoalMemory { start, size, ..GoalMemory::default() };
                Ok((goal::BOUNDS, vec![access()?], memory))
            }
            ImplicitFault::Freed => self.freed(trace, event, schedule),
        }
    }

    /// One thread is at the access, the other one behind the free. A free is no operation that a
    /// thread could be stopped at, so it goes on to the next one, unless that is in the schedule.
    fn freed(
        &self,
        trace: &Trace,
        event: EventId,
        schedule: &[EventId],
    ) -> Result<(u64, Vec<PlanStep>, GoalMemory), NotReplayable> {
        let missing = NotReplayable::NoOperation(event.0);
        let (access, free) = trace.access_and_free(event).ok_or(missing.clone())?;
        let mut finals = vec![self.step(trace, access).ok_or(missing.clone())?];
        let behind = operation_behind(trace, free).ok_or(missing.clone())?;
        let to = trace.ordinal(behind).ok_or(missing.clone())?;
        if !schedule.contains(&behind) {
            let there = self.at(trace, behind, to, kind::END_OF_STREAM).ok_or(missing.clone())?;
            finals.push(PlanStep { place: 0, ..there });
        }
        let events = trace.thread_events(trace.thread_of(free));
        let before = events[..trace.position(free)].iter().rev();
        let from = before.copied().find_map(|other| trace.ordinal(other)).map_or(0, |at| at + 1);
        let thread = self.number[trace.thread_of(free).index()].ok_or(missing)?;
        Ok((goal::FREED, finals, GoalMemory { thread, from, to, ..GoalMemory::default() }))
    }

    /// The operation before which an assertion fails. One that is no operation itself (C's
    /// `assert`) fails before the next one that its thread has in the trace.
    fn assertion(&self, trace: &Trace, event: EventId) -> Result<PlanStep, NotReplayable> {
        let own = self.step(trace, event);
        let next = || {
            let ordinal = operation_behind(trace, event).and_then(|other| trace.ordinal(other));
            self.at(trace, event, ordinal.unwrap_or(u32::MAX), kind::END_OF_STREAM)
        };
        own.or_else(next).ok_or(NotReplayable::NoOperation(event.0))
    }

    /// Where every thread that is not finished stands behind the schedule.
    fn stuck(&self, trace: &Trace, schedule: &[EventId]) -> Result<Vec<PlanStep>, NotReplayable> {
        // A schedule from a report lacks the events that nobody wrote, so those it has are not
        // counted.
        let mut waiting = vec![None; trace.threads().len()];
        for &event in schedule {
            waiting[trace.thread_of(event).index()] = Some(event);
        }
        let mut finals = Vec::new();
        for thread in trace.thread_ids().filter(|thread| self.number[thread.index()].is_some()) {
            let last = waiting[thread.index()];
            let done = last.map_or(0, |last| trace.position(last) + 1);
            let behind = &trace.thread_events(thread)[done..];
            match (behind.iter().find(|&&event| !trace.is_made_up(event)), last) {
                // The thread is in a call: its last step.
                (Some(&next), _) if trace.op(next) == Op::LeaveCall => {}
                (Some(&next), _) => finals.push(self.last(trace, next, false)?),
                (None, Some(last))
                    if matches!(trace.op(last), Op::Wait { .. } | Op::Arrive { .. }) =>
                {
                    finals.push(self.last(trace, last, true)?);
                }
                _ => {}
            }
        }
        Ok(finals)
    }
}

/// The next visible operation of the event's thread.
fn operation_behind(trace: &Trace, event: EventId) -> Option<EventId> {
    let events = trace.thread_events(trace.thread_of(event));
    let behind = &events[events.partition_point(|&other| other <= event)..];
    behind.iter().copied().find(|&other| trace.ordinal(other).is_some())
}

/// Whether the replay must see what this step touches: the two accesses of an atomicity violation
/// that are executed.
fn watched(violation: &Violation, event: EventId) -> bool {
    match violation {
        Violation::Atomicity { first, remote, .. } => *first == event || *remote == event,
        Violation::Race(..)
        | Violation::LockCycle(_)
        | Violation::Stuck(_)
        | Violation::Lock(..)
        | Violation::Assertion(_) => false,
    }
}
