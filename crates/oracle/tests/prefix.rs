//! A trace that is cut off finds nothing that the whole one does not have, and what it has lost is
//! all that it does not find.

use std::collections::BTreeSet;

use foretrace_oracle::{Random, explore, generate};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{Model, Violation};

/// The violations of the prefix, by the events of the whole trace. If a thread has executed all its
/// events, its last one is the point; the whole trace names the one behind it.
fn in_whole(whole: &Trace, prefix: &Trace, violation: &Violation) -> Vec<Violation> {
    let same =
        |event: EventId| whole.thread_events(prefix.thread_of(event))[prefix.position(event)];
    let ends = |event: EventId| -> Vec<EventId> {
        let behind = whole.next(same(event)).filter(|_| prefix.next(event).is_none());
        [Some(same(event)), behind].into_iter().flatten().collect()
    };
    match violation {
        &Violation::Race(a, b) => vec![Violation::Race(same(a), same(b))],
        &Violation::Atomicity { first, remote, second } => {
            let (first, remote, second) = (same(first), same(remote), same(second));
            vec![Violation::Atomicity { first, remote, second }]
        }
        Violation::LockCycle(events) => {
            let mut all = vec![Vec::new()];
            for &event in events {
                let longer = |cycle: &Vec<EventId>| {
                    let cycle = cycle.clone();
                    ends(event).into_iter().map(move |end| [cycle.clone(), vec![end]].concat())
                };
                all = all.iter().flat_map(longer).collect();
            }
            all.iter_mut().for_each(|cycle| {
                let first = cycle.iter().enumerate().min_by_key(|(_, event)| **event);
                let first = first.map_or(0, |(at, _)| at);
                cycle.rotate_left(first);
            });
            all.into_iter().map(Violation::LockCycle).collect()
        }
        &Violation::Stuck(event) => ends(event).into_iter().map(Violation::Stuck).collect(),
        &Violation::Lock(misuse, event) => {
            ends(event).into_iter().map(|event| Violation::Lock(misuse, event)).collect()
        }
        &Violation::Assertion(event) => vec![Violation::Assertion(same(event))],
    }
}

#[test]
fn a_prefix_has_no_violation_of_its_own() {
    let mut random = Random::new(5);
    let (mut compared, mut kinds) = (0, BTreeSet::new());
    for seed in 0..3000 {
        let whole = generate(seed);
        let mut prefix = whole.clone();
        prefix.cut_to(random.below(whole.len().max(1)));
        validate(&prefix).unwrap();
        for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
            let (all, cut) = (explore(&whole, model, false), explore(&prefix, model, false));
            if !all.complete || !cut.complete {
                continue;
            }
            for violation in &cut.real {
                let known = in_whole(&whole, &prefix, violation);
                assert!(
                    known.iter().any(|known| all.violations.contains(known)),
                    "seed {seed}, {model:?}: {violation:?} of the first {} events\n{}",
                    prefix.len(),
                    foretrace_trace::text::print(&whole),
                );
                kinds.insert(format!("{:?}", violation.property()));
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared} violations of {kinds:?}");
}
