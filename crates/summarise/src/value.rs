//! What registers hold.

use foretrace_model::terms::TermId;
use foretrace_program::ir::FunctionId;
use foretrace_trace::{ObjectId, ThreadId};

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// Any bits.
    Bits(TermId),
    /// The address of a byte of an object.
    Address { object: ObjectId, offset: u64 },
    /// The address of a byte of a slot that only its thread knows: a number of its own, and the
    /// byte.
    Slot { slot: u32, offset: u64 },
    /// The address of a function.
    Function(FunctionId),
    /// The handle of a thread.
    Thread(ThreadId),
}

impl Value {
    /// What it is called in messages.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Value::Bits(_) => "a number",
            Value::Address { .. } | Value::Slot { .. } => "an address",
            Value::Function(_) => "the address of a function",
            Value::Thread(_) => "the handle of a thread",
        }
    }
}
