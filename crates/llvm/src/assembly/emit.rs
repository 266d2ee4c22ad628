//! The instructions that assembly becomes.

use foretrace_recording::site::rmw;
use llvm_sys::LLVMAtomicOrdering::*;
use llvm_sys::LLVMAtomicRMWBinOp::*;
use llvm_sys::LLVMIntPredicate::*;
use llvm_sys::core::*;

use crate::build::Builder;
use crate::ir::llvm;
use crate::ir::{Type, Value};

const UNNAMED: *const std::ffi::c_char = c"".as_ptr();
const ALL_THREADS: i32 = 0;
const THIS_THREAD: i32 = 1;

/// How strong a barrier is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Acquire,
    Release,
    Sequential,
}

impl Builder {
    /// Orders memory, for all threads.
    pub(super) fn fence(&self, order: Order) {
        let order = match order {
            Order::Acquire => LLVMAtomicOrderingAcquire,
            Order::Release => LLVMAtomicOrderingRelease,
            Order::Sequential => LLVMAtomicOrderingSequentiallyConsistent,
        };
        llvm!(LLVMBuildFence(self.raw(), order, ALL_THREADS, UNNAMED));
    }

    /// Orders memory for the compiler only.
    pub(super) fn compiler_fence(&self) {
        let order = LLVMAtomicOrderingSequentiallyConsistent;
        llvm!(LLVMBuildFence(self.raw(), order, THIS_THREAD, UNNAMED));
    }

    /// The thread waits for another one: let that run.
    pub(super) fn give_way(&mut self) {
        let void = self.void;
        self.hook("__ft_pause", void, &[]);
    }

    /// What the clock of the processor shows, which the runtime stands before.
    pub(super) fn time_stamp(&mut self) -> Value {
        self.hook("ft_time_stamp", self.i64, &[])
    }

    /// An atomic change of memory; gives what was there. The operation is one of [`rmw`].
    pub(super) fn atomic_change(&self, operation: u32, address: Value, operand: Value) -> Value {
        let operation = match operation {
            rmw::EXCHANGE => LLVMAtomicRMWBinOpXchg,
            rmw::ADD => LLVMAtomicRMWBinOpAdd,
            rmw::SUB => LLVMAtomicRMWBinOpSub,
            rmw::AND => LLVMAtomicRMWBinOpAnd,
            rmw::OR => LLVMAtomicRMWBinOpOr,
            rmw::XOR => LLVMAtomicRMWBinOpXor,
            other => unreachable!("no instruction does operation {other}"),
        };
        let order = LLVMAtomicOrderingSequentiallyConsistent;
        Value(llvm!(LLVMBuildAtomicRMW(
            self.raw(),
            operation,
            address.0,
            operand.0,
            order,
            ALL_THREADS
        )))
    }

    /// Gives what was there.
    pub(super) fn atomic_compare_exchange(
        &self,
        address: Value,
        expected: Value,
        new: Value,
    ) -> Value {
        let order = LLVMAtomicOrderingSequentiallyConsistent;
        // SAFETY: see the invariant of `ir`; the instruction gives a pair.
        unsafe {
            let pair = LLVMBuildAtomicCmpXchg(
                self.raw(),
                address.0,
                expected.0,
                new.0,
                order,
                order,
                ALL_THREADS,
            );
            Value(LLVMBuildExtractValue(self.raw(), pair, 0, UNNAMED))
        }
    }

    /// A load that nothing comes into the midst of, with the order that all loads of x86-64 have.
    pub(super) fn atomic_load(&self, of: Type, address: Value) -> Value {
        let load = self.load(of, address);
        llvm!(LLVMSetOrdering(load.0, LLVMAtomicOrderingAcquire));
        load
    }

    pub(super) fn atomic_store(&self, value: Value, address: Value) {
        let store = self.store(value, address);
        llvm!(LLVMSetOrdering(store.0, LLVMAtomicOrderingRelease));
    }

    /// One of the operations of [`rmw`], on values.
    pub(super) fn arithmetic(&self, operation: u32, left: Value, right: Value) -> Value {
        let (builder, left, right) = (self.raw(), left.0, right.0);
        // SAFETY: see the invariant of `ir`: both are integers of the same type.
        Value(unsafe {
            match operation {
                rmw::ADD => LLVMBuildAdd(builder, left, right, UNNAMED),
                rmw::SUB => LLVMBuildSub(builder, left, right, UNNAMED),
                rmw::AND => LLVMBuildAnd(builder, left, right, UNNAMED),
                rmw::OR => LLVMBuildOr(builder, left, right, UNNAMED),
                rmw::XOR => LLVMBuildXor(builder, left, right, UNNAMED),
                other => unreachable!("no instruction does operation {other}"),
            }
        })
    }

    pub(super) fn shift_left(&self, value: Value, by: Value) -> Value {
        Value(llvm!(LLVMBuildShl(self.raw(), value.0, by.0, UNNAMED)))
    }

    pub(super) fn shift_right(&self, value: Value, by: Value) -> Value {
        Value(llvm!(LLVMBuildLShr(self.raw(), value.0, by.0, UNNAMED)))
    }

    pub(super) fn select(&self, condition: Value, then: Value, otherwise: Value) -> Value {
        Value(llvm!(LLVMBuildSelect(self.raw(), condition.0, then.0, otherwise.0, UNNAMED)))
    }

    /// Without signs.
    pub(super) fn less(&self, left: Value, right: Value) -> Value {
        Value(llvm!(LLVMBuildICmp(self.raw(), LLVMIntULT, left.0, right.0, UNNAMED)))
    }

    pub(super) fn is_negative(&self, value: Value) -> Value {
        let zero = value.type_of().zero();
        Value(llvm!(LLVMBuildICmp(self.raw(), LLVMIntSLT, value.0, zero.0, UNNAMED)))
    }

    /// The other one of two truth values.
    pub(super) fn negate(&self, truth: Value) -> Value {
        self.arithmetic(rmw::XOR, truth, truth.type_of().number(1))
    }

    /// The address so many bytes behind another one.
    pub(super) fn behind(&self, pointer: Value, distance: i64) -> Value {
        match distance {
            0 => pointer,
            distance => self.offset(pointer, self.i64.number(distance as u64)),
        }
    }

    /// The address of the word that has this bit, counted from the first one. The number has a
    /// sign.
    pub(super) fn word_of_bit(&self, address: Value, number: Value, width: u32) -> Value {
        // SAFETY: see the invariant of `ir`: all of these are integers of 64 bits, once it is
        // extended.
        unsafe {
            let number = LLVMBuildSExt(self.raw(), number.0, self.i64.0, UNNAMED);
            let log = self.i64.number(u64::from(width.trailing_zeros()));
            let word = LLVMBuildAShr(self.raw(), number, log.0, UNNAMED);
            let size = self.i64.number(u64::from(width / 8));
            let offset = LLVMBuildMul(self.raw(), word, size.0, UNNAMED);
            self.offset(address, Value(offset))
        }
    }

    fn offset(&self, pointer: Value, bytes: Value) -> Value {
        let mut index = bytes.0;
        let of = self.i8.0;
        Value(llvm!(LLVMBuildGEP2(self.raw(), of, pointer.0, &mut index, 1, UNNAMED)))
    }

    /// A field of an aggregate that is put together.
    pub(super) fn insert(&self, whole: Value, field: Value, index: u32) -> Value {
        Value(llvm!(LLVMBuildInsertValue(self.raw(), whole.0, field.0, index, UNNAMED)))
    }

    /// The number that a constant is, with its sign.
    pub(super) fn signed_number(&self, value: Value) -> Option<i64> {
        // SAFETY: it is asked for its value only if it is a number.
        unsafe {
            let is_number = !LLVMIsAConstantInt(value.0).is_null() && value.type_of().width() <= 64;
            is_number.then(|| LLVMConstIntGetSExtValue(value.0))
        }
    }
}
