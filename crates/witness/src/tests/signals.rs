//! The greedy choice of `signals` against all choices.

use foretrace_trace::{EventId, Op, Trace, WakeReason};
use foretrace_verdict::Model;
use rustc_hash::{FxHashMap, FxHashSet};

use super::trace;
use crate::checker::{CheckOptions, Checker};
use crate::signals::resolve;
use foretrace_testing::Random;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    W,
    N,
    E,
}

/// Whether some resolution works: the rows *wait* to *broadcast* of section 3, word by word.
fn some_choice_works(
    trace: &Trace,
    steps: &[(usize, EventId)],
    kept: &FxHashSet<EventId>,
    waits: &FxHashMap<EventId, Place>,
) -> bool {
    let in_w = |waits: &FxHashMap<EventId, Place>| {
        let mut found: Vec<EventId> =
            waits.iter().filter(|(_, place)| **place == Place::W).map(|(wait, _)| *wait).collect();
        found.sort();
        found
    };
    let Some((&(_, event), rest)) = steps.split_first() else {
        return kept.iter().all(|wait| waits.get(wait) == Some(&Place::W));
    };
    let go = |waits: &FxHashMap<EventId, Place>| some_choice_works(trace, rest, kept, waits);
    let mut after = waits.clone();
    match trace.op(event) {
        Op::Wait { .. } => {
            after.insert(event, Place::W);
            go(&after)
        }
        Op::Wake { reason, .. } => {
            let place = after.remove(&trace.previous(event).unwrap());
            let is_enabled = match reason {
                WakeReason::Notified => place == Some(Place::N),
                _ => place == Some(Place::W) || place == Some(Place::E),
            };
            is_enabled && go(&after)
        }
        Op::Signal { .. } => {
            let waiting = in_w(waits);
            let to_one = waiting.iter().any(|&wait| {
                let mut after = waits.clone();
                after.insert(wait, Place::N);
                go(&after)
            });
            let all_leave = waiting.iter().all(|&wait| may_leave(trace, wait));
            after.extend(waiting.into_iter().map(|wait| (wait, Place::E)));
            to_one || all_leave && go(&after)
        }
        Op::Broadcast { .. } => {
            for wait in in_w(waits) {
                let leaves = ends_unnotified(trace, wait);
                after.insert(wait, if leaves { Place::E } else { Place::N });
            }
            go(&after)
        }
        other => panic!("{other:?}"),
    }
}

fn ends_unnotified(trace: &Trace, wait: EventId) -> bool {
    let wake = trace.next(wait).map(|wake| trace.op(wake));
    matches!(wake, Some(Op::Wake { reason, .. }) if reason != WakeReason::Notified)
}

fn may_leave(trace: &Trace, wait: EventId) -> bool {
    matches!(trace.op(wait), Op::Wait { timed: true, .. }) || ends_unnotified(trace, wait)
}

/// Threads that wait, each with a lock of its own, and one that signals.
fn waiting_trace(random: &mut Random) -> Trace {
    let mut text = String::new();
    for waiter in 0..1 + random.below_u64(4) {
        for _ in 0..1 + random.below_u64(2) {
            let timed = random.below_u64(3) == 0;
            let wait = if timed { "timedwait" } else { "wait" };
            text += &format!("t{waiter}: acquire m{waiter}\nt{waiter}: {wait} c m{waiter}\n");
            let ending = match random.below_u64(6) {
                0 => break,
                1 if timed => " timeout",
                2 => " spurious",
                _ => "",
            };
            text += &format!("t{waiter}: wake c m{waiter}{ending}\nt{waiter}: release m{waiter}\n");
        }
    }
    for _ in 0..1 + random.below_u64(5) {
        text += if random.below_u64(6) == 0 { "s: broadcast c\n" } else { "s: signal c\n" };
    }
    trace(&text)
}

#[test]
fn the_greedy_choice_finds_a_resolution_whenever_there_is_one() {
    let (mut accepted, mut accepted_kept, mut refused) = (0, 0, 0);
    for seed in 0..20_000 {
        let mut random = Random::new(seed);
        let trace = waiting_trace(&mut random);
        let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
        let mut steps = Vec::new();
        let mut done = vec![0; trace.threads().len()];
        for _ in 0..random.below_u64(trace.len() as u64 + 1) {
            let thread = random.below_u64(done.len() as u64) as usize;
            let events = trace.thread_events(thread.into());
            if let Some(&event) = events.get(done[thread]) {
                done[thread] += 1;
                if !matches!(trace.op(event), Op::Acquire { .. } | Op::Release { .. }) {
                    steps.push((steps.len(), event));
                }
            }
        }
        let kept: FxHashSet<EventId> = trace
            .thread_ids()
            .filter_map(|thread| {
                Some(trace.thread_events(thread)[done[thread.index()].checked_sub(1)?])
            })
            .filter(|&last| matches!(trace.op(last), Op::Wait { .. }) && !may_leave(&trace, last))
            .filter(|_| random.below_u64(2) == 0)
            .collect();
        let greedy = resolve(&trace, &checker.recorded, &steps, &kept).is_ok();
        let exact = some_choice_works(&trace, &steps, &kept, &FxHashMap::default());
        assert_eq!(greedy, exact, "seed {seed}: {steps:?}, {kept:?}");
        match greedy {
            true if kept.is_empty() => accepted += 1,
            true => accepted_kept += 1,
            false => refused += 1,
        }
    }
    assert!(accepted.min(accepted_kept).min(refused) > 500, "{accepted} {accepted_kept} {refused}");
}
