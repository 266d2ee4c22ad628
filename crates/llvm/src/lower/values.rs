//! Operands: registers, constants and constant expressions; addresses of elements.

use foretrace_recording::image::{binary, cast};
use llvm_sys::LLVMOpcode::*;
use llvm_sys::LLVMTypeKind::*;
use llvm_sys::core::*;
use llvm_sys::target::{LLVMABISizeOfType, LLVMOffsetOfElement};

use super::Lowerer;
use super::code::Operand;
use crate::calls;
use crate::ir::llvm;
use crate::ir::{Type, Value};
use crate::tables;

impl Lowerer<'_> {
    /// The operand that stands for a value.
    pub(super) fn operand(&mut self, value: Value) -> Operand {
        if let Some(known) = self.values.get(&value) {
            return *known;
        }
        if let Some(fields) = self.fields.get(&value).cloned() {
            return self.opaque("aggregate", &fields, 0);
        }
        if !value.is_constant() {
            // What is no value to compute with: metadata, inline assembly.
            return Operand::Unknown { width: self.width_of(value.type_of()) };
        }
        self.constant(value)
    }

    /// The operands of all these values.
    pub(super) fn operands(&mut self, values: &[Value]) -> Vec<Operand> {
        values.iter().map(|value| self.operand(*value)).collect()
    }

    fn constant(&mut self, value: Value) -> Operand {
        let of = value.type_of();
        let width = self.width_of(of);
        let unknown = Operand::Unknown { width };
        if width == 0 || value.is_undefined() {
            return unknown;
        }
        if value.is_null() {
            return Operand::number(width, 0);
        }
        if let Some(bits) = value.constant_bits(self.build.integer(width)) {
            return Operand::number(width, bits);
        }
        if value.is_global() {
            return self.symbol(value);
        }
        let Some(opcode) = value.expression_opcode() else { return unknown };
        match opcode {
            LLVMGetElementPtr => self.element_address(value),
            LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMAddrSpaceCast | LLVMTrunc => {
                let inner = self.operand(value.operand(0));
                if self.code.width(inner) == 0 { unknown } else { self.code.resize(inner, width) }
            }
            LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMXor => {
                let (left, right) = (value.operand(0), value.operand(1));
                let (left, right) = (self.operand(left), self.operand(right));
                match opcode {
                    LLVMAdd if width == 64 => self.code.add_offset(left, right),
                    LLVMAdd => self.code.binary(binary::ADD, left, right),
                    LLVMSub => self.code.binary(binary::SUB, left, right),
                    LLVMMul => self.code.binary(binary::MUL, left, right),
                    LLVMShl => self.code.binary(binary::SHL, left, right),
                    _ => self.code.binary(binary::XOR, left, right),
                }
            }
            _ => unknown,
        }
    }

    /// The address of a function or variable, if the tables may have it.
    fn symbol(&mut self, global: Value) -> Operand {
        let target = calls::resolve(global);
        if target.expression_opcode().is_some() {
            return self.operand(target);
        }
        let is_named = tables::is_addressable(target)
            && !target.is_thread_local()
            && target.type_of().address_space() == 0;
        if !is_named {
            return Operand::Unknown { width: self.width_of(global.type_of()) };
        }
        Operand::Symbol { number: self.tables.symbol(target), offset: 0 }
    }

    /// The address of an element, by the instruction or constant expression that computes it.
    pub(super) fn element_address(&mut self, element: Value) -> Operand {
        let indices: Vec<Value> =
            (1..element.operand_count()).map(|index| element.operand(index)).collect();
        let base = self.operand(element.operand(0));
        if self.width_of(element.type_of()) != 64 {
            let mut arguments = vec![base];
            arguments.extend(self.operands(&indices));
            let width = self.width_of(element.type_of());
            return self.opaque("address of an element", &arguments, width);
        }
        // SAFETY: it computes the address of an element.
        let mut of = Type(unsafe { LLVMGetGEPSourceElementType(element.0) });
        let mut offset = Operand::number(64, 0);
        let mut address = base;
        for (position, index) in indices.into_iter().enumerate() {
            let step = if position > 0 && of.kind() == LLVMStructTypeKind {
                let (step, field) = self.field(of, index);
                of = field;
                Operand::number(64, step)
            } else {
                // The first index counts what the pointer points at, the others go inside.
                of = if position > 0 { of.element() } else { of };
                let size = llvm!(LLVMABISizeOfType(self.build.layout, of.0));
                let index = self.index(index);
                self.code.scale(index, size)
            };
            match step {
                Operand::Constant { .. } => offset = self.code.add_offset(offset, step),
                _ => address = self.code.add_offset(address, step),
            }
        }
        self.code.add_offset(address, offset)
    }

    /// Where a field begins, and its type.
    fn field(&self, of: Type, index: Value) -> (u64, Type) {
        let index = index.constant_bits(self.build.i32).expect("fields have constant numbers");
        // SAFETY: it is a struct with this field.
        unsafe {
            let field = LLVMStructGetTypeAtIndex(of.0, index as u32);
            (LLVMOffsetOfElement(self.build.layout, of.0, index as u32), Type(field))
        }
    }

    /// An index in 64 bits.
    fn index(&mut self, index: Value) -> Operand {
        let operand = self.operand(index);
        match (operand, self.code.width(operand)) {
            (_, 0) => self.opaque("index", &[operand], 64),
            (Operand::Constant { value, width }, _) => {
                let unused = 64 - width;
                Operand::number(64, ((value << unused) as i64 >> unused) as u64)
            }
            _ => self.code.cast(cast::SIGN_EXTEND, operand, 64),
        }
    }
}
