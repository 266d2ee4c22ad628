//! A budget may leave candidates undecided; it never changes a verdict.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use foretrace_predict::{Budget, Granularity, Options, Prediction};
use foretrace_trace::Trace;
use foretrace_verdict::{Ledger, Model, Property};

use super::classes::{Class, class_of, classes_of};
use super::{MODELS, decide, for_seeds, has_default_seeds, open_classes};

fn undecided_classes(
    trace: &Trace,
    granularity: Granularity,
    prediction: &Prediction,
) -> BTreeSet<Class> {
    let mut classes = BTreeSet::new();
    for undecided in prediction.undecided.iter().chain(&prediction.for_recorded_values) {
        assert!(undecided.reason.code().contains("budget"), "{:?}", undecided.reason);
        assert_eq!(undecided.property, undecided.example.property());
        let new = classes.insert(class_of(trace, granularity, &undecided.example));
        assert!(new, "undecided twice: {undecided:?}");
    }
    classes
}

/// Every verdict of `limited` is the one of `full`.
fn agree(trace: &Trace, granularity: Granularity, full: &Prediction, limited: &Prediction) {
    let undecided = undecided_classes(trace, granularity, limited);
    let found = classes_of(trace, granularity, &full.findings);
    let still_found = classes_of(trace, granularity, &limited.findings);
    let invented: Vec<_> = still_found.difference(&found).collect();
    assert!(invented.is_empty(), "invented: {invented:?}");
    let lost: Vec<_> = found
        .iter()
        .filter(|class| !still_found.contains(class) && !undecided.contains(class))
        .collect();
    assert!(lost.is_empty(), "called infeasible: {lost:?}");
    let both: Vec<_> = undecided.intersection(&still_found).collect();
    assert!(both.is_empty(), "found and undecided: {both:?}");
    // Infeasible classes have no list, but their number must be that of the full run without the
    // undecided ones.
    for ((property, full), (_, limited)) in full.ledgers.iter().zip(&limited.ledgers) {
        let of_property = |class: &&Class| class.property == *property;
        let open = undecided.iter().filter(of_property).count() as u64;
        let would_be_found = undecided.intersection(&found).filter(of_property).count() as u64;
        let left = limited.undecided + limited.infeasible_for_recorded_values;
        assert_eq!(left, open, "{property:?}");
        // What the graph refutes may be undecided as well.
        let refuted = |ledger: &Ledger| ledger.infeasible + ledger.pruned.sum();
        assert_eq!(refuted(limited), refuted(full) - (open - would_be_found), "{property:?}");
        assert_eq!(limited.candidates, full.candidates, "{property:?}");
    }
}

#[test]
fn a_conflict_limit_never_gives_a_wrong_verdict() {
    let (undecided, decided) = (AtomicU64::new(0), AtomicU64::new(0));
    for_seeds(4000..4020, |seed, trace| {
        let granularity = if seed % 3 == 0 { Granularity::Event } else { Granularity::Location };
        let model = MODELS[(seed % 4) as usize];
        let options = |conflicts: Option<u64>| Options {
            model: Some(model),
            granularity,
            budget: Budget { conflicts, ..Budget::default() },
            ..Options::default()
        };
        let full = decide(trace, &options(None));
        assert_eq!(full.undecided, []);
        for conflicts in [0, 1, 10] {
            let limited = decide(trace, &options(Some(conflicts)));
            agree(trace, granularity, &full, &limited);
            let open = limited.undecided.len() as u64;
            undecided.fetch_add(open, Ordering::Relaxed);
            decided.fetch_add(open_classes(&limited) - open, Ordering::Relaxed);
        }
    });
    let (undecided, decided) = (undecided.into_inner(), decided.into_inner());
    eprintln!("{undecided} undecided, {decided} decided within the limit");
    if has_default_seeds() {
        assert!(undecided > 100 && decided > 100, "{undecided} {decided}");
    }
}

#[test]
fn what_is_refuted_for_recorded_values_is_found_in_no_schedule_with_them() {
    let refuted = AtomicU64::new(0);
    for_seeds(4100..4130, |_, trace| {
        let options = |model, conflicts| Options {
            model: Some(model),
            budget: Budget { conflicts, ..Budget::default() },
            ..Options::default()
        };
        let values = decide(trace, &options(Model::Values, None));
        let found = classes_of(trace, Granularity::Location, &values.findings);
        let limited = decide(trace, &options(Model::Symbolic, Some(1)));
        for open in &limited.for_recorded_values {
            assert_ne!(open.property, Property::Assertion, "{open:?}");
            let class = class_of(trace, Granularity::Location, &open.example);
            assert!(!found.contains(&class), "{open:?}");
        }
        refuted.fetch_add(limited.for_recorded_values.len() as u64, Ordering::Relaxed);
    });
    assert!(refuted.into_inner() > 0);
}

#[test]
fn without_time_nothing_is_decided() {
    let undecided = AtomicU64::new(0);
    for_seeds(5000..5030, |_, trace| {
        for jobs in [1, 4] {
            let budget = Budget { time: Some(Duration::ZERO), ..Budget::default() };
            let prediction = decide(trace, &Options { budget, jobs, ..Options::default() });
            assert_eq!(prediction.findings, []);
            assert_eq!(prediction.undecided.len() as u64, open_classes(&prediction));
            undecided_classes(trace, Granularity::Location, &prediction);
            for (property, ledger) in &prediction.ledgers {
                assert_eq!((ledger.violated, ledger.infeasible), (0, 0), "{property:?}");
            }
            undecided.fetch_add(prediction.undecided.len() as u64, Ordering::Relaxed);
        }
    });
    assert!(undecided.into_inner() > 0);
}

#[test]
fn a_short_time_gives_some_verdicts_and_no_wrong_ones() {
    for_seeds(5100..5110, |seed, trace| {
        let options = Options { model: Some(MODELS[(seed % 4) as usize]), ..Options::default() };
        let full = decide(trace, &options);
        for micros in [100, 1000, 5000, 20_000] {
            let budget = Budget { time: Some(Duration::from_micros(micros)), ..Budget::default() };
            let limited = decide(trace, &Options { budget, ..options.clone() });
            agree(trace, Granularity::Location, &full, &limited);
        }
    });
}
