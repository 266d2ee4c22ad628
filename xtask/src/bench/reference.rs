//! `bench reference`: race candidates, ours against the papers' formula in z3.
//!
//! **Computes.** For recorded traces of public projects and for generated ones with locks, fork and join: the verdicts on an even sample of the pairs of conflicting
//! accesses that no common lock refutes, from both; that they agree; and the CPU time for a candidate. Ours is that of the whole process on one core, from
//! the file to the report, shared among all these pairs of the trace; z3's is that of z3 alone, which is started for each candidate.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use super::predicted::predict_metered;
use super::smtlib::{Smtlib, ratio};
use crate::corpus;
use crate::shell::{Stop, release_binary, root};

/// Events of the generated traces.
const SIZES: [usize; 3] = [200, 500, 1000];
const WORKERS: usize = 5;
/// How many candidates of a trace z3 is asked at most, and how many with `--quick`.
const SAMPLE: usize = 5;
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
    ours: f64,
    theirs: f64,
}

pub(super) fn reference(quick: bool) -> Result<(), Stop> {
    let (program, smtlib) = (release_binary()?, Smtlib::build()?);
    println!(
        "{:<48}{:>7}{:>11}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "trace",
        "events",
        "candidates",
        "asked",
        "answered",
        "ours, ms",
        "z3, ms",
        "ratio",
        "least"
    );
    let sample = if quick { QUICK_SAMPLE } else { SAMPLE };
    let mut total = Total::default();
    for size in SIZES {
        let trace = generated(size)?;
        row(&program, &smtlib, &format!("generated-{size}"), &trace, sample, &mut total)?;
    }
    println!("generated: {total}");
    let folder = corpus::default_folder();
    let mut total = Total::default();
    for name in corpus::names(&folder) {
        let path = folder.join(&name);
        if path.exists() {
            row(&program, &smtlib, &name, &path, sample, &mut total)?;
        }
    }
    println!("recorded: {total}");
    println!("CPU time for a candidate; z3 is stopped after {LIMIT} s");
    Ok(())
}

impl std::fmt::Display for Total {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Total { asked, answered, below, ours, theirs } = self;
        write!(
            f,
            "{asked} candidates asked, {answered} answered, {} in all, {below} below × {LEAST_RATIO}",
            ratio(*theirs, *ours)
        )
    }
}

/// Decides candidates of one trace in both ways.
fn row(
    program: &Path,
    smtlib: &Smtlib,
    name: &str,
    trace: &Path,
    sample: usize,
    total: &mut Total,
) -> Result<(), Stop> {
    let options = ["--check", "race", "--granularity", "event", "--jobs", "1"];
    let ours = predict_metered(&smtlib.program, program, trace, &options)?;
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
    let each = ours.time.as_secs_f64() / open.len() as f64;
    let asked: Vec<(usize, usize)> =
        open.iter().copied().step_by(open.len().div_ceil(sample)).collect();
    let mut times = Vec::new();
    for &(a, b) in &asked {
        let (violation, limit) = (format!("race:{a},{b}"), format!("limit={LIMIT}"));
        let theirs = smtlib.decide(trace, &ours.report.model, &violation, &[&limit])?;
        let Some(feasible) = theirs.feasible else { continue };
        if feasible != (races.contains(&[a, b]) || races.contains(&[b, a])) {
            return Err(Stop::failed(format!("{name}: z3 says {feasible} of {a} and {b}")));
        }
        times.push(theirs.seconds);
    }
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    total.asked += asked.len();
    total.answered += times.len();
    total.below += times.iter().filter(|&&time| time / each < LEAST_RATIO).count();
    total.ours += each * times.len() as f64;
    total.theirs += times.iter().sum::<f64>();
    let is_answered = !times.is_empty();
    println!(
        "{name:<48}{events:>7}{:>11}{:>7}{:>10}{:>10.3}{:>10.1}{:>10}{:>10}",
        open.len(),
        asked.len(),
        times.len(),
        1000.0 * each,
        1000.0 * mean,
        if is_answered { ratio(mean, each) } else { "-".to_string() },
        if is_answered { ratio(least, each) } else { "-".to_string() },
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
