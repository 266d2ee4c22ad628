//! Which violations are one finding at a granularity, told apart from the outside.

use foretrace_predict::{Finding, Granularity};
use foretrace_trace::{EventId, LocationId, ObjectId, Trace};
use foretrace_verdict::{LockMisuse, Property, Violation};

/// A source location, or an event without one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Spot {
    Location(LocationId),
    Event(EventId),
    /// All are one.
    Any,
}

/// Violations with the same class are one finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Class {
    pub(crate) property: Property,
    object: Option<ObjectId>,
    misuse: Option<LockMisuse>,
    is_cycle: bool,
    spots: Vec<Spot>,
}

pub(crate) fn class_of(trace: &Trace, granularity: Granularity, violation: &Violation) -> Class {
    let located =
        |event: EventId| trace.location_of(event).map_or(Spot::Event(event), Spot::Location);
    let point = |event: EventId| match granularity {
        Granularity::Event => Spot::Event(event),
        Granularity::Location | Granularity::Variable => located(event),
    };
    let access = |event: EventId| match granularity {
        Granularity::Variable => Spot::Any,
        _ => point(event),
    };
    let object = |event: EventId| trace.op(event).access().map(|access| access.at.object);
    let (object, misuse, spots) = match *violation {
        Violation::Race(a, b) => {
            let (a_spot, b_spot) = (access(a), access(b));
            (object(a), None, vec![a_spot.min(b_spot), a_spot.max(b_spot)])
        }
        Violation::Atomicity { first, remote, second } => {
            (object(remote), None, vec![access(first), access(remote), access(second)])
        }
        Violation::LockCycle(ref points) => {
            let spots: Vec<Spot> = points.iter().map(|&event| point(event)).collect();
            let turned = |by: usize| [&spots[by..], &spots[..by]].concat();
            (None, None, (0..spots.len()).map(turned).min().expect("a cycle has points"))
        }
        Violation::Stuck(event) | Violation::Assertion(event) => (None, None, vec![point(event)]),
        Violation::Lock(misuse, event) => (None, Some(misuse), vec![point(event)]),
    };
    let is_cycle = matches!(violation, Violation::LockCycle(_));
    Class { property: violation.property(), object, misuse, is_cycle, spots }
}

pub(crate) fn classes_of(
    trace: &Trace,
    granularity: Granularity,
    findings: &[Finding],
) -> std::collections::BTreeSet<Class> {
    findings.iter().map(|finding| class_of(trace, granularity, &finding.violation)).collect()
}
