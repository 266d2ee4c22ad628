//! What the recorded run itself shows: that it failed, or that it says nothing of other schedules.

use std::fs;
use std::path::Path;

use crate::harness::{Program, command, compile, folder, foretrace, source};

#[test]
fn a_run_that_failed_is_not_green() {
    let program = compile("failed", &["outcome.c"]);
    program.with(&["test"], &["status", "0"]).ended_with(0).says("verdict: no bug in any schedule");
    let json = program.beside("report.json");
    program
        .with(&["test", "--json", &json], &["status", "5"])
        .ended_with(4)
        .says("the recorded run itself failed: it ended with status 5")
        .says("no bug in any schedule");
    let text = fs::read_to_string(&json).unwrap();
    assert!(
        text.contains(r#""failed": false"#) && text.contains(r#""unexpected": true"#),
        "{text}"
    );
    // Of several runs, one is enough.
    program.with(&["test", "--runs", "2"], &["status", "5"]).ended_with(4);
}

/// A runtime that was not built again would write what the command cannot read.
#[test]
fn a_command_and_a_runtime_of_different_builds() {
    let program = compile("other-build", &["outcome.c"]);
    let recording = format!("FORETRACE_RECORDING={}", program.beside("run.ftrec"));
    let path = program.path.display().to_string();
    let started_by = |build: &str| {
        let build = format!("FORETRACE_ABI={build}");
        let words = [&recording, &build, &path, "status", "7"];
        command(Path::new("/usr/bin/env"), &words, "")
    };
    started_by("1").ended_with(125).says("of different builds").says("cargo xtask build");
    started_by("").ended_with(7);
}

#[test]
fn the_expected_status_may_be_another_one() {
    let program = compile("expected", &["outcome.c"]);
    for (expected, status, ends) in
        [("5", "5", 0), ("5", "0", 4), ("0,5", "0", 0), ("0,5", "5", 0), ("0,5", "6", 4)]
    {
        let options = ["test", "--expect-status", expected];
        let done = program.with(&options, &["status", status]).ended_with(ends);
        done.says(if ends == 0 { "verdict: no bug" } else { "verdict: the recorded run itself" });
    }
    program.with(&["test", "--expect-status", "256"], &["status", "0"]).ended_with(2);
}

#[test]
fn a_signal_from_outside_is_no_bug_but_a_failure() {
    let program = compile("signals", &["outcome.c"]);
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGINT, libc::SIGHUP] {
        program
            .with(&["test"], &["signal", &signal.to_string()])
            .ended_with(4)
            .says(&format!("the recorded run itself failed: it was ended by signal {signal}"));
        let expected = (128 + signal).to_string();
        let options = ["test", "--expect-status", &expected];
        program.with(&options, &["signal", &signal.to_string()]).ended_with(0);
    }
}

#[test]
fn a_crash_stays_a_bug() {
    let program = compile("crash", &["outcome.c"]);
    for signal in [libc::SIGABRT, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        let expected = (128 + signal).to_string();
        for options in [&["test"][..], &["test", "--expect-status", &expected]] {
            program
                .with(options, &["signal", &signal.to_string()])
                .ended_with(1)
                .says(&format!("verdict: the recorded run itself was ended by signal {signal}"));
        }
    }
}

#[test]
fn findings_of_a_failed_run_are_bugs() {
    let program = compile("racy", &["racy.c"]);
    program
        .with(&["test", "--expect-status", "77"], &[])
        .ended_with(1)
        .says("the recorded run itself failed: it ended with status 0")
        .says("confirmed by replay");
}

#[test]
fn one_thread_alone_says_nothing() {
    let program = compile("alone", &["outcome.c"]);
    let json = program.beside("report.json");
    program
        .with(&["test", "--json", &json], &["alone"])
        .ended_with(3)
        .says("verdict: nothing can be predicted, since only one thread was recorded");
    assert!(fs::read_to_string(&json).unwrap().contains("only one thread was recorded"));
}

#[test]
fn code_that_is_not_instrumented_says_nothing() {
    let folder = folder("plain");
    let (object, path) = (folder.join("plain.o"), folder.join("program"));
    let (object_text, path_text) = (object.to_str().unwrap(), path.to_str().unwrap());
    let compile = ["-c", &source("outcome.c"), "-pthread", "-o", object_text];
    command(Path::new("clang-19"), &compile, "").ended_with(0);
    foretrace(&["cc", object_text, "-pthread", "-o", path_text]).ended_with(0);
    let program = Program { path, folder };
    program
        .with(&["test"], &["status", "0"])
        .ended_with(3)
        .says("nothing can be predicted, since no code compiled with foretrace ran");
}

#[test]
fn what_was_not_replayed_counts_apart() {
    let program = compile("apart", &["outcome.c"]);
    let test = ["test", "--check", "race"];
    let with =
        |replays: &str| program.with(&[&test[..], &["--replays", replays]].concat(), &["races"]);
    with("200").ended_with(1).says("verdict: 2 bugs confirmed by replay\n");
    with("1")
        .ended_with(1)
        .says("verdict: 1 bug confirmed by replay, 1 bug real but not replayed\n");
    with("0").ended_with(1).says("verdict: 2 bugs real but not replayed\n");
}
