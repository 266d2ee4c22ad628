//! What one schedule of a small program does.

use expect_test::{Expect, expect};

use super::*;
use crate::text::parse;

/// The trace of one run, in which the threads of `order` go on one after the other, each as long as
/// it can; and what became of the threads.
fn check(text: &str, order: &[&str], expected: Expect) {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    crate::validate::validate(&program).unwrap_or_else(|invalid| panic!("{invalid}"));
    let machine = Machine::new(&program).with_inputs(|input| vec![40 + u64::from(input.ordinal)]);
    let (mut state, mut events) = machine.start();
    for name in order {
        loop {
            let moves = machine.moves(&state);
            let mut own = moves.iter().filter(|chosen| state.thread_name(chosen.thread) == *name);
            let Some(&chosen) = own.next() else { break };
            events.extend(machine.step(&mut state, chosen).expect("the step is possible"));
        }
    }
    let trace = record(&program, &state, &events);
    foretrace_trace::validate::validate(&trace).unwrap_or_else(|invalid| panic!("{invalid}"));
    let trace = foretrace_trace::text::print(&trace);
    let is_event = |line: &&str| line.contains(": ");
    let mut shown: Vec<String> = trace.lines().filter(is_event).map(str::to_string).collect();
    for thread in state.thread_ids() {
        let what = match state.status(thread) {
            Status::Finished => continue,
            Status::Running if state.has_exited() => continue,
            Status::Running => "waits".to_string(),
            Status::Stopped(Stop { why: Why::Undefined(fault), .. }) => fault.to_string(),
            Status::Stopped(Stop { why: Why::LockError(error), .. }) => error.to_string(),
            Status::Stopped(Stop { why, .. }) => format!("{why:?}"),
        };
        shown.push(format!("{} | {what}", state.thread_name(thread)));
    }
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn forked_threads_have_names_and_handles() {
    check(
        "
global x
func child(n: 32) { store x, n }
func pair() { fork child(3); t = fork child(4); join t }
thread main { t = fork child(1); call pair(); call pair(); join t }",
        &["main", "main/t", "main/t.2", "main", "main/child.2"],
        expect![[r#"
            main: begin
            main: fork main/t
            main/t: begin
            main: fork main/child
            main/child: begin
            main: fork main/t.2
            main/t.2: begin
            main/t: write x[0:4] : 1
            main/t: end
            main/t.2: write x[0:4] : 4
            main/t.2: end
            main: join main/t.2
            main: fork main/child.2
            main/child.2: begin
            main: fork main/t.3
            main/t.3: begin
            main/child.2: write x[0:4] : 3
            main/child.2: end
            main | waits
            main/child | waits
            main/t.3 | waits"#]],
    );
}

#[test]
fn what_a_thread_does_on_its_own_is_no_step() {
    let text = "
global x : 2 = 5
func twice(a: 16) -> 16 { if a == 0 { return a }; region begin; b = a * 2; region end; return b }
thread t {
  v = call twice(load x) @ t.c:1
  fence
  store x, v
  assert v == 10 @ t.c:3
  assume v == 11
}";
    check(
        text,
        &["t"],
        expect![[r#"
        t: begin
        t: read x[0:2] : 5 @ t.c:1
        t: branch : false
        t: region begin
        t: region end
        t: fence seq_cst
        t: write x[0:2] : 10
        t: assert : true @ t.c:3
        t | Assumption"#]],
    );
    let program = parse(text).unwrap();
    let machine = Machine::new(&program);
    let (_, events) = machine.run(|_| 0);
    assert_eq!(events.len(), 8, "begin, load, branch, two marks, fence, store, assertion");
}

#[test]
fn memory_has_bytes_and_lives() {
    check(
        "
global x : 4 = 0x01020304
global p : 8
thread t {
  store x[1:2], 0xabcd
  a = load x
  assert a == 0x01abcd04
  h = alloc 6
  store.2 h + 4, 7
  store p, h
  b = load.4 (load p + 2)
  assert b == 0x70000
  free h
  load.1 h
}",
        &["t"],
        expect![[r#"
            t: begin
            t: write x[1:2] : 43981
            t: read x[0:4] : 28036356
            t: assert : true
            t: alloc h#2 size 6 at 0x1010000000
            t: write h#2[4:2] : 7
            t: write p : 68987912192
            t: read p : 68987912192
            t: read h#2[2:4] : 458752
            t: assert : true
            t: free h#2
            t | the access is not inside a live object"#]],
    );
    check(
        "thread t { h = alloc 6; load.4 (h + 3) }",
        &["t"],
        expect![[r#"
        t: begin
        t: alloc h#0 size 6 at 0x1010000000
        t | the access is not inside a live object"#]],
    );
    check(
        "global x; thread t { load.4 (&x[2]) }",
        &["t"],
        expect![[r#"
        t: begin
        t | the access is not inside a live object"#]],
    );
    check(
        "thread t { load.4 0 }",
        &["t"],
        expect![[r#"
        t: begin
        t | the access is not inside a live object"#]],
    );
    check(
        "thread t { h = alloc 8; free h + 1 }",
        &["t"],
        expect![[r#"
        t: begin
        t: alloc h#0 size 8 at 0x1010000000
        t | the freed address is not the start of a live allocation"#]],
    );
    check(
        "thread t { h = alloc 8; free h; free h }",
        &["t"],
        expect![[r#"
        t: begin
        t: alloc h#0 size 8 at 0x1010000000
        t: free h#0
        t | the freed address is not the start of a live allocation"#]],
    );
    check(
        "global x; thread t { free &x }",
        &["t"],
        expect![[r#"
        t: begin
        t | the freed address is not the start of a live allocation"#]],
    );
    check(
        "thread t { h = alloc 0x100000000 }",
        &["t"],
        expect![[r#"
        t: begin
        t | the allocation is too large"#]],
    );
}

#[test]
fn slots_end_with_their_call() {
    check(
        "
global p : 8
func private() -> 32 { s = slot 4; store.4 s, 3; v = load.4 s; return v }
func shared() { s = slot 4; store.4 s, 3; store p, s }
thread t { v = call private(); assert v == 3; call shared(); load.4 (load p) }",
        &["t"],
        expect![[r#"
            t: begin
            t: assert : true
            t: alloc s#2 size 4 at 0x1010000020
            t: write s#2[0:4] : 3
            t: write p : 68987912224
            t: free s#2
            t: read p : 68987912224
            t | the access is not inside a live object"#]],
    );
}

#[test]
fn read_modify_writes_are_one_step() {
    check(
        "
global x : 1 = 5
thread t {
  a = rmw nand x, 4
  b = cmpxchg x, 0xfb, 1
  c = cmpxchg atomic relaxed x, 0xfb, 2
  assert a == 5 && b == 0xfb && c == 1
  rmw min x, -3
  assert load x == -3
}",
        &["t"],
        expect![[r#"
            t: begin
            t: rmw x[0:1] : 5 -> 251
            t: rmw x[0:1] : 251 -> 1
            t: read x[0:1] : 1 atomic relaxed
            t: assert : true
            t: rmw x[0:1] : 1 -> 253
            t: read x[0:1] : 253
            t: assert : true
            t: end"#]],
    );
}

#[test]
fn locks() {
    check(
        "
lock r recursive
lock m
thread a { acquire r; acquire r; release r; acquire m; acquire shared m; release shared m; release r; release m }
thread b { k = tryacquire r; l = timedacquire m; assert k && l; acquire shared m; j = tryacquire m; assert !j }",
        &["a", "b"],
        expect![[r#"
            a: begin
            b: begin
            a: acquire r
            a: acquire r
            a: release r
            a: acquire m
            a: acquire shared m
            a: release shared m
            a: release r
            a: release m
            a: end
            b: tryacquire r : ok
            b: timedacquire m : ok
            b: assert : true
            b: acquire shared m
            b: tryacquire m : fail
            b: assert : true
            b: end"#]],
    );
    check(
        "lock m; thread a { acquire m; acquire m }",
        &["a"],
        expect![[r#"
        a: begin
        a: acquire m
        a | waits"#]],
    );
    check(
        "lock m; thread a { release m }",
        &["a"],
        expect![[r#"
        a: begin
        a | nobody has the lock"#]],
    );
    check(
        "lock m; thread a { acquire m }\nthread b { release m }",
        &["a", "b"],
        expect![[r#"
        a: begin
        b: begin
        a: acquire m
        a: end
        b | the thread does not have the lock in this mode, but somebody has it"#]],
    );
    check(
        "lock m; thread a { acquire shared m; release m }",
        &["a"],
        expect![[r#"
        a: begin
        a: acquire shared m
        a | the thread does not have the lock in this mode, but somebody has it"#]],
    );
    check(
        "lock m; cond c; thread a { wait c m }",
        &["a"],
        expect![[r#"
        a: begin
        a | the thread does not have the lock that it waits with"#]],
    );
    check(
        "lock m; thread a { p = alloc 8; acquire at p }",
        &["a"],
        expect![[r#"
        a: begin
        a: alloc p#0 size 8 at 0x1010000000
        a: acquire p#0
        a: end"#]],
    );
}

#[test]
fn condition_variables() {
    let text = "
lock m recursive
cond c
thread a { acquire m; acquire m; wait c m; release m; release m }
thread b { acquire m; n = timedwait c m; assert n; release m }
thread s { signal c; acquire m; broadcast c; release m }";
    check(
        text,
        &["a", "s", "a"],
        expect![[r#"
        a: begin
        b: begin
        s: begin
        a: acquire m
        a: acquire m
        a: wait c m
        s: signal c
        s: acquire m
        s: broadcast c
        s: release m
        s: end
        a: wake c m
        a: release m
        a: release m
        a: end
        b | waits"#]],
    );
    check(
        text,
        &["s", "a"],
        expect![[r#"
        a: begin
        b: begin
        s: begin
        s: signal c
        s: acquire m
        s: broadcast c
        s: release m
        s: end
        a: acquire m
        a: acquire m
        a: wait c m
        a | waits
        b | waits"#]],
    );
    check(
        text,
        &["b", "s"],
        expect![[r#"
        a: begin
        b: begin
        s: begin
        b: acquire m
        b: timedwait c m
        b: wake c m timeout
        b: assert : false
        s: signal c
        a | waits
        b | Assertion
        s | waits"#]],
    );
}

#[test]
fn semaphores_and_barriers() {
    check(
        "
semaphore s = 1
barrier b = 2
thread a { semwait s; k = trysemwait s; assert !k; barrier b; sempost s; barrier b }
thread c { barrier b; semwait s }",
        &["a", "c", "a"],
        expect![[r#"
            a: begin
            c: begin
            a: semwait s
            a: trysemwait s : fail
            a: assert : true
            a: arrive b
            c: arrive b
            c: leave b
            a: leave b
            a: sempost s
            a: arrive b
            a | waits
            c | waits"#]],
    );
}

#[test]
fn calls_by_address() {
    let functions = "func f(a: 8) -> 8 { return a + 1 }\n";
    let check = |body: &str, expected: Expect| {
        check(&format!("{functions}thread t {{ {body} }}"), &["t"], expected)
    };
    check(
        "p = &f; r = call *p(u8(1)) : 8; assert r == 2",
        expect![[r#"
        t: begin
        t: assert : true
        t: end"#]],
    );
    check(
        "p = &f; r = call *p(u8(1)) : 16",
        expect![[r#"
        t: begin
        t | the called value is not a function with these parameters and this result"#]],
    );
    check(
        "call *&f(1)",
        expect![[r#"
        t: begin
        t | the called value is not a function with these parameters and this result"#]],
    );
    check(
        "call *(&f + 1)(u8(1))",
        expect![[r#"
        t: begin
        t | the called value is not a function with these parameters and this result"#]],
    );
    check(
        "t = fork *&f(u8(1)); join t",
        expect![[r#"
        t: begin
        t: fork t/t
        t/t: begin
        t/t: end
        t: join t/t
        t: end"#]],
    );
    check(
        "join 7",
        expect![[r#"
        t: begin
        t | the joined value is not a thread"#]],
    );
    check(
        "join 1",
        expect![[r#"
        t: begin
        t | waits"#]],
    );
}

#[test]
fn inputs_and_exit() {
    check(
        "thread t { a = external read(1) : 8; b = external read : 5; external log; assert a == 40 && b == 9; exit }
thread u { unreachable }",
        &["t"],
        expect![[r#"
            t: begin
            u: begin
            t: external
            t: external
            t: external
            t: assert : true
            t: exit
            u | a place marked unreachable is reached"#]],
    );
}

#[test]
fn loops_and_recursion_come_to_an_end() {
    check(
        "func f() {\n entry:\n jump a\n a:\n jump a\n}\nthread t = f()",
        &["t"],
        expect![[r#"
            t: begin
            t | the thread goes on without a visible operation for too long"#]],
    );
    check(
        "func f() { call f() }\nthread t = f",
        &["t"],
        expect![[r#"
        t: begin
        t | calls are nested too deeply"#]],
    );
}

#[test]
fn steps_that_are_not_possible_change_nothing() {
    let program = parse("lock m; thread t { acquire m; acquire m }").unwrap();
    let machine = Machine::new(&program);
    let (mut state, _) = machine.start();
    let step = |choice| Move { thread: ThreadId(0), choice };
    assert_eq!(machine.step(&mut state, step(Choice::GivesUp)), None);
    assert_eq!(machine.step(&mut state, Move { thread: ThreadId(1), choice: Choice::Only }), None);
    assert!(machine.step(&mut state, step(Choice::Only)).is_some());
    let before = state.clone();
    assert_eq!(machine.step(&mut state, step(Choice::Only)), None);
    assert_eq!(state, before);
}
