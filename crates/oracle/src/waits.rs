//! Recorded runs of threads that wait for each other in calls.
//!
//! **Computes.** A trace of two or three threads that write to pipes, read from them, close them,
//! and take locks; or any other trace with calls, some of which are said at random to wait for
//! something.
//!
//! **Follows.** A simulated run of the pipes: a read waits until a byte is there, and who waits to
//! the end hangs. In the other traces a call waits for whatever it is said to wait for; where it
//! leaves without having been fed, it does not wait after all.

use std::fmt::Write;

use foretrace_trace::validate::{Rule, validate};
use foretrace_trace::{Trace, text};

use foretrace_testing::Random;

const LOCKS: [&str; 2] = ["m", "n"];
const PIPES: [&str; 2] = ["p", "q"];

/// What a thread does; locks and pipes by their numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Acquire(usize),
    Release(usize),
    /// Puts a byte into a pipe.
    Write(usize),
    /// Takes at most so many bytes out of a pipe, and waits for the first.
    Read(usize, usize),
    /// Reads return from here on.
    Close(usize),
    /// Writes a variable.
    Store,
}

/// One event.
struct Line {
    thread: usize,
    what: String,
    /// The channels of a call, with directions.
    channels: Vec<String>,
    waits: String,
}

#[derive(Default)]
struct Pipe {
    /// The lines of the writes whose bytes are still there.
    unread: Vec<usize>,
    closed: bool,
}

struct Run {
    random: Random,
    lines: Vec<Line>,
    pipes: [Pipe; 2],
    holders: [bool; 2],
    keeps_order: bool,
    pieces: usize,
}

/// Threads that talk through pipes.
pub(crate) fn piped(mut random: Random) -> Trace {
    let keeps_order = random.chance(80);
    let mut run = Run {
        random,
        lines: Vec::new(),
        pipes: Default::default(),
        holders: [false; 2],
        keeps_order,
        pieces: 0,
    };
    let threads = if run.random.chance(70) { 2 } else { 3 };
    let scripts: Vec<Vec<Action>> = (0..threads).map(|_| run.script(threads)).collect();
    run.play(&scripts);
    run.print()
}

impl Run {
    fn script(&mut self, threads: usize) -> Vec<Action> {
        let random = &mut self.random;
        let lock = random.below(4);
        let pipe = |random: &mut Random| random.below(10) / 7;
        let mut steps = Vec::new();
        for _ in 0..1 + random.below(if threads == 2 { 3 } else { 2 }) {
            steps.push(match random.below(12) {
                0..4 => Action::Write(pipe(random)),
                4..9 => Action::Read(pipe(random), 1 + random.below(4) / 3),
                9 => Action::Close(pipe(random)),
                _ => Action::Store,
            });
        }
        if lock < LOCKS.len() {
            steps.insert(0, Action::Acquire(lock));
            if random.chance(15) {
                // It hangs there.
                steps.push(Action::Acquire(lock));
            }
            steps.push(Action::Release(lock));
        }
        if random.chance(30) {
            let pipe = pipe(random);
            steps.push(if random.chance(60) { Action::Write(pipe) } else { Action::Read(pipe, 1) });
        }
        steps
    }

    fn add(&mut self, thread: usize, what: &str) -> usize {
        let what = what.to_string();
        self.lines.push(Line { thread, what, channels: Vec::new(), waits: String::new() });
        self.lines.len() - 1
    }

    fn call(&mut self, thread: usize, channels: &[String]) -> usize {
        let at = self.add(thread, "enter-call");
        self.lines[at].channels = channels.to_vec();
        at
    }

    /// Lets a random thread go on, as long as one can.
    fn play(&mut self, scripts: &[Vec<Action>]) {
        let mut done = vec![0; scripts.len()];
        let mut inside: Vec<Option<usize>> = vec![None; scripts.len()];
        loop {
            let can = |thread: &usize| match scripts[*thread].get(done[*thread]) {
                None => false,
                Some(Action::Acquire(lock)) => !self.holders[*lock],
                Some(Action::Read(pipe, _)) => {
                    let Pipe { unread, closed } = &self.pipes[*pipe];
                    inside[*thread].is_none() || !unread.is_empty() || *closed
                }
                Some(_) => true,
            };
            let able: Vec<usize> = (0..scripts.len()).filter(can).collect();
            if able.is_empty() {
                break;
            }
            let thread = self.random.pick(&able);
            let step = scripts[thread][done[thread]];
            if let Action::Read(pipe, most) = step {
                match inside[thread].take() {
                    None => {
                        let order = format!("{}-reads", PIPES[pipe]);
                        let order = self.keeps_order.then_some(order);
                        inside[thread] = Some(self.call(thread, order.as_slice()));
                        self.lines.last_mut().expect("just added").waits =
                            format!(" waits-for {}", PIPES[pipe]);
                        continue;
                    }
                    Some(enter) => self.take(thread, enter, pipe, most),
                }
            } else {
                self.act(thread, step);
            }
            done[thread] += 1;
        }
        for (thread, script) in scripts.iter().enumerate() {
            if let Some(Action::Acquire(lock)) = script.get(done[thread]) {
                self.add(thread, &format!("request acquire {}", LOCKS[*lock]));
            }
            if done[thread] == script.len() && self.random.chance(95) {
                self.add(thread, "end");
            }
        }
        // Who writes what nobody reads feeds everybody who reads later.
        let unread = self.pipes.iter().zip(PIPES);
        let unread = unread.flat_map(|(pipe, name)| pipe.unread.iter().map(move |&at| (at, name)));
        for (at, name) in unread.collect::<Vec<_>>() {
            if self.random.chance(90) {
                self.lines[at].channels.push(format!(">{name}"));
            }
        }
    }

    /// A read has what it waits for.
    fn take(&mut self, thread: usize, enter: usize, pipe: usize, most: usize) {
        let count = self.pipes[pipe].unread.len().min(most);
        let taken: Vec<usize> = self.pipes[pipe].unread.drain(..count).collect();
        if !taken.is_empty() {
            self.pieces += 1;
            let piece = format!("{}{}", PIPES[pipe], self.pieces);
            let _ = write!(self.lines[enter].waits, " piece {piece}");
            if self.keeps_order {
                self.lines[enter].channels.push(format!("<{piece}"));
            }
            for write in taken {
                self.lines[write].channels.push(format!(">{piece}"));
            }
        }
        self.add(thread, "leave-call");
    }

    fn act(&mut self, thread: usize, step: Action) {
        match step {
            Action::Acquire(lock) => {
                self.holders[lock] = true;
                self.add(thread, &format!("acquire {}", LOCKS[lock]));
            }
            Action::Release(lock) => {
                self.holders[lock] = false;
                self.add(thread, &format!("release {}", LOCKS[lock]));
            }
            Action::Write(pipe) => {
                let order = self.keeps_order.then(|| format!("{}-writes", PIPES[pipe]));
                let at = self.call(thread, order.as_slice());
                self.pipes[pipe].unread.push(at);
                self.add(thread, "leave-call");
            }
            Action::Close(pipe) => {
                self.pipes[pipe].closed = true;
                let order = [format!("{}-writes", PIPES[pipe]), format!("{}-reads", PIPES[pipe])];
                let at = self.call(thread, if self.keeps_order { &order } else { &[] });
                self.lines[at].channels.push(format!(">{}", PIPES[pipe]));
                self.add(thread, "leave-call");
            }
            Action::Store => {
                let value = self.lines.len();
                self.add(thread, &format!("write x = {value}"));
            }
            Action::Read(..) => unreachable!("reads have two steps"),
        }
    }

    fn print(mut self) -> Trace {
        let mut out = String::new();
        for Line { thread, what, channels, waits } in &self.lines {
            let line = 1 + self.random.below(4);
            let channels: String = channels.iter().map(|channel| format!(" {channel}")).collect();
            let _ = writeln!(out, "t{thread}: {what}{channels}{waits} @ a.c:{line}");
        }
        text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"))
    }
}

/// The trace, in which some calls wait for something.
pub(crate) fn with_waits(trace: &Trace, mut random: Random) -> Trace {
    let printed = text::print(trace);
    let mut lines: Vec<String> = printed.lines().map(str::to_string).collect();
    let first = lines.len() - trace.len();
    for line in &mut lines[first..] {
        let is_call = line.contains(": enter-call") && !line.contains(": enter-call *");
        if is_call && random.chance(75) {
            let source = random.pick(&["p", "q", "s"]);
            let piece = random.pick(&["", " piece p", " piece q", " piece r", " piece t"]);
            let at = line.find(" @").unwrap_or(line.len());
            line.insert_str(at, &format!(" waits-for {source}{piece}"));
        }
    }
    loop {
        let out: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let trace = text::parse(&out).unwrap_or_else(|error| panic!("{error}\n{out}"));
        let unfed = match validate(&trace) {
            Err(invalid) if invalid.rule == Rule::LeaveUnfed => invalid.event,
            _ => return trace,
        };
        let enter = unfed.and_then(|leave| trace.enter_of(leave)).expect("a call leaves");
        let line = &mut lines[first + enter.index()];
        let from = line.find(" waits-for").expect("the call waits");
        let to = line.find(" @").unwrap_or(line.len());
        line.replace_range(from..to, "");
    }
}
