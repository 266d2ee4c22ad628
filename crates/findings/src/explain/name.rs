//! How users name a candidate: a finding as `predict` calls it, or a kind and places.
//!
//! **Computes.** All violations of the kind that the places fit. A place is an event by its number,
//! or a source location, which may be of many events.

use foretrace_trace::{EventId, Location, Op, Request, ThreadId, Trace, ops};
use foretrace_verdict::{Kind, Property, Violation};

use crate::error::Error;

/// What the user means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Named {
    /// A finding of `predict`.
    #[allow(missing_docs)]
    Finding { id: String, property: Property },
    /// These candidates, in order; if there is only one, whether it is a candidate at all is still
    /// to be seen.
    Candidates(Vec<Violation>),
}

/// What the first word may be, and the kinds that it means.
const KINDS: [(&str, &[Kind]); 11] = [
    ("race", &[Kind::Race]),
    ("atomicity", &[Kind::Atomicity]),
    ("cycle", &[Kind::LockCycle]),
    ("lock-cycle", &[Kind::LockCycle]),
    ("stuck", &[Kind::Stuck]),
    ("lock", &[Kind::DoubleLock, Kind::UnlockNotHeld, Kind::UnlockByOther, Kind::DestroyHeld]),
    ("double-lock", &[Kind::DoubleLock]),
    ("unlock-not-held", &[Kind::UnlockNotHeld]),
    ("unlock-by-other", &[Kind::UnlockByOther]),
    ("destroy-held", &[Kind::DestroyHeld]),
    ("assertion", &[Kind::Assertion]),
];

const HOW: &str = "name it as predict does (race-1), or: race A B, atomicity A R B, cycle A B ..., stuck A, lock A, assertion A; \
                   each place is the number of an event, a location (bank.c:12), or THREAD@LOCATION";

/// More combinations of places than this are not looked through.
const MOST_COMBINATIONS: usize = 1_000_000;

/// Reads how a user names a candidate of a trace, word by word.
pub fn parse_candidate(trace: &Trace, words: &[String]) -> Result<Named, Error> {
    let (first, places) = words.split_first().ok_or_else(|| wrong("nothing is named"))?;
    let Some(&(_, kinds)) = KINDS.iter().find(|(name, _)| name == first) else {
        return finding(first, places);
    };
    let (wanted, fits) = match kinds[0] {
        Kind::Race => ("2 places", places.len() == 2),
        Kind::Atomicity => ("3 places", places.len() == 3),
        Kind::LockCycle => ("2 or more places", places.len() >= 2),
        Kind::Stuck
        | Kind::Assertion
        | Kind::DoubleLock
        | Kind::UnlockNotHeld
        | Kind::UnlockByOther
        | Kind::DestroyHeld => ("1 place", places.len() == 1),
    };
    if !fits {
        let given = places.len();
        return Err(wrong(format_args!("`{first}` needs {wanted}, not {given}")));
    }
    let events: Vec<Vec<EventId>> =
        places.iter().map(|place| events(trace, place)).collect::<Result<_, Error>>()?;
    if events.iter().map(Vec::len).fold(1, usize::saturating_mul) > MOST_COMBINATIONS {
        return Err(Error::question("too many events are at these places")
            .hint("name a thread as well, THREAD@LOCATION, or the numbers of events"));
    }
    // If the user names exactly one candidate, whether it is one is answered in words later.
    let is_exact = kinds.len() == 1 && events.iter().all(|events| events.len() == 1);
    let mut violations = Vec::new();
    combine(&events, &mut Vec::new(), &mut |tuple| {
        let fitting = kinds.iter().filter(|&&kind| is_exact || fit(trace, kind, tuple));
        violations.extend(fitting.filter_map(|&kind| named(kind, tuple)));
    });
    violations.sort_unstable();
    violations.dedup();
    if violations.is_empty() {
        let takes_part =
            |&event: &EventId| kinds.iter().any(|&kind| takes_part(trace, kind, event));
        let at_fault =
            places.iter().zip(&events).find(|(_, events)| !events.iter().any(takes_part));
        let name = name_of(kinds);
        let nothing = match at_fault {
            Some((place, _)) => format!("nothing at {place} can be part of {name}"),
            None => format!("the events at {} cannot be {name}", places.join(", ")),
        };
        return Err(Error::question(nothing).hint(what_fits(kinds[0])));
    }
    Ok(Named::Candidates(violations))
}

/// What sentences call it.
fn name_of(kinds: &[Kind]) -> &'static str {
    match kinds {
        [Kind::Race] => "a data race",
        [Kind::Atomicity] => "an atomicity violation",
        [Kind::LockCycle] => "a lock cycle",
        [Kind::Stuck] => "a stuck state",
        [Kind::DoubleLock] => "a double lock",
        [Kind::UnlockNotHeld | Kind::UnlockByOther] => "a wrong unlock",
        [Kind::DestroyHeld] => "a destruction of a held lock",
        [Kind::Assertion] => "a failing assertion",
        _ => "a lock error",
    }
}

/// Whether the event alone may be one of a candidate.
fn takes_part(trace: &Trace, kind: Kind, event: EventId) -> bool {
    let op = trace.op(event);
    match kind {
        Kind::Race | Kind::Atomicity => trace.access(event).is_some(),
        Kind::LockCycle => takes_a_lock(op),
        Kind::Stuck => may_wait(trace, event),
        Kind::DoubleLock => {
            matches!(op, Op::Acquire { .. } | Op::Request(Request::Acquire(..)))
        }
        Kind::UnlockNotHeld | Kind::UnlockByOther => matches!(op, Op::Release { .. }),
        Kind::DestroyHeld => matches!(op, Op::Destroy { .. }),
        Kind::Assertion => matches!(op, Op::Assert { .. }),
    }
}

fn wrong(message: impl std::fmt::Display) -> Error {
    Error::question(message).hint(HOW)
}

fn what_fits(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => {
            "a race is of two accesses of one variable by different threads; one of them writes, and not both are atomic"
        }
        Kind::Atomicity => {
            "the first and last are accesses of one thread, the second one is another thread's access of the same variable, and each pair conflicts"
        }
        Kind::LockCycle => "a cycle is of places where different threads take locks",
        Kind::Stuck => {
            "a thread may be stuck where it takes a lock, waits, is at a semaphore or barrier, or in a call that others feed; for a join, name what the joined thread waits for"
        }
        Kind::Assertion => "only assertions can fail",
        Kind::DoubleLock | Kind::UnlockNotHeld | Kind::UnlockByOther | Kind::DestroyHeld => {
            "only taking, releasing or destroying a lock can be such an error"
        }
    }
}

/// A finding by its id: the kind and a number.
fn finding(id: &str, places: &[String]) -> Result<Named, Error> {
    if id == "deadlock" || id.starts_with("deadlock-") {
        return Err(Error::question(format_args!("`{id}` is neither a finding nor a kind of bug"))
            .hint("deadlocks are of two kinds: cycle A B ..., and stuck A; findings of them are lock-cycle-1 and stuck-1"));
    }
    let kind = id.rsplit_once('-').filter(|(_, number)| number.parse::<u32>().is_ok());
    let kind = kind.and_then(|(kind, _)| KINDS.iter().find(|(name, _)| *name == kind));
    let Some((_, kinds)) = kind else {
        return Err(wrong(format_args!("`{id}` is neither a finding nor a kind of bug")));
    };
    if !places.is_empty() {
        return Err(wrong(format_args!("`{id}` is a finding, and needs no places")));
    }
    Ok(Named::Finding { id: id.to_string(), property: kinds[0].property() })
}

/// The events that a place means.
pub(crate) fn events(trace: &Trace, place: &str) -> Result<Vec<EventId>, Error> {
    if let Ok(number) = place.parse::<usize>() {
        if number < trace.len() {
            return Ok(vec![EventId(number as u32)]);
        }
        let count = trace.len();
        return Err(Error::question(format_args!(
            "there is no event {number}: the trace has {count}"
        ))
        .hint("events are numbered from 0, as in the JSON report"));
    }
    let (thread, location) = match place.split_once('@') {
        Some((thread, location)) => (Some(thread).filter(|name| !name.is_empty()), location),
        None => (None, place),
    };
    let thread = match thread {
        None => None,
        Some(name) => match trace.threads().find(name) {
            Some(index) => Some(index),
            None => {
                let names: Vec<&str> = trace.threads().iter().take(MOST_SHOWN).collect();
                return Err(Error::question(format_args!("there is no thread `{name}`"))
                    .hint(format_args!("the threads are {}", names.join(", "))));
            }
        },
    };
    let fits: Vec<bool> = trace.locations().iter().map(|known| fits(known, location)).collect();
    let is_there = |event: &EventId| {
        let at = trace.location_of(*event).is_some_and(|id| fits[id.index()]);
        at && thread.is_none_or(|thread| trace.thread_of(*event).index() == thread)
    };
    let events: Vec<EventId> = (0..trace.len()).map(EventId::from).filter(is_there).collect();
    if events.is_empty()
        && let Some(edges) = begin_or_end(trace, thread, location)
    {
        return edges;
    }
    if events.is_empty() {
        let known: Vec<&str> = trace.locations().iter().take(MOST_SHOWN).collect();
        let hint = match known.is_empty() {
            true => "the trace has no locations; name events by their numbers, from 0".to_string(),
            false => match nearest(trace, location) {
                near if near.is_empty() => {
                    format!("locations are written as in the trace: {}, ...", known.join(", "))
                }
                near => format!("the nearest events are at {}", near.join(", ")),
            },
        };
        return Err(Error::question(format_args!("no event is at `{place}`")).hint(hint));
    }
    Ok(events)
}

/// Lines with events that are nearest to a line of the same file.
fn nearest<'t>(trace: &'t Trace, wanted: &str) -> Vec<&'t str> {
    let Some((file, line)) = wanted.split_once(':') else { return Vec::new() };
    let Ok(line) = line.split([':', ' ']).next().unwrap_or(line).parse::<u32>() else {
        return Vec::new();
    };
    let mut near: Vec<(u32, u32, &str)> = trace
        .locations()
        .iter()
        .filter_map(|known| {
            let place = Location::parse(known).filter(|_| fits(known, file))?;
            Some((place.line.abs_diff(line), place.line, known))
        })
        .collect();
    near.sort_unstable();
    near.dedup_by_key(|&mut (_, line, _)| line);
    near.truncate(MOST_NEAR);
    near.into_iter().map(|(.., known)| known).collect()
}

const MOST_NEAR: usize = 3;

/// `main@end`: the begin or the end of a thread, or of each.
fn begin_or_end(
    trace: &Trace,
    thread: Option<usize>,
    word: &str,
) -> Option<Result<Vec<EventId>, Error>> {
    let wanted = match word {
        "begin" => Op::Begin,
        "end" => Op::End,
        _ => return None,
    };
    let of = |id: &ThreadId| thread.is_none_or(|thread| id.index() == thread);
    let events = trace.thread_ids().filter(of).filter_map(|id| {
        let events = trace.thread_events(id);
        [events.first(), events.last()]
            .into_iter()
            .flatten()
            .copied()
            .find(|&at| trace.op(at) == wanted)
    });
    let events: Vec<EventId> = events.collect();
    if !events.is_empty() {
        return Some(Ok(events));
    }
    let who = thread.map_or("no thread", |thread| trace.threads().get(thread));
    Some(Err(Error::question(format_args!("{who} has no `{word}` in the trace"))
        .hint("name its first or last event by its place or number")))
}

const MOST_SHOWN: usize = 5;

/// Whether a location is what the user wrote, perhaps without its folders, its column and its
/// function.
fn fits(location: &str, wanted: &str) -> bool {
    let starts = std::iter::once(0).chain(location.match_indices('/').map(|(at, _)| at + 1));
    starts.into_iter().any(|start| {
        let rest = location[start..].strip_prefix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']))
    })
}

/// Calls with every choice of one event for each place.
fn combine(places: &[Vec<EventId>], chosen: &mut Vec<EventId>, take: &mut dyn FnMut(&[EventId])) {
    match places.get(chosen.len()) {
        None => take(chosen),
        Some(events) => {
            for &event in events {
                chosen.push(event);
                combine(places, chosen, take);
                chosen.pop();
            }
        }
    }
}

/// Whether these events may make a violation of the kind.
fn fit(trace: &Trace, kind: Kind, events: &[EventId]) -> bool {
    let conflict = |a: EventId, b: EventId| match (trace.access(a), trace.access(b)) {
        (Some(one), Some(two)) => {
            let threads = trace.thread_of(a) != trace.thread_of(b);
            (threads && one.conflicts(&two)).then_some(one.atomic && two.atomic)
        }
        _ => None,
    };
    match (kind, events) {
        (Kind::Race, &[a, b]) => conflict(a, b) == Some(false),
        (Kind::Atomicity, &[first, remote, second]) => {
            let is_pair = trace.thread_of(first) == trace.thread_of(second) && first < second;
            is_pair && conflict(first, remote).is_some() && conflict(remote, second).is_some()
        }
        (Kind::LockCycle, events) => {
            let mut threads: Vec<_> = events.iter().map(|&event| trace.thread_of(event)).collect();
            threads.sort_unstable();
            threads.dedup();
            let all_block = events.iter().all(|&event| takes_part(trace, kind, event));
            all_block && threads.len() == events.len()
        }
        (kind, events) => events.iter().all(|&event| takes_part(trace, kind, event)),
    }
}

/// The violation of the kind at these events; a cycle begins with its first event.
fn named(kind: Kind, events: &[EventId]) -> Option<Violation> {
    let mut events = events.to_vec();
    if kind == Kind::LockCycle {
        let least = (0..events.len()).min_by_key(|&at| events[at])?;
        events.rotate_left(least);
    }
    Violation::of_kind(kind, &events)
}

fn may_wait(trace: &Trace, event: EventId) -> bool {
    let op = trace.op(event);
    let is_last = trace.next(event).is_none();
    let is_call = matches!(op, ops!(EnterCall)) && is_last;
    let call = if op == Op::LeaveCall { trace.enter_of(event) } else { is_call.then_some(event) };
    if call.is_some_and(|enter| trace.awaited_by(enter).is_some()) {
        return true;
    }
    let waits = matches!(op, Op::SemWait { .. } | Op::Leave { .. } | Op::Arrive { .. });
    waits || matches!(op, Op::Request(Request::SemWait(_))) || takes_a_lock(op)
}

fn takes_a_lock(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire { .. } | Op::Wake { .. } | Op::Wait { .. } | Op::Request(Request::Acquire(..))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_may_be_cut() {
        let location = "src/bank/account.c:13:9 (deposit)";
        for wanted in [
            location,
            "account.c:13",
            "account.c:13:9",
            "bank/account.c:13",
            "src/bank/account.c:13:9",
        ] {
            assert!(fits(location, wanted), "{wanted}");
        }
        for wanted in ["account.c:1", "count.c:13", "13", "account.c:13:90", "deposit"] {
            assert!(!fits(location, wanted), "{wanted}");
        }
    }
}
