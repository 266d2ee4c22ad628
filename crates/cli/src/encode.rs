//! `foretrace encode`: the papers' formula of one question about a trace, as SMT-LIB 2.

use std::io::Write;

use foretrace_findings::operation;
use foretrace_reference::{Options, PROPERTIES, candidates, encode, smtlib};
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::Violation;

use crate::args::EncodeArguments;
use crate::failure::{Failure, Status};
use crate::{input, output, predict};

pub(crate) fn run(arguments: &EncodeArguments) -> Result<Status, Failure> {
    let trace = input::open_valid(&arguments.trace, None)?;
    let violations = candidates(&trace, &PROPERTIES).violations;
    if arguments.list {
        output::to_path(&arguments.output, |out| list(&trace, &violations, out))?;
        return Ok(Status::Nothing);
    }
    let violation = chosen(arguments, &violations)?;
    let chosen = foretrace_predict::Options {
        model: predict::model(arguments.model),
        ..foretrace_predict::Options::default()
    };
    let model = chosen.model_for(&trace);
    let options = Options { bound: arguments.context_bound, ..Options::new(model) };
    let formula = encode(&trace, violation, &options).map_err(Failure::uncertain)?;
    output::to_path(&arguments.output, |out| smtlib::write(&formula, out))?;
    Ok(Status::Nothing)
}

fn chosen<'v>(
    arguments: &EncodeArguments,
    violations: &'v [Violation],
) -> Result<&'v Violation, Failure> {
    let numbered = |number: usize, of: &[&'v Violation], what: &str| {
        number.checked_sub(1).and_then(|at| of.get(at).copied()).ok_or_else(|| {
            let count = of.len();
            Failure::input(format_args!("there is no {what} {number}: the trace has {count}"))
                .hint("--list shows them with their numbers, from 1")
        })
    };
    let all: Vec<&Violation> = violations.iter().collect();
    match (arguments.finding, arguments.property) {
        (Some(number), _) => numbered(number, &all, "candidate"),
        (None, Some(asked)) => {
            let name = asked.name();
            if !PROPERTIES.contains(&asked) {
                return Err(Failure::input(format_args!("candidates of {name} are not listed"))
                    .hint("--property race, atomicity or assertion"));
            }
            let of: Vec<&Violation> =
                all.into_iter().filter(|candidate| candidate.property() == asked).collect();
            numbered(arguments.index, &of, &format!("candidate of {name} with index"))
        }
        (None, None) => match &all[..] {
            [only] => Ok(only),
            all => Err(Failure::input(format_args!("the trace has {} candidates", all.len()))
                .hint("choose one with --finding N, or with --property and --index; --list shows them")),
        },
    }
}

/// One line for each candidate: its number, its property, its number within that, its events.
fn list(trace: &Trace, violations: &[Violation], out: &mut dyn Write) -> std::io::Result<()> {
    let mut index = 0;
    let mut before = None;
    for (at, violation) in violations.iter().enumerate() {
        let of = violation.property();
        index = if before == Some(of) { index + 1 } else { 1 };
        before = Some(of);
        let event = |event: EventId| {
            let thread = trace.name(trace.thread_of(event));
            let location = trace
                .event(event)
                .location
                .map_or(String::new(), |id| format!(" @ {}", trace.name(id)));
            format!("{thread}: {}{location}", operation(trace, event))
        };
        let events: Vec<String> = violation.events().into_iter().map(event).collect();
        let name = of.name();
        writeln!(out, "{:>4}  {name} {index}  {}", at + 1, events.join(" | "))?;
    }
    Ok(())
}
