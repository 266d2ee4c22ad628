//! What is wrong in one state.
//!
//! **Follows.** `docs/theory.md`, section 4, for programs: races, lock errors and stuck states;
//! assertions and undefined behaviour from what stopped threads.

use foretrace_trace::Access;

use crate::ir::{Program, Site};
use crate::run::{Choice, LockError, Machine, Move, NextKind, State, Status, Undefined, Why};
use crate::text::describe;

/// A property that does not hold. Sites name instructions; the threads that run them are not told
/// apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Violation {
    /// The condition of an assertion is false.
    Assertion(Site),
    /// Two threads are both before accesses that conflict, not both atomic; an access inside of a
    /// section counts as atomic. The smaller site is the first.
    Race(Site, Site),
    /// A lock is not used as it must be.
    LockError(LockError, Site),
    /// Every thread is finished or blocked, and at least one is blocked: at these sites, sorted. A
    /// state in which a thread was stopped is none. A wait that only a spurious wake-up would end
    /// is blocked. Or a thread is blocked inside of a section, whatever the others are at: then
    /// only its site is named.
    Deadlock(Vec<Site>),
    /// Undefined behaviour.
    Undefined(Undefined, Site),
}

impl Violation {
    /// Where it is; of several places the first.
    pub fn site(&self) -> Option<Site> {
        match self {
            Violation::Assertion(site)
            | Violation::Race(site, _)
            | Violation::LockError(_, site)
            | Violation::Undefined(_, site) => Some(*site),
            Violation::Deadlock(sites) => sites.first().copied(),
        }
    }

    /// The violation in words, with the text of its instructions.
    pub fn describe(&self, program: &Program) -> String {
        let show = |site: &Site| describe(program, *site);
        match self {
            Violation::Assertion(site) => format!("assertion violated: {}", show(site)),
            Violation::Race(first, second) => format!("race: {} | {}", show(first), show(second)),
            Violation::LockError(error, site) => format!("lock error: {}: {error}", show(site)),
            Violation::Deadlock(sites) => {
                let sites: Vec<String> = sites.iter().map(show).collect();
                format!("deadlock: {}", sites.join(" | "))
            }
            Violation::Undefined(what, site) => {
                format!("undefined behaviour: {}: {what}", show(site))
            }
        }
    }
}

/// The violations that a state shows.
pub fn violations(machine: &Machine, state: &State) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut accesses: Vec<(Site, Access)> = Vec::new();
    let mut blocked = Vec::new();
    let mut may_be_deadlock = !state.has_exited();
    for thread in state.thread_ids() {
        if let Status::Stopped(stop) = state.status(thread) {
            may_be_deadlock = false;
            match stop.why {
                Why::Assertion => found.push(Violation::Assertion(stop.site)),
                Why::Assumption => (),
                Why::LockError(error) => found.push(Violation::LockError(error, stop.site)),
                Why::Undefined(what) => found.push(Violation::Undefined(what, stop.site)),
            }
        }
        let Some(next) = machine.next(state, thread) else { continue };
        if let NextKind::Access(mut access) = next.kind {
            // What happens in a section happens at once.
            access.atomic |= state.is_in_section(thread);
            for &(site, other) in &accesses {
                if access.conflicts(&other) && !(access.atomic && other.atomic) {
                    found.push(Violation::Race(site.min(next.site), site.max(next.site)));
                }
            }
            accesses.push((next.site, access));
        }
        if machine.is_at_no_object(state, thread) {
            found.push(Violation::Undefined(Undefined::BadAddress, next.site));
        }
        if machine.is_double_lock(state, thread) {
            found.push(Violation::LockError(LockError::DoubleLock, next.site));
        }
        // Whoever is kept out by a section waits for the thread inside of it; only that one counts.
        if state.is_kept_out(thread) {
            continue;
        }
        // A spurious wake-up may happen, but need not.
        let is_spurious = |chosen: &Move| chosen.choice == Choice::Spurious;
        if machine.moves_of(state, thread).iter().all(is_spurious) {
            blocked.push(next.site);
        } else {
            may_be_deadlock = false;
        }
    }
    let is_in_section = state.thread_ids().any(|thread| state.is_in_section(thread));
    if (may_be_deadlock || is_in_section) && !blocked.is_empty() {
        blocked.sort_unstable();
        found.push(Violation::Deadlock(blocked));
    }
    found
}
