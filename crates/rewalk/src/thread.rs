//! One thread: its frames, what it waits for, and guards.

use std::collections::VecDeque;

use foretrace_recording::plan::NULL_PAGE;
use foretrace_recording::record::PATH_OUTCOMES;
use foretrace_trace::ImplicitFault;
use foretrace_trace::expr::{BinaryOp, Expr};
use foretrace_trace::provenance::{Kept, Lost, Walked};
use foretrace_words::BinaryOp as WordOp;

use crate::Program;
use crate::copies::Transfer;
use crate::counts::Counts;
use crate::memory::Contents;
use crate::records::Access;
use crate::stacks::Stacks;
use crate::terms::{TermId, Terms, Value};
use crate::told::{Extent, Seen, Sharing, Told, WalkStep};
use foretrace_image::{Function, Instruction, Operand};

/// Where the memory of private variables is: no program has addresses there.
pub(crate) const PRIVATE: u64 = 0xf000_0000_0000_0000;

/// So many conditions may be added to the trace, beside one for each record.
const CONDITIONS: u64 = 1 << 14;

pub(crate) struct Thread {
    pub(crate) frames: Vec<Frame>,
    pub(crate) outcomes: Outcomes,
    pub(crate) terms: Terms,
    /// Memory that only this thread touches, and whose accesses are recorded.
    pub(crate) own: Contents,
    /// What this thread has stored in memory that others touch too, if it depends on reads: no
    /// record says what code without an image reads there.
    pub(crate) published: Contents,
    /// Addresses of stores that may range over their objects: what is in `published` is there only
    /// if they are as recorded.
    ranging: Vec<Value>,
    /// Memory whose accesses are not recorded.
    pub(crate) private: Contents,
    pub(crate) next_slot: u64,
    /// Kept so that nothing is allocated for each jump and call.
    pub(crate) spare_values: Vec<Value>,
    spare_registers: Vec<Vec<Value>>,
    /// Jumps since something was recorded.
    pub(crate) idle: u32,
    /// Records so far, and conditions that the walk has added to the trace.
    records: u64,
    conditions: u64,
    /// Where the thread has its `errno`, which every library function may write.
    pub(crate) errno: Option<u64>,
    /// What this thread begins with; in a thread that is about to create another, what that one
    /// does.
    pub(crate) start: Option<Start>,
    /// The last assertion of a branch failed.
    pub(crate) has_failed: bool,
    /// The branches that became assertions: which outcomes they are.
    pub(crate) assertions: Vec<u64>,
    /// The calls that the steps which are told next are inside of, as far as was told.
    pub(crate) told_callers: Option<u32>,
    /// How often code without an image has called a function that has one.
    pub(crate) callbacks: u64,
    is_lost: bool,
    /// In a lost thread: it has read something that nothing has pinned yet.
    has_loose_reads: bool,
}

/// What a thread is created for.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The function that it runs, and its arguments, which are guarded where the thread is created.
    pub(crate) routine: u64,
    pub(crate) arguments: Vec<Value>,
    /// The thread that creates it runs the function as well.
    pub(crate) is_shared: bool,
}

/// One call.
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) block: u32,
    /// The instruction that is next; behind the last one, the terminator.
    pub(crate) index: u32,
    pub(crate) registers: Vec<Value>,
    pub(crate) phase: Phase,
    pub(crate) caller: Caller,
    /// The calls that led here.
    pub(crate) callers: u32,
    /// Private memory above this goes when the frame does.
    pub(crate) slots: u64,
    /// Calls that may come back again: site, block, instruction.
    pub(crate) twice: Vec<(u64, u32, u32)>,
}

/// Who called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caller {
    /// The frame below, in the same module.
    Call,
    /// The frame below, from another module or by a computed address.
    Leave,
    /// Somebody without an image.
    Unknown,
}

/// What a frame waits for.
pub(crate) enum Phase {
    /// The record of its next instruction, if that makes one.
    Ready,
    /// The beginning of the function that it calls.
    Enter(u32),
    /// The return of a call: the address of what was called, and what it returned if it has an
    /// image.
    Inside { target: u64, returned: Option<Value> },
    /// The records of a function of the C library, then its return.
    Hooked,
    /// The loads and stores of a copy.
    Copy(Box<Transfer>),
}

/// Outcomes of branches that the walk has not come to yet.
#[derive(Default)]
pub(crate) struct Outcomes {
    words: VecDeque<(u64, u8)>,
    /// How many are taken.
    taken: u64,
}

impl Outcomes {
    pub(crate) fn push(&mut self, outcomes: u64, count: u8) {
        if count > 0 {
            self.words.push_back((outcomes, count.min(PATH_OUTCOMES as u8)));
        }
    }

    pub(crate) fn pop(&mut self) -> Option<bool> {
        let (word, left) = self.words.front_mut()?;
        let outcome = *word & 1 == 1;
        (*word, *left) = (*word >> 1, *left - 1);
        self.taken += 1;
        if *left == 0 {
            self.words.pop_front();
        }
        Some(outcome)
    }

    /// Takes the next one, if it is this one.
    pub(crate) fn take(&mut self, outcome: bool) -> bool {
        let is_next = self.words.front().is_some_and(|(word, _)| (*word & 1 == 1) == outcome);
        if is_next {
            self.pop();
        }
        is_next
    }

    /// Which one was taken last, from 0.
    pub(crate) fn last(&self) -> u64 {
        self.taken.saturating_sub(1)
    }
}

/// What a thread works with beside itself.
pub(crate) struct Context<'c> {
    pub(crate) program: &'c Program,
    pub(crate) counts: &'c mut Counts,
    pub(crate) stacks: &'c mut Stacks,
    /// Steps that the walk adds at this point.
    pub(crate) steps: &'c mut Vec<WalkStep>,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            frames: Vec::new(),
            outcomes: Outcomes::default(),
            terms: Terms::new(),
            own: Contents::default(),
            published: Contents::default(),
            ranging: Vec::new(),
            private: Contents::default(),
            next_slot: PRIVATE,
            spare_values: Vec::new(),
            spare_registers: Vec::new(),
            idle: 0,
            records: 0,
            conditions: 0,
            errno: None,
            start: None,
            has_failed: false,
            assertions: Vec::new(),
            told_callers: None,
            callbacks: 0,
            is_lost: false,
            has_loose_reads: false,
        }
    }
}

impl Thread {
    /// Takes the next record of the thread.
    pub(crate) fn follow(
        &mut self,
        program: &Program,
        counts: &mut Counts,
        stacks: &mut Stacks,
        seen: Seen,
        told: &mut Told,
    ) {
        if self.is_lost {
            return self.follow_lost(seen, told);
        }
        self.records += 1;
        told.callers = self.callers(program, stacks);
        self.told_callers = told.callers;
        let mut before = std::mem::take(&mut told.before);
        self.record(&mut Context { program, counts, stacks, steps: &mut before }, seen, told);
        told.before = before;
        if self.is_lost {
            // The steps are before the record's event; it is a record of a lost thread itself.
            return self.follow_lost(seen, told);
        }
        let mut after = std::mem::take(&mut told.after);
        self.told_callers = told.callers;
        self.idle = 0;
        self.run(&mut Context { program, counts, stacks, steps: &mut after });
        told.after = after;
        self.forget_terms();
    }

    /// Nothing is known of the thread's path any more: what it does may depend on all that it
    /// reads.
    fn follow_lost(&mut self, seen: Seen, told: &mut Told) {
        (told.name, told.value, told.assumed) = (None, None, None);
        let (is_event, reads) = match seen {
            Seen::Load { sharing, .. } | Seen::LoadRange { sharing, .. } => {
                (sharing != Sharing::Own, sharing != Sharing::Own)
            }
            Seen::Rmw { sharing, .. } => (sharing != Sharing::Own, sharing != Sharing::Own),
            Seen::Store { sharing, .. } | Seen::StoreRange { sharing, .. } => {
                (sharing != Sharing::Own, false)
            }
            Seen::Fence | Seen::Region | Seen::Assert { .. } | Seen::Alloc { .. } => (true, false),
            Seen::Free { .. } | Seen::Fork { .. } | Seen::Other => (true, false),
            _ => (false, false),
        };
        if is_event && std::mem::take(&mut self.has_loose_reads) {
            told.before.push(WalkStep::Opaque);
        }
        self.has_loose_reads |= reads;
    }

    /// Gives up on the thread's path.
    pub(crate) fn lose(&mut self, context: &mut Context, why: Lost) {
        self.lose_as(context, |function| Walked::PathLost { why, function });
    }

    /// The same, for a reason that knows the function in which it is.
    pub(crate) fn lose_as(
        &mut self,
        context: &mut Context,
        reason: impl FnOnce(Option<String>) -> Walked,
    ) {
        if self.is_lost {
            return;
        }
        self.is_lost = true;
        let name = |function: u32| context.program.functions[function as usize].name.to_string();
        let reason = reason(self.frames.last().map(|frame| name(frame.function)));
        self.frames.clear();
        *context.counts.lost.entry(reason).or_default() += 1;
        context.steps.push(WalkStep::Opaque);
    }

    /// Whether another condition may be added: there should not be many more of them than records,
    /// or a long computation on one value that was read makes a trace that nobody can use.
    pub(crate) fn may_add_condition(&mut self) -> bool {
        self.conditions += 1;
        self.conditions <= self.records + CONDITIONS
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Memory is given out or back: what was there is gone.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        self.own.cut_out(&mut self.terms, start, end);
        self.published.cut_out(&mut self.terms, start, end);
        self.private.cut_out(&mut self.terms, start, end);
    }

    /// Keeps the terms that something can still refer to, once there are many more of them.
    fn forget_terms(&mut self) {
        if !self.terms.are_many() {
            return;
        }
        let Thread { frames, own, published, ranging, private, terms, .. } = self;
        let mut keep = terms.keep();
        ranging.iter_mut().for_each(|value| keep.value(value));
        for frame in frames {
            frame.registers.iter_mut().for_each(|value| keep.value(value));
            match &mut frame.phase {
                Phase::Inside { returned: Some(value), .. } => keep.value(value),
                Phase::Copy(transfer) => transfer.for_each_value(|value| keep.value(value)),
                _ => {}
            }
        }
        for memory in [own, published, private] {
            memory.for_each_value(|value| keep.value(value));
        }
        keep.finish();
    }

    /// What an operand is now.
    pub(crate) fn value(&self, operand: Operand) -> Value {
        match operand {
            Operand::Register(register) => {
                let frame = self.frames.last().expect("only frames have operands");
                self.terms.now(frame.registers[register as usize])
            }
            Operand::Constant(bits) | Operand::Address(bits) => Value::number(bits),
            Operand::Unknown => Value::UNKNOWN,
        }
    }

    /// Gives a register of the top frame its value.
    pub(crate) fn set(&mut self, program: &Program, register: Option<u32>, value: Value) {
        let (Some(register), Some(frame)) = (register, self.frames.last_mut()) else { return };
        let width = program.functions[frame.function as usize].registers[register as usize];
        let bits = foretrace_words::cut(value.bits, width);
        frame.registers[register as usize] =
            Value { bits, known: value.known && width > 0, ..value };
    }

    /// The function of the top frame, and the instruction that is next, if it is not the
    /// terminator.
    pub(crate) fn instruction<'p>(
        &self,
        program: &'p Program,
    ) -> Option<(&'p Function, Option<&'p Instruction>)> {
        let frame = self.frames.last()?;
        let function = &program.functions[frame.function as usize];
        let block = &function.blocks[frame.block as usize];
        Some((function, block.instructions.get(frame.index as usize)))
    }

    /// The next instruction of the top frame is done.
    pub(crate) fn advance(&mut self) {
        let frame = self.frames.last_mut().expect("an instruction was done");
        frame.index += 1;
        frame.phase = Phase::Ready;
    }

    /// Begins a function.
    pub(crate) fn push_frame(
        &mut self,
        context: &mut Context,
        function: u32,
        arguments: Vec<Value>,
        caller: Caller,
    ) {
        let code = &context.program.functions[function as usize];
        if code.is_variadic {
            // Its arguments are put on the stack, where something else may have been, and nothing
            // is recorded of that.
            self.give_away_memory(context, 0);
        }
        let mut registers = self.spare_registers.pop().unwrap_or_default();
        registers.clear();
        registers.resize(code.registers.len(), Value::UNKNOWN);
        for (register, value) in registers.iter_mut().take(code.parameters as usize).zip(arguments)
        {
            *register = value;
        }
        let callers = self.stack_of_callee(context, caller);
        self.frames.push(Frame {
            function,
            block: 0,
            index: 0,
            registers,
            phase: Phase::Ready,
            caller,
            callers,
            slots: self.next_slot,
            twice: Vec::new(),
        });
    }

    /// Ends the top frame, and says who called it; its private memory goes with it.
    pub(crate) fn pop_frame(&mut self) -> Option<Caller> {
        let frame = self.frames.pop()?;
        if self.next_slot > frame.slots {
            self.private.cut_out(&mut self.terms, frame.slots, self.next_slot);
            self.next_slot = frame.slots;
        }
        self.spare_registers.push(frame.registers);
        Some(frame.caller)
    }

    /// From here on the value is what it was in the recorded run.
    pub(crate) fn guard(&mut self, context: &mut Context, value: Value, site: u64, why: Kept) {
        let value = self.terms.refresh(value);
        if value.term == TermId::NONE {
            return;
        }
        context.counts.guard(why);
        if value.known && self.terms.is_exact(value) {
            let condition = self.terms.equals_recorded(value, context.steps);
            self.tell(context, WalkStep::Branch { condition, taken: true, site });
            return self.terms.fix(value);
        }
        for read in self.terms.fix_reads(value) {
            self.pin(context, read, site);
        }
    }

    /// An argument is what it was, and so is what is passed by value: the caller's copy of that is
    /// private memory.
    pub(crate) fn guard_argument(
        &mut self,
        context: &mut Context,
        argument: Value,
        site: u64,
        why: Kept,
    ) {
        self.guard(context, argument, site, why);
        if argument.known && argument.bits >= PRIVATE {
            for value in self.private.values(argument.bits, self.next_slot) {
                self.guard(context, value, site, why);
            }
        }
    }

    /// A read saw what it saw.
    pub(crate) fn pin(&mut self, context: &mut Context, read: Value, site: u64) {
        let condition = self.terms.equals_recorded(read, context.steps);
        self.tell(context, WalkStep::Branch { condition, taken: true, site });
    }

    /// An address is what it was.
    pub(crate) fn guard_address(
        &mut self,
        context: &mut Context,
        address: Value,
        site: u64,
        why: Kept,
    ) {
        let address = self.terms.now(address);
        if address.term != TermId::NONE && address.known && self.terms.is_exact(address) {
            let base = self.terms.base(address);
            self.guard(context, base, site, why);
            self.terms.fix(address);
        }
        self.guard(context, address, site, why);
    }

    /// The address of an access is what it was; or, where all accesses to its object are in the
    /// trace, this is the only thing that depends on it: the access may be taken to range over the
    /// object.
    pub(crate) fn range_address(
        &mut self,
        context: &mut Context,
        address: Value,
        access: Access,
        told: &mut Told,
    ) {
        let address = self.terms.refresh(address);
        let Extent { start, end, is_whole } = access.extent;
        if address.term == TermId::NONE || !address.known || !self.terms.is_exact(address) {
            let why = Kept::AddressNotModelled;
            return self.guard_address(context, address, access.site, why);
        }
        let Ok(bytes @ 1..) = u32::try_from(end - start) else {
            let why = Kept::AddressElsewhere;
            return self.guard_address(context, address, access.site, why);
        };
        told.ranges = true;
        if !is_whole || access.sharing != Sharing::Shared {
            return self.guard_address(context, address, access.site, Kept::Address);
        }
        let base = self.terms.base(address);
        let condition = self.terms.equals_recorded(base, context.steps);
        self.tell(context, WalkStep::Address { condition, bytes, site: access.site });
        if access.writes {
            self.ranging.push(address);
        }
    }

    /// An access hits what it should, if that depends on what was read: a pointer is not null, an
    /// index inside of its array.
    pub(crate) fn demand_object(&mut self, context: &mut Context, address: Value, access: Access) {
        let address = self.terms.refresh(address);
        if address.term == TermId::NONE || !address.known || !self.terms.is_exact(address) {
            return;
        }
        let base = self.terms.base(address);
        let offset = address.bits.wrapping_sub(base.bits);
        let Extent { start, end, .. } = access.extent;
        if offset < NULL_PAGE {
            let what = (ImplicitFault::Null, Extent::default());
            self.demand(context, (WordOp::Ne, 64), (base, 0), access.site, what);
        } else if (start..end).contains(&offset) && end - start >= u64::from(access.size) {
            let before = Value::number(offset - start);
            let index = self.terms.binary(WordOp::Add, 64, base, before);
            let most = end - start - u64::from(access.size);
            let fault = (ImplicitFault::Bounds, access.extent);
            self.demand(context, (WordOp::Ule, 64), (index, most), access.site, fault);
        }
    }

    /// Something that must hold, and did in the recorded run; if not, the program goes wrong here.
    pub(crate) fn demand(
        &mut self,
        context: &mut Context,
        (op, width): (WordOp, u8),
        (left, right): (Value, u64),
        site: u64,
        (fault, extent): (ImplicitFault, Extent),
    ) {
        let holds = self.terms.binary(op, width, left, Value::number(right));
        let holds = self.terms.refresh(holds);
        if holds.term == TermId::NONE || holds.bits != 1 || !self.terms.is_exact(holds) {
            return;
        }
        let condition = self.terms.express(holds, context.steps);
        self.tell(context, WalkStep::Demand { condition, fault, extent, site });
        self.terms.fix(holds);
    }

    /// A condition on values holds, as it did in the recorded run.
    pub(crate) fn require(
        &mut self,
        context: &mut Context,
        (op, width): (WordOp, u8),
        (left, right): (Value, u64),
        site: u64,
        why: Kept,
    ) {
        let left = self.terms.now(left);
        if left.term == TermId::NONE {
            return;
        }
        let holds = self.terms.binary(op, width, left, Value::number(right));
        if !holds.known || !self.terms.is_exact(holds) {
            return self.guard(context, left, site, why);
        }
        let holds = self.terms.now(holds);
        if holds.term == TermId::NONE {
            return;
        }
        let condition = self.terms.express(holds, context.steps);
        self.tell(context, WalkStep::Branch { condition, taken: holds.bits == 1, site });
        self.terms.fix(holds);
    }

    /// Memory that code without an image may read or write: what it holds is what it was, and may
    /// be something else afterwards.
    pub(crate) fn give_away_memory(&mut self, context: &mut Context, site: u64) {
        self.settle_addresses(context, site);
        let mut values = self.own.clear();
        values.extend(self.published.clear());
        for value in values {
            self.guard(context, value, site, Kept::ReachableMemory);
        }
    }

    /// What the thread has stored is where it was stored in the recorded run.
    pub(crate) fn settle_addresses(&mut self, context: &mut Context, site: u64) {
        for address in std::mem::take(&mut self.ranging) {
            self.guard_address(context, address, site, Kept::AddressOfReachable);
        }
    }
}

/// A name of a read equals what was read.
pub(crate) fn as_recorded(name: u32, bits: u64, site: u64) -> WalkStep {
    let name = Expr::Name(foretrace_trace::NameId(name));
    let condition = Expr::Binary(BinaryOp::Eq, Box::new(name), Box::new(Expr::Literal(bits)));
    WalkStep::Branch { condition, taken: true, site }
}
