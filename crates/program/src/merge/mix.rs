//! A schedule of merged runs as a trace of its own.
//!
//! **Computes.** For each thread of a schedule a run whose path it follows as far as the schedule
//! goes, one run for all of them if there is such a one; and the events of these paths, in the
//! order of the schedule. What the merged program does not have (marks, allocations, names of
//! values) comes right before the next event of its thread.
//!
//! **Invariant.** The events of a thread are a prefix of what it did in its run, so visible
//! operations have the numbers that they have in the program.

use foretrace_trace::{
    Builder, Channels, ChannelsId, Event, EventId, Op, Place, Request, ThreadId, Trace,
};
use rustc_hash::FxHashMap;

use super::Merged;

/// Events of several runs in one order.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// The run in which all of these paths are, if there is one.
    pub run: Option<usize>,
    /// The schedule, by run and event.
    pub schedule: Vec<(usize, EventId)>,
    /// What is next at its end.
    pub next: Vec<(usize, EventId)>,
}

/// A mixture as a trace. It is for replays: nothing but the order of its events is asked of it.
#[derive(Clone, Debug)]
pub struct MixedTrace {
    /// The events of the schedule, then those that are next, then those that follow them.
    pub trace: Trace,
    /// The schedule.
    pub schedule: Vec<EventId>,
    /// What is next at its end.
    pub next: Vec<EventId>,
}

impl Mixture {
    /// The events behind steps of the merged program, each given with the events that it is in the
    /// runs. `None` if a thread follows no run.
    pub fn new(
        traces: &[&Trace],
        merged: &Merged,
        steps: &[&[(usize, EventId)]],
        next: &[&[(usize, EventId)]],
    ) -> Option<Mixture> {
        let all = || steps.iter().chain(next);
        let thread_of = |&(run, event): &(usize, EventId)| {
            Some(merged.threads[run][traces[run].thread_of(event).index()])
        };
        let has_run = |step: &&[(usize, EventId)], run| step.iter().any(|&(other, _)| other == run);
        let one = (0..traces.len()).find(|&run| all().all(|step| has_run(step, run)));
        let mut chosen: FxHashMap<usize, usize> = FxHashMap::default();
        for step in all() {
            let thread = step.first().and_then(thread_of)?;
            if chosen.contains_key(&thread) {
                continue;
            }
            let of_thread =
                |other: &&&[(usize, EventId)]| other.first().and_then(thread_of) == Some(thread);
            let follows = |&run: &usize| all().filter(of_thread).all(|step| has_run(step, run));
            chosen.insert(thread, one.or_else(|| (0..traces.len()).find(follows))?);
        }
        let event_of = |step: &[(usize, EventId)]| {
            let thread = step.first().and_then(thread_of)?;
            let run = chosen[&thread];
            step.iter().copied().find(|&(other, _)| other == run)
        };
        let mut mixture = Mixture { run: one, schedule: Vec::new(), next: Vec::new() };
        let mut done: FxHashMap<(usize, ThreadId), usize> = FxHashMap::default();
        for step in steps {
            let (run, event) = event_of(step)?;
            mixture.go(traces, &mut done, run, event, 1);
        }
        for step in next {
            let (run, event) = event_of(step)?;
            mixture.go(traces, &mut done, run, event, 0);
            mixture.next.push((run, event));
        }
        Some(mixture)
    }

    /// Appends what the thread has not done before an event, and so many from there on.
    fn go(
        &mut self,
        traces: &[&Trace],
        done: &mut FxHashMap<(usize, ThreadId), usize>,
        run: usize,
        event: EventId,
        and: usize,
    ) {
        let thread = traces[run].thread_of(event);
        let events = traces[run].thread_events(thread);
        let done = done.entry((run, thread)).or_default();
        let upto = events.partition_point(|&other| other < event) + and;
        self.schedule.extend(events[(*done).min(upto)..upto].iter().map(|&event| (run, event)));
        *done = upto.max(*done);
    }

    /// The mixture as a trace.
    pub fn trace(&self, traces: &[&Trace], merged: &Merged) -> MixedTrace {
        let mut builder = Trace::builder();
        // The main thread is the first one, whoever begins.
        for function in &merged.program.functions {
            builder.thread(&function.name);
        }
        let copy = |builder: &mut Builder, &(run, event): &(usize, EventId)| {
            push(builder, traces[run], &merged.threads[run], event)
        };
        let schedule = self.schedule.iter().map(|event| copy(&mut builder, event)).collect();
        let next = self.next.iter().map(|event| copy(&mut builder, event)).collect();
        // An assertion that is no operation itself fails before the operation that follows.
        for &(run, event) in &self.next {
            let trace = traces[run];
            let events = trace.thread_events(trace.thread_of(event)).iter();
            let mut behind = events.filter(|&&other| other > event);
            if let Some(&follows) = behind.find(|&&other| trace.ordinal(other).is_some()) {
                copy(&mut builder, &(run, follows));
            }
        }
        MixedTrace { trace: builder.finish(), schedule, next }
    }
}

/// Copies an event.
fn push(builder: &mut Builder, trace: &Trace, threads: &[usize], event: EventId) -> EventId {
    let thread = |thread: ThreadId| ThreadId::from(threads[thread.index()]);
    let place = |builder: &mut Builder, at: Place| Place {
        object: builder.object(trace.name(at.object)),
        ..at
    };
    let op = match trace.op(event) {
        Op::Read { at, value, order } => Op::Read { at: place(builder, at), value, order },
        Op::Write { at, value, order } => Op::Write { at: place(builder, at), value, order },
        Op::Rmw { at, read, written, order } => {
            Op::Rmw { at: place(builder, at), read, written, order }
        }
        Op::Acquire { lock, mode, patience } => {
            let lock = builder.lock(trace.name(lock));
            Op::Acquire { lock, mode, patience }
        }
        Op::AcquireFailed { lock, mode, patience } => {
            let lock = builder.lock(trace.name(lock));
            Op::AcquireFailed { lock, mode, patience }
        }
        Op::Release { lock, mode } => Op::Release { lock: builder.lock(trace.name(lock)), mode },
        Op::Destroy { lock } => Op::Destroy { lock: builder.lock(trace.name(lock)) },
        Op::Wait { cond, lock, timed } => Op::Wait {
            cond: builder.cond(trace.name(cond)),
            lock: builder.lock(trace.name(lock)),
            timed,
        },
        Op::Wake { cond, lock, reason } => Op::Wake {
            cond: builder.cond(trace.name(cond)),
            lock: builder.lock(trace.name(lock)),
            reason,
        },
        Op::Signal { cond } => Op::Signal { cond: builder.cond(trace.name(cond)) },
        Op::Broadcast { cond } => Op::Broadcast { cond: builder.cond(trace.name(cond)) },
        Op::SemWait { sem, patience } => {
            Op::SemWait { sem: builder.semaphore(trace.name(sem)), patience }
        }
        Op::SemWaitFailed { sem, patience } => {
            let sem = builder.semaphore(trace.name(sem));
            Op::SemWaitFailed { sem, patience }
        }
        Op::SemPost { sem } => Op::SemPost { sem: builder.semaphore(trace.name(sem)) },
        Op::Arrive { barrier } => Op::Arrive { barrier: builder.barrier(trace.name(barrier)) },
        Op::Leave { barrier } => Op::Leave { barrier: builder.barrier(trace.name(barrier)) },
        Op::Request(request) => Op::Request(match request {
            Request::Acquire(lock, mode) => Request::Acquire(builder.lock(trace.name(lock)), mode),
            Request::SemWait(sem) => Request::SemWait(builder.semaphore(trace.name(sem))),
            Request::Join(child) => Request::Join(thread(child)),
        }),
        Op::Fork { child } => Op::Fork { child: thread(child) },
        Op::Join { child } => Op::Join { child: thread(child) },
        Op::Alloc { object, size, address } => {
            let object = builder.object(trace.name(object));
            Op::Alloc { object, size, address }
        }
        Op::Free { object } => Op::Free { object: builder.object(trace.name(object)) },
        Op::EnterCall { on, by } => {
            let on = channels(builder, trace, on);
            let by = by.map(|by| builder.function(trace.name(by)));
            Op::EnterCall { on, by }
        }
        same @ (Op::Let
        | Op::Branch { .. }
        | Op::Assert { .. }
        | Op::Assume { .. }
        | Op::Begin
        | Op::End
        | Op::Exit
        | Op::RegionBegin
        | Op::RegionEnd
        | Op::Fence { .. }
        | Op::LeaveCall
        | Op::External) => same,
    };
    let location = trace.location_of(event);
    let location = location.map(|at| builder.location(trace.name(at)));
    let copy = Event { thread: thread(trace.thread_of(event)), op, location };
    match (trace.ordinal(event), trace.record_kind(event)) {
        (Some(ordinal), Some(kind)) => builder.push_recorded(copy, ordinal, kind),
        _ => builder.push(copy),
    }
}

/// The channels of a call, by their names.
fn channels(builder: &mut Builder, trace: &Trace, on: ChannelsId) -> ChannelsId {
    let Channels::Only(list) = trace.channels_of(on) else { return builder.every_channel() };
    let mut copy = Vec::with_capacity(list.len());
    for &(channel, direction) in list {
        copy.push((builder.channel(trace.name(channel)), direction));
    }
    builder.channels(&copy)
}
