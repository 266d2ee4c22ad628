//! Candidates for assertions that fail: every assertion of the trace.
//!
//! **Follows.** `docs/theory.md`, section 4, *Assertion*. One that is opaque and held in the
//! recorded run is no candidate: when it fails is not known, and the report says that it was not
//! asked about.
//!
//! An assertion that memory is not freed yet needs no computation: it fails if the free is executed
//! when the access is next. So these are questions about order, as races are.

use foretrace_model::{Data, Skeleton};
use foretrace_trace::{EventId, ImplicitFault, Op};
use foretrace_verdict::{Model, Property, Violation};

use super::{Candidates, Context, Gathering, Parts};
use crate::prediction::NotAsked;

/// An access that may come after the free of its memory, by the cell of that memory (see
/// `implicit`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LateUse {
    /// The write to the cell that comes with the free.
    pub(crate) freed: EventId,
    /// The read of the cell that the assertion is about.
    pub(crate) look: EventId,
    pub(crate) assertion: EventId,
}

impl LateUse {
    /// What an assertion asks, if it is one about freed memory, and what is read there counts.
    pub(crate) fn of(skeleton: &Skeleton, assertion: EventId) -> Option<LateUse> {
        let trace = skeleton.trace;
        let is_freed = trace.fault(assertion) == Some(ImplicitFault::Freed);
        if !is_freed || skeleton.model == Model::Control {
            return None;
        }
        let look = trace.previous(assertion)?;
        let cell = skeleton.memory.cells_of(trace.access(look)?.at).next()?;
        // In the recorded run, nobody looks behind the free.
        let &freed = skeleton.memory.accesses(cell).last()?;
        trace.access(freed)?.writes.then_some(LateUse { freed, look, assertion })
    }
}

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let (mut gathering, mut late_uses) = (Gathering::new(), Gathering::new());
    let (mut all, mut opaque) = (0, 0);
    for (event, op) in trace.other_ops() {
        let Op::Assert { holds } = op else { continue };
        all += 1;
        let violation = || Violation::Assertion(event);
        let site = context.site_without_object(event);
        if LateUse::of(skeleton, event).is_some() {
            late_uses.add(site, violation, event);
        } else if may_fail(skeleton, event, holds) {
            gathering.add((site, trace.fault(event)), violation, event);
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
    late_uses.finish(Property::Assertion, candidates, Parts::LateUse);
}

/// Whether it is known when the assertion fails, or that it did.
pub(super) fn may_fail(skeleton: &Skeleton, event: EventId, holds: bool) -> bool {
    let is_opaque = |data: &Data| data.is_opaque(skeleton.trace, event);
    !holds || skeleton.model == Model::Control || !skeleton.data.as_ref().is_none_or(is_opaque)
}
