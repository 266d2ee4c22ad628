//! The independent checker of proofs that a violation is impossible.

mod check;
mod error;
mod rules;
#[cfg(test)]
mod tests;
mod view;

pub use check::{RefutationChecker, check_refutation};
pub use error::{RefutationError, Why};
