//! Whole reports of findings that are given, not found.

use super::*;
use expect_test::{Expect, expect};
use foretrace_report::{Style, write_text};
use foretrace_trace::text;
use foretrace_verdict::{Certainty, Ledger, LockMisuse};

fn check(trace: &str, violation: Violation, schedule: &[u32], expected: Expect) {
    let trace = text::parse(trace).unwrap();
    let mut prediction = Prediction::new(Model::Values);
    let ledger = Ledger { candidates: 1, violated: 1, ..Ledger::default() };
    prediction.ledgers.push((violation.property(), ledger));
    let schedule = schedule.iter().copied().map(EventId).collect();
    prediction.findings.push(Finding::new(&trace, violation, schedule, Certainty::Real));
    let mut bytes = Vec::new();
    let report = report_trace(&trace, prediction, Frame::new(&Options::default()));
    write_text(&report, Style::default(), &mut bytes).unwrap();
    expected.assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn a_stuck_state_shows_where_all_threads_are() {
    let trace = "\
main: fork a
main: fork b
a: acquire m @ a.c:1
a: wait c m @ a.c:2
b: acquire m @ a.c:5
b: signal c @ a.c:6
b: release m
b: end
a: wake c m @ a.c:2
a: release m
a: end
main: join a @ a.c:9
main: end
";
    check(
        trace,
        Violation::Stuck(EventId(8)),
        &[0, 1, 4, 5, 6, 7, 2, 3],
        expect![[r#"
            trace: 13 events, 3 threads, model values

            stuck-1 (real): deadlock: no thread can continue, and one waits for c
              a     waits for c      at a.c:2  holding no lock
              main  waits to join a  at a.c:9  holding no lock
              schedule: 8 steps, 2 context switches
               step  main             a                b
                  1  fork a
                  2  fork b
                  3                                    acquire m        a.c:5
                  4                                    signal c         a.c:6
                  5                                    release m
                  6                                    end
                  7                   acquire m                         a.c:1
                  8                   wait c m                          a.c:2
               next*                  waits for c                       a.c:2
               next* waits to join a                                    a.c:9

            verdict: 1 bug that can happen
        "#]],
    );
}

#[test]
fn a_foreign_release_is_counted_along_the_schedule() {
    // In the recorded run b gives back what a took, so that a can take it again.
    let trace = "\
a: acquire m @ a.c:1
b: release m @ a.c:5
a: acquire m @ a.c:2
";
    check(
        trace,
        Violation::Lock(LockMisuse::DoubleLock, EventId(2)),
        &[0],
        expect![[r#"
            trace: 3 events, 2 threads, model values

            double-lock-1 (real): m is locked again by its holder
              a  is about to acquire m  at a.c:2  holding m from a.c:1
              schedule: 1 step, 0 context switches
               step  a
                  1  acquire m  a.c:1
               next* acquire m  a.c:2

            verdict: 1 bug that can happen
        "#]],
    );
}

#[test]
fn an_atomicity_violation_has_three_sides() {
    let trace = "\
a: region begin
a: read x : 0 @ a.c:1
a: write x : 1 @ a.c:2
a: region end
b: write x : 5 @ a.c:7
";
    let [first, remote, second] = [1, 4, 2].map(EventId);
    check(
        trace,
        Violation::Atomicity { first, remote, second },
        &[0, 1, 4],
        expect![[r#"
            trace: 5 events, 2 threads, model values

            atomicity-1 (real): atomicity violation on x
              a  did read x : 0           at a.c:1  holding no lock
              b  did write x : 5          at a.c:7  holding no lock
              a  is about to write x : 1  at a.c:2  holding no lock
              schedule: 3 steps, 2 context switches
               step  a             b
                  1  region begin
                  2* read x : 0                  a.c:1
                  3*               x: 0 → 5      a.c:7
               next* write x : 1                 a.c:2

            verdict: 1 bug that can happen
        "#]],
    );
}
