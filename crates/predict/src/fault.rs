//! What can be seeded into the encoder, the candidates and the closure: the oracle must catch each.

foretrace_faults::faults! {
    /// A bug that can be seeded. What each one gets wrong, in the words of `docs/theory.md`.
    enum Fault {
        /// No read sees the initial state.
        NoInitialSource,
        /// A read has only the first of its possible sources.
        OneSource,
        /// A write of something else comes after the read, never before its source.
        FromReadOneWay,
        /// The value of a remote read is never free.
        RemoteReadPinned,
        /// What reads see is not looked at.
        ValuesUnchecked,
        /// A read with an unknown writer may come before what was recorded before it.
        UnknownWriterFree,
        /// A shared and an exclusive hold do not exclude each other.
        SharedNotExcluded,
        /// Two shared holds exclude each other.
        ReadersExclude,
        /// A failed acquire needs nobody that has the lock.
        NoHolderNeeded,
        /// One signal wakes two waits.
        SignalWakesTwo,
        /// Two semaphore waits take one token.
        TokenTakenTwice,
        /// A semaphore's count is zero although posts are left.
        PostsForgotten,
        /// Memory may be freed before an access to it.
        FreeUnordered,
        /// No wait leaves by itself in the stuck state.
        NobodyMayLeave,
        /// A complete barrier round is taken for an incomplete one.
        RoundOffByOne,
        /// A thread that locks twice is not blocked.
        OwnHoldForgotten,
        /// Nobody waits for a lock that a finished thread has.
        LeftLockForgotten,
        /// A thread that has a lock is taken for finished.
        HolderNotFinished,
        /// A hold that another thread closes is taken to last until its own thread goes on.
        ForeignCloseIsOwn,
        /// The lock that a wait gives back still counts as held.
        LocksetAfterWait,
        /// One event too many precedes by fork and join.
        OrderOffByOne,
        /// The remote access need not follow the first one.
        RemoteAnywhere,
        /// A thread that wants to read waits for one that reads.
        CycleOfReaders,
        /// A schedule in recorded order leaves out the release that another hold needs.
        ClosureKeepsHolds,
        /// The first schedule decides whether a finding is only possible.
        PossibleAtOnce,
        /// A thread must have used memory before another one frees it.
        UseBeforeFree,
        /// What is impossible with recorded values is impossible.
        RecordedValuesForAll,
        /// A remote read whose value is free still makes a finding possible.
        FreeReadUnexplained,
        /// No read is released for an assertion.
        NothingReleased,
        /// A read may see something else than its source leaves.
        SourceWithoutValue,
        /// A read-modify-write happens also when what it assumes does not hold.
        AssumptionUnchecked,
        /// A thread goes on behind an assertion that fails.
        FailedAssertionPassed,
        /// Branches may go another way.
        BranchUnchecked,
        /// Opaque events do not depend on what was read.
        OpaqueIgnored,
        /// An addition counts although it comes behind the read.
        AdditionAlways,
        /// One event too many is taken to come before another in every schedule.
        FactOffByOne,
        /// What a thread must have seen can have come from all writes but one.
        OriginForgotten,
        /// A read needs what only a thread needs that goes on behind the branch.
        DemandAtRead,
        /// No read of an assertion sees the last write of a cell.
        ValueForgotten,
        /// A write is taken for overwritten although the other write may come first.
        HiddenByAny,
        /// A cell that says who owns something may be freed by anyone.
        GivenByAnyone,
        /// Whoever takes such a cell needs no lock from the read to the write.
        OwnedWithoutLock,
        /// Whoever has seen that it is its turn may let others pass it on.
        TurnPassedByAnyone,
        /// Two threads may wait for the same turn.
        TurnsAlike,
        /// A call leads to others on the first of its channels only.
        ChannelForgotten,
        /// A call rests only on those that lead to it directly.
        ChainForgotten,
        /// A call leads to those only that have entered after it has left.
        OnlyLeftCalls,
        /// A call leads to those only that have entered after it has entered.
        OnlyEnteredBefore,
        /// A call that found nothing need not stay before the one that gives.
        NothingFoundForgotten,
        /// Two calls that only give have no order, though a third one takes.
        GiversUnordered,
        /// A call that only waits for a kept order counts as blocked, though what another one has
        /// to take is there.
        KeptOrderBlocks,
        /// Nobody notices that a source has been closed.
        ClosersForgotten,
        /// A call is blocked although its feed has entered.
        FeedForgotten,
    }
}

mod calls;
mod origins;

pub(crate) use calls::spoil_calls;
pub(crate) use origins::spoil_origins;
