//! What a thread does on its own: everything up to its next visible operation.

use foretrace_trace::ThreadId;

use crate::ir::*;

use super::memory::{ObjectKind, function_address, function_at};
use super::state::{Frame, Phase, State, Status, ThreadState, Undefined, Why};
use super::step::handle;
use super::{Action, Event, Machine};

/// How many instructions a thread may run between two visible operations.
const MOST_LOCAL_STEPS: u32 = 1_000_000;
/// How many calls may be inside each other.
const MOST_FRAMES: usize = 1000;
/// The width of an argument that is as wide as a function wants it.
const ANY: u8 = 0;

impl<'p> Machine<'p> {
    /// Starts a thread.
    pub(super) fn spawn(
        &self,
        state: &mut State,
        name: String,
        function: FunctionId,
        args: &[u64],
        events: &mut Vec<Event>,
    ) -> ThreadId {
        let thread = ThreadId::from(state.threads.len());
        state.threads.push(ThreadState {
            name,
            status: Status::Running,
            frames: vec![self.frame(function, args)],
            phase: Phase::Before,
            inputs: 0,
            result: 0,
            own: Vec::new(),
        });
        events.push(Event { thread, action: Action::Begin, site: state.site(thread) });
        self.advance(state, thread, events);
        thread
    }

    fn frame(&self, function: FunctionId, args: &[u64]) -> Frame {
        let head = self.program.function(function);
        let mut registers = vec![0; head.registers.len()];
        for (&param, &arg) in head.params.iter().zip(args) {
            registers[param.index()] = arg;
        }
        Frame {
            function,
            block: Function::ENTRY,
            index: 0,
            registers,
            slots: Vec::new(),
            has_shared_slots: false,
        }
    }

    /// The instruction before which a thread is; `None` if that is the end of a block.
    pub(super) fn instruction(&self, state: &State, thread: ThreadId) -> Option<&'p Instruction> {
        self.program.instruction(state.site(thread))
    }

    pub(super) fn terminator(&self, state: &State, thread: ThreadId) -> &'p TerminatorKind {
        let site = state.site(thread);
        &self.program.function(site.function).block(site.block).terminator.kind
    }

    /// What an operand is worth in the innermost call of a thread.
    pub(super) fn value(&self, state: &State, thread: ThreadId, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => state.frame(thread).registers[register.index()],
            Operand::Constant(constant) => constant.value,
            Operand::Global { global, offset } => {
                state.objects[global.index()].base.wrapping_add(offset)
            }
            Operand::Function(function) => function_address(function),
        }
    }

    pub(super) fn values(&self, state: &State, thread: ThreadId, operands: &[Operand]) -> Vec<u64> {
        operands.iter().map(|&operand| self.value(state, thread, operand)).collect()
    }

    /// Sets the result, if it is wanted, and goes to the next instruction.
    pub(super) fn done(
        &self,
        state: &mut State,
        thread: ThreadId,
        result: Option<RegisterId>,
        value: u64,
    ) {
        let frame = state.frame_mut(thread);
        if let Some(result) = result {
            frame.registers[result.index()] = value;
        }
        frame.index += 1;
    }

    /// Goes on up to the next visible operation.
    pub(super) fn advance(&self, state: &mut State, thread: ThreadId, events: &mut Vec<Event>) {
        let mut left = MOST_LOCAL_STEPS;
        while state.thread(thread).status == Status::Running && !state.exited {
            if left == 0 {
                state.stop(thread, Why::Undefined(Undefined::NoEnd));
                return;
            }
            left -= 1;
            let went_on = match self.instruction(state, thread) {
                Some(instruction) => self.local(state, thread, instruction, events),
                None => self.local_end(state, thread, events),
            };
            if !went_on {
                return;
            }
        }
    }

    /// Runs an instruction unless it is visible; whether it did.
    fn local(
        &self,
        state: &mut State,
        thread: ThreadId,
        Instruction { op, result, .. }: &Instruction,
        events: &mut Vec<Event>,
    ) -> bool {
        let site = state.site(thread);
        let function = self.program.function(site.function);
        let value = |state: &State, operand: Operand| self.value(state, thread, operand);
        let mut happened = |action: Action| events.push(Event { thread, action, site });
        let computed = match *op {
            Op::Binary { op, left, right } => {
                let width = function.operand_width(left);
                op.apply(value(state, left), value(state, right), width)
            }
            Op::Cast { cast, value: operand } => {
                let to = result.map_or(MAX_WIDTH, |result| function.width(result));
                cast.apply(value(state, operand), function.operand_width(operand), to)
            }
            Op::Select { condition, then, otherwise } => {
                let chosen = if value(state, condition) != 0 { then } else { otherwise };
                value(state, chosen)
            }
            Op::Fence { order } => {
                happened(Action::Fence { order });
                0
            }
            Op::RegionBegin => {
                happened(Action::RegionBegin);
                0
            }
            Op::RegionEnd => {
                happened(Action::RegionEnd);
                0
            }
            Op::Assert { condition } => {
                let holds = value(state, condition) != 0;
                happened(Action::Assert { holds });
                if !holds {
                    state.stop(thread, Why::Assertion);
                    return true;
                }
                0
            }
            Op::Assume { condition } => {
                let holds = value(state, condition) != 0;
                if !holds {
                    state.stop(thread, Why::Assumption);
                    return true;
                }
                happened(Action::Assume { holds });
                0
            }
            Op::Slot { size } => {
                let is_private = self.is_private(site.function, *result);
                return self.allocate(
                    state,
                    thread,
                    size.into(),
                    ObjectKind::Slot,
                    is_private,
                    events,
                );
            }
            Op::Alloc { size, storage } => {
                let size = value(state, size);
                let kind = match storage {
                    Storage::Heap | Storage::Zeroed => ObjectKind::Heap,
                    Storage::Call => ObjectKind::Slot,
                };
                return self.allocate(state, thread, size, kind, false, events);
            }
            Op::Load { address, size, .. }
                if self.is_private(site.function, address.register()) =>
            {
                let Some(at) = state.resolve(value(state, address), size) else {
                    state.stop(thread, Why::Undefined(Undefined::BadAddress));
                    return true;
                };
                state.read(at)
            }
            Op::Store { address, size, value: stored, .. }
                if self.is_private(site.function, address.register()) =>
            {
                let Some(at) = state.resolve(value(state, address), size) else {
                    state.stop(thread, Why::Undefined(Undefined::BadAddress));
                    return true;
                };
                state.write(at, value(state, stored));
                0
            }
            Op::SizeOf { address } => state.block_size(value(state, address)),
            Op::Current => handle(thread),
            Op::Own { global } => {
                let known = state.thread(thread).own.iter().find(|(own, _)| *own == global);
                match known {
                    Some(&(_, object)) => state.object(object).base,
                    None => {
                        let object = state.copy_of(self.program.global(global));
                        state.thread_mut(thread).own.push((global, object));
                        let (base, size) = (state.object(object).base, state.object(object).size);
                        happened(Action::Alloc { object, size, address: Some(base) });
                        base
                    }
                }
            }
            Op::Call { ref callee, ref args } => {
                self.call(state, thread, callee, args, *result);
                return true;
            }
            _ => return false,
        };
        self.done(state, thread, *result, computed);
        true
    }

    /// Whether the register holds the address of a slot that only direct accesses use.
    fn is_private(&self, function: FunctionId, register: Option<RegisterId>) -> bool {
        register.is_some_and(|register| self.private[function.index()].contains(&register))
    }

    /// Makes an object for the instruction before which the thread is.
    fn allocate(
        &self,
        state: &mut State,
        thread: ThreadId,
        size: u64,
        kind: ObjectKind,
        is_private: bool,
        events: &mut Vec<Event>,
    ) -> bool {
        let site = state.site(thread);
        let result = self.instruction(state, thread).and_then(|instruction| instruction.result);
        let registers = &self.program.function(site.function).registers;
        let name = result.and_then(|result| registers[result.index()].name.as_deref());
        let Some(object) = state.allocate(size, kind, name.unwrap_or("object")) else {
            state.stop(thread, Why::Undefined(Undefined::TooLarge));
            return true;
        };
        let (base, size) = (state.object(object).base, state.object(object).size);
        if kind == ObjectKind::Slot {
            let frame = state.frame_mut(thread);
            frame.slots.push(object);
            frame.has_shared_slots |= !is_private;
        }
        if !is_private {
            let action = Action::Alloc { object, size, address: Some(base) };
            events.push(Event { thread, action, site });
        }
        self.done(state, thread, result, base);
        true
    }

    fn call(
        &self,
        state: &mut State,
        thread: ThreadId,
        callee: &Callee,
        args: &[Operand],
        result: Option<RegisterId>,
    ) {
        let caller = self.program.function(state.site(thread).function);
        // A number that a computed function gets is as wide as that wants it.
        let width = |&arg: &Operand| match (callee, arg) {
            (Callee::Indirect(_), Operand::Constant(_)) if caller.operand_width(arg) == 64 => ANY,
            _ => caller.operand_width(arg),
        };
        let widths: Vec<u8> = args.iter().map(width).collect();
        let wanted = result.map(|result| caller.width(result));
        let Some(function) = self.callee(state, thread, callee, &widths, wanted) else {
            return state.stop(thread, Why::Undefined(Undefined::BadCall));
        };
        if state.thread(thread).frames.len() >= MOST_FRAMES {
            return state.stop(thread, Why::Undefined(Undefined::TooDeep));
        }
        let head = self.program.function(function);
        let values = self.values(state, thread, args).into_iter().zip(&head.params);
        let args: Vec<u64> =
            values.map(|(value, &param)| value & (u64::MAX >> (64 - head.width(param)))).collect();
        let frame = self.frame(function, &args);
        state.thread_mut(thread).frames.push(frame);
    }

    /// The function that is meant, if it takes such arguments and gives such a result.
    pub(super) fn callee(
        &self,
        state: &State,
        thread: ThreadId,
        callee: &Callee,
        widths: &[u8],
        wanted: Option<u8>,
    ) -> Option<FunctionId> {
        let function = match *callee {
            Callee::Direct(function) => function,
            Callee::Indirect(address) => {
                function_at(self.program, self.value(state, thread, address))?
            }
        };
        let head = self.program.function(function);
        let params = head.params.iter().map(|&param| head.width(param));
        let fits = params.len() == widths.len()
            && params.zip(widths).all(|(param, &width)| width == ANY || width == param);
        (fits && (wanted.is_none() || wanted == head.result)).then_some(function)
    }

    /// Goes on behind a block unless that is visible; whether it did.
    fn local_end(&self, state: &mut State, thread: ThreadId, events: &mut Vec<Event>) -> bool {
        let site = state.site(thread);
        match self.terminator(state, thread) {
            TerminatorKind::Jump(target) => self.jump(state, thread, target),
            TerminatorKind::Branch { condition, then, otherwise } => {
                let taken = self.value(state, thread, *condition) != 0;
                events.push(Event { thread, action: Action::Branch { taken }, site });
                self.jump(state, thread, if taken { then } else { otherwise });
            }
            TerminatorKind::Switch { value, cases, default } => {
                let value = self.value(state, thread, *value);
                let found = cases.iter().find(|(case, _)| *case == value);
                let taken = found.is_some();
                events.push(Event { thread, action: Action::Branch { taken }, site });
                self.jump(state, thread, found.map_or(default, |(_, target)| target));
            }
            TerminatorKind::Return(_) if state.frame(thread).has_shared_slots => return false,
            TerminatorKind::Return(value) => self.return_from(state, thread, *value, events),
            TerminatorKind::Unreachable => {
                state.stop(thread, Why::Undefined(Undefined::Unreachable))
            }
            TerminatorKind::Exit => return false,
            TerminatorKind::ThreadExit(value) => {
                let value = value.map_or(0, |value| self.value(state, thread, value));
                let ended = state.thread_mut(thread);
                ended.result = value;
                ended.frames.clear();
                ended.status = Status::Finished;
                events.push(Event { thread, action: Action::End, site });
            }
        }
        true
    }

    fn jump(&self, state: &mut State, thread: ThreadId, target: &Target) {
        let args = self.values(state, thread, &target.args);
        let function = self.program.function(state.site(thread).function);
        let frame = state.frame_mut(thread);
        for (param, arg) in function.block(target.block).params.iter().zip(args) {
            frame.registers[param.index()] = arg;
        }
        frame.block = target.block;
        frame.index = 0;
    }

    /// Ends the innermost call; its slots end with it.
    pub(super) fn return_from(
        &self,
        state: &mut State,
        thread: ThreadId,
        value: Option<Operand>,
        events: &mut Vec<Event>,
    ) {
        let site = state.site(thread);
        let value = value.map_or(0, |value| self.value(state, thread, value));
        let frame = state.thread_mut(thread).frames.pop().expect("a running thread is in a call");
        for object in frame.slots {
            state.kill(object);
        }
        if state.thread(thread).frames.is_empty() {
            let ended = state.thread_mut(thread);
            (ended.status, ended.result) = (Status::Finished, value);
            events.push(Event { thread, action: Action::End, site });
            return;
        }
        let result = self.instruction(state, thread).and_then(|instruction| instruction.result);
        self.done(state, thread, result, value);
    }
}
