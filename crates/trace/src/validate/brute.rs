//! Condition variables against brute force: all choices of all signals, on tiny random traces.
//!
//! Each waiting thread has a lock of its own, so that nothing but signals can go wrong.

use std::collections::BTreeSet;

use super::*;
use foretrace_testing::Random;

/// The sets of section 3, by event: waiters, notified, departed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Sets {
    waiters: BTreeSet<EventId>,
    notified: BTreeSet<EventId>,
    departed: BTreeSet<EventId>,
}

/// The first event at which no choice of the signals before it lets the run go on.
fn first_infeasible(trace: &Trace) -> Option<EventId> {
    let reason = |wait: EventId| {
        trace.next(wait).map(|wake| match trace.op(wake) {
            Op::Wake { reason, .. } => reason,
            _ => unreachable!("only wakes follow waits here"),
        })
    };
    let leaves = |wait: EventId| reason(wait).is_some_and(|reason| reason != WakeReason::Notified);
    let timed = |wait: EventId| matches!(trace.op(wait), Op::Wait { timed: true, .. });
    let mut states = BTreeSet::from([Sets::default()]);
    for (id, event) in trace.events() {
        let mut after = BTreeSet::new();
        for mut sets in states {
            match event.op {
                Op::Wait { .. } => {
                    sets.waiters.insert(id);
                    after.insert(sets);
                }
                Op::Wake { reason: WakeReason::Notified, .. } => {
                    if sets.notified.remove(&trace.previous(id).unwrap()) {
                        after.insert(sets);
                    }
                }
                Op::Wake { .. } => {
                    let wait = trace.previous(id).unwrap();
                    if sets.waiters.remove(&wait) || sets.departed.remove(&wait) {
                        after.insert(sets);
                    }
                }
                Op::Signal { .. } => {
                    for &wait in &sets.waiters {
                        let mut chosen = sets.clone();
                        chosen.waiters.remove(&wait);
                        chosen.notified.insert(wait);
                        after.insert(chosen);
                    }
                    if sets.waiters.iter().all(|&wait| timed(wait) || leaves(wait)) {
                        let gone = std::mem::take(&mut sets.waiters);
                        sets.departed.extend(gone);
                        after.insert(sets);
                    }
                }
                Op::Broadcast { .. } => {
                    for wait in std::mem::take(&mut sets.waiters) {
                        let to = if leaves(wait) { &mut sets.departed } else { &mut sets.notified };
                        to.insert(wait);
                    }
                    after.insert(sets);
                }
                _ => {
                    after.insert(sets);
                }
            }
        }
        if after.is_empty() {
            return Some(id);
        }
        states = after;
    }
    None
}

fn random_run(random: &mut Random) -> Trace {
    let mut builder = Trace::builder();
    let cond = builder.cond("c");
    let signaller = builder.thread("s");
    let waiters = 2 + random.below(4);
    // Per waiter: its thread and lock, and the limit of the wait that it is in.
    let mut rows: Vec<(ThreadId, LockId, Option<bool>)> = Vec::new();
    for index in 0..waiters {
        let (thread, lock) =
            (builder.thread(&format!("t{index}")), builder.lock(&format!("m{index}")));
        let op = Op::Acquire { lock, mode: Mode::Exclusive, patience: Patience::Blocking };
        builder.push(Event { thread, op, location: None });
        rows.push((thread, lock, None));
    }
    for _ in 0..4 + random.below(12) {
        let (thread, op) = match random.below(10) {
            0..3 => (signaller, Op::Signal { cond }),
            3 if random.below(2) == 0 => (signaller, Op::Broadcast { cond }),
            _ => {
                let index = random.below(waiters);
                let (thread, lock, waiting) = &mut rows[index];
                let op = match *waiting {
                    None => {
                        let timed = random.below(3) == 0;
                        *waiting = Some(timed);
                        Op::Wait { cond, lock: *lock, timed }
                    }
                    Some(timed) => {
                        *waiting = None;
                        let reason = match random.below(6) {
                            0 => WakeReason::Spurious,
                            1 if timed => WakeReason::TimedOut,
                            _ => WakeReason::Notified,
                        };
                        Op::Wake { cond, lock: *lock, reason }
                    }
                };
                (*thread, op)
            }
        };
        builder.push(Event { thread, op, location: None });
    }
    builder.finish()
}

#[test]
fn the_earliest_wake_first_is_as_good_as_every_choice() {
    let (mut feasible, mut infeasible) = (0, 0);
    for seed in 1..20_000 {
        let trace = random_run(&mut Random::new(seed));
        let expected = first_infeasible(&trace);
        let found = validate(&trace).err();
        if let Some(invalid) = &found {
            assert_eq!(invalid.rule, Rule::WakeWithoutNotify, "seed {seed}: {invalid}");
        }
        let found = found.and_then(|invalid| invalid.event);
        assert_eq!(found, expected, "seed {seed}\n{}", crate::text::print(&trace));
        match expected {
            None => feasible += 1,
            Some(_) => infeasible += 1,
        }
    }
    assert!(feasible > 1000 && infeasible > 1000, "{feasible} feasible, {infeasible} not");
}
