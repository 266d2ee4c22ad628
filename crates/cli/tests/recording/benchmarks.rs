//! The programs of `cargo xtask bench programs` in a small size: with the error it is found and
//! replayed, without it there is a proof.

use crate::harness::{Program, compile};

fn benchmark(name: &str, options: &[&str]) -> Program {
    let source = format!("../../../../../benches/programs/{name}.c");
    compile(name, &[options, &[&source]].concat())
}

/// Tests the program from the first run that passes.
fn check(name: &str, arguments: &[&str]) {
    let how = |seed: &'static str| ["--schedule", "pct", "--seed", seed];
    let test = |seed| [&["test", "--check", "assertion"], &how(seed)[..]].concat();
    let passing = benchmark(name, &[]);
    passing.with(&test("1"), arguments).ended_with(0).says("no bug in any schedule");

    let failing = benchmark(name, &["-DERROR"]);
    let seeds = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let passes = |seed: &&'static str| failing.run(&how(seed), arguments).done.status == 0;
    let seed = seeds.into_iter().find(passes).expect("some run passes");
    failing
        .with(&test(seed), arguments)
        .ended_with(1)
        .says("replay: confirmed: the assertion failed")
        .says("verdict: 1 bug confirmed by replay");
}

#[test]
fn balances_add_up() {
    check("banking", &["3", "4"]);
}

#[test]
fn an_entry_stays_empty() {
    check("indexer", &["13", "2"]);
}
