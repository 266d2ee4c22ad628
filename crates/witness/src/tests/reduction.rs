//! The reduction on random witnesses.

use foretrace_trace::{EventId, Trace};
use foretrace_verdict::{LockMisuse, Model, Violation};
use std::collections::BTreeMap;

use foretrace_testing::Random;

use super::random::random_trace;
use super::{feasible, lines, next_of_each, schedule, trace};
use crate::checker::{CheckOptions, Checker};
use crate::ending::Ending;
use crate::needs::needed_part;
use crate::reduce::reduce;
use crate::reported::{context_switches, reported_order};
use crate::runs::with_merged_runs;
use crate::switches::with_few_switches;

/// All that might be wrong at the end of a schedule; most of it is not.
pub(super) fn candidates(trace: &Trace, schedule: &[EventId]) -> Vec<Violation> {
    let next = next_of_each(trace, schedule);
    let last = trace.thread_ids().filter_map(|thread| trace.thread_events(thread).last().copied());
    let points: Vec<EventId> =
        next.iter().copied().chain(last.filter(|last| schedule.contains(last))).collect();
    let mut found = Vec::new();
    for &a in &next {
        found.push(Violation::Assertion(a));
        found.extend(next.iter().filter(|&&b| a < b).map(|&b| Violation::Race(a, b)));
        let earlier =
            schedule.iter().filter(|&&first| trace.thread_of(first) == trace.thread_of(a));
        for &first in earlier {
            let others = schedule.iter().filter(|&&r| trace.thread_of(r) != trace.thread_of(a));
            found.extend(others.map(|&remote| Violation::Atomicity { first, remote, second: a }));
        }
    }
    for &a in &points {
        found.extend(points.iter().filter(|&&b| a < b).map(|&b| Violation::LockCycle(vec![a, b])));
        found.push(Violation::Stuck(a));
        for misuse in [
            LockMisuse::DoubleLock,
            LockMisuse::UnlockNotHeld,
            LockMisuse::UnlockByOther,
            LockMisuse::DestroyHeld,
        ] {
            found.push(Violation::Lock(misuse, a));
        }
    }
    found
}

/// A feasible schedule made by chance.
pub(super) fn random_walk(checker: &Checker, random: &mut Random) -> Vec<EventId> {
    let mut schedule = Vec::new();
    let length = random.below_u64(checker.trace().len() as u64 + 1);
    while (schedule.len() as u64) < length {
        let mut next = next_of_each(checker.trace(), &schedule);
        next.retain(|&event| {
            let mut longer = schedule.clone();
            longer.push(event);
            feasible(checker, &longer).is_ok()
        });
        if next.is_empty() {
            break;
        }
        schedule.push(next[random.below_u64(next.len() as u64) as usize]);
    }
    schedule
}

fn switches(checker: &Checker, violation: &Violation, schedule: &[EventId]) -> usize {
    context_switches(checker.trace(), &reported_order(checker.trace(), violation, schedule))
}

/// Reduces and checks all that is promised.
pub(super) fn check_reduction(
    checker: &Checker,
    violation: &Violation,
    given: &[EventId],
) -> Vec<EventId> {
    let certainty = checker.check(violation, given).unwrap();
    let (_, ending) = checker.replay(violation, given, Ending::of).unwrap();
    let part = needed_part(checker, violation, given, &ending);
    assert_eq!(checker.check(violation, &part).err(), None, "{violation:?} {given:?} {part:?}");
    let reordered = with_few_switches(checker, violation, given);
    assert_eq!(checker.check(violation, &reordered).err(), None, "{violation:?} {reordered:?}");
    let merged = with_merged_runs(checker, violation, given);
    assert_eq!(checker.check(violation, &merged).err(), None, "{violation:?} {given:?} {merged:?}");
    let (reduced, said) = reduce(checker, violation, given.to_vec()).expect("it is a witness");
    let why = |what| format!("{what}: {violation:?} {given:?} {reduced:?}");
    assert_eq!(checker.check(violation, &reduced).ok(), Some(said), "{}", why("refused"));
    assert!(said <= certainty, "{}", why("less certain"));
    assert!(reduced.len() <= given.len(), "{}", why("longer"));
    let (before, after) =
        (switches(checker, violation, given), switches(checker, violation, &reduced));
    assert!(after <= before, "{}", why("more switches"));
    for thread in checker.trace().thread_ids() {
        let mut shorter = reduced.clone();
        let last = shorter.iter().rposition(|&e| checker.trace().thread_of(e) == thread);
        if let Some(last) = last {
            shorter.remove(last);
            assert!(checker.check(violation, &shorter).is_err(), "{}", why("not needed"));
        }
    }
    reduced
}

#[test]
fn reductions_of_random_witnesses_are_accepted_and_smaller() {
    let mut found: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let length = 12 + 4 * (seed as usize % 10);
        let trace = random_trace(&mut random, length);
        let model = Model::ALL[seed as usize / 2 % 4];
        let checker = Checker::new(&trace, model, CheckOptions { infer_regions: seed % 2 == 0 });
        let recorded: Vec<EventId> = (0..trace.len()).map(EventId::from).collect();
        feasible(&checker, &recorded).unwrap_or_else(|r| panic!("seed {seed}: {r}"));
        for _ in 0..4 {
            let given = random_walk(&checker, &mut random);
            for violation in candidates(&trace, &given) {
                if checker.check(&violation, &given).is_ok() {
                    let reduced = check_reduction(&checker, &violation, &given);
                    let kind = format!("{violation:?}");
                    let kind = kind.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
                    let [count, before, after] = found.entry(kind.to_string()).or_default();
                    *count += 1;
                    *before += given.len();
                    *after += reduced.len();
                }
            }
        }
    }
    for kind in ["Race", "Atomicity", "LockCycle", "Stuck", "Lock"] {
        assert!(found.get(kind).is_some_and(|found| found[0] > 5), "{found:?}");
    }
    let [_, before, after] = found["Race"];
    assert!(after < before, "{found:?}");
}

#[test]
fn only_what_leads_to_the_race_stays() {
    let text = lines(
        "a: acquire m; a: write x = 1; a: release m; b: acquire m; b: read x : 1; b: release m; \
         c: external; c: acquire m; c: release m; b: write y = 1; c: write y = 2; a: external",
    );
    let trace = trace(&text);
    let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
    let race = Violation::Race(EventId(9), EventId(10));
    let reduced = check_reduction(&checker, &race, &schedule("6 0 1 2 11 3 4 5 7 8"));
    assert_eq!(reduced.len(), 9);
    assert_eq!(switches(&checker, &race, &reduced), 3);
}

#[test]
fn interleaved_threads_are_run_one_after_the_other() {
    let text = lines(
        "a: external; b: external; a: external; b: external; a: external; b: external; \
         a: write x = 1; b: write x = 2",
    );
    let trace = trace(&text);
    let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
    let race = Violation::Race(EventId(6), EventId(7));
    let reduced = check_reduction(&checker, &race, &schedule("0 1 2 3 4 5"));
    assert_eq!(reported_order(&trace, &race, &reduced), schedule("1 3 5 0 2 4 6 7"));
}

/// Rounds in which three threads take turns; b waits for a in every hundredth, c concerns nobody.
fn in_turns(rounds: usize) -> String {
    let mut text = String::new();
    for round in 0..rounds {
        text += "a: acquire m\na: write x\na: release m\nb: external\nc: write z\n";
        if round % 100 == 0 {
            text += "b: acquire m\nb: read x\nb: release m\n";
        }
    }
    text + "a: write y\nb: write y\n"
}

#[test]
fn runs_of_a_long_schedule_are_merged() {
    let trace = trace(&in_turns(1200));
    let checker = Checker::new(&trace, Model::ReadsFrom, CheckOptions::default());
    let [a, b] = [2, 1].map(|back| EventId::from(trace.len() - back));
    let race = Violation::Race(a, b);
    let given: Vec<EventId> = (0..trace.len() - 2).map(EventId::from).collect();
    let (reduced, _) = reduce(&checker, &race, given.clone()).expect("it is a witness");
    assert!(checker.check(&race, &reduced).is_ok());
    assert_eq!(given.len() - reduced.len(), 1200, "nobody needs c");
    assert_eq!(switches(&checker, &race, &given), 3613);
    assert_eq!(switches(&checker, &race, &reduced), 25);
    assert_eq!(reduce(&checker, &race, reduced.clone()).expect("it is a witness").0, reduced);
}

#[test]
fn the_thread_that_ran_last_goes_on_if_it_can() {
    let text = lines(
        "a: acquire m; a: release m; b: acquire n; b: acquire m; c: write x = 1; a: write x = 2; \
         b: write x = 3",
    );
    let trace = trace(&text);
    let order = |violation: Violation, numbers| {
        let reported = reported_order(&trace, &violation, &schedule(numbers));
        reported[schedule(numbers).len()..].iter().map(|event| event.0).collect::<Vec<u32>>()
    };
    let race = |a, b| Violation::Race(EventId(a), EventId(b));
    assert_eq!(order(race(4, 5), "0 1"), [5, 4]);
    assert_eq!(order(race(4, 5), "0 1 2"), [4, 5]);
    assert_eq!(order(race(4, 5), ""), [4, 5]);
    let cycle = |events: &[u32]| Violation::LockCycle(events.iter().map(|&e| EventId(e)).collect());
    assert_eq!(order(cycle(&[1, 3, 4]), "0 2"), [3, 1, 4]);
    assert_eq!(order(cycle(&[1, 3, 4]), "2 0 1"), [3, 4]);
    assert_eq!(order(Violation::Assertion(EventId(5)), "0 1"), [5]);
}

#[test]
fn a_schedule_that_is_no_witness_is_refuted() {
    let trace = trace("a: write x = 1\nb: write x = 2");
    let checker = Checker::new(&trace, Model::Values, CheckOptions::default());
    let race = Violation::Race(EventId(0), EventId(1));
    assert!(reduce(&checker, &race, schedule("0 0")).is_err());
}
