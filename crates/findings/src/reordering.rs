//! Why a schedule may differ from the recorded run where it does.
//!
//! **Computes.** The differences that matter between the schedule of a finding and the recorded
//! run: threads that stop earlier, critical sections in another order, reads that see another
//! write. For each, which rule of `docs/theory.md` allows it.
//!
//! **Invariant.** The schedule has passed the checker, so each difference *is* allowed; here it is
//! only said by which rule.
//!
//! **Cost.** Linear in the events up to the last one of the schedule, and in the bytes that they
//! access.

#![cfg_attr(not(test), deny(clippy::wildcard_enum_match_arm))]

use std::collections::{HashMap, HashSet};

use foretrace_predict::Finding;
use foretrace_report::Reordering;
use foretrace_trace::{EventId, Location, LockId, ObjectId, Op, Trace};

use crate::describe::{operation, operation_with};

/// So many differences of one kind are told.
const MOST: usize = 12;

/// The differences between the schedule of a finding and the recorded run.
pub(crate) fn reorderings(trace: &Trace, finding: &Finding) -> Vec<Reordering> {
    let schedule = Schedule {
        trace,
        finding,
        executed: finding.schedule.iter().copied().collect(),
        last: finding.schedule.iter().copied().max(),
    };
    let mut all = schedule.delays();
    all.extend(schedule.swapped_sections());
    all.extend(schedule.other_writes());
    all
}

struct Schedule<'a> {
    trace: &'a Trace,
    finding: &'a Finding,
    executed: HashSet<EventId>,
    /// The event of the schedule that the recorded run executed last.
    last: Option<EventId>,
}

impl Schedule<'_> {
    /// Threads that stop before events that the recorded run had executed by then.
    fn delays(&self) -> Vec<Reordering> {
        let trace = self.trace;
        let Some(last) = self.last else { return Vec::new() };
        let stops = trace.thread_ids().filter_map(|thread| {
            let events = trace.thread_events(thread);
            let stop = events.iter().copied().find(|event| !self.executed.contains(event))?;
            // Nobody is late who had not come further in the recorded run either.
            (stop < last && !trace.is_made_up(stop)).then_some((thread, stop))
        });
        let told = stops.map(|(thread, stop)| {
            let later = self.finding.schedule.iter().filter(|&&event| event > stop);
            let later = later.filter(|&&event| trace.thread_of(event) != thread).count();
            let name = trace.name(thread);
            Reordering {
                what: format!(
                    "{name} stops before {} while the other threads take {later} more {}.",
                    self.event(stop),
                    if later == 1 { "step" } else { "steps" },
                ),
                why: format!(
                    "No step of this schedule has to wait for what {name} does from there on: \
                     none joins it, needs a lock that it holds, or waits for its notification."
                ),
                events: vec![stop.0],
            }
        });
        told.take(MOST).collect()
    }

    /// Neighbouring critical sections of a lock that come in another order than recorded.
    fn swapped_sections(&self) -> Vec<Reordering> {
        let trace = self.trace;
        let mut previous: HashMap<LockId, EventId> = HashMap::new();
        let mut told = Vec::new();
        for &event in &self.finding.schedule {
            let Op::Acquire { lock, .. } = trace.op(event) else { continue };
            let Some(before) = previous.insert(lock, event) else { continue };
            if before < event || trace.thread_of(before) == trace.thread_of(event) {
                continue;
            }
            let (first, second) = (self.event(before), self.event(event));
            told.push(Reordering {
                what: format!(
                    "{} takes {} before {} does ({first}, then {second}).",
                    self.thread(before),
                    trace.name(lock),
                    self.thread(event),
                ),
                why: "A lock keeps critical sections apart, but not in the recorded order; \
                      here each is finished before the next begins."
                    .to_string(),
                events: vec![before.0, event.0],
            });
        }
        told.truncate(MOST);
        told
    }

    /// Reads that see another write than in the recorded run.
    fn other_writes(&self) -> Vec<Reordering> {
        let trace = self.trace;
        let Some(last) = self.last else { return Vec::new() };
        let recorded = writers(trace, (0..=last.index()).map(EventId::from));
        let now = writers(trace, self.finding.schedule.iter().copied());
        let mut told = Vec::new();
        for (at, &event) in self.finding.schedule.iter().enumerate() {
            let (Some(before), Some(after)) = (recorded.get(&event), now.get(&event)) else {
                continue;
            };
            if before == after || trace.is_made_up(event) {
                continue;
            }
            let from = |writer: &Option<EventId>| match writer {
                Some(writer) => format!("what {} wrote", self.step(*writer)),
                None => "the initial value".to_string(),
            };
            let events = [Some(event), *after, *before].into_iter().flatten();
            told.push(Reordering {
                what: format!(
                    "{} sees {} instead of {}.",
                    self.step(event),
                    from(after),
                    from(before)
                ),
                why: self.why_seen(at, event),
                events: events.map(|event| event.0).collect(),
            });
        }
        told.truncate(MOST);
        told
    }

    fn why_seen(&self, at: usize, event: EventId) -> String {
        let trace = self.trace;
        let explanation = self.finding.explanation.as_ref();
        let values = explanation.and_then(|all| all.steps.get(at));
        let text = values.map(|values| operation_with(trace, event, values).text);
        let changed = text.filter(|text| *text != operation(trace, event));
        let Some(changed) = changed else {
            return "The value is the recorded one, so its thread goes on as recorded.".to_string();
        };
        let thread = trace.thread_of(event);
        let is_condition = |event: &&EventId| {
            trace.thread_of(**event) == thread
                && matches!(trace.op(**event), Op::Branch { .. } | Op::Assume { .. })
        };
        let conditions = self.finding.schedule[at..].iter().filter(is_condition).count();
        let rest = match conditions {
            0 => "its thread evaluates no recorded condition between it and the bug".to_string(),
            1 => "the one condition that its thread evaluates after it goes the recorded way"
                .to_string(),
            n => {
                format!("the {n} conditions that its thread evaluates after it go the recorded way")
            }
        };
        format!("It becomes `{changed}`, and {rest}.")
    }

    fn thread(&self, event: EventId) -> &str {
        self.trace.name(self.trace.thread_of(event))
    }

    /// `write x : 5 at a.c:3`
    fn event(&self, event: EventId) -> String {
        let place = self.trace.location_of(event).map(|id| {
            let location = self.trace.name(id);
            format!(" at {}", Location::in_short(location))
        });
        format!("`{}`{}", operation(self.trace, event), place.unwrap_or_default())
    }

    fn step(&self, event: EventId) -> String {
        format!("{}'s {}", self.thread(event), self.event(event))
    }
}

/// For each read of a sequence the write whose value it sees in its first byte; `None` if nothing
/// was written there before.
fn writers(
    trace: &Trace,
    sequence: impl Iterator<Item = EventId>,
) -> HashMap<EventId, Option<EventId>> {
    let mut last: HashMap<(ObjectId, u32), EventId> = HashMap::new();
    let mut seen = HashMap::new();
    for event in sequence {
        let Some(access) = trace.access(event) else { continue };
        let at = access.at;
        if access.reads {
            seen.insert(event, last.get(&(at.object, at.offset)).copied());
        }
        if access.writes {
            for byte in at.offset..at.end() {
                last.insert((at.object, byte), event);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use foretrace_trace::text;
    use foretrace_verdict::{Certainty, Violation};

    fn check(trace: &str, violation: Violation, schedule: &[u32], expected: Expect) {
        let trace = text::parse(trace).unwrap();
        let schedule = schedule.iter().map(|&event| EventId(event)).collect();
        let finding = Finding::new(&trace, violation, schedule, Certainty::Real);
        let told = reorderings(&trace, &finding);
        let lines = told.iter().map(|told| format!("{}\n  {}\n", told.what, told.why));
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn sections_and_reads_in_another_order() {
        check(
            "\
a: acquire m @ a.c:1
a: write x : 1 @ a.c:2
a: release m @ a.c:3
a: write y : 1 @ a.c:4
b: acquire m @ a.c:7
b: read x : 1 @ a.c:8
b: release m @ a.c:9
b: write y : 2 @ a.c:10
",
            Violation::Race(EventId(3), EventId(7)),
            &[4, 5, 6, 0, 1, 2],
            expect![[r#"
                a stops before `write y : 1` at a.c:4 while the other threads take 3 more steps.
                  No step of this schedule has to wait for what a does from there on: none joins it, needs a lock that it holds, or waits for its notification.
                b takes m before a does (`acquire m` at a.c:7, then `acquire m` at a.c:1).
                  A lock keeps critical sections apart, but not in the recorded order; here each is finished before the next begins.
                b's `read x : 1` at a.c:8 sees the initial value instead of what a's `write x : 1` at a.c:2 wrote.
                  The value is the recorded one, so its thread goes on as recorded.
            "#]],
        );
    }
}
