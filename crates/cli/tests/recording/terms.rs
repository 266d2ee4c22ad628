//! What the walk along the recorded paths makes of the constructs of C and C++: no thread is lost,
//! every trace is valid (so expressions are worth what was recorded), and some values are as
//! written in the program.

use crate::harness::{Run, compile, foretrace};

/// Runs the program at two levels of optimisation and under all kinds of schedules.
fn check(test: &str, file: &str, expected: &[&str], lost: Option<&str>) {
    for level in ["-O0", "-O2"] {
        let program = compile(&format!("terms-{test}{level}"), &[level, "-Wno-error", file]);
        program.alone(&[], "").ended_with(0);
        for (schedule, seed) in [("random", "1"), ("random", "2"), ("pct", "1"), ("free", "1")] {
            let run = program.run(&["--schedule", schedule, "--seed", seed], &[]).ended_with(0);
            validate(&run);
            let shown = run.shown();
            let notes: Vec<&str> =
                shown.lines().filter(|line| line.starts_with("fact path-")).collect();
            match lost {
                None => assert!(notes.is_empty(), "{test} {level} {schedule}: {notes:?}"),
                Some(why) => {
                    assert!(notes.iter().all(|note| note.contains(why)), "{notes:?}");
                    assert!(!notes.is_empty(), "{test} {level} {schedule}: nothing is lost");
                }
            }
            for text in expected {
                let is_there = shown.lines().any(|line| fits(line, text));
                assert!(is_there, "{test} {level} {schedule}: no `{text}` in\n{shown}");
            }
        }
    }
}

fn validate(run: &Run) {
    let path = run.trace.display().to_string();
    foretrace(&["trace", "validate", &path]).ended_with(0);
}

/// Whether an event is as the pattern says, in which any name of a read is `r_`.
fn fits(line: &str, pattern: &str) -> bool {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('r') {
        let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        plain += &rest[..at + 1];
        plain += if digits > 0 { "_" } else { "" };
        rest = &rest[at + 1 + digits..];
    }
    plain += rest;
    plain.contains(pattern)
}

#[test]
fn constructs_of_c() {
    let expected = [
        "write fields[0:2] = r_ & 65528 | u16((r_ & 7) + r_) & 7",
        "write array[8:8] = r_ + s32(r_)",
        "write label[0:4] = u32((r_ + r_) * 2 + r_)",
        "write variable[0:4] = u32(r_ + 4)",
        "write returned[0:4] = u32(r_ + 3)",
    ];
    check("c", "constructs.c", &expected, None);
}

#[test]
fn constructs_of_cpp() {
    let expected = [
        "write number[0:4] = u32(r_ + r_ + (r_ * r_ + ",
        "write caught[0:4] = u32(r_ + r_)",
        "write count[0:4] = u32(r_ + 5)",
    ];
    check("cpp", "constructs.cpp", &expected, None);
}

#[test]
fn what_a_thread_is_created_with() {
    let expected = [
        "write number[0:4] = u32(r_ + 14)",
        "write pointed[0:4] = u32(r_ + 3)",
        "write other[0:4] = u32(r_ + 9)",
    ];
    check("created-with", "created_with.c", &expected, None);
}

#[test]
fn handlers_of_signals_run_in_between() {
    check("signals", "handled.c", &["write number[0:4] = u32(r_ + (r_ + 1))"], None);
}

#[test]
fn coroutines_are_not_followed() {
    check("coroutine", "coroutine.cpp", &[], Some("a coroutine"));
}

/// What `values` finds within a limit of conflicts, `symbolic` finds too, however hard it is there.
#[test]
fn what_a_weaker_model_finds_is_found() {
    let source = "../../../../../examples/programs/rwlock-upgrade/bug.c";
    let program = compile("program", &[source]);
    let run = program.run(&["--seed", "1"], &[]).ended_with(0);
    let trace = run.trace.to_str().unwrap();
    let asked = |limit: u32, model: &str| {
        let limit = limit.to_string();
        foretrace(&["predict", trace, "--conflicts", &limit, "--model", model, "--json", "-"]).out
    };
    let finds = |limit: u32, model: &str| asked(limit, model).contains("\"id\":\"stuck-1\"");
    let enough = (0..=20).find(|&limit| finds(limit, "values"));
    assert!(finds(enough.expect("some limit is enough for `values`"), "symbolic"));
}
