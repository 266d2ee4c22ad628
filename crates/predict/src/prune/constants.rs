//! Refutes assertions whose conditions are true whatever the reads see.

use foretrace_trace::EventId;

use super::{Rule, Tried};
use crate::candidates::Parts;
use crate::effort::Decider;

pub(super) const RULE: Rule = Rule {
    name: "constants",
    column: None,
    within: None,
    tried: Tried::First,
    by: Decider::Order,
    refutes: |pruner, class, _| {
        let Parts::Assertion(events) = &class.parts else { return false };
        pruner.work.context.skeleton.data.as_ref().is_some_and(|data| {
            let condition = |event: EventId| data.terms().as_constant(data.result(event)?);
            events.iter().all(|&event| condition(event) == Some(1))
        })
    },
};
