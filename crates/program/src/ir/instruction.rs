//! Instructions and terminators, and the operands in them.

use foretrace_trace::{BarrierId, CondId, LocationId, LockId, MemoryOrder, Mode, Patience, SemId};

use foretrace_words::{BinaryOp, Cast, RmwOp, cut};

use super::{BlockId, FunctionId, GlobalId, RegisterId};

/// A value that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operand {
    /// What the register holds.
    Register(RegisterId),
    /// A number.
    Constant(Constant),
    /// The address of a byte of a global variable.
    Global {
        /// The variable.
        global: GlobalId,
        /// Which byte; may lie outside the variable.
        offset: u64,
    },
    /// The address of a function.
    Function(FunctionId),
}

/// A number of a given width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Constant {
    /// Below 2^`width`.
    pub value: u64,
    /// In bits.
    pub width: u8,
}

/// An object of synchronisation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SyncRef<Id> {
    /// A declared one.
    Named(Id),
    /// The one at an address. Programs that are lowered from machine-level code need it.
    At(Operand),
}

/// Which function is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Callee {
    /// This one.
    Direct(FunctionId),
    /// The one at an address.
    Indirect(Operand),
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// What it does.
    pub op: Op,
    /// Where its result goes.
    pub result: Option<RegisterId>,
    /// Where it is in the source.
    pub location: Option<LocationId>,
}

/// What memory an `Alloc` gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// Memory that lives until it is freed.
    Heap,
    /// The same; it is zero also where other new memory is indeterminate.
    Zeroed,
    /// Memory that lives until the function returns.
    Call,
}

/// What an instruction does. The fields are named after what they are; sizes are in bytes.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// An operation on two values of one width.
    Binary { op: BinaryOp, left: Operand, right: Operand },
    /// The value in as many bits as the result has.
    Cast { cast: Cast, value: Operand },
    /// `then` if the condition, of one bit, is 1, else `otherwise`.
    Select { condition: Operand, then: Operand, otherwise: Operand },
    /// Reads `size` bytes, 1 to 8, little-endian; the result has 8 · `size` bits.
    Load { address: Operand, size: u8, order: MemoryOrder },
    /// Writes a value of 8 · `size` bits.
    Store { address: Operand, size: u8, value: Operand, order: MemoryOrder },
    /// Reads and writes in one step; the result is what was there before.
    Rmw { op: RmwOp, address: Operand, size: u8, value: Operand, order: MemoryOrder },
    /// Writes `new` if it finds `expected`, in one step; the result is what was there before.
    CompareExchange {
        address: Operand,
        size: u8,
        expected: Operand,
        new: Operand,
        order: MemoryOrder,
    },
    /// A fence: no effect under sequential consistency.
    Fence { order: MemoryOrder },
    /// Memory that lives until the function returns; the result is its address.
    Slot { size: u32 },
    /// Memory whose size may depend on data; the result is its address.
    Alloc { size: Operand, storage: Storage },
    /// Ends the life of what `Alloc` gave.
    Free { address: Operand },
    /// How many bytes the live block has that `Alloc` gave at this address, in 64 bits.
    SizeOf { address: Operand },
    /// Runs a function; the result is what it returns.
    Call { callee: Callee, args: Vec<Operand> },
    /// Runs code that is not part of the program; the result, if any, is an input of the program.
    External { name: String, args: Vec<Operand> },
    /// Takes a lock. If it may give up, the result is one bit: whether it has the lock.
    Acquire { lock: SyncRef<LockId>, mode: Mode, patience: Patience },
    /// Gives a lock back, once.
    Release { lock: SyncRef<LockId>, mode: Mode },
    /// Gives the lock back, waits for a signal, and takes the lock again. If it is timed, the
    /// result is one bit: whether it was signalled.
    Wait { cond: SyncRef<CondId>, lock: SyncRef<LockId>, timed: bool },
    /// Wakes one waiter, if there is one.
    Signal { cond: SyncRef<CondId> },
    /// Wakes all waiters.
    Broadcast { cond: SyncRef<CondId> },
    /// Decrements a semaphore. If it may give up, the result is one bit: whether it did decrement.
    SemWait { sem: SyncRef<SemId>, patience: Patience },
    /// Increments a semaphore.
    SemPost { sem: SyncRef<SemId> },
    /// Waits until as many threads are here as the barrier has parties. A barrier that is known by
    /// its address does not say how many these are: `parties`, of 32 bits, does.
    Barrier { barrier: SyncRef<BarrierId>, parties: Option<Operand> },
    /// Starts a thread; the result, if it is wanted, is its handle of 64 bits.
    Fork { callee: Callee, args: Vec<Operand> },
    /// Waits for the end of the thread with this handle; the result, if it is wanted, is what the
    /// thread gave, in 64 bits.
    Join { thread: Operand },
    /// The handle of the thread itself, of 64 bits.
    Current,
    /// The address of the thread's own copy of a variable, which is as the variable at first.
    Own { global: GlobalId },
    /// The condition, of one bit, should be 1.
    Assert { condition: Operand },
    /// Only executions in which the condition, of one bit, is 1 count.
    Assume { condition: Operand },
    /// A block begins that the programmer means to be atomic.
    RegionBegin,
    /// It ends.
    RegionEnd,
    /// A section begins during which no other thread runs. Sections nest.
    SectionBegin,
    /// It ends.
    SectionEnd,
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Terminator {
    /// Where it goes on.
    pub kind: TerminatorKind,
    /// Where it is in the source.
    pub location: Option<LocationId>,
}

/// Where a block goes on. The fields are named after what they are.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TerminatorKind {
    /// In one place.
    Jump(Target),
    /// In one of two places; the condition has one bit.
    Branch { condition: Operand, then: Target, otherwise: Target },
    /// Where the first case with this value says.
    Switch { value: Operand, cases: Vec<(u64, Target)>, default: Target },
    /// In the caller; if there is none, the thread has ended.
    Return(Option<Operand>),
    /// Nowhere: the process ends, with all its threads.
    Exit,
    /// Nowhere: the thread ends, whatever calls it is in, and gives a value of 64 bits.
    ThreadExit(Option<Operand>),
    /// Nowhere: the program is wrong if it gets here.
    Unreachable,
}

/// A block and the arguments for its parameters.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The block.
    pub block: BlockId,
    /// One for each of its parameters.
    pub args: Vec<Operand>,
}

/// The operands of an [`Op`], shared or exclusive as `$op` is.
macro_rules! operands {
    ($op:expr, $iter:ident) => {{
        let mut all = Vec::new();
        match $op {
            Op::Binary { left, right, .. } => all.extend([left, right]),
            Op::Cast { value, .. } => all.push(value),
            Op::Select { condition, then, otherwise } => all.extend([condition, then, otherwise]),
            Op::Load { address, .. } | Op::Free { address } | Op::SizeOf { address } => {
                all.push(address)
            }
            Op::Store { address, value, .. } | Op::Rmw { address, value, .. } => {
                all.extend([address, value])
            }
            Op::CompareExchange { address, expected, new, .. } => {
                all.extend([address, expected, new])
            }
            Op::Alloc { size, .. } => all.push(size),
            Op::Call { callee, args } | Op::Fork { callee, args } => {
                if let Callee::Indirect(operand) = callee {
                    all.push(operand);
                }
                all.extend(args.$iter());
            }
            Op::External { args, .. } => all.extend(args.$iter()),
            Op::Acquire { lock: SyncRef::At(operand), .. }
            | Op::Release { lock: SyncRef::At(operand), .. }
            | Op::Signal { cond: SyncRef::At(operand) }
            | Op::Broadcast { cond: SyncRef::At(operand) }
            | Op::SemWait { sem: SyncRef::At(operand), .. }
            | Op::SemPost { sem: SyncRef::At(operand) } => all.push(operand),
            Op::Barrier { barrier, parties } => {
                if let SyncRef::At(operand) = barrier {
                    all.push(operand);
                }
                all.extend(parties);
            }
            Op::Wait { cond, lock, .. } => {
                if let SyncRef::At(operand) = cond {
                    all.push(operand);
                }
                if let SyncRef::At(operand) = lock {
                    all.push(operand);
                }
            }
            Op::Join { thread } => all.push(thread),
            Op::Assert { condition } | Op::Assume { condition } => all.push(condition),
            Op::Acquire { .. }
            | Op::Release { .. }
            | Op::Signal { .. }
            | Op::Broadcast { .. }
            | Op::SemWait { .. }
            | Op::SemPost { .. }
            | Op::Fence { .. }
            | Op::Slot { .. }
            | Op::Current
            | Op::Own { .. }
            | Op::RegionBegin
            | Op::RegionEnd
            | Op::SectionBegin
            | Op::SectionEnd => (),
        }
        all
    }};
}

/// The operands of a [`TerminatorKind`], arguments of its targets included.
macro_rules! terminator_operands {
    ($kind:expr, $iter:ident) => {{
        let mut all = Vec::new();
        match $kind {
            TerminatorKind::Jump(target) => all.extend(target.args.$iter()),
            TerminatorKind::Branch { condition, then, otherwise } => {
                all.push(condition);
                all.extend(then.args.$iter());
                all.extend(otherwise.args.$iter());
            }
            TerminatorKind::Switch { value, cases, default } => {
                all.push(value);
                for (_, target) in cases {
                    all.extend(target.args.$iter());
                }
                all.extend(default.args.$iter());
            }
            TerminatorKind::Return(operand) | TerminatorKind::ThreadExit(operand) => {
                all.extend(operand)
            }
            TerminatorKind::Exit | TerminatorKind::Unreachable => (),
        }
        all
    }};
}

impl Op {
    /// What it uses, in the order of the text.
    pub fn operands(&self) -> Vec<&Operand> {
        operands!(self, iter)
    }

    /// What it uses, to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        operands!(self, iter_mut)
    }

    /// The address and size of the memory that it accesses, if it does.
    pub fn access(&self) -> Option<(Operand, u8)> {
        match *self {
            Op::Load { address, size, .. }
            | Op::Store { address, size, .. }
            | Op::Rmw { address, size, .. }
            | Op::CompareExchange { address, size, .. } => Some((address, size)),
            _ => None,
        }
    }

    /// The addresses of the objects of synchronisation that it means, if it means them so.
    pub fn synchronised(&self) -> [Option<Operand>; 2] {
        fn at<Id: Copy>(object: &SyncRef<Id>) -> Option<Operand> {
            match *object {
                SyncRef::At(address) => Some(address),
                SyncRef::Named(_) => None,
            }
        }
        match self {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => [at(lock), None],
            Op::Wait { lock, cond, .. } => [at(lock), at(cond)],
            Op::Signal { cond } | Op::Broadcast { cond } => [at(cond), None],
            Op::SemWait { sem, .. } | Op::SemPost { sem } => [at(sem), None],
            Op::Barrier { barrier, .. } => [at(barrier), None],
            _ => [None, None],
        }
    }
}

impl TerminatorKind {
    /// What it uses, arguments of its targets included.
    pub fn operands(&self) -> Vec<&Operand> {
        terminator_operands!(self, iter)
    }

    /// What it uses, to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        terminator_operands!(self, iter_mut)
    }

    /// Where it may go on in its function, in the order of the text.
    pub fn targets(&self) -> Vec<&Target> {
        match self {
            TerminatorKind::Jump(target) => vec![target],
            TerminatorKind::Branch { then, otherwise, .. } => vec![then, otherwise],
            TerminatorKind::Switch { cases, default, .. } => {
                cases.iter().map(|(_, target)| target).chain([default]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Where it may go on in its function, to be changed.
    pub fn targets_mut(&mut self) -> Vec<&mut Target> {
        match self {
            TerminatorKind::Jump(target) => vec![target],
            TerminatorKind::Branch { then, otherwise, .. } => vec![then, otherwise],
            TerminatorKind::Switch { cases, default, .. } => {
                cases.iter_mut().map(|(_, target)| target).chain([default]).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Operand {
    /// A number, cut to its width.
    pub fn constant(value: u64, width: u8) -> Operand {
        Operand::Constant(Constant { value: cut(value, width), width })
    }

    /// The register, if it is one.
    pub fn register(self) -> Option<RegisterId> {
        match self {
            Operand::Register(register) => Some(register),
            _ => None,
        }
    }
}
