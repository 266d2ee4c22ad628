//! Schedules: the independent checker and the reduction; and the checker of proofs that there is
//! none. It knows the trace and `docs/theory.md`, and does not know the model, the encoder and the
//! solver.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod assertions;
mod at_end;
pub mod calls;
mod checker;
mod computing;
mod ending;
mod explain;
mod free_values;
mod needs;
// These ask for the rule of an event, and refuse what has no place under it.
#[allow(clippy::wildcard_enum_match_arm)]
mod partial_order;
mod recorded;
mod reduce;
mod refutation;
mod refuted;
mod reported;
mod runs;
#[allow(clippy::wildcard_enum_match_arm)]
mod signals;
mod starved;
mod state;
#[allow(clippy::wildcard_enum_match_arm)]
mod step;
mod switches;
mod table;
#[cfg(test)]
mod tests;

pub use checker::{CheckOptions, Checker};
pub use explain::{Explanation, FailedAssertion, NamedValue, StepValues};
pub use reduce::reduce;
pub use refutation::{RefutationChecker, RefutationError, Why, check_refutation};
pub use refuted::Refuted;
pub use reported::{context_switches, reported_order};
