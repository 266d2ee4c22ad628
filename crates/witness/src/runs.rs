//! Merges the runs of a long schedule.
//!
//! **Computes.** An order of the same events with few context switches: a thread that has the turn
//! keeps it as long as it can; then it goes to the thread whose next event came first in the given
//! schedule.
//!
//! **Follows.** The partial order of `partial_order`, with its sections ordered, but never built.
//! Two events about one subject (a cell, an object, a lock ...) keep their order unless both only
//! look. So the first pass gives each event a *ticket* per subject: how many events about it came
//! before, or if the event only looks, how many that did more. In the second pass an event can come
//! next if as many have come. For semaphores: the k-th wait comes after as many posts as it takes
//! for k + 1 tokens. What is said by name (fork, join, frees, rounds, calls) is looked up.
//!
//! **Invariant.** The thread with the oldest event left can always go on: all that came before it
//! in the given schedule has come, and whatever has come besides does not touch its subjects.
//!
//! **Cost.** Two linear passes, counting an access once for each of its cells; no allocation per
//! event.

use foretrace_trace::{EventId, Op, ThreadId, Trace, ops};

use crate::checker::Checker;
use crate::partial_order::{Subject, for_each_subject};
use crate::recorded::{Recorded, Rule};
use crate::table::Table;
use foretrace_verdict::Violation;

/// The same events in an order with few switches. The caller has it checked.
pub(crate) fn with_merged_runs(
    checker: &Checker,
    violation: &Violation,
    schedule: &[EventId],
) -> Vec<EventId> {
    checker.runs.lend(
        || Turns::new(checker),
        |turns| {
            let mut merge = Merge {
                trace: checker.trace,
                recorded: &checker.recorded,
                schedule,
                free_read: checker.free_read_in(violation, schedule),
                first: match *violation {
                    Violation::Atomicity { first, .. } => Some(first),
                    Violation::Race(..)
                    | Violation::LockCycle(_)
                    | Violation::Stuck(_)
                    | Violation::Lock(..)
                    | Violation::Assertion(_) => None,
                },
                turns,
                oldest: 0,
            };
            merge.give_tickets();
            merge.take_turns()
        },
    )
}

/// How many events about a subject have come.
#[derive(Clone, Copy, Default, Debug)]
struct Come {
    all: u32,
    /// Those that did more than look.
    changes: u32,
}

impl Come {
    #[inline]
    fn ticket(self, changes: bool) -> u32 {
        if changes { self.all } else { self.changes }
    }

    #[inline]
    fn with(self, changes: bool) -> Self {
        Come { all: self.all + 1, changes: self.changes + u32::from(changes) }
    }
}

/// The tables, used again and again.
#[derive(Debug)]
pub(crate) struct Turns {
    cells: Table<Come>,
    others: Table<Come>,
    posts: Table<u32>,
    waits: Table<u32>,
    arrived: Table<u32>,
    /// How many events each thread has in the schedule, and has executed.
    counts: Vec<u32>,
    done: Vec<u32>,
    /// Where the tickets of each thread begin.
    from: Vec<u32>,
    /// The ticket of an event with one subject, a cell; else where in `more` its tickets begin.
    tickets: Vec<u32>,
    more: Vec<u32>,
    subjects: Vec<(usize, bool)>,
}

impl Turns {
    fn new(checker: &Checker) -> Self {
        let trace = checker.trace;
        let [objects, locks] = [trace.objects().len(), trace.locks().len()];
        let [conds, semaphores] = [trace.conds().len(), trace.semaphores().len()];
        Turns {
            cells: Table::new(checker.recorded.cell_count(), Come::default()),
            others: Table::new(objects + locks + conds + semaphores, Come::default()),
            posts: Table::new(semaphores, 0),
            waits: Table::new(semaphores, 0),
            arrived: Table::new(checker.recorded.rounds.len(), 0),
            counts: Vec::new(),
            done: Vec::new(),
            from: Vec::new(),
            tickets: Vec::new(),
            more: Vec::new(),
            subjects: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.cells.clear();
        self.others.clear();
        self.posts.clear();
        self.waits.clear();
        self.arrived.clear();
    }
}

struct Merge<'a> {
    trace: &'a Trace,
    recorded: &'a Recorded,
    schedule: &'a [EventId],
    /// The remote read of an atomicity violation, and the access that comes before it.
    free_read: Option<EventId>,
    first: Option<EventId>,
    turns: &'a mut Turns,
    /// All steps before this one have come. (Moved on only when somebody asks.)
    oldest: usize,
}

impl Merge<'_> {
    /// The first pass.
    fn give_tickets(&mut self) {
        self.turns.clear();
        self.lay_out();
        for &event in self.schedule {
            let slot = self.slot(event);
            if let Some((cell, changes)) = self.only_cell(event) {
                let come = self.turns.cells.get(cell);
                self.turns.tickets[slot] = come.ticket(changes);
                self.turns.cells.set(cell, come.with(changes));
            } else if self.recorded.rule(event) != Rule::Always {
                self.turns.tickets[slot] = self.turns.more.len() as u32;
                self.give_tickets_to(event);
            }
        }
    }

    /// Finds how many events each thread has, and where their tickets are.
    fn lay_out(&mut self) {
        let turns = &mut *self.turns;
        let threads = self.trace.threads().len();
        turns.counts.clear();
        turns.counts.resize(threads, 0);
        turns.done.clear();
        turns.done.resize(threads, 0);
        for &event in self.schedule {
            turns.counts[self.trace.thread_of(event).index()] += 1;
        }
        let mut next = 0;
        turns.from.clear();
        turns.from.extend(turns.counts.iter().map(|&count| {
            next += count;
            next - count
        }));
        turns.tickets.resize(self.schedule.len(), 0);
        turns.more.clear();
    }

    #[inline]
    fn slot(&self, event: EventId) -> usize {
        let from = self.turns.from[self.trace.thread_of(event).index()] as usize;
        from + self.trace.position(event)
    }

    /// The cell of an access that is about nothing else, and whether it changes it.
    #[inline]
    fn only_cell(&self, event: EventId) -> Option<(usize, bool)> {
        let rule = self.recorded.rule(event);
        let is_access = matches!(rule, Rule::Read | Rule::Write | Rule::Rmw);
        let is_simple = is_access && self.recorded.is_plain(event) && self.free_read != Some(event);
        is_simple.then(|| (self.recorded.span(event).first as usize, rule != Rule::Read))
    }

    fn give_tickets_to(&mut self, event: EventId) {
        let subjects = self.subjects(event);
        for &(subject, changes) in &subjects {
            let come = self.come(subject);
            self.turns.more.push(come.ticket(changes));
            self.set_come(subject, come.with(changes));
        }
        self.turns.subjects = subjects;
        if let Op::SemWait { sem, .. } = self.trace.op(event) {
            let waits = self.turns.waits.get(sem.index());
            self.turns.waits.set(sem.index(), waits + 1);
            let tokens = u64::from(waits) + 1;
            let posts = tokens.saturating_sub(self.recorded.semaphores[sem.index()]);
            self.turns.more.push(posts as u32);
        }
    }

    /// What an event is about; cells come first in the numbers. To be given back.
    fn subjects(&mut self, event: EventId) -> Vec<(usize, bool)> {
        let mut subjects = std::mem::take(&mut self.turns.subjects);
        subjects.clear();
        let cells = self.recorded.cell_count();
        let objects = cells + self.trace.objects().len();
        let locks = objects + self.trace.locks().len();
        let conds = locks + self.trace.conds().len();
        let is_free = self.free_read == Some(event);
        for_each_subject(self.trace, self.recorded, event, is_free, |subject, changes| {
            let number = match subject {
                Subject::Cell(cell) => cell as usize,
                Subject::Object(object) => cells + object as usize,
                Subject::Lock(lock) => objects + lock as usize,
                Subject::Cond(cond) => locks + cond as usize,
                Subject::Sem(sem) => conds + sem as usize,
            };
            subjects.push((number, changes));
        });
        subjects
    }

    fn come(&self, subject: usize) -> Come {
        match subject.checked_sub(self.recorded.cell_count()) {
            Some(other) => self.turns.others.get(other),
            None => self.turns.cells.get(subject),
        }
    }

    fn set_come(&mut self, subject: usize, come: Come) {
        match subject.checked_sub(self.recorded.cell_count()) {
            Some(other) => self.turns.others.set(other, come),
            None => self.turns.cells.set(subject, come),
        }
    }

    /// The second pass.
    fn take_turns(&mut self) -> Vec<EventId> {
        self.turns.clear();
        let mut order = Vec::with_capacity(self.schedule.len());
        while let Some(oldest) = self.oldest_left() {
            let before = order.len();
            self.take_turn(self.trace.thread_of(oldest), &mut order);
            assert!(order.len() > before, "the given schedule keeps the order");
        }
        order
    }

    /// A thread goes on as long as it can.
    fn take_turn(&mut self, thread: ThreadId, order: &mut Vec<EventId>) {
        let [from, done, count] = [&self.turns.from, &self.turns.done, &self.turns.counts]
            .map(|of_threads| of_threads[thread.index()] as usize);
        let events = &self.trace.thread_events(thread)[..count];
        for (position, &event) in events.iter().enumerate().skip(done) {
            let ticket = self.turns.tickets[from + position];
            if position == 0 && !self.is_started(thread) || !self.comes(event, ticket) {
                break;
            }
            self.turns.done[thread.index()] = position as u32 + 1;
            order.push(event);
        }
    }

    /// Lets an event come, if it can.
    #[inline]
    fn comes(&mut self, event: EventId, ticket: u32) -> bool {
        if let Some((cell, changes)) = self.only_cell(event) {
            let come = self.turns.cells.get(cell);
            let is_due = come.ticket(changes) == ticket;
            if is_due {
                self.turns.cells.set(cell, come.with(changes));
            }
            return is_due;
        }
        self.recorded.rule(event) == Rule::Always || self.comes_by_more(event, ticket as usize)
    }

    fn comes_by_more(&mut self, event: EventId, from: usize) -> bool {
        let is_free = self.free_read == Some(event);
        if is_free && !self.first.is_some_and(|first| self.has_come(first)) {
            return false;
        }
        if !is_free && self.recorded.follows_all(event) && self.oldest_left() != Some(event) {
            return false;
        }
        let subjects = self.subjects(event);
        let mut tickets = subjects.iter().zip(&self.turns.more[from..]);
        let is_due = tickets
            .all(|(&(subject, changes), &ticket)| self.come(subject).ticket(changes) == ticket);
        let can_come = is_due && self.comes_by_name(event, from + subjects.len());
        if can_come {
            for &(subject, changes) in &subjects {
                self.set_come(subject, self.come(subject).with(changes));
            }
        }
        self.turns.subjects = subjects;
        can_come
    }

    /// Whether all has come that an event comes after by name or by number. Counts the event if so.
    fn comes_by_name(&mut self, event: EventId, behind: usize) -> bool {
        let round = self.recorded.round(event) as usize;
        match self.trace.op(event) {
            Op::Join { child } => {
                let [done, count] = [&self.turns.done, &self.turns.counts]
                    .map(|of_threads| of_threads[child.index()]);
                self.is_started(child) && done == count
            }
            Op::Alloc { .. } => {
                self.recorded.frees_before(event).iter().all(|&free| self.has_come(free))
            }
            Op::Arrive { .. } => {
                let is_first = self.recorded.rounds[round].index == 0;
                let can_come = is_first || self.is_complete(round - 1);
                if can_come {
                    self.turns.arrived.set(round, self.turns.arrived.get(round) + 1);
                }
                can_come
            }
            Op::Leave { .. } => self.is_complete(round),
            Op::LeaveCall => {
                self.recorded.calls.needed_by(event).iter().all(|&enter| self.has_come(enter))
            }
            Op::SemPost { sem } => {
                self.turns.posts.set(sem.index(), self.turns.posts.get(sem.index()) + 1);
                true
            }
            Op::SemWait { sem, .. } => self.turns.posts.get(sem.index()) >= self.turns.more[behind],
            ops!(memory data lock cond mark SemWaitFailed Request Fork Begin End Exit Free
                EnterCall) => true,
        }
    }

    fn is_complete(&self, round: usize) -> bool {
        self.turns.arrived.get(round) == self.recorded.rounds[round].parties
    }

    fn is_started(&self, thread: ThreadId) -> bool {
        self.recorded.forks[thread.index()].is_none_or(|fork| self.has_come(fork))
    }

    #[inline]
    fn has_come(&self, event: EventId) -> bool {
        let done = self.turns.done[self.trace.thread_of(event).index()] as usize;
        self.trace.position(event) < done
    }

    /// The first event of the given schedule that has not come.
    fn oldest_left(&mut self) -> Option<EventId> {
        let left = &self.schedule[self.oldest..];
        let passed = left.iter().take_while(|&&event| self.has_come(event)).count();
        self.oldest += passed;
        self.schedule.get(self.oldest).copied()
    }
}
