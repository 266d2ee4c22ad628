//! Section 5: what waiters need.
//!
//! **Computes.** For each notified wake and each successful wait on a semaphore, what comes before
//! all, or so many, of those that may have given what it needs, that it comes before the waiter
//! too.
//!
//! **Cost.** For each condition variable of which something new is known, notified wakes times
//! notifications times threads; likewise for semaphores.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_model::{Cond, Semaphore, Skeleton, Wait};
use foretrace_trace::{CondId, EventId, Op, SemId, Trace, ops};
use foretrace_verdict::{Fact, Rule};

use super::Derived;
use super::nodes::{Node, Nodes};
use super::order::{Changes, Order};

/// The events that the rules mention.
pub(super) fn events(trace: &Trace) -> impl Iterator<Item = EventId> + '_ {
    let is_mentioned = |op: Op| cond_of(op).is_some() || semaphore_of(op).is_some();
    trace.other_ops().filter(move |&(_, op)| is_mentioned(op)).map(|(event, _)| event)
}

fn cond_of(op: Op) -> Option<CondId> {
    match op {
        Op::Wait { cond, .. } | Op::Wake { cond, .. } => Some(cond),
        Op::Signal { cond } | Op::Broadcast { cond } => Some(cond),
        ops!(memory object data lock sem barrier thread call mark Request) => None,
    }
}

fn semaphore_of(op: Op) -> Option<SemId> {
    match op {
        Op::SemWait { sem, .. } | Op::SemPost { sem } => Some(sem),
        ops!(memory object data lock cond barrier thread call mark SemWaitFailed Request) => None,
    }
}

/// The notified wakes and successful waits on semaphores of which more may follow.
pub(super) fn due(skeleton: &Skeleton, nodes: &Nodes, changes: &Changes) -> BTreeSet<EventId> {
    let (mut conds, mut semaphores) = (BTreeSet::new(), BTreeSet::new());
    for &node in changes.nodes.iter().chain(&changes.executed) {
        let op = skeleton.trace.op(nodes.event(node));
        conds.extend(cond_of(op));
        semaphores.extend(semaphore_of(op));
    }
    let waits = conds.into_iter().flat_map(|cond| &skeleton.waiting.cond(cond).waits);
    let mut due: BTreeSet<EventId> = waits.filter_map(Wait::notified).collect();
    due.extend(semaphores.into_iter().flat_map(|sem| &skeleton.waiting.semaphore(sem).waits));
    due
}

/// What follows for a notified wake or a successful wait on a semaphore.
pub(super) fn apply_to(
    skeleton: &Skeleton,
    waiter: EventId,
    order: &Order,
    found: &mut Vec<Derived>,
) {
    if order.is_unexecuted(order.nodes.node(waiter)) {
        return;
    }
    match skeleton.trace.op(waiter) {
        Op::SemWait { sem, .. } => post(waiter, skeleton.waiting.semaphore(sem), order, found),
        ops!(memory object data lock cond barrier thread call mark SemWaitFailed SemPost
            Request) => {
            let (cond, wait) = skeleton.waiting.wait_at(waiter);
            notify(waiter, wait.wait, skeleton.waiting.cond(cond), order, found);
        }
    }
}

/// Events that may give what a waiter needs, and why the others cannot.
struct Givers {
    left: Vec<Node>,
    excluded: Vec<Fact>,
}

impl Givers {
    /// Leaves out what is not executed, what comes after the waiter, and what comes before its
    /// turn.
    fn new(all: &[EventId], turn: Option<EventId>, waiter: EventId, order: &Order) -> Self {
        let node = |event| order.nodes.node(event);
        let mut givers = Givers { left: Vec::new(), excluded: Vec::new() };
        for &event in all {
            let giver = node(event);
            let is_past = |turn: &EventId| order.is_before(giver, node(*turn));
            let early = turn.filter(is_past).map(|turn| Fact::Before(event, turn));
            let late = order.is_before(node(waiter), giver).then_some(Fact::Before(waiter, event));
            let never = order.is_unexecuted(giver).then_some(Fact::NotExecuted(event));
            // By program order, if that says it.
            let is_evident = |fact: &Fact| is_program_order(order, *fact);
            let reasons = [early, late, never].into_iter().flatten();
            match reasons.clone().find(is_evident).or(reasons.last()) {
                Some(reason) => givers.excluded.push(reason),
                None => givers.left.push(giver),
            }
        }
        givers
    }

    /// The order e < waiter by the rule, where e is the thread's last node before at least `count`
    /// of the givers, if that is new.
    fn common(
        &self,
        thread: usize,
        count: usize,
        waiter: EventId,
        rule: Rule,
        order: &Order,
    ) -> Option<Derived> {
        let mut clocks: Vec<u32> =
            self.left.iter().map(|&giver| order.clock_with(giver, thread)).collect();
        clocks.sort_unstable_by(|a, b| b.cmp(a));
        let clock = clocks[count - 1];
        if clock <= order.clock(order.nodes.node(waiter), thread) {
            return None;
        }
        let event = order.at(thread, clock - 1);
        let covered = self.left.iter().filter(|&&giver| order.clock_with(giver, thread) >= clock);
        // First those for which program order is enough, and the event itself.
        let is_evident = |giver: Node| order.nodes.is_up_to(order.nodes.node(event), giver);
        let mut covered: Vec<Node> = covered.copied().collect();
        covered.sort_by_key(|&giver| !is_evident(giver));
        let covers = covered.into_iter().take(count).filter(|&giver| !is_evident(giver));
        let covers = covers.map(|giver| Fact::Before(event, order.nodes.event(giver)));
        let needs = telling(order, self.excluded.iter().copied().chain(covers));
        Some(Derived { fact: Fact::Before(event, waiter), rule, needs })
    }
}

/// Those of the facts from which the others follow by program order.
fn telling(order: &Order, facts: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
    let thread = |event| order.nodes.thread(order.nodes.node(event));
    let (mut executed, mut unexecuted) = (BTreeMap::new(), BTreeMap::new());
    let mut latest: BTreeMap<(usize, EventId), EventId> = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Executed(event) => {
                let late = executed.entry(thread(event)).or_insert(event);
                *late = event.max(*late);
            }
            Fact::NotExecuted(event) => {
                let early = unexecuted.entry(thread(event)).or_insert(event);
                *early = event.min(*early);
            }
            Fact::Before(first, second) => {
                let late = latest.entry((thread(first), second)).or_insert(first);
                *late = first.max(*late);
            }
        }
    }
    let mut earliest: BTreeMap<(EventId, usize), EventId> = BTreeMap::new();
    for ((_, second), first) in latest {
        let early = earliest.entry((first, thread(second))).or_insert(second);
        *early = second.min(*early);
    }
    let executed = executed.into_values().map(Fact::Executed);
    let unexecuted = unexecuted.into_values().map(Fact::NotExecuted);
    let orders = earliest.into_iter().map(|((first, _), second)| Fact::Before(first, second));
    executed.chain(unexecuted).chain(orders).collect()
}

/// Whether a fact needs no reason.
fn is_program_order(order: &Order, fact: Fact) -> bool {
    match fact {
        Fact::Before(first, second) => {
            let (first, second) = (order.nodes.node(first), order.nodes.node(second));
            first != second && order.nodes.is_up_to(first, second)
        }
        Fact::Executed(_) | Fact::NotExecuted(_) => false,
    }
}

fn notify(wake: EventId, wait: EventId, cond: &Cond, order: &Order, found: &mut Vec<Derived>) {
    let node = |event| order.nodes.node(event);
    let mut notifications = [&cond.signals[..], &cond.broadcasts[..]].concat();
    notifications.sort_unstable();
    let givers = Givers::new(&notifications, Some(wait), wake, order);
    if givers.left.is_empty() {
        let fact = Fact::NotExecuted(wake);
        let needs = telling(order, givers.excluded);
        found.push(Derived { fact, rule: Rule::Unnotified, needs });
        return;
    }
    for thread in 0..order.nodes.thread_count() {
        found.extend(givers.common(thread, givers.left.len(), wake, Rule::Notified, order));
    }
    if let [only] = givers.left[..]
        && order.is_executed(node(wake))
        && !order.is_before(node(wait), only)
    {
        let fact = Fact::Before(wait, order.nodes.event(only));
        let is_executed = [Fact::Executed(wake)].into_iter();
        let needs = telling(order, is_executed.chain(givers.excluded));
        found.push(Derived { fact, rule: Rule::Matched, needs });
    }
}

fn post(wait: EventId, semaphore: &Semaphore, order: &Order, found: &mut Vec<Derived>) {
    let node = |event| order.nodes.node(event);
    let is_earlier =
        |other: &&EventId| **other != wait && order.is_before(node(**other), node(wait));
    let earlier: Vec<EventId> = semaphore.waits.iter().filter(is_earlier).copied().collect();
    let needed = (1 + earlier.len()).saturating_sub(semaphore.initial as usize);
    if needed == 0 {
        return;
    }
    let mut givers = Givers::new(&semaphore.posts, None, wait, order);
    givers.excluded.extend(earlier.into_iter().map(|other| Fact::Before(other, wait)));
    let left = givers.left.len();
    if left < needed {
        let fact = Fact::NotExecuted(wait);
        let needs = telling(order, givers.excluded);
        found.push(Derived { fact, rule: Rule::Unposted, needs });
        return;
    }
    for thread in 0..order.nodes.thread_count() {
        found.extend(givers.common(thread, left - needed + 1, wait, Rule::Posted, order));
    }
}
