//! Theory, section 2: names, counting expressions, opaque events.
//!
//! **Computes.** For each event with an expression which event each of its names means, and whether
//! the expression counts. A thread runs a prefix of its events in program order, so a name means
//! the same event in every schedule.
//!
//! **Invariant.** All names of an expression that counts mean reads with a value, or `let`s whose
//! own expression counts. What it uses through `let`s is not listed: that could be quadratic.
//!
//! **Cost.** One pass over the trace, and a word pair per name of an expression. Made only when
//! somebody asks: the models that reproduce every read need it for assertions alone.

use std::sync::{Arc, Mutex};

use foretrace_trace::expr::ExprRef;
use foretrace_trace::text::eval::bound_value;
use foretrace_trace::{EventId, NameId, Op, ThreadId, Trace, ops};
use rustc_hash::FxHashMap;

/// The expressions of a trace.
#[derive(Debug)]
pub(crate) struct Terms {
    terms: FxHashMap<EventId, Term>,
    /// Values of reads that make an assertion fail, or that none were found: see `free_values`.
    pub(crate) failing: Mutex<FxHashMap<EventId, Option<Assignment>>>,
}

/// Values of some reads and `let`s.
pub(crate) type Assignment = Arc<[(EventId, u64)]>;

/// What an event computes: its expression, and what it assumes if it is a read-modify-write.
#[derive(Debug)]
struct Term {
    /// The read, read-modify-write or `let` that each name means, ordered by name.
    names: Box<[(NameId, EventId)]>,
    counts: bool,
    /// What it was worth in the recorded run, if it counts.
    recorded: u64,
}

impl Terms {
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut pass = Pass { trace, meant: FxHashMap::default(), terms: FxHashMap::default() };
        for (event, op) in trace.ops() {
            pass.add(event, op);
        }
        Terms { terms: pass.terms, failing: Mutex::default() }
    }

    /// Whether the event has an expression that counts.
    pub(crate) fn counts(&self, event: EventId) -> bool {
        self.terms.get(&event).is_some_and(|term| term.counts)
    }

    /// Which event each name of the event's expression means; those that mean nothing are left out.
    pub(crate) fn names(&self, event: EventId) -> &[(NameId, EventId)] {
        self.terms.get(&event).map_or(&[], |term| &term.names)
    }

    /// "Opaque events are `external`, and every write, `rmw`, branch, assertion and assumption
    /// without an expression that counts."
    pub(crate) fn is_opaque(&self, trace: &Trace, event: EventId) -> bool {
        match trace.op(event) {
            Op::External => true,
            Op::Write { .. }
            | Op::Rmw { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. } => !self.counts(event),
            ops!(object sync call Read Let RegionBegin RegionEnd Fence) => false,
        }
    }

    /// What a read, a read-modify-write or a `let` gave in the recorded run.
    pub(crate) fn recorded(&self, trace: &Trace, event: EventId) -> Option<u64> {
        recorded(&self.terms, trace, event)
    }

    /// What the event's expression is worth, where `value` knows what reads and `let`s gave.
    pub(crate) fn evaluate(
        &self,
        trace: &Trace,
        event: EventId,
        value: impl Fn(EventId) -> Option<u64>,
    ) -> Option<u64> {
        trace.expression(event)?.evaluate(&|name| value(self.meaning(event, name)?))
    }

    /// What the event's assumption is worth, if it has one.
    pub(crate) fn evaluate_assumption(
        &self,
        trace: &Trace,
        event: EventId,
        value: impl Fn(EventId) -> Option<u64>,
    ) -> Option<u64> {
        trace.assumption(event)?.evaluate(&|name| value(self.meaning(event, name)?))
    }

    fn meaning(&self, event: EventId, name: NameId) -> Option<EventId> {
        let names = self.names(event);
        let index = names.binary_search_by_key(&name, |&(known, _)| known).ok()?;
        Some(names[index].1)
    }
}

fn recorded(terms: &FxHashMap<EventId, Term>, trace: &Trace, event: EventId) -> Option<u64> {
    match trace.op(event) {
        Op::Read { at, value, .. } | Op::Rmw { at, read: value, .. } => bound_value(value, at.size),
        Op::Let => terms.get(&event).filter(|term| term.counts).map(|term| term.recorded),
        ops!(object sync call mark Write Branch Assert Assume) => None,
    }
}

/// The pass over the recorded run.
struct Pass<'a> {
    trace: &'a Trace,
    /// What each name means at this point.
    meant: FxHashMap<(ThreadId, NameId), EventId>,
    terms: FxHashMap<EventId, Term>,
}

impl Pass<'_> {
    fn add(&mut self, event: EventId, op: Op) {
        let thread = self.trace.thread_of(event);
        let binding = self.trace.binding(event);
        // A read-modify-write can use its own name, a `let` cannot.
        let (before, behind) = if op == Op::Let { (None, binding) } else { (binding, None) };
        if let Some(name) = before {
            self.meant.insert((thread, name), event);
        }
        let expression = self.trace.expression(event);
        let assumption = self.trace.assumption(event);
        if expression.is_some() || assumption.is_some() {
            let term = self.term(event, op, expression, assumption);
            self.terms.insert(event, term);
        }
        if let Some(name) = behind {
            self.meant.insert((thread, name), event);
        }
    }

    fn term(
        &self,
        event: EventId,
        op: Op,
        expression: Option<ExprRef<'_>>,
        assumption: Option<ExprRef<'_>>,
    ) -> Term {
        let thread = self.trace.thread_of(event);
        let both = expression.into_iter().chain(assumption);
        let mut used: Vec<NameId> = both.flat_map(ExprRef::names).collect();
        used.sort_unstable();
        used.dedup();
        let meaning = |&name: &NameId| Some((name, *self.meant.get(&(thread, name))?));
        let names: Box<[_]> = used.iter().filter_map(meaning).collect();
        let value = |of| recorded(&self.terms, self.trace, of);
        // A read-modify-write's own value is as good as that of an earlier read.
        let is_known =
            names.len() == used.len() && names.iter().all(|&(_, of)| value(of).is_some());
        let is_stored = match op {
            Op::Write { at, value, .. } | Op::Rmw { at, written: value, .. } => {
                bound_value(value, at.size).is_some()
            }
            ops!(object data sync call mark Read) => true,
        };
        let of_name = |name| names.iter().find(|&&(known, _)| known == name).map(|&(_, of)| of);
        let recorded = expression
            .filter(|_| is_known)
            .and_then(|expr| expr.evaluate(&|name| value(of_name(name)?)));
        let counts = is_stored && recorded.is_some();
        Term { names, counts, recorded: recorded.unwrap_or_default() }
    }
}
