//! Refutes races and atomicity violations between sections that a variable used as a lock keeps
//! apart.

use super::{Rule, Tried};
use crate::candidates::Parts;
use crate::effort::Decider;

pub(super) const RULE: Rule = Rule {
    name: "latches",
    column: None,
    within: None,
    tried: Tried::First,
    by: Decider::Order,
    refutes: |pruner, class, _| {
        let work = pruner.work;
        let (trace, groups) = (work.context.skeleton.trace, &work.candidates.groups);
        let latches = &work.cells.latches;
        match &class.parts {
            Parts::Race(parts) => parts.iter().all(|part| {
                latches.exclude(trace, groups.events(part.first), groups.events(part.second))
            }),
            Parts::Atomicity(parts) => parts
                .iter()
                .all(|part| latches.separate(trace, &part.pairs, groups.events(part.remotes))),
            Parts::LockCycle(_)
            | Parts::Stuck(_)
            | Parts::Lock(_)
            | Parts::Assertion(_)
            | Parts::LateUse(_) => false,
        }
    },
};
