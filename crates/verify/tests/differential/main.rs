//! Random programs: what `verify` finds up to a bound against all executions of the interpreter.

mod compare;
mod generate;
mod guarded;

use std::collections::BTreeMap;

use foretrace_testing::cases;
use foretrace_verify::Options;

use compare::{Compared, PROPERTIES, compare, kept, property, walk};

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

/// Seeds of programs about locks that failed once.
const KEPT_GUARDED: [u64; 0] = [];

#[test]
fn critical_sections_may_be_one_moment() {
    let (mut proved, mut bugs, mut within, mut skipped) = (0, 0, 0, 0);
    for seed in KEPT_GUARDED.into_iter().chain(0..cases(500, 20_000)) {
        let text = guarded::guarded(seed);
        for critical_sections in [true, false] {
            let unwind = Some([3, 2][seed as usize % 2]);
            let idle_turns = seed % 5 != 3;
            let options = Options { unwind, critical_sections, idle_turns, ..Options::default() };
            match compare(&text, &options) {
                Ok(Compared::Equal { violations }) if violations.is_empty() => proved += 1,
                Ok(Compared::Equal { .. }) => bugs += 1,
                Ok(Compared::Within) => within += 1,
                Ok(Compared::Skipped) => skipped += 1,
                Err(error) => panic!("seed {seed}: {error}\n{text}"),
            }
        }
    }
    let counts = format!("{proved} proved, {bugs} bugs, {within} within, {skipped} skipped");
    assert!(proved > 50 && bugs > 50 && within > 0 && proved + bugs > 2 * skipped, "{counts}");
}

#[test]
fn programs_that_differed_once_agree() {
    for (name, text) in kept() {
        for unwind in [1, 2, 3, 7] {
            let plain = Options { unwind: Some(unwind), ..Options::default() };
            for options in [
                plain.clone(),
                Options { narrow: false, ..plain.clone() },
                Options { substitution: false, ..plain.clone() },
                Options { idle_turns: false, ..plain.clone() },
            ] {
                if let Err(error) = compare(&text, &options) {
                    panic!("{name}, {options:?}: {error}");
                }
            }
        }
    }
}

#[test]
fn verdicts_agree_with_all_executions() {
    let mut counts: BTreeMap<(&str, &str, bool), u32> = BTreeMap::new();
    let (mut equal, mut within, mut skipped) = (0, 0, 0);
    let count = cases(1000, 10_000);
    for seed in 0..count {
        let generated = generate::generate(seed);
        match compare(&generated.text, &options(seed)) {
            Ok(Compared::Equal { violations }) => {
                equal += 1;
                let found: Vec<&str> = violations.iter().map(property).collect();
                for construct in &generated.uses {
                    for property in PROPERTIES {
                        let is_found = found.contains(&property);
                        *counts.entry((construct, property, is_found)).or_default() += 1;
                    }
                }
            }
            Ok(Compared::Within) => within += 1,
            Ok(Compared::Skipped) => skipped += 1,
            Err(error) => panic!("seed {seed}: {error}\n{}", generated.text),
        }
    }
    assert!(equal > 3 * (within + skipped), "{equal} equal, {within} within, {skipped} skipped");
    assert!(within > 0, "no program goes beyond its bound");
    let mut missing = Vec::new();
    for construct in generate::CONSTRUCTS {
        for property in PROPERTIES {
            for is_found in [false, true] {
                if !counts.contains_key(&(construct, property, is_found)) {
                    missing.push((construct, property, is_found));
                }
            }
        }
    }
    assert!(missing.is_empty(), "none of {equal} programs has {missing:?}");
}

#[test]
fn schedules_of_random_walks_lead_to_their_bugs() {
    let (mut found, count) = (0, cases(50, 1_000));
    for seed in 0..count {
        for text in [generate::generate(seed).text, guarded::guarded(seed)] {
            match walk(&text) {
                Ok(is_found) => found += u64::from(is_found),
                Err(error) => panic!("seed {seed}: {error}\n{text}"),
            }
        }
    }
    assert!(found > count / 2, "walks have found {found} bugs");
}
