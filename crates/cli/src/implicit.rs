//! Assertions that nobody wrote: which ones are asked for, and what they are called.

use foretrace_predict::implicit::{self, FreedNotAsked};
use foretrace_report as report;
use foretrace_report::{Reason, Report};
use foretrace_trace::{EventId, Fault, Provenance, Trace};
use foretrace_verdict::{Property, Violation};

use crate::args::{Implicit, ModelChoice, PredictionOptions};
use crate::predict;

/// The faults that an option names.
pub(crate) fn faults(chosen: &[Implicit]) -> Vec<Fault> {
    let fault = |implicit: &Implicit| match implicit {
        Implicit::Null => vec![Fault::Null],
        Implicit::Division => vec![Fault::Division],
        Implicit::Bounds => vec![Fault::Bounds],
        Implicit::Freed => vec![Fault::Freed],
        Implicit::All => Fault::IMPLICIT.to_vec(),
    };
    let mut faults: Vec<Fault> = chosen.iter().flat_map(fault).collect();
    faults.sort_unstable();
    faults.dedup();
    faults
}

/// Makes assertions of what is asked for and can be answered, and says what that is.
pub(crate) fn assert_no(trace: &mut Trace, chosen: &[Implicit], model: ModelChoice) -> Vec<String> {
    let asked = implicit::ask(trace, faults(chosen), predict::model(model));
    asked.iter().map(|fault| fault.name().to_string()).collect()
}

/// The same for what a report says.
pub(crate) fn assert_again(trace: &mut Trace, names: &[String]) {
    let is_named = |fault: &Fault| names.iter().any(|name| name == fault.name());
    let faults: Vec<Fault> = Fault::IMPLICIT.into_iter().filter(is_named).collect();
    implicit::assert_no(trace, &faults);
}

fn why_not_freed(trace: &Trace, model: ModelChoice) -> Option<Reason> {
    let why = FreedNotAsked::why(trace, predict::model(model))?;
    let what = match why {
        FreedNotAsked::WithoutDependences => {
            "use after free: the trace does not record what depends on what was read"
        }
        FreedNotAsked::BlockAsRegion => {
            "use after free: a block is too large, or over other memory, to tell whose memory it \
             was given"
        }
        FreedNotAsked::UnderControl => "use after free: model control does not know what was freed",
    };
    Some(Reason::new(why.code(), what))
}

/// Says what was asked for and is not answered.
pub(crate) fn say_what_is_open(trace: &Trace, chosen: &PredictionOptions, report: &mut Report) {
    let (faults, property) = (faults(&chosen.implicit), Property::Assertion);
    if faults.contains(&Fault::Bounds) {
        let what = "bounds of what a pointer leads to that was itself read from shared memory";
        let reason = Reason::new("bounds-of-read-pointer", what);
        report.not_asked.push(report::NotAsked { property, whole: false, reason });
    }
    let again = implicit::given_out_again(trace).len();
    if again > 0 && (faults.contains(&Fault::Bounds) || faults.contains(&Fault::Freed)) {
        let what = format!(
            "use and bounds of freed memory that was given out again later (blocks: {again}), through pointers that were read"
        );
        let reason = Reason::new("reused-memory", what);
        report.not_asked.push(report::NotAsked { property, whole: false, reason });
    }
    if !faults.contains(&Fault::Freed) {
        return;
    }
    if let Some(reason) = why_not_freed(trace, chosen.model) {
        report.not_asked.push(report::NotAsked { property, whole: false, reason });
    }
    // Such an access is to memory of no block, so that nothing is asked about it.
    let has_used = trace.has_fact(Provenance::FreedAccess);
    let ledger = report.summary.iter_mut().find(|(known, _)| *known == property);
    if let (true, Some((_, ledger))) = (has_used, ledger) {
        ledger.candidates += 1;
        ledger.undecided += 1;
        let left = &mut ledger.remaining;
        for left in [&mut left.total, &mut left.lsa, &mut left.mhb, &mut left.ucg] {
            *left += 1;
        }
        report.undecided.push(report::Undecided {
            property,
            kind: report::Kind::Assertion,
            events: Vec::new(),
            reason: Reason::new(
                Provenance::FreedAccess.code(),
                "the recorded run itself uses memory that was freed",
            ),
        });
    }
}

/// What goes wrong in a violation, if no programmer wrote its assertion.
pub(crate) fn fault(trace: &Trace, violation: &Violation) -> Option<Fault> {
    match violation {
        Violation::Assertion(event) => trace.fault(*event),
        _ => None,
    }
}

/// What happens where such an assertion fails.
pub(crate) fn what(trace: &Trace, violation: &Violation) -> Option<String> {
    Some(match fault(trace, violation)? {
        Fault::Null => "a null pointer is used".to_string(),
        Fault::Division => "a number is divided by zero".to_string(),
        Fault::Bounds => "an index is out of bounds".to_string(),
        Fault::Freed => format!("use after free of {}", freed(trace, violation)?.1),
        Fault::Address => "an access is somewhere else".to_string(),
    })
}

/// The free that comes too early, and what it frees.
pub(crate) fn freed<'t>(trace: &'t Trace, violation: &Violation) -> Option<(EventId, &'t str)> {
    let &Violation::Assertion(assertion) = violation else { return None };
    let (access, free) = trace.access_and_free(assertion)?;
    let object = trace.access(access)?.at.object;
    Some((free, trace.objects().get(object.index())))
}

/// What a replay has seen.
pub(crate) fn confirmed(fault: Fault) -> &'static str {
    match fault {
        Fault::Null => "a null pointer was about to be used",
        Fault::Division => "a number was divided by zero",
        Fault::Bounds => "an access outside of what it should be in was about to happen",
        Fault::Freed => "an access to memory that had been freed was about to happen",
        Fault::Address => "an access somewhere else was about to happen",
    }
}
