//! Each model allows what the one before it allows, on random traces with expressions.

use foretrace_trace::EventId;
use foretrace_verdict::{Certainty, Model, Violation};

use super::feasible;
use super::random_programs::random_program;
use super::reduction::{candidates, check_reduction, random_walk};
use crate::checker::{CheckOptions, Checker};
use foretrace_testing::Random;

#[test]
fn recorded_prefixes_are_feasible_under_every_model() {
    for seed in 0..400 {
        let trace = random_program(&mut Random::new(seed), 10 + seed as usize % 30);
        for model in Model::ALL {
            let checker = Checker::new(&trace, model, CheckOptions::default());
            let recorded: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
            for length in 0..=recorded.len() {
                let refuted = feasible(&checker, &recorded[..length]).err();
                assert_eq!(refuted, None, "seed {seed}, {model:?}, {length}");
            }
        }
    }
}

#[test]
fn every_model_accepts_what_the_stricter_ones_accept() {
    let mut kept = [0; 4];
    let mut new = [0; 4];
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let trace = random_program(&mut random, 8 + seed as usize % 20);
        let checkers = Model::ALL.map(|model| Checker::new(&trace, model, CheckOptions::default()));
        for round in 0..8 {
            let stricter = round % 4;
            let walk = random_walk(&checkers[stricter], &mut random);
            for (checker, model) in checkers.iter().zip(Model::ALL).skip(stricter) {
                assert_eq!(
                    feasible(checker, &walk).err(),
                    None,
                    "seed {seed}, {model:?}: {walk:?}"
                );
            }
            for violation in candidates(&trace, &walk) {
                let verdicts = checkers.each_ref().map(|c| c.check(&violation, &walk).ok());
                let first = verdicts.iter().position(Option::is_some).unwrap_or(4);
                let is_kept = verdicts[first..].iter().all(Option::is_some);
                assert!(is_kept, "seed {seed}: {violation:?} {walk:?} {verdicts:?}");
                assert!(matches!(verdicts[3], None | Some(Certainty::Possible)));
                if matches!(violation, Violation::Assertion(_)) && first < 4 {
                    kept[first] += 1;
                    new[first] += usize::from(!walk.is_sorted());
                }
            }
        }
    }
    // Enough assertions fail under each model, and not only in the recorded order.
    assert!(kept.iter().all(|&count| count > 100), "{kept:?}");
    assert!(new.iter().all(|&count| count > 50), "{new:?}");
}

#[test]
fn reductions_under_all_models_are_accepted_and_smaller() {
    let mut found = [0; 4];
    for seed in 0..1200 {
        let mut random = Random::new(seed);
        let trace = random_program(&mut random, 8 + seed as usize % 24);
        for (index, model) in Model::ALL.into_iter().enumerate() {
            let checker = Checker::new(&trace, model, CheckOptions { infer_regions: true });
            let given = random_walk(&checker, &mut random);
            for violation in candidates(&trace, &given) {
                if checker.check(&violation, &given).is_ok() {
                    let reduced = check_reduction(&checker, &violation, &given);
                    let explained = checker.explain(&violation, &reduced).unwrap();
                    assert_eq!(explained.steps.len(), reduced.len());
                    if let Some(failed) = explained.assertion {
                        assert_eq!(failed.value.unwrap_or(0), 0, "{violation:?} {reduced:?}");
                    }
                    found[index] += usize::from(matches!(violation, Violation::Assertion(_)));
                }
            }
        }
    }
    assert!(found.iter().all(|&count| count > 100), "{found:?}");
}
