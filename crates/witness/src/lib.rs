//! Schedules: the independent checker and the reduction; and the checker of proofs that there is
//! none. It knows the trace and `docs/theory.md`, and does not know the model, the encoder and the
//! solver.

mod assertions;
mod at_end;
pub mod calls;
mod checker;
mod computing;
mod ending;
mod explain;
mod free_values;
mod needs;
mod partial_order;
mod recorded;
mod reduce;
mod refutation;
mod refuted;
mod reported;
mod runs;
mod signals;
mod starved;
mod state;
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
