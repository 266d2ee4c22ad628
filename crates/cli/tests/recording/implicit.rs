//! What goes wrong though nobody asserted that it does not: found in a run that passes, if that is
//! asked for, and confirmed by a replay. The same program with a lock, a join or the like in the
//! right place has nothing.

use crate::harness::{Program, compile, foretrace};

/// The program found, confirmed, and in silence with `--implicit none`.
#[track_caller]
fn found(program: &Program, kind: &str, headline: &str, replay: &str) {
    let assertions = ["test", "--check", "assertion"];
    let silent = [&assertions[..], &["--implicit", "none"]].concat();
    program.with(&silent, &[]).ended_with(0).says_not("confirmed");
    let by_default = program.with(&assertions, &[]);
    let asked = [&assertions[..], &["--implicit", kind]].concat();
    if kind == "freed" {
        by_default.ended_with(1).says(&format!("replay: confirmed: {replay}"));
    } else {
        by_default.ended_with(0).says_not("confirmed");
    }
    program
        .with(&asked, &[])
        .ended_with(1)
        .says("the recorded run ended with status 0")
        .says(&format!("assertion-1 (real, confirmed by replay): {headline}"))
        .says(&format!("replay: confirmed: {replay}"))
        .says_not("assertion-2");
}

/// Nothing can happen to the program, and that is an answer.
#[track_caller]
fn not_found(name: &str, arguments: &[&str], kind: &str) {
    for seed in ["1", "2", "3"] {
        let command = ["test", "--check", "assertion", "--implicit", kind, "--seed", seed];
        let program = compile(name, arguments);
        program.with(&command, &[]).ended_with(0).says("no bug in any schedule of these events");
    }
}

#[test]
fn null_pointers() {
    let program = compile("null", &["implicit_null.c"]);
    let replay = "a null pointer was about to be dereferenced";
    found(&program, "null", "a null pointer is used", replay);
    not_found("null-guarded", &["implicit_null.c", "-DGUARDED"], "null");
}

#[test]
fn divisions() {
    let program = compile("division", &["implicit_division.c"]);
    let replay = "a number was divided by zero";
    found(&program, "division", "a number is divided by zero", replay);
    not_found("division-guarded", &["implicit_division.c", "-DGUARDED"], "division");
}

const OUTSIDE: &str = "an access outside of its object was about to happen";

#[test]
fn indices_of_global_arrays() {
    // Behind the array lies another one of its size.
    for (name, more) in [("bounds", "-DONE"), ("bounds-two", "-DTWO")] {
        let program = compile(name, &["implicit_bounds.c", more]);
        found(&program, "bounds", "an index is out of bounds", OUTSIDE);
    }
    not_found("bounds-guarded", &["implicit_bounds.c", "-DGUARDED"], "bounds");
}

#[test]
fn indices_of_blocks() {
    let program = compile("bounds-heap", &["implicit_bounds.c", "-DHEAP"]);
    found(&program, "bounds", "an index is out of bounds", OUTSIDE);
    not_found("bounds-heap-guarded", &["implicit_bounds.c", "-DHEAP", "-DGUARDED"], "bounds");
}

const GONE: &str = "a use after free was about to happen";

#[test]
fn memory_that_was_freed() {
    let headline = "use after free of heap#1@implicit_freed.c:";
    for (name, more) in [("freed", "-DNOTHING"), ("freed-locked", "-DLOCKED")] {
        let program = compile(name, &["implicit_freed.c", more]);
        found(&program, "freed", headline, GONE);
    }
    for (name, more) in
        [("freed-joined", "-DJOINED"), ("freed-flag", "-DFLAG"), ("freed-counted", "-DCOUNTED")]
    {
        not_found(name, &["implicit_freed.c", more], "freed");
    }
}

#[test]
fn the_free_is_told_beside_the_access() {
    let program = compile("freed-told", &["implicit_freed.c"]);
    let command = ["test", "--check", "assertion", "--implicit", "all"];
    let told = program.with(&command, &[]).ended_with(1);
    told.says("T1  is about to read ").says("T0  did free session").says_not("life of");
}

#[test]
fn memory_that_is_freed_and_given_out_again_at_once() {
    let program = compile("freed-again", &["implicit_again.c"]);
    let command = ["test", "--check", "assertion", "--implicit", "freed"];
    program.with(&command, &[]).ended_with(1).says(&format!("replay: confirmed: {GONE}"));
}

/// A pointer that is read again, and has the same number, is one to the new block.
#[test]
fn memory_that_is_replaced_under_a_lock() {
    not_found("freed-replaced", &["implicit_replaced.c"], "freed,bounds");
}

#[test]
fn a_run_that_uses_freed_memory_itself_is_not_called_correct() {
    let program = compile("freed-used", &["implicit_freed.c", "-DJOINED", "-DUSED"]);
    let command = ["test", "--check", "assertion", "--implicit", "freed"];
    let told = program.with(&command, &[]).ended_with(3);
    told.says("the recorded run itself uses freed memory").says_not("no bug");
}

#[test]
fn a_report_says_what_was_asserted() {
    let program = compile("freed-reported", &["implicit_freed.c"]);
    let (trace, json) = (program.beside("kept.ftb"), program.beside("report.json"));
    let command =
        ["test", "--check", "assertion", "--implicit", "all", "--trace", &trace, "--json", &json];
    program.with(&command, &[]).ended_with(1);
    let replayed = program.with(&["replay", &json], &[]).ended_with(1);
    replayed.says(&format!("assertion-1: confirmed: {GONE}"));
    // The kept trace is that of the program.
    foretrace(&["predict", &trace, "--check", "assertion", "--implicit", "none"]).ended_with(0);
    let again = foretrace(&["predict", &trace, "--implicit", "freed", "--json", &json]);
    again.ended_with(1).says("use after free of heap#1@");
    program.with(&["replay", &format!("{json}#assertion-1")], &[]).ended_with(1).says(GONE);
}

#[test]
fn explanations_know_them() {
    let program = compile("freed-explained", &["implicit_freed.c", "-DFLAG"]);
    let run = program.run(&[], &[]);
    let trace = run.trace.display().to_string();
    let places = |place: &str| {
        foretrace(&["explain", &trace, "assertion", place, "--implicit", "freed"]).ended_with(0)
    };
    places("implicit_freed.c:30").says("use after free of heap#1@").says("which is freed");
    let program = compile("null-explained", &["implicit_null.c"]);
    let run = program.run(&[], &[]);
    let trace = run.trace.display().to_string();
    let told = foretrace(&["explain", &trace, "assertion-1", "--implicit", "null"]).ended_with(1);
    told.says("a null pointer is used");
}

#[test]
fn other_names_are_refused() {
    let program = compile("refused", &["implicit_null.c"]);
    let refused = program.with(&["test", "--implicit", "everything"], &[]).ended_with(2);
    refused.says("invalid value 'everything'").says("null, division, bounds, freed, all");
}
