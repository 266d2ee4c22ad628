//! Merged runs: what is predicted of them is exactly what the exploration of all interleavings
//! finds.

#[path = "../../../program/tests/merge/figure_11.rs"]
mod figure_11;
#[path = "../../../program/tests/merge/generate.rs"]
mod generate;

use foretrace_predict::{Options, ProgramError, predict_program};
use foretrace_program::{Machine, Program, merge, print, validate};
use foretrace_trace::{Trace, text};
use foretrace_verdict::Violation;

use super::{explored, predicted, read};
use figure_11::{ELSE_THEN, THEN_ELSE};
use generate::{Mix, Random, generate};

fn merged(texts: &[String]) -> Program {
    let parsed =
        texts.iter().map(|text| text::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}")));
    let traces: Vec<Trace> = parsed.collect();
    let program = merge(&traces.iter().collect::<Vec<_>>()).unwrap_or_else(|e| panic!("{e}"));
    validate(&program).unwrap_or_else(|invalid| panic!("{invalid}"));
    program
}

/// 000, Fig. 11: neither run alone can fail.
#[test]
fn paper_000_figure_11_fails_only_if_both_runs_are_merged() {
    let fails = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        let program = merged(&texts);
        assert_eq!(
            predicted(&program).expect("it is supported"),
            explored(&program, 100_000).unwrap()
        );
        let answer = predict_program(&program, &Options::default(), &()).expect("it is supported");
        let assertion = |violation: &Violation| matches!(violation, Violation::Assertion(_));
        answer.prediction.findings.iter().any(|finding| assertion(&finding.violation))
    };
    assert!(!fails(&[THEN_ELSE]));
    assert!(!fails(&[ELSE_THEN]));
    assert!(fails(&[THEN_ELSE, ELSE_THEN]));
}

#[test]
fn random_merged_runs_agree_with_their_exploration() {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (start, cases) = (number("FORETRACE_SEED", 1), number("FORETRACE_PROGRAMS", 300));
    let (mut compared, mut wrong, mut unsupported) = (0, 0, 0);
    for seed in start..start + cases {
        let generated = generate(seed, Mix { opaque: seed % 2 == 0, waits: false });
        let program = read(&generated.program());
        let mut random = Random::new(seed);
        let count = 1 + random.below(3);
        let runs = (0..count).map(|_| {
            let (_, events) = Machine::new(&program).run(|moves| random.below(moves.len()));
            generated.trace(&program, &events, true)
        });
        let program = merged(&runs.collect::<Vec<_>>());
        let Some(truth) = explored(&program, 200_000) else { continue };
        match predicted(&program) {
            Ok(found) => assert_eq!(found, truth, "seed {seed}\n{}", print(&program)),
            Err(ProgramError::Unsupported(_)) => {
                unsupported += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}\n{}", print(&program)),
        }
        compared += 1;
        wrong += u64::from(!truth.is_empty());
    }
    println!(
        "{compared} of {cases} merged, {wrong} with something wrong, {unsupported} unsupported"
    );
    assert!(compared * 3 > cases * 2, "only {compared} programs are compared");
    assert!(wrong * 4 > compared, "only {wrong} of {compared} programs are wrong");
}
