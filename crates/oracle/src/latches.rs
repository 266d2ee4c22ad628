//! Recorded runs of threads that use a variable as a lock, correctly or almost so.
//!
//! **Computes.** From random numbers, a trace of two or three threads. Each goes one to three times
//! through: take the flag (by an exchange that it tests, by one that it does not test or tests for
//! something else, by a compare-exchange), do something with `x`, give the flag back (or forget to;
//! or give it back although it was not taken). At the end somebody may assert something about `x`.
//!
//! **Follows.** A simulated run, as in `generate`: what is recorded has happened.

use std::fmt::Write;

use foretrace_trace::{Trace, text};

use foretrace_testing::Random;

/// How a thread takes the flag.
#[derive(Clone, Copy)]
enum Take {
    Exchange,
    Compared,
    Untested,
    /// Any number but one that nobody stores is taken for free.
    Misread,
}

const TAKES: &[Take] = &[
    Take::Exchange,
    Take::Exchange,
    Take::Exchange,
    Take::Compared,
    Take::Compared,
    Take::Untested,
    Take::Misread,
];

/// A trace is not longer than this, or its schedules would be too many.
const MOST_EVENTS: usize = 16;

struct Run {
    random: Random,
    out: String,
    events: usize,
    flag: u64,
    x: u64,
    /// Of each thread: how many names it has bound.
    names: Vec<usize>,
}

/// One step of a round.
#[derive(Clone, Copy)]
enum Action {
    Take,
    Use,
    Store(usize, u64),
    Give,
}

pub(crate) fn latched(random: Random) -> Trace {
    let mut run = Run { random, out: String::new(), events: 0, flag: 0, x: 0, names: vec![0; 3] };
    let free = run.random.pick(&[0, 0, 0, 1, 2]);
    run.flag = free;
    let threads = 2 + usize::from(run.random.chance(25));
    if run.random.chance(70) {
        writeln!(run.out, "init flag = {free}").unwrap();
    } else {
        run.flag = 7;
        writeln!(run.out, "init flag = 7").unwrap();
        run.say(0, &format!("write flag = {free} atomic"));
        (1..threads).for_each(|other| run.say(0, &format!("fork t{other}")));
        run.flag = free;
    }
    run.out.push_str("init x = 0\n");
    let taken = run.random.pick(&[1, 3]).max(free + 1);
    let mut next: Vec<(usize, Action)> = vec![(1 + run.random.below(2), Action::Take); threads];
    while run.events < MOST_EVENTS {
        let ready: Vec<usize> = (0..threads).filter(|&thread| next[thread].0 > 0).collect();
        if ready.is_empty() {
            break;
        }
        let thread = run.random.pick(&ready);
        next[thread] = run.step(thread, next[thread], free, taken);
    }
    if run.random.chance(50) {
        let thread = run.random.below(threads);
        let (seen, limit) = (run.x, run.random.below(4) as u64);
        let name = run.name(thread);
        run.say(thread, &format!("{name} = read x : {seen}"));
        run.say(thread, &format!("assert {name} != {limit} : {}", seen != limit));
    }
    text::parse(&run.out).unwrap_or_else(|error| panic!("{error}\n{}", run.out))
}

impl Run {
    fn say(&mut self, thread: usize, statement: &str) {
        self.events += 1;
        let line = 1 + self.random.below(9);
        writeln!(self.out, "t{thread}: {statement} @ a.c:{line}").unwrap();
    }

    fn name(&mut self, thread: usize) -> String {
        self.names[thread] += 1;
        format!("r{}", self.names[thread])
    }

    /// What a thread does next, and what comes then: how many rounds are left, and where it is.
    fn step(
        &mut self,
        thread: usize,
        (rounds, step): (usize, Action),
        free: u64,
        taken: u64,
    ) -> (usize, Action) {
        match step {
            Action::Take => match self.take(thread, free, taken) {
                true => (rounds, Action::Use),
                // It tries again, or does something else.
                false => (rounds - usize::from(self.random.chance(60)), Action::Take),
            },
            Action::Use => {
                let (name, seen) = (self.name(thread), self.x);
                self.say(thread, &format!("{name} = read x : {seen}"));
                let number = self.names[thread];
                (
                    rounds,
                    if self.random.chance(75) { Action::Store(number, seen) } else { Action::Give },
                )
            }
            Action::Store(name, seen) => {
                self.x = seen + 1;
                self.say(thread, &format!("write x = r{name} + 1 : {}", seen + 1));
                (rounds, Action::Give)
            }
            Action::Give => {
                match self.random.below(10) {
                    0 => {}
                    1 => {
                        let seen = self.flag;
                        self.say(thread, &format!("rmw flag : {seen} -> {free} : {free}"));
                        self.flag = free;
                    }
                    _ => {
                        self.say(thread, &format!("write flag = {free} atomic"));
                        self.flag = free;
                    }
                }
                (rounds - 1, Action::Take)
            }
        }
    }

    /// Whether the thread takes the flag for taken.
    fn take(&mut self, thread: usize, free: u64, taken: u64) -> bool {
        let (seen, name) = (self.flag, self.name(thread));
        if self.random.chance(3) {
            self.say(thread, &format!("write flag = {free} atomic"));
            self.flag = free;
            return true;
        }
        match self.random.pick(TAKES) {
            Take::Compared if seen == free => {
                let words = format!("{name} = rmw flag : {seen} -> {taken} : {taken}");
                self.say(thread, &format!("{words} assuming {name} == {free}"));
                self.flag = taken;
                true
            }
            Take::Compared => {
                self.say(thread, &format!("{name} = read flag : {seen} atomic"));
                self.say(thread, &format!("branch {name} != {free} : true"));
                false
            }
            take @ (Take::Exchange | Take::Untested | Take::Misread) => {
                self.say(thread, &format!("{name} = rmw flag : {seen} -> {taken} : {taken}"));
                self.flag = taken;
                match take {
                    Take::Exchange => {
                        let is_free = seen == free;
                        self.say(thread, &format!("branch {name} == {free} : {is_free}"));
                        is_free
                    }
                    Take::Misread => {
                        self.say(thread, &format!("branch {name} != 9 : true"));
                        true
                    }
                    Take::Compared | Take::Untested => true,
                }
            }
        }
    }
}
