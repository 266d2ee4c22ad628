//! The program as a user meets it: standard output, standard error and exit status.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

/// A folder of its own for each test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("foretrace-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: &str) -> &Self {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretrace"));
        command.args(arguments.split_whitespace()).current_dir(&self.0);
        command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs the program and compares all that it says.
    fn check(&self, arguments: &str, expected: Expect) {
        let output = self.command(arguments).output().unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        for line in String::from_utf8(output.stderr).unwrap().lines() {
            said.push_str(&format!("stderr: {line}\n"));
        }
        said.push_str(&format!("status: {}\n", output.status.code().unwrap()));
        expected.assert_eq(&said);
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SMALL: &str = "\
t1: acquire m @ a.c:1
t1: write x = 1 @ a.c:2
t1: release m @ a.c:3
t2: read x : 1 @ a.c:9
";

#[test]
fn a_file_that_is_not_there() {
    let folder = Folder::new("not-there");
    folder.check(
        "predict missing.trace",
        expect![[r#"
            stderr: error: missing.trace: No such file or directory (os error 2)
            stderr: hint: give the path of a recorded trace
            status: 2
        "#]],
    );
}

#[test]
fn a_file_that_is_no_trace() {
    let folder = Folder::new("no-trace");
    folder.file("bad.trace", "t1: acquire m\nt1: jump\n");
    folder.check(
        "trace show bad.trace",
        expect![[r#"
        stderr: error: bad.trace:2:5: unknown event `jump`
        status: 2
    "#]],
    );
}

#[test]
fn wrong_usage() {
    let folder = Folder::new("usage");
    folder.check(
        "predict",
        expect![[r#"
        stderr: error: the following required arguments were not provided:
        stderr:   <TRACE>
        stderr: 
        stderr: Usage: foretrace predict <TRACE>
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]],
    );
    folder.check(
        "predict x --check races",
        expect![[r#"
        stderr: error: invalid value 'races' for '--check <PROPERTY,...>'
        stderr:   [possible values: race, atomicity, deadlock, lock]
        stderr: 
        stderr:   tip: a similar value exists: 'race'
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]],
    );
    folder.check("predict x --budget soon", expect![[r#"
        stderr: error: invalid value 'soon' for '--budget <TIME>': unknown unit `soon`; use ms, s, m or h
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]]);
    folder.check(
        "predict x --jobs 0",
        expect![[r#"
        stderr: error: invalid value '0' for '--jobs <N>': 0 is not in 1..=1024
        stderr: 
        stderr: For more information, try '--help'.
        status: 2
    "#]],
    );
}

#[test]
fn version() {
    Folder::new("version").check(
        "--version",
        expect![[r#"
        foretrace 0.1.0
        status: 0
    "#]],
    );
}

#[test]
fn show_prints_the_text_form() {
    let folder = Folder::new("show");
    folder.file("small.trace", SMALL).check(
        "trace show small.trace",
        expect![[r#"
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
    "#]],
    );
}

#[test]
fn stats_count() {
    let folder = Folder::new("stats");
    folder.file("small.trace", SMALL).check(
        "trace stats small.trace",
        expect![[r#"
        events                        4
        threads                       2
        objects                       1
        locks                         1
        condition variables           0
        semaphores                    0
        barriers                      0
        source locations              4
          acquire                     1
          read                        1
          release                     1
          write                       1
        status: 0
    "#]],
    );
}

#[test]
fn convert_writes_the_file_and_nothing_else() {
    let folder = Folder::new("convert");
    folder.file("small.trace", SMALL);
    folder.check(
        "trace convert small.trace again.trace",
        expect![[r#"
        status: 0
    "#]],
    );
    folder.check(
        "trace convert again.trace -",
        expect![[r#"
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
    "#]],
    );
    assert_eq!(folder.names(), ["again.trace", "small.trace"]);
    assert!(folder.read("again.trace").starts_with("foretrace-trace 1\n"));
}

#[test]
fn a_failed_write_leaves_the_old_file_alone() {
    let folder = Folder::new("failed-write");
    folder.file("small.trace", SMALL);
    folder.check(
        "trace convert small.trace no/such/folder.trace",
        expect![[r#"
        stderr: error: cannot write no/such/folder.trace: No such file or directory (os error 2)
        status: 2
    "#]],
    );
    assert_eq!(folder.names(), ["small.trace"]);
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let folder = Folder::new("device");
    folder.file("small.trace", SMALL);
    folder.check(
        "trace convert small.trace /dev/null",
        expect![[r#"
        status: 0
    "#]],
    );
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    folder.check(
        "trace convert small.trace /dev/full",
        expect![[r#"
        stderr: error: cannot write /dev/full: No space left on device (os error 28)
        status: 2
    "#]],
    );
}

#[test]
fn a_link_stays_a_link() {
    let folder = Folder::new("link");
    folder.file("small.trace", SMALL).file("target.trace", "old");
    std::os::unix::fs::symlink("target.trace", folder.0.join("link.trace")).unwrap();
    folder.check(
        "trace convert small.trace link.trace",
        expect![[r#"
        status: 0
    "#]],
    );
    assert!(fs::symlink_metadata(folder.0.join("link.trace")).unwrap().is_symlink());
    assert!(folder.read("target.trace").starts_with("foretrace-trace 1\n"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    folder.file("long.trace", &SMALL.repeat(20_000));
    let mut command = folder.command("trace show long.trace");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

/// A trace of the folder `examples`.
fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).unwrap()
}

#[test]
fn predict_finds_what_is_wrong_with_the_bank() {
    let folder = Folder::new("bank");
    folder.file("bank.trace", &example("bank.trace"));
    folder.check(
        "predict bank.trace",
        expect![[r#"
            bank.trace: 30 events, 3 threads, model values

            race-1 (real): data race on alice
              teller1  is about to write alice : 110  at bank.c:13  holding no lock
              teller2  is about to read alice : 110   at bank.c:12  holding no lock
              schedule: 6 steps, 3 context switches
               step  main               teller1            teller2
                  1  begin                                                    bank.c:40
                  2  fork teller1                                             bank.c:41
                  3  fork teller2                                             bank.c:42
                  4                                        begin              bank.c:36
                  5                     begin                                 bank.c:31
                  6                     read alice : 100                      bank.c:12
               next*                    write alice : 110                     bank.c:13
               next*                                       read alice : 110   bank.c:12

            lock-cycle-1 (real): deadlock: lock cycle over carol.lock, bob.lock
              teller1  blocks at acquire carol.lock  at bank.c:22  holding bob.lock from bank.c:21
              teller2  blocks at acquire bob.lock    at bank.c:22  holding carol.lock from bank.c:21
              schedule: 11 steps, 4 context switches
               step  main                teller1             teller2
                  1  begin                                                       bank.c:40
                  2  fork teller1                                                bank.c:41
                  3  fork teller2                                                bank.c:42
                  4                      begin                                   bank.c:31
                  5                      read alice : 100                        bank.c:12
                  6                      write alice : 110                       bank.c:13
                  7                      acquire bob.lock                        bank.c:21
                  8                                          begin               bank.c:36
                  9                                          read alice : 110    bank.c:12
                 10                                          write alice : 130   bank.c:13
                 11                                          acquire carol.lock  bank.c:21
               next*                     acquire carol.lock                      bank.c:22
               next*                                         acquire bob.lock    bank.c:22

                       candidates  pruned: order  pruned: locks  violated  infeasible  undecided
            race                4              0              2         1           1          0
            atomicity           0              0              0         0           0          0
            deadlock            1              0              0         1           0          0
            lock                0              0              0         0           0          0
            not asked: atomicity: the trace marks no atomic regions; --infer-regions takes critical sections
            verdict: 2 bugs that can happen
            status: 1
        "#]],
    );
}

#[test]
fn predict_finds_the_lost_signal() {
    let folder = Folder::new("lost-signal");
    folder.file("lost-signal.trace", &example("lost-signal.trace"));
    folder.check(
        "predict --check deadlock lost-signal.trace",
        expect![[r#"
        lost-signal.trace: 19 events, 3 threads, model values

        stuck-1 (real): deadlock: nobody can go on, and a thread waits for ready
          consumer  blocks at wake ready m   at queue.c:12  holding no lock
          main      blocks at join consumer  at queue.c:33  holding no lock
          schedule: 12 steps, 2 context switches
           step  main            consumer        producer
              1  begin                                           queue.c:30
              2  fork consumer                                   queue.c:31
              3  fork producer                                   queue.c:32
              4                                  begin           queue.c:20
              5                                  acquire m       queue.c:21
              6                                  write item : 7  queue.c:22
              7                                  signal ready    queue.c:23
              8                                  release m       queue.c:24
              9                                  end             queue.c:25
             10                  begin                           queue.c:10
             11                  acquire m                       queue.c:11
             12                  wait ready m                    queue.c:12
           next*                 wake ready m                    queue.c:12
           next* join consumer                                   queue.c:33

                  candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        deadlock           1              0              0         1           0          0
        verdict: 1 bug that can happen
        status: 1
    "#]],
    );
}

#[test]
fn predict_finds_nothing() {
    let folder = Folder::new("nothing");
    folder.file("guarded.trace", &SMALL.replace("t2: read", "t2: acquire m\nt2: read"));
    folder.check("predict guarded.trace", expect![[r#"
        guarded.trace: 5 events, 2 threads, model values

                   candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        race                1              0              1         0           0          0
        atomicity           0              0              0         0           0          0
        deadlock            0              0              0         0           0          0
        lock                0              0              0         0           0          0
        not asked: atomicity: the trace marks no atomic regions; --infer-regions takes critical sections
        verdict: no bug in any schedule of these events (checked: race, deadlock, lock; not asked: atomicity; model values)
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
    folder.check(
        "predict --check deadlock ended.trace",
        expect![[r#"
        ended.trace: 10 events, 2 threads, model reads-from

        stuck-1 (real): deadlock: nobody can go on, and a thread waits for c
          a  blocks at wake c m    holding no lock
          schedule: 7 steps, 1 context switch
           step  a          b
              1             acquire m
              2             signal c
              3             release m
              4             end
              5  begin
              6  acquire m
              7  wait c m
           next* wake c m

                  candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        deadlock           1              0              0         1           0          0
        verdict: 1 bug that can happen
        status: 1
    "#]],
    );
    folder.check("predict --check deadlock open.trace", expect![[r#"
        open.trace: 10 events, 4 threads, model reads-from

                  candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        deadlock           1              0              0         0           1          0
        not asked: deadlock: stuck states in which b, main, d have run all events: no `end` is recorded
        verdict: no bug in any schedule of these events (in part: deadlock; model reads-from)
        status: 0
    "#]]);
    folder.check(
        "predict --check deadlock silent.trace",
        expect![[r#"
        silent.trace: 10 events, 3 threads, model reads-from

                  candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        deadlock           1              0              0         0           1          0
        not asked: deadlock: stuck states: idle has neither events nor a fork
        verdict: no bug in any schedule of these events (in part: deadlock; model reads-from)
        status: 0
    "#]],
    );
    folder.check("predict --check deadlock --json - silent.trace", expect![[r#"
        {
         "schema": "foretrace-report/1",
         "tool": {
          "name": "foretrace",
          "version": "0.1.0"
         },
         "trace": {
          "path": "silent.trace",
          "events": 10,
          "threads": 3,
          "thread_names": ["idle","a","b"],
          "repairs": []
         },
         "model": "reads-from",
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null
         },
         "summary": {
          "deadlock": {"candidates":1,"pruned_mhb":0,"pruned_lockset":0,"violated":0,"infeasible":1,"undecided":0,"not_asked":["stuck states: idle has neither events nor a fork"]}
         },
         "findings": [],
         "undecided": [],
         "notes": [],
         "excerpt": []
        }
        status: 0
    "#]]);
}

#[test]
fn atomicity_without_regions_is_not_asked() {
    let folder = Folder::new("not-asked-atomicity");
    folder.file("plain.trace", "t1: acquire m\nt1: read x : 0\nt1: release m\n");
    folder.check("predict --check atomicity,lock plain.trace", expect![[r#"
        plain.trace: 3 events, 1 thread, model values

                   candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        atomicity           0              0              0         0           0          0
        lock                0              0              0         0           0          0
        not asked: atomicity: the trace marks no atomic regions; --infer-regions takes critical sections
        verdict: no bug in any schedule of these events (checked: lock; not asked: atomicity; model values)
        status: 0
    "#]]);
    folder.check(
        "predict --check atomicity --infer-regions plain.trace",
        expect![[r#"
        plain.trace: 3 events, 1 thread, model values

                   candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        atomicity           0              0              0         0           0          0
        verdict: no bug in any schedule of these events (checked: atomicity; model values)
        status: 0
    "#]],
    );
    folder.check("predict --check atomicity plain.trace", expect![[r#"
        plain.trace: 3 events, 1 thread, model values

                   candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        atomicity           0              0              0         0           0          0
        not asked: atomicity: the trace marks no atomic regions; --infer-regions takes critical sections
        verdict: none (not asked: atomicity)
        status: 0
    "#]]);
}

#[test]
fn a_race_that_unrecorded_code_may_prevent_is_only_possible() {
    let folder = Folder::new("possible");
    let trace = "t1: write x = 1\nt1: read x : 5\nt1: write y = 1\nt2: write y = 2\n";
    folder.file("odd.trace", trace).check("predict --check race odd.trace", expect![[r#"
        odd.trace: 4 events, 2 threads, model values

        race-1 (possible): data race on y
          t1  is about to write y : 1    holding no lock
          t2  is about to write y : 2    holding no lock
          schedule: 2 steps, 1 context switch
           step  t1           t2
              1  write x : 1
              2  read x : 5
           next* write y : 1
           next*              write y : 2

              candidates  pruned: order  pruned: locks  violated  infeasible  undecided
        race           1              0              0         1           0          0
        note: possible: the schedule has a read whose value no recorded write explains, so unrecorded code may matter
        verdict: 1 possible
        status: 3
    "#]]);
}

#[test]
fn without_time_everything_is_undecided() {
    let folder = Folder::new("no-time");
    folder.file("bank.trace", &example("bank.trace"));
    folder.check(
        "predict --budget 0s bank.trace",
        expect![[r#"
            bank.trace: 30 events, 3 threads, model values

            undecided: 2 candidates (race): the time budget was used up
            undecided: 1 candidate (deadlock): the time budget was used up

                       candidates  pruned: order  pruned: locks  violated  infeasible  undecided
            race                4              0              2         0           0          2
            atomicity           0              0              0         0           0          0
            deadlock            1              0              0         0           0          1
            lock                0              0              0         0           0          0
            not asked: atomicity: the trace marks no atomic regions; --infer-regions takes critical sections
            verdict: 3 undecided
            status: 3
        "#]],
    );
}

#[test]
fn json_on_standard_output_is_alone_there() {
    let folder = Folder::new("json");
    folder.file("small.trace", SMALL);
    folder.check("predict --check race --json - small.trace", expect![[r#"
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
          "repairs": []
         },
         "model": "values",
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null
         },
         "summary": {
          "race": {"candidates":1,"pruned_mhb":0,"pruned_lockset":0,"violated":1,"infeasible":0,"undecided":0,"not_asked":[]}
         },
         "findings": [
          {"id":"race-1","fingerprint":"f6c801ac7ff733c7","kind":"race","certainty":"real","model":"values","object":"x","locations":["a.c:2","a.c:9"],"events":[{"event":1,"thread":"t1","operation":"write x : 1","location":"a.c:2","state":"next","locks_held":[{"lock":"m","shared":false,"since":0,"location":"a.c:1"}]},{"event":3,"thread":"t2","operation":"read x : 1","location":"a.c:9","state":"next","locks_held":[]}],"context_switches":1,"schedule":[{"thread":"t1","event":0}]}
         ],
         "undecided": [],
         "notes": [],
         "excerpt": [
          {"event":0,"thread":"t1","operation":"acquire m","location":"a.c:1"},
          {"event":1,"thread":"t1","operation":"write x : 1","location":"a.c:2"},
          {"event":3,"thread":"t2","operation":"read x : 1","location":"a.c:9"}
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
    folder.check("predict invalid.trace", expect![[r#"
        stderr: error: invalid.trace: line 3 (t2): acquire m, but t1 has held it since line 1 [lock-held]
        stderr: hint: docs/trace-format.md lists the rules of a valid trace
        status: 2
    "#]]);
    folder.check("trace validate invalid.trace", expect![[r#"
        stderr: error: invalid.trace: line 3 (t2): acquire m, but t1 has held it since line 1 [lock-held]
        stderr: hint: docs/trace-format.md lists the rules of a valid trace
        status: 2
    "#]]);
}

#[test]
fn formats_survive_the_way_there_and_back() {
    let folder = Folder::new("formats");
    folder.file("small.trace", SMALL);
    folder.check(
        "trace convert small.trace small.ftb",
        expect![[r#"
        status: 0
    "#]],
    );
    folder.check(
        "trace convert small.ftb -",
        expect![[r#"
        foretrace-trace 1
        t1: acquire m @ a.c:1
        t1: write x = 1 @ a.c:2
        t1: release m @ a.c:3
        t2: read x : 1 @ a.c:9
        status: 0
    "#]],
    );
    folder.check(
        "trace convert small.ftb - --to std",
        expect![[r#"
        t1|acq(m)|a.c:1
        t1|w(x)|a.c:2
        t1|rel(m)|a.c:3
        t2|r(x)|a.c:9
        status: 0
    "#]],
    );
    folder.file("signal.trace", "t1: signal c\n");
    folder.check(
        "trace convert signal.trace signal.std",
        expect![[r#"
        stderr: error: cannot write signal.std: event 0: STD cannot say a condition variable
        status: 2
    "#]],
    );
    assert_eq!(folder.names(), ["signal.trace", "small.ftb", "small.trace"]);
}
