//! The first events of a trace, as a trace.
//!
//! **Computes.** The trace as it would be if the run had been recorded only so far. What section 2
//! of `docs/theory.md` infers from the whole run (counts of semaphores, parties of barriers) is
//! declared, so that a schedule of the prefix is one of the whole trace as well.
//!
//! **Invariant.** A prefix of a valid trace is valid, and every violation of it is one of the whole
//! trace. The end of a thread that goes on later is open: the thread is not finished there, and
//! blocked only by what every schedule of the prefix lacks. Some ends need care, since what
//! follows says more about them: a *request* is left out, because only its outcome shows that a
//! lock is recursive; and a *wait* on a condition variable becomes a timed one, because it may have
//! ended without a signal that the trace has. Two things move the cut to an earlier event: a thread
//! that has arrived at a barrier or entered a call, and does something else next than to leave; and
//! a hold that another thread closes later.
//!
//! **Cost.** Linear in the trace.

use super::*;
use crate::ops;
use crate::provenance::Unit;

impl Trace {
    /// Keeps the first events only, because there is no time for more, and says so in a fact.
    pub fn cut_to(&mut self, events: usize) {
        let total = self.len();
        if events >= total {
            return;
        }
        let events = self.safe_cut(events);
        self.declare_inferred();
        let is_kept = |trace: &Trace, id: EventId| {
            let is_cut_off = trace.next(id).is_some_and(|next| next.index() >= events);
            !(is_cut_off && matches!(trace.op(id), Op::Request(_)))
        };
        let kept: Vec<EventId> =
            (0..events).map(EventId::from).filter(|&id| is_kept(self, id)).collect();
        let goes_on: Vec<bool> =
            self.thread_ids().map(|id| self.goes_on_behind(id, events)).collect();
        let threads = self.threads_before(events);
        let (old, mut builder) = self.take_events();
        builder.trace.threads.truncate(threads);
        kept.iter().for_each(|&id| builder.push_again(&old, id));
        let (read, total) = (kept.len() as u64, total as u64);
        builder.tell(Provenance::CutByBudget { read, total, unit: Unit::Events }, 1);
        *self = builder.finish();
        self.open_waits(|thread| goes_on[thread.index()]);
    }

    /// The last wait of each such thread may end without a signal.
    pub fn open_waits(&mut self, goes_on: impl Fn(ThreadId) -> bool) {
        for thread in self.thread_ids().filter(|&thread| goes_on(thread)) {
            let Some(&last) = self.thread_events(thread).last() else { continue };
            if let Op::Wait { cond, lock, .. } = self.op(last) {
                let row = pack(Op::Wait { cond, lock, timed: true });
                self.columns.detail[last.index()] = row.detail;
            }
        }
    }

    /// A place to cut, at or before this one, behind which nothing matters to what is before it.
    fn safe_cut(&self, mut events: usize) -> usize {
        let handed_over = self.handed_over();
        loop {
            let handed = handed_over.iter().find(|(from, upto)| (*from..*upto).contains(&events));
            let earlier = match handed {
                Some(&(from, _)) => Some(from - 1),
                None => self.passed_wait(events),
            };
            let Some(earlier) = earlier else { return events };
            events = earlier;
        }
    }

    /// A thread that is at a barrier or in a call at this cut, and does not wait there: what it
    /// does next is not to leave.
    fn passed_wait(&self, events: usize) -> Option<usize> {
        let ends = self.thread_ids().filter_map(|thread| {
            let of_thread = self.thread_events(thread);
            let count = of_thread.partition_point(|id| id.index() < events);
            Some((*of_thread[..count].last()?, *of_thread.get(count)?))
        });
        let passing = ends.filter(|&(last, next)| match self.op(last) {
            Op::Arrive { .. } => !matches!(self.op(next), Op::Leave { .. }),
            Op::EnterCall { .. } => !matches!(self.op(next), Op::LeaveCall),
            ops!(memory object data lock cond sem thread mark Leave LeaveCall Request) => false,
        });
        passing.map(|(last, _)| last.index()).min()
    }

    /// The cuts at which a thread holds a lock that another one releases later.
    fn handed_over(&self) -> Vec<(usize, usize)> {
        // Of each lock that is held exclusively: by whom, how deep, and since which event.
        let mut holds: FxHashMap<LockId, (ThreadId, u32, usize)> = FxHashMap::default();
        let mut cuts = Vec::new();
        for (id, op) in self.other_ops() {
            let thread = self.thread_of(id);
            match op {
                Op::Acquire { lock, mode: Mode::Exclusive, .. } => {
                    let hold = holds.entry(lock).or_insert((thread, 0, id.index()));
                    hold.1 += 1;
                }
                // It holds the lock in the mode and as deep as before; one level is enough here.
                Op::Wake { lock, .. } => _ = holds.insert(lock, (thread, 1, id.index())),
                Op::Wait { lock, .. } => _ = holds.remove(&lock),
                Op::Release { lock, mode: Mode::Exclusive } => {
                    let Some((holder, depth, since)) = holds.get_mut(&lock) else { continue };
                    if *holder != thread {
                        cuts.push((*since + 1, id.index() + 1));
                    }
                    *depth -= 1;
                    if *depth == 0 || *holder != thread {
                        holds.remove(&lock);
                    }
                }
                // Shared holds of others do not matter, and what failed took nothing.
                ops!(Acquire Release AcquireFailed Destroy Signal Broadcast Request)
                | ops!(memory object data sem barrier thread call mark) => {}
            }
        }
        cuts
    }

    fn goes_on_behind(&self, thread: ThreadId, events: usize) -> bool {
        self.thread_events(thread).last().is_some_and(|last| last.index() >= events)
    }

    /// How many of the first threads have all but those that begin later. (A thread without a fork
    /// is there from the start.)
    fn threads_before(&self, events: usize) -> usize {
        let mut begins_later = vec![false; self.threads.len()];
        for (id, op) in self.other_ops() {
            if let Op::Fork { child } = op {
                begins_later[child.index()] = id.index() >= events;
            }
        }
        begins_later.iter().rposition(|&later| !later).map_or(0, |last| last + 1)
    }

    /// Declares what the whole trace says of its semaphores and barriers.
    fn declare_inferred(&mut self) {
        // Posts minus waits, and the least count with which each wait ends as recorded.
        let mut counts: FxHashMap<SemId, (i64, i64)> = FxHashMap::default();
        let mut parties: FxHashMap<BarrierId, Vec<ThreadId>> = FxHashMap::default();
        for (id, op) in self.other_ops() {
            match op {
                Op::SemWait { sem, .. } => {
                    let (balance, least) = counts.entry(sem).or_default();
                    *least = (*least).max(1 - *balance);
                    *balance -= 1;
                }
                Op::SemWaitFailed { sem, .. } => {
                    let (balance, least) = counts.entry(sem).or_default();
                    *least = (*least).max(-*balance);
                }
                Op::SemPost { sem } => counts.entry(sem).or_default().0 += 1,
                Op::Arrive { barrier } => {
                    let threads = parties.entry(barrier).or_default();
                    let thread = ThreadId(self.columns.thread[id.index()]);
                    if !threads.contains(&thread) {
                        threads.push(thread);
                    }
                }
                ops!(memory object data lock cond thread call mark Leave Request) => {}
            }
        }
        for (sem, (_, least)) in counts {
            self.semaphore_counts.entry(sem).or_insert(least as u32);
        }
        for (barrier, threads) in parties {
            self.barrier_parties.entry(barrier).or_insert(threads.len() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::text;
    use crate::validate::validate;

    fn check(whole: &str, events: usize, prefix: Expect) {
        let mut trace = text::parse(whole).unwrap();
        validate(&trace).unwrap();
        trace.cut_to(events);
        validate(&trace).unwrap();
        prefix.assert_eq(&text::print(&trace));
    }

    #[test]
    fn what_the_rest_says_is_kept() {
        check(
            "a: fork b\nb: semwait s\nb: sempost s\na: semwait s\nb: arrive g\na: semwait s\n\
             a: arrive g\na: fork c\nc: trysemwait t : fail\nc: end",
            5,
            expect![[r#"
                foretrace-trace 1
                semaphore s = 2
                semaphore t = 0
                barrier g = 2
                fact cut-by-budget 5 10 events = 1
                a: fork b
                b: semwait s
                b: sempost s
                a: semwait s
                b: arrive g
            "#]],
        );
    }

    #[test]
    fn requests_and_waits_whose_outcome_is_cut_off() {
        check(
            "a: acquire m\na: request acquire m\na: acquire m\na: release m\na: release m",
            2,
            expect![[r#"
                foretrace-trace 1
                fact cut-by-budget 1 5 events = 1
                a: acquire m
            "#]],
        );
        check(
            "a: acquire m\na: wait c m\nb: acquire m\nb: wait c m\nb: wake c m spurious",
            4,
            expect![[r#"
                foretrace-trace 1
                fact cut-by-budget 4 5 events = 1
                a: acquire m
                a: wait c m
                b: acquire m
                b: timedwait c m
            "#]],
        );
    }
}
