//! "At most one of these", for a set that grows between solves.
//!
//! **Follows.** The sequential counter of Sinz (CP 2005) for k = 1: `any[i]` says that one of the
//! first i is true, and the next one then is not. Three clauses per member, whenever it comes.

use foretrace_solve::{Lit, Solver};

/// The set so far: the literal that says that one of its members is true.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct AtMostOne {
    any: Option<Lit>,
}

impl AtMostOne {
    /// Adds a member.
    pub(crate) fn add(&mut self, solver: &mut Solver, member: Lit) {
        self.add_under(solver, member, None);
    }

    /// Adds a member that excludes the earlier ones only if the guard is true.
    pub(crate) fn add_under(&mut self, solver: &mut Solver, member: Lit, guard: Option<Lit>) {
        let any = solver.literal();
        solver.clause(&[!member, any]);
        if let Some(earlier) = self.any {
            solver.clause(&[!earlier, any]);
            match guard {
                None => solver.clause(&[!earlier, !member]),
                Some(guard) => solver.clause(&[!guard, !earlier, !member]),
            }
        }
        self.any = Some(any);
    }
}
