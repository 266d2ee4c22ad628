//! Candidates of which an event needs, in any order, what the candidate excludes.

use super::{Rule, Tried};

pub(super) const RULE: Rule = Rule {
    name: "needs",
    column: None,
    within: None,
    tried: Tried::First,
    refutes: |pruner, class, explained| {
        let groups = &pruner.work.candidates.groups;
        pruner.work.any_order.is_some_and(|needs| needs.refutes(groups, class, explained))
    },
};
