//! What instrumented code calls: each hook does the operation and records it.

mod accesses;
mod atomics;
mod control;
mod formats;
pub(crate) mod library;
pub(crate) mod ranges;
mod strings;
