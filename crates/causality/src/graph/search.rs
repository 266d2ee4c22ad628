//! Asks the graph about one candidate after the other.
//!
//! **Computes.** From what a candidate says, cuts and clocks that only grow: how many events of
//! each thread must be executed, how many may be, and for single events how many events of each
//! thread come before them, until there is a contradiction or nothing new.
//!
//! **Follows.** `docs/causality.md`: `X` and `N` are one number for each thread, since both are
//! closed under program order; `e < f` is a clock of f. Rows of the table are what holds always;
//! *raises* are what the candidate adds.
//!
//! **Cost.** Per round: the holds and waits behind the barrier, times the users of their locks. A
//! candidate for which that is very much is left alone.

use foretrace_model::{Hold, HoldId};
use foretrace_trace::{EventId, ThreadId};

use super::{Graph, Held, Question, Reach, Waits};
use crate::givers::{Given, Known, Waiter};
use crate::needs::{Needs, join};
use crate::scope::Scope;

/// How many holds and waits behind the barrier are looked at.
const MOST_EVENTS: usize = 20_000;

/// From an event on, so many events of each thread come before.
#[derive(Clone, Debug)]
struct Raise {
    position: u32,
    clock: Vec<u32>,
}

/// What is used again from candidate to candidate.
pub struct Search<'g> {
    graph: &'g Graph<'g>,
    facts: Facts<'g>,
    /// How many events of each thread are before the barrier.
    from: Vec<u32>,
    /// Whether something new was derived in this round.
    changed: bool,
}

/// What is known of the schedules that end in the candidate.
struct Facts<'g> {
    table: Option<&'g Needs>,
    /// How many events of each thread are executed, at least.
    executed: Vec<u32>,
    /// How many events of each thread are executed, at most.
    most: Vec<u32>,
    /// For each thread, in program order; each row has those before it in it.
    raises: Vec<Vec<Raise>>,
    /// The remote access, whose needs are those of the event before it.
    free: Option<(ThreadId, u32)>,
}

impl Facts<'_> {
    fn clear(&mut self, threads: usize) {
        self.executed.clear();
        self.executed.resize(threads, 0);
        self.most.clear();
        self.most.resize(threads, u32::MAX);
        self.raises.iter_mut().for_each(Vec::clear);
        self.raises.resize_with(threads, Vec::new);
        self.free = None;
    }

    fn always(&self, thread: ThreadId, position: u32) -> Option<&[u32]> {
        let position = match self.free {
            Some(free) if free == (thread, position) => position.checked_sub(1)?,
            _ => position,
        };
        self.table.map(|table| table.of(thread, position))
    }

    fn raised(&self, thread: usize, count: u32) -> Option<&[u32]> {
        let raises = &self.raises[thread];
        let at = raises.partition_point(|raise| raise.position < count).checked_sub(1)?;
        Some(&raises[at].clock)
    }

    /// What comes before an event and, where its own thread is concerned, a cycle through it.
    fn clock(&self, thread: ThreadId, position: u32, clock: &mut Vec<u32>) {
        clock.clear();
        match self.always(thread, position) {
            Some(row) => clock.extend_from_slice(row),
            None => clock.resize(self.executed.len(), 0),
        }
        let own = thread.index();
        clock[own] = clock[own].max(position);
        if let Some(raised) = self.raised(own, position + 1) {
            join(clock, raised);
        }
        // What was raised for those that come before.
        loop {
            let mut changed = false;
            for other in 0..clock.len() {
                if self.raises[other].is_empty() {
                    continue;
                }
                if let Some(raised) = self.raised(other, clock[other])
                    && raised.iter().zip(&*clock).any(|(raised, known)| raised > known)
                {
                    join(clock, raised);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// What comes before an event; `None` if it is not executed.
    fn before_if_possible(
        &self,
        thread: ThreadId,
        position: u32,
        clock: &mut Vec<u32>,
    ) -> Option<()> {
        if position >= self.most[thread.index()] {
            return None;
        }
        self.clock(thread, position, clock);
        (clock[thread.index()] <= position && !self.is_beyond(clock)).then_some(())
    }

    /// Whether something that comes before is not executed.
    fn is_beyond(&self, clock: &[u32]) -> bool {
        clock.iter().zip(&self.most).any(|(count, most)| count > most)
    }

    /// What comes before an event comes before all behind it, too. Returns whether this is new.
    fn raise(&mut self, thread: ThreadId, position: u32, clock: &[u32]) -> bool {
        let mut known = Vec::new();
        self.clock(thread, position, &mut known);
        if clock.iter().zip(&known).all(|(new, known)| new <= known) {
            return false;
        }
        let raises = &mut self.raises[thread.index()];
        let at = raises.partition_point(|raise| raise.position < position);
        if raises.get(at).is_none_or(|raise| raise.position != position) {
            let mut row = match at.checked_sub(1) {
                Some(before) => raises[before].clock.clone(),
                None => vec![0; clock.len()],
            };
            join(&mut row, clock);
            raises.insert(at, Raise { position, clock: row });
        }
        for raise in &mut raises[at..] {
            join(&mut raise.clock, clock);
        }
        true
    }
}

impl Known for Facts<'_> {
    fn before(&self, thread: ThreadId, position: u32, clock: &mut Vec<u32>) -> bool {
        self.before_if_possible(thread, position, clock).is_some()
    }
}

/// A contradiction: no schedule ends in the candidate.
struct Contradiction;

type Result = std::result::Result<(), Contradiction>;

impl<'g> Search<'g> {
    /// Nothing asked yet.
    pub fn new(graph: &'g Graph<'g>) -> Self {
        let facts = Facts {
            table: None,
            executed: Vec::new(),
            most: Vec::new(),
            raises: Vec::new(),
            free: None,
        };
        Search { graph, facts, from: Vec::new(), changed: false }
    }

    /// Whether the rules of the scope contradict the candidate.
    pub fn refutes(&mut self, question: &Question, scope: Scope) -> bool {
        self.ask(question, scope, false).is_err()
    }

    /// The same without barriers: everything that the candidate requires is looked at.
    pub fn refutes_in_full(&mut self, question: &Question, scope: Scope) -> bool {
        self.ask(question, scope, true).is_err()
    }

    /// The orders of executed events that the candidate last asked about adds to what holds always;
    /// the latest of each thread stands for those before it.
    pub fn induced(&self) -> Vec<(EventId, EventId)> {
        let trace = self.graph.skeleton.trace;
        let mut induced = Vec::new();
        for thread in trace.thread_ids() {
            let events = trace.thread_events(thread);
            let executed = self.facts.executed[thread.index()];
            let mut known: Vec<u32> = vec![0; self.facts.executed.len()];
            for raise in &self.facts.raises[thread.index()] {
                if raise.position >= executed {
                    break;
                }
                if let Some(always) = self.facts.always(thread, raise.position) {
                    join(&mut known, always);
                }
                for other in trace.thread_ids().filter(|&other| other != thread) {
                    let count = raise.clock[other.index()];
                    if count > known[other.index()] {
                        let earlier = trace.thread_events(other)[count as usize - 1];
                        induced.push((earlier, events[raise.position as usize]));
                    }
                }
                join(&mut known, &raise.clock);
            }
        }
        induced
    }

    fn ask(&mut self, question: &Question, scope: Scope, in_full: bool) -> Result {
        self.begin(question, scope)?;
        self.close()?;
        self.set_barrier(question, scope, in_full);
        for &(earlier, later) in &question.before {
            let mut clock = Vec::new();
            self.clock_behind(earlier, &mut clock);
            self.raise(later, &clock);
        }
        if self.size() > MOST_EVENTS && !in_full {
            return self.close();
        }
        loop {
            self.changed = false;
            self.close()?;
            if scope.has_order() {
                self.waits()?;
            }
            if scope.has_locks() {
                self.locks()?;
            }
            if !self.changed {
                return Ok(());
            }
        }
    }

    /// What the candidate says.
    fn begin(&mut self, question: &Question, scope: Scope) -> Result {
        let (trace, skeleton) = (self.graph.skeleton.trace, self.graph.skeleton);
        self.facts.clear(trace.threads().len());
        self.facts.table = self.graph.table(scope);
        for &reach in &question.reached {
            let event = reach.event();
            let thread = trace.thread_of(event);
            let position = trace.position(event) as u32;
            let executed = match reach {
                Reach::Next(event) => {
                    self.never(event);
                    position
                }
                Reach::Done(_) => position + 1,
                Reach::Remote(_) => {
                    self.facts.free = Some((thread, position));
                    position + 1
                }
            };
            self.require(thread, executed);
            if scope.has_order()
                && let Some(fork) = skeleton.fork_of(thread)
            {
                self.require(trace.thread_of(fork), trace.position(fork) as u32 + 1);
            }
        }
        for &event in question.never.iter().chain(&self.graph.exits) {
            self.never(event);
        }
        Ok(())
    }

    fn require(&mut self, thread: ThreadId, count: u32) {
        let executed = &mut self.facts.executed[thread.index()];
        *executed = (*executed).max(count);
    }

    fn never(&mut self, event: EventId) {
        let trace = self.graph.skeleton.trace;
        let most = &mut self.facts.most[trace.thread_of(event).index()];
        *most = (*most).min(trace.position(event) as u32);
    }

    fn set_barrier(&mut self, question: &Question, scope: Scope, in_full: bool) {
        let trace = self.graph.skeleton.trace;
        self.from.clear();
        if in_full {
            self.from.resize(self.facts.executed.len(), 0);
            return;
        }
        self.from.extend_from_slice(&self.facts.executed);
        for reach in &question.reached {
            let event = reach.event();
            let from = &mut self.from[trace.thread_of(event).index()];
            *from = (*from).min(trace.position(event) as u32);
        }
        self.graph.go_back(&mut self.from, scope);
    }

    /// How much lies behind the barrier.
    fn size(&self) -> usize {
        let count = |thread: usize| {
            let (from, to) = (self.from[thread], self.facts.executed[thread]);
            within(&self.graph.opened[thread], from, to, |held| held.open).len()
                + within(&self.graph.waits[thread], from, to, |wait| wait.0).len()
        };
        (0..self.from.len()).map(count).sum()
    }

    /// `need` and `contradiction`: what comes before something executed is executed.
    fn close(&mut self) -> Result {
        let threads = self.facts.executed.len();
        let mut clock = Vec::new();
        loop {
            let mut grown = false;
            for thread in 0..threads {
                let Some(last) = self.facts.executed[thread].checked_sub(1) else { continue };
                self.facts.clock(ThreadId::from(thread), last, &mut clock);
                self.no_cycle(thread)?;
                for (executed, &count) in self.facts.executed.iter_mut().zip(&clock) {
                    if count > *executed {
                        *executed = count;
                        grown = true;
                    }
                }
            }
            if self.facts.is_beyond(&self.facts.executed) {
                return Err(Contradiction);
            }
            if !grown {
                return Ok(());
            }
            self.changed = true;
        }
    }

    /// `cycle`: each one leads through an event that the candidate raised.
    fn no_cycle(&self, thread: usize) -> Result {
        let mut clock = Vec::new();
        for raise in &self.facts.raises[thread] {
            if raise.position < self.facts.executed[thread] {
                self.facts.clock(ThreadId::from(thread), raise.position, &mut clock);
                if clock[thread] > raise.position {
                    return Err(Contradiction);
                }
            }
        }
        Ok(())
    }

    fn raise(&mut self, event: EventId, clock: &[u32]) {
        let trace = self.graph.skeleton.trace;
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        self.changed |= self.facts.raise(thread, position, clock);
    }

    /// An event, and what comes before it.
    fn clock_behind(&self, event: EventId, clock: &mut Vec<u32>) {
        let trace = self.graph.skeleton.trace;
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        self.facts.clock(thread, position, clock);
        let own = &mut clock[thread.index()];
        *own = (*own).max(position + 1);
    }

    /// Whether an event is not executed; else `clock` is what comes before it.
    fn is_never(&self, event: EventId, clock: &mut Vec<u32>) -> bool {
        let trace = self.graph.skeleton.trace;
        let (thread, position) = (trace.thread_of(event), trace.position(event) as u32);
        self.facts.before_if_possible(thread, position, clock).is_none()
    }

    /// Section 5.
    fn waits(&mut self) -> Result {
        let graph = self.graph;
        let (mut at_wait, mut least) = (Vec::new(), Vec::new());
        for thread in 0..self.from.len() {
            let (from, to) = (self.from[thread], self.facts.executed[thread]);
            for &(position, waits) in within(&graph.waits[thread], from, to, |wait| wait.0) {
                let waiter = Waiter { thread: ThreadId::from(thread), position };
                let event = graph.skeleton.trace.thread_events(waiter.thread)[position as usize];
                let given = match waits {
                    Waits::Notified(cond) => {
                        // A wake directly follows its wait.
                        self.facts.clock(waiter.thread, position - 1, &mut at_wait);
                        graph.givers.notified(cond, waiter, &at_wait, &self.facts, &mut least)
                    }
                    Waits::Posted(sem) => {
                        self.facts.clock(waiter.thread, position, &mut at_wait);
                        graph.givers.posted(sem, waiter, &at_wait, &self.facts, &mut least)
                    }
                };
                match given {
                    Given::Never => return Err(Contradiction),
                    Given::Freely => continue,
                    Given::BySome => self.raise(event, &least),
                    Given::Only(giver, at) => {
                        self.raise(event, &least);
                        let wait = graph.skeleton.trace.thread_events(waiter.thread)
                            [position as usize - 1];
                        self.clock_behind(wait, &mut at_wait);
                        let only = graph.skeleton.trace.thread_events(giver)[at as usize];
                        self.raise(only, &at_wait);
                    }
                }
            }
        }
        Ok(())
    }

    /// Section 4: of two holds of a lock, one is closed before the other is opened.
    fn locks(&mut self) -> Result {
        let graph = self.graph;
        let locks = &graph.skeleton.locks;
        for thread in 0..self.from.len() {
            let (from, to) = (self.from[thread], self.facts.executed[thread]);
            for held in within(&graph.opened[thread], from, to, |held| held.open) {
                let hold = *locks.hold(held.id);
                self.opens_after(held.id, &hold)?;
            }
        }
        for &(lock, destroy) in &graph.destroyed {
            let trace = graph.skeleton.trace;
            let (thread, position) = (trace.thread_of(destroy), trace.position(destroy) as u32);
            if position >= self.facts.executed[thread.index()] {
                continue;
            }
            for slot in graph.slots[lock.index()].iter().filter(|slot| slot.thread != thread) {
                let executed = self.facts.executed[slot.thread.index()];
                if let Some(last) = last_before(&slot.holds, executed) {
                    self.closes_before(last, destroy)?;
                }
            }
        }
        Ok(())
    }

    /// The holds that are executed, exclude this one, and cannot come behind it are closed before
    /// it is opened.
    fn opens_after(&mut self, id: HoldId, hold: &Hold) -> Result {
        let graph = self.graph;
        let slots = &graph.slots[hold.lock.index()];
        if slots.len() == 1 && !graph.skeleton.locks.is_irregular(hold.lock) {
            return Ok(());
        }
        let mut at_close = Vec::new();
        let closes = hold.close.filter(|&close| !self.is_never(close, &mut at_close));
        for slot in slots {
            let other = slot.thread.index();
            let mut bound = self.facts.executed[other];
            if slot.thread == hold.thread {
                // The hold before it in the same mode; program order says the rest.
                if slot.mode != hold.mode {
                    continue;
                }
                bound = bound.min(graph.skeleton.trace.position(hold.open) as u32);
            } else {
                if !slot.mode.conflicts(hold.mode) {
                    continue;
                }
                if closes.is_some() {
                    bound = bound.min(at_close[other]);
                }
            }
            if let Some(last) = last_before(&slot.holds, bound) {
                debug_assert_ne!(last, id);
                self.closes_before(last, hold.open)?;
            }
        }
        Ok(())
    }

    /// A hold is closed before an event that is executed.
    fn closes_before(&mut self, id: HoldId, event: EventId) -> Result {
        let Some(close) = self.graph.skeleton.locks.hold(id).close else {
            return Err(Contradiction);
        };
        let mut clock = Vec::new();
        self.clock_behind(close, &mut clock);
        self.raise(event, &clock);
        Ok(())
    }
}

/// The hold that is opened last before a position.
fn last_before(holds: &[Held], position: u32) -> Option<HoldId> {
    let at = holds.partition_point(|held| held.open < position).checked_sub(1)?;
    Some(holds[at].id)
}

/// Those of a list in program order that lie between two positions.
fn within<T>(list: &[T], from: u32, to: u32, position: impl Fn(&T) -> u32) -> &[T] {
    let start = list.partition_point(|item| position(item) < from);
    let end = list.partition_point(|item| position(item) < to);
    &list[start..end.max(start)]
}
