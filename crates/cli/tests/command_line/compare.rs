//! `foretrace predict --compare-models`.

use expect_test::expect;

use super::models::BEHIND_A_BRANCH;
use super::{Folder, example};

#[test]
fn models_are_compared() {
    let folder = Folder::new("compare");
    folder.file("assertion.trace", &example("assertion.trace"));
    folder.file("branch.trace", &BEHIND_A_BRANCH.replace("r < 2", "r == 1"));
    folder.session(expect![[r#"
        $ predict --check race --compare-models branch.trace
        branch.trace: 5 events, 2 threads, model symbolic

        race-1 (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding no lock
          t2  is about to read x       at a.c:5  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  write z : 1               a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:5

                finding                    reads-from  values  symbolic  control
        race-1  race on x at a.c:2, a.c:5  real        real    real      possible
                race on z at a.c:1, a.c:7  -           -       -         possible
        reads-from is the first to find race-1
        control is the first to find race on z at a.c:1, a.c:7

        verdict: 1 bug that can happen
        status: 1
        # The status is that of the model of the report, not that of the table.
        $ predict --check race --compare-models --model control branch.trace
        branch.trace: 5 events, 2 threads, model control
        2 findings with 2 causes; an index of them is at the end

        race-1 (possible): data race on z
          t1  is about to write z : 1      at a.c:1  holding no lock
          t2  is about to write z = r + 5  at a.c:7  holding no lock
          schedule: 2 steps, 1 context switch
           step  t1                    t2
              1                        read x                a.c:5
              2                        branch r == 1 : true  a.c:6
           next*                       write z = r + 5       a.c:7
           next* write z : 1                                 a.c:1

        race-2 (possible): data race on x
          t1  is about to write x : 1  at a.c:2  holding no lock
          t2  is about to read x       at a.c:5  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  write z : 1               a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:5

                finding                    reads-from  values  symbolic  control
        race-1  race on z at a.c:1, a.c:7  -           -       -         possible
        race-2  race on x at a.c:2, a.c:5  real        real    real      possible
        reads-from is the first to find race-2
        control is the first to find race-1


        2 findings with 2 causes:
          race-1  possible  data race on z  a.c:1, a.c:7
          race-2  possible  data race on x  a.c:2, a.c:5
        note: possible: model control leaves out what is read and computed, so the schedules are not proved feasible
        verdict: 2 possible
        status: 3
        $ predict --check assertion --compare-models --json - assertion.trace | compared_models compare threads
         "compared_models": [
          {"model":"reads-from","undecided":0},
          {"model":"values","undecided":0},
          {"model":"symbolic","undecided":0},
          {"model":"control","undecided":0}
         ],
         "compare": [
          {"id":"assertion-1","kind":"assertion","object":null,"places":["bank.c:13"],"models":{"reads-from":"not-found","values":"not-found","symbolic":"real","control":"possible"},"first":"symbolic"},
          {"id":null,"kind":"assertion","object":null,"places":["bank.c:7"],"models":{"reads-from":"not-found","values":"not-found","symbolic":"not-found","control":"possible"},"first":"control"}
         ],
         "threads": [
          {"name":"main"},
          {"name":"anna","created":{"thread":"main","location":"bank.c:21"}},
          {"name":"bert","created":{"thread":"main","location":"bank.c:22"}}
         ]
        status: 1
    "#]]);
}

#[test]
fn models_that_make_no_difference_are_not_compared() {
    let folder = Folder::new("compare-few");
    folder.file(
        "no-values.trace",
        "t1: write x @ a.c:1\nt1: write z @ a.c:2\nt2: read z @ a.c:3\nt2: write x @ a.c:4\n",
    );
    folder.session(expect![[r#"
        $ predict --check race --compare-models no-values.trace
        no-values.trace: 4 events, 2 threads, model reads-from

        race-1 (real): data race on z
          t1  is about to write z  at a.c:2  holding no lock
          t2  is about to read z   at a.c:3  holding no lock
          schedule: 1 step, 1 context switch
           step  t1        t2
              1  write x             a.c:1
           next* write z             a.c:2
           next*           read z    a.c:3

                finding                    reads-from  control
        race-1  race on z at a.c:2, a.c:3  real        possible
                race on x at a.c:1, a.c:4  -           possible
        reads-from is the first to find race-1
        control is the first to find race on x at a.c:1, a.c:4

        verdict: 1 bug that can happen
        status: 1
    "#]]);
    folder.file("guarded.trace", "t1: acquire m\nt1: write x : 1\nt1: release m\nt2: acquire m\nt2: write x : 2\nt2: release m\n");
    folder.session(expect![[r#"
        $ predict --check race --compare-models guarded.trace
        guarded.trace: 6 events, 2 threads, model values

        nothing found by reads-from, values, control

        verdict: no bug in any schedule of these events (checked: race; model values)
        status: 0
    "#]]);
}

#[test]
fn what_a_model_leaves_open_is_told_apart() {
    let folder = Folder::new("compare-open");
    folder.file("branch.trace", BEHIND_A_BRANCH);
    folder.session(expect![[r#"
        $ predict --check race --compare-models --budget 0s branch.trace
        branch.trace: 5 events, 2 threads, model symbolic

        undecided: 2 candidates (race): the time budget was used up (--budget)

        left open: reads-from 2, values 2, symbolic 2, control 2
        nothing found by reads-from, values, symbolic, control

        verdict: 2 undecided
        status: 3
    "#]]);
}
