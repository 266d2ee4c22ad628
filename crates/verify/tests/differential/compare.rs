//! One program: what `verify` finds up to a bound against all executions of the interpreter.

use std::collections::BTreeSet;

use foretrace_program::{Machine, Undefined, Violation, explore, parse, validate};
use foretrace_verify::{Found, Options, violations_up_to};

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
