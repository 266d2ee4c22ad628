//! `foretrace predict` of a program.

use expect_test::expect;

use super::{Folder, example};

#[test]
fn the_example() {
    let folder = Folder::new("program-example");
    folder.file("withdraw.ftp", &example("withdraw.ftp"));
    folder.session(expect![[r#"
        $ predict withdraw.ftp
        withdraw.ftp: program, 3 threads, 29 events

        assertion-1 (real): an assertion fails
          main  is about to assert load balance >= 0 : false (load balance = -60)
                  at bank:7, holding no lock
          inputs: wanted = 100 (main)
          schedule: 20 steps, 6 context switches
           step  main                                       main/a              main/b
              1  wanted = external wanted : 100
              2  fork main/a                                                                        bank:3
              3                                             acquire m                               bank:10
              4                                             load balance : 100                      bank:11
              5                                             release m                               bank:12
              6  fork main/b                                                                        bank:4
              7                                                                 acquire m           bank:10
              8                                                                 load balance : 100  bank:11
              9                                                                 release m           bank:12
             10                                             acquire m                               bank:14
             11                                             load balance : 100                      bank:15
             12                                             balance: 100 → 0                        bank:15
             13                                             release m                               bank:16
             14                                                                 acquire m           bank:14
             15                                                                 load balance : 0    bank:15
             16                                                                 balance: 0 → -60    bank:15
             17                                                                 release m           bank:16
               ⋮  main: 2 steps
             20  load balance : -60                                                                 bank:7
           next* assert load balance >= 0 : false (load balance = -60)                              bank:7

        not checked: atomicity: not supported for programs
        not checked: deadlock: not supported for programs
        verdict: 1 bug that can happen (not checked: atomicity, deadlock)
        status: 1
    "#]]);
}

#[test]
fn its_correct_twin() {
    let text = example("withdraw.ftp");
    let halves = [
        "  release m                                  @ bank:12\n",
        "    acquire m                                @ bank:14\n",
    ];
    let text = text.replace(halves[0], "").replace(halves[1], "");
    let text = text.replace(
        "    release m                                @ bank:16\n  }\n",
        "  }\n  release m\n",
    );
    let folder = Folder::new("program-correct");
    folder.file("withdraw.ftp", &text);
    folder.session(expect![[r#"
        $ predict withdraw.ftp
        withdraw.ftp: program, 3 threads, 25 events
        not checked: atomicity: not supported for programs
        not checked: deadlock: not supported for programs
        verdict: no bug in any execution of this program (checked: race, assertion; not checked: atomicity, deadlock)
        status: 0
        $ predict withdraw.ftp --check assertion --context-bound 2
        withdraw.ftp: program, 3 threads, 25 events
        verdict: no bug in any execution of this program, proved for any number of context switches (checked: assertion)
        status: 0
    "#]]);
}

const FIGURE: &str = "\
foretrace-program 1
global x = 7
thread main {
  store x, 0                     @ W1
  t1 := fork body()
  t2 := fork body()
  join t1
  join t2
  assert load x == 3             @ R4
}
func body() {
  if load x < 1 {                @ R1
    tmp := load x                @ R2
    store x, tmp + 1             @ W2
  } else {
    tmp := load x                @ R3
    store x, tmp + 2             @ W3
  }
}
";

/// 003, Fig. 1.
#[test]
fn bounds() {
    let folder = Folder::new("program-bounds");
    folder.file("figure.ftp", FIGURE);
    folder.session(expect![[r#"
        $ predict figure.ftp --check assertion --iterate-bound
        figure.ftp: program, 3 threads, 25 events

        assertion-1 (real): an assertion fails
          main  is about to assert load x == 3 : false (load x = 1)  at R4  holding no lock
          schedule: 12 steps, 4 context switches
           step  main                                     main/t1           main/t2
              1  store x : 0                                                                  W1
               ⋮  main: 2 steps
              4                                           load x : 0                          R1
              5                                           tmp = load x : 0                    R2
              6                                                             load x : 0        R1
              7                                                             tmp = load x : 0  R2
              8                                                             x: 0 → 1          W2
              9                                           x: 1 → 1                            W2
               ⋮  main: 2 steps
             12  load x : 1                                                                   R4
           next* assert load x == 3 : false (load x = 1)                                      R4

        verdict: 1 bug that can happen
        status: 1
        $ predict figure.ftp --check assertion --context-bound 3
        figure.ftp: program, 3 threads, 25 events
        verdict: no bug in any execution of this program with at most 3 context switches (checked: assertion)
        status: 0
        $ predict figure.ftp --check race --granularity variable
        figure.ftp: program, 3 threads, 25 events

        race-1 (real): data race on x
          main/t1  is about to store x : 1  at W2  holding no lock
          main/t2  is about to load x       at R1  holding no lock
          schedule: 5 steps, 4 context switches
           step  main              main/t1           main/t2
              1  store x : 0                                           W1
              2  fork main/t1
              3                    load x : 0                          R1
              4                    tmp = load x : 0                    R2
              5  fork main/t2
           next*                   store x : 1                         W2
           next*                                     load x            R1

        verdict: 1 bug that can happen
        status: 1
    "#]]);
}

#[test]
fn json() {
    let folder = Folder::new("program-json");
    folder.file("figure.ftp", FIGURE);
    folder.session(expect![[r#"
        $ predict figure.ftp --check assertion --iterate-bound --json - | trace settings findings excerpt
         "trace": {
          "path": "figure.ftp",
          "subject": "program",
          "events": 25,
          "threads": 3,
          "thread_names": ["main","main/t1","main/t2"],
          "repairs": [],
          "blind_spots": 0
         },
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null,
          "context_bound": null,
          "iterate_bound": true
         },
         "findings": [
          {"id":"assertion-1","fingerprint":"83a6095d0f26917c","stable_fingerprint":"83a6095d0f26917c","group":"e4fd11d2abf9adfd","kind":"assertion","certainty":"real","model":"symbolic","object":null,"locations":["R4"],"events":[{"event":23,"thread":"main","operation":"assert load x == 3 : false (load x = 1)","location":"R4","state":"next","locks_held":[]}],"changes":[{"event":1,"operation":"store x : 0"},{"event":4,"operation":"load x : 0"},{"event":5,"operation":"tmp = load x : 0"},{"event":6,"operation":"store x : 1"},{"event":13,"operation":"load x : 0"},{"event":14,"operation":"tmp = load x : 0"},{"event":15,"operation":"store x : 1"},{"event":22,"operation":"load x : 1"},{"event":23,"operation":"assert load x == 3 : false (load x = 1)"}],"context_switches":4,"schedule":[{"thread":"main","event":1},{"thread":"main","event":2},{"thread":"main","event":11},{"thread":"main/t1","event":4},{"thread":"main/t1","event":5},{"thread":"main/t2","event":13},{"thread":"main/t2","event":14},{"thread":"main/t2","event":15},{"thread":"main/t1","event":6},{"thread":"main","event":20},{"thread":"main","event":21},{"thread":"main","event":22}]}
         ],
         "excerpt": [
          {"event":1,"thread":"main","operation":"store x, 0","location":"W1"},
          {"event":2,"thread":"main","operation":"fork main/t1","location":null},
          {"event":4,"thread":"main/t1","operation":"load x","location":"R1"},
          {"event":5,"thread":"main/t1","operation":"tmp = load x","location":"R2"},
          {"event":6,"thread":"main/t1","operation":"store x, tmp + 1","location":"W2"},
          {"event":11,"thread":"main","operation":"fork main/t2","location":null},
          {"event":13,"thread":"main/t2","operation":"load x","location":"R1"},
          {"event":14,"thread":"main/t2","operation":"tmp = load x","location":"R2"},
          {"event":15,"thread":"main/t2","operation":"store x, tmp + 1","location":"W2"},
          {"event":20,"thread":"main","operation":"join main/t1","location":null},
          {"event":21,"thread":"main","operation":"join main/t2","location":null},
          {"event":22,"thread":"main","operation":"load x","location":"R4"},
          {"event":23,"thread":"main","operation":"assert load x == 3","location":"R4"}
         ],
        status: 1
    "#]]);
}

#[test]
fn misuse_of_locks_and_places_that_are_not_to_be_reached() {
    let folder = Folder::new("program-locks");
    folder.file(
        "locks.ftp",
        "\
foretrace-program 1
global x = 0
lock m
thread t {
  n := external size : 32
  acquire m                      @ 1
  if n > 5 {
    acquire m                    @ 2
  }
  release m                      @ 3
  store atomic x, n
}
thread u {
  if load atomic x == 2 { release m }
  if load atomic x == 3 { unreachable }
}
",
    );
    folder.session(expect![[r#"
        $ predict locks.ftp
        locks.ftp: program, 2 threads, 15 events
        3 findings with 3 causes; an index of them is at the end

        assertion-1 (real): a place marked unreachable is reached
          u  is at unreachable    holding no lock
          inputs: size = 3 (t)
          schedule: 6 steps, 1 context switch
           step  t                      u
              1  n = external size : 3
              2  acquire m                                     1
              3  release m                                     3
              4  store atomic x : 3
              5                         load atomic x : 3
              6                         load atomic x : 3
           next*                        unreachable

        double-lock-1 (real): m is locked again by its holder
          t  is about to acquire m  at 2  holding m from 1
          inputs: size = 8 (t)
          schedule: 2 steps, 0 context switches
           step  t
              1  n = external size : 8
              2  acquire m              1
           next* acquire m              2

        unlock-not-held-1 (real): m is unlocked, but nobody holds it
          u  is about to release m    holding no lock
          inputs: size = 2 (t)
          schedule: 5 steps, 1 context switch
           step  t                      u
              1  n = external size : 2
              2  acquire m                                     1
              3  release m                                     3
              4  store atomic x : 2
              5                         load atomic x : 2
           next*                        release m

        3 findings with 3 causes:
          assertion-1        real  a place marked unreachable is reached
          double-lock-1      real  m is locked again by its holder        2
          unlock-not-held-1  real  m is unlocked, but nobody holds it

        not checked: atomicity: not supported for programs
        not checked: deadlock: not supported for programs
        note: lock misuse and reached `unreachable` places count as assertions
        verdict: 3 bugs that can happen (not checked: atomicity, deadlock)
        status: 1
    "#]]);
}

#[test]
fn regions_are_not_asked_about() {
    let folder = Folder::new("program-regions");
    folder.file(
        "regions.ftp",
        "\
foretrace-program 1
global x = 0
lock m
thread t {
  region begin
  acquire m; a := load x; release m
  acquire m; store x, a + 1; release m
  region end
}
thread u { acquire m; store x, 5; release m }
",
    );
    folder.session(expect![[r#"
        $ predict regions.ftp
        regions.ftp: program, 2 threads, 15 events
        not checked: assertion: the program has no assertions
        not checked: atomicity: not supported for programs
        not checked: deadlock: not supported for programs
        verdict: no bug in any execution of this program (checked: race; not checked: atomicity, deadlock, assertion)
        status: 0
    "#]]);
}

#[test]
fn what_is_not_supported_is_undecided() {
    let folder = Folder::new("program-unsupported");
    folder.file("heap.ftp", "foretrace-program 1\nthread t { p := alloc 8 @ a.c:3\n free p }\n");
    folder.session(expect![[r#"
        $ predict heap.ftp
        heap.ftp: program
        undecided: not supported: heap memory (at a.c:3)
        verdict: nothing is decided
        status: 3
        $ predict heap.ftp --json - | summary undecided
         "summary": {
          "race": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":1,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":[]},
          "atomicity": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":1,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":[]},
          "assertion": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":1,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":[]}
         },
         "undecided": [
          {"property":"race","kind":"race","events":[],"code":"unsupported","reason":"not supported: heap memory (at a.c:3)"},
          {"property":"atomicity","kind":"atomicity","events":[],"code":"unsupported","reason":"not supported: heap memory (at a.c:3)"},
          {"property":"assertion","kind":"assertion","events":[],"code":"unsupported","reason":"not supported: heap memory (at a.c:3)"}
         ],
        status: 3
    "#]]);
    let text = "foretrace-program 1\nfunc f() {\n a:\n jump b\n b:\n jump b\n}\nthread t = f()\n";
    folder.file("loop.txt", text);
    folder.session(expect![[r#"
        $ predict loop.txt
        loop.txt: program
        undecided: not supported: function `f`: blocks jump in a circle: b -> b
        verdict: nothing is decided
        status: 3
    "#]]);
    folder.file("barrier.ftp", "barrier b = 1; thread t { barrier b }\n");
    folder.session(expect![[r#"
        $ predict barrier.ftp
        barrier.ftp: program
        undecided: not supported: a barrier (at t: barrier b)
        verdict: nothing is decided
        status: 3
    "#]]);
}

#[test]
fn what_is_no_program() {
    let folder = Folder::new("program-wrong");
    folder.file("wrong.ftp", "foretrace-program 1\nthread t { stor x }\n");
    folder.session(expect![[r#"
        $ predict wrong.ftp
        stderr: error: wrong.ftp:2:12: expected a statement, but found `stor`
        status: 2
    "#]]);
    let text = "foretrace-program 1\nfunc f() {\n a:\n %1 = %0 + 1\n return\n}\nthread t = f()\n";
    folder.file("invalid.ftp", text);
    folder.session(expect![[r#"
        $ predict invalid.ftp
        stderr: error: invalid.ftp:4:7: `%0` has no value here
        status: 2
    "#]]);
    folder.file("empty.ftp", "foretrace-program 1\n");
    folder.session(expect![[r#"
        $ predict empty.ftp
        empty.ftp: program, 0 threads, 0 events
        not checked: assertion: the program has no assertions
        not checked: atomicity: not supported for programs
        not checked: deadlock: not supported for programs
        verdict: the program has no threads
        status: 3
        $ predict missing.ftp
        stderr: error: missing.ftp: No such file or directory (os error 2)
        status: 2
    "#]]);
}

#[test]
fn options_that_are_not_for_programs() {
    let folder = Folder::new("program-options");
    folder.file("figure.ftp", FIGURE);
    folder.session(expect![[r#"
        $ predict figure.ftp --model values
        stderr: error: --model values is not for a program
        stderr: hint: programs and merged runs support only the model symbolic
        status: 2
        $ predict figure.ftp --compare-models
        stderr: error: --compare-models is not for a program
        stderr: hint: programs and merged runs support only the model symbolic
        status: 2
        $ predict figure.ftp --infer-regions
        stderr: error: --infer-regions is not for a program
        stderr: hint: mark regions with `region begin` and `region end`
        status: 2
        $ predict figure.ftp --check lock
        stderr: error: --check lock is not for a program
        stderr: hint: lock misuse is reported with assertions: --check assertion
        status: 2
        $ predict figure.ftp --check deadlock
        stderr: error: --check without race and assertion is not for a program
        stderr: hint: nothing else is checked
        status: 2
        $ predict figure.ftp --solver z3
        stderr: error: --solver is not for a program
        stderr: hint: the papers' formula exists for traces only
        status: 2
    "#]]);
}
