//! The recorded run: events, typed ids, file formats, importers, validation. It does not know
//! programs or solvers.

mod anchors;
pub mod binary;
mod deadline;
pub mod event;
pub mod export;
pub mod expr;
pub mod ids;
pub mod import;
mod location;
mod open;
pub mod provenance;
mod store;
pub mod text;
pub mod validate;

pub use anchors::place_hash;
pub use deadline::Deadline;
pub use event::*;
pub use ids::*;
pub use location::Location;
pub use open::{Format, OpenError, Opened, open, open_as};
pub use provenance::Provenance;
pub use store::{
    Builder, Called, Calls, Dependences, Layout, LockKind, Member, Names, Otherwise, Shape, Trace,
    TypeInfo,
};
