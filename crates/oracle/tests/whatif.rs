//! An order of events is said to be possible exactly if it is, by the enumeration of all schedules.

use foretrace_oracle::{Random, case_seed, generate, in_order};
use foretrace_predict::{Explainer, Options, Question, Why};
use foretrace_trace::validate::validate;
use foretrace_trace::{Dependences, EventId};
use foretrace_verdict::{Certainty, Model};

/// Yes, no, or no answer.
fn answer(question: &Question, model: Model) -> Option<bool> {
    let options = Options { model: Some(model), ..Options::default() };
    let explainer = Explainer::new(&question.trace, &options);
    match explainer.explain(&question.violation).unwrap() {
        Why::Violated(finding) => (finding.certainty == Certainty::Real).then_some(true),
        Why::Refuted(_) | Why::Unsatisfiable(_) | Why::Unexplained(_) => Some(false),
        Why::Undecided(_) => None,
        Why::NoCandidate(why) => panic!("no candidate: {why}"),
    }
}

#[test]
fn random_questions() {
    let mut counts = [[0; 2]; 2];
    for case in 0..foretrace_testing::cases(400, 6000) {
        let seed = case_seed(1, case);
        let trace = generate(seed);
        if trace.dependences() == Dependences::Unknown {
            continue;
        }
        let mut random = Random::new(seed);
        let model = Model::Symbolic;
        for round in 0..6 {
            let mut pick = || EventId(random.below(trace.len()) as u32);
            let mut chain: Vec<EventId> = (0..2 + round % 2).map(|_| pick()).collect();
            let mut known = chain.clone();
            known.sort_unstable();
            known.dedup();
            if chain.is_sorted() {
                chain.reverse();
            }
            let is_one =
                chain.iter().all(|&event| trace.thread_of(event) == trace.thread_of(chain[0]));
            if known.len() < chain.len() || is_one {
                continue;
            }
            let question = Question::order(&trace, &chain);
            if validate(&question.trace).is_ok()
                && let Some(told) = answer(&question, model)
                && let Some(is_possible) = in_order(&trace, model, &chain)
            {
                assert_eq!(told, is_possible, "seed {seed}: {chain:?}");
                counts[chain.len() - 2][usize::from(told)] += 1;
            }
        }
    }
    println!("[no, yes] for two and for three events: {counts:?}");
    assert!(counts.as_flattened().iter().all(|&count| count > 50), "{counts:?}");
}
