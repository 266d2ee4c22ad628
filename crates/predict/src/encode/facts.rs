//! Facts: order that no schedule avoids, as edges that always hold.
//!
//! **Computes.** For each event that the encoder speaks of, edges from what must come before it in
//! every feasible schedule that executes it. So the order of many pairs is known, and asks for no
//! atom; and writes that a read cannot see are none of its sources.
//!
//! **Follows.** `docs/causality.md`, section 1: e < f says that if f is executed, then e is too,
//! and earlier. What is not executed lies behind X in recorded order, which keeps every such order;
//! so e < f always, in the order of the encoder.
//!
//! **Invariant.** Where an order is taken to be known, the edges that imply it are there: the later
//! of the two events is linked. An event that is there only because another one needs it is not
//! linked: what it needs, the other one needs as well.
//!
//! **Cost.** One look at each thread for each event, unless an earlier event of the thread that
//! needs the same is linked.

use rustc_hash::{FxHashMap, FxHashSet};

use foretrace_causality::Needs;
use foretrace_solve::{Lit, Node};
use foretrace_trace::{EventId, ThreadId};

use super::Encoder;
use crate::fault::{Fault, is_seeded};

/// What is known of the order, and how much of it is in the solver.
pub(super) struct Facts<'s> {
    needs: &'s Needs,
    /// The first event that was linked with a row of needs, by where the row is.
    linked: FxHashMap<usize, EventId>,
    /// Nodes whose needs are not linked.
    waiting: FxHashSet<EventId>,
}

impl<'s> Encoder<'s> {
    /// The same encoder, with order that no schedule avoids. It must hold whatever read may be
    /// free.
    pub(crate) fn with_facts(mut self, needs: Option<&'s Needs>) -> Self {
        self.facts = needs.map(|needs| Facts {
            needs,
            linked: FxHashMap::default(),
            waiting: self.nodes.keys().copied().collect(),
        });
        self
    }

    /// Whether no schedule executes `b` without `a` before it.
    pub(super) fn precedes(&self, a: EventId, b: EventId) -> bool {
        self.precedes_by_threads(a, b) || self.is_known(a, b)
    }

    /// Whether the facts put an event before one of another thread.
    pub(super) fn is_known(&self, a: EventId, b: EventId) -> bool {
        let trace = self.skeleton.trace;
        let Some(facts) = &self.facts else { return false };
        let (from, to) = (trace.thread_of(a), trace.thread_of(b));
        let row = facts.needs.of(to, trace.position(b) as u32);
        let needed = row[from.index()] + u32::from(is_seeded(Fault::FactOffByOne));
        from != to && needed as usize > trace.position(a)
    }

    /// Whether an event of another thread comes before one of these whenever that is executed.
    pub(super) fn is_before_some(&self, a: EventId, some: &[EventId]) -> bool {
        let is_before = |&b: &EventId| {
            let is_any = is_seeded(Fault::HiddenByAny) && a != b;
            is_any || self.precedes(a, b)
        };
        self.facts.is_some() && some.iter().any(is_before)
    }

    /// "`event` is executed", for an event that is a node already; links nothing.
    pub(super) fn included_node(&mut self, event: EventId) -> Lit {
        let node = self.nodes[&event];
        self.solver.before(node, self.moment)
    }

    /// The node of an event, without its needs.
    fn bare_node(&mut self, event: EventId) -> Node {
        if let Some(&node) = self.nodes.get(&event) {
            return node;
        }
        if let Some(facts) = &mut self.facts {
            facts.waiting.insert(event);
        }
        self.new_node(event)
    }

    /// Makes sure that what an event needs comes before it.
    pub(super) fn link(&mut self, event: EventId, node: Node) {
        let trace = self.skeleton.trace;
        let Some(facts) = &mut self.facts else { return };
        facts.waiting.remove(&event);
        let needs = facts.needs;
        let (thread, position) = (trace.thread_of(event), trace.position(event));
        let row = needs.of(thread, position as u32);
        let first = facts.linked.entry(row.as_ptr() as usize).or_insert(EventId(u32::MAX));
        if *first <= event {
            return;
        }
        *first = event;
        for (other, &count) in row.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let other = ThreadId::from(other);
            let earlier = trace.thread_events(other)[count as usize - 1];
            if other != thread && !self.precedes_by_threads(earlier, event) {
                let from = self.bare_node(earlier);
                self.solver.fixed_edge(from, node);
                self.fixed.push((earlier, event));
            }
        }
    }

    /// Whether a node still has to be linked.
    pub(super) fn is_waiting(&self, event: EventId) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.waiting.contains(&event))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use foretrace_causality::{Givers, Locksets, MustHappenBefore, Rules};
    use foretrace_model::Skeleton;
    use foretrace_solve::{Limits, Statistics};
    use foretrace_trace::{Trace, text};
    use foretrace_verdict::Model;
    use foretrace_verdict::Property;

    use super::*;
    use crate::candidates::{self, Context};
    use crate::cells::Cells;
    use crate::encode::{Questions, Terms};
    use crate::goal::{Goals, Verdict};
    use crate::prediction::Granularity;

    /// Four threads hand a cell on by flags with values of their own, and use it and others, under
    /// locks and without.
    fn handed() -> Trace {
        let mut lines = String::from("init x = 0\ninit y = 0\ninit flag = 0\n");
        let mut x = 0;
        for step in 1..60 {
            let thread = step * 7 % 4;
            writeln!(lines, "t{thread}: acquire m").unwrap();
            writeln!(lines, "t{thread}: read flag : {}", step - 1).unwrap();
            writeln!(lines, "t{thread}: release m").unwrap();
            writeln!(lines, "t{thread}: read x : {x}").unwrap();
            x = step % 3;
            writeln!(lines, "t{thread}: write x = {x}").unwrap();
            if step % 5 == 0 {
                writeln!(lines, "t{thread}: write y = {}", step % 2).unwrap();
            }
            writeln!(lines, "t{thread}: acquire m").unwrap();
            writeln!(lines, "t{thread}: write flag = {step}").unwrap();
            writeln!(lines, "t{thread}: release m").unwrap();
        }
        text::parse(&lines).expect("the text is a trace")
    }

    /// Whether each class is violated, and what the solver did for that.
    fn decide(trace: &Trace, has_facts: bool) -> (Vec<bool>, Statistics) {
        let skeleton = Skeleton::new(trace, Model::Values);
        let (order, locksets) = (MustHappenBefore::new(trace), Locksets::new(&skeleton));
        let context = Context {
            skeleton: &skeleton,
            order: &order,
            synchronisation: None,
            locksets: &locksets,
            regions: &[],
            infer_regions: false,
            granularity: Granularity::Event,
            prune: false,
        };
        let listed = candidates::list(&context, &[Property::Race]);
        let needs = Needs::new(&skeleton, &Givers::new(&skeleton), Rules::ANY);
        let cells = Cells::default();
        let mut encoder = Encoder::new(&skeleton, &order, &cells, Questions::Plain)
            .with_facts(needs.as_ref().filter(|_| has_facts));
        let mut goals = Goals::default();
        let mut verdicts = Vec::new();
        for class in listed.classes.iter().step_by(13) {
            let limits = Limits::default();
            let mut terms = Terms::new(limits);
            match goals.decide(&mut encoder, &listed.groups, &class.parts, &mut terms) {
                Verdict::Violated(..) => verdicts.push(true),
                Verdict::Infeasible => verdicts.push(false),
                other => panic!("{other:?}"),
            }
        }
        (verdicts, encoder.solver.statistics())
    }

    #[test]
    fn facts_change_no_verdict_and_save_work() {
        let trace = handed();
        let ((with, less), (without, more)) = (decide(&trace, true), decide(&trace, false));
        println!("with {less:?}\nwithout {more:?}");
        assert_eq!(with, without);
        assert!(with.len() > 100 && with.iter().any(|&violated| !violated));
        assert!(less.solves < more.solves && less.atoms < more.atoms, "{less:?} {more:?}");
        assert!(less.conflicts <= more.conflicts, "{less:?} {more:?}");
    }
}
