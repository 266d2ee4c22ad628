//! Removes function attributes that no longer hold once the functions call hooks: hooks read, write
//! and synchronise.

use llvm_sys::LLVMOpcode::{LLVMCall, LLVMInvoke};

use crate::ir::{self, Value};

const OF_FUNCTIONS: [&str; 7] =
    ["memory", "nosync", "nofree", "willreturn", "norecurse", "speculatable", "nocallback"];

const OF_PARAMETERS: [&str; 4] = ["readnone", "readonly", "writeonly", "nofree"];

/// The attributes, by LLVM's numbers.
pub(crate) struct Outdated {
    of_functions: Vec<u32>,
    of_parameters: Vec<u32>,
}

impl Outdated {
    pub(crate) fn new() -> Outdated {
        let numbers = |names: &[&str]| names.iter().map(|name| ir::attribute_kind(name)).collect();
        Outdated { of_functions: numbers(&OF_FUNCTIONS), of_parameters: numbers(&OF_PARAMETERS) }
    }

    /// Removes them from a function, defined or declared, and from the calls in it.
    pub(crate) fn remove_from(&self, function: Value) {
        let parameters = 1..=function.parameters().len() as u32;
        self.remove(parameters, |index, kind| function.remove_attribute(index, kind));
        for block in function.blocks() {
            for call in block.instructions() {
                if matches!(call.opcode(), LLVMCall | LLVMInvoke) && !call.callee().is_intrinsic() {
                    let arguments = 1..=call.argument_count();
                    self.remove(arguments, |index, kind| call.remove_call_attribute(index, kind));
                }
            }
        }
    }

    fn remove(&self, parameters: impl Iterator<Item = u32>, remove: impl Fn(u32, u32)) {
        self.of_functions.iter().for_each(|&kind| remove(u32::MAX, kind));
        for index in parameters {
            self.of_parameters.iter().for_each(|&kind| remove(index, kind));
        }
    }
}
