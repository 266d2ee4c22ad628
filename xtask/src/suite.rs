//! `test` and `check`: everything that must hold before a change goes in.

use std::fs;
use std::process::Command;

use crate::shell::{Stop, cargo, root, run, run_and_read, step, target_folder};
use crate::{
    architecture, clean_root, corpus, dependencies, documents, metadata, release, sanitize, tools,
};

/// The seed of the random tests, fixed so that a run can be repeated; `oracle --seed` takes others.
pub(crate) const SEED: u64 = 1;

const ORACLE_CASES: u64 = 20_000;
const LONG_ORACLE_CASES: u64 = 200_000;
const QUICK_ORACLE_CASES: u64 = 1_000;

/// Each fault that can be built into the encoder or the explicit engine is caught by the oracle.
const SEEDED_FAULTS: &str = "test --release --locked --package foretrace-oracle --features seeded-faults --test faults --test engine_faults";

/// Each fault that can be built into the verification of programs is caught by its differential
/// test.
const SEEDED_FAULTS_OF_VERIFICATION: &str =
    "test --release --locked --package foretrace-verify --features seeded-faults --test faults";

/// A schedule that the checker refuses makes the program end as it should.
const SEEDED_FAULTS_OF_THE_PROGRAM: &str =
    "test --release --locked --package foretrace --features seeded-faults --test command_line";

/// The fuzz targets build; their bodies also run as a test of the oracle crate. With the same
/// target folder and profile the solver is not built again.
const FUZZ_TARGETS: &str =
    "build --release --locked --manifest-path fuzz/Cargo.toml --target-dir target";

/// They have a lock file of their own, which must know a new dependency of a crate, too.
const FUZZ_LOCK: &str = "tree --quiet --locked --depth 0 --manifest-path fuzz/Cargo.toml";

/// How much is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    /// What every change must pass.
    Change,
    /// The same with many more random cases, and what takes long by itself.
    Long,
}

/// The tests of the crates read it (`foretrace_testing::LONG`).
const LONG_TESTS: &str = "FORETRACE_LONG_TESTS";
/// The file in which tests say that they were skipped (`foretrace_testing::SKIPPED`).
const SKIPPED_TESTS: &str = "FORETRACE_SKIPPED_TESTS";

/// Everything of a tier.
pub(crate) fn test(tier: Tier) -> Result<(), Stop> {
    tools::ensure_for_tests()?;
    tools::ensure_for_pages();
    rules()?;
    style()?;
    run("build", &mut cargo("build --workspace --locked"))?;
    let list = target_folder().join("skipped-tests");
    let _ = fs::remove_file(&list);
    let mut tests = cargo("test --workspace --locked --no-fail-fast");
    tests.env(SKIPPED_TESTS, &list);
    if tier == Tier::Long {
        tests.env(LONG_TESTS, "1");
    }
    let mut tally = cargo_test("tests", &mut tests)?;
    oracle(if tier == Tier::Long { LONG_ORACLE_CASES } else { ORACLE_CASES }, SEED)?;
    tally.passed += 1 + cargo_test("seeded faults", &mut cargo(SEEDED_FAULTS))?.passed;
    if tier == Tier::Long {
        let mut verification = cargo(SEEDED_FAULTS_OF_VERIFICATION);
        tally.passed += cargo_test("seeded faults, verification", &mut verification)?.passed;
        let mut program = cargo(SEEDED_FAULTS_OF_THE_PROGRAM);
        tally.passed += cargo_test("seeded faults, program", &mut program)?.passed;
        tally.passed += sanitize::sanitize()?;
        release::release(true)?;
        tally.passed += clean_root::clean_root()?;
    }
    run("fuzz targets", &mut cargo(FUZZ_TARGETS))?;
    tally.passed += 1;
    let files = corpus::corpus(&corpus::default_folder())?;
    tally.passed += files.unwrap_or(0);
    let mut skipped: Vec<String> =
        fs::read_to_string(list).unwrap_or_default().lines().map(str::to_string).collect();
    skipped.extend(files.is_none().then(|| "corpus: its folder is missing".to_string()));
    skipped.iter().for_each(|test| println!("skipped: {test}"));
    let Tally { passed, ignored } = tally;
    println!("test: {passed} passed, 0 failed, {ignored} ignored, {} skipped", skipped.len());
    Ok(())
}

/// The quick part.
pub(crate) fn check() -> Result<(), Stop> {
    tools::ensure_for_tests()?;
    rules()?;
    style()?;
    let unit_tests = "test --workspace --locked --lib --bins";
    let tally = cargo_test("unit tests", &mut cargo(unit_tests))?;
    oracle(QUICK_ORACLE_CASES, SEED)?;
    println!("check: {} passed, 0 failed, {} ignored", tally.passed + 1, tally.ignored);
    Ok(())
}

/// Dependencies, architecture and documents.
pub(crate) fn rules() -> Result<(), Stop> {
    let packages = metadata::packages()?;
    run("lock file of the fuzz targets", &mut cargo(FUZZ_LOCK))?;
    step("dependencies", || {
        let verdict = dependencies::check(&packages);
        verdict.warnings.iter().for_each(|warning| println!("warning: {warning}"));
        none("dependencies", &verdict.errors)
    })?;
    step("architecture", || {
        let mut errors = architecture::check_dependencies(&packages);
        errors.extend(architecture::check_printing(&root()));
        none("architecture", &errors)
    })?;
    step("documents", || none("documents", &documents::check(&root())?))
}

/// Compares predictions with exhaustive enumeration on random small traces.
pub(crate) fn oracle(cases: u64, seed: u64) -> Result<(), Stop> {
    let (cases, seed) = (cases.to_string(), seed.to_string());
    let mut command = cargo("run --quiet --release --locked");
    command.args(["--package", "foretrace-oracle", "--", "--cases", &cases, "--seed", &seed]);
    run("oracle", &mut command)
}

/// Compares predictions of random C programs with what they do under all their schedules. (The
/// tests do that too, with fewer.)
pub(crate) fn differential(programs: u64, seed: u64) -> Result<(), Stop> {
    let parts = ["foretrace", "foretrace-llvm", "foretrace-runtime"];
    let mut build = cargo("build --locked");
    run("build", build.args(parts.iter().flat_map(|part| ["--package", *part])))?;
    let mut command = cargo("test --locked --package foretrace");
    command.args(["--test", "differential", "--", "--nocapture"]);
    command.env("FORETRACE_DIFFERENTIAL", programs.to_string());
    command.env("FORETRACE_DIFFERENTIAL_SEED", seed.to_string());
    run("differential", &mut command)
}

fn style() -> Result<(), Stop> {
    run("format", &mut cargo("fmt --all --check"))?;
    let lints = "clippy --workspace --all-targets --locked -- -D warnings";
    run("lints", &mut cargo(lints))
}

fn none(name: &str, errors: &[String]) -> Result<(), Stop> {
    errors.iter().for_each(|error| println!("error: {error}"));
    if errors.is_empty() { Ok(()) } else { Err(Stop::failed(format!("{name} FAILED"))) }
}

#[derive(Default, Debug, PartialEq, Eq)]
struct Tally {
    passed: u64,
    ignored: u64,
}

fn cargo_test(name: &str, command: &mut Command) -> Result<Tally, Stop> {
    let mut tally = Tally::default();
    run_and_read(name, command, |line| count(&mut tally, line))?;
    Ok(tally)
}

/// Reads `test result: ok. 4 passed; 0 failed; 1 ignored; …`.
fn count(tally: &mut Tally, line: &str) {
    let Some(result) = line.strip_prefix("test result: ") else { return };
    let number = |word: &str| {
        let part = result.split([';', '.']).find(|part| part.trim().ends_with(word));
        part.and_then(|part| part.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
    };
    tally.passed += number("passed");
    tally.ignored += number("ignored");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_cargo_says() {
        let mut tally = Tally::default();
        count(&mut tally, "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured");
        count(&mut tally, "test result: ok. 1 passed; 0 failed; 0 ignored; finished in 0.1s");
        count(&mut tally, "test a_name ... ok");
        assert_eq!(tally, Tally { passed: 13, ignored: 3 });
    }
}
