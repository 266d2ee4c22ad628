//! Φ_PI: what reads see.
//!
//! The π-function of a read r of a variable with the writers W is, for an included r,
//!
//! ⋁ over w in W: (π = what w leaves) ∧ g(w) ∧ HB(w, r) ∧ ⋀ over w' in W other than w: HB(w', w) ∨
//! HB(r, w')
//!
//! with the initial state as a writer before all others. A read-modify-write is not its own writer.
//! What must happen before decides is folded by `before`: then writes that come too late, that
//! another one kills before r, or that cannot come between are gone (003, section 6).

use foretrace_trace::{EventId, Op, ops};
use foretrace_verdict::{Model, Violation};

use super::{Encoder, Scope};
use crate::formula::{Item, Sort};
use crate::recorded::{Cell, Effect, Expected, UnknownWriter, Update, Variable, Writer};
use crate::term::Term;

impl Encoder<'_> {
    pub(super) fn reads_see_the_last_write(&mut self) {
        self.comment("Phi_PI: each read sees the last write");
        for (event, access) in self.trace.accesses() {
            if !access.reads {
                continue;
            }
            let seen = match self.recorded.memory.unknown_writer(event) {
                Some(UnknownWriter::Private) => Term::TRUE,
                Some(UnknownWriter::Shared) => self.all_earlier_before(event),
                None => self.finds_all(event),
            };
            let seen = Term::or([seen, self.is_free(event)]);
            self.assert(self.included(event).implies(seen));
        }
    }

    /// What the π-functions of all cells of a read say.
    fn finds_all(&self, read: EventId) -> Term {
        let is_pinned = self.is_pinned(read);
        Term::and(self.recorded.memory.sources_of(read).map(|(cell, source)| match is_pinned {
            true => self.finds_the_recorded(read, cell, source),
            false => self.finds_what_is_there(read, cell, source),
        }))
    }

    /// The last write of a cell before the read is this one.
    pub(super) fn sees(&self, read: EventId, writer: Writer, writers: &[EventId]) -> Term {
        let others = writers.iter().filter(|&&other| Some(other) != writer && other != read);
        let not_between = others.map(|&other| {
            let earlier = writer.map_or(Term::FALSE, |writer| self.before(other, writer));
            Term::or([earlier, self.before(read, other)])
        });
        let path = writer.map_or(Term::TRUE, |writer| self.paths[writer.index()].clone());
        let before = writer.map_or(Term::TRUE, |writer| self.before(writer, read));
        if before == Term::FALSE {
            return Term::FALSE;
        }
        Term::and([path, before].into_iter().chain(not_between))
    }

    /// The cell holds what it held in the recorded run.
    fn finds_the_recorded(&self, read: EventId, cell: &Cell, source: Writer) -> Term {
        if self.options.model == Model::ReadsFrom {
            return self.sees(read, source, &cell.writers);
        }
        let expected = self.recorded.memory.expected(self.trace, source, cell);
        self.some_writer(read, cell, |writer| match expected {
            Expected::Contents(source) => Term::Bool(writer == source),
            Expected::Value(value) => {
                let width = 8 * cell.at.size;
                let left = self.left(writer, cell);
                left.map_or(Term::FALSE, |left| left.equals(Term::Word { value, width }))
            }
        })
    }

    /// The read sees what the cell holds: a value, or the own contents of its recorded writer.
    fn finds_what_is_there(&self, read: EventId, cell: &Cell, source: Writer) -> Term {
        let access = self.trace.access(read).expect("a read is an access");
        let offset = cell.at.offset - access.at.offset;
        let pi = || Term::Symbol(super::pi_symbol(read, offset));
        self.some_writer(read, cell, |writer| match self.left(writer, cell) {
            Some(left) => pi().equals(left),
            None if writer != source => Term::FALSE,
            None => self.recorded_part(read, cell).map_or(Term::TRUE, |value| pi().equals(value)),
        })
    }

    /// A writer is fit, and is the last one.
    fn fit_and_seen(&self, fit: Term, at: EventId, writer: Writer, writers: &[EventId]) -> Term {
        if let Term::Bool(false) = fit {
            return fit;
        }
        Term::and([fit, self.sees(at, writer, writers)])
    }

    /// Some writer of the cell that is fit is the last one.
    fn some_writer(&self, read: EventId, cell: &Cell, fit: impl Fn(Writer) -> Term) -> Term {
        let writers = cell.writers.iter().copied().filter(|&writer| writer != read).map(Some);
        Term::or(
            std::iter::once(None)
                .chain(writers)
                .map(|writer| self.fit_and_seen(fit(writer), read, writer, &cell.writers)),
        )
    }

    /// The remote read of an atomicity violation sees anything if nothing that is included shows
    /// what it saw.
    fn is_free(&self, read: EventId) -> Term {
        let is_remote =
            matches!(*self.violation, Violation::Atomicity { remote, .. } if remote == read);
        let is_read = matches!(self.trace.op(read), Op::Read { .. });
        if !is_remote || !is_read || self.options.scope == Scope::Whole {
            return Term::FALSE;
        }
        let joins = self.trace.other_ops().filter_map(|(event, op)| match op {
            Op::Join { child } if child == self.trace.thread_of(read) => Some(event),
            ops!(memory object data sync call mark) => None,
        });
        Term::and(self.trace.next(read).into_iter().chain(joins).map(|event| self.excluded(event)))
    }

    /// Everything recorded before the event is before it.
    fn all_earlier_before(&self, event: EventId) -> Term {
        let others =
            self.trace.thread_ids().filter(|&thread| thread != self.trace.thread_of(event));
        Term::and(others.filter_map(|thread| {
            let events = self.trace.thread_events(thread);
            let earlier = events[..events.partition_point(|&other| other < event)].last();
            earlier.map(|&earlier| self.before(earlier, event))
        }))
    }

    /// Each operation on a variable finds a value that its guard allows.
    pub(super) fn guarded_updates(&mut self, index: usize, variable: &Variable) {
        self.comment(&format!("{}, at first {}", variable.name, variable.initial));
        if variable.is_counter() {
            for update in &variable.updates {
                let symbol = found_symbol(index, update);
                self.formula.items.push(Item::Declare { symbol, sort: Sort::Int });
            }
        }
        for update in &variable.updates {
            self.update(index, variable, update);
        }
    }

    fn update(&mut self, index: usize, variable: &Variable, update: &Update) {
        let is_counter = variable.is_counter();
        if update.guard.is_none() && !is_counter {
            return;
        }
        let writers: Vec<EventId> = variable
            .updates
            .iter()
            .filter(|other| other.effect != Effect::Keep)
            .map(|other| other.event)
            .collect();
        let initial = (None, Term::Int(variable.initial));
        let others = variable.updates.iter().filter(|other| other.event != update.event);
        let left = others.filter_map(|other| match other.effect {
            Effect::Keep => None,
            Effect::Set(value) => Some((Some(other.event), Term::Int(value))),
            Effect::Add(change) => {
                let found = Term::Symbol(found_symbol(index, other));
                Some((Some(other.event), Term::binary("+", found, Term::Int(change))))
            }
        });
        let found = Term::Symbol(found_symbol(index, update));
        let choices = std::iter::once(initial).chain(left).map(|(writer, left)| {
            let fit = match (&left, is_counter) {
                (Term::Int(value), false) => Term::Bool(update.allows(*value)),
                _ => found.clone().equals(left),
            };
            self.fit_and_seen(fit, update.event, writer, &writers)
        });
        let sees = Term::or(choices);
        let guard = match update.guard.filter(|_| is_counter) {
            None => Term::TRUE,
            Some((least, greatest)) => {
                let above = Term::binary("<=", Term::Int(least), found.clone());
                let below = greatest.map(|most| Term::binary("<=", found.clone(), Term::Int(most)));
                Term::and(std::iter::once(above).chain(below))
            }
        };
        self.assert(self.included(update.event).implies(Term::and([sees, guard])));
    }
}

/// The constant for the count that an operation finds.
fn found_symbol(variable: usize, update: &Update) -> String {
    format!("s{variable}.{}", update.event.0)
}
