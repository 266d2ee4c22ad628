//! Walks a module and hands each operation to the file that knows it.

use std::collections::HashMap;
use std::rc::Rc;

use llvm_sys::LLVMLinkage::LLVMAvailableExternallyLinkage;
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::LLVMGetNamedFunction;
use llvm_sys::prelude::LLVMModuleRef;

use crate::attributes::Outdated;
use crate::build::Builder;
use crate::ir::{self, Type, Value};
use crate::locals::Locals;
use crate::scope::Scope;
use crate::tables::Tables;
use crate::{accesses, assembly, atomics, branches, calls, lower, shim};

/// The state while one function is being instrumented.
pub(crate) struct Instrumenter {
    pub(crate) build: Builder,
    pub(crate) tables: Tables,
    pub(crate) scope: Rc<Scope>,
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
    let scope = Rc::new(Scope::of(module));
    if scope.functions.is_empty() && ir::globals(module).is_empty() {
        return false;
    }
    let mut build = Builder::new(module);
    let mut tables = Tables::new(&build);
    tables.add_globals(&build, &ir::globals(module));

    let outdated = Outdated::new();
    ir::functions(module)
        .into_iter()
        .filter(|one| !one.is_intrinsic())
        .for_each(|one| outdated.remove_from(one));
    for &function in &scope.functions {
        tables.add_function(function);
        (build, tables) = instrument(build, tables, &scope, function);
    }
    tables.emit(&mut build);
    true
}

/// Lowers the function to its image and then puts the hooks into it. Both ask the same questions of
/// the same code; what the answer is must not depend on the hooks that are there already.
fn instrument(
    mut build: Builder,
    mut tables: Tables,
    scope: &Rc<Scope>,
    function: Value,
) -> (Builder, Tables) {
    assembly::replace(&mut build, function);
    atomics::expand_unusual(function);
    let locals = Locals::of(function);
    lower::function(&build, &mut tables, scope, &locals, function);
    let is_system = tables.is_system_function(function);
    let mut to = Instrumenter {
        build,
        tables,
        scope: Rc::clone(scope),
        function,
        is_system,
        locals,
        scratch: HashMap::new(),
    };
    let blocks: Vec<Vec<Value>> =
        function.blocks().into_iter().map(|block| block.instructions()).collect();
    branches::enter(&mut to);
    for (number, block) in blocks.into_iter().enumerate() {
        block.into_iter().for_each(|one| replace(&mut to, one, number as u64));
    }
    (to.build, to.tables)
}

/// Puts the hook of an instruction in its place. Blocks have the numbers that they have in the
/// image.
fn replace(to: &mut Instrumenter, instruction: Value, block: u64) {
    match instruction.opcode() {
        LLVMLoad => accesses::load(to, instruction),
        LLVMStore => accesses::store(to, instruction),
        LLVMAtomicRMW => atomics::read_modify_write(to, instruction),
        LLVMAtomicCmpXchg => atomics::compare_exchange(to, instruction),
        LLVMFence => atomics::fence(to, instruction),
        LLVMBr => branches::branch(to, instruction),
        LLVMSwitch | LLVMIndirectBr => branches::switch(to, instruction),
        LLVMLandingPad => branches::land(to, instruction, block),
        LLVMCall | LLVMInvoke => calls::call(to, instruction),
        LLVMCallBr => calls::jumping_assembly(to, instruction),
        _ => {}
    }
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

/// Removes the code of functions that another object defines, and that is here only to be inlined:
/// whether that object is instrumented, only it knows. What must be inlined has no other
/// definition.
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
