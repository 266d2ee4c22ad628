//! From a witness to the real program, and back. It does not know processes and files: the command
//! line starts the program.
//!
//! **Computes.** [`Plan::new`] turns a violation and its schedule into the plan that the runtime
//! forces on the program: which visible operation of which thread comes next, and which operations
//! the threads stand before when the violation is there. [`Outcome::read`] reads what the runtime
//! answers.

mod calls;
mod outcome;
mod plan;

pub use outcome::{Operation, Outcome};
pub use plan::{NotReplayable, Plan};
