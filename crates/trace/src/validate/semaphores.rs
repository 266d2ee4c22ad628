//! Semaphores: declared counts, and counts that the recorded run implies.
//!
//! **Computes.** Whether an initial count exists with which all recorded waits succeed and fail as
//! recorded. A declared count is the only candidate. Otherwise a successful wait asks for *at
//! least* so many, and a failed one for *exactly* so many: `least` and `exact` collect that.

use crate::ids::*;
use crate::store::Trace;

use super::invalid::{Breach, breach};
use super::rule::Rule;

pub(super) struct Semaphores {
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    /// Posts minus waits so far.
    balance: i64,
    /// The least initial count that the waits so far need, and the last wait that raised it.
    least: (i64, Option<EventId>),
    /// The initial count, and where it comes from: a failed wait, or, if none, the declaration.
    exact: Option<(i64, Option<EventId>)>,
}

impl Semaphores {
    pub(super) fn new(trace: &Trace) -> Semaphores {
        let row = |index: usize| Row {
            balance: 0,
            least: (0, None),
            exact: trace.semaphore_count(SemId::from(index)).map(|count| (i64::from(count), None)),
        };
        Semaphores { rows: (0..trace.semaphores().len()).map(row).collect() }
    }

    pub(super) fn post(&mut self, sem: SemId) {
        self.rows[sem.index()].balance += 1;
    }

    pub(super) fn wait(&mut self, id: EventId, sem: SemId) -> Result<(), Breach> {
        let row = &mut self.rows[sem.index()];
        let needed = 1 - row.balance;
        match row.exact {
            Some((count, None)) if count < needed => {
                return Err(breach(Rule::SemaphoreZero, "the count is 0 here"));
            }
            Some((count, Some(fail))) if count < needed => {
                let why = "the count is 0 here, because it was 0 at the failed wait ";
                return Err(breach(Rule::SemaphoreZero, why).event(fail));
            }
            _ => {}
        }
        if needed > row.least.0 {
            row.least = (needed, Some(id));
        }
        row.balance -= 1;
        Ok(())
    }

    pub(super) fn fail(&mut self, id: EventId, sem: SemId) -> Result<(), Breach> {
        let row = &mut self.rows[sem.index()];
        let implied = -row.balance;
        match row.exact {
            Some((count, source)) if count != implied => {
                let why = format!("the count is {} here", count + row.balance);
                let why = breach(Rule::SemaphoreNotZero, why);
                return Err(match source {
                    None => why,
                    Some(fail) => why.text(", because it was 0 at the failed wait ").event(fail),
                });
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let (least, source) = row.least;
        if implied < least {
            let why = format!("the count is at least {} here", least + row.balance);
            let why = breach(Rule::SemaphoreNotZero, why);
            return Err(match source {
                None => why,
                Some(wait) => why.text(", because of the successful wait ").event(wait),
            });
        }
        row.exact = Some((implied, Some(id)));
        Ok(())
    }
}
