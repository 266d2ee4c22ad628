//! Random C programs, recorded once and predicted: whatever is called real must happen when it is
//! replayed. A finding that is real but not confirmed is a false alarm, or a replay that lost its
//! way; either is a bug of ours.
//!
//! `FORETRACE_RANDOM_PROGRAMS=N` asks for more of them, `FORETRACE_RANDOM_SEED=S` for others.

mod generator;
mod kernel;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use foretrace_testing::cases;
use generator::Through;

const PROGRAMS: u64 = 24;
/// Of which several runs are merged.
const MERGED_PROGRAMS: u64 = 8;
/// Whose threads also see each other through the kernel; from the first seed on, and those that
/// have shown something wrong.
const KERNEL_PROGRAMS: u64 = 4;
/// What each of these has shown: asking about an eventfd did not keep its order with those who add
/// to it (27, 33); calls on a closed number kept no order (71); replays took a thread in the midst
/// of a call for one that had come to its next operation (10, 16), and made calls that overlap in
/// the wrong order, or waited where time was over (5, 6, 431, 461).
const KEPT: [u64; 9] = [5, 6, 10, 16, 27, 33, 71, 431, 461];
const SCHEDULES: [&str; 4] = ["random", "pct", "round-robin", "free"];

/// The lines of a report that begin a finding which is not confirmed.
fn unconfirmed(report: &str) -> Vec<&str> {
    let heads =
        report.lines().filter(|line| line.contains(" (real") || line.contains(" (possible"));
    heads
        .filter(|line| !line.starts_with(' ') && !is_confirmed(line))
        .chain(report.lines().filter(|line| line.contains("not confirmed by replay)")))
        .collect()
}

fn is_confirmed(line: &str) -> bool {
    line.contains("confirmed by replay)") || line.contains("confirmed with recorded inputs)")
}

/// How many programs there are to be, and the seed of the first.
fn wanted(default: u64) -> (u64, u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    (number("FORETRACE_RANDOM_PROGRAMS", default), number("FORETRACE_RANDOM_SEED", 1))
}

/// Compiles the program of a seed in a folder.
fn compile(folder: &str, seed: u64, through: Through) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("{seed}.c"));
    let target = folder.join(format!("{seed}"));
    fs::write(&source, generator::program(seed, through)).unwrap();
    let compiled = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["cc", if seed.is_multiple_of(2) { "-O0" } else { "-O2" }, "-w", "-pthread"])
        .args([&source, Path::new("-o"), &target])
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{seed}: {}", String::from_utf8_lossy(&compiled.stderr));
    target
}

/// The races of a report, by what they are on.
fn races(report: &str) -> BTreeSet<&str> {
    let heads = report.lines().filter(|line| line.starts_with("race-"));
    // Merged runs do not tell elements and members apart.
    heads.filter_map(|line| line.split("data race on ").nth(1)?.split(['[', '.']).next()).collect()
}

/// Of several runs together nothing less is found than of each alone, and whatever is found
/// happens.
#[test]
fn mixtures_happen() {
    let (count, first) = wanted(cases(MERGED_PROGRAMS, 10 * MERGED_PROGRAMS));
    let mut findings = 0;
    for seed in first..first + count {
        let target = compile("random-merged", seed, Through::Memory);
        let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
            .args("test --verbose --output text --runs 3 --timeout 20s --".split(' '))
            .arg(&target)
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        let log = String::from_utf8_lossy(&output.stderr);
        let context = || format!("program {seed}\n{report}{log}");
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{}", context());
        let (alone, together) =
            report.split_once(", all runs: ").unwrap_or_else(|| panic!("{}", context()));
        assert_eq!(unconfirmed(together), Vec::<&str>::new(), "{}", context());
        findings += together.lines().filter(|line| line.contains("confirmed by replay)")).count();
        // Blocks of the heap have other names there.
        let is_named = |race: &&str| !race.starts_with("heap");
        if !together.contains("undecided: ") {
            let missing: Vec<&str> =
                races(alone).difference(&races(together)).copied().filter(is_named).collect();
            assert_eq!(missing, Vec::<&str>::new(), "{}", context());
        }
    }
    assert!(findings as u64 > count / 2, "the programs have bugs: {findings}");
}

/// Records, predicts and replays programs, each under all strategies; all that is called real must
/// happen.
fn all_happens(folder: &str, through: Through, seeds: &[u64], schedules: &[&str]) {
    let (mut findings, mut hung) = (0, 0);
    for &seed in seeds {
        let target = compile(folder, seed, through);
        for (schedule, run) in schedules.iter().zip(seed..) {
            let run = run.to_string();
            let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
                .args("test --verbose --output text --timeout 20s".split(' '))
                .args(["--schedule", schedule, "--seed", &run, "--"])
                .arg(&target)
                .output()
                .unwrap();
            let report = String::from_utf8_lossy(&output.stdout);
            let log = String::from_utf8_lossy(&output.stderr);
            let context =
                || format!("program {seed}, --schedule {schedule} --seed {run}\n{report}{log}");
            assert!(
                matches!(output.status.code(), Some(0 | 1)),
                "{}\n{}",
                output.status,
                context()
            );
            assert_eq!(unconfirmed(&report), Vec::<&str>::new(), "{}", context());
            findings += report.lines().filter(|line| is_confirmed(line)).count();
            hung += usize::from(log.contains("deadlocked"));
        }
    }
    println!("{findings} findings confirmed, {hung} runs deadlocked by themselves");
    assert!(findings > seeds.len(), "the programs have bugs: {findings}");
}

#[test]
fn whatever_is_called_real_happens() {
    let (count, first) = wanted(cases(PROGRAMS, 10 * PROGRAMS));
    let seeds: Vec<u64> = (first..first + count).collect();
    all_happens("random", Through::Memory, &seeds, &SCHEDULES);
}

/// Where threads run freely, nobody knows which of two calls that overlap took effect first: such
/// findings may be *possible* in the end.

#[test]
fn whatever_is_called_real_happens_through_the_kernel() {
    let (count, first) = wanted(cases(KERNEL_PROGRAMS, 40 * KERNEL_PROGRAMS));
    let mut seeds: Vec<u64> = (first..first + count).chain(KEPT).collect();
    seeds.sort_unstable();
    seeds.dedup();
    all_happens("random-kernel", Through::Kernel, &seeds, &SCHEDULES[..3]);
}
