//! `foretrace trace`: looking at traces and converting them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use foretrace_report::in_words;
use foretrace_trace::{EventId, Trace};

use crate::args::{ConvertArguments, OutputFormat, TraceArguments, TraceCommand};
use crate::failure::{Failure, Status};
use crate::{input, output};

pub(crate) fn run(command: &TraceCommand) -> Result<Status, Failure> {
    match command {
        TraceCommand::Show(arguments) => show(arguments),
        TraceCommand::Stats(arguments) => stats(arguments),
        TraceCommand::Validate(arguments) => validate(arguments),
        TraceCommand::Convert(arguments) => convert(arguments),
    }?;
    Ok(Status::Nothing)
}

fn show(arguments: &TraceArguments) -> Result<(), Failure> {
    let trace = input::open(&arguments.trace, arguments.format)?;
    output::to_stdout(|writer| input::write(&trace, OutputFormat::Text, writer))
}

fn stats(arguments: &TraceArguments) -> Result<(), Failure> {
    let trace = input::open(&arguments.trace, arguments.format)?;
    output::to_stdout(|writer| write_stats(&trace, writer))
}

fn write_stats(trace: &Trace, writer: &mut dyn Write) -> io::Result<()> {
    let tables = [
        ("events", trace.len()),
        ("threads", trace.threads().len()),
        ("objects", trace.objects().len()),
        ("locks", trace.locks().len()),
        ("condition variables", trace.conds().len()),
        ("semaphores", trace.semaphores().len()),
        ("barriers", trace.barriers().len()),
        ("source locations", trace.locations().len()),
    ];
    for (name, count) in tables {
        writeln!(writer, "{name:<20} {count:>10}")?;
    }
    if !trace.channels().is_empty() {
        writeln!(writer, "{:<20} {:>10}", "channels", trace.channels().len())?;
    }
    let mut verbs: BTreeMap<&str, u64> = BTreeMap::new();
    for row in 0..trace.len() {
        *verbs.entry(foretrace_findings::verb(&trace.op(EventId::from(row)))).or_default() += 1;
    }
    for (verb, count) in verbs {
        writeln!(writer, "  {verb:<18} {count:>10}")?;
    }
    write_provenance(trace, writer)
}

fn write_provenance(trace: &Trace, writer: &mut dyn Write) -> io::Result<()> {
    for (fact, count) in trace.provenance() {
        writeln!(writer, "import: {} ({count})", in_words(fact))?;
    }
    Ok(())
}

fn validate(arguments: &TraceArguments) -> Result<(), Failure> {
    let trace = input::open_valid(&arguments.trace, arguments.format)?;
    output::to_stdout(|writer| {
        write_provenance(&trace, writer)?;
        let (path, events) = (arguments.trace.display(), trace.len());
        writeln!(writer, "{path}: valid, {events} events, {} threads", trace.threads().len())
    })
}

fn convert(arguments: &ConvertArguments) -> Result<(), Failure> {
    let trace = input::open(&arguments.input.trace, arguments.input.format)?;
    let format = arguments.to.unwrap_or_else(|| format_of(&arguments.output));
    output::to_path(&arguments.output, |writer| input::write(&trace, format, writer))
}

fn format_of(path: &Path) -> OutputFormat {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ftb") => OutputFormat::Binary,
        Some("std") => OutputFormat::Std,
        _ => OutputFormat::Text,
    }
}
