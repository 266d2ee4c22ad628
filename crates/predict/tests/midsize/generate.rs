//! Random runs of a few hundred events, the same for the same seed.
//!
//! **Computes.** Lets four to six threads take random steps on a small machine: nested critical
//! sections over locks in any order and both modes, plain and atomic accesses of few bytes with few
//! values, semaphores, condition variables, regions, forks and joins. In every other run they
//! compute with what they read, branch on it and assert of it. Nobody ever blocks: a step that
//! would is not taken. At the end everything that is open is closed, so the trace is valid and its
//! threads end.
//!
//! Source locations are few compared with the events, so that classes have many members of several
//! threads.

pub(crate) use foretrace_testing::Random;
use std::collections::{BTreeMap, VecDeque};

use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::*;

/// How large and how tangled a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    threads: usize,
    events: usize,
    locks: usize,
    objects: usize,
    /// How many source locations each kind of step has for one object or lock.
    sites: usize,
    values: u64,
    /// Each object has a lock of its own, which is held at most accesses: violations are rare, and
    /// a class has one among many members.
    disciplined: bool,
    /// One access in so many is careless: outside all critical sections, or under the wrong lock.
    careless: usize,
    /// What is stored, and which way branches go, may be computed from what was read.
    computing: bool,
}

impl Shape {
    pub(crate) fn new(seed: u64) -> Shape {
        let mut random = Random::new(seed ^ 0x5eed);
        // Most runs are short, so that there can be many.
        let events = if seed % 10 == 9 { 350 + random.below(251) } else { 200 + random.below(100) };
        let disciplined = random.below(3) > 0;
        Shape {
            threads: 4 + random.below(3),
            events,
            locks: 2 + random.below(4),
            objects: if disciplined {
                1 + random.below(3)
            } else {
                4 + events / 50 + random.below(8)
            },
            sites: if disciplined { 1 + random.below(3) } else { 2 + random.below(8) },
            values: 1 + random.below(3) as u64,
            disciplined,
            careless: if disciplined { 15 + random.below(60) } else { 2 + random.below(12) },
            computing: random.one_in(2),
        }
    }
}

/// The trace of a seed.
pub(crate) fn generate(seed: u64) -> Trace {
    Machine::new(seed, Shape::new(seed)).run()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    NotForked,
    Running,
    /// In a wait; `true` if a signal or broadcast has reached it.
    Waiting(CondId, LockId, bool),
    Over,
}

struct Machine {
    random: Random,
    shape: Shape,
    builder: Builder,
    stages: Vec<Stage>,
    /// What each thread holds, innermost last.
    holds: Vec<Vec<(LockId, Mode)>>,
    in_region: Vec<bool>,
    /// The four two-byte cells of each object; `None` after a store whose value is not recorded.
    memory: BTreeMap<(u32, u32), Option<u64>>,
    counts: [u32; 2],
    waiting: VecDeque<ThreadId>,
    /// What each thread's name for what it read is worth.
    read: Vec<Option<u64>>,
}

impl Machine {
    fn new(seed: u64, shape: Shape) -> Self {
        let mut builder = Trace::builder();
        for thread in 0..shape.threads {
            builder.thread(&format!("t{thread}"));
        }
        for lock in 0..shape.locks {
            builder.lock(&format!("l{lock}"));
        }
        let mut memory = BTreeMap::new();
        for object in 0..shape.objects {
            let object = builder.object(&format!("x{object}"));
            builder.set_initial(Place { object, offset: 0, size: 8 }, 0);
            for cell in 0..4 {
                memory.insert((object.0, 2 * cell), Some(0));
            }
        }
        for (at, name) in ["s0", "s1"].iter().enumerate() {
            let semaphore = builder.semaphore(name);
            builder.set_semaphore(semaphore, at as u32);
        }
        builder.cond("c");
        let mut stages = vec![Stage::NotForked; shape.threads];
        stages[0] = Stage::Running;
        Machine {
            random: Random::new(seed),
            shape,
            builder,
            stages,
            holds: vec![Vec::new(); shape.threads],
            in_region: vec![false; shape.threads],
            memory,
            counts: [0, 1],
            waiting: VecDeque::new(),
            read: vec![None; shape.threads],
        }
    }

    fn run(mut self) -> Trace {
        while self.builder.so_far().len() < self.shape.events {
            let thread = ThreadId(self.random.below(self.shape.threads) as u32);
            match self.stages[thread.index()] {
                Stage::Running => self.step(thread),
                Stage::Waiting(_, lock, true) => self.wake(thread, lock),
                // Threads start at different times, so fork order refutes something.
                Stage::NotForked if self.random.one_in(4) => self.fork(thread),
                _ => {}
            }
        }
        self.wind_down();
        self.builder.finish()
    }

    fn push(&mut self, thread: ThreadId, op: Op, site: &str) {
        let number = self.random.below(self.shape.sites);
        // Now and then an event has no location: then it is its own.
        let location =
            (!self.random.one_in(40)).then(|| self.builder.location(&format!("{site}.{number}")));
        self.builder.push(Event { thread, op, location });
    }

    /// Computes with what the thread read last: an expression and its value, below 4.
    fn compute(&mut self, thread: ThreadId) -> Option<(Expr, u64)> {
        let read = self.read[thread.index()].filter(|_| self.shape.computing)?;
        let other = self.random.below(4) as u64;
        let binary = |op, left, right| Expr::Binary(op, Box::new(left), Box::new(right));
        let name = Expr::Name(self.builder.name("r"));
        let changed = binary(BinaryOp::Xor, name, Expr::Literal(other));
        Some((binary(BinaryOp::And, changed, Expr::Literal(3)), (read ^ other) & 3))
    }

    /// A branch on what was computed, or an assertion of it.
    fn judge(&mut self, thread: ThreadId) {
        let Some((computed, value)) = self.compute(thread) else { return };
        let bound = 1 + self.random.below(3) as u64;
        let holds = value < bound;
        let (op, name) = match self.random.one_in(3) {
            true => (Op::Assert { holds }, "assert"),
            false => (Op::Branch { taken: holds }, "branch"),
        };
        let event = EventId::from(self.builder.so_far().len());
        self.push(thread, op, name);
        let (left, right) = (Box::new(computed), Box::new(Expr::Literal(bound)));
        self.builder.express(event, Expr::Binary(BinaryOp::Lt, left, right));
    }

    fn step(&mut self, thread: ThreadId) {
        let held = self.holds[thread.index()].len();
        match self.random.below(100) {
            0..14 => self.acquire(thread),
            14..28 if held > 0 => self.release(thread),
            28..30 => self.semaphore(thread),
            30..33 => self.condition(thread),
            33..35 => self.region(thread),
            // Regions are short: triples of accesses are many.
            35..50 if self.in_region[thread.index()] => self.region(thread),
            _ if held > 0 || self.random.one_in(self.shape.careless) => self.access(thread),
            _ => self.acquire(thread),
        }
    }

    fn fork(&mut self, child: ThreadId) {
        let running = (0..self.shape.threads).find(|&at| self.stages[at] == Stage::Running);
        if let Some(parent) = running {
            self.push(ThreadId(parent as u32), Op::Fork { child }, "fork");
            self.stages[child.index()] = Stage::Running;
        }
    }

    fn is_free(&self, thread: ThreadId, lock: LockId, mode: Mode) -> bool {
        self.holds.iter().enumerate().all(|(holder, holds)| {
            holds.iter().all(|&(held, how)| {
                held != lock || (holder != thread.index() && !mode.conflicts(how))
            })
        })
    }

    fn acquire(&mut self, thread: ThreadId) {
        let lock = LockId(self.random.below(self.shape.locks) as u32);
        let mode = if self.random.one_in(5) { Mode::Shared } else { Mode::Exclusive };
        let patience = if self.random.one_in(8) { Patience::Try } else { Patience::Blocking };
        let own = self.holds[thread.index()].iter().any(|&(held, _)| held == lock);
        let site = format!("lock{}", lock.0);
        if own || self.holds[thread.index()].len() >= 3 {
            return;
        }
        if self.is_free(thread, lock, mode) {
            self.holds[thread.index()].push((lock, mode));
            self.push(thread, Op::Acquire { lock, mode, patience }, &site);
        } else if patience == Patience::Try {
            self.push(thread, Op::AcquireFailed { lock, mode, patience }, &site);
        }
    }

    fn release(&mut self, thread: ThreadId) {
        let holds = &mut self.holds[thread.index()];
        // Not always the innermost first.
        let at = if holds.len() > 1 && self.random.one_in(4) {
            holds.len() - 2
        } else {
            holds.len() - 1
        };
        let (lock, mode) = holds.remove(at);
        self.push(thread, Op::Release { lock, mode }, &format!("unlock{}", lock.0));
    }

    fn semaphore(&mut self, thread: ThreadId) {
        let sem = SemId(self.random.below(2) as u32);
        let count = &mut self.counts[sem.index()];
        let site = format!("sem{}", sem.0);
        if self.random.one_in(2) {
            *count += 1;
            self.push(thread, Op::SemPost { sem }, &site);
        } else if *count > 0 {
            *count -= 1;
            self.push(thread, Op::SemWait { sem, patience: Patience::Blocking }, &site);
        } else {
            self.push(thread, Op::SemWaitFailed { sem, patience: Patience::Try }, &site);
        }
    }

    fn condition(&mut self, thread: ThreadId) {
        let cond = CondId(0);
        let innermost = self.holds[thread.index()].last().copied();
        match (self.random.below(4), innermost) {
            (0, _) => {
                self.notify(usize::MAX);
                self.push(thread, Op::Broadcast { cond }, "notify");
            }
            (1, _) => {
                self.notify(1);
                self.push(thread, Op::Signal { cond }, "notify");
            }
            // Somebody must be left to go on.
            (_, Some((lock, Mode::Exclusive))) if self.running() > 2 => {
                self.holds[thread.index()].pop();
                self.stages[thread.index()] = Stage::Waiting(cond, lock, false);
                self.waiting.push_back(thread);
                self.push(thread, Op::Wait { cond, lock, timed: false }, "wait");
            }
            _ => {}
        }
    }

    fn running(&self) -> usize {
        self.stages.iter().filter(|&&stage| stage == Stage::Running).count()
    }

    fn notify(&mut self, most: usize) {
        for _ in 0..most {
            let Some(thread) = self.waiting.pop_front() else { return };
            let Stage::Waiting(cond, lock, _) = self.stages[thread.index()] else { unreachable!() };
            self.stages[thread.index()] = Stage::Waiting(cond, lock, true);
        }
    }

    fn wake(&mut self, thread: ThreadId, lock: LockId) {
        if self.is_free(thread, lock, Mode::Exclusive) {
            self.holds[thread.index()].push((lock, Mode::Exclusive));
            self.stages[thread.index()] = Stage::Running;
            let (cond, reason) = (CondId(0), WakeReason::Notified);
            self.push(thread, Op::Wake { cond, lock, reason }, "wake");
        }
    }

    fn region(&mut self, thread: ThreadId) {
        let inside = &mut self.in_region[thread.index()];
        *inside = !*inside;
        let op = if *inside { Op::RegionBegin } else { Op::RegionEnd };
        self.push(thread, op, "region");
    }

    fn access(&mut self, thread: ThreadId) {
        let careless = self.random.one_in(self.shape.careless);
        let object = if self.shape.disciplined && !careless {
            match self.guarded_object(thread) {
                Some(object) => object,
                None => return,
            }
        } else {
            ObjectId(self.random.below(self.shape.objects) as u32)
        };
        // Accesses that look alike are one group to the pipeline, and groups should be large as
        // well.
        let plain = self.shape.disciplined && !self.random.one_in(15);
        let (offset, size) = match self.random.below(6) {
            _ if plain => (0, 8),
            0 => (0, 4),
            1 => (4, 4),
            2 => (2, 2),
            _ => (0, 8),
        };
        let at = Place { object, offset, size };
        let order =
            if !plain && self.random.one_in(5) { MemoryOrder::SeqCst } else { MemoryOrder::Plain };
        let seen = self.load(at);
        let stored = (!self.random.one_in(20))
            .then(|| self.random.below(self.shape.values as usize + 1) as u64);
        let kind = self.random.below(10);
        let computed = if (5..9).contains(&kind) { self.compute(thread) } else { None };
        let stored = computed.as_ref().map_or(stored, |&(_, value)| Some(value));
        let event = EventId::from(self.builder.so_far().len());
        let (op, name) = match kind {
            0..5 => (Op::Read { at, value: seen, order }, "read"),
            5..9 => (Op::Write { at, value: stored, order }, "write"),
            _ => {
                let order = MemoryOrder::SeqCst;
                (Op::Rmw { at, read: seen, written: stored, order }, "rmw")
            }
        };
        if kind >= 5 {
            self.store(at, stored);
        }
        self.push(thread, op, &format!("x{}.{name}", object.0));
        if let Some((computed, _)) = computed {
            self.builder.express(event, computed);
        }
        if self.shape.computing && kind < 5 {
            let name = self.builder.name("r");
            self.builder.bind(event, name);
            self.read[thread.index()] = seen;
            if self.random.one_in(3) {
                self.judge(thread);
            }
        }
    }

    /// An object whose lock the thread holds alone.
    fn guarded_object(&mut self, thread: ThreadId) -> Option<ObjectId> {
        let held = self.holds[thread.index()].iter().filter(|(_, mode)| *mode == Mode::Exclusive);
        let held: Vec<usize> = held.map(|(lock, _)| lock.index()).collect();
        let guarded: Vec<usize> = (0..self.shape.objects)
            .filter(|object| held.contains(&(object % self.shape.locks)))
            .collect();
        (!guarded.is_empty()).then(|| ObjectId(guarded[self.random.below(guarded.len())] as u32))
    }

    fn load(&self, at: Place) -> Option<u64> {
        let mut value = 0;
        for offset in (at.offset..at.end()).step_by(2) {
            let cell = self.memory[&(at.object.0, offset)]?;
            value |= cell << (8 * (offset - at.offset));
        }
        Some(value)
    }

    fn store(&mut self, at: Place, value: Option<u64>) {
        for offset in (at.offset..at.end()).step_by(2) {
            let cell = value.map(|value| (value >> (8 * (offset - at.offset))) & 0xffff);
            self.memory.insert((at.object.0, offset), cell);
        }
    }

    /// Lets every thread finish what it has begun, and end.
    fn wind_down(&mut self) {
        for at in 0..self.shape.threads {
            if self.stages[at] == Stage::NotForked {
                self.fork(ThreadId(at as u32));
            }
        }
        while self.stages.iter().any(|&stage| stage != Stage::Over) {
            for at in 0..self.shape.threads {
                let thread = ThreadId(at as u32);
                match self.stages[at] {
                    Stage::Running => self.finish_thread(thread),
                    Stage::Waiting(_, lock, true) => self.wake(thread, lock),
                    _ => {}
                }
            }
        }
    }

    fn finish_thread(&mut self, thread: ThreadId) {
        if !self.waiting.is_empty() {
            self.notify(usize::MAX);
            self.push(thread, Op::Broadcast { cond: CondId(0) }, "notify");
        }
        while !self.holds[thread.index()].is_empty() {
            self.release(thread);
        }
        if self.in_region[thread.index()] {
            self.region(thread);
        }
        // The first thread joins the others.
        if thread.0 == 0 {
            if self.stages[1..].iter().any(|&stage| stage != Stage::Over) {
                return;
            }
            for child in 1..self.shape.threads {
                self.push(thread, Op::Join { child: ThreadId(child as u32) }, "join");
            }
            self.access(thread);
        }
        self.push(thread, Op::End, "end");
        self.stages[thread.index()] = Stage::Over;
    }
}
