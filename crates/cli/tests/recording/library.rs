//! Functions of libraries that are not instrumented: whoever learns by them what another thread did
//! comes behind that.

use std::path::Path;

use crate::harness::{Program, build, command, compile, folder, source};

/// Runs each way with several seeds, until the thread has learnt something in one run: no finding
/// in any of them, neither real nor possible.
fn learns_without_a_race(program: &Program, at_least: usize) {
    let ways = program.alone(&[], "").ended_with(0).out;
    assert!(ways.lines().count() >= at_least, "{ways}");
    for way in ways.lines() {
        let has_learnt = (1..20).any(|seed| {
            let options = ["test", "--seed", &seed.to_string()];
            let done = program.with(&options, &[way]);
            assert_eq!(done.status, 0, "{way}, seed {seed}: {}{}", done.out, done.log);
            format!("{}{}", done.out, done.log).contains("x is 1")
        });
        assert!(has_learnt, "{way}");
    }
}

/// What such functions read and write in the program's memory is recorded.
#[test]
fn memory_that_the_c_library_reads_and_writes() {
    let program = compile("library_memory", &["library_memory.c"]);
    learns_without_a_race(&program, 28);
}

#[test]
fn what_the_cpp_library_keeps() {
    let program = compile("library_memory_cpp", &["library_memory.cpp", "-latomic"]);
    learns_without_a_race(&program, 15);
}

/// What nobody has described may have been read and written wherever the program says.
#[test]
fn memory_that_is_given_to_code_without_instrumentation() {
    let program = handed_memory();
    learns_without_a_race(&program, 20);
}

/// What it writes later, others have not found before.
#[test]
fn memory_that_is_not_yet_written_by_code_without_instrumentation() {
    let program = handed_memory();
    for seed in 1..=8 {
        let options = ["test", "--seed", &seed.to_string()];
        program.with(&options, &["not yet written"]).ended_with(0).says_not("race-");
    }
}

/// What threads notice of each other without a call or an access that says so.
#[test]
fn what_all_threads_may_notice() {
    let program = compile("noticed", &["noticed.c"]);
    learns_without_a_race(&program, 10);
}

/// What each thread has for itself orders nothing.
#[test]
fn memory_of_one_thread_may_be_given_away() {
    let program = handed_memory();
    for seed in ["1", "2", "3"] {
        program
            .with(&["test", "--seed", seed], &["private"])
            .ended_with(1)
            .says("race-1 (real, confirmed by replay): data race on x");
    }
}

fn handed_memory() -> Program {
    let folder = folder("handed_memory");
    let object = folder.join("foreign_memory.o");
    let arguments = ["-O1", "-c", &source("foreign_memory.c"), "-o", object.to_str().unwrap()];
    command(Path::new("clang-19"), &arguments, "").ended_with(0);
    let path = folder.join("program");
    build(&["handed_memory.c", object.to_str().unwrap(), "-lm"], &path);
    Program { path, folder }
}
