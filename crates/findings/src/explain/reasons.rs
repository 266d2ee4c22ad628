//! The rules that leave the solver no schedule, as sentences.
//!
//! **Follows.** `docs/theory.md`, sections 3 and 4: each reason is one instance of a rule there.

use foretrace_predict::{Reason, Section};
use foretrace_report::Grounds;
use foretrace_trace::{CondId, EventId, LockId, Op};
use foretrace_verdict::{LockMisuse, Violation};

use super::demand::noun;
use super::proof::Told;
use super::words::{Words, list, quoted};
use crate::readable::Readable;

/// All of them.
pub(super) fn tell(words: Words, violation: &Violation, reasons: &[Reason]) -> Told {
    let noun = noun(violation);
    let conclusion = match reasons {
        [] => format!(
            "But the order of each thread leaves no schedule for it: so {noun} cannot happen."
        ),
        [_] => format!("But this leaves no schedule for it: so {noun} cannot happen."),
        _ => format!(
            "But these together leave no schedule for it, and none of them can be left out: so {noun} cannot happen."
        ),
    };
    let steps =
        reasons.iter().map(|reason| format!("{}.", sentence(words, violation, reason))).collect();
    Told { by: Grounds::Solver, steps, conclusion }
}

fn sentence(words: Words, violation: &Violation, reason: &Reason) -> String {
    let does = |&event: &EventId| words.does(event);
    match reason {
        Reason::Fork { fork, first } => format!("{} before {}", does(fork), does(first)),
        Reason::Join { last, join } => {
            format!("{} before {}, which waits for the whole thread", does(last), does(join))
        }
        Reason::Read { read, sources, initial } => {
            let value = words.trace.values(*read).0;
            let value = value
                .map_or("what it read in the recorded run".to_string(), |value| value.to_string());
            let from = from(words, sources, *initial);
            format!(
                "{} must read {value} from {}: {from}",
                words.thread(*read),
                object(words, *read)
            )
        }
        Reason::Value { read, sources, initial } => {
            let from = from(words, sources, *initial);
            format!("{} reads what is in {}: {from}", words.thread(*read), object(words, *read))
        }
        Reason::Between { read, source, write } => {
            let (thread, at) = (words.thread(*read), words.at(*read));
            let does_not = words.does_not(*write);
            match source {
                Some(source) => {
                    let left = left(words, *source);
                    format!(
                        "If {thread} reads at {at} what {left}, then {does_not} between the two"
                    )
                }
                None => format!(
                    "If {thread} reads at {at} what is there from the start, then {does_not} before that"
                ),
            }
        }
        Reason::Unexplained { read } => format!(
            "{} only after all that was recorded before it, since no recorded write explains what it reads",
            does(read)
        ),
        Reason::AsRecorded { read, by } => format!(
            "What {} does at {} may depend on what it reads at {}, which must be as recorded",
            words.thread(*by),
            words.at(*by),
            words.at(*read)
        ),
        Reason::Condition { event, outcome } => {
            let trace = words.trace;
            let is_rmw = matches!(trace.op(*event), Op::Rmw { .. });
            let expression =
                if is_rmw { trace.assumption(*event) } else { trace.expression(*event) };
            let condition = match expression {
                Some(expression) => format!("`{}`", Readable::of(trace, *event, expression).show()),
                None => "the condition".to_string(),
            };
            let goes = if *outcome { "holds" } else { "does not hold" };
            format!("In {}, {condition} {goes} at {}", words.thread(*event), words.at(*event))
        }
        Reason::Live { event, alloc, free } => {
            let alloc = alloc.map(|alloc| format!("after {}", does(&alloc)));
            let free = free.map(|free| format!("before {}", does(&free)));
            let parts: Vec<String> = alloc.into_iter().chain(free).collect();
            format!("{} only while the memory is there: {}", does(event), list(&parts))
        }
        Reason::Freed { alloc, frees } => {
            let frees: Vec<String> = frees.iter().map(does).collect();
            format!("{} only after {}, whose memory it uses again", does(alloc), list(&frees))
        }
        Reason::Exclusion { lock, first, second } => format!(
            "{} and {} are never at once",
            hold(words, *lock, first),
            hold(words, *lock, second)
        ),
        Reason::NotWithin { event, lock, hold: within } => {
            format!("{} not within {}", does(event), hold(words, *lock, within))
        }
        Reason::Failed { failure, lock, holds } => {
            let holds: Vec<String> =
                holds.iter().map(|within| hold(words, *lock, within)).collect();
            match &holds[..] {
                [] => format!("{} only while somebody has it", does(failure)),
                holds => format!("{} only within {}", does(failure), holds.join(", or ")),
            }
        }
        Reason::Open { release, lock, open } => format!(
            "{} only after it was taken at {}",
            to_lock(words, *release, *lock),
            words.at(*open)
        ),
        Reason::Intact { event, destroy } => {
            format!("{} only before {}", does(event), does(destroy))
        }
        Reason::Notified { wait, wake, by } => {
            let by: Vec<String> =
                by.iter().map(|&by| format!("{} ({})", words.thread(by), words.at(by))).collect();
            let one = if by.len() == 1 { "" } else { "one of " };
            match &by[..] {
                [] => format!("{}, but nobody notifies it", does(wake)),
                by => format!(
                    "{} only when {one}{} has notified it after its wait ({}); a signal reaches one wait only",
                    does(wake),
                    list(by),
                    words.at(*wait)
                ),
            }
        }
        Reason::Token { wait, .. } => {
            format!("{} with a count that no other wait takes", does(wait))
        }
        Reason::NoToken { event, semaphore } => {
            let name = quoted(words.trace.name(semaphore));
            match event {
                Some(event) => format!("{} only while {name} is 0", does(event)),
                None => format!("A thread that waits at {name} at the end finds it 0"),
            }
        }
        Reason::Round { event, arrivals } => {
            let arrivals: Vec<String> = arrivals.iter().map(does).collect();
            format!("{} only after {}", does(event), list(&arrivals))
        }
        Reason::Calls { leave, enters } => {
            let enters: Vec<String> = enters.iter().map(does).collect();
            let kept = "because the recorded order of these calls is kept";
            format!("{} only after {}, {kept}", does(leave), list(&enters))
        }
        Reason::Exit { exit } => format!("Nothing happens after {}", does(exit)),
        Reason::Fails { assertion } => format!(
            "What {} asserts at {} is false",
            words.thread(*assertion),
            words.at(*assertion)
        ),
        Reason::Misuse { event, .. } => {
            let Violation::Lock(misuse, _) = violation else { return does(event) };
            let state = match misuse {
                LockMisuse::DoubleLock => "it has to have it already",
                LockMisuse::UnlockNotHeld => "nobody may have it",
                LockMisuse::UnlockByOther => "another thread has to have it",
                LockMisuse::DestroyHeld => "somebody has to have it",
            };
            format!("When {}, {state}", words.is_about_to(*event))
        }
        Reason::Halted { thread } => {
            let name = words.trace.name(thread);
            format!("At the end {name} is not started, has finished, or cannot go on")
        }
        Reason::Drained { source } => {
            let name = quoted(words.trace.name(source));
            format!(
                "A thread waits for {name} only while all that others gave there has been taken, and it is open"
            )
        }
        Reason::Signals { condition } => {
            let name = quoted(words.trace.name(condition));
            let (signals, broadcasts) = notifies(words, *condition);
            let one = "wakes a thread that waits then, if there is one";
            match (signals, broadcasts) {
                (true, false) => format!("Each signal of {name} {one}"),
                (false, true) => {
                    format!("Each broadcast of {name} wakes all threads that wait then")
                }
                (true, true) => {
                    format!("Each signal of {name} {one}, and each broadcast all of them")
                }
                (false, false) => format!("Nobody notifies {name}"),
            }
        }
        other => {
            format!("a rule about {}", list(&other.events().iter().map(does).collect::<Vec<_>>()))
        }
    }
}

/// Whether a condition variable has signals, and broadcasts.
fn notifies(words: Words, condition: CondId) -> (bool, bool) {
    let trace = words.trace;
    let has = |wanted: Op| (0..trace.len()).any(|at| trace.op(EventId::from(at)) == wanted);
    (has(Op::Signal { cond: condition }), has(Op::Broadcast { cond: condition }))
}

/// `` `x` (a.c:1)``
fn object(words: Words, access: EventId) -> String {
    let trace = words.trace;
    let name = trace.access(access).map(|access| trace.place_name(access.at));
    format!("{} ({})", quoted(name.as_deref().unwrap_or("?")), words.at(access))
}

/// `T1 leaves there at a.c:1`
fn left(words: Words, source: EventId) -> String {
    format!("{} has left at {}", words.thread(source), words.at(source))
}

/// Where a value comes from.
fn from(words: Words, sources: &[EventId], initial: bool) -> String {
    let mut from: Vec<String> =
        sources.iter().map(|&source| format!("what {}", left(words, source))).collect();
    if initial {
        from.push("what is there from the start".to_string());
    }
    match &from[..] {
        [] => "nothing leaves that".to_string(),
        all => all.join(", or "),
    }
}

/// `T1's hold of `m` (a.c:1 to a.c:3)`
fn hold(words: Words, lock: LockId, &(open, close): &Section) -> String {
    let until = match close {
        Some(close) => format!("{} to {}", words.at(open), words.at(close)),
        None => format!("from {} on", words.at(open)),
    };
    format!("{}'s hold of {} ({until})", words.thread(open), words.lock(lock))
}

/// What is done to a lock; a wait gives it back.
fn to_lock(words: Words, event: EventId, lock: LockId) -> String {
    if !matches!(words.trace.op(event), Op::Wait { .. }) {
        return words.does(event);
    }
    format!("{} gives back {} ({})", words.thread(event), words.lock(lock), words.at(event))
}
