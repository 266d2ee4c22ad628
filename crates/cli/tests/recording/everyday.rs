//! What teams do with the tool every day: look whether it works, and run it in CI.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{build, folder, foretrace};

#[test]
fn the_doctor_is_content() {
    let done = foretrace(&["doctor"]).ended_with(0);
    for line in ["ok  plugin", "ok  runtime", "ok  test: predict and replay"] {
        assert!(done.out.contains(line), "{}", done.out);
    }
}

/// A folder with the recipes of `ci init`, and a command with our program in its path.
fn project(name: &str) -> (std::path::PathBuf, impl Fn(&str) -> Command) {
    let folder = folder(name);
    foretrace(&["ci", "init", "--folder", folder.to_str().unwrap()]).ended_with(0);
    let bin = Path::new(env!("CARGO_BIN_EXE_foretrace")).parent().unwrap().to_path_buf();
    let here = folder.clone();
    let command = move |program: &str| {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command.current_dir(&here).env("PATH", format!("{}:{path}", bin.display()));
        command.env_remove("FORETRACE_OPTIONS");
        command
    };
    (folder, command)
}

/// The script that both jobs run: it fails because of a new bug, and not because of a known one.
#[test]
fn the_script_of_the_jobs() {
    let (folder, command) = project("jobs");
    build(&["racy.c"], &folder.join("racy"));
    let run = || {
        let mut script = command("sh");
        script.args(["ci/foretrace.sh", "./racy"]).env("FORETRACE_RUNS", "1");
        let output = script.env("GITHUB_ACTIONS", "true").output().unwrap();
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (status, said) = run();
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("\n::error file="), "{said}");
    for file in ["racy.json", "racy.sarif", "racy.xml"] {
        assert!(folder.join("foretrace-reports").join(file).is_file(), "{file}");
    }
    fs::copy(folder.join("foretrace-reports/racy.json"), folder.join("foretrace-baseline.json"))
        .unwrap();
    let (status, said) = run();
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("baseline: 0 new"), "{said}");
}
