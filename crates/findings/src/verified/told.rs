//! A bug of a program as a finding: the run that shows it, written down as a trace.
//!
//! What a thread is about to do when the bug happens stands behind what has happened.

use std::collections::HashMap;

use foretrace_predict::Finding;
use foretrace_program::run::{Action, BadAccess, Event, LockError, NextKind, record};
use foretrace_program::text::describe;
use foretrace_program::{Machine, Op, Program, Site, Violation};
use foretrace_report as report;
use foretrace_report::{
    CallFrame, EffectKind, Evidence, Operation, Replay, Report, Side, SideState,
};
use foretrace_trace::{EventId, Location, ThreadId, Trace, ops};
use foretrace_verdict::{Certainty, LockMisuse, Model, Violation as Told};
use foretrace_verify::Bug;

use super::{Replayed, Verified, is_indeterminate};
use crate::program::show;
use crate::stacks::Interned;
use crate::trace::{Frame, report_finding};

/// The report of a bug, with one finding; `None` if nothing stands where it should.
pub(super) fn told(verified: &Verified, bug: &Bug, frame: Frame) -> Option<Report> {
    let program = verified.program;
    let machine = Machine::new(program).with_spurious_wakeups();
    let mut run = Run { machine, bug, events: bug.events.clone(), coming: HashMap::new() };
    let violation = run.violation()?;
    let at_fault = violation.events();
    let schedule = (0..bug.events.len()).map(EventId::from).filter(|event| {
        // An assertion that fails is next.
        !matches!(violation, Told::Assertion(_)) || !at_fault.contains(event)
    });
    let schedule: Vec<EventId> = schedule.collect();
    let trace = record(program, &bug.end, &run.events);
    let finding = Finding::new(&trace, violation, schedule, Certainty::Real);
    let mut report = report_finding(&trace, Model::Symbolic, finding, frame);
    run.add_calls(&trace, &mut report);
    let Report { findings, excerpt, .. } = &mut report;
    let finding = findings.first_mut()?;
    finding.schedule.retain(|&event| is_told(program, &run.events[event as usize]));
    finding.what = what(verified, bug);
    finding.sides.extend(run.freed());
    finding.replay = replay(verified.replayed);
    finding.inputs = run.inputs();
    finding.reads = at_fault.iter().flat_map(|&event| run.reads_before(event)).collect();
    let seen: Vec<String> = excerpt
        .iter()
        .filter(|text| finding.reads.contains(&text.event))
        .filter_map(|text| text.operation.access.as_ref())
        .filter_map(|access| Some(format!("{} = {}", access.place, access.seen.as_ref()?)))
        .collect();
    for text in excerpt.iter_mut() {
        let event = run.events[text.event as usize];
        if event.action == Action::External {
            text.operation = external(program, event.site);
        }
        let known = run.coming.get(&event.thread).is_some_and(|coming| coming.0 == text.event);
        let calls = known.then(|| bug.end.calls(event.thread));
        text.location = place(program, event.site)
            .or_else(|| calls.into_iter().flatten().find_map(|site| place(program, site)));
        if at_fault.contains(&EventId(text.event)) && !seen.is_empty() {
            text.operation.text = format!("{} ({})", text.operation, seen.join(", "));
        }
    }
    Some(report)
}

/// The run that shows a bug.
struct Run<'a> {
    machine: Machine<'a>,
    bug: &'a Bug,
    /// What has happened, and what is about to happen.
    events: Vec<Event>,
    /// Which of them each thread is about to do.
    coming: HashMap<ThreadId, EventId>,
}

impl Run<'_> {
    /// The bug by the events that make it.
    fn violation(&mut self) -> Option<Told> {
        let bug = self.bug;
        Some(match &bug.violation {
            Violation::Race(first, second) => {
                let (one, other) = self.racing(*first, *second)?;
                Told::Race(self.next(one)?, self.next(other)?)
            }
            Violation::Assertion(site) => {
                let fails = |event: &Event| {
                    event.action == Action::Assert { holds: false } && event.site == *site
                };
                Told::Assertion(EventId::from(self.events.iter().rposition(fails)?))
            }
            Violation::Undefined(_, site) => {
                let thread = self.standing_at(*site)?;
                Told::Assertion(self.next(thread)?)
            }
            Violation::LockError(error, site) => {
                let misuse = match error {
                    LockError::DoubleLock => LockMisuse::DoubleLock,
                    LockError::ReleaseByOther => LockMisuse::UnlockByOther,
                    LockError::ReleaseNotHeld | LockError::WaitNotHeld => LockMisuse::UnlockNotHeld,
                };
                let thread = self.standing_at(*site)?;
                Told::Lock(misuse, self.next(thread)?)
            }
            Violation::Deadlock(sites) => {
                let stand = || bug.stand.iter().filter(|stand| sites.contains(&stand.site));
                let points: Option<Vec<EventId>> =
                    stand().map(|stand| self.point(stand.thread)).collect();
                Told::Stuck(*points?.first()?)
            }
        })
    }

    /// The threads that are about to make two conflicting accesses.
    fn racing(&self, first: Site, second: Site) -> Option<(ThreadId, ThreadId)> {
        let at = |site: Site| self.bug.stand.iter().filter(move |stand| stand.site == site);
        let access = |thread: ThreadId| match self.machine.next(&self.bug.end, thread)?.kind {
            NextKind::Access(access) => Some(access),
            NextKind::Wake | NextKind::Leave | NextKind::Other => None,
        };
        let mut pairs =
            at(first).flat_map(|one| at(second).map(|other| (one.thread, other.thread)));
        pairs.find(|&(one, other)| {
            let accesses = access(one).zip(access(other));
            one != other && accesses.is_some_and(|(one, other)| one.conflicts(&other))
        })
    }

    /// The thread that was stopped at an instruction, or else stands there.
    fn standing_at(&self, site: Site) -> Option<ThreadId> {
        let stand = || self.bug.stand.iter().filter(|stand| stand.site == site);
        let stand = stand().find(|stand| stand.is_stopped).or_else(|| stand().next())?;
        Some(stand.thread)
    }

    /// What a thread is about to do.
    fn next(&mut self, thread: ThreadId) -> Option<EventId> {
        let coming = self.machine.coming(&self.bug.end, thread)?;
        let event = EventId::from(self.events.len());
        self.events.push(coming);
        self.coming.insert(thread, event);
        Some(event)
    }

    /// Where a blocked thread is: at its wait, which it has begun, or before something.
    fn point(&mut self, thread: ThreadId) -> Option<EventId> {
        let last = self.events.iter().rposition(|event| event.thread == thread);
        let waits =
            |event: &Event| matches!(event.action, Action::Wait { .. } | Action::Arrive { .. });
        match last.filter(|&last| waits(&self.events[last])) {
            Some(last) => Some(EventId::from(last)),
            None => self.next(thread),
        }
    }

    /// The calls that led to where the threads are.
    fn add_calls(&self, trace: &Trace, report: &mut Report) {
        let program = self.machine.program();
        let mut frames = Interned::new();
        let mut stacks = Interned::new();
        for (&thread, &event) in &self.coming {
            let places = self.bug.end.calls(thread).filter_map(|site| place(program, site));
            let stack: Vec<u32> = places.map(|place| frames.number(place)).collect();
            let text = report.excerpt.iter_mut().find(|text| text.event == event.0);
            if let (Some(text), true) = (text, stack.len() > 1) {
                text.stack = Some(stacks.number(stack));
            }
        }
        debug_assert_eq!(trace.len(), self.events.len());
        report.frames = frames.list.iter().map(|place| CallFrame::new(place)).collect();
        report.stacks = stacks.list;
    }

    /// What the thread has read at the line of an assertion that fails.
    fn reads_before(&self, event: EventId) -> Vec<u32> {
        let fails = self.events[event.index()];
        if fails.action != (Action::Assert { holds: false }) {
            return Vec::new();
        }
        let program = self.machine.program();
        let line = |event: &Event| {
            let place = Location::parse(program.location(event.site)?)?;
            Some((place.file.to_string(), place.line))
        };
        let own = |&(_, event): &(usize, &Event)| event.thread == fails.thread;
        let before = self.events[..event.index()].iter().enumerate().rev().filter(own);
        let here = before.take_while(|(_, event)| line(event) == line(&fails));
        let reads = here.filter(|(_, event)| matches!(event.action, Action::Read { .. }));
        reads.map(|(number, _)| number as u32).collect()
    }

    /// Where the memory was freed that is used, if only one block was.
    fn freed(&self) -> Option<Side> {
        let is_free = |event: &Event| matches!(event.action, Action::Free { .. });
        let is_free = |event: &Event| is_free(event) && is_told(self.machine.program(), event);
        let frees = || self.events.iter().enumerate().filter(|(_, event)| is_free(event));
        let is_known = self.bug.access == Some(BadAccess::Freed) && frees().count() == 1;
        let (free, _) = frees().next().filter(|_| is_known)?;
        Some(Side { event: free as u32, state: SideState::Executed, holds: Vec::new() })
    }

    /// What comes from outside; of variables that are not initialised, what is not 0.
    fn inputs(&self) -> Vec<report::Input> {
        let program = self.machine.program();
        let mut given = self.bug.steps.iter().filter_map(|step| Some((step.site, step.input?)));
        let mut inputs = Vec::new();
        let external = |event: &&Event| event.action == Action::External;
        for (number, event) in self.events.iter().enumerate() {
            let Some(event) = Some(event).filter(external) else { continue };
            let Some((site, value)) = given.by_ref().find(|(site, _)| *site == event.site) else {
                break;
            };
            let is_indeterminate = is_indeterminate(program, site);
            let name = match program.instruction(site).map(|instruction| &instruction.op) {
                _ if is_indeterminate => "a variable that is not initialised".to_string(),
                Some(Op::External { name, .. }) => name.clone(),
                _ => continue,
            };
            if !is_indeterminate || value != 0 {
                let value = value as i64;
                inputs.push(report::Input { event: number as u32, name, value });
            }
        }
        inputs
    }
}

/// Where an instruction is in the source, with its function.
fn place(program: &Program, site: Site) -> Option<String> {
    let location = program.location(site)?;
    Some(format!("{location} ({})", program.function(site.function).name))
}

/// Whether the schedule shows an event: not what computes, nor memory of a call.
fn is_told(program: &Program, event: &Event) -> bool {
    let op = program.instruction(event.site).map(|instruction| &instruction.op);
    match event.action {
        Action::Branch { .. }
        | Action::Assert { .. }
        | Action::Assume { .. }
        | Action::Fence { .. } => false,
        Action::External => !is_indeterminate(program, event.site),
        Action::Alloc { .. } => matches!(op, Some(Op::Alloc { .. })),
        Action::Free { .. } => matches!(op, Some(Op::Free { .. })),
        Action::Let => false,
        ops!(memory sync RegionBegin RegionEnd call) => true,
    }
}

/// An operation that is no event of a trace.
fn external(program: &Program, site: Site) -> Operation {
    let function = program.function(site.function);
    let shown = |operand| show(program, function, operand).text.replace("load ", "");
    let text = match program.instruction(site).map(|instruction| &instruction.op) {
        Some(Op::Load { address, size, .. }) => format!("read {size} bytes at {}", shown(*address)),
        Some(Op::Store { address, size, .. }) => {
            format!("write {size} bytes at {}", shown(*address))
        }
        Some(Op::Free { address }) => format!("free({})", shown(*address)),
        Some(Op::External { name, args }) => {
            let args: Vec<String> = args.iter().map(|&arg| shown(arg)).collect();
            format!("{name}({})", args.join(", "))
        }
        _ => describe(program, site),
    };
    Operation { text, kind: EffectKind::Other, ..Operation::default() }
}

/// What goes wrong, if the kind of the finding does not say it.
pub(super) fn what(verified: &Verified, bug: &Bug) -> Option<String> {
    match &bug.violation {
        Violation::Assertion(site) if verified.options.overflows.contains(site) => {
            Some("signed overflow".to_string())
        }
        Violation::Undefined(what, _) => Some(match bug.access {
            Some(BadAccess::Null) => "a null pointer is used".to_string(),
            Some(BadAccess::Freed) => "freed memory is used".to_string(),
            Some(BadAccess::Outside(size)) => {
                format!("an access outside of an object of {size} bytes")
            }
            Some(BadAccess::Elsewhere) | None => what.to_string(),
        }),
        Violation::LockError(LockError::WaitNotHeld, _) => Some(LockError::WaitNotHeld.to_string()),
        Violation::Assertion(_)
        | Violation::Race(..)
        | Violation::LockError(..)
        | Violation::Deadlock(_) => None,
    }
}

fn replay(replayed: &Replayed) -> Option<Replay> {
    let (evidence, detail, ending) = match replayed {
        Replayed::Confirmed(ending) => {
            (Evidence::Confirmed, "the schedule was forced on the compiled program", Some(ending))
        }
        Replayed::Not(why) => (Evidence::NotReplayed, why.as_str(), None),
        Replayed::Diverged(why) => (Evidence::Diverged, why.as_str(), None),
    };
    let (detail, ending) = (detail.to_string(), ending.cloned());
    Some(Replay { evidence, detail, ending, ..Replay::default() })
}
