//! A class is violated exactly if one of its members is.
//!
//! **Computes.** Each generated trace is predicted with one question per tuple of events, and again
//! with one per tuple of locations and one per object. The coarse findings must be the classes of
//! the fine ones, each with a member that is a fine finding itself; and every finding passes a
//! witness checker made here.

use std::collections::BTreeSet;

use foretrace_predict::{Granularity, Options, Prediction};
use foretrace_trace::Trace;
use foretrace_verdict::{Model, Violation};
use foretrace_witness::{CheckOptions, Checker};

use super::classes::{class_of, classes_of};
use super::{MODELS, decide, for_seeds};

fn predict_at(
    trace: &Trace,
    model: Model,
    infer_regions: bool,
    granularity: Granularity,
) -> Prediction {
    let options = Options { model: Some(model), infer_regions, granularity, ..Options::default() };
    let prediction = decide(trace, &options);
    assert_eq!(prediction.undecided, []);
    let checker = Checker::new(trace, model, CheckOptions { infer_regions });
    for finding in &prediction.findings {
        let verdict = checker.check(&finding.violation, &finding.schedule);
        let certainty = verdict.unwrap_or_else(|refuted| panic!("{finding:?}: {refuted}"));
        assert_eq!(certainty, finding.certainty, "{finding:?}");
    }
    let classes = classes_of(trace, granularity, &prediction.findings);
    assert_eq!(classes.len(), prediction.findings.len(), "two findings of one class");
    prediction
}

fn violations(prediction: &Prediction) -> BTreeSet<Violation> {
    prediction.findings.iter().map(|finding| finding.violation.clone()).collect()
}

#[test]
fn coarse_verdicts_follow_from_fine_ones() {
    for_seeds(2000..2040, |seed, trace| {
        let infer_regions = seed % 4 == 0;
        let fine = MODELS.map(|model| predict_at(trace, model, infer_regions, Granularity::Event));
        for (model, fine) in MODELS.into_iter().zip(&fine) {
            let members = violations(fine);
            for granularity in [Granularity::Location, Granularity::Variable] {
                let coarse = predict_at(trace, model, infer_regions, granularity);
                let expected = classes_of(trace, granularity, &fine.findings);
                let found = classes_of(trace, granularity, &coarse.findings);
                let missed: Vec<_> = expected.difference(&found).collect();
                assert!(missed.is_empty(), "{model:?} {granularity:?} misses {missed:?}");
                for violation in violations(&coarse) {
                    let class = class_of(trace, granularity, &violation);
                    assert!(
                        expected.contains(&class),
                        "{model:?} {granularity:?} invents {class:?}"
                    );
                    assert!(members.contains(&violation), "{violation:?} is missed by events");
                }
            }
        }
        // Each model allows every schedule that the one before it allows.
        let found = fine.each_ref().map(violations);
        for (model, pair) in MODELS.into_iter().zip(found.windows(2)) {
            let lost: Vec<_> = pair[0].difference(&pair[1]).collect();
            assert!(lost.is_empty(), "found under {model:?}, not under the next model: {lost:?}");
        }
    });
}
