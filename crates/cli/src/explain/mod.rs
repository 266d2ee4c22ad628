//! `foretrace explain`, and `predict --why`: why a candidate cannot happen, as a chain of sentences; or how it can.
//!
//! **Computes.** For one candidate, or for those that the named places fit, what `foretrace_predict::explain` answers, in words.
//!
//! **Invariant.** Every proof that is printed has passed its checker; one that does not is a bug of ours.

mod demand;
mod graph;
mod locks;
mod name;
mod proof;
mod reasons;
mod recorded;
mod waiting;
mod words;

use std::io::{self, Write};

use foretrace_predict::{Budget, Finding, Options, Prediction, Why};
use foretrace_report as report;
use foretrace_report::{
    Explanation, Explanations, Graph, Grounds, write_dot, write_explanation, write_finding,
};
use foretrace_trace::{Model, Trace};
use foretrace_witness::{Certainty, Property, Violation, check_refutation};

use crate::args::ExplainArguments;
use crate::assemble::{Frame, assemble, kind, property, violating};
use crate::failure::{Failure, Status};
use crate::predict::{jobs, model, style};
use crate::{input, output, source};
use demand::{demand, title};
use name::Named;
use proof::{Proof, Telling, Told};
use recorded::Recorded;
use words::Words;

/// So many candidates that fit the same places are looked at.
const MOST_CANDIDATES: usize = 64;

pub(crate) fn run(arguments: &ExplainArguments) -> Result<Status, Failure> {
    if arguments.format.is_none() && source::is_program(&arguments.trace) {
        return Err(Failure::input("a program has no recorded events that could be named")
            .hint("explain takes a trace"));
    }
    let trace = input::open_valid(&arguments.trace, arguments.format)?;
    let named = name::parse(&trace, &arguments.candidate)?;
    let options = Options {
        model: model(arguments.model),
        infer_regions: arguments.infer_regions,
        jobs: jobs(None),
        budget: Budget { time: arguments.budget, conflicts: arguments.conflicts },
        ..Options::default()
    };
    match named {
        Named::Finding { id, property } => finding(&trace, arguments, options, &id, property),
        Named::Candidates(candidates) => {
            Asked { trace: &trace, arguments, options: &options }.answer(&candidates)
        }
    }
}

/// A finding by its id: it can happen.
fn finding(
    trace: &Trace,
    arguments: &ExplainArguments,
    options: Options,
    id: &str,
    property: Property,
) -> Result<Status, Failure> {
    let options = Options { properties: vec![property], ..options };
    let prediction = input::predict(trace, &options, &())?;
    let report = assemble(trace, prediction, frame(arguments));
    let Some(finding) = report.findings.iter().find(|finding| finding.id == id) else {
        let known: Vec<&str> = report.findings.iter().map(|finding| finding.id.as_str()).collect();
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        return Err(Failure::input(format_args!("there is no finding {id}"))
            .hint(format_args!("with these options predict finds: {known}")));
    };
    output::to_stdout(|out| {
        write_finding(&report, finding, style(arguments.full_schedule), out)?;
        without_graph(arguments, out)
    })?;
    Ok(happens(finding.certainty))
}

fn happens(certainty: report::Certainty) -> Status {
    match certainty {
        report::Certainty::Real => Status::Found,
        report::Certainty::Possible => Status::Uncertain,
    }
}

/// There is a graph of a refutation only.
fn without_graph(arguments: &ExplainArguments, out: &mut dyn Write) -> io::Result<()> {
    match arguments.dot {
        Some(_) => writeln!(out, "note: --dot wrote nothing, since nothing is refuted"),
        None => Ok(()),
    }
}

fn frame(arguments: &ExplainArguments) -> Frame {
    Frame {
        full_schedules: arguments.full_schedule,
        path: Some(arguments.trace.display().to_string()),
        settings: report::Settings {
            granularity: "event".to_string(),
            infer_regions: arguments.infer_regions,
            conflicts: arguments.conflicts,
            budget_ms: None,
            context_bound: None,
            iterate_bound: false,
            solver: None,
        },
        timing: None,
    }
}

/// What is asked about a trace.
struct Asked<'a> {
    trace: &'a Trace,
    arguments: &'a ExplainArguments,
    options: &'a Options,
}

/// What came of the candidates that fit.
#[derive(Default)]
struct Answers {
    /// How many turned out to be no candidates.
    no_candidates: usize,
    happens: Option<Finding>,
    refuted: Option<(Explanation, Graph)>,
    undecided: Option<(Violation, String)>,
    no_candidate: Option<String>,
}

impl Asked<'_> {
    fn answer(&self, candidates: &[Violation]) -> Result<Status, Failure> {
        let answers = self.ask(&candidates[..candidates.len().min(MOST_CANDIDATES)])?;
        let not_asked = candidates.len().saturating_sub(MOST_CANDIDATES);
        let fit = match (candidates.len() - answers.no_candidates - not_asked, not_asked) {
            (0 | 1, 0) => None,
            (count, 0) => Some(format!("{count} candidates fit")),
            (count, more) => Some(format!(
                "{} candidates fit, and {more} of them were not looked at",
                count + more
            )),
        };
        if let Some(finding) = answers.happens {
            return self.show_finding(finding, fit.as_deref());
        }
        let is_open = answers.undecided.is_some() || not_asked > 0;
        if let Some((violation, reason)) = &answers.undecided {
            let title = title(Words { trace: self.trace }, violation);
            output::to_stdout(|out| {
                fit.iter().try_for_each(|fit| writeln!(out, "{fit}; not decided is:\n"))?;
                writeln!(out, "{title}: undecided: {reason}")?;
                without_graph(self.arguments, out)
            })?;
            return Ok(Status::Uncertain);
        }
        if let Some((explanation, graph)) = &answers.refuted {
            let none = if not_asked > 0 { "none of the others" } else { "none of them" };
            let dot = self.arguments.dot.as_deref();
            if !dot.is_some_and(output::is_stdout) {
                output::to_stdout(|out| {
                    fit.iter().try_for_each(|fit| {
                        let this = "this is why the first one cannot";
                        writeln!(out, "{fit}; {none} can happen, and {this}:\n")
                    })?;
                    write_explanation(explanation, style(false), out)
                })?;
            }
            if let Some(path) = dot {
                output::to_path(path, |out| write_dot(graph, out))?;
            }
            return Ok(if is_open { Status::Uncertain } else { Status::Nothing });
        }
        let why = answers.no_candidate.unwrap_or_else(|| "nothing fits".to_string());
        Err(Failure::input(format_args!("this is no candidate: {why}"))
            .hint("docs/theory.md, section 4, says what counts as one"))
    }

    /// Until one can happen.
    fn ask(&self, candidates: &[Violation]) -> Result<Answers, Failure> {
        let (recorded, model) = (Recorded::new(self.trace), suitable(self.trace, self.options)?);
        let telling = Telling { words: Words { trace: self.trace }, recorded: &recorded, model };
        let mut answers = Answers::default();
        for violation in candidates {
            let why = ask(self.trace, self.options, violation)?;
            answers.no_candidates += usize::from(matches!(why, Why::NoCandidate(_)));
            match why {
                Why::Violated(finding) => {
                    let is_real = finding.certainty == Certainty::Real;
                    answers.happens = Some(finding);
                    if is_real {
                        break;
                    }
                }
                Why::Undecided(reason) => {
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

    fn show_finding(&self, finding: Finding, fit: Option<&str>) -> Result<Status, Failure> {
        let mut report = assemble(
            self.trace,
            Prediction {
                model: suitable(self.trace, self.options)?,
                ledgers: Vec::new(),
                findings: vec![finding],
                undecided: Vec::new(),
                slicing: None,
                not_asked: Vec::new(),
                refuted: Vec::new(),
            },
            frame(self.arguments),
        );
        // The number would not be that of `predict`.
        report.findings[0].id = report.findings[0].kind.name().to_string();
        let finding = &report.findings[0];
        output::to_stdout(|out| {
            fit.iter().try_for_each(|fit| writeln!(out, "{fit}; this one can happen:\n"))?;
            write_finding(&report, finding, style(self.arguments.full_schedule), out)?;
            report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
            without_graph(self.arguments, out)
        })?;
        Ok(happens(finding.certainty))
    }
}

/// Asks about one candidate. Whatever goes wrong there is a bug of ours.
fn ask(trace: &Trace, options: &Options, violation: &Violation) -> Result<Why, Failure> {
    foretrace_predict::explain(trace, options, violation).map_err(Failure::internal)
}

/// The model that is used.
fn suitable(trace: &Trace, options: &Options) -> Result<Model, Failure> {
    let nothing = Options { properties: Vec::new(), ..options.clone() };
    Ok(input::predict(trace, &nothing, &())?.model)
}

/// Why refuted candidates cannot happen, for the first `most` of them.
pub(crate) fn explain_refuted(
    trace: &Trace,
    options: &Options,
    model: Model,
    refuted: &[(Property, Violation)],
    most: usize,
) -> Result<Explanations, Failure> {
    let recorded = Recorded::new(trace);
    let telling = Telling { words: Words { trace }, recorded: &recorded, model };
    let shown = &refuted[..refuted.len().min(most)];
    let explanations = shown.iter().map(|(_, violation)| {
        let why = ask(trace, options, violation)?;
        Ok(told(telling, violation, &why)?.0)
    });
    let explanations = explanations.collect::<Result<Vec<Explanation>, Failure>>()?;
    Ok(Explanations { explanations, left_out: (refuted.len() - shown.len()) as u64 })
}

/// What refutes a candidate, in words and as a graph.
fn told(
    telling: Telling,
    violation: &Violation,
    why: &Why,
) -> Result<(Explanation, Graph), Failure> {
    let words = telling.words;
    let title = title(words, violation);
    let (told, graph) = match why {
        Why::Refuted(refutation) => {
            check_refutation(words.trace, telling.model, violation, refutation).map_err(
                |error| {
                    Failure::internal(format_args!("the proof against {title} is refused: {error}"))
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
        Why::Undecided(reason) | Why::NoCandidate(reason) => {
            let conclusion = format!("It cannot happen, but why is not known: {reason}.");
            let told = Told { by: Grounds::Solver, steps: Vec::new(), conclusion };
            (told, Graph::default())
        }
        Why::Violated(_) => {
            return Err(Failure::internal(format_args!("{title} was refuted, and can happen")));
        }
    };
    let explanation = Explanation {
        property: property(violation.property()),
        kind: kind(violation),
        events: violating(violation).into_iter().map(|event| event.0).collect(),
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
    use foretrace_witness::{Fact, Refutation, Rule, Step};

    #[test]
    fn a_proof_that_is_none_is_a_bug_of_ours() {
        let trace = text::parse("t1: write x = 1\nt2: write x = 2\n").unwrap();
        let recorded = Recorded::new(&trace);
        let telling =
            Telling { words: Words { trace: &trace }, recorded: &recorded, model: Model::Values };
        let given = |fact| Step { fact, rule: Rule::Candidate, premises: Vec::new() };
        let [one, two] = [EventId(0), EventId(1)];
        let steps = vec![given(Fact::Executed(one)), given(Fact::NotExecuted(one))];
        let why = Why::Refuted(Refutation { steps, contradiction: (0, 1) });
        let failure = told(telling, &Violation::Race(one, two), &why).unwrap_err();
        assert_eq!(failure.status, Status::Internal);
    }
}
