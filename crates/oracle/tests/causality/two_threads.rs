//! Section 8 of `docs/causality.md`: two threads, mutexes, fork and join, condition variables with
//! one wait and one notification each. There every infeasible race and lock cycle is refuted.

use foretrace_causality::{Scope, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::{Random, explore, is_recorded_order_feasible};
use foretrace_trace::*;
use foretrace_verdict::{Model, Violation};
use foretrace_witness::check_refutation;

use crate::cases;
use crate::graph::{Graphs, Tables};
use crate::tuples::tuples;

const CASES: u64 = 5_000;

#[test]
fn all_that_is_infeasible_is_refuted() {
    let (mut feasible, mut infeasible) = ([0; 2], [0; 2]);
    for seed in 0..cases(CASES) {
        let trace = generate(seed);
        let context = || format!("seed {seed}\n{}", text::print(&trace));
        assert!(is_recorded_order_feasible(&trace, Model::Values), "{}", context());
        let explored = explore(&trace, Model::Values, false);
        assert!(explored.complete, "{}", context());
        let skeleton = Skeleton::new(&trace, Model::Values);
        let tables = Tables::new(&skeleton);
        let graph = tables.graph(&skeleton);
        let mut graphs = Graphs::new(&skeleton, &graph);
        for violation in tuples(&skeleton) {
            let kind = match violation {
                Violation::Race(..) => 0,
                Violation::LockCycle(_) => 1,
                _ => continue,
            };
            let is_feasible = explored.violations.contains(&violation);
            let is_refuted = graphs.refutes(&violation, Scope::Synchronisation);
            assert_eq!(is_refuted, !is_feasible, "{violation:?} in the graph: {}", context());
            let refutation = derive(&skeleton, &violation, Scope::Synchronisation);
            match refutation {
                None => assert!(is_feasible, "{violation:?} is not refuted: {}", context()),
                Some(refutation) => {
                    assert!(!is_feasible, "{violation:?} is refuted: {}", context());
                    let checked = check_refutation(&trace, Model::Values, &violation, &refutation);
                    assert_eq!(checked, Ok(()), "{violation:?}: {}", context());
                }
            }
            (if is_feasible { &mut feasible } else { &mut infeasible })[kind] += 1;
        }
    }
    println!("races and lock cycles: {feasible:?} feasible, {infeasible:?} infeasible and refuted");
    assert!(feasible.iter().chain(&infeasible).all(|&count| count > 50));
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    NotStarted,
    Running,
    /// In a wait on this condition variable with this lock, notified or not.
    Waiting(usize, usize, bool),
    Finished,
}

/// A simulated run of two threads.
struct Run {
    random: Random,
    builder: Builder,
    threads: [ThreadId; 2],
    at: [At; 2],
    /// Who has each lock.
    holders: Vec<Option<usize>>,
    waits: Vec<bool>,
    notifications: Vec<bool>,
    is_joined: bool,
    is_locking: bool,
    events: usize,
}

fn generate(seed: u64) -> Trace {
    let mut random = Random::new(seed);
    let mut builder = Trace::builder();
    let threads = ["a", "b"].map(|name| builder.thread(name));
    let is_forked = random.chance(30);
    let locks = 2 + random.below(3);
    let conds = random.below(3);
    // Some are about locks: sections that overlap, and cycles.
    let is_locking = random.chance(50);
    let length = 8 + random.below(18);
    let mut run = Run {
        random,
        builder,
        threads,
        at: [At::Running, if is_forked { At::NotStarted } else { At::Running }],
        holders: vec![None; locks],
        waits: vec![false; conds],
        notifications: vec![false; conds],
        is_joined: false,
        is_locking,
        events: 0,
    };
    for _ in 0..20 * length {
        if run.events >= length {
            break;
        }
        let thread = run.random.below(2);
        run.act(thread);
    }
    run.wind_down();
    run.builder.finish()
}

impl Run {
    fn push(&mut self, thread: usize, op: Op) {
        self.builder.push(Event { thread: self.threads[thread], op, location: None });
        self.events += 1;
    }

    fn acquire(&mut self, thread: usize, lock: usize) {
        self.holders[lock] = Some(thread);
        let (lock, mode) = (self.builder.lock(&format!("l{lock}")), Mode::Exclusive);
        self.push(thread, Op::Acquire { lock, mode, patience: Patience::Blocking });
    }

    fn release(&mut self, thread: usize, lock: usize) {
        self.holders[lock] = None;
        let (lock, mode) = (self.builder.lock(&format!("l{lock}")), Mode::Exclusive);
        self.push(thread, Op::Release { lock, mode });
    }

    fn write(&mut self, thread: usize) {
        let object = self.builder.object(["x", "y"][usize::from(self.random.chance(30))]);
        let at = Place { object, offset: 0, size: 4 };
        self.push(thread, Op::Write { at, value: Some(1), order: MemoryOrder::Plain });
    }

    /// Goes on behind a wait, if the thread is in one. Whether it runs.
    fn wake_up(&mut self, thread: usize) -> bool {
        match self.at[thread] {
            At::Running => true,
            At::Waiting(cond, lock, true) if self.holders[lock].is_none() => {
                self.holders[lock] = Some(thread);
                self.at[thread] = At::Running;
                let cond = self.builder.cond(&format!("c{cond}"));
                let lock = self.builder.lock(&format!("l{lock}"));
                self.push(thread, Op::Wake { cond, lock, reason: WakeReason::Notified });
                false
            }
            _ => false,
        }
    }

    fn act(&mut self, thread: usize) {
        if !self.wake_up(thread) {
            return;
        }
        match self.random.below(if self.is_locking { 32 } else { 20 }) {
            0..=4 => self.write(thread),
            20.. => self.nest(thread),
            5..=10 => {
                let lock = self.random.below(self.holders.len());
                if self.holders[lock].is_none() {
                    self.acquire(thread, lock);
                }
            }
            11..=14 => {
                let lock = self.random.below(self.holders.len());
                if self.holders[lock] == Some(thread) {
                    self.release(thread, lock);
                }
            }
            15 | 16 => self.wait(thread),
            17 | 18 => self.notify(thread),
            _ if thread == 0 && self.at[1] == At::NotStarted => {
                self.at[1] = At::Running;
                let child = self.threads[1];
                self.push(0, Op::Fork { child });
            }
            _ if thread == 1 && self.random.chance(30) => self.at[1] = At::Finished,
            _ if thread == 0 => self.join(),
            _ => {}
        }
    }

    /// Takes two locks and gives them back, in any order.
    fn nest(&mut self, thread: usize) {
        let [first, second] = [(); 2].map(|()| self.random.below(self.holders.len()));
        if first != second && self.holders[first].is_none() && self.holders[second].is_none() {
            self.acquire(thread, first);
            self.acquire(thread, second);
            let is_crossed = self.random.chance(50);
            let order = if is_crossed { [first, second] } else { [second, first] };
            order.into_iter().for_each(|lock| self.release(thread, lock));
        }
    }

    fn wait(&mut self, thread: usize) {
        let lock = self.random.below(self.holders.len());
        let unused = (0..self.waits.len()).find(|&cond| !self.waits[cond]);
        // Rarely a wait whose notification is lost already.
        let Some(cond) = unused.filter(|&cond| !self.notifications[cond] || self.random.chance(10))
        else {
            return;
        };
        if self.holders[lock] == Some(thread) {
            self.waits[cond] = true;
            self.holders[lock] = None;
            self.at[thread] = At::Waiting(cond, lock, false);
            let cond = self.builder.cond(&format!("c{cond}"));
            let lock = self.builder.lock(&format!("l{lock}"));
            self.push(thread, Op::Wait { cond, lock, timed: false });
        }
    }

    fn notify(&mut self, thread: usize) {
        let unused = (0..self.notifications.len()).find(|&cond| !self.notifications[cond]);
        let Some(cond) = unused.filter(|&cond| self.waits[cond] || self.random.chance(20)) else {
            return;
        };
        self.notifications[cond] = true;
        for at in &mut self.at {
            match at {
                At::Waiting(on, _, is_notified) if *on == cond => *is_notified = true,
                _ => {}
            }
        }
        let cond = self.builder.cond(&format!("c{cond}"));
        let is_signal = self.random.chance(70);
        self.push(thread, if is_signal { Op::Signal { cond } } else { Op::Broadcast { cond } });
    }

    fn join(&mut self) {
        if self.at[1] == At::Finished && !self.is_joined {
            self.is_joined = true;
            let child = self.threads[1];
            self.push(0, Op::Join { child });
        }
    }

    /// Notifies, releases and joins what is left, mostly.
    fn wind_down(&mut self) {
        for _ in 0..3 {
            for thread in [1, 0] {
                for _ in 0..2 {
                    if self.wake_up(thread) {
                        self.notify(thread);
                    }
                }
                if !self.wake_up(thread) {
                    continue;
                }
                for lock in 0..self.holders.len() {
                    if self.holders[lock] == Some(thread) && self.random.chance(80) {
                        self.release(thread, lock);
                    }
                }
                if self.random.chance(50) {
                    self.write(thread);
                }
            }
        }
        if self.wake_up(0) && self.at[1] == At::Running && self.random.chance(50) {
            self.at[1] = At::Finished;
            self.join();
            self.write(0);
        }
    }
}
