//! Small proofs as text, and a large trace.

use expect_test::{Expect, expect};
use foretrace_model::Skeleton;
use foretrace_trace::{
    Event, EventId, MemoryOrder, Mode, Op, Patience, Place, Trace, WakeReason, text,
};
use foretrace_verdict::{Fact, Model, Refutation, Violation};
use foretrace_witness::check_refutation;

use super::{Scope, derive};

/// A proof, with events by their numbers.
fn shown(refutation: Option<&Refutation>) -> String {
    let Some(refutation) = refutation else { return "none\n".to_string() };
    let line = |(number, step): (usize, &foretrace_verdict::ProofStep)| {
        let fact = match step.fact {
            Fact::Executed(event) => format!("X{}", event.0),
            Fact::NotExecuted(event) => format!("N{}", event.0),
            Fact::Before(first, second) => format!("{}<{}", first.0, second.0),
        };
        format!("{number}: {fact} {:?} {:?}\n", step.rule, step.premises)
    };
    let steps: String = refutation.steps.iter().enumerate().map(line).collect();
    format!("{steps}contradiction {:?}\n", refutation.contradiction)
}

fn check(text: &str, violation: &Violation, scope: Scope, expected: Expect) {
    let trace = text::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let skeleton = Skeleton::new(&trace, Model::Values);
    let refutation = derive(&skeleton, violation, scope);
    if let Some(refutation) = &refutation {
        assert_eq!(check_refutation(&trace, Model::Values, violation, refutation), Ok(()));
    }
    expected.assert_eq(&shown(refutation.as_ref()));
}

fn race(a: u32, b: u32) -> Violation {
    Violation::Race(EventId(a), EventId(b))
}

#[test]
fn a_common_lock_is_enough() {
    let trace = "\
a: acquire m
a: write x = 1
a: release m
b: acquire m
b: write x = 2
b: release m
";
    check(
        trace,
        &race(1, 4),
        Scope::Locks,
        expect![[r#"
        0: X0 Candidate []
        1: N1 Candidate []
        2: X3 Candidate []
        3: N4 Candidate []
        4: 5<0 LockOrder [1, 2]
        5: X5 Need [0, 4]
        contradiction (5, 3)
    "#]],
    );
    check(
        trace,
        &race(1, 4),
        Scope::Order,
        expect![[r#"
        none
    "#]],
    );
}

#[test]
fn a_gate_keeps_a_cycle_from_closing() {
    let trace = "\
a: acquire g
a: acquire m
a: acquire n
a: release n
a: release m
a: release g
b: acquire g
b: acquire n
b: acquire m
b: release m
b: release n
b: release g
";
    let cycle = Violation::LockCycle(vec![EventId(2), EventId(8)]);
    check(
        trace,
        &cycle,
        Scope::Locks,
        expect![[r#"
        0: X1 Candidate []
        1: N2 Candidate []
        2: X7 Candidate []
        3: N8 Candidate []
        4: 11<0 LockOrder [1, 2]
        5: X11 Need [0, 4]
        contradiction (5, 3)
    "#]],
    );
}

#[test]
fn two_notifications_share_what_comes_before() {
    let trace = "\
a: fork b
b: acquire m
b: wait c m
a: write x = 1
a: fork d
d: signal c
a: signal c
b: wake c m
b: write x = 2
b: release m
";
    check(
        trace,
        &race(3, 8),
        Scope::Order,
        expect![[r#"
        0: N3 Candidate []
        1: X7 Candidate []
        2: 4<5 Fork []
        3: N5 Never [0, 2]
        4: N7 Unnotified [0, 3]
        contradiction (1, 4)
    "#]],
    );
}

#[test]
fn two_waits_need_two_posts() {
    let trace = "\
semaphore s = 0
a: sempost s
b: semwait s
a: write x = 1
a: sempost s
b: semwait s
b: write x = 2
";
    check(
        trace,
        &race(2, 5),
        Scope::Order,
        expect![[r#"
        0: N2 Candidate []
        1: X4 Candidate []
        2: N4 Unposted [0]
        contradiction (1, 2)
    "#]],
    );
}

#[test]
fn a_flag_is_data() {
    let trace = "\
init f = 0
a: write x = 1
a: write f = 1
b: read f : 1
b: write x = 2
";
    check(
        trace,
        &race(0, 3),
        Scope::Synchronisation,
        expect![[r#"
        none
    "#]],
    );
    check(
        trace,
        &race(0, 3),
        Scope::All,
        expect![[r#"
        0: N0 Candidate []
        1: X2 Candidate []
        2: 1<2 Written []
        3: X1 Need [1, 2]
        contradiction (3, 0)
    "#]],
    );
}

/// Threads that hand a token round, each by its condition variable, with locks about.
fn ring(threads: usize, rounds: usize) -> Trace {
    let mut builder = Trace::builder();
    let ids: Vec<_> = (0..threads).map(|t| builder.thread(&format!("t{t}"))).collect();
    let conds: Vec<_> = (0..threads).map(|t| builder.cond(&format!("c{t}"))).collect();
    let locks: Vec<_> = (0..threads).map(|t| builder.lock(&format!("m{t}"))).collect();
    let shared = builder.lock("shared by all");
    let at = Place { object: builder.object("x"), offset: 0, size: 4 };
    let mut push =
        |thread: usize, op| builder.push(Event { thread: ids[thread], op, location: None });
    let (mode, patience) = (Mode::Exclusive, Patience::Blocking);
    let write = Op::Write { at, value: Some(1), order: MemoryOrder::Plain };
    for t in 1..threads {
        push(t, Op::Acquire { lock: locks[t], mode, patience });
        push(t, Op::Wait { cond: conds[t], lock: locks[t], timed: false });
    }
    for round in 0..rounds {
        let (t, next) = (round % threads, (round + 1) % threads);
        if round >= 1 {
            push(t, Op::Wake { cond: conds[t], lock: locks[t], reason: WakeReason::Notified });
            push(t, Op::Release { lock: locks[t], mode });
        }
        push(t, Op::Acquire { lock: shared, mode, patience });
        push(t, Op::Release { lock: shared, mode });
        push(t, write);
        push(t, Op::Acquire { lock: locks[next], mode, patience });
        push(t, Op::Signal { cond: conds[next] });
        push(t, Op::Release { lock: locks[next], mode });
        push(t, Op::Acquire { lock: locks[t], mode, patience });
        push(t, Op::Wait { cond: conds[t], lock: locks[t], timed: false });
    }
    builder.finish()
}

/// What can have woken a thread late in the run rests on everything before: each earlier
/// notification has to be excluded.
#[test]
fn ten_thousand_events() {
    let trace = ring(8, 1_250);
    let skeleton = Skeleton::new(&trace, Model::Values);
    let writes: Vec<EventId> = trace.accesses().map(|(event, _)| event).collect();
    let last = writes.len() - 1;
    for (a, b, most) in [(0, last, 3), (last - 1, last, 200)] {
        let violation = Violation::Race(writes[a], writes[b]);
        let refutation = derive(&skeleton, &violation, Scope::All).expect("there is a proof");
        assert_eq!(check_refutation(&trace, Model::Values, &violation, &refutation), Ok(()));
        assert!(refutation.steps.len() <= most, "{}", refutation.steps.len());
        assert_eq!(derive(&skeleton, &violation, Scope::Locks), None);
    }
}
