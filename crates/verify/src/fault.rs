//! What can be seeded into unfolding and composing: the differential test must catch each.

foretrace_faults::faults! {
    /// A bug that can be seeded: a mistake that someone could make.
    enum Fault {
        /// A write that may be missing hides earlier ones.
        MaybeIsCertain,
        /// A read has only the first of its possible sources.
        OneSource,
        /// A source need not come before its read.
        SourceUnordered,
        /// Another write may come between a source and its read.
        WriteBetween,
        /// A source need not happen.
        SourceMissing,
        /// A join does not wait for the child's end.
        JoinAtOnce,
        /// What a join has waited for is not ordered before it.
        JoinUnordered,
        /// A lock is taken although another thread has it.
        LockTaken,
        /// A loop that may go on beyond its bound leaves no exit.
        ExitForgotten,
        /// A turn that changes a local variable is taken for an idle one.
        IdleTurnCounts,
        /// A section writes at a moment of its own, so that others come in between.
        SectionTorn,
        /// The range of a read is that of its first source only.
        RangeTooNarrow,
        /// A critical section is one node although others access its memory without the lock.
        Unprotected,
        /// A thread that has waited once does not wake up to wait again.
        WaitForgotten,
        /// A write that may not have been done was not done.
        ExchangeFails,
        /// A token that an attempt may have taken was not taken.
        TokenForgotten,
        /// What is written under a condition only is as it was before the first fork.
        WriterForgotten,
        /// A child has seen what its parent does behind the fork.
        SeenTooEarly,
        /// What only one of two paths has done was not done.
        PathForgotten,
        /// A block whose size depends on data is as large as it may be.
        LengthForgotten,
        /// What threads add to a cell is a sum even if another write may come between.
        SumDisturbed,
        /// Only accesses that begin at the same byte overlap.
        RaceSameStart,
        /// A lock that both threads have in shared mode keeps accesses apart.
        RaceSharedLock,
        /// Two accesses inside of sections race.
        RaceInSections,
        /// One atomic access is enough for two not to race.
        RaceOneAtomic,
        /// A compare-exchange that would not write races with a read.
        RaceOfReads,
        /// The state that shows a race is not that of the access that leads.
        RaceUnled,
        /// A thread races with an access before it has come to it.
        RaceTooEarly,
        /// A thread is blocked although what it waits for is to be had.
        StuckWhileFree,
        /// A thread is blocked although the one that it waits for has ended.
        StuckJoin,
        /// The first thread need not be blocked or finished in a stuck state.
        StuckWhileRunning,
        /// A signal wakes two waits, or two signals wake one.
        SignalWakesTwo,
        /// Signals do not end waits.
        SignalsNobody,
        /// The fourth step of a random walk is not in its schedule.
        WalkStepMissing,
        /// A lock in memory that is not live any more is as good as others.
        LockInFreedMemory,
        /// A thread that waits again and again takes only one signal with each unfolded wait.
        SignalsOnce,
    }
}
