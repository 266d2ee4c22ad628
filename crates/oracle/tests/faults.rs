//! Every bug that is seeded into the predictor is caught by comparison with the oracle.
//!
//! `cargo test --release -p foretrace-oracle --features seeded-faults --test faults`

use foretrace_oracle::{Difference, case_seed, compare};
use foretrace_predict::{Fault, Options, Prediction, predict, seed_fault};
use foretrace_trace::Trace;

/// The seed of the cases: the one of `cargo xtask test`.
const SEED: u64 = 1;
/// How many cases a fault may survive: those of one run.
const CASES: u64 = 20_000;

// One test, since a fault is seeded in the whole process.
#[test]
fn every_seeded_fault_is_caught() {
    // Broken invariants are one of the ways in which a fault shows, and expected here.
    std::panic::set_hook(Box::new(|_| ()));
    let mut survived = Vec::new();
    println!("{:<20} {:>6}  {:>20}  {:>6}  difference", "fault", "case", "seed", "events");
    for &fault in Fault::ALL {
        seed_fault(Some(fault));
        let caught = (0..CASES).find_map(|case| {
            let disagreement = compare(case_seed(SEED, case), Some(&predictor)).err()?;
            Some((case, disagreement))
        });
        let name = format!("{fault:?}");
        match caught {
            Some((case, found)) => {
                let (seed, events) = (found.seed, found.trace.len());
                let kind = kind(&found.difference);
                println!("{name:<20} {case:>6}  {seed:>20}  {events:>6}  {kind}");
            }
            None => {
                println!("{name:<20} not caught in {CASES} cases");
                survived.push(fault);
            }
        }
    }
    seed_fault(None);
    let _ = std::panic::take_hook();
    assert!(survived.is_empty(), "not caught: {survived:?}");
    assert!(compare(case_seed(SEED, 0), Some(&predictor)).is_ok(), "without a fault all is well");
}

fn predictor(trace: &Trace, options: &Options) -> Result<Prediction, String> {
    predict(trace, options, &()).map_err(|error| error.to_string())
}

fn kind(difference: &Difference) -> String {
    let text = format!("{difference:?}");
    text.chars().take(110).collect()
}
