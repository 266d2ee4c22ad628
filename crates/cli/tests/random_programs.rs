//! Random C programs, recorded once and predicted: whatever is called real must happen when it is replayed. A finding that is real but not
//! confirmed is a false alarm, or a replay that lost its way; either is a bug of ours.
//!
//! `FORETRACE_RANDOM_PROGRAMS=N` asks for more of them, `FORETRACE_RANDOM_SEED=S` for others.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: u64 = 24;
/// Of which several runs are merged.
const MERGED_PROGRAMS: u64 = 8;
const SCHEDULES: [&str; 4] = ["random", "pct", "round-robin", "free"];

/// A generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

const PROLOGUE: &str = "\
#include \"foretrace.h\"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int x[4];
static char bytes[16];
static atomic_int a[2];
static struct { short s; char c[6]; long l; } mixed, other;
static int *heap;
static pthread_mutex_t m[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int ready;
";

/// Statements of one thread. Locks are taken in random order, but given back in the opposite one.
fn body(random: &mut Random, text: &mut String, depth: u32, held: &mut Vec<u64>, budget: &mut u32) {
    let count = 1 + random.below(4);
    for _ in 0..count {
        if *budget == 0 {
            return;
        }
        *budget -= 1;
        let at = random.below(4);
        let indent = "    ".repeat(depth as usize + 1);
        match random.below(22) {
            0 | 1 => writeln!(text, "{indent}x[{at}] = {};", random.below(3)),
            2 | 3 => writeln!(text, "{indent}x[{at}]++;"),
            4 => writeln!(text, "{indent}x[{at}] = x[{}] + 1;", random.below(4)),
            5 => writeln!(text, "{indent}sum += x[{at}];"),
            6 => writeln!(text, "{indent}atomic_fetch_add(&a[{}], 1);", at % 2),
            7 => writeln!(text, "{indent}a[{}] = {};", at % 2, random.below(3)),
            8 => writeln!(text, "{indent}memcpy(bytes + {at}, x, {});", 1 + random.below(12)),
            9 => writeln!(text, "{indent}mixed.{} = {};", ["s", "c[1]", "c[4]", "l"][at as usize], random.below(3)),
            10 => writeln!(text, "{indent}{};", ["other = mixed", "mixed = other", "sum += mixed.s", "sum += (int)other.l"][at as usize]),
            11 => writeln!(text, "{indent}sum += heap[{at}]; heap[{at}] = sum;"),
            12 => writeln!(text, "{indent}int expected{budget} = {}; atomic_compare_exchange_strong(&a[0], &expected{budget}, 7);", random.below(2)),
            13 => writeln!(text, "{indent}sem_post(&sem);"),
            14 => writeln!(text, "{indent}if (sem_trywait(&sem) == 0) x[{at}] = 5;"),
            15 if !held.is_empty() => {
                let lock = held[random.below(held.len() as u64) as usize];
                writeln!(text, "{indent}if (x[{at}] > {}) pthread_cond_broadcast(&changed);\n{indent}sum += {lock};", random.below(2))
            }
            16..=18 if depth < 3 => {
                let lock = random.below(3);
                if held.contains(&lock) {
                    continue;
                }
                writeln!(text, "{indent}pthread_mutex_lock(&m[{lock}]);").unwrap();
                held.push(lock);
                body(random, text, depth + 1, held, budget);
                held.pop();
                writeln!(text, "{indent}pthread_mutex_unlock(&m[{lock}]);")
            }
            19 if depth < 3 => {
                writeln!(text, "{indent}if (x[{at}] == {}) {{", random.below(2)).unwrap();
                body(random, text, depth + 1, held, budget);
                writeln!(text, "{indent}}}")
            }
            20 if depth == 0 => {
                let mode = ["rdlock", "wrlock"][random.below(2) as usize];
                writeln!(text, "{indent}pthread_rwlock_{mode}(&rw);").unwrap();
                body(random, text, depth + 1, &mut vec![0, 1, 2], budget);
                writeln!(text, "{indent}pthread_rwlock_unlock(&rw);")
            }
            21 if depth == 0 => {
                writeln!(text, "{indent}FORETRACE_ATOMIC_BEGIN();").unwrap();
                body(random, text, depth + 1, held, budget);
                writeln!(text, "{indent}FORETRACE_ATOMIC_END();")
            }
            _ => writeln!(text, "{indent}sum ^= x[{at}];"),
        }
        .unwrap();
    }
}

fn program(seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = PROLOGUE.to_string();
    let threads = 2 + random.below(2);
    let waits = random.below(3) == 0;
    for thread in 0..threads {
        writeln!(text, "\nstatic void *t{thread}(void *unused)\n{{\n    int sum = 0;").unwrap();
        if waits && thread == 0 {
            text.push_str(
                "    pthread_mutex_lock(&m[0]);\n    while (!ready)\n        pthread_cond_wait(&changed, &m[0]);\n    \
                 pthread_mutex_unlock(&m[0]);\n",
            );
        }
        if waits && thread == 1 {
            text.push_str(
                "    pthread_mutex_lock(&m[0]);\n    ready = 1;\n    pthread_cond_signal(&changed);\n    pthread_mutex_unlock(&m[0]);\n",
            );
        }
        let mut budget = 12;
        while budget > 4 {
            body(&mut random, &mut text, 0, &mut Vec::new(), &mut budget);
        }
        text.push_str("    bytes[15] ^= (char)(sum * 0);\n    return unused;\n}\n");
    }
    text.push_str("\nint main(void)\n{\n    pthread_t t[4];\n    heap = calloc(4, sizeof *heap);\n    sem_init(&sem, 0, 0);\n");
    for thread in 0..threads {
        writeln!(text, "    pthread_create(&t[{thread}], NULL, t{thread}, NULL);").unwrap();
    }
    for thread in 0..threads {
        writeln!(text, "    pthread_join(t[{thread}], NULL);").unwrap();
    }
    text.push_str("    free(heap);\n    return 0;\n}\n");
    text
}

/// The lines of a report that begin a finding which is not confirmed.
fn unconfirmed(report: &str) -> Vec<&str> {
    let heads =
        report.lines().filter(|line| line.contains(" (real") || line.contains(" (possible"));
    heads
        .filter(|line| !line.starts_with(' ') && !line.contains("confirmed by replay)"))
        .chain(report.lines().filter(|line| line.contains("not confirmed by replay)")))
        .collect()
}

/// How many programs there are to be, and the seed of the first.
fn wanted(default: u64) -> (u64, u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    (number("FORETRACE_RANDOM_PROGRAMS", default), number("FORETRACE_RANDOM_SEED", 1))
}

/// Compiles the program of a seed in a folder.
fn compile(folder: &str, seed: u64) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("{seed}.c"));
    let target = folder.join(format!("{seed}"));
    fs::write(&source, program(seed)).unwrap();
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
    heads.filter_map(|line| line.split("data race on ").nth(1)).collect()
}

/// Of several runs together nothing less is found than of each alone, and whatever is found happens.
#[test]
fn mixtures_happen() {
    let (count, first) = wanted(MERGED_PROGRAMS);
    let mut findings = 0;
    for seed in first..first + count {
        let target = compile("random-merged", seed);
        let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
            .args(["test", "--runs", "3", "--timeout", "20s", "--"])
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

#[test]
fn whatever_is_called_real_happens() {
    let (count, first) = wanted(PROGRAMS);
    let (mut findings, mut hung) = (0, 0);
    for seed in first..first + count {
        let target = compile("random", seed);
        for (schedule, run) in SCHEDULES.iter().zip(seed..) {
            let run = run.to_string();
            let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
                .args(["test", "--schedule", schedule, "--seed", &run, "--timeout", "20s", "--"])
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
            findings += report.lines().filter(|line| line.contains("confirmed by replay)")).count();
            hung += usize::from(log.contains("deadlocked"));
        }
    }
    println!("{findings} findings confirmed, {hung} runs deadlocked by themselves");
    assert!(findings as u64 > count, "the programs have bugs: {findings}");
}
