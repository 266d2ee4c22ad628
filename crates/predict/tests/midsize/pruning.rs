//! What is refuted before the solver is asked changes no verdict.

use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_predict::{Granularity, Options, Prediction, Prune};
use foretrace_verdict::Column;

use super::classes::{Class, class_of};
use super::{MODELS, decide, for_seeds, has_default_seeds};

#[test]
fn with_and_without_pruning_the_verdicts_are_the_same() {
    let (refuted, by_both) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(7000..7012, |seed, trace| {
        let granularity = if seed % 2 == 0 { Granularity::Event } else { Granularity::Location };
        let model = Some(MODELS[seed as usize % MODELS.len()]);
        let options = Options { model, granularity, ..Options::default() };
        let full = decide(trace, &options);
        for prune in [Prune::Nothing, Prune::Needs] {
            let other = decide(trace, &Options { prune, ..options.clone() });
            // The same findings in the same order, so that they have the same ids.
            let classes = |prediction: &Prediction| -> Vec<Class> {
                let found = prediction.findings.iter();
                found.map(|finding| class_of(trace, granularity, &finding.violation)).collect()
            };
            assert_eq!(classes(&full), classes(&other), "{prune:?}");
            assert_eq!(full.undecided.len() + other.undecided.len(), 0);
            for ((property, one), (_, two)) in full.ledgers.iter().zip(&other.ledgers) {
                assert_eq!(one.candidates, two.candidates, "{property:?}, {prune:?}");
                assert_eq!(one.violated, two.violated, "{property:?}, {prune:?}");
                let without_solver = two.pruned.sum();
                match prune {
                    Prune::Nothing => assert_eq!(without_solver, 0, "{property:?}"),
                    _ => assert!(without_solver <= one.pruned.sum(), "{property:?}"),
                }
            }
        }
        for (_, ledger) in &full.ledgers {
            refuted.fetch_add(ledger.pruned.sum(), Ordering::Relaxed);
            by_both.fetch_add(ledger.pruned[Column::Both], Ordering::Relaxed);
        }
    });
    let (refuted, by_both) = (refuted.into_inner(), by_both.into_inner());
    println!("{refuted} refuted without the solver, {by_both} of them by order and locks together");
    assert!(!has_default_seeds() || (refuted > 100 && by_both > 0), "{refuted}, {by_both}");
}
