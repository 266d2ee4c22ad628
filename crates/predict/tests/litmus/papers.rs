//! The papers' worked examples, one named test each; `docs/papers.md` has them as a table.
//!
//! What a figure's verdict is stands in its litmus file. Here are the figures' names, and what a litmus file cannot say.

use std::collections::BTreeSet;

use foretrace_predict::{Granularity, Options, predict};
use foretrace_trace::{EventId, Op, Trace};
use foretrace_witness::Violation;

use super::{Litmus, MODELS, check_file, read};

fn litmus(name: &str) -> Litmus {
    Litmus::parse(&read(name)).unwrap_or_else(|problem| panic!("{name}: {problem}"))
}

#[test]
fn paper_002_figure_1_run_1_has_one_race_and_it_is_on_a_x() {
    check_file("paper-002-fig1-run1");
    let litmus = litmus("paper-002-fig1-run1");
    for model in MODELS {
        let prediction = litmus.predict(model, false).expect("it is decided");
        let [finding] = &prediction.findings[..] else { panic!("{:?}", prediction.findings) };
        let Violation::Race(write, read) = finding.violation else { panic!("{finding:?}") };
        let thread = |event: EventId| {
            litmus.trace.threads().get(litmus.trace.thread_of(event).index()).to_string()
        };
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
fn paper_002_figure_3_has_a_warning_and_no_witness() {
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
    for model in MODELS {
        let options = Options {
            model: Some(model),
            granularity: Granularity::Event,
            properties: vec![foretrace_witness::Property::Atomicity],
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

/// All merges of the trace's two threads in which each read of the one variable sees the value that it saw.
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
fn paper_000_figure_9a_is_not_violable() {
    check_file("paper-000-fig9a");
}

#[test]
fn paper_000_figure_9b_is_not_violable() {
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
