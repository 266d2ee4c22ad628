//! What tests, benchmarks and random generators of several crates share.
//!
//! **Computes.** Random numbers that a seed repeats, and how many cases a test tries in each tier.
//!
//! **Does not know** anything of traces, programs or predictions: every crate may test itself with it.

mod random;
mod tier;

pub use random::Random;
pub use tier::{LONG, cases, is_long};
