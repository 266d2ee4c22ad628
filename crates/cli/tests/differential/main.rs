//! Random C programs, recorded once and predicted, against the truth: the same program under all
//! its schedules.
//!
//! Among the executions in which every thread's branches go as recorded up to the violation, model
//! and truth agree on assertions and races. A finding that no execution shows is a false alarm. An
//! execution that the model says is infeasible is missed; that is asked only where the trace keeps
//! nothing as recorded for want of an expression.
//!
//! `FORETRACE_DIFFERENTIAL=N` asks for so many programs, `FORETRACE_DIFFERENTIAL_SEED=S` for those
//! from seed S on (`cargo xtask differential`). Programs that have shown a difference go to the
//! folder `kept`, and are tried each time.

mod channels;
mod compare;
mod explorer;
mod faults;
mod fragments;
mod generator;
mod indexed;
mod verdicts;
mod waiting;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use compare::FALSE_ALARM;
use explorer::{Recorded, Truth};
use foretrace_testing::cases;

/// Of programs with addresses that depend on what was read.
const INDEXED_PROGRAMS: u64 = 60;
/// Of programs whose threads see each other through the kernel.
const CHANNEL_PROGRAMS: u64 = 80;
/// Of programs whose threads wait for each other in the kernel.
const WAITING_PROGRAMS: u64 = 80;
/// Of programs that are verified.
const VERIFIED_PROGRAMS: u64 = 100;
/// How many programs are tried if nobody asks for more.
const PROGRAMS: u64 = 240;
/// A program that needs more runs than this is too large to be explored.
const MOST_RUNS: usize = 1500;
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

/// A program to try.
struct Case {
    name: String,
    source: String,
    level: &'static str,
    /// Of the recorded schedule.
    seed: u64,
}

/// What came of the programs.
#[derive(Default, Debug)]
struct Sums {
    programs: AtomicU64,
    never_passed: AtomicU64,
    too_large: AtomicU64,
    /// Compared in both directions, and only for false alarms.
    both_ways: AtomicU64,
    one_way: AtomicU64,
    runs: AtomicU64,
    states: AtomicU64,
    assertions: AtomicU64,
    /// Accesses that range over their objects.
    ranging: AtomicU64,
    /// What is found that recorded addresses do not show.
    beyond: AtomicU64,
    failures: AtomicU64,
    failures_both_ways: AtomicU64,
    races: AtomicU64,
    races_both_ways: AtomicU64,
    /// Threads that wait for ever in calls, and how many of them are found.
    stuck: AtomicU64,
    stuck_found: AtomicU64,
    /// Verdicts of `verify`.
    proved: AtomicU64,
    bugs: AtomicU64,
    /// How many programs with a verdict have each of [`verdicts::CONSTRUCTS`].
    constructs: [AtomicU64; verdicts::CONSTRUCTS.len()],
    /// In how many programs each of [`faults::FAULTS`] shows.
    caught: [AtomicU64; faults::FAULTS.len()],
}

/// The programs that have shown a difference, at each level.
fn kept() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/kept");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let cases = files.iter().filter(|file| file.extension().is_some_and(|end| end == "c"));
    let cases = cases.flat_map(|file| {
        LEVELS.iter().zip(1..).map(move |(level, seed)| Case {
            name: format!("{}{level}", file.file_stem().unwrap().display()),
            source: fs::read_to_string(file).unwrap(),
            level,
            seed,
        })
    });
    cases.collect()
}

/// Each way in which a value may get lost, at each level.
fn letters() -> Vec<Case> {
    let mut cases = Vec::new();
    for (number, function) in generator::HARD.iter().enumerate() {
        for way in 0..generator::WAYS {
            let level = LEVELS[(number + way) % LEVELS.len()];
            let name = format!("letter-{number}-{way}{level}");
            cases.push(Case { name, source: generator::letter(function, way), level, seed: 1 });
        }
    }
    cases
}

/// The programs of a generator.
fn generated(of: impl Fn(u64) -> String, seeds: Range<u64>) -> Vec<Case> {
    let case = |seed: u64| {
        let level = LEVELS[seed as usize % LEVELS.len()];
        Case { name: format!("{seed}{level}"), source: of(seed), level, seed }
    };
    seeds.map(case).collect()
}

fn compile(case: &Case, folder: &Path) -> PathBuf {
    let target = folder.join(&case.name);
    let source = target.with_extension("c");
    fs::write(&source, &case.source).unwrap();
    let compiled = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["cc", case.level, "-g", "-w", "-fwrapv", "-pthread"])
        .args([&source, Path::new("-o"), &target])
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{}: {log}", case.name);
    target
}

/// Records a run that passes, if one of a few does.
fn record(program: &Path, recording: &Path, seed: u64) -> bool {
    (seed..seed + 12).any(|schedule| {
        // Most often there is none.
        let _ = fs::remove_file(recording);
        let status = Command::new(program)
            .env("FORETRACE_RECORDING", recording)
            .env("FORETRACE_SCHEDULE", "random")
            .env("FORETRACE_SEED", schedule.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        status.success()
    })
}

fn add(sum: &AtomicU64, count: usize) {
    sum.fetch_add(count as u64, Relaxed);
}

/// A program that was compiled and recorded, and the files that it leaves.
struct Tried {
    program: PathBuf,
    area: PathBuf,
    recording: PathBuf,
    /// Whether threads try to get locks.
    tries: bool,
    /// Whether threads look at something until another one changes it.
    spins: bool,
}

impl Tried {
    /// Not yet recorded.
    fn compiled(case: &Case, folder: &Path, sums: &Sums) -> Tried {
        let program = compile(case, folder);
        add(&sums.programs, 1);
        let [area, recording] = ["area", "ftrec"].map(|end| program.with_extension(end));
        let tries = ["try", "timed"].iter().any(|word| case.source.contains(word));
        let spins = case.source.contains("while (!go)");
        Tried { program, area, recording, tries, spins }
    }

    /// `None` if no run of it passes.
    fn new(case: &Case, folder: &Path, sums: &Sums) -> Option<Tried> {
        let tried = Tried::compiled(case, folder, sums);
        if !record(&tried.program, &tried.recording, case.seed) {
            add(&sums.never_passed, 1);
            tried.forget();
            return None;
        }
        Some(tried)
    }

    /// What it does under all its schedules; `None` if there are too many.
    fn explore(&self, recorded: &Recorded, sums: &Sums) -> Option<Truth> {
        let (program, area) = (&self.program, &self.area);
        let does = (self.tries, self.spins);
        let truth = explorer::explore(program, area, recorded, MOST_RUNS, does);
        match &truth {
            Some(truth) => {
                add(&sums.runs, truth.runs);
                add(&sums.states, truth.states);
            }
            None => {
                add(&sums.too_large, 1);
                self.forget();
            }
        }
        truth
    }

    /// Some of the files may not be there.
    fn forget(&self) {
        let source = self.program.with_extension("c");
        let files = [&source, &self.program, &self.area, &self.recording];
        files.iter().for_each(|file| _ = fs::remove_file(file));
    }
}

impl Sums {
    /// Counts what happens, and in which way it is compared.
    fn compared(&self, truth: &Truth, is_exact: bool) {
        add(&self.failures, truth.failures.len());
        add(&self.races, truth.races.len());
        if is_exact {
            add(&self.both_ways, 1);
            add(&self.failures_both_ways, truth.failures.len());
            add(&self.races_both_ways, truth.races.len());
        } else {
            add(&self.one_way, 1);
        }
    }
}

/// Compares model and truth for a program; returns the differences.
fn check(case: &Case, folder: &Path, sums: &Sums) -> Option<Vec<String>> {
    let tried = Tried::new(case, folder, sums)?;
    let is_initialised = case.source.contains(fragments::INITIALISED);
    let predicted = compare::prepare(&tried.recording, is_initialised);
    let truth = tried.explore(&predicted.recording.recorded, sums)?;
    add(&sums.assertions, predicted.recording.assertions.len());
    sums.compared(&truth, predicted.is_exact);
    let differences = predicted.differences(&truth);
    if differences.is_empty() {
        for (fault, caught) in faults::FAULTS.into_iter().zip(&sums.caught) {
            if predicted.keeps_order
                && let Some(faulty) = faults::seed(&tried.recording, fault)
            {
                let predicted = compare::prepare(&faulty, is_initialised);
                let differences = predicted.differences(&truth);
                add(caught, usize::from(differences.iter().any(|one| one.contains(FALSE_ALARM))));
                fs::remove_file(&faulty).unwrap();
            }
        }
        tried.forget();
    }
    Some(differences)
}

/// As [`check`], with addresses that range over their objects.
fn check_indexed(case: &Case, folder: &Path, sums: &Sums) -> Option<Vec<String>> {
    let tried = Tried::new(case, folder, sums)?;
    let ranging = indexed::prepare(&tried.recording);
    let truth = tried.explore(&ranging.recorded, sums)?;
    add(&sums.ranging, ranging.accesses);
    add(&sums.beyond, ranging.beyond);
    sums.compared(&truth, ranging.is_exact);
    let differences = ranging.differences(&truth);
    if differences.is_empty() {
        tried.forget();
    }
    Some(differences)
}

/// Compares who waits for ever in the kernel.
fn check_waiting(case: &Case, folder: &Path, sums: &Sums) -> Option<Vec<String>> {
    let tried = Tried::new(case, folder, sums)?;
    let waiting = waiting::prepare(&tried.recording);
    let truth = tried.explore(&waiting.recorded, sums)?;
    add(&sums.one_way, 1);
    let (there, found) = waiting.counts(&truth);
    add(&sums.stuck, there);
    add(&sums.stuck_found, found);
    let mut differences = waiting.differences(&truth);
    differences.extend(unconfirmed(&tried.program, case.seed));
    if differences.is_empty() {
        tried.forget();
    }
    Some(differences)
}

/// The findings of a program that are called real, and do not happen when they are replayed.
fn unconfirmed(program: &Path, seed: u64) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args("test --verbose --output text --timeout 20s --seed".split(' '))
        .args([&seed.to_string(), "--"])
        .arg(program)
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    let heads = report.lines().filter(|line| !line.starts_with(' ') && line.contains(" (real"));
    let left = heads.filter(|line| !line.contains("(real, confirmed by replay)"));
    left.map(|line| format!("not confirmed, --seed {seed}: {line}")).collect()
}

/// How many programs are asked for, and the seed of the first.
fn wanted(default: u64) -> (u64, u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
    };
    (number("FORETRACE_DIFFERENTIAL", default), number("FORETRACE_DIFFERENTIAL_SEED", 1))
}

/// Checks all cases, and returns what came of them.
fn check_all(
    cases: &[Case],
    folder: &str,
    check: impl Fn(&Case, &Path, &Sums) -> Option<Vec<String>> + Sync + std::panic::RefUnwindSafe,
) -> Sums {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let (next, sums) = (AtomicUsize::new(0), Sums::default());
    let differences = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let found = std::panic::catch_unwind(|| check(case, &folder, &sums));
                    let found =
                        found.unwrap_or_else(|_| Some(vec!["the test itself failed".into()]));
                    let name = |text| format!("{}: {text}", case.name);
                    let found: Vec<String> =
                        found.unwrap_or_default().into_iter().map(name).collect();
                    found.iter().for_each(|difference| println!("{difference}"));
                    differences.lock().unwrap().extend(found);
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    println!("{sums:#?}");
    assert!(
        differences.is_empty(),
        "model and truth differ; the programs are in {}\n{}",
        folder.display(),
        differences.join("\n")
    );
    sums
}

#[test]
fn model_and_truth_agree() {
    let (count, first) = wanted(cases(PROGRAMS, 10 * PROGRAMS));
    let mut cases = kept();
    cases.extend(letters());
    cases.extend(generated(generator::program, first..first + count));
    let sums = check_all(&cases, "differential", check);
    // The comparison means something: of a hundred programs so many show something.
    let of = |sum: &AtomicU64, percent: u64| sum.load(Relaxed) >= count * percent / 100;
    assert!(of(&sums.both_ways, 15) && of(&sums.one_way, 25), "too few are compared: {sums:?}");
    assert!(of(&sums.failures, 15) && of(&sums.failures_both_ways, 5), "too few fail: {sums:?}");
    assert!(of(&sums.races, 200) && of(&sums.races_both_ways, 50), "too few race: {sums:?}");
}

#[test]
fn model_and_truth_agree_with_addresses_that_range_over_their_objects() {
    let (count, first) = wanted(cases(INDEXED_PROGRAMS, 10 * INDEXED_PROGRAMS));
    let cases = generated(indexed::program, first..first + count);
    let sums = check_all(&cases, "differential-indexed", check_indexed);
    let of = |sum: &AtomicU64, percent: u64| sum.load(Relaxed) >= count * percent / 100;
    assert!(of(&sums.both_ways, 40) && of(&sums.ranging, 200), "too few are compared: {sums:?}");
    assert!(of(&sums.beyond, 20), "too little needs other addresses: {sums:?}");
    assert!(of(&sums.failures_both_ways, 15), "too few fail: {sums:?}");
    assert!(of(&sums.races_both_ways, 100), "too few race: {sums:?}");
}

#[test]
fn nothing_is_predicted_through_the_kernel_that_does_not_happen() {
    let (count, first) = wanted(cases(CHANNEL_PROGRAMS, 10 * CHANNEL_PROGRAMS));
    let mut cases = generated(channels::program, first..first + count);
    for (number, source) in channels::planted().into_iter().enumerate() {
        let case = |seed| Case {
            name: format!("planted-{number}-{seed}"),
            source: source.clone(),
            level: "-O1",
            seed,
        };
        cases.extend([1, 13, 25, 37, 49, 61].map(case));
    }
    let sums = check_all(&cases, "differential-channels", check);
    let of = |sum: &AtomicU64, percent: u64| sum.load(Relaxed) >= count * percent / 100;
    assert!(of(&sums.one_way, 50), "too few are compared: {sums:?}");
    assert!(of(&sums.failures, 5) && of(&sums.races, 50), "too little happens: {sums:?}");
    for (fault, caught) in faults::FAULTS.iter().zip(&sums.caught) {
        assert!(caught.load(Relaxed) > 0, "nothing shows {fault:?}");
    }
}

#[test]
fn verdicts_agree_with_all_schedules() {
    let (count, first) = wanted(cases(VERIFIED_PROGRAMS, 50 * VERIFIED_PROGRAMS));
    let cases = generated(verdicts::program, first..first + count);
    let sums = check_all(&cases, "differential-verdicts", verdicts::check);
    let of = |sum: &AtomicU64, percent: u64| sum.load(Relaxed) >= count * percent / 100;
    assert!(of(&sums.proved, 15) && of(&sums.bugs, 15), "too few are decided: {sums:?}");
    for ((what, _), count) in verdicts::CONSTRUCTS.iter().zip(&sums.constructs) {
        assert!(count.load(Relaxed) > 0, "no program with {what} has a verdict");
    }
}

#[test]
fn nobody_is_predicted_to_wait_for_ever_who_never_does() {
    let (count, first) = wanted(cases(WAITING_PROGRAMS, 10 * WAITING_PROGRAMS));
    let cases = generated(waiting::program, first..first + count);
    let sums = check_all(&cases, "differential-waiting", check_waiting);
    let of = |sum: &AtomicU64, percent: u64| sum.load(Relaxed) >= count * percent / 100;
    assert!(of(&sums.one_way, 50), "too few are compared: {sums:?}");
    assert!(of(&sums.stuck, 15) && of(&sums.stuck_found, 5), "too few hang: {sums:?}");
}
