//! The derivation that explains: all rules of `docs/causality.md`, applied to all events until
//! nothing new follows.
//!
//! **Computes.** For one candidate a small proof that it is impossible, in steps that the checker
//! in `foretrace-witness` accepts; or nothing.
//!
//! **Follows.** `docs/causality.md`, section by section: `seeds` is 2, 3 and 6, `locks` 4,
//! `waiting` 5. It goes in rounds: each rule is applied to what the rounds before have found, so
//! that what is found first has a shallow derivation. A proof is read off backwards (`proof`).
//!
//! **Invariant.** Every fact is derived from facts before it in the list. Deterministic.
//!
//! **Cost.** Dense: a clock for each event that some rule mentions, and no memory of other
//! candidates. For explaining one, and as the reference in tests; what prunes is elsewhere in this
//! crate.

mod locks;
mod nodes;
mod order;
mod proof;
mod seeds;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeSet;

use foretrace_model::Skeleton;
use foretrace_trace::EventId;
use foretrace_verdict::{Fact, Refutation, Rule, Violation};

use crate::scope::Scope;
use locks::Sections;
use nodes::Nodes;
use order::{Changes, Order};

/// A fact and why it holds.
#[derive(Clone, Debug)]
struct Derived {
    fact: Fact,
    rule: Rule,
    /// Facts that hold before it. Program order needs no mention.
    needs: Vec<Fact>,
}

/// In so many rounds each rule sees only what the rounds before have found, which makes for short
/// proofs. Where that is not enough they are long anyway, and each rule sees at once what the
/// others find: otherwise a fact that rests on a thousand others in a row takes a thousand rounds.
const BREADTH_FIRST: u32 = 12;

/// The largest table of clocks that is built: beyond, nothing is derived.
const MOST_CLOCK_ENTRIES: usize = 1 << 28;

/// A proof that no feasible schedule ends in the violation, if the rules give one. `None` for
/// programs, where they do not hold.
pub fn derive(skeleton: &Skeleton, violation: &Violation, scope: Scope) -> Option<Refutation> {
    if skeleton.is_program() {
        return None;
    }
    let seeds = seeds::seeds(skeleton, violation, scope);
    let sections = if scope.has_locks() { Sections::of(skeleton) } else { Sections::default() };
    let nodes = Nodes::new(skeleton.trace, mentioned(skeleton, &seeds, &sections, scope));
    if nodes.len().saturating_mul(skeleton.trace.threads().len()) > MOST_CLOCK_ENTRIES {
        return None;
    }
    let mut order = Order::new(&nodes);
    order.add(seeds);
    for round in 0.. {
        if order.contradictions().next().is_some() {
            break;
        }
        let due = due(skeleton, &sections, scope, &nodes, &order.take_changes());
        let mut found = Vec::new();
        let known = order.facts.len();
        for (_, subject) in due {
            match subject {
                Subject::Section(number) => sections.apply_to(number, &order, &mut found),
                Subject::Waiter(event) => waiting::apply_to(skeleton, event, &order, &mut found),
            }
            if round >= BREADTH_FIRST && !found.is_empty() {
                order.add(std::mem::take(&mut found));
                if order.contradictions().next().is_some() {
                    break;
                }
            }
        }
        order.add(found);
        if order.facts.len() == known {
            return None;
        }
    }
    proof::smallest(&order)
}

/// What a rule is applied to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Subject {
    Section(u32),
    Waiter(EventId),
}

/// What to look at again, in recorded order.
fn due(
    skeleton: &Skeleton,
    sections: &Sections,
    scope: Scope,
    nodes: &Nodes,
    changes: &Changes,
) -> BTreeSet<(EventId, Subject)> {
    let mut due = BTreeSet::new();
    if scope.has_locks() {
        let sections = sections.due(nodes, changes).into_iter();
        due.extend(sections.map(|(open, number)| (open, Subject::Section(number))));
    }
    if scope.has_order() {
        let waiters = waiting::due(skeleton, nodes, changes).into_iter();
        due.extend(waiters.map(|event| (event, Subject::Waiter(event))));
    }
    due
}

/// The events that rules speak of.
fn mentioned(
    skeleton: &Skeleton,
    seeds: &[Derived],
    sections: &Sections,
    scope: Scope,
) -> BTreeSet<EventId> {
    let mut events: BTreeSet<_> = sections.events().collect();
    for seed in seeds {
        match seed.fact {
            Fact::Executed(event) | Fact::NotExecuted(event) => drop(events.insert(event)),
            Fact::Before(first, second) => events.extend([first, second]),
        }
    }
    if scope.has_order() {
        events.extend(waiting::events(skeleton.trace));
    }
    events
}
