//! What a candidate claims, in words: the first sentence of an explanation, and the noun that the
//! other sentences use for it.

use std::fmt;

use foretrace_report::Kind;
use foretrace_trace::{ImplicitFault, Op};
use foretrace_verdict::{LockMisuse, Violation};

use super::words::Words;
use crate::implicit::{fault, freed};
use crate::trace::place;

/// How sentences call a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Noun(&'static str);

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

pub(super) fn noun(violation: &Violation) -> Noun {
    Noun(match violation {
        Violation::Race(..) => "this race",
        Violation::Atomicity { .. } => "this violation",
        Violation::LockCycle(_) => "this deadlock",
        Violation::Stuck(_) => "this stuck state",
        Violation::Lock(..) => "this lock error",
        Violation::Assertion(_) => "this failure",
    })
}

/// What would be the case if it happened.
pub(super) fn demand(words: Words, violation: &Violation) -> String {
    let noun = noun(violation);
    let about_to = |&event| words.is_about_to(event);
    let what = match violation {
        Violation::Race(a, b) => format!("{}, and {}", about_to(a), about_to(b)),
        Violation::Atomicity { first, remote, second } => format!(
            "{}, after that {}, and {}",
            words.has_done(*first),
            words.has_done(*remote),
            about_to(second)
        ),
        Violation::LockCycle(events) => {
            let blocked: Vec<String> = events.iter().map(about_to).collect();
            format!("{}, each with what the one before wants", blocked.join(", and "))
        }
        Violation::Stuck(event) => {
            let has_begun = matches!(
                words.trace.op(*event),
                Op::Request(_) | Op::Wait { .. } | Op::Arrive { .. } | Op::EnterCall { .. }
            );
            match has_begun {
                true => format!("{}, and waits for ever", words.has_done(*event)),
                false => format!("{} for ever", words.waits(*event)),
            }
        }
        Violation::Lock(misuse, event) => {
            let state = match misuse {
                LockMisuse::DoubleLock => "which it has already",
                LockMisuse::UnlockNotHeld => "which nobody has",
                LockMisuse::UnlockByOther => "which another thread has",
                LockMisuse::DestroyHeld => "which somebody has",
            };
            format!("{}, {state}", about_to(event))
        }
        Violation::Assertion(event) => match words.trace.access_and_free(*event) {
            Some((access, _)) => format!("{}, which is freed already", about_to(&access)),
            None => format!("{}, and it is false", about_to(event)),
        },
    };
    format!("For {noun}, {what}.")
}

/// What it would be, and where: `data race on x at a.c:2, a.c:9`.
pub(super) fn title(words: Words, violation: &Violation) -> String {
    let trace = words.trace;
    let what = match violation.kind() {
        Kind::Race => "data race",
        Kind::Atomicity => "atomicity violation",
        Kind::LockCycle => "lock cycle",
        Kind::Stuck => "stuck state",
        Kind::DoubleLock => "double lock",
        Kind::UnlockNotHeld => "unlock of a lock that nobody has",
        Kind::UnlockByOther => "unlock of a lock that another thread has",
        Kind::DestroyHeld => "destruction of a held lock",
        Kind::Assertion => match fault(trace, violation) {
            Some(ImplicitFault::Null) => "use of a null pointer",
            Some(ImplicitFault::Division) => "division by zero",
            Some(ImplicitFault::Bounds) => "index out of bounds",
            Some(ImplicitFault::Freed) => "use after free",
            Some(ImplicitFault::Address) | None => "failing assertion",
        },
    };
    // Of accesses of different sizes the smallest says most.
    let accesses = violation.events().into_iter().filter_map(|event| trace.access(event));
    let object = match violation.object(trace).and(accesses.min_by_key(|access| access.at.size)) {
        Some(access) => format!(" on {}", trace.place_name(access.at)),
        None => {
            freed(trace, violation).map_or(String::new(), |(_, block, _)| format!(" of {block}"))
        }
    };
    let places: Vec<String> =
        violation.events().into_iter().map(|event| place(trace, event)).collect();
    format!("{what}{object} at {}", places.join(", "))
}
