//! Deliberate bugs, one at a time: what the tests must catch. It does not know which ones: each
//! crate declares its own.
//!
//! **Computes.** From a list of faults, the enum `Fault`, and whether one of them is seeded.
//! Without the feature `seeded-faults` of the crate that declares them none ever is: the question
//! is a constant, and the optimiser removes it.
//!
//! **Follows.** Mutation testing (DeMillo, Lipton, Sayward, *Hints on test data selection*,
//! Computer 11(4), 1978), with mutants chosen by hand: each is a mistake that someone could make.

/// Declares the faults of a crate: the enum `Fault`, `is_seeded` for the code that goes wrong, and,
/// with the feature `seeded-faults`, `Fault::ALL` and `seed_fault` for the tests.
#[macro_export]
macro_rules! faults {
    ($(#[$about:meta])* enum Fault { $($(#[$wrong:meta])+ $fault:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[cfg_attr(not(feature = "seeded-faults"), allow(unreachable_pub))]
        pub enum Fault {
            $($(#[$wrong])+ $fault,)+
        }

        #[cfg(feature = "seeded-faults")]
        mod seeded {
            use std::sync::atomic::{AtomicU8, Ordering};

            use super::Fault;

            const NONE: u8 = u8::MAX;
            static SEEDED: AtomicU8 = AtomicU8::new(NONE);

            impl Fault {
                /// Every fault.
                pub const ALL: &[Fault] = &[$(Fault::$fault,)+];
            }

            const _: () = assert!(Fault::ALL.len() < NONE as usize);

            /// Seeds a fault in the whole process, in place of the one before; `None`: no fault.
            pub fn seed_fault(fault: Option<Fault>) {
                SEEDED.store(fault.map_or(NONE, |fault| fault as u8), Ordering::SeqCst);
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
    };
}
