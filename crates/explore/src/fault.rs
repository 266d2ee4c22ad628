//! What can be seeded into the engine: the oracle must catch each.

foretrace_faults::faults! {
    /// A bug that can be seeded into the engine. What each one gets wrong, in the words of
    /// `docs/theory.md`.
    enum Fault {
        /// Values that threads still use are not part of the state.
        ValuesForgotten,
        /// Contents of memory that is still read are not part of the state.
        ContentsForgotten,
        /// Whether a thread has strayed is not part of the state.
        StrayingForgotten,
        /// Who waits and who was notified is not part of the state.
        WaitersForgotten,
        /// A remote access that came before the first one counts as well.
        ArmedForgotten,
        /// The value of a remote read is never free.
        FreeReadForgotten,
        /// No read is released for an assertion.
        NothingReleased,
        /// A step is taken at once although another thread can still read what it writes.
        RivalReadsForgotten,
        /// A step is taken at once although another thread can still write what it writes.
        RivalWritesForgotten,
        /// Accesses that are asked about are taken at once like others.
        AskedForgotten,
        /// A shared hold protects against other shared holds.
        ReadersProtect,
        /// Any lock protects, whichever the others hold.
        AnyLockProtects,
        /// Memory may be freed at once although others still use it.
        RivalFreeForgotten,
        /// A lock is acquired at once although others want it.
        RivalAcquireForgotten,
        /// A failed acquire needs nobody who still has the lock.
        RivalFailureForgotten,
        /// A signal does not depend on who waits.
        RivalSignalForgotten,
        /// A semaphore's failed waits do not depend on posts.
        RivalPostForgotten,
        /// Lock operations that are asked about are taken at once like others.
        RivalMisuseForgotten,
        /// One event too many must come before another.
        OrderOffByOne,
        /// A thread that will never go on makes every question impossible.
        DeadEndsAll,
        /// A read with an unknown writer may come before what was recorded before it.
        UnknownWriterFree,
        /// A signal that reaches nobody who may leave is impossible.
        NobodyLeaves,
        /// What is opaque does not depend on what was read.
        OpaqueIgnored,
        /// Cells that only opaque events depend on do not matter.
        OpaqueMattersNot,
        /// A call returns before the calls on which it rests.
        CallsUnordered,
        /// Locks that are not kept protect all the same.
        LeftOutProtects,
        /// A cell is kept without those on which its values depend.
        SourcesLeftOut,
        /// What is found in a slice is not repeated with all objects.
        SliceUnchecked,
        /// Nobody needs those who post a semaphore.
        PostsUnneeded,
        /// Nobody needs those who write what is read.
        WritesUnneeded,
        /// A thread need not give back what it has taken.
        HoldsCutOff,
        /// Threads are left out of a state although they can let others go on.
        EnablersForgotten,
        /// What feeds another call lets a thread leave its own at once.
        FedWithOthers,
        /// In folded threads, a condition uses what a later read of the same place has seen.
        StaleRegister,
        /// In folded threads, all values that a cell holds do the same.
        AllValuesAlike,
        /// Of folded threads that are stuck, somebody has posted once too often.
        CountsOffByOne,
        /// In folded threads, a wait is woken only by a signal that nobody else could get.
        OneWaiterNotified,
        /// Folded threads have one way to go on.
        OneWayOn,
    }
}
