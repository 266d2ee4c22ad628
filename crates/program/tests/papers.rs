//! Examples of the papers, as programs, with everything that their executions can do.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use foretrace_program::explore::{STATE_BUDGET, replay};
use foretrace_program::run::{Action, Input, Status, Why};
use foretrace_program::*;

fn read(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}"));
    validate(&program).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(parse(&print(&program)).as_ref(), Ok(&program));
    program
}

/// The violations of a program, one on a line.
fn check(program: &Program, machine: &Machine, expected: Expect) {
    let explored = explore(machine, STATE_BUDGET);
    assert!(explored.complete);
    let mut lines = String::new();
    for (violation, steps) in &explored.violations {
        let (state, _) = replay(machine, steps).expect("the steps are possible");
        assert!(explore::violations(machine, &state).contains(violation));
        lines += &format!("{}\n", violation.describe(program));
    }
    expected.assert_eq(&lines);
}

const FIGURE_11: &str = include_str!("papers/000-figure-11.ftp");

/// 000, Fig. 11: only if both threads take their first arm, x = y = 2.
#[test]
fn paper_000_figure_11() {
    let program = read(FIGURE_11);
    let machine = Machine::new(&program);
    let explored = explore(&machine, STATE_BUDGET);
    let assertions: Vec<_> =
        explored.violations.keys().filter(|v| matches!(v, Violation::Assertion(_))).collect();
    assert_eq!(assertions.len(), 1);

    let (x, y) = (program.find_global("x").unwrap(), program.find_global("y").unwrap());
    let mut ends = BTreeSet::new();
    for execution in executions(&machine) {
        let arms: Vec<(&str, bool)> = execution
            .events
            .iter()
            .filter_map(|event| match event.action {
                Action::Branch { taken } => {
                    Some((execution.state.thread_name(event.thread), taken))
                }
                _ => None,
            })
            .collect();
        let arm = |thread: &str| arms.iter().find(|(name, _)| *name == thread).unwrap().1;
        let fails = execution.events.iter().any(|e| e.action == Action::Assert { holds: false });
        let (state, name) = (&execution.state, |taken| if taken { "then" } else { "else" });
        ends.insert(format!(
            "{}/{} x={} y={}{}",
            name(arm("main/t1")),
            name(arm("main/t2")),
            state.value(x),
            state.value(y),
            if fails { " fails" } else { "" }
        ));
    }
    let ends: Vec<String> = ends.into_iter().collect();
    expect![[r#"
        else/then x=0 y=2
        then/else x=2 y=0
        then/then x=2 y=2 fails"#]]
    .assert_eq(&ends.join("\n"));
}

/// 001, Fig. 1 with a = 1 and b = 0. Line 6 is a step of its own because `b` comes from outside.
#[test]
fn paper_001_figure_1() {
    let program = read(include_str!("papers/001-figure-1.ftp"));
    let machine = Machine::new(&program);
    check(
        &program,
        &machine,
        expect![[r#"
            assertion violated: foo: assert %5 @ 5
            race: foo: store y, %1 @ 1 | bar: store y, %2 @ 7
            race: foo: %2 = load y @ 2 | bar: store y, %2 @ 7
            race: foo: %4 = load y @ 5 | bar: store y, %2 @ 7
        "#]],
    );
    let mut feasible = Vec::new();
    let mut other = Vec::new();
    for execution in executions(&machine) {
        let lines: Vec<&str> = execution
            .steps
            .iter()
            .scan(machine.start().0, |state, &step| {
                let site = machine.next(state, step.thread).unwrap().site;
                machine.step(state, step).unwrap();
                program.location(site)
            })
            .collect();
        let fails = execution.state.thread_ids().any(|thread| {
            matches!(execution.state.status(thread),
                Status::Stopped(stop) if stop.why == Why::Assertion)
        });
        let shown = format!("{}{}", lines.join(" "), if fails { " fails" } else { "" });
        if lines.contains(&"3") { other.push(shown) } else { feasible.push(shown) }
    }
    feasible.sort();
    // The paper's traces but the infeasible sixth and ninth; the third, fifth and eighth fail.
    expect![[r#"
        1 2 5 6 7
        1 2 6 5 7
        1 2 6 7 5 fails
        1 6 2 5 7
        1 6 2 7 5 fails
        6 1 2 5 7
        6 1 2 7 5 fails
        6 7 1 2 5"#]]
    .assert_eq(&feasible.join("\n"));
    other.sort();
    // Where the paper's two infeasible ones go instead.
    expect![[r#"
        1 6 7 2 3
        6 1 7 2 3"#]]
    .assert_eq(&other.join("\n"));
}

/// The same with every value of `b`: line 9 is reached as well, and no other assertion fails.
#[test]
fn paper_001_figure_1_for_other_inputs() {
    let program = read(
        "
global y = 0
thread t1 = foo(1)
thread t2 = bar()
func foo(a: 32) {
  store y, a + 1
  if load y >= 2 { assert load y >= 2 }
}
func bar() {
  b := external b : 32
  if b >= 0 { store y, b + 1 } else { external complexB }
}",
    );
    let fails = |values: &'static [u64]| {
        let machine = Machine::new(&program).with_inputs(move |_: &Input| values.to_vec());
        let explored = explore(&machine, STATE_BUDGET);
        explored.violations.keys().any(|violation| matches!(violation, Violation::Assertion(_)))
    };
    assert!(fails(&[0]));
    assert!(!fails(&[1]));
    assert!(!fails(&[u32::MAX as u64]));
    assert!(fails(&[0, 1, u32::MAX as u64]));
}

/// 003, section 1.1, with as many additions as the paper has.
#[test]
fn paper_003_section_1_1() {
    let program = read(include_str!("papers/003-section-1-1.ftp"));
    let machine = Machine::new(&program);
    check(
        &program,
        &machine,
        expect![[r#"
            assertion violated: t2: assert %3 @ A
            race: t1: a0 = load x @ S1 | t2: store x, 0 @ S3
            race: t1: a0 = load x @ S1 | t2: store x, 5 @ S4
            race: t1: store x, a100 @ S2 | t2: store x, 0 @ S3
            race: t1: store x, a100 @ S2 | t2: store x, 5 @ S4
            race: t1: store x, a100 @ S2 | t2: v = load x @ A.read
        "#]],
    );
    let explored = explore(&machine, STATE_BUDGET);
    let violation = explored.violations.keys().find(|v| matches!(v, Violation::Assertion(_)));
    let (state, events) = replay(&machine, &explored.violations[violation.unwrap()]).unwrap();
    assert_eq!(state.value(program.find_global("x").unwrap()), 100);
    let accesses = events.iter().filter(|event| event.action.access().is_some());
    let order: Vec<&str> = accesses.filter_map(|event| program.location(event.site)).collect();
    expect!["S1 S3 S4 S2 A.read"].assert_eq(&order.join(" "));
}

/// 003, Fig. 1.
#[test]
fn paper_003_figure_1() {
    let program = read(include_str!("papers/003-figure-1.ftp"));
    let machine = Machine::new(&program);
    check(
        &program,
        &machine,
        expect![[r#"
            assertion violated: main: assert %3 @ error
            race: body: %0 = load x @ R1 | body: store x, %3 @ W2
            race: body: tmp = load x @ R2 | body: store x, %3 @ W2
            race: body: store x, %3 @ W2 | body: store x, %3 @ W2
        "#]],
    );
    let mut fails = BTreeSet::new();
    for execution in executions(&machine) {
        let access = |event: &run::Event| {
            let prime =
                if execution.state.thread_name(event.thread) == "main/t2" { "'" } else { "" };
            Some(format!("{}{prime}", program.location(event.site)?))
        };
        let is_access = |event: &&run::Event| event.action.access().is_some();
        let order: Vec<String> =
            execution.events.iter().filter(is_access).filter_map(access).collect();
        if execution.events.iter().any(|event| event.action == Action::Assert { holds: false }) {
            fails.insert(order.join(" "));
        }
    }
    assert!(fails.contains("W1 R1 R1' R2 W2 R2' W2' R4"));
    assert!(!fails.contains("W1 R1 R2 W2 R1' R3' W3' R4"));
}
