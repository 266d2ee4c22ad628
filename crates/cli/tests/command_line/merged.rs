//! `foretrace predict` of several runs.

use expect_test::expect;

use super::Folder;

#[path = "../../../program/tests/merge/figure_11.rs"]
mod figure_11;

use figure_11::{ELSE_THEN, THEN_ELSE};

/// 000, Fig. 11: neither run alone can fail.
#[test]
fn two_runs_show_what_neither_shows() {
    let folder = Folder::new("merged");
    folder.file("first.trace", THEN_ELSE).file("second.trace", ELSE_THEN);
    folder.session(expect![[r#"
        $ predict first.trace --check assertion
        first.trace: 18 events, 3 threads, model symbolic
        verdict: no bug in any schedule of these events (checked: assertion; model symbolic)
        status: 0
        $ predict second.trace --check assertion
        second.trace: 18 events, 3 threads, model symbolic
        verdict: no bug in any schedule of these events (checked: assertion; model symbolic)
        status: 0
        $ predict first.trace second.trace --check assertion
        first.trace, second.trace: 2 runs merged into one program, 3 threads, 25 events

        assertion-1 (real): an assertion fails
          main  is about to assert p != q : false (p = 2, q = 2)  at t5  holding no lock
          schedule: 14 steps, 6 context switches
           step  main                                  foo             bar
              1  fork foo
              2                                        a = load y : 0                  t11
              3  fork bar
              4                                                        b = load x : 0  t21
              5                                        x: 0 → 1                        t13
              6                                        a = load x : 1                  t14
              7                                        x: 1 → 2                        t15
              8                                                        y: 0 → 1        t23
              9                                                        b = load y : 1  t24
             10                                                        y: 1 → 2        t25
               ⋮  main: 2 steps
             13  p = load x : 2                                                        t5
             14  q = load y : 2                                                        t5
           next* assert p != q : false (p = 2, q = 2)                                  t5

        verdict: 1 bug that can happen
        status: 1
        $ predict first.trace first.trace --check assertion
        first.trace, first.trace: 2 runs merged into one program, 3 threads, 23 events
        verdict: no bug in any mixture of these runs (checked: assertion)
        status: 0
    "#]]);
}

#[test]
fn runs_that_do_not_go_together() {
    let folder = Folder::new("merged-different");
    folder.file("first.trace", THEN_ELSE);
    folder.file("other.trace", &ELSE_THEN.replace("init x = 0", "init x = 5"));
    folder.session(expect![[r#"
        $ predict first.trace other.trace
        stderr: error: run 1 and run 2: byte 0 of x has other contents at the start; these are not runs of one program
        stderr: hint: runs are numbered in the order in which they are given
        status: 2
    "#]]);
    folder.file("program.ftp", "foretrace-program 1\n");
    folder.session(expect![[r#"
        $ predict first.trace program.ftp
        stderr: error: program.ftp is a program, not a run
        stderr: hint: give one program, or one or more recorded runs
        status: 2
        $ predict first.trace first.trace --model reads-from
        stderr: error: --model reads-from is not for merged runs
        stderr: hint: programs and merged runs support only the model symbolic
        status: 2
    "#]]);
}

#[test]
fn runs_that_do_not_say_enough() {
    let folder = Folder::new("merged-unsupported");
    folder.file("run.trace", "dependences unknown\nt: write x = 1\n");
    folder.session(expect![[r#"
        $ predict run.trace run.trace
        run.trace, run.trace: 2 runs merged into one program
        undecided: run 1: not supported: the trace does not record what depends on what was read
        verdict: nothing is decided
        status: 3
    "#]]);
}
