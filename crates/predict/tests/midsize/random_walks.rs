//! What a random schedule runs into is found.
//!
//! **Computes.** Walks at random from the start of a trace, step by step as far as the witness
//! checker lets it, and looks at each state for violations: races of what is next, remote accesses
//! between two of a region, pairs of blocked acquires, and a stuck end. Whatever the checker
//! confirms must be among the findings. This is the one test at this size that can show a wrong
//! "infeasible" without asking the encoder twice.
//!
//! **Cost.** O(n) checks of O(n) steps per walk over n events.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use foretrace_predict::{Granularity, Options};
use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::Violation;
use foretrace_witness::{CheckOptions, Checker, Refuted};

use super::generate::Random;
use super::{MODELS, decide, for_seeds, has_default_seeds};

const WALKS: usize = 40;
/// How far back in its thread the first access of a triple is looked for.
const REACH: usize = 10;

struct Walk<'w> {
    trace: &'w Trace,
    checker: Checker<'w>,
    random: Random,
    schedule: Vec<EventId>,
    met: BTreeSet<Violation>,
}

impl Walk<'_> {
    /// Follows the recorded order to some point, and from there on too, but for threads that it
    /// delays for a while: a walk that chose freely would soon be where no read can see its value
    /// any more.
    fn walk(&mut self) {
        let start = self.random.below(self.trace.len());
        self.schedule = self.trace.events().take(start).map(|(event, _)| event).collect();
        let mut delayed = vec![false; self.trace.threads().len()];
        loop {
            let next = self.next();
            self.look(&next);
            for delayed in &mut delayed {
                *delayed ^= self.random.one_in(12);
            }
            let mut choices: Vec<EventId> = next.iter().copied().flatten().collect();
            choices.sort_by_key(|&event| (delayed[self.trace.thread_of(event).index()], event));
            match choices.iter().find(|&&event| self.can(event)) {
                Some(&event) => self.schedule.push(event),
                None => {
                    for event in choices {
                        self.meet(Violation::Stuck(event));
                    }
                    return;
                }
            }
        }
    }

    /// The next event of each thread.
    fn next(&self) -> Vec<Option<EventId>> {
        let mut done = vec![0; self.trace.threads().len()];
        for &event in &self.schedule {
            done[self.trace.thread_of(event).index()] += 1;
        }
        let threads = self.trace.thread_ids().zip(done);
        threads.map(|(thread, done)| self.trace.thread_events(thread).get(done).copied()).collect()
    }

    /// Whether the event can be the next step. (Whom a signal woke is settled only when a violation
    /// is confirmed.)
    fn can(&mut self, event: EventId) -> bool {
        self.schedule.push(event);
        let probe = Violation::Stuck(event);
        let verdict = self.checker.check(&probe, &self.schedule);
        self.schedule.pop();
        matches!(
            verdict,
            Ok(_)
                | Err(Refuted::Malformed { .. }
                    | Refuted::NotViolated { .. }
                    | Refuted::NotStuck { .. }
                    | Refuted::Exited)
        )
    }

    fn meet(&mut self, violation: Violation) {
        if !self.met.contains(&violation) && self.checker.check(&violation, &self.schedule).is_ok()
        {
            self.met.insert(violation);
        }
    }

    fn look(&mut self, next: &[Option<EventId>]) {
        let trace = self.trace;
        let next: Vec<EventId> = next.iter().copied().flatten().collect();
        for (at, &b) in next.iter().enumerate() {
            for &a in &next[..at] {
                let (a, b) = (a.min(b), a.max(b));
                match (trace.op(a).access(), trace.op(b).access()) {
                    (Some(one), Some(other)) if one.conflicts(&other) => {
                        self.meet(Violation::Race(a, b));
                    }
                    _ if is_acquire(trace.op(a)) && is_acquire(trace.op(b)) => {
                        self.meet(Violation::LockCycle(vec![a, b]));
                    }
                    _ => {}
                }
            }
            self.look_between(b);
        }
    }

    /// Triples whose second access is next.
    fn look_between(&mut self, second: EventId) {
        let trace = self.trace;
        let Some(access) = trace.op(second).access() else { return };
        let thread = trace.thread_events(trace.thread_of(second));
        let position = trace.position(second);
        for &first in thread[position.saturating_sub(REACH)..position].iter().rev() {
            let Some(one) = trace.op(first).access() else { continue };
            let from = self.schedule.iter().position(|&event| event == first);
            let from = from.expect("it comes before what is next");
            for at in from + 1..self.schedule.len() {
                let remote = self.schedule[at];
                let Some(between) = trace.op(remote).access() else { continue };
                if trace.thread_of(remote) != trace.thread_of(second)
                    && between.conflicts(&one)
                    && between.conflicts(&access)
                {
                    self.meet(Violation::Atomicity { first, remote, second });
                }
            }
        }
    }
}

fn is_acquire(op: Op) -> bool {
    matches!(op, Op::Acquire { .. } | Op::Wake { .. })
}

#[test]
fn what_a_random_schedule_meets_is_found() {
    let met = AtomicU64::new(0);
    let of_kind = [const { AtomicU64::new(0) }; 4];
    for_seeds(6000..6030, |seed, trace| {
        let model = MODELS[(seed % 4) as usize];
        let infer_regions = seed % 3 == 0;
        let options = Options {
            model: Some(model),
            infer_regions,
            granularity: Granularity::Event,
            ..Options::default()
        };
        let prediction = decide(trace, &options);
        let found: BTreeSet<Violation> =
            prediction.findings.into_iter().map(|finding| finding.violation).collect();
        let mut walk = Walk {
            trace,
            checker: Checker::new(trace, model, CheckOptions { infer_regions }),
            random: Random::new(seed ^ 0x3a1c),
            schedule: Vec::new(),
            met: BTreeSet::new(),
        };
        for _ in 0..WALKS {
            walk.walk();
        }
        let missed: Vec<_> = walk.met.difference(&found).collect();
        assert!(missed.is_empty(), "{model:?}: called infeasible, but met: {missed:?}");
        met.fetch_add(walk.met.len() as u64, Ordering::Relaxed);
        for violation in &walk.met {
            let kind = match violation {
                Violation::Race(..) => 0,
                Violation::Atomicity { .. } => 1,
                Violation::LockCycle(_) => 2,
                Violation::Stuck(_) | Violation::Lock(..) | Violation::Assertion(_) => 3,
            };
            of_kind[kind].fetch_add(1, Ordering::Relaxed);
        }
    });
    eprintln!("met: {of_kind:?} (races, atomicity, cycles, stuck)");
    if has_default_seeds() {
        assert!(met.into_inner() > 500);
    }
}
