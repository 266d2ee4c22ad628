//! Long schedules in few words.
//!
//! **Computes.** A schedule as runs: all events of some threads from one event to another, in the
//! order of the recorded run. Most of a schedule is the recorded order without the threads that
//! wait, so a few runs say it.
//!
//! **Invariant.** The events of a run's threads between its first and its last event are exactly
//! its steps. A schedule runs each thread from its first event on, and leaves none out; so that
//! holds if all events that the threads have run before stand before the run, and all that they run
//! later behind it. Of a thread that stops, nothing is known behind its last step.
//!
//! **Cost.** O(n·t) for n steps and t threads in a run.

/// All events of some threads between two events, both included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) event: u32,
    pub(super) through: u32,
    /// The threads; that of the first event comes first.
    pub(super) threads: Vec<u32>,
}

/// The runs of a schedule; `alone`: of one thread each.
pub(super) fn runs(schedule: &[u32], thread: impl Fn(u32) -> u32, alone: bool) -> Vec<Run> {
    let threads = schedule.iter().map(|&event| thread(event) as usize + 1).max().unwrap_or(0);
    // For each step, the next one of its thread.
    let mut coming: Vec<Option<u32>> = vec![None; threads];
    let mut next: Vec<Option<u32>> =
        schedule.iter().rev().map(|&event| coming[thread(event) as usize].replace(event)).collect();
    next.reverse();

    let mut runs: Vec<Run> = Vec::new();
    let mut before: Vec<Option<u32>> = vec![None; threads];
    for (&event, &next) in schedule.iter().zip(&next) {
        let of = thread(event);
        let goes_on = runs.last().is_some_and(|run| {
            let is_in = run.threads.contains(&of);
            let others = run.threads.iter().filter(|&&other| other != of);
            let wait = || {
                let mut later = others.map(|&other| coming[other as usize]);
                later.all(|later| later.is_some_and(|later| later > event))
            };
            let joins = || before[of as usize].is_none_or(|last| last < run.event);
            event > run.through && (is_in || !alone && joins()) && wait()
        });
        match runs.last_mut().filter(|_| goes_on) {
            Some(run) => {
                run.through = event;
                if !run.threads.contains(&of) {
                    run.threads.push(of);
                }
            }
            None => runs.push(Run { event, through: event, threads: vec![of] }),
        }
        before[of as usize] = Some(event);
        coming[of as usize] = next;
    }
    runs
}

#[cfg(test)]
mod tests {
    use foretrace_testing::Random;

    use super::*;

    /// Events of a trace by their threads, and a schedule of them: the runs say the same.
    fn check(threads: &[u32], schedule: &[u32], expected: usize) {
        let of = |event: u32| threads[event as usize];
        for alone in [true, false] {
            let runs = runs(schedule, of, alone);
            let steps = |run: &Run| -> Vec<u32> {
                let within = run.event..=run.through;
                within.filter(|&event| run.threads.contains(&of(event))).collect()
            };
            let said: Vec<u32> = runs.iter().flat_map(steps).collect();
            assert_eq!(said, schedule, "{runs:?}");
            if alone {
                assert!(runs.iter().all(|run| run.threads.len() == 1));
            } else {
                assert_eq!(runs.len(), expected, "{runs:?}");
            }
        }
    }

    #[test]
    fn recorded_order_is_one_run() {
        check(&[0, 1, 0, 1, 2, 1], &[0, 1, 2, 3, 4, 5], 3);
        check(&[0, 1, 0, 1, 0, 1], &[0, 1, 2, 3], 2);
    }

    #[test]
    fn a_thread_that_waits_is_left_out() {
        // Thread 1 stops at 1, the others go on.
        check(&[0, 1, 0, 1, 2, 0, 2, 1, 0, 2], &[0, 1, 2, 4, 5, 6, 8, 9], 3);
    }

    #[test]
    fn other_orders() {
        check(&[0, 1, 0, 1], &[1, 3, 0, 2], 2);
        check(&[0, 1, 0, 1], &[1, 0, 3, 2], 4);
        check(&[0, 0, 1, 1], &[0, 2, 1, 3], 4);
        check(&[], &[], 0);
    }

    #[test]
    fn many_orders() {
        let mut random = Random::new(7);
        for _ in 0..500 {
            let threads: Vec<u32> = (0..30).map(|_| random.below(4) as u32).collect();
            let mut left: Vec<Vec<u32>> = vec![Vec::new(); 4];
            for event in (0..30).rev() {
                left[threads[event as usize] as usize].push(event);
            }
            let mut schedule = Vec::new();
            for _ in 0..random.below(60) {
                // Mostly the recorded order.
                let thread = match random.below(4) {
                    0 => random.below(4),
                    _ => (0..4).min_by_key(|&thread| left[thread].last().copied()).unwrap(),
                };
                schedule.extend(left[thread].pop());
            }
            let of = |event: u32| threads[event as usize];
            let count = runs(&schedule, of, false).len();
            check(&threads, &schedule, count);
        }
    }
}
