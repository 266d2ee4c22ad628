//! Steps: what the formats without values (STD, RapidBin, CSV) have in common, and how they become
//! a trace.
//!
//! **Computes.** A trace from a list of small records, after `threads` has repaired the threads'
//! lives. Here mutual exclusion is checked, and the one repair made that it needs: a release that
//! was logged late.
//!
//! **Invariant.** *Late release.* T acquires a lock that H holds, and the next event of H is the
//! release that closes its hold. The release is moved before the acquire. No thread's own sequence
//! changes, no access is moved, so every read keeps its writer and every release its hold: the
//! repaired trace has exactly the feasible schedules that it would have if the acquire had been
//! logged early instead, and one of the two did happen, for a lock has one holder. Had H another
//! event before its release, or a deeper hold, the file is wrong in some other way: an error.
//!
//! **Cost.** O(n) time; the index of next events is made only when a late release is met.

use rustc_hash::FxHashMap;

use super::{ImportError, Position, Problem, threads};
use crate::provenance::Repair;
use crate::{
    Builder, Event, LocationId, LockId, MemoryOrder, Mode, Names, ObjectId, Op, Patience, Place,
    Request, SemId, ThreadId, Trace,
};

/// What a step does; its target is an object, lock, thread or semaphore accordingly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Read,
    Write,
    AtomicRead,
    AtomicWrite,
    Acquire,
    Release,
    Request,
    Fork,
    Join,
    Begin,
    End,
    Post,
    Await,
}

/// One record of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) what: What,
    pub(super) thread: ThreadId,
    /// For a fork or join: a number in `children` until `threads` makes it a thread.
    pub(super) target: u32,
    pub(super) location: Option<LocationId>,
}

/// How the number of a step leads back to its place in the file.
pub(super) enum Positions {
    /// Step i is line i + 1.
    Lines,
    /// Step i is the 64-bit word i after a header.
    Words { header: u64 },
    /// The line of each step.
    Listed(Vec<u32>),
}

/// All records of a file, with the names they use.
pub(super) struct Steps {
    pub(super) builder: Builder,
    pub(super) list: Vec<Step>,
    /// The threads that are forked or joined, as they are written there.
    pub(super) children: Names,
    pub(super) positions: Positions,
}

/// Event ids are 32 bits wide, and so are the numbers of steps.
const MOST_STEPS: usize = u32::MAX as usize - 1;

impl Steps {
    pub(super) fn new(positions: Positions) -> Self {
        Steps {
            builder: super::imported(),
            list: Vec::new(),
            children: Names::default(),
            positions,
        }
    }

    /// Appends a record. `target` is not looked at where `what` has none.
    pub(super) fn push(
        &mut self,
        thread: &str,
        what: What,
        target: &str,
        location: Option<&str>,
    ) -> Result<(), ImportError> {
        if self.list.len() >= MOST_STEPS {
            let problem = Problem::Unsupported("more than 2^32 - 2 events".into());
            return Err(problem.at(self.position(self.list.len())));
        }
        let thread = self.builder.thread(thread);
        let target = match what {
            What::Read | What::Write | What::AtomicRead | What::AtomicWrite => {
                self.builder.object(target).0
            }
            What::Acquire | What::Release | What::Request => self.builder.lock(target).0,
            What::Fork | What::Join => self.children.intern(target) as u32,
            What::Post | What::Await => self.builder.semaphore(target).0,
            What::Begin | What::End => 0,
        };
        let location = location.map(|location| self.builder.location(location));
        self.list.push(Step { what, thread, target, location });
        Ok(())
    }

    /// Repairs the named defects and makes the trace.
    pub(super) fn into_trace(mut self) -> Result<Trace, ImportError> {
        let dropped = threads::repair(&mut self)?;
        Emitter::new(self, dropped).run()
    }

    pub(super) fn position(&self, step: usize) -> Position {
        match &self.positions {
            Positions::Lines => Position::Line(step as u64 + 1),
            Positions::Words { header } => Position::Byte(header + 8 * step as u64),
            Positions::Listed(lines) => {
                lines.get(step).map_or(Position::File, |&line| Position::Line(line.into()))
            }
        }
    }

    pub(super) fn thread_name(&self, thread: ThreadId) -> &str {
        self.builder.so_far().name(thread)
    }
}

/// Who holds a lock, how deep, and since which step.
#[derive(Clone, Copy)]
struct Hold {
    thread: ThreadId,
    depth: u32,
    since: usize,
}

/// Turns steps into events in order, watching the locks.
struct Emitter {
    steps: Steps,
    dropped: Vec<bool>,
    holds: FxHashMap<LockId, Hold>,
    /// The last step of each thread that is kept.
    last: Vec<Option<usize>>,
    /// The next kept step of the same thread; made when first needed.
    next: Option<Vec<u32>>,
}

const NO_STEP: u32 = u32::MAX;

impl Emitter {
    fn new(steps: Steps, dropped: Vec<bool>) -> Self {
        let mut last = vec![None; steps.builder.so_far().threads().len()];
        for (number, step) in steps.list.iter().enumerate() {
            if !dropped[number] {
                last[step.thread.index()] = Some(number);
            }
        }
        Emitter { steps, dropped, holds: FxHashMap::default(), last, next: None }
    }

    fn run(mut self) -> Result<Trace, ImportError> {
        for number in 0..self.steps.list.len() {
            if self.dropped[number] {
                continue;
            }
            let step = self.steps.list[number];
            match step.what {
                What::Acquire => self.acquire(number, step)?,
                What::Release => self.release(number, step)?,
                What::Join => self.check_join(number, step)?,
                _ => {}
            }
            self.emit(step);
        }
        Ok(self.steps.builder.finish())
    }

    fn acquire(&mut self, number: usize, step: Step) -> Result<(), ImportError> {
        let lock = LockId(step.target);
        match self.holds.get_mut(&lock) {
            Some(hold) if hold.thread == step.thread => {
                hold.depth += 1;
                return Ok(());
            }
            Some(hold) => {
                let hold = *hold;
                let release = self.late_release(number, lock, hold)?;
                self.emit(self.steps.list[release]);
                self.dropped[release] = true;
                self.steps.builder.tell(Repair::LateRelease, 1);
            }
            None => {}
        }
        self.holds.insert(lock, Hold { thread: step.thread, depth: 1, since: number });
        Ok(())
    }

    /// The release that should have stood before step `number`, if that explains the file.
    fn late_release(
        &mut self,
        number: usize,
        lock: LockId,
        hold: Hold,
    ) -> Result<usize, ImportError> {
        let next = self.next.get_or_insert_with(|| next_steps(&self.steps.list, &self.dropped));
        // The hold was opened by a kept step of the holder; its later steps lead past this one.
        let mut found = None;
        let mut at = next[hold.since];
        while at != NO_STEP && found.is_none() {
            found = (at as usize > number && !self.dropped[at as usize]).then_some(at as usize);
            at = next[at as usize];
        }
        if let Some(release) = found
            && self.steps.list[release].what == What::Release
            && self.steps.list[release].target == lock.0
            && hold.depth == 1
        {
            return Ok(release);
        }
        let steps = &self.steps;
        let broken = format!(
            "{} acquires {}, which {} holds since {}",
            steps.thread_name(steps.list[number].thread),
            steps.builder.so_far().name(lock),
            steps.thread_name(hold.thread),
            steps.position(hold.since).to_string().trim_end_matches(": "),
        );
        let rule = "a lock has one holder, and the holder's next event is not its release";
        Err(Problem::rule(broken, rule).at(steps.position(number)))
    }

    fn release(&mut self, number: usize, step: Step) -> Result<(), ImportError> {
        let lock = LockId(step.target);
        match self.holds.get_mut(&lock) {
            Some(hold) if hold.thread == step.thread && hold.depth > 1 => hold.depth -= 1,
            Some(hold) if hold.thread == step.thread => {
                self.holds.remove(&lock);
            }
            // Taken as a lock error of the program, this would be a false alarm; and that the lock
            // was held until here, which keeps others out, would be lost. So neither is guessed.
            _ => {
                let broken = format!(
                    "{} releases {}, which it does not hold",
                    self.steps.thread_name(step.thread),
                    self.steps.builder.so_far().name(lock),
                );
                let rule = "in this format a release ends a recorded hold of its own thread";
                return Err(Problem::rule(broken, rule).at(self.steps.position(number)));
            }
        }
        Ok(())
    }

    fn check_join(&self, number: usize, step: Step) -> Result<(), ImportError> {
        let child = ThreadId(step.target);
        match self.last[child.index()] {
            Some(last) if last >= number => {
                let broken = format!(
                    "{} joins {}, which goes on at {}",
                    self.steps.thread_name(step.thread),
                    self.steps.thread_name(child),
                    self.steps.position(last).to_string().trim_end_matches(": "),
                );
                let rule = "a join returns after the last event of the joined thread";
                Err(Problem::rule(broken, rule).at(self.steps.position(number)))
            }
            _ => Ok(()),
        }
    }

    fn emit(&mut self, step: Step) {
        // An object of these formats is one indivisible cell: it is touched as a whole, so any
        // fixed size tells the same conflicts.
        let at = Place { object: ObjectId(step.target), offset: 0, size: 8 };
        let (lock, mode) = (LockId(step.target), Mode::Exclusive);
        let child = ThreadId(step.target);
        let sem = SemId(step.target);
        let op = match step.what {
            What::Read => Op::Read { at, value: None, order: MemoryOrder::Plain },
            What::Write => Op::Write { at, value: None, order: MemoryOrder::Plain },
            What::AtomicRead => Op::Read { at, value: None, order: MemoryOrder::SeqCst },
            What::AtomicWrite => Op::Write { at, value: None, order: MemoryOrder::SeqCst },
            What::Acquire => Op::Acquire { lock, mode, patience: Patience::Blocking },
            What::Release => Op::Release { lock, mode },
            What::Request => Op::Request(Request::Acquire(lock, mode)),
            What::Fork => Op::Fork { child },
            What::Join => Op::Join { child },
            What::Begin => Op::Begin,
            What::End => Op::End,
            What::Post => Op::SemPost { sem },
            // Timed, so that it orders but never counts as a thread that waits for ever.
            What::Await => Op::SemWait { sem, patience: Patience::Timed },
        };
        self.steps.builder.push(Event { thread: step.thread, op, location: step.location });
    }
}

/// For each step the next kept one of its thread.
fn next_steps(list: &[Step], dropped: &[bool]) -> Vec<u32> {
    let mut next = vec![NO_STEP; list.len()];
    let mut upcoming: FxHashMap<ThreadId, u32> = FxHashMap::default();
    for (number, step) in list.iter().enumerate().rev() {
        if !dropped[number] {
            next[number] = upcoming.insert(step.thread, number as u32).unwrap_or(NO_STEP);
        }
    }
    next
}
