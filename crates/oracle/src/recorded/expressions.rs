//! Expressions: what their names mean, which of them count, and which events are opaque.

use std::collections::BTreeMap;

use foretrace_trace::expr::{Expr, ExprRef};
use foretrace_trace::*;
use foretrace_verdict::Model;

use super::Recorded;
use crate::event_set::EventSet;
use crate::term::Term;

/// The expressions of an event, by what the recorded run says of them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Expressions {
    /// What it stores or tests, if that counts.
    pub(crate) counting: Option<Term>,
    /// What a read-modify-write assumes, if that counts.
    pub(crate) assumed: Option<Term>,
    /// The reads that its expressions use, whether they count or not.
    pub(crate) uses: EventSet,
}

impl Recorded<'_> {
    pub(super) fn find_expressions(&mut self) {
        let mut meanings: BTreeMap<(ThreadId, NameId), Term> = BTreeMap::new();
        for row in 0..self.ops.len() {
            let event = EventId::from(row);
            let (thread, op) = (self.trace.thread_of(event), self.op(event));
            let is_let = op == Op::Let;
            // A read-modify-write can use its own name; a `let` means the earlier one by its name.
            if let (Some(name), false) = (self.trace.binding(event), is_let) {
                meanings.insert((thread, name), Term::Read(event));
            }
            let resolved = |expr: Option<ExprRef>| {
                expr.map(|expr| {
                    resolve(&expr.tree(), &|name| meanings.get(&(thread, name)).cloned())
                })
            };
            let expression = resolved(self.trace.expression(event));
            let assumption = resolved(self.trace.assumption(event));
            if let (Some(name), true, Some(term)) = (self.trace.binding(event), is_let, &expression)
            {
                meanings.insert((thread, name), term.clone());
            }
            let uses = [&expression, &assumption].into_iter().flatten();
            let uses = uses.fold(EventSet::default(), |all, term| all.with(term.reads()));
            let counts = |term: &Term| self.counts(event, term);
            let assumes_nothing_else = assumption.as_ref().is_none_or(counts);
            let counting = expression.filter(|term| counts(term) && assumes_nothing_else);
            let assumed = assumption.filter(counts);
            let may_be_opaque = matches!(
                op,
                Op::Write { .. }
                    | Op::Rmw { .. }
                    | Op::Branch { .. }
                    | Op::Assert { .. }
                    | Op::Assume { .. }
            );
            if op == Op::External || (may_be_opaque && counting.is_none()) {
                self.opaque.insert(event);
            }
            self.expressions.push(Expressions { counting, assumed, uses });
        }
        self.find_last_needs();
    }

    /// Whether an expression of this event counts.
    fn counts(&self, event: EventId, term: &Term) -> bool {
        let stored = match self.op(event) {
            Op::Write { at, value, .. } | Op::Rmw { at, written: value, .. } => {
                value.is_some() && at.size <= 8
            }
            ops!(object data sync call mark Read) => true,
        };
        stored && term.reads().iter().all(|read| self.read_value(read).is_some())
    }

    /// What a read, or the read half of a read-modify-write, saw in the recorded run, if that is
    /// known.
    pub(crate) fn read_value(&self, read: EventId) -> Option<u64> {
        match self.op(read) {
            Op::Read { at, value, .. } | Op::Rmw { at, read: value, .. } if at.size <= 8 => value,
            ops!(memory object data sync call mark) => None,
        }
    }

    /// For each read the last event of its thread that depends on what it saw.
    fn find_last_needs(&mut self) {
        self.last_need = vec![None; self.ops.len()];
        for (event, _) in self.trace.events() {
            let depends_on = |read: EventId| {
                self.opaque.contains(event) || self.expressions[event.index()].uses.contains(read)
            };
            for &read in self.trace.thread_events(self.trace.thread_of(event)) {
                if read <= event && depends_on(read) {
                    self.last_need[read.index()] = Some(event);
                }
            }
        }
    }

    /// The reads that an assertion releases under this model.
    pub(crate) fn released_by(&self, assertion: EventId) -> EventSet {
        match self.model {
            Model::ReadsFrom | Model::Values => self.releasable(assertion),
            Model::Symbolic | Model::Control => EventSet::default(),
        }
    }

    /// The reads that an assertion releases where all others are pinned.
    pub(crate) fn releasable(&self, assertion: EventId) -> EventSet {
        let mut all = EventSet::default();
        let is_assertion = matches!(self.op(assertion), Op::Assert { .. });
        let Some(asserted) = &self.expressions[assertion.index()].counting else { return all };
        if !is_assertion || self.trace.dependences() == Dependences::Unknown {
            return all;
        }
        for read in asserted.reads().iter() {
            let is_read = matches!(self.op(read), Op::Read { .. });
            let thread = self.trace.thread_of(read);
            let between = self.trace.position(read) + 1..self.trace.position(assertion);
            let needed = self.trace.thread_events(thread)[between].iter().any(|&event| {
                self.opaque.contains(event) || self.expressions[event.index()].uses.contains(read)
            });
            if is_read && !self.unknown_writer.contains(read) && !needed {
                all.insert(read);
            }
        }
        all
    }
}

/// The expression with its names replaced by what they mean. A name without a meaning, which no
/// valid trace has, is 0.
fn resolve(expr: &Expr, meaning: &dyn Fn(NameId) -> Option<Term>) -> Term {
    let part = |expr: &Expr| Box::new(resolve(expr, meaning));
    match expr {
        Expr::Literal(word) => Term::Word(*word),
        Expr::Name(name) => meaning(*name).unwrap_or(Term::Word(0)),
        Expr::Unary(op, operand) => Term::Unary(*op, part(operand)),
        Expr::Binary(op, left, right) => Term::Binary(*op, part(left), part(right)),
        Expr::IfThenElse(condition, then, otherwise) => {
            Term::If(part(condition), part(then), part(otherwise))
        }
    }
}
