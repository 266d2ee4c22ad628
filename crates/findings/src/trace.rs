//! Turns a trace and what was predicted of it into a report: ids become names.
//!
//! **Cost.** Linear in the trace and in the schedules. A schedule stays a list of numbers; the
//! words for each event are made once, however many schedules contain it.

use std::collections::HashMap;
use std::time::Duration;

use foretrace_predict::{
    Finding, Granularity, NotAsked, Options, Prediction, Prune, Switches, Undecided,
};
use foretrace_report as report;
use foretrace_report::{EventText, Hold, Operation, Report, Side, SideState, fingerprint};
use foretrace_trace::{Dependences, EventId, Location, Mode, ObjectId, Op, Request, Trace, ops};
use foretrace_verdict::{Model, Property, Violation};
use foretrace_witness::{context_switches, reported_order};

use crate::describe::{
    coming_access, coming_store, failed_assertion, operation, operation_with, recorded,
};
use crate::holds::{OpenHold, Survey};
use crate::implicit;
use crate::picture::{REFUTED_IN_PICTURE, picture};
use crate::remarks::{not_asked, notes, unanswered, weak_accesses};
use crate::stacks::Stacks;

/// What a report says besides the prediction.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Frame {
    /// Whether long schedules are written step by step in JSON too.
    pub full_schedules: bool,
    /// Whether somebody draws a picture of the run.
    pub with_picture: bool,
    /// The file that was analysed, as the user named it.
    pub path: Option<String>,
    /// The options that change the answer.
    pub settings: report::Settings,
    /// How long it took; `None` when bytes are to be compared.
    pub timing: Option<report::Timing>,
}

impl Frame {
    /// The frame of a prediction with these options.
    pub fn new(options: &Options) -> Frame {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let settings = report::Settings {
            granularity: options.granularity.name().to_string(),
            infer_regions: options.infer_regions,
            conflicts: options.budget.conflicts,
            budget_ms: options.budget.time.map(milliseconds),
            context_bound: match options.switches {
                Switches::AtMost(most) => Some(most),
                Switches::Any | Switches::Fewest => None,
            },
            iterate_bound: options.switches == Switches::Fewest,
            no_prune: options.prune == Prune::Nothing,
            implicit: Vec::new(),
            symbolic_addresses: false,
            solver: None,
        };
        Frame { full_schedules: false, with_picture: false, path: None, settings, timing: None }
    }

    /// A report that has nothing but this.
    pub(crate) fn report(self, model: Model) -> Report {
        let mut report = Report::new(model, self.settings);
        report.trace.path = self.path;
        report.full_schedules = self.full_schedules;
        report.timing = self.timing;
        report
    }
}

/// The report of one finding.
pub fn report_finding(trace: &Trace, model: Model, finding: Finding, frame: Frame) -> Report {
    let mut prediction = Prediction::new(model);
    prediction.findings.push(finding);
    report_trace(trace, prediction, frame)
}

/// The report of a prediction.
pub fn report_trace(trace: &Trace, prediction: Prediction, frame: Frame) -> Report {
    let points: Vec<Vec<Point>> =
        prediction.findings.iter().map(|finding| points(trace, finding)).collect();
    // Where assertions are added, none is an answer.
    let adds = !frame.settings.implicit.is_empty() && trace.dependences() == Dependences::Recorded;
    let parts =
        prediction.not_asked.iter().filter(|&part| !adds || *part != NotAsked::NoAssertions);
    let is_by_object = frame.settings.granularity == Granularity::Variable.name();
    let with_picture = frame.with_picture;
    let mut report = frame.report(prediction.model);
    report.trace.events = (trace.len() - trace.made_up()) as u64;
    report.trace.threads = trace.threads().iter().map(str::to_string).collect();
    report.trace.folders = trace.folders().to_vec();
    report.trace.provenance = trace.provenance().to_vec();
    report.trace.weak_accesses = weak_accesses(trace);
    report.summary = prediction.ledgers.clone();
    report.slicing = prediction.slicing;
    report.not_asked = parts.map(|part| not_asked(trace, part)).collect();
    report.notes = notes(trace, &prediction);
    let mut stacks = Stacks::new(trace);
    report.excerpt = excerpt(trace, &prediction, &points, with_picture, &mut stacks);
    report.picture = with_picture.then(|| picture(trace, &report.excerpt, &prediction.findings));
    report.findings = findings(trace, prediction.findings, &points, is_by_object, &mut stacks);
    report.created = stacks.created();
    (report.frames, report.stacks) = stacks.tables();
    report.refuted = refuted(trace, &prediction.refuted);
    report.undecided = prediction.undecided.into_iter().map(undecided).collect();
    let for_recorded_values = prediction.for_recorded_values.into_iter();
    report.for_recorded_values = for_recorded_values.map(undecided).collect();
    report
}

/// A side of a finding before its names are resolved.
struct Point {
    event: EventId,
    state: SideState,
}

/// The operations that make the violation, in its order; for a stuck state also where the other
/// threads are.
fn points(trace: &Trace, finding: &Finding) -> Vec<Point> {
    let at = |state: SideState| move |&event: &EventId| Point { event, state };
    let blocked = |event: &EventId| {
        let executed = finding.schedule.contains(event);
        Point { event: *event, state: if executed { SideState::Waiting } else { SideState::Next } }
    };
    match &finding.violation {
        Violation::Race(a, b) => [a, b].map(at(SideState::Next)).into(),
        Violation::Atomicity { first, remote, second } => {
            let executed = [first, remote].map(at(SideState::Executed));
            executed.into_iter().chain([at(SideState::Next)(second)]).collect()
        }
        Violation::LockCycle(events) => events.iter().map(blocked).collect(),
        Violation::Stuck(event) => {
            let mut points = vec![blocked(event)];
            points.extend(unfinished(trace, &finding.schedule, *event));
            points
        }
        Violation::Lock(_, event) | Violation::Assertion(event) => {
            let free = implicit::freed(trace, &finding.violation).map(|(free, ..)| free);
            let free = free.as_ref().map(at(SideState::Executed));
            [blocked(event)].into_iter().chain(free).collect()
        }
    }
}

/// Where the threads other than that of `stuck` are at the end of the schedule, if they have
/// something left to do.
fn unfinished(trace: &Trace, schedule: &[EventId], stuck: EventId) -> Vec<Point> {
    let mut executed = vec![0usize; trace.threads().len()];
    let mut started: Vec<bool> = vec![true; trace.threads().len()];
    for (_, event) in trace.events() {
        if let Op::Fork { child } = event.op {
            started[child.index()] = false;
        }
    }
    for &event in schedule {
        executed[trace.thread_of(event).index()] += 1;
        if let Op::Fork { child } = trace.op(event) {
            started[child.index()] = true;
        }
    }
    let others = trace.thread_ids().filter(|&thread| thread != trace.thread_of(stuck));
    others
        .filter(|thread| started[thread.index()])
        .filter_map(|thread| {
            let events = trace.thread_events(thread);
            match events.get(executed[thread.index()]) {
                Some(&event) => Some(Point { event, state: SideState::Next }),
                None => events
                    .last()
                    .filter(|&&last| trace.op(last) != Op::End)
                    .map(|&event| Point { event, state: SideState::Waiting }),
            }
        })
        .collect()
}

fn excerpt(
    trace: &Trace,
    prediction: &Prediction,
    points: &[Vec<Point>],
    with_refuted: bool,
    stacks: &mut Stacks,
) -> Vec<EventText> {
    let mut mentioned = vec![false; trace.len()];
    for finding in &prediction.findings {
        shown(trace, &finding.schedule).for_each(|event| mentioned[event.index()] = true);
    }
    points.iter().flatten().for_each(|point| mentioned[point.event.index()] = true);
    for open in prediction.undecided.iter().chain(&prediction.for_recorded_values) {
        open.example.events().iter().for_each(|event| mentioned[event.index()] = true);
    }
    let refuted = prediction.refuted.iter().take(if with_refuted { REFUTED_IN_PICTURE } else { 0 });
    for event in refuted.flat_map(|(_, violation)| violation.events()) {
        mentioned[event.index()] = true;
    }
    (0..trace.len())
        .filter(|&row| mentioned[row])
        .map(|row| {
            let id = EventId::from(row);
            EventText { stack: stacks.of(id), ..event_text(trace, id) }
        })
        .collect()
}

/// An event in words, without its calls.
pub(crate) fn event_text(trace: &Trace, event: EventId) -> EventText {
    EventText {
        event: event.0,
        thread: trace.thread_of(event).0,
        operation: recorded(trace, event),
        location: location(trace, event),
        stack: None,
    }
}

/// The steps of a schedule that the program does.
fn shown<'a>(trace: &'a Trace, schedule: &'a [EventId]) -> impl Iterator<Item = EventId> + 'a {
    schedule.iter().copied().filter(|&event| !trace.is_made_up(event))
}

fn location(trace: &Trace, event: EventId) -> Option<String> {
    location_text(trace, event).map(str::to_string)
}

fn location_text(trace: &Trace, event: EventId) -> Option<&str> {
    trace.location_of(event).map(|id| trace.name(id))
}

/// `is_by_object`: which places of an object it is about does not matter.
fn findings(
    trace: &Trace,
    found: Vec<Finding>,
    points: &[Vec<Point>],
    is_by_object: bool,
    stacks: &mut Stacks,
) -> Vec<report::Finding> {
    let mut asked: Vec<EventId> = points.iter().flatten().map(|point| point.event).collect();
    asked.sort_unstable();
    asked.dedup();
    let recorded = Survey::along(trace, (0..trace.len()).map(EventId::from), &asked);
    let allocations = allocations(trace);
    let mut numbers = [0u32; 9];
    found
        .into_iter()
        .zip(points)
        .map(|(finding, points)| {
            let kind = finding.violation.kind();
            numbers[kind as usize] += 1;
            let id = format!("{}-{}", kind.name(), numbers[kind as usize]);
            if recorded.has_foreign_release() {
                let replayed = Survey::along(trace, finding.schedule.iter().copied(), &asked);
                self::finding(trace, finding, id, points, &replayed, &allocations, stacks)
            } else {
                self::finding(trace, finding, id, points, &recorded, &allocations, stacks)
            }
        })
        .map(|mut finding| {
            if let Some(object) = finding.object.as_deref().filter(|_| is_by_object) {
                finding.fingerprint = fingerprint(finding.kind, Some(object), &[]);
            }
            finding
        })
        .collect()
}

fn finding(
    trace: &Trace,
    finding: Finding,
    id: String,
    points: &[Point],
    survey: &Survey,
    allocations: &HashMap<ObjectId, (EventId, u32)>,
    stacks: &mut Stacks,
) -> report::Finding {
    let kind = finding.violation.kind();
    let object = object_name(trace, &finding);
    let freed = implicit::freed(trace, &finding.violation);
    let at_fault = finding.violation.events().into_iter().chain(freed.map(|(free, ..)| free));
    let mut places: Vec<String> = at_fault.map(|event| place(trace, event)).collect();
    places.extend(implicit::fault(trace, &finding.violation).map(|fault| fault.name().to_string()));
    let mut side = |point: &Point| Side {
        event: point.event.0,
        state: point.state,
        holds: match point.state {
            SideState::Waiting => survey.after(trace, point.event),
            SideState::Executed | SideState::Next => survey.before(trace, point.event),
        }
        .iter()
        .map(|hold| named_hold(trace, hold, stacks))
        .collect(),
    };
    let reported = reported_order(trace, &finding.violation, &finding.schedule);
    let mut told = report::Finding::new(id, kind, finding.certainty, object, &places);
    told.sides = points.iter().map(&mut side).collect();
    told.allocated = accessed(trace, &finding)
        .and_then(|object| allocations.get(&object))
        .map(|&(event, size)| stacks.origin(event, Some(size)));
    told.place = accessed_place(trace, &finding);
    let at_fault = points.iter().filter_map(|point| location_text(trace, point.event));
    told.set_functions(at_fault.filter_map(|text| Location::parse(text)?.function));
    told.context_switches = context_switches(trace, &reported) as u64;
    told.changes = changes(trace, &finding);
    told.what = implicit::what(trace, &finding.violation);
    told.reads = asserted_reads(trace, &finding);
    told.schedule = shown(trace, &finding.schedule).map(|event| event.0).collect();
    told
}

/// What the events of a witness do otherwise than in the recorded run.
fn changes(trace: &Trace, finding: &Finding) -> Vec<(u32, Operation)> {
    let explained = finding.explanation.iter().flat_map(|explanation| &explanation.steps);
    let steps = || finding.schedule.iter().zip(explained.clone());
    let mut changes: Vec<(u32, Operation)> = steps()
        .filter(|(event, _)| !trace.is_made_up(**event))
        .map(|(&event, values)| (event, operation_with(trace, event, values)))
        .filter(|(event, changed)| *changed != recorded(trace, *event))
        .map(|(event, changed)| (event.0, changed))
        .collect();
    let assertion = finding.explanation.as_ref().and_then(|all| all.assertion.as_ref());
    if let (Violation::Assertion(event), Some(assertion)) = (&finding.violation, assertion)
        && !trace.is_made_up(*event)
    {
        changes.push((event.0, failed_assertion(trace, *event, assertion)));
    }
    let next = finding.violation.events().into_iter();
    for event in next.filter(|event| !finding.schedule.contains(event)) {
        let reads = |event: EventId| trace.access(event).is_some_and(|access| access.reads);
        let reads_otherwise = steps().any(|(&step, values)| {
            trace.thread_of(step) == trace.thread_of(event)
                && reads(step)
                && trace.values(step).0 != values.seen
        });
        // What it will see is not known before: the recorded value may come from the other side.
        let coming = match reads(event) {
            true => coming_store(trace, event).or_else(|| Some(coming_access(trace, event))),
            false => coming_store(trace, event).filter(|_| reads_otherwise),
        };
        let coming = coming.filter(|coming| *coming != recorded(trace, event));
        changes.extend(coming.map(|coming| (event.0, coming)));
    }
    changes.sort_unstable();
    changes
}

/// The reads that an asserted condition is computed from, those of its `let`s left out.
fn asserted_reads(trace: &Trace, finding: &Finding) -> Vec<u32> {
    let assertion = finding.explanation.as_ref().and_then(|all| all.assertion.as_ref());
    let names = assertion.map_or(&[][..], |assertion| &assertion.names);
    let reads = names.iter().map(|named| named.of).filter(|&of| trace.access(of).is_some());
    let is_shown = |of: &EventId| finding.schedule.contains(of) && !trace.is_made_up(*of);
    reads.filter(is_shown).map(|of| of.0).collect()
}

/// Where the event is in the source, or else what it is.
pub(crate) fn place(trace: &Trace, event: EventId) -> String {
    location(trace, event).unwrap_or_else(|| {
        let thread = trace.name(trace.thread_of(event));
        format!("{thread}: {}", operation(trace, event))
    })
}

fn named_hold(trace: &Trace, hold: &OpenHold, stacks: &mut Stacks) -> Hold {
    Hold {
        lock: trace.name(hold.lock).to_string(),
        shared: hold.mode == Mode::Shared,
        since: hold.since.0,
        location: location(trace, hold.since),
        stack: stacks.of(hold.since),
    }
}

/// Where each object was allocated, and how large it is.
fn allocations(trace: &Trace) -> HashMap<ObjectId, (EventId, u32)> {
    let allocs = trace.other_ops().filter_map(|(event, op)| match op {
        Op::Alloc { object, size, .. } => Some((object, (event, size))),
        ops!(memory data sync Free mark call) => None,
    });
    allocs.collect()
}

/// What the memory is called that the finding is about.
fn accessed_place(trace: &Trace, finding: &Finding) -> Option<String> {
    let is_access = |event: &EventId| trace.access(*event).is_some();
    let events = finding.violation.events();
    // Of accesses of different sizes the smallest says most.
    let accesses = events.into_iter().filter(is_access).filter_map(|event| trace.access(event));
    accesses.min_by_key(|access| access.at.size).map(|access| trace.place_name(access.at))
}

/// The memory that the finding is about.
fn accessed(trace: &Trace, finding: &Finding) -> Option<ObjectId> {
    let of_access = |event: EventId| trace.access(event).map(|access| access.at.object);
    let freed = || {
        let (free, ..) = implicit::freed(trace, &finding.violation)?;
        match trace.op(free) {
            Op::Free { object } => Some(object),
            ops!(memory data sync Alloc mark call) => None,
        }
    };
    finding
        .object
        .or_else(freed)
        .or_else(|| finding.violation.events().into_iter().find_map(of_access))
}

/// The candidates that are refuted, with names.
fn refuted(trace: &Trace, refuted: &[(Property, Violation)]) -> Vec<report::Refuted> {
    let name = |(_, violation): &(Property, Violation)| report::Refuted {
        kind: violation.kind(),
        object: object_of(trace, violation),
        places: violation.events().into_iter().map(|event| place(trace, event)).collect(),
    };
    refuted.iter().map(name).collect()
}

/// The name of what the finding is about.
pub(crate) fn object_name(trace: &Trace, finding: &Finding) -> Option<String> {
    match finding.object {
        Some(object) => Some(trace.name(object).to_string()),
        None => object_of(trace, &finding.violation),
    }
}

/// The name of what the events of a violation are about.
fn object_of(trace: &Trace, violation: &Violation) -> Option<String> {
    if let Some((_, block, _)) = implicit::freed(trace, violation) {
        return Some(block.to_string());
    }
    let mut names: Vec<&str> = Vec::new();
    for event in violation.events() {
        let name = operand(trace, event)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(names.join(", "))
}

/// What the event operates on; of a wait that blocks a cycle, the condition variable.
fn operand(trace: &Trace, event: EventId) -> Option<&str> {
    Some(match trace.op(event) {
        Op::Read { at, .. } | Op::Write { at, .. } | Op::Rmw { at, .. } => trace.name(at.object),
        Op::Acquire { lock, .. }
        | Op::AcquireFailed { lock, .. }
        | Op::Release { lock, .. }
        | Op::Destroy { lock }
        | Op::Request(Request::Acquire(lock, _)) => trace.name(lock),
        Op::Wait { cond, .. } | Op::Wake { cond, .. } => trace.name(cond),
        Op::SemWait { sem, .. } | Op::SemPost { sem } | Op::Request(Request::SemWait(sem)) => {
            trace.name(sem)
        }
        Op::Arrive { barrier } | Op::Leave { barrier } => trace.name(barrier),
        Op::Join { child } | Op::Request(Request::Join(child)) => trace.name(child),
        Op::EnterCall { .. } => awaited(trace, event)?,
        Op::LeaveCall => awaited(trace, trace.enter_of(event)?)?,
        ops!(data object mark thread AcquireFailed SemWaitFailed Signal Broadcast Request) => {
            return None;
        }
    })
}

/// What the call waits for that begins here.
pub(crate) fn awaited(trace: &Trace, enter: EventId) -> Option<&str> {
    let source = trace.awaited_by(enter)?.source;
    Some(trace.name(source))
}

pub(crate) fn undecided(open: Undecided) -> report::Undecided {
    report::Undecided {
        property: open.property,
        kind: open.example.kind(),
        events: open.example.events().into_iter().map(|event| event.0).collect(),
        reason: unanswered(&open.reason),
    }
}

#[cfg(test)]
mod tests;
