//! Depth first, with a table of states.
//!
//! **Computes.** The answers to questions about a trace.
//!
//! **Follows.** `docs/theory.md`, section 7. In each state, a step that has no rivals to come is
//! taken at once, alone. Where there is none, every thread that can go on is tried. Only such
//! states are kept in the table.
//!
//! **Invariant.** Which steps are taken at once depends on the state alone, so that the way to a
//! state can be repeated from the choices that were made: that is how schedules are told.
//!
//! **Cost.** For each state kept: as many copies of a state as threads can go on.

use foretrace_model::Identity;
use foretrace_trace::{EventId, Op, ThreadId, ops};
use foretrace_verdict::Violation;

use crate::fault::{Fault, is_seeded};
use crate::goals::Goals;
use crate::kept::lock_of;
use crate::needs::Needs;
use crate::question::{Limits, Reason};
use crate::rivals::Rivals;
use crate::script::{Pin, Script};
use crate::table::Table;
use crate::world::{Mode, Ready, Waits, World};

/// How many states are visited between two looks at the clock.
const LOOK_AT_CLOCK: u64 = 256;

/// What an exploration came to.
pub(crate) struct Outcome {
    /// One for each question: a violation and its schedule.
    pub(crate) found: Vec<Option<(Violation, Vec<EventId>)>>,
    /// Why it was cut off; `None`: what was not found is impossible.
    pub(crate) cut_off: Option<Reason>,
    pub(crate) states: u64,
    pub(crate) steps: u64,
}

/// Explores all that section 7 of the theory asks for, or as much as the limits allow.
pub(crate) fn search(
    script: &Script,
    rivals: &Rivals,
    needs: &Needs,
    goals: Goals,
    limits: &Limits,
) -> Outcome {
    let questions = goals.open.len();
    let is_idle = |event: EventId| rivals.of(event).is_empty() && is_idle(script, &goals, event);
    let idle = (0..script.trace.len()).map(EventId::from).map(is_idle).collect();
    let search = Search {
        script,
        rivals,
        needs,
        idle,
        goals,
        limits,
        table: Table::default(),
        nodes: Vec::new(),
        stack: Vec::new(),
        stack_bytes: 0,
        steps: 0,
        found: vec![None; questions],
        scratch: Vec::new(),
    };
    search.run()
}

/// Whether a step without rivals is always enabled and changes nothing but how far its thread is.
fn is_idle(script: &Script, goals: &Goals, event: EventId) -> bool {
    let step = script.step(event);
    if step.opaque || goals.is_asked(event) {
        return false;
    }
    match step.op {
        Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => {
            let touch = script.touch(event).expect("it is an access");
            let lifetimes = &script.skeleton.lifetimes;
            let is_own =
                |alloc: EventId| script.trace.thread_of(alloc) == script.trace.thread_of(event);
            let lives = !script.kept.life(at.object)
                || (lifetimes.alloc_of(at.object).is_none_or(is_own)
                    && lifetimes.free_of(at.object).is_none());
            let looks_at_nothing = touch.parts.is_empty() && !matches!(touch.pin, Pin::Unknown(_));
            lives && looks_at_nothing && touch.assumed.is_none() && touch.seen.is_none()
        }
        Op::Branch { .. } | Op::Assume { .. } | Op::Assert { .. } => step.test.is_none(),
        Op::Let | Op::Begin | Op::End | Op::Fork { .. } | Op::Request(_) => true,
        ops!(mark) => true,
        ops!(object lock cond sem barrier call Join Exit) => script.is_left_out(step.op),
    }
}

/// How a state was reached: from which other one, and by which choice there.
#[derive(Clone, Copy)]
struct Node {
    before: u32,
    choice: Option<Choice>,
}

/// A thread, and which of its outcomes.
#[derive(Clone, Copy)]
struct Choice {
    thread: u16,
    outcome: u16,
}

const ROOT: u32 = u32::MAX;

struct Search<'s> {
    script: &'s Script<'s>,
    rivals: &'s Rivals,
    needs: &'s Needs,
    /// The steps that are passed over.
    idle: Vec<bool>,
    goals: Goals<'s>,
    limits: &'s Limits,
    table: Table,
    /// For each state of the table.
    nodes: Vec<Node>,
    /// States of the table that are still to be expanded.
    stack: Vec<(u32, World)>,
    stack_bytes: usize,
    steps: u64,
    found: Vec<Option<(Violation, Vec<EventId>)>>,
    scratch: Vec<u128>,
}

/// Where a schedule stops being at choices.
enum Settled {
    /// These threads can go on by themselves; several are to be tried.
    Several(Vec<ThreadId>),
    /// Only this thread: its step has no rivals, but several outcomes.
    Only(ThreadId),
}

impl<'s> Search<'s> {
    fn run(mut self) -> Outcome {
        let cut_off = self.visit_all().err();
        let (states, steps) = (self.table.len() as u64, self.steps);
        Outcome { found: self.found, cut_off, states, steps }
    }

    fn visit_all(&mut self) -> Result<(), Reason> {
        let start = self.script.start();
        self.arrive(start, ROOT, None)?;
        while let Some((node, world)) = self.stack.pop() {
            self.stack_bytes -= bytes_of(&world);
            if !self.goals.open.contains(&true) {
                return Ok(());
            }
            if self.goals.is_wanted(world.mode) {
                self.expand(node, world)?;
            }
        }
        Ok(())
    }

    /// Goes on from a state of the table.
    fn expand(&mut self, node: u32, mut world: World) -> Result<(), Reason> {
        let (settled, gone) = self.at_once(&mut world);
        let threads: Vec<ThreadId> = match settled {
            Err(Settled::Several(ready)) => self.few(&world, &gone, &ready),
            Err(Settled::Only(thread)) => vec![thread],
            Ok(_) => unreachable!("states of the table are settled"),
        };
        // The last one is expanded first: the first threads go on longest.
        for thread in threads.into_iter().rev() {
            for (outcome, after) in self.outcomes(&mut world, thread).into_iter().enumerate() {
                let Ok(outcome) = u16::try_from(outcome) else { return Err(Reason::TooWide) };
                if self.goals.is_wanted(after.mode) {
                    let choice = Choice { thread: thread.0 as u16, outcome };
                    self.arrive(after, node, Some(choice))?;
                }
            }
        }
        Ok(())
    }

    fn outcomes(&mut self, world: &mut World, thread: ThreadId) -> Vec<World> {
        outcomes(self.script, &self.goals, world, thread, &mut self.scratch)
    }

    /// A step that can be taken at once and has one outcome, or why there is none; and which
    /// threads will never go on.
    fn at_once(&mut self, world: &mut World) -> (Result<EventId, Settled>, Vec<bool>) {
        let script = self.script;
        let mut gone = vec![false; world.cut.len()];
        let (mut ready, mut solid) = (Vec::new(), Vec::new());
        for thread in script.trace.thread_ids() {
            let Some(event) = script.next(world, thread) else { continue };
            match script.ready(world, event, &mut self.scratch) {
                Ready::Now => ready.push(event),
                Ready::Never => gone[thread.index()] = true,
                Ready::Otherwise(_) | Ready::Blocked => {}
            }
        }
        for event in ready {
            let thread = script.trace.thread_of(event);
            let op = script.step(event).op;
            // A thread that waits for what is not there may be blocked for good.
            if op == Op::LeaveCall && !script.is_fed_for_good(world, event) {
                continue;
            }
            solid.push(thread);
            if self.rivals.any(&world.cut, &gone, event) {
                continue;
            }
            let has_one_outcome = !matches!(op, Op::Signal { .. })
                && self.goals.arms(script, world, event, None).is_empty();
            return match has_one_outcome {
                true => (Ok(event), gone),
                false => (Err(Settled::Only(thread)), gone),
            };
        }
        (Err(Settled::Several(solid)), gone)
    }

    /// As few threads as possible whose steps are all that must be tried: the steps of others, as
    /// long as none of these goes on, make no difference to them and let none of them go on.
    fn few(&self, world: &World, gone: &[bool], ready: &[ThreadId]) -> Vec<ThreadId> {
        let all: Vec<ThreadId> = self.script.trace.thread_ids().collect();
        let groups = ready.iter().map(|&thread| self.group(world, gone, ready, thread));
        let size =
            |group: &Vec<ThreadId>| group.iter().filter(|thread| ready.contains(thread)).count();
        groups.min_by_key(size).unwrap_or(all)
    }

    /// The least such group with this thread.
    fn group(
        &self,
        world: &World,
        gone: &[bool],
        ready: &[ThreadId],
        thread: ThreadId,
    ) -> Vec<ThreadId> {
        let (script, trace) = (self.script, self.script.trace);
        let mut group = vec![thread];
        let mut at = 0;
        while let Some(&thread) = group.get(at) {
            at += 1;
            let position = world.cut[thread.index()] as usize;
            let Some(&event) = trace.thread_events(thread).get(position) else { continue };
            if gone[thread.index()] {
                continue;
            }
            let mut add = |other: u32, count: u32| {
                let other = ThreadId(other);
                let count = count.min(script.reach[other.index()]);
                let goes_on = world.cut[other.index()] < count && !gone[other.index()];
                if goes_on && !group.contains(&other) {
                    group.push(other);
                }
            };
            for &(other, last) in self.rivals.of(event) {
                add(other, last + 1);
            }
            if ready.contains(&thread) || is_seeded(Fault::EnablersForgotten) {
                continue;
            }
            for &(other, count) in self.needs.of(event) {
                add(other, count);
            }
            if let Some(lock) = lock_of(script.step(event).op) {
                for (hold, ..) in script.holds_on(world, lock) {
                    if let Some(close) = script.skeleton.locks.hold(hold).close {
                        add(trace.thread_of(close).0, trace.position(close) as u32 + 1);
                    }
                }
            }
        }
        group.sort_unstable();
        group
    }

    /// Comes to a state: goes on while steps can be taken at once, looks for violations, and keeps
    /// the state if it is new.
    fn arrive(
        &mut self,
        mut world: World,
        from: u32,
        choice: Option<Choice>,
    ) -> Result<(), Reason> {
        let mut steps = 0;
        self.pass_all_idle(&mut world);
        let gone = loop {
            self.look(&world, from, choice, steps);
            let (step, gone) = self.at_once(&mut world);
            let Ok(event) = step else { break gone };
            self.script.execute(&mut world, event, &mut self.scratch);
            self.pass_all_idle(&mut world);
            steps += 1;
        };
        self.steps += 1 + steps;
        let mut found = Vec::new();
        self.goals.stuck(self.script, &world, &mut found);
        self.note(found, from, choice, steps);
        if !self.goals.is_possible(self.script, &world, &gone) {
            return Ok(());
        }
        if !self.table.insert(&self.key(&world, &gone)) {
            return Ok(());
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node { before: from, choice });
        self.stack_bytes += bytes_of(&world);
        self.stack.push((node, world));
        self.check_limits()
    }

    fn check_limits(&self) -> Result<(), Reason> {
        let limits = self.limits;
        let states = self.nodes.len() as u64;
        if states >= limits.states {
            return Err(Reason::States);
        }
        let bytes =
            self.table.size() + self.nodes.len() * std::mem::size_of::<Node>() + self.stack_bytes;
        if bytes > limits.bytes {
            return Err(Reason::Memory);
        }
        let looks = states.is_multiple_of(LOOK_AT_CLOCK);
        if looks && limits.deadline.has_passed() {
            return Err(Reason::Deadline);
        }
        Ok(())
    }

    /// Looks for violations.
    fn look(&mut self, world: &World, from: u32, choice: Option<Choice>, steps: u64) {
        let mut found = Vec::new();
        self.goals.violated(self.script, world, &mut self.scratch, &mut found);
        self.note(found, from, choice, steps);
    }

    /// Notes violations that hold so many steps behind a choice.
    fn note(
        &mut self,
        found: Vec<(u32, Violation)>,
        from: u32,
        choice: Option<Choice>,
        steps: u64,
    ) {
        for (question, violation) in found {
            let at = question as usize;
            if std::mem::replace(&mut self.goals.open[at], false) {
                let schedule = self.schedule(from, choice, steps);
                self.found[at] = Some((violation, schedule));
            }
        }
    }

    /// The events up to so many steps behind a choice, found by making all choices again.
    fn schedule(&mut self, mut from: u32, choice: Option<Choice>, steps: u64) -> Vec<EventId> {
        let mut choices: Vec<Choice> = choice.into_iter().collect();
        while from != ROOT {
            let node = self.nodes[from as usize];
            choices.extend(node.choice);
            from = node.before;
        }
        choices.reverse();
        let mut schedule = Vec::new();
        let mut world = self.script.start();
        self.tell_idle(&mut world, &mut schedule);
        for choice in choices {
            self.settle(&mut world, &mut schedule, u64::MAX);
            let thread = ThreadId(choice.thread.into());
            schedule.extend(self.script.next(&world, thread));
            let mut outcomes = self.outcomes(&mut world, thread);
            world = outcomes.swap_remove(choice.outcome.into());
            self.tell_idle(&mut world, &mut schedule);
        }
        self.settle(&mut world, &mut schedule, steps);
        schedule
    }

    /// Takes at most so many steps at once.
    fn settle(&mut self, world: &mut World, schedule: &mut Vec<EventId>, most: u64) {
        for _ in 0..most {
            let (Ok(event), _) = self.at_once(world) else { return };
            self.script.execute(world, event, &mut self.scratch);
            schedule.push(event);
            self.tell_idle(world, schedule);
        }
    }

    /// Passes over the idle steps of all threads, and tells which.
    fn tell_idle(&self, world: &mut World, schedule: &mut Vec<EventId>) {
        let before = world.cut.clone();
        self.pass_all_idle(world);
        // Forks come before what they start: threads are passed over in this order.
        let mut passed: Vec<EventId> = Vec::new();
        for thread in self.script.trace.thread_ids() {
            let (from, to) = (before[thread.index()], world.cut[thread.index()]);
            let events = self.script.trace.thread_events(thread);
            passed.extend(&events[from as usize..to as usize]);
        }
        passed.sort_unstable();
        schedule.extend(passed);
    }

    fn pass_all_idle(&self, world: &mut World) {
        let mut again = true;
        while again {
            again = false;
            for thread in self.script.trace.thread_ids() {
                again |= self.pass_idle(world, thread);
            }
        }
    }

    /// Passes over the idle steps of a thread. Returns whether there was one.
    fn pass_idle(&self, world: &mut World, thread: ThreadId) -> bool {
        let script = self.script;
        let is_stopped = script.next(world, thread).is_none();
        let events = script.trace.thread_events(thread);
        let start = world.cut[thread.index()] as usize;
        let mut at = start;
        while !is_stopped && at < events.len() && self.idle[events[at].index()] {
            at += 1;
        }
        world.cut[thread.index()] = at as u32;
        if at as u32 >= script.opaque_end[thread.index()] {
            world.strayed[thread.index()] = false;
        }
        at > start
    }

    /// The state as bytes: equal for states with the same future.
    fn key(&self, world: &World, gone: &[bool]) -> Vec<u8> {
        let mut key = Vec::with_capacity(64);
        for (thread, &position) in world.cut.iter().enumerate() {
            number(&mut key, position.into());
            let strayed = world.strayed[thread] && !is_seeded(Fault::StrayingForgotten);
            let waits = match is_seeded(Fault::WaitersForgotten) {
                true => Waits::No,
                false => world.waits[thread],
            };
            key.push(u8::from(gone[thread]) | u8::from(strayed) << 1 | (waits as u8) << 2);
            // What a thread has seen is its own, and it does not go on.
            if !gone[thread] && !is_seeded(Fault::ValuesForgotten) {
                for &slot in self.script.live(thread, position) {
                    number(&mut key, world.values[slot as usize]);
                }
            }
        }
        for (slot, looks) in self.script.last_looks.iter().enumerate() {
            let is_looked_at = looks.iter().any(|&(thread, last)| {
                world.cut[thread as usize] <= last && !gone[thread as usize]
            });
            if is_looked_at && !is_seeded(Fault::ContentsForgotten) {
                match world.cells[slot] {
                    Identity::Value(value) => {
                        key.push(1);
                        number(&mut key, value);
                    }
                    Identity::Event(event) => {
                        key.push(2);
                        number(&mut key, event.0.into());
                    }
                    Identity::Initial => key.push(3),
                }
            }
        }
        match world.mode {
            Mode::Plain => {}
            Mode::Armed { part, second, frozen, .. } => {
                key.push(1);
                number(&mut key, part.into());
                number(&mut key, second.0.into());
                number(&mut key, frozen.map_or(0, |thread| u64::from(thread.0) + 1));
            }
            Mode::Released(assertion) => {
                key.push(2);
                number(&mut key, assertion.0.into());
            }
        }
        key
    }
}

/// The states after the next event of a thread, in a fixed order.
pub(crate) fn outcomes(
    script: &Script,
    goals: &Goals,
    world: &mut World,
    thread: ThreadId,
    scratch: &mut Vec<u128>,
) -> Vec<World> {
    let Some(event) = script.next(world, thread) else { return Vec::new() };
    let ready = script.ready(world, event, scratch);
    let mut all = Vec::new();
    match ready {
        Ready::Now => {
            if let Op::Signal { cond } = script.step(event).op {
                all = script.signal(world, event, cond);
            } else {
                let mut after = world.clone();
                script.execute(&mut after, event, scratch);
                for mode in goals.arms(script, world, event, None) {
                    all.push(World { mode, ..after.clone() });
                }
                all.push(after);
            }
        }
        Ready::Otherwise(mode) => {
            let mut after = World { mode, ..world.clone() };
            script.execute(&mut after, event, scratch);
            all.push(after);
        }
        Ready::Blocked | Ready::Never => {}
    }
    if ready != Ready::Now
        && let Op::Read { at, .. } = script.step(event).op
        && script.is_live(world, at.object)
        && !is_seeded(Fault::FreeReadForgotten)
    {
        for mode in goals.arms(script, world, event, Some(thread)) {
            let mut after = World { mode, ..world.clone() };
            after.cut[thread.index()] += 1;
            all.push(after);
        }
    }
    all
}

/// A number in as many bytes as it needs.
fn number(key: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        key.push(value as u8 | 0x80);
        value >>= 7;
    }
    key.push(value as u8);
}

/// Roughly the memory that a state takes.
fn bytes_of(world: &World) -> usize {
    200 + 6 * world.cut.len()
        + 16 * world.cells.len()
        + 8 * world.values.len()
        + 4 * (world.holds.len() + world.counts.len())
}
