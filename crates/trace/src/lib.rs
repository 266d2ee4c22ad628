//! The recorded run: events, typed ids, file formats, importers, validation.
//!
//! Knows nothing of programs and solvers.

mod anchors;
pub mod binary;
pub mod event;
pub mod export;
pub mod expr;
pub mod ids;
mod implicit;
pub mod import;
mod location;
mod open;
pub mod provenance;
mod store;
pub mod text;
pub mod validate;

pub use anchors::place_hash;
pub use event::*;
pub use ids::*;
pub use implicit::Otherwise;
pub use location::Location;
pub use open::{Format, OpenError, Opened, open, open_as, open_with};
pub use provenance::Provenance;
pub use store::{Builder, Dependences, LockKind, Names, Trace};

/// How strictly another schedule must reproduce what the recorded reads saw.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// Every read sees the same write as recorded.
    ReadsFrom,
    /// Every read sees the same value as recorded.
    Values,
    /// A read sees what is there; what is computed from it keeps the recorded path.
    Symbolic,
    /// What is read is free, and so is every branch: findings are only possible.
    Control,
}

impl Model {
    /// All models, each of which allows every schedule that the one before it allows.
    pub const ALL: [Model; 4] = [Model::ReadsFrom, Model::Values, Model::Symbolic, Model::Control];

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Model::ReadsFrom => "reads-from",
            Model::Values => "values",
            Model::Symbolic => "symbolic",
            Model::Control => "control",
        }
    }

    /// Whether the contents of memory are identified by their values, not by who wrote them.
    pub fn compares_values(self) -> bool {
        self != Model::ReadsFrom
    }
}
