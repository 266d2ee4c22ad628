//! One program: what `verify` finds up to a bound against all executions of the interpreter.

use std::collections::BTreeSet;

use foretrace_program::{Machine, Undefined, Violation, explore, parse, validate};
use foretrace_verify::{Found, Options, violations_up_to};

/// How many states are explored of one program.
const STATES: u64 = 60_000;

/// Violations that the verifier asks for.
fn is_asked(violation: &Violation) -> bool {
    matches!(
        violation,
        Violation::Assertion(_) | Violation::LockError(..) | Violation::Undefined(..)
    ) && !matches!(violation, Violation::Undefined(Undefined::NoEnd, _))
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
