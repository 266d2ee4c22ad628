//! What instructions become.

use foretrace_model::terms::{SymbolId, TermId};
use foretrace_program::ir::{
    BinaryOp, Callee, Cast, Instruction, MemoryOrder, Op, Operand, RegisterId, RmwOp, Site, SyncRef,
};
use foretrace_trace::{self as trace, EventId, ObjectId, Place};

use crate::value::Value;
use crate::walk::{Context, Frame};
use crate::{Origin, Part, Summariser, Unsupported};

impl Summariser<'_> {
    /// What a read sees.
    pub(crate) fn symbol(&mut self, event: EventId, width: u32) -> TermId {
        self.terms.symbol(SymbolId(event.0), width)
    }

    /// The bits that an operand is.
    pub(crate) fn bits(
        &mut self,
        frame: &Frame,
        operand: Operand,
        site: Site,
    ) -> Result<TermId, Unsupported> {
        let value = self.operand(frame, operand);
        let Value::Bits(bits) = value else {
            return self.unsupported(format!("{} as a number", value.kind()), site);
        };
        Ok(bits)
    }

    /// Walks an instruction. Whether the thread can go on behind it.
    pub(crate) fn instruction(
        &mut self,
        context: &mut Context,
        frame: &mut Frame,
        instruction: &Instruction,
        site: Site,
    ) -> Result<bool, Unsupported> {
        let step = Origin { site, part: Part::Step };
        let mut result = None;
        match &instruction.op {
            Op::Binary { op, left, right } => {
                result = Some(self.binary(frame, *op, *left, *right, site)?);
            }
            Op::Cast { cast, value } => {
                let value = self.bits(frame, *value, site)?;
                let width = self.result_width(frame, instruction);
                result = Some(Value::Bits(match cast {
                    Cast::ZeroExtend => self.terms.zext(value, width),
                    Cast::SignExtend => self.terms.sext(value, width),
                    Cast::Truncate => self.terms.trunc(value, width),
                }));
            }
            Op::Select { condition, then, otherwise } => {
                let condition = self.bits(frame, *condition, site)?;
                let (a, b) = (self.operand(frame, *then), self.operand(frame, *otherwise));
                result = Some(self.either(condition, a, b, site)?);
            }
            Op::Load { .. } | Op::Store { .. } | Op::Rmw { .. } | Op::CompareExchange { .. } => {
                result = self.access(context, frame, &instruction.op, step)?.map(Value::Bits);
            }
            Op::Fence { .. } => {}
            Op::Slot { size } => match instruction.result {
                Some(register) if self.private[frame.id.index()].contains(&register) => {
                    let slot = self.slots.len() as u32;
                    self.slots.push(*size);
                    result = Some(Value::Slot { slot, offset: 0 });
                }
                _ => {
                    return self
                        .unsupported("stack memory whose address leaves its function", site);
                }
            },
            Op::Alloc { .. } | Op::Free { .. } | Op::SizeOf { .. } => {
                return self.unsupported("heap memory", site);
            }
            Op::Call { callee: Callee::Direct(callee), args } => {
                let args = self.operands(frame, args);
                let here = context.clone();
                match self.call(here, *callee, args)? {
                    Some((after, value)) => {
                        *context = after;
                        result = value;
                    }
                    None => return Ok(false),
                }
            }
            Op::Call { .. } => return self.unsupported("an indirect call", site),
            Op::External { .. } => {
                let part = if instruction.result.is_some() { Part::Input } else { Part::Step };
                let origin = Origin { site, part };
                let event =
                    self.emit(context.thread, trace::Op::External, context.condition, origin);
                if instruction.result.is_some() {
                    let width = self.result_width(frame, instruction);
                    result = Some(Value::Bits(self.symbol(event, width)));
                }
            }
            Op::Acquire { lock: SyncRef::Named(lock), mode, patience } => {
                result = self.acquire(context, *lock, *mode, *patience, site)?.map(Value::Bits);
            }
            Op::Release { lock: SyncRef::Named(lock), mode } => {
                self.release(context, *lock, *mode, site);
            }
            Op::SemWait { sem: SyncRef::Named(sem), patience } => {
                result = self.semaphore_wait(context, *sem, *patience, site).map(Value::Bits);
            }
            Op::SemPost { sem: SyncRef::Named(sem) } => self.semaphore_post(context, *sem, site),
            Op::Wait { .. } | Op::Signal { .. } | Op::Broadcast { .. } => {
                return self.unsupported("a condition variable", site);
            }
            Op::Barrier { .. } => return self.unsupported("a barrier", site),
            Op::Current => return self.unsupported("a thread's own handle", site),
            Op::Own { .. } => return self.unsupported("a thread's own variable", site),
            Op::Acquire { .. } | Op::Release { .. } | Op::SemWait { .. } | Op::SemPost { .. } => {
                return self.unsupported("synchronisation by address", site);
            }
            Op::Fork { callee: Callee::Direct(callee), args } => {
                let args = self.operands(frame, args);
                result = Some(self.fork(context, *callee, args, site)?);
            }
            Op::Fork { .. } => {
                return self.unsupported("a thread by the address of its function", site);
            }
            Op::Join { thread } => {
                let value = self.operand(frame, *thread);
                let Value::Thread(child) = value else {
                    return self.unsupported(format!("a join of {}", value.kind()), site);
                };
                self.join(context, child, step);
            }
            Op::Assert { condition } => {
                let condition = self.bits(frame, *condition, site)?;
                let wrong = self.terms.not(condition);
                // Also one that always holds: every assertion has a verdict.
                let op = trace::Op::Assert { holds: true };
                let origin = Origin { site, part: Part::Assertion };
                let event = self.emit(context.thread, op, context.condition, origin);
                let right = self.terms.not(wrong);
                self.results.insert(event, right);
            }
            Op::Assume { condition } => {
                let condition = self.bits(frame, *condition, site)?;
                let wrong = self.terms.not(condition);
                self.block_here(context, wrong, Origin { site, part: Part::Local });
            }
            Op::SectionBegin | Op::SectionEnd => {
                return self.unsupported("an exclusive section", site);
            }
            Op::RegionBegin | Op::RegionEnd => {
                if self.terms.as_constant(context.condition) != Some(1) {
                    return self
                        .unsupported("an atomic region that begins or ends in a branch", site);
                }
                let begins = matches!(instruction.op, Op::RegionBegin);
                let op = if begins { trace::Op::RegionBegin } else { trace::Op::RegionEnd };
                let origin = Origin { site, part: Part::Local };
                self.emit(context.thread, op, context.condition, origin);
            }
        }
        if let (Some(register), Some(value)) = (instruction.result, result) {
            frame.registers.insert(register, value);
        }
        Ok(true)
    }

    /// The thread does not go on here if this is so.
    pub(crate) fn block_here(&mut self, context: &Context, if_so: TermId, origin: Origin) {
        let op = trace::Op::Assume { holds: true };
        let event = self.emit(context.thread, op, context.condition, origin);
        let right = self.terms.not(if_so);
        self.results.insert(event, right);
    }

    fn result_width(&self, frame: &Frame, instruction: &Instruction) -> u32 {
        instruction.result.map_or(64, |register: RegisterId| frame.function.width(register).into())
    }

    fn binary(
        &mut self,
        frame: &Frame,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        site: Site,
    ) -> Result<Value, Unsupported> {
        let (a, b) = (self.operand(frame, left), self.operand(frame, right));
        let moved = |terms: &foretrace_model::terms::Terms, by: TermId| {
            terms.as_constant(by).map(|by| by as u64)
        };
        let (a, b) = match (op, a, b) {
            (BinaryOp::Add, address, Value::Bits(by))
            | (BinaryOp::Add, Value::Bits(by), address)
                if !matches!(address, Value::Bits(_)) =>
            {
                return match (address, moved(&self.terms, by)) {
                    (Value::Address { object, offset }, Some(by)) => {
                        Ok(Value::Address { object, offset: offset.wrapping_add(by) })
                    }
                    (Value::Slot { slot, offset }, Some(by)) => {
                        Ok(Value::Slot { slot, offset: offset.wrapping_add(by) })
                    }
                    _ => self.unsupported("an address that is computed from data", site),
                };
            }
            (_, Value::Bits(a), Value::Bits(b)) => (a, b),
            (_, a, b) => {
                let strange = if matches!(a, Value::Bits(_)) { b } else { a };
                return self.unsupported(format!("{} as a number", strange.kind()), site);
            }
        };
        Ok(Value::Bits(self.terms.binary(op, a, b)))
    }

    /// An access: what it reads, if it does.
    #[allow(clippy::wildcard_enum_match_arm)]
    fn access(
        &mut self,
        context: &mut Context,
        frame: &Frame,
        op: &Op,
        step: Origin,
    ) -> Result<Option<TermId>, Unsupported> {
        let (address, size) = op.access().expect("called for accesses only");
        let at = match self.operand(frame, address) {
            Value::Address { object, offset } => self.place(object, offset, size, step.site)?,
            Value::Slot { slot, offset } => {
                return self.slot_access(context, frame, op, (slot, offset, size), step.site);
            }
            other @ (Value::Bits(_) | Value::Function(_) | Value::Thread(_)) => {
                let what = format!("an access at {}", other.kind());
                return self.unsupported(what, step.site);
            }
        };
        let thread = context.thread;
        let width = 8 * u32::from(size);
        match *op {
            Op::Load { order, .. } => {
                let op = trace::Op::Read { at, value: None, order };
                let event = self.emit(thread, op, context.condition, step);
                Ok(Some(self.symbol(event, width)))
            }
            Op::Store { value, order, .. } => {
                let value = self.bits(frame, value, step.site)?;
                let op = trace::Op::Write { at, value: None, order };
                let event = self.emit(thread, op, context.condition, step);
                self.results.insert(event, value);
                Ok(None)
            }
            Op::Rmw { op, value, order, .. } => {
                let value = self.bits(frame, value, step.site)?;
                let rmw = trace::Op::Rmw { at, read: None, written: None, order };
                let event = self.emit(thread, rmw, context.condition, step);
                let old = self.symbol(event, width);
                let new = self.rmw(op, old, value);
                self.results.insert(event, new);
                Ok(Some(old))
            }
            Op::CompareExchange { expected, new, order, .. } => {
                let (expected, new) =
                    (self.bits(frame, expected, step.site)?, self.bits(frame, new, step.site)?);
                if order == MemoryOrder::Plain {
                    return self
                        .unsupported("a compare-and-exchange that is not atomic", step.site);
                }
                let rmw = trace::Op::Rmw { at, read: None, written: None, order };
                let event = self.emit(thread, rmw, context.condition, step);
                let old = self.symbol(event, width);
                let is_expected = self.terms.eq(old, expected);
                let stored = self.terms.ite(is_expected, new, old);
                self.results.insert(event, stored);
                self.exchanged.push(at);
                Ok(Some(old))
            }
            _ => unreachable!("no access"),
        }
    }

    fn place(
        &mut self,
        object: ObjectId,
        offset: u64,
        size: u8,
        site: Site,
    ) -> Result<Place, Unsupported> {
        let length = self.program.globals[object.index()].size;
        match u32::try_from(offset) {
            Ok(offset) if u64::from(offset) + u64::from(size) <= u64::from(length) => {
                Ok(Place { object, offset, size: size.into() })
            }
            _ => self.unsupported("an access outside of its object", site),
        }
    }

    #[allow(clippy::wildcard_enum_match_arm)]
    fn slot_access(
        &mut self,
        context: &mut Context,
        frame: &Frame,
        op: &Op,
        place: (u32, u64, u8),
        site: Site,
    ) -> Result<Option<TermId>, Unsupported> {
        let (slot, offset, size) = place;
        let length = u64::from(self.slots[slot as usize]);
        if offset.checked_add(size.into()).is_none_or(|end| end > length) {
            return self.unsupported("an access outside of its object", site);
        }
        let overlaps = |&(other, start, length): &(u32, u64, u8)| {
            other == slot
                && (start, length) != (offset, size)
                && start < offset + u64::from(size)
                && offset < start + u64::from(length)
        };
        if context.slots.keys().any(overlaps) {
            return self.unsupported("stack memory that is accessed in different sizes", site);
        }
        match *op {
            Op::Load { .. } => {
                let zero = self.terms.constant(0, 8 * u32::from(size));
                Ok(Some(context.slots.get(&place).copied().unwrap_or(zero)))
            }
            Op::Store { value, .. } => {
                let value = self.bits(frame, value, site)?;
                context.slots.insert(place, value);
                Ok(None)
            }
            _ => self.unsupported("an atomic step on stack memory", site),
        }
    }

    fn rmw(&mut self, op: RmwOp, old: TermId, value: TermId) -> TermId {
        let terms = &mut self.terms;
        match op {
            RmwOp::Exchange => value,
            RmwOp::Add => terms.add(old, value),
            RmwOp::Sub => terms.sub(old, value),
            RmwOp::And => terms.and(old, value),
            RmwOp::Nand => {
                let both = terms.and(old, value);
                terms.not(both)
            }
            RmwOp::Or => terms.or(old, value),
            RmwOp::Xor => terms.xor(old, value),
            RmwOp::Max => {
                let less = terms.slt(old, value);
                terms.ite(less, value, old)
            }
            RmwOp::Min => {
                let less = terms.slt(old, value);
                terms.ite(less, old, value)
            }
            RmwOp::UMax => {
                let less = terms.ult(old, value);
                terms.ite(less, value, old)
            }
            RmwOp::UMin => {
                let less = terms.ult(old, value);
                terms.ite(less, old, value)
            }
        }
    }

    fn fork(
        &mut self,
        context: &Context,
        callee: foretrace_program::ir::FunctionId,
        args: Vec<Value>,
        site: Site,
    ) -> Result<Value, Unsupported> {
        let parent = self.trace.so_far().threads().get(context.thread.index()).to_string();
        let number = self.forks.len();
        let function = self.program.function(callee).name.clone();
        let is_taken = |name: &str| self.trace.so_far().threads().find(name).is_some();
        let mut name = function.clone();
        if is_taken(&name) {
            name = format!("{parent}/{function}#{number}");
        }
        while is_taken(&name) {
            name.push('\'');
        }
        let origin = Origin { site, part: Part::Step };
        let fork = self.next_event();
        let child = self.new_thread(&name, Some(fork));
        if self.terms.as_constant(context.condition) == Some(1) {
            self.emit(context.thread, trace::Op::Fork { child }, context.condition, origin);
        } else {
            let at = self.flag(&format!("start of {name}"));
            self.trace.set_initial(at, 0);
            let order = trace::MemoryOrder::SeqCst;
            let op = trace::Op::Write { at, value: None, order };
            let event = self.emit(context.thread, op, context.condition, origin);
            let one = self.terms.constant(1, 8);
            self.results.insert(event, one);
        }
        self.thread(child, callee, args)?;
        Ok(Value::Thread(child))
    }

    fn join(&mut self, context: &Context, child: trace::ThreadId, step: Origin) {
        if self.terms.as_constant(context.condition) == Some(1) {
            let op = trace::Op::Join { child };
            let event = self.emit(context.thread, op, context.condition, step);
            self.joins.insert(event, child);
            return;
        }
        let done = self.done_flag(child);
        let (event, old) = self.touch(context, done, context.condition, step);
        let is_done = self.terms.truth(old);
        self.assumed.insert(event, is_done);
        self.results.insert(event, old);
        self.joins.insert(event, child);
    }
}
