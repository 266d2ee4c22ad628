//! Computations: exactly for integers, otherwise as opaque functions of their operands.

use foretrace_recording::image::{binary, cast};
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::LLVMOpcode::{self, *};
use llvm_sys::core::{
    LLVMGetFCmpPredicate, LLVMGetICmpPredicate, LLVMGetIndices, LLVMGetNumIndices,
};

use super::Lowerer;
use super::code::{NOWHERE, Operand};
use crate::ir::Value;
use crate::ir::llvm;

/// The operation of the image that an instruction on integers is.
fn binary_operation(opcode: LLVMOpcode) -> Option<u64> {
    Some(match opcode {
        LLVMAdd => binary::ADD,
        LLVMSub => binary::SUB,
        LLVMMul => binary::MUL,
        LLVMUDiv => binary::UDIV,
        LLVMSDiv => binary::SDIV,
        LLVMURem => binary::UREM,
        LLVMSRem => binary::SREM,
        LLVMAnd => binary::AND,
        LLVMOr => binary::OR,
        LLVMXor => binary::XOR,
        LLVMShl => binary::SHL,
        LLVMLShr => binary::LSHR,
        LLVMAShr => binary::ASHR,
        _ => return None,
    })
}

/// How the image widens or cuts, for instructions that do no more than this.
fn cast_kind(opcode: LLVMOpcode) -> Option<u64> {
    Some(match opcode {
        LLVMZExt | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMFreeze | LLVMAddrSpaceCast => {
            cast::ZERO_EXTEND
        }
        LLVMSExt => cast::SIGN_EXTEND,
        LLVMTrunc => cast::TRUNCATE,
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// An instruction without effects.
    pub(super) fn scalar(&mut self, instruction: Value) {
        let opcode = instruction.opcode();
        let values: Vec<Value> =
            (0..instruction.operand_count()).map(|index| instruction.operand(index)).collect();
        let operands = self.operands(&values);
        let result = match self.exactly(instruction, &operands) {
            Some(result) => result,
            None => {
                let name = opaque_name(instruction, opcode);
                return self.opaque_instruction(instruction, &name, &operands);
            }
        };
        self.values.insert(instruction, result);
    }

    /// What the instruction computes, if that can be said.
    fn exactly(&mut self, instruction: Value, operands: &[Operand]) -> Option<Operand> {
        let opcode = instruction.opcode();
        let width = self.width_of(instruction.type_of());
        if opcode == LLVMFreeze {
            return match operands[0] {
                // One value for all uses.
                Operand::Unknown { width } if width > 0 => {
                    Some(self.opaque("indeterminate", &[], width))
                }
                operand => Some(operand),
            };
        }
        if opcode == LLVMSelect {
            let is_scalar = self.code.width(operands[0]) == 1;
            return is_scalar.then(|| self.code.select(operands[0], operands[1], operands[2]));
        }
        if width == 0 || operands.iter().any(|one| self.code.width(*one) == 0) {
            return None;
        }
        if let Some(operation) = binary_operation(opcode) {
            // A division may be where the program fails, so it says where it is.
            let divides = (binary::UDIV..=binary::SREM).contains(&operation);
            let site = if divides { self.site(instruction) } else { NOWHERE };
            return Some(self.code.binary_at(site, operation, operands[0], operands[1]));
        }
        if opcode == LLVMICmp {
            return Some(self.comparison(instruction, operands[0], operands[1]));
        }
        let kind = cast_kind(opcode)?;
        let kind = if self.code.width(operands[0]) > width { cast::TRUNCATE } else { kind };
        Some(self.code.cast(kind, operands[0], width))
    }

    fn comparison(&mut self, comparison: Value, left: Operand, right: Operand) -> Operand {
        // SAFETY: it compares integers or pointers.
        match unsafe { LLVMGetICmpPredicate(comparison.0) } {
            LLVMIntEQ => self.code.binary(binary::EQ, left, right),
            LLVMIntNE => self.code.binary(binary::NE, left, right),
            LLVMIntULT => self.code.binary(binary::ULT, left, right),
            LLVMIntULE => self.code.binary(binary::ULE, left, right),
            LLVMIntUGT => self.code.binary(binary::ULT, right, left),
            LLVMIntUGE => self.code.binary(binary::ULE, right, left),
            LLVMIntSLT => self.code.binary(binary::SLT, left, right),
            LLVMIntSLE => self.code.binary(binary::SLE, left, right),
            LLVMIntSGT => self.code.binary(binary::SLT, right, left),
            LLVMIntSGE => self.code.binary(binary::SLE, right, left),
        }
    }

    /// A field of an aggregate: the very one, if it was put together here.
    pub(super) fn extract(&mut self, extract: Value) {
        let whole = extract.operand(0);
        let indices = indices_of(extract);
        let field = match (self.fields.get(&whole), &indices[..]) {
            (Some(fields), [index]) => Some(fields[*index as usize]),
            _ => None,
        };
        match field {
            Some(field) => {
                self.values.insert(extract, field);
            }
            None => self.scalar(extract),
        }
    }
}

fn indices_of(extract: Value) -> Vec<u32> {
    // SAFETY: it takes from or puts into an aggregate.
    unsafe {
        let count = LLVMGetNumIndices(extract.0) as usize;
        std::slice::from_raw_parts(LLVMGetIndices(extract.0), count).to_vec()
    }
}

/// Says all that distinguishes the computation from others with the same arguments and width.
fn opaque_name(instruction: Value, opcode: LLVMOpcode) -> String {
    let name = format!("{opcode:?}").trim_start_matches("LLVM").to_lowercase();
    match opcode {
        LLVMFCmp => {
            let predicate = format!("{:?}", llvm!(LLVMGetFCmpPredicate(instruction.0)));
            format!("{name} {}", predicate.trim_start_matches("LLVMReal").to_lowercase())
        }
        LLVMICmp => {
            let predicate = format!("{:?}", llvm!(LLVMGetICmpPredicate(instruction.0)));
            format!("{name} {}", predicate.trim_start_matches("LLVMInt").to_lowercase())
        }
        LLVMExtractValue | LLVMInsertValue => {
            let indices = indices_of(instruction);
            indices.iter().fold(name, |name, index| format!("{name} {index}"))
        }
        _ => name,
    }
}
