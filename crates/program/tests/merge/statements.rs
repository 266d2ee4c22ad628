//! What single statements become.

use expect_test::{Expect, expect};
use foretrace_program::explore::STATE_BUDGET;
use foretrace_program::run::Status;
use foretrace_program::{Machine, merge, print};
use foretrace_trace::Trace;

use super::{found, merged, trace};

/// The functions of the merged program.
fn becomes(texts: &[&str], expected: Expect) {
    let text = print(&merged(texts));
    let (_, functions) = text.split_once("\n\n").expect("declarations come first");
    let functions = functions.split("\n\nthread").next().unwrap_or(functions);
    expected.assert_eq(functions);
}

/// What is wrong with the merged program, by locations.
fn finds(texts: &[&str], expected: Expect) {
    let found = found(&merged(texts), STATE_BUDGET).expect("it is small");
    expected.assert_eq(&found.into_iter().collect::<Vec<_>>().join("; "));
}

pub(super) fn refused(texts: &[&str], expected: Expect) {
    let traces: Vec<Trace> = texts.iter().map(|text| trace(text)).collect();
    let error = merge(&traces.iter().collect::<Vec<_>>()).expect_err("it is refused");
    expected.assert_eq(&error.to_string());
}

/// A variable after the only execution of the merged program.
fn ends_with(text: &str, variable: &str) -> u64 {
    let program = merged(&[text]);
    let (state, _) = Machine::new(&program).run(|_| 0);
    assert!(state.thread_ids().all(|thread| state.status(thread) == Status::Finished), "{text}");
    state.value(program.find_global(variable).expect("it is there"))
}

/// What the trace says that the last event of this variable stored.
fn recorded(text: &str) -> u64 {
    let trace = trace(text);
    let stored = trace.accesses().filter_map(|(event, _)| trace.values(event).1);
    stored.last().expect("something is stored")
}

#[test]
fn every_operator_is_worth_the_same() {
    let values = [0, 1, 2, 63, 64, 255, 1 << 32, i64::MAX as u64, i64::MIN as u64, u64::MAX];
    let binary = "+ - * / % & | ^ << >> == != < <= > >= && ||".split(' ');
    let mut forms: Vec<String> = binary.map(|op| format!("p {op} q")).collect();
    forms.extend(
        ["-p", "~p", "!p", "!(p < q)", "p ? q : 7", "(p < q) + (p == q)"].map(str::to_string),
    );
    for form in forms {
        for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a as i64, *b as i64)))
        {
            let text = format!(
                "init a = {a}\ninit b = {b}\nt: p = read a : {a}\nt: q = read b : {b}\n\
                 t: let r = {form}\nt: write c = r\nt: branch {form}\nt: end\n"
            );
            assert_eq!(ends_with(&text, "c"), recorded(&text), "{text}");
        }
    }
}

#[test]
fn every_update_stores_the_same() {
    for form in [
        "r + 250",
        "250 + r",
        "r - 9",
        "r & q",
        "r | 64",
        "q ^ r",
        "300 + 0",
        "q",
        "q * 2",
        "r == 7 ? q + 1 : r",
        "8 == r ? 1 : r",
        "r == q ? r + 1 : r",
        "!r ? 5 : r",
    ] {
        for (x, q) in [(7, 7), (7, 8), (8, 255), (0, 0), (255, 1)] {
            let text = format!(
                "init x[0:1] = {x}\ninit y[0:1] = {q}\nt: q = read y[0:1] : {q}\n\
                 t: r = rmw x[0:1] : {x} -> {form}\nt: write z = r\nt: end\n"
            );
            let stored = trace(&text);
            let (event, _) = stored.accesses().nth(1).expect("the second one is the update");
            assert_eq!(Some(ends_with(&text, "x")), stored.values(event).1, "{text}");
            assert_eq!(ends_with(&text, "z"), x as u64, "{text}");
        }
    }
}

#[test]
fn a_compare_and_exchange_that_failed_in_one_run_is_one_statement() {
    let succeeds = "
init x[0:1] = 0
t: r = rmw x[0:1] : 0 -> r + 1 : 1 assuming r == 0 @ a
t: write y = 1 @ b
t: end";
    let fails = "
init x[0:1] = 0
u: write x[0:1] = 5 atomic @ d
t: r = read x[0:1] : 5 atomic @ a
t: branch r == 0 : false @ a
t: write y = 2 @ c
t: end
u: end";
    becomes(
        &[succeeds],
        expect![[r#"
        func t() {
          %0:
            %0 = u64(0) + 1 @ a
            %1 = u8(%0) @ a
            %2 = cmpxchg x, 0, %1 @ a
            r = u64(%2) @ a
            %4 = %2 == 0 @ a
            assume %4 @ a
            store y, 1 @ b
            return
        }"#]],
    );
    becomes(
        &[fails, succeeds],
        expect![[r#"
        func u() {
          %0:
            store atomic x, 5 @ d
            return
        }

        func t() {
          %0:
            %0 = u64(0) + 1 @ a
            %1 = u8(%0) @ a
            %2 = cmpxchg x, 0, %1 @ a
            r = u64(%2) @ a
            %4 = %2 == 0 @ a
            branch %4, %1, %2 @ a
          %1:
            store y, 1 @ b
            return
          %2:
            store y, 2 @ c
            return
        }"#]],
    );
    // Another comparison is another statement.
    refused(
        &[succeeds, &fails.replace("r == 0", "r == 1")],
        expect![
            "run 1, event 0 (a) and run 2, event 1 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &[&fails.replace("r == 0", "r == 1"), succeeds],
        expect![
            "run 1, event 1 (a) and run 2, event 0 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    // A read that saw what was expected is no exchange.
    let reads = "
init x[0:1] = 0
t: r = read x[0:1] : 0 atomic @ a
t: branch r == 0 : true @ a
t: end";
    refused(
        &[reads, succeeds],
        expect![
            "run 1, event 0 (a) and run 2, event 0 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &[fails, reads, succeeds],
        expect![
            "run 1, event 1 (a) and run 3, event 0 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
    refused(
        &[fails, succeeds, reads],
        expect![
            "run 2, event 0 (a) and run 3, event 0 (a): thread t goes on differently without a branch; these are not runs of one program"
        ],
    );
}

/// A read in a loop before the exchange, all in one line of the source, is not the exchange.
#[test]
fn where_no_run_exchanges_a_read_stays_a_read() {
    let text = "
init x[0:1] = 1
t: r = read x[0:1] : 1 atomic @ a
t: branch r == 0 : false @ a
u: write x[0:1] = 0 atomic @ b
u: end
t: r = read x[0:1] : 0 atomic @ a
t: branch r == 0 : true @ a
t: r = rmw x[0:1] : 0 -> 1 : 1 assuming r == 0 @ a
t: end";
    becomes(
        &[text],
        expect![[r#"
        func t() {
          %0:
            %0 = load atomic x @ a
            r = u64(%0) @ a
            %2 = r == 0 @ a
            %3 = %2 ^ 1 @ a
            assume %3 @ a
            %4 = load atomic x @ a
            %5 = u64(%4) @ a
            %6 = %5 == 0 @ a
            assume %6 @ a
            %7 = cmpxchg x, 0, 1 @ a
            %8 = u64(%7) @ a
            %9 = %7 == 0 @ a
            assume %9 @ a
            return
        }

        func u() {
          %0:
            store atomic x, 0 @ b
            return
        }"#]],
    );
}

#[test]
fn what_is_read_is_extended_and_what_is_stored_is_cut() {
    let text = "
init x[0:2] = 65535
t: r = read x[0:2] : 65535 @ a
t: write x[0:1] = r + 1 : 0 @ b
t: write x[2:4] = -1 atomic release @ c
t: fence seq_cst
t: region begin
t: region end
t: end";
    becomes(
        &[text],
        expect![[r#"
        func t() {
          %0:
            %0 = load x[0:2] @ a
            r = u64(%0) @ a
            %2 = r + 1 @ b
            %3 = u8(%2) @ b
            store x[0:1], %3 @ b
            store atomic release x[2:4], -1 @ c
            fence seq_cst
            region begin
            region end
            return
        }"#]],
    );
}

#[test]
fn a_way_that_no_run_went_is_not_known() {
    let text = "
init x = 0
t: r = read x : 0 @ a
t: branch r == 1 : false @ b
t: assert r != 1 : true @ c
t: end
u: write x = 1 @ d
u: end";
    finds(&[text], expect!["race a d"]);
}

#[test]
fn an_attempt_that_went_both_ways_goes_both_ways() {
    let got = "
t: tryacquire m : ok @ a
t: write x = 1 @ b
t: release m @ c
t: end";
    let gave_up = "
u: acquire m @ e
t: tryacquire m : fail @ a
t: write y = 1 @ d
t: end
u: release m @ f
u: end";
    becomes(
        &[got, gave_up],
        expect![[r#"
        func t() {
          %0:
            %0 = tryacquire m @ a
            branch %0, %1, %2 @ a
          %1:
            store x, 1 @ b
            release m @ c
            return
          %2:
            store y, 1 @ d
            return
        }

        func u() {
          %0:
            acquire m @ e
            release m @ f
            return
        }"#]],
    );
    becomes(
        &[got],
        expect![[r#"
        func t() {
          %0:
            %0 = tryacquire m @ a
            assume %0 @ a
            store x, 1 @ b
            release m @ c
            return
        }"#]],
    );
}

#[test]
fn an_opaque_event_is_known_for_what_was_read_in_a_run() {
    let first = "
init x = 0
t: read x : 0 @ a
t: write y : 5 @ b
t: branch : true @ c
t: end";
    let second = "
init x = 0
u: write x = 1 @ d
t: read x : 1 @ a
t: write y : 6 @ b
t: branch : false @ c
t: write z = 1 @ e
t: end
u: end";
    becomes(
        &[first, second],
        expect![[r#"
        func t() {
          %0:
            %0 = load x @ a
            %1 = %0 == 0
            branch %1, %1, %2
          %1:
            store y, 5 @ b
            return
          %2:
            %2 = %0 == 1
            assume %2
            store y, 6 @ b
            store z, 1 @ e
            return
        }

        func u() {
          %0:
            store x, 1 @ d
            return
        }"#]],
    );
}

#[test]
fn behind_the_last_event_of_a_thread_nothing_is_known() {
    // Nobody knows whether t has more to do before it ends.
    let unfinished = "
main: fork t
t: write x = 1 @ a";
    let finished = "
main: fork t
t: write x = 1 @ a
main: join t @ b
main: write x = 2 @ c";
    finds(&[unfinished], expect![""]);
    becomes(
        &[unfinished, finished],
        expect![[r#"
        func main() {
          %0:
            %0 = fork t()
            join %0 @ b
            store x, 2 @ c
            assume false
            return
        }

        func t() {
          %0:
            store x, 1 @ a
            return
        }"#]],
    );
}

#[test]
fn behind_what_did_not_hold_nothing_is_known() {
    let text = "
init x = 0
t: r = read x : 0
u: r = read x : 0
t: assert r == 1 : false @ a
t: write x = 1 @ b
t: end
u: assume r == 1 : false @ c
u: write x = 2 @ d
u: end";
    becomes(
        &[text],
        expect![[r#"
        func t() {
          %0:
            r = load x
            %1 = r == 1 @ a
            assert %1 @ a
            assume false
            return
        }

        func u() {
          %0:
            r = load x
            %1 = r == 1 @ c
            assume %1 @ c
            assume false
            return
        }"#]],
    );
}

#[test]
fn waits_and_barriers_are_one_instruction_each() {
    let timed_out = "
barrier b = 2
t: acquire m
t: acquire m
t: timedwait c m @ a
t: wake c m timeout
t: release m
t: release m
t: arrive b
u: arrive b
u: leave b
t: leave b
t: end";
    let notified = "
t: acquire m
t: acquire m
t: timedwait c m @ a
u: arrive b
v: signal c
t: wake c m
t: request acquire m
v: request semwait s";
    becomes(
        &[timed_out, notified],
        expect![[r#"
        func t() {
          %0:
            acquire m
            acquire m
            %0 = timedwait c m @ a
            branch %0, %1, %2 @ a
          %1:
            assume false
            return
          %2:
            release m
            release m
            barrier b
            return
        }

        func u() {
          %0:
            barrier b
            assume false
            return
        }

        func v() {
          %0:
            signal c
            assume false
            return
        }"#]],
    );
}

#[test]
fn a_thread_may_be_forked_on_each_way() {
    let run = |outcome: bool, seen: u64, location: &str| {
        format!(
            "init x = 0\nu: write x = 1\nmain: r = read x : {seen}\nmain: branch r == 1 : {outcome}\n\
             main: fork t @ {location}\nt: write y = 1 @ c\nt: end\nmain: join t @ d\nmain: end"
        )
    };
    // A run in which the write comes later, and one in which it comes first.
    let late = run(false, 0, "a").replace("u: write x = 1\n", "");
    becomes(
        &[&late, &run(true, 1, "b")],
        expect![[r#"
        func main() {
          %0:
            r = load x
            %1 = r == 1
            branch %1, %1, %2
          %1:
            %2 = fork t() @ b
            join %2 @ d
            return
          %2:
            %3 = fork t() @ a
            join %3 @ d
            return
        }

        func t() {
          %0:
            store y, 1 @ c
            return
        }

        func u() {
          %0:
            store x, 1
            assume false
            return
        }"#]],
    );
}

#[test]
fn a_lock_that_is_taken_again_after_a_wait_is_recursive() {
    let text = "
t: acquire m
t: wait c m
u: acquire m
u: signal c
u: release m
t: wake c m
t: acquire m
t: release m
t: release m
t: end";
    finds(&[text], expect![""]);
    assert!(merged(&[text]).locks[0].recursive);
    assert!(
        !merged(&["t: acquire m\nt: release m\nt: acquire m\nt: release m"]).locks[0].recursive
    );
}

#[test]
fn functions_and_variables_have_different_names() {
    let program = merged(&["t: write t = 1\nt: end\nt_: write t_ = 1\nt_: end"]);
    let names: Vec<&str> =
        program.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["t__", "t___"]);
}

#[test]
fn no_runs_are_no_program() {
    assert_eq!(merged(&[]), Default::default());
}
