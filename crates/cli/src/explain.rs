//! `foretrace explain`: why a candidate cannot happen, or how it can.

use std::io::{self, Write};

use foretrace_findings::{
    Frame, Named, explain_candidates, parse_candidate, report_finding, report_trace, title,
    weak_accesses,
};
use foretrace_predict::{Explainer, Finding, Options, predict};
use foretrace_report as report;
use foretrace_report::{write_dot, write_explanation, write_finding};
use foretrace_trace::Trace;
use foretrace_verdict::{Certainty, Property, Violation};

use crate::args::ExplainArguments;
use crate::failure::{Failure, Status};
use crate::predict::{implicit, model, style};
use crate::whatif::options;
use crate::{input, output, program};

/// So many candidates that fit the same places are looked at.
const MOST_CANDIDATES: usize = 64;

pub(crate) fn run(arguments: &ExplainArguments) -> Result<Status, Failure> {
    let asked = &arguments.question;
    if asked.format.is_none() && program::is_program(&arguments.trace) {
        return Err(Failure::input("a program has no recorded events that could be named")
            .hint("explain takes a trace"));
    }
    let mut trace = input::open_valid(&arguments.trace, asked.format)?;
    let checks = implicit(&arguments.implicit);
    foretrace_findings::assert_no(&mut trace, &checks, model(asked.model));
    let named = parse_candidate(&trace, &arguments.candidate)?;
    let options = Options { infer_regions: arguments.infer_regions, ..options(asked) };
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
    let prediction = predict(trace, &options, &())?;
    let report = report_trace(trace, prediction, frame(arguments, &options));
    let Some(finding) = report.findings.iter().find(|finding| finding.id == id) else {
        let all = Options { properties: Options::default().properties, ..options };
        let report = report_trace(trace, predict(trace, &all, &())?, frame(arguments, &all));
        let known: Vec<&str> = report.findings.iter().map(|finding| finding.id.as_str()).collect();
        let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
        return Err(Failure::input(format_args!("there is no finding {id}"))
            .hint(format_args!("with these options predict finds {known}")));
    };
    show(arguments, |out| {
        write_finding(&report, finding, style(arguments.question.full_schedule), out)?;
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

fn frame(arguments: &ExplainArguments, options: &Options) -> Frame {
    let path = arguments.trace.display().to_string();
    crate::predict::frame(options, path, arguments.question.full_schedule)
}

/// What is asked about a trace.
struct Asked<'a> {
    trace: &'a Trace,
    arguments: &'a ExplainArguments,
    options: &'a Options,
}

impl Asked<'_> {
    fn answer(&self, candidates: &[Violation]) -> Result<Status, Failure> {
        let explainer = Explainer::new(self.trace, self.options);
        let asked = &candidates[..candidates.len().min(MOST_CANDIDATES)];
        let answers = explain_candidates(self.trace, &explainer, asked)?;
        let not_asked = candidates.len().saturating_sub(MOST_CANDIDATES);
        let fit = match (candidates.len() - answers.no_candidates - not_asked, not_asked) {
            (0 | 1, 0) => None,
            (count, 0) => Some(format!("{count} candidates fit")),
            (count, more) => Some(format!(
                "{} candidates fit, and {more} of them were not examined",
                count + more
            )),
        };
        if let Some(finding) = answers.happens {
            return self.show_finding(&explainer, finding, fit.as_deref());
        }
        let is_open = answers.undecided.is_some() || not_asked > 0;
        if let Some((violation, reason)) = &answers.undecided {
            let title = title(self.trace, violation);
            show(self.arguments, |out| {
                fit.iter().try_for_each(|fit| writeln!(out, "{fit}; this one is undecided:\n"))?;
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
                    let open = "this answer covers only these events";
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
        Err(Failure::input(format_args!("this is not a candidate: {why}"))
            .hint("docs/theory.md, section 4, says what counts as one"))
    }

    fn show_finding(
        &self,
        explainer: &Explainer,
        finding: Finding,
        fit: Option<&str>,
    ) -> Result<Status, Failure> {
        let as_published = explainer.is_refuted_as_published(&finding.violation);
        let frame = frame(self.arguments, self.options);
        let mut report = report_finding(self.trace, explainer.model(), finding, frame);
        // The number would not be that of `predict`.
        report.findings[0].id = report.findings[0].kind.name().to_string();
        let finding = &report.findings[0];
        show(self.arguments, |out| {
            fit.iter().try_for_each(|fit| writeln!(out, "{fit}; this one can happen:\n"))?;
            write_finding(&report, finding, style(self.arguments.question.full_schedule), out)?;
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
