//! The rules, with their stable codes.

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $code:literal),* $(,)?) => {
        /// A rule of a valid trace. `docs/trace-format.md` explains each.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Rule { $($(#[$doc])* $name),* }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$name),*];

            /// The short name that reports use; it never changes.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code),* }
            }
        }
    };
}

rules! {
    /// An id is outside its table.
    UnknownId = "unknown-id",
    /// An expression uses a name that no earlier read of its thread binds.
    UnboundName = "unbound-name",
    /// A name is bound by an event that reads nothing, or an expression belongs to one that has
    /// none.
    Misplaced = "misplaced-expression",
    /// An expression is too deep.
    ExpressionDepth = "expression-depth",
    /// A value has more bytes than its place.
    ValueSize = "value-size",
    /// A recorded value or outcome is not what its expression gives.
    ValueMismatch = "value-mismatch",
    /// A place is empty, or ends behind byte 2^32 - 1.
    PlaceSize = "place-size",
    /// A place is not inside the allocation of its object.
    PlaceOutside = "place-outside",
    /// Two declarations give one byte an initial value.
    InitTwice = "init-twice",
    /// An object is used, and then allocated.
    UseBeforeAlloc = "use-before-alloc",
    /// An object is used after its free.
    UseAfterFree = "use-after-free",
    /// An object is allocated a second time.
    AllocTwice = "alloc-twice",
    /// A thread is forked twice.
    ForkTwice = "fork-twice",
    /// A thread is forked after its first event, or after it was joined.
    ForkLate = "fork-late",
    /// `begin` is not the first event of its thread.
    BeginNotFirst = "begin-not-first",
    /// A thread goes on after its `end`.
    AfterEnd = "after-end",
    /// Something happens after the process has exited.
    AfterExit = "after-exit",
    /// A thread is joined that has events left.
    JoinRunning = "join-running",
    /// A lock is acquired that another thread holds.
    LockHeld = "lock-held",
    /// A lock declared plain is acquired again by its holder.
    PlainLockAgain = "plain-lock-again",
    /// An acquire fails although nothing stands in its way.
    LockFree = "lock-free",
    /// Something that blocks for ever fails.
    BlockingFailed = "blocking-failed",
    /// A lock is used after it was destroyed.
    LockDestroyed = "lock-destroyed",
    /// A lock is destroyed while it is held.
    DestroyHeld = "destroy-held",
    /// A lock is released in a mode in which nobody holds it, while somebody holds it in the other.
    ReleaseMode = "release-mode",
    /// Not supported: a shared hold is released by a thread that does not have it.
    ForeignShared = "foreign-shared",
    /// Not supported: a hold of depth above 1 is released by another thread.
    ForeignDeep = "foreign-deep",
    /// A thread waits with a lock that it does not hold.
    WaitNotHeld = "wait-not-held",
    /// A thread waits with a lock that it holds in both modes.
    WaitBothModes = "wait-both-modes",
    /// A wake does not directly follow its wait, or something else does.
    WaitWakePair = "wait-wake-pair",
    /// A wait without a time limit times out.
    TimeoutUntimed = "timeout-untimed",
    /// A wake is notified, but no signal or broadcast can have reached its wait.
    WakeWithoutNotify = "wake-without-notify",
    /// A semaphore is decremented at count 0.
    SemaphoreZero = "semaphore-zero",
    /// A wait on a semaphore fails, but the count is not 0.
    SemaphoreNotZero = "semaphore-not-zero",
    /// A barrier is declared for 0 parties.
    BarrierParties = "barrier-parties",
    /// A thread leaves a barrier at which it has not arrived.
    LeaveWithoutArrive = "leave-without-arrive",
    /// A thread leaves a barrier before its round is complete.
    LeaveEarly = "leave-early",
    /// A thread leaves a call, but has entered none that is still open.
    LeaveWithoutCall = "leave-without-call",
    /// A call that waits for something leaves, but nobody has given it.
    LeaveUnfed = "leave-unfed",
}
