//! Candidates for assertions that fail: every assertion of the trace.
//!
//! **Follows.** `docs/theory.md`, section 4, *Assertion*. One that is opaque and held in the recorded run is no candidate: when it fails is not
//! known, and the report says that it was not asked about.

use foretrace_model::Data;
use foretrace_trace::{Model, Op};
use foretrace_witness::{Property, Violation};

use super::{Candidates, Context, Fate, Gathering, Parts};
use crate::prediction::NotAsked;

pub(super) fn list(context: &Context, candidates: &mut Candidates) {
    let skeleton = context.skeleton;
    let trace = skeleton.trace;
    let mut gathering = Gathering::new();
    let (mut all, mut opaque) = (0, 0);
    for (event, op) in trace.other_ops() {
        let Op::Assert { holds } = op else { continue };
        all += 1;
        let is_opaque = |data: &Data| data.is_opaque(trace, event);
        let may_fail = !holds
            || skeleton.model == Model::Control
            || !skeleton.data.as_ref().is_none_or(is_opaque);
        if may_fail {
            let site = context.site_without_object(event);
            gathering.add(site, || Violation::Assertion(event), Fate::Open(event));
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
