//! Recorded runs of threads that note in a variable who owns another one, correctly or almost so.
//!
//! **Computes.** From random numbers, a trace of two or three threads. Each goes one or two times
//! through: under a lock, look whether `owner` is free and write its own name there; use `x`; write
//! that `owner` is free again. Now and then the lock is forgotten or another one, the look is one
//! step with the write, the name is forgotten, somebody frees what he does not own, or does not
//! free what he owns.
//!
//! **Follows.** A simulated run, as in `generate`: what is recorded has happened.

use std::fmt::Write;

use foretrace_testing::Random;
use foretrace_trace::{Trace, text};

/// A trace is not longer than this, or its schedules would be too many.
const MOST_EVENTS: usize = 18;

/// Where a thread is in its round.
#[derive(Clone, Copy)]
enum At {
    Start,
    /// It looks next, with or without the lock of this number.
    Look(Option<usize>),
    /// It has found the variable free.
    Name(Option<usize>),
    Leave(Option<usize>, bool),
    Use(usize),
    Free,
}

struct Run {
    random: Random,
    out: String,
    events: usize,
    owner: u64,
    x: u64,
    held: [bool; 2],
    rounds: Vec<usize>,
}

pub(crate) fn owned(random: Random) -> Trace {
    let mut run = Run {
        random,
        out: String::new(),
        events: 0,
        owner: 0,
        x: 0,
        held: [false; 2],
        rounds: Vec::new(),
    };
    if run.random.chance(70) {
        run.out.push_str("init owner = 0\ninit x = 0\n");
    }
    let threads = 2 + usize::from(run.random.chance(30));
    run.rounds = (0..threads).map(|_| 1 + run.random.below(2)).collect();
    let mut at = vec![At::Start; threads];
    for _ in 0..200 {
        let ready: Vec<usize> = (0..threads).filter(|&thread| run.rounds[thread] > 0).collect();
        if ready.is_empty() || run.events >= MOST_EVENTS {
            break;
        }
        let thread = run.random.pick(&ready);
        at[thread] = run.step(thread, at[thread]);
    }
    text::parse(&run.out).unwrap_or_else(|error| panic!("{error}\n{}", run.out))
}

impl Run {
    fn say(&mut self, thread: usize, statement: &str) {
        self.events += 1;
        let line = 1 + self.random.below(9);
        writeln!(self.out, "t{thread}: {statement} @ a.c:{line}").unwrap();
    }

    fn step(&mut self, thread: usize, at: At) -> At {
        match at {
            At::Start => match self.random.below(12) {
                0 => At::Look(None),
                1 if self.owner == 0 => {
                    let name = thread as u64 + 1;
                    self.say(thread, &format!("rmw owner : 0 -> {name}"));
                    self.owner = name;
                    At::Use(1 + self.random.below(2))
                }
                2 => At::Use(1),
                nth => {
                    let lock = usize::from(nth == 3);
                    if self.held[lock] {
                        return at;
                    }
                    self.held[lock] = true;
                    self.say(thread, &format!("acquire m{lock}"));
                    At::Look(Some(lock))
                }
            },
            At::Look(lock) => {
                let seen = self.owner;
                self.say(thread, &format!("read owner : {seen} atomic"));
                if seen == 0 { At::Name(lock) } else { At::Leave(lock, false) }
            }
            At::Name(lock) => {
                if !self.random.chance(6) {
                    self.owner = self.random.pick(&[thread as u64 + 1, 9]);
                    let name = self.owner;
                    self.say(thread, &format!("write owner = {name} atomic"));
                }
                At::Leave(lock, true)
            }
            At::Leave(lock, is_owner) => {
                if let Some(lock) = lock {
                    self.held[lock] = false;
                    self.say(thread, &format!("release m{lock}"));
                }
                if !is_owner {
                    self.rounds[thread] -= usize::from(self.random.chance(50));
                }
                if is_owner { At::Use(1 + self.random.below(2)) } else { At::Start }
            }
            At::Use(times) => {
                if self.random.chance(50) {
                    let seen = self.x;
                    self.say(thread, &format!("read x : {seen}"));
                } else {
                    self.x = self.random.below(3) as u64;
                    let stored = self.x;
                    self.say(thread, &format!("write x = {stored}"));
                }
                if times > 1 { At::Use(times - 1) } else { At::Free }
            }
            At::Free => {
                if !self.random.chance(8) {
                    self.owner = 0;
                    self.say(thread, "write owner = 0 atomic");
                }
                self.rounds[thread] -= 1;
                At::Start
            }
        }
    }
}
