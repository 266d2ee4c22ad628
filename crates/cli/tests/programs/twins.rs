//! Programs with a bug and their corrected twins: the bug is found from a run that does not show it
//! and confirmed by replay, every time; nothing is found in the twin, whatever the schedule.

use foretrace_testing::cases;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::found::{Found, findings};
use super::{compile, examples, foretrace, replay_again};

/// The whole report, on standard output.
/// Seeds are chosen here.
const TEST: [&str; 6] = ["test", "--verbose", "--output", "text", "--runs", "1"];

/// Runs with different seeds in which the bug must be found at least once.
const SEEDS: u64 = 30;
/// Runs in which a weaker model than the expected one must not find it.
const LEAST_SEEDS: u64 = 5;
/// Runs of each twin: at every change, and in the long tier.
const TWIN_RUNS: u64 = 20;
const LONG_TWIN_RUNS: u64 = 100;

/// What a program's `expect` says of the bug.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    property: String,
    model: String,
    places: Vec<String>,
}

fn expectations(folder: &Path) -> Vec<Expected> {
    let text =
        fs::read_to_string(folder.join("expect")).expect("every example says what to expect");
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let Some(rest) = line.strip_prefix("bug: ") else {
            assert_eq!(line, "fixed: none", "{}", folder.display());
            continue;
        };
        let field = |name: &str| {
            rest.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let mut places: Vec<String> =
            field("at").unwrap_or("").split(',').map(str::to_string).collect();
        places.sort();
        found.push(Expected {
            property: field("property").expect("a property").to_string(),
            model: field("model").expect("a model").to_string(),
            places,
        });
    }
    assert!(!found.is_empty(), "{}: no bug is expected", folder.display());
    found
}

/// Whether a finding is the expected one. A stuck state also shows where the other threads are.
fn matches(expected: &Expected, found: &Found) -> bool {
    expected.property == found.property
        && match found.id.starts_with("stuck") {
            true => expected.places.iter().all(|place| found.places.contains(place)),
            false => expected.places == found.places,
        }
}

/// Compiles one of an example's two programs.
fn program(folder: &Path, variant: &str, flags: &[&str]) -> PathBuf {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{variant}{}", flags.concat()));
    let source = ["cpp", "c"].map(|kind| folder.join(format!("{variant}.{kind}")));
    let source = source.iter().find(|source| source.exists()).expect("both programs are there");
    compile(source, &target, flags);
    target
}

/// What a model finds in a run.
fn predicted(trace: &str, model: &str) -> Vec<Found> {
    let output = foretrace(&["predict", trace, "--model", model]);
    findings(&String::from_utf8_lossy(&output.stdout))
}

fn bug(folder: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let program = program(folder, "bug", &["-O1"]);
    let program = program.to_str().unwrap();
    let files = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [trace, json] = ["ftb", "json"].map(|kind| files.join(format!("{name}.{kind}")));
    let (trace, json) = (trace.to_str().unwrap(), json.to_str().unwrap());
    let wanted = expectations(folder);
    let mut open: Vec<&Expected> = wanted.iter().collect();
    // Those that the model of `expect` has not found yet.
    let mut unmodelled: Vec<&Expected> = wanted.iter().collect();
    for seed in 1..=SEEDS {
        if seed > LEAST_SEEDS && open.is_empty() && unmodelled.is_empty() {
            return Ok(());
        }
        let seed = seed.to_string();
        let arguments =
            [&TEST[..], &["--seed", &seed, "--trace", trace, "--json", json, "--", program]]
                .concat();
        let output = foretrace(&arguments);
        let (report, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(format!("{name}: seed {seed}: {}\n{report}{log}", output.status));
        }
        let found = findings(&report);
        if let Some(unsure) = found.iter().find(|found| !found.confirmed) {
            return Err(format!("{name}: seed {seed}: {} is not confirmed\n{report}", unsure.id));
        }
        // The run itself must not have shown the bug.
        if !log.contains("the recorded run ended with status 0") {
            continue;
        }
        let before = open.len();
        open.retain(|expected| !found.iter().any(|found| matches(expected, found)));
        if open.len() < before {
            for finding in &found {
                replay_again(&finding.id, json, program)?;
            }
        }
        for (model, weaker) in
            [("reads-from", None), ("values", Some("reads-from")), ("symbolic", Some("values"))]
        {
            let of_model = |expected: &Expected| expected.model == model;
            if !wanted.iter().any(of_model) {
                continue;
            }
            let found = predicted(trace, model);
            let is_found = |expected: &Expected| found.iter().any(|found| matches(expected, found));
            unmodelled.retain(|expected| !of_model(expected) || !is_found(expected));
            let found = weaker.map(|weaker| predicted(trace, weaker)).unwrap_or_default();
            let is_found =
                |expected: &&Expected| found.iter().any(|found| matches(expected, found));
            if let Some(expected) = wanted.iter().filter(|one| of_model(one)).find(is_found) {
                return Err(format!("{name}: seed {seed}: {weaker:?} finds {expected:?}"));
            }
        }
    }
    match open.is_empty() && unmodelled.is_empty() {
        true => Ok(()),
        false => Err(format!("{name}: in {SEEDS} runs not found: {open:?} {unmodelled:?}")),
    }
}

fn twin(folder: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let program = program(folder, "fixed", &["-O1"]);
    for seed in 1..=cases(TWIN_RUNS, LONG_TWIN_RUNS) {
        let schedule = ["random", "pct", "round-robin", "free"][seed as usize % 4];
        let seed = seed.to_string();
        let arguments = [
            &TEST[..],
            &["--seed", &seed, "--schedule", schedule, "--", program.to_str().unwrap()],
        ]
        .concat();
        let output = foretrace(&arguments);
        let (report, log) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() != Some(0) || !log.contains("the recorded run ended with status 0")
        {
            return Err(format!(
                "{name}: twin, {schedule}, seed {seed}: {}\n{report}{log}",
                output.status
            ));
        }
    }
    Ok(())
}

/// Does something for every example, two at a time.
fn for_every_example(work: impl Fn(&Path) -> Result<(), String> + Sync) {
    let mut folders: Vec<PathBuf> = fs::read_dir(examples("programs"))
        .expect("the examples are there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(folders.len() >= 12, "the examples are there");
    let (next, errors) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(folder) {
                        errors.lock().unwrap().push(error);
                    }
                }
            });
        }
    });
    let errors = errors.into_inner().unwrap();
    assert!(
        errors.is_empty(),
        "{} of {} failed:\n{}",
        errors.len(),
        folders.len(),
        errors.join("\n\n")
    );
}

#[test]
fn bugs_are_found_from_runs_that_do_not_show_them_and_replayed() {
    for_every_example(bug);
}

#[test]
fn nothing_is_found_in_the_twins() {
    for_every_example(twin);
}

#[test]
fn programs_behave_the_same_at_every_level_of_optimisation() {
    for_every_example(|folder| {
        for flags in [["-O0"], ["-O2"], ["-O3"], ["-Os"]] {
            let program = program(folder, "fixed", &flags);
            let output = foretrace(&[&TEST[..], &["--", program.to_str().unwrap()]].concat());
            if output.status.code() != Some(0) {
                let report = String::from_utf8_lossy(&output.stdout).into_owned();
                return Err(format!("{} {flags:?}: {}\n{report}", folder.display(), output.status));
            }
        }
        Ok(())
    });
}
