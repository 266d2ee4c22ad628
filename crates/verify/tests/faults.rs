//! Faults that are seeded into unfolding and composing: the comparison with all executions catches
//! each.

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/counters.rs"]
mod counters;
#[path = "differential/generate.rs"]
mod generate;
#[path = "differential/guarded.rs"]
mod guarded;

use foretrace_verify::{Fault, Options, seed_fault};

/// How many programs are tried for each fault.
const MOST: u64 = 1500;

/// How many of them are walked through.
const WALKED: u64 = 10;

#[test]
fn every_fault_is_caught() {
    let mut survivors = Vec::new();
    for &fault in Fault::ALL {
        seed_fault(Some(fault));
        let fails = |text: &str, unwind: u32| {
            let options = Options { unwind: Some(unwind), ..Options::default() };
            // A fault may also break an invariant that is checked.
            let compared = std::panic::catch_unwind(|| compare::compare(text, &options).is_err());
            compared.unwrap_or(true)
        };
        let walks_astray = |seed| compare::walk(&generate::generate(seed).text).is_err();
        let is_caught = compare::kept().iter().any(|(_, text)| fails(text, 3))
            || (0..WALKED).any(walks_astray)
            || (0..MOST).any(|seed| {
                let unwind = if seed % 2 == 0 { 3 } else { 1 };
                fails(&generate::generate(seed).text, unwind)
                    || fails(&guarded::guarded(seed), unwind)
                    || fails(&counters::generate(seed), unwind)
            });
        if !is_caught {
            survivors.push(fault);
        }
    }
    seed_fault(None);
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}
