//! Shows that the random tests are not vacuous.
//!
//! **Computes.** How many cases contained a primitive and had a violated tuple, or one that is not
//! violated: primitive × property × model × verdict.
//!
//! **Follows.** `docs/theory.md` for the primitives: one row per event kind, and per variant of it
//! that has a rule of its own.
//!
//! **Invariant.** Every cell can be filled: there is no primitive next to which a property could
//! only be violated, or never.
//!
//! **Cost.** One pass over the trace and its candidates per case and model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use foretrace_trace::*;
use foretrace_verdict::{Model, Violation};

use crate::explore::Explored;
use crate::recorded::{Recorded, Role};
use crate::term::Term;

/// All rows of the table.
const PRIMITIVES: &[&str] = &[
    "read",
    "read, unvalued",
    "read, atomic",
    "read, unknown writer",
    "read, private unknown",
    "write",
    "write, unvalued",
    "write, atomic",
    "rmw",
    "overlapping places",
    "initial value declared",
    "acquire",
    "acquire, shared",
    "acquire, try",
    "acquire, timed",
    "acquire, deepening",
    "acquire-failed, try",
    "acquire-failed, timed",
    "release",
    "release, shared",
    "release, lowering",
    "release, foreign",
    "release, unheld",
    "destroy",
    "wait",
    "wait, timed",
    "wait, deep hold",
    "wake, notified",
    "wake, timed out",
    "wake, spurious",
    "signal",
    "broadcast",
    "sem-wait",
    "sem-wait, try",
    "sem-wait, timed",
    "sem-wait-failed",
    "sem-post",
    "semaphore declared",
    "semaphore undeclared",
    "arrive",
    "leave",
    "barrier declared",
    "barrier undeclared",
    "request acquire",
    "request sem-wait",
    "request join",
    "hung: request",
    "hung: wait",
    "hung: arrive",
    "fork",
    "join",
    "begin",
    "end",
    "exit",
    "alloc",
    "alloc, address again",
    "free",
    "region",
    "branch",
    "assert",
    "assume",
    "fence",
    "external",
    "let",
    "write, counting",
    "rmw, counting",
    "rmw, assuming",
    "branch, counting",
    "assert, counting",
    "assume, counting",
    "cast",
    "unsigned operator",
    "opaque event",
    "released read",
    "unknown dependences",
    "enter call",
    "call, several channels",
    "call, gives only",
    "call, takes only",
    "call, every channel",
    "call, no channel",
    "call inside another",
    "call that never leaves",
    "call, delayed channel",
    "call that waits",
    "call that waits, with a piece",
    "leave call",
    "leave, needs another",
];

/// The columns: the families of violations.
const FAMILIES: [&str; 6] = ["race", "atomicity", "lock cycle", "stuck", "lock error", "assertion"];

fn family(violation: &Violation) -> usize {
    match violation {
        Violation::Race(..) => 0,
        Violation::Atomicity { .. } => 1,
        Violation::LockCycle(_) => 2,
        Violation::Stuck(_) => 3,
        Violation::Lock(..) => 4,
        Violation::Assertion(_) => 5,
    }
}

/// Cases with a violated tuple, and cases with one that is not violated.
#[derive(Clone, Copy, Default, Debug)]
struct Verdicts {
    violated: u64,
    not_violated: u64,
}

/// The counts of many cases.
#[derive(Clone, Default, Debug)]
pub struct Coverage {
    counts: BTreeMap<(usize, Model, usize), Verdicts>,
}

impl Coverage {
    /// Counts a case: what is violated is known, everything else that might have been is not.
    pub(crate) fn count(&mut self, trace: &Trace, explored: &Explored, model: Model) {
        let Explored { violations: violated, unknown, .. } = explored;
        let recorded = Recorded::new(trace, model, true);
        let mut seen = [[false; 2]; FAMILIES.len()];
        for violation in violated {
            seen[family(violation)][0] = true;
        }
        for candidate in recorded.candidates() {
            if !violated.contains(&candidate) && !unknown.contains(&candidate) {
                seen[family(&candidate)][1] = true;
            }
        }
        let names = recorded.primitives();
        for (row, _) in PRIMITIVES.iter().enumerate().filter(|(_, name)| names.contains(*name)) {
            for (family, &[violated, not_violated]) in seen.iter().enumerate() {
                let verdicts = self.counts.entry((row, model, family)).or_default();
                verdicts.violated += u64::from(violated);
                verdicts.not_violated += u64::from(not_violated);
            }
        }
    }

    /// Adds the counts of other cases.
    pub(crate) fn add(&mut self, other: &Coverage) {
        for (key, more) in &other.counts {
            let verdicts = self.counts.entry(*key).or_default();
            verdicts.violated += more.violated;
            verdicts.not_violated += more.not_violated;
        }
    }

    /// The cells that no case has filled: primitive, property, model, verdict.
    pub fn empty_cells(&self) -> Vec<String> {
        let mut empty = Vec::new();
        for (row, primitive) in PRIMITIVES.iter().enumerate() {
            for model in Model::ALL {
                for (column, family) in FAMILIES.iter().enumerate() {
                    let verdicts = self.verdicts(row, model, column);
                    if verdicts.violated == 0 {
                        empty.push(format!("{primitive} × {family} × {} × violated", model.name()));
                    }
                    if verdicts.not_violated == 0 {
                        empty.push(format!(
                            "{primitive} × {family} × {} × not violated",
                            model.name()
                        ));
                    }
                }
            }
        }
        empty
    }

    fn verdicts(&self, row: usize, model: Model, family: usize) -> Verdicts {
        self.counts.get(&(row, model, family)).copied().unwrap_or_default()
    }
}

/// One table per model. A cell is `violated / not violated`, in cases.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for model in Model::ALL {
            write!(f, "{:<24}", format!("model {}", model.name()))?;
            for family in FAMILIES {
                write!(f, "{family:>18}")?;
            }
            writeln!(f)?;
            for (row, primitive) in PRIMITIVES.iter().enumerate() {
                write!(f, "  {primitive:<22}")?;
                for family in 0..FAMILIES.len() {
                    let Verdicts { violated, not_violated } = self.verdicts(row, model, family);
                    write!(f, "{:>18}", format!("{violated} / {not_violated}"))?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

impl Recorded<'_> {
    /// The primitives that the trace contains.
    fn primitives(&self) -> BTreeSet<&'static str> {
        let mut all = BTreeSet::new();
        for (event, op) in self.events() {
            all.extend(self.names_of(event, op));
            if self.trace.next(event).is_none() {
                all.extend(match op {
                    Op::Request(_) => Some("hung: request"),
                    Op::Wait { .. } => Some("hung: wait"),
                    Op::Arrive { .. } => Some("hung: arrive"),
                    ops!(memory object data lock sem thread call mark Wake Signal Broadcast
                        Leave) => None,
                });
            }
        }
        let places: BTreeSet<Place> =
            self.events().filter_map(|(_, op)| Some(op.access()?.at)).collect();
        if places.iter().any(|a| places.iter().any(|b| a != b && a.overlaps(*b))) {
            all.insert("overlapping places");
        }
        if !self.trace.initial().is_empty() {
            all.insert("initial value declared");
        }
        if self.trace.dependences() == Dependences::Unknown {
            all.insert("unknown dependences");
        }
        all
    }

    fn names_of(&self, event: EventId, op: Op) -> Vec<&'static str> {
        let role = self.role(event);
        let unknown = self.unknown_writer.contains(event);
        let atomic = |order| order != MemoryOrder::Plain;
        let mut names = Vec::new();
        let mut add = |holds: bool, name: &'static str| {
            if holds {
                names.push(name);
            }
        };
        let counting = self.expressions[event.index()].counting.as_ref();
        let counts = counting.is_some();
        add(counting.is_some_and(Term::casts), "cast");
        add(counting.is_some_and(Term::is_unsigned), "unsigned operator");
        add(self.opaque.contains(event), "opaque event");
        match op {
            Op::Read { value, order, .. } => {
                add(true, "read");
                add(value.is_none(), "read, unvalued");
                add(atomic(order), "read, atomic");
                add(unknown, "read, unknown writer");
                add(unknown && self.is_private(event), "read, private unknown");
            }
            Op::Write { value, order, .. } => {
                add(true, "write");
                add(value.is_none(), "write, unvalued");
                add(atomic(order), "write, atomic");
                add(counts, "write, counting");
            }
            Op::Rmw { .. } => {
                add(true, "rmw");
                add(counts, "rmw, counting");
                let assumed = self.expressions[event.index()].assumed.is_some();
                add(counts && assumed, "rmw, assuming");
                add(unknown, "read, unknown writer");
                add(unknown && self.is_private(event), "read, private unknown");
            }
            Op::Acquire { mode, patience, .. } => {
                add(true, "acquire");
                add(mode == Mode::Shared, "acquire, shared");
                add(patience == Patience::Try, "acquire, try");
                add(patience == Patience::Timed, "acquire, timed");
                add(matches!(role, Role::Deepens(_)), "acquire, deepening");
            }
            Op::AcquireFailed { patience, .. } => {
                add(patience == Patience::Try, "acquire-failed, try");
                add(patience == Patience::Timed, "acquire-failed, timed");
            }
            Op::Release { mode, .. } => {
                let thread = self.trace.thread_of(event);
                let foreign = |hold| self.trace.thread_of(hold) != thread;
                add(true, "release");
                add(mode == Mode::Shared, "release, shared");
                add(matches!(role, Role::Lowers(_)), "release, lowering");
                add(matches!(role, Role::Closes(hold) if foreign(hold)), "release, foreign");
                add(role == Role::Unheld, "release, unheld");
            }
            Op::Destroy { .. } => add(true, "destroy"),
            Op::Wait { timed, .. } => {
                add(true, "wait");
                add(timed, "wait, timed");
                let deep = self.given_back.get(&event).is_some_and(|hold| hold.depth > 1);
                add(deep, "wait, deep hold");
            }
            Op::Wake { reason, .. } => {
                add(reason == WakeReason::Notified, "wake, notified");
                add(reason == WakeReason::TimedOut, "wake, timed out");
                add(reason == WakeReason::Spurious, "wake, spurious");
            }
            Op::Signal { .. } => add(true, "signal"),
            Op::Broadcast { .. } => add(true, "broadcast"),
            Op::SemWait { sem, patience } => {
                add(true, "sem-wait");
                add(patience == Patience::Try, "sem-wait, try");
                add(patience == Patience::Timed, "sem-wait, timed");
                let declared = self.trace.semaphore_count(sem).is_some();
                add(declared, "semaphore declared");
                add(!declared, "semaphore undeclared");
            }
            Op::SemWaitFailed { .. } => add(true, "sem-wait-failed"),
            Op::SemPost { .. } => add(true, "sem-post"),
            Op::Arrive { barrier } => {
                add(true, "arrive");
                let declared = self.trace.barrier_parties(barrier).is_some();
                add(declared, "barrier declared");
                add(!declared, "barrier undeclared");
            }
            Op::Leave { .. } => add(true, "leave"),
            Op::Request(Request::Acquire(..)) => add(true, "request acquire"),
            Op::Request(Request::SemWait(_)) => add(true, "request sem-wait"),
            Op::Request(Request::Join(_)) => add(true, "request join"),
            Op::Fork { .. } => add(true, "fork"),
            Op::Join { .. } => add(true, "join"),
            Op::Begin => add(true, "begin"),
            Op::End => add(true, "end"),
            Op::Exit => add(true, "exit"),
            Op::Alloc { object, .. } => {
                add(true, "alloc");
                let again = self.earlier_tenants(event, object).next().is_some();
                add(again, "alloc, address again");
            }
            Op::Free { .. } => add(true, "free"),
            Op::RegionBegin | Op::RegionEnd => add(true, "region"),
            Op::Branch { .. } => {
                add(true, "branch");
                add(counts, "branch, counting");
            }
            Op::Assert { .. } => {
                add(true, "assert");
                add(counts, "assert, counting");
                add(!self.releasable(event).is_empty(), "released read");
            }
            Op::Assume { .. } => {
                add(true, "assume");
                add(counts, "assume, counting");
            }
            Op::Fence { .. } => add(true, "fence"),
            Op::External => add(true, "external"),
            Op::EnterCall { on, .. } => {
                add(true, "enter call");
                let list = match self.trace.channels_of(on) {
                    Channels::Every => &[][..],
                    Channels::Only(list) => list,
                };
                let any = |way| list.iter().any(|(_, direction)| *direction == way);
                add(list.len() > 1, "call, several channels");
                add(any(Direction::Gives), "call, gives only");
                add(any(Direction::Takes), "call, takes only");
                let is_every = self.trace.channels_of(on) == Channels::Every;
                add(is_every, "call, every channel");
                add(list.is_empty() && !is_every, "call, no channel");
                let delayed = |(channel, _): &(ChannelId, _)| self.trace.is_delayed(*channel);
                add(list.iter().any(delayed), "call, delayed channel");
                let awaited = self.trace.awaited(on);
                add(awaited.is_some(), "call that waits");
                add(
                    awaited.is_some_and(|one| one.piece.is_some()),
                    "call that waits, with a piece",
                );
                let events = self.trace.thread_events(self.trace.thread_of(event));
                let depth = |events: &[EventId]| {
                    let count = |wanted: fn(&Op) -> bool| {
                        events.iter().filter(|&&event| wanted(&self.op(event))).count()
                    };
                    count(|op| matches!(op, Op::EnterCall { .. }))
                        - count(|op| *op == Op::LeaveCall)
                };
                add(depth(&events[..self.trace.position(event)]) > 0, "call inside another");
                add(depth(events) > 0, "call that never leaves");
            }
            Op::LeaveCall => {
                add(true, "leave call");
                let thread = self.trace.thread_of(event);
                let is_other = |enter| self.trace.thread_of(enter) != thread;
                add(self.rests_on[event.index()].iter().any(is_other), "leave, needs another");
            }
            Op::Let => add(true, "let"),
        }
        names
    }
}
