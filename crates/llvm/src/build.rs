//! Builds instructions: [`Builder`] stands before one instruction and has its debug location.

use std::collections::HashMap;

use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMTargetDataRef};
use llvm_sys::{LLVMIntPredicate, LLVMTypeKind::*};

use crate::ir::llvm;
use crate::ir::{self, Type, Value};
use crate::shim;

const UNNAMED: *const std::ffi::c_char = c"".as_ptr();

pub(crate) struct Builder {
    pub(crate) module: LLVMModuleRef,
    pub(crate) context: LLVMContextRef,
    pub(crate) layout: LLVMTargetDataRef,
    pub(crate) void: Type,
    pub(crate) pointer: Type,
    pub(crate) i8: Type,
    pub(crate) i32: Type,
    pub(crate) i64: Type,
    builder: LLVMBuilderRef,
    hooks: HashMap<String, (Value, Type)>,
    nounwind: u32,
    zeroext: u32,
}

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and used by nobody else.
        unsafe { LLVMDisposeBuilder(self.builder) }
    }
}

impl Builder {
    pub(crate) fn new(module: LLVMModuleRef) -> Builder {
        // SAFETY: the module is the one that LLVM handed to the pass.
        unsafe {
            let context = LLVMGetModuleContext(module);
            Builder {
                module,
                context,
                layout: LLVMGetModuleDataLayout(module),
                void: Type(LLVMVoidTypeInContext(context)),
                pointer: Type(LLVMPointerTypeInContext(context, 0)),
                i8: Type(LLVMInt8TypeInContext(context)),
                i32: Type(LLVMInt32TypeInContext(context)),
                i64: Type(LLVMInt64TypeInContext(context)),
                builder: LLVMCreateBuilderInContext(context),
                hooks: HashMap::new(),
                nounwind: ir::attribute_kind("nounwind"),
                zeroext: ir::attribute_kind("zeroext"),
            }
        }
    }

    /// For instructions that this type has no method for.
    pub(crate) fn raw(&self) -> LLVMBuilderRef {
        self.builder
    }

    /// From now on builds before `instruction`, on behalf of it.
    pub(crate) fn stand_before(&self, instruction: Value) {
        self.stand_before_for(instruction, instruction);
    }

    /// From now on builds before `instruction`, on behalf of `origin`.
    pub(crate) fn stand_before_for(&self, instruction: Value, origin: Value) {
        // SAFETY: the builder is ours, and both are instructions of the module.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction.0);
            LLVMSetCurrentDebugLocation2(self.builder, origin.debug_location());
        }
    }

    /// From now on builds before `instruction`, on behalf of no line.
    pub(crate) fn stand_before_for_nobody(&self, instruction: Value) {
        // SAFETY: the builder is ours, it is an instruction of the module, and null is no line.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction.0);
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
        }
    }

    /// Ends a block with a return of nothing, which is given back.
    pub(crate) fn return_from(&self, block: LLVMBasicBlockRef) -> LLVMValueRef {
        // SAFETY: the builder is ours, and the block is one of the module that has no end yet.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, block);
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
            LLVMBuildRetVoid(self.builder)
        }
    }

    /// Goes on where an invoke goes on that does not throw. The other way is forgotten.
    pub(crate) fn jump_to_normal_destination(&self, invoke: Value) {
        // SAFETY: the caller gives an invoke, which has such a destination.
        unsafe {
            shim::ft_forget_unwinding(invoke.0);
            LLVMBuildBr(self.builder, LLVMGetNormalDest(invoke.0));
        }
    }

    pub(crate) fn integer(&self, bits: u32) -> Type {
        Type(llvm!(LLVMIntTypeInContext(self.context, bits)))
    }

    /// A call of a hook, which is declared when it is first needed.
    pub(crate) fn hook(&mut self, name: &str, result: Type, arguments: &[Value]) -> Value {
        let (function, signature) = match self.hooks.get(name) {
            Some(&known) => known,
            None => {
                let declared = self.declare(name, result, arguments);
                self.hooks.insert(name.to_string(), declared);
                declared
            }
        };
        self.call(function, signature, arguments)
    }

    fn declare(&self, name: &str, result: Type, arguments: &[Value]) -> (Value, Type) {
        let parameters: Vec<Type> = arguments.iter().map(|argument| argument.type_of()).collect();
        let signature = self.signature(result, &parameters);
        let c_name = ir::c_name(name);
        // SAFETY: the name is a C string, and the signature a type of the same context.
        let function = unsafe {
            let known = LLVMGetNamedFunction(self.module, c_name.as_ptr());
            if known.is_null() {
                LLVMAddFunction(self.module, c_name.as_ptr(), signature.0)
            } else {
                known
            }
        };
        self.add_attribute(function, u32::MAX, self.nounwind);
        // The callee may rely on the upper bits of small integers, as the System V ABI is
        // practised.
        for (index, small) in std::iter::once(result).chain(parameters).enumerate() {
            if small.kind() == LLVMIntegerTypeKind && small.width() < 32 {
                self.add_attribute(function, index as u32, self.zeroext);
            }
        }
        (Value(function), signature)
    }

    fn add_attribute(&self, function: LLVMValueRef, index: u32, kind: u32) {
        llvm!(LLVMAddAttributeAtIndex(
            function,
            index,
            llvm!(LLVMCreateEnumAttribute(self.context, kind, 0))
        ))
    }

    pub(crate) fn signature(&self, result: Type, parameters: &[Type]) -> Type {
        let mut parameters: Vec<LLVMTypeRef> = parameters.iter().map(|one| one.0).collect();
        Type(llvm!(LLVMFunctionType(result.0, parameters.as_mut_ptr(), parameters.len() as u32, 0)))
    }

    fn call(&self, function: Value, signature: Type, arguments: &[Value]) -> Value {
        let mut arguments: Vec<LLVMValueRef> = arguments.iter().map(|one| one.0).collect();
        let count = arguments.len() as u32;
        Value(llvm!(LLVMBuildCall2(
            self.builder,
            signature.0,
            function.0,
            arguments.as_mut_ptr(),
            count,
            UNNAMED,
        )))
    }

    /// A variable of this type in the function's first block, as aligned as asked.
    pub(crate) fn variable(&self, function: Value, of: Type, alignment: u32) -> Value {
        // SAFETY: the function has a body; the builder is made and disposed of here.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(function.0);
            let builder = LLVMCreateBuilderInContext(self.context);
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
            LLVMSetCurrentDebugLocation2(builder, std::ptr::null_mut());
            let variable = Value(LLVMBuildAlloca(builder, of.0, UNNAMED));
            LLVMDisposeBuilder(builder);
            variable.set_alignment(alignment.max(of.alignment(self.layout)));
            variable
        }
    }

    pub(crate) fn bytes(&self, count: u64) -> Type {
        Type(llvm!(LLVMArrayType2(self.i8.0, count)))
    }

    /// The address of the word with this index.
    pub(crate) fn element(&self, address: Value, index: u64) -> Value {
        let mut index = self.i64.number(index).0;
        Value(llvm!(LLVMBuildGEP2(self.builder, self.i64.0, address.0, &mut index, 1, UNNAMED)))
    }

    pub(crate) fn load(&self, of: Type, address: Value) -> Value {
        Value(llvm!(LLVMBuildLoad2(self.builder, of.0, address.0, UNNAMED)))
    }

    pub(crate) fn store(&self, value: Value, address: Value) -> Value {
        Value(llvm!(LLVMBuildStore(self.builder, value.0, address.0)))
    }

    /// The pair that a compare-exchange gives.
    pub(crate) fn pair(&self, of: Type, old: Value, succeeded: Value) -> Value {
        // SAFETY: the type is that of a pair, and the values are of its types.
        unsafe {
            let half = LLVMBuildInsertValue(self.builder, of.undefined().0, old.0, 0, UNNAMED);
            Value(LLVMBuildInsertValue(self.builder, half, succeeded.0, 1, UNNAMED))
        }
    }

    pub(crate) fn equal(&self, left: Value, right: Value) -> Value {
        let equal = LLVMIntPredicate::LLVMIntEQ;
        Value(llvm!(LLVMBuildICmp(self.builder, equal, left.0, right.0, UNNAMED)))
    }

    /// An element of a vector.
    pub(crate) fn lane(&self, vector: Value, lane: u32) -> Value {
        let lane = self.i32.number(lane.into());
        Value(llvm!(LLVMBuildExtractElement(self.builder, vector.0, lane.0, UNNAMED)))
    }

    /// Widens with zeros, or cuts.
    pub(crate) fn resize(&self, value: Value, to: Type) -> Value {
        let (from_width, to_width) = (value.type_of().width(), to.width());
        // SAFETY: both types are integers, and `resize` goes the way that their widths say.
        unsafe {
            match from_width.cmp(&to_width) {
                std::cmp::Ordering::Less => {
                    Value(LLVMBuildZExt(self.builder, value.0, to.0, UNNAMED))
                }
                std::cmp::Ordering::Equal => value,
                std::cmp::Ordering::Greater => {
                    Value(LLVMBuildTrunc(self.builder, value.0, to.0, UNNAMED))
                }
            }
        }
    }

    /// Bytes of a scalar that hooks pass in a register: 1, 2, 4 or 8.
    pub(crate) fn word_size(&self, of: Type) -> Option<u64> {
        let scalar = matches!(
            of.kind(),
            LLVMIntegerTypeKind
                | LLVMPointerTypeKind
                | LLVMHalfTypeKind
                | LLVMBFloatTypeKind
                | LLVMFloatTypeKind
                | LLVMDoubleTypeKind
        );
        let size = of.store_size(self.layout)?;
        (scalar && matches!(size, 1 | 2 | 4 | 8)).then_some(size)
    }

    /// A scalar as the integer that lies in memory.
    pub(crate) fn to_word(&self, value: Value, size: u64) -> Value {
        let word = self.integer(8 * size as u32);
        match value.type_of().kind() {
            LLVMIntegerTypeKind => self.resize(value, word),
            LLVMPointerTypeKind => {
                Value(llvm!(LLVMBuildPtrToInt(self.builder, value.0, word.0, UNNAMED)))
            }
            _ => Value(llvm!(LLVMBuildBitCast(self.builder, value.0, word.0, UNNAMED))),
        }
    }

    /// The reverse of [`Builder::to_word`].
    pub(crate) fn word_to(&self, word: Value, to: Type) -> Value {
        match to.kind() {
            LLVMIntegerTypeKind => self.resize(word, to),
            LLVMPointerTypeKind => {
                Value(llvm!(LLVMBuildIntToPtr(self.builder, word.0, to.0, UNNAMED)))
            }
            _ => Value(llvm!(LLVMBuildBitCast(self.builder, word.0, to.0, UNNAMED))),
        }
    }

    /// A scalar in 64 bits, 0 for everything else.
    pub(crate) fn to_i64(&self, value: Value) -> Value {
        match self.word_size(value.type_of()) {
            Some(size) => self.resize(self.to_word(value, size), self.i64),
            None => self.i64.zero(),
        }
    }
}
