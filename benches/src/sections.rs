//! Traces full of critical sections, nested and hand over hand, with threads that wait for each
//! other.
//!
//! **Computes.** 16 threads and 100 locks. A thread takes up to three locks in their order,
//! sometimes giving the first back before it takes the next, and accesses what they guard; now and
//! then it waits on a condition variable until another thread lets it go on. Threads hand things to
//! each other by semaphores, and write something under one of two locks, having had the other one
//! in the meantime: no common lock shows that these writes cannot meet. A few accesses are made
//! without the lock of their variable.

use foretrace_trace::*;

use foretrace_testing::Random;

const THREADS: usize = 16;
const LOCKS: usize = 100;
const CROSSED: usize = 5;

/// What a thread is doing.
#[derive(Clone, Default)]
struct State {
    held: Vec<usize>,
    /// How many more accesses or locks are to come.
    left: usize,
    hand_over_hand: bool,
    /// Waits with this lock given back; whether it was notified.
    waits: Option<(usize, bool)>,
}

struct Sections {
    random: Random,
    builder: Builder,
    count: usize,
    threads: Vec<ThreadId>,
    locks: Vec<LockId>,
    conds: Vec<CondId>,
    /// From each thread to each.
    semaphores: Vec<SemId>,
    gifts: Vec<ObjectId>,
    objects: Vec<ObjectId>,
    /// What is written under either of two locks.
    crossed: Vec<ObjectId>,
    lines: Vec<LocationId>,
    owner: Vec<Option<usize>>,
    posted: Vec<usize>,
    states: Vec<State>,
}

/// The trace, about that long.
pub(crate) fn generate(kind: &str, events: usize) -> Option<Trace> {
    (kind == "sections").then(|| Sections::new().run(events))
}

impl Sections {
    fn new() -> Self {
        let mut builder = Trace::builder();
        let all = |count: usize, name: &str| {
            (0..count).map(move |nth| format!("{name}{nth}")).collect::<Vec<_>>()
        };
        Sections {
            random: Random::new(3),
            count: 0,
            threads: all(THREADS, "t").iter().map(|name| builder.thread(name)).collect(),
            locks: all(LOCKS, "m").iter().map(|name| builder.lock(name)).collect(),
            conds: all(THREADS, "c").iter().map(|name| builder.cond(name)).collect(),
            semaphores: all(THREADS * THREADS, "s")
                .iter()
                .map(|name| builder.semaphore(name))
                .collect(),
            gifts: all(THREADS * THREADS, "gift").iter().map(|name| builder.object(name)).collect(),
            crossed: all(CROSSED, "z").iter().map(|name| builder.object(name)).collect(),
            objects: all(LOCKS, "x").iter().map(|name| builder.object(name)).collect(),
            lines: (0..60)
                .map(|nth| builder.location(&format!("sections.c:{}", nth + 1)))
                .collect(),
            owner: vec![None; LOCKS],
            posted: vec![0; THREADS * THREADS],
            states: vec![State::default(); THREADS],
            builder,
        }
    }

    fn push(&mut self, thread: usize, op: Op) {
        self.count += 1;
        let location = Some(self.lines[self.random.below(self.lines.len())]);
        self.builder.push(Event { thread: self.threads[thread], op, location });
    }

    fn run(mut self, events: usize) -> Trace {
        for sem in self.semaphores.clone() {
            self.builder.set_semaphore(sem, 0);
        }
        while self.count < events {
            let thread = self.random.below(THREADS);
            self.step(thread);
        }
        self.builder.finish()
    }

    fn step(&mut self, thread: usize) {
        if let Some((lock, notified)) = self.states[thread].waits {
            if notified && self.owner[lock].is_none() {
                let (cond, id) = (self.conds[thread], self.locks[lock]);
                self.push(thread, Op::Wake { cond, lock: id, reason: WakeReason::Notified });
                self.owner[lock] = Some(thread);
                self.states[thread].waits = None;
            }
            return;
        }
        if self.states[thread].held.is_empty() && self.states[thread].left == 0 {
            self.outside(thread);
        } else {
            self.inside(thread);
        }
    }

    /// Has no lock.
    fn outside(&mut self, thread: usize) {
        match self.random.below(40) {
            0 => {
                let object = self.objects[self.random.below(LOCKS)];
                self.access(thread, object);
            }
            1 => {
                let gift = thread * THREADS + self.random.below(THREADS);
                self.posted[gift] += 1;
                self.write(thread, self.gifts[gift]);
                let sem = self.semaphores[gift];
                self.push(thread, Op::SemPost { sem });
            }
            2..=4 => {
                let mut gifts = (0..THREADS).map(|from| from * THREADS + thread);
                if let Some(gift) = gifts.find(|&gift| self.posted[gift] > 0) {
                    self.posted[gift] -= 1;
                    let sem = self.semaphores[gift];
                    self.push(thread, Op::SemWait { sem, patience: Patience::Blocking });
                    self.write(thread, self.gifts[gift]);
                }
            }
            5 => self.cross(thread),
            _ => {
                self.states[thread].left = 2 + self.random.below(6);
                self.states[thread].hand_over_hand = self.random.chance(20);
                let first = self.random.below(LOCKS - 10);
                self.acquire(thread, first);
            }
        }
    }

    /// Writes under one of two locks, having had the other one before or in the meantime; at once,
    /// so that the recorded run does not block.
    fn cross(&mut self, thread: usize) {
        let nth = self.random.below(CROSSED);
        let mut locks = [LOCKS - 1 - 2 * nth, LOCKS - 2 - 2 * nth];
        if locks.iter().any(|&lock| self.owner[lock].is_some()) {
            return;
        }
        if self.random.chance(50) {
            locks.reverse();
        }
        self.acquire(thread, locks[0]);
        self.acquire(thread, locks[1]);
        self.release(thread, 1);
        self.write(thread, self.crossed[nth]);
        self.release(thread, 0);
    }

    fn acquire(&mut self, thread: usize, lock: usize) {
        if self.owner[lock].is_some() {
            return;
        }
        self.owner[lock] = Some(thread);
        self.states[thread].held.push(lock);
        let (lock, mode, patience) = (self.locks[lock], Mode::Exclusive, Patience::Blocking);
        self.push(thread, Op::Acquire { lock, mode, patience });
    }

    fn release(&mut self, thread: usize, at: usize) {
        let lock = self.states[thread].held.remove(at);
        self.owner[lock] = None;
        let lock = self.locks[lock];
        self.push(thread, Op::Release { lock, mode: Mode::Exclusive });
    }

    fn access(&mut self, thread: usize, object: ObjectId) {
        if self.random.chance(50) {
            let at = Place { object, offset: 0, size: 4 };
            self.push(thread, Op::Read { at, value: None, order: MemoryOrder::Plain });
        } else {
            self.write(thread, object);
        }
    }

    fn write(&mut self, thread: usize, object: ObjectId) {
        let at = Place { object, offset: 0, size: 4 };
        self.push(thread, Op::Write { at, value: None, order: MemoryOrder::Plain });
    }

    /// Has locks.
    fn inside(&mut self, thread: usize) {
        let state = &mut self.states[thread];
        let Some(&last) = state.held.last() else {
            state.left = 0;
            return;
        };
        if state.left == 0 {
            let at = if state.hand_over_hand { 0 } else { state.held.len() - 1 };
            self.release(thread, at);
            return;
        }
        state.left -= 1;
        match self.random.below(30) {
            0..=4 if self.states[thread].held.len() < 3 => {
                let next = last + 1 + self.random.below(3);
                if next < LOCKS {
                    self.acquire(thread, next);
                }
            }
            5 if self.states[thread].hand_over_hand && self.states[thread].held.len() > 1 => {
                self.release(thread, 0);
            }
            // Waits with one lock only, so that whoever is to notify can get what it needs.
            6 if self.states[thread].held.len() == 1 => {
                let (cond, lock) = (self.conds[thread], self.locks[last]);
                self.push(thread, Op::Wait { cond, lock, timed: false });
                self.owner[last] = None;
                self.states[thread].waits = Some((last, false));
            }
            7..=14 => self.notify(thread),
            _ => {
                let object = self.objects[last];
                self.access(thread, object);
            }
        }
    }

    /// Lets somebody go on who waits.
    fn notify(&mut self, thread: usize) {
        let waiting = |state: &State| matches!(state.waits, Some((_, false)));
        if let Some(other) = self.states.iter().position(waiting) {
            let cond = self.conds[other];
            self.push(thread, Op::Signal { cond });
            if let Some((_, notified)) = &mut self.states[other].waits {
                *notified = true;
            }
        }
    }
}
