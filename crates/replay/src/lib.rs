//! Turns a witness into a plan for the real program, and reads its outcome. It does not know
//! processes or files: the command line starts the program.
//!
//! **Computes.** [`Plan::new`] turns a violation and its schedule into the plan that the runtime
//! forces on the program: which visible operation of which thread comes next, and which operations
//! the threads stand before when the violation is there. [`Attempt::new`] does the same for a
//! bug of a program that was verified, not recorded. [`Outcome::read`] reads what the runtime
//! answers.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod attempt;
mod calls;
mod outcome;
mod plan;
mod program;

pub use attempt::Attempt;
pub use outcome::{Operation, Outcome};
pub use plan::{NotReplayable, Plan};
