//! What no schedule can do, and why (`docs/causality.md`). It does not know terms, solvers and the
//! checker of its proofs.
//!
//! Must-happen-before by fork and join, locksets, what each event needs, and the universal
//! causality graph of a candidate.

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
