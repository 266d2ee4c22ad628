//! Every litmus trace whose events are supported: the races, atomicity violations, failing
//! assertions, lock errors and lock cycles of two that the reference finds are exactly those that
//! the file expects, in each model but `control` and within each bound that it speaks of; and the
//! witness checker accepts each schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use foretrace_reference::{
    Answer, Limits, Options, SolverCommand, Unknown, Unsupported, decide_all,
};
use foretrace_trace::{EventId, Op, Request, Trace, text};
use foretrace_verdict::{LockMisuse, Model, Violation};
use foretrace_witness::{CheckOptions, Checker, context_switches, reported_order};

use super::solver;

/// What a file expects of one model, without what the reference does not look for.
#[derive(Clone, Default)]
struct Expected {
    /// The findings without a bound, and those within the bounds that the file speaks of.
    findings: Vec<(Option<u32>, BTreeSet<String>)>,
    /// No schedule of a finding has fewer context switches.
    fewest: Vec<(u32, String)>,
}

/// What a file expects of each model that it speaks of; `litmus/README.md` has the grammar.
fn expected(input: &str) -> BTreeMap<Model, Expected> {
    let mut all: BTreeMap<Model, Expected> = BTreeMap::new();
    let mut titled: Vec<Model> = Vec::new();
    for line in input.lines().filter_map(|line| line.strip_prefix("#? ")) {
        let words: Vec<&str> = line.split(' ').filter(|&word| word != "possible").collect();
        let named = Model::ALL.into_iter().filter(|model| model.name() == line);
        match (words[0], &words[1..]) {
            ("both", _) => titled = vec![Model::ReadsFrom, Model::Values],
            _ if named.clone().next().is_some() => titled = named.collect(),
            ("bound", [number]) => {
                for model in &titled {
                    let bound = Some(number.parse().expect("a bound is a number"));
                    all.entry(*model).or_default().findings.push((bound, BTreeSet::new()));
                }
                continue;
            }
            ("same", _) => {
                for model in &titled {
                    let before = all.range(..model).next_back().expect("a model before").1;
                    let same = before.findings[0].1.clone();
                    let part = all.get_mut(model).expect("it has a title").findings.last_mut();
                    part.expect("each has a part").1 = same;
                }
                continue;
            }
            ("fewest", [number, finding @ ..]) => {
                let fewest = number.parse().expect("switches are a number");
                if let Some(finding) = asked(finding) {
                    for model in &titled {
                        let expected = all.get_mut(model).expect("it has a title");
                        expected.fewest.push((fewest, finding.clone()));
                    }
                }
                continue;
            }
            _ => {
                if let Some(finding) = asked(&words) {
                    for model in &titled {
                        let part = all.get_mut(model).expect("it has a title").findings.last_mut();
                        part.expect("each has a part").1.insert(finding.clone());
                    }
                }
                continue;
            }
        }
        for model in &titled {
            all.entry(*model).or_default().findings.push((None, BTreeSet::new()));
        }
    }
    all
}

/// A finding in our words, if it is of a kind that the reference is asked for.
fn asked(words: &[&str]) -> Option<String> {
    let mut words = words.to_vec();
    let is_asked = match words[0] {
        "race" | "atomicity" => {
            words.remove(1);
            true
        }
        "assertion" => true,
        "cycle" => words.len() == 3,
        word => MISUSES.iter().any(|&(_, name)| name == word),
    };
    is_asked.then(|| canonical(&words))
}

const MISUSES: [(LockMisuse, &str); 4] = [
    (LockMisuse::DoubleLock, "double-lock"),
    (LockMisuse::UnlockNotHeld, "unlock-not-held"),
    (LockMisuse::UnlockByOther, "unlock-by-other"),
    (LockMisuse::DestroyHeld, "destroy-held"),
];

/// A finding in words, those of a symmetric one in order.
fn canonical(words: &[&str]) -> String {
    let mut places = words[1..].to_vec();
    if matches!(words[0], "race" | "cycle") {
        places.sort_unstable();
    }
    format!("{} {}", words[0], places.join(" "))
}

/// Everything that could be a finding, with more than the production path would call a candidate.
fn candidates(trace: &Trace) -> Vec<(&'static str, Vec<EventId>, Violation)> {
    let all: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
    let mut candidates = Vec::new();
    let conflict = |a: EventId, b: EventId| match (trace.access(a), trace.access(b)) {
        (Some(one), Some(two)) => trace.thread_of(a) != trace.thread_of(b) && one.conflicts(&two),
        _ => false,
    };
    for &b in &all {
        for &a in all.iter().filter(|&&a| a < b) {
            if conflict(a, b) {
                candidates.push(("race", vec![a, b], Violation::Race(a, b)));
            }
            let wants = |event| {
                matches!(trace.op(event), Op::Acquire { .. } | Op::Request(Request::Acquire(..)))
            };
            if wants(a) && wants(b) && trace.thread_of(a) != trace.thread_of(b) {
                candidates.push(("cycle", vec![a, b], Violation::LockCycle(vec![a, b])));
            }
            if trace.thread_of(a) == trace.thread_of(b) {
                for &remote in all.iter().filter(|&&r| conflict(a, r) && conflict(r, b)) {
                    let violation = Violation::Atomicity { first: a, remote, second: b };
                    candidates.push(("atomicity", vec![a, remote, b], violation));
                }
            }
        }
        for (misuse, name) in MISUSES.into_iter().filter(|_| trace.access(b).is_none()) {
            candidates.push((name, vec![b], Violation::Lock(misuse, b)));
        }
        if matches!(trace.op(b), Op::Assert { .. }) {
            candidates.push(("assertion", vec![b], Violation::Assertion(b)));
        }
    }
    candidates
}

/// What the reference finds, within the bound.
fn found(
    input: &str,
    model: Model,
    bound: Option<u32>,
    solver: &SolverCommand,
) -> Result<BTreeSet<String>, Unsupported> {
    let (trace, lines) = text::parse_with_lines(input).expect("litmus traces are traces");
    let infer_regions = input.lines().any(|line| line == "#? infer-regions");
    let options = Options { infer_regions, bound, ..Options::new(model) };
    let checker = Checker::new(&trace, model, CheckOptions { infer_regions });
    let spot = |event: &EventId| match trace.location_of(*event) {
        Some(location) => trace.name(location).to_string(),
        None => format!("line:{}", lines.line(*event)),
    };
    let candidates = candidates(&trace);
    let asked: Vec<(&Trace, &Violation, &Options)> =
        candidates.iter().map(|(_, _, violation)| (&trace, violation, &options)).collect();
    let answers = decide_all(&asked, solver, Limits::default());
    let mut findings = BTreeSet::new();
    for ((kind, events, violation), answer) in candidates.into_iter().zip(answers) {
        match answer {
            Answer::Unknown(Unknown::Unsupported(unsupported)) => return Err(unsupported),
            Answer::Infeasible => {}
            Answer::Unknown(reason) => panic!("{violation:?}: {reason}"),
            Answer::Feasible(schedule) => {
                if let Err(refuted) = checker.check(&violation, &schedule) {
                    panic!("{violation:?} {schedule:?} under {}: {refuted}\n{input}", model.name());
                }
                if let Some(bound) = bound {
                    let reported = reported_order(&trace, &violation, &schedule);
                    assert!(context_switches(&trace, &reported) <= bound as usize, "{violation:?}");
                }
                let places: Vec<String> = events.iter().map(spot).collect();
                let words: Vec<&str> =
                    std::iter::once(kind).chain(places.iter().map(|place| &**place)).collect();
                findings.insert(canonical(&words));
            }
        }
    }
    Ok(findings)
}

/// What differs, or what is not supported.
fn compare(input: &str, solver: &SolverCommand) -> Result<Vec<String>, Unsupported> {
    let mut differences = Vec::new();
    for (model, expected) in
        expected(input).into_iter().filter(|(model, _)| *model != Model::Control)
    {
        for (bound, findings) in &expected.findings {
            let found = found(input, model, *bound, solver)?;
            if found != *findings {
                let name = model.name();
                differences.push(format!("{name} {bound:?}: {found:?}, not {findings:?}"));
            }
        }
        for (fewest, finding) in &expected.fewest {
            let fits = |bound| Ok(found(input, model, Some(bound), solver)?.contains(finding));
            let is_less = match fewest.checked_sub(1) {
                Some(less) => fits(less)?,
                None => false,
            };
            if is_less || !fits(*fewest)? {
                differences.push(format!("{}: not {fewest} {finding}", model.name()));
            }
        }
    }
    Ok(differences)
}

#[test]
fn litmus_traces_give_what_they_expect() {
    let solver = solver();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../litmus");
    let entries = std::fs::read_dir(folder).expect("the litmus folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "trace"));
    paths.sort();
    let mut compared = 0;
    let mut differences = String::new();
    let mut unsupported = BTreeSet::new();
    for path in paths {
        let input = std::fs::read_to_string(&path).expect("it can be read");
        match compare(&input, &solver) {
            Ok(different) => {
                compared += 1;
                for line in different {
                    differences += &format!("{}: {line}\n", path.display());
                }
            }
            Err(reason) => _ = unsupported.insert(reason.what),
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
    assert!(compared > 75, "only {compared} traces are supported");
    let reasons: Vec<String> = unsupported.into_iter().collect();
    assert_eq!(reasons, ["a release of another thread's hold", "condition variables"]);
}
