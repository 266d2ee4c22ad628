//! `foretrace predict --solver`. These tests ask z3, and fail without it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use expect_test::{Expect, expect};

use super::{Folder, SMALL, example, says};

fn need_z3() {
    let found = Command::new("z3").arg("--version").output();
    assert!(found.is_ok(), "these tests need z3: apt-get install z3");
}

#[test]
fn z3_decides() {
    need_z3();
    let folder = Folder::new("solver");
    folder.file("assertion.trace", &example("assertion.trace")).file("small.trace", SMALL);
    let of_z3 = says(folder.command("predict assertion.trace --solver").arg("z3 -in"));
    let ours = says(&mut folder.command("predict assertion.trace"));
    let (findings, rest) = of_z3.split_once("not checked").unwrap();
    assert!(ours.starts_with(findings), "{of_z3}");
    expect![[r#"
        : atomicity: the trace marks no atomic regions
        not checked: deadlock: --solver does not decide it
        not checked: lock: --solver does not decide it
        verdict: 1 bug that can happen (not checked: atomicity, deadlock, lock)
        status: 1
    "#]]
    .assert_eq(rest);
    folder.session(expect![[r#"
        $ predict small.trace --solver z3 --check race --context-bound 0
        small.trace: 4 events, 2 threads, model symbolic
        verdict: no bug in any schedule of these events with at most 0 context switches (checked: race; model symbolic)
        status: 0
        $ predict small.trace --solver z3 --check race
        small.trace: 4 events, 2 threads, model symbolic

        race-1 (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding m from a.c:1
          t2  is about to read x       at a.c:9  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  acquire m                 a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:9

        verdict: 1 bug that can happen
        status: 1
    "#]]);
}

#[test]
fn regions_and_jobs() {
    need_z3();
    let folder = Folder::new("solver-regions");
    folder.file(
        "regions.trace",
        "\
a: region begin
a: acquire m
a: read x : 0 @ a.c:1
a: release m
a: acquire m
a: write x : 1 @ a.c:2
a: release m
a: region end
b: acquire m
b: write x : 5 @ a.c:7
b: release m
b: assert : true @ a.c:8
",
    );
    folder.session(expect![[r#"
        $ predict regions.trace --solver z3 --check race,atomicity,assertion --jobs 1
        regions.trace: 12 events, 2 threads, model values

        atomicity-1 (real): atomicity violation on x
          a  did read x : 0           at a.c:1  holding m
          b  did write x : 5          at a.c:7  holding m
          a  is about to write x : 1  at a.c:2  holding m
          schedule: 8 steps, 2 context switches
           step  a             b
              1  region begin
              2  acquire m
              3* read x : 0                  a.c:1
              4  release m
              5                acquire m
              6*               x: 0 → 5      a.c:7
              7                release m
              8  acquire m
           next* write x : 1                 a.c:2

        not checked: assertion: 1 whose condition is not recorded, and which held in the recorded run
        verdict: 1 bug that can happen (not checked: assertion)
        status: 1
    "#]]);
    let output = |jobs: &str| {
        let command = format!("predict regions.trace --solver z3 --json - --jobs {jobs}");
        folder.command(&command).output().unwrap().stdout
    };
    assert_eq!(output("1"), output("3"));
}

/// A program that is said to be a solver.
fn pretended(test: &str, script: &str, budget: &str, expected: Expect) {
    let folder = Folder::new(&format!("solver-{test}"));
    folder.file("small.trace", SMALL).file("solver", &format!("#!/bin/sh\n{script}\n"));
    let path = folder.0.join("solver");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("predict small.trace --check race --budget {budget} --solver ./solver");
    folder.check(&command, expected);
}

#[test]
fn solvers_that_give_no_answer() {
    pretended(
        "unknown",
        "cat > /dev/null; echo unknown",
        "60s",
        expect![[r#"
            small.trace: 4 events, 2 threads, model symbolic

            undecided: 1 candidate (race): ./solver answered `unknown`: it has given up; try another solver
            verdict: 1 undecided
            status: 3
        "#]],
    );
    pretended(
        "slow",
        "exec sleep 60",
        "300ms",
        expect![[r#"
            small.trace: 4 events, 2 threads, model symbolic

            undecided: 1 candidate (race): ./solver gave no answer in 0.3 s: allow it more time, or ask for less (fewer events, a smaller bound)
            verdict: 1 undecided
            status: 3
        "#]],
    );
    pretended(
        "crash",
        "kill -SEGV $$",
        "60s",
        expect![[r#"
            small.trace: 4 events, 2 threads, model symbolic

            undecided: 1 candidate (race): ./solver was ended by signal 11 before it answered: it has crashed, or was out of memory
            verdict: 1 undecided
            status: 3
        "#]],
    );
    pretended(
        "silent",
        "cat > /dev/null",
        "60s",
        expect![[r#"
            small.trace: 4 events, 2 threads, model symbolic

            undecided: 1 candidate (race): ./solver ended without an answer, with status 0: does it read SMT-LIB 2 from its standard input (z3 needs -in)?
            verdict: 1 undecided
            status: 3
        "#]],
    );
    let folder = Folder::new("solver-missing");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ predict small.trace --check race --solver no-such-solver
        small.trace: 4 events, 2 threads, model symbolic

        undecided: 1 candidate (race): no-such-solver was not found: see that it is installed and in the PATH, or name another solver with --solver
        verdict: 1 undecided
        status: 3
    "#]]);
}

/// A solution that is none does not become a finding.
#[test]
fn a_solver_that_lies() {
    let values = "(X 100) (O0 1) (O1 2) (O2 3) (O3 4) (pi3 #x0000000000000007)";
    let script = format!("cat > /dev/null; echo sat; echo '({values})'");
    pretended(
        "lies",
        &script,
        "60s",
        expect![[r#"
            stderr: error: the solver's schedule for a.c:2, a.c:9 is none: at the end: event 1: its thread is elsewhere
            stderr: This is a bug in foretrace 0.1.0, not in your program.
            stderr: Please report it with the trace and the command line; no verdict of this run counts.
            status: 70
        "#]],
    );
}

#[test]
fn options_that_do_not_go_with_it() {
    let folder = Folder::new("solver-options");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ predict small.trace --solver z3 --model control
        stderr: error: --model control cannot be used with --solver
        stderr: hint: it has no formula
        status: 2
        $ predict small.trace --solver z3 --compare-models
        stderr: error: --compare-models cannot be used with --solver
        stderr: hint: name one model with --model
        status: 2
        $ predict small.trace --solver z3 --iterate-bound
        stderr: error: --iterate-bound cannot be used with --solver
        stderr: hint: give a bound with --context-bound
        status: 2
        $ predict small.trace --solver z3 --check deadlock
        stderr: error: --solver decides races, atomicity violations and assertions only
        stderr: hint: --check race,atomicity,assertion
        status: 2
    "#]]);
    let empty = says(folder.command("predict small.trace --solver").arg(" "));
    expect![[r#"
        stderr: error: the command of the solver is empty: name one, such as `z3 -in` or `cvc5`
        status: 2
    "#]]
    .assert_eq(&empty);
}
