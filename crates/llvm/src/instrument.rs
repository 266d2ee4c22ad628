//! Walks a module and hands each operation to the file that knows it.

use std::collections::HashMap;

use llvm_sys::LLVMLinkage::LLVMAvailableExternallyLinkage;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::{
    LLVMGetFirstGlobalIFunc, LLVMGetGlobalIFuncResolver, LLVMGetNamedFunction,
    LLVMGetNextGlobalIFunc,
};
use llvm_sys::prelude::LLVMModuleRef;

use crate::attributes::Outdated;
use crate::build::Builder;
use crate::ir::{self, Type, Value};
use crate::locals::Locals;
use crate::tables::Tables;
use crate::{accesses, atomics, branches, calls, shim};

/// The state while one function is being instrumented.
pub(crate) struct Instrumenter {
    pub(crate) build: Builder,
    pub(crate) tables: Tables,
    pub(crate) function: Value,
    /// Whether the function comes from a system header.
    pub(crate) is_system: bool,
    pub(crate) locals: Locals,
    /// A variable of each type that passed through memory on its way to or from a hook.
    scratch: HashMap<Type, Value>,
}

/// Instruments a module once; says whether it changed.
pub(crate) fn module(module: LLVMModuleRef) -> bool {
    // SAFETY: only looks the name up.
    let was_here = !unsafe { LLVMGetNamedFunction(module, c"__ft_module".as_ptr()) }.is_null();
    if was_here {
        return false;
    }
    drop_copies(module);
    let functions: Vec<Value> =
        ir::functions(module).into_iter().filter(|function| is_instrumented(*function)).collect();
    if functions.is_empty() && ir::globals(module).is_empty() {
        return false;
    }
    let resolvers = resolvers(module);
    let mut build = Builder::new(module);
    let mut tables = Tables::new(&build);
    tables.add_globals(&build, &ir::globals(module));

    let outdated = Outdated::new();
    ir::functions(module)
        .into_iter()
        .filter(|one| !one.is_intrinsic())
        .for_each(|one| outdated.remove_from(one));
    for function in functions {
        if resolvers.contains(&function) {
            continue;
        }
        tables.add_function(function);
        (build, tables) = instrument(build, tables, function);
    }
    tables.emit(&mut build);
    true
}

fn instrument(build: Builder, tables: Tables, function: Value) -> (Builder, Tables) {
    atomics::expand_unusual(function);
    let is_system = tables.is_system_function(function);
    let mut to = Instrumenter {
        build,
        tables,
        function,
        is_system,
        locals: Locals::of(function),
        scratch: HashMap::new(),
    };
    let instructions: Vec<Value> =
        function.blocks().into_iter().flat_map(|block| block.instructions()).collect();
    for instruction in instructions {
        match instruction.opcode() {
            LLVMLoad => accesses::load(&mut to, instruction),
            LLVMStore => accesses::store(&mut to, instruction),
            LLVMAtomicRMW => atomics::read_modify_write(&mut to, instruction),
            LLVMAtomicCmpXchg => atomics::compare_exchange(&mut to, instruction),
            LLVMFence => atomics::fence(&mut to, instruction),
            LLVMBr => branches::branch(&mut to, instruction),
            LLVMSwitch | LLVMIndirectBr => branches::switch(&mut to, instruction),
            LLVMCall | LLVMInvoke => calls::call(&mut to, instruction),
            _ => {}
        }
    }
    (to.build, to.tables)
}

impl Instrumenter {
    /// The address of the instruction's site.
    pub(crate) fn site(&mut self, instruction: Value) -> Value {
        self.tables.site(&self.build, self.function, instruction)
    }

    /// A private variable for a value on its way to or from a hook; its content is soon gone.
    pub(crate) fn scratch(&mut self, of: Type, alignment: u32) -> Value {
        let Instrumenter { build, function, scratch, .. } = self;
        let variable =
            *scratch.entry(of).or_insert_with(|| build.variable(*function, of, alignment));
        variable.set_alignment(variable.alignment().max(alignment));
        variable
    }

    /// A load of shared memory into private memory.
    pub(crate) fn load_range(&mut self, site: Value, address: Value, size: Value, into: Value) {
        self.build.hook("__ft_load_n", self.build.void, &[site, address, size, into]);
    }

    /// A store to shared memory from private memory.
    pub(crate) fn store_range(&mut self, site: Value, address: Value, size: Value, from: Value) {
        self.build.hook("__ft_store_n", self.build.void, &[site, address, size, from]);
    }
}

/// Removes the code of functions that another object defines, and that is here only to be inlined: whether
/// that object is instrumented, only it knows. What must be inlined has no other definition.
fn drop_copies(module: LLVMModuleRef) {
    let always_inline = ir::attribute_kind("alwaysinline");
    let is_copy = |function: &Value| {
        function.linkage() == LLVMAvailableExternallyLinkage
            && !function.has_attribute(u32::MAX, always_inline)
    };
    for function in ir::functions(module).into_iter().filter(is_copy) {
        // SAFETY: no handle into its code was kept.
        unsafe { shim::ft_drop_body(function.0) }
    }
}

/// Whether the function's code gets hooks. A naked function has no frame to call from; the entry of a
/// module's static constructors only calls them.
pub(crate) fn is_instrumented(function: Value) -> bool {
    let has = |name| function.has_attribute(u32::MAX, ir::attribute_kind(name));
    let name = function.name();
    !function.is_declaration()
        && !has("naked")
        && !has("disable_sanitizer_instrumentation")
        && !function.has_text_attribute("no_sanitize_thread")
        && !name.starts_with("__ft_")
        && !name.starts_with("_GLOBAL__sub_I_")
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
