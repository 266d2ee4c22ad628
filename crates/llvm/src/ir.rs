//! The few things this plugin asks of LLVM's IR, as values with methods.
//!
//! **Invariant.** A handle is used only while the pass that got it runs, and not after
//! [`Value::erase`]; the module owns what it points at. That is what makes the calls below sound,
//! together with LLVM being single-threaded here.

use std::ffi::CString;

use llvm_sys::LLVMTypeKind::*;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::*;
use llvm_sys::{LLVMLinkage, LLVMOpcode, LLVMTailCallKind, LLVMTypeKind};

use crate::shim;

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
    let first = unsafe { LLVMGetFirstFunction(module) };
    chain(first, LLVMGetNextFunction).into_iter().map(Value).collect()
}

/// All global variables of a module.
pub(crate) fn globals(module: LLVMModuleRef) -> Vec<Value> {
    let first = unsafe { LLVMGetFirstGlobal(module) };
    chain(first, LLVMGetNextGlobal).into_iter().map(Value).collect()
}

/// The number that LLVM gives an attribute.
pub(crate) fn attribute_kind(name: &str) -> u32 {
    unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
}

impl Block {
    pub(crate) fn instructions(self) -> Vec<Value> {
        let first = unsafe { LLVMGetFirstInstruction(self.0) };
        chain(first, LLVMGetNextInstruction).into_iter().map(Value).collect()
    }

    /// Its last instruction.
    pub(crate) fn end(self) -> Value {
        Value(unsafe { LLVMGetBasicBlockTerminator(self.0) })
    }

    /// The blocks that its last instruction names.
    pub(crate) fn successors(self) -> Vec<Block> {
        let end = self.end().0;
        let count = unsafe { LLVMGetNumSuccessors(end) };
        (0..count).map(|index| Block(unsafe { LLVMGetSuccessor(end, index) })).collect()
    }
}

impl Type {
    /// The bits of a scalar that a register of the image holds; 0 for everything else.
    pub(crate) fn register_width(self, layout: LLVMTargetDataRef) -> u32 {
        match self.kind() {
            LLVMIntegerTypeKind if self.width() <= 64 => self.width(),
            LLVMPointerTypeKind => {
                8 * unsafe { LLVMPointerSizeForAS(layout, self.address_space()) }
            }
            LLVMHalfTypeKind | LLVMBFloatTypeKind => 16,
            LLVMFloatTypeKind => 32,
            LLVMDoubleTypeKind => 64,
            _ => 0,
        }
    }

    pub(crate) fn kind(self) -> LLVMTypeKind {
        unsafe { LLVMGetTypeKind(self.0) }
    }

    pub(crate) fn is_void(self) -> bool {
        self.kind() == LLVMVoidTypeKind
    }

    pub(crate) fn is_pointer(self) -> bool {
        self.kind() == LLVMPointerTypeKind
    }

    /// The bits of an integer type.
    pub(crate) fn width(self) -> u32 {
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }

    pub(crate) fn is_integer(self, width: u32) -> bool {
        self.kind() == LLVMIntegerTypeKind && self.width() == width
    }

    pub(crate) fn address_space(self) -> u32 {
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }

    /// Bytes that a store of it writes; `None` for types whose size is not fixed.
    pub(crate) fn store_size(self, layout: LLVMTargetDataRef) -> Option<u64> {
        match self.kind() {
            LLVMScalableVectorTypeKind
            | LLVMX86_AMXTypeKind
            | LLVMTargetExtTypeKind
            | LLVMTokenTypeKind => None,
            _ => Some(unsafe { LLVMStoreSizeOfType(layout, self.0) }),
        }
    }

    pub(crate) fn alignment(self, layout: LLVMTargetDataRef) -> u32 {
        unsafe { LLVMABIAlignmentOfType(layout, self.0) }
    }

    pub(crate) fn undefined(self) -> Value {
        Value(unsafe { LLVMGetUndef(self.0) })
    }

    pub(crate) fn zero(self) -> Value {
        Value(unsafe { LLVMConstNull(self.0) })
    }

    pub(crate) fn number(self, value: u64) -> Value {
        Value(unsafe { LLVMConstInt(self.0, value, 0) })
    }

    /// What an array or vector consists of.
    pub(crate) fn element(self) -> Type {
        Type(unsafe { LLVMGetElementType(self.0) })
    }

    /// Parameters and result of a function type.
    pub(crate) fn signature(self) -> (Vec<Type>, Type) {
        let count = unsafe { LLVMCountParamTypes(self.0) } as usize;
        let mut parameters = vec![Type(std::ptr::null_mut()); count];
        // SAFETY: `Type` is one pointer, and there are `count` of them.
        unsafe { LLVMGetParamTypes(self.0, parameters.as_mut_ptr().cast()) };
        (parameters, Type(unsafe { LLVMGetReturnType(self.0) }))
    }

    pub(crate) fn is_variadic(self) -> bool {
        unsafe { LLVMIsFunctionVarArg(self.0) != 0 }
    }
}

impl Value {
    pub(crate) fn type_of(self) -> Type {
        Type(unsafe { LLVMTypeOf(self.0) })
    }

    pub(crate) fn name(self) -> String {
        let mut size = 0;
        let start = unsafe { LLVMGetValueName2(self.0, &mut size) };
        let bytes = unsafe { std::slice::from_raw_parts(start.cast(), size) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// The block that an instruction is in.
    pub(crate) fn block(self) -> Block {
        Block(unsafe { LLVMGetInstructionParent(self.0) })
    }

    /// The function that an instruction is in.
    pub(crate) fn function(self) -> Value {
        Value(unsafe { LLVMGetBasicBlockParent(LLVMGetInstructionParent(self.0)) })
    }

    pub(crate) fn opcode(self) -> LLVMOpcode {
        unsafe { LLVMGetInstructionOpcode(self.0) }
    }

    pub(crate) fn is_instruction(self, opcode: LLVMOpcode) -> bool {
        !unsafe { LLVMIsAInstruction(self.0) }.is_null() && self.opcode() == opcode
    }

    /// Whether it is a constant expression of this kind.
    pub(crate) fn is_expression(self, opcode: LLVMOpcode) -> bool {
        self.expression_opcode() == Some(opcode)
    }

    pub(crate) fn is_constant(self) -> bool {
        unsafe { LLVMIsConstant(self.0) != 0 }
    }

    /// null, undef, poison: a pointer to nothing.
    pub(crate) fn is_nothing(self) -> bool {
        unsafe { LLVMIsNull(self.0) != 0 || LLVMIsUndef(self.0) != 0 }
    }

    /// undef, poison.
    pub(crate) fn is_undefined(self) -> bool {
        unsafe { LLVMIsUndef(self.0) != 0 }
    }

    pub(crate) fn is_null(self) -> bool {
        unsafe { LLVMIsNull(self.0) != 0 }
    }

    pub(crate) fn is_global(self) -> bool {
        !unsafe { LLVMIsAGlobalValue(self.0) }.is_null()
    }

    /// What a constant expression does.
    pub(crate) fn expression_opcode(self) -> Option<LLVMOpcode> {
        let is_one = !unsafe { LLVMIsAConstantExpr(self.0) }.is_null();
        is_one.then(|| unsafe { LLVMGetConstOpcode(self.0) })
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
        Value(unsafe { LLVMGetOperand(self.0, index) })
    }

    pub(crate) fn operand_count(self) -> u32 {
        unsafe { LLVMGetNumOperands(self.0) as u32 }
    }

    pub(crate) fn set_operand(self, index: u32, operand: Value) {
        unsafe { LLVMSetOperand(self.0, index, operand.0) }
    }

    pub(crate) fn users(self) -> Vec<Value> {
        let uses = chain(unsafe { LLVMGetFirstUse(self.0) }, LLVMGetNextUse);
        uses.into_iter().map(|one| Value(unsafe { LLVMGetUser(one) })).collect()
    }

    /// The field that an `extractvalue` takes, if it goes no deeper.
    pub(crate) fn only_index(self) -> Option<u32> {
        // SAFETY: it takes something from an aggregate, by one index at least.
        unsafe { (LLVMGetNumIndices(self.0) == 1).then(|| *LLVMGetIndices(self.0)) }
    }

    /// The next one in the block, which a terminator has not.
    pub(crate) fn next(self) -> Value {
        Value(unsafe { LLVMGetNextInstruction(self.0) })
    }

    pub(crate) fn replace_uses(self, by: Value) {
        unsafe { LLVMReplaceAllUsesWith(self.0, by.0) }
    }

    pub(crate) fn erase(self) {
        unsafe { LLVMInstructionEraseFromParent(self.0) }
    }

    pub(crate) fn debug_location(self) -> LLVMMetadataRef {
        unsafe { llvm_sys::debuginfo::LLVMInstructionGetDebugLoc(self.0) }
    }

    pub(crate) fn alignment(self) -> u32 {
        unsafe { LLVMGetAlignment(self.0) }
    }

    pub(crate) fn set_alignment(self, bytes: u32) {
        unsafe { LLVMSetAlignment(self.0, bytes) }
    }

    // Memory operations.

    /// In the numbers of [`foretrace_recording::site::order`].
    pub(crate) fn order(self) -> u32 {
        unsafe { shim::ft_order(self.0) as u32 }
    }

    pub(crate) fn failure_order(self) -> u32 {
        unsafe { shim::ft_failure_order(self.0) as u32 }
    }

    /// In the numbers of [`foretrace_recording::site::rmw`], if it is there.
    pub(crate) fn rmw_operation(self) -> Option<u32> {
        u32::try_from(unsafe { shim::ft_rmw_operation(self.0) }).ok()
    }

    // Functions and calls.

    pub(crate) fn is_function(self) -> bool {
        !unsafe { LLVMIsAFunction(self.0) }.is_null()
    }

    pub(crate) fn is_inline_assembly(self) -> bool {
        !unsafe { LLVMIsAInlineAsm(self.0) }.is_null()
    }

    pub(crate) fn is_declaration(self) -> bool {
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }

    pub(crate) fn is_intrinsic(self) -> bool {
        self.is_function() && unsafe { LLVMGetIntrinsicID(self.0) != 0 }
    }

    pub(crate) fn linkage(self) -> LLVMLinkage {
        unsafe { LLVMGetLinkage(self.0) }
    }

    pub(crate) fn in_comdat(self) -> bool {
        !unsafe { llvm_sys::comdat::LLVMGetComdat(self.0) }.is_null()
    }

    pub(crate) fn value_type(self) -> Type {
        Type(unsafe { LLVMGlobalGetValueType(self.0) })
    }

    pub(crate) fn blocks(self) -> Vec<Block> {
        let first = unsafe { LLVMGetFirstBasicBlock(self.0) };
        chain(first, LLVMGetNextBasicBlock).into_iter().map(Block).collect()
    }

    /// The first instruction that does more than make room for a variable.
    pub(crate) fn first_code(self) -> Value {
        let entry = Block(unsafe { LLVMGetEntryBasicBlock(self.0) });
        let mut instructions = entry.instructions().into_iter();
        instructions.find(|one| one.opcode() != LLVMOpcode::LLVMAlloca).expect("a block ends")
    }

    pub(crate) fn parameters(self) -> Vec<Value> {
        let first = unsafe { LLVMGetFirstParam(self.0) };
        chain(first, LLVMGetNextParam).into_iter().map(Value).collect()
    }

    /// Index 0 is the result, n the n-th parameter, `u32::MAX` the function.
    pub(crate) fn has_attribute(self, index: u32, kind: u32) -> bool {
        !unsafe { LLVMGetEnumAttributeAtIndex(self.0, index, kind) }.is_null()
    }

    pub(crate) fn has_text_attribute(self, name: &str) -> bool {
        let attribute = unsafe {
            LLVMGetStringAttributeAtIndex(self.0, u32::MAX, name.as_ptr().cast(), name.len() as u32)
        };
        !attribute.is_null()
    }

    pub(crate) fn remove_attribute(self, index: u32, kind: u32) {
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.0, index, kind) }
    }

    pub(crate) fn call_has_attribute(self, index: u32, kind: u32) -> bool {
        !unsafe { LLVMGetCallSiteEnumAttribute(self.0, index, kind) }.is_null()
    }

    pub(crate) fn remove_call_attribute(self, index: u32, kind: u32) {
        unsafe { LLVMRemoveCallSiteEnumAttribute(self.0, index, kind) }
    }

    pub(crate) fn callee(self) -> Value {
        Value(unsafe { LLVMGetCalledValue(self.0) })
    }

    pub(crate) fn called_type(self) -> Type {
        Type(unsafe { LLVMGetCalledFunctionType(self.0) })
    }

    pub(crate) fn argument_count(self) -> u32 {
        unsafe { LLVMGetNumArgOperands(self.0) }
    }

    pub(crate) fn arguments(self) -> Vec<Value> {
        (0..self.argument_count()).map(|index| self.operand(index)).collect()
    }

    pub(crate) fn is_must_tail(self) -> bool {
        self.is_instruction(LLVMOpcode::LLVMCall)
            && unsafe { LLVMGetTailCallKind(self.0) } == LLVMTailCallKind::LLVMTailCallKindMustTail
    }

    // Global variables.

    pub(crate) fn is_global_variable(self) -> bool {
        !unsafe { LLVMIsAGlobalVariable(self.0) }.is_null()
    }

    pub(crate) fn is_constant_global(self) -> bool {
        self.is_global_variable() && unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }

    pub(crate) fn is_thread_local(self) -> bool {
        unsafe { LLVMIsThreadLocal(self.0) != 0 }
    }

    pub(crate) fn section(self) -> String {
        let section = unsafe { LLVMGetSection(self.0) };
        if section.is_null() {
            return String::new();
        }
        unsafe { std::ffi::CStr::from_ptr(section) }.to_string_lossy().into_owned()
    }
}

/// A name as C wants it.
pub(crate) fn c_name(name: &str) -> CString {
    CString::new(name).expect("our names have no NUL")
}
