//! What can be asked of a trace, and what the answers are: models, properties, violations, the
//! steps of proofs that there is none, and the ledger of what became of every question. It has only
//! names, decides nothing, and does not know who asks and who answers.

mod ledger;
mod model;
mod proof;
mod property;
mod slicing;
mod violation;

pub use ledger::{Column, Columns, Ledger};
pub use model::Model;
pub use proof::{Fact, Refutation, Rule, Step};
pub use property::{Certainty, Kind, Property};
pub use slicing::Slicing;
pub use violation::{LockMisuse, Violation};
