//! Faults that are seeded into unfolding and composing: the comparison with all executions catches
//! each.

#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/generate.rs"]
mod generate;

use foretrace_verify::{Fault, Options, seed_fault};

/// How many programs are tried for each fault.
const MOST: u64 = 1500;

#[test]
fn every_fault_is_caught() {
    let mut survivors = Vec::new();
    for &fault in Fault::ALL {
        seed_fault(Some(fault));
        let is_caught = (0..MOST).any(|seed| {
            let text = generate::generate(seed).text;
            let unwind = Some(if seed % 2 == 0 { 3 } else { 1 });
            let options = Options { unwind, ..Options::default() };
            // A fault may also break an invariant that is checked.
            let compared = std::panic::catch_unwind(|| compare::compare(&text, &options).is_err());
            compared.unwrap_or(true)
        });
        if !is_caught {
            survivors.push(fault);
        }
    }
    seed_fault(None);
    assert!(survivors.is_empty(), "not caught: {survivors:?}");
}
