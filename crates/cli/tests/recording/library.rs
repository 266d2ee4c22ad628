//! Functions of libraries that are not instrumented: whoever learns by them what another thread did
//! comes behind that.

use crate::harness::{Program, compile};

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
    learns_without_a_race(&program, 9);
}
