//! Leaves out what a violation does not need.
//!
//! **Computes.** A small part of an accepted schedule that is closed under what its events need, in
//! the order of the schedule. Since each thread runs a prefix of its events, the part is given by
//! how many events each thread keeps. An event needs: its predecessors in the thread and the fork
//! of the thread; a read, the writes that it saw in this schedule, unless what is read is free; a
//! join, all of its child; a notified wake, what notified it; a semaphore wait, the post whose
//! token it takes if tokens are taken in order; a barrier event, the arrivals of its round or the
//! one before; an access, the object's alloc; an alloc, the frees before it; the end of a call, the
//! begin of those that it rests on. A lock event that must not find a conflicting hold needs the
//! closing of every hold that the part opens and the schedule closed before.
//!
//! **How.** Backwards, from the last step to the first: almost all that an event needs lies before
//! it, and who needs a write, a post or an arrival has left word by the time that it is met. Only
//! the closing of a hold may be met before it is known that the part opens the hold. If one is
//! needed that was left out, the cuts are kept and the schedule is scanned once more.
//!
//! **Invariant.** The part is meant to be accepted, but this is not relied on: the caller checks
//! it. It need not be the smallest: under model `values` a read may do with another write.
//!
//! **Cost.** O(n) per scan of n events, counting an access once for each of its cells, plus
//! O(threads) for each read with an unknown writer that is kept. One scan if nothing is left out;
//! if the cuts are not closed after `SCANNING` steps, all is kept. The tables are lent by the
//! checker.

use foretrace_trace::{EventId, LockId, Mode, Op, SemId, ThreadId, Trace, ops};
use rustc_hash::FxHashSet;

use crate::at_end::points;
use crate::checker::Checker;
use crate::ending::{Ending, Tokens};
use crate::recorded::{Hold, Recorded, Rule};
use crate::step::{Reads, lock_of};
use crate::table::Table;
use foretrace_verdict::{LockMisuse, Violation};

/// How many steps all scans together may take. A few scans are always made.
const SCANNING: usize = 2_000_000;
const LEAST_SCANS: usize = 4;

/// The part of an accepted schedule that the violation needs, as far as this analysis sees.
pub(crate) fn needed_part(
    checker: &Checker,
    violation: &Violation,
    schedule: &[EventId],
    ending: &Ending,
) -> Vec<EventId> {
    let make = || Words::new(checker);
    checker.needs.lend(make, |words| {
        words.kept.clear();
        let mut scan = Scan {
            checker,
            trace: checker.trace,
            recorded: &checker.recorded,
            schedule,
            ending,
            free_read: checker.free_read(violation),
            words,
            tokens: Tokens::at(ending),
            posts: FxHashSet::default(),
            is_open: false,
        };
        scan.require_violation(violation);
        let bound = SCANNING.max(LEAST_SCANS * schedule.len());
        let mut scanned = 0;
        loop {
            scan.run(violation);
            scanned += schedule.len();
            if scan.keeps_all() || scan.is_open && scanned >= bound {
                return schedule.to_vec();
            }
            if !scan.is_open {
                return scan.part();
            }
        }
    })
}

/// What kept events have left word of, for what is met before them. All but `kept` is about one
/// scan.
#[derive(Debug)]
pub(crate) struct Words {
    /// How many events each thread keeps.
    kept: Table<u32>,
    /// Cells and rounds whose write or arrivals somebody needs; semaphores that were found at zero.
    cells: Table<bool>,
    rounds: Table<bool>,
    semaphores: Table<bool>,
    locks: Vec<LockWords>,
    touched: Vec<LockId>,
}

/// What is known of a lock behind the present step.
#[derive(Clone, Default, Debug)]
struct LockWords {
    is_touched: bool,
    /// The last kept steps that need it free of all holds, and of exclusive ones.
    any: Option<u32>,
    exclusive: Option<u32>,
    /// The holds that are open here and closed later.
    closings: Vec<Closing>,
    /// The kept failed acquires whose obstacle is not known yet.
    failures: Vec<Failure>,
}

#[derive(Clone, Copy, Debug)]
struct Closing {
    hold: u32,
    step: u32,
    /// A kept event of another thread closes it, so it needs the last change of the hold.
    needs_change: bool,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    step: u32,
    mode: Mode,
    /// The oldest hold in the way, so far.
    obstacle: Option<EventId>,
}

impl Words {
    fn new(checker: &Checker) -> Self {
        let trace = checker.trace;
        Words {
            kept: Table::new(trace.threads().len(), 0),
            cells: Table::new(checker.recorded.cell_count(), false),
            rounds: Table::new(checker.recorded.rounds.len(), false),
            semaphores: Table::new(trace.semaphores().len(), false),
            locks: vec![LockWords::default(); trace.locks().len()],
            touched: Vec::new(),
        }
    }

    /// Forgets all but the cuts.
    fn clear(&mut self) {
        self.cells.clear();
        self.rounds.clear();
        self.semaphores.clear();
        for lock in self.touched.drain(..) {
            let words = &mut self.locks[lock.index()];
            words.is_touched = false;
            words.any = None;
            words.exclusive = None;
            words.closings.clear();
            words.failures.clear();
        }
    }

    fn lock(&mut self, lock: LockId) -> &mut LockWords {
        let words = &mut self.locks[lock.index()];
        if !words.is_touched {
            words.is_touched = true;
            self.touched.push(lock);
        }
        words
    }
}

impl LockWords {
    /// A kept step needs the lock free of holds that conflict with the mode.
    fn wants(&mut self, mode: Mode, step: u32) {
        self.any = self.any.max(Some(step));
        if mode == Mode::Exclusive {
            self.exclusive = self.exclusive.max(Some(step));
        }
    }

    /// Whether a kept step behind this one needs the lock free of a hold of the mode.
    fn is_wanted_after(&self, mode: Mode, step: u32) -> bool {
        let latest = if mode == Mode::Exclusive { self.any } else { self.exclusive };
        latest > Some(step)
    }
}

/// After all steps.
const END: u32 = u32::MAX;

/// One or more scans of a schedule.
struct Scan<'a> {
    checker: &'a Checker<'a>,
    trace: &'a Trace,
    recorded: &'a Recorded,
    schedule: &'a [EventId],
    ending: &'a Ending,
    words: &'a mut Words,
    /// A read whose value counts only if its thread keeps more than it, or the part joins it.
    free_read: Option<EventId>,
    tokens: Tokens,
    /// The posts that somebody needs, by number.
    posts: FxHashSet<(SemId, u32)>,
    /// The present scan has required an event behind the step where it was.
    is_open: bool,
}

impl Scan<'_> {
    /// What the violation itself needs. The threads that it is about keep all their events, but the
    /// one of a remote access only those up to it.
    fn require_violation(&mut self, violation: &Violation) {
        let remote = match *violation {
            Violation::Atomicity { remote, .. } => Some(remote),
            Violation::Race(..)
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..)
            | Violation::Assertion(_) => None,
        };
        for point in points(violation) {
            if Some(point) == remote {
                self.require_event(point);
            } else {
                self.require_all(self.trace.thread_of(point));
            }
        }
        match *violation {
            Violation::Race(access, _) => self.require_life(access),
            Violation::Stuck(_) => {
                for thread in self.trace.thread_ids() {
                    self.require(thread, self.ending.executed(thread));
                }
            }
            Violation::Lock(LockMisuse::UnlockByOther | LockMisuse::DestroyHeld, at) => {
                let lock = lock_of(self.trace.op(at));
                self.last_change_of_oldest_hold(lock)
                    .into_iter()
                    .for_each(|e| self.require_event(e));
            }
            Violation::Atomicity { .. }
            | Violation::LockCycle(_)
            | Violation::Lock(..)
            | Violation::Assertion(_) => {}
        }
    }

    /// The event that last opened or changed the oldest of the lock's holds that are open at the
    /// end.
    fn last_change_of_oldest_hold(&self, lock: LockId) -> Option<EventId> {
        let mut open: Vec<(u32, EventId)> = Vec::new();
        for &event in self.schedule {
            let rule = self.recorded.rule(event);
            if !rule.has_hold() || lock_of(self.trace.op(event)) != lock {
                continue;
            }
            let hold = self.recorded.hold(event);
            if rule.opens() {
                open.push((hold, event));
            } else if rule.closes() {
                open.retain(|&(other, _)| other != hold);
            } else {
                open.iter_mut().filter(|(other, _)| *other == hold).for_each(|open| open.1 = event);
            }
        }
        open.first().map(|&(_, changed)| changed)
    }

    /// Scans all steps, last to first.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn run(&mut self, violation: &Violation) {
        self.is_open = false;
        self.words.clear();
        self.posts.clear();
        self.tokens = Tokens::at(self.ending);
        if let Violation::Lock(LockMisuse::UnlockNotHeld, at) = *violation {
            self.words.lock(lock_of(self.trace.op(at))).wants(Mode::Exclusive, END);
        }
        for (step, &event) in self.schedule.iter().enumerate().rev() {
            let thread = self.trace.thread_of(event);
            let position = self.trace.position(event) as u32;
            let rule = self.recorded.rule(event);
            match rule {
                Rule::Read | Rule::Write | Rule::Rmw => self.access(event, rule, thread, position),
                Rule::Always | Rule::Fork => {}
                _ if rule.is_about_lock() => self.lock(step as u32, event, rule),
                _ => self.other(event, rule),
            }
            if position == 0 && self.words.kept.get(thread.index()) > 0 {
                self.require_start(thread);
            }
        }
        for index in 0..self.words.touched.len() {
            self.settle_failures(self.words.touched[index]);
        }
    }

    /// Whether nothing is left out, so that nothing more can be required.
    fn keeps_all(&self) -> bool {
        let mut threads = self.trace.thread_ids();
        threads.all(|thread| self.words.kept.get(thread.index()) >= self.ending.executed(thread))
    }

    fn part(&self) -> Vec<EventId> {
        self.schedule.iter().copied().filter(|&event| self.is_kept(event)).collect()
    }

    #[inline]
    fn access(&mut self, event: EventId, rule: Rule, thread: ThreadId, position: u32) {
        let span = self.recorded.span(event);
        let cells = span.first as usize..(span.first + span.count) as usize;
        if rule != Rule::Read {
            for cell in cells.clone() {
                if self.words.cells.get(cell) {
                    self.words.cells.set(cell, false);
                    self.require(thread, position + 1);
                }
            }
        }
        let kept = self.words.kept.get(thread.index());
        if position >= kept {
            return;
        }
        let is_free = self.free_read == Some(event) && kept == position + 1;
        let sees = rule != Rule::Write && !is_free && self.checker.reads != Reads::Free;
        if sees {
            cells.for_each(|cell| self.words.cells.set(cell, true));
            if self.recorded.follows_all(event) {
                self.require_all_before(event);
            }
        }
        self.require_life(event);
    }

    fn lock(&mut self, step: u32, event: EventId, rule: Rule) {
        let op = self.trace.op(event);
        let lock = lock_of(op);
        let hold = self.recorded.hold(event);
        if rule.opens() {
            self.opens(step, event, lock, hold);
            if let Some(&notifier) = self.ending.notifiers.get(&event)
                && self.is_kept(event)
            {
                self.require_event(self.schedule[notifier]);
            }
        } else if rule.closes() {
            // Often it is known already that the part opens the hold.
            let &Hold { mode, opener, .. } = self.recorded.holds.get(hold);
            if self.words.lock(lock).is_wanted_after(mode, step) && self.is_kept(opener) {
                self.require_event(event);
            }
            // In one thread the last change comes before anyway.
            let needs_change = rule == Rule::CloseForeign && self.is_kept(event);
            self.words.lock(lock).closings.push(Closing { hold, step, needs_change });
        } else if rule.has_hold() {
            let closings = &mut self.words.lock(lock).closings;
            let closing = closings.iter_mut().find(|closing| closing.hold == hold);
            if closing.is_some_and(|closing| std::mem::take(&mut closing.needs_change)) {
                self.require_event(event);
            }
        } else if self.is_kept(event) {
            match op {
                Op::AcquireFailed { mode, .. } => {
                    let failure = Failure { step, mode, obstacle: None };
                    self.words.lock(lock).failures.push(failure);
                }
                ops!(memory object data cond sem barrier thread call mark Acquire Release Destroy
                    Request) => self.words.lock(lock).wants(Mode::Exclusive, step),
            }
        }
    }

    fn opens(&mut self, step: u32, event: EventId, lock: LockId, hold: u32) {
        let mode = self.recorded.holds.get(hold).mode;
        let words = self.words.lock(lock);
        let closing = words.closings.iter().position(|closing| closing.hold == hold);
        let closing = closing.map(|index| words.closings.swap_remove(index));
        for failure in &mut words.failures {
            let is_open = closing.is_none_or(|closing| closing.step > failure.step);
            if is_open && mode.conflicts(failure.mode) {
                failure.obstacle = Some(event);
            }
        }
        // Whoever takes the lock for himself finds no older hold, but perhaps his own shared one.
        if mode == Mode::Exclusive {
            self.settle_failures(lock);
        }
        if closing.is_some_and(|closing| closing.needs_change) {
            self.require_event(event);
        }
        if !self.is_kept(event) {
            return;
        }
        let words = self.words.lock(lock);
        let in_the_way = closing.filter(|closing| words.is_wanted_after(mode, closing.step));
        words.wants(mode, step);
        if let Some(closing) = in_the_way {
            self.require_behind(self.schedule[closing.step as usize]);
        }
    }

    /// One hold that was in the way is enough; the oldest is the likeliest to be needed anyway.
    fn settle_failures(&mut self, lock: LockId) {
        let is_settled = |failure: &mut Failure| failure.obstacle.is_some();
        while let Some(failure) = self.words.lock(lock).failures.pop_if(is_settled) {
            failure.obstacle.into_iter().for_each(|obstacle| self.require_behind(obstacle));
        }
    }

    fn other(&mut self, event: EventId, rule: Rule) {
        let op = self.trace.op(event);
        if let Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } | Op::SemPost { sem } = op {
            return self.semaphore(event, op, sem);
        }
        let round = self.recorded.round(event);
        if rule == Rule::Arrive && self.words.rounds.get(round as usize) {
            self.require_event(event);
        }
        if !self.is_kept(event) {
            return;
        }
        match op {
            Op::Free { .. } => self.require_alloc(event),
            Op::Alloc { .. } => {
                let frees = self.recorded.frees_before(event);
                frees.iter().for_each(|&free| self.require_event(free));
            }
            Op::Join { child } => {
                self.require_all(child);
                self.free_read = self.free_read.filter(|&read| self.trace.thread_of(read) != child);
            }
            Op::Arrive { .. } if self.recorded.rounds[round as usize].index > 0 => {
                self.words.rounds.set(round as usize - 1, true);
            }
            Op::Leave { .. } => self.words.rounds.set(round as usize, true),
            Op::LeaveCall => {
                let needed = self.recorded.calls.needed_by(event);
                needed.iter().for_each(|&enter| self.require_event(enter));
            }
            ops!(memory data lock cond sem mark Arrive Request Fork Begin End Exit EnterCall) => {}
        }
    }

    fn semaphore(&mut self, event: EventId, op: Op, sem: SemId) {
        let number = match op {
            Op::SemWait { .. } => self.tokens.before_wait(sem),
            Op::SemPost { .. } => self.tokens.before_post(sem),
            ops!(memory object data lock cond barrier thread call mark SemWaitFailed Request) => 0,
        };
        // A failed wait found zero because of all that was done to the semaphore before.
        let is_post = matches!(op, Op::SemPost { .. });
        let is_needed = is_post && self.posts.contains(&(sem, number));
        if is_needed || self.words.semaphores.get(sem.index()) {
            self.require_event(event);
        }
        if !self.is_kept(event) {
            return;
        }
        match op {
            Op::SemWait { .. } => {
                let initial = self.recorded.semaphores[sem.index()];
                let post = u64::from(number).checked_sub(initial);
                self.posts.extend(post.map(|post| (sem, post as u32)));
            }
            Op::SemWaitFailed { .. } => self.words.semaphores.set(sem.index(), true),
            ops!(memory object data lock cond barrier thread call mark SemPost Request) => {}
        }
    }

    #[inline]
    fn is_kept(&self, event: EventId) -> bool {
        let kept = self.words.kept.get(self.trace.thread_of(event).index()) as usize;
        self.trace.position(event) < kept
    }

    /// The thread keeps at least that many events, none of which the scan has passed.
    #[inline]
    fn require(&mut self, thread: ThreadId, count: u32) {
        if self.words.kept.get(thread.index()) < count {
            self.words.kept.set(thread.index(), count);
        }
    }

    fn require_event(&mut self, event: EventId) {
        self.require(self.trace.thread_of(event), self.trace.position(event) as u32 + 1);
    }

    /// Requires an event that the scan may have passed.
    fn require_behind(&mut self, event: EventId) {
        if !self.is_kept(event) {
            self.require_event(event);
            self.is_open = true;
        }
    }

    fn require_all(&mut self, thread: ThreadId) {
        self.require_start(thread);
        self.require(thread, self.ending.executed(thread));
    }

    fn require_start(&mut self, thread: ThreadId) {
        if let Some(fork) = self.checker.recorded.forks[thread.index()] {
            self.require_event(fork);
        }
    }

    /// The object of an access needs its alloc.
    #[inline]
    fn require_life(&mut self, access: EventId) {
        if self.recorded.is_mortal(access) {
            self.require_alloc(access);
        }
    }

    fn require_alloc(&mut self, user: EventId) {
        let object = match self.trace.op(user) {
            Op::Free { object } => object,
            op @ ops!(memory data sync call mark Alloc) => {
                op.access().expect("an access or a free").at.object
            }
        };
        if let Some(alloc) = self.recorded.alloc_of(object) {
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
