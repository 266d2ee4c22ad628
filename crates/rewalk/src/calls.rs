//! Calls: functions that begin, calls into code without an image and returns from it, exceptions.

use foretrace_trace::provenance::{Differing, Kept, Lost};
use foretrace_words::cut;

use crate::Program;
use crate::libraries::{Reach, Routine, changes_stack, reach, returns_twice, routine};
use crate::terms::Value;
use crate::thread::{Caller, Context, PRIVATE, Phase, Start, Thread};
use crate::told::WalkStep;
use foretrace_image::{Function, Op, Operand, Terminator};

/// So many bytes behind an argument may be written by a function that gives results through its
/// arguments.
const RESULT_BYTES: u64 = 128;

impl Thread {
    /// A function begins.
    pub(crate) fn enter(&mut self, context: &mut Context, address: u64) {
        let program = context.program;
        let Some(function) = program.at(address) else {
            return self.lose(context, Lost::NoImage);
        };
        let address = program.functions[function as usize].address;
        let mut caller = Caller::Unknown;
        let mut arguments = self.arguments_of_start(program, function);
        match self.frames.last().map(|frame| &frame.phase) {
            Some(Phase::Enter(expected))
                if program.functions[*expected as usize].address == address =>
            {
                caller = Caller::Call;
            }
            Some(Phase::Inside { target, returned: None }) if *target == address => {
                caller = Caller::Leave;
            }
            Some(Phase::Inside { target, returned: None }) if program.at(*target).is_some() => {
                return self.lose(context, Lost::CallWithoutBegin);
            }
            _ => {}
        }
        if caller != Caller::Unknown
            && let Some((_, Some(instruction))) = self.instruction(program)
            && let Op::Call { arguments: list, .. } | Op::Leave { arguments: list, .. } =
                &instruction.op
        {
            arguments = list.iter().map(|one| self.value(*one)).collect();
            let code = &program.functions[function as usize];
            if caller == Caller::Leave {
                self.guard_other_widths(context, list, code, instruction.site);
            }
            if caller == Caller::Leave && code.is_variadic {
                let unnamed: Vec<Value> =
                    arguments.iter().skip(code.parameters as usize).copied().collect();
                for argument in unnamed {
                    self.guard_argument(
                        context,
                        argument,
                        instruction.site,
                        Kept::VariadicArgument,
                    );
                }
            }
        }
        self.callbacks += u64::from(caller == Caller::Unknown);
        self.push_frame(context, function, arguments, caller);
    }

    /// What the function is called with, if it is the one that the thread was created for. Only the
    /// first one can be that; or, where a thread runs what those that it creates run, the first one
    /// inside the call that creates them.
    fn arguments_of_start(&mut self, program: &Program, function: u32) -> Vec<Value> {
        let Some(start) = self.start.take() else { return Vec::new() };
        let is_expected = self.frames.is_empty() || start.is_shared && self.is_inside(program);
        let code = &program.functions[function as usize];
        let widths = &code.registers[..code.parameters as usize];
        let fits = widths.len() >= start.arguments.len() && widths.iter().all(|width| *width == 64);
        let is_it = is_expected && program.at(start.routine) == Some(function) && fits;
        if is_it { start.arguments } else { Vec::new() }
    }

    /// A call through another type than the function has: what is passed in other bits is as it
    /// was.
    fn guard_other_widths(
        &mut self,
        context: &mut Context,
        arguments: &[Operand],
        callee: &Function,
        site: u64,
    ) {
        let frame = self.frames.last().expect("it calls");
        let registers = &context.program.functions[frame.function as usize].registers;
        let is_other = |(argument, width): &(&Operand, &u8)| match argument {
            Operand::Register(register) => registers[*register as usize] != **width,
            _ => false,
        };
        let widths = &callee.registers[..callee.parameters as usize];
        let others: Vec<Operand> =
            arguments.iter().zip(widths).filter(is_other).map(|(argument, _)| *argument).collect();
        for argument in others {
            self.guard(context, self.value(argument), site, Kept::ArgumentWidth);
        }
    }

    /// An exception has ended frames.
    pub(crate) fn land(&mut self, context: &mut Context, address: u64, block: u64) {
        let program = context.program;
        while let Some(frame) = self.frames.last() {
            let function = &program.functions[frame.function as usize];
            let at = &function.blocks[frame.block as usize];
            if function.identity == address
                && frame.index as usize + 1 >= at.instructions.len()
                && let Terminator::Invoked { unwind, .. } = &at.terminator
                && u64::from(unwind.block) == block
            {
                self.jump(context, unwind);
                return;
            }
            self.pop_frame();
        }
        self.lose(context, Lost::NoLandingPad);
    }

    /// A call leaves the module. `is_read`: what it prints the process may read.
    pub(crate) fn leave(&mut self, context: &mut Context, site: u64, target: u64, is_read: bool) {
        let program = context.program;
        let Some((function, Some(instruction))) = self.instruction(program) else {
            // Constructors and the like may call before the first function that has an image.
            if !self.frames.is_empty() {
                self.lose(context, Lost::UnexpectedCall);
            }
            return;
        };
        let Op::Leave { name, callee, arguments, returns } = &instruction.op else {
            return self.lose(context, Lost::UnexpectedCall);
        };
        let is_ready = matches!(self.frames.last().map(|frame| &frame.phase), Some(Phase::Ready));
        if !is_ready || !program.may_be(site, instruction.site) {
            return self.lose(context, Lost::UnexpectedCall);
        }
        self.guard(context, self.value(*callee), site, Kept::AddressOfFunction);
        if name == "sem_getvalue" {
            context.steps.push(WalkStep::Unexplained);
        }
        if changes_stack(name) {
            return self.lose(context, Lost::OtherStack);
        }
        if program.at(target).is_none() {
            let arguments: Vec<Value> = arguments.iter().map(|one| self.value(*one)).collect();
            self.give_errno(context, site);
            let is_looked_at = is_read || instruction.result.is_some();
            self.give_arguments(context, name, &arguments, is_looked_at, site);
            self.start = start(name, &arguments);
            // Where it goes on, nothing tells.
            let frame = self.frames.last().expect("it has an instruction");
            let block = &function.blocks[frame.block as usize];
            if !returns && matches!(block.terminator, Terminator::Return(_)) {
                return self.lose(context, Lost::LibraryTailCall);
            }
        }
        let frame = self.frames.last_mut().expect("it has an instruction");
        if returns_twice(name) {
            frame.twice.push((instruction.site, frame.block, frame.index));
        }
        frame.phase = Phase::Inside { target, returned: None };
    }

    /// What code without an image may see is as it was in the recorded run.
    fn give_arguments(
        &mut self,
        context: &mut Context,
        name: &str,
        arguments: &[Value],
        is_looked_at: bool,
        site: u64,
    ) {
        let reach = reach(name);
        if reach == Reach::Prints && !is_looked_at {
            return;
        }
        for argument in arguments {
            self.guard_argument(context, *argument, site, Kept::LibraryArgument);
        }
        match reach {
            // A thread of a library's own may look at anything.
            _ if starts_unknown(context.program, name, arguments) => {
                self.give_away_memory(context, site);
            }
            Reach::Arguments => {}
            Reach::Results if arguments.iter().all(|argument| argument.known) => {
                self.settle_addresses(context, site);
                for argument in arguments {
                    let end = argument.bits.saturating_add(RESULT_BYTES);
                    let mut values = self.own.values(argument.bits, end);
                    values.extend(self.published.values(argument.bits, end));
                    for value in values {
                        self.guard(context, value, site, Kept::ReachableMemory);
                    }
                    self.own.cut_out(&mut self.terms, argument.bits, end);
                    self.published.cut_out(&mut self.terms, argument.bits, end);
                }
            }
            _ => self.give_away_memory(context, site),
        }
    }

    /// A library function may write `errno`: what was there is as it was, and may be something else
    /// afterwards.
    fn give_errno(&mut self, context: &mut Context, site: u64) {
        let Some(errno) = self.errno else { return };
        for value in self.own.values(errno, errno + 4) {
            self.guard(context, value, site, Kept::Errno);
        }
        self.own.cut_out(&mut self.terms, errno, errno + 4);
    }

    /// A call came back, perhaps for the second time.
    pub(crate) fn come_back(&mut self, context: &mut Context, site: u64, bits: u64) {
        let program = context.program;
        if let Some((_, Some(instruction))) = self.instruction(program)
            && program.may_be(site, instruction.site)
            && let Some(frame) = self.frames.last()
        {
            let returned = match &frame.phase {
                // The linker has kept a copy of the function that is not instrumented.
                Phase::Inside { target, returned: None } if program.at(*target).is_some() => {
                    return self.lose(context, Lost::CallWithoutBegin);
                }
                Phase::Inside { returned, .. } => Some(*returned),
                Phase::Hooked => Some(None),
                _ => None,
            };
            if let Some(returned) = returned {
                if matches!(&instruction.op, Op::Leave { name, .. } if name == "__errno_location") {
                    self.errno = Some(bits);
                }
                let value = self.returned(context, instruction.result, returned, bits);
                self.set(program, instruction.result, value);
                return self.advance();
            }
        }
        while let Some(frame) = self.frames.last_mut() {
            if let Some(&(_, block, index)) = frame.twice.iter().rev().find(|one| one.0 == site) {
                (frame.block, frame.index) = (block, index);
                let result =
                    self.instruction(program).and_then(|(_, instruction)| instruction?.result);
                self.set(program, result, Value::number(bits));
                return self.advance();
            }
            self.pop_frame();
        }
        self.lose(context, Lost::UnexpectedReturn);
    }

    fn returned(
        &mut self,
        context: &mut Context,
        result: Option<u32>,
        returned: Option<Value>,
        bits: u64,
    ) -> Value {
        let Some(value) = returned.map(|value| self.terms.now(value)) else {
            return Value::number(bits);
        };
        let frame = self.frames.last().expect("it called");
        let function = &context.program.functions[frame.function as usize];
        let width = result.map_or(0, |register| function.registers[register as usize]);
        if width == 0 {
            return value;
        }
        if value.known && cut(value.bits, width) != cut(bits, width) {
            // The term is wrong, so what it says of reads may be too.
            context.counts.differs(Differing::Result);
            context.steps.push(WalkStep::Opaque);
            return Value::number(bits);
        }
        if self.terms.is_exact(value) && self.terms.width(value) > width {
            // The function was called through another type than it has.
            self.guard(context, value, 0, Kept::ResultWidth);
            return Value::number(bits);
        }
        Value { bits, known: true, ..value }
    }
}

/// What a thread begins with that the call creates, if that is known.
fn start(name: &str, arguments: &[Value]) -> Option<Start> {
    let Routine { argument: index, passed, before, is_shared } = routine(name)?;
    let routine = arguments.get(index).filter(|routine| routine.known)?;
    let is_known = |argument: &Value| argument.known && argument.bits < PRIVATE;
    let of_known = |argument: &Value| match is_known(argument) {
        true => Value::number(argument.bits),
        false => Value::UNKNOWN,
    };
    let passed_on = arguments[index + 1..].iter().take(passed).map(of_known);
    let arguments = std::iter::repeat_n(Value::UNKNOWN, before).chain(passed_on).collect();
    Some(Start { routine: routine.bits, arguments, is_shared })
}

/// Whether the call starts a thread in a function that has no image.
fn starts_unknown(program: &Program, name: &str, arguments: &[Value]) -> bool {
    let Some(argument) = routine(name).and_then(|one| arguments.get(one.argument)) else {
        return false;
    };
    !argument.known || program.at(argument.bits).is_none()
}
