//! Turns a program and what was predicted of it into a report.
//!
//! Every schedule is run once more on the interpreter, which says what is read and stored in it,
//! what the failing condition is computed from, and which locks are held. What stands for the start
//! and the end of threads is not shown.

use foretrace_predict::{Finding, NotAsked, ProgramPrediction};
use foretrace_program::run::{Action, Event, LockError, Status, Why};
use foretrace_program::text::describe;
use foretrace_program::{Mode, Op, Operand, Program};
use foretrace_report as report;
use foretrace_report::{EventText, Hold, Kind, Report, Side, SideState, Subject, fingerprint};
use foretrace_summarise::{Part, Replayed, Wrong, explain};
use foretrace_trace::{EventId, LockId, ThreadId};
use foretrace_verdict::{Certainty, Property, Violation};
use foretrace_witness::{context_switches, reported_order};

use super::expression::{number, show};
use super::merged::{Mixing, Replayable};
use super::words::Words;
use crate::assemble::{self, Frame};
use crate::failure::Failure;
use crate::remarks::weak_accesses;

/// The report of a program; of recorded runs also what replays of the findings follow.
pub(super) fn assemble(
    program: &Program,
    answer: ProgramPrediction,
    frame: Frame,
    subject: Subject,
    asked: &[Property],
    mixing: Option<&Mixing>,
) -> Result<(Report, Vec<Option<Replayable>>), Failure> {
    let ProgramPrediction { summary, prediction } = answer;
    let words = Words::new(program, &summary, subject != Subject::Program);
    let mut numbers = [0u32; 9];
    let mut findings = Vec::new();
    let mut replayable = Vec::new();
    let mut benign = 0;
    for finding in &prediction.findings {
        let scene = Scene::new(&words, finding)?;
        let kind = scene.kind();
        let next = finding.violation.events().into_iter().map(|event| words.site(event));
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
    let excerpt = mentioned.iter().map(|&event| EventText {
        event,
        thread: summary.trace.thread_of(EventId(event)).0,
        operation: words.operation(EventId(event)),
        location: words.location(EventId(event)),
    });
    let excerpt = excerpt.collect();
    let mut rows = prediction.ledgers.clone();
    let mut not_asked: Vec<report::NotAsked> = prediction.not_asked.iter().map(in_words).collect();
    // Misuse of locks is among the assertions.
    let is_open = |asked: &&Property| {
        let has_row = prediction.ledgers.iter().any(|(known, _)| known == *asked);
        !has_row && **asked != Property::Lock
    };
    for &property in asked.iter().filter(is_open) {
        rows.push((property, report::Ledger::default()));
        let reason = report::Reason::new("not-in-programs", "not looked for in programs");
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
        notes.push(format!("{benign} races that are declared to be harmless are not reported"));
    }
    if summary.origins.iter().any(|origin| is_check(origin.part)) {
        let note =
            "misuse of locks, and places that are not to be reached, are counted as assertions";
        notes.push(note.to_string());
    }
    let report = Report {
        trace: report::TraceInfo {
            subject,
            path: frame.path,
            events: summary.trace.len() as u64,
            threads: words.threads.clone(),
            provenance: Vec::new(),
            weak_accesses: weak_accesses(&summary.trace),
        },
        model: prediction.model.name().to_string(),
        summary: rows,
        findings,
        undecided: prediction.undecided.into_iter().map(assemble::undecided).collect(),
        slicing: prediction.slicing.map(crate::assemble::slicing),
        not_asked,
        notes,
        excerpt,
        ..empty(frame.settings, frame.full_schedules, frame.timing)
    };
    Ok((report, replayable))
}

/// The report of a program of which nothing is decided.
pub(super) fn undecided(
    frame: Frame,
    subject: Subject,
    reason: &str,
    asked: &[Property],
) -> Report {
    let open = report::Ledger { candidates: 1, undecided: 1, ..report::Ledger::default() };
    let kind = |property: Property| match property {
        Property::Race => Kind::Race,
        Property::Atomicity => Kind::Atomicity,
        _ => Kind::Assertion,
    };
    let undecided = asked.iter().map(|&property| report::Undecided {
        property,
        kind: kind(property),
        events: Vec::new(),
        reason: report::Reason::new("unsupported", reason),
    });
    Report {
        trace: report::TraceInfo { subject, path: frame.path, ..report::TraceInfo::default() },
        undecided: undecided.collect(),
        summary: asked.iter().map(|&property| (property, open)).collect(),
        unsupported: Some(reason.to_string()),
        ..empty(frame.settings, frame.full_schedules, frame.timing)
    }
}

fn empty(
    settings: report::Settings,
    full_schedules: bool,
    timing: Option<report::Timing>,
) -> Report {
    Report {
        version: env!("CARGO_PKG_VERSION").to_string(),
        run: None,
        trace: report::TraceInfo::default(),
        model: foretrace_verdict::Model::Symbolic.name().to_string(),
        settings,
        full_schedules,
        summary: Vec::new(),
        findings: Vec::new(),
        undecided: Vec::new(),
        unsupported: None,
        slicing: None,
        not_asked: Vec::new(),
        why: None,
        comparison: None,
        notes: Vec::new(),
        excerpt: Vec::new(),
        timing,
    }
}

/// A part of a property that was not asked about.
fn in_words(part: &NotAsked) -> report::NotAsked {
    let reason = match part {
        NotAsked::NoRegions => "the program marks no atomic regions",
        NotAsked::NoAssertions => "the program has no assertions",
        NotAsked::OpaqueAssertions(_) | NotAsked::OpenEnds(_) | NotAsked::SilentThreads(_) => {
            "something that only recorded runs have"
        }
    };
    let reason = report::Reason::new(part.code(), reason);
    report::NotAsked { property: part.property(), whole: true, reason }
}

/// A finding whose schedule has been run.
struct Scene<'a> {
    words: &'a Words<'a>,
    finding: &'a Finding,
    replayed: Replayed,
}

/// A lock that a thread has, how often, and the step that took it.
struct Held {
    thread: ThreadId,
    lock: LockId,
    mode: Mode,
    depth: u32,
    since: EventId,
}

impl<'a> Scene<'a> {
    fn new(words: &'a Words<'a>, finding: &'a Finding) -> Result<Self, Failure> {
        let wrong = match finding.violation {
            Violation::Assertion(event) => Wrong::Check(event),
            Violation::Race(a, b) => Wrong::Race(a, b),
            _ => return Err(Failure::internal("a finding that programs do not have")),
        };
        let replayed =
            explain(words.program, words.summary, &finding.schedule, &finding.inputs, wrong)
                .map_err(Failure::internal)?;
        Ok(Scene { words, finding, replayed })
    }

    /// The check that fails, if it is one.
    fn check(&self) -> Option<(EventId, Part)> {
        match self.finding.violation {
            Violation::Assertion(event) => {
                Some((event, self.words.summary.origins[event.index()].part))
            }
            _ => None,
        }
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
        self.replayed.threads[self.words.summary.trace.thread_of(event).index()]
    }

    fn finding(&self, id: String) -> report::Finding {
        let (words, finding, kind) = (self.words, self.finding, self.kind());
        let object = match self.check() {
            Some((event, _)) => words.lock_of(event),
            None => finding
                .object
                .map(|object| words.summary.trace.objects().get(object.index()).to_string()),
        };
        let place = |event: &EventId| {
            let described = || describe(words.program, words.site(*event));
            words.location(*event).unwrap_or_else(described)
        };
        let places: Vec<String> = finding.violation.events().iter().map(place).collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let is_shown =
            |event: &EventId| words.is_step(*event) || finding.violation.events().contains(event);
        let schedule: Vec<EventId> = finding.schedule.iter().copied().filter(is_shown).collect();
        let order = reported_order(&words.summary.trace, &finding.violation, &schedule);
        let what = match self.check() {
            Some((_, Part::Unreachable)) => {
                Some("a place that is said to be unreachable is reached".to_string())
            }
            _ => None,
        };
        report::Finding {
            id,
            fingerprint: fingerprint(kind, object.as_deref(), &places),
            kind,
            certainty: Certainty::Real,
            object,
            sides: self.sides(),
            context_switches: context_switches(&words.summary.trace, &order) as u64,
            changes: self.changes(),
            reads: Vec::new(),
            what,
            inputs: self.inputs(),
            fallback: None,
            replay: None,
            schedule: schedule.iter().map(|event| event.0).collect(),
        }
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
        let mut held: Vec<Held> = Vec::new();
        let steps = self.finding.schedule.iter().zip(&self.replayed.steps);
        for (&since, happened) in steps.take_while(|&(&step, _)| step != event) {
            for Event { thread, action, .. } in happened {
                let known = |held: &Held, of: LockId, in_mode: Mode| {
                    (held.thread, held.lock, held.mode) == (*thread, of, in_mode)
                };
                match *action {
                    Action::Acquire { lock, mode, .. } => {
                        match held.iter_mut().find(|held| known(held, lock, mode)) {
                            Some(held) => held.depth += 1,
                            None => {
                                let thread = *thread;
                                held.push(Held { thread, lock, mode, depth: 1, since });
                            }
                        }
                    }
                    Action::Release { lock, mode } => {
                        let of_it = held.iter_mut().find(|held| known(held, lock, mode));
                        of_it.into_iter().for_each(|held| held.depth -= 1);
                        held.retain(|held| held.depth > 0);
                    }
                    _ => {}
                }
            }
        }
        let mine = held.iter().filter(|held| Some(held.thread) == self.thread(event));
        let hold = |held: &Held| Hold {
            lock: self.words.program.locks[held.lock.index()].name.clone(),
            shared: held.mode == Mode::Shared,
            since: held.since.0,
            location: self.words.location(held.since),
        };
        mine.map(hold).collect()
    }

    /// What comes from outside.
    fn inputs(&self) -> Vec<report::Input> {
        let schedule = &self.finding.schedule;
        let inputs = self.finding.inputs.iter().filter(|(event, _)| schedule.contains(event));
        let input = |&(event, value): &(EventId, u64)| {
            let site = self.words.site(event);
            let instruction = self.words.program.instruction(site)?;
            let Op::External { name, .. } = &instruction.op else { return None };
            let width = self.words.program.function(site.function).width(instruction.result?);
            let value = foretrace_program::signed(value, width);
            Some(report::Input { event: event.0, name: name.clone(), value })
        };
        inputs.filter_map(input).collect()
    }

    /// What happens in this schedule, by event.
    fn changes(&self) -> Vec<(u32, String)> {
        let words = self.words;
        let mut changes = Vec::new();
        for (&event, happened) in self.finding.schedule.iter().zip(&self.replayed.steps) {
            let (site, thread) = (words.site(event), self.thread(event));
            let own = happened.iter().find(|own| own.site == site && Some(own.thread) == thread);
            let text = match words.summary.origins[event.index()].part {
                Part::Assertion => format!("{} : true", words.operation(event)),
                Part::Input => self.given(event),
                Part::Step => match own {
                    Some(own) => words.happening(event, own.action),
                    None => continue,
                },
                _ => continue,
            };
            changes.push((event.0, text));
        }
        for event in self.finding.violation.events() {
            if !self.finding.schedule.contains(&event) {
                changes.push((event.0, self.coming(event)));
            }
        }
        changes.retain(|(event, text)| *text != words.operation(EventId(*event)));
        changes.sort_unstable();
        changes.dedup_by_key(|(event, _)| *event);
        changes
    }

    /// A value from outside.
    fn given(&self, event: EventId) -> String {
        let text = self.words.operation(event);
        match self.inputs().iter().find(|input| input.event == event.0) {
            Some(input) => format!("{text} : {}", input.value),
            None => text,
        }
    }

    /// What is about to happen: a store with its value, a condition with what it is computed from.
    fn coming(&self, event: EventId) -> String {
        let words = self.words;
        let text = words.operation(event);
        let (site, Some(thread)) = (words.site(event), self.thread(event)) else { return text };
        let function = words.program.function(site.function);
        let value = |operand: Operand| match operand {
            Operand::Constant(constant) => Some(constant.value),
            Operand::Register(register) => self.replayed.state.register(thread, register),
            Operand::Global { .. } | Operand::Function(_) => None,
        };
        match words.program.instruction(site).map(|instruction| &instruction.op) {
            Some(Op::Assert { condition }) => {
                let shown = show(words.program, function, *condition);
                let named = |(register, name): (_, String)| {
                    let value = self.replayed.state.register(thread, register)?;
                    Some(format!("{name} = {}", number(value, function.width(register))))
                };
                let names: Vec<String> = shown.leaves.into_iter().filter_map(named).collect();
                match names.is_empty() {
                    true => format!("{text} : false"),
                    false => format!("{text} : false ({})", names.join(", ")),
                }
            }
            Some(Op::Store { value: stored, order, .. }) => match value(*stored) {
                Some(value) => {
                    let at = words.summary.trace.access(event).expect("a store is an access").at;
                    let (value, order) = (Some(value), *order);
                    words.happening(event, Action::Write { at, value, order })
                }
                None => text,
            },
            _ => text,
        }
    }
}
