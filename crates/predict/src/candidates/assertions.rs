//! Candidates for assertions that fail: every assertion of the trace.
//!
//! **Follows.** `docs/theory.md`, section 4, *Assertion*. One that is opaque and held in the
//! recorded run is no candidate: when it fails is not known, and the report says that it was not
//! asked about.

use foretrace_model::{Data, Skeleton};
use foretrace_trace::{EventId, ImplicitFault, Op, ops};
use foretrace_verdict::{Model, Property, Violation};
use rustc_hash::FxHashMap;

use super::{Candidates, Context, Gathering, Parts};
use crate::prediction::NotAsked;

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let mut gathering = Gathering::new();
    let (mut all, mut opaque) = (0, 0);
    // Where memory is freed tells uses after that apart.
    let free = |(event, op)| match op {
        Op::Free { object } => Some((object, trace.location_of(event))),
        ops!(memory data sync call mark Alloc) => None,
    };
    let frees: FxHashMap<_, _> = trace.other_ops().filter_map(free).collect();
    for (event, op) in trace.other_ops() {
        let Op::Assert { holds } = op else { continue };
        all += 1;
        if may_fail(skeleton, event, holds) {
            let freed = || trace.access(trace.next(event)?).and_then(|it| frees.get(&it.at.object));
            let is_freed = |fault| (fault == ImplicitFault::Freed).then(freed).flatten();
            let fault = trace.fault(event).map(|fault| (fault, is_freed(fault)));
            let site = (context.site_without_object(event), fault);
            gathering.add(site, || Violation::Assertion(event), event);
        } else {
            opaque += 1;
        }
    }
    if all == 0 {
        candidates.not_asked.push(NotAsked::NoAssertions);
    }
    if opaque > 0 {
        candidates.not_asked.push(NotAsked::OpaqueAssertions(opaque));
    }
    gathering.finish(Property::Assertion, candidates, Parts::Assertion);
}

/// Whether it is known when the assertion fails, or that it did.
pub(super) fn may_fail(skeleton: &Skeleton, event: EventId, holds: bool) -> bool {
    let is_opaque = |data: &Data| data.is_opaque(skeleton.trace, event);
    !holds || skeleton.model == Model::Control || !skeleton.data.as_ref().is_none_or(is_opaque)
}
