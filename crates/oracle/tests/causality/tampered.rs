//! Proofs that forget something: derived from a trace in which a little is missing or different,
//! held against the true one, in which the violation is feasible. The checker refuses them all.

use std::collections::BTreeMap;

use foretrace_causality::{Scope, derive};
use foretrace_model::Skeleton;
use foretrace_oracle::{case_seed, explore, generate};
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Trace, text};
use foretrace_verdict::{Model, Violation};
use foretrace_witness::{RefutationChecker, RefutationError};

const CASES: u64 = 2_000;
const SEED: u64 = 40;

#[test]
fn proofs_of_another_trace_are_refused() {
    let mut refused: BTreeMap<&'static str, u64> = BTreeMap::new();
    for case in 0..CASES {
        let seed = case_seed(SEED, case);
        let trace = generate(seed);
        let variants = variants(&trace);
        for model in [Model::Values, Model::Symbolic, Model::Control] {
            let explored = explore(&trace, model, true);
            let checker = RefutationChecker::new(&trace, model);
            for Variant { trace: variant, changed, kind } in &variants {
                let skeleton = Skeleton::new(variant, model);
                for violation in &explored.violations {
                    if changed.is_some_and(|changed| points(violation).contains(&changed)) {
                        continue;
                    }
                    let Some(refutation) = derive(&skeleton, violation, Scope::All) else {
                        continue;
                    };
                    let checked = checker.check(violation, &refutation);
                    let is_refused = matches!(checked, Err(RefutationError::Step { .. }));
                    assert!(
                        is_refused,
                        "seed {seed}: {checked:?}, {violation:?}\n{}",
                        text::print(&trace)
                    );
                    *refused.entry(kind).or_default() += 1;
                }
            }
        }
    }
    println!("refused: {refused:?}");
    assert!(["lock", "notification", "write"].iter().all(|kind| refused[kind] > 20), "{refused:?}");
}

/// A trace that is nearly another one, with the same events in the same threads.
struct Variant {
    trace: Trace,
    /// The event that is not the same.
    changed: Option<EventId>,
    kind: &'static str,
}

/// All valid traces that come from leaving out a notification, a post or a write, and from making
/// locks exclusive, one out of two, or counts lower.
fn variants(trace: &Trace) -> Vec<Variant> {
    let printed = text::print(trace);
    let mut all = Vec::new();
    let mut add = |text: String, changed, kind| {
        if let Ok(variant) = text::parse(&text)
            && variant.len() == trace.len()
            && text != printed
            && validate(&variant).is_ok()
        {
            all.push(Variant { trace: variant, changed, kind });
        }
    };
    let lines: Vec<&str> = printed.lines().collect();
    let is_event =
        |line: &&str| line.split_once(": ").is_some_and(|(thread, _)| !thread.contains(' '));
    let events = lines.iter().enumerate().filter(|(_, line)| is_event(line));
    for (event, (at, line)) in events.enumerate() {
        let (thread, op) = line.split_once(": ").expect("it is an event");
        let kind = match op.split_whitespace().next() {
            Some("signal" | "broadcast") => "notification",
            Some("sempost") => "post",
            Some("write") => "write",
            _ => continue,
        };
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines[at] = format!("{thread}: fence plain");
        add(lines.join("\n"), Some(EventId::from(event)), kind);
    }
    for lock in trace.locks().iter() {
        add(printed.replace(&format!(" shared {lock}"), &format!(" {lock}")), None, "mode");
    }
    add(printed.replace(" m1", " m0"), None, "lock");
    for count in 1..4 {
        let fewer = |line: &&str| match line.strip_prefix("semaphore ") {
            Some(_) => line.replace(&format!("= {count}"), &format!("= {}", count - 1)),
            None => line.to_string(),
        };
        add(lines.iter().map(fewer).collect::<Vec<_>>().join("\n"), None, "count");
    }
    all
}

fn points(violation: &Violation) -> Vec<EventId> {
    match *violation {
        Violation::Race(a, b) => vec![a, b],
        Violation::Atomicity { first, remote, second } => vec![first, remote, second],
        Violation::LockCycle(ref cycle) => cycle.clone(),
        Violation::Stuck(at) | Violation::Lock(_, at) | Violation::Assertion(at) => vec![at],
    }
}
