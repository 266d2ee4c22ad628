//! `foretrace fix`: what a small change of the program would mend, tried on the recorded run.

use std::io::{self, Write};
use std::path::Path;

use foretrace_findings::{Proposal, Tried, propose, recalled_violation};
use foretrace_predict::{Options, predict};
use foretrace_report::{Recalled, Style, read_json, write_paragraph};
use foretrace_trace::provenance::Recorded;
use foretrace_trace::{Provenance, Trace};
use foretrace_verdict::Violation;

use crate::args::FixArguments;
use crate::failure::{Failure, Status};
use crate::predict::style;
use crate::process::replay::{open_trace, split};
use crate::whatif::options;
use crate::{input, output, program};

/// So many findings are listed one by one.
const MOST_LISTED: usize = 5;

pub(crate) fn run(arguments: &FixArguments) -> Result<Status, Failure> {
    let (path, id) = split(&arguments.finding);
    let id = id.ok_or_else(|| {
        Failure::input("no finding is named").hint("for example: report.json#race-1")
    })?;
    let mut options = options(&arguments.question);
    options.infer_regions = arguments.infer_regions;
    let (trace, violation) = match recalled(path, id)? {
        Some(recalled) => {
            let violation = recalled_violation(&recalled).ok_or_else(|| {
                Failure::input(format_args!("{path}: the finding lacks its events"))
            })?;
            let trace = open_trace(Path::new(path), &recalled)?;
            (Trace::clone(&trace), violation)
        }
        None => from_trace(Path::new(path), id, arguments, &options)?,
    };
    let proposals = propose(&trace, &violation, &options)?;
    if proposals.is_empty() {
        output::to_stdout(|out| {
            writeln!(
                out,
                "no proposal: no lock around lines and no order of locks that fix knows fits {id}"
            )
        })?;
        return Ok(Status::Uncertain);
    }
    output::to_stdout(|out| write(&proposals, id, arguments.all, out))?;
    let mends = |proposal: &Proposal| proposal.tried.as_ref().is_ok_and(|tried| tried.mends);
    if proposals.iter().any(mends) {
        return Ok(Status::Nothing);
    }
    if trace.provenance().contains(&(Provenance::Recorded(Recorded::Deadlocked), 1)) {
        output::to_stdout(|out| {
            writeln!(
                out,
                "The recorded run itself deadlocked; of one that did not (--seed), more can be tried."
            )
        })?;
    }
    Ok(Status::Uncertain)
}

/// The finding of a JSON report; `None` if the file is none.
fn recalled(path: &str, id: &str) -> Result<Option<Recalled>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::input(format_args!("{path}: {error}"));
    if !path.ends_with(".json") {
        return Ok(None);
    }
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let mut findings = read_json(&text).map_err(|error| failed(&error))?;
    match findings.iter().position(|finding| finding.id == id) {
        Some(at) => Ok(Some(findings.swap_remove(at))),
        None => {
            let known: Vec<&str> = findings.iter().map(|finding| finding.id.as_str()).collect();
            let failure = failed(&format_args!("it has no finding {id}"));
            Err(failure.hint(format_args!("it has {}", known.join(", "))))
        }
    }
}

/// A finding of a trace, by the name that `predict` gives it.
fn from_trace(
    path: &Path,
    id: &str,
    arguments: &FixArguments,
    options: &Options,
) -> Result<(Trace, Violation), Failure> {
    let format = arguments.question.format;
    if format.is_none() && program::is_program(path) {
        return Err(Failure::input("a program has no recorded run that could be changed")
            .hint("fix takes a finding of a trace, or of a JSON report"));
    }
    let trace = input::open_valid(path, format)?;
    let prediction = predict(&trace, options, &())?;
    let mut numbers = std::collections::HashMap::new();
    let mut known = Vec::new();
    for finding in prediction.findings {
        let kind = finding.violation.kind().name();
        let number: &mut u32 = numbers.entry(kind).or_default();
        *number += 1;
        let name = format!("{kind}-{number}");
        if name == id {
            return Ok((Trace::clone(&trace), finding.violation));
        }
        known.push(name);
    }
    let known = if known.is_empty() { "nothing".to_string() } else { known.join(", ") };
    Err(Failure::input(format_args!("there is no finding {id}"))
        .hint(format_args!("with these options predict finds {known}")))
}

fn write(proposals: &[Proposal], id: &str, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let style = style(false);
    let mends = |proposal: &&Proposal| proposal.tried.as_ref().is_ok_and(|tried| tried.mends);
    let useful = proposals.iter().filter(mends).count();
    match useful {
        0 => writeln!(out, "no change that was tried mends {id}")?,
        1 => writeln!(out, "1 change mends {id} in all reorderings of the recorded run")?,
        n => writeln!(out, "{n} changes mend {id} in all reorderings of the recorded run")?,
    }
    let shown = if all || useful == 0 { proposals.len() } else { useful };
    // Those that mend stand first.
    for (number, proposal) in proposals.iter().enumerate().take(shown) {
        writeln!(out)?;
        write_paragraph(&format!("{}. ", number + 1), &proposal.what, style, out)?;
        match &proposal.tried {
            Ok(tried) => write_tried(tried, id, style, out)?,
            Err(why) => write_paragraph("   not tried: ", why, style, out)?,
        }
    }
    match proposals.len() - shown {
        0 => {}
        1 => writeln!(out, "\n1 more change does not mend it, or cannot be tried (--all)")?,
        n => writeln!(out, "\n{n} more changes do not mend it, or cannot be tried (--all)")?,
    }
    writeln!(out, "\nNothing was changed. Record the changed program to be sure.")
}

fn write_tried(tried: &Tried, id: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if !tried.mends {
        writeln!(out, "   does not mend {id}")?;
    }
    let mut list = |label: &str, what: &[String]| match what {
        [] => Ok(()),
        what if what.len() > MOST_LISTED => {
            let (first, more) = (&what[..MOST_LISTED], what.len() - MOST_LISTED);
            let what = format!("{}; and {more} more", first.join("; "));
            write_paragraph(&format!("   {label}: "), &what, style, out)
        }
        what => write_paragraph(&format!("   {label}: "), &what.join("; "), style, out),
    };
    list("removes", &tried.removes)?;
    // What is not removed remains: many say no more than their number.
    match tried.remains.len() {
        0..=2 => list("remains", &tried.remains)?,
        n => list("remains", &[format!("the other {n} findings")])?,
    }
    list("adds", &tried.adds)?;
    writeln!(out, "   {}", tried.deadlock.in_words())?;
    if tried.is_reordered {
        writeln!(out, "   tried on another order of the run, since the recorded one excludes it")?;
    }
    if tried.undecided > 0 {
        writeln!(out, "   undecided candidates: {}", tried.undecided)?;
    }
    Ok(())
}
