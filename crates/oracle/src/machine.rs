//! The simulated machine on which random programs run.
//!
//! **Computes.** For one action of one thread, whether the machine lets it happen now, and if so
//! records it. Blocking operations either are tried again later, or record a `request` first and
//! then block the thread until they succeed, perhaps for ever.
//!
//! **Invariant.** What is recorded could have happened: an operation is recorded only when it
//! succeeds, or fails as a try or timed one may. How a wait will end is planned when it begins,
//! since what a signal may do depends on it.
//!
//! **Cost.** Linear in the few things there are.

use std::collections::BTreeMap;

use foretrace_trace::*;

use crate::profile::{Action, Profile};
use foretrace_testing::Random;

use expressions::Reckoning;

mod expressions;
mod locks;
mod memory;
mod moves;
mod scenes;
mod spices;
mod waiting;

/// What a thread is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pending {
    Acquire(LockId, Mode),
    SemWait(SemId),
    Join(usize),
    Wake,
    Leave,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    id: Option<ThreadId>,
    started: bool,
    done: bool,
    pending: Option<Pending>,
    open_regions: usize,
    /// The barrier that it has arrived at and not left, and the round.
    arrived: Option<(BarrierId, usize)>,
    /// What its names mean.
    names: Vec<(NameId, u64)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    thread: usize,
    lock: LockId,
    mode: Mode,
    depth: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reached {
    ByNothing,
    ByNotify,
    /// By a broadcast, or by a signal that found only waiters that were leaving anyway.
    Passed,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: usize,
    cond: CondId,
    held: Held,
    plan: WakeReason,
    reached: Reached,
}

#[derive(Clone, Copy, Debug)]
struct Lock {
    id: LockId,
    has_readers: bool,
    recursive: bool,
    destroyed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    id: ObjectId,
    size: u32,
    address: Option<u64>,
    live: bool,
    /// The access size that fits this block, where sizes are not mixed.
    unit: u32,
}

#[derive(Clone, Copy, Debug)]
struct Barrier {
    id: BarrierId,
    parties: usize,
    arrivals: usize,
    declared: bool,
}

/// The habits of one random program, in percent.
#[derive(Clone, Copy, Debug)]
struct Habits {
    requests: usize,
    atomic: usize,
    unvalued: usize,
    unknown_writers: usize,
    mixed_sizes: bool,
    begins: usize,
    /// How often a thread is one region from its first event on.
    regions: usize,
    ends: usize,
    tidies: usize,
    unlocated: usize,
    /// How often the running thread goes on.
    bursts: usize,
}

/// A program run in progress.
pub(crate) struct Machine {
    random: Random,
    profile: &'static Profile,
    habits: Habits,
    trace: Builder,
    length: usize,
    running: usize,
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    holds: Vec<Held>,
    conds: Vec<CondId>,
    waiters: Vec<Waiter>,
    semaphores: Vec<(SemId, u32)>,
    barriers: Vec<Barrier>,
    blocks: Vec<Block>,
    memory: BTreeMap<(ObjectId, u32), u8>,
    /// Whether and how the program computes with what it reads.
    reckoning: Option<Reckoning>,
}

impl Machine {
    pub(crate) fn new(mut random: Random, profile: &'static Profile, threads: usize) -> Self {
        let often = |random: &mut Random, levels: &[usize]| random.pick(levels);
        let habits = Habits {
            requests: often(&mut random, &[0, 30, 70]),
            atomic: often(&mut random, &[0, 0, 20, 60]),
            unvalued: often(&mut random, &[0, 0, 15, 60]),
            unknown_writers: often(&mut random, &[0, 0, 0, 20]),
            mixed_sizes: random.chance(35),
            begins: often(&mut random, &[0, 0, 50]),
            regions: often(&mut random, &[0, 0, 0, 40]),
            ends: often(&mut random, &[100, 100, 100, 60, 0]),
            tidies: often(&mut random, &[0, 60, 100]),
            unlocated: often(&mut random, &[0, 10, 40]),
            bursts: often(&mut random, &[0, 40, 70]),
        };
        let mut machine = Machine {
            random,
            profile,
            habits,
            trace: Trace::builder(),
            length: 0,
            running: 0,
            threads: vec![Thread::default(); threads],
            locks: Vec::new(),
            holds: Vec::new(),
            conds: Vec::new(),
            waiters: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
            blocks: Vec::new(),
            memory: BTreeMap::new(),
            reckoning: None,
        };
        machine.threads[0].started = true;
        for thread in 1..threads {
            machine.threads[thread].started = !machine.random.chance(profile.forked);
        }
        machine.furnish();
        machine
    }

    /// Makes the things that the program works on.
    fn furnish(&mut self) {
        for name in ["x", "y"].iter().take(1 + self.random.below(2)) {
            let unit = self.random.pick(&[1, 1, 1, 2, 4, 8]);
            let id = self.trace.object(name);
            self.blocks.push(Block { id, size: 16, address: None, live: true, unit });
            self.declare_contents(id, unit);
        }
        for number in 0..self.profile.locks + self.random.below(2) {
            let id = self.trace.lock(&format!("m{number}"));
            let has_readers = self.random.chance(self.profile.shared);
            let recursive = self.random.chance(self.profile.recursive);
            match self.random.below(3) {
                0 if recursive => self.trace.set_lock_kind(id, LockKind::Recursive),
                1 if !recursive => self.trace.set_lock_kind(id, LockKind::Plain),
                _ => {}
            }
            self.locks.push(Lock { id, has_readers, recursive, destroyed: false });
        }
        for number in 0..1 + self.random.below(2) {
            // A monitor's wait set has the name of its lock.
            let name =
                if self.random.chance(30) { format!("m{number}") } else { format!("c{number}") };
            let cond = self.trace.cond(&name);
            self.conds.push(cond);
        }
        for number in 0..1 + self.random.below(2) {
            let id = self.trace.semaphore(&format!("s{number}"));
            let count = self.random.below(3) as u32;
            if self.random.chance(60) {
                self.trace.set_semaphore(id, count);
            }
            self.semaphores.push((id, count));
        }
        let id = self.trace.barrier("b0");
        let parties = self.random.pick(&[2, 2, 2, 3, 1]);
        let declared = self.random.chance(50);
        self.barriers.push(Barrier { id, parties, arrivals: 0, declared });
    }

    fn declare_contents(&mut self, object: ObjectId, unit: u32) {
        if self.random.chance(50) {
            let place = Place { object, offset: 0, size: unit };
            let value = self.read_memory(place);
            self.trace.set_initial(place, value);
        }
    }

    /// How many events are recorded.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The thread that runs next: often the one that runs.
    pub(crate) fn schedule(&mut self) -> usize {
        let stays = self.is_idle(self.running) && self.random.chance(self.habits.bursts);
        if !stays {
            self.running = self.some_thread();
        }
        self.running
    }

    fn some_thread(&mut self) -> usize {
        self.random.below(self.threads.len())
    }

    pub(crate) fn is_started(&self, thread: usize) -> bool {
        self.threads[thread].started
    }

    pub(crate) fn action(&mut self) -> Action {
        self.profile.action(&mut self.random)
    }

    /// Makes the thread ready for something new: forks it, or completes what it is in the middle
    /// of. False if it has nothing new to do now.
    pub(crate) fn wake_up(&mut self, thread: usize) -> bool {
        if self.threads[thread].done {
            return false;
        }
        if !self.threads[thread].started {
            let parent = self.some_thread();
            if self.is_idle(parent) {
                let child = self.thread_id(thread);
                self.record(parent, Op::Fork { child });
                self.threads[thread].started = true;
            }
            return false;
        }
        match self.threads[thread].pending {
            Some(pending) => {
                self.resume(thread, pending);
                false
            }
            None => true,
        }
    }

    /// Whether the thread runs and is in the middle of nothing.
    pub(crate) fn is_idle(&self, thread: usize) -> bool {
        let thread = &self.threads[thread];
        thread.started && !thread.done && thread.pending.is_none()
    }

    fn thread_id(&mut self, thread: usize) -> ThreadId {
        let id = self.trace.thread(&format!("t{thread}"));
        self.threads[thread].id = Some(id);
        id
    }

    pub(crate) fn record(&mut self, thread: usize, op: Op) -> EventId {
        let is_new = !self.has_run(thread);
        let id = self.thread_id(thread);
        if is_new && self.random.chance(self.habits.begins) {
            self.push(id, Op::Begin);
        }
        if is_new && self.random.chance(self.habits.regions) {
            self.push(id, Op::RegionBegin);
            self.threads[thread].open_regions += 1;
        }
        self.push(id, op)
    }

    fn has_run(&self, thread: usize) -> bool {
        let id = self.threads[thread].id;
        self.trace.so_far().events().any(|(_, event)| Some(event.thread) == id)
    }

    fn push(&mut self, thread: ThreadId, op: Op) -> EventId {
        let location = if self.random.chance(self.habits.unlocated) {
            None
        } else {
            let line = 1 + self.random.below(4);
            Some(self.trace.location(&format!("a.c:{line}")))
        };
        self.length += 1;
        self.trace.push(Event { thread, op, location })
    }

    fn resume(&mut self, thread: usize, pending: Pending) {
        let op = match pending {
            Pending::Acquire(lock, mode) => {
                if !self.take(thread, lock, mode) {
                    return;
                }
                Op::Acquire { lock, mode, patience: Patience::Blocking }
            }
            Pending::SemWait(sem) => {
                if !self.decrement(sem) {
                    return;
                }
                Op::SemWait { sem, patience: Patience::Blocking }
            }
            Pending::Join(child) => {
                if !self.threads[child].done {
                    return;
                }
                Op::Join { child: self.thread_id(child) }
            }
            Pending::Wake => match self.end_wait(thread) {
                Some(wake) => wake,
                None => return,
            },
            Pending::Leave => match self.leave(thread) {
                Some(leave) => leave,
                None => return,
            },
        };
        self.record(thread, op);
        self.threads[thread].pending = None;
    }

    /// Tries one action of an idle thread. Nothing happens if it cannot be done now.
    pub(crate) fn act(&mut self, thread: usize, action: Action) {
        match action {
            Action::Read | Action::Write | Action::Rmw => self.access(thread, action),
            Action::Lock => self.lock(thread),
            Action::Unlock => self.unlock(thread),
            Action::Nest => self.nest(thread),
            Action::MisuseLock => self.misuse(thread),
            Action::Destroy => self.destroy(thread),
            Action::Wait => self.wait(thread),
            Action::Signal => self.signal(thread),
            Action::Broadcast => self.broadcast(thread),
            Action::SemWait => self.sem_wait(thread),
            Action::SemPost => {
                let chosen = self.random.below(self.semaphores.len());
                self.semaphores[chosen].1 += 1;
                self.record(thread, Op::SemPost { sem: self.semaphores[chosen].0 });
            }
            Action::Arrive => self.arrive(thread),
            Action::Leave => {
                if let Some(leave) = self.leave(thread) {
                    self.record(thread, leave);
                }
            }
            Action::Join => self.join(thread),
            Action::Alloc => self.alloc(thread),
            Action::Free => self.free(thread),
            Action::RegionBegin => {
                self.threads[thread].open_regions += 1;
                self.record(thread, Op::RegionBegin);
            }
            Action::RegionEnd => {
                if self.threads[thread].open_regions > 0 {
                    self.threads[thread].open_regions -= 1;
                    self.record(thread, Op::RegionEnd);
                }
            }
            Action::Annotate => self.annotate(thread),
            Action::Finish => {
                if self.random.chance(self.habits.ends) {
                    self.record(thread, Op::End);
                }
                self.threads[thread].done = true;
            }
        }
    }

    /// Gives back what the thread has, as most programs do before they end.
    pub(crate) fn tidy(&mut self, thread: usize) {
        if !self.random.chance(self.habits.tidies) {
            return;
        }
        while let Some(held) = self.holds.iter().rev().find(|held| held.thread == thread).copied() {
            if self.is_destroyed(held.lock) {
                return;
            }
            self.give(held);
            self.record(thread, Op::Release { lock: held.lock, mode: held.mode });
        }
    }

    /// Ends the process from some idle thread.
    pub(crate) fn exit(&mut self) {
        let idle = (0..self.threads.len()).find(|&thread| self.is_idle(thread));
        if let Some(thread) = idle {
            self.record(thread, Op::Exit);
        }
    }

    /// The trace. A barrier that the run used in another way than the theory would guess is
    /// declared.
    pub(crate) fn finish(mut self) -> Trace {
        for barrier in self.barriers.clone() {
            let mut users: Vec<ThreadId> = Vec::new();
            for (_, event) in self.trace.so_far().events() {
                if event.op == (Op::Arrive { barrier: barrier.id })
                    && !users.contains(&event.thread)
                {
                    users.push(event.thread);
                }
            }
            if barrier.declared || (!users.is_empty() && users.len() != barrier.parties) {
                self.trace.set_barrier(barrier.id, barrier.parties as u32);
            }
        }
        self.trace.finish()
    }

    fn impatience(&mut self) -> Patience {
        if self.random.chance(self.profile.impatient) {
            self.random.pick(&[Patience::Try, Patience::Timed])
        } else {
            Patience::Blocking
        }
    }

    /// Blocks the thread in an operation that is announced; only some programs announce them.
    fn request(&mut self, thread: usize, request: Request, pending: Pending) {
        if self.random.chance(self.habits.requests) {
            self.record(thread, Op::Request(request));
            self.threads[thread].pending = Some(pending);
        }
    }

    fn annotate(&mut self, thread: usize) {
        let op = match self.random.below(5) {
            0 => Op::Branch { taken: self.random.chance(50) },
            1 => Op::Assert { holds: true },
            2 => Op::Assume { holds: true },
            3 => Op::Fence { order: MemoryOrder::SeqCst },
            _ => Op::External,
        };
        self.record(thread, op);
    }
}
