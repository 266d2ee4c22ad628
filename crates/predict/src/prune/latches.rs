//! Refutes races between sections that a variable used as a lock keeps apart.

use super::{Rule, Tried};
use crate::candidates::Parts;

pub(super) const RULE: Rule = Rule {
    name: "latches",
    column: None,
    within: None,
    tried: Tried::First,
    refutes: |pruner, class, _| {
        let Parts::Race(parts) = &class.parts else { return false };
        let work = pruner.work;
        let (trace, groups) = (work.context.skeleton.trace, &work.candidates.groups);
        let latches = &work.cells.latches;
        parts.iter().all(|part| {
            latches.exclude(trace, groups.events(part.first), groups.events(part.second))
        })
    },
};
