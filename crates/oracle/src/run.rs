//! Many cases: regression seeds first, then random ones.
//!
//! **Invariant.** The summary depends on the number of cases and the seed, not on the number of
//! threads or their speed - as long as nothing disagrees; after [`ENOUGH`] disagreements the rest
//! is left out.
//!
//! **Cost.** Cases are independent; each thread takes the next one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::compare::{CaseStats, Disagreement, Predictor, compare};
use crate::coverage::Coverage;
use crate::engine::EngineStats;
use foretrace_testing::Random;

/// Seeds that once showed a bug, with a comment each.
const REGRESSION_SEEDS: &str = include_str!("../seeds.txt");

/// After so many disagreements there is enough to look at.
pub const ENOUGH: usize = 10;

/// What many cases came to.
#[derive(Debug, Default)]
#[allow(missing_docs)]
pub struct Summary {
    /// Cases that were compared or skipped.
    pub cases: u64,
    /// Cases whose enumeration ran out of budget.
    pub skipped: u64,
    pub states: u64,
    pub violations: u64,
    pub coverage: Coverage,
    /// What the explicit engine answered.
    pub engine: EngineStats,
    pub disagreements: Vec<Disagreement>,
}

/// Runs the regression seeds and then so many random cases on so many threads. `progress` is told
/// after each case how many are done.
pub fn run(
    cases: usize,
    seed: u64,
    threads: usize,
    predictor: Option<Predictor>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Summary {
    let mut seeds = regression_seeds();
    seeds.extend((0..cases as u64).map(|case| case_seed(seed, case)));
    let (taken, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let case = taken.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(case) else { break };
                    let outcome = compare(seed, predictor);
                    let mut summary = summary.lock().expect("no worker panics with the lock");
                    summary.add(outcome);
                    let enough = summary.disagreements.len() >= ENOUGH;
                    drop(summary);
                    progress(1 + done.fetch_add(1, Ordering::Relaxed), seeds.len());
                    if enough {
                        break;
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner().expect("no worker panics with the lock");
    summary.disagreements.sort_by_key(|disagreement| disagreement.seed);
    summary
}

impl Summary {
    fn add(&mut self, outcome: Result<CaseStats, Box<Disagreement>>) {
        self.cases += 1;
        match outcome {
            Ok(stats) => {
                self.skipped += u64::from(stats.skipped);
                self.states += stats.states;
                self.violations += stats.violations;
                self.coverage.add(&stats.coverage);
                self.engine.add(stats.engine);
            }
            Err(disagreement) => self.disagreements.push(*disagreement),
        }
    }
}

/// The seed of a case of a run.
pub fn case_seed(seed: u64, case: u64) -> u64 {
    Random::new(seed.wrapping_add(case.wrapping_mul(0x9e37_79b9_7f4a_7c15))).number()
}

/// The seeds of `seeds.txt`, which every run begins with. One seed per line; the rest of the line,
/// from `#` on, says what it showed.
pub fn regression_seeds() -> Vec<u64> {
    let code = |line: &'static str| line.split('#').next().unwrap_or("").trim();
    let lines = REGRESSION_SEEDS.lines().map(code).filter(|line| !line.is_empty());
    lines.map(|line| line.parse().expect("a line of seeds.txt starts with a number")).collect()
}
