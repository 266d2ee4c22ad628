//! Cheap facts that hold in every schedule: must-happen-before by fork and join, and locksets.
//!
//! Knows nothing of terms and solvers.

mod happens_before;
mod locksets;

pub use happens_before::MustHappenBefore;
pub use locksets::{LocksetId, Locksets};
