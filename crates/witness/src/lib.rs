//! Schedules: the independent checker and the reduction.
//!
//! Knows the trace and `docs/theory.md`; knows nothing of the encoder and the solver.

mod violation;

pub use violation::{Certainty, LockMisuse, Property, Violation};
