//! Instructions that only compute: registers and private memory, no record and no guard.
//!
//! **Computes.** The same as one instruction after the other in `run`, which does all others.
//!
//! **Cost.** These are nearly all that programs do between two records: one loop, in which nothing
//! is looked up twice and nothing allocated.

use foretrace_recording::image::flags;

use crate::Program;
use crate::memory::Contents;
use crate::run::IDLE;
use crate::terms::{TermId, Terms, Value};
use crate::thread::{Context, PRIVATE, Thread};
use foretrace_image::{Instruction, Op, Operand, Target, Terminator};
use foretrace_words::{BinaryOp, cut};

impl Thread {
    /// Goes on until something is next that may need a record or a guard.
    pub(crate) fn compute(&mut self, context: &mut Context) {
        let program = context.program;
        let Thread { frames, terms, private, outcomes, idle, spare_values, .. } = self;
        let Some(frame) = frames.last_mut() else { return };
        let function = &program.functions[frame.function as usize];
        let registers = &mut frame.registers[..];
        loop {
            let block = &function.blocks[frame.block as usize];
            let rest = block.instructions.get(frame.index as usize..).unwrap_or_default();
            for instruction in rest {
                let Some(value) = simple(program, terms, private, registers, instruction) else {
                    return;
                };
                frame.index += 1;
                context.counts.instructions += 1;
                if let Some(register) = instruction.result {
                    let (bits, known) = (cut(value.bits, instruction.width), instruction.width > 0);
                    registers[register as usize] =
                        Value { bits, known: value.known && known, ..value };
                }
            }
            let target: &Target = match &block.terminator {
                Terminator::Jump(target) | Terminator::Invoked { normal: target, .. } => target,
                Terminator::Branch { flags, condition, then, otherwise, .. } => {
                    let condition = value_of(terms, registers, *condition);
                    let taken = condition.bits & 1 == 1;
                    if !condition.known || condition.term != TermId::NONE {
                        return;
                    }
                    if u64::from(*flags) & flags::CONSTANT == 0 {
                        if !outcomes.take(taken) {
                            return;
                        }
                        *idle = 0;
                        context.counts.branches += 1;
                    }
                    if taken { then } else { otherwise }
                }
                _ => return,
            };
            if *idle >= IDLE {
                return;
            }
            *idle += 1;
            frame.block = target.block;
            frame.index = 0;
            // All are looked up before the first is set: a block may pass its own parameters on to
            // itself.
            let parameters = &function.blocks[target.block as usize].parameters;
            match (&parameters[..], &target.arguments[..]) {
                ([], _) => {}
                ([parameter], [argument]) => {
                    registers[*parameter as usize] = value_of(terms, registers, *argument);
                }
                (parameters, arguments) => {
                    spare_values.clear();
                    spare_values
                        .extend(arguments.iter().map(|one| value_of(terms, registers, *one)));
                    for (register, value) in parameters.iter().zip(spare_values.iter()) {
                        registers[*register as usize] = *value;
                    }
                }
            }
        }
    }
}

/// What an operand is now.
#[inline]
fn value_of(terms: &Terms, registers: &[Value], operand: Operand) -> Value {
    match operand {
        Operand::Register(register) => terms.now(registers[register as usize]),
        Operand::Constant(bits) | Operand::Address(bits) => Value::number(bits),
        Operand::Unknown => Value::UNKNOWN,
    }
}

/// What an instruction gives; `None` if more than that may come of it.
#[inline]
fn simple(
    program: &Program,
    terms: &mut Terms,
    private: &mut Contents,
    registers: &[Value],
    instruction: &Instruction,
) -> Option<Value> {
    // An address that is a number.
    let address = |terms: &Terms, operand: Operand| {
        let address = value_of(terms, registers, operand);
        (address.known && address.term == TermId::NONE).then_some(address.bits)
    };
    Some(match &instruction.op {
        Op::Binary { op, width, left, right } => {
            let (left, right) =
                (value_of(terms, registers, *left), value_of(terms, registers, *right));
            let are_numbers = left.term == TermId::NONE && right.term == TermId::NONE;
            if are_numbers && left.known && right.known {
                Value::number(op.apply(left.bits, right.bits, *width))
            } else if !are_numbers && may_be_undefined(*op, *width, right) {
                return None;
            } else {
                terms.binary(*op, *width, left, right)
            }
        }
        Op::Cast { cast, from, value } => {
            let to = if instruction.result.is_some() { instruction.width } else { 64 };
            terms.cast(*cast, value_of(terms, registers, *value), *from, to)
        }
        Op::Select { condition, then, otherwise } => {
            let [condition, then, otherwise] =
                [condition, then, otherwise].map(|one| value_of(terms, registers, *one));
            terms.choice(condition, then, otherwise)
        }
        Op::Load { private: true, size, address: at, .. } => {
            load_private(program, terms, private, address(terms, *at)?, *size)
        }
        Op::Store { private: true, size, address: at, value, .. } => {
            let (address, value) = (address(terms, *at)?, value_of(terms, registers, *value));
            private.store(terms, address, *size, value, true);
            Value::UNKNOWN
        }
        _ => return None,
    })
}

/// Whether the machine may trap, or anything may happen, for other values of the operands than the
/// recorded ones.
fn may_be_undefined(op: BinaryOp, width: u8, right: Value) -> bool {
    match op {
        BinaryOp::UDiv | BinaryOp::URem | BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => {
            right.term != TermId::NONE
        }
        BinaryOp::SDiv | BinaryOp::SRem => {
            right.term != TermId::NONE || right.known && right.bits == cut(u64::MAX, width)
        }
        _ => false,
    }
}

/// What private memory, or a constant, holds.
pub(crate) fn load_private(
    program: &Program,
    terms: &mut Terms,
    private: &Contents,
    address: u64,
    size: u8,
) -> Value {
    if address < PRIVATE
        && let Some(bytes) = program.constant(address, size.into())
    {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        return Value::number(u64::from_le_bytes(word));
    }
    private.load(terms, address, size, None)
}
