//! `--symbolic-addresses`: bugs that need other addresses than the recorded ones are found, and
//! happen; twins have none; and what is kept as recorded is said.

use crate::harness::{Done, Program, compile, foretrace};

fn program(source: &str, twin: bool) -> Program {
    let name =
        format!("addresses-{}{}", source.trim_end_matches(".c"), if twin { "-twin" } else { "" });
    compile(&name, &[source, if twin { "-DTWIN" } else { "-DBUG" }])
}

/// `foretrace test --symbolic-addresses`, and what it says of other addresses.
fn test(program: &Program, options: &[&str]) -> (Done, String) {
    let mut words = vec!["test", "--symbolic-addresses", "--timeout", "30s"];
    words.extend(options);
    let done = program.with(&words, &[]);
    let other = done.out.split(", other addresses: ").nth(1).unwrap_or_default().to_string();
    (done, other)
}

/// With the recorded addresses there is nothing; with others there is, and a replay confirms all of
/// it. The twin has nothing.
#[track_caller]
fn only_elsewhere(source: &str, bugs: &[&str]) {
    let program_with_bug = program(source, false);
    program_with_bug.with(&["test", "--timeout", "30s"], &[]).ended_with(0);
    let (done, other) = test(&program_with_bug, &[]);
    let count = bugs.len();
    done.ended_with(1)
        .says("verdict: no bug in any schedule of these events")
        .says(&format!("{count} of the bugs need other addresses than the recorded ones"));
    for what in bugs {
        let head = format!("(real, confirmed by replay): {what}");
        assert!(other.contains(&head), "{head} is not in:\n{other}");
    }
    assert!(!other.contains("possible,"), "{other}");
    let (done, other) = test(&program(source, true), &[]);
    done.ended_with(0);
    let verdict = "verdict: no bug in any execution on the paths of this run";
    assert!(other.contains(verdict), "{other}");
}

#[test]
fn an_index_from_a_counter() {
    only_elsewhere("slots.c", &["data race on slot", "an assertion fails"]);
}

#[test]
fn structures_in_a_block() {
    only_elsewhere("entries.c", &["data race on heap", "an assertion fails"]);
}

/// Of blocks of `calloc` it is known what they hold where nobody has been.
#[test]
fn a_block_of_zeros() {
    only_elsewhere("tally.c", &["data race on heap", "an assertion fails"]);
}

#[test]
fn a_read_through_an_index() {
    only_elsewhere("prices.c", &["an assertion fails"]);
}

#[test]
fn a_pointer_that_moves_on() {
    only_elsewhere("cursor.c", &["data race on buffer", "an assertion fails"]);
}

/// What stays as recorded is counted, with the reason.
#[test]
fn addresses_that_are_kept() {
    let program = compile("addresses-pinned", &["pinned.c"]);
    let (done, _) = test(&program, &[]);
    done.says("(more than 64 places that it could mean)")
        .says("(address in no variable or block)")
        .says("(address of a copy)");
}

/// Recordings have all accesses; traces lack those of one thread, and it is said.
#[test]
fn recordings_and_traces() {
    let program = program("slots.c", false);
    let [recording, trace] = ["run.ftrec", "run.ftb"].map(|name| program.beside(name));
    for file in [&recording, &trace] {
        program.with(&["run", "-o", file], &[]).ended_with(0);
    }
    let json = program.beside("report.json");
    foretrace(&["predict", "--symbolic-addresses", "--json", &json, &recording])
        .ended_with(3)
        .says("race-1 (possible): data race on slot")
        .says("note: addresses that range over their objects: 2");
    assert!(program.folder.join("report.addresses.json").exists());
    foretrace(&["predict", &recording]).ended_with(0);
    foretrace(&["predict", "--symbolic-addresses", &trace])
        .ended_with(2)
        .says("lacks accesses to memory that only one thread touched");
    foretrace(&["predict", "--symbolic-addresses", "--model", "values", &recording])
        .ended_with(2)
        .says("--model values is not for --symbolic-addresses");
}

/// Several runs, and in their mixtures other addresses.
#[test]
fn mixtures() {
    let program = program("slots.c", false);
    let words = ["test", "--runs", "2", "--symbolic-addresses", "--timeout", "30s"];
    let done = program.with(&words, &[]).ended_with(1);
    let together = done.out.split(", all runs: ").nth(1).unwrap_or_default();
    assert!(together.contains("(real, confirmed by replay): data race on slot"), "{}", done.out);
}
