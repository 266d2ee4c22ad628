//! What a report says besides its findings: what was not checked, and what the reader should know.

use std::collections::HashSet;

use foretrace_predict::{NotAsked, Prediction, Unanswered};
use foretrace_report as report;
use foretrace_report::Reason;
use foretrace_trace::{Channels, Dependences, EventId, Op, Provenance, ThreadId, Trace, ops};
use foretrace_verdict::{Certainty, Model, Property};

/// How many accesses are taken as sequentially consistent though their memory order is weaker.
pub fn weak_accesses(trace: &Trace) -> u64 {
    let is_weak = |(_, op): &(EventId, Op)| match op {
        Op::Read { order, .. } | Op::Write { order, .. } | Op::Rmw { order, .. } => order.is_weak(),
        ops!(data sync object mark call) => false,
    };
    trace.ops().filter(is_weak).count() as u64
}

/// A part of a property that was not asked about, in words.
pub(crate) fn not_asked(trace: &Trace, part: &NotAsked) -> report::NotAsked {
    let (whole, sentence) = match part {
        NotAsked::NoRegions => (
            true,
            "the trace marks no atomic regions (use --infer-regions to treat critical sections as atomic)".into(),
        ),
        NotAsked::OpenEnds(threads) => {
            let (names, have) = (names(trace, threads), have(threads));
            (
                false,
                format!(
                    "stuck states in which {names} {have} executed all their events, because the trace records no `end`"
                ),
            )
        }
        NotAsked::SilentThreads(threads) => {
            let (names, have) = (names(trace, threads), have(threads));
            (false, format!("stuck states: {names} {have} neither events nor a fork"))
        }
        NotAsked::NoAssertions => (true, no_assertions(trace).into()),
        NotAsked::LateUses(count) => {
            let places = if *count == 1 { "place" } else { "places" };
            let sentence = format!(
                "use after free at {count} {places}: not decided with little effort (use \
                 --implicit freed to spend more)"
            );
            (false, sentence)
        }
        NotAsked::OpaqueAssertions(count) => {
            let is_assertion = |(_, op): &(EventId, Op)| matches!(op, Op::Assert { .. });
            let all = trace.other_ops().filter(is_assertion).count() as u64;
            let reason = "whose condition is not recorded, and which held in the recorded run";
            (*count == all, format!("{count} {reason}"))
        }
    };
    let reason = Reason { code: part.code(), sentence };
    report::NotAsked { property: part.property(), whole, reason }
}

/// Of a recorded program, the trace leaves out assertions that cannot fail on the recorded path.
fn no_assertions(trace: &Trace) -> &'static str {
    let mut facts = trace.provenance().iter();
    match facts.any(|(fact, _)| matches!(fact, Provenance::Walked(_))) {
        true => "the run executed no assertion that depends on memory which threads share",
        false => "the trace has no assertions",
    }
}

/// Why a candidate has no verdict.
pub(crate) fn unanswered(why: &Unanswered) -> Reason {
    let sentence = match why {
        Unanswered::TimeBudget => "the time budget was used up (--budget)".into(),
        Unanswered::Interrupted => "interrupted before it was decided".into(),
        Unanswered::ConflictBudget => "the conflict budget was used up (--conflicts)".into(),
        Unanswered::LockCycles { steps, threads } => {
            format!("too many or too long lock cycles to list ({steps} steps, {threads} threads)")
        }
        Unanswered::Notifications { name, waits, signals, broadcasts } => format!(
            "condition variable {name} has too many operations for the stuck state ({waits} waits, \
             {signals} signals, {broadcasts} broadcasts)"
        ),
        Unanswered::FormulaTooLarge => "the formula is too large for the solver".into(),
        Unanswered::NotInPrograms => "programs are checked for assertions and races only".into(),
        Unanswered::NoFailingValues(why)
        | Unanswered::FormulaUnsupported(why)
        | Unanswered::SolverFailed(why) => why.clone(),
        _ => why.code().replace('-', " "),
    };
    Reason::new(why.code(), sentence)
}

/// The first few names.
fn names(trace: &Trace, threads: &[ThreadId]) -> String {
    let named = threads.iter().map(|thread| trace.name(thread));
    first_few(&named.collect::<Vec<_>>())
}

fn first_few(names: &[&str]) -> String {
    const MOST: usize = 3;
    let list = names[..names.len().min(MOST)].join(", ");
    match names.len().saturating_sub(MOST) {
        0 => list,
        more => format!("{list} and {more} more"),
    }
}

fn have(threads: &[ThreadId]) -> &'static str {
    if threads.len() == 1 { "has" } else { "have" }
}

/// What a reader of these findings should know.
pub(crate) fn notes(trace: &Trace, prediction: &Prediction) -> Vec<String> {
    let certainties: HashSet<Certainty> =
        prediction.findings.iter().map(|finding| finding.certainty).collect();
    let asked = prediction.ledgers.iter().any(|(property, _)| *property == Property::Race);
    let mut harmless: Vec<(&str, &str)> = Vec::new();
    for (at, why) in trace.benign().iter().filter(|_| asked) {
        let place = (trace.name(at.object), why.as_str());
        if !harmless.contains(&place) {
            harmless.push(place);
        }
    }
    let mut notes: Vec<String> = harmless
        .iter()
        .map(|(object, why)| format!("declared harmless: races on {object} ({why})"))
        .collect();
    if certainties.contains(&Certainty::Possible) {
        let why = match prediction.model {
            Model::Control => {
                "model control leaves out what is read and computed, so the schedules are not proved \
                 feasible"
            }
            Model::ReadsFrom | Model::Values | Model::Symbolic => {
                "the schedule has a read whose value no recorded write explains, so unrecorded code \
                 may matter"
            }
        };
        notes.push(format!("possible: {why}"));
    }
    if prediction.model == Model::Symbolic && trace.dependences() == Dependences::Unknown {
        notes.push(
            "the trace does not record which events depend on reads, so symbolic finds the same as \
             values"
                .to_string(),
        );
    }
    notes.extend(kept_calls(trace));
    notes
}

/// How many calls keep their recorded order, if calls of several threads do.
fn kept_calls(trace: &Trace) -> Vec<String> {
    let (mut channels, mut threads) = (HashSet::new(), HashSet::new());
    let (mut calls, mut unknown) = (0, 0);
    let mut functions: Vec<&str> = Vec::new();
    let of_calls = || {
        trace.other_ops().filter_map(|(event, op)| {
            let Op::EnterCall { on, by } = op else { return None };
            Some((event, trace.channels_of(on), by))
        })
    };
    // Where nobody takes, the order of those that give does not matter.
    let mut taken = vec![false; trace.channels().len()];
    for (_, on, _) in of_calls() {
        let Channels::Only(list) = on else { continue };
        list.iter().for_each(|(channel, way)| taken[channel.index()] |= way.takes());
    }
    for (event, on, by) in of_calls() {
        let is_kept = match on {
            Channels::Every => {
                unknown += 1;
                let name = by.map(|by| trace.name(by));
                functions.extend(name.filter(|name| !functions.contains(name)));
                true
            }
            Channels::Only(list) => {
                let kept = list.iter().filter(|(channel, _)| taken[channel.index()]);
                kept.inspect(|(channel, _)| _ = channels.insert(*channel)).count() > 0
            }
        };
        if is_kept {
            calls += 1;
            threads.insert(trace.thread_of(event));
        }
    }
    if threads.len() < 2 {
        return Vec::new();
    }
    let mut notes = vec![format!(
        "{} on {} keep their recorded order: bugs that need another order of these calls are not found",
        counted(calls, "call"),
        counted(channels.len(), "channel")
    )];
    if unknown > 0 {
        let named = match functions.is_empty() {
            true => "some functions".to_string(),
            false => first_few(&functions),
        };
        let keep = if unknown == 1 { "call keeps its" } else { "calls keep their" };
        notes.push(format!(
            "nothing is known about {named}: {unknown} {keep} order with all others"
        ));
    }
    notes
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
