//! Predictions of runs with a few hundred events, too large for the oracle, held against each
//! other.
//!
//! `FORETRACE_SEEDS=from..to` runs other seeds than the default ones, of which a debug build takes
//! one in eight.

mod budgets;
mod classes;
mod determinism;
mod generate;
mod granularity;
mod pruning;
mod random_walks;
mod recorded_order;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_predict::{Options, Prediction, predict};
use foretrace_trace::validate::validate;
use foretrace_trace::{Trace, text};
use foretrace_verdict::Model;

const MODELS: [Model; 4] = Model::ALL;

/// Runs a test for each seed, on two threads, and says which seed fails.
fn for_seeds(default: Range<u64>, test: impl Fn(u64, &Trace) + Sync) {
    let seeds = match std::env::var("FORETRACE_SEEDS") {
        Ok(range) => {
            let (from, to) = range.split_once("..").expect("FORETRACE_SEEDS is `from..to`");
            from.parse().expect("a number")..to.parse().expect("a number")
        }
        Err(_) if cfg!(debug_assertions) => {
            default.start..default.start + (default.end - default.start).div_ceil(8)
        }
        Err(_) => default,
    };
    let next = AtomicU64::new(seeds.start);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let trace = generate::generate(seed);
                    let named = NameOnPanic(seed);
                    test(seed, &trace);
                    std::mem::forget(named);
                }
            });
        }
    });
}

/// Whether a test runs on enough seeds for its totals to mean something.
fn has_default_seeds() -> bool {
    !cfg!(debug_assertions) && std::env::var("FORETRACE_SEEDS").is_err()
}

/// Prints the seed if its test panics.
struct NameOnPanic(u64);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        eprintln!("failed with FORETRACE_SEEDS={}..{}", self.0, self.0 + 1);
    }
}

fn decide(trace: &Trace, options: &Options) -> Prediction {
    let prediction = predict(trace, options, &()).unwrap_or_else(|error| panic!("{error}"));
    for (property, ledger) in &prediction.ledgers {
        let in_part = ledger.infeasible_in_bound + ledger.infeasible_for_recorded_values;
        let verdicts = ledger.violated + ledger.infeasible + in_part + ledger.undecided;
        let sum = ledger.pruned.sum() + verdicts;
        assert_eq!(ledger.candidates, sum, "{property:?}");
    }
    prediction
}

/// How many classes were asked of the solver.
fn open_classes(prediction: &Prediction) -> u64 {
    let of = |ledger: &foretrace_verdict::Ledger| {
        let in_part = ledger.infeasible_for_recorded_values;
        ledger.violated + ledger.infeasible + in_part + ledger.undecided
    };
    prediction.ledgers.iter().map(|(_, ledger)| of(ledger)).sum()
}

#[test]
fn generated_traces_are_valid_and_repeatable() {
    for_seeds(0..300, |seed, trace| {
        validate(trace).unwrap_or_else(|invalid| panic!("{invalid}\n{}", text::print(trace)));
        assert_eq!(*trace, generate::generate(seed));
        assert!((200..800).contains(&trace.len()), "{} events", trace.len());
        assert!((4..=6).contains(&trace.threads().len()));
    });
}
