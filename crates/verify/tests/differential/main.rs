//! Random programs: what `verify` finds up to a bound against all executions of the interpreter.

mod compare;
mod generate;

use std::collections::BTreeMap;

use foretrace_testing::cases;
use foretrace_verify::Options;

use compare::{Compared, compare};

/// Seeds that failed once.
const KEPT: [u64; 6] = [3, 30, 34, 253, 2404, 4711];

/// What a seed is tried with: bounds and reductions, all of which must give the same.
fn options(seed: u64) -> Options {
    Options {
        unwind: Some([3, 1, 2, 3][seed as usize % 4]),
        narrow: seed % 5 != 1,
        substitution: seed % 5 != 2,
        idle_turns: seed % 5 != 3,
        ..Options::default()
    }
}

#[test]
fn verdicts_agree_with_all_executions() {
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let (mut equal, mut within, mut skipped) = (0, 0, 0);
    let count = cases(400, 10_000);
    for seed in KEPT.into_iter().chain(0..count) {
        let generated = generate::generate(seed);
        let mut tried = vec![options(seed)];
        if KEPT.contains(&seed) {
            tried.push(Options { unwind: Some(3), ..Options::default() });
        }
        for options in tried {
            match compare(&generated.text, &options) {
                Ok(Compared::Equal { violations }) => {
                    equal += 1;
                    let verdict = if violations.is_empty() { "proved" } else { "bug" };
                    for construct in &generated.uses {
                        *counts.entry((construct, verdict)).or_default() += 1;
                    }
                }
                Ok(Compared::Within) => within += 1,
                Ok(Compared::Skipped) => skipped += 1,
                Err(error) => panic!("seed {seed}: {error}\n{}", generated.text),
            }
        }
    }
    assert!(equal > 3 * (within + skipped), "{equal} equal, {within} within, {skipped} skipped");
    assert!(within > 0, "no program goes beyond its bound");
    for construct in generate::CONSTRUCTS {
        for verdict in ["proved", "bug"] {
            assert!(counts.contains_key(&(construct, verdict)), "no {construct} with {verdict}");
        }
    }
}
