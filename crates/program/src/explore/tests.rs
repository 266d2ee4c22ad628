//! Every violation of small programs, and how many executions there are.

use expect_test::{Expect, expect};

use super::*;
use crate::text::parse;

fn check(text: &str, expected: Expect) {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    crate::validate::validate(&program).unwrap_or_else(|invalid| panic!("{invalid}"));
    let explored = explore(&Machine::new(&program), STATE_BUDGET);
    assert!(explored.complete);
    let shown: Vec<String> = explored.violations.keys().map(|v| v.describe(&program)).collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn races() {
    check(
        "global x; thread a { store x, 1 }\nthread b { load x }",
        expect!["race: a: store x, 1 | b: %0 = load x"],
    );
    check("global x; thread a { load x }\nthread b { load x }", expect![[r#""#]]);
    check(
        "global x; thread a { store atomic x, 1 }\nthread b { load atomic relaxed x }",
        expect![[r#""#]],
    );
    check(
        "global x; thread a { store atomic x, 1 }\nthread b { load x }",
        expect!["race: a: store atomic x, 1 | b: %0 = load x"],
    );
    check("global x; thread a { store x[0:2], 1 }\nthread b { load x[2:2] }", expect![[r#""#]]);
    check(
        "global x; thread a { store x[0:2], 1 }\nthread b { load x[1:2] }",
        expect!["race: a: store x[0:2], 1 | b: %0 = load x[1:2]"],
    );
    check("global x = 1; thread a { cmpxchg x, 0, 2 }\nthread b { load x }", expect![[r#""#]]);
    check(
        "global x = 1; thread a { cmpxchg x, 1, 2 }\nthread b { load x }",
        expect!["race: a: cmpxchg x, 1, 2 | b: %0 = load x"],
    );
    check(
        "global x; lock m; thread a { acquire m; store x, 1; release m }\nthread b { acquire m; load x; release m }",
        expect![[r#""#]],
    );
    check(
        "global x; thread a { t = fork b(); store x, 1; join t; load x }\nfunc b() { store x, 2 }",
        expect!["race: a: store x, 1 | b: store x, 2"],
    );
    check(
        "global p : 8; thread a { s = slot 4; store p, s; t = fork b(); load.4 s; join t }
func b() { store.4 (load p), 2 }",
        expect!["race: a: %2 = load.4 s | b: store.4 %0, 2"],
    );
}

#[test]
fn deadlocks() {
    let order =
        "lock m; lock n; thread a { acquire m; acquire n; release n; release m }\nthread b ";
    check(
        &format!("{order} {{ acquire n; acquire m; release m; release n }}"),
        expect!["deadlock: a: acquire n | b: acquire m"],
    );
    check(
        &format!("{order} {{ acquire n; k = tryacquire m }}"),
        expect![[r#"
            deadlock: a: acquire m
            deadlock: a: acquire n"#]],
    );
    check(
        "lock m; thread a { acquire shared m; acquire m }\nthread b { acquire shared m; acquire m }",
        expect![[r#"
            deadlock: a: acquire shared m
            deadlock: a: acquire m | b: acquire m
            deadlock: b: acquire shared m"#]],
    );
    check(
        "semaphore s; thread a { semwait s }\nthread b { semwait s; sempost s }",
        expect!["deadlock: a: semwait s | b: semwait s"],
    );
    check(
        "barrier b = 2; thread a { barrier b; barrier b }\nthread c { barrier b }",
        expect!["deadlock: a: barrier b"],
    );
    check(
        "thread a { t = fork b(); join t }\nfunc b() { join 1 }",
        expect!["deadlock: a: join t | b: join 1"],
    );
    check(
        "lock m; thread a { acquire m }\nthread b { acquire m }",
        expect![[r#"
            deadlock: a: acquire m
            deadlock: b: acquire m"#]],
    );
}

#[test]
fn signals_are_lost_or_reach_any_waiter() {
    let waiter = "lock m; cond c; thread a { acquire m; wait c m; release m }\n";
    check(&format!("{waiter}thread s {{ signal c }}"), expect!["deadlock: a: wait c m"]);
    check(
        "lock m; cond c; thread a { acquire m; n = timedwait c m; release m; assert n }\nthread s { signal c }",
        expect!["assertion violated: a: assert n"],
    );
    check(
        "global x; lock m; cond c
func w(n: 32) { acquire m; wait c m; store x, n; release m; signal c }
thread s { a = fork w(1); b = fork w(2); acquire m; signal c; release m; join a; join b; assert load x == 2 }",
        expect![[r#"
            assertion violated: s: assert %3
            deadlock: w: wait c m | w: wait c m | s: join a
            deadlock: w: wait c m | s: join a
            deadlock: w: wait c m | s: join b"#]],
    );
}

#[test]
fn lock_errors() {
    check(
        "lock m; thread a { acquire m; acquire m }",
        expect![[r#"
            lock error: a: acquire m: the thread has the lock already
            deadlock: a: acquire m"#]],
    );
    check("lock m recursive; thread a { acquire m; acquire m }", expect![[r#""#]]);
    check(
        "lock m; thread a { acquire m; release m }\nthread b { release m }",
        expect![[r#"
            lock error: b: release m: nobody has the lock
            lock error: b: release m: the thread does not have the lock in this mode, but somebody has it"#]],
    );
    check(
        "lock m; cond c; thread a { wait c m }",
        expect!["lock error: a: wait c m: the thread does not have the lock that it waits with"],
    );
}

#[test]
fn assertions_and_assumptions() {
    check(
        "global x; thread a { v = load atomic x; assume v == 1; assert load atomic x == 1 }
thread b { store atomic x, 1; store atomic x, 2 }",
        expect!["assertion violated: a: assert %3"],
    );
    check(
        "thread a { assert false }\nlock m; thread b { acquire m; acquire m }",
        expect![[r#"
            assertion violated: a: assert false
            lock error: b: acquire m: the thread has the lock already"#]],
    );
    check("thread a { assume false }\nthread b { join 1 }", expect![[r#""#]]);
    check(
        "thread a { exit }\nthread b { unreachable }",
        expect!["undefined behaviour: b: unreachable: a place marked unreachable is reached"],
    );
}

#[test]
fn faults() {
    check(
        "global p : 8; thread a { h = alloc 4; store atomic p, h; t = fork b(); free h; join t }
func b() { load.4 (load atomic p) }",
        expect!["undefined behaviour: b: %1 = load.4 %0: the access is not inside a live object"],
    );
}

#[test]
fn a_search_that_is_too_long_gives_up() {
    let program =
        parse("global x; thread a { store x, 1; store x, 2 }\nthread b { store x, 3 }").unwrap();
    let machine = Machine::new(&program);
    let explored = explore(&machine, 1000);
    assert!(explored.complete);
    let states = explored.states;
    assert!(explore(&machine, states).complete);
    let short = explore(&machine, states - 1);
    assert!(!short.complete && short.states == states - 1);
}

#[test]
fn executions_are_counted() {
    let count = |text: &str| executions(&Machine::new(&parse(text).unwrap())).count();
    assert_eq!(count(""), 1);
    assert_eq!(count("thread a { }"), 1);
    let stores = "global x; func f() { store x, 1; store x, 2; store x, 3 }\n";
    assert_eq!(count(&format!("{stores}thread a = f; thread b = f")), 20);
    assert_eq!(count(&format!("{stores}thread a = f; thread b = f; thread c = f")), 1680);
    // The second section waits for the end of the first.
    let section = "lock m; func f() { acquire m; release m }\nthread a = f; thread b = f";
    assert_eq!(count(section), 2);
    let program = parse("thread a { v = external in : 8 }").unwrap();
    let machine = Machine::new(&program).with_inputs(|_| vec![3, 1, 3]);
    assert_eq!(executions(&machine).count(), 2);
}
