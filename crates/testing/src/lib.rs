//! What tests, benchmarks and random generators of several crates share. It does not know traces,
//! programs or predictions, so every crate may test itself with it.
//!
//! **Computes.** Random numbers that a seed repeats, how many cases a test tries in each tier, the
//! list of what was not tested on this machine, and transcripts with their answers given anew.

mod random;
mod skipped;
mod tier;
mod transcript;

pub use random::Random;
pub use skipped::{SKIPPED, skip};
pub use tier::{LONG, cases, is_long};
pub use transcript::transcript;
