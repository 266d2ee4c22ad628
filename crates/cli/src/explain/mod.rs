//! `foretrace explain`, and `predict --why`: why a candidate cannot happen, as a chain of
//! sentences; or how it can.
//!
//! **Computes.** For one candidate, or for those that the named places fit, what
//! `foretrace_predict::Explainer` answers, in words.
//!
//! **Invariant.** Every proof that is printed has passed its checker; one that does not is a bug of
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

use std::io::{self, Write};

use foretrace_predict::{Budget, Explainer, Finding, Options, Prediction, Why};
use foretrace_report as report;
use foretrace_report::{
    Explanation, Explanations, Graph, Grounds, write_dot, write_explanation, write_finding,
};
use foretrace_trace::Trace;
use foretrace_verdict::{Certainty, Property, Violation};
use foretrace_witness::check_refutation;

use crate::args::ExplainArguments;
use crate::assemble::{Frame, assemble};
use crate::failure::{Failure, Status};
use crate::predict::{jobs, model, style};
use crate::remarks::weak_accesses;
use crate::{implicit, input, output, source};
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
    let mut trace = input::open_valid(&arguments.trace, arguments.format)?;
    implicit::assert_no(&mut trace, &arguments.implicit, arguments.model);
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
        let all = Options { properties: Options::default().properties, ..options };
        let report = assemble(trace, input::predict(trace, &all, &())?, frame(arguments));
        let known: Vec<&str> = report.findings.iter().map(|finding| finding.id.as_str()).collect();
        let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
        return Err(Failure::input(format_args!("there is no finding {id}"))
            .hint(format_args!("with these options predict finds {known}")));
    };
    show(arguments, |out| {
        write_finding(&report, finding, style(arguments.full_schedule), out)?;
        without_graph(arguments, out)
    })?;
    Ok(happens(finding.certainty))
}

fn happens(certainty: report::Certainty) -> Status {
    match certainty {
        Certainty::Real => Status::Found,
        Certainty::Possible => Status::Uncertain,
    }
}

/// Writes what is for people: to standard error, if the graph goes to standard output.
fn show(
    arguments: &ExplainArguments,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    match &arguments.dot {
        Some(path) if output::is_stdout(path) => output::to_stderr(content),
        _ => output::to_stdout(content),
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
            no_prune: false,
            implicit: Vec::new(),
            symbolic_addresses: false,
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
        let explainer = Explainer::new(self.trace, self.options);
        let asked = &candidates[..candidates.len().min(MOST_CANDIDATES)];
        let answers = self.ask(&explainer, asked)?;
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
            return self.show_finding(&explainer, finding, fit.as_deref());
        }
        let is_open = answers.undecided.is_some() || not_asked > 0;
        if let Some((violation, reason)) = &answers.undecided {
            let title = title(Words { trace: self.trace }, violation);
            show(self.arguments, |out| {
                fit.iter().try_for_each(|fit| writeln!(out, "{fit}; not decided is:\n"))?;
                writeln!(out, "{title}: undecided: {reason}")?;
                how_to_choose(fit.as_deref(), out)?;
                without_graph(self.arguments, out)
            })?;
            return Ok(Status::Uncertain);
        }
        if let Some((mut explanation, mut graph)) = answers.refuted {
            let none = if not_asked > 0 { "none of the others" } else { "none of them" };
            if fit.is_some() {
                // There are others at the same places.
                let events: Vec<String> = explanation.events.iter().map(u32::to_string).collect();
                explanation.title.push_str(&format!(" (events {})", events.join(", ")));
                graph.title.clone_from(&explanation.title);
            }
            show(self.arguments, |out| {
                fit.iter().try_for_each(|fit| {
                    let this = "this is why the first one cannot";
                    writeln!(out, "{fit}; {none} can happen, and {this}:\n")
                })?;
                write_explanation(&explanation, style(false), out)?;
                let weak = weak_accesses(self.trace);
                if weak > 0 {
                    let only = "this holds for sequentially consistent executions";
                    writeln!(out, "note: {only}; {}", report::in_order(weak))?;
                }
                if not_asked > 0 {
                    let open = "this was about these events alone";
                    writeln!(
                        out,
                        "note: {open}; whether one of the other {not_asked} can happen is not known"
                    )?;
                }
                how_to_choose(fit.as_deref(), out)
            })?;
            if let Some(path) = &self.arguments.dot {
                output::to_path(path, |out| write_dot(&graph, out))?;
            }
            return Ok(if is_open { Status::Uncertain } else { Status::Nothing });
        }
        let why = answers.no_candidate.unwrap_or_else(|| "nothing fits".to_string());
        Err(Failure::input(format_args!("this is no candidate: {why}"))
            .hint("docs/theory.md, section 4, says what counts as one"))
    }

    /// Until one can happen.
    fn ask(&self, explainer: &Explainer, candidates: &[Violation]) -> Result<Answers, Failure> {
        let (recorded, model) = (Recorded::new(self.trace), explainer.model());
        let telling = Telling { words: Words { trace: self.trace }, recorded: &recorded, model };
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

    fn show_finding(
        &self,
        explainer: &Explainer,
        finding: Finding,
        fit: Option<&str>,
    ) -> Result<Status, Failure> {
        let as_published = explainer.is_refuted_as_published(&finding.violation);
        let mut report = assemble(
            self.trace,
            Prediction {
                model: explainer.model(),
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
        show(self.arguments, |out| {
            fit.iter().try_for_each(|fit| writeln!(out, "{fit}; this one can happen:\n"))?;
            write_finding(&report, finding, style(self.arguments.full_schedule), out)?;
            report.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))?;
            if as_published {
                writeln!(
                    out,
                    "note: if every wait met the notification of the recorded run, this could not happen"
                )?;
            }
            how_to_choose(fit, out)?;
            without_graph(self.arguments, out)
        })?;
        Ok(happens(finding.certainty))
    }
}

/// For those who mean another one of the candidates that fit.
fn how_to_choose(fit: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    match fit {
        Some(_) => {
            writeln!(out, "hint: to choose, name events by number, or by THREAD@LOCATION")
        }
        None => Ok(()),
    }
}

/// Asks about one candidate. Whatever goes wrong there is a bug of ours.
fn ask(explainer: &Explainer, violation: &Violation) -> Result<Why, Failure> {
    explainer.explain(violation).map_err(Failure::internal)
}

/// Why refuted candidates cannot happen, for the first `most` of them.
pub(crate) fn explain_refuted(
    trace: &Trace,
    options: &Options,
    refuted: &[(Property, Violation)],
    most: usize,
) -> Result<Explanations, Failure> {
    let recorded = Recorded::new(trace);
    let explainer = Explainer::new(trace, options);
    let model = explainer.model();
    let telling = Telling { words: Words { trace }, recorded: &recorded, model };
    let shown = &refuted[..refuted.len().min(most)];
    let explanations = shown.iter().map(|(_, violation)| {
        let why = ask(&explainer, violation)?;
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
    use foretrace_verdict::{Fact, Refutation, Rule, Step};

    #[test]
    fn a_proof_that_is_none_is_a_bug_of_ours() {
        let trace = text::parse("t1: write x = 1\nt2: write x = 2\n").unwrap();
        let recorded = Recorded::new(&trace);
        let telling = Telling {
            words: Words { trace: &trace },
            recorded: &recorded,
            model: foretrace_verdict::Model::Values,
        };
        let given = |fact| Step { fact, rule: Rule::Candidate, premises: Vec::new() };
        let [one, two] = [EventId(0), EventId(1)];
        let steps = vec![given(Fact::Executed(one)), given(Fact::NotExecuted(one))];
        let why = Why::Refuted(Refutation { steps, contradiction: (0, 1) });
        let failure = told(telling, &Violation::Race(one, two), &why).unwrap_err();
        assert_eq!(failure.status, Status::Internal);
    }
}
