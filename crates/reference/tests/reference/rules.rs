//! Single rules of `docs/theory.md` that the litmus traces do not show: `symbolic`, assertions,
//! context switches; and what is unsupported.

use foretrace_reference::{Answer, Limits, Options, Unknown, decide, encode, smtlib};
use foretrace_trace::EventId;
use foretrace_verdict::{Model, Violation};
use foretrace_witness::{context_switches, reported_order};

use super::{at, fails, parse, races, schedule, solver};

#[test]
fn a_branch_keeps_its_way() {
    let input = "\
init x = 0
t1: write z = 1 @ t1.z
t1: write x = 1 atomic
t2: r = read x : 1 atomic
t2: branch r OPERATOR 1 : true
t2: write z = 2 @ t2.z
";
    // t2 comes to its write before t1 has stored x only if the branch does not mind the 0.
    let race = |operator: &str| {
        races(&input.replace("OPERATOR", operator), Model::Symbolic, "t1.z", "t2.z")
    };
    assert_eq!([race("=="), race("<=")], [false, true]);
}

#[test]
fn an_opaque_event_needs_what_was_read() {
    let input = "\
init x = 0
t1: write z = 1 @ t1.z
t1: write x = 1 atomic
t2: read x : 1 atomic
EVENT
t2: write z = 2 @ t2.z
";
    let race = |event: &str| races(&input.replace("EVENT", event), Model::Symbolic, "t1.z", "t2.z");
    assert!(race("t2: fence seq_cst"));
    assert!(race("t2: write w = 5"));
    for opaque in [
        "t2: external",
        "t2: write w : 5",
        "t2: write w",
        "t2: branch : true",
        "t2: rmw w : 0 -> 1",
    ] {
        assert!(!race(opaque), "{opaque}");
    }
    let unknown = format!("dependences unknown\n{}", input.replace("EVENT\n", ""));
    assert!(!races(&unknown, Model::Symbolic, "t1.z", "t2.z"));
}

#[test]
fn a_check_and_set_happens_only_when_it_may() {
    let input = "\
init l = 0
t1: a = rmw l : 0 -> 1 : 1 ASSUMING
t1: write x = 1 @ t1.x
t1: write l = 0 atomic
t2: b = rmw l : 0 -> 1 : 1 ASSUMED
t2: write x = 2 @ t2.x
t2: write l = 0 atomic
";
    let race = |a: &str, b: &str| {
        races(&input.replace("ASSUMING", a).replace("ASSUMED", b), Model::Symbolic, "t1.x", "t2.x")
    };
    assert!(!race("assuming a == 0", "assuming b == 0"));
    assert!(race("", ""));
}

#[test]
fn computed_values_travel_through_memory() {
    // y is 3 only if t2 doubles what t1 has stored and adds 1.
    let input = "\
init x = 0
init y = 0
t2: r = read x : 0 atomic
t1: write x = 1 atomic
t2: let d = r * 2
t2: let e = d + 1
t2: write y = e : 1 atomic
t3: s = read y : 1 atomic
t3: assert s != VALUE : true @ here
";
    let found = |value: &str, model| fails(&input.replace("VALUE", value), model);
    let values = ["0", "2", "3", "4"];
    assert_eq!(values.map(|value| found(value, Model::Symbolic)), [true, false, true, false]);
    // The assertion's own read is released, but what t2 has read is not.
    assert_eq!(values.map(|value| found(value, Model::Values)), [true, false, false, false]);
}

#[test]
fn bytes_of_different_writers_make_a_value() {
    let input = "\
init x[0:2] = 0
t1: write x[0:1] = 1 atomic
t2: write x[1:1] = 2 atomic
t3: r = read x[0:2] : 0x0201 atomic
t3: assert r == 0x0201 || r == VALUE : true @ here
";
    // 0, 1 and 0x200 are left.
    let found =
        ["0", "1", "0x200"].map(|value| fails(&input.replace("VALUE", value), Model::Symbolic));
    assert_eq!(found, [true, true, true]);
    let all = input.replace("r == VALUE", "r == 0 || r == 1 || r == 0x200");
    assert!(!fails(&all, Model::Symbolic));
}

#[test]
fn a_read_is_released_only_for_its_assertion() {
    let input = "\
init x = 0
t1: write x = 1 atomic
t2: r = read x : 1 atomic
BETWEEN
t2: assert r == 1 : true @ here
";
    let found = |between: &str| fails(&input.replace("BETWEEN", between), Model::Values);
    assert!(found("t2: fence seq_cst"));
    assert!(found("t2: let s = 5"));
    for event in [
        "t2: let s = r",
        "t2: branch r == 1 : true",
        "t2: external",
        "t2: write y = r : 1",
        "t2: write y : 1",
    ] {
        assert!(!found(event), "{event}");
    }
    assert!(!fails(
        &format!("dependences unknown\n{}", input.replace("BETWEEN\n", "")),
        Model::Values
    ));
}

#[test]
fn switches_are_those_of_the_reported_schedule() {
    // To be next at t2.y, t2 must have seen t1's flag; t1 is next at its own write then.
    let trace = parse(
        "\
init f = 0
t1: write f = 1 atomic
t1: write y = 1 @ t1.y
t2: read f : 1 atomic
t2: write y = 2 @ t2.y
",
    );
    let (a, b) = (at(&trace, "t1.y"), at(&trace, "t2.y"));
    let violation = Violation::Race(a, b);
    let with = |bound| {
        let options = Options { bound: Some(bound), ..Options::new(Model::Values) };
        schedule(&trace, &violation, &options)
    };
    // First t1 and then t2, whose write is next, and t1's write behind it.
    assert_eq!(with(1), None);
    let found = with(2).expect("two are enough");
    let reported = reported_order(&trace, &violation, &found);
    assert_eq!(context_switches(&trace, &reported), 2);
}

#[test]
fn what_is_not_supported_is_said() {
    let reason = |input: &str, model: Model, violation: Violation| match decide(
        &parse(input),
        model,
        &violation,
        &solver(),
        Limits::default(),
    ) {
        Answer::Unknown(Unknown::Unsupported(reason)) => reason.to_string(),
        answer => panic!("{answer:?}"),
    };
    let two = "t1: write x = 1 @ a\nt2: write x = 2 @ b\n";
    let race = || Violation::Race(EventId(0), EventId(1));
    assert_eq!(
        reason(two, Model::Control, race()),
        "the reference encoding does not support the model `control`"
    );
    assert_eq!(
        reason(&format!("{two}t1: signal c\n"), Model::Values, race()),
        "the reference encoding does not support condition variables (event 2)"
    );
    let stuck = Violation::Stuck(EventId(0));
    assert_eq!(
        reason(two, Model::Values, stuck),
        "the reference encoding does not support stuck states"
    );
}

#[test]
fn the_text_is_readable_and_always_the_same() {
    let trace = parse(
        "\
init x = 0
t1: write x = 1 @ a.c:1
t2: r = read x : 1 @ \"b\\nc:2\"
t2: branch r == 1 : true
t2: write y = r + 1 : 2
t1: write y = 5 @ a.c:3
",
    );
    let violation = Violation::Race(EventId(3), EventId(4));
    let formula = encode(&trace, &violation, &Options::new(Model::Symbolic)).unwrap();
    let mut text = Vec::new();
    smtlib::write(&formula, &mut text).unwrap();
    expect_test::expect![[r#"
        (set-option :produce-models true)
        (set-logic ALL)
        ; race of events 3 and 4, model symbolic
        ; X is the moment of the violation; O3 is the clock of event 3, which is included if it is before X
        (declare-const X Int)
        ; 0: t1: write x = 1 @ a.c:1
        (declare-const O0 Int)
        ; 1: t2: r = read x : 1 @ "b\nc:2"
        (declare-const O1 Int)
        (declare-const pi1 (_ BitVec 64))
        ; 2: t2: branch r == 1 : true
        (declare-const O2 Int)
        ; 3: t2: write y = r + 1 : 2
        (declare-const O3 Int)
        ; 4: t1: write y = 5 @ a.c:3
        (declare-const O4 Int)
        ; Phi_PO: program order, fork, join
        (assert (< O0 O4))
        (assert (< O1 O2))
        (assert (< O2 O3))
        ; barriers, calls, and the life of objects
        ; Phi_VD: what is named, and what is stored
        (define-fun x3 () (_ BitVec 64) (bvadd pi1 (_ bv1 64)))
        ; path conditions
        (define-fun g2 () Bool (= pi1 (_ bv1 64)))
        (assert (=> (< O2 X) g2))
        ; Phi_PI: each read sees the last write
        (assert (=> (< O1 X) (or (and (= pi1 (_ bv0 64)) (< O1 O0)) (and (= pi1 (_ bv1 64)) (< O0 O1)))))
        ; Phi_PRP: the violation
        (assert (and (< O2 X) (<= X O3) (< O0 X) (<= X O4)))
        (check-sat)
        (get-value (X O0 O1 O2 O3 O4 pi1))
    "#]].assert_eq(&String::from_utf8(text).unwrap());
}
