//! Turns a program, or several runs that were merged into one, and what was predicted of it into a
//! report.
//!
//! Every schedule is run once more on the interpreter, which says what is read and stored in it,
//! what the failing condition is computed from, and which locks are held. What stands for the start
//! and the end of threads is not shown.

#[allow(clippy::wildcard_enum_match_arm)]
mod calls;
#[allow(clippy::wildcard_enum_match_arm)]
mod events;
#[allow(clippy::wildcard_enum_match_arm)]
mod expression;
#[allow(clippy::wildcard_enum_match_arm)]
mod mixture;

use foretrace_predict::{Finding, NotAsked, ProgramPrediction};
use foretrace_program::run::{Action, Event, LockError, Status, Why};
use foretrace_program::text::describe;
use foretrace_program::{Op, Operand, Program};
use foretrace_report as report;
use foretrace_report::{EventText, Hold, Kind, Operation, Report, Side, SideState, Subject};
use foretrace_summarise::{Part, Replayed, Wrong, explain};
use foretrace_trace::{EventId, Location, Mode, ThreadId};
use foretrace_verdict::{Certainty, Model, Property, Violation};
use foretrace_witness::{context_switches, reported_order};

use crate::error::Error;
use crate::holds::{Holds, OpenHold};
use crate::picture::picture_of_program;
use crate::remarks::weak_accesses;
use crate::trace::{self, Frame};
use calls::Calls;
use events::ProgramEvents;
use expression::number;
pub(crate) use expression::show;

pub use mixture::{Mixing, Replayable, tell_what_is_left_out};

/// The report of a program; of recorded runs also what replays of the findings follow.
pub fn report_program(
    program: &Program,
    answer: ProgramPrediction,
    frame: Frame,
    subject: Subject,
    asked: &[Property],
    mixing: Option<&Mixing>,
) -> Result<(Report, Vec<Option<Replayable>>), Error> {
    let ProgramPrediction { summary, prediction, .. } = answer;
    let events = ProgramEvents::new(program, &summary, subject != Subject::Program);
    let mut numbers = [0u32; 9];
    let mut findings = Vec::new();
    let mut replayable = Vec::new();
    let mut benign = 0;
    for finding in &prediction.findings {
        let scene = Scene::new(&events, finding)?;
        let kind = scene.kind();
        let next = finding.violation.events().into_iter().map(|event| events.site(event));
        let next: Vec<_> = next.collect();
        if kind == Kind::Race && mixing.is_some_and(|mixing| mixing.is_benign(&next)) {
            benign += 1;
            continue;
        }
        numbers[kind as usize] += 1;
        let mut found = scene.finding(format!("{}-{}", kind.name(), numbers[kind as usize]));
        if let Some(mixing) = mixing {
            let happened = scene.replayed.steps.iter().flatten();
            let (certainty, way) = mixing.judge(happened, &next, kind);
            found.certainty = certainty;
            replayable.push(way);
        }
        findings.push(found);
    }
    let mut mentioned: Vec<u32> = findings
        .iter()
        .flat_map(|finding| {
            let sides = finding.sides.iter().map(|side| side.event);
            finding.schedule.iter().copied().chain(sides)
        })
        .collect();
    for open in &prediction.undecided {
        mentioned.extend(open.example.events().iter().map(|event| event.0));
    }
    mentioned.sort_unstable();
    mentioned.dedup();
    let mut calls = Calls::new(&events, mixing);
    let excerpt = mentioned.iter().map(|&event| EventText {
        event,
        thread: summary.trace.thread_of(EventId(event)).0,
        operation: events.operation(EventId(event)),
        location: events.location(EventId(event)),
        stack: calls.of(EventId(event)),
    });
    let excerpt: Vec<EventText> = excerpt.collect();
    let created = calls.created();
    let with_picture = frame.with_picture;
    let mut rows = prediction.ledgers.clone();
    let mut not_asked: Vec<report::NotAsked> = prediction.not_asked.iter().map(in_words).collect();
    // Misuse of locks is among the assertions.
    let is_open = |asked: &&Property| {
        let has_row = prediction.ledgers.iter().any(|(known, _)| known == *asked);
        !has_row && **asked != Property::Lock
    };
    for &property in asked.iter().filter(is_open) {
        rows.push((property, report::Ledger::default()));
        let reason = report::Reason::new("not-in-programs", "not supported for programs");
        not_asked.push(report::NotAsked { property, whole: true, reason });
    }
    rows.sort_by_key(|(property, _)| *property);
    let is_check =
        |part: Part| matches!(part, Part::DoubleLock | Part::NotHeld | Part::Unreachable);
    let mut notes = Vec::new();
    if benign > 0 {
        for (_, ledger) in rows.iter_mut().filter(|(row, _)| *row == Property::Race) {
            ledger.candidates -= benign;
            ledger.violated -= benign;
        }
        notes.push(format!("{benign} races that are declared harmless are not reported"));
    }
    if summary.origins.iter().any(|origin| is_check(origin.part)) {
        let note = "lock misuse and reached `unreachable` places count as assertions";
        notes.push(note.to_string());
    }
    let mut report = frame.report(prediction.model);
    report.trace.subject = subject;
    report.trace.events = summary.trace.len() as u64;
    report.trace.threads = events.threads.clone();
    report.trace.weak_accesses = weak_accesses(&summary.trace);
    report.summary = rows;
    report.findings = findings;
    report.undecided = prediction.undecided.into_iter().map(trace::undecided).collect();
    report.slicing = prediction.slicing;
    report.not_asked = not_asked;
    report.notes = notes;
    report.picture =
        with_picture.then(|| picture_of_program(&summary.trace, &events.threads, &excerpt));
    report.excerpt = excerpt;
    report.created = created;
    (report.frames, report.stacks) = calls.tables();
    Ok((report, replayable))
}

/// The report of a program of which nothing is decided.
pub fn report_unsupported(
    frame: Frame,
    subject: Subject,
    reason: &str,
    asked: &[Property],
) -> Report {
    let kind = |property: &Property| match property {
        Property::Race => Kind::Race,
        Property::Atomicity => Kind::Atomicity,
        Property::Deadlock => Kind::Stuck,
        Property::Lock => Kind::DoubleLock,
        Property::Assertion => Kind::Assertion,
    };
    let mut report = frame.report(Model::Symbolic);
    report.trace.subject = subject;
    report.summary = asked.iter().map(|&property| (property, Default::default())).collect();
    for kind in asked.iter().map(kind) {
        report.leave_open(kind, report::Reason::new("unsupported", reason));
    }
    report.unsupported = Some(reason.to_string());
    report
}

/// A part of a property that was not asked about.
fn in_words(part: &NotAsked) -> report::NotAsked {
    let reason = match part {
        NotAsked::NoRegions => "the program marks no atomic regions",
        NotAsked::NoAssertions => "the program has no assertions",
        NotAsked::OpaqueAssertions(_)
        | NotAsked::LateUses(_)
        | NotAsked::OpenEnds(_)
        | NotAsked::SilentThreads(_) => "something that only recorded runs have",
    };
    let reason = report::Reason::new(part.code(), reason);
    report::NotAsked { property: part.property(), whole: true, reason }
}

/// A finding whose schedule has been run.
struct Scene<'a> {
    events: &'a ProgramEvents<'a>,
    finding: &'a Finding,
    replayed: Replayed,
}

impl<'a> Scene<'a> {
    fn new(events: &'a ProgramEvents<'a>, finding: &'a Finding) -> Result<Self, Error> {
        let wrong = match finding.violation {
            Violation::Assertion(event) => Wrong::Check(event),
            Violation::Race(a, b) => Wrong::Race(a, b),
            Violation::Atomicity { .. }
            | Violation::LockCycle(_)
            | Violation::Stuck(_)
            | Violation::Lock(..) => {
                return Err(Error::internal("a finding that programs do not have"));
            }
        };
        let replayed =
            explain(events.program, events.summary, &finding.schedule, &finding.inputs, wrong)
                .map_err(Error::internal)?;
        Ok(Scene { events, finding, replayed })
    }

    /// The check that fails, if it is one.
    fn check(&self) -> Option<(EventId, Part)> {
        let Violation::Assertion(event) = self.finding.violation else { return None };
        Some((event, self.events.summary.origins[event.index()].part))
    }

    fn kind(&self) -> Kind {
        match self.check() {
            Some((_, Part::DoubleLock)) => Kind::DoubleLock,
            Some((event, Part::NotHeld)) => {
                let thread = self.thread(event);
                let status = thread.map(|thread| self.replayed.state.status(thread));
                let by_other = Why::LockError(LockError::ReleaseByOther);
                match status {
                    Some(Status::Stopped(stop)) if stop.why == by_other => Kind::UnlockByOther,
                    _ => Kind::UnlockNotHeld,
                }
            }
            _ => self.finding.violation.kind(),
        }
    }

    /// The interpreter's thread of an event.
    fn thread(&self, event: EventId) -> Option<ThreadId> {
        self.replayed.threads[self.events.summary.trace.thread_of(event).index()]
    }

    fn finding(&self, id: String) -> report::Finding {
        let (events, finding, kind) = (self.events, self.finding, self.kind());
        let object = match self.check() {
            Some((event, _)) => events.lock_of(event),
            None => finding.object.map(|object| events.summary.trace.name(object).to_string()),
        };
        let place = |event: &EventId| {
            let described = || describe(events.program, events.site(*event));
            events.location(*event).unwrap_or_else(described)
        };
        let places: Vec<String> = finding.violation.events().iter().map(place).collect();
        let is_shown =
            |event: &EventId| events.is_step(*event) || finding.violation.events().contains(event);
        let schedule: Vec<EventId> = finding.schedule.iter().copied().filter(is_shown).collect();
        let order = reported_order(&events.summary.trace, &finding.violation, &schedule);
        let what = match self.check() {
            Some((_, Part::Unreachable)) => {
                Some("a place marked unreachable is reached".to_string())
            }
            _ => None,
        };
        let mut told = report::Finding::new(id, kind, Certainty::Real, object, &places);
        told.sides = self.sides();
        told.set_functions(places.iter().filter_map(|place| Location::parse(place)?.function));
        told.context_switches = context_switches(&events.summary.trace, &order) as u64;
        told.changes = self.changes();
        told.what = what;
        told.inputs = self.inputs();
        told.schedule = schedule.iter().map(|event| event.0).collect();
        told
    }

    fn sides(&self) -> Vec<Side> {
        let state = |event: EventId| match self.finding.schedule.contains(&event) {
            true => SideState::Executed,
            false => SideState::Next,
        };
        let side = |event: EventId| Side {
            event: event.0,
            state: state(event),
            holds: self.holds_before(event),
        };
        self.finding.violation.events().into_iter().map(side).collect()
    }

    /// The locks that the thread of an event has before it; at the end, if it does not happen.
    fn holds_before(&self, event: EventId) -> Vec<Hold> {
        let mut holds = Holds::default();
        let steps = self.finding.schedule.iter().zip(&self.replayed.steps);
        for (&since, happened) in steps.take_while(|&(&step, _)| step != event) {
            for &Event { thread, action, .. } in happened {
                holds.step(thread, since, action);
            }
        }
        let hold = |held: &OpenHold| Hold {
            lock: self.events.program.locks[held.lock.index()].name.clone(),
            shared: held.mode == Mode::Shared,
            since: held.since.0,
            location: self.events.location(held.since),
            stack: None,
        };
        self.thread(event).map_or(&[][..], |thread| holds.of(thread)).iter().map(hold).collect()
    }

    /// What comes from outside.
    fn inputs(&self) -> Vec<report::Input> {
        let schedule = &self.finding.schedule;
        let inputs = self.finding.inputs.iter().filter(|(event, _)| schedule.contains(event));
        let input = |&(event, value): &(EventId, u64)| {
            let site = self.events.site(event);
            let instruction = self.events.program.instruction(site)?;
            let Op::External { name, .. } = &instruction.op else { return None };
            let width = self.events.program.function(site.function).width(instruction.result?);
            let value = foretrace_program::signed(value, width);
            Some(report::Input { event: event.0, name: name.clone(), value })
        };
        inputs.filter_map(input).collect()
    }

    /// What happens in this schedule, by event.
    fn changes(&self) -> Vec<(u32, Operation)> {
        let events = self.events;
        let mut changes = Vec::new();
        for (&event, happened) in self.finding.schedule.iter().zip(&self.replayed.steps) {
            let (site, thread) = (events.site(event), self.thread(event));
            let own = happened.iter().find(|own| own.site == site && Some(own.thread) == thread);
            let changed = match events.summary.origins[event.index()].part {
                Part::Assertion => worth(events.operation(event), "true"),
                Part::Input => self.given(event),
                Part::Step => match own {
                    Some(own) => events.happening(event, own.action),
                    None => continue,
                },
                Part::Local | Part::DoubleLock | Part::NotHeld | Part::Unreachable | Part::End => {
                    continue;
                }
            };
            changes.push((event.0, changed));
        }
        for event in self.finding.violation.events() {
            if !self.finding.schedule.contains(&event) {
                changes.push((event.0, self.coming(event)));
            }
        }
        changes.retain(|(event, changed)| *changed != events.operation(EventId(*event)));
        changes.sort_unstable();
        changes.dedup_by_key(|(event, _)| *event);
        changes
    }

    /// A value from outside.
    fn given(&self, event: EventId) -> Operation {
        let operation = self.events.operation(event);
        match self.inputs().iter().find(|input| input.event == event.0) {
            Some(input) => worth(operation, &input.value.to_string()),
            None => operation,
        }
    }

    /// What is about to happen: a store with its value, a condition with what it is computed from.
    fn coming(&self, event: EventId) -> Operation {
        let events = self.events;
        let operation = events.operation(event);
        let (site, Some(thread)) = (events.site(event), self.thread(event)) else {
            return operation;
        };
        let function = events.program.function(site.function);
        let value = |operand: Operand| match operand {
            Operand::Constant(constant) => Some(constant.value),
            Operand::Register(register) => self.replayed.state.register(thread, register),
            Operand::Global { .. } | Operand::Function(_) => None,
        };
        match events.program.instruction(site).map(|instruction| &instruction.op) {
            Some(Op::Assert { condition }) => {
                let shown = show(events.program, function, *condition);
                let named = |(register, name): (_, String)| {
                    let value = self.replayed.state.register(thread, register)?;
                    Some(format!("{name} = {}", number(value, function.width(register))))
                };
                let names: Vec<String> = shown.leaves.into_iter().filter_map(named).collect();
                match names.is_empty() {
                    true => worth(operation, "false"),
                    false => worth(operation, &format!("false ({})", names.join(", "))),
                }
            }
            Some(Op::Store { value: stored, order, .. }) => match value(*stored) {
                Some(value) => {
                    let at = events.summary.trace.access(event).expect("a store is an access").at;
                    let (value, order) = (Some(value), *order);
                    events.happening(event, Action::Write { at, value, order })
                }
                None => operation,
            },
            _ => operation,
        }
    }
}

/// The operation and its value.
fn worth(operation: Operation, value: &str) -> Operation {
    Operation { text: format!("{operation} : {value}"), ..operation }
}
