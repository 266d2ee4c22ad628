//! `foretrace predict --compare-models`.

use expect_test::expect;

use super::models::BEHIND_A_BRANCH;
use super::{Folder, example};

#[test]
fn models_are_compared() {
    let folder = Folder::new("compare");
    folder.file("assertion.trace", &example("assertion.trace"));
    folder.file("branch.trace", &BEHIND_A_BRANCH.replace("r < 2", "r == 1"));
    folder.check(
        "predict --check race --compare-models branch.trace",
        expect![[r#"
            branch.trace: 5 events, 2 threads, model symbolic

            race-1 (real): data race on x
              t1  is about to write x : 1  at a.c:2  holding no lock
              t2  is about to read x : 1   at a.c:5  holding no lock
              schedule: 1 step, 1 context switch
               step  t1           t2
                  1  write z : 1               a.c:1
               next* write x : 1               a.c:2
               next*              read x : 1   a.c:5

                    finding                    reads-from  values  symbolic  control
            race-1  race on x at a.c:2, a.c:5  real        real    real      possible
                    race on z at a.c:1, a.c:7  -           -       -         possible
            reads-from is the first to find race-1
            control is the first to find race on z at a.c:1, a.c:7

            verdict: 1 bug that can happen
            status: 1
        "#]],
    );
    // The status is that of the model of the report, not that of the table.
    folder.check(
        "predict --check race --compare-models --model control branch.trace",
        expect![[r#"
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
              t2  is about to read x : 1   at a.c:5  holding no lock
              schedule: 1 step, 1 context switch
               step  t1           t2
                  1  write z : 1               a.c:1
               next* write x : 1               a.c:2
               next*              read x : 1   a.c:5

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
        "#]],
    );
    folder.check(
        "predict --check assertion --compare-models --json - assertion.trace",
        expect![[r#"
            {
             "schema": "foretrace-report/1",
             "tool": {
              "name": "foretrace",
              "version": "0.1.0"
             },
             "trace": {
              "path": "assertion.trace",
              "events": 32,
              "threads": 3,
              "thread_names": ["main","anna","bert"],
              "repairs": [],
              "blind_spots": 0
             },
             "model": "symbolic",
             "settings": {
              "granularity": "location",
              "infer_regions": false,
              "conflicts": null,
              "budget_ms": null,
              "context_bound": null,
              "iterate_bound": false
             },
             "summary": {
              "assertion": {"candidates":2,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":1,"infeasible":1,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":2,"lsa":2,"mhb":2,"ucg":2},"not_asked":[]}
             },
             "slicing": {
              "events": 32,
              "events_left": 32,
              "reads": 7,
              "reads_left": 7,
              "conditions": 4,
              "conditions_left": 4
             },
             "findings": [
              {"id":"assertion-1","fingerprint":"970fccece0002c0f","stable_fingerprint":"970fccece0002c0f","group":"e4fd11d2abf9adfd","kind":"assertion","certainty":"real","model":"symbolic","object":null,"locations":["bank.c:13"],"events":[{"event":26,"thread":"bert","operation":"assert now >= 0 : false (now = -40)","location":"bank.c:13","source":{"file":"bank.c","line":13},"state":"next","locks_held":[{"lock":"m","shared":false,"since":22,"location":"bank.c:12"}]}],"changes":[{"event":19,"operation":"read balance : 100"},{"event":23,"operation":"read balance : 20"},{"event":24,"operation":"write balance : -40"},{"event":25,"operation":"read balance : -40"},{"event":26,"operation":"assert now >= 0 : false (now = -40)"}],"context_switches":3,"schedule":[{"thread":"main","event":0},{"thread":"main","event":1},{"thread":"main","event":2},{"thread":"bert","event":17},{"thread":"bert","event":18},{"thread":"bert","event":19},{"thread":"bert","event":20},{"thread":"bert","event":21},{"thread":"anna","event":3},{"thread":"anna","event":4},{"thread":"anna","event":5},{"thread":"anna","event":6},{"thread":"anna","event":7},{"thread":"anna","event":8},{"thread":"anna","event":9},{"thread":"anna","event":10},{"thread":"anna","event":11},{"thread":"bert","event":22},{"thread":"bert","event":23},{"thread":"bert","event":24},{"thread":"bert","event":25}]}
             ],
             "undecided": [],
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
             "notes": [],
             "excerpt": [
              {"event":0,"thread":"main","operation":"begin","location":"bank.c:20","source":{"file":"bank.c","line":20}},
              {"event":1,"thread":"main","operation":"fork anna","location":"bank.c:21","source":{"file":"bank.c","line":21}},
              {"event":2,"thread":"main","operation":"fork bert","location":"bank.c:22","source":{"file":"bank.c","line":22}},
              {"event":3,"thread":"anna","operation":"begin","location":"bank.c:3","source":{"file":"bank.c","line":3}},
              {"event":4,"thread":"anna","operation":"acquire m","location":"bank.c:4","source":{"file":"bank.c","line":4}},
              {"event":5,"thread":"anna","operation":"read balance : 100","location":"bank.c:5","source":{"file":"bank.c","line":5}},
              {"event":6,"thread":"anna","operation":"branch seen >= 80 : true","location":"bank.c:5","source":{"file":"bank.c","line":5}},
              {"event":7,"thread":"anna","operation":"read balance : 100","location":"bank.c:6","source":{"file":"bank.c","line":6}},
              {"event":8,"thread":"anna","operation":"write balance : 20","location":"bank.c:6","source":{"file":"bank.c","line":6}},
              {"event":9,"thread":"anna","operation":"read balance : 20","location":"bank.c:7","source":{"file":"bank.c","line":7}},
              {"event":10,"thread":"anna","operation":"assert now >= 0 : true","location":"bank.c:7","source":{"file":"bank.c","line":7}},
              {"event":11,"thread":"anna","operation":"release m","location":"bank.c:8","source":{"file":"bank.c","line":8}},
              {"event":17,"thread":"bert","operation":"begin","location":"bank.c:9","source":{"file":"bank.c","line":9}},
              {"event":18,"thread":"bert","operation":"acquire m","location":"bank.c:10","source":{"file":"bank.c","line":10}},
              {"event":19,"thread":"bert","operation":"read balance : 70","location":"bank.c:10","source":{"file":"bank.c","line":10}},
              {"event":20,"thread":"bert","operation":"release m","location":"bank.c:10","source":{"file":"bank.c","line":10}},
              {"event":21,"thread":"bert","operation":"branch seen < 60 : false","location":"bank.c:11","source":{"file":"bank.c","line":11}},
              {"event":22,"thread":"bert","operation":"acquire m","location":"bank.c:12","source":{"file":"bank.c","line":12}},
              {"event":23,"thread":"bert","operation":"read balance : 70","location":"bank.c:12","source":{"file":"bank.c","line":12}},
              {"event":24,"thread":"bert","operation":"write balance : 10","location":"bank.c:12","source":{"file":"bank.c","line":12}},
              {"event":25,"thread":"bert","operation":"read balance : 10","location":"bank.c:13","source":{"file":"bank.c","line":13}},
              {"event":26,"thread":"bert","operation":"assert now >= 0 : true","location":"bank.c:13","source":{"file":"bank.c","line":13}}
             ],
             "threads": [
              {"name":"main"},
              {"name":"anna","created":{"thread":"main","location":"bank.c:21"}},
              {"name":"bert","created":{"thread":"main","location":"bank.c:22"}}
             ]
            }
            status: 1
        "#]],
    );
}

#[test]
fn models_that_make_no_difference_are_not_compared() {
    let folder = Folder::new("compare-few");
    folder.file(
        "no-values.trace",
        "t1: write x @ a.c:1\nt1: write z @ a.c:2\nt2: read z @ a.c:3\nt2: write x @ a.c:4\n",
    );
    folder.check(
        "predict --check race --compare-models no-values.trace",
        expect![[r#"
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
        "#]],
    );
    folder.file("guarded.trace", "t1: acquire m\nt1: write x : 1\nt1: release m\nt2: acquire m\nt2: write x : 2\nt2: release m\n");
    folder.check(
        "predict --check race --compare-models guarded.trace",
        expect![[r#"
            guarded.trace: 6 events, 2 threads, model values

            nothing found by reads-from, values, control

            verdict: no bug in any schedule of these events (checked: race; model values)
            status: 0
        "#]],
    );
}

#[test]
fn what_a_model_leaves_open_is_told_apart() {
    let folder = Folder::new("compare-open");
    folder.file("branch.trace", BEHIND_A_BRANCH);
    folder.check(
        "predict --check race --compare-models --budget 0s branch.trace",
        expect![[r#"
            branch.trace: 5 events, 2 threads, model symbolic

            undecided: 2 candidates (race): the time budget was used up (--budget)

            left open: reads-from 2, values 2, symbolic 2, control 2
            nothing found by reads-from, values, symbolic, control

            verdict: 2 undecided
            status: 3
        "#]],
    );
}
