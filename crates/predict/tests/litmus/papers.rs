//! The papers' worked examples, one named test each; `docs/papers.md` has them as a table.
//!
//! What a figure's verdict is stands in its litmus file. Here are the figures' names, and what a
//! litmus file cannot say.

use std::collections::BTreeSet;

use foretrace_predict::{Finding, Granularity, Options, Switches, predict};
use foretrace_trace::{EventId, Op, Trace};
use foretrace_verdict::{Model, Violation};

use super::{Litmus, PINNED, check_file, read};

fn litmus(name: &str) -> Litmus {
    Litmus::parse(&read(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

#[test]
fn paper_002_figure_1_run_1_has_one_race_and_it_is_on_a_x() {
    check_file("paper-002-fig1-run1");
    let litmus = litmus("paper-002-fig1-run1");
    for model in PINNED {
        let prediction = litmus.predict(model, false, Switches::Any).expect("it is decided");
        let [finding] = &prediction.findings[..] else { panic!("{:?}", prediction.findings) };
        let Violation::Race(write, read) = finding.violation else { panic!("{finding:?}") };
        let thread = |event: EventId| litmus.trace.name(litmus.trace.thread_of(event)).to_string();
        assert_eq!([thread(write), thread(read)], ["t2", "t3"]);
        assert!(matches!(litmus.trace.op(write), Op::Write { .. }));
        assert!(matches!(litmus.trace.op(read), Op::Read { .. }));
    }
}

#[test]
fn paper_002_figure_1_run_2_has_no_race_but_a_deadlock() {
    check_file("paper-002-fig1-run2");
}

#[test]
fn paper_002_figure_2() {
    check_file("paper-002-fig2");
}

#[test]
fn paper_002_figure_3_has_a_witness_only_where_nothing_is_pinned() {
    check_file("paper-002-fig3");
}

#[test]
fn paper_000_figure_5_erroneous_prefixes() {
    check_file("paper-000-fig5");
    let litmus = litmus("paper-000-fig5");
    let at = |place: &str| {
        let all = litmus.trace.events().map(|(event, _)| event);
        all.into_iter().find(|&event| litmus.spot(event) == place).expect("the figure has it")
    };
    let triple = |first: &str, remote: &str, second: &str| Violation::Atomicity {
        first: at(first),
        remote: at(remote),
        second: at(second),
    };
    // By events as well: these four and no others.
    let four = [
        triple("t1", "t5", "t2"),
        triple("t1", "t5", "t4"),
        triple("t1", "t6", "t4"),
        triple("t2", "t5", "t4"),
    ];
    for model in PINNED {
        let options = Options {
            model: Some(model),
            granularity: Granularity::Event,
            properties: vec![foretrace_verdict::Property::Atomicity],
            ..Options::default()
        };
        let prediction = predict(&litmus.trace, &options, &()).expect("it is decided");
        let found: BTreeSet<Violation> =
            prediction.findings.into_iter().map(|finding| finding.violation).collect();
        assert_eq!(found, four.iter().cloned().collect());
    }
    // In runs of all events with the recorded values, the first has no place.
    let whole = linearisations(&litmus.trace);
    let has = |violation: &Violation| {
        let &Violation::Atomicity { first, remote, second } = violation else { unreachable!() };
        whole.iter().any(|run| {
            let at = |event| run.iter().position(|&other| other == event);
            at(first) < at(remote) && at(remote) < at(second)
        })
    };
    assert_eq!(four.each_ref().map(has), [false, true, true, true]);
}

/// All merges of the trace's two threads in which each read of the one variable sees the value that
/// it saw.
fn linearisations(trace: &Trace) -> Vec<Vec<EventId>> {
    fn extend(trace: &Trace, run: &mut Vec<EventId>, value: u64, all: &mut Vec<Vec<EventId>>) {
        if run.len() == trace.len() {
            all.push(run.clone());
        }
        for thread in trace.thread_ids() {
            let done = run.iter().filter(|&&event| trace.thread_of(event) == thread).count();
            let Some(&event) = trace.thread_events(thread).get(done) else { continue };
            let after = match trace.op(event) {
                Op::Read { value: Some(seen), .. } if seen != value => continue,
                Op::Write { value: Some(stored), .. } => stored,
                _ => value,
            };
            run.push(event);
            extend(trace, run, after, all);
            run.pop();
        }
    }
    let mut all = Vec::new();
    extend(trace, &mut Vec::new(), 0, &mut all);
    all
}

#[test]
fn paper_000_figures_1_to_4_need_the_symbolic_model_and_one_switch() {
    check_file("paper-000-fig1");
    let litmus = litmus("paper-000-fig1");
    let prediction = litmus.predict(Model::Symbolic, false, Switches::AtMost(1));
    let prediction = prediction.expect("it is decided");
    let [finding] = &prediction.findings[..] else { panic!("{:?}", prediction.findings) };
    let spots: Vec<String> = finding.schedule.iter().map(|&event| litmus.spot(event)).collect();
    assert_eq!(spots.join(" "), "t1 t2 t3 t4 t9 t10 t11.read t11 t12.read");
}

#[test]
fn paper_000_figures_7_and_8_are_found_by_values_too() {
    check_file("paper-000-fig7");
}

#[test]
fn paper_000_section_6_3_a_proof_that_does_not_use_the_bound() {
    check_file("paper-000-sec6.3");
}

#[test]
fn paper_000_figure_9a_is_not_violable_but_control_reports_it() {
    check_file("paper-000-fig9a");
}

#[test]
fn paper_000_figure_9b_is_not_violable_even_without_data() {
    check_file("paper-000-fig9b-cond");
    check_file("paper-000-fig9b-semaphore");
}

#[test]
fn paper_000_section_5_2_lock_errors() {
    check_file("paper-000-sec5.2-double-lock");
    check_file("paper-000-sec5.2-double-unlock");
    check_file("paper-000-sec5.2-predicted");
    check_file("paper-000-sec5.2-recursive");
}

#[test]
fn paper_001_figure_1_fails_between_lines_2_and_5() {
    check_file("paper-001-fig1");
}

#[test]
fn paper_003_section_1_1_local_computation() {
    check_file("paper-003-sec1.1");
    // With all its hundred steps, and the run that the paper gives.
    let mut text =
        String::from("T2: write x = 0 @ S3\nT2: write x = 5 @ S4\nT1: a0 = read x : 5 @ S1\n");
    for step in 1..=99 {
        let before = step - 1;
        text += &format!("T1: let a{step} = a{before} + 1\nT1: write z{step} = a{step}\n");
    }
    text += "T1: let a100 = a99 + 1\nT1: write x = a100 : 105 @ S2\n";
    text += "T2: r = read x : 105 @ R\nT2: assert r == 5 || r >= 105 : true @ A\n";
    let litmus = Litmus::parse(&text).expect("it is a valid trace");
    for model in PINNED {
        let prediction = litmus.predict(model, false, Switches::Any).expect("it is decided");
        assert!(prediction.findings.iter().all(|finding| litmus.show(finding) != "assertion A"));
    }
    let prediction = litmus.predict(Model::Symbolic, false, Switches::Any).expect("it is decided");
    let failing = |finding: &&Finding| litmus.show(finding) == "assertion A";
    let finding = prediction.findings.iter().find(failing).expect("it can fail");
    let spots = finding.schedule.iter().map(|&event| litmus.spot(event));
    let named: Vec<String> = spots.filter(|spot| !spot.starts_with("line:")).collect();
    assert_eq!(named.join(" "), "S3 S1 S4 S2 R");
    let explanation = finding.explanation.as_ref().expect("what is read differs");
    let assertion = explanation.assertion.as_ref().expect("it is an assertion");
    assert_eq!(assertion.names.iter().map(|named| named.value).collect::<Vec<_>>(), [Some(100)]);
}

#[test]
fn paper_004_figure_1_needs_locks_and_waits_together() {
    check_file("paper-004-fig1");
    check_file("paper-004-fig1-locks");
    check_file("paper-004-fig1-wait");
}

#[test]
fn every_paper_file_has_a_named_test() {
    let here = include_str!("papers.rs");
    for name in super::names().into_iter().filter(|name| name.starts_with("paper-")) {
        assert!(here.contains(&format!("check_file(\"{name}\")")), "{name}");
    }
}
