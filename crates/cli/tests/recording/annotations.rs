//! What `foretrace.h` offers.

use std::path::Path;

use crate::harness::{Program, command, compile, source};

fn marks(test: &str) -> Program {
    compile(test, &["marks.c"])
}

#[test]
fn regions_are_meant_to_be_atomic() {
    let program = marks("marks-region");
    let run = program.run(&[], &["region"]).ended_with(0);
    assert_eq!(run.count(": region begin") + run.count(": region end"), 2, "{}", run.shown());
    program
        .with(&["test"], &["region"])
        .ended_with(1)
        .says("atomicity-1 (real, confirmed by replay)")
        .says("marks.c:21")
        .says_not("race-1");
}

#[test]
fn assertions_end_the_program_and_are_in_the_trace() {
    let program = marks("marks-assertion");
    program.alone(&["false"], "").ended_with(134);
    let run = program.run(&[], &["false"]).ended_with(134).says("strcmp(what, \"false\") != 0");
    assert_eq!(run.count(": assert"), 2, "{}", run.shown());
    let run = program.run(&[], &["true"]).ended_with(0);
    assert_eq!(run.count(": assert"), 2, "{}", run.shown());
}

#[test]
fn locks_are_called_by_their_names() {
    marks("marks-locks")
        .with(&["test"], &["locks"])
        .ended_with(1)
        .says("lock-cycle-1 (real, confirmed by replay)")
        .says("the vault")
        .says("the door")
        .says_not("locks+");
}

#[test]
fn races_that_are_wanted_are_not_reported() {
    let program = marks("marks-benign");
    program
        .with(&["test"], &["harmless"])
        .ended_with(0)
        .says("declared harmless: races on statistics (hits are approximate)");
    // Others on the same object are.
    let done = program.with(&["test"], &["harmful"]).ended_with(1);
    assert!(done.out.contains("marks.c:40"), "{}", done.out);
    assert!(!done.out.contains("marks.c:35"), "{}", done.out);
}

#[test]
fn the_header_needs_nothing_of_foretrace() {
    let folder = crate::harness::folder("header");
    let include = format!("-I{}/../../include", env!("CARGO_MANIFEST_DIR"));
    for (compiler, language) in
        [("clang-19", "c"), ("clang++-19", "c++"), ("gcc", "c"), ("g++", "c++")]
    {
        let program = folder.join(compiler);
        let marks = source("marks.c");
        let output = program.to_str().unwrap();
        let arguments = [
            "-Wall", "-Wextra", "-Werror", "-pthread", &include, "-x", language, &marks, "-o",
            output,
        ];
        command(Path::new(compiler), &arguments, "").ended_with(0);
        command(&program, &["true"], "").ended_with(0);
        command(&program, &["false"], "").ended_with(134);
    }
}
