//! An order of events that is said to be possible is so, by the enumeration of all schedules; and
//! most possible ones are found.

use foretrace_oracle::{Random, case_seed, generate, orders};
use foretrace_predict::{Explainer, Options, Question, Why};
use foretrace_trace::EventId;
use foretrace_trace::validate::validate;
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
    let (mut yes, mut no, mut missed) = (0, 0, 0);
    for case in 0..foretrace_testing::cases(400, 6000) {
        let seed = case_seed(1, case);
        let trace = generate(seed);
        let mut random = Random::new(seed);
        let model = Model::Symbolic;
        let Some(orders) = orders(&trace, model) else { continue };
        for _ in 0..6 {
            let mut pick = || EventId(random.below(trace.len()) as u32);
            let (a, b) = (pick(), pick());
            let (second, first) = (a.min(b), a.max(b));
            if first == second || trace.thread_of(first) == trace.thread_of(second) {
                continue;
            }
            if !Question::is_independent(&trace, second) {
                continue;
            }
            let question = Question::before(&trace, first, second);
            if validate(&question.trace).is_ok()
                && let Some(told) = answer(&question, model)
            {
                let is_possible = orders.contains(&(first, second));
                assert!(is_possible || !told, "seed {seed}: {first:?} before {second:?}");
                *(if told { &mut yes } else { &mut no }) += 1;
                missed += u32::from(is_possible && !told);
            }
        }
    }
    println!("before: {yes} yes, {no} no, {missed} possible but not found");
    assert!(yes > 50 && no > 50 && missed * 10 < yes, "{yes} yes, {no} no, {missed} missed");
}
