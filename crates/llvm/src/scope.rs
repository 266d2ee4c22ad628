//! Which functions of a module are instrumented, and which of them any caller may reach. Decided
//! before anything changes, so that lowering and instrumentation get the same answers.

use std::collections::HashSet;

use llvm_sys::LLVMLinkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
use llvm_sys::LLVMOpcode::{LLVMCall, LLVMInvoke};
use llvm_sys::core::{LLVMGetFirstGlobalIFunc, LLVMGetGlobalIFuncResolver, LLVMGetNextGlobalIFunc};
use llvm_sys::prelude::LLVMModuleRef;

use crate::ir::{self, Value};

pub(crate) struct Scope {
    /// In the order of the module.
    pub(crate) functions: Vec<Value>,
    instrumented: HashSet<Value>,
    entered: HashSet<Value>,
}

impl Scope {
    pub(crate) fn of(module: LLVMModuleRef) -> Scope {
        let resolvers = resolvers(module);
        let functions: Vec<Value> = ir::functions(module)
            .into_iter()
            .filter(|function| is_instrumentable(*function) && !resolvers.contains(function))
            .collect();
        let instrumented = functions.iter().copied().collect();
        let mut scope = Scope { functions, instrumented, entered: HashSet::new() };
        scope.entered = scope.functions.iter().copied().filter(|one| scope.is_open(*one)).collect();
        scope
    }

    /// Whether the function's code gets hooks.
    pub(crate) fn is_instrumented(&self, function: Value) -> bool {
        self.instrumented.contains(&function)
    }

    /// Whether the function says when it begins.
    pub(crate) fn is_entered(&self, function: Value) -> bool {
        self.entered.contains(&function)
    }

    /// Whether somebody may call it who is not instrumented, or not in this module, or not by its
    /// name.
    fn is_open(&self, function: Value) -> bool {
        let is_local = matches!(function.linkage(), LLVMInternalLinkage | LLVMPrivateLinkage);
        !is_local || function.users().into_iter().any(|user| !self.calls_inside(user, function))
    }

    /// Whether the user is instrumented and does nothing but call the function.
    fn calls_inside(&self, user: Value, function: Value) -> bool {
        (user.is_instruction(LLVMCall) || user.is_instruction(LLVMInvoke))
            && user.callee() == function
            && is_called_as_defined(user, function)
            && !user.arguments().contains(&function)
            && self.is_instrumented(user.function())
    }
}

/// Whether the call passes what the function takes. C allows others, if nobody looks.
pub(crate) fn is_called_as_defined(call: Value, function: Value) -> bool {
    call.called_type() == function.value_type()
}

/// A naked function has no frame to call from.
fn is_instrumentable(function: Value) -> bool {
    let has = |name| function.has_attribute(u32::MAX, ir::attribute_kind(name));
    let name = function.name();
    !function.is_declaration()
        && !has("naked")
        && !has("disable_sanitizer_instrumentation")
        && !function.has_text_attribute("no_sanitize_thread")
        && !name.starts_with("__ft_")
}

/// Functions that the dynamic linker calls while it still has no runtime to offer.
fn resolvers(module: LLVMModuleRef) -> Vec<Value> {
    let mut resolvers = Vec::new();
    // SAFETY: walks the list of the module.
    unsafe {
        let mut indirect = LLVMGetFirstGlobalIFunc(module);
        while !indirect.is_null() {
            resolvers.push(Value(LLVMGetGlobalIFuncResolver(indirect)));
            indirect = LLVMGetNextGlobalIFunc(indirect);
        }
    }
    resolvers
}
