//! Leaves out what a violation does not need.
//!
//! **Computes.** A small part of an accepted schedule that is closed under what its events need, in
//! the order of the schedule. Since each thread runs a prefix of its events, the part is given by
//! how many events each thread keeps. An event needs: its predecessors in the thread and the
//! fork of the thread; a read, the writes that it saw in this schedule; a join, all of its child; a
//! notified wake, what notified it; a semaphore wait, the post whose token it takes if tokens are
//! taken in order; a barrier event, the arrivals of its round or the one before; an access, the
//! object's alloc; an alloc, the frees before it. A lock event that must not find a conflicting hold
//! needs the closing of every hold that the part opens and the schedule closed before.
//!
//! **Invariant.** The part is meant to be accepted, but this is not relied on: the caller checks it.
//! It need not be the smallest: under model `values` a read may do with another write.
//!
//! **Cost.** O(n) for a schedule of n events, counting an access once for each of its cells, plus
//! O(threads) for each read with an unknown writer that is kept.

use foretrace_trace::{EventId, LockId, Mode, Op, SemId, ThreadId, Trace};
use rustc_hash::FxHashMap;

use crate::at_end::points;
use crate::checker::Checker;
use crate::recorded::{INITIAL, Rule};
use crate::signals::Notifiers;
use crate::state::State;
use crate::step::lock_of;
use crate::violation::{LockMisuse, Violation};

/// The part of an accepted schedule that the violation needs, as far as this analysis sees.
pub(crate) fn needed_part(
    checker: &Checker,
    violation: &Violation,
    schedule: &[EventId],
    notifiers: &Notifiers,
) -> Vec<EventId> {
    let needs = checker.with_state(|state| Needs::new(checker, schedule, notifiers, state));
    let mut part = Part::new(checker, schedule, &needs, violation);
    part.require_violation(violation);
    part.close();
    let trace = checker.trace;
    let is_kept = |event: &EventId| {
        trace.position(*event) < part.required[trace.thread_of(*event).index()] as usize
    };
    schedule.iter().copied().filter(is_kept).collect()
}

/// A hold as the schedule has it.
#[derive(Clone, Copy)]
struct Section {
    hold: u32,
    mode: Mode,
    opened: u32,
    /// The last step that opened or changed it.
    changed: u32,
    closed: Option<u32>,
}

/// What each step needs, beside what follows from the trace alone.
#[derive(Default)]
struct Needs {
    /// The steps that each step needs: those of step i are from `from[i]` to `from[i + 1]`.
    steps: Vec<u32>,
    from: Vec<u32>,
    sections: Vec<Section>,
    /// The section that a step opens.
    opens: FxHashMap<u32, usize>,
    /// The sections that are open so far; in the end, those at the moment of the violation.
    open: FxHashMap<LockId, Vec<usize>>,
    /// The arrivals of each round.
    arrivals: FxHashMap<u32, Vec<u32>>,
}

/// The history of a semaphore.
#[derive(Default)]
struct Tokens {
    posts: Vec<u32>,
    taken: usize,
    /// All that was done to it since the last failed wait, that one included.
    since_failed: Vec<u32>,
}

impl Needs {
    fn new(
        checker: &Checker,
        schedule: &[EventId],
        notifiers: &Notifiers,
        state: &mut State,
    ) -> Self {
        let mut needs = Needs::default();
        let mut semaphores = FxHashMap::default();
        for (step, &event) in schedule.iter().enumerate() {
            let step = step as u32;
            needs.from.push(needs.steps.len() as u32);
            match checker.recorded.rule(event) {
                Rule::Read | Rule::Write | Rule::Rmw => needs.access(checker, step, event, state),
                Rule::SemWait | Rule::SemWaitFailed | Rule::SemPost => {
                    needs.semaphore(checker, step, event, &mut semaphores);
                }
                Rule::Arrive => {
                    needs.arrivals.entry(checker.recorded.round(event)).or_default().push(step);
                }
                Rule::Open | Rule::WakeNotified | Rule::WakeUnnotified => {
                    needs.steps.extend(notifiers.get(&event).map(|&step| step as u32));
                    needs.opens(checker, step, event);
                }
                Rule::AcquireFailed => needs.acquire_failed(checker, event),
                Rule::Deepen | Rule::Lower | Rule::Close | Rule::CloseForeign | Rule::Wait => {
                    needs.changes(checker, step, event)
                }
                _ => {}
            }
        }
        needs.from.push(needs.steps.len() as u32);
        needs
    }

    fn of(&self, step: u32) -> &[u32] {
        &self.steps[self.from[step as usize] as usize..self.from[step as usize + 1] as usize]
    }

    /// `state.last_writer` holds steps here, not events.
    fn access(&mut self, checker: &Checker, step: u32, event: EventId, state: &mut State) {
        let span = checker.recorded.span(event);
        let rule = checker.recorded.rule(event);
        for cell in span.first as usize..(span.first + span.count) as usize {
            let writer = state.last_writer.get(cell);
            if rule != Rule::Write && writer != INITIAL {
                self.steps.push(writer);
            }
            if rule != Rule::Read {
                state.last_writer.set(cell, step);
            }
        }
    }

    fn semaphore(
        &mut self,
        checker: &Checker,
        step: u32,
        event: EventId,
        semaphores: &mut FxHashMap<SemId, Tokens>,
    ) {
        match checker.trace.op(event) {
            Op::SemWait { sem, .. } => {
                let tokens = semaphores.entry(sem).or_default();
                let initial = checker.recorded.semaphores[sem.index()] as usize;
                let post = tokens.taken.checked_sub(initial);
                self.steps.extend(post.map(|post| tokens.posts[post]));
                tokens.taken += 1;
                tokens.since_failed.push(step);
            }
            Op::SemPost { sem } => {
                let tokens = semaphores.entry(sem).or_default();
                tokens.posts.push(step);
                tokens.since_failed.push(step);
            }
            // It found zero because of all that was done to the semaphore before.
            Op::SemWaitFailed { sem, .. } => {
                let tokens = semaphores.entry(sem).or_default();
                self.steps.append(&mut tokens.since_failed);
                tokens.since_failed.push(step);
            }
            other => unreachable!("{other:?} is about no semaphore"),
        }
    }

    fn opens(&mut self, checker: &Checker, step: u32, event: EventId) {
        let lock = lock_of(checker.trace.op(event));
        let hold = checker.recorded.hold(event);
        let mode = checker.recorded.holds.get(hold).mode;
        let section = Section { hold, mode, opened: step, changed: step, closed: None };
        self.opens.insert(step, self.sections.len());
        self.open.entry(lock).or_default().push(self.sections.len());
        self.sections.push(section);
    }

    /// One hold that was in the way is enough; the oldest is the likeliest to be needed anyway.
    fn acquire_failed(&mut self, checker: &Checker, event: EventId) {
        let Op::AcquireFailed { lock, mode, .. } = checker.trace.op(event) else { return };
        let open = self.open.get(&lock).into_iter().flatten().map(|&index| &self.sections[index]);
        let in_the_way = open.into_iter().find(|section| section.mode.conflicts(mode));
        let opened = in_the_way.expect("the schedule is accepted").opened;
        self.steps.push(opened);
    }

    /// Deepens, lowers or closes a hold. Only a foreign closing needs more than its own thread.
    fn changes(&mut self, checker: &Checker, step: u32, event: EventId) {
        let hold = checker.recorded.hold(event);
        let lock = lock_of(checker.trace.op(event));
        let open = self.open.get_mut(&lock).expect("the schedule is accepted");
        let place = open.iter().position(|&index| self.sections[index].hold == hold);
        let place = place.expect("the schedule is accepted");
        let section = &mut self.sections[open[place]];
        match checker.recorded.rule(event) {
            Rule::Deepen | Rule::Lower => section.changed = step,
            _ => {
                self.steps.push(section.changed);
                section.closed = Some(step);
                open.remove(place);
            }
        }
    }
}

/// The last kept steps of a lock that need it free of conflicting holds.
#[derive(Clone, Default)]
struct Wanted {
    /// Those that conflict with exclusive holds, and with shared ones too.
    any: Option<u32>,
    exclusive: Option<u32>,
    /// The kept sections whose closing nobody needs so far. At most one of them is exclusive.
    unclosed: Vec<usize>,
}

/// The part as it grows.
struct Part<'a> {
    checker: &'a Checker<'a>,
    trace: &'a Trace,
    schedule: &'a [EventId],
    needs: &'a Needs,
    /// The steps of each thread.
    steps_of: Vec<Vec<u32>>,
    /// How many events each thread keeps, and how many of them are looked at.
    required: Vec<u32>,
    visited: Vec<u32>,
    unfinished: Vec<ThreadId>,
    locks: FxHashMap<LockId, Wanted>,
    /// A read whose value counts only if its thread keeps more than it.
    free_read: Option<EventId>,
}

/// After all steps.
const END: u32 = u32::MAX;

impl<'a> Part<'a> {
    fn new(
        checker: &'a Checker<'a>,
        schedule: &'a [EventId],
        needs: &'a Needs,
        violation: &Violation,
    ) -> Self {
        let trace = checker.trace;
        let threads = trace.threads().len();
        let mut steps_of = vec![Vec::new(); threads];
        for (step, &event) in schedule.iter().enumerate() {
            steps_of[trace.thread_of(event).index()].push(step as u32);
        }
        Part {
            checker,
            trace,
            schedule,
            needs,
            steps_of,
            required: vec![0; threads],
            visited: vec![0; threads],
            unfinished: Vec::new(),
            locks: FxHashMap::default(),
            free_read: checker.free_read(violation),
        }
    }

    /// What the violation itself needs. The threads that it is about keep all their events, but the
    /// one of a remote access only those up to it.
    fn require_violation(&mut self, violation: &Violation) {
        let remote = match *violation {
            Violation::Atomicity { remote, .. } => Some(remote),
            _ => None,
        };
        for point in points(violation) {
            let thread = self.trace.thread_of(point);
            self.require_start(thread);
            if Some(point) == remote {
                self.require_event(point);
            } else {
                self.require(thread, self.steps_of[thread.index()].len() as u32);
            }
        }
        match *violation {
            Violation::Race(access, _) => self.require_life(access),
            Violation::Stuck(_) => {
                for thread in self.trace.thread_ids() {
                    self.require(thread, self.steps_of[thread.index()].len() as u32);
                }
            }
            Violation::Lock(LockMisuse::UnlockNotHeld, at) => {
                self.wants(lock_of(self.trace.op(at)), Mode::Exclusive, END);
            }
            Violation::Lock(LockMisuse::UnlockByOther | LockMisuse::DestroyHeld, at) => {
                let lock = lock_of(self.trace.op(at));
                let open = self.needs.open.get(&lock).and_then(|open| open.first());
                if let Some(&section) = open {
                    self.require_step(self.needs.sections[section].changed);
                }
            }
            _ => {}
        }
    }

    /// Looks at all that is required until nothing new is.
    fn close(&mut self) {
        while let Some(thread) = self.unfinished.pop() {
            let (from, to) = (self.visited[thread.index()], self.required[thread.index()]);
            self.visited[thread.index()] = to;
            for position in from..to {
                self.visit(self.steps_of[thread.index()][position as usize]);
            }
        }
    }

    fn visit(&mut self, step: u32) {
        let event = self.schedule[step as usize];
        let recorded = &self.checker.recorded;
        let rule = recorded.rule(event);
        if self.free_read != Some(event) {
            for &needed in self.needs.of(step) {
                self.require_step(needed);
            }
            if recorded.has_unknown_writer(event) {
                self.require_all_before(event);
            }
        }
        match rule {
            Rule::Read | Rule::Write | Rule::Rmw => self.require_life(event),
            Rule::Free => self.require_alloc(event),
            Rule::Alloc => {
                for &free in recorded.frees_before(event) {
                    self.require_event(free);
                }
            }
            Rule::Join => {
                let Op::Join { child } = self.trace.op(event) else { return };
                self.require_start(child);
                self.require(child, self.trace.thread_events(child).len() as u32);
            }
            Rule::Arrive => {
                let round = recorded.round(event);
                if recorded.rounds[round as usize].index > 0 {
                    self.require_round(round - 1);
                }
            }
            Rule::Leave => self.require_round(recorded.round(event)),
            Rule::Open | Rule::WakeNotified | Rule::WakeUnnotified => {
                let section = self.needs.opens[&step];
                let lock = lock_of(self.trace.op(event));
                self.locks.entry(lock).or_default().unclosed.push(section);
                self.wants(lock, self.needs.sections[section].mode, step);
            }
            Rule::ReleaseUnheld | Rule::Destroy => {
                self.wants(lock_of(self.trace.op(event)), Mode::Exclusive, step);
            }
            _ => {}
        }
    }

    /// A kept step needs the lock free of holds that conflict with the mode.
    fn wants(&mut self, lock: LockId, mode: Mode, step: u32) {
        let wanted = self.locks.entry(lock).or_default();
        wanted.any = wanted.any.max(Some(step));
        if mode == Mode::Exclusive {
            wanted.exclusive = wanted.exclusive.max(Some(step));
        }
        let sections = &self.needs.sections;
        let is_in_the_way = |&section: &usize| {
            let section = &sections[section];
            let latest =
                if section.mode == Mode::Exclusive { wanted.any } else { wanted.exclusive };
            section.closed.is_some_and(|closed| latest > Some(closed))
        };
        let (in_the_way, rest): (Vec<usize>, Vec<usize>) =
            wanted.unclosed.iter().partition(|section| is_in_the_way(section));
        wanted.unclosed = rest;
        for section in in_the_way {
            self.require_step(sections[section].closed.expect("just looked at"));
        }
    }

    /// The thread keeps at least that many events.
    fn require(&mut self, thread: ThreadId, count: u32) {
        let required = &mut self.required[thread.index()];
        if *required >= count {
            return;
        }
        let is_first = *required == 0;
        *required = count;
        self.unfinished.push(thread);
        if is_first {
            self.require_start(thread);
        }
        // The free read is free no more: it has been looked at without its value.
        if let Some(read) = self.free_read
            && self.trace.thread_of(read) == thread
            && count as usize > self.trace.position(read) + 1
        {
            self.free_read = None;
            if self.visited[thread.index()] as usize > self.trace.position(read) {
                self.visit(self.steps_of[thread.index()][self.trace.position(read)]);
            }
        }
    }

    fn require_start(&mut self, thread: ThreadId) {
        if let Some(fork) = self.checker.recorded.forks[thread.index()] {
            self.require_event(fork);
        }
    }

    fn require_event(&mut self, event: EventId) {
        self.require(self.trace.thread_of(event), self.trace.position(event) as u32 + 1);
    }

    fn require_step(&mut self, step: u32) {
        self.require_event(self.schedule[step as usize]);
    }

    fn require_round(&mut self, round: u32) {
        let needs = self.needs;
        for &arrival in needs.arrivals.get(&round).into_iter().flatten() {
            self.require_step(arrival);
        }
    }

    /// The object of an access needs its alloc.
    fn require_life(&mut self, access: EventId) {
        if self.checker.recorded.is_mortal(access) {
            self.require_alloc(access);
        }
    }

    fn require_alloc(&mut self, user: EventId) {
        let object = match self.trace.op(user) {
            Op::Free { object } => object,
            op => op.access().expect("an access or a free").at.object,
        };
        if let Some(alloc) = self.checker.recorded.alloc_of(object) {
            self.require_event(alloc);
        }
    }

    fn require_all_before(&mut self, event: EventId) {
        for thread in self.trace.thread_ids() {
            let before = self.trace.thread_events(thread).partition_point(|&other| other < event);
            self.require(thread, before as u32);
        }
    }
}
