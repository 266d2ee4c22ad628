//! Which of several equivalent runs was recorded does not matter, nor in which order threads and
//! locks were named.
//!
//! **Computes.** Exchanges independent neighbours of a trace at random, many times: steps of
//! different threads on different things, or both reads. Every read still sees the same write, so
//! the possible schedules are the same, and so are the violations, by thread and position. The
//! pipeline's shortcuts, which begin from the recorded order, must not show.

use std::collections::BTreeSet;

use foretrace_predict::{Granularity, Options};
use foretrace_trace::{Event, EventId, Op, Place, Trace};
use foretrace_verdict::Violation;

use super::generate::Random;
use super::{MODELS, decide, for_seeds};

/// What a step touches beside its thread; `Thread` is touched by forks, joins and the thread's own
/// steps.
#[derive(PartialEq)]
enum Thing {
    Lock(u32),
    Cond(u32),
    Semaphore(u32),
    Thread(u32),
}

fn things(event: &Event) -> Vec<Thing> {
    let own = Thing::Thread(event.thread.0);
    let more = match event.op {
        Op::Acquire { lock, .. } | Op::AcquireFailed { lock, .. } | Op::Release { lock, .. } => {
            vec![Thing::Lock(lock.0)]
        }
        Op::Wait { cond, lock, .. } | Op::Wake { cond, lock, .. } => {
            vec![Thing::Cond(cond.0), Thing::Lock(lock.0)]
        }
        Op::Signal { cond } | Op::Broadcast { cond } => vec![Thing::Cond(cond.0)],
        Op::SemWait { sem, .. } | Op::SemWaitFailed { sem, .. } | Op::SemPost { sem } => {
            vec![Thing::Semaphore(sem.0)]
        }
        Op::Fork { child } | Op::Join { child } => vec![Thing::Thread(child.0)],
        _ => vec![],
    };
    more.into_iter().chain([own]).collect()
}

fn independent(a: &Event, b: &Event) -> bool {
    let conflict = match (a.op.access(), b.op.access()) {
        (Some(a), Some(b)) => a.conflicts(&b),
        _ => false,
    };
    let others = things(b);
    !conflict && things(a).iter().all(|thing| !others.contains(thing))
}

/// An equivalent trace with threads, locks and objects named in reverse.
fn shuffled(trace: &Trace, random: &mut Random) -> Trace {
    let mut events: Vec<(EventId, Event)> = trace.events().collect();
    for _ in 0..events.len() * 40 {
        let at = random.below(events.len() - 1);
        if independent(&events[at].1, &events[at + 1].1) {
            events.swap(at, at + 1);
        }
    }
    let mut builder = Trace::builder();
    // Reversed tables: old id i is new id n - 1 - i.
    let names = |table: &foretrace_trace::Names| -> Vec<String> {
        let mut names: Vec<String> = table.iter().map(String::from).collect();
        names.reverse();
        names
    };
    for name in names(trace.threads()) {
        builder.thread(&name);
    }
    for name in names(trace.objects()) {
        builder.object(&name);
    }
    for name in names(trace.locks()) {
        builder.lock(&name);
    }
    for name in trace.conds().iter() {
        builder.cond(name);
    }
    for name in trace.semaphores().iter() {
        let semaphore = builder.semaphore(name);
        builder.set_semaphore(semaphore, trace.semaphore_count(semaphore).expect("declared"));
    }
    for name in names(trace.locations()) {
        builder.location(&name);
    }
    let thread = |id: foretrace_trace::ThreadId| {
        foretrace_trace::ThreadId((trace.threads().len() - 1 - id.index()) as u32)
    };
    let lock = |id: foretrace_trace::LockId| {
        foretrace_trace::LockId((trace.locks().len() - 1 - id.index()) as u32)
    };
    let place = |at: Place| Place {
        object: foretrace_trace::ObjectId((trace.objects().len() - 1 - at.object.index()) as u32),
        ..at
    };
    for &(at, value) in trace.initial() {
        builder.set_initial(place(at), value);
    }
    for name in trace.names().iter() {
        builder.name(name);
    }
    for (old, event) in events {
        let op = match event.op {
            Op::Read { at, value, order } => Op::Read { at: place(at), value, order },
            Op::Write { at, value, order } => Op::Write { at: place(at), value, order },
            Op::Rmw { at, read, written, order } => Op::Rmw { at: place(at), read, written, order },
            Op::Acquire { lock: id, mode, patience } => {
                Op::Acquire { lock: lock(id), mode, patience }
            }
            Op::AcquireFailed { lock: id, mode, patience } => {
                Op::AcquireFailed { lock: lock(id), mode, patience }
            }
            Op::Release { lock: id, mode } => Op::Release { lock: lock(id), mode },
            Op::Wait { cond, lock: id, timed } => Op::Wait { cond, lock: lock(id), timed },
            Op::Wake { cond, lock: id, reason } => Op::Wake { cond, lock: lock(id), reason },
            Op::Fork { child } => Op::Fork { child: thread(child) },
            Op::Join { child } => Op::Join { child: thread(child) },
            other => other,
        };
        let location = event.location.map(|id| {
            foretrace_trace::LocationId((trace.locations().len() - 1 - id.index()) as u32)
        });
        let new = builder.push(Event { thread: thread(event.thread), op, location });
        if let Some(name) = trace.binding(old) {
            builder.bind(new, name);
        }
        if let Some(expression) = trace.expression(old) {
            builder.express(new, expression.tree());
        }
    }
    builder.finish()
}

/// A violation by the names of its threads and the positions in them, in an order that does not
/// depend on ids.
type Named = (String, Vec<(String, usize)>);

fn named(trace: &Trace, violation: &Violation) -> Named {
    let point = |&event: &EventId| {
        let thread = trace.name(trace.thread_of(event)).to_string();
        (thread, trace.position(event))
    };
    let (kind, mut points): (String, Vec<_>) = match violation {
        Violation::Race(a, b) => ("race".into(), [a, b].map(point).to_vec()),
        Violation::Atomicity { first, remote, second } => {
            ("atomicity".into(), [first, remote, second].map(point).to_vec())
        }
        Violation::LockCycle(events) => ("cycle".into(), events.iter().map(point).collect()),
        Violation::Stuck(event) => ("stuck".into(), vec![point(event)]),
        Violation::Assertion(event) => ("assertion".into(), vec![point(event)]),
        Violation::Lock(misuse, event) => (format!("{misuse:?}"), vec![point(event)]),
    };
    match violation {
        Violation::Race(..) => points.sort_unstable(),
        Violation::LockCycle(_) => {
            let least = (0..points.len()).min_by_key(|&at| points[at].clone());
            points.rotate_left(least.expect("a cycle has points"));
        }
        _ => {}
    }
    (kind, points)
}

#[test]
fn equivalent_runs_have_the_same_violations() {
    for_seeds(3000..3024, |seed, trace| {
        let other = shuffled(trace, &mut Random::new(seed ^ 0xabcd));
        foretrace_trace::validate::validate(&other).unwrap_or_else(|invalid| panic!("{invalid}"));
        for model in MODELS {
            let options = Options {
                model: Some(model),
                granularity: Granularity::Event,
                infer_regions: seed % 3 == 0,
                ..Options::default()
            };
            let all = |trace: &Trace| -> BTreeSet<Named> {
                let findings = decide(trace, &options).findings;
                findings.iter().map(|finding| named(trace, &finding.violation)).collect()
            };
            let (one, two) = (all(trace), all(&other));
            let only: Vec<_> = one.symmetric_difference(&two).collect();
            assert!(only.is_empty(), "{model:?}: in one of two equivalent runs: {only:?}");
        }
    });
}
