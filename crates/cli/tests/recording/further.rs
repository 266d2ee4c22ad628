//! A run that shows nothing is repeated unasked, with other seeds, where that costs little and does
//! nothing to the world.

use std::fs;

use crate::harness::{Program, compile};

/// The first seed from `from` on whose run by itself shows a race, or none.
fn seed(program: &Program, from: u64, racy: bool) -> u64 {
    let status = if racy { 1 } else { 0 };
    let is_it = |seed: &u64| {
        let seed = seed.to_string();
        program.with(&["test", "--runs", "1", "--seed", &seed], &[]).status == status
    };
    (from..from + 100).find(is_it).expect("one of a hundred seeds")
}

#[test]
fn a_bug_of_a_further_run_is_reported() {
    let program = compile("further", &["sometimes.c"]);
    // The last seed before a racy one.
    let racy = seed(&program, seed(&program, 1, false), true);
    let (first, report) = (racy - 1, program.beside("report.json"));
    let (first, racy) = (first.to_string(), racy.to_string());
    let done = program
        .with(&["test", "--seed", &first, "--json", &report, "--output", "text"], &[])
        .ended_with(1)
        .says(&format!("this is a run with --seed {racy}; --seed {first} showed no bug"))
        .says("1 bug confirmed by replay");
    // Only the first run prints.
    let printed = done.out.lines().filter(|line| *line == "done").count();
    assert_eq!(printed, 1, "{}", done.out);
    // The trace beside the report is that of the run that it is about.
    program.with(&["replay", &report], &[]).ended_with(1).says("race-1: confirmed");
    program.with(&["test", "--seed", &first, "--runs", "1"], &[]).ended_with(0);
}

#[test]
fn a_program_that_changes_a_file_runs_once() {
    let program = compile("once", &["sometimes.c"]);
    let clean = seed(&program, 1, false).to_string();
    let file = program.beside("counted");
    program.with(&["test", "--seed", &clean], &[&file]).ended_with(0).says_not("showed no bug");
    assert_eq!(fs::read_to_string(&file).unwrap(), "run\n");
}
