//! Deliberate bugs, one at a time: what the oracle must catch.
//!
//! **Computes.** Whether a fault is seeded. Without the feature `seeded-faults` none ever is, the
//! question is a constant, and the optimiser removes it.

/// A bug that can be seeded into the engine. What each one gets wrong, in the words of
/// `docs/theory.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[cfg_attr(not(feature = "seeded-faults"), allow(unreachable_pub))]
pub enum Fault {
    /// Values that threads still use are not part of the state.
    ValuesForgotten = 1,
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
}

#[cfg(feature = "seeded-faults")]
mod seeded {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Fault;

    static SEEDED: AtomicU8 = AtomicU8::new(0);

    impl Fault {
        /// Every fault.
        pub const ALL: &[Fault] = &[
            Fault::ValuesForgotten,
            Fault::ContentsForgotten,
            Fault::StrayingForgotten,
            Fault::WaitersForgotten,
            Fault::ArmedForgotten,
            Fault::FreeReadForgotten,
            Fault::NothingReleased,
            Fault::RivalReadsForgotten,
            Fault::RivalWritesForgotten,
            Fault::AskedForgotten,
            Fault::ReadersProtect,
            Fault::AnyLockProtects,
            Fault::RivalFreeForgotten,
            Fault::RivalAcquireForgotten,
            Fault::RivalFailureForgotten,
            Fault::RivalSignalForgotten,
            Fault::RivalPostForgotten,
            Fault::RivalMisuseForgotten,
            Fault::OrderOffByOne,
            Fault::DeadEndsAll,
            Fault::UnknownWriterFree,
            Fault::NobodyLeaves,
            Fault::OpaqueIgnored,
            Fault::OpaqueMattersNot,
            Fault::CallsUnordered,
            Fault::LeftOutProtects,
            Fault::SourcesLeftOut,
            Fault::SliceUnchecked,
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

#[cfg(feature = "seeded-faults")]
pub(crate) use seeded::is_seeded;
#[cfg(feature = "seeded-faults")]
pub use seeded::seed_fault;

/// Whether the fault is seeded.
#[cfg(not(feature = "seeded-faults"))]
pub(crate) const fn is_seeded(_: Fault) -> bool {
    false
}
