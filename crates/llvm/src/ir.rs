//! The few things this plugin asks of LLVM's IR, as values with methods.
//!
//! **Invariant.** A handle is used only while the pass that got it runs, and not after
//! [`Value::erase`]; the module owns what it points at. A method that is there for one kind of
//! values or types only (instructions, functions, integers), as its name or its comment says, is
//! called for that kind only: LLVM does not look. That is what makes the calls of [`llvm!`] sound,
//! together with LLVM being single-threaded here.

use std::ffi::CString;

use llvm_sys::LLVMTypeKind::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTailCallKind, LLVMTypeKind};

use crate::shim;

/// Calls a function of LLVM, or of the shim, with handles, numbers and names:
/// `llvm!(LLVMIsNull(x))`.
///
/// Only where this module's invariant is all that the function asks for. The arguments are
/// evaluated before: nothing in them can hide behind this macro's `unsafe`.
macro_rules! llvm {
    ($($function:ident)::+($($argument:expr),* $(,)?)) => {
        $crate::ir::llvm!(@ ($($function)::+) [] $($argument,)*)
    };
    (@ $function:tt [$($value:ident)*] $next:expr, $($rest:expr,)*) => {{
        let value = $next;
        $crate::ir::llvm!(@ $function [$($value)* value] $($rest,)*)
    }};
    (@ ($($function:ident)::+) [$($value:ident)*]) => {
        // SAFETY: this module's invariant: the handles are good while the pass runs, and of the
        // kind that the function asks for. Pointers lead to local variables or to C strings.
        unsafe { $($function)::+($($value),*) }
    };
}
pub(crate) use llvm;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Value(pub(crate) LLVMValueRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Type(pub(crate) LLVMTypeRef);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Block(pub(crate) LLVMBasicBlockRef);

/// The follower of each item, until there is none.
fn chain<T>(first: *mut T, next: unsafe extern "C" fn(*mut T) -> *mut T) -> Vec<*mut T> {
    let mut all = Vec::new();
    let mut item = first;
    while !item.is_null() {
        all.push(item);
        // SAFETY: see the module's invariant.
        item = unsafe { next(item) };
    }
    all
}

/// All functions of a module.
pub(crate) fn functions(module: LLVMModuleRef) -> Vec<Value> {
    let first = llvm!(LLVMGetFirstFunction(module));
    chain(first, LLVMGetNextFunction).into_iter().map(Value).collect()
}

/// All global variables of a module.
pub(crate) fn globals(module: LLVMModuleRef) -> Vec<Value> {
    let first = llvm!(LLVMGetFirstGlobal(module));
    chain(first, LLVMGetNextGlobal).into_iter().map(Value).collect()
}

/// The number that LLVM gives an attribute.
pub(crate) fn attribute_kind(name: &str) -> u32 {
    llvm!(LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()))
}

impl Block {
    pub(crate) fn instructions(self) -> Vec<Value> {
        let first = llvm!(LLVMGetFirstInstruction(self.0));
        chain(first, LLVMGetNextInstruction).into_iter().map(Value).collect()
    }

    /// Its last instruction.
    pub(crate) fn end(self) -> Value {
        Value(llvm!(LLVMGetBasicBlockTerminator(self.0)))
    }

    /// The blocks that its last instruction names.
    pub(crate) fn successors(self) -> Vec<Block> {
        let end = self.end().0;
        let count = llvm!(LLVMGetNumSuccessors(end));
        (0..count).map(|index| Block(llvm!(LLVMGetSuccessor(end, index)))).collect()
    }
}

impl Type {
    /// The bits of a scalar that a register of the image holds; 0 for everything else.
    pub(crate) fn register_width(self, layout: LLVMTargetDataRef) -> u32 {
        match self.kind() {
            LLVMIntegerTypeKind if self.width() <= 64 => self.width(),
            LLVMPointerTypeKind => 8 * llvm!(LLVMPointerSizeForAS(layout, self.address_space())),
            LLVMHalfTypeKind | LLVMBFloatTypeKind => 16,
            LLVMFloatTypeKind => 32,
            LLVMDoubleTypeKind => 64,
            _ => 0,
        }
    }

    pub(crate) fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    pub(crate) fn is_void(self) -> bool {
        self.kind() == LLVMVoidTypeKind
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.kind() == LLVMPointerTypeKind
    }

    pub(crate) fn is_vector_of_pointers(self) -> bool {
        // SAFETY: a vector has elements.
        self.kind() == LLVMVectorTypeKind
            && Type(unsafe { LLVMGetElementType(self.0) }).is_pointer()
    }

    /// How many elements a vector has, or has at least.
    pub(crate) fn lanes(self) -> u32 {
        llvm!(LLVMGetVectorSize(self.0))
    }

    /// The bits of an integer type.
    pub(crate) fn width(self) -> u32 {
        llvm!(LLVMGetIntTypeWidth(self.0))
    }

    pub(crate) fn is_integer(self, width: u32) -> bool {
        self.kind() == LLVMIntegerTypeKind && self.width() == width
    }

    pub(crate) fn address_space(self) -> u32 {
        llvm!(LLVMGetPointerAddressSpace(self.0))
    }

    /// Bytes that a store of it writes; `None` for types whose size is not fixed.
    pub(crate) fn store_size(self, layout: LLVMTargetDataRef) -> Option<u64> {
        match self.kind() {
            LLVMScalableVectorTypeKind
            | LLVMX86_AMXTypeKind
            | LLVMTargetExtTypeKind
            | LLVMTokenTypeKind => None,
            _ => Some(llvm!(LLVMStoreSizeOfType(layout, self.0))),
        }
    }

    pub(crate) fn alignment(self, layout: LLVMTargetDataRef) -> u32 {
        llvm!(LLVMABIAlignmentOfType(layout, self.0))
    }

    pub(crate) fn undefined(self) -> Value {
        Value(llvm!(LLVMGetUndef(self.0)))
    }

    pub(crate) fn zero(self) -> Value {
        Value(llvm!(LLVMConstNull(self.0)))
    }

    pub(crate) fn number(self, value: u64) -> Value {
        Value(llvm!(LLVMConstInt(self.0, value, 0)))
    }

    /// What an array or vector consists of.
    pub(crate) fn element(self) -> Type {
        Type(llvm!(LLVMGetElementType(self.0)))
    }

    /// Parameters and result of a function type.
    pub(crate) fn signature(self) -> (Vec<Type>, Type) {
        let count = llvm!(LLVMCountParamTypes(self.0)) as usize;
        let mut parameters = vec![Type(std::ptr::null_mut()); count];
        // SAFETY: `Type` is one pointer, and there are `count` of them.
        unsafe { LLVMGetParamTypes(self.0, parameters.as_mut_ptr().cast()) };
        (parameters, Type(llvm!(LLVMGetReturnType(self.0))))
    }

    pub(crate) fn is_variadic(self) -> bool {
        llvm!(LLVMIsFunctionVarArg(self.0)) != 0
    }
}

impl Value {
    pub(crate) fn type_of(self) -> Type {
        Type(llvm!(LLVMTypeOf(self.0)))
    }

    pub(crate) fn name(self) -> String {
        let mut size = 0;
        let start = llvm!(LLVMGetValueName2(self.0, &mut size));
        // SAFETY: the value owns its name, which has so many bytes; one without a name has an empty
        // one.
        let bytes = unsafe { std::slice::from_raw_parts(start.cast(), size) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The block that an instruction is in.
    pub(crate) fn block(self) -> Block {
        Block(llvm!(LLVMGetInstructionParent(self.0)))
    }

    /// The function that an instruction is in.
    pub(crate) fn function(self) -> Value {
        Value(llvm!(LLVMGetBasicBlockParent(self.block().0)))
    }

    pub(crate) fn opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetInstructionOpcode(self.0))
    }

    pub(crate) fn is_instruction(self, opcode: LLVMOpcode) -> bool {
        !llvm!(LLVMIsAInstruction(self.0)).is_null() && self.opcode() == opcode
    }

    /// Whether it is a constant expression of this kind.
    pub(crate) fn is_expression(self, opcode: LLVMOpcode) -> bool {
        self.expression_opcode() == Some(opcode)
    }

    pub(crate) fn is_constant(self) -> bool {
        llvm!(LLVMIsConstant(self.0)) != 0
    }

    /// null, undef, poison: a pointer to nothing.
    pub(crate) fn is_nothing(self) -> bool {
        self.is_null() || self.is_undefined()
    }

    /// undef, poison.
    pub(crate) fn is_undefined(self) -> bool {
        llvm!(LLVMIsUndef(self.0)) != 0
    }

    pub(crate) fn is_null(self) -> bool {
        llvm!(LLVMIsNull(self.0)) != 0
    }

    pub(crate) fn is_global(self) -> bool {
        !llvm!(LLVMIsAGlobalValue(self.0)).is_null()
    }

    /// What a constant expression does.
    pub(crate) fn expression_opcode(self) -> Option<LLVMOpcode> {
        let is_one = !llvm!(LLVMIsAConstantExpr(self.0)).is_null();
        is_one.then(|| llvm!(LLVMGetConstOpcode(self.0)))
    }

    /// The bits of a number, which fit into this integer type.
    pub(crate) fn constant_bits(self, word: Type) -> Option<u64> {
        // SAFETY: a floating-point number is as wide as the word.
        unsafe {
            let is_float = !LLVMIsAConstantFP(self.0).is_null();
            let number = if is_float { LLVMConstBitCast(self.0, word.0) } else { self.0 };
            let is_number = !LLVMIsAConstantInt(number).is_null();
            is_number.then(|| LLVMConstIntGetZExtValue(number))
        }
    }

    pub(crate) fn operand(self, index: u32) -> Value {
        Value(llvm!(LLVMGetOperand(self.0, index)))
    }

    pub(crate) fn operand_count(self) -> u32 {
        llvm!(LLVMGetNumOperands(self.0)) as u32
    }

    pub(crate) fn set_operand(self, index: u32, operand: Value) {
        llvm!(LLVMSetOperand(self.0, index, operand.0))
    }

    pub(crate) fn users(self) -> Vec<Value> {
        let uses = chain(llvm!(LLVMGetFirstUse(self.0)), LLVMGetNextUse);
        uses.into_iter().map(|one| Value(llvm!(LLVMGetUser(one)))).collect()
    }

    /// The field that an `extractvalue` takes, if it goes no deeper.
    pub(crate) fn only_index(self) -> Option<u32> {
        // SAFETY: it takes something from an aggregate, by one index at least.
        unsafe { (LLVMGetNumIndices(self.0) == 1).then(|| *LLVMGetIndices(self.0)) }
    }

    /// The next one in the block, which a terminator has not.
    pub(crate) fn next(self) -> Value {
        Value(llvm!(LLVMGetNextInstruction(self.0)))
    }

    pub(crate) fn replace_uses(self, by: Value) {
        llvm!(LLVMReplaceAllUsesWith(self.0, by.0))
    }

    pub(crate) fn erase(self) {
        llvm!(LLVMInstructionEraseFromParent(self.0))
    }

    pub(crate) fn debug_location(self) -> LLVMMetadataRef {
        llvm!(llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(self.0))
    }

    pub(crate) fn alignment(self) -> u32 {
        llvm!(LLVMGetAlignment(self.0))
    }

    pub(crate) fn set_alignment(self, bytes: u32) {
        llvm!(LLVMSetAlignment(self.0, bytes))
    }

    // Memory operations.

    /// In the numbers of [`foretrace_recording::site::order`].
    pub(crate) fn order(self) -> u32 {
        llvm!(shim::ft_order(self.0)) as u32
    }

    pub(crate) fn failure_order(self) -> u32 {
        llvm!(shim::ft_failure_order(self.0)) as u32
    }

    /// In the numbers of [`foretrace_recording::site::rmw`], if it is there.
    pub(crate) fn rmw_operation(self) -> Option<u32> {
        u32::try_from(llvm!(shim::ft_rmw_operation(self.0))).ok()
    }

    // Functions and calls.

    pub(crate) fn is_function(self) -> bool {
        !llvm!(LLVMIsAFunction(self.0)).is_null()
    }

    pub(crate) fn is_inline_assembly(self) -> bool {
        !llvm!(LLVMIsAInlineAsm(self.0)).is_null()
    }

    pub(crate) fn is_declaration(self) -> bool {
        llvm!(LLVMIsDeclaration(self.0)) != 0
    }

    pub(crate) fn is_intrinsic(self) -> bool {
        self.is_function() && llvm!(LLVMGetIntrinsicID(self.0)) != 0
    }

    pub(crate) fn linkage(self) -> LLVMLinkage {
        llvm!(LLVMGetLinkage(self.0))
    }

    pub(crate) fn in_comdat(self) -> bool {
        !llvm!(llvm_sys::comdat::LLVMGetComdat(self.0)).is_null()
    }

    pub(crate) fn value_type(self) -> Type {
        Type(llvm!(LLVMGlobalGetValueType(self.0)))
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let first = llvm!(LLVMGetFirstBasicBlock(self.0));
        chain(first, LLVMGetNextBasicBlock).into_iter().map(Block).collect()
    }

    /// The first instruction that does more than make room for a variable.
    pub(crate) fn first_code(self) -> Value {
        let entry = Block(llvm!(LLVMGetEntryBasicBlock(self.0)));
        let mut instructions = entry.instructions().into_iter();
        instructions.find(|one| one.opcode() != LLVMOpcode::LLVMAlloca).expect("a block ends")
    }

    pub(crate) fn parameters(self) -> Vec<Value> {
        let first = llvm!(LLVMGetFirstParam(self.0));
        chain(first, LLVMGetNextParam).into_iter().map(Value).collect()
    }

    /// Index 0 is the result, n the n-th parameter, `u32::MAX` the function.
    pub(crate) fn has_attribute(self, index: u32, kind: u32) -> bool {
        !llvm!(LLVMGetEnumAttributeAtIndex(self.0, index, kind)).is_null()
    }

    pub(crate) fn has_text_attribute(self, name: &str) -> bool {
        let attribute = llvm!(LLVMGetStringAttributeAtIndex(
            self.0,
            u32::MAX,
            name.as_ptr().cast(),
            name.len() as u32
        ));
        !attribute.is_null()
    }

    pub(crate) fn remove_attribute(self, index: u32, kind: u32) {
        llvm!(LLVMRemoveEnumAttributeAtIndex(self.0, index, kind))
    }

    pub(crate) fn call_has_attribute(self, index: u32, kind: u32) -> bool {
        !llvm!(LLVMGetCallSiteEnumAttribute(self.0, index, kind)).is_null()
    }

    pub(crate) fn remove_call_attribute(self, index: u32, kind: u32) {
        llvm!(LLVMRemoveCallSiteEnumAttribute(self.0, index, kind))
    }

    pub(crate) fn callee(self) -> Value {
        Value(llvm!(LLVMGetCalledValue(self.0)))
    }

    pub(crate) fn called_type(self) -> Type {
        Type(llvm!(LLVMGetCalledFunctionType(self.0)))
    }

    pub(crate) fn argument_count(self) -> u32 {
        llvm!(LLVMGetNumArgOperands(self.0))
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        (0..self.argument_count()).map(|index| self.operand(index)).collect()
    }

    pub(crate) fn is_must_tail(self) -> bool {
        self.is_instruction(LLVMOpcode::LLVMCall)
            && llvm!(LLVMGetTailCallKind(self.0)) == LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    // Global variables.

    pub(crate) fn is_global_variable(self) -> bool {
        !llvm!(LLVMIsAGlobalVariable(self.0)).is_null()
    }

    pub(crate) fn is_constant_global(self) -> bool {
        self.is_global_variable() && llvm!(LLVMIsGlobalConstant(self.0)) != 0
    }

    pub(crate) fn is_thread_local(self) -> bool {
        llvm!(LLVMIsThreadLocal(self.0)) != 0
    }

    pub(crate) fn section(self) -> String {
        let section = llvm!(LLVMGetSection(self.0));
        if section.is_null() {
            return String::new();
        }
        // SAFETY: it is a C string that the module owns.
        unsafe { std::ffi::CStr::from_ptr(section) }.to_string_lossy().into_owned()
    }
}

/// A name as C wants it.
pub(crate) fn c_name(name: &str) -> CString {
    CString::new(name).expect("our names have no NUL")
}
