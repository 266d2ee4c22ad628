//! `bench`: how long what takes, on generated traces and on the corpus.
//!
//! The programs under measurement run as the user runs them; each time is the best of some runs, and
//! beside it stands the ratio to the next smaller trace, which shows the growth.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Stop, release_binary, root};
use crate::tools;

const SIZES: [usize; 3] = [100_000, 1_000_000, 10_000_000];
const RUNS: usize = 3;

/// What is measured: a name, and the arguments before and after the trace.
const TASKS: [(&str, &[&str]); 3] = [
    ("read", &["trace", "stats"]),
    ("read, validate", &["trace", "validate"]),
    ("read, validate, predict races", &["predict", "--check", "race"]),
];

/// Measures; `quick` leaves out the largest trace.
pub(crate) fn bench(quick: bool) -> Result<(), Stop> {
    tools::ensure()?;
    let foretrace = release_binary()?;
    let sizes = if quick { &SIZES[..2] } else { &SIZES[..] };
    let traces: Vec<PathBuf> =
        sizes.iter().map(|&size| generate(size)).collect::<Result<_, _>>()?;
    println!("{:<32} {:>10} {:>9} {:>12} {:>7}", "task", "events", "seconds", "events/s", "ratio");
    for (name, arguments) in TASKS {
        let mut previous: Option<Duration> = None;
        for (&size, trace) in sizes.iter().zip(&traces) {
            let time = best_time(&foretrace, arguments, trace)?;
            let seconds = time.as_secs_f64();
            let ratio = previous.map_or(String::new(), |previous| {
                format!("{:.1}", seconds / previous.as_secs_f64())
            });
            let speed = size as f64 / seconds;
            println!("{name:<32} {size:>10} {seconds:>9.2} {speed:>12.0} {ratio:>7}");
            previous = Some(time);
        }
    }
    Ok(())
}

fn best_time(foretrace: &Path, arguments: &[&str], trace: &Path) -> Result<Duration, Stop> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let status = Command::new(foretrace)
            .args(arguments)
            .arg(trace)
            .stdout(Stdio::null())
            .status()
            .map_err(|error| Stop::usage(format!("cannot run {}: {error}", foretrace.display())))?;
        // 2 and above but 3 are failures; a verdict is none.
        if !matches!(status.code(), Some(0 | 1 | 3)) {
            return Err(Stop::failed(format!("bench FAILED on {}: {status}", trace.display())));
        }
        best = best.min(start.elapsed());
    }
    Ok(best)
}

/// A race-free trace of that many events in the STD format, made once and kept in `.bench`.
fn generate(events: usize) -> Result<PathBuf, Stop> {
    let folder = root().join(".bench");
    let path = folder.join(format!("generated-{events}.std"));
    if path.exists() {
        return Ok(path);
    }
    let write = || {
        fs::create_dir_all(&folder)?;
        // Written whole or not at all: an interrupted run must not leave a short trace behind.
        let partial = path.with_extension("partial");
        fs::write(&partial, synthetic(events))?;
        fs::rename(&partial, &path)
    };
    write().map_err(|error| Stop::usage(format!("cannot write {}: {error}", path.display())))?;
    Ok(path)
}

/// Eight threads that take turns in critical sections over sixteen locks, each of which guards its
/// own variables, and that touch variables of their own in between.
fn synthetic(events: usize) -> String {
    const THREADS: u64 = 8;
    const LOCKS: u64 = 16;
    let mut out = String::with_capacity(events * 18);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    let mut count = 0;
    let mut push = |out: &mut String, thread: u64, op: &str, location: u64| {
        if count < events {
            writeln!(out, "T{thread}|{op}|{location}").expect("a string takes all text");
            count += 1;
        }
        count < events
    };
    for child in 1..=THREADS {
        push(&mut out, 0, &format!("fork(T{child})"), child);
    }
    loop {
        let thread = 1 + next(THREADS);
        let lock = next(LOCKS);
        let variable = next(64);
        let place = 100 * (lock + 1);
        let section = [
            (format!("w(P{thread})"), 10 + thread),
            (format!("acq(L{lock})"), place),
            (format!("r(V{lock}_{variable})"), place + 1),
            (format!("w(V{lock}_{variable})"), place + 2),
            (format!("rel(L{lock})"), place + 3),
            (format!("r(P{thread})"), 20 + thread),
        ];
        for (op, location) in section {
            if !push(&mut out, thread, &op, location) {
                return out;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn has_the_size_that_was_asked_for() {
        let text = super::synthetic(1_000);
        assert_eq!(text.lines().count(), 1_000);
        assert!(text.starts_with("T0|fork(T1)|1\n"));
    }
}
