//! `bench reference`: the textbook encoding, solved by z3, against ours.
//!
//! **Computes.** For generated traces with locks, fork and join: the verdict on each race candidate that no common lock refutes, or on
//! an even sample of them, from both; that they agree; and the time per candidate.
//!
//! **Follows.** Said, Wang, Yang, Sakallah, *Generating data race witnesses by an SMT-based analysis*, NFM 2011, as integer difference
//! logic with prefixes: a clock per event and one for X, the moment of the race. Program order, fork and join always hold;
//! critical sections of one lock that both begin before X do not overlap; a read before X sees its recorded writer.
//!
//! **Invariant.** What is asked of z3 is made from the generated program, not from anything of ours: xtask knows no other crate.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::predicted::predict;
use crate::shell::{Stop, release_binary, root};

/// Events of the traces.
const SIZES: [usize; 3] = [200, 500, 1000];
const WORKERS: usize = 5;
/// How many candidates of a trace z3 is asked at most.
const SAMPLE: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Read(usize),
    Write(usize),
    Acquire(usize),
    Release(usize),
    Fork(usize),
    Join(usize),
}

/// One recorded run. Thread 0 forks and joins the others and does nothing else.
struct Run {
    events: Vec<(usize, Op)>,
    /// For each event, the locks that its thread has then.
    held: Vec<Vec<usize>>,
}

pub(super) fn reference(quick: bool) -> Result<(), Stop> {
    if Command::new("z3").arg("--version").output().is_err() {
        println!("reference: SKIPPED (z3 is not there; apt-get install z3)");
        return Ok(());
    }
    let program = release_binary()?;
    println!(
        "{:>8}{:>12}{:>8}{:>9}{:>14}{:>14}{:>9}",
        "events", "candidates", "races", "asked z3", "ours, ms each", "z3, ms each", "ratio"
    );
    for &size in if quick { &SIZES[..2] } else { &SIZES[..] } {
        compare(&program, size)?;
    }
    Ok(())
}

/// Decides one trace in both ways.
fn compare(program: &Path, size: usize) -> Result<(), Stop> {
    let run = Run::generate(size);
    let folder = root().join(".bench");
    let (trace, question) = (
        folder.join(format!("reference-{size}.trace")),
        folder.join(format!("reference-{size}.smt2")),
    );
    let write = |path: &Path, text: String| {
        let made = fs::create_dir_all(&folder).and_then(|()| fs::write(path, text));
        made.map_err(|error| Stop::usage(format!("cannot write {}: {error}", path.display())))
    };
    write(&trace, run.as_text())?;
    let ours =
        predict(program, &trace, &["--check", "race", "--granularity", "event", "--jobs", "1"])?;
    let races: Vec<(usize, usize)> = ours
        .report
        .findings
        .iter()
        .map(|finding| (finding.events[0].event, finding.events[1].event))
        .collect();
    let is_race = |&(a, b): &(usize, usize)| races.contains(&(a, b)) || races.contains(&(b, a));
    let (guarded, open): (Vec<_>, Vec<_>) =
        run.conflicts().into_iter().partition(|&(a, b)| run.share_a_lock(a, b));
    if let Some((a, b)) = guarded.into_iter().find(is_race) {
        return Err(Stop::failed(format!("{size} events: {a} and {b} race under a common lock")));
    }
    let asked: Vec<(usize, usize)> =
        open.iter().copied().step_by(open.len().div_ceil(SAMPLE).max(1)).collect();
    write(&question, run.as_smt(&asked))?;
    let start = Instant::now();
    let output = Command::new("z3").args(["-smt2", "-T:600"]).arg(&question).output();
    let output = output.map_err(|error| Stop::usage(format!("cannot run z3: {error}")))?;
    let time = start.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    let verdicts: Vec<&str> =
        said.lines().filter(|line| matches!(*line, "sat" | "unsat")).collect();
    if verdicts.len() != asked.len() || ours.report.undecided() > 0 {
        let decided = verdicts.len();
        return Err(Stop::failed(format!(
            "{size} events: z3 decided {decided} of {}",
            asked.len()
        )));
    }
    for (pair, verdict) in asked.iter().zip(verdicts) {
        if is_race(pair) != (verdict == "sat") {
            return Err(Stop::failed(format!(
                "{size} events: we differ from z3 ({verdict}) on {pair:?}"
            )));
        }
    }
    let each = |seconds: f64, count: usize| seconds * 1000.0 / count.max(1) as f64;
    let (we, they) =
        (each(ours.time.as_secs_f64(), open.len()), each(time.as_secs_f64(), asked.len()));
    println!(
        "{size:>8}{:>12}{:>8}{:>9}{we:>14.2}{they:>14.2}{:>9}",
        open.len(),
        races.len(),
        asked.len(),
        format!("× {:.0}", they / we)
    );
    Ok(())
}

impl Run {
    /// Workers that use variables, mostly under the lock that belongs to them, and hand some over through others.
    fn generate(size: usize) -> Run {
        let (variables, locks) = (size / 12, 6);
        let mut state = size as u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut run = Run { events: Vec::new(), held: Vec::new() };
        for worker in 1..=WORKERS {
            run.push(0, Op::Fork(worker), &[]);
        }
        while run.events.len() + 8 + WORKERS < size {
            let (worker, variable) = (1 + random(WORKERS), random(variables));
            let lock = variable % locks;
            let protected = random(10) < 7;
            let held: &[usize] = if protected { &[lock] } else { &[] };
            if protected {
                run.push(worker, Op::Acquire(lock), held);
            }
            for _ in 0..1 + random(3) {
                // Sometimes another variable, which is not this lock's.
                let at = if random(8) == 0 { random(variables) } else { variable };
                run.push(worker, if random(2) == 0 { Op::Read(at) } else { Op::Write(at) }, held);
            }
            if protected {
                run.push(worker, Op::Release(lock), held);
            }
        }
        for worker in 1..=WORKERS {
            run.push(0, Op::Join(worker), &[]);
        }
        run
    }

    fn push(&mut self, thread: usize, op: Op, held: &[usize]) {
        self.events.push((thread, op));
        self.held.push(held.to_vec());
    }

    fn as_text(&self) -> String {
        let mut text = String::new();
        for (thread, op) in &self.events {
            let statement = match op {
                Op::Read(at) => format!("read x{at}"),
                Op::Write(at) => format!("write x{at}"),
                Op::Acquire(lock) => format!("acquire m{lock}"),
                Op::Release(lock) => format!("release m{lock}"),
                Op::Fork(child) => format!("fork t{child}"),
                Op::Join(child) => format!("join t{child}"),
            };
            let _ = writeln!(text, "t{thread}: {statement}");
        }
        text
    }

    fn share_a_lock(&self, a: usize, b: usize) -> bool {
        self.held[a].iter().any(|lock| self.held[b].contains(lock))
    }

    /// The variable that an event accesses, and whether it writes.
    fn access(&self, event: usize) -> Option<(usize, bool)> {
        match self.events[event].1 {
            Op::Read(at) => Some((at, false)),
            Op::Write(at) => Some((at, true)),
            _ => None,
        }
    }

    fn conflicts(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (b, (thread, _)) in self.events.iter().enumerate() {
            let Some((at, writes)) = self.access(b) else { continue };
            pairs.extend((0..b).filter_map(|a| {
                let (other, also) = self.access(a)?;
                (other == at && (writes || also) && self.events[a].0 != *thread).then_some((a, b))
            }));
        }
        pairs
    }

    /// The event before it in its thread, or the fork of the thread.
    fn previous(&self, event: usize) -> Option<usize> {
        let thread = self.events[event].0;
        let own = (0..event).rev().find(|&earlier| self.events[earlier].0 == thread);
        own.or_else(|| (0..event).find(|&fork| self.events[fork].1 == Op::Fork(thread)))
    }

    /// Everything that holds of any schedule, and then one question per pair.
    fn as_smt(&self, pairs: &[(usize, usize)]) -> String {
        let mut smt = String::from("(set-logic QF_IDL)\n(declare-const x Int)\n");
        for event in 0..self.events.len() {
            let _ = writeln!(smt, "(declare-const e{event} Int)");
        }
        let mut rule = |text: String| {
            let _ = writeln!(smt, "(assert {text})");
        };
        let before = |a: usize, b: usize| format!("(< e{a} e{b})");
        for (event, (_, op)) in self.events.iter().enumerate() {
            if let Some(previous) = self.previous(event) {
                rule(before(previous, event));
            }
            if let Op::Join(child) = op {
                let last = (0..event).rev().find(|&last| self.events[last].0 == *child);
                rule(before(last.unwrap_or(0), event));
            }
            if let Op::Read(at) = op {
                let writes: Vec<usize> = (0..self.events.len())
                    .filter(|&other| self.events[other].1 == Op::Write(*at))
                    .collect();
                let writer = writes.iter().copied().rfind(|&write| write < event);
                let included = format!("(< e{event} x)");
                if let Some(writer) = writer {
                    rule(format!("(=> {included} {})", before(writer, event)));
                }
                for other in writes.into_iter().filter(|&other| Some(other) != writer) {
                    let after = before(event, other);
                    let apart = writer.map_or(after.clone(), |writer| {
                        format!("(or {} {after})", before(other, writer))
                    });
                    rule(format!("(=> {included} {apart})"));
                }
            }
        }
        let sections = self.sections();
        for (at, &(lock, take, give)) in sections.iter().enumerate() {
            for &(other, later_take, later_give) in &sections[at + 1..] {
                if lock == other && self.events[take].0 != self.events[later_take].0 {
                    rule(format!(
                        "(=> (and (< e{take} x) (< e{later_take} x)) (or {} {}))",
                        before(give, later_take),
                        before(later_give, take)
                    ));
                }
            }
        }
        for &(a, b) in pairs {
            smt.push_str("(push)\n");
            for event in [a, b] {
                let _ = writeln!(smt, "(assert (< x e{event}))");
                if let Some(previous) = self.previous(event) {
                    let _ = writeln!(smt, "(assert (< e{previous} x))");
                }
            }
            smt.push_str("(check-sat)\n(pop)\n");
        }
        smt
    }

    /// Each critical section: its lock, acquire and release.
    fn sections(&self) -> Vec<(usize, usize, usize)> {
        let mut sections = Vec::new();
        for (take, &(thread, op)) in self.events.iter().enumerate() {
            if let Op::Acquire(lock) = op {
                let gives = |&give: &usize| self.events[give] == (thread, Op::Release(lock));
                let give = (take..self.events.len()).find(gives);
                sections.push((lock, take, give.expect("every section ends")));
            }
        }
        sections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_keeps_other_writes_away_and_sections_do_not_overlap() {
        let mut run = Run { events: Vec::new(), held: Vec::new() };
        for (thread, op) in [
            (1, Op::Acquire(0)),
            (1, Op::Write(0)),
            (1, Op::Release(0)),
            (2, Op::Acquire(0)),
            (2, Op::Release(0)),
            (2, Op::Read(0)),
            (3, Op::Write(0)),
        ] {
            run.push(thread, op, &[]);
        }
        assert_eq!(run.conflicts(), [(1, 5), (1, 6), (5, 6)]);
        let smt = run.as_smt(&[(1, 5)]);
        for line in [
            "(assert (=> (< e5 x) (< e1 e5)))",
            "(assert (=> (< e5 x) (or (< e6 e1) (< e5 e6))))",
            "(assert (=> (and (< e0 x) (< e3 x)) (or (< e2 e3) (< e4 e0))))",
            "(assert (< x e5))\n(assert (< e4 x))",
        ] {
            assert!(smt.contains(line), "{line} is not in\n{smt}");
        }
    }
}
