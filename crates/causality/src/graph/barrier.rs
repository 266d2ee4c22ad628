//! The last causality barrier before a candidate: `docs/causality.md`, section 9.
//!
//! **Computes.** For each thread, how many of its events lie before the barrier: no induced edge
//! leads from behind it to before it.
//!
//! **Follows.** Kahlon and Wang, algorithm 2, here for any number of threads: every thread goes
//! back to where it has no lock, until no event before the cut needs one behind it.
//!
//! **Cost.** Threads squared for each time that a thread goes back.

use foretrace_trace::ThreadId;

use super::Graph;
use crate::scope::Scope;

impl Graph<'_> {
    /// Lowers `cut`, which is before the events that the candidate names, to the last barrier.
    pub(super) fn go_back(&self, cut: &mut [u32], scope: Scope) {
        let threads = cut.len();
        for (thread, cut) in cut.iter_mut().enumerate() {
            *cut = self.lock_free(ThreadId::from(thread), *cut);
        }
        if scope == Scope::Locks {
            return;
        }
        let tables = [self.recorded.as_ref().or(Some(self.order)), self.table(scope)];
        loop {
            let mut moved = false;
            for thread in 0..threads {
                let id = ThreadId::from(thread);
                for table in tables.into_iter().flatten() {
                    if cut[thread] == 0 {
                        break;
                    }
                    let mut most = cut[thread];
                    let needs = table.of(id, most - 1);
                    for other in (0..threads).filter(|&other| other != thread) {
                        if needs[other] > cut[other] {
                            let within =
                                table.last_within(id, most, ThreadId::from(other), cut[other]);
                            most = most.min(within);
                        }
                    }
                    if most < cut[thread] {
                        cut[thread] = self.lock_free(id, most);
                        moved = true;
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }
}
