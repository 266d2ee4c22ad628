//! The pairs of accesses that are asked about.

use std::collections::{BTreeMap, BTreeSet};

use foretrace_trace::open;
use foretrace_trace::{Access, EventId, LockId, ObjectId, Op, Trace};

use crate::Outcome;

/// Prints the conflicting pairs of different threads that hold no lock in common: lines
/// `FIRST SECOND`.
pub(crate) fn list(file: &str) -> Outcome {
    let trace = open(file)?.trace;
    let held = held(&trace);
    let mut objects: BTreeMap<ObjectId, Vec<(EventId, Access)>> = BTreeMap::new();
    for (event, access) in trace.accesses() {
        objects.entry(access.at.object).or_default().push((event, access));
    }
    let mut pairs: Vec<(EventId, EventId)> = Vec::new();
    for accesses in objects.values() {
        for (at, &(b, second)) in accesses.iter().enumerate() {
            let meet = |&&(a, first): &&(EventId, Access)| {
                trace.thread_of(a) != trace.thread_of(b)
                    && first.conflicts(&second)
                    && !(first.atomic && second.atomic)
                    && held[a.index()].is_disjoint(&held[b.index()])
            };
            pairs.extend(accesses[..at].iter().filter(meet).map(|&(a, _)| (a, b)));
        }
    }
    pairs.sort_unstable();
    for (a, b) in pairs {
        println!("{} {}", a.0, b.0);
    }
    Ok(())
}

/// The locks that each event's thread has then, in whatever mode.
fn held(trace: &Trace) -> Vec<BTreeSet<LockId>> {
    let mut now: Vec<BTreeSet<LockId>> = vec![BTreeSet::new(); trace.threads().len()];
    let mut held = Vec::with_capacity(trace.len());
    for event in (0..trace.len()).map(EventId::from) {
        let own = &mut now[trace.thread_of(event).index()];
        match trace.op(event) {
            Op::Acquire { lock, .. } => _ = own.insert(lock),
            Op::Release { lock, .. } => _ = own.remove(&lock),
            _ => {}
        }
        held.push(own.clone());
    }
    held
}
