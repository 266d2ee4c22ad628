//! The state of a run at one moment.

use foretrace_trace::{CondId, LockId, Mode, ObjectId, Place, ThreadId};

use crate::ir::*;

use super::memory::Object;

/// One moment of a run. Equal states have the same future.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub(super) threads: Vec<ThreadState>,
    /// Globals first, with their own ids; then what was allocated, in that order.
    pub(super) objects: Vec<Object>,
    /// Who has which lock.
    pub(super) holds: Vec<Vec<Hold>>,
    pub(super) semaphores: Vec<u64>,
    /// How many threads have come to each barrier since the start.
    pub(super) arrivals: Vec<u64>,
    pub(super) exited: bool,
    /// Addresses of locks, condition variables and semaphores that are known by them; their ids
    /// follow those that are declared.
    pub(super) lock_addresses: Vec<u64>,
    pub(super) cond_addresses: Vec<u64>,
    pub(super) sem_addresses: Vec<u64>,
    /// Barriers that are known by their addresses, with the parties that the first arrival names.
    pub(super) barrier_addresses: Vec<(u64, u32)>,
    /// The thread in a section, and how many sections it is in.
    pub(super) section: Option<(ThreadId, u32)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ThreadState {
    pub(super) name: String,
    pub(super) status: Status,
    /// Calls that have not returned, the innermost last. Empty once the thread is finished.
    pub(super) frames: Vec<Frame>,
    pub(super) phase: Phase,
    /// How many values the outside has given.
    pub(super) inputs: u32,
    /// What it gave when it ended.
    pub(super) result: u64,
    /// Its own copies of variables, as far as it has used them.
    pub(super) own: Vec<(GlobalId, ObjectId)>,
}

/// A call that has not returned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Frame {
    pub(super) function: FunctionId,
    pub(super) block: BlockId,
    pub(super) index: u32,
    pub(super) registers: Vec<u64>,
    /// Memory that ends with the call.
    pub(super) slots: Vec<ObjectId>,
    /// Whether another thread may know one of them.
    pub(super) has_shared_slots: bool,
}

/// Where in its visible operation a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Before it.
    Before,
    /// It has given its lock back and waits.
    Waiting { cond: CondId, lock: LockId, mode: Mode, depth: u32, wait: Wait },
    /// It has come to a barrier, in this round.
    Arrived { barrier: BarrierId, round: u64, parties: u32 },
}

/// How far a wait is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Wait {
    /// A signal can reach it.
    Open,
    /// A signal has reached it.
    Notified,
    /// Its time is up.
    Expired,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Hold {
    pub(super) thread: ThreadId,
    pub(super) mode: Mode,
    pub(super) depth: u32,
}

/// What has become of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Status {
    /// It goes on, when it can.
    Running,
    /// It has returned from its function.
    Finished,
    /// It will not go on.
    Stopped(Stop),
}

/// Why and where a thread does not go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Stop {
    /// At this instruction.
    pub site: Site,
    /// For this reason.
    pub why: Why,
}

/// Why a thread does not go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// An assertion is violated.
    Assertion,
    /// An assumption does not hold: this execution does not count further.
    Assumption,
    /// A lock is not used as it must be.
    LockError(LockError),
    /// Undefined behaviour.
    Undefined(Undefined),
}

/// Wrong uses of locks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
pub enum LockError {
    /// A thread waits for a lock that it holds itself.
    #[error("the thread has the lock already")]
    DoubleLock,
    /// A release, and nobody has the lock.
    #[error("nobody has the lock")]
    ReleaseNotHeld,
    /// A release in a mode in which the thread does not have the lock, and somebody has it.
    #[error("the thread does not have the lock in this mode, but somebody has it")]
    ReleaseByOther,
    /// A wait, and the thread does not have the lock in exactly one mode.
    #[error("the thread does not have the lock that it waits with")]
    WaitNotHeld,
}

/// Behaviour that the program form leaves undefined.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
pub enum Undefined {
    /// An access that is not inside one live object; or an operation on an object of
    /// synchronisation that is not in live memory.
    #[error("the access is not inside a live object")]
    BadAddress,
    /// A free of something else than the start of a live allocation.
    #[error("the freed address is not the start of a live allocation")]
    BadFree,
    /// An allocation that is too large for the interpreter.
    #[error("the allocation is too large")]
    TooLarge,
    /// A join of something that is no thread.
    #[error("the joined value is not a thread")]
    BadJoin,
    /// A call of something that is no function with such parameters and result.
    #[error("the called value is not a function with these parameters and this result")]
    BadCall,
    /// A place that the program says is never reached.
    #[error("a place marked unreachable is reached")]
    Unreachable,
    /// A thread goes on alone for too long.
    #[error("the thread goes on without a visible operation for too long")]
    NoEnd,
    /// Calls inside calls, too many.
    #[error("calls are nested too deeply")]
    TooDeep,
    /// A barrier for no thread, or another number of threads than before.
    #[error("the barrier waits for no thread, or for another number of threads than before")]
    BadBarrier,
}

impl State {
    pub(super) fn new(program: &Program) -> State {
        State {
            threads: Vec::new(),
            objects: super::memory::globals(program),
            holds: vec![Vec::new(); program.locks.len()],
            semaphores: program.semaphores.iter().map(|s| u64::from(s.count)).collect(),
            arrivals: vec![0; program.barriers.len()],
            exited: false,
            lock_addresses: Vec::new(),
            cond_addresses: Vec::new(),
            sem_addresses: Vec::new(),
            barrier_addresses: Vec::new(),
            section: None,
        }
    }

    /// The threads so far, in the order in which they were started.
    pub fn thread_ids(&self) -> impl ExactSizeIterator<Item = ThreadId> + use<> {
        (0..self.threads.len()).map(ThreadId::from)
    }

    /// The name of a thread: as declared, or that of its parent, a slash, and what the fork calls
    /// it.
    pub fn thread_name(&self, thread: ThreadId) -> &str {
        &self.threads[thread.index()].name
    }

    /// What has become of a thread.
    pub fn status(&self, thread: ThreadId) -> Status {
        self.threads[thread.index()].status
    }

    /// Whether the process has exited.
    pub fn has_exited(&self) -> bool {
        self.exited
    }

    /// Whether another thread is in a section.
    pub fn is_kept_out(&self, thread: ThreadId) -> bool {
        self.section.is_some_and(|(inside, _)| inside != thread)
    }

    /// Whether a thread is in a section.
    pub fn is_in_section(&self, thread: ThreadId) -> bool {
        self.section.is_some_and(|(inside, _)| inside == thread)
    }

    /// The bytes of a global variable.
    pub fn bytes(&self, global: GlobalId) -> &[u8] {
        &self.objects[global.index()].bytes
    }

    /// The number in the first bytes, at most 8, of a global variable.
    pub fn value(&self, global: GlobalId) -> u64 {
        let bytes = self.bytes(global);
        bytes.iter().take(8).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// What a register of the innermost call of a thread holds; `None` if the thread is finished.
    pub fn register(&self, thread: ThreadId, register: RegisterId) -> Option<u64> {
        self.thread(thread).frames.last()?.registers.get(register.index()).copied()
    }

    pub(super) fn thread(&self, thread: ThreadId) -> &ThreadState {
        &self.threads[thread.index()]
    }

    pub(super) fn thread_mut(&mut self, thread: ThreadId) -> &mut ThreadState {
        &mut self.threads[thread.index()]
    }

    pub(super) fn frame(&self, thread: ThreadId) -> &Frame {
        self.thread(thread).frames.last().expect("a running thread is in a call")
    }

    pub(super) fn frame_mut(&mut self, thread: ThreadId) -> &mut Frame {
        self.thread_mut(thread).frames.last_mut().expect("a running thread is in a call")
    }

    /// The instruction at which a thread is that is not finished.
    pub fn site(&self, thread: ThreadId) -> Site {
        let frame = self.frame(thread);
        Site { function: frame.function, block: frame.block, index: frame.index }
    }

    /// Where a thread is, and the calls that led there, the innermost first.
    pub fn calls(&self, thread: ThreadId) -> impl Iterator<Item = Site> {
        let site = |frame: &Frame| Site {
            function: frame.function,
            block: frame.block,
            index: frame.index,
        };
        self.thread(thread).frames.iter().rev().map(site)
    }

    /// What is at an address, by its name: `queue`, or `queue+8`.
    pub(super) fn name_at(&self, address: u64) -> Option<String> {
        let Place { object, offset, .. } = self.resolve(address, 1)?;
        let name = &self.object(object).name;
        Some(if offset == 0 { name.clone() } else { format!("{name}+{offset}") })
    }

    /// The thread will not go on.
    pub(super) fn stop(&mut self, thread: ThreadId, why: Why) {
        let site = self.site(thread);
        self.thread_mut(thread).status = Status::Stopped(Stop { site, why });
    }
}
