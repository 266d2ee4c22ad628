//! Calls on channels, which keep their recorded order.

use expect_test::expect;

use super::Folder;
use super::explain::litmus;

#[test]
fn calls_keep_their_order() {
    let folder = Folder::new("explain-calls");
    folder.file("pipe.trace", &litmus("call-pipe")).file("chain.trace", &litmus("call-chain"));
    folder.session(expect![[r#"
        $ explain pipe.trace race t1.data t2.data --dot graph.dot
        data race on data at t1.data, t2.data: cannot happen, refuted by order alone
          For this race, t1 is about to write `data` (t1.data), and t2 is about to read `data` (t2.data).
          (1) t1 must enter its call of `write()` on `pipe#1` (event 1) before t2 leaves its call of
              `read()` on `pipe#1` (event 4), because the recorded order of these calls is kept.
          But t2 has left its call of `read()` on `pipe#1` (event 4), and t1 has not written `data`
          (t1.data), which comes before that: so this race cannot happen.
        status: 0
    "#]]);
    expect![[r#"
        digraph explanation {
          label="data race on data at t1.data, t2.data"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="t1";
            e0 [label="0: write data : 1\nt1.data", style=filled, fillcolor=lightyellow, color=red];
            e1 [label="1: enter write() on pipe#1", color=red];
          }
          subgraph cluster_1 {
            label="t2";
            e4 [label="4: leave read()"];
            e5 [label="5: read data : 1\nt2.data", style=filled, fillcolor=lightyellow];
          }
          e0 -> e1 [style=solid, color=red, fontcolor=red];
          e4 -> e5 [style=solid];
          e1 -> e4 [style=bold, label="call", color=red, fontcolor=red];
        }
    "#]]
    .assert_eq(&folder.read("graph.dot"));
    folder.session(expect![[r#"
        $ explain chain.trace race t1.data t3.data
        data race on data at t1.data, t3.data: cannot happen, refuted by order alone
          For this race, t1 is about to write `data` (t1.data), and t3 is about to write `data` (t3.data).
          (1) t1 must enter its call of `write()` on `pipe#1` (event 1) before t3 leaves its call of
              `write()` on `pipe#2` (event 6), because the recorded order of calls is kept, and others lead
              from the one to the other.
          But t3 has left its call of `write()` on `pipe#2` (event 6), and t1 has not written `data`
          (t1.data), which comes before that: so this race cannot happen.
        status: 0
    "#]]);
    // Who had the lock when the attempt failed is for the solver to say.
    folder.file(
        "attempt.trace",
        "t1: acquire m\nt1: release m\nt1: enter-call pipe#1 by write @ w\nt1: leave-call\nt3: write x = 1 @ a\n\
         t3: acquire m\nt2: enter-call pipe#1 by read\nt2: leave-call @ r\nt2: tryacquire m : fail\nt2: write x = 2 @ b\n",
    );
    folder.session(expect![[r#"
        $ explain attempt.trace race a b
        data race on x at a, b: cannot happen, refuted by the solver
          For this race, t3 is about to write `x` (a), and t2 is about to write `x` (b).
          (1) t2 fails to take `m` (event 8) only within t1's hold of `m` (event 0 to event 1), or t3's hold
              of `m` (from event 5 on).
          (2) t2 leaves its call of `read()` on `pipe#1` (r) only after t1 enters its call of `write()` on
              `pipe#1` (w), because the recorded order of these calls is kept.
          But these together leave no schedule for it, and none of them can be left out: so this race cannot
          happen.
        status: 0
    "#]]);
}

/// How much is not looked at because calls keep their order.
#[test]
fn kept_calls_are_counted() {
    let folder = Folder::new("kept-calls");
    folder.file("unknown.trace", &litmus("call-unknown"));
    folder.session(expect![[r#"
        $ predict unknown.trace --check race
        unknown.trace: 9 events, 3 threads, model symbolic
        2 findings with 1 cause; an index of them is at the end

        race-1 (real): data race on data
          t1  is about to write data : 1  at t1.data  holding no lock
          t3  is about to write data : 3  at t3.data  holding no lock
          schedule: 2 steps, 1 context switch
           step  t1                            t3
              1                                enter getpid() on no channel
              2                                leave getpid()
           next*                               write data : 3                t3.data
           next* write data : 1                                              t1.data
          also race-2: t2.data and t3.data

        2 findings with 1 cause:
          race-1  real  data race on data  t1.data, t3.data
          race-2  real  data race on data  t2.data, t3.data

        note: 2 calls on 1 channel keep their recorded order: bugs that need another order of these calls are not found
        note: nothing is known about mystery: 1 call keeps its order with all others
        verdict: 2 bugs that can happen
        status: 1
    "#]]);
    let status = folder.command("predict unknown.trace --json report.json").output().unwrap();
    assert_eq!(status.status.code(), Some(1));
    let json = folder.read("report.json");
    let note = "2 calls on 1 channel keep their recorded order: bugs that need another order of these calls are not found";
    assert!(json.contains(note), "{json}");
    // Nobody takes what is given there.
    folder.file("output.trace", &litmus("call-output"));
    folder.session(expect![[r#"
        $ predict output.trace --check race
        output.trace: 6 events, 2 threads, model symbolic

        race-1 (real): data race on data
          t1  is about to write data : 1  at t1.data  holding no lock
          t2  is about to write data : 2  at t2.data  holding no lock
          schedule: 2 steps, 1 context switch
           step  t1                          t2
              1                              enter printf() on terminal
              2                              leave printf()
           next*                             write data : 2              t2.data
           next* write data : 1                                          t1.data

        verdict: 1 bug that can happen
        status: 1
    "#]]);
}
