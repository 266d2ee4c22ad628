//! The candidates that the papers' formula can decide: every race, atomicity violation and
//! assertion of a trace, by events.
//!
//! **Computes.** In a fixed order: races, then atomicity violations, then assertions; each by their
//! events. Nothing is pruned, not even what forks and joins or common locks refute: that is for the
//! solver.
//!
//! **Cost.** Quadratic in the accesses to an object; with regions, cubic.

use std::collections::HashMap;

use foretrace_trace::{Access, EventId, NameId, Op, Place, Trace, ops};
use foretrace_verdict::{Property, Violation};

/// What can be asked, and what cannot.
#[derive(Debug)]
pub struct Candidates {
    /// What can be asked, in the order above.
    pub violations: Vec<Violation>,
    /// How many assertions there are.
    pub assertions: u64,
    /// Assertions that held and whose condition cannot be computed.
    pub opaque: u64,
}

/// The properties that the formula can express.
pub const PROPERTIES: [Property; 3] = [Property::Race, Property::Atomicity, Property::Assertion];

/// All candidates of these properties.
pub fn candidates(trace: &Trace, properties: &[Property]) -> Candidates {
    let mut violations = Vec::new();
    let mut objects: Vec<Vec<(EventId, Access)>> = vec![Vec::new(); trace.objects().len()];
    for (event, access) in trace.accesses() {
        objects[access.at.object.index()].push((event, access));
    }
    if properties.contains(&Property::Race) {
        objects.iter().for_each(|accesses| races(trace, accesses, &mut violations));
    }
    let regions = regions(trace);
    if properties.contains(&Property::Atomicity) {
        objects.iter().for_each(|accesses| triples(trace, accesses, &regions, &mut violations));
    }
    let is_assertion = |(_, op): &(EventId, Op)| matches!(op, Op::Assert { .. });
    let assertions: Vec<(EventId, Op)> = trace.other_ops().filter(is_assertion).collect();
    let known = known_conditions(trace);
    let is_open =
        |(event, op): &&(EventId, Op)| *op == Op::Assert { holds: false } || known.contains(event);
    let open: Vec<EventId> = assertions.iter().filter(is_open).map(|&(event, _)| event).collect();
    let opaque = (assertions.len() - open.len()) as u64;
    if properties.contains(&Property::Assertion) {
        violations.extend(open.into_iter().map(Violation::Assertion));
    }
    violations.sort_by(|a, b| (a.property(), a).cmp(&(b.property(), b)));
    Candidates { violations, assertions: assertions.len() as u64, opaque }
}

fn races(trace: &Trace, accesses: &[(EventId, Access)], violations: &mut Vec<Violation>) {
    for (at, (second, two)) in accesses.iter().enumerate() {
        for (first, one) in &accesses[..at] {
            let is_conflict = trace.thread_of(*first) != trace.thread_of(*second)
                && one.conflicts(two)
                && !(one.atomic && two.atomic);
            if is_conflict && !is_benign(trace, one.at, two.at) {
                violations.push(Violation::Race(*first, *second));
            }
        }
    }
}

/// Whether every byte that both touch was declared to be raced on.
fn is_benign(trace: &Trace, one: Place, other: Place) -> bool {
    let start = one.offset.max(other.offset);
    let end = one.offset.saturating_add(one.size).min(other.offset.saturating_add(other.size));
    let declared: Vec<Place> =
        trace.benign().iter().map(|(at, _)| *at).filter(|at| at.object == one.object).collect();
    let has = |byte: u32| {
        declared.iter().any(|at| at.offset <= byte && byte < at.offset.saturating_add(at.size))
    };
    !declared.is_empty() && (start..end).all(has)
}

/// Of each event the outermost region that it is in, numbered from 1; 0 outside.
fn regions(trace: &Trace) -> Vec<u32> {
    let mut regions = vec![0; trace.len()];
    let mut count = 0;
    for thread in trace.thread_ids() {
        let mut depth = 0;
        for &event in trace.thread_events(thread) {
            match trace.op(event) {
                Op::RegionBegin => {
                    depth += 1;
                    count += u32::from(depth == 1);
                }
                Op::RegionEnd if depth > 0 => depth -= 1,
                ops!(memory object data sync call RegionEnd Fence External) => {}
            }
            regions[event.index()] = if depth > 0 { count } else { 0 };
        }
    }
    regions
}

fn triples(
    trace: &Trace,
    accesses: &[(EventId, Access)],
    regions: &[u32],
    violations: &mut Vec<Violation>,
) {
    for (at, &(second, two)) in accesses.iter().enumerate() {
        let region = regions[second.index()];
        let in_region = |first: EventId| region != 0 && regions[first.index()] == region;
        for &(first, one) in accesses[..at].iter().filter(|&&(first, _)| in_region(first)) {
            for &(remote, between) in accesses {
                let is_remote = trace.thread_of(remote) != trace.thread_of(second);
                if is_remote && between.conflicts(&one) && between.conflicts(&two) {
                    violations.push(Violation::Atomicity { first, remote, second });
                }
            }
        }
    }
}

/// Assertions whose condition is an expression over names whose values are recorded.
fn known_conditions(trace: &Trace) -> Vec<EventId> {
    let mut known = Vec::new();
    for thread in trace.thread_ids() {
        let mut names: HashMap<NameId, bool> = HashMap::new();
        for &event in trace.thread_events(thread) {
            if let Some(name) = trace.binding(event).filter(|_| trace.is_access(event)) {
                names.insert(name, trace.values(event).0.is_some());
            }
            let is_known = trace.expression(event).is_some_and(|expr| {
                expr.names().all(|name| names.get(&name).copied().unwrap_or(false))
            });
            match trace.op(event) {
                Op::Let => {
                    names.extend(trace.binding(event).map(|name| (name, is_known)));
                }
                Op::Assert { .. } if is_known => known.push(event),
                ops!(memory object Branch Assert Assume sync call mark) => {}
            }
        }
    }
    known
}
