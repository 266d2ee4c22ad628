//! Replays: of other programs, in a debugger, and of long schedules.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Program, command, compile};

/// A report of the program's races, with its trace.
pub(crate) fn report(program: &Program, arguments: &[&str]) -> String {
    let (trace, json) = (program.beside("kept.ftb"), program.beside("report.json"));
    program
        .with(&["test", "--trace", &trace, "--json", &json], arguments)
        .ended_with(1)
        .says("race-1 (real, confirmed by replay)");
    json
}

#[test]
fn a_program_that_does_something_else_diverges() {
    let program = compile("diverging", &["racy.c"]);
    let json = report(&program, &[]);
    let first = format!("{json}#race-1");
    program.with(&["replay", &first], &[]).ended_with(1).says("race-1: confirmed");
    program
        .with(&["replay", &first], &["more"])
        .ended_with(3)
        .says("race-1: diverged: at step ")
        .says(": expected T")
        .says(", saw ")
        .says("racy.c:");
    program.with(&["replay", &json], &["more"]).ended_with(3);
    program.with(&["replay", &format!("{json}#race-99")], &[]).ended_with(2).says("race-1");
}

/// A schedule of a report has only what the program does, and not the looks at whether memory is
/// freed.
#[test]
fn deadlocks_of_reports_beside_implicit_checks() {
    let program = compile("stop-lost", &["stop_lost.c"]);
    let json = program.beside("report.json");
    program
        .with(&["test", "--implicit", "freed", "--json", &json], &[])
        .ended_with(1)
        .says("stuck-1 (real, confirmed by replay)");
    let stuck = format!("{json}#stuck-1");
    program.with(&["replay", &stuck], &[]).ended_with(1).says("stuck-1: confirmed");
}

#[test]
fn the_debugger_stops_where_it_happens() {
    if command_is_missing("gdb") {
        foretrace_testing::skip("replay under a debugger", "there is no gdb");
        return;
    }
    let program = compile("debugger", &["racy.c"]);
    let first = format!("{}#race-1", report(&program, &[]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["replay", "--gdb", &first, "--"])
        .arg(&program.path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let script = b"bt\ninfo threads\nset confirm off\nquit\n";
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), script).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("foretrace_replayed"), "{text}\n{log}");
    assert!(text.contains("adds") && text.contains("racy.c"), "{text}\n{log}");
    assert_eq!(output.status.code(), Some(1), "{text}\n{log}");
    assert!(log.contains("race-1: confirmed"), "{text}\n{log}");
}

pub(crate) fn command_is_missing(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_err()
}

#[test]
fn long_schedules_are_written_as_runs_and_replayed() {
    let program = compile("long", &["long.c"]);
    let json = report(&program, &["60"]);
    let text = fs::read_to_string(&json).unwrap();
    assert!(text.contains("\"through\":"), "a schedule of more than 10,000 steps");
    let first = format!("{json}#race-1");
    let again = program.with(&["replay", &first], &["60"]).ended_with(1);
    assert!(again.took.as_secs() < 10, "{:?}", again.took);
    let shorter = program.with(&["replay", &first], &["59"]).ended_with(3);
    shorter.says("diverged");
}

#[test]
fn a_program_that_copies_its_environment_finds_the_same_one() {
    let program = compile("title", &["title.c"]);
    for schedule in ["random", "pct"] {
        let options = ["test", "--schedule", schedule];
        program.with(&options, &["one", "two"]).ended_with(1).says("race-1 (real, confirmed");
    }
    // A shell would say that it was started in another way.
    let first = format!("{}#race-1", report(&program, &[]));
    let replay = Command::new(env!("CARGO_BIN_EXE_foretrace"))
        .args(["replay", &first, "--"])
        .arg(&program.path)
        .env("_", "/usr/bin/some/other/way")
        .output()
        .unwrap();
    assert_eq!(replay.status.code(), Some(1), "{}", String::from_utf8_lossy(&replay.stderr));
}

#[test]
fn what_runs_alone_is_not_touched() {
    let program = compile("alone", &["racy.c"]);
    let before = fs::read_dir(&program.folder).unwrap().count();
    command(&program.path, &[] as &[&str], "").ended_with(0);
    assert_eq!(fs::read_dir(Path::new(&program.folder)).unwrap().count(), before);
}

#[test]
fn where_a_thread_s_blocks_are_does_not_depend_on_the_schedule() {
    let program = compile("heaps", &["heaps.c"]);
    let places = |seed: &str| {
        let run = program.run(&["--seed", seed], &[]).ended_with(0);
        let lines = run.done.out.lines().filter(|line| line.starts_with("block "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let first = places("1");
    assert_eq!(first.len(), 40);
    for seed in ["2", "3", "4"] {
        assert_eq!(places(seed), first, "seed {seed}");
    }
}
