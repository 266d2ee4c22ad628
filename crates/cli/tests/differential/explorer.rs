//! The truth: what a program does under all its schedules, as far as its threads keep to the
//! recorded way.
//!
//! **Computes.** All states that the program can reach by handing over at visible operations, and
//! in them the threads that fail and the accesses that race. A thread that leaves the recorded
//! outcomes, fails or crashes stops there for good; the others go on.
//!
//! **Follows.** Stateless search by running again (Godefroid, *Model Checking for Programming
//! Languages using VeriSoft*, POPL 1997), with the choices as state; but a state that was reached
//! before is not searched again.
//!
//! **Invariant.** What a thread does next depends on what it has read so far, on what came of its
//! tries and waits, and on nothing else. So a state is: how far each thread is, what each has read
//! and met, and what memory holds; and what the kernel and condition variables hold, of which only
//! the order of the calls is known. Who has which lock follows from how far the threads are. An
//! operation that no other thread can tell the time of is done at once: a release is one only if
//! nobody tries to get a lock, and fails.
//!
//! **Cost.** One run of the program, about half a millisecond, for each edge between states beyond
//! the first of each state.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use foretrace_recording::explore::*;
use foretrace_recording::record::{self, kind, near};

/// What the recorded run did; by default nothing, so that every path counts.
#[derive(Default)]
pub(crate) struct Recorded {
    /// Outcomes of branches, by thread.
    pub(crate) outcomes: Vec<Vec<bool>>,
    /// Kinds of visible operations, by thread and ordinal.
    pub(crate) kinds: HashMap<(u32, u32), u8>,
}

/// A thread fails: its number, and what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Failure {
    /// The branch with this outcome.
    Branch(u32, u64),
    /// The operation with this ordinal.
    Operation(u32, u32),
}

/// An operation: thread and ordinal.
pub(crate) type Operation = (u32, u32);

/// What can happen.
#[derive(Default)]
pub(crate) struct Truth {
    /// All failures.
    pub(crate) failures: BTreeSet<Failure>,
    /// Pairs of accesses that race, the smaller one first.
    pub(crate) races: BTreeSet<(Operation, Operation)>,
    /// Where threads are in executions in which nobody can go on: their next operations.
    pub(crate) stuck: BTreeSet<Operation>,
    /// How many runs it took, and how many states were seen.
    pub(crate) runs: usize,
    pub(crate) states: usize,
    /// Crashes of threads.
    pub(crate) crashes: BTreeSet<Operation>,
}

/// A program that waits to be run.
struct Explorer {
    process: Child,
    requests: ChildStdin,
    answers: ChildStdout,
    area: File,
}

struct Decision {
    chosen: u32,
    /// Where the records are that come before.
    position: usize,
    live: Vec<Next>,
}

/// What a thread does next.
struct Next {
    thread: u32,
    enabled: bool,
    local: bool,
    kind: u8,
    address: u64,
    size: u64,
}

struct Stop {
    thread: u32,
    why: u64,
    ordinal: u64,
    outcome: u64,
}

struct Run {
    /// Everybody who is left waits or has stopped.
    hangs: bool,
    decisions: Vec<Decision>,
    stops: Vec<Stop>,
    records: Vec<u64>,
}

impl Explorer {
    fn new(program: &Path, area: &Path, recorded: &Recorded) -> Explorer {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(area)
            .unwrap();
        file.set_len(8 * WORDS as u64).unwrap();
        for thread in recorded.outcomes.len()..THREADS {
            let most = if recorded.outcomes.is_empty() { ANY } else { 0 };
            write_words(&file, EXPECTED + thread * EXPECTED_WORDS, &[most]);
        }
        for (thread, outcomes) in recorded.outcomes.iter().enumerate() {
            assert!(thread < THREADS && outcomes.len() <= 64 * (EXPECTED_WORDS - 1));
            let mut words = vec![outcomes.len() as u64];
            for part in outcomes.chunks(64) {
                let bits = part.iter().enumerate().map(|(at, &taken)| u64::from(taken) << at);
                words.push(bits.sum());
            }
            write_words(&file, EXPECTED + thread * EXPECTED_WORDS, &words);
        }
        let mut process = Command::new(program)
            .env("FORETRACE_EXPLORE", area)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Explorer { process, requests, answers, area: file }
    }

    fn run(&mut self, choices: &[u32]) -> Run {
        let mut words = vec![choices.len() as u64];
        words.extend(choices.iter().map(|&choice| u64::from(choice)));
        assert!(words.len() <= EXPECTED);
        write_words(&self.area, CHOICES, &words);
        write_words(&self.area, STOPS, &[0]);
        write_words(&self.area, DECISIONS, &[0]);
        self.requests.write_all(&[1]).unwrap();
        let mut status = [0; 4];
        self.answers.read_exact(&mut status).unwrap();
        let status = i32::from_le_bytes(status);
        // It ended, or everybody who is left waits or has stopped.
        assert!([0, 124 << 8].contains(&status), "status {status} after {choices:?}");
        let stops = read_words(&self.area, STOPS, 1 + 4 * THREADS);
        let (count, stops) = (stops[0] as usize, &stops[1..]);
        let stops = stops.chunks_exact(4).take(count).map(|stop| Stop {
            thread: stop[0] as u32,
            why: stop[1],
            ordinal: stop[2],
            outcome: stop[3],
        });
        let stops = stops.collect();
        let used = read_words(&self.area, DECISIONS, 1)[0] as usize;
        let words = read_words(&self.area, DECISIONS + 1, used);
        let (mut decisions, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let head = words[at];
            let count = (head >> 8) as u8 as usize;
            let live = words[at + 1..at + 1 + 2 * count].chunks_exact(2).map(|words| Next {
                thread: words[0] as u8 as u32,
                enabled: words[0] & ENABLED != 0,
                local: words[0] & LOCAL != 0,
                kind: (words[0] >> 16) as u8,
                size: words[0] >> 32,
                address: words[1],
            });
            let live = live.collect();
            let position = (head >> 32) as usize;
            decisions.push(Decision { chosen: head as u8 as u32, position, live });
            at += 1 + 2 * count;
        }
        // The last decision is followed by records too.
        let most = decisions.last().map_or(0, |last| last.position + 4096);
        let records = read_words(&self.area, RECORDS, most.min(WORDS - RECORDS));
        Run { hangs: status != 0, decisions, stops, records }
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        // It is only waiting for us.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write_words(file: &File, at: usize, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.write_all_at(&bytes, 8 * at as u64).unwrap();
}

fn read_words(file: &File, at: usize, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; 8 * count];
    file.read_exact_at(&mut bytes, 8 * at as u64).unwrap();
    bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// What a run has done so far.
struct State {
    /// Of each thread: the ordinal of its next operation, what it has read, whether it has stopped.
    threads: [(u32, u64, bool); THREADS],
    memory: BTreeMap<u64, u8>,
    /// The calls so far, in the order in which threads entered and left them, and what was done to
    /// condition variables: what the kernel and these hold depends on nothing else.
    calls: u64,
    /// What each thread did last, if that was to look at something.
    looks: [Option<(u64, u64, u64)>; THREADS],
    /// Whether threads look until something changes.
    spins: bool,
    sites: near::Table,
    /// The records before this one are done.
    position: usize,
}

impl State {
    fn new(spins: bool) -> State {
        State {
            threads: [(0, 0, false); THREADS],
            memory: BTreeMap::new(),
            calls: 0,
            looks: [None; THREADS],
            spins,
            sites: [(0, 0); 256],
            position: 4,
        }
    }

    fn key(&self) -> (u64, u64) {
        let hashed = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, &self.threads, &self.memory, self.calls).hash(&mut hasher);
            hasher.finish()
        };
        (hashed(1), hashed(2))
    }

    /// A thread does what the records up to `end` say; `None` if its operation is another one than
    /// the recorded.
    fn step(
        &mut self,
        thread: u32,
        records: &[u64],
        end: Option<usize>,
        recorded: &Recorded,
    ) -> Option<()> {
        while end.is_none_or(|end| self.position < end) {
            let words = &records[self.position..];
            let head = words[0];
            if head == 0 {
                break;
            }
            let number = head as u8;
            let (mut what, mut size) = (number, u64::from((head >> 8) as u8));
            let mut length = 1 + record::operands(number).expect("our own records are known");
            let (mut address, mut values) = (words[1], &words[2..]);
            let value;
            match number {
                kind::LOAD_NEAR..=kind::STORE_NEAR_WIDE => {
                    let (kind, bytes, _, at, seen) = near::decode(&mut self.sites, head);
                    value = [if number >= kind::LOAD_NEAR_WIDE { words[1] } else { seen }];
                    (what, size, address, values) = (kind, u64::from(bytes), at, &value);
                }
                kind::LOAD | kind::STORE => {
                    self.sites[near::slot(head >> 16)] = (head >> 16, address);
                }
                kind::LOAD_RANGE | kind::STORE_RANGE => {
                    size = words[2];
                    values = &words[3..];
                    length += (size as usize).div_ceil(8);
                }
                kind::ATOMIC_LOAD | kind::ATOMIC_STORE | kind::RMW => size &= 15,
                _ => {}
            }
            self.position += length;
            let is_order = matches!(
                what,
                kind::ENTER_CALL
                    | kind::LEAVE_CALL
                    | kind::WAIT
                    | kind::SIGNAL
                    | kind::BROADCAST
                    | kind::ARRIVE
            );
            if is_order {
                let mut hasher = DefaultHasher::new();
                (self.calls, thread, what, self.threads[thread as usize].0).hash(&mut hasher);
                self.calls = hasher.finish();
            }
            if !record::visible(what) {
                continue;
            }
            // Who looks again, and finds the same, is where it was: it waits in a loop.
            let look = (head >> 16, address, values[0]);
            let is_look = what == kind::ATOMIC_LOAD && self.spins;
            let before = &mut self.looks[thread as usize];
            if is_look && *before == Some(look) {
                continue;
            }
            *before = is_look.then_some(look);
            let (ordinal, seen, _) = &mut self.threads[thread as usize];
            if recorded.kinds.get(&(thread, *ordinal)).is_some_and(|&kind| kind != what) {
                return None;
            }
            *ordinal += 1;
            let is_met = matches!(
                what,
                kind::ACQUIRE
                    | kind::ACQUIRE_FAILED
                    | kind::SEM_WAIT
                    | kind::SEM_WAIT_FAILED
                    | kind::WAKE
            );
            if is_met {
                let mut hasher = DefaultHasher::new();
                (*seen, what, head as u16).hash(&mut hasher);
                *seen = hasher.finish();
            }
            if matches!(what, kind::LOAD | kind::LOAD_RANGE | kind::ATOMIC_LOAD | kind::RMW) {
                let mut hasher = DefaultHasher::new();
                (*seen, address, size, &values[..size.div_ceil(8) as usize]).hash(&mut hasher);
                *seen = hasher.finish();
            }
            if stores(what) {
                let values = if what == kind::RMW { &values[1..] } else { values };
                for offset in 0..size {
                    let byte = (values[offset as usize / 8] >> (8 * (offset % 8))) as u8;
                    self.memory.insert(address + offset, byte);
                }
            }
        }
        Some(())
    }
}

fn stores(kind: u8) -> bool {
    matches!(kind, kind::STORE | kind::STORE_RANGE | kind::ATOMIC_STORE | kind::RMW)
}

fn is_atomic(kind: u8) -> bool {
    matches!(kind, kind::ATOMIC_LOAD | kind::ATOMIC_STORE | kind::RMW)
}

fn is_access(kind: u8) -> bool {
    stores(kind) || matches!(kind, kind::LOAD | kind::LOAD_RANGE | kind::ATOMIC_LOAD)
}

/// All that the program can do; `None` if that takes more runs than `most`. It is known
/// whether threads try to get locks, and whether they look until something changes.
pub(crate) fn explore(
    program: &Path,
    area: &Path,
    recorded: &Recorded,
    most: usize,
    (tries, spins): (bool, bool),
) -> Option<Truth> {
    let mut explorer = Explorer::new(program, area, recorded);
    let mut truth = Truth::default();
    let mut seen = HashSet::new();
    let mut waiting = vec![Vec::new()];
    while let Some(choices) = waiting.pop() {
        truth.runs += 1;
        if truth.runs > most {
            return None;
        }
        let run = explorer.run(&choices);
        let mut state = State::new(spins);
        let mut is_whole = true;
        for (at, decision) in run.decisions.iter().enumerate() {
            if at >= choices.len() {
                if !seen.insert(state.key()) {
                    is_whole = false;
                    break;
                }
                truth.races.extend(races(&state, decision));
                let chosen = decision.live.iter().find(|next| next.thread == decision.chosen);
                let chosen = chosen.unwrap();
                if !chosen.local || tries && chosen.kind == kind::RELEASE {
                    let others = decision
                        .live
                        .iter()
                        .filter(|next| next.enabled && next.thread != decision.chosen);
                    for other in others {
                        let mut way: Vec<u32> =
                            run.decisions[..at].iter().map(|decision| decision.chosen).collect();
                        way.push(other.thread);
                        waiting.push(way);
                    }
                }
            }
            let next = run.decisions.get(at + 1);
            let end = next.map(|next| next.position);
            if state.step(decision.chosen, &run.records, end, recorded).is_none() {
                is_whole = false;
                break;
            }
            let is_last =
                !run.decisions[at + 1..].iter().any(|next| next.chosen == decision.chosen);
            let stop = run.stops.iter().find(|stop| is_last && stop.thread == decision.chosen);
            if let Some(stop) = stop {
                state.threads[stop.thread as usize].2 = true;
                truth.add(stop);
            }
        }
        if is_whole && run.hangs && run.stops.is_empty() {
            let places = (0..).zip(&state.threads).map(|(thread, (next, ..))| (thread, *next));
            truth.stuck.extend(places);
        }
    }
    truth.states = seen.len();
    Some(truth)
}

impl Truth {
    fn add(&mut self, stop: &Stop) {
        match stop.why {
            stop::FAILED if stop.outcome == NONE => {
                self.failures.insert(Failure::Operation(stop.thread, stop.ordinal as u32 - 1));
            }
            stop::FAILED => {
                self.failures.insert(Failure::Branch(stop.thread, stop.outcome));
            }
            stop::CRASHED => {
                self.crashes.insert((stop.thread, stop.ordinal as u32));
            }
            stop::LEFT => {}
            other => panic!("a thread stopped because of {other}"),
        }
    }
}

/// The pairs of threads that are both before conflicting accesses.
fn races(state: &State, decision: &Decision) -> Vec<(Operation, Operation)> {
    let mut pairs = Vec::new();
    let accesses: Vec<&Next> =
        decision.live.iter().filter(|next| next.enabled && is_access(next.kind)).collect();
    for (at, one) in accesses.iter().enumerate() {
        for other in &accesses[at + 1..] {
            let overlap =
                one.address < other.address + other.size && other.address < one.address + one.size;
            let conflict = stores(one.kind) || stores(other.kind);
            let plain = !(is_atomic(one.kind) && is_atomic(other.kind));
            if overlap && conflict && plain {
                let operation = |next: &Next| (next.thread, state.threads[next.thread as usize].0);
                let (one, other) = (operation(one), operation(other));
                pairs.push((one.min(other), one.max(other)));
            }
        }
    }
    pairs
}
