//! The universal causality graph, member by member.
//!
//! **Computes.** Whether the graph refutes every member of a class: by order, by locks, by both, or
//! by data as well.
//!
//! **Follows.** `docs/causality.md`; Kahlon and Wang, Table 1.
//!
//! **Cost.** Most classes that are not refuted show it with their first member. Of a class with
//! very many members only some are looked at; if they do not show that it may happen, it is left to
//! the solver.

use foretrace_causality::{Graph, Question, Reach, Scope, Search};
use foretrace_model::Skeleton;
use foretrace_trace::EventId;
use foretrace_verdict::Column;

use super::{Rule, Tried};
use crate::candidates::{AtomicityPart, Class, CyclePart, Groups, LateUse, Parts, RacePart};
use crate::effort::Decider;
use crate::goal::is_pending;

/// How many members of a class are looked at.
const MOST_MEMBERS: u32 = 64;

pub(super) const BOTH: Rule = Rule {
    name: "order and locks",
    column: Some(Column::Both),
    within: None,
    tried: Tried::ForColumns,
    by: Decider::Graph,
    refutes: |pruner, class, _| pruner.by_graph(class, Scope::Synchronisation),
};

pub(super) const ORDER: Rule = Rule {
    name: "order",
    column: Some(Column::Order),
    within: Some(Column::Both),
    tried: Tried::ForColumns,
    by: Decider::Graph,
    refutes: |pruner, class, _| pruner.by_graph(class, Scope::Order),
};

pub(super) const LOCKS: Rule = Rule {
    name: "locks",
    column: Some(Column::Locks),
    within: Some(Column::Both),
    tried: Tried::ForColumns,
    by: Decider::Graph,
    refutes: |pruner, class, _| pruner.by_graph(class, Scope::Locks),
};

/// The three others and data.
pub(super) const DATA: Rule = Rule {
    name: "data",
    column: None,
    within: None,
    tried: Tried::AfterRecordedOrder,
    by: Decider::Graph,
    refutes: |pruner, class, _| pruner.by_graph(class, Scope::All),
};

/// The memory is freed, and the look before an access to it is next.
fn late_use(skeleton: &Skeleton, assertion: EventId) -> Question {
    let LateUse { freed, look, .. } = LateUse::of(skeleton, assertion).expect("it was listed");
    Question::points([Reach::Done(freed), Reach::Next(look)])
}

/// Asks the graph about classes.
pub(super) struct Members<'g> {
    graph: &'g Graph<'g>,
    search: Search<'g>,
    /// How many more members may be looked at.
    left: u32,
}

impl<'g> Members<'g> {
    pub(super) fn new(graph: &'g Graph<'g>) -> Self {
        Members { graph, search: Search::new(graph), left: 0 }
    }

    /// The orders that a class with one member implies, if the graph does not refute it.
    pub(super) fn induced(&mut self, groups: &Groups, class: &Class) -> Vec<(EventId, EventId)> {
        let skeleton = self.graph.skeleton();
        let question = match &class.parts {
            Parts::Race(parts) => match &parts[..] {
                [part] => match (groups.events(part.first), groups.events(part.second)) {
                    (&[one], &[two]) => Question::race(skeleton, one, two),
                    _ => return Vec::new(),
                },
                _ => return Vec::new(),
            },
            Parts::Atomicity(parts) => match &parts[..] {
                [part] => match (&part.pairs[..], groups.events(part.remotes)) {
                    (&[(first, second)], &[remote]) => Question::atomicity(first, remote, second),
                    _ => return Vec::new(),
                },
                _ => return Vec::new(),
            },
            Parts::LateUse(events) => match &events[..] {
                &[event] => late_use(skeleton, event),
                _ => return Vec::new(),
            },
            Parts::LockCycle(_) | Parts::Stuck(_) | Parts::Lock(_) | Parts::Assertion(_) => {
                return Vec::new();
            }
        };
        if self.search.refutes(&question, Scope::All) {
            return Vec::new();
        }
        self.search.induced()
    }

    /// Whether the rules refute every member of the class.
    pub(super) fn refutes(&mut self, groups: &Groups, class: &Class, scope: Scope) -> bool {
        self.left = MOST_MEMBERS;
        match &class.parts {
            Parts::Race(parts) => parts.iter().all(|part| self.race(groups, part, scope)),
            Parts::Atomicity(parts) => parts.iter().all(|part| self.atomicity(groups, part, scope)),
            Parts::LockCycle(parts) => parts.iter().all(|part| self.cycle(part, scope)),
            Parts::LateUse(events) => {
                events.len() <= MOST_MEMBERS as usize && {
                    let skeleton = self.graph.skeleton();
                    events.iter().all(|&event| self.ask(&late_use(skeleton, event), scope))
                }
            }
            Parts::Stuck(_) | Parts::Lock(_) | Parts::Assertion(_) => false,
        }
    }

    fn ask(&mut self, question: &Question, scope: Scope) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        self.search.refutes(question, scope)
    }

    fn race(&mut self, groups: &Groups, part: &RacePart, scope: Scope) -> bool {
        let [first, second] =
            [part.first, part.second].map(|group| self.apart(groups.events(group), scope));
        if first.len() * second.len() > self.left as usize {
            return false;
        }
        first.iter().all(|&one| {
            second.iter().all(|&two| {
                let question = Question::race(self.graph.skeleton(), one, two);
                self.ask(&question, scope)
            })
        })
    }

    fn atomicity(&mut self, groups: &Groups, part: &AtomicityPart, scope: Scope) -> bool {
        let remotes = self.apart(groups.events(part.remotes), scope);
        if part.pairs.len() * remotes.len() > self.left as usize {
            return false;
        }
        part.pairs.iter().all(|&(first, second)| {
            remotes
                .iter()
                .all(|&remote| self.ask(&Question::atomicity(first, remote, second), scope))
        })
    }

    fn cycle(&mut self, part: &CyclePart, scope: Scope) -> bool {
        let trace = self.graph.skeleton().trace;
        let members = part.nodes.iter().map(|node| node.points.len());
        if members.fold(1, usize::saturating_mul) > self.left as usize {
            return false;
        }
        let mut at = vec![0; part.nodes.len()];
        loop {
            let points = part.nodes.iter().zip(&at).map(|(node, &at)| {
                let event = node.points[at];
                if is_pending(trace, event) { Reach::Done(event) } else { Reach::Next(event) }
            });
            if !self.ask(&Question::points(points), scope) {
                return false;
            }
            // The next combination.
            let mut digit = 0;
            loop {
                if digit == at.len() {
                    return true;
                }
                at[digit] += 1;
                if at[digit] < part.nodes[digit].points.len() {
                    break;
                }
                at[digit] = 0;
                digit += 1;
            }
        }
    }

    /// Those that synchronisation can tell apart; of others the first one.
    fn apart(&self, events: &[EventId], scope: Scope) -> Vec<EventId> {
        let mut apart: Vec<EventId> = Vec::new();
        for &event in events {
            if apart.len() > MOST_MEMBERS as usize {
                break;
            }
            let is_alike = |&last: &EventId| {
                scope != Scope::All && self.graph.segment(last) == self.graph.segment(event)
            };
            if !apart.last().is_some_and(is_alike) {
                apart.push(event);
            }
        }
        apart
    }
}
