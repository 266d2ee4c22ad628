//! Implicit checks: which ones a report covers, what they are called, and which are not made.

use foretrace_predict::implicit::{self, FreedNotAsked};
use foretrace_report as report;
use foretrace_report::{Reason, Report};
use foretrace_trace::{EventId, ImplicitFault, Op, Provenance, Trace};
use foretrace_verdict::{Model, Property, Violation};

/// Which implicit checks are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Implicit {
    /// Use after free, as far as the answer costs little.
    ByDefault,
    /// These.
    Chosen(Vec<ImplicitFault>),
}

impl Implicit {
    /// What is asked for.
    fn faults(&self) -> &[ImplicitFault] {
        match self {
            Implicit::ByDefault => &[ImplicitFault::Freed],
            Implicit::Chosen(faults) => faults,
        }
    }
}

/// Makes assertions of what is asked for and can be answered, and says what that is.
pub fn assert_no(trace: &mut Trace, asked: &Implicit, model: Option<Model>) -> Vec<String> {
    let faults = implicit::ask(trace, asked.faults().to_vec(), model);
    if *asked == Implicit::ByDefault && !trace.has_cells() {
        return Vec::new();
    }
    faults.iter().map(|fault| fault.name().to_string()).collect()
}

/// Makes the assertions again that a report names.
pub fn assert_again(trace: &mut Trace, names: &[String]) {
    let is_named = |fault: &ImplicitFault| names.iter().any(|name| name == fault.name());
    let faults: Vec<ImplicitFault> = ImplicitFault::IMPLICIT.into_iter().filter(is_named).collect();
    implicit::assert_no(trace, &faults);
}

fn why_not_freed(trace: &Trace, model: Option<Model>) -> Option<Reason> {
    let why = FreedNotAsked::why(trace, model)?;
    let what = match why {
        FreedNotAsked::WithoutDependences => {
            "use after free: the trace does not record which events depend on reads"
        }
        FreedNotAsked::BlockAsRegion => {
            "use after free: a block is too large or overlaps other memory, so it is not an object \
             of the trace"
        }
        FreedNotAsked::UnderControl => {
            "use after free: model control does not track what was freed"
        }
    };
    Some(Reason::new(why.code(), what))
}

/// Notes that implicit checks were not made in a report of merged runs or ranging addresses.
pub fn implicit_of_single_runs(report: &mut Report) {
    let what = "--implicit: implicit checks apply to single recorded runs only";
    leave_out(report, Reason::new("implicit-in-single-runs-only", what));
}

fn leave_out(report: &mut Report, reason: Reason) {
    let property = Property::Assertion;
    report.not_asked.push(report::NotAsked { property, whole: false, reason });
}

/// Notes which of the checks that were asked for are not made, or have no answer.
pub fn say_what_is_open(
    trace: &Trace,
    asked: &Implicit,
    model: Option<Model>,
    report: &mut Report,
) {
    let faults = asked.faults();
    let is_freed = |(_, op): (EventId, Op)| matches!(op, Op::Free { .. });
    if *asked == Implicit::ByDefault && !trace.other_ops().any(is_freed) {
        return;
    }
    if faults.contains(&ImplicitFault::Bounds) {
        let what =
            "bounds of accesses through pointers that were themselves read from shared memory";
        leave_out(report, Reason::new("bounds-of-read-pointer", what));
    }
    let again = implicit::given_out_again(trace).len();
    let of_memory = [(ImplicitFault::Freed, "use after free"), (ImplicitFault::Bounds, "bounds")];
    let is_asked = |(fault, name)| faults.contains(&fault).then_some(name);
    let of_memory: Vec<&str> = of_memory.into_iter().filter_map(is_asked).collect();
    if again > 0 && !of_memory.is_empty() {
        let what = format!(
            "{}, through pointers that were read, in memory that the allocator reused (blocks: \
             {again})",
            of_memory.join(" and ")
        );
        leave_out(report, Reason::new("reused-memory", what));
    }
    if !faults.contains(&ImplicitFault::Freed) {
        return;
    }
    if let Some(reason) = why_not_freed(trace, model) {
        leave_out(report, reason);
    }
    // Such an access is to memory of no block, so that nothing is asked about it.
    if trace.has_fact(Provenance::FreedAccess) {
        let what = "the recorded run itself uses freed memory";
        let reason = |what: &str| Reason::new(Provenance::FreedAccess.code(), what);
        match asked {
            Implicit::ByDefault => leave_out(report, reason(&format!("use after free: {what}"))),
            Implicit::Chosen(_) => report.leave_open(report::Kind::Assertion, reason(what)),
        }
    }
}

/// What goes wrong in a violation, if no programmer wrote its assertion.
pub(crate) fn fault(trace: &Trace, violation: &Violation) -> Option<ImplicitFault> {
    match violation {
        Violation::Assertion(event) => trace.fault(*event),
        Violation::Race(..)
        | Violation::Atomicity { .. }
        | Violation::LockCycle(_)
        | Violation::Stuck(_)
        | Violation::Lock(..) => None,
    }
}

/// What happens where such an assertion fails.
pub(crate) fn what(trace: &Trace, violation: &Violation) -> Option<String> {
    Some(match fault(trace, violation)? {
        ImplicitFault::Null => "a null pointer is used".to_string(),
        ImplicitFault::Division => "a number is divided by zero".to_string(),
        ImplicitFault::Bounds => "an index is out of bounds".to_string(),
        ImplicitFault::Freed => {
            let (_, block, part) = freed(trace, violation)?;
            let part = part.map_or(String::new(), |part| format!(" ({part})"));
            format!("use after free of {block}{part}")
        }
        ImplicitFault::Address => "an access goes to another address".to_string(),
    })
}

/// The free that comes too early, what it frees, and what the source calls the part that is used.
pub(crate) fn freed<'t>(
    trace: &'t Trace,
    violation: &Violation,
) -> Option<(EventId, &'t str, Option<String>)> {
    let &Violation::Assertion(assertion) = violation else { return None };
    let (access, free) = trace.access_and_free(assertion)?;
    let at = trace.access(access)?.at;
    Some((free, trace.name(at.object), trace.source_name(at)))
}
