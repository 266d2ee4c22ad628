//! Programs: what is predicted from a summary is exactly what the exploration of all interleavings
//! finds.

mod merged;
mod papers;
mod random;

use foretrace_testing::cases;
use std::collections::BTreeSet;

use foretrace_predict::{Granularity, Options, ProgramError, Switches, predict_program};
use foretrace_program::explore::{Violation as Explored, explore};
use foretrace_program::run::LockError;
use foretrace_program::{Machine, Program, Site, parse, validate};
use foretrace_summarise::Part;
use foretrace_verdict::Violation;

fn read(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    validate(&program).unwrap_or_else(|invalid| panic!("{invalid}\n{text}"));
    program
}

/// What is wrong, in words that both sides can say.
type Found = BTreeSet<String>;

fn explored(program: &Program, budget: u64) -> Option<Found> {
    let machine = Machine::new(program).with_inputs(|_| vec![0, 1, 2, 255]);
    let explored = explore(&machine, budget);
    let site = |site: Site| format!("{}:{}:{}", site.function.0, site.block.0, site.index);
    explored.complete.then(|| {
        let wrong = explored.violations.keys().filter_map(|violation| {
            Some(match *violation {
                Explored::Assertion(at) => format!("assertion {}", site(at)),
                Explored::Race(a, b) => format!("race {} {}", site(a), site(b)),
                Explored::LockError(LockError::DoubleLock, at) => format!("double {}", site(at)),
                Explored::LockError(_, at) => format!("not held {}", site(at)),
                Explored::Deadlock(_) => return None,
                Explored::Undefined(_, at) => format!("unreachable {}", site(at)),
            })
        });
        wrong.collect()
    })
}

fn predicted(program: &Program) -> Result<Found, ProgramError> {
    predicted_with(program, Switches::Any)
}

fn predicted_with(program: &Program, switches: Switches) -> Result<Found, ProgramError> {
    let options = Options { granularity: Granularity::Event, switches, ..Options::default() };
    let answer = predict_program(program, &options, &())?;
    assert!(answer.prediction.undecided.is_empty(), "{:?}", answer.prediction.undecided);
    let origin = |event: foretrace_trace::EventId| answer.summary.origins[event.index()];
    let site = |event| {
        let site = origin(event).site;
        format!("{}:{}:{}", site.function.0, site.block.0, site.index)
    };
    let wrong = answer.prediction.findings.iter().map(|finding| match finding.violation {
        Violation::Assertion(event) => {
            let kind = match origin(event).part {
                Part::Assertion => "assertion",
                Part::DoubleLock => "double",
                Part::NotHeld => "not held",
                Part::Unreachable => "unreachable",
                other => panic!("{other:?} is no check"),
            };
            format!("{kind} {}", site(event))
        }
        Violation::Race(a, b) => {
            let (a, b) = if origin(a).site <= origin(b).site { (a, b) } else { (b, a) };
            format!("race {} {}", site(a), site(b))
        }
        ref other => panic!("{other:?}"),
    });
    Ok(wrong.collect())
}

/// How many random programs are compared, in all.
const CASES: u64 = 20_000;

fn compare(part: u64, parts: u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().expect("a number"))
    };
    let (cases, start) =
        (number("FORETRACE_PROGRAMS", cases(CASES, 5 * CASES)), number("FORETRACE_SEED", 1));
    let (mut wrong, mut compared) = (0, 0);
    for seed in (start..start + cases).filter(|seed| seed % parts == part) {
        let text = random::program(seed);
        let program = read(&text);
        let Some(truth) = explored(&program, 200_000) else { continue };
        // The fewest context switches are another way to the same answers.
        let switches = if seed % 16 < 2 { Switches::Fewest } else { Switches::Any };
        match predicted_with(&program, switches) {
            Ok(found) => assert_eq!(found, truth, "seed {seed}\n{text}"),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
        }
        compared += 1;
        wrong += usize::from(!truth.is_empty());
    }
    println!("{compared} programs, {wrong} with something wrong");
    assert!(compared as u64 * parts * 2 > cases, "only {compared} programs are small enough");
    assert!(wrong * 3 > compared, "only {wrong} of {compared} programs are wrong");
}

#[test]
fn random_programs_agree_with_their_exploration() {
    compare(0, 2);
}

#[test]
fn other_random_programs_agree_with_their_exploration() {
    compare(1, 2);
}

/// The violations of a program that the text form shows, under a setting.
fn findings(text: &str, switches: Switches) -> Vec<String> {
    let program = read(text);
    let options = Options { granularity: Granularity::Event, switches, ..Options::default() };
    let answer = predict_program(&program, &options, &()).unwrap_or_else(|error| panic!("{error}"));
    let findings = answer.prediction.findings.iter();
    findings.map(|finding| format!("{:?}", finding.violation.property())).collect()
}

#[test]
fn what_does_not_happen_is_no_context_switch() {
    let text = "
global x : 1 = 0
global z : 1 = 3
thread t0 {
  a = load atomic x
  if a != 0 { b = load x }
  c = load z
}
thread t1 { store atomic z, u8(1) }";
    // The beginnings of both threads are events too.
    for switches in [Switches::AtMost(2), Switches::Fewest] {
        assert_eq!(findings(text, switches), ["Race"], "{switches:?}");
    }
    assert_eq!(findings(text, Switches::AtMost(1)), [""; 0]);
}

#[test]
fn a_variable_may_be_called_like_a_lock() {
    let text = "
global \"lock m\" : 4 = 0
lock m
thread a {
  store atomic \"lock m\", 1
  acquire m
  release m
  assert load atomic \"lock m\" == 0
}";
    assert_eq!(findings(text, Switches::Any), ["Assertion"]);
}

#[test]
fn a_forked_function_may_have_the_name_of_a_thread() {
    let text = "
global x = 0
thread main { h := fork t(); join h }
thread t { store x, 1 }";
    assert_eq!(findings(text, Switches::Any), ["Race"]);
}

#[test]
fn what_is_outside_of_a_slot_is_not_summarised() {
    let program = read("thread t { p = slot 4; store.8 p, u64(1) }");
    let answer = predict_program(&program, &Options::default(), &());
    assert!(matches!(answer, Err(ProgramError::Unsupported(_))), "{answer:?}");
}

#[test]
fn checks_of_different_kinds_at_one_place_have_verdicts_of_their_own() {
    let program = read(
        "
lock m
thread t {
  n := external a : 32
  if n > 3 { release m @ here
  }
  assert n != 2 @ here
}",
    );
    let answer = predict_program(&program, &Options::default(), &()).expect("it is supported");
    assert_eq!(answer.prediction.findings.len(), 2);
}
