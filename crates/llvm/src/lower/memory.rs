//! Accesses to memory, and where variables are.

use foretrace_recording::image::{binary, flags, opcode};
use llvm_sys::core::LLVMGetAllocatedType;
use llvm_sys::target::LLVMABISizeOfType;

use super::Lowerer;
use super::code::{NOWHERE, Operand, Part};
use crate::ir::llvm;
use crate::ir::{Type, Value};
use crate::locals::Visibility;

/// How one access to memory is seen.
struct Access {
    flags: u64,
    site: u64,
    address: Operand,
}

impl Lowerer<'_> {
    /// `None` for what is not memory that we know of: nothing to load or store, or a segment
    /// register's.
    fn access(&mut self, instruction: Value, address: Value, of: Type) -> Option<Access> {
        let visibility = self.locals.visibility(address);
        let size = of.store_size(self.build.layout)?;
        if size == 0 || visibility == Visibility::Foreign {
            return None;
        }
        let is_private = visibility == Visibility::Private;
        if is_private {
            self.keep_constants(address);
        }
        Some(Access {
            flags: if is_private { flags::PRIVATE } else { 0 },
            site: if is_private { NOWHERE } else { self.site(instruction) },
            address: self.operand(address),
        })
    }

    /// What is read here without a hook, the runtime has to keep.
    pub(super) fn keep_constants(&mut self, address: Value) {
        for constant in self.locals.constants_behind(address) {
            self.tables.add_constant(self.build, constant);
        }
    }

    pub(super) fn load(&mut self, load: Value) {
        let of = load.type_of();
        let Some(access) = self.access(load, load.operand(0), of) else {
            let address = self.operand(load.operand(0));
            return self.opaque_instruction(load, "load", &[address]);
        };
        let order = load.order().into();
        let value = match self.build.word_size(of) {
            Some(size) => self.load_word(&access, size, order),
            None if order != 0 && access.flags == 0 => {
                return self.announced(load, access.site, &[access.address]);
            }
            None => self.load_wide(&access, of),
        };
        let value = self.narrow(value, of);
        self.values.insert(load, value);
    }

    fn load_word(&mut self, access: &Access, size: u64, order: u64) -> Operand {
        let parts = [
            Part::Number(access.flags),
            Part::Number(size),
            Part::Number(order),
            Part::One(access.address),
        ];
        self.code.define(opcode::LOAD, access.site, 8 * size as u32, &parts)
    }

    fn load_wide(&mut self, access: &Access, of: Type) -> Operand {
        let size = of.store_size(self.build.layout).unwrap_or(0);
        let parts = [Part::Number(access.flags), Part::Number(size), Part::One(access.address)];
        self.code.define(opcode::LOAD_WIDE, access.site, 0, &parts)
    }

    /// From what lies in memory to a value of this type.
    pub(super) fn narrow(&mut self, word: Operand, of: Type) -> Operand {
        let width = self.width_of(of);
        match self.code.width(word) {
            0 if width != 0 => self.opaque("part", &[word], width),
            _ => self.code.resize(word, width),
        }
    }

    pub(super) fn store(&mut self, store: Value) {
        let value = store.operand(0);
        let of = value.type_of();
        let Some(access) = self.access(store, store.operand(1), of) else { return };
        let order = store.order().into();
        let operand = self.operand(value);
        match self.build.word_size(of) {
            Some(size) => {
                let word = self.code.resize(operand, 8 * size as u32);
                let parts = [
                    Part::Number(access.flags),
                    Part::Number(size),
                    Part::Number(order),
                    Part::One(access.address),
                    Part::One(word),
                ];
                self.code.perform(opcode::STORE, access.site, &parts);
            }
            None if order != 0 && access.flags == 0 => {
                self.announced(store, access.site, &[access.address, operand]);
            }
            None => self.store_wide(&access, of, operand),
        }
    }

    fn store_wide(&mut self, access: &Access, of: Type, value: Operand) {
        let size = of.store_size(self.build.layout).unwrap_or(0);
        let parts = [
            Part::Number(access.flags),
            Part::Number(size),
            Part::One(access.address),
            Part::One(value),
        ];
        self.code.perform(opcode::STORE_WIDE, access.site, &parts);
    }

    pub(super) fn read_modify_write(&mut self, rmw: Value) {
        let of = rmw.type_of();
        let operand = self.operand(rmw.operand(1));
        let Some(access) = self.access(rmw, rmw.operand(0), of) else {
            return self.opaque_instruction(rmw, "atomic operation", &[operand]);
        };
        let (Some(size), Some(operation)) = (self.build.word_size(of), rmw.rmw_operation()) else {
            return self.unusual(rmw, of, &access, &[operand]);
        };
        let word = self.code.resize(operand, 8 * size as u32);
        let parts = [
            Part::Number(access.flags),
            Part::Number(operation.into()),
            Part::Number(size),
            Part::Number(rmw.order().into()),
            Part::One(access.address),
            Part::One(word),
        ];
        let old = self.code.define(opcode::RMW, access.site, 8 * size as u32, &parts);
        let old = self.narrow(old, of);
        self.values.insert(rmw, old);
    }

    pub(super) fn compare_exchange(&mut self, exchange: Value) {
        let of = exchange.operand(1).type_of();
        let values = [exchange.operand(1), exchange.operand(2)];
        let operands = self.operands(&values);
        let Some(access) = self.access(exchange, exchange.operand(0), of) else {
            return self.opaque_instruction(exchange, "atomic operation", &operands);
        };
        let Some(size) = self.build.word_size(of) else {
            return self.unusual(exchange, of, &access, &operands);
        };
        let [expected, desired] =
            [operands[0], operands[1]].map(|one| self.code.resize(one, 8 * size as u32));
        let parts = [
            Part::Number(access.flags),
            Part::Number(size),
            Part::Number(exchange.order().into()),
            Part::One(access.address),
            Part::One(expected),
            Part::One(desired),
        ];
        let old = self.code.define(opcode::COMPARE_EXCHANGE, access.site, 8 * size as u32, &parts);
        let succeeded = self.code.binary(binary::EQ, old, expected);
        let old = self.narrow(old, of);
        self.fields.insert(exchange, vec![old, succeeded]);
    }

    /// An atomic operation that has no hook of its own.
    fn unusual(&mut self, operation: Value, of: Type, access: &Access, operands: &[Operand]) {
        if access.flags == 0 {
            let mut arguments = vec![access.address];
            arguments.extend(operands);
            return self.announced(operation, access.site, &arguments);
        }
        let old = self.load_wide(access, of);
        let mut arguments = vec![old];
        arguments.extend(operands);
        let new = self.opaque("atomic operation", &arguments, 0);
        self.store_wide(access, of, new);
        self.opaque_instruction(operation, "atomic operation", &arguments);
    }

    /// It happens between the marks of a call.
    fn announced(&mut self, operation: Value, site: u64, arguments: &[Operand]) {
        let name = self.tables.string("atomic operation").into();
        let callee = Operand::number(64, 0);
        let parts = [Part::Number(0), Part::Number(name), Part::One(callee), Part::List(arguments)];
        let of = operation.type_of();
        if of.is_void() {
            return self.code.perform(opcode::LEAVE, site, &parts);
        }
        let width = self.width_of(of);
        let result = self.code.define(opcode::LEAVE, site, width, &parts);
        self.values.insert(operation, result);
    }

    pub(super) fn fence(&mut self, fence: Value) {
        let order = u64::from(fence.order());
        let site = if order == 0 { NOWHERE } else { self.site(fence) };
        self.code.perform(opcode::FENCE, site, &[Part::Number(order)]);
    }

    /// A local variable.
    pub(super) fn variable(&mut self, variable: Value) {
        // SAFETY: it is an alloca.
        let size =
            llvm!(LLVMABISizeOfType(self.build.layout, llvm!(LLVMGetAllocatedType(variable.0))));
        let count = self.operand(variable.operand(0));
        let count = match count {
            Operand::Constant { value, .. } => Operand::number(64, value),
            _ => self.code.resize(count, 64),
        };
        let size = self.code.scale(count, size);
        let flags = if self.locals.is_private(variable) { flags::PRIVATE } else { 0 };
        let slot = self.slot(flags, size);
        self.values.insert(variable, slot);
    }

    pub(super) fn slot(&mut self, flags: u64, size: Operand) -> Operand {
        let parts = [Part::Number(flags), Part::One(size)];
        self.code.define(opcode::SLOT, NOWHERE, 64, &parts)
    }
}
