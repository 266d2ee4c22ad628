//! Generates the trace of a server-like program, of any length.
//!
//! **Computes.** A run of sixteen threads: `main` fills the shared variables, forks fifteen
//! workers, joins them and reads the results. A worker's life is a sequence of jobs: work on its
//! own variables, critical sections (nested ones too, and reader-writer locks) over the variables
//! that a lock guards, queues with condition variables, permits of semaphores, atomic counters,
//! blocks of heap memory, and now and then an access that forgot its lock.
//!
//! **Invariant.** The run is valid: it is simulated step by step, with values, and a worker that
//! would block is not scheduled. Equal arguments give equal traces on every machine.

use std::collections::VecDeque;

use foretrace_trace::*;

use foretrace_testing::Random;

const WORKERS: usize = 15;
const LOCKS: usize = 128;
/// The first so many locks are reader-writer locks.
const READ_WRITE: usize = 16;
const GUARDED: usize = 32;
const OWN: usize = 64;
const UNGUARDED: usize = 64;
const QUEUES: usize = 8;
const SEMAPHORES: usize = 4;
const LOCATIONS: usize = 200;
/// One object of heap memory in so many jobs.
const JOBS_PER_BLOCK: usize = 400;

/// A run of exactly so many events, which must be 10,000 at least.
pub(crate) fn generate(events: usize) -> Trace {
    let mut run = Run::new();
    run.fill();
    // What is planned when the workers are told to stop still has to be done; so has the end of
    // main.
    let reserve = WORKERS * 64 + 4 * GUARDED;
    while run.count + reserve < events {
        let worker = run.random.below(WORKERS);
        run.burst(worker, true);
    }
    run.drain();
    run.read_results(events);
    run.builder.finish()
}

/// One thing that a worker is going to do.
#[derive(Clone, Copy)]
enum Step {
    Read(usize),
    Write(usize),
    AtomicAdd(usize),
    Branch,
    Acquire(usize, Mode),
    Release(usize, Mode),
    /// Takes an item of a queue, or waits for one.
    Take(usize),
    Wake(usize),
    Put(usize),
    Permit(usize),
    Post(usize),
    RegionBegin,
    RegionEnd,
    Alloc,
    Use(bool),
    Free,
}

struct Variable {
    place: Place,
    value: u64,
}

#[derive(Default)]
struct Worker {
    plan: VecDeque<(Step, usize)>,
    block: Option<Place>,
    jobs: usize,
    /// May not be interrupted before its plan is done.
    urgent: bool,
}

#[derive(Default)]
struct Queue {
    items: usize,
    /// Workers in the order in which they wait, and those that a signal has reached.
    waiting: VecDeque<usize>,
    notified: Vec<usize>,
}

struct Run {
    random: Random,
    builder: Builder,
    count: usize,
    main: ThreadId,
    threads: Vec<ThreadId>,
    workers: Vec<Worker>,
    locations: Vec<LocationId>,
    locks: Vec<LockId>,
    conds: Vec<CondId>,
    semaphores: Vec<SemId>,
    /// Who holds each lock: one exclusively, or some shared.
    holders: Vec<(Option<usize>, usize)>,
    variables: Vec<Variable>,
    queues: Vec<Queue>,
    permits: Vec<usize>,
    blocks: usize,
}

/// Locks, queues' locks behind them.
const ALL_LOCKS: usize = LOCKS + QUEUES;
const FIRST_OWN: usize = LOCKS * GUARDED;
const FIRST_UNGUARDED: usize = FIRST_OWN + WORKERS * OWN;
const FIRST_QUEUE: usize = FIRST_UNGUARDED + UNGUARDED;
const VARIABLES: usize = FIRST_QUEUE + QUEUES;

impl Run {
    fn new() -> Run {
        let mut builder = Trace::builder();
        let main = builder.thread("main");
        let threads = (1..=WORKERS).map(|n| builder.thread(&format!("worker{n}"))).collect();
        let location = |n: usize| format!("server.c:{}", 20 + 7 * n);
        let locations = (0..LOCATIONS).map(|n| builder.location(&location(n))).collect();
        let locks = (0..ALL_LOCKS).map(|n| builder.lock(&format!("lock{n}"))).collect();
        let conds = (0..QUEUES).map(|n| builder.cond(&format!("filled{n}"))).collect();
        let semaphores: Vec<SemId> =
            (0..SEMAPHORES).map(|n| builder.semaphore(&format!("permits{n}"))).collect();
        semaphores.iter().for_each(|&semaphore| builder.set_semaphore(semaphore, 3));
        let mut variables = Vec::new();
        while variables.len() < VARIABLES {
            let nth = variables.len();
            // Some objects are structs of four fields, all others are scalars.
            let object = builder.object(&format!("v{nth}"));
            let fields = if nth % 32 == 0 && nth + 4 <= FIRST_UNGUARDED { 4 } else { 1 };
            let size = [4, 8, 4, 1][nth % 4];
            for field in 0..fields {
                let place = Place { object, offset: field * size, size };
                variables.push(Variable { place, value: 0 });
            }
        }
        Run {
            random: Random::new(1),
            builder,
            count: 0,
            main,
            threads,
            workers: (0..WORKERS).map(|_| Worker::default()).collect(),
            locations,
            locks,
            conds,
            semaphores,
            holders: vec![(None, 0); ALL_LOCKS],
            variables,
            queues: (0..QUEUES).map(|_| Queue::default()).collect(),
            permits: vec![3; SEMAPHORES],
            blocks: 0,
        }
    }

    fn push(&mut self, thread: ThreadId, op: Op, location: usize) -> EventId {
        self.count += 1;
        let location = Some(self.locations[location % LOCATIONS]);
        self.builder.push(Event { thread, op, location })
    }

    fn push_read(&mut self, thread: ThreadId, variable: usize, location: usize) {
        let Variable { place: at, value } = self.variables[variable];
        let op = Op::Read { at, value: Some(value), order: MemoryOrder::Plain };
        self.push(thread, op, location);
    }

    fn push_write(&mut self, thread: ThreadId, variable: usize, location: usize) {
        let bits = 8 * self.variables[variable].place.size;
        // Programs write few values, and small ones.
        let value = (self.random.number() % 100) & (u64::MAX >> (64 - bits));
        self.variables[variable].value = value;
        let at = self.variables[variable].place;
        let op = Op::Write { at, value: Some(value), order: MemoryOrder::Plain };
        self.push(thread, op, location);
    }

    /// Main writes the shared variables and starts the workers.
    fn fill(&mut self) {
        self.push(self.main, Op::Begin, 0);
        for variable in 0..FIRST_OWN {
            self.push_write(self.main, variable, 1 + variable / GUARDED % 4);
        }
        for worker in 0..WORKERS {
            let child = self.threads[worker];
            self.push(self.main, Op::Fork { child }, 5);
        }
        for worker in 0..WORKERS {
            self.push(self.threads[worker], Op::Begin, 6);
        }
    }

    /// Lets a worker do some steps.
    fn burst(&mut self, worker: usize, plans: bool) -> bool {
        let mut did = false;
        let mut left: usize = 1 + self.random.below(12);
        while left > 0 || self.workers[worker].urgent {
            if self.workers[worker].plan.is_empty() {
                self.workers[worker].urgent = false;
                if !plans || left == 0 {
                    return did;
                }
                self.plan(worker);
            }
            let (step, location) = self.workers[worker].plan[0];
            if !self.can(worker, step) {
                return did;
            }
            self.workers[worker].plan.pop_front();
            self.execute(worker, step, location);
            did = true;
            left = left.saturating_sub(1);
        }
        did
    }

    fn can(&self, worker: usize, step: Step) -> bool {
        match step {
            Step::Acquire(lock, mode) => {
                let (owner, readers) = self.holders[lock];
                owner.is_none() && (mode == Mode::Shared || readers == 0)
            }
            Step::Wake(queue) => {
                self.queues[queue].notified.contains(&worker)
                    && self.holders[LOCKS + queue].0.is_none()
            }
            Step::Permit(semaphore) => self.permits[semaphore] > 0,
            _ => true,
        }
    }

    fn execute(&mut self, worker: usize, step: Step, location: usize) {
        let thread = self.threads[worker];
        match step {
            Step::Read(variable) => self.push_read(thread, variable, location),
            Step::Write(variable) => self.push_write(thread, variable, location),
            Step::AtomicAdd(variable) => {
                let Variable { place: at, value } = &mut self.variables[variable];
                let (at, read) = (*at, *value);
                *value = (*value + 1) % 100;
                let (read, written) = (Some(read), Some(*value));
                self.push(
                    thread,
                    Op::Rmw { at, read, written, order: MemoryOrder::SeqCst },
                    location,
                );
            }
            Step::Branch => {
                let taken = self.random.chance(70);
                self.push(thread, Op::Branch { taken }, location);
            }
            Step::Acquire(at, mode) => {
                self.hold(worker, at, mode);
                let (lock, patience) = (self.locks[at], Patience::Blocking);
                self.push(thread, Op::Acquire { lock, mode, patience }, location);
            }
            Step::Release(at, mode) => {
                match mode {
                    Mode::Exclusive => self.holders[at].0 = None,
                    Mode::Shared => self.holders[at].1 -= 1,
                }
                self.push(thread, Op::Release { lock: self.locks[at], mode }, location);
            }
            Step::Take(queue) => self.take(worker, queue, location),
            Step::Wake(queue) => {
                self.queues[queue].notified.retain(|&other| other != worker);
                self.hold(worker, LOCKS + queue, Mode::Exclusive);
                let (cond, lock) = (self.conds[queue], self.locks[LOCKS + queue]);
                self.push(thread, Op::Wake { cond, lock, reason: WakeReason::Notified }, location);
                self.workers[worker].plan.push_front((Step::Take(queue), location));
            }
            Step::Put(queue) => {
                self.push_write(thread, FIRST_QUEUE + queue, location);
                self.queues[queue].items += 1;
                let woken = self.queues[queue].waiting.pop_front();
                self.queues[queue].notified.extend(woken);
                self.push(thread, Op::Signal { cond: self.conds[queue] }, location + 1);
            }
            Step::Permit(at) => {
                self.permits[at] -= 1;
                let (sem, patience) = (self.semaphores[at], Patience::Blocking);
                self.push(thread, Op::SemWait { sem, patience }, location);
            }
            Step::Post(at) => {
                self.permits[at] += 1;
                self.push(thread, Op::SemPost { sem: self.semaphores[at] }, location);
            }
            Step::RegionBegin => drop(self.push(thread, Op::RegionBegin, location)),
            Step::RegionEnd => drop(self.push(thread, Op::RegionEnd, location)),
            Step::Alloc => {
                let object = self.builder.object(&format!("block{}", self.blocks));
                let address = Some(0x10000 + 64 * (self.blocks % 512) as u64);
                self.blocks += 1;
                self.workers[worker].block = Some(Place { object, offset: 0, size: 8 });
                self.push(thread, Op::Alloc { object, size: 64, address }, location);
            }
            Step::Use(writes) => {
                let Some(at) = self.workers[worker].block else { return };
                let (value, order) = (None, MemoryOrder::Plain);
                let read = Op::Read { at, value, order };
                let op = if writes { Op::Write { at, value, order } } else { read };
                self.push(thread, op, location);
            }
            Step::Free => {
                let Some(at) = self.workers[worker].block.take() else { return };
                self.push(thread, Op::Free { object: at.object }, location);
            }
        }
    }

    fn hold(&mut self, worker: usize, lock: usize, mode: Mode) {
        match mode {
            Mode::Exclusive => self.holders[lock].0 = Some(worker),
            Mode::Shared => self.holders[lock].1 += 1,
        }
    }

    /// Takes an item, or waits and tries again after the wake. The queue's lock is held.
    fn take(&mut self, worker: usize, queue: usize, location: usize) {
        let thread = self.threads[worker];
        self.push_read(thread, FIRST_QUEUE + queue, location);
        if self.queues[queue].items > 0 {
            self.queues[queue].items -= 1;
            self.push_write(thread, FIRST_QUEUE + queue, location + 1);
            return;
        }
        self.holders[LOCKS + queue].0 = None;
        self.queues[queue].waiting.push_back(worker);
        let (cond, lock) = (self.conds[queue], self.locks[LOCKS + queue]);
        self.push(thread, Op::Wait { cond, lock, timed: false }, location + 2);
        self.workers[worker].plan.push_front((Step::Wake(queue), location + 2));
    }

    /// Plans the next job of a worker.
    fn plan(&mut self, worker: usize) {
        let mut plan = std::mem::take(&mut self.workers[worker].plan);
        self.workers[worker].jobs += 1;
        let kind = self.random.below(100);
        // What is done together is on neighbouring lines.
        match kind {
            0..25 => {
                for _ in 0..4 + self.random.below(8) {
                    let nth = self.random.below(OWN);
                    let variable = FIRST_OWN + worker * OWN + nth;
                    plan.push_back((Step::Read(variable), 10 + nth % 8));
                    if nth.is_multiple_of(3) {
                        plan.push_back((Step::Branch, 18));
                    }
                    plan.push_back((Step::Write(variable), 19 + nth % 8));
                }
            }
            25..64 => {
                let lock = READ_WRITE + self.random.below(LOCKS - READ_WRITE);
                self.section(&mut plan, lock, Mode::Exclusive, None);
            }
            64..78 => {
                // In the order of their numbers, so that the recorded run does not deadlock.
                let outer = READ_WRITE + self.random.below(LOCKS - READ_WRITE - 1);
                let inner = outer + 1 + self.random.below((LOCKS - 1 - outer).min(6));
                self.section(&mut plan, outer, Mode::Exclusive, Some(inner));
            }
            78..90 => {
                let mode = if self.random.chance(80) { Mode::Shared } else { Mode::Exclusive };
                let lock = self.random.below(READ_WRITE);
                self.section(&mut plan, lock, mode, None);
            }
            90..94 => {
                let queue = self.random.below(QUEUES);
                // Half the workers produce, and sometimes the others do: no queue is left alone.
                let puts = self.random.chance(if worker < WORKERS / 2 { 90 } else { 20 });
                let step = if puts { Step::Put(queue) } else { Step::Take(queue) };
                let line = if puts { 150 } else { 155 };
                plan.push_back((Step::Acquire(LOCKS + queue, Mode::Exclusive), line - 1));
                plan.push_back((step, line));
                plan.push_back((Step::Release(LOCKS + queue, Mode::Exclusive), line + 4));
            }
            94..96 => {
                let semaphore = self.random.below(SEMAPHORES);
                plan.push_back((Step::Permit(semaphore), 160 + semaphore));
                for _ in 0..3 {
                    let variable = FIRST_OWN + worker * OWN + self.random.below(OWN);
                    plan.push_back((Step::Write(variable), 165 + semaphore));
                }
                plan.push_back((Step::Post(semaphore), 170 + semaphore));
            }
            96..98 => {
                let variable = FIRST_UNGUARDED + self.random.below(UNGUARDED / 2);
                plan.push_back((Step::AtomicAdd(variable), 175 + variable % 4));
            }
            _ => self.careless(worker, &mut plan),
        }
        if self.workers[worker].jobs.is_multiple_of(JOBS_PER_BLOCK) {
            let steps =
                [Step::Alloc, Step::Use(true), Step::Use(false), Step::Use(true), Step::Free];
            plan.extend(steps.into_iter().zip(180..));
        }
        self.workers[worker].plan = plan;
    }

    /// Accesses that forgot their lock, and locks in the wrong order.
    fn careless(&mut self, worker: usize, plan: &mut VecDeque<(Step, usize)>) {
        if self.random.chance(60) {
            let variable = FIRST_UNGUARDED + UNGUARDED / 2 + self.random.below(UNGUARDED / 2);
            plan.push_back((Step::Read(variable), 190 + variable % 3));
            plan.push_back((Step::Write(variable), 193 + variable % 3));
            return;
        }
        if self.random.chance(60) {
            // A guarded variable read without its lock.
            let variable = READ_WRITE * GUARDED + self.random.below(8) * GUARDED;
            plan.push_back((Step::Read(variable), 196));
            return;
        }
        let inner = READ_WRITE + self.random.below(8);
        let outer = inner + 1;
        let free = |lock: usize| self.holders[lock] == (None, 0);
        if free(inner) && free(outer) {
            self.workers[worker].urgent = true;
            self.section(plan, outer, Mode::Exclusive, Some(inner));
        } else {
            plan.push_back((Step::Branch, 199));
        }
    }

    fn section(
        &mut self,
        plan: &mut VecDeque<(Step, usize)>,
        lock: usize,
        mode: Mode,
        inner: Option<usize>,
    ) {
        // Each of a few functions has locks that are its business.
        let line = 30 + 10 * (lock % 11);
        let marked = inner.is_none() && self.random.chance(3);
        if marked {
            plan.push_back((Step::RegionBegin, line));
        }
        plan.push_back((Step::Acquire(lock, mode), line + 1));
        self.accesses(plan, lock, mode, line + 2);
        if let Some(inner) = inner {
            plan.push_back((Step::Acquire(inner, Mode::Exclusive), line + 5));
            self.accesses(plan, inner, Mode::Exclusive, line + 6);
            plan.push_back((Step::Release(inner, Mode::Exclusive), line + 8));
        }
        plan.push_back((Step::Release(lock, mode), line + 9));
        if marked {
            plan.push_back((Step::RegionEnd, line));
        }
    }

    fn accesses(
        &mut self,
        plan: &mut VecDeque<(Step, usize)>,
        lock: usize,
        mode: Mode,
        line: usize,
    ) {
        for _ in 0..1 + self.random.below(4) {
            let variable = lock * GUARDED + self.random.below(GUARDED);
            plan.push_back((Step::Read(variable), line));
            if mode == Mode::Exclusive && self.random.chance(60) {
                plan.push_back((Step::Write(variable), line + 1));
            }
        }
    }

    /// Lets the workers finish what they have begun.
    fn drain(&mut self) {
        loop {
            let mut did = false;
            for worker in 0..WORKERS {
                did |= self.burst(worker, false);
            }
            if did {
                continue;
            }
            // Who still waits gets an item from a worker that has nothing to do.
            let Some(queue) = (0..QUEUES).find(|&at| !self.queues[at].waiting.is_empty()) else {
                break;
            };
            let idle = (0..WORKERS).find(|&at| self.workers[at].plan.is_empty());
            let Some(idle) = idle else { break };
            let plan = &mut self.workers[idle].plan;
            plan.push_back((Step::Acquire(LOCKS + queue, Mode::Exclusive), 149));
            plan.push_back((Step::Put(queue), 150));
            plan.push_back((Step::Release(LOCKS + queue, Mode::Exclusive), 154));
        }
        for worker in 0..WORKERS {
            if self.workers[worker].plan.is_empty() {
                self.push(self.threads[worker], Op::End, 7);
            }
        }
    }

    /// Main joins the workers and reads until the trace has its length.
    fn read_results(&mut self, events: usize) {
        for worker in 0..WORKERS {
            if self.workers[worker].plan.is_empty() {
                let child = self.threads[worker];
                self.push(self.main, Op::Join { child }, 8);
            }
        }
        while self.count < events {
            let variable = self.random.below(FIRST_OWN);
            self.push_read(self.main, variable, 9);
        }
    }
}
