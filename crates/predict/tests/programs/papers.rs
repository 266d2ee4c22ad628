//! The papers' examples as programs: what is predicted, and that the schedules which the papers
//! show are among those that lead there. `docs/papers.md` has them as a table;
//! `crates/program/tests/papers.rs` explores all their interleavings.

use foretrace_model::terms::{BinaryOp, Node, SymbolId};
use foretrace_predict::{Finding, Options, ProgramPrediction, predict_program};
use foretrace_program::Program;
use foretrace_summarise::{Part, Wrong, explain, summarise};
use foretrace_trace::{EventId, Op, ThreadId};
use foretrace_verdict::Violation;

use super::{explored, predicted, read};

const FIGURE_11: &str = include_str!("../../../program/tests/papers/000-figure-11.ftp");
const FIGURE_1: &str = include_str!("../../../program/tests/papers/001-figure-1.ftp");
const SECTION_1_1: &str = include_str!("../../../program/tests/papers/003-section-1-1.ftp");
const BODY_TWICE: &str = include_str!("../../../program/tests/papers/003-figure-1.ftp");

fn predict(program: &Program) -> ProgramPrediction {
    assert_eq!(predicted(program).expect("it is supported"), explored(program, 100_000).unwrap());
    predict_program(program, &Options::default(), &()).expect("it is supported")
}

/// The findings that are failing assertions.
fn failing(answer: &ProgramPrediction) -> Vec<&Finding> {
    let is_assertion = |finding: &&Finding| matches!(finding.violation, Violation::Assertion(_));
    answer.prediction.findings.iter().filter(is_assertion).collect()
}

/// Runs what a paper shows: of each step its thread and its location, or `end`. The assertion fails
/// then, and x has this value.
fn fails_by(program: &Program, order: &[(&str, &str)], x: u64) {
    let mut summary = summarise(program).expect("it is supported");
    let data = summary.take_data();
    let trace = &summary.trace;
    let mut schedule: Vec<EventId> = Vec::new();
    for &(name, location) in order {
        let thread = trace.threads().find(name).unwrap_or_else(|| panic!("no thread {name}"));
        for &event in trace.thread_events(ThreadId::from(thread)) {
            let at = trace.location_of(event).map(|at| trace.name(at));
            let part = summary.origins[event.index()].part;
            let is_there = match part {
                Part::End => location == "end" && trace.op(event) == Op::End,
                Part::Step => at == Some(location),
                _ => false,
            };
            // What does not always happen does so only if the paper shows it.
            let happens = is_there || data.occurs(event).is_none();
            if happens && !schedule.contains(&event) {
                schedule.push(event);
            }
            if is_there && schedule.last() == Some(&event) {
                break;
            }
        }
    }
    let mut checks = trace.other_ops().filter(|(_, op)| matches!(op, Op::Assert { .. }));
    let (assertion, _) = checks.next().expect("there is an assertion");
    let replayed = explain(program, &summary, &schedule, &[], Wrong::Check(assertion))
        .unwrap_or_else(|reason| panic!("{reason}"));
    let global = program.find_global("x").expect("it is declared");
    assert_eq!(replayed.state.value(global), x);
}

/// 000, Fig. 11, as a program: only if both threads take their first arm.
#[test]
fn paper_000_figure_11_as_a_program() {
    let program = read(FIGURE_11);
    let answer = predict(&program);
    let [finding] = failing(&answer)[..] else { panic!("{:?}", answer.prediction.findings) };
    let Violation::Assertion(event) = finding.violation else { unreachable!() };
    let schedule = &finding.schedule;
    let replayed = explain(&program, &answer.summary, schedule, &[], Wrong::Check(event)).unwrap();
    let value = |name: &str| replayed.state.value(program.find_global(name).unwrap());
    assert_eq!((value("x"), value("y")), (2, 2));
}

/// 001, Fig. 1, for every input: the assertion fails, and it does so only for the paper's b = 0.
#[test]
fn paper_001_figure_1_for_every_input() {
    let program = read(FIGURE_1);
    let answer = predict_program(&program, &Options::default(), &()).expect("it is supported");
    let [finding] = failing(&answer)[..] else { panic!("{:?}", answer.prediction.findings) };
    let locations: Vec<&str> = finding
        .schedule
        .iter()
        .filter_map(|&event| program.location(answer.summary.origins[event.index()].site))
        .collect();
    let at = |line: &str| locations.iter().position(|&at| at == line);
    assert!(at("2") < at("7") && at("7") < at("5"), "{locations:?}");
    let value = finding.inputs.iter().find(|(event, _)| finding.schedule.contains(event));
    // y is b + 1, which is less than 2 for 0, and for the largest number, whose successor is the
    // smallest.
    assert!(matches!(value, Some((_, 0 | 0x7fff_ffff))), "{value:?}");

    let test = "  if b >= 0 {";
    assert!(FIGURE_1.contains(test));
    let assumed = format!("  assume b != 0 && b != 2147483647\n{test}");
    let program = read(&FIGURE_1.replace(test, &assumed));
    let answer = predict_program(&program, &Options::default(), &()).expect("it is supported");
    assert!(failing(&answer).is_empty());
}

/// 003, section 1.1, with as many additions as the paper has: the summary of T1 is that S2 stores
/// a0 + 100.
#[test]
fn paper_003_section_1_1_is_summarised() {
    let program = read(SECTION_1_1);
    let mut summary = summarise(&program).expect("it is supported");
    let data = summary.take_data();
    let at = |location: &str| {
        let is_there = |event: &EventId| {
            let at = summary.trace.location_of(*event);
            summary.trace.is_access(*event)
                && at.is_some_and(|at| summary.trace.name(at) == location)
        };
        (0..summary.trace.len()).map(EventId::from).find(is_there).expect("the program has it")
    };
    let stored = data.result(at("S2")).expect("a store has a value");
    let Node::Binary(BinaryOp::Add, read, hundred) = data.terms().node(stored) else {
        panic!("{:?} is no sum", data.terms().node(stored))
    };
    assert_eq!(data.terms().node(read), Node::Symbol(SymbolId(at("S1").0)));
    assert_eq!(data.terms().as_constant(hundred), Some(100));

    assert_eq!(failing(&predict(&program)).len(), 1);
    fails_by(
        &program,
        &[("t2", "S3"), ("t1", "S1"), ("t2", "S4"), ("t1", "S2"), ("t2", "A.read")],
        100,
    );
}

/// 003, Fig. 1: r4 is not 3, by the order that the paper shows.
#[test]
fn paper_003_figure_1_by_the_order_of_the_paper() {
    let program = read(BODY_TWICE);
    assert_eq!(failing(&predict(&program)).len(), 1);
    let summary = summarise(&program).expect("it is supported");
    let [_, first, second] = [0, 1, 2].map(|thread| summary.trace.threads().get(thread));
    let order = [
        ("main", "W1"),
        ("main", "F1"),
        ("main", "F2"),
        (first, "R1"),
        (second, "R1"),
        (first, "R2"),
        (first, "W2"),
        (second, "R2"),
        (second, "W2"),
        (first, "end"),
        (second, "end"),
        ("main", "R4"),
    ];
    fails_by(&program, &order, 2);
}
