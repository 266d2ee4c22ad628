//! Why a schedule is rejected as a witness.

use foretrace_trace::{BarrierId, CondId, EventId, LockId, ObjectId, SemId, ThreadId};

/// The first rule of `docs/theory.md` that a schedule breaks.
///
/// Shown to the user as evidence of a bug *in this tool*: the solver returned a model that the
/// semantics refutes. Events, threads and objects are given by their numbers, from 0; a step is a
/// place in the schedule, from 0.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refuted {
    /// The schedule names an event that the trace does not have.
    #[error("step {step}: the trace has no event {}", event.0)]
    NoSuchEvent { step: usize, event: EventId },
    /// An event occurs twice.
    #[error("step {step}: event {} runs a second time", event.0)]
    RunTwice { step: usize, event: EventId },
    /// A thread leaves an event out.
    #[error("step {step}: event {} runs, but the next event of thread {} is {}", event.0, thread.0, due.0)]
    ProgramOrder { step: usize, event: EventId, thread: ThreadId, due: EventId },
    /// A thread runs before its fork.
    #[error("step {step}: event {} runs, but thread {} is not started", event.0, thread.0)]
    NotStarted { step: usize, event: EventId, thread: ThreadId },
    /// Something runs after the end of the process.
    #[error("step {step}: event {} runs after the process has exited", event.0)]
    AfterExit { step: usize, event: EventId },
    /// The recorded run gives this event no role: the trace is not valid.
    #[error("step {step}: event {} breaks the rules in the recorded run itself", event.0)]
    NoRole { step: usize, event: EventId },

    /// An access outside the life of its object.
    #[error("step {step}: event {} uses object {}, which is not live", event.0, object.0)]
    NotLive { step: usize, event: EventId, object: ObjectId },
    /// A read sees other bytes than recorded.
    #[error("step {step}: event {} reads what {} left in object {} at {offset}, but expects what {} left",
        event.0, writer(found), object.0, writer(expected))]
    WrongBytes {
        step: usize,
        event: EventId,
        object: ObjectId,
        offset: u32,
        found: Option<EventId>,
        expected: Option<EventId>,
    },
    /// A read with an unknown writer runs before all that was recorded before it.
    #[error("step {step}: event {} has an unknown writer, and event {} was recorded before it", event.0, missing.0)]
    UnknownWriter { step: usize, event: EventId, missing: EventId },
    /// A read sees contents that have no value, other than those that it saw in the recorded run.
    #[error("step {step}: event {} reads what {} left in object {} at {offset}, which has no value, but expects what {} left",
        event.0, writer(found), object.0, writer(expected))]
    Unvalued {
        step: usize,
        event: EventId,
        object: ObjectId,
        offset: u32,
        found: Option<EventId>,
        expected: Option<EventId>,
    },
    /// The memory of a new object is still that of an older one.
    #[error("step {step}: event {} allocates memory that is free only after event {}", event.0, freed.0)]
    StillAllocated { step: usize, event: EventId, freed: EventId },

    /// A branch or an assumption has another outcome than recorded.
    #[error("step {step}: event {} was recorded as {outcome}, but its condition gives {value}", event.0)]
    OtherOutcome { step: usize, event: EventId, outcome: bool, value: u64 },
    /// An assertion that held is passed though it fails.
    #[error("step {step}: event {} asserts what does not hold", event.0)]
    AssertionFails { step: usize, event: EventId },
    /// What a read-modify-write assumes does not hold of what it sees.
    #[error("step {step}: event {} sees {}, of which its assumption does not hold", event.0, shown(seen))]
    AssumptionFails { step: usize, event: EventId, seen: Option<u64> },
    /// An opaque event comes after a read of its thread that is not as recorded.
    #[error("step {step}: event {} may depend on event {}, which is not as recorded: it reads {} instead of {}",
        event.0, read.0, shown(seen), shown(recorded))]
    NotAsRecorded {
        step: usize,
        event: EventId,
        read: EventId,
        seen: Option<u64>,
        recorded: Option<u64>,
    },

    /// Mutual exclusion is broken.
    #[error("step {step}: event {} acquires lock {}, which thread {} still holds", event.0, lock.0, holder.0)]
    LockHeld { step: usize, event: EventId, lock: LockId, holder: ThreadId },
    /// An acquire that failed finds the lock free.
    #[error("step {step}: event {} fails to acquire lock {}, but nothing is in its way", event.0, lock.0)]
    LockFree { step: usize, event: EventId, lock: LockId },
    /// The hold that the event changed or closed in the recorded run is not open.
    #[error("step {step}: event {} needs its recorded hold on lock {}, which is not open", event.0, lock.0)]
    HoldNotOpen { step: usize, event: EventId, lock: LockId },
    /// The hold is open, but not as far as it was when the event closed it.
    #[error("step {step}: event {} closes a hold on lock {} that is not yet as recorded", event.0, lock.0)]
    HoldUnfinished { step: usize, event: EventId, lock: LockId },
    /// A release without a hold, or a destruction, while somebody has a hold.
    #[error("step {step}: event {} needs lock {} free, but thread {} holds it", event.0, lock.0, holder.0)]
    LockNotFree { step: usize, event: EventId, lock: LockId, holder: ThreadId },
    /// The lock is destroyed.
    #[error("step {step}: event {} uses lock {}, which is destroyed", event.0, lock.0)]
    Destroyed { step: usize, event: EventId, lock: LockId },

    /// A notified wake that no signal or broadcast reaches.
    #[error("step {step}: event {} wakes, but nothing has notified it through condition variable {}", event.0, cond.0)]
    NotNotified { step: usize, event: EventId, cond: CondId },
    /// A signal or broadcast reaches a wait that must still wait at the end.
    #[error("step {step}: event {} has to wake the wait {}, which must not be woken", event.0, wait.0)]
    WakesWaiter { step: usize, event: EventId, wait: EventId },

    /// A semaphore is taken at zero.
    #[error("step {step}: event {} takes semaphore {} at count 0", event.0, sem.0)]
    SemaphoreZero { step: usize, event: EventId, sem: SemId },
    /// A failed wait finds the semaphore above zero.
    #[error("step {step}: event {} fails to take semaphore {}, whose count is {count}", event.0, sem.0)]
    SemaphoreNotZero { step: usize, event: EventId, sem: SemId, count: u64 },
    /// An arrival before the end of the round before, or a leave before the end of the round.
    #[error("step {step}: event {} needs a round of barrier {} complete, which has {arrived} of {parties}",
        event.0, barrier.0)]
    RoundIncomplete { step: usize, event: EventId, barrier: BarrierId, arrived: u32, parties: u32 },
    /// A join before the end of the child.
    #[error("step {step}: event {} joins thread {}, which has not run all its events", event.0, child.0)]
    ChildRunning { step: usize, event: EventId, child: ThreadId },

    /// A call returns before one on which its result may depend has begun.
    #[error("step {step}: event {} leaves a call, but rests on the call that event {} enters", event.0, enter.0)]
    CallNotEntered { step: usize, event: EventId, enter: EventId },

    /// The violation does not have the form that its kind asks for, whatever the schedule.
    #[error("this is no violation: {why}")]
    Malformed { why: &'static str },
    /// The schedule is feasible but does not end in the violation.
    #[error("at the end: event {}: {why}", event.0)]
    NotViolated { event: EventId, why: &'static str },
    /// The assertion holds of what its thread has read.
    #[error("at the end: event {}: the assertion holds, its condition gives {value}", event.0)]
    AssertionHolds { event: EventId, value: u64 },
    /// An opaque assertion comes after a read of its thread that is not as recorded.
    #[error("at the end: event {}: the assertion may depend on event {}, which is not as recorded: it reads {} instead of {}",
        event.0, read.0, shown(seen), shown(recorded))]
    AssertionUnknown { event: EventId, read: EventId, seen: Option<u64>, recorded: Option<u64> },
    /// The search for values that make the assertion fail was in vain.
    #[error("at the end: event {}: no values found that make the assertion fail", event.0)]
    NoFailingValues { event: EventId },
    /// A stuck state in which a thread could go on, or might.
    #[error("at the end: thread {} is neither finished nor blocked", thread.0)]
    NotStuck { thread: ThreadId },
    /// The process has exited: nothing is next.
    #[error("at the end: the process has exited")]
    Exited,
}

fn writer(event: &Option<EventId>) -> String {
    event.map_or("the initial state".to_string(), |event| format!("event {}", event.0))
}

fn shown(value: &Option<u64>) -> String {
    value.map_or("an unrecorded value".to_string(), |value| value.to_string())
}
