//! Refutes candidates that exclude what one of their own events needs in every order.

use super::{Rule, Tried};
use crate::effort::Decider;

pub(super) const RULE: Rule = Rule {
    name: "needs",
    column: None,
    within: None,
    tried: Tried::First,
    by: Decider::Order,
    refutes: |pruner, class, explained| {
        let groups = &pruner.work.candidates.groups;
        pruner.work.any_order.is_some_and(|needs| needs.refutes(groups, class, explained))
    },
};
