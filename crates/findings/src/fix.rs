//! Proposals that mend a bug, each tried on the trace.
//!
//! **Computes.** For a race, an atomicity violation or a lock cycle: small changes of the source
//! (hold a lock around some lines, take locks in another order, make accesses atomic), and for each
//! what is predicted of the recorded run with that change: which findings are gone, which remain,
//! which are new.
//!
//! **Invariant.** Nothing is claimed of a change that was not tried. A change that the recorded
//! order does not allow (a lock was not free) is not tried, and that is said. What is said holds
//! for the reorderings of this trace, as all predictions.
//!
//! **Cost.** One prediction for each proposal.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::HashSet;

use foretrace_predict::{Options, Patch, predict};
use foretrace_report::Report;
use foretrace_trace::validate::validate;
use foretrace_trace::{EventId, Location, LockId, Op, ThreadId, Trace};
use foretrace_verdict::{Kind, Property, Violation};

use crate::error::Error;
use crate::holds::Holds;
use crate::trace::{Frame, report_trace};

/// So many existing locks are tried.
const MOST_LOCKS: usize = 3;

/// A lock that the program does not have yet, in proposals.
const NEW_LOCK: &str = "a new lock";

/// A change, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal {
    /// What to change.
    pub what: String,
    /// What is predicted then; or why it was not tried.
    pub tried: Result<Tried, String>,
}

/// What is predicted of the recorded run with a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried {
    /// Whether the finding is gone, and its candidates decided.
    pub mends: bool,
    /// Findings that are gone, in words.
    pub removes: Vec<String>,
    /// Findings that remain, in words.
    pub remains: Vec<String>,
    /// New findings, in words.
    pub adds: Vec<String>,
    /// Whether a reordering of the trace deadlocks.
    pub deadlock: Deadlock,
    /// How many candidates have no verdict.
    pub undecided: u64,
}

/// Whether a changed program can deadlock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Deadlock {
    /// No reordering of the trace deadlocks.
    Impossible,
    /// Only as without the change.
    AsBefore,
    /// That is not decided.
    Open,
    /// The change makes it possible.
    New,
}

impl Deadlock {
    /// As a sentence without its end.
    pub fn in_words(self) -> &'static str {
        match self {
            Deadlock::Impossible => "cannot deadlock",
            Deadlock::AsBefore => "can deadlock as before, and in no other way",
            Deadlock::Open => "it is not decided whether this can deadlock",
            Deadlock::New => "can deadlock, because of the change",
        }
    }
}

/// Proposals that mend a violation, the best first. None if there are no proposals for its kind.
pub fn propose(
    trace: &Trace,
    violation: &Violation,
    options: &Options,
) -> Result<Vec<Proposal>, Error> {
    let ways = Ways::new(trace);
    let patches = match violation {
        Violation::Race(a, b) => ways.of_race(*a, *b),
        Violation::Atomicity { first, remote, second } => {
            ways.of_atomicity(*first, *remote, *second)
        }
        Violation::LockCycle(events) => ways.of_cycle(events),
        Violation::Stuck(_) | Violation::Lock(..) | Violation::Assertion(_) => Vec::new(),
    };
    let base = Predicted::of(trace, options)?;
    let target = base.violations.iter().position(|known| known == violation);
    let mut proposals: Vec<Proposal> = Vec::new();
    for (what, patch) in patches {
        if patch == Patch::default() {
            continue;
        }
        let changed = patch.apply(trace);
        let tried = match validate(&changed) {
            Err(invalid) => Err(format!(
                "the recorded order does not allow it, so that it cannot be tried: {invalid}"
            )),
            Ok(()) => Ok(base.compare(&Predicted::of(&changed, options)?, target)),
        };
        // A larger scope of the same lock that mends no more is not worth a line.
        let is_same = |last: &Proposal| what.starts_with(&last.what) && last.tried == tried;
        if proposals.last().is_some_and(is_same) {
            continue;
        }
        proposals.push(Proposal { what, tried });
    }
    // Stable: what is proposed first is the smaller change.
    proposals.sort_by_key(|proposal| match &proposal.tried {
        Ok(tried) if tried.mends => (0, tried.adds.len(), tried.deadlock),
        Ok(tried) => (1, 0, tried.deadlock),
        Err(_) => (2, 0, Deadlock::Open),
    });
    Ok(proposals)
}

/// What is predicted of a trace, as far as it is compared.
struct Predicted {
    violations: Vec<Violation>,
    report: Report,
}

impl Predicted {
    fn of(trace: &Trace, options: &Options) -> Result<Predicted, Error> {
        let prediction = predict(trace, options, &()).map_err(Error::internal)?;
        let violations = prediction.findings.iter().map(|found| found.violation.clone()).collect();
        let report = report_trace(trace, prediction, Frame::new(options));
        Ok(Predicted { violations, report })
    }

    /// `target`: the finding that is to be gone.
    fn compare(&self, changed: &Predicted, target: Option<usize>) -> Tried {
        let prints = |report: &Report| -> HashSet<String> {
            report.findings.iter().map(|finding| finding.fingerprint.clone()).collect()
        };
        let (before, after) = (prints(&self.report), prints(&changed.report));
        let of = |report: &Report, is_told: &dyn Fn(&str) -> bool| -> Vec<String> {
            let told = report.findings.iter().filter(|finding| is_told(&finding.fingerprint));
            told.map(|finding| in_words(report, finding)).collect()
        };
        let ledgers = changed.report.summary.iter().map(|(_, ledger)| ledger);
        let target = target.map(|at| &self.report.findings[at]);
        let is_gone = target.is_some_and(|finding| {
            !after.contains(&finding.fingerprint) && !changed.leaves_open(&self.report, finding)
        });
        Tried {
            mends: is_gone,
            removes: of(&self.report, &|print| !after.contains(print)),
            remains: of(&changed.report, &|print| before.contains(print)),
            adds: of(&changed.report, &|print| !before.contains(print)),
            deadlock: changed.deadlock(&before),
            undecided: ledgers
                .map(|ledger| ledger.undecided + ledger.infeasible_for_recorded_values)
                .sum(),
        }
    }

    /// Whether a candidate without a full verdict may be the finding of another report.
    fn leaves_open(&self, other: &Report, finding: &foretrace_report::Finding) -> bool {
        let place = |report: &Report, event: u32| report.event(event).location.clone();
        let mut places: Vec<Option<String>> =
            finding.sides.iter().map(|side| place(other, side.event)).collect();
        places.sort();
        let open = self.report.undecided.iter().chain(&self.report.for_recorded_values);
        open.filter(|open| open.kind == finding.kind).any(|open| {
            let mut here: Vec<Option<String>> =
                open.events.iter().map(|&event| place(&self.report, event)).collect();
            here.sort();
            here == places || here.is_empty()
        })
    }

    fn deadlock(&self, before: &HashSet<String>) -> Deadlock {
        let is_deadlock = |finding: &&foretrace_report::Finding| {
            matches!(finding.kind, Kind::LockCycle | Kind::Stuck)
        };
        let mut found = self.report.findings.iter().filter(is_deadlock).peekable();
        let is_any = found.peek().is_some();
        let is_new = found.any(|finding| !before.contains(&finding.fingerprint));
        let row = self.report.summary.iter().find(|(known, _)| *known == Property::Deadlock);
        let is_open = row
            .is_none_or(|(_, ledger)| ledger.undecided + ledger.infeasible_for_recorded_values > 0);
        let is_asked =
            !self.report.not_asked.iter().any(|part| part.property == Property::Deadlock);
        match (is_new, is_open || !is_asked, is_any) {
            (true, ..) => Deadlock::New,
            (_, true, _) => Deadlock::Open,
            (_, _, true) => Deadlock::AsBefore,
            _ => Deadlock::Impossible,
        }
    }
}

/// `race on x at a.c:2, a.c:9`
fn in_words(report: &Report, finding: &foretrace_report::Finding) -> String {
    let mut places: Vec<String> = report.locations(finding).map(Location::in_short).collect();
    places.dedup();
    let object = finding.object.as_deref().map_or(String::new(), |name| format!(" on {name}"));
    format!("{}{object} at {}", finding.kind.name(), places.join(", "))
}

/// A line of the source.
type Line<'t> = (&'t str, u32);

/// Makes patches of a trace.
struct Ways<'t> {
    trace: &'t Trace,
    /// The locks that the thread of each event has before it.
    held: Vec<Vec<LockId>>,
}

type Named = (String, Patch);

impl<'t> Ways<'t> {
    fn new(trace: &'t Trace) -> Self {
        let mut holds = Holds::default();
        let held = (0..trace.len()).map(|row| {
            let event = EventId::from(row);
            let thread = trace.thread_of(event);
            let locks = holds.of(thread).iter().map(|hold| hold.lock).collect();
            holds.step(thread, event, trace.op(event));
            locks
        });
        let held = held.collect();
        Ways { trace, held }
    }

    fn line(&self, event: EventId) -> Option<Line<'t>> {
        let id = self.trace.location_of(event)?;
        let place = Location::parse(self.trace.locations().get(id.index()))?;
        Some((place.file, place.line))
    }

    fn lock_name(&self, lock: LockId) -> &'t str {
        self.trace.locks().get(lock.index())
    }

    /// The events around an event that stand in the same line: the first and the last, positions of
    /// the thread.
    fn span(&self, event: EventId) -> (usize, usize) {
        let events = self.trace.thread_events(self.trace.thread_of(event));
        let (at, line) = (self.trace.position(event), self.line(event));
        let is_here = |at: usize| {
            line.is_some() && self.line(events[at]) == line && is_inside(self.trace, events[at])
        };
        let first = (0..at).rev().take_while(|&at| is_here(at)).last().unwrap_or(at);
        let last = (at + 1..events.len()).take_while(|&at| is_here(at)).last().unwrap_or(at);
        (first, last)
    }

    /// All events that stand where this one does.
    fn alike(&self, event: EventId) -> Vec<EventId> {
        let wanted = self.line(event);
        let all = (0..self.trace.len()).map(EventId::from);
        all.filter(|&other| {
            other == event
                || (wanted.is_some()
                    && self.line(other) == wanted
                    && self.trace.access(other).is_some())
        })
        .collect()
    }

    /// Holds a lock around the lines of some events, wherever they are executed.
    fn guard(&self, lock: &str, events: &[EventId], patch: &mut Patch) -> Vec<String> {
        let (mut done, mut places) = (HashSet::new(), Vec::new());
        for &event in events {
            for one in self.alike(event) {
                let thread = self.trace.thread_of(one);
                let (first, last) = self.span(one);
                let holds = |lock_id: &LockId| self.lock_name(*lock_id) == lock;
                let start = self.trace.thread_events(thread)[first];
                if self.held[start.index()].iter().any(holds) || !done.insert((thread, first)) {
                    continue;
                }
                let events = self.trace.thread_events(thread);
                patch.hold(lock, events[first], events[last]);
                places.push(self.place(one));
            }
        }
        places.sort();
        places.dedup();
        places
    }

    /// `a.c:3 (main)`
    fn place(&self, event: EventId) -> String {
        let thread = || self.trace.threads().get(self.trace.thread_of(event).index());
        let location = self.trace.location_of(event);
        let text = location.map(|id| self.trace.locations().get(id.index()));
        match text.and_then(Location::parse) {
            Some(place) => {
                let function = place.function.map_or(String::new(), |name| format!(" ({name})"));
                format!("{}:{}{function}", place.file_name(), place.line)
            }
            None => format!("event {} of {}", event.0, thread()),
        }
    }

    /// The locks to try: those that the events already hold, then those that other accesses to the
    /// same memory hold, then those that all threads of the events take somewhere.
    fn locks(&self, events: &[EventId]) -> Vec<&'t str> {
        let objects = events.iter().filter_map(|&event| self.trace.access(event));
        let objects: HashSet<_> = objects.map(|access| access.at.object).collect();
        let others =
            self.trace.accesses().filter(|(_, access)| objects.contains(&access.at.object));
        let others = others.map(|(event, _)| event);
        let held = events.iter().copied().chain(others);
        let held = held.flat_map(|event| &self.held[event.index()]).copied();
        let threads: HashSet<ThreadId> =
            events.iter().map(|&event| self.trace.thread_of(event)).collect();
        let taken: Vec<(ThreadId, LockId)> = self.taken().collect();
        let by_all = taken
            .iter()
            .map(|&(_, lock)| lock)
            .filter(|&lock| threads.iter().all(|&thread| taken.contains(&(thread, lock))));
        let mut names: Vec<&str> = Vec::new();
        for name in held.chain(by_all).map(|lock| self.lock_name(lock)) {
            if !names.contains(&name) && names.len() < MOST_LOCKS {
                names.push(name);
            }
        }
        names.push(NEW_LOCK);
        names
    }

    /// Which thread takes which lock, each pair once, in the order of the run.
    fn taken(&self) -> impl Iterator<Item = (ThreadId, LockId)> {
        let mut known = HashSet::new();
        let pair = |(event, op): (EventId, Op)| {
            let Op::Acquire { lock, .. } = op else { return None };
            Some((self.trace.thread_of(event), lock))
        };
        self.trace.other_ops().filter_map(pair).filter(move |pair| known.insert(*pair))
    }

    fn of_race(&self, a: EventId, b: EventId) -> Vec<Named> {
        let mut ways = Vec::new();
        let object = self.trace.access(a).map(|access| access.at.object);
        let accesses = self.trace.accesses().filter(|(_, access)| Some(access.at.object) == object);
        let all: Vec<EventId> = accesses.map(|(event, _)| event).collect();
        for lock in self.locks(&[a, b]) {
            for scope in [&[a, b][..], &all] {
                let mut patch = Patch::default();
                let places = self.guard(lock, scope, &mut patch);
                let what = format!("hold {} around {}", quoted(lock), places.join(", "));
                if !ways.iter().any(|(known, _)| *known == what) {
                    ways.push((what, patch));
                }
            }
        }
        let name = object.map_or("the memory", |id| self.trace.objects().get(id.index()));
        let atomic = Patch { atomic: all.iter().copied().collect(), ..Patch::default() };
        let but = "each access by itself: a read and a later write stay two steps";
        ways.push((format!("make all accesses to `{name}` atomic ({but})"), atomic));
        ways
    }

    fn of_atomicity(&self, first: EventId, remote: EventId, second: EventId) -> Vec<Named> {
        let (from, to) = (self.line(first), self.line(second));
        let mut ways = Vec::new();
        for lock in self.locks(&[remote, first, second]) {
            let mut patch = Patch::default();
            for thread in self.trace.thread_ids() {
                self.hold_between(lock, thread, (from, to), (first, second), &mut patch);
            }
            let others = self.guard(lock, &[remote], &mut patch);
            let mut what = format!(
                "hold {} from {} to {}",
                quoted(lock),
                self.place(first),
                self.place(second)
            );
            if !others.is_empty() {
                what.push_str(&format!(", and around {}", others.join(", ")));
            }
            ways.push((what, patch));
        }
        ways
    }

    /// Holds a lock from each execution of one line to the next one of another.
    fn hold_between(
        &self,
        lock: &str,
        thread: ThreadId,
        (from, to): (Option<Line>, Option<Line>),
        (first, second): (EventId, EventId),
        patch: &mut Patch,
    ) {
        let events = self.trace.thread_events(thread);
        let is_at = |at: usize, line: Option<Line>, event: EventId| {
            let here = events[at];
            here == event
                || (line.is_some() && self.line(here) == line && self.trace.access(here).is_some())
        };
        let mut at = 0;
        while at < events.len() {
            let end = (at + 1..events.len()).find(|&end| is_at(end, to, second));
            let (true, Some(end)) = (is_at(at, from, first), end) else {
                at += 1;
                continue;
            };
            let (start, last) = (self.span(events[at]).0, self.span(events[end]).1);
            let is_held = |lock_id: &LockId| self.lock_name(*lock_id) == lock;
            if !self.held[events[start].index()].iter().any(is_held) {
                patch.hold(lock, events[start], events[last]);
            }
            at = last.max(end) + 1;
        }
    }

    /// Each thread of the cycle may take what it waits for before what it holds; or all of them
    /// take one lock more around both.
    fn of_cycle(&self, acquires: &[EventId]) -> Vec<Named> {
        let mut ways = Vec::new();
        let wanted: Vec<LockId> =
            acquires.iter().filter_map(|&event| lock_of(self.trace.op(event))).collect();
        let mut gate = Patch::default();
        for &acquire in acquires {
            let Some(inner) = lock_of(self.trace.op(acquire)) else { continue };
            let Some(&outer) = self.held[acquire.index()].iter().find(|held| wanted.contains(held))
            else {
                continue;
            };
            let mut swap = Patch::default();
            for (take, again) in self.nested(outer, inner) {
                let name = self.lock_name(inner).to_string();
                swap.acquire_before.entry(take).or_default().push(name);
                swap.left_out.insert(again);
                let events = self.trace.thread_events(self.trace.thread_of(take));
                let rest = &events[self.trace.position(again)..];
                let gives_back = |op: Op| matches!(op, Op::Release { lock, .. } if lock == outer);
                if let Some(&release) = rest.iter().find(|&&event| gives_back(self.trace.op(event)))
                {
                    gate.hold(NEW_LOCK, take, release);
                }
            }
            let (inner, outer) = (self.lock_name(inner), self.lock_name(outer));
            let what = format!("take `{inner}` before `{outer}` at {}", self.place(acquire));
            ways.push((what, swap));
        }
        let what = format!("hold {NEW_LOCK} around each of these nested critical sections");
        ways.push((what, gate));
        ways
    }

    /// Where a lock is taken while another one is held: the event that took that, and the one that
    /// takes it.
    fn nested(&self, outer: LockId, inner: LockId) -> Vec<(EventId, EventId)> {
        let mut nested = Vec::new();
        for thread in self.trace.thread_ids() {
            let mut since = None;
            for &event in self.trace.thread_events(thread) {
                let lock = lock_of(self.trace.op(event));
                let holds = self.held[event.index()].contains(&outer);
                if lock == Some(outer) && !holds {
                    since = Some(event);
                } else if let (true, true, Some(take)) = (lock == Some(inner), holds, since) {
                    nested.push((take, event));
                }
            }
        }
        nested
    }
}

fn lock_of(op: Op) -> Option<LockId> {
    if let Op::Acquire { lock, .. } = op { Some(lock) } else { None }
}

/// Whether a critical section may contain it without holding anything up for ever.
fn is_inside(trace: &Trace, event: EventId) -> bool {
    use foretrace_trace::ops;
    match trace.op(event) {
        ops!(memory data Fence RegionBegin RegionEnd) => true,
        ops!(sync object call External) => false,
    }
}

fn quoted(lock: &str) -> String {
    if lock == NEW_LOCK { lock.to_string() } else { format!("`{lock}`") }
}
