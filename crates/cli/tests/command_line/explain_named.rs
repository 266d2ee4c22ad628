//! What `foretrace explain` takes for a candidate, and what it says of what can happen;
//! explanations in a report.

use expect_test::expect;

use super::explain::litmus;
use super::{Folder, SMALL, example};

#[test]
fn what_can_happen() {
    let folder = Folder::new("explain-happens");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ explain small.trace race-1
        race-1 (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding m from a.c:1
          t2  is about to read x       at a.c:9  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  acquire m                 a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:9
        status: 1
        $ explain small.trace race a.c:2 t2@a.c:9 --dot graph.dot
        race (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding m from a.c:1
          t2  is about to read x       at a.c:9  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  acquire m                 a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:9
        note: --dot wrote nothing, since nothing is refuted
        status: 1
        $ explain small.trace race a.c:2 a.c:9 --model control
        race (possible): data race on x
          t1  is about to write x : 1  at a.c:2  holding m from a.c:1
          t2  is about to read x       at a.c:9  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  acquire m                 a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:9
        note: possible: model control leaves out what is read and computed, so the schedules are not proved feasible
        status: 3
    "#]]);
    assert!(!folder.names().contains(&"graph.dot".to_string()));
    // Standard output is for the graph.
    folder.session(expect![[r#"
        $ explain small.trace race-1 --dot -
        stderr: race-1 (real): data race on x
        stderr:   t1  is about to write x : 1  at a.c:2  holding m from a.c:1
        stderr:   t2  is about to read x       at a.c:9  holding no lock
        stderr:   schedule: 1 step, 1 context switch
        stderr:    step  t1           t2
        stderr:       1  acquire m                 a.c:1
        stderr:    next* write x : 1               a.c:2
        stderr:    next*              read x       a.c:9
        stderr: note: --dot wrote nothing, since nothing is refuted
        status: 1
    "#]]);
}

/// The same two places, three times.
const LOOP: &str = "\
t1: write x = 0 @ a.c:1
t1: fork t2 @ a.c:2
t2: read x : 0 @ a.c:9
t1: join t2 @ a.c:3
t1: write x = 0 @ a.c:1
t1: fork t3 @ a.c:2
t3: read x : 0 @ a.c:9
t1: join t3 @ a.c:3
";

#[test]
fn many_candidates_at_one_place() {
    let folder = Folder::new("explain-many");
    folder.file("loop.trace", LOOP);
    folder.session(expect![[r#"
        $ explain loop.trace race a.c:1 a.c:9
        4 candidates fit; none of them can happen, and this is why the first one cannot:

        data race on x at a.c:1, a.c:9 (events 0, 2): cannot happen, refuted by order alone
          For this race, t1 is about to write `x` (a.c:1), and t2 is about to read `x` (a.c:9).
          But t1 has forked t2 (a.c:2), since t2 runs, and t1 has not written `x` (a.c:1), which comes
          first: so this race cannot happen.
        hint: to choose, name events by number, or by THREAD@LOCATION
        status: 0
    "#]]);
    let open = LOOP.replace("t1: join t2 @ a.c:3\n", "");
    folder.file("open.trace", &open);
    folder.session(expect![[r#"
        $ explain open.trace race a.c:1 a.c:9
        4 candidates fit; this one can happen:

        race (real): data race on x
          t2  is about to read x       at a.c:9  holding no lock
          t1  is about to write x : 0  at a.c:1  holding no lock
          t2: thread created at a.c:2
          schedule: 2 steps, 1 context switch
           step  t1           t2
              1  write x : 0               a.c:1
              2  fork t2                   a.c:2
           next* write x : 0               a.c:1
           next*              read x       a.c:9
        hint: to choose, name events by number, or by THREAD@LOCATION
        status: 1
        $ explain open.trace race a.c:1 t3@a.c:9
        2 candidates fit; none of them can happen, and this is why the first one cannot:

        data race on x at a.c:1, a.c:9 (events 0, 5): cannot happen, refuted by order alone
          For this race, t1 is about to write `x` (a.c:1), and t3 is about to read `x` (a.c:9).
          But t1 has forked t3 (a.c:2), since t3 runs, and t1 has not written `x` (a.c:1), which comes
          first: so this race cannot happen.
        hint: to choose, name events by number, or by THREAD@LOCATION
        status: 0
    "#]]);
}

#[test]
fn not_all_were_looked_at() {
    let folder = Folder::new("explain-most");
    let hold = |thread: &str, line: u32| {
        format!(
            "{thread}: acquire m @ a.c:{line}\n{thread}: write x = 1 @ a.c:{}\n{thread}: release m @ a.c:{}\n",
            line + 1,
            line + 2
        )
    };
    folder.file("many.trace", &[hold("t1", 1).repeat(9), hold("t2", 11).repeat(9)].concat());
    folder.session(expect![[r#"
        $ explain many.trace race a.c:2 a.c:12
        81 candidates fit, and 17 of them were not examined; none of the others can happen, and this is why the first one cannot:

        data race on x at a.c:2, a.c:12 (events 1, 28): cannot happen, refuted by locks alone
          For this race, t1 is about to write `x` (a.c:2), and t2 is about to write `x` (a.c:12).
          (1) t2 has `m` there, since a.c:11, and so has t1, since a.c:1.
          But they cannot both have it at once: so this race cannot happen.
        note: this answer covers only these events; whether one of the other 17 can happen is not known
        hint: to choose, name events by number, or by THREAD@LOCATION
        status: 3
    "#]]);
}

#[test]
fn names_that_mean_nothing() {
    let folder = Folder::new("explain-names");
    folder.file("small.trace", SMALL);
    folder.file("program.ftp", &example("withdraw.ftp"));
    folder.file("loop.trace", LOOP).file("lost.trace", &example("lost-signal.trace"));
    folder.file("handed.trace", &litmus("cycle-handed-over"));
    for (arguments, expected) in [
        (
            "small.trace",
            expect![[r#"
            stderr: error: the following required arguments were not provided:
            stderr:   <CANDIDATE>...
            stderr: 
            stderr: Usage: foretrace explain <TRACE> <CANDIDATE>...
            stderr: 
            stderr: For more information, try '--help'.
            status: 2
        "#]],
        ),
        (
            "small.trace race-7",
            expect![[r#"
                stderr: error: there is no finding race-7
                stderr: hint: with these options predict finds race-1
                status: 2
            "#]],
        ),
        (
            "small.trace rat-7",
            expect![[r#"
            stderr: error: `rat-7` is neither a finding nor a kind of bug
            stderr: hint: name it as predict does (race-1), or: race A B, atomicity A R B, cycle A B ..., stuck A, lock A, assertion A; each place is the number of an event, a location (bank.c:12), or THREAD@LOCATION
            status: 2
        "#]],
        ),
        (
            "small.trace race-1 a.c:2",
            expect![[r#"
            stderr: error: `race-1` is a finding, and needs no places
            stderr: hint: name it as predict does (race-1), or: race A B, atomicity A R B, cycle A B ..., stuck A, lock A, assertion A; each place is the number of an event, a location (bank.c:12), or THREAD@LOCATION
            status: 2
        "#]],
        ),
        (
            "small.trace race a.c:2",
            expect![[r#"
            stderr: error: `race` needs 2 places, not 1
            stderr: hint: name it as predict does (race-1), or: race A B, atomicity A R B, cycle A B ..., stuck A, lock A, assertion A; each place is the number of an event, a location (bank.c:12), or THREAD@LOCATION
            status: 2
        "#]],
        ),
        (
            "small.trace race a.c:2 a.c:77",
            expect![[r#"
                stderr: error: no event is at `a.c:77`
                stderr: hint: the nearest events are at a.c:9, a.c:3, a.c:2
                status: 2
            "#]],
        ),
        (
            "small.trace race a.c:2 t9@a.c:9",
            expect![[r#"
            stderr: error: there is no thread `t9`
            stderr: hint: the threads are t1, t2
            status: 2
        "#]],
        ),
        (
            "small.trace race 1 99",
            expect![[r#"
            stderr: error: there is no event 99: the trace has 4
            stderr: hint: events are numbered from 0, as in the JSON report
            status: 2
        "#]],
        ),
        (
            "small.trace race 1 2",
            expect![[r#"
                stderr: error: this is not a candidate: it is about accesses of memory, and event 2 (a.c:3) is none
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "small.trace race a.c:1 a.c:9",
            expect![[r#"
                stderr: error: this is not a candidate: it is about accesses of memory, and event 0 (a.c:1) is none
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "small.trace assertion a.c:1",
            expect![[r#"
                stderr: error: this is not a candidate: it is not an assertion
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "small.trace assertion-1",
            expect![[r#"
            stderr: error: there is no finding assertion-1
            stderr: hint: with these options predict finds race-1
            status: 2
        "#]],
        ),
        (
            "small.trace deadlock a.c:1",
            expect![[r#"
            stderr: error: `deadlock` is neither a finding nor a kind of bug
            stderr: hint: deadlocks are of two kinds: cycle A B ..., and stuck A; findings of them are lock-cycle-1 and stuck-1
            status: 2
        "#]],
        ),
        (
            "small.trace stuck a.c:1",
            expect![[r#"
                stderr: error: this is not a candidate: no other thread ends with a hold that excludes this one; threads that wait for each other's locks are a lock cycle
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "loop.trace race a.c:2 a.c:9",
            expect![[r#"
            stderr: error: nothing at a.c:2 can be part of a data race
            stderr: hint: a race is of two accesses of one variable by different threads; one of them writes, and not both are atomic
            status: 2
        "#]],
        ),
        (
            "loop.trace race t1@a.c:1 t1@a.c:1",
            expect![[r#"
            stderr: error: the events at t1@a.c:1, t1@a.c:1 cannot be a data race
            stderr: hint: a race is of two accesses of one variable by different threads; one of them writes, and not both are atomic
            status: 2
        "#]],
        ),
        (
            "loop.trace lock a.c:1",
            expect![[r#"
            stderr: error: nothing at a.c:1 can be part of a lock error
            stderr: hint: only taking, releasing or destroying a lock can be such an error
            status: 2
        "#]],
        ),
        (
            "loop.trace stuck a.c:3",
            expect![[r#"
            stderr: error: nothing at a.c:3 can be part of a stuck state
            stderr: hint: a thread may be stuck where it takes a lock, waits, is at a semaphore or barrier, or in a call that others feed; for a join, name what the joined thread waits for
            status: 2
        "#]],
        ),
        (
            "lost.trace stuck queue.c:33",
            expect![[r#"
                stderr: error: this is not a candidate: a join is not a candidate of its own; what the joined thread, consumer, waits for is one
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "handed.trace cycle m.c:2 m.c:6",
            expect![[r#"
                stderr: error: this is not a candidate: the lock A that t1 has at event 4 (m.c:2) is given back by another thread, so that it does not block for ever
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "handed.trace cycle m.c:2 m.c:5",
            expect![[r#"
                stderr: error: this is not a candidate: t2 does not have the lock B at event 7 (m.c:5), which the one before it in the cycle wants
                stderr: hint: docs/theory.md, section 4, says what counts as one
                status: 2
            "#]],
        ),
        (
            "program.ftp race 1 2",
            expect![[r#"
            stderr: error: a program has no recorded events that could be named
            stderr: hint: explain takes a trace
            status: 2
        "#]],
        ),
    ] {
        folder.check(&format!("explain {arguments}"), expected);
    }
    folder.session(expect![[r#"
        $ predict small.trace --why --solver z3
        stderr: error: --why cannot be used with --solver
        stderr: hint: foretrace explain does not need it
        status: 2
        $ predict small.trace --why 5
        stderr: error: there is no trace `5`
        stderr: hint: to explain 5 refuted candidates, write --why=5
        status: 2
        $ predict program.ftp --why
        stderr: error: --why is not for a program
        stderr: hint: only candidates of a trace are explained
        status: 2
    "#]]);
}

#[test]
fn why_in_a_report() {
    let folder = Folder::new("why");
    folder.file("fork.trace", &litmus("fork-join"));
    folder.session(expect![[r#"
        $ predict fork.trace --check race --why
        fork.trace: 8 events, 2 threads, model symbolic

        race-1 (real): data race on y
          parent  is about to write y : 1  at parent.y  holding no lock
          child   is about to write y : 2  at child.y   holding no lock
          schedule: 3 steps, 2 context switches
           step  parent       child
              1  write x : 1               parent.x
              2  fork child
              3               x: 1 → 2     child.x
           next*              write y : 2  child.y
           next* write y : 1               parent.y

        data race on x at parent.x, child.x: cannot happen, refuted by order alone
          For this race, parent is about to write `x` (parent.x), and child is about to write `x` (child.x).
          But parent has forked child (event 1), since child runs, and parent has not written `x`
          (parent.x), which comes first: so this race cannot happen.

        data race on x at child.x, parent.x2: cannot happen, refuted by order alone
          For this race, child is about to write `x` (child.x), and parent is about to write `x`
          (parent.x2).
          (1) child writes `y` (child.y) before parent joins child (event 5), because a join waits for the
              whole thread.
          But parent has joined child (event 5), and child has not written `x` (child.x), which comes before
          that: so this race cannot happen.

        data race on y at child.y, parent.y2: cannot happen, refuted by order alone
          For this race, child is about to write `y` (child.y), and parent is about to write `y`
          (parent.y2).
          (1) child writes `y` (child.y) before parent joins child (event 5), because a join waits for the
              whole thread.
          But parent has joined child (event 5), and child has not written `y` (child.y), which comes before
          that: so this race cannot happen.


        verdict: 1 bug that can happen
        status: 1
        $ predict fork.trace --check race --why=1 --json - | summary refuted refuted_not_explained
         "summary": {
          "race": {"candidates":4,"pruned_mhb":3,"pruned_lsa":0,"pruned_ucg":0,"violated":1,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":4,"lsa":4,"mhb":1,"ucg":1},"not_asked":[]}
         },
         "refuted": [
          {"property":"race","kind":"race","events":[0,3],"title":"data race on x at parent.x, child.x","by":"order","demand":"For this race, parent is about to write `x` (parent.x), and child is about to write `x` (child.x).","steps":[],"conclusion":"But parent has forked child (event 1), since child runs, and parent has not written `x` (parent.x), which comes first: so this race cannot happen."}
         ],
         "refuted_not_explained": 2,
        status: 1
    "#]]);
}
