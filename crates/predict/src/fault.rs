//! Deliberate bugs, one at a time: what the oracle must catch.
//!
//! **Computes.** Whether a fault is seeded. Without the feature `seeded-faults` none ever is, the
//! question is a constant, and the optimiser removes it.
//!
//! **Follows.** Mutation testing (DeMillo, Lipton, Sayward, *Hints on test data selection*,
//! Computer 11(4), 1978), with mutants chosen by hand: each is a mistake that someone could make in
//! the encoder, the candidates or the closure.

/// A bug that can be seeded. What each one gets wrong, in the words of `docs/theory.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[cfg_attr(not(feature = "seeded-faults"), allow(unreachable_pub))]
pub enum Fault {
    /// No read sees the initial state.
    NoInitialSource = 1,
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
    /// A write is taken for overwritten although the other write may come first.
    HiddenByAny,
    /// A cell counts as a lock although somebody gives it back who has not taken it.
    LatchGivenByAnyone,
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
    /// A call that only waits for a kept order counts as blocked, though what another one has to
    /// take is there.
    KeptOrderBlocks,
    /// Nobody notices that a source has been closed.
    ClosersForgotten,
    /// A call is blocked although its feed has entered.
    FeedForgotten,
}

mod calls;

#[cfg(feature = "seeded-faults")]
mod seeded {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Fault;

    static SEEDED: AtomicU8 = AtomicU8::new(0);

    impl Fault {
        /// Every fault.
        pub const ALL: &[Fault] = &[
            Fault::NoInitialSource,
            Fault::OneSource,
            Fault::FromReadOneWay,
            Fault::RemoteReadPinned,
            Fault::ValuesUnchecked,
            Fault::UnknownWriterFree,
            Fault::SharedNotExcluded,
            Fault::ReadersExclude,
            Fault::NoHolderNeeded,
            Fault::SignalWakesTwo,
            Fault::TokenTakenTwice,
            Fault::PostsForgotten,
            Fault::FreeUnordered,
            Fault::NobodyMayLeave,
            Fault::RoundOffByOne,
            Fault::OwnHoldForgotten,
            Fault::LeftLockForgotten,
            Fault::HolderNotFinished,
            Fault::ForeignCloseIsOwn,
            Fault::LocksetAfterWait,
            Fault::OrderOffByOne,
            Fault::RemoteAnywhere,
            Fault::CycleOfReaders,
            Fault::ClosureKeepsHolds,
            Fault::PossibleAtOnce,
            Fault::RecordedValuesForAll,
            Fault::FreeReadUnexplained,
            Fault::NothingReleased,
            Fault::SourceWithoutValue,
            Fault::AssumptionUnchecked,
            Fault::FailedAssertionPassed,
            Fault::BranchUnchecked,
            Fault::OpaqueIgnored,
            Fault::AdditionAlways,
            Fault::FactOffByOne,
            Fault::HiddenByAny,
            Fault::LatchGivenByAnyone,
            Fault::ChannelForgotten,
            Fault::ChainForgotten,
            Fault::OnlyLeftCalls,
            Fault::OnlyEnteredBefore,
            Fault::NothingFoundForgotten,
            Fault::GiversUnordered,
            Fault::KeptOrderBlocks,
            Fault::ClosersForgotten,
            Fault::FeedForgotten,
        ];
    }

    /// Seeds a fault in the whole process, in place of the one before; `None`: no fault.
    pub fn seed_fault(fault: Option<Fault>) {
        SEEDED.store(fault.map_or(0, |fault| fault as u8), Ordering::SeqCst);
    }

    pub(crate) fn is_seeded(fault: Fault) -> bool {
        SEEDED.load(Ordering::Relaxed) == fault as u8
    }
}

pub(crate) use calls::spoil_calls;
#[cfg(feature = "seeded-faults")]
pub(crate) use seeded::is_seeded;
#[cfg(feature = "seeded-faults")]
pub use seeded::seed_fault;

/// Whether the fault is seeded.
#[cfg(not(feature = "seeded-faults"))]
pub(crate) const fn is_seeded(_: Fault) -> bool {
    false
}
