//! Which steps of other threads a step may need, and how far threads need to go.
//!
//! **Computes.** For each event, and each other thread, how many events of that thread may have to
//! be executed before this one can be enabled, or before others can get from its thread what it
//! has taken. From these: how far each thread goes at most in the shortest schedules that answer
//! the questions.
//!
//! **Follows.** `docs/theory.md`, section 7, *steps that nobody needs*, which has the argument.
//!
//! **Cost.** Events times threads that can help them.

use rustc_hash::FxHashMap;

use foretrace_causality::MustHappenBefore;
use foretrace_model::{CellId, HoldId, ReleaseRole};
use foretrace_trace::{CondId, EventId, LockId, Op, SemId, ThreadId, ops};

use crate::fault::{Fault, is_seeded};
use crate::goals::Goals;
use crate::script::{Pin, Script};

/// The needs.
pub(crate) struct Needs {
    /// Where the list of each event ends.
    ends: Vec<u32>,
    /// A thread, and how many of its events.
    list: Vec<(u32, u32)>,
}

/// How a step helps others.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Help {
    Writes(CellId),
    Posts(SemId),
    Takes(SemId),
    Uses(LockId),
    Waits(CondId),
}

/// The positions of the steps that help in some way, by thread.
type Helpers = FxHashMap<Help, Vec<(ThreadId, Vec<u32>)>>;

impl Needs {
    pub(crate) fn new(script: &Script, order: &MustHappenBefore) -> Self {
        let helpers = helpers(script);
        let (mut needs, mut own) = (Needs { ends: Vec::new(), list: Vec::new() }, Vec::new());
        for (event, _) in script.trace.ops() {
            Finder { script, order, helpers: &helpers, event, found: &mut own }.find();
            needs.list.append(&mut own);
            needs.ends.push(needs.list.len() as u32);
        }
        needs
    }

    /// The threads that may have to go on for the event, and how many of their events are enough.
    pub(crate) fn of(&self, event: EventId) -> &[(u32, u32)] {
        let start = if event.0 == 0 { 0 } else { self.ends[event.index() - 1] };
        &self.list[start as usize..self.ends[event.index()] as usize]
    }

    /// How many events of each thread are enough to answer the questions.
    pub(crate) fn reach(&self, script: &Script, goals: &Goals) -> Vec<u32> {
        let trace = script.trace;
        let Some(ends) = goals.ends(script) else {
            return trace
                .thread_ids()
                .map(|thread| trace.thread_events(thread).len() as u32)
                .collect();
        };
        // Up to here events are executed, and have needs.
        let mut reach = vec![0; trace.threads().len()];
        let mut done = reach.clone();
        let mut asked = reach.clone();
        let mut open: Vec<usize> = Vec::new();
        let raise = |reach: &mut Vec<u32>, open: &mut Vec<usize>, thread: u32, count: u32| {
            let known = &mut reach[thread as usize];
            if *known < count {
                *known = count;
                open.push(thread as usize);
            }
        };
        for end in ends {
            let thread = end.thread.0;
            raise(&mut reach, &mut open, thread, end.executed);
            asked[end.thread.index()] = asked[end.thread.index()].max(end.next + 1);
            let Some(&first) = trace.thread_events(end.thread).first() else { continue };
            for &(other, count) in self.of(first) {
                raise(&mut reach, &mut open, other, count);
            }
        }
        while let Some(thread) = open.pop() {
            let events = trace.thread_events(ThreadId::from(thread));
            while done[thread] < reach[thread] {
                let event = events[done[thread] as usize];
                done[thread] += 1;
                for &(other, count) in self.of(event) {
                    raise(&mut reach, &mut open, other, count);
                }
            }
        }
        let ends = reach.into_iter().zip(asked).zip(trace.thread_ids());
        let most = |thread| trace.thread_events(thread).len() as u32;
        ends.map(|((reach, asked), thread)| reach.max(asked).min(most(thread))).collect()
    }
}

fn helpers(script: &Script) -> Helpers {
    let trace = script.trace;
    let mut helpers = Helpers::default();
    let mut add = |help: Help, event: EventId| {
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        let threads = helpers.entry(help).or_default();
        match threads.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, positions)) => positions.push(position),
            None => threads.push((thread, vec![position])),
        }
    };
    for (event, op) in trace.ops() {
        match op {
            Op::Write { .. } | Op::Rmw { .. } => {
                let touch = script.touch(event).expect("it is an access");
                for part in &touch.parts {
                    add(Help::Writes(script.cells[part.cell as usize]), event);
                }
            }
            Op::Acquire { lock, .. } | Op::Release { lock, .. } | Op::Destroy { lock } => {
                add(Help::Uses(lock), event);
            }
            Op::Wait { cond, lock, .. } | Op::Wake { cond, lock, .. } => {
                add(Help::Uses(lock), event);
                add(Help::Waits(cond), event);
            }
            Op::Signal { cond } | Op::Broadcast { cond } => add(Help::Waits(cond), event),
            Op::SemWait { sem, .. } => add(Help::Takes(sem), event),
            Op::SemPost { sem } => add(Help::Posts(sem), event),
            ops!(object data barrier thread call mark Read AcquireFailed SemWaitFailed Request) => {
            }
        }
    }
    helpers
}

/// Finds the needs of one event.
struct Finder<'f> {
    script: &'f Script<'f>,
    order: &'f MustHappenBefore,
    helpers: &'f Helpers,
    event: EventId,
    found: &'f mut Vec<(u32, u32)>,
}

impl Finder<'_> {
    fn add(&mut self, thread: ThreadId, count: u32) {
        match self.found.iter_mut().find(|(known, _)| *known == thread.0) {
            Some((_, known)) => *known = count.max(*known),
            None => self.found.push((thread.0, count)),
        }
    }

    /// That event, and all before it in its thread.
    fn add_event(&mut self, event: EventId) {
        let trace = self.script.trace;
        self.add(trace.thread_of(event), trace.position(event) as u32 + 1);
    }

    /// All that helps so and need not come after the event.
    fn add_help(&mut self, help: Help) {
        let trace = self.script.trace;
        let (own, position) = (trace.thread_of(self.event), trace.position(self.event) as u32);
        let helpers = self.helpers;
        for (thread, positions) in helpers.get(&help).into_iter().flatten() {
            let is_before =
                |&at: &u32| self.order.clock(*thread, at as usize)[own.index()] <= position;
            let end = positions.partition_point(is_before);
            if *thread != own && end > 0 {
                self.add(*thread, positions[end - 1] + 1);
            }
        }
    }

    /// What a thread has taken, it gives back.
    fn add_close(&mut self, hold: HoldId) {
        if let Some(close) = self.script.skeleton.locks.hold(hold).close
            && !is_seeded(Fault::HoldsCutOff)
        {
            self.add_event(close);
        }
    }

    fn find(&mut self) {
        let (script, event) = (self.script, self.event);
        let (trace, skeleton, kept) = (script.trace, script.skeleton, script.kept);
        if trace.position(event) == 0
            && let Some(fork) = skeleton.fork_of(trace.thread_of(event))
        {
            self.add_event(fork);
        }
        let op = script.step(event).op;
        if script.is_left_out(op) {
            return;
        }
        match op {
            Op::Read { .. } | Op::Write { .. } | Op::Rmw { .. } => self.find_of_access(),
            Op::Free { object } => {
                skeleton.lifetimes.alloc_of(object).into_iter().for_each(|e| self.add_event(e));
            }
            Op::Alloc { .. } => {
                let freed = skeleton.lifetimes.freed_before(event);
                freed.iter().for_each(|&free| self.add_event(free));
            }
            Op::Acquire { .. } => {
                skeleton.locks.opened_by(event).into_iter().for_each(|hold| self.add_close(hold));
            }
            Op::AcquireFailed { lock, .. } => self.add_help(Help::Uses(lock)),
            Op::Release { .. } => {
                if let ReleaseRole::Foreign(hold) = skeleton.locks.role(trace, event) {
                    self.add_event(skeleton.locks.hold(hold).open);
                    let inner = skeleton.locks.inner(hold);
                    inner.iter().for_each(|&change| self.add_event(change));
                }
            }
            Op::Wait { cond, .. } | Op::Wake { cond, .. } => {
                if kept.cond(cond) {
                    self.add_help(Help::Waits(cond));
                }
                let hold = script.step(event).hold;
                hold.into_iter().for_each(|hold| self.add_close(hold));
            }
            Op::SemWait { sem, .. } => {
                if !is_seeded(Fault::PostsUnneeded) {
                    self.add_help(Help::Posts(sem));
                }
            }
            Op::SemWaitFailed { sem, .. } => {
                self.add_help(Help::Posts(sem));
                self.add_help(Help::Takes(sem));
            }
            Op::Arrive { .. } | Op::Leave { .. } => {
                let arrival = skeleton.waiting.arrival_at(event);
                let rounds = &skeleton.waiting.barrier(arrival.barrier).rounds;
                let is_leave = matches!(op, Op::Leave { .. });
                let needed = arrival.round.checked_sub(u32::from(!is_leave));
                for &other in needed.into_iter().flat_map(|round| &rounds[round as usize]) {
                    self.add_event(other);
                }
            }
            Op::Join { child } => self.add(child, trace.thread_events(child).len() as u32),
            Op::LeaveCall => {
                let enters = skeleton.calls.needed_by(event);
                enters.iter().for_each(|&enter| self.add_event(enter));
            }
            ops!(data mark Destroy Signal Broadcast SemPost Request Fork Begin End Exit
                EnterCall) => {}
        }
    }

    fn find_of_access(&mut self) {
        let (script, event) = (self.script, self.event);
        let touch = script.touch(event).expect("it is an access");
        if script.kept.life(touch.object) {
            let alloc = script.skeleton.lifetimes.alloc_of(touch.object);
            alloc.into_iter().for_each(|alloc| self.add_event(alloc));
        }
        if !touch.reads {
            return;
        }
        if let Pin::Unknown(before) = &touch.pin {
            for (thread, &count) in before.iter().enumerate() {
                self.add(ThreadId::from(thread), count);
            }
        }
        let looks = touch.looks || !script.is_free || script.step(event).opaque;
        if looks && !is_seeded(Fault::WritesUnneeded) {
            for part in &touch.parts {
                self.add_help(Help::Writes(script.cells[part.cell as usize]));
            }
        }
    }
}
