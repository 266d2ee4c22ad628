//! Every bug that is seeded into the predictor is caught by comparison with the oracle.
//!
//! `cargo test --release -p foretrace-oracle --features seeded-faults --test faults`

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_oracle::{Disagreement, case_seed, compare, regression_seeds};
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
    let mut not_the_fault = Vec::new();
    println!("{:<18} {:>5}  {:>20}  {:>6}  difference", "fault", "case", "seed", "events");
    for &fault in Fault::ALL {
        seed_fault(Some(fault));
        let name = format!("{fault:?}");
        match first_disagreement() {
            Some((case, Disagreement { seed, difference, trace, .. })) => {
                let events = trace.len();
                let difference: String = format!("{difference:?}").chars().take(100).collect();
                println!("{name:<18} {case:>5}  {seed:>20}  {events:>6}  {difference}");
                seed_fault(None);
                if compare(seed, Some(&predictor)).is_err() {
                    not_the_fault.push(seed);
                }
            }
            None => {
                println!("{name:<18} survives {CASES} cases");
                survived.push(fault);
            }
        }
    }
    seed_fault(None);
    let _ = std::panic::take_hook();
    assert!(survived.is_empty(), "not caught: {survived:?}");
    assert!(not_the_fault.is_empty(), "these differ without any fault: {not_the_fault:?}");
}

/// The first case that shows the fault, whatever the number of threads that look for it.
fn first_disagreement() -> Option<(u64, Disagreement)> {
    for seed in regression_seeds() {
        if let Err(disagreement) = compare(seed, Some(&predictor)) {
            return Some((0, *disagreement));
        }
    }
    let (next, least) = (AtomicU64::new(0), AtomicU64::new(CASES));
    let found = Mutex::new(None);
    let look = || {
        loop {
            let case = next.fetch_add(1, Ordering::SeqCst);
            if case >= least.load(Ordering::SeqCst) {
                return;
            }
            let Err(disagreement) = compare(case_seed(SEED, case), Some(&predictor)) else {
                continue;
            };
            let mut found = found.lock().expect("no worker panics with the lock");
            if least.fetch_min(case, Ordering::SeqCst) > case {
                *found = Some((case, *disagreement));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(look);
        }
    });
    found.into_inner().expect("no worker panics with the lock")
}

fn predictor(trace: &Trace, options: &Options) -> Result<Prediction, String> {
    predict(trace, options, &()).map_err(|error| error.to_string())
}
