//! Finds the memory of a function that no other thread can reach, which needs no hooks.
//!
//! **Computes.** The allocas, by-value parameters and blocks of the heap whose address is only ever
//! used to access them (and to free them).
//!
//! **Invariant.** All accesses to such memory go without a hook, or none: a load that is recorded
//! must not miss a store that is not. Hence a local that meets other memory in a phi or select is
//! not private, nor is one that a callee gets to see, even if the callee keeps no copy of the
//! address.
//!
//! **Cost.** Linear in the uses of the locals, times the number of times that merges take one away.

use std::collections::HashSet;

use llvm_sys::LLVMOpcode::*;

use crate::ir::{self, Value};

/// Intrinsics that look at memory without letting its address out. The copying ones get their hooks
/// in `ranges`.
const HARMLESS: [&str; 10] = [
    "llvm.lifetime.",
    "llvm.dbg.",
    "llvm.invariant.",
    "llvm.objectsize.",
    "llvm.memcpy.",
    "llvm.memmove.",
    "llvm.memset.",
    "llvm.va_start",
    "llvm.va_end",
    "llvm.va_copy",
];

/// Functions of the C and C++ libraries that return fresh memory.
const ALLOCATES: [&str; 5] = ["malloc", "calloc", "aligned_alloc", "_Znwm", "_Znam"];

/// Those that take it back.
const FREES: [&str; 5] = ["free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm"];

fn calls_one_of(instruction: Value, names: &[&str]) -> bool {
    let calls = instruction.is_instruction(LLVMCall) || instruction.is_instruction(LLVMInvoke);
    calls && {
        let callee = instruction.callee();
        callee.is_function() && callee.is_declaration() && names.contains(&callee.name().as_str())
    }
}

/// Who can see what lies at an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Other threads.
    Shared,
    /// Only this function; or it never changes.
    Private,
    /// What a segment register addresses. It is left alone.
    Foreign,
}

/// The private memory of one function.
pub(crate) struct Locals {
    private: HashSet<Value>,
}

impl Locals {
    pub(crate) fn of(function: Value) -> Locals {
        let by_value = ir::attribute_kind("byval");
        let instructions: Vec<Value> =
            function.blocks().into_iter().flat_map(|block| block.instructions()).collect();
        let parameters = function.parameters().into_iter().enumerate();
        let copies = parameters
            .filter(|(index, _)| function.has_attribute(*index as u32 + 1, by_value))
            .map(|(_, parameter)| parameter);
        let variables = instructions
            .iter()
            .copied()
            .filter(|one| one.is_instruction(LLVMAlloca) || calls_one_of(*one, &ALLOCATES));

        let private =
            variables.chain(copies).filter(|local| stays_inside(*local, by_value)).collect();
        let mut locals = Locals { private };
        locals.drop_merged(&instructions);
        locals
    }

    pub(crate) fn visibility(&self, address: Value) -> Visibility {
        if address.type_of().address_space() != 0 {
            Visibility::Foreign
        } else if self.hide(address) {
            Visibility::Private
        } else {
            Visibility::Shared
        }
    }

    /// Whether all accesses to this variable go without a hook.
    pub(crate) fn is_private(&self, local: Value) -> bool {
        self.private.contains(&local)
    }

    /// The constant variables that the address may point into.
    pub(crate) fn constants_behind(&self, address: Value) -> Vec<Value> {
        bases_of(address).into_iter().filter(|base| base.is_constant_global()).collect()
    }

    /// Whether no other thread can see what lies at this address: it is private or constant.
    pub(crate) fn hide(&self, address: Value) -> bool {
        let bases = bases_of(address);
        let hidden = |base: &Value| {
            self.private.contains(base) || base.is_constant_global() || base.is_nothing()
        };
        // An access to null is the program's bug, and the runtime's to see.
        bases.iter().any(|base| !base.is_nothing()) && bases.iter().all(hidden)
    }

    /// A pointer that may point to private and to shared memory makes the former shared as well.
    fn drop_merged(&mut self, instructions: &[Value]) {
        let merges: Vec<HashSet<Value>> = instructions
            .iter()
            .filter(|one| one.is_instruction(LLVMPHI) || one.is_instruction(LLVMSelect))
            .filter(|one| one.type_of().is_pointer())
            .map(|one| bases_of(*one))
            .collect();
        loop {
            let before = self.private.len();
            for bases in &merges {
                if !bases.iter().all(|base| self.private.contains(base) || base.is_nothing()) {
                    self.private.retain(|local| !bases.contains(local));
                }
            }
            if self.private.len() == before {
                return;
            }
        }
    }
}

/// What a pointer is derived from.
fn bases_of(pointer: Value) -> HashSet<Value> {
    let mut bases = HashSet::new();
    let mut seen = HashSet::new();
    let mut open = vec![pointer];
    while let Some(pointer) = open.pop() {
        if !seen.insert(pointer) {
            continue;
        }
        let derived = [LLVMGetElementPtr, LLVMBitCast];
        if derived
            .iter()
            .any(|&opcode| pointer.is_instruction(opcode) || pointer.is_expression(opcode))
        {
            open.push(pointer.operand(0));
        } else if pointer.is_instruction(LLVMPHI) {
            open.extend((0..pointer.operand_count()).map(|index| pointer.operand(index)));
        } else if pointer.is_instruction(LLVMSelect) {
            open.extend([pointer.operand(1), pointer.operand(2)]);
        } else {
            bases.insert(pointer);
        }
    }
    bases
}

fn stays_inside(local: Value, by_value: u32) -> bool {
    let mut seen = HashSet::new();
    let mut open = vec![local];
    while let Some(pointer) = open.pop() {
        if !seen.insert(pointer) {
            continue;
        }
        for user in pointer.users() {
            match use_of(pointer, user, by_value) {
                Use::Access => {}
                Use::Derive => open.push(user),
                Use::Escape => return false,
            }
        }
    }
    true
}

enum Use {
    Access,
    Derive,
    Escape,
}

fn use_of(pointer: Value, user: Value, by_value: u32) -> Use {
    let access_unless = |value_operand: u32| {
        if user.operand(value_operand) == pointer { Use::Escape } else { Use::Access }
    };
    match user.opcode() {
        LLVMLoad | LLVMICmp => Use::Access,
        LLVMStore => access_unless(0),
        LLVMAtomicRMW => access_unless(1),
        LLVMAtomicCmpXchg if user.operand(1) == pointer => Use::Escape,
        LLVMAtomicCmpXchg => access_unless(2),
        LLVMGetElementPtr | LLVMBitCast | LLVMPHI | LLVMSelect => Use::Derive,
        LLVMCall | LLVMInvoke => {
            let callee = user.callee();
            let harmless = callee.is_intrinsic() && {
                let name = callee.name();
                HARMLESS.iter().any(|prefix| name.starts_with(prefix))
            };
            let copied = callee != pointer
                && user.arguments().into_iter().enumerate().all(|(index, argument)| {
                    argument != pointer || user.call_has_attribute(index as u32 + 1, by_value)
                });
            if harmless || copied || calls_one_of(user, &FREES) { Use::Access } else { Use::Escape }
        }
        _ => Use::Escape,
    }
}
