//! Compare-and-exchanges that failed.
//!
//! A trace has a compare-and-exchange that succeeded as a `rmw` that assumes what it compared, and
//! one that failed as an atomic read and a branch. Where one run has the one and another run the
//! other at the same point, they are one statement with two outcomes. Where no run has it succeed,
//! a read and a branch stay what they are: to exchange something there might be more than the
//! program does. If such a read finds what was expected, an assumption stops the thread right
//! behind it, and it has changed nothing.

use foretrace_trace::MemoryOrder;

use super::steps::{Condition, Statement};
use super::update::{self, Update};

/// Whether the first may be a compare-and-exchange, and the second what a trace has instead of it
/// when it fails.
pub(super) fn may_be_failed(exchange: &Statement, read: &Statement) -> bool {
    match (exchange, read) {
        (
            Statement::Rmw {
                at,
                name,
                update: Update::CompareExchange { is_assumed: true, .. },
                ..
            },
            Statement::Read { at: read_at, order, name: read_name },
        ) => (at, name) == (read_at, read_name) && *order != MemoryOrder::Plain,
        _ => false,
    }
}

/// Whether a branch tests whether the exchange finds what it expects.
pub(super) fn is_tested_by(exchange: &Statement, branch: &Statement) -> bool {
    match (exchange, branch) {
        (
            Statement::Rmw {
                name: Some(name),
                update: Update::CompareExchange { expected, .. },
                ..
            },
            Statement::Branch(Condition::Of(condition)),
        ) => update::compared(condition, *name).as_ref() == Some(expected),
        _ => false,
    }
}
