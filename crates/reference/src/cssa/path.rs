//! Φ_VD and the path conditions: what events compute from what their threads have read, and what
//! keeps them on their recorded path.
//!
//! Under `reads-from` and `values` every read sees what it saw, so every condition and every stored
//! value is as recorded and nothing is left of them here but what the asked assertion uses.

use foretrace_trace::expr::ExprRef;
use foretrace_trace::{EventId, Op, ops};
use foretrace_verdict::{Model, Violation};

use super::{Encoder, Scope, pi_symbol};
use crate::expression;
use crate::formula::{Item, Sort};
use crate::recorded::{Cell, Expected, Writer, part};
use crate::term::Term;

impl Encoder<'_> {
    /// Whether what is computed depends on more than the recorded run.
    fn is_symbolic(&self) -> bool {
        self.options.model == Model::Symbolic
    }

    /// Φ_VD
    pub(super) fn definitions(&mut self) {
        if !self.is_symbolic() && !matches!(self.violation, Violation::Assertion(_)) {
            return;
        }
        self.comment("Phi_VD: what is named, and what is stored");
        for thread in self.trace.thread_ids() {
            for &event in self.trace.thread_events(thread) {
                let Some(expr) = self.trace.expression(event) else { continue };
                match self.trace.op(event) {
                    Op::Let if self.recorded.data.is_valued(event) => {
                        let term = self.word(event, expr);
                        self.define(format!("let{}", event.0), Sort::BitVec(64), term);
                    }
                    Op::Write { at, .. } | Op::Rmw { at, .. } if self.is_defined(event) => {
                        let width = 8 * at.size;
                        let value = self.word(event, expr).bits(0, width, 64);
                        self.define(stored_symbol(event), Sort::BitVec(width), value);
                    }
                    ops!(memory object data sync call mark) => {}
                }
            }
        }
    }

    /// Names a term: in summarised form by a definition, which is nothing but a short name, else by
    /// a variable with an equation.
    fn define(&mut self, symbol: String, sort: Sort, term: Term) {
        if self.options.summarise {
            return self.formula.items.push(Item::Define { symbol, sort, term });
        }
        self.formula.items.push(Item::Declare { symbol: symbol.clone(), sort });
        self.assert(Term::Symbol(symbol).equals(term));
    }

    /// Whether a write has a name of its own for what it stores; else that is what was recorded.
    fn is_defined(&self, write: EventId) -> bool {
        let is_constant = self.trace.expression(write).is_none_or(|expr| expr.literal().is_some());
        self.is_symbolic() && self.recorded.data.counts(write) && !is_constant
    }

    /// What a writer leaves in a cell; `None` if it has no value.
    pub(super) fn left(&self, writer: Writer, cell: &Cell) -> Option<Term> {
        match writer {
            Some(event) if self.is_defined(event) => {
                let at = self.trace.access(event).expect("only accesses write").at;
                let low = 8 * (cell.at.offset - at.offset);
                Some(Term::Symbol(stored_symbol(event)).bits(low, 8 * cell.at.size, 8 * at.size))
            }
            _ => {
                let value = self.recorded.memory.left(self.trace, writer, cell)?;
                Some(Term::Word { value, width: 8 * cell.at.size })
            }
        }
    }

    /// The word that an expression of the event gives.
    fn word(&self, event: EventId, expr: ExprRef<'_>) -> Term {
        expression::word(&expr.tree(), &|name| {
            self.meaning(self.recorded.data.meaning(event, name))
        })
    }

    /// Whether an expression of the event is not 0.
    pub(super) fn truth(&self, event: EventId, expr: ExprRef<'_>) -> Term {
        expression::truth(&expr.tree(), &|name| {
            self.meaning(self.recorded.data.meaning(event, name))
        })
    }

    /// The word that a name means which this event binds.
    fn meaning(&self, event: EventId) -> Term {
        let Some(access) = self.trace.access(event) else {
            return Term::Symbol(format!("let{}", event.0));
        };
        let width = 8 * access.at.size;
        if self.is_pinned(event) {
            let value =
                self.trace.values(event).0.expect("expressions that count use valued reads");
            return Term::Word { value, width: 64 };
        }
        let mut value: Option<Term> = None;
        for cell in self.recorded.memory.cells_of(event) {
            let pi = Term::Symbol(pi_symbol(event, cell.at.offset - access.at.offset));
            // The first byte is the lowest one.
            value = Some(match value {
                None => pi,
                Some(lower) => Term::binary("concat", pi, lower),
            });
        }
        value.expect("an access has a byte").as_word(width)
    }

    /// Defines g(e), and asserts it of included events.
    pub(super) fn path_conditions(&mut self) {
        self.comment("path conditions");
        for thread in self.trace.thread_ids() {
            let mut path = Term::TRUE;
            // Reads that no opaque event has asked to be as recorded so far.
            let mut open_reads = Vec::new();
            for &event in self.trace.thread_events(thread) {
                if self.trace.access(event).is_some_and(|access| access.reads) {
                    open_reads.push(event);
                }
                let condition = self.condition(event, &mut open_reads);
                if condition != Term::TRUE {
                    let symbol = format!("g{}", event.0);
                    let term = Term::and([path, condition]);
                    path = Term::Symbol(symbol.clone());
                    self.define(symbol, Sort::Bool, term);
                    self.assert(self.included(event).implies(path.clone()));
                }
                self.paths[event.index()] = path.clone();
            }
        }
    }

    /// What the event's own step asks of what its thread has read.
    fn condition(&self, event: EventId, open_reads: &mut Vec<EventId>) -> Term {
        let is_asked = *self.violation == Violation::Assertion(event);
        if !self.is_symbolic() || (is_asked && self.options.scope == Scope::Whole) {
            return Term::TRUE;
        }
        if self.recorded.data.is_opaque(self.trace, event) {
            return Term::and(open_reads.drain(..).map(|read| self.as_recorded(read)));
        }
        let Some(expr) = self.trace.expression(event) else { return Term::TRUE };
        match self.trace.op(event) {
            Op::Branch { taken: outcome } | Op::Assume { holds: outcome } => {
                let holds = self.truth(event, expr);
                if outcome { holds } else { holds.negated() }
            }
            Op::Assert { holds: true } => self.truth(event, expr),
            Op::Rmw { .. } => match self.trace.assumption(event) {
                Some(assumption) => self.truth(event, assumption),
                None => Term::TRUE,
            },
            ops!(object sync call mark Read Write Let Assert) => Term::TRUE,
        }
    }

    /// Every byte of the read holds the identity that it held in the recorded run.
    pub(super) fn as_recorded(&self, read: EventId) -> Term {
        if self.is_pinned(read) {
            return Term::TRUE;
        }
        let access = self.trace.access(read).expect("a read is an access");
        Term::and(self.recorded.memory.sources_of(read).map(|(cell, source)| {
            match self.recorded.memory.expected(self.trace, source, cell) {
                Expected::Value(value) => {
                    let width = 8 * cell.at.size;
                    let pi = Term::Symbol(pi_symbol(read, cell.at.offset - access.at.offset));
                    pi.equals(Term::Word { value, width })
                }
                Expected::Contents(source) => self.sees(read, source, &cell.writers),
            }
        }))
    }

    /// What the read saw in the recorded run in a cell, if it has a value.
    pub(super) fn recorded_part(&self, read: EventId, cell: &Cell) -> Option<Term> {
        let access = self.trace.access(read).expect("a read is an access");
        let value = self.trace.values(read).0.filter(|_| access.at.size <= 8)?;
        let value = part(value, access.at, cell.at);
        Some(Term::Word { value, width: 8 * cell.at.size })
    }
}

/// The constant for what a write stores: a definition of the paper's x₁, x₂, ...
fn stored_symbol(write: EventId) -> String {
    format!("x{}", write.0)
}
