//! A merged program does nothing that the whole program does not.

use std::collections::BTreeMap;
use std::mem::discriminant;

use foretrace_program::run::{Action, Choice, Event, Move, Status, Stop, Why};
use foretrace_program::{Machine, Program};
use foretrace_trace::ThreadId;

use super::generate::Random;

/// Runs a merged program with a random schedule, and the whole program beside it, step by step. An
/// error says what only the merged one does. A thread that an assumption has stopped does not count
/// any more, nor does a read right before that, which has changed nothing.
pub(super) fn mirror(
    merged: &Program,
    program: &Program,
    random: &mut Random,
) -> Result<(), String> {
    let (ours, theirs) = (Machine::new(merged), Machine::new(program));
    let ((mut state, begins), (mut mirrored, mirrored_begins)) = (ours.start(), theirs.start());
    let mut pairs = BTreeMap::new();
    pair(&mut pairs, (merged, &begins), (program, &mirrored_begins));
    loop {
        let moves = ours.moves(&state);
        if moves.is_empty() {
            return Ok(());
        }
        let chosen = moves[random.below(moves.len())];
        let Move { thread, choice } = chosen;
        let choice = match choice {
            Choice::Wakes(woken) => Choice::Wakes(pairs[&woken]),
            other => other,
        };
        let events = ours.step(&mut state, chosen).expect("the step is possible");
        let (other, before) = (pairs[&thread], mirrored.clone());
        let Some(others) = theirs.step(&mut mirrored, Move { thread: other, choice }) else {
            return Err(format!("{chosen:?} is not possible: {events:?}"));
        };
        pair(&mut pairs, (merged, &events), (program, &others));
        let (did, does) = (events.first(), others.first());
        let (did, does) = (did.map(|e| shown(merged, e)), does.map(|e| shown(program, e)));
        let is_stopped =
            matches!(state.status(thread), Status::Stopped(Stop { why: Why::Assumption, .. }));
        if did != does && is_stopped && matches!(events[0].action, Action::Read { .. }) {
            mirrored = before;
            continue;
        }
        if did != does {
            return Err(format!("{did:?}, but {does:?}"));
        }
        let same = match (state.status(thread), mirrored.status(other)) {
            _ if is_stopped => true,
            (Status::Stopped(a), Status::Stopped(b)) => {
                a.why == b.why && merged.location(a.site) == program.location(b.site)
            }
            (a, b) => a == b,
        };
        if !same {
            let (a, b) = (state.status(thread), mirrored.status(other));
            return Err(format!("{did:?}, then {a:?}, but {b:?}"));
        }
    }
}

/// Notes which threads are the same: those whose functions have the same name.
fn pair(
    pairs: &mut BTreeMap<ThreadId, ThreadId>,
    (merged, events): (&Program, &[Event]),
    (program, others): (&Program, &[Event]),
) {
    let begun = |program: &Program, event: &Event| {
        let is_begin = event.action == Action::Begin;
        is_begin.then(|| (program.function(event.site.function).name.clone(), event.thread))
    };
    let others: BTreeMap<String, ThreadId> =
        others.iter().filter_map(|event| begun(program, event)).collect();
    for (name, thread) in events.iter().filter_map(|event| begun(merged, event)) {
        pairs.insert(thread, others[&name]);
    }
}

/// An event without the ids of its program.
fn shown(program: &Program, event: &Event) -> String {
    let location = program.location(event.site).unwrap_or("nowhere");
    match event.action {
        Action::Read { value, .. } => format!("{location}: saw {value:?}"),
        Action::Write { value, .. } => format!("{location}: stored {value:?}"),
        Action::Rmw { read, written, .. } => format!("{location}: {read:?} to {written:?}"),
        other => format!("{location}: {:?}", discriminant(&other)),
    }
}
