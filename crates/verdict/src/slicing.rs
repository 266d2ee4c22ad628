//! How much of a trace matters.

use serde::Serialize;

/// How large a trace is, and what is left when all that no open condition depends on is gone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Slicing {
    /// All events.
    pub events: u64,
    /// Synchronisation, open conditions, and accesses to cells that matter.
    pub events_left: u64,
    /// All reads, read-modify-writes included.
    pub reads: u64,
    /// Those whose value matters.
    pub reads_left: u64,
    /// Branches, assertions and assumptions.
    pub conditions: u64,
    /// Those that do not hold, or fail, whatever is read.
    pub conditions_left: u64,
}
