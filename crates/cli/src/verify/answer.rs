//! The answer of `verify` for other programs.

use foretrace_program::text::describe;
use foretrace_program::{Op, Program};
use foretrace_report::verified::{Answer, Reason, Step, VERIFIED_SCHEMA};
use foretrace_verify::{Bug, Open, Report, Verdict};

/// The answer of a report.
pub(super) fn answer(program: &Program, report: &Report, property: Option<&str>) -> Answer {
    let open = match &report.verdict {
        Verdict::UpTo { open, .. } | Verdict::Unknown(open) => reasons(program, open),
        Verdict::Bug(_) | Verdict::Proved => Vec::new(),
    };
    let bug = match &report.verdict {
        Verdict::Bug(bug) => Some(bug),
        _ => None,
    };
    Answer {
        schema: VERIFIED_SCHEMA,
        verdict: word(&report.verdict),
        property: property.map(str::to_string),
        open,
        violation: bug.map(|bug| bug.violation.describe(program)),
        schedule: bug.map_or(Vec::new(), |bug| schedule(program, bug)),
        besides: report.besides.as_ref().map(word),
        bound: report.size.bound,
        threads: report.size.threads,
        instructions: report.size.instructions,
        accesses: report.size.accesses,
    }
}

/// One word for a verdict.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Bug(_) => "bug",
        Verdict::Proved => "proved",
        Verdict::UpTo { .. } => "bounded",
        Verdict::Unknown(_) => "unknown",
    }
}

fn reasons(program: &Program, open: &[Open]) -> Vec<Reason> {
    let place = |open: &Open| open.site.and_then(|site| program.location(site));
    let reason = |open: &Open| Reason {
        reason: open.reason.clone(),
        place: place(open).map(str::to_string),
    };
    open.iter().map(reason).collect()
}

fn schedule(program: &Program, bug: &Bug) -> Vec<Step> {
    let mut threads = 0;
    let steps = bug.steps.iter().map(|step| {
        let op = program.instruction(step.site).map(|instruction| &instruction.op);
        let makes = matches!(op, Some(Op::Fork { .. })).then(|| {
            threads += 1;
            threads
        });
        Step {
            thread: step.thread.clone(),
            number: step.id.0,
            makes,
            place: program.location(step.site).map(str::to_string),
            operation: describe(program, step.site),
            input: step.input,
        }
    });
    steps.collect()
}

/// The last line of an answer to a property file.
pub(super) fn result(verdict: &Verdict, property: &str) -> String {
    match verdict {
        Verdict::Bug(_) => format!("result: false ({property})"),
        Verdict::Proved => "result: true".to_string(),
        Verdict::UpTo { .. } | Verdict::Unknown(_) => "result: unknown".to_string(),
    }
}
