//! Which violations count as one finding at a coarse granularity.

use foretrace_predict::Granularity;
use foretrace_trace::{EventId, ImplicitFault, LocationId, ObjectId, Trace};
use foretrace_verdict::{LockMisuse, Violation};

/// Where an event is in the source. Events without a location are each a place of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Spot {
    /// A source location.
    Location(LocationId),
    /// An event that the trace gives no location.
    Event(EventId),
}

/// Violations with the same key are one finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum ClassKey {
    Race(ObjectId, Spot, Spot),
    Atomicity(ObjectId, Spot, Spot, Spot),
    RaceOn(ObjectId),
    AtomicityOn(ObjectId),
    LockCycle(Vec<Spot>),
    Stuck(Spot),
    Lock(LockMisuse, Spot),
    Assertion(Spot, Option<ImplicitFault>),
    Exact(Violation),
}

/// The class of a violation.
///
/// | granularity | race | atomicity | lock cycle | stuck | lock error | assertion |
/// | --- | --- | --- | --- | --- | --- | --- |
/// | event | the violation itself | | | | | |
/// | location | object, unordered pair of spots | object, spots of c, r, c' in this order | the spots in cyclic order, told from the rotation that is smallest | spot | misuse, spot | spot, implicit fault |
/// | variable | object | object | as for location | as for location | as for location | as for location |
///
/// The object of an atomicity violation is the one that all three accesses are on: since r overlaps
/// both others there is exactly one.
pub fn class_key(trace: &Trace, granularity: Granularity, violation: &Violation) -> ClassKey {
    let spot = |event: EventId| match trace.event(event).location {
        Some(location) => Spot::Location(location),
        None => Spot::Event(event),
    };
    let object = |event: EventId| {
        trace.op(event).access().expect("races and triples are made of accesses").at.object
    };
    match (granularity, violation) {
        (Granularity::Event, _) => ClassKey::Exact(violation.clone()),
        (Granularity::Variable, Violation::Race(a, _)) => ClassKey::RaceOn(object(*a)),
        (Granularity::Variable, Violation::Atomicity { remote, .. }) => {
            ClassKey::AtomicityOn(object(*remote))
        }
        (Granularity::Location, Violation::Race(a, b)) => {
            let (one, other) = (spot(*a), spot(*b));
            ClassKey::Race(object(*a), one.min(other), one.max(other))
        }
        (Granularity::Location, Violation::Atomicity { first, remote, second }) => {
            ClassKey::Atomicity(object(*remote), spot(*first), spot(*remote), spot(*second))
        }
        (_, Violation::LockCycle(points)) => {
            let spots: Vec<Spot> = points.iter().map(|&point| spot(point)).collect();
            ClassKey::LockCycle(smallest_rotation(spots))
        }
        (_, Violation::Stuck(point)) => ClassKey::Stuck(spot(*point)),
        (_, Violation::Lock(misuse, point)) => ClassKey::Lock(*misuse, spot(*point)),
        (_, Violation::Assertion(point)) => ClassKey::Assertion(spot(*point), trace.fault(*point)),
    }
}

fn smallest_rotation(spots: Vec<Spot>) -> Vec<Spot> {
    let rotated = |by: usize| {
        let mut rotation = spots.clone();
        rotation.rotate_left(by);
        rotation
    };
    (0..spots.len()).map(rotated).min().unwrap_or_default()
}
