//! `--compare-models`: which models find what.
//!
//! **Computes.** The findings of all models that make sense for a trace, one row for each class of
//! findings, and for each model whether it finds it.
//!
//! **Follows.** 000 section 7: the models allow more and more schedules, so the first that finds
//! something says how much has to be known of the program for it.

use std::collections::{HashMap, HashSet};

use foretrace_predict::{Granularity, Options, Prediction, Progress};
use foretrace_report::{Compared, ComparedModel, Comparison, Kind, ModelVerdict, Report};
use foretrace_trace::{EventId, ObjectId, Trace};
use foretrace_verdict::{Certainty, Model, Violation};

use crate::assemble::{object_name, place};
use crate::failure::Failure;
use crate::input;

/// The predictions of all models that make sense for the trace, in the order of the models; `done`
/// is the one that the report is about.
pub(crate) fn predict_all(
    trace: &Trace,
    options: &Options,
    done: &Prediction,
    progress: &dyn Progress,
) -> Result<Vec<Prediction>, Failure> {
    let under = |model: Option<Model>| {
        let options = Options { model, ..options.clone() };
        input::predict(trace, &options, progress)
    };
    // What is chosen without being told is the last model that sees a difference, but for
    // `control`.
    let default = match options.model {
        None => done.clone(),
        Some(_) => under(None)?,
    };
    let mut predictions = Vec::new();
    for model in Model::ALL {
        predictions.push(match model {
            _ if model == done.model => done.clone(),
            _ if model == default.model => default.clone(),
            _ if model < default.model || model == Model::Control => under(Some(model))?,
            _ => continue,
        });
    }
    Ok(predictions)
}

/// The rows of the comparison: first those of the report, then what only other models find.
pub(crate) fn table(
    trace: &Trace,
    granularity: Granularity,
    predictions: &[Prediction],
    report: &Report,
) -> Comparison {
    let class = |violation: &Violation| Class::new(trace, granularity, violation);
    let verdicts: Vec<HashMap<Class, ModelVerdict>> = predictions
        .iter()
        .map(|prediction| {
            let open = prediction.undecided.iter();
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
            let verdict = |of: &HashMap<Class, ModelVerdict>| {
                of.get(&class).copied().unwrap_or(ModelVerdict::NotFound)
            };
            rows.push(Compared {
                id: of_report(&prediction).then(|| report.findings[number].id.clone()),
                kind: class.kind,
                object: object_name(trace, finding),
                places: places(trace, granularity, &finding.violation),
                verdicts: verdicts.iter().map(verdict).collect(),
            });
            listed.insert(class);
        }
    }
    let model = |prediction: &Prediction| ComparedModel {
        model: prediction.model.name().to_string(),
        undecided: prediction.ledgers.iter().map(|(_, ledger)| ledger.undecided).sum(),
    };
    Comparison { models: predictions.iter().map(model).collect(), rows }
}

/// What makes two findings of different models the same one.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Class {
    kind: Kind,
    object: Option<ObjectId>,
    /// In the order of the violation, if that means something.
    places: Vec<String>,
    events: Vec<EventId>,
}

impl Class {
    pub(crate) fn new(trace: &Trace, granularity: Granularity, violation: &Violation) -> Class {
        let object = violation.object(trace);
        let mut places = places(trace, granularity, violation);
        let mut events = match granularity {
            Granularity::Event => violation.events(),
            Granularity::Location | Granularity::Variable => Vec::new(),
        };
        if matches!(violation, Violation::Race(..) | Violation::LockCycle(_)) {
            places.sort_unstable();
            events.sort_unstable();
        }
        Class { kind: violation.kind(), object, places, events }
    }
}

/// Where the violation is, in its order; nowhere in particular, if candidates are objects.
fn places(trace: &Trace, granularity: Granularity, violation: &Violation) -> Vec<String> {
    let about_memory = matches!(violation, Violation::Race(..) | Violation::Atomicity { .. });
    if granularity == Granularity::Variable && about_memory {
        return Vec::new();
    }
    violation.events().into_iter().map(|event| place(trace, event)).collect()
}
