//! `foretrace predict`: what it says of small traces.

use expect_test::expect;

use super::{Folder, SMALL, example};

#[test]
fn predict_finds_what_is_wrong_with_the_bank() {
    let folder = Folder::new("bank");
    folder.file("bank.trace", &example("bank.trace"));
    folder.session(expect![[r#"
        $ predict bank.trace
        bank.trace: 30 events, 3 threads, model symbolic
        3 findings with 2 causes; an index of them is at the end

        lock-cycle-1 (real): deadlock: lock cycle over carol.lock, bob.lock
          teller1  waits to acquire carol.lock  at bank.c:22  holding bob.lock from bank.c:21
          teller2  waits to acquire bob.lock    at bank.c:22  holding carol.lock from bank.c:21
          teller1: thread created at bank.c:41
          teller2: thread created at bank.c:42
          schedule: 11 steps, 3 context switches
           step  teller1                      teller2
               ⋮  main: 3 steps
               ⋮  teller1: 3 steps
              7  acquire bob.lock                                          bank.c:21
               ⋮  teller2: 3 steps
             11                               acquire carol.lock           bank.c:21
           next*                              waits to acquire bob.lock    bank.c:22
           next* waits to acquire carol.lock                               bank.c:22

        race-1 (real): data race on alice
          teller1  is about to write alice : 110  at bank.c:13  holding no lock
          teller2  is about to read alice         at bank.c:12  holding no lock
          teller1: thread created at bank.c:41
          teller2: thread created at bank.c:42
          schedule: 6 steps, 3 context switches
           step  main               teller1            teller2
              1  begin                                                    bank.c:40
              2  fork teller1                                             bank.c:41
              3  fork teller2                                             bank.c:42
              4                     begin                                 bank.c:31
              5                     read alice : 100                      bank.c:12
              6                                        begin              bank.c:36
           next*                                       read alice         bank.c:12
           next*                    write alice : 110                     bank.c:13
          also race-2: bank.c:13 and bank.c:13

        3 findings with 2 causes:
          lock-cycle-1  real  deadlock: lock cycle over carol.lock, bob.lock  bank.c:22
          race-1        real  data race on alice                              bank.c:13, bank.c:12
          race-2        real  data race on alice                              bank.c:13

        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        not checked: assertion: the trace has no assertions
        verdict: 3 bugs that can happen (not checked: atomicity, assertion)
        status: 1
    "#]]);
}

#[test]
fn predict_finds_the_lost_signal() {
    let folder = Folder::new("lost-signal");
    folder.file("lost-signal.trace", &example("lost-signal.trace"));
    folder.session(expect![[r#"
        $ predict --check deadlock lost-signal.trace
        lost-signal.trace: 19 events, 3 threads, model symbolic

        stuck-1 (real): deadlock: no thread can continue, and one waits for ready
          consumer  waits for ready         at queue.c:12  holding no lock
          main      waits to join consumer  at queue.c:33  holding no lock
          consumer: thread created at queue.c:31
          schedule: 12 steps, 2 context switches
           step  main                    consumer                producer
               ⋮  main: 3 steps
              4                                                  begin                   queue.c:20
              5                                                  acquire m               queue.c:21
              6                                                  write item : 7          queue.c:22
              7                                                  signal ready            queue.c:23
              8                                                  release m               queue.c:24
              9                                                  end                     queue.c:25
             10                          begin                                           queue.c:10
             11                          acquire m                                       queue.c:11
             12                          wait ready m                                    queue.c:12
           next*                         waits for ready                                 queue.c:12
           next* waits to join consumer                                                  queue.c:33

        verdict: 1 bug that can happen
        status: 1
    "#]]);
}

#[test]
fn predict_finds_nothing() {
    let folder = Folder::new("nothing");
    folder.file("guarded.trace", &SMALL.replace("t2: read", "t2: acquire m\nt2: read"));
    folder.session(expect![[r#"
        $ predict guarded.trace
        guarded.trace: 5 events, 2 threads, model symbolic
        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        not checked: assertion: the trace has no assertions
        verdict: no bug in any schedule of these events (checked: race, deadlock, lock; not checked: atomicity, assertion; model symbolic)
        status: 0
    "#]]);
}

/// A thread waits for a signal that may come too early.
fn lost_signal(last: &str, end_of_signaller: &str) -> String {
    format!(
        "a: begin\na: acquire m\na: wait c m\nb: acquire m\nb: signal c\nb: release m\n{end_of_signaller}\
         a: wake c m\na: release m\na: end\n{last}"
    )
}

#[test]
fn a_stuck_state_that_was_not_asked_for_is_named() {
    let folder = Folder::new("not-asked-stuck");
    folder.file("ended.trace", &lost_signal("", "b: end\n"));
    folder.file("open.trace", &lost_signal("main: fork d\n", ""));
    folder.file("silent.trace", &format!("thread idle\n{}", lost_signal("", "b: end\n")));
    folder.session(expect![[r#"
        $ predict --check deadlock ended.trace
        ended.trace: 10 events, 2 threads, model reads-from

        stuck-1 (real): deadlock: no thread can continue, and one waits for c
          a  waits for c    holding no lock
          schedule: 7 steps, 1 context switch
           step  a            b
              1               acquire m
              2               signal c
              3               release m
              4               end
              5  begin
              6  acquire m
              7  wait c m
           next* waits for c

        verdict: 1 bug that can happen
        status: 1
        $ predict --check deadlock open.trace
        open.trace: 10 events, 4 threads, model reads-from
        not checked: deadlock: stuck states in which b, main, d have executed all their events, because the trace records no `end`
        verdict: no bug in any schedule of these events (in part: deadlock; model reads-from)
        status: 0
        $ predict --check deadlock silent.trace
        silent.trace: 10 events, 3 threads, model reads-from
        not checked: deadlock: stuck states: idle has neither events nor a fork
        verdict: no bug in any schedule of these events (in part: deadlock; model reads-from)
        status: 0
        $ predict --check deadlock --json - silent.trace | summary
         "summary": {
          "deadlock": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":1,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":["stuck states: idle has neither events nor a fork"],"not_asked_codes":["silent-threads"]}
         },
        status: 0
    "#]]);
}

#[test]
fn atomicity_without_regions_is_not_asked() {
    let folder = Folder::new("not-asked-atomicity");
    folder.file("plain.trace", "t1: acquire m\nt1: read x : 0\nt1: release m\n");
    folder.session(expect![[r#"
        $ predict --check atomicity,lock plain.trace
        plain.trace: 3 events, 1 thread, model values
        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        verdict: no bug in any schedule of these events (checked: lock; not checked: atomicity; model values)
        status: 0
        $ predict --check atomicity --infer-regions plain.trace
        plain.trace: 3 events, 1 thread, model values
        verdict: no bug in any schedule of these events (checked: atomicity; model values)
        status: 0
        $ predict --check atomicity plain.trace
        plain.trace: 3 events, 1 thread, model values
        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        verdict: none (not checked: atomicity)
        status: 0
    "#]]);
}

#[test]
fn a_race_that_unrecorded_code_may_prevent_is_only_possible() {
    let folder = Folder::new("possible");
    let trace = "t1: write x = 1\nt1: read x : 5\nt1: write y = 1\nt2: write y = 2\n";
    folder.file("odd.trace", trace);
    folder.session(expect![[r#"
        $ predict --check race odd.trace
        odd.trace: 4 events, 2 threads, model symbolic

        race-1 (possible): data race on y
          t1  is about to write y : 1    holding no lock
          t2  is about to write y : 2    holding no lock
          schedule: 2 steps, 1 context switch
           step  t1           t2
              1  write x : 1
              2  read x : 5
           next* write y : 1
           next*              write y : 2

        note: possible: the schedule has a read whose value no recorded write explains, so unrecorded code may matter
        verdict: 1 possible
        status: 3
    "#]]);
}

#[test]
fn without_time_everything_is_undecided() {
    let folder = Folder::new("no-time");
    folder.file("bank.trace", &example("bank.trace"));
    folder.session(expect![[r#"
        $ predict --budget 0s bank.trace
        bank.trace: 30 events, 3 threads, model symbolic

        undecided: 2 candidates (race): the time budget was used up (--budget)
        undecided: 1 candidate (deadlock): the time budget was used up (--budget)
        not checked: atomicity: the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)
        not checked: assertion: the trace has no assertions
        verdict: 3 undecided (not checked: atomicity, assertion)
        status: 3
    "#]]);
}

#[test]
fn json_on_standard_output_is_alone_there() {
    let folder = Folder::new("json");
    folder.file("small.trace", SMALL);
    folder.session(expect![[r#"
        $ predict --check race --json - small.trace
        {
         "schema": "foretrace-report/1",
         "tool": {
          "name": "foretrace",
          "version": "0.1.0"
         },
         "trace": {
          "path": "small.trace",
          "events": 4,
          "threads": 2,
          "thread_names": ["t1","t2"],
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
          "race": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":1,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":[]}
         },
         "slicing": {
          "events": 4,
          "events_left": 2,
          "reads": 1,
          "reads_left": 0,
          "conditions": 0,
          "conditions_left": 0
         },
         "findings": [
          {"id":"race-1","fingerprint":"f6c801ac7ff733c7","stable_fingerprint":"f6c801ac7ff733c7","group":"d7fab1b137119268","kind":"race","certainty":"real","model":"symbolic","object":"x","place":"x","locations":["a.c:2","a.c:9"],"events":[{"event":1,"thread":"t1","operation":"write x : 1","location":"a.c:2","source":{"file":"a.c","line":2},"state":"next","locks_held":[{"lock":"m","shared":false,"since":0,"location":"a.c:1"}]},{"event":3,"thread":"t2","operation":"read x","location":"a.c:9","source":{"file":"a.c","line":9},"state":"next","locks_held":[]}],"changes":[{"event":3,"operation":"read x"}],"context_switches":1,"schedule":[{"thread":"t1","event":0}]}
         ],
         "undecided": [],
         "notes": [],
         "excerpt": [
          {"event":0,"thread":"t1","operation":"acquire m","location":"a.c:1","source":{"file":"a.c","line":1}},
          {"event":1,"thread":"t1","operation":"write x : 1","location":"a.c:2","source":{"file":"a.c","line":2}},
          {"event":3,"thread":"t2","operation":"read x : 1","location":"a.c:9","source":{"file":"a.c","line":9}}
         ]
        }
        status: 1
    "#]]);
}

#[test]
fn json_does_not_depend_on_the_number_of_jobs() {
    let folder = Folder::new("jobs");
    folder.file("bank.trace", &example("bank.trace"));
    for jobs in ["1", "2", "7"] {
        let command = format!("predict --jobs {jobs} --json {jobs}.json bank.trace");
        let output = folder.command(&command).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.starts_with(b"bank.trace: 30 events"));
        assert_eq!(folder.read(&format!("{jobs}.json")), folder.read("1.json"));
    }
}

#[test]
fn an_invalid_trace_is_refused_with_its_line() {
    let folder = Folder::new("invalid");
    folder.file("invalid.trace", "t1: acquire m\n\nt2: acquire m\n");
    folder.session(expect![[r#"
        $ predict invalid.trace
        stderr: error: invalid.trace: line 3 (t2): acquire m, but t1 has held it since line 1 [lock-held]
        stderr: hint: docs/trace-format.md lists the rules of a valid trace
        status: 2
        $ trace validate invalid.trace
        stderr: error: invalid.trace: line 3 (t2): acquire m, but t1 has held it since line 1 [lock-held]
        stderr: hint: docs/trace-format.md lists the rules of a valid trace
        status: 2
    "#]]);
}
