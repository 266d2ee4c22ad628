//! Tests as pairs of literals: a trace in text form, whose events are numbered from 0 by their
//! lines, and a proof in one line: facts like `X3`, `N3` and `3<4`, each with its rule and the
//! numbers of its premises, and at the end the two that contradict each other.

use expect_test::{Expect, expect};
use foretrace_trace::{EventId, text};
use foretrace_verdict::{Fact, Model, ProofStep, Refutation, Rule, Violation};

use super::{RefutationError, Why, check_refutation};

const RULES: [Rule; 23] = [
    Rule::Candidate,
    Rule::Program,
    Rule::Chain,
    Rule::Need,
    Rule::Never,
    Rule::Cycle,
    Rule::Fork,
    Rule::Join,
    Rule::Barrier,
    Rule::Open,
    Rule::Alloc,
    Rule::Call,
    Rule::LockAfter,
    Rule::LockInside,
    Rule::LockOrder,
    Rule::Unnotified,
    Rule::Notified,
    Rule::Matched,
    Rule::Unposted,
    Rule::Posted,
    Rule::Unexplained,
    Rule::Written,
    Rule::Published,
];

fn event(number: &str) -> EventId {
    EventId(number.parse().expect("the number of an event"))
}

fn proof(line: &str) -> Refutation {
    let fact = |word: &str| match word.split_once('<') {
        Some((first, second)) => Fact::Before(event(first), event(second)),
        None if word.starts_with('X') => Fact::Executed(event(&word[1..])),
        None => Fact::NotExecuted(event(&word[1..])),
    };
    let numbers = |words: &[&str]| -> Vec<u32> {
        words.iter().map(|word| word.parse().expect("the number of a step")).collect()
    };
    let (steps, end) = line.rsplit_once(';').expect("it ends in a contradiction");
    let step = |step: &str| {
        let words: Vec<&str> = step.split_whitespace().collect();
        let rule = RULES.into_iter().find(|rule| format!("{rule:?}") == words[1]);
        ProofStep {
            fact: fact(words[0]),
            rule: rule.expect("a rule"),
            premises: numbers(&words[2..]),
        }
    };
    let end = numbers(&end.split_whitespace().collect::<Vec<_>>());
    Refutation { steps: steps.split(';').map(step).collect(), contradiction: (end[0], end[1]) }
}

fn verdict_under(model: Model, trace: &str, violation: &Violation, line: &str) -> String {
    let trace = text::parse(trace).unwrap_or_else(|error| panic!("{error}\n{trace}"));
    match check_refutation(&trace, model, violation, &proof(line)) {
        Ok(()) => "proven".to_string(),
        Err(error) => error.to_string(),
    }
}

fn race(a: u32, b: u32) -> Violation {
    Violation::Race(EventId(a), EventId(b))
}

/// The verdict on the race of these two events under `values`.
fn check(trace: &str, (a, b): (u32, u32), line: &str, expected: Expect) {
    expected.assert_eq(&verdict_under(Model::Values, trace, &race(a, b), line));
}

const GUARDED: &str = "\
a: acquire m
a: write x = 1
a: release m
b: acquire m
b: write x = 2
b: release m
";

#[test]
fn a_common_lock() {
    let check = |line: &str, expected| check(GUARDED, (1, 4), line, expected);
    let proof = "X0 Candidate; N4 Candidate; 2<3 LockOrder 0 1; N1 Candidate; N3 Never 2 3; X3 Candidate; 5 4";
    check(proof, expect!["proven"]);
    // The premises are needed, and come first.
    let without = proof.replace("LockOrder 0 1", "LockOrder 0");
    check(&without, expect!["step 2 (LockOrder): the premises do not give what the rule needs"]);
    let without = proof.replace("LockOrder 0 1", "LockOrder 1");
    check(&without, expect!["step 2 (LockOrder): the premises do not give what the rule needs"]);
    let cyclic = proof.replace("LockOrder 0 1", "LockOrder 0 2");
    check(&cyclic, expect!["step 2 (LockOrder): a premise is not an earlier step"]);
    let late = proof.replace("LockOrder 0 1", "LockOrder 0 4");
    check(&late, expect!["step 2 (LockOrder): a premise is not an earlier step"]);
    // Other rules do not give it, nor this one another order.
    for other in ["LockAfter", "LockInside", "Open", "Chain", "Program"] {
        let error =
            verdict_under(Model::Values, GUARDED, &race(1, 4), &proof.replace("LockOrder", other));
        assert!(error.starts_with("step 2"), "{error}");
    }
    let unsound = proof.replace("LockOrder", "Published");
    check(&unsound, expect!["step 2 (Published): the rule is not sound"]);
    let reversed = proof.replace("2<3", "5<0");
    check(&reversed, expect!["step 2 (LockOrder): the premises do not give what the rule needs"]);
    let itself = proof.replace("2<3", "2<0");
    check(&itself, expect!["step 2 (LockOrder): the holds do not exclude each other"]);
    let no_hold = proof.replace("2<3", "1<3");
    check(&no_hold, expect!["step 2 (LockOrder): the rule says nothing of these events"]);
    // What contradicts what.
    check(&proof.replace("5 4", "0 4"), expect!["the steps 0 and 4 do not contradict each other"]);
    check(&proof.replace("5 4", "4 5"), expect!["the steps 4 and 5 do not contradict each other"]);
    check(&proof.replace("5 4", "5 9"), expect!["the steps 5 and 9 do not contradict each other"]);
    check(
        &proof.replace("X3 C", "X9 C"),
        expect!["step 5 (Candidate): the trace has no such event"],
    );
}

#[test]
fn readers_do_not_exclude_each_other() {
    let shared =
        GUARDED.replace("acquire m", "acquire shared m").replace("release m", "release shared m");
    let proof = "X0 Candidate; N4 Candidate; 2<3 LockOrder 0 1; 2 2";
    check(
        &shared,
        (1, 4),
        proof,
        expect!["step 2 (LockOrder): the holds do not exclude each other"],
    );
    let other =
        GUARDED.replace("b: acquire m", "b: acquire n").replace("b: release m", "b: release n");
    check(
        &other,
        (1, 4),
        proof,
        expect!["step 2 (LockOrder): the holds do not exclude each other"],
    );
}

#[test]
fn a_candidate_says_no_more_than_it_does() {
    let check = |line: &str, expected| check(GUARDED, (1, 4), &format!("{line}; 0 0"), expected);
    let nothing = || expect!["step 0 (Candidate): the rule says nothing of these events"];
    check("X1 Candidate", nothing());
    check("X2 Candidate", nothing());
    check("N0 Candidate", nothing());
    check("0<3 Candidate", nothing());
    // What follows by program order may be said at once.
    check("N5 Candidate", expect!["the steps 0 and 0 do not contradict each other"]);
    let error = verdict_under(Model::Values, GUARDED, &race(0, 4), "X1 Candidate; 0 0");
    assert_eq!(error, RefutationError::Malformed("a race is between accesses").to_string());
}

#[test]
fn where_a_thread_waits_at_its_last_event_it_has_executed_it() {
    let trace = "a: acquire m\na: request acquire n\nb: acquire n\nb: acquire m\nb: release m\n";
    let cycle = Violation::LockCycle(vec![EventId(1), EventId(3)]);
    let verdict = |line| verdict_under(Model::Values, trace, &cycle, line);
    expect!["step 0 (Candidate): the rule says nothing of these events"]
        .assert_eq(&verdict("N1 Candidate; 0 0"));
    expect!["the steps 0 and 0 do not contradict each other"]
        .assert_eq(&verdict("X1 Candidate; 0 0"));
    expect!["step 0 (Candidate): the rule says nothing of these events"]
        .assert_eq(&verdict("X3 Candidate; 0 0"));
}

#[test]
fn forks_and_joins() {
    let trace = "\
a: fork b
b: write x = 1
a: join b
a: write x = 2
";
    let check = |line: &str, expected| check(trace, (1, 3), line, expected);
    check("1<2 Join; X2 Candidate; X1 Need 0 1; N1 Candidate; 2 3", expect!["proven"]);
    check(
        "X2 Candidate; X1 Need 0; N1 Candidate; 1 2",
        expect!["step 1 (Need): the premises do not give what the rule needs"],
    );
    check("3<1 Join; 0 0", expect!["step 0 (Join): the rule says nothing of these events"]);
    check(
        "0<1 Fork; 2<1 Fork; 0 0",
        expect!["step 1 (Fork): the rule says nothing of these events"],
    );
    check("0<1 Program; 0 0", expect!["step 0 (Program): the rule says nothing of these events"]);
    check(
        "0<3 Program; 3<0 Program; 0 0",
        expect!["step 1 (Program): the rule says nothing of these events"],
    );
    // An order behind another one begins where that ends, or later.
    check(
        "0<1 Fork; 1<2 Join; 0<3 Chain 0 1; 0 0",
        expect!["the steps 0 and 0 do not contradict each other"],
    );
    check(
        "0<1 Fork; 1<2 Join; 0<3 Chain 1 0; 0 0",
        expect!["step 2 (Chain): the premises do not give what the rule needs"],
    );
    check(
        "0<1 Fork; 1<2 Join; 3<2 Chain 0 1; 0 0",
        expect!["step 2 (Chain): the premises do not give what the rule needs"],
    );
    check(
        "0<1 Fork; N1 Cycle 0; 0 0",
        expect!["step 1 (Cycle): the premises do not give what the rule needs"],
    );
    check(
        "N1 Candidate; 0<1 Fork; N0 Never 0 1; 0 0",
        expect!["step 2 (Never): the premises do not give what the rule needs"],
    );
}

const WAITING: &str = "\
a: acquire m
a: wait c m
b: write x = 1
b: signal c
a: wake c m
a: release m
a: write x = 2
d: signal c
";

#[test]
fn every_notification_counts() {
    // One more than the proof knows of.
    let proof = "3<4 Notified; X5 Candidate; X3 Need 0 1; N2 Candidate; 2 3";
    check(WAITING, (2, 6), proof, expect!["step 0 (Notified): event 7 is not accounted for"]);
    let alone = WAITING.replace("d: signal c\n", "");
    check(&alone, (2, 6), proof, expect!["proven"]);
    let elsewhere = WAITING.replace("d: signal c\n", "d: signal e\n");
    check(&elsewhere, (2, 6), proof, expect!["proven"]);
    // An exclusion has to be given.
    let proof = "N3 Candidate; N4 Unnotified 0; 0 1";
    check(WAITING, (2, 6), proof, expect!["step 1 (Unnotified): event 7 is not accounted for"]);
    let matched = "X5 Candidate; 1<3 Matched 0; 0 0";
    check(WAITING, (2, 6), matched, expect!["step 1 (Matched): event 7 is not accounted for"]);
    let matched = "X5 Candidate; 1<3 Matched; 0 0";
    check(
        &alone,
        (2, 6),
        matched,
        expect!["step 1 (Matched): the premises do not give what the rule needs"],
    );
    let proof = "N2 Candidate; N4 Unnotified 0; X5 Candidate; 2 1";
    check(&alone, (2, 6), proof, expect!["proven"]);
    // A wake that nothing has to notify.
    let spurious = alone.replace("wake c m", "wake c m spurious");
    check(
        &spurious,
        (2, 6),
        proof,
        expect!["step 1 (Unnotified): the rule says nothing of these events"],
    );
}

const POSTED: &str = "\
semaphore s = 0
a: write x = 1
a: sempost s
b: semwait s
b: write x = 2
d: sempost s
";

#[test]
fn every_post_counts() {
    let proof = "1<2 Posted; X2 Candidate; X1 Need 0 1; N0 Candidate; 2 3";
    check(POSTED, (0, 3), proof, expect!["step 0 (Posted): there may be enough posts"]);
    let alone = POSTED.replace("d: sempost s\n", "");
    check(&alone, (0, 3), proof, expect!["proven"]);
    let counted = alone.replace("s = 0", "s = 1");
    check(&counted, (0, 3), proof, expect!["step 0 (Posted): there may be enough posts"]);
    let proof = "N0 Candidate; N2 Unposted 0; X2 Candidate; 2 1";
    check(&alone, (0, 3), proof, expect!["proven"]);
    check(POSTED, (0, 3), proof, expect!["step 1 (Unposted): there may be enough posts"]);
    let proof = "N2 Unposted; X2 Candidate; 1 0";
    check(&alone, (0, 3), proof, expect!["step 0 (Unposted): there may be enough posts"]);
}

#[test]
fn rounds_of_a_barrier() {
    let trace = "\
barrier g = 2
a: arrive g
b: write x = 1
b: arrive g
b: leave g
a: leave g
a: write x = 2
a: arrive g
";
    let proof = "2<4 Barrier; X4 Candidate; X2 Need 0 1; N1 Candidate; 2 3";
    check(trace, (1, 5), proof, expect!["proven"]);
    let backwards = proof.replace("2<4", "4<2");
    check(
        trace,
        (1, 5),
        &backwards,
        expect!["step 0 (Barrier): the rule says nothing of these events"],
    );
    let beside = proof.replace("2<4", "2<0");
    check(
        trace,
        (1, 5),
        &beside,
        expect!["step 0 (Barrier): the rule says nothing of these events"],
    );
    let next = "2<6 Barrier; 6<2 Barrier; 0 0";
    check(trace, (1, 5), next, expect!["step 1 (Barrier): the rule says nothing of these events"]);
}

#[test]
fn a_hold_that_is_never_closed() {
    let trace = "a: acquire m\na: write x = 1\na: release m\nb: acquire m\nb: write x = 2\n";
    // b has the lock to the end, so a gives it back before.
    let proof = "X3 Candidate; N0 LockOrder 0; N1 Candidate; X0 Candidate; 3 1";
    check(
        trace,
        (1, 4),
        proof,
        expect!["step 1 (LockOrder): the premises do not give what the rule needs"],
    );
    let proof = "X3 Candidate; N1 Candidate; N0 LockOrder 0 1; X0 Candidate; 3 2";
    check(trace, (1, 4), proof, expect!["proven"]);
}

#[test]
fn allocs_and_frees() {
    let trace = "\
a: alloc p size 4 at 64
a: free p
b: alloc q size 4 at 64
b: write q = 1
c: write q = 2
";
    let check = |line: &str, expected| check(trace, (3, 4), &format!("{line}; 0 0"), expected);
    let fine = || expect!["the steps 0 and 0 do not contradict each other"];
    check("1<2 Alloc; 2<4 Alloc; X2 Candidate", fine());
    check("0<4 Alloc", expect!["step 0 (Alloc): the rule says nothing of these events"]);
    check("1<4 Alloc", expect!["step 0 (Alloc): the rule says nothing of these events"]);
    check("N1 Candidate", expect!["step 0 (Candidate): the rule says nothing of these events"]);
}

#[test]
fn calls_keep_their_order() {
    let trace = "\
a: write x = 1
a: enter-call p
a: leave-call
b: enter-call p q
b: leave-call
c: enter-call q
c: leave-call
c: write x = 2
b: enter-call >log
b: leave-call
c: enter-call >log
c: leave-call
";
    let check = |line: &str, expected| check(trace, (0, 7), line, expected);
    let nothing = || expect!["step 0 (Call): the rule says nothing of these events"];
    check("1<6 Call; X6 Candidate; X1 Need 0 1; N0 Candidate; 2 3", expect!["proven"]);
    check("1<4 Call; 0 0", expect!["the steps 0 and 0 do not contradict each other"]);
    for wrong in ["5<4 Call; 0 0", "1<3 Call; 0 0", "2<6 Call; 0 0", "8<11 Call; 0 0"] {
        check(wrong, nothing());
    }
    check(
        "X6 Candidate; 1<6 Call 0; 0 0",
        expect!["step 1 (Call): the premises do not give what the rule needs"],
    );
}

const HANDED: &str = "\
init x = 0
a: write y = 1
a: write x = 1
b: read x : 1
b: write y = 2
c: write x = 2
";

#[test]
fn every_write_counts() {
    let proof = "1<2 Written; X2 Candidate; X1 Need 0 1; N0 Candidate; 2 3";
    let verdict = |model, trace: &str| verdict_under(model, trace, &race(0, 3), proof);
    expect!["proven"].assert_eq(&verdict(Model::Values, HANDED));
    let also = HANDED.replace("c: write x = 2", "c: write x = 1");
    expect!["step 0 (Written): event 4 is not accounted for"]
        .assert_eq(&verdict(Model::Values, &also));
    expect!["proven"].assert_eq(&verdict(Model::ReadsFrom, &also));
    let initially = HANDED.replace("init x = 0", "init x = 1");
    expect!["step 0 (Written): the rule says nothing of these events"]
        .assert_eq(&verdict(Model::Values, &initially));
    for model in [Model::Symbolic, Model::Control] {
        expect!["step 0 (Written): the rule is not for this model, violation or read"]
            .assert_eq(&verdict(model, HANDED));
    }
    let wrong = proof.replace("1<2", "4<2");
    expect!["step 0 (Written): the rule says nothing of these events"].assert_eq(&verdict_under(
        Model::Values,
        HANDED,
        &race(0, 3),
        &wrong,
    ));
}

#[test]
fn what_a_remote_read_sees_is_free() {
    let trace = "\
init x = 0
a: region begin
a: write x = 1
b: read x : 1
a: write x = 2
";
    let remote = Violation::Atomicity { first: EventId(1), remote: EventId(2), second: EventId(3) };
    let verdict = |line| verdict_under(Model::Values, trace, &remote, line);
    expect!["step 0 (Written): the rule is not for this model, violation or read"]
        .assert_eq(&verdict("1<2 Written; 0 0"));
    expect!["the steps 0 and 0 do not contradict each other"]
        .assert_eq(&verdict("1<2 Candidate; 0 0"));
}

#[test]
fn reads_that_nothing_recorded_explains() {
    let trace = "\
init x = 0
a: write x = 1
b: read x : 7
b: write x = 2
";
    let proof = "0<1 Unexplained; X1 Candidate; X0 Need 0 1; N0 Candidate; 2 3";
    let verdict = |model| verdict_under(model, trace, &race(0, 2), proof);
    for model in [Model::ReadsFrom, Model::Values, Model::Symbolic] {
        expect!["proven"].assert_eq(&verdict(model));
    }
    expect!["step 0 (Unexplained): the rule is not for this model, violation or read"]
        .assert_eq(&verdict(Model::Control));
}

#[test]
fn premises_are_refused_where_none_belong() {
    let line = "X0 Candidate; N1 Candidate 0; 0 1";
    let trace = text::parse(GUARDED).expect("it is a trace");
    let error = check_refutation(&trace, Model::Values, &race(1, 4), &proof(line));
    let why = Why::Premises;
    assert_eq!(error, Err(RefutationError::Step { step: 1, rule: Rule::Candidate, why }));
}
