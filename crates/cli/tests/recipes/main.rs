//! The recipes of `foretrace ci init` at work on a small project: the jobs of GitHub and GitLab are
//! read by another YAML parser and their shell steps run in order (`job.py`), and CMake and CTest
//! use the preset and the wrapper.
//!
//! What installs the package runs in `cargo xtask clean-root` only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A copy of the project with the recipes in it.
fn project(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recipes/shop");
    for entry in fs::read_dir(sources).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let said = run(&folder, &["foretrace", "ci", "init"], 0);
    assert!(said.contains("wrote ./ci/foretrace.sh"), "{said}");
    folder
}

/// A command in the project; `foretrace` is the one that was built.
fn command(folder: &Path, words: &[&str]) -> Output {
    let built = Path::new(env!("CARGO_BIN_EXE_foretrace")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder);
    command.env("PATH", format!("{}:{path}", built.display()));
    command.env_remove("FORETRACE_OPTIONS").env_remove("MAKEFLAGS");
    command.output().unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Runs a command, which must end with this status, and returns what it said.
#[track_caller]
fn run(folder: &Path, words: &[&str], status: i32) -> String {
    let output = command(folder, words);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(status), "{words:?}:\n{said}");
    said
}

fn has_yaml() -> bool {
    let output = Command::new("/usr/bin/python3").args(["-c", "import yaml"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// The job fails because of the bug, keeps its reports, and passes once the bug is in the baseline.
fn job(kind: &str, file: &str) {
    if !has_yaml() {
        return foretrace_testing::skip(&format!("the job of {kind}"), "python3-yaml is missing");
    }
    let folder = project(kind);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recipes/job.py");
    let words = ["/usr/bin/python3", script, kind, file, "installed"];
    let said = run(&folder, &words, 1);
    assert!(said.contains("data race on stock.left"), "{said}");
    assert!(said.contains("bugs that the baseline does not have"), "{said}");
    assert_eq!(said.contains("\n::error file=stock.c"), kind == "github", "{said}");
    assert!(folder.join("foretrace-reports/program.sarif").exists());

    let test = ["foretrace", "test", "--runs", "3", "--write-baseline", "foretrace-baseline.json"];
    run(&folder, &[&test[..], &["--", "./program"]].concat(), 1);
    let said = run(&folder, &words, 0);
    assert!(said.contains("known"), "{said}");
}

#[test]
fn the_job_of_github() {
    job("github", ".github/workflows/foretrace.yml");
}

#[test]
fn the_job_of_gitlab() {
    job("gitlab", ".gitlab/foretrace.yml");
}

#[test]
fn the_preset_and_the_tests_of_cmake() {
    if Command::new("cmake").arg("--version").output().is_err() {
        return foretrace_testing::skip("the recipe for CMake", "cmake is missing");
    }
    let folder = project("cmake");
    run(&folder, &["cmake", "--preset", "foretrace"], 0);
    run(&folder, &["cmake", "--build", "--preset", "foretrace"], 0);
    let said = run(&folder, &["ctest", "--preset", "foretrace"], 8);
    assert!(said.contains("data race on stock.left"), "{said}");
    let ended = |name: &str, how: &str| {
        said.lines().any(|line| line.contains(&format!("foretrace.{name} .")) && line.contains(how))
    };
    assert!(ended("careless", "Failed"), "{said}");
    assert!(ended("careful", "Passed"), "{said}");
    assert!(ended("alone", "Skipped"), "{said}");
    for ending in ["json", "sarif"] {
        let report = format!("build-foretrace/foretrace/careless.{ending}");
        assert!(folder.join(&report).exists(), "{report}");
    }

    // Without the preset they are ordinary tests.
    run(&folder, &["cmake", "-B", "build"], 0);
    run(&folder, &["cmake", "--build", "build"], 0);
    let said = run(&folder, &["ctest", "--test-dir", "build"], 0);
    assert!(said.contains("100% tests passed, 0 tests failed out of 3"), "{said}");
}

#[test]
fn files_of_the_project_are_left_alone() {
    let folder = project("left-alone");
    fs::write(folder.join("CMakePresets.json"), "{}").unwrap();
    let said = run(&folder, &["foretrace", "ci", "init", "cmake"], 0);
    assert!(said.contains("CMakePresets.json exists and is left alone (--force"), "{said}");
    assert_eq!(fs::read_to_string(folder.join("CMakePresets.json")).unwrap(), "{}");
    run(&folder, &["foretrace", "ci", "init", "cmake", "--force"], 0);
    assert!(fs::read_to_string(folder.join("CMakePresets.json")).unwrap().contains("foretrace cc"));
}
