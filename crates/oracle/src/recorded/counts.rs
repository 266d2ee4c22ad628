//! Semaphores and barriers: initial counts, parties, arrivals.

use std::collections::BTreeSet;

use foretrace_trace::*;

use super::Recorded;

impl Recorded<'_> {
    pub(super) fn find_initial_counts(&mut self) {
        for sem in (0..self.trace.semaphores().len()).map(SemId::from) {
            let least = || (0..=self.ops.len() as u32).find(|&count| self.suffices(sem, count));
            let count = self.trace.semaphore_count(sem).or_else(least);
            self.initial_counts.push(count.unwrap_or(0));
        }
    }

    /// Whether the recorded run is feasible if the semaphore starts with this count.
    fn suffices(&self, sem: SemId, mut count: u32) -> bool {
        for &op in &self.ops {
            match op {
                Op::SemWait { sem: s, .. } if s == sem && count == 0 => return false,
                Op::SemWait { sem: s, .. } if s == sem => count -= 1,
                Op::SemWaitFailed { sem: s, .. } if s == sem && count > 0 => return false,
                Op::SemPost { sem: s } if s == sem => count += 1,
                ops!(memory object data sync call mark) => {}
            }
        }
        true
    }

    pub(super) fn find_rounds(&mut self) {
        for barrier in (0..self.trace.barriers().len()).map(BarrierId::from) {
            let arrivals: Vec<EventId> = self
                .events()
                .filter_map(|(event, op)| (op == Op::Arrive { barrier }).then_some(event))
                .collect();
            let threads: BTreeSet<ThreadId> =
                arrivals.iter().map(|&arrival| self.trace.thread_of(arrival)).collect();
            let declared = self.trace.barrier_parties(barrier).map(|parties| parties as usize);
            self.parties.push(declared.unwrap_or(threads.len()).max(1));
            self.arrivals.push(arrivals);
        }
    }
}
