//! `foretrace explain` and `predict --why`.

use expect_test::expect;

use super::Folder;

/// A trace of the folder `litmus`.
pub(super) fn litmus(name: &str) -> String {
    let path = format!("{}/../../litmus/{name}.trace", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn order_and_locks_together() {
    let folder = Folder::new("explain-paper");
    folder.file("fig1.trace", &litmus("paper-004-fig1"));
    folder.session(expect![[r#"
        $ explain fig1.trace race a9 b9 --dot graph.dot
        data race on sh at a9, b9: cannot happen, refuted by order and locks together
          For this race, T1 is about to write `sh` (a9), and T2 is about to write `sh` (b9).
          (1) T1 must wait for `c` (a2) before T2 signals `c` (b1), because T1 has left its wait for `c`
              (a5) and nothing else can have notified it.
          (2) T2 must release `l2` (b7) before T1 takes it (a6), because T2 has taken it (b6), and T1 has
              not released it (a10), so that T1 can only have it later.
          (3) T2 must release `l3` (b8) before T1 takes it (a0), because T2 has taken it (b4), and T1
              releases it (a8) only after that (T2 takes `l3` (b4), then releases `l2` (b7), by (2) before
              T1 takes `l2` (a6), then releases `l3` (a8)), so that T1 can only have it later.
          (4) T1 cannot take `l3` (a0), because this would have to come before itself: T1 takes `l3` (a0),
              then waits for `c` (a2), by (1) before T2 signals `c` (b1), then releases `l3` (b8), by (3)
              before T1 takes `l3` (a0).
          But T1 has released `l3` (a8), which comes after that: so this race cannot happen.
        status: 0
    "#]]);
    expect![[r#"
        digraph explanation {
          label="data race on sh at a9, b9"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="T1";
            e0 [label="0: acquire l3\na0", color=red];
            e2 [label="2: wait c l1\na2"];
            e7 [label="7: acquire l2\na6"];
            e9 [label="9: release l3\na8", color=red];
            e10 [label="10: write sh : 1\na9", style=filled, fillcolor=lightyellow];
            e11 [label="11: release l2\na10"];
          }
          subgraph cluster_1 {
            label="T2";
            e4 [label="4: signal c\nb1"];
            e12 [label="12: acquire l3\nb4"];
            e13 [label="13: acquire l2\nb6"];
            e14 [label="14: release l2\nb7"];
            e15 [label="15: release l3\nb8"];
            e16 [label="16: write sh : 2\nb9", style=filled, fillcolor=lightyellow];
          }
          e0 -> e2 [style=solid, color=red, fontcolor=red];
          e2 -> e7 [style=solid, color=red, fontcolor=red];
          e7 -> e9 [style=solid, color=red, fontcolor=red];
          e9 -> e10 [style=solid];
          e10 -> e11 [style=solid];
          e4 -> e12 [style=solid, color=red, fontcolor=red];
          e12 -> e13 [style=solid, color=red, fontcolor=red];
          e13 -> e14 [style=solid, color=red, fontcolor=red];
          e14 -> e15 [style=solid, color=red, fontcolor=red];
          e15 -> e16 [style=solid];
          e2 -> e4 [style=dashed, label="matched", color=red, fontcolor=red];
          e14 -> e7 [style=dashed, label="lock-order"];
          e15 -> e0 [style=dashed, label="lock-order", color=red, fontcolor=red];
        }
    "#]]
    .assert_eq(&folder.read("graph.dot"));
    let arguments = "explain fig1.trace race T1@a9 16 --dot - --model control";
    let alone = folder.command(arguments).output().unwrap();
    assert_eq!(String::from_utf8(alone.stdout).unwrap(), folder.read("graph.dot"));
}

/// t1 takes n inside m, t2 takes m inside n: what each holds and what it has had in between exclude
/// each other.
const HISTORIES: &str = "\
t1: acquire m @ a.c:1
t1: acquire n @ a.c:2
t1: release n @ a.c:3
t1: write x = 1 @ a.c:4
t1: release m @ a.c:5
t2: acquire n @ a.c:11
t2: acquire m @ a.c:12
t2: release m @ a.c:13
t2: write x = 2 @ a.c:14
t2: release n @ a.c:15
";

#[test]
fn locks_alone() {
    let folder = Folder::new("explain-locks");
    folder.file("histories.trace", HISTORIES).file("mutex.trace", &litmus("mutex"));
    folder.session(expect![[r#"
        $ explain histories.trace race a.c:4 a.c:14
        data race on x at a.c:4, a.c:14: cannot happen, refuted by locks alone
          For this race, t1 is about to write `x` (a.c:4), and t2 is about to write `x` (a.c:14).
          (1) t2 must release `m` (a.c:13) before t1 takes it (a.c:1), because t2 has taken it (a.c:12), and
              t1 has not released it (a.c:5), so that t1 can only have it later.
          (2) t1 must release `n` (a.c:3) before t2 takes it (a.c:11), because t1 has taken it (a.c:2), and
              t2 has not released it (a.c:15), so that t2 can only have it later.
          (3) t1 cannot take `m` (a.c:1), because this would have to come before itself: t1 takes `m`
              (a.c:1), then releases `n` (a.c:3), by (2) before t2 takes `n` (a.c:11), then releases `m`
              (a.c:13), by (1) before t1 takes `m` (a.c:1).
          But t1 has released `n` (a.c:3), which comes after that: so this race cannot happen.
        status: 0
        $ explain mutex.trace race t1.x t2.x
        data race on x at t1.x, t2.x: cannot happen, refuted by locks alone
          For this race, t1 is about to write `x` (t1.x), and t2 is about to write `x` (t2.x).
          (1) t2 has `m` there, since event 4, and so has t1, since event 0.
          But they cannot both have it at once: so this race cannot happen.
        status: 0
    "#]]);
    folder.file("gate.trace", &litmus("lock-cycle-gate"));
    folder.session(expect![[r#"
        $ explain gate.trace cycle t1.b t2.a
        lock cycle at t1.b, t2.a: cannot happen, refuted by locks alone
          For this deadlock, t1 is about to take `b` (t1.b), and t2 is about to take `a` (t2.a), each with
          what the one before wants.
          (1) t2 has `g` there, since event 6, and so has t1, since event 0.
          But they cannot both have it at once: so this deadlock cannot happen.
        status: 0
    "#]]);
    folder.file("locked.trace", &litmus("atomicity-locked"));
    folder.session(expect![[r#"
        $ predict locked.trace --check atomicity --why
        locked.trace: 9 events, 2 threads, model symbolic

        atomicity violation on balance at t1.read, t2.write, t1.write: cannot happen, refuted by locks alone
          For this violation, t1 has read `balance` (t1.read), after that t2 has written `balance`
          (t2.write), and t1 is about to write `balance` (t1.write).
          (1) t2 must release `m` (event 8) before t1 takes it (event 0), because t2 has taken it (event 6),
              and t1 has not released it (event 5), so that t1 can only have it later.
          (2) t1 cannot take `m` (event 0), because this would have to come before itself: t1 takes `m`
              (event 0), then reads `balance` (t1.read), for this violation before t2 writes `balance`
              (t2.write), then releases `m` (event 8), by (1) before t1 takes `m` (event 0).
          But t1 has read `balance` (t1.read), which comes after that: so this violation cannot happen.

        verdict: no bug in any schedule of these events (checked: atomicity; model symbolic)
        status: 0
    "#]]);
}

#[test]
fn forks_and_joins() {
    let folder = Folder::new("explain-forks");
    folder.file("fork.trace", &litmus("fork-join"));
    folder.session(expect![[r#"
        $ explain fork.trace race parent.x child.x
        data race on x at parent.x, child.x: cannot happen, refuted by order alone
          For this race, parent is about to write `x` (parent.x), and child is about to write `x` (child.x).
          But parent has forked child (event 1), since child runs, and parent has not written `x`
          (parent.x), which comes first: so this race cannot happen.
        status: 0
        $ explain fork.trace race parent.y2 child.y
        data race on y at child.y, parent.y2: cannot happen, refuted by order alone
          For this race, child is about to write `y` (child.y), and parent is about to write `y`
          (parent.y2).
          (1) child writes `y` (child.y) before parent joins child (event 5), because a join waits for the
              whole thread.
          But parent has joined child (event 5), and child has not written `y` (child.y), which comes before
          that: so this race cannot happen.
        status: 0
    "#]]);
}

/// Either of two may notify the wait; what comes before both comes before its end.
const TWO_NOTIFIERS: &str = "\
main: acquire l @ a.c:1
main: fork one @ a.c:2
main: fork two @ a.c:3
main: write x = 1 @ a.c:4
main: release l @ a.c:5
t: acquire m @ a.c:10
t: wait c m @ a.c:11
one: acquire m @ a.c:20
one: signal c @ a.c:21
one: release m @ a.c:22
two: acquire m @ a.c:30
two: signal c @ a.c:31
two: release m @ a.c:32
t: wake c m @ a.c:11
t: release m @ a.c:12
t: acquire l @ a.c:13
t: release l @ a.c:14
t: write x = 2 @ a.c:15
";

#[test]
fn waiting_for_others() {
    let folder = Folder::new("explain-waiting");
    folder.file("meet.trace", TWO_NOTIFIERS).file("cond.trace", &litmus("cond-orders"));
    folder.file("semaphore.trace", &litmus("semaphore-orders"));
    folder.file("barrier.trace", &litmus("barrier-rounds"));
    folder.session(expect![[r#"
        $ explain meet.trace race a.c:4 a.c:15
        data race on x at a.c:4, a.c:15: cannot happen, refuted by order and locks together
          For this race, main is about to write `x` (a.c:4), and t is about to write `x` (a.c:15).
          (1) t must release `l` (a.c:14) before main takes it (a.c:1), because t has taken it (a.c:13), and
              main has not released it (a.c:5), so that main can only have it later.
          (2) t leaves its wait for `c` (a.c:11) only after main forks one (a.c:2), because whatever can
              notify it does not come before that: main forks one (a.c:2), before one takes `m` (a.c:20),
              then signals `c` (a.c:21); main forks one (a.c:2), then forks two (a.c:3), before two takes
              `m` (a.c:30), then signals `c` (a.c:31).
          (3) t cannot leave its wait for `c` (a.c:11), because this would have to come before itself: t
              leaves its wait for `c` (a.c:11), then releases `l` (a.c:14), by (1) before main takes `l`
              (a.c:1), then forks one (a.c:2), by (2) before t leaves its wait for `c` (a.c:11).
          But t has released `l` (a.c:14), which comes after that: so this race cannot happen.
        status: 0
        $ explain cond.trace race t1.x t2.x
        data race on x at t2.x, t1.x: cannot happen, refuted by order alone
          For this race, t2 is about to write `x` (t2.x), and t1 is about to write `x` (t1.x).
          (1) t1 cannot leave its wait for `c` (wake), because nothing can notify it: t2 has not signalled
              `c` (event 4).
          But t1 has released `m` (event 7), which comes after that: so this race cannot happen.
        status: 0
        $ explain semaphore.trace race t1.x t2.x
        data race on x at t1.x, t2.x: cannot happen, refuted by order alone
          For this race, t1 is about to write `x` (t1.x), and t2 is about to write `x` (t2.x).
          (1) t2 cannot pass the semaphore `s` (event 2), because `s` begins with 0, and nothing can post it
              before (t1 has not posted `s` (event 1)).
          But t2 has passed the semaphore `s` (event 2): so this race cannot happen.
        status: 0
        $ predict barrier.trace --why=2 --check race
        barrier.trace: 10 events, 2 threads, model symbolic

        data race on x at t1.x, t2.x: cannot happen, refuted by order alone
          For this race, t1 is about to write `x` (t1.x), and t2 is about to write `x` (t2.x).
          (1) t1 reaches the barrier `b` (event 5) before t2 leaves the barrier `b` (event 8), because
              nobody leaves a barrier before all have reached it.
          But t2 has left the barrier `b` (event 8), and t1 has not written `x` (t1.x), which comes before
          that: so this race cannot happen.

        verdict: no bug in any schedule of these events (checked: race; model symbolic)
        status: 0
    "#]]);
}

/// t2 reads what t1 has left in the flag, so that t1 has written x.
const FLAG: &str = "\
init flag = 0
t1: write x = 1 @ a.c:1
t1: write flag = 1 atomic @ a.c:2
t2: read flag : 1 atomic @ a.c:8
t2: write x = 2 @ a.c:9
";

#[test]
fn what_reads_need() {
    let folder = Folder::new("explain-reads");
    folder.file("flag.trace", FLAG);
    folder.session(expect![[r#"
        $ explain flag.trace race a.c:1 a.c:9 --model values
        data race on x at a.c:1, a.c:9: cannot happen, refuted by what reads need
          For this race, t1 is about to write `x` (a.c:1), and t2 is about to write `x` (a.c:9).
          (1) t1 writes `flag` (a.c:2) before t2 reads `flag` (a.c:8), because no other write leaves what it
              has to read, 1.
          But t2 has read `flag` (a.c:8), and t1 has not written `x` (a.c:1), which comes before that: so
          this race cannot happen.
        status: 0
        $ explain flag.trace race a.c:1 a.c:9 --model reads-from
        data race on x at a.c:1, a.c:9: cannot happen, refuted by what reads need
          For this race, t1 is about to write `x` (a.c:1), and t2 is about to write `x` (a.c:9).
          (1) t1 writes `flag` (a.c:2) before t2 reads `flag` (a.c:8), because it has to see the write that
              it saw in the recorded run.
          But t2 has read `flag` (a.c:8), and t1 has not written `x` (a.c:1), which comes before that: so
          this race cannot happen.
        status: 0
    "#]]);
}

#[test]
fn what_the_solver_refutes() {
    let folder = Folder::new("explain-solver");
    folder.file("swap.trace", &litmus("symbolic-check-and-set"));
    folder.session(expect![[r#"
        $ explain swap.trace race a b --model symbolic --dot graph.dot
        data race on x at a, b: cannot happen, refuted by the solver
          For this race, t1 is about to write `x` (a), and t2 is about to read `x` (b).
          (1) t1 reads what is in `l` (take): what t2 has left at take, or what t2 has left at leave, or
              what is there from the start.
          (2) t2 reads what is in `l` (take): what t1 has left at take, or what t1 has left at leave, or
              what is there from the start.
          (3) If t1 reads at take what is there from the start, then t2 does not update `l` (take) before
              that.
          (4) If t2 reads at take what is there from the start, then t1 does not update `l` (take) before
              that.
          (5) In t1, `f == 0` holds at take.
          (6) In t2, `f == 0` holds at take.
          But these together leave no schedule for it, and none of them can be left out: so this race cannot
          happen.
        status: 0
    "#]]);
    expect![[r#"
        digraph explanation {
          label="data race on x at a, b"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="t1";
            e0 [label="0: rmw l : 0 -> 1\ntake"];
            e1 [label="1: write x : 1\na", style=filled, fillcolor=lightyellow];
            e2 [label="2: atomic write l : 0\nleave"];
          }
          subgraph cluster_1 {
            label="t2";
            e3 [label="3: rmw l : 0 -> 1\ntake"];
            e4 [label="4: read x : 1\nb", style=filled, fillcolor=lightyellow];
            e6 [label="6: atomic write l : 0\nleave"];
          }
          e0 -> e1 [style=solid];
          e1 -> e2 [style=solid];
          e3 -> e4 [style=solid];
          e4 -> e6 [style=solid];
          e0 -> e3 [style=dotted, label="read", constraint=false, color=red, fontcolor=red];
          e2 -> e3 [style=dotted, label="read", constraint=false, color=red, fontcolor=red];
          e3 -> e0 [style=dotted, label="read", constraint=false, color=red, fontcolor=red];
          e6 -> e0 [style=dotted, label="read", constraint=false, color=red, fontcolor=red];
        }
    "#]]
    .assert_eq(&folder.read("graph.dot"));
    folder.file("assertion.trace", &litmus("assertion-locked"));
    folder.session(expect![[r#"
        $ predict assertion.trace --check assertion --why
        assertion.trace: 9 events, 2 threads, model symbolic

        failing assertion at here: cannot happen, refuted by the solver
          For this failure, t2 is about to check the assertion `a == b` (here), and it is false.
          (1) t1's hold of `m` (event 0 to event 3) and t2's hold of `m` (event 4 to event 7) are never at
              once.
          (2) t2 reads what is in `x` (a): what t1 has left at x, or what is there from the start.
          (3) If t2 reads at a what is there from the start, then t1 does not write `x` (x) before that.
          (4) t2 reads what is in `y` (b): what t1 has left at y, or what is there from the start.
          (5) If t2 reads at b what is there from the start, then t1 does not write `y` (y) before that.
          (6) What t2 asserts at here is false.
          But these together leave no schedule for it, and none of them can be left out: so this failure
          cannot happen.

        verdict: no bug in any schedule of these events (checked: assertion; model symbolic)
        status: 0
    "#]]);
}

/// Two posts by two threads, and a wait for each of them.
const TWO_POSTS: &str = "\
semaphore s = 1
semaphore done = 0
a: begin
a: semwait s @ k.c:10
a: write x = 1 @ k.c:11
a: sempost s @ k.c:12
a: sempost done @ k.c:13
a: end
b: begin
b: semwait s @ k.c:20
b: write x = 2 @ k.c:21
b: sempost s @ k.c:22
b: sempost done @ k.c:23
b: end
main: begin
main: semwait done @ k.c:3
main: semwait done @ k.c:4
main: read x : 2 @ k.c:5
main: end
";

#[test]
fn posts_that_come_too_late() {
    let folder = Folder::new("explain-posts");
    folder.file("posts.trace", TWO_POSTS);
    folder.session(expect![[r#"
        $ explain posts.trace stuck k.c:3
        stuck state at k.c:3: cannot happen, refuted by the solver
          For this stuck state, main waits at the semaphore `done` (k.c:3) for ever.
          (1) A thread that waits at `s` at the end finds it 0.
          (2) A thread that waits at `done` at the end finds it 0.
          (3) At the end a is not started, has finished, or cannot go on.
          (4) At the end b is not started, has finished, or cannot go on.
          But these together leave no schedule for it, and none of them can be left out: so this stuck state
          cannot happen.
        status: 0
        $ explain posts.trace race k.c:11 k.c:5 --dot -
        digraph explanation {
          label="data race on x at k.c:11, k.c:5"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="a";
            e2 [label="2: write x : 1\nk.c:11", style=filled, fillcolor=lightyellow];
            e4 [label="4: sempost done\nk.c:13"];
          }
          subgraph cluster_1 {
            label="b";
            e10 [label="10: sempost done\nk.c:23"];
          }
          subgraph cluster_2 {
            label="main";
            e13 [label="13: semwait done\nk.c:3"];
            e14 [label="14: semwait done\nk.c:4", color=red];
            e15 [label="15: read x : 2\nk.c:5", style=filled, fillcolor=lightyellow];
          }
          e2 -> e4 [style=solid, color=red, fontcolor=red];
          e13 -> e14 [style=solid];
          e14 -> e15 [style=solid];
          e4 -> e14 [style=dotted, label="cannot post it before", constraint=false, color=red, fontcolor=red];
          e10 -> e14 [style=dotted, label="may post it before", constraint=false];
        }
        stderr: data race on x at k.c:11, k.c:5: cannot happen, refuted by order alone
        stderr:   For this race, a is about to write `x` (k.c:11), and main is about to read `x` (k.c:5).
        stderr:   (1) main cannot pass the semaphore `done` (k.c:4), because `done` begins with 0, 1 wait passes it
        stderr:       before (main passes the semaphore `done` (k.c:3), then passes the semaphore `done` (k.c:4)),
        stderr:       so that it needs 2 posts before, but only 1 can come before (a has not posted `done`
        stderr:       (k.c:13)).
        stderr:   But main has passed the semaphore `done` (k.c:4): so this race cannot happen.
        status: 0
    "#]]);
}

/// The flag and the broadcast are under the lock, so that the wait is not in vain.
const BROADCAST: &str = "\
init full = 0
c: begin
c: acquire m @ q.c:10
c: f = read full : 0 @ q.c:11
c: branch f == 0 : true @ q.c:11
c: wait cv m @ q.c:12
p: begin
p: write item = 7 @ q.c:20
p: acquire m @ q.c:21
p: write full = 1 @ q.c:22
p: broadcast cv @ q.c:23
p: release m @ q.c:24
p: end
c: wake cv m @ q.c:12
c: release m @ q.c:14
c: read item : 7 @ q.c:15
c: end
";

#[test]
fn notifications_that_come_too_late() {
    let folder = Folder::new("explain-broadcast");
    folder.file("queue.trace", BROADCAST);
    folder.session(expect![[r#"
        $ explain queue.trace stuck q.c:12
        stuck state at q.c:12: cannot happen, refuted by the solver
          For this stuck state, c waits for `cv` (q.c:12) for ever.
          (1) At the end p is not started, has finished, or cannot go on.
          (2) Each broadcast of `cv` wakes all threads that wait then.
          (3) c's hold of `m` (q.c:10 to q.c:12) and p's hold of `m` (q.c:21 to q.c:24) are never at once.
          (4) c reads what is in `full` (q.c:11): what p has left at q.c:22, or what is there from the
              start.
          (5) If c reads at q.c:11 what is there from the start, then p does not write `full` (q.c:22)
              before that.
          (6) In c, `f == 0` holds at q.c:11.
          But these together leave no schedule for it, and none of them can be left out: so this stuck state
          cannot happen.
        status: 0
        $ explain queue.trace race q.c:20 q.c:15 --dot graph.dot
        data race on item at q.c:20, q.c:15: cannot happen, refuted by order alone
          For this race, p is about to write `item` (q.c:20), and c is about to read `item` (q.c:15).
          (1) c cannot leave its wait for `cv` (q.c:12), because nothing can notify it: p has not broadcast
              `cv` (q.c:23).
          But c has released `m` (q.c:14), which comes after that: so this race cannot happen.
        status: 0
    "#]]);
    expect![[r#"
        digraph explanation {
          label="data race on item at q.c:20, q.c:15"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="c";
            e12 [label="12: wake cv m\nq.c:12", color=red];
            e13 [label="13: release m\nq.c:14", color=red];
            e14 [label="14: read item : 7\nq.c:15", style=filled, fillcolor=lightyellow];
          }
          subgraph cluster_1 {
            label="p";
            e6 [label="6: write item : 7\nq.c:20", style=filled, fillcolor=lightyellow];
            e9 [label="9: broadcast cv\nq.c:23"];
          }
          e12 -> e13 [style=solid, color=red, fontcolor=red];
          e13 -> e14 [style=solid];
          e6 -> e9 [style=solid, color=red, fontcolor=red];
          e9 -> e12 [style=dotted, label="cannot notify it", constraint=false, color=red, fontcolor=red];
        }
    "#]].assert_eq(&folder.read("graph.dot"));
}

#[test]
fn a_lock_that_is_never_given_back() {
    let folder = Folder::new("explain-never");
    folder.file(
        "never.trace",
        "t2: acquire m @ a.c:10\nt2: write x = 2 @ a.c:11\nt2: release m @ a.c:12\nt1: acquire m @ a.c:1\nt1: write x = 1 @ a.c:2\n",
    );
    folder.session(expect![[r#"
        $ explain never.trace race a.c:2 a.c:11 --dot graph.dot
        data race on x at a.c:11, a.c:2: cannot happen, refuted by locks alone
          For this race, t2 is about to write `x` (a.c:11), and t1 is about to write `x` (a.c:2).
          (1) t1 has `m` there, since a.c:1, and so has t2, since a.c:10.
          But they cannot both have it at once: so this race cannot happen.
        status: 0
    "#]]);
    expect![[r#"
        digraph explanation {
          label="data race on x at a.c:11, a.c:2"; labelloc=t;
          node [shape=box, fontname="monospace"];
          subgraph cluster_0 {
            label="t2";
            e0 [label="0: acquire m\na.c:10", color=red];
            e1 [label="1: write x : 2\na.c:11", style=filled, fillcolor=lightyellow];
            e2 [label="2: release m\na.c:12"];
          }
          subgraph cluster_1 {
            label="t1";
            e3 [label="3: acquire m\na.c:1"];
            e4 [label="4: write x : 1\na.c:2", style=filled, fillcolor=lightyellow];
          }
          e0 -> e1 [style=solid];
          e1 -> e2 [style=solid];
          e3 -> e4 [style=solid];
          e3 -> e0 [style=dotted, label="lock-order", constraint=false, color=red, fontcolor=red];
        }
    "#]]
    .assert_eq(&folder.read("graph.dot"));
}
