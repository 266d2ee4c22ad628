//! The second opinion against the enumeration: on random traces, what the papers' formula says in
//! z3 is what the oracle finds, in both directions.
//!
//! Of each trace every violation that the oracle lists is asked, and a sample of the tuples of
//! events that it does not list. What the formula cannot say is left out and counted.
//! `FORETRACE_REFERENCE_CASES` says how many traces, for a longer run.

use std::collections::BTreeMap;
use std::time::Duration;

use foretrace_oracle::{Random, case_seed, check, explore, generate};
use foretrace_reference::{Answer, Limits, Options, SolverCommand, Unknown, decide_all};
use foretrace_trace::{EventId, Op, Trace, text};
use foretrace_verdict::{LockMisuse, Model, Property, Violation};

const CASES: u64 = 200;
const SEED: u64 = 41;
/// So many tuples that the oracle does not list, of each trace and model.
const SAMPLE: usize = 5;
const MODELS: [Model; 3] = [Model::ReadsFrom, Model::Values, Model::Symbolic];

/// What was asked, how it was answered: infeasible, feasible, not supported.
type Counts = BTreeMap<(Property, &'static str), [u64; 3]>;

#[test]
fn the_formula_and_the_enumeration_agree() {
    let named = std::env::var("FORETRACE_REFERENCE_CASES");
    let cases =
        named.map_or(foretrace_testing::cases(CASES, 10 * CASES), |cases| cases.parse().unwrap());
    let mut counts = Counts::new();
    for case in 0..cases {
        compare(case_seed(SEED, case), &mut counts);
    }
    println!("infeasible, feasible, not supported: {counts:#?}");
    let both = counts.values().filter(|[infeasible, feasible, _]| *infeasible > 0 && *feasible > 0);
    assert!(cases < CASES || both.count() >= 12, "{counts:#?}");
}

fn compare(seed: u64, counts: &mut Counts) {
    let trace = generate(seed);
    let mut random = Random::new(seed ^ 0x5eed);
    let mut questions: Vec<(Violation, Options, bool)> = Vec::new();
    for model in MODELS {
        let explored = explore(&trace, model, false);
        if !explored.complete {
            continue;
        }
        let mut others = tuples(&trace);
        others.retain(|violation| !explored.violations.contains(violation));
        while others.len() > SAMPLE {
            others.swap_remove(random.below(others.len()));
        }
        let options = Options::new(model);
        let listed = explored.violations.into_iter().map(|violation| (violation, options, true));
        questions.extend(listed);
        questions.extend(others.into_iter().map(|violation| (violation, options, false)));
    }
    let asked: Vec<(&Trace, &Violation, &Options)> =
        questions.iter().map(|(violation, options, _)| (&trace, violation, options)).collect();
    let solver = SolverCommand::parse("z3").expect("it is a command");
    let answers = decide_all(&asked, &solver, Limits { time: Duration::from_secs(120) });
    for ((violation, options, is_violated), answer) in questions.iter().zip(answers) {
        let context = || {
            let model = options.model.name();
            format!("seed {seed}, {violation:?} under {model}\n{}", text::print(&trace))
        };
        let way = match answer {
            Answer::Unknown(Unknown::Unsupported(_)) => 2,
            Answer::Unknown(Unknown::Solver(error)) => panic!("{error}: {}", context()),
            Answer::Infeasible => {
                assert!(!is_violated, "missed: {}", context());
                0
            }
            Answer::Feasible(schedule) => {
                assert!(is_violated, "invented: {schedule:?}, {}", context());
                let checked = check(&trace, options.model, false, &schedule, violation);
                assert!(checked.is_ok(), "{checked:?}: {schedule:?}, {}", context());
                1
            }
        };
        counts.entry((violation.property(), options.model.name())).or_default()[way] += 1;
    }
}

/// Tuples of events that could be a violation, and some that could not.
fn tuples(trace: &Trace) -> Vec<Violation> {
    let all: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
    let conflict = |a: EventId, b: EventId| match (trace.access(a), trace.access(b)) {
        (Some(one), Some(two)) => trace.thread_of(a) != trace.thread_of(b) && one.conflicts(&two),
        _ => false,
    };
    let acquires = |event: EventId| matches!(trace.op(event), Op::Acquire { .. });
    let mut tuples = Vec::new();
    for &b in &all {
        match trace.op(b) {
            Op::Assert { .. } => tuples.push(Violation::Assertion(b)),
            Op::Acquire { .. } => tuples.push(Violation::Lock(LockMisuse::DoubleLock, b)),
            Op::Release { .. } => tuples.push(Violation::Lock(LockMisuse::UnlockNotHeld, b)),
            Op::Destroy { .. } => tuples.push(Violation::Lock(LockMisuse::DestroyHeld, b)),
            _ => {}
        }
        for &a in all.iter().filter(|&&a| a < b) {
            if conflict(a, b) {
                tuples.push(Violation::Race(a, b));
            }
            if acquires(a) && acquires(b) && trace.thread_of(a) != trace.thread_of(b) {
                tuples.push(Violation::LockCycle(vec![a, b]));
            }
            if trace.thread_of(a) == trace.thread_of(b) {
                let remotes = all.iter().filter(|&&r| conflict(a, r) && conflict(r, b));
                tuples.extend(remotes.map(|&remote| Violation::Atomicity {
                    first: a,
                    remote,
                    second: b,
                }));
            }
        }
    }
    tuples
}
