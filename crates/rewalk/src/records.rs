//! Records, and the instructions that made them.

use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::provenance::{Differing, Kept, Lost};

use crate::Program;
use crate::terms::{TermId, Value};
use crate::thread::{Context, Phase, Thread, as_recorded};
use crate::told::{Extent, Seen, Sharing, Told, WalkStep};
use foretrace_image::{Op, Terminator};

/// An access of at most 8 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) site: u64,
    pub(crate) address: u64,
    pub(crate) size: u8,
    pub(crate) sharing: Sharing,
    pub(crate) extent: Extent,
    pub(crate) writes: bool,
}

impl Thread {
    /// Does the instruction that made a record. Steps of the context come before the record's
    /// event.
    pub(crate) fn record(&mut self, context: &mut Context, seen: Seen, told: &mut Told) {
        match seen {
            Seen::Path { outcomes, count } => self.outcomes.push(outcomes, count),
            Seen::Enter { function } => self.enter(context, function),
            Seen::Land { function, block } => self.land(context, function, block),
            Seen::Switch { site, value } => self.switch(context, site, value),
            Seen::Call { site, target, is_read } => self.leave(context, site, target, is_read),
            Seen::Return { site, value } => self.come_back(context, site, value),
            Seen::Load { site, address, size, value, sharing, extent } => {
                let access = Access { site, address, size, sharing, extent, writes: false };
                self.load(context, access, value, told);
            }
            Seen::Store { site, address, size, value, sharing, extent } => {
                let access = Access { site, address, size, sharing, extent, writes: true };
                self.store(context, access, value, told);
            }
            Seen::Rmw { site, address, size, old, new, sharing, extent } => {
                let access = Access { site, address, size, sharing, extent, writes: true };
                self.update(context, access, (old, new), told);
            }
            Seen::LoadRange { address, bytes, sharing } => {
                self.load_range(context, address, bytes, sharing, told);
            }
            Seen::StoreRange { address, bytes, sharing } => {
                self.store_range(context, address, bytes, sharing);
            }
            Seen::Fence => self.plain(context, |op| matches!(op, Op::Fence { recorded: true })),
            Seen::Region => self.plain(context, |op| matches!(op, Op::Mark { region: true, .. })),
            Seen::Assert { site, holds } => self.assert(context, site, holds, told),
            Seen::Alloc { .. } | Seen::Free { .. } | Seen::Fork { .. } | Seen::Other => {}
        }
    }

    /// Whether code without an image is at work.
    pub(crate) fn is_inside(&self, program: &Program) -> bool {
        match self.frames.last() {
            Some(frame) if matches!(frame.phase, Phase::Ready) => {
                // The unwinder goes on, until something lands.
                let block =
                    &program.functions[frame.function as usize].blocks[frame.block as usize];
                frame.index as usize >= block.instructions.len()
                    && matches!(block.terminator, Terminator::Resume)
            }
            Some(frame) => matches!(frame.phase, Phase::Inside { .. } | Phase::Hooked),
            // Before the first function and behind the last one.
            None => true,
        }
    }

    fn switch(&mut self, context: &mut Context, site: u64, value: u64) {
        let program = context.program;
        if let Some((_, Some(instruction))) = self.instruction(program)
            && let Op::Copy { size_recorded: true, size, .. }
            | Op::Fill { size_recorded: true, size, .. } = &instruction.op
            && let Some(Phase::Ready) = self.frames.last().map(|frame| &frame.phase)
            && program.may_be(site, instruction.site)
        {
            let size = self.value(*size);
            if size.known && size.bits != value {
                return self.lose(context, Lost::CopySize);
            }
            self.guard(context, size, site, Kept::CopySize);
            self.begin_copy(context, instruction, Some(value));
            return;
        }
        if let Some((function, None)) = self.instruction(program)
            && let Some(frame) = self.frames.last()
            && let terminator = &function.blocks[frame.block as usize].terminator
            && let Terminator::Switch { site: own, constant: false, .. } = terminator
            && program.may_be(site, *own)
        {
            return self.take_switch(context, terminator, value);
        }
        self.lose(context, Lost::UnexpectedSwitch);
    }

    /// A record of an instruction that computes nothing.
    fn plain(&mut self, context: &mut Context, is_it: impl Fn(&Op) -> bool) {
        match self.instruction(context.program) {
            Some((_, Some(instruction))) if is_it(&instruction.op) => self.advance(),
            _ if self.is_inside(context.program) => {}
            _ => self.lose(context, Lost::UnexpectedOperation),
        }
    }

    fn assert(&mut self, context: &mut Context, site: u64, holds: bool, told: &mut Told) {
        let program = context.program;
        if self.is_inside(context.program) {
            // The C library reports what failed: the branch before, if that depends on reads.
            told.is_told = !holds && self.has_failed;
            told.value = Some(Expr::Literal(holds.into()));
            return;
        }
        let Some((_, Some(instruction))) = self.instruction(program) else {
            return self.lose(context, Lost::UnexpectedAssertion);
        };
        let Op::Assert { condition } = instruction.op else {
            return self.lose(context, Lost::UnexpectedAssertion);
        };
        let condition = self.value(condition);
        if condition.known && (condition.bits != 0) != holds
            || !program.may_be(site, instruction.site)
        {
            return self.lose(context, Lost::AssertionOtherWay);
        }
        told.value = Some(if condition.term == TermId::NONE {
            Expr::Literal(holds.into())
        } else if condition.known && self.terms.is_exact(condition) {
            let value = self.terms.express(condition, context.steps);
            Expr::Binary(BinaryOp::Ne, Box::new(value), Box::new(Expr::Literal(0)))
        } else {
            context.counts.concretised += 1;
            self.guard(context, condition, site, Kept::ConditionNotModelled);
            Expr::Literal(holds.into())
        });
        self.advance();
    }

    /// Whether the record is one of the instruction that is next, and what it accesses what was
    /// computed.
    pub(crate) fn matches(
        &self,
        context: &Context,
        access: Access,
        size: u8,
        address: Value,
        site: u64,
    ) -> bool {
        let is_ready = matches!(self.frames.last().map(|frame| &frame.phase), Some(Phase::Ready));
        is_ready
            && size == access.size
            && (!address.known || address.bits == access.address)
            && context.program.may_be(access.site, site)
    }

    /// What a load finds.
    pub(crate) fn found(
        &mut self,
        context: &mut Context,
        access: Access,
        bits: u64,
        told: &mut Told,
    ) -> Value {
        match access.sharing {
            Sharing::Shared => {
                let (value, name) = self.terms.read(bits, 8 * access.size);
                told.name = Some(name);
                value
            }
            Sharing::Own => self.found_own(context, access, bits),
            Sharing::Parts => {
                context.counts.guard(Kept::PartlySharedRead);
                told.after.push(WalkStep::Opaque);
                for value in
                    self.own.values(access.address, access.address + u64::from(access.size))
                {
                    self.guard(context, value, access.site, Kept::PartlySharedRead);
                }
                Value::number(bits)
            }
        }
    }

    pub(crate) fn found_own(&mut self, context: &mut Context, access: Access, bits: u64) -> Value {
        let value = self.own.load(&mut self.terms, access.address, access.size, Some(bits));
        let value = self.terms.now(value);
        if value.known && value.bits != bits {
            // Somebody without hooks wrote here, and may have used what was there.
            context.counts.differs(Differing::PrivateMemory);
            self.guard(context, value, access.site, Kept::ChangedMemory);
            let end = access.address + u64::from(access.size);
            self.own.cut_out(&mut self.terms, access.address, end);
            return Value::number(bits);
        }
        Value { bits, known: true, ..value }
    }

    fn load(&mut self, context: &mut Context, access: Access, bits: u64, told: &mut Told) {
        let program = context.program;
        if let Some((_, Some(instruction))) = self.instruction(program) {
            match &instruction.op {
                Op::Load { private: false, size, address, .. } => {
                    let address = self.value(*address);
                    if self.matches(context, access, *size, address, instruction.site) {
                        self.demand_object(context, address, access);
                        self.range_address(context, address, access, told);
                        let value = self.found(context, access, bits, told);
                        self.set(program, instruction.result, value);
                        return self.advance();
                    }
                }
                // A compare-exchange that failed.
                Op::CompareExchange { private: false, size, address, expected, .. } => {
                    let (address, expected) = (self.value(*address), self.value(*expected));
                    if self.matches(context, access, *size, address, instruction.site) {
                        self.demand_object(context, address, access);
                        let why = Kept::AddressOfCompareExchange;
                        self.guard_address(context, address, access.site, why);
                        let old = self.found(context, access, bits, told);
                        self.note_difference(context, old, expected, access, told);
                        self.set(program, instruction.result, old);
                        return self.advance();
                    }
                }
                Op::Copy { .. } | Op::LoadWide { .. } => {
                    return self.load_piece(context, access, bits, told);
                }
                _ => {}
            }
        }
        self.load_elsewhere(context, access, bits, told);
    }

    /// A load by code without an image: what it does may depend on what it finds.
    fn load_elsewhere(
        &mut self,
        context: &mut Context,
        access: Access,
        bits: u64,
        told: &mut Told,
    ) {
        if !self.is_inside(context.program) {
            return self.lose(context, Lost::UnexpectedLoad);
        }
        let value = self.found(context, access, bits, told);
        match told.name {
            Some(name) => {
                context.counts.guard(Kept::ReadByLibrary);
                told.after.push(as_recorded(name, bits, access.site));
                self.terms.fix(value);
            }
            None => self.guard(context, value, access.site, Kept::ReadByLibrary),
        }
    }

    fn store(&mut self, context: &mut Context, access: Access, bits: u64, told: &mut Told) {
        let program = context.program;
        if let Some((_, Some(instruction))) = self.instruction(program) {
            match &instruction.op {
                Op::Store { private: false, size, address, value, .. } => {
                    let (address, value) = (self.value(*address), self.value(*value));
                    if self.matches(context, access, *size, address, instruction.site) {
                        self.demand_object(context, address, access);
                        self.range_address(context, address, access, told);
                        self.put(context, access, value, bits, told);
                        return self.advance();
                    }
                }
                Op::Copy { .. } | Op::Fill { .. } | Op::StoreWide { .. } => {
                    return self.store_piece(context, access, bits, told);
                }
                _ => {}
            }
        }
        if !self.is_inside(context.program) {
            return self.lose(context, Lost::UnexpectedStore);
        }
        if self.is_inside_openmp(program) {
            // What it stores may depend on what is there.
            let end = access.address + u64::from(access.size);
            let mut values = self.own.values(access.address, end);
            values.extend(self.published.values(access.address, end));
            for value in values {
                self.guard(context, value, access.site, Kept::LoopBounds);
            }
        }
        self.put(context, access, Value::number(bits), bits, told);
    }

    /// What a store leaves.
    pub(crate) fn put(
        &mut self,
        context: &mut Context,
        access: Access,
        value: Value,
        bits: u64,
        told: &mut Told,
    ) {
        let mut value = self.terms.now(value);
        if value.known && value.bits != bits {
            // The term is wrong, so what it says of reads may be too.
            context.counts.differs(Differing::Stored);
            context.steps.push(WalkStep::Opaque);
            value = Value::number(bits);
        }
        value = Value { bits, known: true, ..value };
        match access.sharing {
            Sharing::Own => {
                self.own.store(&mut self.terms, access.address, access.size, value, false);
            }
            Sharing::Shared => {
                context.counts.writes += 1;
                told.value = Some(self.stored(context, value, access.site));
                self.published.store(&mut self.terms, access.address, access.size, value, false);
            }
            Sharing::Parts => {
                context.counts.writes += 1;
                self.guard(context, value, access.site, Kept::PartlySharedStore);
                let end = access.address + u64::from(access.size);
                self.own.cut_out(&mut self.terms, access.address, end);
            }
        }
    }

    /// The expression of what is stored.
    fn stored(&mut self, context: &mut Context, value: Value, site: u64) -> Expr {
        if value.term == TermId::NONE {
            return Expr::Literal(value.bits);
        }
        if self.terms.is_exact(value) {
            context.counts.expressed += 1;
            return self.terms.express(value, context.steps);
        }
        context.counts.concretised += 1;
        self.guard(context, value, site, Kept::ValueNotModelled);
        Expr::Literal(value.bits)
    }
}
