//! Traces for the comparison of 003 Fig. 3: `synch-N`, `account-N` and `index-N`, of N threads and
//! one that watches.
//!
//! The programs are ours, after the paper's descriptions. *Synch*: threads go through a monitor
//! again and again, look at its state, compute the next one and leave a mark for the others.
//! *Account*: threads move money between the accounts under their locks, if there is enough of it,
//! and keep a log. *Index*: threads insert words into a hash table of 128 entries under its lock,
//! with linear probing; what they probe collides the more the more threads there are. In all of
//! them a thread computes for itself between its accesses, and branches on what it computed. The
//! watching thread looks first, and asserts what can fail if it looks later.

use std::collections::BTreeMap;
use std::fmt::Write;

use foretrace_trace::{Trace, text};

/// Thread-local steps between two accesses.
const STEPS: usize = 4;
const ENTRIES: usize = 128;
const WORDS: usize = 4;

/// The trace of that name; `None` if it is none of these.
pub(crate) fn generate(kind: &str) -> Option<Trace> {
    let (program, threads) = kind.split_once('-')?;
    let threads: usize = threads.parse().ok()?;
    let mut run = Run::default();
    for thread in 0..threads {
        run.line(format!("main: fork t{thread}"));
    }
    match program {
        "synch" => run.synch(threads),
        "account" => run.account(threads),
        "index" => run.index(threads),
        _ => return None,
    }
    let declared: String = run.memory.keys().map(|place| format!("init {place} = 0\n")).collect();
    let lines = declared + &run.lines;
    Some(text::parse(&lines).unwrap_or_else(|error| panic!("{kind}: {error}")))
}

#[derive(Default)]
struct Run {
    lines: String,
    /// What each place holds; 0 at first.
    memory: BTreeMap<String, u64>,
}

impl Run {
    fn line(&mut self, text: String) {
        writeln!(self.lines, "{text}").expect("a string takes all text");
    }

    fn read(&mut self, thread: usize, name: &str, place: &str) -> u64 {
        let value = *self.memory.entry(place.to_string()).or_default();
        self.line(format!("t{thread}: {name} = read {place} : {value}"));
        value
    }

    /// Stores what `expr` gives, which is `value`.
    fn write(&mut self, thread: usize, place: &str, expr: &str, value: u64) {
        self.memory.insert(place.to_string(), value);
        self.line(format!("t{thread}: write {place} = {expr} : {value}"));
    }

    /// Local steps from the name `from` to `h`, which is in the end the same number again.
    fn compute(&mut self, thread: usize, from: &str) {
        self.line(format!("t{thread}: let h = {from}"));
        for step in 1..=STEPS {
            self.line(format!("t{thread}: let g = h + {step}"));
            self.line(format!("t{thread}: let h = g - {step}"));
        }
        self.line(format!("t{thread}: branch h >= 0 : true"));
    }

    fn synch(&mut self, threads: usize) {
        self.watch("state[0:4]", (threads - 1) as u64);
        for thread in 0..threads {
            for round in 0..3 {
                self.line(format!("t{thread}: acquire monitor"));
                let state = self.read(thread, "s", "state[0:4]");
                self.compute(thread, "s");
                self.write(thread, "state[0:4]", "h + 1", state + 1);
                self.line(format!("t{thread}: release monitor"));
                let mark = format!("mark{}[0:4]", (thread + round) % threads);
                let seen = self.read(thread, "k", &mark);
                self.line(format!("t{thread}: branch k >= 0 : true"));
                self.write(thread, &mark, "k + h", seen + state);
            }
        }
    }

    fn account(&mut self, threads: usize) {
        self.watch("total[0:4]", (5 * threads) as u64);
        for thread in 0..threads {
            for round in 0..3 {
                let account = (thread + 2 * round) % threads;
                let place = format!("balance{account}[0:4]");
                self.line(format!("t{thread}: acquire m{account}"));
                let balance = self.read(thread, "b", &place);
                self.compute(thread, "b");
                let amount = 5 + thread as u64 % 7;
                self.write(thread, &place, &format!("h + {amount}"), balance + amount);
                self.write(thread, &format!("log{thread}[0:4]"), "h", balance);
                self.line(format!("t{thread}: release m{account}"));
                self.line(format!("t{thread}: acquire bank"));
                let total = self.read(thread, "s", "total[0:4]");
                self.line(format!("t{thread}: branch s >= 0 : true"));
                self.write(thread, "total[0:4]", &format!("s + {amount}"), total + amount);
                self.line(format!("t{thread}: release bank"));
            }
        }
    }

    fn index(&mut self, threads: usize) {
        self.watch("count[0:4]", (2 * threads) as u64);
        for thread in 0..threads {
            for number in 0..WORDS.min(ENTRIES / threads) {
                let word = (number + 1) * 11 + thread;
                self.line(format!("t{thread}: let w = {word}"));
                self.compute(thread, "w");
                let mut entry = word * 7 % ENTRIES;
                loop {
                    let place = format!("table[{}:4]", 4 * entry);
                    self.line(format!("t{thread}: acquire m{entry}"));
                    if self.read(thread, "c", &place) == 0 {
                        self.line(format!("t{thread}: branch c == 0 : true"));
                        self.write(thread, &place, "h", word as u64);
                        self.line(format!("t{thread}: release m{entry}"));
                        break;
                    }
                    self.line(format!("t{thread}: branch c == 0 : false"));
                    self.line(format!("t{thread}: release m{entry}"));
                    entry = (entry + 1) % ENTRIES;
                }
                self.line(format!("t{thread}: acquire counted"));
                let count = self.read(thread, "n", "count[0:4]");
                self.write(thread, "count[0:4]", "n + 1", count + 1);
                self.line(format!("t{thread}: release counted"));
            }
        }
    }

    /// The watching thread sees 0, and would fail if it saw this number or more.
    fn watch(&mut self, place: &str, least: u64) {
        self.memory.entry(place.to_string()).or_default();
        self.line(format!("watch: v = read {place} : 0 atomic"));
        self.line(format!("watch: assert v < {least}"));
    }
}
