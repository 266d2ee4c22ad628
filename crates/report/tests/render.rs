//! Reports made by hand, and what they look like.

use expect_test::{Expect, expect};
use foretrace_report::*;
use foretrace_trace::Provenance;
use foretrace_trace::provenance::{Kept, LeftOut, Lost, Private, Unseen, Walked};

fn text(event: u32, thread: u32, operation: &str, location: &str) -> EventText {
    let location = (!location.is_empty()).then(|| location.to_string());
    EventText { event, thread, operation: operation_of(operation), location, stack: None }
}

/// `write x : 5` and the like.
fn operation_of(text: &str) -> Operation {
    let ends = [" : ", " = "].iter().filter_map(|sign| text.find(sign));
    let (what, value) = text.split_at(ends.min().unwrap_or(text.len()));
    let value = value.strip_prefix(" : ").map(str::to_string);
    let (verb, name) = what.rsplit_once(' ').unwrap_or((what, ""));
    let is_plain = !verb.contains(' ');
    let access = |seen, stored| Some(Access { place: name.into(), seen, stored, is_plain });
    let (kind, access) = match verb.rsplit(' ').next() {
        Some("read") => (EffectKind::Read, access(value, None)),
        Some("write") => (EffectKind::Write, access(None, value)),
        Some("acquire") => (EffectKind::Acquire, None),
        _ => (EffectKind::Other, None),
    };
    let object = name.split('[').next().filter(|object| !object.is_empty());
    let on = object.map(str::to_string).into_iter().collect();
    Operation { text: text.to_string(), kind, on, access }
}

fn side(event: u32, state: SideState, holds: Vec<Hold>) -> Side {
    Side { event, state, holds }
}

fn hold(lock: &str, since: u32, location: &str) -> Hold {
    Hold { lock: lock.into(), shared: false, since, location: Some(location.into()), stack: None }
}

/// A race, after one step of each thread.
fn small() -> Report {
    let settings = Settings {
        granularity: "location".into(),
        infer_regions: false,
        conflicts: None,
        budget_ms: None,
        context_bound: None,
        iterate_bound: false,
        implicit: Vec::new(),
        solver: None,
        no_prune: false,
        symbolic_addresses: false,
    };
    let mut report = Report::new(Model::Values, settings);
    report.version = "0.0.0".into();
    report.trace = TraceInfo {
        subject: Subject::Trace,
        folders: Vec::new(),
        path: Some("small.trace".into()),
        events: 6,
        threads: vec!["t1".into(), "t2".into()],
        provenance: vec![(Provenance::Other("joined twice".into()), 2)],
        weak_accesses: 0,
    };
    let pruned = Columns::new(|column| if column == Column::Order { 7 } else { 0 });
    let ledger = Ledger { candidates: 9, pruned, violated: 1, ..Ledger::default() };
    report.summary = vec![
        (Property::Race, Ledger { undecided: 1, ..ledger }),
        (Property::Deadlock, Ledger::default()),
    ];
    let places = ["a.c:3", "a.c:9"].map(String::from);
    let (id, object) = ("race-1".into(), Some("x".into()));
    let mut race = Finding::new(id, Kind::Race, Certainty::Real, object, &places);
    race.sides = vec![
        side(1, SideState::Next, vec![hold("m", 0, "a.c:2")]),
        side(4, SideState::Next, vec![]),
    ];
    race.schedule = vec![0, 3];
    race.context_switches = 2;
    report.findings = vec![race];
    report.undecided = vec![Undecided {
        property: Property::Race,
        kind: Kind::Race,
        events: vec![1, 3],
        reason: Reason::new("conflict-budget", "the limit of conflicts is reached"),
    }];
    report.excerpt = vec![
        text(0, 0, "acquire m", "a.c:2"),
        text(1, 0, "write x = 1", "a.c:3"),
        text(3, 1, "read y : 0", ""),
        text(4, 1, "read x : 1", "a.c:9"),
    ];
    report
}

fn check(report: &Report, style: Style, expected: Expect) {
    let mut bytes = Vec::new();
    write_text(report, style, &mut bytes).unwrap();
    expected.assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn a_race_in_words() {
    check(
        &small(),
        Style::default(),
        expect![[r#"
            small.trace: 6 events, 2 threads, model values

            race-1 (real): data race on x
              t1  is about to write x = 1  at a.c:3  holding m from a.c:2
              t2  is about to read x : 1   at a.c:9  holding no lock
              schedule: 2 steps, 2 context switches
               step  t1           t2
                  1  acquire m                 a.c:2
                  2               read y : 0
               next*              read x : 1   a.c:9
               next* write x = 1               a.c:3

            undecided: 1 candidate (race): the limit of conflicts is reached

            import: joined twice (2 times)
            verdict: 1 bug that can happen, 1 undecided
        "#]],
    );
}

#[test]
fn a_race_as_json() {
    let mut bytes = Vec::new();
    write_json(&small(), &mut bytes).unwrap();
    let expected = expect![[r#"
        {
         "schema": "foretrace-report/1",
         "tool": {
          "name": "foretrace",
          "version": "0.0.0"
         },
         "trace": {
          "path": "small.trace",
          "events": 6,
          "threads": 2,
          "thread_names": ["t1","t2"],
          "repairs": [{"code":"other","details":["joined twice"],"what":"joined twice","count":2}],
          "blind_spots": 0
         },
         "model": "values",
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null,
          "context_bound": null,
          "iterate_bound": false
         },
         "summary": {
          "race": {"candidates":9,"pruned_mhb":7,"pruned_lsa":0,"pruned_ucg":0,"violated":1,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":1,"remaining":{"total":9,"lsa":9,"mhb":9,"ucg":9},"not_asked":[]},
          "deadlock": {"candidates":0,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":0,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":0,"lsa":0,"mhb":0,"ucg":0},"not_asked":[]}
         },
         "findings": [
          {"id":"race-1","fingerprint":"8bf9ee20ffcd95c6","group":"d7fab1b137119268","kind":"race","certainty":"real","model":"values","object":"x","locations":["a.c:3","a.c:9"],"events":[{"event":1,"thread":"t1","operation":"write x = 1","location":"a.c:3","source":{"file":"a.c","line":3},"state":"next","locks_held":[{"lock":"m","shared":false,"since":0,"location":"a.c:2"}]},{"event":4,"thread":"t2","operation":"read x : 1","location":"a.c:9","source":{"file":"a.c","line":9},"state":"next","locks_held":[]}],"context_switches":2,"schedule":[{"thread":"t1","event":0},{"thread":"t2","event":3}]}
         ],
         "undecided": [
          {"property":"race","kind":"race","events":[{"event":1,"thread":"t1","operation":"write x = 1","location":"a.c:3","source":{"file":"a.c","line":3}},{"event":3,"thread":"t2","operation":"read y : 0","location":null}],"code":"conflict-budget","reason":"the limit of conflicts is reached"}
         ],
         "notes": [],
         "excerpt": [
          {"event":0,"thread":"t1","operation":"acquire m","location":"a.c:2","source":{"file":"a.c","line":2}},
          {"event":1,"thread":"t1","operation":"write x = 1","location":"a.c:3","source":{"file":"a.c","line":3}},
          {"event":3,"thread":"t2","operation":"read y : 0","location":null},
          {"event":4,"thread":"t2","operation":"read x : 1","location":"a.c:9","source":{"file":"a.c","line":9}}
         ]
        }
    "#]];
    expected.assert_eq(&String::from_utf8(bytes).unwrap());
}

#[test]
fn nothing_found() {
    let mut report = small();
    report.findings.clear();
    report.undecided.clear();
    report.excerpt.clear();
    report.trace.provenance.clear();
    report.summary.truncate(1);
    report.summary[0].1 = Ledger { candidates: 1, infeasible: 1, ..Ledger::default() };
    check(
        &report,
        Style { color: true, ..Style::default() },
        expect![[r#"
            [1msmall.trace[0m: 6 events, 2 threads, model values
            [1;32mverdict: no bug in any schedule of these events (checked: race; model values)[0m
        "#]],
    );
    let mut bytes = Vec::new();
    write_json(&report, &mut bytes).unwrap();
    expect![[r#"
        {
         "schema": "foretrace-report/1",
         "tool": {
          "name": "foretrace",
          "version": "0.0.0"
         },
         "trace": {
          "path": "small.trace",
          "events": 6,
          "threads": 2,
          "thread_names": ["t1","t2"],
          "repairs": [],
          "blind_spots": 0
         },
         "model": "values",
         "settings": {
          "granularity": "location",
          "infer_regions": false,
          "conflicts": null,
          "budget_ms": null,
          "context_bound": null,
          "iterate_bound": false
         },
         "summary": {
          "race": {"candidates":1,"pruned_mhb":0,"pruned_lsa":0,"pruned_ucg":0,"violated":0,"infeasible":1,"infeasible_in_bound":0,"infeasible_for_recorded_values":0,"undecided":0,"remaining":{"total":1,"lsa":1,"mhb":1,"ucg":1},"not_asked":[]}
         },
         "findings": [],
         "undecided": [],
         "notes": [],
         "excerpt": []
        }
    "#]].assert_eq(&String::from_utf8(bytes).unwrap());
}

/// Six threads in a narrow window, and more steps than are shown.
fn long() -> Report {
    let mut report = small();
    report.trace.threads = (1..=6).map(|number| format!("worker-{number}")).collect();
    report.trace.provenance.clear();
    report.undecided.clear();
    report.excerpt = (0..100)
        .map(|event| {
            text(event, event % 6, &format!("write a_long_name[{event}] = 1"), "d/file.c:1")
        })
        .collect();
    let finding = &mut report.findings[0];
    finding.certainty = Certainty::Possible;
    finding.sides = vec![side(50, SideState::Executed, vec![]), side(99, SideState::Next, vec![])];
    finding.object = Some("a_long_name".into());
    finding.schedule = (0..99).collect();
    report
}

#[test]
fn accesses_to_other_memory_are_folded() {
    let mut report = long();
    report.findings[0].object = Some("x".into());
    report.findings[0].schedule = (0..40).collect();
    report.excerpt[7].operation = operation_of("acquire m");
    report.excerpt[20].operation = operation_of("read x : 5");
    check(
        &report,
        Style { width: 80, ..Style::default() },
        expect![[r#"
            small.trace: 6 events, 6 threads, model values

            race-1 (possible): data race on x
              worker-3  did write a_long_name[50] = 1
                          at d/file.c:1, holding no lock
              worker-4  is about to write a_long_name[99] = 1
                          at d/file.c:1, holding no lock
              schedule: 40 steps, 2 context switches
               step  worker-3                   worker-4
                   ⋮  20 steps of 6 threads
                 21  read x : 5                                            file.c:1
                   ⋮  19 steps of 6 threads
               next*                            write a_long_name[99] = 1  file.c:1

            verdict: 1 possible, 1 undecided
        "#]],
    );
}

#[test]
fn a_long_schedule_is_shown_by_its_ends() {
    let mut report = long();
    report.findings[0].sides.remove(0);
    check(
        &report,
        Style { width: 80, ..Style::default() },
        expect![[r#"
            small.trace: 6 events, 6 threads, model values

            race-1 (possible): data race on a_long_name
              worker-4  is about to write a_long_name[99] = 1
                          at d/file.c:1, holding no lock
              schedule: 99 steps, 2 context switches
               step  worker-1                   worker-4
                  1  write a_long_name[0] = 1                              file.c:1
                  2  worker-2: write a_long_name[1] = 1                    file.c:1
                  3  worker-3: write a_long_name[2] = 1                    file.c:1
                  4                             write a_long_name[3] = 1   file.c:1
                   ⋮  79 steps (shown with --full-schedule)
                 84  worker-6: write a_long_name[83] = 1                   file.c:1
                 85  write a_long_name[84] = 1                             file.c:1
                 86  worker-2: write a_long_name[85] = 1                   file.c:1
                 87  worker-3: write a_long_name[86] = 1                   file.c:1
                 88                             write a_long_name[87] = 1  file.c:1
                 89  worker-5: write a_long_name[88] = 1                   file.c:1
                 90  worker-6: write a_long_name[89] = 1                   file.c:1
                 91  write a_long_name[90] = 1                             file.c:1
                 92  worker-2: write a_long_name[91] = 1                   file.c:1
                 93  worker-3: write a_long_name[92] = 1                   file.c:1
                 94                             write a_long_name[93] = 1  file.c:1
                 95  worker-5: write a_long_name[94] = 1                   file.c:1
                 96  worker-6: write a_long_name[95] = 1                   file.c:1
                 97  write a_long_name[96] = 1                             file.c:1
                 98  worker-2: write a_long_name[97] = 1                   file.c:1
                 99  worker-3: write a_long_name[98] = 1                   file.c:1
               next*                            write a_long_name[99] = 1  file.c:1

            verdict: 1 possible, 1 undecided
        "#]],
    );
}

#[test]
fn a_long_schedule_is_shown_whole_on_request() {
    let mut bytes = Vec::new();
    let style = Style { full_schedule: true, ..Style::default() };
    write_text(&long(), style, &mut bytes).unwrap();
    let shown = String::from_utf8(bytes).unwrap();
    assert_eq!(shown.matches("file.c:1").count(), 100 + 2);
    assert!(shown.contains("   51* "), "{shown}");
}

/// One row for each way in which models differ.
#[test]
fn models_side_by_side() {
    let mut report = small();
    report.findings.truncate(1);
    let row = |id: Option<&str>, object: &str, verdicts: &[ModelVerdict]| Compared {
        id: id.map(str::to_string),
        kind: Kind::Race,
        object: Some(object.into()),
        places: vec!["a.c:3".into(), "a.c:9".into()],
        verdicts: verdicts.to_vec(),
    };
    use ModelVerdict::{NotFound, Possible, Real, Undecided};
    let model = |name: &str, undecided| ComparedModel { model: name.into(), undecided };
    report.comparison = Some(Comparison {
        models: vec![model("reads-from", 0), model("values", 1), model("control", 0)],
        rows: vec![
            row(Some("race-1"), "x", &[NotFound, Real, Possible]),
            row(None, "y", &[NotFound, Undecided, Possible]),
            row(None, "z", &[NotFound, NotFound, Possible]),
            row(None, "v", &[NotFound, NotFound, Possible]),
            row(None, "w", &[NotFound, NotFound, Possible]),
        ],
    });
    let mut bytes = Vec::new();
    write_text(&report, Style::default(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (_, table) = text.split_once("left open").expect("one model left something open");
    expect![[r#"
        : values 1
                finding                    reads-from  values     control
        race-1  race on x at a.c:3, a.c:9  -           real       possible
                race on y at a.c:3, a.c:9  -           undecided  possible
                race on z at a.c:3, a.c:9  -           -          possible
                race on v at a.c:3, a.c:9  -           -          possible
                race on w at a.c:3, a.c:9  -           -          possible
        values is the first to find race-1
        control is the first to find race on y at a.c:3, a.c:9; race on z at a.c:3, a.c:9; race on v at a.c:3, a.c:9 and 1 more

        import: joined twice (2 times)
        verdict: 1 bug that can happen, 1 undecided
    "#]].assert_eq(table);
    let mut bytes = Vec::new();
    write_json(&report, &mut bytes).unwrap();
    let json = String::from_utf8(bytes).unwrap();
    let (_, rest) = json.split_once(" \"compared_models\"").expect("it is there");
    let (compared, _) = rest.split_once(" \"notes\"").expect("it comes before the notes");
    expect![[r#"
        : [
          {"model":"reads-from","undecided":0},
          {"model":"values","undecided":1},
          {"model":"control","undecided":0}
         ],
         "compare": [
          {"id":"race-1","kind":"race","object":"x","places":["a.c:3","a.c:9"],"models":{"reads-from":"not-found","values":"real","control":"possible"},"first":"values"},
          {"id":null,"kind":"race","object":"y","places":["a.c:3","a.c:9"],"models":{"reads-from":"not-found","values":"undecided","control":"possible"},"first":"control"},
          {"id":null,"kind":"race","object":"z","places":["a.c:3","a.c:9"],"models":{"reads-from":"not-found","values":"not-found","control":"possible"},"first":"control"},
          {"id":null,"kind":"race","object":"v","places":["a.c:3","a.c:9"],"models":{"reads-from":"not-found","values":"not-found","control":"possible"},"first":"control"},
          {"id":null,"kind":"race","object":"w","places":["a.c:3","a.c:9"],"models":{"reads-from":"not-found","values":"not-found","control":"possible"},"first":"control"}
         ],
    "#]].assert_eq(compared);
    report.comparison.as_mut().unwrap().rows.clear();
    let mut bytes = Vec::new();
    write_text(&report, Style::default(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.contains("\nleft open: values 1\nnothing found by reads-from, values, control\n"),
        "{text}"
    );
}

#[test]
fn no_bug_within_a_bound() {
    let mut report = small();
    report.findings.clear();
    report.undecided.clear();
    report.trace.provenance.clear();
    report.summary.truncate(1);
    report.settings.context_bound = Some(1);
    report.summary[0].1 =
        Ledger { candidates: 2, infeasible: 1, infeasible_in_bound: 1, ..Ledger::default() };
    check(
        &report,
        Style::default(),
        expect![[r#"
            small.trace: 6 events, 2 threads, model values
            verdict: no bug in any schedule of these events with at most 1 context switch (checked: race; model values)
        "#]],
    );
    report.summary[0].1 = Ledger { candidates: 2, infeasible: 2, ..Ledger::default() };
    check(
        &report,
        Style::default(),
        expect![[r#"
            small.trace: 6 events, 2 threads, model values
            verdict: no bug in any schedule of these events, proved for any number of context switches (checked: race; model values)
        "#]],
    );
}

/// What the schedule changes stands in it; what was recorded stays in the excerpt.
#[test]
fn changed_values() {
    let mut report = small();
    report.undecided.clear();
    report.findings[0].changes =
        vec![(3, operation_of("read y : 7")), (4, operation_of("read x : 7"))];
    report.summary.clear();
    check(
        &report,
        Style::default(),
        expect![[r#"
            small.trace: 6 events, 2 threads, model values

            race-1 (real): data race on x
              t1  is about to write x = 1  at a.c:3  holding m from a.c:2
              t2  is about to read x : 7   at a.c:9  holding no lock
              schedule: 2 steps, 2 context switches
               step  t1           t2
                  1  acquire m                 a.c:2
                  2               read y : 7
               next*              read x : 7   a.c:9
               next* write x = 1               a.c:3

            import: joined twice (2 times)
            verdict: 1 bug that can happen
        "#]],
    );
}

/// What a store changes is what the last one left, atomic or not.
#[test]
fn atomic_stores_leave_values() {
    let mut report = small();
    let finding = &mut report.findings[0];
    finding.schedule = vec![0, 3, 1];
    let operations = [(0, "read x : 0"), (1, "write x : 1"), (3, "atomic write x : 5")];
    finding.changes = operations.map(|(event, text)| (event, operation_of(text))).to_vec();
    let mut bytes = Vec::new();
    write_text(&report, Style::default(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("x: 5 → 1") && text.contains("  atomic write x : 5"), "{text}");
}

#[test]
fn what_is_known_of_computed_values_is_one_line() {
    let terms = |facts: &[(Walked, u64)]| {
        let mut report = small();
        let fact = |(what, count): &(Walked, u64)| (what.clone().into(), *count);
        report.trace.provenance = facts.iter().map(fact).collect();
        let mut bytes = Vec::new();
        write_text(&report, Style { verbose: true, ..Style::default() }, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains("import: "), "{text}");
        text.lines().find(|line| line.starts_with("data flow: ")).map(str::to_string)
    };
    assert_eq!(terms(&[]), None);
    let all = [(Walked::SharedWrites, 4), (Walked::Branches, 9), (Walked::Expressed, 3)];
    let expected =
        "data flow: 3 of 3 writes and branches that depend on shared reads are modelled exactly";
    assert_eq!(terms(&all).as_deref(), Some(expected));
    let some = [
        (Walked::Expressed, 3),
        (Walked::Concretised, 2),
        (Walked::ReadKept(Kept::Address), 4),
        (Walked::ReadKept(Kept::Divisor), 1),
        (Walked::PathLost { why: Lost::NoImage, function: None }, 1),
    ];
    let expected = "data flow: 3 of 5 writes and branches that depend on shared reads are modelled exactly; 5 reads are fixed to their recorded values \
                    (address, divisor); 1 thread could not be followed to its end (a function without an image); --symbolic-addresses lets addresses vary";
    assert_eq!(terms(&some).as_deref(), Some(expected));
}

/// What nobody else touches is no news, reads of unknown writers are summed up, and what was left
/// out is a blind spot as well; free text is shown, whatever it says.
#[test]
fn facts_become_words_in_the_report() {
    let mut report = small();
    let place = Some("a.c:3".to_string());
    report.trace.provenance = vec![
        (Private::Access.into(), 7),
        (LeftOut::DestroyOfHeldLock.into(), 2),
        (Provenance::UnknownWriter { at: place.clone() }, 3),
        (Provenance::Unseen { what: Unseen::WideAtomic, at: place }, 1),
        (Provenance::Other("a line left out".into()), 4),
    ];
    let mut bytes = Vec::new();
    write_text(&report, Style::default(), &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let told = |start: &str| -> String {
        text.lines()
            .filter(|line| line.starts_with(start))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    expect![[r#"
        import: destroy of a lock that is held left out (2 times)
        import: atomic operation of more than 8 bytes at a.c:3: the memory that it touches is not seen
        import: a line left out (4 times)
    "#]]
    .assert_eq(&told("import: "));
    assert!(told("blind spots: ").starts_with("blind spots: 5 events that"), "{text}");
    let mut json = Vec::new();
    write_json(&report, &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let unseen = &json["trace"]["repairs"][3];
    assert_eq!(unseen["code"], "unseen");
    assert_eq!(unseen["details"], serde_json::json!(["wide-atomic", "a.c:3"]));
    assert_eq!(json["trace"]["repairs"][1]["code"], "destroy-of-held-lock-left-out");
    assert_eq!(json["trace"]["blind_spots"], 5);
}

#[test]
fn a_narrow_column_keeps_what_an_operation_comes_to() {
    let mut report = long();
    for text in &mut report.excerpt {
        text.operation = operation_of("branch a_long_name >= another_long_name : false");
    }
    let mut bytes = Vec::new();
    write_text(&report, Style { width: 60, ..Style::default() }, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("… : false"), "{text}");
}

#[test]
fn what_is_left_open_is_counted_where_it_was_asked_about() {
    let mut report = small();
    let before = report.summary.clone();
    report.leave_open(Kind::Assertion, Reason::new("left-out", "nobody looked"));
    assert_eq!((&report.summary, &report.undecided), (&before, &small().undecided));
    report.leave_open(Kind::Stuck, Reason::new("left-out", "nobody looked"));
    let open = Ledger { candidates: 1, undecided: 1, ..Ledger::default() };
    assert_eq!(report.summary, [before[0], (Property::Deadlock, open)]);
    assert_eq!(report.undecided.last().map(|open| open.kind), Some(Kind::Stuck));
}
