//! The recorded run: events, typed ids, file formats, importers, validation. It does not know
//! programs or solvers.

// The compiler names every `match` that must learn of a new kind of event.
#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

mod anchors;
pub mod binary;
mod deadline;
pub mod event;
pub mod export;
// Kinds of expressions, not of events.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod expr;
pub mod ids;
// Words of other formats; those that are not known are refused where they are read.
#[allow(clippy::wildcard_enum_match_arm)]
pub mod import;
mod location;
mod open;
pub mod provenance;
mod store;
pub mod text;
pub mod validate;

pub use anchors::place_hash;
pub use deadline::{Deadline, Stop};
pub use event::*;
pub use ids::*;
pub use location::Location;
pub use open::{Format, OpenError, Opened, open, open_as};
pub use provenance::Provenance;
pub use store::{
    Builder, Called, Calls, Dependences, Layout, LockKind, Member, Named, Names, Otherwise, Shape,
    Trace, TypeInfo,
};
