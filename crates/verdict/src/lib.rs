//! The vocabulary of questions and answers: models, properties, violations, proof steps, and the
//! ledger of what became of every candidate. It decides nothing, and does not know who asks and who
//! answers.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod ledger;
mod model;
mod proof;
mod property;
mod slicing;
mod violation;

pub use ledger::{Column, Columns, Ledger};
pub use model::Model;
pub use proof::{Fact, ProofStep, Refutation, Rule};
pub use property::{Certainty, Kind, Property};
pub use slicing::Slicing;
pub use violation::{LockMisuse, Violation};
