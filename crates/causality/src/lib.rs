//! What no schedule can do, and why (`docs/causality.md`). It does not know terms, solvers or the
//! checker of its proofs.
//!
//! Must-happen-before by fork and join, locksets, what each event needs, and the universal
//! causality graph of a candidate.

// The compiler names every `match` that must learn of a new kind of event, property or violation.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod derive;
mod givers;
mod graph;
mod happens_before;
mod locksets;
mod needs;
mod scope;

pub use derive::derive;
pub use givers::Givers;
pub use graph::{Graph, Question, Reach, Search};
pub use happens_before::MustHappenBefore;
pub use locksets::{LocksetId, Locksets};
pub use needs::{Needs, Order, Rules};
pub use scope::Scope;
