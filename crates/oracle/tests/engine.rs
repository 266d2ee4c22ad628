//! The explicit engine agrees with the oracle on random traces.

use foretrace_oracle::{ENOUGH, EngineStats, case_seed, compare_engine, regression_seeds};

/// How many random cases; the environment may ask for more.
fn cases() -> u64 {
    std::env::var("FORETRACE_ENGINE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

#[test]
fn engine_and_oracle_agree() {
    let mut seeds = regression_seeds();
    let first = std::env::var("FORETRACE_ENGINE_FIRST").ok().and_then(|n| n.parse().ok());
    let first: u64 = first.unwrap_or(0);
    seeds.extend((first..first + cases()).map(|case| case_seed(1, case)));
    let mut disagreements = Vec::new();
    let (mut total, mut skipped) = (EngineStats::default(), 0);
    for &seed in &seeds {
        match compare_engine(seed) {
            Ok(stats) => {
                skipped += u64::from(stats.skipped);
                total.found += stats.engine.found;
                total.impossible += stats.engine.impossible;
                total.folded += stats.engine.folded;
                total.states += stats.engine.states;
            }
            Err(disagreement) => {
                println!("{disagreement}");
                disagreements.push(seed);
                if disagreements.len() >= ENOUGH {
                    break;
                }
            }
        }
    }
    println!("{} cases, {skipped} too large: {total:?}", seeds.len());
    assert!(disagreements.is_empty(), "{disagreements:?}");
    assert!(total.found > 10_000 && total.impossible > 10_000, "{total:?}");
    assert!(total.folded > 1_000, "{total:?}");
}
