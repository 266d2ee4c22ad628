//! `foretrace predict`: models, assertions, bounds on context switches.

use expect_test::expect;

use super::{Folder, example};

/// A race on z behind a branch that goes the same way for 0 and 1.
pub(super) const BEHIND_A_BRANCH: &str = "\
init x = 0
t1: write z = 1 @ a.c:1
t1: write x = 1 @ a.c:2
t2: r = read x : 1 @ a.c:5
t2: branch r < 2 : true @ a.c:6
t2: write z = r + 5 : 6 @ a.c:7
";

/// Its output is shown once, below; bounds that allow its schedules change nothing.
const UNBOUNDED: &str = "predict --check race branch.trace";

#[test]
fn an_assertion_that_fails_shows_other_values() {
    let folder = Folder::new("assertion");
    folder.file("assertion.trace", &example("assertion.trace"));
    folder.session(expect![[r#"
        $ predict assertion.trace
        assertion.trace: 32 events, 3 threads, model symbolic

        assertion-1 (real): an assertion fails
          bert  is about to assert now >= 0 : false (now = -40)  at bank.c:13  holding m from bank.c:12
          bert: thread created at bank.c:22
          schedule: 21 steps, 3 context switches
           step  anna                                 bert
               ⋮  main: 3 steps
              4                                       begin                                bank.c:9
              5                                       acquire m                            bank.c:10
              6                                       read balance : 100                   bank.c:10
              7                                       release m                            bank.c:10
              8                                       branch seen < 60 : false             bank.c:11
              9  begin                                                                     bank.c:3
             10  acquire m                                                                 bank.c:4
             11  read balance : 100                                                        bank.c:5
             12  branch seen >= 80 : true                                                  bank.c:5
             13  read balance : 100                                                        bank.c:6
             14  balance: 100 → 20                                                         bank.c:6
             15  read balance : 20                                                         bank.c:7
             16  assert now >= 0 : true                                                    bank.c:7
             17  release m                                                                 bank.c:8
             18                                       acquire m                            bank.c:12
             19                                       read balance : 20                    bank.c:12
             20                                       balance: 20 → -40                    bank.c:12
             21                                       read balance : -40                   bank.c:13
           next*                                      assert now >= 0 : false (now = -40)  bank.c:13

        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        verdict: 1 bug that can happen (not checked: atomicity)
        status: 1
        $ predict assertion.trace --model values
        assertion.trace: 32 events, 3 threads, model values
        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        verdict: no bug in any schedule of these events (checked: race, deadlock, lock, assertion; not checked: atomicity; model values)
        status: 0
    "#]]);
}

#[test]
fn a_store_that_is_next_shows_its_expression_if_its_value_is_not_the_recorded_one() {
    let folder = Folder::new("next-store");
    folder.file("branch.trace", BEHIND_A_BRANCH);
    folder.session(expect![[r#"
        $ predict --check race branch.trace
        branch.trace: 5 events, 2 threads, model symbolic
        2 findings with 2 causes; an index of them is at the end

        race-1 (real): data race on z
          t1  is about to write z : 1      at a.c:1  holding no lock
          t2  is about to write z = r + 5  at a.c:7  holding no lock
          schedule: 2 steps, 1 context switch
           step  t1                   t2
              1                       read x : 0           a.c:5
              2                       branch r < 2 : true  a.c:6
           next*                      write z = r + 5      a.c:7
           next* write z : 1                               a.c:1

        race-2 (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding no lock
          t2  is about to read x       at a.c:5  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  write z : 1               a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:5

        2 findings with 2 causes:
          race-1  real  data race on z  a.c:1, a.c:7
          race-2  real  data race on x  a.c:2, a.c:5

        verdict: 2 bugs that can happen
        status: 1
    "#]]);
}

#[test]
fn control_says_that_it_leaves_out_data() {
    let folder = Folder::new("control");
    let trace = BEHIND_A_BRANCH.replace("r < 2", "r == 1");
    folder.file("branch.trace", &trace);
    folder.session(expect![[r#"
        $ predict --check race --model control branch.trace
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

        2 findings with 2 causes:
          race-1  possible  data race on z  a.c:1, a.c:7
          race-2  possible  data race on x  a.c:2, a.c:5

        note: possible: model control leaves out what is read and computed, so the schedules are not proved feasible
        verdict: 2 possible
        status: 3
    "#]]);
}

#[test]
fn symbolic_without_dependences_is_values() {
    let folder = Folder::new("imported");
    folder.file("imported.std", "T1|w(z)|1\nT1|w(x)|2\nT2|r(x)|5\nT2|w(z)|7\n");
    folder.session(expect![[r#"
        $ predict --check race --model symbolic imported.std
        imported.std: 4 events, 2 threads, model symbolic

        race-1 (real): data race on x
          T1  is about to write x  at 2  holding no lock
          T2  is about to read x   at 5  holding no lock
          schedule: 1 step, 1 context switch
           step  T1        T2
              1  write z             1
           next* write x             2
           next*           read x    5

        note: the trace does not record which events depend on reads, so symbolic finds the same as values
        verdict: 1 bug that can happen
        status: 1
    "#]]);
    folder.file("unknown.trace", &format!("dependences unknown\n{BEHIND_A_BRANCH}"));
    folder.session(expect![[r#"
        $ predict --check race --model symbolic unknown.trace
        unknown.trace: 5 events, 2 threads, model symbolic

        race-1 (real): data race on x
          t1  is about to write x : 1  at a.c:2  holding no lock
          t2  is about to read x       at a.c:5  holding no lock
          schedule: 1 step, 1 context switch
           step  t1           t2
              1  write z : 1               a.c:1
           next* write x : 1               a.c:2
           next*              read x       a.c:5

        note: the trace does not record which events depend on reads, so symbolic finds the same as values
        verdict: 1 bug that can happen
        status: 1
    "#]]);
}

#[test]
fn a_verdict_within_a_bound_says_so() {
    let folder = Folder::new("bound");
    folder.file("branch.trace", BEHIND_A_BRANCH);
    folder.session(expect![[r#"
        $ predict --check race --context-bound 0 branch.trace
        branch.trace: 5 events, 2 threads, model symbolic
        verdict: no bug in any schedule of these events with at most 0 context switches (checked: race; model symbolic)
        status: 0
        $ predict --check race --context-bound 1 --json - branch.trace | settings summary findings
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null,
          "context_bound": 1,
          "iterate_bound": false
         },
         "summary": {
          "race": {"candidates":2,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":2,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":2,"lsa":2,"mhb":2,"ucg":2},"not_asked":[]}
         },
         "findings": [
          {"id":"race-1","fingerprint":"a3af34c5cfe8acf0","stable_fingerprint":"a3af34c5cfe8acf0","group":"d800b1b13715fe16","kind":"race","certainty":"real","model":"symbolic","object":"z","place":"z","locations":["a.c:1","a.c:7"],"events":[{"event":0,"thread":"t1","operation":"write z : 1","location":"a.c:1","source":{"file":"a.c","line":1},"state":"next","locks_held":[]},{"event":4,"thread":"t2","operation":"write z = r + 5","location":"a.c:7","source":{"file":"a.c","line":7},"state":"next","locks_held":[]}],"changes":[{"event":2,"operation":"read x : 0"},{"event":4,"operation":"write z = r + 5"}],"context_switches":1,"schedule":[{"thread":"t2","event":2},{"thread":"t2","event":3}]},
          {"id":"race-2","fingerprint":"f6d601ac80037123","stable_fingerprint":"f6d601ac80037123","group":"d7fab1b137119268","kind":"race","certainty":"real","model":"symbolic","object":"x","place":"x","locations":["a.c:2","a.c:5"],"events":[{"event":1,"thread":"t1","operation":"write x : 1","location":"a.c:2","source":{"file":"a.c","line":2},"state":"next","locks_held":[]},{"event":2,"thread":"t2","operation":"read x","location":"a.c:5","source":{"file":"a.c","line":5},"state":"next","locks_held":[]}],"changes":[{"event":2,"operation":"read x"}],"context_switches":1,"schedule":[{"thread":"t1","event":0}]}
         ],
        status: 1
    "#]]);
    folder.check_same("predict --check race --context-bound 1 branch.trace", UNBOUNDED);
    // Needs no bound: the branch would turn.
    folder.file(
        "turns.trace",
        "\
init x = 0
t1: write z = 1 @ a.c:1
t1: write x = 1 atomic @ a.c:2
t2: r = read x : 1 atomic @ a.c:5
t2: branch r == 1 : true @ a.c:6
t2: write z = r + 5 : 6 @ a.c:7
",
    );
    folder.session(expect![[r#"
        $ predict --check race --context-bound 2 turns.trace
        turns.trace: 5 events, 2 threads, model symbolic
        verdict: no bug in any schedule of these events, proved for any number of context switches (checked: race; model symbolic)
        status: 0
    "#]]);
}

#[test]
fn bounds_that_are_none() {
    let folder = Folder::new("bad-bound");
    for bound in ["many", "-1", "1.5", "1001", "99999999999"] {
        let output =
            folder.command(&format!("predict x --context-bound={bound}")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.starts_with(&format!("error: invalid value '{bound}' for '--context-bound <N>'")),
            "{said}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
    folder.session(expect![[r#"
        $ predict x --context-bound 1 --iterate-bound
        stderr: error: the argument '--context-bound <N>' cannot be used with '--iterate-bound'
        stderr: 
        stderr: Usage: foretrace predict --context-bound <N> <TRACE>...
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
        $ predict x --model values-only
        stderr: error: invalid value 'values-only' for '--model <MODEL>'
        stderr:   [possible values: auto, reads-from, values, symbolic, control]
        stderr: 
        stderr:   tip: a similar value exists: 'values'
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]]);
}

#[test]
fn the_fewest_switches_are_found() {
    let folder = Folder::new("fewest");
    folder.file("branch.trace", BEHIND_A_BRANCH);
    folder.check_same("predict --check race --iterate-bound branch.trace", UNBOUNDED);
}

#[test]
fn assertions_without_a_condition_are_not_asked() {
    let folder = Folder::new("opaque-assertion");
    folder.file("opaque.trace", "t1: read x : 1\nt1: assert : true\nt1: assert : true\n");
    folder.session(expect![[r#"
        $ predict --check assertion opaque.trace
        opaque.trace: 3 events, 1 thread, model values
        not checked: assertion: 2 whose condition is not recorded, and which held in the recorded run
        verdict: none (not checked: assertion)
        status: 0
    "#]]);
}
