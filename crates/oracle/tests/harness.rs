//! The harness itself: a perfect predictor passes, and each kind of fault is caught and made small.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_oracle::{
    Difference, Needed, class_key, compare, explore, least_switches, proves_only_possible, run,
};
use foretrace_predict::{
    Finding, Granularity, Options, Prediction, Switches, Unanswered, Undecided,
};
use foretrace_trace::{Op, Trace};
use foretrace_verdict::{Certainty, Ledger, Model, Property, Violation};

/// Predicts what the oracle finds.
fn perfect(trace: &Trace, options: &Options) -> Result<Prediction, String> {
    let model = options.model.unwrap_or(Model::Values);
    let explored = explore(trace, model, options.infer_regions);
    let needed = match options.switches {
        Switches::Any => BTreeMap::new(),
        _ => least_switches(trace, model, options.infer_regions).ok_or("too large")?,
    };
    // The schedule of the most that can be proved within the bound.
    let schedule = |violation: &Violation| match (options.switches, needed.get(violation)) {
        (Switches::Any, _) => explored.witness(violation),
        (Switches::Fewest, Some(Needed { any, real })) => {
            Some(real.as_ref().unwrap_or(any).schedule.clone())
        }
        (Switches::AtMost(bound), Some(Needed { any, real })) => {
            let mut witnesses = real.iter().chain([any]);
            witnesses.find(|least| least.switches <= bound).map(|least| least.schedule.clone())
        }
        (_, None) => None,
    };
    let mut classes = BTreeSet::new();
    let mut findings = Vec::new();
    for violation in explored.real.iter().chain(&explored.violations) {
        let Some(schedule) = schedule(violation) else { continue };
        if !classes.insert(class_key(trace, options.granularity, violation)) {
            continue;
        }
        let possible = proves_only_possible(trace, model, &schedule, violation);
        let certainty = if possible { Certainty::Possible } else { Certainty::Real };
        findings.push(Finding::new(trace, violation.clone(), schedule, certainty));
    }
    let mut prediction = Prediction::new(model);
    prediction.findings = findings;
    settle(&mut prediction, options);
    if matches!(options.switches, Switches::AtMost(_)) {
        for (property, ledger) in &mut prediction.ledgers {
            let of_property = |violation: &&Violation| violation.property() == *property;
            ledger.candidates = explored.violations.iter().filter(of_property).count() as u64;
            ledger.infeasible_in_bound = ledger.candidates - ledger.violated;
        }
    }
    Ok(prediction)
}

/// Makes the ledgers fit the findings.
fn settle(prediction: &mut Prediction, options: &Options) {
    let ledger = |property: &Property| {
        let of_property = |finding: &&Finding| finding.violation.property() == *property;
        let violated = prediction.findings.iter().filter(of_property).count() as u64;
        (*property, Ledger { candidates: violated, violated, ..Ledger::default() })
    };
    prediction.ledgers = options.properties.iter().map(ledger).collect();
}

/// The first difference that a spoilt predictor shows, and the length of the trace that shows it.
fn caught(spoil: impl Fn(&Trace, &Options, &mut Prediction) + Sync) -> (Difference, usize) {
    let spoilt = |trace: &Trace, options: &Options| {
        let mut prediction = perfect(trace, options)?;
        if options.switches != Switches::Any {
            return Ok(prediction);
        }
        spoil(trace, options, &mut prediction);
        settle(&mut prediction, options);
        Ok(prediction)
    };
    let disagreement = (0..500).find_map(|seed| compare(seed, Some(&spoilt)).err());
    let disagreement = disagreement.expect("some case shows the fault");
    println!("{disagreement}");
    (disagreement.difference, disagreement.trace.len())
}

#[test]
fn a_perfect_predictor_passes() {
    let summary = run(300, 7, 2, Some(&perfect), &|_, _| ());
    let shown: Vec<String> = summary.disagreements.iter().map(ToString::to_string).collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    assert!(summary.violations > 300);
}

#[test]
fn a_missed_race_is_caught_and_shrunk() {
    let (difference, length) = caught(|_, _, prediction| {
        prediction.findings.retain(|finding| finding.violation.property() != Property::Race);
    });
    assert!(matches!(difference, Difference::Missed(Violation::Race(..))), "{difference:?}");
    assert_eq!(length, 2);
}

#[test]
fn a_missed_stuck_point_is_caught() {
    let (difference, length) = caught(|_, _, prediction| {
        prediction.findings.retain(|finding| !matches!(finding.violation, Violation::Stuck(_)));
    });
    assert!(matches!(difference, Difference::Missed(Violation::Stuck(_))), "{difference:?}");
    assert!(length <= 4);
}

#[test]
fn an_invented_race_is_caught() {
    // Forgets that a common lock excludes.
    let (difference, length) = caught(|trace, options, prediction| {
        if options.granularity != Granularity::Event {
            return;
        }
        let writes = |op: Op| op.access().is_some_and(|access| access.writes);
        for (a, first) in trace.events() {
            for (b, second) in trace.events() {
                let conflict = match (first.op.access(), second.op.access()) {
                    (Some(one), Some(other)) => one.conflicts(&other) && !one.atomic,
                    _ => false,
                };
                let race = Violation::Race(a, b);
                let known = |finding: &Finding| finding.violation == race;
                if a < b
                    && first.thread != second.thread
                    && conflict
                    && writes(second.op)
                    && !prediction.findings.iter().any(known)
                {
                    let finding = Finding::new(trace, race, vec![], Certainty::Real);
                    prediction.findings.push(finding);
                }
            }
        }
    });
    assert!(matches!(difference, Difference::Invented(Violation::Race(..))), "{difference:?}");
    assert!(length <= 6, "{length}");
}

#[test]
fn bad_evidence_is_caught() {
    let (difference, _) = caught(|_, _, prediction| {
        for finding in &mut prediction.findings {
            finding.schedule.pop();
        }
    });
    assert!(matches!(difference, Difference::BadSchedule { .. }), "{difference:?}");
    let (difference, _) = caught(|_, _, prediction| {
        for finding in &mut prediction.findings {
            finding.certainty = Certainty::Possible;
        }
    });
    assert!(matches!(difference, Difference::WrongCertainty(_)), "{difference:?}");
}

#[test]
fn doubt_repetition_and_panics_are_caught() {
    let (difference, _) = caught(|_, _, prediction| {
        if let Some(finding) = prediction.findings.pop() {
            let (property, example) = (finding.violation.property(), finding.violation);
            prediction.undecided.push(Undecided {
                property,
                example,
                reason: Unanswered::TimeBudget,
            });
        }
    });
    assert!(matches!(difference, Difference::Undecided(_)), "{difference:?}");
    let (difference, _) = caught(|_, _, prediction| {
        let again = prediction.findings.clone();
        prediction.findings.extend(again);
    });
    assert!(matches!(difference, Difference::Twice(_)), "{difference:?}");
    let failing = |_: &Trace, _: &Options| Err("broken".to_string());
    let disagreement = compare(0, Some(&failing)).expect_err("it fails");
    assert_eq!(disagreement.difference, Difference::Failed("broken".into()));
    assert_eq!(disagreement.trace.len(), 1);
}

#[test]
fn a_bound_that_is_not_kept_is_caught() {
    let boundless = |trace: &Trace, options: &Options| {
        perfect(trace, &Options { switches: Switches::Any, ..options.clone() })
    };
    let differences: Vec<Difference> = (0..200)
        .filter_map(|seed| compare(seed, Some(&boundless)).err())
        .map(|d| d.difference)
        .collect();
    let invented = |difference: &Difference| matches!(difference, Difference::Invented(_));
    let too_many = |difference: &Difference| matches!(difference, Difference::TooManySwitches(..));
    assert!(
        differences.iter().any(invented) && differences.iter().any(too_many),
        "{differences:?}"
    );
    assert!(differences.iter().all(|difference| invented(difference) || too_many(difference)));
}
