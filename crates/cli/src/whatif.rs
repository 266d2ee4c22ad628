//! `foretrace whatif`: can one event come before another, or a read see a value?

use foretrace_findings::{Told, WhatIf, what_if};
use foretrace_predict::{Budget, Options};
use foretrace_report::{write_explanation, write_finding};

use crate::args::{QuestionOptions, WhatIfArguments};
use crate::failure::{Failure, Status};
use crate::predict::{frame, jobs, model, style};
use crate::{input, output, program};

pub(crate) fn run(arguments: &WhatIfArguments) -> Result<Status, Failure> {
    let chosen = &arguments.question;
    if chosen.format.is_none() && program::is_program(&arguments.trace) {
        return Err(Failure::input("a program has no recorded events that could be named")
            .hint("whatif takes a trace"));
    }
    let asked = asked(arguments)?;
    let trace = input::open_valid(&arguments.trace, chosen.format)?;
    let options = options(chosen);
    let frame = frame(&options, arguments.trace.display().to_string(), chosen.full_schedule);
    let told = what_if(&trace, &asked, &options, &frame)?;
    output::to_stdout(|out| match &told {
        Told::Recorded(claim) => writeln!(out, "yes: {claim} in the recorded run itself"),
        Told::Yes(report) => {
            writeln!(out, "yes, in this execution:\n")?;
            write_finding(report, &report.findings[0], style(chosen.full_schedule), out)
        }
        Told::No(why) => {
            let scope = options.model_for(&trace).name();
            writeln!(out, "no, in no reordering of this trace under model {scope}:\n")?;
            write_explanation(why, style(false), out)
        }
        Told::Undecided(why) => writeln!(out, "undecided: {why}"),
    })?;
    Ok(match told {
        Told::Recorded(_) | Told::Yes(_) => Status::Found,
        Told::No(_) => Status::Nothing,
        Told::Undecided(_) => Status::Uncertain,
    })
}

/// The options of a question.
pub(crate) fn options(chosen: &QuestionOptions) -> Options {
    Options {
        model: model(chosen.model),
        jobs: jobs(None),
        budget: Budget { time: chosen.budget, conflicts: chosen.conflicts, ..Budget::default() },
        ..Options::default()
    }
}

fn asked(arguments: &WhatIfArguments) -> Result<WhatIf, Failure> {
    match (arguments.before.as_deref(), arguments.sees.as_deref()) {
        (Some(places @ [_, _, ..]), None) => Ok(WhatIf::Before(places.to_vec())),
        (None, Some([place, value])) => {
            let value = value.parse().map_err(|_| {
                Failure::input(format_args!("`{value}` is no number")).hint("--sees LINE VALUE")
            })?;
            Ok(WhatIf::Sees(place.clone(), value))
        }
        _ => {
            Err(Failure::input("nothing is asked")
                .hint("use --before E1 E2 ... or --sees LINE VALUE"))
        }
    }
}
