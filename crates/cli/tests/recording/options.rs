//! Options from the environment, and memory orders, of real programs.

use std::process::Command;

use crate::harness::{compile, source};

#[test]
fn the_environment_has_defaults_and_compilers_do_not_look_at_them() {
    let program = compile("defaults", &["outcome.c"]);
    let run = |options: &str, command: &[&str]| {
        let mut line = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        line.env("FORETRACE_OPTIONS", options).args(command);
        if command[0] == "test" {
            line.arg("--").arg(&program.path).args(["status", "5"]);
        }
        line.output().unwrap().status.code()
    };
    assert_eq!(run("", &["test"]), Some(4));
    assert_eq!(run("--expect-status 5", &["test"]), Some(0));
    assert_eq!(run("--expect-status 5 --gdb --why", &["test", "--expect-status", "6"]), Some(0));
    assert_eq!(run("--expect-status five", &["test"]), Some(2));
    assert_eq!(run("'", &["test"]), Some(2));
    let (file, output) = (source("outcome.c"), program.beside("other"));
    assert_eq!(run("'", &["cc", "-pthread", &file, "-o", &output]), Some(0));
}

#[test]
fn relaxed_accesses_are_counted() {
    let program = compile("relaxed", &["relaxed.c"]);
    for seed in ["1", "2", "3", "4"] {
        program
            .with(&["test", "--check", "race", "--seed", seed], &[])
            .ended_with(0)
            .says("memory order: 2 relaxed, acquire or release accesses were taken as")
            .says(
                "no bug in any schedule of these events, for sequentially consistent executions (2",
            );
    }
}
