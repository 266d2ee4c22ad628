//! The recorded run: events, typed ids, file formats, importers, validation.
//!
//! Knows nothing of programs and solvers.

mod anchors;
pub mod binary;
pub mod event;
pub mod export;
pub mod expr;
pub mod ids;
pub mod import;
mod open;
mod store;
pub mod text;
pub mod validate;

pub use anchors::place_hash;
pub use event::*;
pub use ids::*;
pub use open::{Format, OpenError, Opened, open, open_as, open_recording};
pub use store::{Builder, LockKind, Names, Trace};

/// How strictly another schedule must reproduce what the recorded reads saw.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Every read sees the same write as recorded.
    ReadsFrom,
    /// Every read sees the same value as recorded.
    Values,
}
