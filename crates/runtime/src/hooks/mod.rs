//! What instrumented code calls: each hook does the operation and records it.

mod accesses;
mod atomics;
mod control;
pub(crate) mod ranges;
mod strings;
