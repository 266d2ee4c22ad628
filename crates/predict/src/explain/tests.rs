//! Every candidate of the litmus files, explained: against what is predicted, and each list of
//! reasons against the solver.

use std::path::Path;

use foretrace_solve::Limits;
use foretrace_trace::text;
use foretrace_verdict::{Model, Property, Violation};

use super::*;
use crate::candidates;
use crate::pipeline::predict;

const PROPERTIES: [Property; 5] =
    [Property::Race, Property::Atomicity, Property::Deadlock, Property::Lock, Property::Assertion];

/// The litmus traces, by name.
fn litmus() -> Vec<(String, Trace)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the litmus folder is there")
        .map(|entry| entry.expect("the folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "trace"))
        .collect();
    files.sort_unstable();
    files
        .into_iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).expect("a litmus file can be read");
            let name = path.file_stem()?.to_str()?.to_string();
            text::parse(&text).ok().map(|trace| (name, trace))
        })
        .collect()
}

/// How often each answer was given.
#[derive(Default, Debug)]
struct Count {
    violated: usize,
    refuted: usize,
    unsatisfiable: usize,
    reasons: usize,
}

/// Explains every candidate of a trace.
fn explain_all(name: &str, trace: &Trace, options: &Options, count: &mut Count) {
    let known = Known::new(trace, options);
    let context = known.context(options);
    let listed = candidates::list(&context, &PROPERTIES);
    let predicted = predict(trace, options, &()).expect("the witnesses are accepted");
    let explainer = Explainer::new(trace, options);
    let found: Vec<&Violation> =
        predicted.findings.iter().map(|finding| &finding.violation).collect();
    for class in &listed.classes {
        let violation = &class.example;
        let what = format!("{name}, {:?}: {violation:?}", known.skeleton.model);
        let why = explainer.explain(violation).expect("explanations are accepted");
        let is_found = found.contains(&violation);
        match why {
            Why::Violated(finding) => {
                assert!(is_found, "{what} has a witness, but was not predicted");
                assert_eq!(finding.violation, *violation, "{what}");
                count.violated += 1;
            }
            Why::Refuted(_) => {
                assert!(!is_found, "{what} is refuted, but was predicted");
                count.refuted += 1;
            }
            Why::Unsatisfiable(reasons) => {
                assert!(!is_found, "{what} has reasons, but was predicted: {reasons:?}");
                count.unsatisfiable += 1;
                count.reasons += reasons.len();
                assert!(!reasons.is_empty(), "{what}");
                check_reasons(&context, violation, &reasons, &what);
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// The reasons are enough, and none can be left out.
fn check_reasons(context: &Context, violation: &Violation, reasons: &[Reason], what: &str) {
    let candidates = single(context, violation).expect("it was explained");
    let cells = Cells::default();
    let (mut encoder, _) = ask(context, &candidates, Limits::default(), &cells);
    assert_eq!(encoder.is_satisfiable_with(reasons), Some(false), "{what}: {reasons:?}");
    for left_out in 0..reasons.len() {
        let mut others = reasons.to_vec();
        others.remove(left_out);
        let answer = encoder.is_satisfiable_with(&others);
        assert_ne!(answer, Some(false), "{what}: {:?} is not needed", reasons[left_out]);
    }
}

#[test]
fn every_candidate_of_the_litmus_files_has_an_explanation() {
    let mut count = Count::default();
    for (name, trace) in litmus() {
        for model in Model::ALL {
            for infer_regions in [false, true] {
                let granularity = Granularity::Event;
                let options = Options {
                    model: Some(model),
                    granularity,
                    infer_regions,
                    ..Options::default()
                };
                explain_all(&name, &trace, &options, &mut count);
            }
        }
    }
    println!("{count:?}");
    assert!(count.violated > 1_000 && count.refuted > 500, "{count:?}");
    assert!(count.unsatisfiable > 300, "{count:?}");
}

#[test]
fn what_is_no_candidate_is_said_to_be_none() {
    let trace =
        text::parse("a: write x = 1\na: read y : 0\nb: read x : 1\nb: read y : 0\n").unwrap();
    let explainer = Explainer::new(&trace, &Options::default());
    let explained = |violation: Violation| explainer.explain(&violation).unwrap();
    let event = foretrace_trace::EventId;
    for violation in [
        Violation::Race(event(0), event(1)),
        Violation::Race(event(1), event(3)),
        Violation::Race(event(0), event(9)),
        Violation::Atomicity { first: event(0), remote: event(2), second: event(1) },
        Violation::LockCycle(vec![event(0), event(2)]),
        Violation::Stuck(event(0)),
        Violation::Assertion(event(0)),
    ] {
        let why = explained(violation.clone());
        assert!(matches!(why, Why::NoCandidate(_)), "{violation:?}: {why:?}");
    }
    let reversed = explained(Violation::Race(event(2), event(0)));
    assert!(!matches!(reversed, Why::NoCandidate(_)), "{reversed:?}");
}
