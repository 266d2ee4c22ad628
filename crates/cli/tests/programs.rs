//! The example programs, compiled, recorded, predicted and replayed as a user would: the bug is found from a run that does not
//! show it and confirmed by replay, every time; nothing is found in the corrected twin, whatever the schedule.
//!
//! Plugin and runtime must lie beside the command line: `cargo build --workspace` puts them there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs with different seeds in which the bug must be found at least once.
const SEEDS: u64 = 30;
/// Replays of each confirmed finding.
const REPLAYS: usize = 20;
/// Runs of each twin.
const TWIN_RUNS: u64 = 100;

fn foretrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(arguments)
        .output()
        .expect("foretrace starts")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs")
}

/// What a program's `expect` says of the bug.
#[derive(Debug, PartialEq, Eq)]
struct Expected {
    property: String,
    model: String,
    places: Vec<String>,
    later: bool,
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
            later: field("step").is_some(),
        });
    }
    assert!(!found.is_empty(), "{}: no bug is expected", folder.display());
    found
}

/// Compiles one of an example's two programs.
fn compile(folder: &Path, variant: &str, flags: &[&str]) -> PathBuf {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{variant}{}", flags.concat()));
    let (compiler, source) = match folder.join(format!("{variant}.cpp")) {
        cpp if cpp.exists() => ("c++", cpp),
        _ => ("cc", folder.join(format!("{variant}.c"))),
    };
    let mut arguments = vec![compiler, "-Wall", "-Wextra", "-Werror", "-pthread"];
    arguments.extend(flags);
    arguments.extend([source.to_str().unwrap(), "-o", target.to_str().unwrap()]);
    let output = foretrace(&arguments);
    assert!(
        output.status.success(),
        "{name} {variant}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    target
}

/// A finding as the text report shows it.
#[derive(Debug)]
struct Found {
    id: String,
    property: &'static str,
    confirmed: bool,
    places: Vec<String>,
}

/// The findings of a report.
fn findings(report: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut in_sides = false;
    for line in report.lines() {
        let header = line.split_once(" (").filter(|(id, _)| {
            id.rsplit_once('-').is_some_and(|(_, number)| number.parse::<u32>().is_ok())
                && !id.contains(' ')
        });
        if let Some((id, rest)) = header {
            let property = match id.rsplit_once('-').unwrap().0 {
                "race" => "race",
                "atomicity" => "atomicity",
                "lock-cycle" | "stuck" => "deadlock",
                _ => "lock",
            };
            let confirmed = rest.starts_with("real, confirmed by replay)");
            found.push(Found { id: id.to_string(), property, confirmed, places: Vec::new() });
            in_sides = true;
        } else if line.starts_with("  schedule:") {
            in_sides = false;
        } else if in_sides
            && let (Some(found), Some((_, place))) = (found.last_mut(), line.split_once(" at "))
        {
            // `is about to read x  at dir/bug.c:12:5 (main)  holding ...`; `blocks at acquire m  at ...`
            let place = place.rsplit_once(" at ").map_or(place, |(_, place)| place).trim();
            let place = place.split(' ').next().unwrap_or(place);
            let mut parts = place.rsplitn(3, ':');
            let (_, line, file) = (parts.next(), parts.next(), parts.next());
            if let (Some(line), Some(file)) = (line, file) {
                let name = Path::new(file).file_name().unwrap().to_str().unwrap();
                found.places.push(format!("{name}:{line}"));
            }
        }
    }
    found.iter_mut().for_each(|found| found.places.sort());
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

fn bug(folder: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let program = compile(folder, "bug", &["-O1"]);
    let program = program.to_str().unwrap();
    let files = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [trace, json] = ["ftb", "json"].map(|kind| files.join(format!("{name}.{kind}")));
    let (trace, json) = (trace.to_str().unwrap(), json.to_str().unwrap());
    let wanted = expectations(folder);
    let wanted: Vec<&Expected> = wanted.iter().filter(|expected| !expected.later).collect();
    // The weakest model that shows it.
    let model = wanted.first().map_or("auto", |expected| &expected.model);
    assert!(wanted.iter().all(|expected| expected.model == model), "{name}: one model for all");
    let mut open: Vec<&Expected> = wanted.clone();
    for seed in 1..=SEEDS {
        let seed = seed.to_string();
        let arguments = [
            "test", "--model", model, "--seed", &seed, "--trace", trace, "--json", json, "--",
            program,
        ];
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
        if wanted.is_empty() && !found.is_empty() {
            return Err(format!("{name}: seed {seed}: nothing is expected yet\n{report}"));
        }
        // The run itself must not have shown the bug.
        if !log.contains("the recorded run ended with status 0") {
            continue;
        }
        let before = open.len();
        open.retain(|expected| !found.iter().any(|found| matches(expected, found)));
        if open.len() < before {
            for finding in &found {
                replay_again(name, &finding.id, json, program)?;
            }
        }
        if open.is_empty() {
            return Ok(());
        }
    }
    Err(format!("{name}: in {SEEDS} runs not found: {open:?}"))
}

fn replay_again(name: &str, id: &str, json: &str, program: &str) -> Result<(), String> {
    let which = format!("{json}#{id}");
    let mut first = None;
    for round in 0..REPLAYS {
        let output = foretrace(&["replay", &which, "--", program]);
        if output.status.code() != Some(1) {
            let log = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{name}: {id}: replay {round} gives {}\n{log}", output.status));
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match &first {
            None => first = Some(said),
            Some(first) if *first != said => {
                return Err(format!("{name}: {id}: replay {round} says\n{said}\nand not\n{first}"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn twin(folder: &Path) -> Result<(), String> {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let program = compile(folder, "fixed", &["-O1"]);
    for seed in 1..=TWIN_RUNS {
        let schedule = ["random", "pct", "round-robin", "free"][seed as usize % 4];
        let seed = seed.to_string();
        let arguments =
            ["test", "--seed", &seed, "--schedule", schedule, "--", program.to_str().unwrap()];
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
    let mut folders: Vec<PathBuf> = fs::read_dir(examples())
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
            let program = compile(folder, "fixed", &flags);
            let output = foretrace(&["test", "--", program.to_str().unwrap()]);
            if output.status.code() != Some(0) {
                let report = String::from_utf8_lossy(&output.stdout).into_owned();
                return Err(format!("{} {flags:?}: {}\n{report}", folder.display(), output.status));
            }
        }
        Ok(())
    });
}
