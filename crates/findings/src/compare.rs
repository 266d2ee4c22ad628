//! `--compare-models`: which models find what.
//!
//! **Computes.** One row for each class of findings, and for each model whether it finds it.

use std::collections::{HashMap, HashSet};

use foretrace_predict::{ClassKey, Granularity, Prediction};
use foretrace_report::{Compared, ComparedModel, Comparison, ModelVerdict, Report};
use foretrace_trace::Trace;
use foretrace_verdict::{Certainty, Ledger, Violation};

use crate::trace::{object_name, place};

/// The rows of the comparison: first those of the report, then what only other models find.
pub fn compare_models(
    trace: &Trace,
    granularity: Granularity,
    predictions: &[Prediction],
    report: &Report,
) -> Comparison {
    let class = |violation: &Violation| ClassKey::new(trace, granularity, violation);
    let verdicts: Vec<HashMap<ClassKey, ModelVerdict>> = predictions
        .iter()
        .map(|prediction| {
            let open = prediction.undecided.iter().chain(&prediction.for_recorded_values);
            let open = open.map(|open| (class(&open.example), ModelVerdict::Undecided));
            let found = prediction.findings.iter().map(|finding| {
                let verdict = match finding.certainty {
                    Certainty::Real => ModelVerdict::Real,
                    Certainty::Possible => ModelVerdict::Possible,
                };
                (class(&finding.violation), verdict)
            });
            open.chain(found).collect()
        })
        .collect();
    let of_report = |prediction: &&Prediction| prediction.model.name() == report.model;
    let main = predictions.iter().find(of_report);
    let others = predictions.iter().filter(|prediction| !of_report(prediction));
    let (mut rows, mut listed) = (Vec::new(), HashSet::new());
    for prediction in main.into_iter().chain(others) {
        for (number, finding) in prediction.findings.iter().enumerate() {
            let class = class(&finding.violation);
            if listed.contains(&class) {
                continue;
            }
            let verdict = |of: &HashMap<ClassKey, ModelVerdict>| {
                of.get(&class).copied().unwrap_or(ModelVerdict::NotFound)
            };
            rows.push(Compared {
                id: of_report(&prediction).then(|| report.findings[number].id.clone()),
                kind: finding.violation.kind(),
                object: object_name(trace, finding),
                places: places(trace, granularity, &finding.violation),
                verdicts: verdicts.iter().map(verdict).collect(),
            });
            listed.insert(class);
        }
    }
    let open = |ledger: &Ledger| ledger.undecided + ledger.infeasible_for_recorded_values;
    let model = |prediction: &Prediction| ComparedModel {
        model: prediction.model.name().to_string(),
        undecided: prediction.ledgers.iter().map(|(_, ledger)| open(ledger)).sum(),
    };
    Comparison { models: predictions.iter().map(model).collect(), rows }
}

/// Where the violation is, in its order; nowhere in particular, if candidates are objects.
fn places(trace: &Trace, granularity: Granularity, violation: &Violation) -> Vec<String> {
    let about_memory = matches!(violation, Violation::Race(..) | Violation::Atomicity { .. });
    if granularity == Granularity::Variable && about_memory {
        return Vec::new();
    }
    violation.events().into_iter().map(|event| place(trace, event)).collect()
}
