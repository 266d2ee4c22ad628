//! Operations that read and write in one step.

use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::provenance::{Differing, Kept, Lost};
use foretrace_words::BinaryOp as WordOp;

use crate::Program;
use crate::libraries::is_openmp;
use crate::records::Access;
use crate::terms::{TermId, Value};
use crate::thread::{Context, Thread};
use crate::told::{Sharing, Told, WalkStep};
use foretrace_image::Op;

impl Thread {
    /// A compare-exchange fails only where it does not find what it expects.
    pub(crate) fn note_difference(
        &mut self,
        context: &mut Context,
        old: Value,
        expected: Value,
        access: Access,
        told: &mut Told,
    ) {
        let expected = self.terms.now(expected);
        let width = 8 * access.size;
        let differs = self.terms.binary(WordOp::Ne, width, old, expected);
        if differs.term == TermId::NONE {
            return;
        }
        let mut after = std::mem::take(&mut told.after);
        let mut context = Context {
            steps: &mut after,
            counts: context.counts,
            stacks: context.stacks,
            program: context.program,
        };
        if differs.known && differs.bits == 1 && self.terms.is_exact(differs) {
            let condition = self.terms.express(differs, context.steps);
            self.tell(&mut context, WalkStep::Branch { condition, taken: true, site: access.site });
            self.terms.fix(differs);
        } else {
            // It may fail for no reason, too; or what it expects is not known.
            self.guard(&mut context, differs, access.site, Kept::CompareExchange);
        }
        told.after = after;
    }

    /// A read-modify-write.
    pub(crate) fn update(
        &mut self,
        context: &mut Context,
        access: Access,
        bits: (u64, u64),
        told: &mut Told,
    ) {
        let program = context.program;
        let Some((_, Some(instruction))) = self.instruction(program) else {
            return self.update_elsewhere(context, access, bits, told);
        };
        let (size, address, operand, expected) = match &instruction.op {
            Op::Rmw { private: false, size, address, value, .. } => (*size, *address, *value, None),
            Op::CompareExchange { private: false, size, address, expected, new, .. } => {
                (*size, *address, *new, Some(*expected))
            }
            _ => return self.update_elsewhere(context, access, bits, told),
        };
        let address = self.value(address);
        if !self.matches(context, access, size, address, instruction.site) {
            return self.update_elsewhere(context, access, bits, told);
        }
        self.demand_object(context, address, access);
        match expected {
            // Whether it stores depends on what is there.
            Some(_) => {
                let why = Kept::AddressOfCompareExchange;
                self.guard_address(context, address, access.site, why);
            }
            None => self.range_address(context, address, access, told),
        }
        let width = 8 * size;
        let operand = self.value(operand);
        // What the event stores must not need a name for a part of which its own read is one.
        self.terms.make_small(operand, context.steps);
        let expected = expected.map(|expected| self.value(expected));
        if let Some(expected) = expected {
            self.terms.make_small(expected, context.steps);
        }
        let old = self.found(context, access, bits.0, told);
        let new = match instruction.op {
            Op::Rmw { op, .. } => self.updated(op, width, old, operand),
            _ => operand,
        };
        if let Some(expected) = expected {
            self.assume_found(context, old, expected, access, told);
        }
        self.put_update(context, access, new, bits.1, told);
        self.set(program, instruction.result, old);
        self.advance();
    }

    /// A compare-exchange stores only where it finds what it expects.
    fn assume_found(
        &mut self,
        context: &mut Context,
        old: Value,
        expected: Value,
        access: Access,
        told: &mut Told,
    ) {
        let equal = self.terms.binary(WordOp::Eq, 8 * access.size, old, expected);
        if equal.term == TermId::NONE {
            return;
        }
        if told.name.is_some() && equal.known && equal.bits == 1 && self.terms.is_exact(equal) {
            told.assumed = Some(self.terms.express(equal, context.steps));
            self.terms.fix(equal);
        } else {
            // What it expects is kept as recorded, and so is what it finds.
            self.guard(context, expected, access.site, Kept::CompareExchange);
            if let Some(name) = told.name {
                let name = Expr::Name(foretrace_trace::NameId(name));
                let found = Box::new(Expr::Literal(old.bits));
                told.assumed = Some(Expr::Binary(BinaryOp::Eq, Box::new(name), found));
                self.terms.fix(old);
            } else {
                self.guard(context, old, access.site, Kept::CompareExchange);
            }
        }
    }

    /// What a read-modify-write leaves. Guards of it would have to come between its two halves:
    /// where one is needed, the event has no expression, and so depends on all that its thread has
    /// read.
    fn put_update(
        &mut self,
        context: &mut Context,
        access: Access,
        new: Value,
        bits: u64,
        told: &mut Told,
    ) {
        let new = self.terms.now(new);
        let is_as_computed = !new.known || new.bits == bits;
        let is_modelled = new.term == TermId::NONE || new.known && self.terms.is_exact(new);
        if access.sharing != Sharing::Shared || is_as_computed && is_modelled {
            return self.put(context, access, new, bits, told);
        }
        context.counts.writes += 1;
        context.counts.concretised += 1;
        if !is_as_computed {
            context.counts.differs(Differing::Stored);
        }
        (told.value, told.assumed) = (None, None);
        self.terms.fix_reads(new);
    }

    /// Whether the thread is in a function that shares work out, or in the part of the runtime that
    /// calls a task.
    pub(crate) fn is_inside_openmp(&self, program: &Program) -> bool {
        if self.frames.is_empty() {
            return true;
        }
        let calls = |op: &Op| matches!(op, Op::Leave { name, .. } if is_openmp(name));
        let instruction = self.instruction(program).and_then(|(_, instruction)| instruction);
        instruction.is_some_and(|instruction| calls(&instruction.op))
    }

    fn update_elsewhere(
        &mut self,
        context: &mut Context,
        access: Access,
        (old, new): (u64, u64),
        told: &mut Told,
    ) {
        if !self.is_inside(context.program) {
            return self.lose(context, Lost::UnexpectedUpdate);
        }
        match access.sharing {
            // A cell of the runtime's own: what it stores depends on what it finds, and on
            // arguments that are as they were.
            Sharing::Shared if self.is_inside_openmp(context.program) => {
                context.counts.guard(Kept::ShareOfWork);
                let (value, name) = self.terms.read(old, 8 * access.size);
                let is_name = Box::new(Expr::Name(foretrace_trace::NameId(name)));
                told.assumed =
                    Some(Expr::Binary(BinaryOp::Eq, is_name, Box::new(Expr::Literal(old))));
                (told.name, told.value) = (Some(name), Some(Expr::Literal(new)));
                self.terms.fix(value);
            }
            Sharing::Own => {
                let value = self.found_own(context, access, old);
                self.guard(context, value, access.site, Kept::ReadByLibrary);
                self.own.store(
                    &mut self.terms,
                    access.address,
                    access.size,
                    Value::number(new),
                    false,
                );
            }
            // Without an expression it depends on all that the thread has read, and on what it
            // finds itself.
            _ => context.counts.guard(Kept::ReadByLibrary),
        }
    }
}
