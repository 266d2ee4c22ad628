//! Recorded runs of threads that wait for their turn, correctly or almost so.
//!
//! **Computes.** From random numbers, a trace of two or three threads. Each goes one or two times
//! through: wait until `turn` says that it is its turn, use `x`, write into `turn` whose turn comes
//! next. Its turn is a ticket that it draws from a counter; or a number of its own; or one of the
//! states of a thing of which it makes the next one, under a lock. Now and then a ticket is only
//! looked at or too many are drawn, a number is that of another thread, the look is forgotten or
//! looks for something else, the lock is forgotten, the turn is passed on too early, or not at all,
//! or by somebody else.
//!
//! **Follows.** A simulated run, as in `generate`: what is recorded has happened.

use std::fmt::Write;

use foretrace_testing::Random;
use foretrace_trace::{Trace, text};

/// A trace is not longer than this, or its schedules would be too many.
const MOST_EVENTS: usize = 18;

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ticket,
    Number,
    State,
}

/// Where a thread is in its round.
#[derive(Clone, Copy)]
enum At {
    Start,
    Look,
    Use(usize),
    Pass,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    rounds: usize,
    /// How many names it has bound, and which of them is the ticket.
    names: usize,
    ticket: usize,
    /// What it waits for.
    waits_for: u64,
}

struct Run {
    random: Random,
    kind: Kind,
    out: String,
    events: usize,
    turn: u64,
    next: u64,
    x: u64,
    threads: Vec<Thread>,
}

pub(crate) fn in_turn(mut random: Random) -> Trace {
    let kind = random.pick(&[Kind::Ticket, Kind::Number, Kind::State]);
    let threads = 2 + usize::from(random.chance(35));
    let mut run = Run {
        random,
        kind,
        out: String::from("init turn = 0\ninit next = 0\ninit x = 0\n"),
        events: 0,
        turn: 0,
        next: 0,
        x: 0,
        threads: vec![Thread::default(); threads],
    };
    for thread in &mut run.threads {
        thread.rounds = 1 + run.random.below(2);
    }
    let mut at = vec![At::Start; threads];
    for _ in 0..100 {
        let ready: Vec<usize> =
            (0..threads).filter(|&thread| run.threads[thread].rounds > 0).collect();
        if ready.is_empty() || run.events >= MOST_EVENTS {
            break;
        }
        let thread = run.random.pick(&ready);
        at[thread] = run.step(thread, at[thread]);
    }
    if run.random.chance(40) {
        let thread = run.random.below(threads);
        let (seen, limit) = (run.x, run.random.below(4) as u64);
        let name = run.name(thread);
        run.say(thread, &format!("r{name} = read x : {seen}"));
        run.say(thread, &format!("assert r{name} != {limit} : {}", seen != limit));
    }
    text::parse(&run.out).unwrap_or_else(|error| panic!("{error}\n{}", run.out))
}

impl Run {
    fn say(&mut self, thread: usize, statement: &str) {
        self.events += 1;
        let line = 1 + self.random.below(9);
        writeln!(self.out, "t{thread}: {statement} @ a.c:{line}").unwrap();
    }

    fn name(&mut self, thread: usize) -> usize {
        self.threads[thread].names += 1;
        self.threads[thread].names
    }

    fn step(&mut self, thread: usize, at: At) -> At {
        match at {
            At::Start => {
                self.draw(thread);
                At::Look
            }
            At::Look => self.look(thread),
            At::Use(times) => {
                let (name, seen) = (self.name(thread), self.x);
                let reads = self.random.chance(70);
                if reads {
                    self.say(thread, &format!("r{name} = read x : {seen}"));
                }
                if self.random.chance(70) {
                    self.x = seen + 1;
                    let stored = self.x;
                    let sum = format!("r{name} + 1 : {stored}");
                    let what = if reads { sum } else { stored.to_string() };
                    self.say(thread, &format!("write x = {what}"));
                }
                if times > 1 { At::Use(times - 1) } else { At::Pass }
            }
            At::Pass => {
                self.pass(thread);
                self.threads[thread].rounds -= 1;
                At::Start
            }
        }
    }

    /// What the thread waits for.
    fn draw(&mut self, thread: usize) {
        let count = self.threads.len() as u64;
        self.threads[thread].waits_for = match self.kind {
            Kind::Ticket => {
                let (name, seen) = (self.name(thread), self.next);
                self.threads[thread].ticket = name;
                if self.random.chance(8) {
                    self.say(thread, &format!("r{name} = read next : {seen} atomic"));
                } else {
                    self.next += if self.random.chance(4) { 0 } else { 1 };
                    let (next, more) = (self.next, self.next - seen);
                    let what = format!("r{name} + {more} : {next}");
                    self.say(thread, &format!("r{name} = rmw next : {seen} -> {what}"));
                }
                seen
            }
            Kind::Number => {
                let other = self.random.chance(10);
                (thread as u64 + u64::from(other)) % count
            }
            // Two states are passed on by everybody in turn: 0 becomes 2, 2 becomes 0.
            Kind::State => 2 * self.random.below(2) as u64,
        };
    }

    /// Looks whether it is its turn.
    fn look(&mut self, thread: usize) -> At {
        let Thread { waits_for, ticket, .. } = self.threads[thread];
        let is_under_lock = self.kind == Kind::State && !self.random.chance(6);
        if is_under_lock {
            self.say(thread, "acquire m");
        }
        let (name, seen) = (self.name(thread), self.turn);
        let mut is_mine = seen == waits_for;
        if self.random.chance(5) && is_mine {
            // It trusts that it is.
        } else {
            self.say(thread, &format!("r{name} = read turn : {seen} atomic"));
            let what = match self.kind {
                Kind::Ticket => format!("r{ticket}"),
                Kind::Number | Kind::State => waits_for.to_string(),
            };
            if self.random.chance(5) {
                is_mine = seen >= waits_for;
                self.say(thread, &format!("branch r{name} >= {what} : {is_mine}"));
            } else if self.random.chance(50) {
                self.say(thread, &format!("branch r{name} != {what} : {}", !is_mine));
            } else {
                self.say(thread, &format!("branch r{name} == {what} : {is_mine}"));
            }
        }
        if is_mine && self.kind == Kind::State {
            self.turn = waits_for + 1;
            let taken = self.turn;
            self.say(thread, &format!("write turn = {taken} atomic"));
        }
        if is_under_lock {
            self.say(thread, "release m");
        }
        if is_mine {
            if self.random.chance(4) {
                self.pass(thread);
            }
            return At::Use(1 + self.random.below(2));
        }
        self.threads[thread].rounds -= usize::from(self.random.chance(40));
        // Who waits for a ticket goes on to wait for it.
        if self.kind == Kind::Ticket { At::Look } else { At::Start }
    }

    /// Passes the turn on.
    fn pass(&mut self, thread: usize) {
        let Thread { waits_for, ticket, .. } = self.threads[thread];
        if self.random.chance(8) {
            return;
        }
        let other = self.random.below(self.threads.len());
        let by = if self.random.chance(3) { other } else { thread };
        self.turn = match self.kind {
            Kind::Ticket => waits_for + 1,
            Kind::Number => (waits_for + 1) % self.threads.len() as u64,
            Kind::State => 2 - waits_for,
        };
        let turn = self.turn;
        let what = match self.kind == Kind::Ticket && by == thread {
            true => format!("r{ticket} + 1 : {turn}"),
            false => turn.to_string(),
        };
        self.say(by, &format!("write turn = {what} atomic"));
    }
}
