//! `bench recording`: what recording costs, beside running natively and under clang's
//! ThreadSanitizer.
//!
//! **Computes.** For each program of `benches/programs`, all compiled with `-O2` by the same clang:
//! seconds of a run as it is, under ThreadSanitizer, recorded freely and recorded by a schedule, in
//! turn, so that whatever else the machine does meets all of them; the median of the rounds counts.
//! Then what a trace costs on the disk. And how many nanoseconds more the calls of
//! `benches/programs/calls.c` take that go to the kernel: of each, the shortest time of the rounds
//! counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::shell::{Stop, release_build, root};
use crate::tools;

/// A program, its argument, and whether the limits that we set ourselves are about it.
const PROGRAMS: [(&str, &str, bool); 3] =
    [("private", "4000", true), ("primes", "1500000", true), ("partition", "4000", false)];

const ROUNDS: usize = 7;
/// What recording may cost, in times of what ThreadSanitizer costs.
const MOST_FREE: f64 = 1.5;
const MOST_SCHEDULED: f64 = 5.0;

pub(super) fn recording(quick: bool) -> Result<(), Stop> {
    tools::ensure_for_benchmarks()?;
    let foretrace = release_build()?;
    let folder = root().join(".bench").join("recording");
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    // First: the disk is busy for a while with what the others write.
    calls(&foretrace, &folder, if quick { "10000" } else { "50000" })?;
    println!(
        "\n{:<11}{:>9}{:>9}{:>9}{:>11}{:>13}{:>18}{:>12}{:>14}",
        "program",
        "native",
        "tsan",
        "free",
        "scheduled",
        "free / tsan",
        "scheduled / tsan",
        "events",
        "bytes / event"
    );
    for (name, argument, limited) in PROGRAMS {
        let argument = if quick { &argument[..argument.len() - 1] } else { argument };
        row(&foretrace, &folder, name, argument, limited)?;
    }
    println!(
        "limits: free {MOST_FREE} times, scheduled {MOST_SCHEDULED} times what ThreadSanitizer costs, on `private` and `primes`"
    );
    Ok(())
}

/// What calls of the kernel cost.
fn calls(foretrace: &Path, folder: &Path, argument: &str) -> Result<(), Stop> {
    let build = |kind, program: &Path, flags: &[&str]| build(folder, "calls", kind, program, flags);
    let native = build("native", Path::new("clang-19"), &[])?;
    let recorded = build("foretrace", foretrace, &["cc"])?;
    let file = folder.join("calls.ftrec");
    let mut best: [BTreeMap<String, f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (at, schedule) in [None, Some("free"), Some("random")].into_iter().enumerate() {
            // Most often there is none.
            let _ = fs::remove_file(&file);
            let mut run = Command::new(if schedule.is_some() { &recorded } else { &native });
            if let Some(schedule) = schedule {
                run.env("FORETRACE_RECORDING", &file).env("FORETRACE_SCHEDULE", schedule);
                run.env("FORETRACE_TIME", "real");
            }
            for (name, time) in said(run.arg(argument))? {
                let known = best[at].entry(name).or_insert(time);
                *known = known.min(time);
            }
        }
    }
    println!(
        "{:<15}{:>11}{:>11}{:>11}{:>11}{:>11}",
        "call, ns", "native", "free", "more", "scheduled", "more"
    );
    let [native, free, scheduled] = best;
    for (name, native) in native {
        let [free, scheduled] = [&free, &scheduled].map(|times| times[&name]);
        println!(
            "{name:<15}{native:>11.0}{free:>11.0}{:>11.0}{scheduled:>11.0}{:>11.0}",
            free - native,
            scheduled - native
        );
    }
    Ok(())
}

/// The names and numbers that a program prints.
fn said(command: &mut Command) -> Result<Vec<(String, f64)>, Stop> {
    let shown = crate::shell::show(command);
    let output = alone(command).output();
    let output = output.map_err(|error| Stop::usage(format!("cannot run `{shown}`: {error}")))?;
    if !output.status.success() {
        return Err(Stop::failed(format!("`{shown}` ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |line: &str| {
        let (name, number) = line.split_once(' ')?;
        Some((name.to_string(), number.parse().ok()?))
    };
    Ok(text.lines().filter_map(number).collect())
}

/// Compiles a program of `benches/programs`.
fn build(
    folder: &Path,
    name: &str,
    kind: &str,
    compiler: &Path,
    flags: &[&str],
) -> Result<PathBuf, Stop> {
    let source = root().join("benches/programs").join(format!("{name}.c"));
    let target = folder.join(format!("{name}-{kind}"));
    let mut command = Command::new(compiler);
    command.args(flags).args(["-O2", "-g", "-pthread"]).arg(&source).arg("-o").arg(&target);
    succeed(&mut command)?;
    Ok(target)
}

fn row(
    foretrace: &Path,
    folder: &Path,
    name: &str,
    argument: &str,
    limited: bool,
) -> Result<(), Stop> {
    let build = |kind, program: &Path, flags: &[&str]| build(folder, name, kind, program, flags);
    let clang = Path::new("clang-19");
    let native = build("native", clang, &[])?;
    let sanitized = build("tsan", clang, &["-fsanitize=thread"])?;
    let recorded = build("foretrace", foretrace, &["cc"])?;
    let file = folder.join(format!("{name}.ftrec"));

    let mut times = [const { Vec::new() }; 4];
    for _ in 0..ROUNDS {
        times[0].push(time(Command::new(&native).arg(argument))?);
        times[1].push(time(Command::new(&sanitized).arg(argument))?);
        for (at, schedule) in [(2, "free"), (3, "random")] {
            // Most often there is none.
            let _ = fs::remove_file(&file);
            let mut run = Command::new(&recorded);
            run.arg(argument).env("FORETRACE_RECORDING", &file).env("FORETRACE_SCHEDULE", schedule);
            times[at].push(time(&mut run)?);
        }
    }
    let [native, sanitized, free, scheduled] = times.map(median);
    let trace = folder.join(format!("{name}.ftb"));
    succeed(Command::new(foretrace).args(["trace", "convert"]).args([&file, &trace]))?;
    let events = events(foretrace, &trace)?;
    let size = fs::metadata(&trace).map_err(|error| cannot(&trace, &error))?.len();
    let ratios = [free / sanitized, scheduled / sanitized];
    println!(
        "{name:<11}{native:>9.3}{sanitized:>9.3}{free:>9.3}{scheduled:>11.3}{:>13.2}{:>18.2}{events:>12}{:>14.2}{}",
        ratios[0],
        ratios[1],
        size as f64 / events as f64,
        if limited && (ratios[0] > MOST_FREE || ratios[1] > MOST_SCHEDULED) {
            "  OVER"
        } else {
            ""
        },
    );
    Ok(())
}

fn events(foretrace: &Path, trace: &Path) -> Result<u64, Stop> {
    let output = Command::new(foretrace).args(["trace", "stats"]).arg(trace).output();
    let output = output.map_err(|error| cannot(foretrace, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("events"));
    let number = line.and_then(|line| line.trim().parse().ok());
    number.ok_or_else(|| Stop::failed(format!("`trace stats` says no number of events:\n{text}")))
}

pub(super) fn time(command: &mut Command) -> Result<f64, Stop> {
    let start = Instant::now();
    succeed(command)?;
    Ok(start.elapsed().as_secs_f64())
}

/// Cargo lets programs find libraries of the other profile first.
fn alone(command: &mut Command) -> &mut Command {
    command.env_remove("LD_LIBRARY_PATH")
}

fn succeed(command: &mut Command) -> Result<(), Stop> {
    let shown = crate::shell::show(command);
    let status = alone(command).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Stop::failed(format!("`{shown}` ended with {status}"))),
        Err(error) => Err(Stop::usage(format!("cannot run `{shown}`: {error}"))),
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

pub(super) fn cannot(path: &Path, error: &std::io::Error) -> Stop {
    Stop::usage(format!("{}: {error}", path.display()))
}
