//! Where the paper's match of a wake with the notification that woke it is too strong: another one
//! may wake the waiter, or the schedule ends before.

use foretrace_causality::Scope;
use foretrace_oracle::explore;
use foretrace_trace::text;
use foretrace_verdict::{Model, Violation};

use crate::papers::at;
use crate::refuting;

/// The race between the locations `x` and `y` is feasible, and refuted only if each wake has its
/// recorded notification.
fn check_only_published(trace: &str) {
    let trace = text::parse(trace).expect("it is a trace");
    let (a, b) = (at(&trace, "x"), at(&trace, "y"));
    let race = Violation::Race(a.min(b), a.max(b));
    assert!(explore(&trace, Model::Values, false).violations.contains(&race), "it is infeasible");
    assert_eq!(refuting(&trace, &race), [Scope::Published]);
}

#[test]
fn another_thread_may_notify() {
    // d's signal may wake a before b comes to x.
    check_only_published(
        "\
a: acquire m
a: wait c m
b: write z = 1 @ x
b: signal c
a: wake c m
a: release m
a: write z = 2 @ y
d: signal c
",
    );
}

#[test]
fn a_later_notification_of_the_same_thread_may_do() {
    // a has p at y, so b was through with it before a took it; b's first signal was lost then, and
    // its second wakes a.
    check_only_published(
        "\
a: acquire p
a: acquire m
a: wait c m
b: signal c
a: wake c m
a: release m
a: write z = 2 @ y
a: release p
b: acquire p
b: release p
b: signal c
b: write z = 1 @ x
",
    );
}

#[test]
fn a_broadcast_may_come_before_the_signal() {
    check_only_published(
        "\
a: acquire m
a: wait c m
b: write z = 1 @ x
b: signal c
a: wake c m
a: release m
a: write z = 2 @ y
d: acquire m
d: broadcast c
d: release m
",
    );
}

#[test]
fn a_signal_that_wakes_nobody_is_not_behind_the_wait() {
    // The schedule ends before the wake, so nothing says that the signal comes after the wait.
    check_only_published(
        "\
a: write z = 1 @ x
a: acquire m
a: wait c m
b: acquire m
b: signal c
b: release m
b: write z = 2 @ y
a: wake c m
a: release m
",
    );
}
