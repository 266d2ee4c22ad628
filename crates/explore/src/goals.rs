//! Whether a state is a violation that is asked about.
//!
//! **Computes.** The violations of open questions in a state, and whether any open question can
//! still come true from it.
//!
//! **Follows.** `docs/theory.md`, section 4. Atomicity violations are a property of the way to a
//! state: where the remote access is executed behind the first one, the schedule may commit itself
//! to the next second access ([`Mode::Armed`]); the violation is then that this is next.
//!
//! **Cost.** Per state: the pairs of threads that are next at something that is asked about.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_trace::{EventId, Mode as LockMode, Op, Request, ThreadId, Trace, ops};
use foretrace_verdict::{LockMisuse, Violation};

use crate::fault::{Fault, is_seeded};
use crate::kept::lock_of;
use crate::question::Question;
use crate::rivals::Asked;
use crate::script::Script;
use crate::stuck::{Halt, Wanted};
use crate::world::{Mode, World};

/// The questions, by what they are about.
pub(crate) struct Goals<'q> {
    questions: Vec<&'q Question<'q>>,
    /// Which have no answer yet.
    pub(crate) open: Vec<bool>,
    /// The groups of each access, and the questions about two groups.
    groups: FxHashMap<EventId, Vec<u32>>,
    races: FxHashMap<(u32, u32), Vec<u32>>,
    /// For each question about races: threads and their last positions.
    race_ends: Vec<(u32, [(ThreadId, u32); 2])>,
    pub(crate) parts: Vec<AtomicityPart<'q>>,
    /// The parts of each remote access.
    remotes: FxHashMap<EventId, Vec<u32>>,
    /// Cycles, by the points of their first thread.
    cycles: FxHashMap<EventId, Vec<(u32, u32)>>,
    misuses: FxHashMap<EventId, Vec<(u32, LockMisuse)>>,
    assertions: FxHashMap<EventId, Vec<u32>>,
    stuck: FxHashMap<EventId, Vec<u32>>,
    /// The second accesses of atomicity violations, and all points of cycles.
    seconds: FxHashSet<EventId>,
    points: FxHashSet<EventId>,
}

/// How far a thread goes for a question: so many of its events are executed, or this is next.
pub(crate) struct End {
    pub(crate) thread: ThreadId,
    pub(crate) executed: u32,
    pub(crate) next: u32,
}

/// Pairs of accesses of one thread, and remote accesses of another one.
pub(crate) struct AtomicityPart<'q> {
    question: u32,
    thread: ThreadId,
    pairs: &'q [(EventId, EventId)],
    last_second: u32,
    remote_thread: ThreadId,
    last_remote: u32,
}

impl<'q> Goals<'q> {
    pub(crate) fn new(trace: &Trace, questions: Vec<&'q Question<'q>>) -> Self {
        let mut goals = Goals {
            open: vec![true; questions.len()],
            questions: Vec::new(),
            groups: FxHashMap::default(),
            races: FxHashMap::default(),
            race_ends: Vec::new(),
            parts: Vec::new(),
            remotes: FxHashMap::default(),
            cycles: FxHashMap::default(),
            misuses: FxHashMap::default(),
            assertions: FxHashMap::default(),
            stuck: FxHashMap::default(),
            seconds: FxHashSet::default(),
            points: FxHashSet::default(),
        };
        let mut known: FxHashMap<(usize, usize), u32> = FxHashMap::default();
        for (number, question) in questions.iter().enumerate() {
            goals.add(trace, number as u32, question, &mut known);
        }
        goals.questions = questions;
        goals
    }

    fn add(
        &mut self,
        trace: &Trace,
        number: u32,
        question: &'q Question<'q>,
        known: &mut FxHashMap<(usize, usize), u32>,
    ) {
        let position = |event: EventId| trace.position(event) as u32;
        let end = |group: &[EventId]| {
            let last = *group.last().expect("groups have events");
            (trace.thread_of(last), position(last))
        };
        match question {
            Question::Race(parts) => {
                for (first, second) in parts {
                    let a = self.group(first, known);
                    let b = self.group(second, known);
                    self.races.entry((a, b)).or_default().push(number);
                    self.race_ends.push((number, [end(first), end(second)]));
                }
            }
            Question::Atomicity(parts) => {
                for &(pairs, remotes) in parts {
                    let part = self.parts.len() as u32;
                    for &remote in remotes {
                        self.remotes.entry(remote).or_default().push(part);
                    }
                    let (remote_thread, last_remote) = end(remotes);
                    self.seconds.extend(pairs.iter().map(|&(_, second)| second));
                    let seconds = pairs.iter().map(|&(_, second)| position(second));
                    self.parts.push(AtomicityPart {
                        question: number,
                        thread: trace.thread_of(pairs[0].0),
                        pairs,
                        last_second: seconds.max().expect("parts have pairs"),
                        remote_thread,
                        last_remote,
                    });
                }
            }
            Question::LockCycle(cycles) => {
                for (at, cycle) in cycles.iter().enumerate() {
                    self.points.extend(cycle.iter().flat_map(|points| points.iter().copied()));
                    for &point in cycle[0] {
                        self.cycles.entry(point).or_default().push((number, at as u32));
                    }
                }
            }
            Question::Stuck(points) => {
                for &point in *points {
                    self.stuck.entry(point).or_default().push(number);
                }
            }
            Question::Lock(errors) => {
                for &(misuse, event) in *errors {
                    self.misuses.entry(event).or_default().push((number, misuse));
                }
            }
            Question::Assertion(events) => {
                for &event in *events {
                    self.assertions.entry(event).or_default().push(number);
                }
            }
        }
    }

    /// The number of a group.
    fn group(&mut self, events: &'q [EventId], known: &mut FxHashMap<(usize, usize), u32>) -> u32 {
        let next = known.len() as u32;
        let name = (events.as_ptr() as usize, events.len());
        *known.entry(name).or_insert_with(|| {
            for &event in events {
                self.groups.entry(event).or_default().push(next);
            }
            next
        })
    }

    /// What makes steps rivals because it is asked about.
    pub(crate) fn asked(&self) -> Asked<'q> {
        let mut meetings = Vec::new();
        for question in &self.questions {
            match question {
                Question::Race(parts) => {
                    meetings.extend(parts.iter().map(|&(one, other)| (one.to_vec(), other)));
                }
                Question::Atomicity(parts) => {
                    for &(pairs, remotes) in parts {
                        let mut own: Vec<EventId> =
                            pairs.iter().flat_map(|&(first, second)| [first, second]).collect();
                        own.sort_unstable();
                        own.dedup();
                        meetings.push((own, remotes));
                    }
                }
                Question::LockCycle(_)
                | Question::Stuck(_)
                | Question::Lock(_)
                | Question::Assertion(_) => {}
            }
        }
        Asked { meetings, misuses: self.misuses.keys().copied().collect() }
    }

    /// How far threads go for the questions; `None`: to the end.
    pub(crate) fn ends(&self, script: &Script) -> Option<Vec<End>> {
        let (trace, locks) = (script.trace, &script.skeleton.locks);
        let mut ends = Vec::new();
        let mut add = |event: EventId, is_executed: bool| {
            let (thread, next) = (trace.thread_of(event), trace.position(event) as u32);
            ends.push(End { thread, executed: next + u32::from(is_executed), next });
        };
        for question in &self.questions {
            match question {
                Question::Race(parts) => {
                    for &(first, second) in parts {
                        for group in [first, second] {
                            add(*group.last().expect("groups have events"), false);
                        }
                    }
                }
                Question::Atomicity(parts) => {
                    for &(pairs, remotes) in parts {
                        pairs.iter().for_each(|&(_, second)| add(second, false));
                        remotes.iter().for_each(|&remote| add(remote, true));
                    }
                }
                Question::LockCycle(cycles) => {
                    cycles.iter().flatten().flat_map(|points| points.iter()).for_each(|&point| {
                        add(point, true);
                    });
                }
                Question::Stuck(_) => return None,
                Question::Lock(errors) => {
                    for &(_, event) in *errors {
                        add(event, true);
                        let lock = lock_of(script.step(event).op);
                        for &id in lock.map_or(&[][..], |lock| locks.holds_of(lock)) {
                            let hold = locks.hold(id);
                            add(hold.open, true);
                            locks.inner(id).iter().for_each(|&change| add(change, true));
                            hold.close.into_iter().for_each(|close| add(close, true));
                        }
                    }
                }
                Question::Assertion(events) => events.iter().for_each(|&event| add(event, true)),
            }
            for event in question.accesses() {
                let object = trace.access(event).expect("it is an access").at.object;
                let alloc = script.skeleton.lifetimes.alloc_of(object);
                alloc.into_iter().for_each(|alloc| add(alloc, true));
            }
        }
        Some(ends)
    }

    /// Whether being next at an event can be part of a violation.
    pub(crate) fn is_asked(&self, event: EventId) -> bool {
        self.groups.contains_key(&event)
            || self.seconds.contains(&event)
            || self.remotes.contains_key(&event)
            || self.points.contains(&event)
            || self.misuses.contains_key(&event)
            || self.assertions.contains_key(&event)
    }

    /// The assertions that are asked about.
    pub(crate) fn assertions(&self) -> FxHashSet<EventId> {
        self.assertions.keys().copied().collect()
    }

    /// All that is violated, with the question; only of open questions.
    pub(crate) fn violated(
        &self,
        script: &Script,
        world: &World,
        scratch: &mut Vec<u128>,
        found: &mut Vec<(u32, Violation)>,
    ) {
        match world.mode {
            Mode::Plain => {
                self.races(script, world, found);
                self.points(script, world, scratch, found);
            }
            Mode::Armed { part, first, remote, second, .. } => {
                let thread = script.trace.thread_of(second);
                if script.next(world, thread) == Some(second) {
                    let violation = Violation::Atomicity { first, remote, second };
                    self.tell(self.parts[part as usize].question, violation, found);
                }
            }
            Mode::Released(assertion) => {
                let thread = script.trace.thread_of(assertion);
                if script.next(world, thread) == Some(assertion) {
                    self.assertion(script, world, assertion, scratch, found);
                }
            }
        }
    }

    fn tell(&self, question: u32, violation: Violation, found: &mut Vec<(u32, Violation)>) {
        if self.open[question as usize] {
            found.push((question, violation));
        }
    }

    fn races(&self, script: &Script, world: &World, found: &mut Vec<(u32, Violation)>) {
        if self.races.is_empty() {
            return;
        }
        let trace = script.trace;
        let next = |thread: ThreadId| {
            let event = script.next(world, thread)?;
            Some((event, self.groups.get(&event)?))
        };
        let next: Vec<(EventId, &Vec<u32>)> = trace.thread_ids().filter_map(next).collect();
        for (at, &(a, of_a)) in next.iter().enumerate() {
            for &(b, of_b) in &next[at + 1..] {
                let [one, other] = [a, b]
                    .map(|event| script.step(event).op.access().expect("groups are of accesses"));
                if !one.conflicts(&other)
                    || (one.atomic && other.atomic)
                    || !script.is_live(world, one.at.object)
                {
                    continue;
                }
                for &of_a in of_a {
                    for &of_b in of_b {
                        let asked = [(of_a, of_b), (of_b, of_a)];
                        for pair in asked {
                            for &question in self.races.get(&pair).into_iter().flatten() {
                                self.tell(question, Violation::Race(a.min(b), a.max(b)), found);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Assertions, misuses and cycles.
    fn points(
        &self,
        script: &Script,
        world: &World,
        scratch: &mut Vec<u128>,
        found: &mut Vec<(u32, Violation)>,
    ) {
        if self.assertions.is_empty() && self.misuses.is_empty() && self.cycles.is_empty() {
            return;
        }
        for thread in script.trace.thread_ids() {
            let next = script.next(world, thread);
            if let Some(event) = next
                && self.assertions.contains_key(&event)
            {
                self.assertion(script, world, event, scratch, found);
            }
            let Some(point) = next.or_else(|| script.last_executed(world, thread)) else {
                continue;
            };
            for &(question, misuse) in self.misuses.get(&point).into_iter().flatten() {
                if is_misuse(script, world, thread, point, next.is_none(), misuse) {
                    self.tell(question, Violation::Lock(misuse, point), found);
                }
            }
            for &(question, cycle) in self.cycles.get(&point).into_iter().flatten() {
                let Question::LockCycle(cycles) = self.questions[question as usize] else {
                    unreachable!("only these have cycles")
                };
                if let Some(points) = is_cycle(script, world, &cycles[cycle as usize]) {
                    self.tell(question, Violation::LockCycle(points), found);
                }
            }
        }
    }

    fn assertion(
        &self,
        script: &Script,
        world: &World,
        event: EventId,
        scratch: &mut Vec<u128>,
        found: &mut Vec<(u32, Violation)>,
    ) {
        let step = script.step(event);
        let fails = match &step.test {
            Some(test) => test.value(&world.values, &script.seen, scratch) == 0,
            None => {
                let strayed = world.strayed[script.trace.thread_of(event).index()];
                matches!(step.op, Op::Assert { holds: false }) && !strayed
            }
        };
        if fails {
            for &question in &self.assertions[&event] {
                self.tell(question, Violation::Assertion(event), found);
            }
        }
    }

    /// Whether nobody can go on.
    pub(crate) fn stuck(&self, script: &Script, world: &World, found: &mut Vec<(u32, Violation)>) {
        if self.stuck.is_empty() || world.mode != Mode::Plain {
            return;
        }
        let mut points = Vec::new();
        for thread in script.trace.thread_ids() {
            match script.halts(world, thread) {
                Halt::No => return,
                Halt::Idle => {}
                Halt::Waits(point) => points.push(point),
            }
        }
        for point in points {
            for &question in self.stuck.get(&point).into_iter().flatten() {
                self.tell(question, Violation::Stuck(point), found);
            }
        }
    }

    /// The modes to which a schedule may commit itself by executing this access now.
    pub(crate) fn arms(
        &self,
        script: &Script,
        world: &World,
        event: EventId,
        frozen: Option<ThreadId>,
    ) -> Vec<Mode> {
        let mut modes = Vec::new();
        if world.mode != Mode::Plain {
            return modes;
        }
        for &number in self.remotes.get(&event).into_iter().flatten() {
            let part = &self.parts[number as usize];
            // If this second access is not reached, none behind it is.
            let pair = part
                .pairs
                .iter()
                .filter(|&&(first, second)| {
                    (script.is_executed(world, first) || is_seeded(Fault::ArmedForgotten))
                        && !script.is_executed(world, second)
                })
                .min_by_key(|&&(_, second)| second);
            if let Some(&(first, second)) = pair {
                let (part, remote) = (number, event);
                modes.push(Mode::Armed { part, first, remote, second, frozen });
            }
        }
        modes
    }

    /// Whether the question of a mode is open.
    pub(crate) fn is_wanted(&self, mode: Mode) -> bool {
        match mode {
            Mode::Plain => true,
            Mode::Armed { part, .. } => self.open[self.parts[part as usize].question as usize],
            Mode::Released(assertion) => {
                self.assertions[&assertion].iter().any(|&question| self.open[question as usize])
            }
        }
    }

    /// Whether an open question can still come true; `gone`: threads that will never go on.
    pub(crate) fn is_possible(&self, script: &Script, world: &World, gone: &[bool]) -> bool {
        if is_seeded(Fault::DeadEndsAll) && gone.contains(&true) {
            return false;
        }
        let reaches = |thread: ThreadId, position: u32| {
            world.cut[thread.index()] <= position && !gone[thread.index()]
        };
        let will_be_at = |event: EventId| {
            let thread = script.trace.thread_of(event);
            reaches(thread, script.trace.position(event) as u32)
        };
        // A thread may be behind its last event as well.
        let may_be_at = |event: EventId| {
            let thread = script.trace.thread_of(event);
            will_be_at(event) || script.last_executed(world, thread) == Some(event)
        };
        let is_open = |question: u32| self.open[question as usize];
        match world.mode {
            Mode::Armed { second, .. } => return will_be_at(second),
            Mode::Released(assertion) => return will_be_at(assertion),
            Mode::Plain => {}
        }
        let races = || {
            self.race_ends.iter().any(|&(question, [a, b])| {
                is_open(question) && reaches(a.0, a.1) && reaches(b.0, b.1)
            })
        };
        let atomicity = || {
            self.parts.iter().any(|part| {
                is_open(part.question)
                    && reaches(part.thread, part.last_second)
                    && reaches(part.remote_thread, part.last_remote)
            })
        };
        let stuck = || {
            let mut points = self.stuck.iter();
            points.any(|(_, asked)| asked.iter().any(|&question| is_open(question)))
                && script
                    .trace
                    .thread_ids()
                    .all(|thread| !gone[thread.index()] && !is_at_loose_end(script, world, thread))
        };
        let misuses = || {
            self.misuses.iter().any(|(&event, asked)| {
                asked.iter().any(|&(question, _)| is_open(question)) && may_be_at(event)
            })
        };
        let assertions = || {
            self.assertions.iter().any(|(&event, asked)| {
                asked.iter().any(|&question| is_open(question)) && will_be_at(event)
            })
        };
        let cycles = || {
            self.cycles.iter().any(|(&point, asked)| {
                asked.iter().any(|&(question, _)| is_open(question)) && may_be_at(point)
            })
        };
        stuck() || races() || atomicity() || misuses() || assertions() || cycles()
    }
}

/// Whether a thread will never be blocked or finished: it is in front of `exit`, or behind its last
/// event, at which nothing is known of it.
fn is_at_loose_end(script: &Script, world: &World, thread: ThreadId) -> bool {
    match script.next(world, thread) {
        Some(next) => script.step(next).op == Op::Exit,
        None => {
            script.last_executed(world, thread).is_some_and(|last| match script.step(last).op {
                Op::End | Op::Request(_) | Op::Wait { .. } | Op::Arrive { .. } => false,
                Op::EnterCall { .. } => script.skeleton.waiting_calls.at(last).is_none(),
                ops!(memory object data lock sem mark Wake Signal Broadcast Leave Fork Join Begin
                    Exit LeaveCall) => true,
            })
        }
    }
}

/// The points of the cycle, the smallest first, if each thread wants what the following one has.
fn is_cycle(script: &Script, world: &World, cycle: &[&[EventId]]) -> Option<Vec<EventId>> {
    let mut wanted: Vec<(ThreadId, Wanted)> = Vec::new();
    for points in cycle {
        let thread = script.trace.thread_of(points[0]);
        let at = script.wants(world, thread)?;
        if points.binary_search(&at.point).is_err() {
            return None;
        }
        wanted.push((thread, at));
    }
    let locks = &script.skeleton.locks;
    for (at, (_, wants)) in wanted.iter().enumerate() {
        let owner = wanted[(at + 1) % wanted.len()].0;
        let has = script.holds_on(world, wants.lock).any(|(hold, thread, mode)| {
            thread == owner
                && mode.conflicts(wants.mode)
                && !locks.closed_by_other(script.trace, hold)
        });
        if !has {
            return None;
        }
    }
    let mut points: Vec<EventId> = wanted.iter().map(|(_, wants)| wants.point).collect();
    let smallest = (0..points.len()).min_by_key(|&at| points[at])?;
    points.rotate_left(smallest);
    Some(points)
}

/// Whether a lock operation that is next, or requested last, is this misuse.
fn is_misuse(
    script: &Script,
    world: &World,
    thread: ThreadId,
    point: EventId,
    is_last: bool,
    misuse: LockMisuse,
) -> bool {
    match (misuse, script.step(point).op) {
        (LockMisuse::DoubleLock, Op::Acquire { lock, .. }) => {
            !is_last && script.would_lock_twice(world, thread, lock)
        }
        (LockMisuse::DoubleLock, Op::Request(Request::Acquire(lock, _))) => {
            is_last && script.would_lock_twice(world, thread, lock)
        }
        (LockMisuse::UnlockNotHeld, Op::Release { lock, .. }) => {
            !is_last && script.holds_on(world, lock).next().is_none()
        }
        (LockMisuse::UnlockByOther, Op::Release { lock, .. }) => {
            let executed = |event: EventId| script.is_executed(world, event);
            let is_others = |(hold, owner, mode): (_, ThreadId, LockMode)| {
                owner != thread && mode == LockMode::Exclusive && script.depth(hold, executed) == 1
            };
            !is_last
                && script.holds_on(world, lock).any(is_others)
                && script.holds_on(world, lock).all(|(_, owner, _)| owner != thread)
        }
        (LockMisuse::DestroyHeld, Op::Destroy { lock }) => {
            !is_last && script.holds_on(world, lock).next().is_some()
        }
        (_, ops!(memory object data sync call mark)) => false,
    }
}
