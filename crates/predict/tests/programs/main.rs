//! Programs: what is predicted from a summary is exactly what the exploration of all interleavings finds.

mod merged;
mod random;

use std::collections::BTreeSet;

use foretrace_predict::{Granularity, Options, ProgramError, predict_program};
use foretrace_program::explore::{Violation as Explored, explore};
use foretrace_program::run::LockError;
use foretrace_program::{Machine, Program, Site, parse, validate};
use foretrace_summarise::Part;
use foretrace_witness::Violation;

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
                Explored::Fault(_, at) => format!("unreachable {}", site(at)),
            })
        });
        wrong.collect()
    })
}

fn predicted(program: &Program) -> Result<Found, ProgramError> {
    let options = Options { granularity: Granularity::Event, ..Options::default() };
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

#[test]
fn random_programs_agree_with_their_exploration() {
    let cases: u64 =
        std::env::var("FORETRACE_PROGRAMS").map_or(400, |cases| cases.parse().expect("a number"));
    let start: u64 =
        std::env::var("FORETRACE_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let (mut wrong, mut compared) = (0, 0);
    for seed in start..start + cases {
        let text = random::program(seed);
        let program = read(&text);
        let Some(truth) = explored(&program, 200_000) else { continue };
        match predicted(&program) {
            Ok(found) => assert_eq!(found, truth, "seed {seed}\n{text}"),
            Err(ProgramError::Unsupported(what)) => panic!("seed {seed}: {what}\n{text}"),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
        }
        compared += 1;
        wrong += usize::from(!truth.is_empty());
    }
    println!("{compared} of {cases} programs, {wrong} with something wrong");
    assert!(compared * 2 > cases as usize, "only {compared} programs are small enough");
    assert!(wrong * 3 > compared, "only {wrong} of {compared} programs are wrong");
}
