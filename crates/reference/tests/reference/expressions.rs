//! Expressions mean in the formula what they mean in a trace: each operator, at the corners,
//! against the value that the parser computes.

use foretrace_reference::Options;
use foretrace_verdict::{Model, Violation};

use super::{at, parse, schedule};

const CORNERS: [i64; 8] = [0, 1, -1, 7, -8, 63, 64, i64::MIN];
const OPERATORS: [&str; 25] = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "&&",
    "||", "<u", "<=u", ">u", ">=u", "/u", "%u", ">>u",
];
/// Of a.
const CASTS: [&str; 6] = ["u1", "s1", "u8", "s7", "s32", "u63"];

/// An assertion that all these expressions of a and b have the values that they have in a trace
/// cannot fail.
fn check(a: i64, b: i64) {
    let mut input =
        format!("init a = {a}\ninit b = {b}\nt2: a = read a : {a}\nt2: b = read b : {b}\n");
    let mut conditions = Vec::new();
    let operations = OPERATORS.map(|operator| format!("(a {operator} b)"));
    let casts = CASTS.map(|cast| format!("{cast}(a)"));
    for operation in operations.into_iter().chain(casts).chain(["s8(u8(3) - u32(a))".to_owned()]) {
        let trace = parse(&format!("{input}t2: let c = {operation}\nt2: write d = c\n"));
        let (_, value) = trace.accesses().last().map(|(event, _)| trace.values(event)).unwrap();
        conditions.push(format!("{operation} == {}", value.unwrap() as i64));
    }
    for (unary, value) in [("-", a.wrapping_neg()), ("!", i64::from(a == 0)), ("~", !a)] {
        conditions.push(format!("({unary}a) == {value}"));
    }
    conditions.push(format!("(a ? b : 3) == {}", if a != 0 { b } else { 3 }));
    let all = conditions.join(" && ");
    input.push_str(&format!("t2: assert {all} : true @ here\n"));
    let trace = parse(&input);
    let violation = Violation::Assertion(at(&trace, "here"));
    let options = Options::new(Model::Symbolic);
    assert_eq!(schedule(&trace, &violation, &options), None, "{input}");
}

#[test]
fn operators_have_our_values_at_the_corners() {
    for a in CORNERS {
        for b in CORNERS {
            check(a, b);
        }
    }
}

/// The corners are not vacuous: a wrong value is found.
#[test]
fn a_wrong_value_is_found() {
    let trace = parse(
        "init a = -7\nt1: a = read a : -7\nt2: b = read a : -7\nt1: assert a / 0 == 1 : false @ here\n",
    );
    let violation = Violation::Assertion(at(&trace, "here"));
    assert!(schedule(&trace, &violation, &Options::new(Model::Symbolic)).is_some());
}

#[test]
fn small_reads_are_extended_by_zeros_and_stores_are_cut() {
    let trace = parse(
        "\
init a[0:1] = 0xff
t1: a = read a[0:1] : 0xff
t1: assert a == 255 && a > 0 : true
t1: write b[0:2] = a * 0x1001 : 0xf0ff
t1: b = read b[0:2] : 0xf0ff
t1: assert b == 0xf0ff : true @ here
",
    );
    let violation = Violation::Assertion(at(&trace, "here"));
    assert_eq!(schedule(&trace, &violation, &Options::new(Model::Symbolic)), None);
}
