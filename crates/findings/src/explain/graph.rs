//! The graph of an explanation: the events that matter, by thread, and what orders them.
//!
//! **Computes.** For a proof, an edge for each order that it derives, and from each notification or
//! post that cannot come in time to the wait that needs one; coloured are those that the
//! contradiction is made of. For reasons of the solver, the events that each of them ties together.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_predict::Reason;
use foretrace_report::{Edge, EdgeKind, Graph, Node, ThreadNodes};
use foretrace_trace::EventId;
use foretrace_verdict::{Fact, Refutation, Rule, Violation};

use super::proof::{Proof, ends};
use super::words::Words;

/// The graph of a proof.
pub(super) fn of_proof(
    proof: &Proof,
    violation: &Violation,
    refutation: &Refutation,
    title: String,
) -> Graph {
    let words = proof.telling.words;
    let mut drawing = Drawing::new(violation.events());
    let mut cycle = Cycle::default();
    let (executed, not_executed) = refutation.contradiction;
    cycle.follow(proof, executed);
    cycle.follow(proof, not_executed);
    let event = |step: u32| ends(proof.steps[step as usize].fact).0;
    cycle.stretches.push((event(not_executed), event(executed)));
    cycle.ends.extend([event(not_executed), event(executed)]);
    let is_shown = |rule: Rule| !matches!(rule, Rule::Candidate | Rule::Program | Rule::Chain);
    for step in proof.used().filter(|step| is_shown(step.rule)) {
        match step.fact {
            Fact::Before(from, to) => {
                let on_cycle = cycle.orders.contains(&(from, to));
                drawing.edge(from, to, kind(step.rule), rule_name(step.rule), on_cycle);
            }
            Fact::Executed(event) | Fact::NotExecuted(event) => drawing.add(event),
        }
        if let Some((open, at)) = proof.barred(step) {
            let on_cycle = cycle.obstacles.contains(&(open, at));
            drawing.edge(open, at, EdgeKind::Related, rule_name(step.rule), on_cycle);
        }
        if let Some((earlier, posts, wait)) = proof.counted(step) {
            earlier.into_iter().for_each(|earlier| drawing.add(earlier));
            for post in posts {
                drawing.edge(post, wait, EdgeKind::Related, "may post it before", false);
            }
        }
        for (giver, waiter) in proof.too_late(step) {
            let on_cycle = cycle.obstacles.contains(&(giver, waiter));
            drawing.edge(giver, waiter, EdgeKind::Related, too_late_name(step.rule), on_cycle);
            for &premise in &step.premises {
                if let Fact::NotExecuted(early) = proof.steps[premise as usize].fact
                    && proof.is_up_to(early, giver)
                {
                    drawing.add(early);
                }
            }
        }
        let holds = [ends(step.fact).0, ends(step.fact).1];
        for hold in holds.into_iter().filter_map(|event| proof.telling.recorded.hold_at(event)) {
            if matches!(step.rule, Rule::LockAfter | Rule::LockInside | Rule::LockOrder) {
                drawing.add(hold.open);
                hold.close.into_iter().for_each(|close| drawing.add(close));
            }
        }
        for &premise in &step.premises {
            for (link, from, to) in proof.links(premise) {
                if proof.steps[link as usize].rule == Rule::Candidate {
                    let on_cycle = cycle.orders.contains(&(from, to));
                    drawing.edge(from, to, EdgeKind::Seed, "candidate", on_cycle);
                }
            }
        }
    }
    [executed, not_executed].iter().for_each(|&step| drawing.add(event(step)));
    drawing.finish(words, title, &cycle)
}

/// The graph of the reasons that the solver gives; those without an order of events have no edges.
#[allow(clippy::wildcard_enum_match_arm)]
pub(super) fn of_reasons(
    words: Words,
    violation: &Violation,
    reasons: &[Reason],
    title: String,
) -> Graph {
    let mut drawing = Drawing::new(violation.events());
    for reason in reasons {
        let (label, last) = match reason {
            Reason::Fork { fork, first } => {
                drawing.edge(*fork, *first, EdgeKind::Seed, "fork", true);
                continue;
            }
            Reason::Join { last, join } => {
                drawing.edge(*last, *join, EdgeKind::Seed, "join", true);
                continue;
            }
            Reason::Read { read, .. } | Reason::Value { read, .. } => ("read", Some(*read)),
            Reason::Between { read, .. } => ("not between", Some(*read)),
            Reason::Notified { wake, .. } => ("notifies", Some(*wake)),
            Reason::Round { event, .. } => ("barrier", Some(*event)),
            Reason::Calls { leave, .. } => ("calls", Some(*leave)),
            Reason::Exclusion { first, second, .. } => {
                drawing.edge(first.0, second.0, EdgeKind::Related, "not at once", true);
                [first.1, second.1].into_iter().flatten().for_each(|close| drawing.add(close));
                continue;
            }
            _ => ("", None),
        };
        let events = reason.events();
        events.iter().for_each(|&event| drawing.add(event));
        for &event in events.iter().filter(|&&event| last.is_some_and(|last| last != event)) {
            drawing.edge(event, last.unwrap_or(event), EdgeKind::Related, label, true);
        }
    }
    drawing.finish(words, title, &Cycle::default())
}

fn kind(rule: Rule) -> EdgeKind {
    use EdgeKind::{Induced, Seed};
    match rule {
        Rule::Fork | Rule::Join | Rule::Barrier | Rule::Open | Rule::Alloc | Rule::Call => Seed,
        Rule::Unexplained | Rule::Written => Seed,
        Rule::Candidate | Rule::Program | Rule::Chain | Rule::Need | Rule::Never => Induced,
        Rule::Cycle | Rule::LockAfter | Rule::LockInside | Rule::LockOrder => Induced,
        Rule::Unnotified | Rule::Notified | Rule::Matched => Induced,
        Rule::Unposted | Rule::Posted | Rule::Published => Induced,
    }
}

/// Why a notification or a post is drawn.
fn too_late_name(rule: Rule) -> &'static str {
    let is_post = matches!(rule, Rule::Unposted | Rule::Posted);
    if is_post { "cannot post it before" } else { "cannot notify it" }
}

/// The name of a rule in `docs/causality.md`.
fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Candidate => "candidate",
        Rule::Program => "program",
        Rule::Chain => "chain",
        Rule::Need => "need",
        Rule::Never => "never",
        Rule::Cycle => "cycle",
        Rule::Fork => "fork",
        Rule::Join => "join",
        Rule::Barrier => "barrier",
        Rule::Open => "open",
        Rule::Alloc => "alloc",
        Rule::Call => "call",
        Rule::LockAfter => "lock-after",
        Rule::LockInside => "lock-inside",
        Rule::LockOrder => "lock-order",
        Rule::Unnotified => "unnotified",
        Rule::Notified => "notified",
        Rule::Matched => "matched",
        Rule::Unposted => "unposted",
        Rule::Posted => "posted",
        Rule::Unexplained => "unexplained",
        Rule::Written => "written",
        Rule::Published => "published",
    }
}

/// What the contradiction is made of.
#[derive(Default)]
struct Cycle {
    /// Orders between threads.
    orders: BTreeSet<(EventId, EventId)>,
    /// Parts of threads: from the first event to the second.
    stretches: Vec<(EventId, EventId)>,
    /// Notifications and posts that cannot come in time, and for which wait; holds that stay, and
    /// what cannot be because of them.
    obstacles: BTreeSet<(EventId, EventId)>,
    /// What has to have happened, and what cannot.
    ends: BTreeSet<EventId>,
}

impl Cycle {
    /// Goes back along the orders by which a fact was carried from thread to thread.
    fn follow(&mut self, proof: &Proof, step: u32) {
        let step = &proof.steps[step as usize];
        self.obstacles.extend(proof.barred(step));
        if !matches!(
            step.rule,
            Rule::Need | Rule::Never | Rule::Cycle | Rule::Unnotified | Rule::Unposted
        ) {
            return;
        }
        for (giver, waiter) in proof.too_late(step) {
            self.obstacles.insert((giver, waiter));
            for &premise in &step.premises {
                if let Fact::NotExecuted(early) = proof.steps[premise as usize].fact
                    && proof.is_up_to(early, giver)
                {
                    self.stretches.push((early, giver));
                }
            }
        }
        for &premise in &step.premises {
            let links = proof.links(premise);
            for pair in links.windows(2) {
                self.stretches.push((pair[0].2, pair[1].1));
            }
            if let (Rule::Cycle, [first, .., last] | [first @ last]) = (step.rule, &links[..]) {
                self.stretches.push((last.2, first.1));
            }
            self.orders.extend(links.iter().map(|&(_, from, to)| (from, to)));
            if !matches!(proof.steps[premise as usize].fact, Fact::Before(..)) {
                self.follow(proof, premise);
            }
        }
    }
}

/// A graph so far.
struct Drawing {
    named: Vec<EventId>,
    events: BTreeSet<EventId>,
    /// By their ends, so that each is there once.
    edges: BTreeMap<(EventId, EventId, EdgeKind), (&'static str, bool)>,
}

impl Drawing {
    fn new(named: Vec<EventId>) -> Self {
        Drawing { events: named.iter().copied().collect(), named, edges: BTreeMap::new() }
    }

    fn add(&mut self, event: EventId) {
        self.events.insert(event);
    }

    fn edge(
        &mut self,
        from: EventId,
        to: EventId,
        kind: EdgeKind,
        label: &'static str,
        on_cycle: bool,
    ) {
        self.events.extend([from, to]);
        let (_, known) = self.edges.entry((from, to, kind)).or_insert((label, on_cycle));
        *known |= on_cycle;
    }

    fn finish(self, words: Words, title: String, cycle: &Cycle) -> Graph {
        let mut threads: BTreeMap<_, Vec<EventId>> = BTreeMap::new();
        for &event in &self.events {
            threads.entry(words.trace.thread_of(event)).or_default().push(event);
        }
        let mut edges = Vec::new();
        for events in threads.values() {
            for pair in events.windows(2) {
                let is_on = |&(from, to): &(EventId, EventId)| {
                    from <= pair[0] && pair[1] <= to && events.contains(&from)
                };
                edges.push(Edge {
                    from: pair[0].0,
                    to: pair[1].0,
                    kind: EdgeKind::Program,
                    label: String::new(),
                    on_cycle: cycle.stretches.iter().any(is_on),
                });
            }
        }
        edges.extend(self.edges.iter().map(|(&(from, to, kind), &(label, on_cycle))| Edge {
            from: from.0,
            to: to.0,
            kind,
            label: label.to_string(),
            on_cycle,
        }));
        let node = |&event: &EventId| Node {
            event: event.0,
            label: words.label(event),
            named: self.named.contains(&event),
            contradicted: cycle.ends.contains(&event),
        };
        let threads = threads.iter().map(|(thread, events)| ThreadNodes {
            name: words.trace.name(thread).to_string(),
            nodes: events.iter().map(node).collect(),
        });
        Graph { title, threads: threads.collect(), edges }
    }
}
