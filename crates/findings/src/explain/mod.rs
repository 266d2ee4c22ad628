//! Why a candidate cannot happen, as a chain of sentences.
//!
//! **Computes.** For one candidate, or for those that the named places fit, what
//! `foretrace_predict::Explainer` answers, in words.
//!
//! **Invariant.** Every proof that is told has passed its checker; one that does not is a bug of
//! ours.

mod demand;
mod graph;
mod locks;
mod name;
mod proof;
mod reasons;
mod recorded;
mod waiting;
mod words;

use foretrace_predict::{Explainer, Finding, Options, Why};
use foretrace_report::{Explanation, Explanations, Graph, Grounds};
use foretrace_trace::Trace;
use foretrace_verdict::{Certainty, Property, Violation};
use foretrace_witness::check_refutation;

use crate::error::Error;
use crate::remarks::unanswered;
use demand::demand;
use proof::{Proof, Telling, Told};
use recorded::Recorded;
use words::Words;

pub(crate) use name::events as places;
pub use name::{Named, parse_candidate};

/// What came of some candidates.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct Answers {
    /// How many turned out to be no candidates.
    pub no_candidates: usize,
    /// One that can happen; a real one, if there is one.
    pub happens: Option<Finding>,
    /// Why the first one that is refuted cannot happen.
    pub refuted: Option<(Explanation, Graph)>,
    /// The first one without a verdict, and why it has none.
    pub undecided: Option<(Violation, String)>,
    /// Why the first one that is no candidate is none.
    pub no_candidate: Option<String>,
}

/// Asks about candidates, one after the other, until one can happen for sure.
pub fn explain_candidates(
    trace: &Trace,
    explainer: &Explainer,
    candidates: &[Violation],
) -> Result<Answers, Error> {
    let (recorded, model) = (Recorded::new(trace), explainer.model());
    let telling = Telling { words: Words { trace }, recorded: &recorded, model };
    let mut answers = Answers::default();
    for violation in candidates {
        let why = ask(explainer, violation)?;
        answers.no_candidates += usize::from(matches!(why, Why::NoCandidate(_)));
        match why {
            Why::Violated(finding) => {
                let is_real = finding.certainty == Certainty::Real;
                answers.happens = Some(finding);
                if is_real {
                    break;
                }
            }
            Why::Undecided(why) => {
                let reason = unanswered(&why).sentence;
                answers.undecided.get_or_insert((violation.clone(), reason));
            }
            Why::Unexplained(why) => {
                let reason = unexplained(&unanswered(&why).sentence);
                answers.undecided.get_or_insert((violation.clone(), reason));
            }
            Why::NoCandidate(why) => drop(answers.no_candidate.get_or_insert(why)),
            refuted @ (Why::Refuted(_) | Why::Unsatisfiable(_)) => {
                if answers.refuted.is_none() {
                    answers.refuted = Some(told(telling, violation, &refuted)?);
                }
            }
        }
    }
    Ok(answers)
}

/// Asks about one candidate. Whatever goes wrong there is a bug of ours.
fn ask(explainer: &Explainer, violation: &Violation) -> Result<Why, Error> {
    explainer.explain(violation).map_err(Error::internal)
}

/// Why refuted candidates cannot happen, for the first `most` of them.
pub fn explain_refuted(
    trace: &Trace,
    options: &Options,
    refuted: &[(Property, Violation)],
    most: usize,
) -> Result<Explanations, Error> {
    let recorded = Recorded::new(trace);
    let explainer = Explainer::new(trace, options);
    let model = explainer.model();
    let telling = Telling { words: Words { trace }, recorded: &recorded, model };
    let shown = &refuted[..refuted.len().min(most)];
    let explanations = shown.iter().map(|(_, violation)| {
        let why = ask(&explainer, violation)?;
        Ok(told(telling, violation, &why)?.0)
    });
    let explanations = explanations.collect::<Result<Vec<Explanation>, Error>>()?;
    Ok(Explanations { explanations, left_out: (refuted.len() - shown.len()) as u64 })
}

/// What a candidate would be, and where: `data race on x at a.c:2, a.c:9`.
pub fn title(trace: &Trace, violation: &Violation) -> String {
    demand::title(Words { trace }, violation)
}

fn unexplained(why: &str) -> String {
    format!("it cannot happen, but no explanation was found: {why}")
}

fn without_steps(why: &str) -> Told {
    let conclusion = format!("It cannot happen, but no explanation was found: {why}.");
    Told { by: Grounds::Solver, steps: Vec::new(), conclusion }
}

/// What refutes a candidate, in words and as a graph.
fn told(telling: Telling, violation: &Violation, why: &Why) -> Result<(Explanation, Graph), Error> {
    let words = telling.words;
    let title = title(words.trace, violation);
    let (told, graph) = match why {
        Why::Refuted(refutation) => {
            check_refutation(words.trace, telling.model, violation, refutation).map_err(
                |error| {
                    Error::internal(format_args!(
                        "the checker rejects the proof against {title}: {error}"
                    ))
                },
            )?;
            let proof = Proof::new(telling, violation, refutation);
            let graph = graph::of_proof(&proof, violation, refutation, title.clone());
            (proof.tell(), graph)
        }
        Why::Unsatisfiable(reasons) => {
            let graph = graph::of_reasons(words, violation, reasons, title.clone());
            (reasons::tell(words, violation, reasons), graph)
        }
        Why::Undecided(why) | Why::Unexplained(why) => {
            (without_steps(&unanswered(why).sentence), Graph::default())
        }
        Why::NoCandidate(why) => (without_steps(why), Graph::default()),
        Why::Violated(_) => {
            return Err(Error::internal(format_args!("{title} was refuted, and can happen")));
        }
    };
    let explanation = Explanation {
        property: violation.property(),
        kind: violation.kind(),
        events: violation.events().into_iter().map(|event| event.0).collect(),
        title,
        by: told.by,
        demand: demand(words, violation),
        steps: told.steps,
        conclusion: told.conclusion,
    };
    Ok((explanation, graph))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretrace_trace::{EventId, text};
    use foretrace_verdict::{Fact, ProofStep, Refutation, Rule};

    #[test]
    fn a_proof_that_is_none_is_a_bug_of_ours() {
        let trace = text::parse("t1: write x = 1\nt2: write x = 2\n").unwrap();
        let recorded = Recorded::new(&trace);
        let telling = Telling {
            words: Words { trace: &trace },
            recorded: &recorded,
            model: foretrace_verdict::Model::Values,
        };
        let given = |fact| ProofStep { fact, rule: Rule::Candidate, premises: Vec::new() };
        let [one, two] = [EventId(0), EventId(1)];
        let steps = vec![given(Fact::Executed(one)), given(Fact::NotExecuted(one))];
        let why = Why::Refuted(Refutation { steps, contradiction: (0, 1) });
        let error = told(telling, &Violation::Race(one, two), &why).unwrap_err();
        assert!(matches!(error, Error::Internal(_)), "{error}");
    }
}
