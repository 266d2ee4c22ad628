//! One minimal trace per rule, and condition variables against brute force.

use expect_test::{Expect, expect};

use super::*;
use crate::expr::{BinaryOp, Expr};
use crate::text::{self, parse_with_lines};

fn verdict(text: &str) -> String {
    let (trace, lines) = parse_with_lines(text).unwrap_or_else(|error| panic!("{error}"));
    match validate(&trace) {
        Ok(()) => "valid".to_string(),
        Err(invalid) => invalid.with_lines(&lines).to_string(),
    }
}

/// A transcript of traces and what is wrong with them.
fn verdicts(expected: Expect) {
    expected.assert_eq(&foretrace_testing::transcript(expected.data(), verdict));
}

fn check_valid(text: &str) {
    assert_eq!(verdict(text), "valid");
}

/// For what the text form cannot even say.
fn check_built(fill: impl FnOnce(&mut crate::Builder), expected: Expect) {
    let mut builder = Trace::builder();
    builder.thread("t");
    builder.object("x");
    fill(&mut builder);
    expected.assert_eq(&validate(&builder.finish()).unwrap_err().to_string());
}

fn event(op: Op) -> Event {
    Event { thread: ThreadId(0), op, location: None }
}

fn write_of(offset: u32, size: u32, value: u64) -> Event {
    let at = Place { object: ObjectId(0), offset, size };
    event(Op::Write { at, value: Some(value), order: MemoryOrder::Plain })
}

#[test]
fn a_run_with_everything_is_valid() {
    check_valid(
        "init x = 5\nlock r recursive\nsemaphore s = 1\nbarrier b = 2\n\
         t1: begin\nt1: fork t2\nt2: begin\nt1: x1 = read x : 5\nt1: write x = x1 + 1 : 6\n\
         t2: read x : 99\nt1: acquire r\nt1: acquire r\nt2: tryacquire r : fail\nt1: wait c r\n\
         t2: acquire r\nt2: signal c\nt2: release r\nt1: wake c r\nt1: release r\nt1: release r\n\
         t1: release r\nt2: acquire r\nt1: release r\nt1: acquire shared q\nt2: acquire shared q\n\
         t1: acquire shared q\nt1: release shared q\nt1: release shared q\nt2: acquire q\n\
         t2: tryacquire shared q : fail\nt2: release q\nt2: release shared q\nt1: destroy q\n\
         t1: semwait s\nt2: trysemwait s : fail\nt2: sempost s\nt1: arrive b\nt2: arrive b\n\
         t2: leave b\nt1: leave b\nt1: alloc p size 8\nt2: write p = 1\nt1: free p\n\
         t2: end\nt1: join t2\nt1: join t3\nt1: exit\n",
    );
}

#[test]
fn places_and_objects() {
    verdicts(expect![[r#"
        > t1: alloc p size 4; t1: write p[0:4] = 1; t1: read p[3:2]
        line 3 (t1): read p[3:2], but the object has only 4 bytes since its alloc line 1 [place-outside]
        > init p = 5; t1: alloc p size 4
        line 2 (t1): alloc p size 4, but initial values are declared for its bytes up to 8 [place-outside]
        > t1: read p; t1: alloc p size 4
        line 2 (t1): alloc p size 4, but the object is in use since line 1 [use-before-alloc]
        > t1: alloc p size 4; t1: free p; t2: read p[0:1] : 5
        line 3 (t2): read p[0:1] : 5, but the object was freed at line 2 [use-after-free]
        > t1: free p; t1: free p
        line 2 (t1): free p, but the object was freed at line 1 [use-after-free]
        > t1: alloc p size 4; t1: free p; t1: alloc p size 4
        line 3 (t1): alloc p size 4, but the object was freed at line 2 (a new block of memory has a new name) [alloc-twice]
        > t1: alloc p size 4; t1: alloc p size 4
        line 2 (t1): alloc p size 4, but the object was allocated at line 1 (a new block of memory has a new name) [alloc-twice]
        > init x[4:4] = 1; init y = 1; init x = 1
        declarations: init x and init x[4:4] overlap [init-twice]
    "#]]);
}

#[test]
fn what_only_a_builder_can_do() {
    check_built(
        |builder| {
            let op = Op::Destroy { lock: LockId(3) };
            builder.push(event(op));
        },
        expect!["event 0 (t): lock 3 has no name; there are 0 [unknown-id]"],
    );
    check_built(
        |builder| {
            let write = builder.push(write_of(0, 8, 1));
            let name = builder.name("r");
            builder.express(write, Expr::Name(name));
        },
        expect!["event 0 (t): no earlier read of the thread binds the name r [unbound-name]"],
    );
    check_built(
        |builder| {
            let write = builder.push(write_of(0, 8, 5));
            let one = || Box::new(Expr::Literal(1));
            builder.express(write, Expr::Binary(BinaryOp::Add, one(), one()));
        },
        expect!["event 0 (t): write x = 1 + 1 : 5, but the expression gives 2 [value-mismatch]"],
    );
    check_built(
        |builder| {
            let begin = builder.push(event(Op::Begin));
            builder.express(begin, Expr::Literal(1));
        },
        expect![
            "event 0 (t): it has a name or an expression, which only accesses and conditions have [misplaced-expression]"
        ],
    );
    check_built(
        |builder| {
            let write = builder.push(write_of(0, 8, 1));
            let not = |expr| Expr::Unary(crate::expr::UnaryOp::Not, Box::new(expr));
            let deep = (0..=text::MAX_DEPTH).fold(Expr::Literal(1), |expr, _| not(expr));
            builder.express(write, deep);
        },
        expect!["event 0 (t): an expression is more than 128 operators deep [expression-depth]"],
    );
    check_built(
        |builder| {
            let branch = builder.push(event(Op::Branch { taken: true }));
            builder.express(branch, Expr::Literal(0));
        },
        expect!["event 0 (t): branch 0 : true, but the condition is false [value-mismatch]"],
    );
    check_built(
        |builder| {
            builder.push(write_of(0, 1, 256));
        },
        expect![
            "event 0 (t): write x[0:1] : 256, but 256 does not fit in the 1-byte place [value-size]"
        ],
    );
    check_built(
        |builder| {
            builder.push(write_of(4, 0, 0));
        },
        expect!["event 0 (t): write x[4:0] : 0, but an access has at least 1 byte [place-size]"],
    );
    check_built(
        |builder| {
            builder.push(write_of(u32::MAX, 1, 0));
        },
        expect![
            "event 0 (t): write x[4294967295:1] : 0, but the place ends behind byte 2^32 - 1 [place-size]"
        ],
    );
    check_built(
        |builder| builder.set_initial(Place { object: ObjectId(0), offset: 0, size: 2 }, 1 << 16),
        expect!["declarations: init x[0:2] = 65536 does not fit [value-size]"],
    );
    check_built(
        |builder| {
            let barrier = builder.barrier("b");
            builder.set_barrier(barrier, 0);
        },
        expect!["declarations: barrier b is declared for 0 parties [barrier-parties]"],
    );
}

#[test]
fn threads() {
    verdicts(expect![[r#"
        > t1: fork t2; t1: fork t2
        line 2 (t1): fork t2, but t2 was forked already at line 1 [fork-twice]
        > t2: begin; t1: fork t2
        line 2 (t1): fork t2, but t2 runs since line 1 [fork-late]
        > t1: fork t1
        line 1 (t1): fork t1, but t1 runs since line 1 [fork-late]
        > t1: join t2; t1: fork t2
        line 2 (t1): fork t2, but t2 was joined at line 1 [fork-late]
        > t1: external; t1: begin
        line 2 (t1): begin, but the first event of its thread is line 1 [begin-not-first]
        > t1: end; t1: read x
        line 2 (t1): read x, but the thread has ended at line 1 [after-end]
        > t1: exit; t2: begin
        line 2 (t2): begin, but the process exited at line 1 [after-exit]
        > t2: begin; t1: join t2; t2: external; t2: end
        line 2 (t1): join t2, but t2 has events left, up to line 4 [join-running]
    "#]]);
    check_valid("t1: fork t2\nt1: join t2\nt1: join t2\nt1: join t3");
}

#[test]
fn acquires() {
    verdicts(expect![[r#"
        > t1: acquire m; t2: acquire m
        line 2 (t2): acquire m, but t1 has held it since line 1 [lock-held]
        > t1: acquire m; t2: acquire shared m
        line 2 (t2): acquire shared m, but t1 has held it since line 1 [lock-held]
        > t1: acquire shared m; t2: acquire shared m; t1: acquire m
        line 3 (t1): acquire m, but t2 has held it shared since line 2 [lock-held]
    "#]]);
    check_valid("t1: acquire shared m\nt1: acquire m\nt1: acquire shared m");
    verdicts(expect![[r#"
        > lock m plain; t1: acquire m; t1: acquire m
        line 3 (t1): acquire m, but it is declared plain, and the thread itself has held it since line 2 [plain-lock-again]
        > t1: tryacquire m : fail
        line 1 (t1): tryacquire m : fail, but nobody holds it [lock-free]
        > t1: acquire shared m; t2: timedacquire shared m : fail
        line 2 (t2): timedacquire shared m : fail, but it is held only shared [lock-free]
    "#]]);
    check_valid(
        "t1: acquire shared m\nt1: tryacquire m : fail\nt1: acquire m\nt1: tryacquire shared m : fail",
    );
    verdicts(expect![[r#"
        > t1: acquire m; t2: acquire m : fail
        line 2 (t2): acquire m : fail, but what is neither `try` nor `timed` cannot fail [blocking-failed]
        > t1: destroy m; t1: acquire m
        line 2 (t1): acquire m, but the lock was destroyed at line 1 [lock-destroyed]
        > t1: destroy m; t1: destroy m
        line 2 (t1): destroy m, but the lock was destroyed at line 1 [lock-destroyed]
        > t1: acquire m; t2: destroy m
        line 2 (t2): destroy m, but t1 has held it since line 1 [destroy-held]
        > t1: acquire shared m; t1: destroy m
        line 2 (t1): destroy m, but t1 has held it shared since line 1 [destroy-held]
    "#]]);
}

#[test]
fn releases() {
    check_valid("t1: release m\nt1: release shared m\nt1: acquire m\nt2: release m\nt2: release m");
    verdicts(expect![[r#"
        > t1: acquire m; t1: acquire m; t2: release m
        line 3 (t2): release m, but t1 holds it 2 deep (a release by another thread is supported only at depth 1) since line 1 [foreign-deep]
        > t1: acquire shared m; t2: release shared m
        line 2 (t2): release shared m, but the thread has no shared hold (a release of another thread's is not supported): t1 has held it shared since line 1 [foreign-shared]
        > t1: acquire shared m; t1: release m
        line 2 (t1): release m, but it is held only shared: t1 has held it since line 1 [release-mode]
        > t1: acquire m; t1: release shared m
        line 2 (t1): release shared m, but it is not held shared: t1 has held it exclusively since line 1 [release-mode]
    "#]]);
}

#[test]
fn waits() {
    verdicts(expect![[r#"
        > t1: wait c m
        line 1 (t1): wait c m, but the thread does not hold the lock [wait-not-held]
        > t1: acquire m; t1: acquire shared m; t1: wait c m
        line 3 (t1): wait c m, but the thread holds the lock in both modes: exclusively since line 1, shared since line 2 [wait-both-modes]
        > t1: wake c m
        line 1 (t1): wake c m, but a wake directly follows its wait, and this is the thread's first event [wait-wake-pair]
        > t1: external; t1: wake c m
        line 2 (t1): wake c m, but a wake directly follows its wait, and line 1 of the thread is none [wait-wake-pair]
        > t1: acquire m; t1: wait c m; t1: read x
        line 3 (t1): read x, but the thread is not awake yet: it waits since line 2 [wait-wake-pair]
        > t1: acquire m; t1: wait c m; t2: broadcast c; t1: wake d m
        line 4 (t1): wake d m, but its thread waits for c with m since line 2 [wait-wake-pair]
        > t1: acquire m; t1: wait c m; t1: wake c m timeout
        line 3 (t1): wake c m timeout, but the wait has no time limit: line 2 [timeout-untimed]
        > t2: signal c; t1: acquire m; t1: wait c m; t2: signal d; t1: wake c m
        line 5 (t1): wake c m, but no signal or broadcast can have reached the wait at line 3 [wake-without-notify]
        > t1: acquire m; t1: wait c m; t2: acquire m; t2: signal c; t1: wake c m
        line 5 (t1): wake c m, but t2 has held it since line 3 [lock-held]
    "#]]);
    check_valid(
        "t1: acquire m\nt1: acquire m\nt1: wait c m\nt2: acquire m\nt2: release m\nt1: wake c m spurious\nt1: release m\nt2: tryacquire m : fail\nt1: release m",
    );
    check_valid(
        "t1: acquire shared m\nt1: wait c m\nt2: acquire m\nt2: broadcast c\nt2: release m\nt3: acquire shared m\nt1: wake c m\nt1: release shared m",
    );
}

#[test]
fn a_signal_goes_to_the_wait_that_needs_it_first() {
    // t1 waits first and wakes last: the first signal must reach t2.
    check_valid(
        "t1: acquire m\nt1: wait c m\nt2: acquire n\nt2: wait c n\n\
         s: signal c\nt2: wake c n\ns: signal c\nt1: wake c m",
    );
    // One signal for two.
    verdicts(expect![[r#"
        > t1: acquire m; t1: wait c m; t2: acquire n; t2: wait c n
        > s: signal c; t1: wake c m; t2: wake c n
        line 7 (t2): wake c n, but no signal or broadcast can have reached the wait at line 4 [wake-without-notify]
    "#]]);
    // The signal need not reach the wait that times out.
    check_valid(
        "t1: acquire m\nt1: timedwait c m\nt2: acquire n\nt2: wait c n\n\
         s: signal c\ns: signal c\nt1: wake c m timeout\nt2: wake c n",
    );
}

#[test]
fn semaphores() {
    verdicts(expect![[r#"
        > semaphore s = 1; t1: semwait s; t2: semwait s
        line 3 (t2): semwait s, but the count is 0 here [semaphore-zero]
        > t2: trysemwait s : fail; t2: sempost s; t1: semwait s; t1: semwait s
        line 4 (t1): semwait s, but the count is 0 here, because it was 0 at the failed wait line 1 [semaphore-zero]
        > semaphore s = 1; t1: sempost s; t1: trysemwait s : fail
        line 3 (t1): trysemwait s : fail, but the count is 2 here [semaphore-not-zero]
        > t1: timedsemwait s : fail; t1: sempost s; t1: trysemwait s : fail
        line 3 (t1): trysemwait s : fail, but the count is 1 here, because it was 0 at the failed wait line 1 [semaphore-not-zero]
        > t1: semwait s; t1: sempost s; t1: trysemwait s : fail
        line 3 (t1): trysemwait s : fail, but the count is at least 1 here, because of the successful wait line 1 [semaphore-not-zero]
        > t1: sempost s; t1: trysemwait s : fail
        line 2 (t1): trysemwait s : fail, but the count is at least 1 here [semaphore-not-zero]
        > t1: semwait s : fail
        line 1 (t1): semwait s : fail, but what is neither `try` nor `timed` cannot fail [blocking-failed]
    "#]]);
    check_valid(
        "t1: semwait s\nt1: semwait s\nt1: trysemwait s : fail\nt1: sempost s\nt1: trysemwait s : ok",
    );
}

#[test]
fn barriers() {
    verdicts(expect![[r#"
        > t1: leave b
        line 1 (t1): leave b, but the thread has not arrived at the barrier [leave-without-arrive]
        > t1: arrive b; t1: leave b; t2: arrive b
        line 2 (t1): leave b, but only 1 of 2 have arrived in this round [leave-early]
        > barrier b = 2; t1: arrive b; t2: arrive b; t3: arrive b; t1: leave b; t3: leave b
        line 6 (t3): leave b, but only 1 of 2 have arrived in this round [leave-early]
    "#]]);
    check_valid("barrier b = 1\nt1: arrive b\nt1: leave b\nt2: arrive b\nt2: leave b");
    check_valid(
        "t1: arrive b\nt2: arrive b\nt1: leave b\nt1: arrive b\nt2: leave b\nt2: arrive b\nt2: leave b",
    );
}

#[test]
fn calls() {
    check_valid(
        "t1: enter-call pipe#1 >log <clock by read\nt2: enter-call *\nt1: enter-call\nt1: leave-call\n\
         t1: leave-call\nt2: end",
    );
    verdicts(expect![[r#"
        > t1: enter-call a; t1: leave-call; t2: enter-call a; t1: leave-call
        line 4 (t1): leave-call, but the thread is in no call that it has entered [leave-without-call]
    "#]]);
    check_built(
        |builder| {
            builder.push(event(Op::EnterCall { on: ChannelsId(0), by: None }));
        },
        expect!["event 0 (t): there is no list 0 of channels; there are 0 [unknown-id]"],
    );
    check_built(
        |builder| {
            let on = builder.channels(&[(ChannelId(7), Direction::Both)]);
            builder.push(event(Op::EnterCall { on, by: None }));
        },
        expect!["event 0 (t): channel 7 has no name; there are 0 [unknown-id]"],
    );
    check_built(
        |builder| {
            let awaited = Awaited { source: ChannelId(3), piece: None };
            let on = builder.channels_awaiting(&[], Some(awaited));
            builder.push(event(Op::EnterCall { on, by: None }));
        },
        expect!["event 0 (t): channel 3 has no name; there are 0 [unknown-id]"],
    );
    check_built(
        |builder| {
            let on = builder.every_channel();
            builder.push(event(Op::EnterCall { on, by: Some(FunctionId(0)) }));
        },
        expect!["event 0 (t): function 0 has no name; there are 0 [unknown-id]"],
    );
}

#[test]
fn a_call_that_waits_leaves_when_it_is_fed() {
    check_valid("t1: enter-call <p waits-for p\nt2: enter-call >p\nt1: leave-call");
    check_valid("t1: enter-call p waits-for q piece b\nt2: enter-call >b\nt1: leave-call");
    check_valid("t1: enter-call <p waits-for p\nt2: enter-call *\nt1: leave-call");
    check_valid("t1: enter-call p waits-for p");
    // Its own giving does not count, nor does what gives on its channel only.
    verdicts(expect![[r#"
        > t1: enter-call p waits-for p; t2: enter-call <p; t1: leave-call
        line 3 (t1): leave-call, but the call waits for p, and no other call has given there [leave-unfed]
        > t1: enter-call p waits-for q piece b; t2: enter-call >p; t1: leave-call
        line 3 (t1): leave-call, but the call waits for q, and no other call has given there [leave-unfed]
    "#]]);
}

#[test]
fn every_rule_has_a_code_of_its_own_and_is_explained() {
    let book = include_str!("../../../../docs/trace-format.md");
    let tests = include_str!("tests.rs");
    for rule in Rule::ALL {
        let code = rule.code();
        assert_eq!(Rule::ALL.iter().filter(|other| other.code() == code).count(), 1, "{code}");
        assert!(book.contains(&format!("| `{code}` |")), "trace-format.md explains {code}");
        assert!(tests.contains(&format!("[{code}]")), "a test breaks {code}");
    }
}

#[test]
fn an_event_has_its_number_where_there_are_no_lines() {
    let trace = text::parse("\nt1: acquire m\nt2: acquire m").unwrap();
    let invalid = validate(&trace).unwrap_err();
    assert_eq!((invalid.rule, invalid.event), (Rule::LockHeld, Some(EventId(1))));
    expect!["event 1 (t2): acquire m, but t1 has held it since event 0 [lock-held]"]
        .assert_eq(&invalid.to_string());
}

#[test]
fn the_examples_in_the_book_are_valid() {
    let book = include_str!("../../../../docs/trace-format.md");
    let examples: Vec<&str> =
        book.split("```trace\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 7, "{} examples", examples.len());
    for example in examples {
        let trace = text::parse(example).unwrap_or_else(|error| panic!("{error}\n{example}"));
        validate(&trace).unwrap_or_else(|invalid| panic!("{invalid}\n{example}"));
    }
}
