//! Instructions that need no record: from one record of a thread to the next.

use foretrace_recording::image::flags;
use foretrace_trace::ImplicitFault;
use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::provenance::{Kept, Lost, Walked};
use foretrace_words::{BinaryOp as WordOp, RmwOp, cut};

use crate::Program;
use crate::simple::load_private;
use crate::terms::{TermId, Value};
use crate::thread::{Caller, Context, Phase, Thread};
use crate::told::{Extent, WalkStep};
use foretrace_image::{Effect, Instruction, Op, Target, Terminator};

/// So many jumps without a record or an outcome are a loop that never ends.
pub(crate) const IDLE: u32 = 1 << 20;

/// Terms of wider values are not kept in memory.
const MANY: u64 = 1 << 16;

/// Bytes of a list of variadic arguments.
const LIST: u64 = 24;

/// A default of a switch is told from so many cases; from more, the value is kept.
const CASES: usize = 16;

impl Thread {
    /// Goes on until a record is needed.
    pub(crate) fn run(&mut self, context: &mut Context) {
        let program = context.program;
        while let Some(frame) = self.frames.last() {
            if !matches!(frame.phase, Phase::Ready) {
                return;
            }
            self.compute(context);
            let frame = self.frames.last().expect("it computes");
            let function = &program.functions[frame.function as usize];
            let block = &function.blocks[frame.block as usize];
            let goes_on = match block.instructions.get(frame.index as usize) {
                Some(instruction) => self.execute(context, instruction),
                None => self.leave_block(context, &block.terminator),
            };
            if !goes_on || self.is_lost() {
                return;
            }
        }
    }

    /// Does an instruction; says whether it was done without a record.
    fn execute(&mut self, context: &mut Context, instruction: &Instruction) -> bool {
        let site = instruction.site;
        let value = match &instruction.op {
            Op::Binary { op, width, left, right } => {
                let (left, right) = (self.value(*left), self.value(*right));
                self.guard_undefined(context, *op, *width, left, right, site);
                self.terms.binary(*op, *width, left, right)
            }
            Op::Cast { .. } | Op::Select { .. } => unreachable!("these are simple"),
            Op::Slot { private, size } => self.slot(*private, self.value(*size)),
            Op::Opaque { effect, arguments, .. } => {
                let arguments: Vec<Value> = arguments.iter().map(|one| self.value(*one)).collect();
                if *effect == Effect::None {
                    self.terms.unmodelled(arguments)
                } else {
                    // The arguments that a list leads to were stored by the call, on a stack that
                    // others have used before: nothing is recorded of that.
                    for argument in arguments {
                        self.guard(context, argument, site, Kept::AssemblyOrVariadic);
                        if *effect == Effect::List {
                            let address = argument.known.then_some(argument.bits);
                            let list = Value::UNKNOWN;
                            self.store_private_range(context, address, LIST, list, site);
                        }
                    }
                    self.give_away_memory(context, site);
                    Value::UNKNOWN
                }
            }
            Op::Load { private: true, size, address, .. } => {
                let address = self.private_address(context, self.value(*address), site);
                self.load_private(context.program, address, *size)
            }
            Op::Store { private: true, size, address, value, .. } => {
                let (address, value) = (self.value(*address), self.value(*value));
                let address = self.private_address(context, address, site);
                self.store_private(context, address, *size, value, site);
                Value::UNKNOWN
            }
            Op::Rmw { private: true, op, size, address, value, .. } => {
                let address = self.private_address(context, self.value(*address), site);
                let (old, operand) =
                    (self.load_private(context.program, address, *size), self.value(*value));
                let new = self.updated(*op, 8 * *size, old, operand);
                self.store_private(context, address, *size, new, site);
                old
            }
            Op::CompareExchange { private: true, size, address, expected, new, .. } => {
                let address = self.private_address(context, self.value(*address), site);
                let old = self.load_private(context.program, address, *size);
                let (expected, new) = (self.value(*expected), self.value(*new));
                let found = self.terms.binary(WordOp::Eq, 8 * *size, old, expected);
                let stored = self.terms.choice(found, new, old);
                self.store_private(context, address, *size, stored, site);
                old
            }
            Op::LoadWide { private: true, size, address } => {
                let address = self.private_address(context, self.value(*address), site);
                let values = match address {
                    Some(address) => self.private.values(address, address.saturating_add(*size)),
                    None => self.private.values(0, u64::MAX),
                };
                self.terms.unmodelled(values)
            }
            Op::StoreWide { private: true, size, address, value } => {
                let (address, value) = (self.value(*address), self.value(*value));
                let address = self.private_address(context, address, site);
                let value = self.terms.unmodelled([value]);
                self.store_private_range(context, address, *size, value, site);
                Value::UNKNOWN
            }
            Op::Copy { size_recorded: true, .. } | Op::Fill { size_recorded: true, .. } => {
                return false;
            }
            Op::Copy { .. } | Op::Fill { .. } => {
                return self.begin_copy(context, instruction, None);
            }
            Op::LoadWide { .. } | Op::StoreWide { .. } => {
                return self.begin_copy(context, instruction, None);
            }
            Op::Call { callee, arguments, variadic_from } => {
                let Some(function) = Some(self.value(*callee))
                    .filter(|callee| callee.known)
                    .and_then(|callee| context.program.at(callee.bits))
                else {
                    self.lose(context, Lost::CallWithoutImage);
                    return false;
                };
                let arguments: Vec<Value> = arguments.iter().map(|one| self.value(*one)).collect();
                if let Some(named) = variadic_from {
                    for argument in arguments.iter().skip(*named as usize) {
                        self.guard_argument(context, *argument, site, Kept::VariadicArgument);
                    }
                }
                if context.program.functions[function as usize].enters {
                    self.frames.last_mut().expect("it calls").phase = Phase::Enter(function);
                    return false;
                }
                self.push_frame(context, function, arguments, Caller::Call);
                return true;
            }
            Op::Hooked { arguments, .. } => {
                for argument in arguments.iter().map(|one| self.value(*one)).collect::<Vec<_>>() {
                    self.guard(context, argument, site, Kept::LibraryArgument);
                }
                self.frames.last_mut().expect("it calls").phase = Phase::Hooked;
                return false;
            }
            Op::Mark { region: false, .. } | Op::Fence { recorded: false } => Value::UNKNOWN,
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Rmw { .. }
            | Op::CompareExchange { .. }
            | Op::Fence { .. }
            | Op::Leave { .. }
            | Op::Assert { .. }
            | Op::Mark { .. } => return false,
        };
        context.counts.instructions += 1;
        self.set(context.program, instruction.result, value);
        self.advance();
        true
    }

    /// Where the machine traps, or anything may happen, the recorded run did not go.
    fn guard_undefined(
        &mut self,
        context: &mut Context,
        op: WordOp,
        width: u8,
        left: Value,
        right: Value,
        site: u64,
    ) {
        let ones = cut(u64::MAX, width);
        if matches!(op, WordOp::UDiv | WordOp::URem | WordOp::SDiv | WordOp::SRem) {
            let fault = (ImplicitFault::Division, Extent::default());
            self.demand(context, (WordOp::Ne, width), (right, 0), site, fault);
            self.require(context, (WordOp::Ne, width), (right, 0), site, Kept::Divisor);
        }
        match op {
            WordOp::SDiv | WordOp::SRem => {
                if right.known && right.bits == ones {
                    let least = 1 << (width - 1);
                    self.guard(context, right, site, Kept::Divisor);
                    self.require(context, (WordOp::Ne, width), (left, least), site, Kept::Dividend);
                } else {
                    self.require(context, (WordOp::Ne, width), (right, ones), site, Kept::Divisor);
                }
            }
            WordOp::Shl | WordOp::LShr | WordOp::AShr => {
                let limit = u64::from(width);
                self.require(context, (WordOp::Ult, width), (right, limit), site, Kept::Shift);
            }
            _ => {}
        }
    }

    /// What a read-modify-write stores.
    pub(crate) fn updated(&mut self, op: RmwOp, width: u8, old: Value, operand: Value) -> Value {
        let mut with = |op, operand| self.terms.binary(op, width, old, operand);
        match op {
            RmwOp::Exchange => operand,
            RmwOp::Add => with(WordOp::Add, operand),
            RmwOp::Sub => with(WordOp::Sub, operand),
            RmwOp::And => with(WordOp::And, operand),
            RmwOp::Or => with(WordOp::Or, operand),
            RmwOp::Xor => with(WordOp::Xor, operand),
            RmwOp::Nand => {
                let both = with(WordOp::And, operand);
                let ones = Value::number(cut(u64::MAX, width));
                self.terms.binary(WordOp::Xor, width, both, ones)
            }
            RmwOp::Max | RmwOp::UMax | RmwOp::Min | RmwOp::UMin => {
                let is_signed = matches!(op, RmwOp::Max | RmwOp::Min);
                let less = with(if is_signed { WordOp::Slt } else { WordOp::Ult }, operand);
                match op {
                    RmwOp::Min | RmwOp::UMin => self.terms.choice(less, old, operand),
                    _ => self.terms.choice(less, operand, old),
                }
            }
        }
    }

    fn slot(&mut self, private: bool, size: Value) -> Value {
        if !private || !size.known || size.bits > 1 << 32 {
            return Value::UNKNOWN;
        }
        let address = self.next_slot;
        self.next_slot += size.bits.max(1).next_multiple_of(16);
        Value::number(address)
    }

    /// The address of a private access, if it is known.
    pub(crate) fn private_address(
        &mut self,
        context: &mut Context,
        address: Value,
        site: u64,
    ) -> Option<u64> {
        self.guard_address(context, address, site, Kept::AddressOfPrivate);
        address.known.then_some(address.bits)
    }

    /// What private memory, or a constant, holds.
    pub(crate) fn load_private(
        &mut self,
        program: &Program,
        address: Option<u64>,
        size: u8,
    ) -> Value {
        let Some(address) = address else {
            let all = self.private.values(0, u64::MAX);
            return self.terms.unmodelled(all);
        };
        load_private(program, &mut self.terms, &self.private, address, size)
    }

    pub(crate) fn store_private(
        &mut self,
        context: &mut Context,
        address: Option<u64>,
        size: u8,
        value: Value,
        site: u64,
    ) {
        match address {
            Some(address) => self.private.store(&mut self.terms, address, size, value, true),
            None => self.store_anywhere(context, value, site),
        }
    }

    /// Somewhere in private memory, nobody knows where, something changes.
    pub(crate) fn store_anywhere(&mut self, context: &mut Context, value: Value, site: u64) {
        let values = self.private.clear();
        for value in values.into_iter().chain([value]) {
            self.guard(context, value, site, Kept::StoreElsewhere);
        }
        // What was passed by value may have been copied to where others can see it, without a
        // record.
        self.give_away_memory(context, site);
    }

    /// The same value in many bytes.
    pub(crate) fn store_private_range(
        &mut self,
        context: &mut Context,
        address: Option<u64>,
        size: u64,
        value: Value,
        site: u64,
    ) {
        let Some(address) = address else { return self.store_anywhere(context, value, site) };
        self.private.cut_out(&mut self.terms, address, address.saturating_add(size));
        // A value that is not known, and depends on nothing, need not be kept.
        if size > MANY {
            self.guard(context, value, site, Kept::LargeCopy);
        } else if value.term != TermId::NONE {
            for offset in (0..size).step_by(8) {
                let piece = (size - offset).min(8) as u8;
                self.private.store(&mut self.terms, address + offset, piece, value, true);
            }
        }
    }

    /// Goes on in another block; says whether that was possible without a record.
    fn leave_block(&mut self, context: &mut Context, terminator: &Terminator) -> bool {
        match terminator {
            Terminator::Jump(target) => self.jump(context, target),
            Terminator::Branch { flags, site, condition, then, otherwise } => {
                let condition = self.value(*condition);
                let taken = if u64::from(*flags) & flags::CONSTANT != 0 {
                    if !condition.known {
                        self.lose(context, Lost::UnknownCondition);
                        return false;
                    }
                    condition.bits & 1 == 1
                } else {
                    let Some(taken) = self.outcomes.pop() else { return false };
                    self.idle = 0;
                    context.counts.branches += 1;
                    if condition.known && (condition.bits & 1 == 1) != taken {
                        self.lose(context, Lost::BranchOtherWay);
                        return false;
                    }
                    self.note_branch(context, *flags, *site, condition, taken);
                    taken
                };
                self.jump(context, if taken { then } else { otherwise })
            }
            Terminator::Switch { constant: true, value, default, cases, .. } => {
                let value = self.value(*value);
                if !value.known {
                    self.lose(context, Lost::UnknownSwitch);
                    return false;
                }
                let case = cases.iter().find(|(case, _)| *case == value.bits);
                let Some(target) = case.map(|(_, target)| target).or(default.as_ref()) else {
                    self.lose(context, Lost::NoLabel);
                    return false;
                };
                self.jump(context, target)
            }
            Terminator::Switch { .. } => false,
            Terminator::Return(value) => {
                let value = value.map_or(Value::UNKNOWN, |value| self.value(value));
                self.return_from(context, value)
            }
            Terminator::Invoked { normal, .. } => self.jump(context, normal),
            Terminator::Unreachable | Terminator::Resume => false,
            Terminator::Unsupported(why) => {
                let what = why.clone();
                self.lose_as(context, |function| Walked::Unsupported { what, function });
                false
            }
        }
    }

    /// A branch on what was read becomes one of the trace, or an assertion if one of its ways is a
    /// failure.
    fn note_branch(
        &mut self,
        context: &mut Context,
        flags: u8,
        site: u64,
        condition: Value,
        taken: bool,
    ) {
        let condition = self.terms.refresh(condition);
        if condition.term == TermId::NONE {
            return;
        }
        if !condition.known || !self.terms.is_exact(condition) {
            context.counts.concretised += 1;
            return self.guard(context, condition, site, Kept::ConditionNotModelled);
        }
        if !self.may_add_condition() {
            context.counts.concretised += 1;
            context.counts.guard(Kept::TooManyConditions);
            for read in self.terms.fix_reads(condition) {
                self.pin(context, read, site);
            }
            return;
        }
        context.counts.expressed += 1;
        let tested = self.terms.express(condition, context.steps);
        let (fails_if, fails_else) =
            (u64::from(flags) & flags::THEN_FAILS != 0, u64::from(flags) & flags::ELSE_FAILS != 0);
        self.has_failed = if taken { fails_if } else { fails_else };
        let mut after_failure = None;
        if self.has_failed && fails_if != fails_else {
            // An assertion that failed asks nothing of another schedule; what follows it (a
            // handler, a jump back) does.
            let condition = tested.clone();
            after_failure = Some(WalkStep::Branch { condition, taken, site });
        }
        let step = match (fails_if, fails_else) {
            (false, true) => WalkStep::Assert { condition: tested, holds: taken, site },
            (true, false) => {
                let zero = Box::new(Expr::Literal(0));
                let condition = Expr::Binary(BinaryOp::Eq, Box::new(tested), zero);
                WalkStep::Assert { condition, holds: !taken, site }
            }
            _ => WalkStep::Branch { condition: tested, taken, site },
        };
        self.tell(context, step);
        if fails_if != fails_else {
            self.assertions.push(self.outcomes.last());
        }
        context.steps.extend(after_failure);
        self.terms.fix(condition);
    }

    /// Which way a switch went.
    pub(crate) fn take_switch(
        &mut self,
        context: &mut Context,
        terminator: &Terminator,
        found: u64,
    ) {
        let Terminator::Switch { value, site, width, default, cases, .. } = terminator else {
            unreachable!("only switches are taken");
        };
        context.counts.branches += 1;
        let value = self.value(*value);
        let found = cut(found, *width);
        if value.known && value.bits != found {
            return self.lose(context, Lost::SwitchOtherWay);
        }
        let case = cases.iter().find(|(case, _)| *case == found);
        let Some(target) = case.map(|(_, target)| target).or(default.as_ref()) else {
            return self.lose(context, Lost::NoLabel);
        };
        if value.term != TermId::NONE {
            let is_modelled = value.known && self.terms.is_exact(value);
            match is_modelled {
                true => context.counts.expressed += 1,
                false => context.counts.concretised += 1,
            }
            if case.is_some() || cases.len() > CASES || !is_modelled {
                self.guard(context, value, *site, Kept::SwitchValue);
            } else {
                for (case, _) in cases {
                    self.require(
                        context,
                        (WordOp::Ne, *width),
                        (value, *case),
                        *site,
                        Kept::SwitchDefault,
                    );
                }
            }
        }
        self.jump(context, target);
    }

    /// Goes to a block; its parameters get their values at once.
    pub(crate) fn jump(&mut self, context: &mut Context, target: &Target) -> bool {
        self.idle += 1;
        if self.idle > IDLE {
            self.lose(context, Lost::SilentLoop);
            return false;
        }
        // All are looked up before the first is set: a block may pass its own parameters on to
        // itself.
        let mut values = std::mem::take(&mut self.spare_values);
        values.clear();
        values.extend(target.arguments.iter().map(|one| self.value(*one)));
        let program = context.program;
        let frame = self.frames.last_mut().expect("it jumps");
        (frame.block, frame.index, frame.phase) = (target.block, 0, Phase::Ready);
        let function = &program.functions[frame.function as usize];
        let parameters = &function.blocks[target.block as usize].parameters;
        for (register, value) in parameters.iter().zip(&values) {
            frame.registers[*register as usize] = *value;
        }
        self.spare_values = values;
        true
    }

    fn return_from(&mut self, context: &mut Context, value: Value) -> bool {
        let caller = self.pop_frame().expect("it returns");
        match caller {
            Caller::Unknown => {
                self.guard(context, value, 0, Kept::ReturnedToLibrary);
                true
            }
            Caller::Call => {
                self.set_call_result(context.program, value);
                true
            }
            Caller::Leave => {
                let Some((_, Some(instruction))) = self.instruction(context.program) else {
                    return false;
                };
                if let Op::Leave { returns: false, .. } = instruction.op {
                    self.set_call_result(context.program, value);
                    return true;
                }
                let caller = self.frames.last_mut().expect("it has an instruction");
                if let Phase::Inside { returned, .. } = &mut caller.phase {
                    *returned = Some(value);
                }
                false
            }
        }
    }

    fn set_call_result(&mut self, program: &Program, value: Value) {
        if let Some((_, Some(instruction))) = self.instruction(program) {
            self.set(program, instruction.result, value);
            self.advance();
        }
    }
}
