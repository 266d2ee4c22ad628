//! `bench reference`: race candidates, ours against the papers' formula in z3.
//!
//! **Computes.** For recorded traces of public projects and for generated ones with locks, fork and
//! join: the verdicts on an even sample of the pairs of conflicting accesses that no common lock
//! refutes, from both; that they agree; and two CPU times. *Process*: of our whole process on one
//! core, from the file to the report, and of z3 alone, which is started for each candidate. *Each*:
//! for a candidate, in a process that runs already. Ours is what it takes to read the trace once
//! more and to decide everything again, shared among these pairs; z3's is what it takes to ask it
//! the same question once more. The ratio is that of *each*; with all starts of processes it is in
//! the last column.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::Bench;
use super::smtlib::{Smtlib, ratio};
use crate::corpus;
use crate::shell::{Stop, release_binary, root};

/// Events of the generated traces.
const SIZES: [usize; 3] = [200, 500, 1000];
const WORKERS: usize = 5;
/// How many candidates of a trace z3 is asked at most, and how many with `--quick`.
const SAMPLE: usize = 3;
const QUICK_SAMPLE: usize = 1;
/// CPU seconds that z3 may take for a candidate.
const LIMIT: u64 = 20;
/// Recorded traces with more events are left out.
const MOST_EVENTS: u64 = 3000;
/// What we set ourselves for recorded traces.
const LEAST_RATIO: f64 = 50.0;

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
}

/// What the candidates of all traces came to.
#[derive(Default)]
struct Total {
    asked: usize,
    answered: usize,
    below: usize,
    ours: Seconds,
    theirs: Seconds,
}

/// CPU seconds for a candidate.
#[derive(Clone, Copy, Default)]
struct Seconds {
    /// With its part of the process.
    process: f64,
    /// In a process that runs already.
    each: f64,
}

impl Seconds {
    fn add(&mut self, other: Seconds) {
        self.process += other.process;
        self.each += other.each;
    }
}

/// Both sides.
struct Sides<'b> {
    bench: &'b Bench,
    program: PathBuf,
    smtlib: Smtlib,
    /// How many candidates of a trace z3 is asked.
    sample: usize,
}

pub(super) fn reference(bench: &Bench, quick: bool) -> Result<(), Stop> {
    let (program, smtlib) = (release_binary()?, Smtlib::build()?);
    let sample = if quick { QUICK_SAMPLE } else { SAMPLE };
    let sides = Sides { bench, program, smtlib, sample };
    println!(
        "CPU time in ms, the least of some runs; each: a candidate in a process that runs already; z3 is stopped after {LIMIT} s"
    );
    println!(
        "{:<56}{:>7}{:>11}{:>7}{:>10}{:>15}{:>11}{:>13}{:>10}{:>10}{:>10}{:>13}",
        "trace",
        "events",
        "candidates",
        "asked",
        "answered",
        "ours, process",
        "ours, each",
        "z3, process",
        "z3, each",
        "ratio",
        "least",
        "with starts"
    );
    let mut total = Total::default();
    for size in SIZES {
        row(&sides, &format!("generated-{size}"), &generated(size)?, &mut total)?;
    }
    println!("generated: {total}");
    let folder = corpus::default_folder();
    let mut total = Total::default();
    for name in corpus::names(&folder) {
        let path = folder.join(&name);
        if path.exists() {
            row(&sides, &name, &path, &mut total)?;
        }
    }
    println!("recorded: {total}");
    Ok(())
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Total { asked, answered, below, ours, theirs } = self;
        write!(
            f,
            "{asked} candidates asked, {answered} answered, {} in all ({} with starts), {below} below × {LEAST_RATIO}",
            ratio(theirs.each, ours.each),
            ratio(theirs.process, ours.process),
        )
    }
}

/// Decides candidates of one trace in both ways.
fn row(sides: &Sides, name: &str, trace: &Path, total: &mut Total) -> Result<(), Stop> {
    let Sides { bench, program, smtlib, sample } = sides;
    let options = ["--check", "race", "--granularity", "event", "--jobs", "1"];
    let ours = smtlib.predict(program, trace, &options)?;
    let events = ours.report.trace.events;
    if events > MOST_EVENTS {
        return Ok(());
    }
    let open = smtlib.races(trace)?;
    if open.is_empty() {
        return Ok(());
    }
    let races: Vec<[usize; 2]> = ours
        .report
        .findings
        .iter()
        .map(|finding| [finding.events[0].event, finding.events[1].event])
        .collect();
    let (count, process) = (open.len() as f64, ours.time.as_secs_f64());
    let path = trace.to_str().ok_or_else(|| Stop::usage("a path that is no text"))?;
    let all = smtlib.run_again(&bench.program, &["races", path])?;
    let own = Seconds { process: process / count, each: all / count };
    let asked: Vec<(usize, usize)> =
        open.iter().copied().step_by(open.len().div_ceil(*sample)).collect();
    let mut times = Vec::new();
    for &(a, b) in &asked {
        let (violation, limit) = (format!("race:{a},{b}"), format!("limit={LIMIT}"));
        let theirs = smtlib.decide(trace, &ours.report.model, &violation, &[&limit])?;
        let Some(feasible) = theirs.feasible else { continue };
        if feasible != (races.contains(&[a, b]) || races.contains(&[b, a])) {
            return Err(Stop::failed(format!("{name}: z3 says {feasible} of {a} and {b}")));
        }
        let process = theirs.seconds;
        let each = smtlib.decide_again(trace, &ours.report.model, &violation, process)?;
        times.push(Seconds { process, each });
    }
    let times_as_fast = |time: &Seconds| time.each / own.each;
    total.asked += asked.len();
    total.answered += times.len();
    total.below += times.iter().filter(|time| times_as_fast(time) < LEAST_RATIO).count();
    let mut sum = Seconds::default();
    for &time in &times {
        sum.add(time);
        total.ours.add(own);
        total.theirs.add(time);
    }
    let count = times.len().max(1) as f64;
    let least = times.iter().map(times_as_fast).fold(f64::INFINITY, f64::min);
    let shown = |text: String| if times.is_empty() { "-".to_string() } else { text };
    println!(
        "{name:<56}{events:>7}{:>11}{:>7}{:>10}{:>15.2}{:>11.4}{:>13.1}{:>10.2}{:>10}{:>10}{:>13}",
        open.len(),
        asked.len(),
        times.len(),
        1000.0 * process,
        1000.0 * own.each,
        1000.0 * sum.process / count,
        1000.0 * sum.each / count,
        shown(ratio(sum.each / count, own.each)),
        shown(ratio(least, 1.0)),
        shown(ratio(sum.process / count, own.process)),
    );
    Ok(())
}

/// The generated trace of that many events, as text.
fn generated(size: usize) -> Result<PathBuf, Stop> {
    let folder = root().join(".bench");
    let path = folder.join(format!("reference-{size}.trace"));
    let made =
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, Run::generate(size).as_text()));
    made.map_err(|error| Stop::usage(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

impl Run {
    /// Workers that use variables, mostly under the lock that belongs to them, and hand some over
    /// through others.
    fn generate(size: usize) -> Run {
        let (variables, locks) = (size / 12, 6);
        let mut state = size as u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut run = Run { events: Vec::new() };
        for worker in 1..=WORKERS {
            run.push(0, Op::Fork(worker));
        }
        while run.events.len() + 8 + WORKERS < size {
            let (worker, variable) = (1 + random(WORKERS), random(variables));
            let lock = variable % locks;
            let protected = random(10) < 7;
            if protected {
                run.push(worker, Op::Acquire(lock));
            }
            for _ in 0..1 + random(3) {
                // Sometimes another variable, which is not this lock's.
                let at = if random(8) == 0 { random(variables) } else { variable };
                run.push(worker, if random(2) == 0 { Op::Read(at) } else { Op::Write(at) });
            }
            if protected {
                run.push(worker, Op::Release(lock));
            }
        }
        for worker in 1..=WORKERS {
            run.push(0, Op::Join(worker));
        }
        run
    }

    fn push(&mut self, thread: usize, op: Op) {
        self.events.push((thread, op));
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
}
