//! When a solve gives up.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::theory::Theory;

/// Limits of one call of [`Solver::solve`](crate::Solver::solve). The default has none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Gives up soon after so many conflicts of this call, of the SAT solver or of the order
    /// theory; 0 allows little more than propagation. The only limit that is deterministic.
    pub conflicts: Option<u64>,
    /// Gives up some time soon after this moment, and at once if it has passed already.
    pub deadline: Option<Instant>,
    /// Gives up some time soon after a signal handler or another thread sets it.
    pub stop: Option<&'static AtomicBool>,
}

impl Limits {
    /// At most so many conflicts.
    pub fn conflicts(conflicts: u64) -> Self {
        Limits { conflicts: Some(conflicts), ..Limits::default() }
    }

    /// Whether the flag is set.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Whether the deadline has passed or the flag is set.
    pub fn is_over(&self) -> bool {
        self.is_stopped() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// CaDiCaL asks it from time to time whether to go on.
#[derive(Debug)]
pub(crate) struct Watch {
    limits: Limits,
    theory: Rc<RefCell<Theory>>,
    /// The number of theory conflicts, counted from the first solve, at which to stop.
    last_conflict: u64,
}

impl Watch {
    pub(crate) fn new(theory: Rc<RefCell<Theory>>) -> Self {
        Watch { limits: Limits::default(), theory, last_conflict: u64::MAX }
    }

    /// Sets the limits of the solve that starts now.
    pub(crate) fn start(&mut self, limits: &Limits) {
        self.limits = limits.clone();
        let allowed = limits.conflicts.unwrap_or(u64::MAX);
        self.last_conflict = self.theory.borrow().conflicts.saturating_add(allowed);
    }
}

impl cadical_sys::Terminator for Watch {
    fn terminated(&mut self) -> bool {
        // CaDiCaL's own limit does not count a theory conflict with a single literal of the
        // current level, and there are many of these.
        self.theory.borrow().conflicts >= self.last_conflict || self.limits.is_over()
    }
}
