//! Traces with very many conflicting pairs in few classes, and how long a whole prediction takes.
//!
//! **Computes.** Eight threads that hammer variables, in the shape `hammer` (10,000 events on a few
//! variables from 15 source lines) or `wide` (75,000 events on some hundred variables from 188
//! lines), in one of three lockings: `racy`, nothing is guarded; `guarded`, most accesses are under
//! the lock of their variable; `handed`, most are made by the owner of the variable, and ownership
//! is handed over under a lock, which no lockset shows. Each with values, or without.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use foretrace_predict::{Budget, Options, predict as predict_all, prepare};
use foretrace_trace::*;

use crate::Outcome;
use crate::clock::{Clock, peak_memory};
use foretrace_testing::Random;

const THREADS: usize = 8;
/// A prediction that takes longer is cut off, and says so.
const MOST_TIME: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    Racy,
    Guarded,
    Handed,
}

/// The trace of a kind such as `hammer-handed-values`.
pub(crate) fn generate(kind: &str, events: usize) -> Option<Trace> {
    let mut words = kind.split('-');
    let lines = match words.next()? {
        "hammer" => 15,
        "wide" => 188,
        _ => return None,
    };
    let locking = match words.next()? {
        "racy" => Locking::Racy,
        "guarded" => Locking::Guarded,
        "handed" => Locking::Handed,
        _ => return None,
    };
    let valued = words.next()? == "values";
    // So that there are 4 and 2.7 million conflicting pairs.
    let variables = match (lines, locking) {
        (15, Locking::Racy) => 7,
        (15, _) => 2,
        (_, Locking::Racy) => 580,
        _ => 160,
    };
    Some(Hammer::new(variables, lines, valued).run(locking, events))
}

struct Hammer {
    random: Random,
    builder: Builder,
    count: usize,
    threads: Vec<ThreadId>,
    lines: Vec<LocationId>,
    locks: Vec<LockId>,
    /// Variables, the owners of variables behind them, and what each holds.
    places: Vec<(Place, u64)>,
    variables: usize,
    valued: bool,
}

impl Hammer {
    fn new(variables: usize, lines: usize, valued: bool) -> Hammer {
        let mut builder = Trace::builder();
        builder.thread("main");
        let mut place = |name: String| {
            let object = builder.object(&name);
            (Place { object, offset: 0, size: 4 }, 0)
        };
        let mut places: Vec<(Place, u64)> =
            (0..variables).map(|nth| place(format!("x{nth}"))).collect();
        places.extend((0..variables).map(|nth| place(format!("owner{nth}"))));
        let threads = (1..=THREADS).map(|nth| builder.thread(&format!("t{nth}"))).collect();
        let lines = (0..lines).map(|nth| builder.location(&format!("hammer.c:{}", nth + 1)));
        let lines = lines.collect();
        let locks = (0..variables).map(|nth| builder.lock(&format!("m{nth}"))).collect();
        let random = Random::new(7);
        Hammer { random, builder, count: 0, threads, lines, locks, places, variables, valued }
    }

    fn push(&mut self, thread: ThreadId, op: Op, line: usize) {
        self.count += 1;
        let location = Some(self.lines[line % self.lines.len()]);
        self.builder.push(Event { thread, op, location });
    }

    fn read(&mut self, thread: ThreadId, at: usize, line: usize) {
        let (at, value) = self.places[at];
        let value = self.valued.then_some(value);
        self.push(thread, Op::Read { at, value, order: MemoryOrder::Plain }, line);
    }

    fn write(&mut self, thread: ThreadId, at: usize, value: u64, line: usize) {
        self.places[at].1 = value;
        let (at, value) = (self.places[at].0, self.valued.then_some(value));
        self.push(thread, Op::Write { at, value, order: MemoryOrder::Plain }, line);
    }

    fn acquire(&mut self, thread: ThreadId, variable: usize) {
        let (lock, mode, patience) = (self.locks[variable], Mode::Exclusive, Patience::Blocking);
        self.push(thread, Op::Acquire { lock, mode, patience }, 0);
    }

    fn release(&mut self, thread: ThreadId, variable: usize) {
        let (lock, mode) = (self.locks[variable], Mode::Exclusive);
        self.push(thread, Op::Release { lock, mode }, 0);
    }

    fn run(mut self, locking: Locking, events: usize) -> Trace {
        let main = ThreadId(0);
        for worker in 0..THREADS {
            self.push(main, Op::Fork { child: self.threads[worker] }, 0);
        }
        while self.count + 32 < events {
            let thread = self.threads[self.random.below(THREADS)];
            let variable = self.random.below(self.variables);
            let protected = self.random.chance(95);
            match locking {
                Locking::Racy => self.accesses(thread, variable, false),
                _ if !protected => self.accesses(thread, variable, true),
                Locking::Guarded => {
                    self.acquire(thread, variable);
                    self.accesses(thread, variable, false);
                    self.release(thread, variable);
                }
                Locking::Handed => self.hand_over(thread, variable),
            }
        }
        self.builder.finish()
    }

    /// Takes the variable over, uses it and gives it back.
    fn hand_over(&mut self, thread: ThreadId, variable: usize) {
        let owner = self.variables + variable;
        self.acquire(thread, variable);
        self.read(thread, owner, 1);
        self.write(thread, owner, u64::from(thread.0), 2);
        self.release(thread, variable);
        self.accesses(thread, variable, false);
        self.acquire(thread, variable);
        self.write(thread, owner, 0, 3);
        self.release(thread, variable);
    }

    /// A few accesses, on the lines that deal with this variable; careless ones on a line of their
    /// own.
    fn accesses(&mut self, thread: ThreadId, variable: usize, careless: bool) {
        let lines = self.lines.len() - 4;
        for _ in 0..3 {
            let nth = if careless { 7 } else { self.random.below(7) };
            let line = 4 + (variable * 5 + nth) % lines;
            if nth % 2 == 0 {
                self.read(thread, variable, line);
            } else {
                let value = self.random.number() % 8;
                self.write(thread, variable, value, line);
            }
        }
    }
}

/// Predicts everything on one core and prints what came out and how long it took.
pub(crate) fn predict(path: &Path) -> Outcome {
    let trace = binary::read(path)?;
    let clock = Clock::new();
    let before = clock.used();
    prepare(&trace, &Options::default(), &mut |_| {});
    println!("prepare {} ns", (clock.used() - before).as_nanos());
    let start = Instant::now();
    let budget = Budget { time: Some(MOST_TIME), ..Budget::default() };
    let prediction = predict_all(&trace, &Options { budget, ..Options::default() }, &())?;
    println!("predict {} ns", start.elapsed().as_nanos());
    println!("memory {} bytes", peak_memory());
    println!("events {} events", trace.len());
    println!("pairs {} pairs", conflicting_pairs(&trace));
    for (name, count) in [
        ("violated", prediction.findings.len()),
        ("infeasible", prediction.ledgers.iter().map(|(_, l)| l.infeasible as usize).sum()),
        ("undecided", prediction.undecided.len()),
    ] {
        println!("{name} {count} classes");
    }
    Ok(())
}

/// How many pairs of accesses of different threads conflict. (Here, an object has one place.)
fn conflicting_pairs(trace: &Trace) -> u64 {
    // Reads and writes of each object, by thread and in total.
    let mut counts: BTreeMap<(ObjectId, Option<ThreadId>), [u64; 2]> = BTreeMap::new();
    for (event, access) in trace.accesses() {
        for thread in [None, Some(trace.thread_of(event))] {
            let count = counts.entry((access.at.object, thread)).or_default();
            count[usize::from(access.writes)] += 1;
        }
    }
    let pairs = |[reads, writes]: [u64; 2]| writes * reads + writes * writes.saturating_sub(1) / 2;
    let all = counts.iter().filter(|((_, thread), _)| thread.is_none());
    let within = counts.iter().filter(|((_, thread), _)| thread.is_some());
    all.map(|(_, &count)| pairs(count)).sum::<u64>()
        - within.map(|(_, &count)| pairs(count)).sum::<u64>()
}
