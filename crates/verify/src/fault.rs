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
    }
}
