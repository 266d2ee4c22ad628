//! One program: what `verify` finds up to a bound against all executions of the interpreter.

use std::cell::Cell;
use std::collections::BTreeSet;

use foretrace_program::explore::violations;
use foretrace_program::run::{Choice, Move, State};
use foretrace_program::{Machine, Program, Undefined, Violation, explore, parse, validate};
use foretrace_verify::{Bug, BugStep, Found, Options, Verdict, verify, violations_up_to};

/// How many states are explored of one program.
const STATES: u64 = 60_000;

/// What programs are asked about.
#[allow(dead_code)] // One of the tests counts them.
pub(crate) const PROPERTIES: [&str; 5] =
    ["assertion", "deadlock", "lock error", "race", "undefined"];

/// Which property a violation violates.
#[allow(dead_code)] // One of the tests counts them.
pub(crate) fn property(violation: &Violation) -> &'static str {
    match violation {
        Violation::Assertion(_) => "assertion",
        Violation::LockError(..) => "lock error",
        Violation::Race(..) => "race",
        Violation::Undefined(..) => "undefined",
        Violation::Deadlock(_) => "deadlock",
    }
}

/// Violations that the verifier asks for.
fn is_asked(violation: &Violation) -> bool {
    matches!(
        violation,
        Violation::Assertion(_)
            | Violation::LockError(..)
            | Violation::Undefined(..)
            | Violation::Race(..)
            | Violation::Deadlock(_)
    ) && !matches!(violation, Violation::Undefined(Undefined::NoEnd, _))
}

/// Programs on which the two once differed, or would if something were forgotten.
#[allow(dead_code)] // Not all tests have kept programs.
pub(crate) fn kept() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/kept");
    let files = std::fs::read_dir(folder).expect("programs are kept there");
    let paths = files.map(|file| file.expect("the folder can be read").path());
    let mut kept: Vec<(String, String)> = paths
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            (path.display().to_string(), text)
        })
        .collect();
    kept.sort();
    kept
}

/// How the two compare.
#[allow(dead_code)] // One of the tests counts what was found.
pub(crate) enum Compared {
    /// The verifier says that nothing lies beyond the bound, and both found the same.
    Equal { violations: BTreeSet<Violation> },
    /// The bound was too small; what was found is possible.
    Within,
    /// One of the two gave up.
    Skipped,
}

/// An error says what is wrong.
pub(crate) fn compare(text: &str, options: &Options) -> Result<Compared, String> {
    let program = parse(text).map_err(|error| error.to_string())?;
    validate(&program).map_err(|error| error.to_string())?;
    let machine = Machine::new(&program).with_spurious_wakeups().with_inputs(|_| vec![0, 1]);
    let explored = explore(&machine, STATES);
    let all: BTreeSet<Violation> = explored.violations.into_keys().filter(is_asked).collect();
    let Some(Found { violations, diverged, complete, unsupported: _ }) =
        violations_up_to(&program, options)
    else {
        return Ok(Compared::Skipped);
    };
    if !diverged.is_empty() {
        return Err(format!("not confirmed: {diverged:?}"));
    }
    let found: BTreeSet<Violation> = violations.into_iter().collect();
    if !explored.complete {
        return Ok(Compared::Skipped);
    }
    let describe = |set: &BTreeSet<Violation>| -> Vec<String> {
        set.iter().map(|violation| violation.describe(&program)).collect()
    };
    if !found.is_subset(&all) {
        return Err(format!("found {:?}, possible {:?}", describe(&found), describe(&all)));
    }
    match complete {
        true if found != all => {
            Err(format!("complete with {:?}, possible {:?}", describe(&found), describe(&all)))
        }
        true => Ok(Compared::Equal { violations: found }),
        false => Ok(Compared::Within),
    }
}

/// Whether random walks find a bug; an error if its schedule does not lead there.
#[allow(dead_code)] // One of the tests walks.
pub(crate) fn walk(text: &str) -> Result<bool, String> {
    let program = parse(text).map_err(|error| error.to_string())?;
    // Nothing is unfolded.
    let report = verify(&program, &Options { instructions: 1, ..Options::default() });
    match &report.verdict {
        Verdict::Bug(bug) if report.by_walk && leads_there(&program, bug) => Ok(true),
        Verdict::Bug(bug) => {
            Err(format!("nothing like {:?} is behind the schedule", bug.violation))
        }
        _ => Ok(false),
    }
}

/// Whether the steps of a schedule lead to its violation.
fn leads_there(program: &Program, bug: &Bug) -> bool {
    let input = Cell::new(0);
    let machine = Machine::new(program).with_spurious_wakeups().with_inputs(|_| vec![input.get()]);
    goes_on(&machine, &input, &machine.start().0, &bug.steps, &bug.violation)
}

/// The same from a state on. The schedule does not say whether a wait ends by itself: if so, then
/// at once.
fn goes_on(
    machine: &Machine,
    input: &Cell<u64>,
    state: &State,
    steps: &[BugStep],
    violation: &Violation,
) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return violations(machine, state).contains(violation);
    };
    input.set(step.input.unwrap_or(0));
    let mut state = state.clone();
    let chosen = Move { thread: step.id, choice: step.choice };
    machine.step(&mut state, chosen).is_some()
        && (goes_on(machine, input, &state, rest, violation)
            || machine.moves_of(&state, step.id).into_iter().any(|chosen| {
                let mut next = state.clone();
                matches!(chosen.choice, Choice::Expires | Choice::Spurious)
                    && machine.step(&mut next, chosen).is_some()
                    && goes_on(machine, input, &next, rest, violation)
            }))
}
