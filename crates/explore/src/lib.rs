//! The explicit engine: the reachable cuts of a trace, with a table of the states that were seen.
//! It does not know solvers, the checker or the oracle, and of terms only their values.
//!
//! **Computes.** For each question (a set of violations) a schedule that ends in one of them, or
//! that no schedule does. One exploration answers many questions.
//!
//! **Follows.** `docs/theory.md`: sections 2 to 4 for what a schedule may do, section 7 for what
//! the exploration leaves out, and why no violation is lost by that.
//!
//! **Invariant.** "Impossible" is exact: it is said only after every state was visited that section
//! 7 asks for. An exploration that was cut off says it of nothing. Schedules are still to be
//! checked by the caller.
//!
//! **Cost.** Linear in the reachable states, which is what SAT is bad at and this is good at:
//! proofs that count, where guards keep the reachable cuts close to a diagonal. A state costs about
//! a microsecond per thread and some 50 to 200 bytes.
//!
//! | file | what it does |
//! | --- | --- |
//! | `question` | what is asked, what is answered |
//! | `script` | the trace, unpacked: what each step needs and does |
//! | `formula` | terms as straight-line code |
//! | `matter` | which reads and cells can make a difference to a schedule |
//! | `kept` | which objects are looked at |
//! | `needs` | which steps a step needs, and how far threads need to go |
//! | `rivals` | which steps of other threads do not commute with a step |
//! | `world` | a state, and the rules: who may go on, and what happens then |
//! | `memory` | the rules for accesses |
//! | `goals` | whether a state is a violation that is asked about |
//! | `stuck` | whether nobody can ever go on |
//! | `search` | depth first, with a table of states |
//! | `slices` | first a few objects, then as many as it takes |
//! | `table` | that table |
//! | `folded` | threads that repeat themselves, as graphs: refutes more, finds nothing |

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod fault;
mod folded;
mod formula;
mod goals;
mod kept;
mod matter;
mod memory;
mod needs;
mod question;
mod rivals;
mod script;
mod search;
mod slices;
mod stuck;
mod table;
#[cfg(test)]
mod tests;
mod world;

#[cfg(feature = "seeded-faults")]
pub use fault::{Fault, seed_fault};
pub use folded::{Folded, fold};
pub use question::{Answer, Limits, Options, Pairs, Question, Reason, Report, Slices};
pub use slices::explore;
