//! Locks and semaphores.
//!
//! **Follows.** Said, Wang, Yang, Sakallah, *Generating data race witnesses by an SMT-based
//! analysis*, NFM 2011, and 002: of two holds of a plain lock that are both included, one is closed
//! before the other is opened. Semaphores, reader-writer locks, and locks that are tried for,
//! destroyed or released without a hold are variables with guarded updates: 000 section 3.1, in
//! `pi`.
//!
//! **Cost.** Quadratic in the holds of a plain lock.

use super::Encoder;
use crate::recorded::Hold;
use crate::term::Term;

impl Encoder<'_> {
    pub(super) fn synchronisation(&mut self) {
        let variables = std::mem::take(&mut self.recorded.sync.variables);
        let holds = std::mem::take(&mut self.recorded.sync.holds);
        for (index, variable) in variables.iter().enumerate() {
            let Some(lock) = variable.plain_lock else {
                self.guarded_updates(index, variable);
                continue;
            };
            self.comment(&format!("{}: holds do not overlap", variable.name));
            let holds: Vec<&Hold> = holds.iter().filter(|hold| hold.lock == lock).collect();
            for (at, hold) in holds.iter().enumerate() {
                for other in holds[..at].iter().filter(|other| other.thread != hold.thread) {
                    self.keep_apart(other, hold);
                }
            }
        }
        self.recorded.sync.variables = variables;
        self.recorded.sync.holds = holds;
    }

    fn keep_apart(&mut self, one: &Hold, other: &Hold) {
        let closed_before = |hold: &Hold, later: &Hold| {
            hold.close.map_or(Term::FALSE, |close| self.before(close, later.open))
        };
        let apart = Term::or([closed_before(one, other), closed_before(other, one)]);
        let both = Term::and([self.included(one.open), self.included(other.open)]);
        self.assert(both.implies(apart));
    }
}
