//! Every bug that is seeded into the explicit engine is caught by comparison with the oracle.
//!
//! `cargo test --release -p foretrace-oracle --features seeded-faults --test engine_faults`; with
//! `FORETRACE_FAULT=NAME` only the faults whose names contain that.

use foretrace_explore::{Fault, seed_fault};
use foretrace_oracle::{case_seed, compare_engine, compare_engine_on, regression_seeds};
use foretrace_trace::text;

/// The seed of the cases: the one of `cargo xtask test`.
const SEED: u64 = 1;
/// How many cases a fault may survive: those of one run.
const CASES: u64 = 20_000;

/// Traces that random ones come to rarely.
const MADE_BY_HAND: [&str; 8] = [
    "a: begin\nb: begin\nb: trysemwait s : fail\nb: write x = 1\na: sempost s\na: write x = 2\n",
    // What the assertion reads depends on a second variable.
    "a: begin\nb: begin\nc: begin\nd: begin\na: write y = 1\nb: write y = 2\nc: r = read y : 2\n\
     c: write x = r\nd: q = read x : 2\nd: assert q != 1 : true\n",
    // The race needs a post, which needs a write and the release of a lock.
    "a: begin\nb: begin\nc: begin\nd: begin\nd: acquire n\nd: write y = 1\nd: release n\n\
     c: acquire n\nc: r = read y : 1\nc: branch r == 1 : true\nc: sempost s\nc: release n\n\
     b: semwait s\nb: write x = 1\na: write x = 2\n",
    // Folded threads: the first condition is about the second read of `x`.
    "init x = 0\na: begin\nb: begin\na: r = read x : 0\nb: write x = 1\na: s = read x : 1\n\
     a: branch s == 1 : true\na: branch r == 0 : true\na: write y = 1\nb: write y = 2\n",
    // What is written lets a thread go on.
    "init x = 0\na: begin\nb: begin\nb: write x = 1\na: r = read x : 1\n\
     a: branch r == 1 : true\na: write y = 1\nb: write y = 2\n",
    // The only token is taken.
    "semaphore s = 1\na: begin\nb: begin\na: semwait s\na: end\nb: request semwait s\n",
    // When the signal comes, the first thread waits; but the second one is woken.
    "init f = 0\na: begin\nb: begin\nd: begin\na: acquire m\na: write f = 1\na: wait c m\n\
     b: acquire m\nb: wait c m\nd: acquire m\nd: r = read f : 1\n\
     d: branch r == 1 : true\nd: release m\nd: signal c\nb: wake c m\nb: release m\n\
     b: write x = 1\nd: write x = 2\n",
    // Behind the same operation something else follows the second time.
    "a: begin\nb: begin\na: acquire m\na: release m\na: acquire m\na: write x = 1\n\
     a: release m\nb: write x = 2\n",
];

// One test, since a fault is seeded in the whole process.
#[test]
fn every_seeded_fault_is_caught() {
    // Broken invariants are one of the ways in which a fault shows, and expected here.
    std::panic::set_hook(Box::new(|_| ()));
    let mut survived = Vec::new();
    let mut not_the_fault = Vec::new();
    let only = std::env::var("FORETRACE_FAULT").unwrap_or_default();
    for &fault in Fault::ALL.iter().filter(|fault| format!("{fault:?}").contains(&only)) {
        seed_fault(Some(fault));
        let mut seeds =
            regression_seeds().into_iter().chain((0..CASES).map(|case| case_seed(SEED, case)));
        let by_hand = MADE_BY_HAND.iter().find_map(|made| {
            let trace = text::parse(made).expect("it is a trace");
            compare_engine_on(&trace, SEED).err()
        });
        let caught = by_hand.or_else(|| seeds.find_map(|seed| compare_engine(seed).err()));
        seed_fault(None);
        let name = format!("{fault:?}");
        match caught {
            Some(found) => {
                let difference: String =
                    format!("{:?}", found.difference).chars().take(100).collect();
                let (seed, events) = (found.seed, found.trace.len());
                println!("{name:<22} {seed:>20}  {events:>3} events  {difference}");
                if compare_engine(seed).is_err() {
                    not_the_fault.push(seed);
                }
            }
            None => {
                println!("{name:<22} survives {CASES} cases");
                survived.push(fault);
            }
        }
    }
    let _ = std::panic::take_hook();
    assert!(survived.is_empty(), "not caught: {survived:?}");
    assert!(not_the_fault.is_empty(), "these differ without any fault: {not_the_fault:?}");
}
