//! A schedule of a summary, run on the program itself.
//!
//! **Computes.** Whether the interpreter can take the steps of a schedule in its order, and what is
//! wrong in the state that they lead to.
//!
//! **Follows.** `docs/program-form.md`. It shares nothing with the walk that made the summary but
//! the sites of the events, so it is the independent check of every finding.

use foretrace_program::explore::{self, violations};
use foretrace_program::ir::{Op, Program, Site};
use foretrace_program::run::{
    self, Choice, LockError, Machine, Move, State, Status, Undefined, Why,
};
use foretrace_trace::{EventId, ThreadId};

use crate::{Part, Summary};

/// What is to be wrong at the end of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The check that this event is fails.
    Check(EventId),
    /// These two accesses are next at once.
    Race(EventId, EventId),
}

/// Runs a schedule; `inputs` is what comes from outside, by event.
pub fn replay(
    program: &Program,
    summary: &Summary,
    schedule: &[EventId],
    inputs: &[(EventId, u64)],
    wrong: Wrong,
) -> Result<(), String> {
    explain(program, summary, schedule, inputs, wrong).map(|_| ())
}

/// What the interpreter does along a schedule.
#[derive(Debug)]
pub struct Replayed {
    /// For each event of the schedule what happened up to it since the one before: its own step,
    /// and what its thread does on its own behind that and, of locks that it takes again, before
    /// it.
    pub steps: Vec<Vec<run::Event>>,
    /// The state in which something is wrong.
    pub state: State,
    /// The interpreter's thread for each of the summary; `None` if it is not started.
    pub threads: Vec<Option<ThreadId>>,
}

/// Runs a schedule and says what happens; `inputs` is what comes from outside, by event.
pub fn explain(
    program: &Program,
    summary: &Summary,
    schedule: &[EventId],
    inputs: &[(EventId, u64)],
    wrong: Wrong,
) -> Result<Replayed, String> {
    let values: Vec<u64> = inputs.iter().map(|&(_, value)| value).collect();
    let machine = Machine::new(program).with_inputs(move |_| values.clone());
    let (state, _) = machine.start();
    let (threads, happened) = (vec![None; summary.forks.len()], Vec::new());
    let mut run = Run { program, machine: &machine, summary, state, threads, happened };
    let from_start = summary.forks.iter().enumerate().filter(|(_, fork)| fork.is_none());
    for (number, (thread, _)) in from_start.enumerate() {
        run.threads[thread] = Some(ThreadId::from(number));
    }
    let mut steps = Vec::new();
    for &event in schedule {
        let input = inputs.iter().find(|&&(input, _)| input == event).map(|&(_, value)| value);
        run.event(event, input)?;
        steps.push(std::mem::take(&mut run.happened));
    }
    run.check(wrong)?;
    Ok(Replayed { steps, state: run.state, threads: run.threads })
}

struct Run<'r> {
    program: &'r Program,
    machine: &'r Machine<'r>,
    summary: &'r Summary,
    state: State,
    /// The interpreter's thread for each of the summary.
    threads: Vec<Option<ThreadId>>,
    /// What happened since the last event of the schedule.
    happened: Vec<run::Event>,
}

impl Run<'_> {
    fn thread_of(&self, event: EventId) -> Result<ThreadId, String> {
        let thread = self.summary.trace.thread_of(event);
        let name = || self.summary.trace.name(thread).to_string();
        self.threads[thread.index()].ok_or_else(|| format!("{} is not started", name()))
    }

    fn event(&mut self, event: EventId, input: Option<u64>) -> Result<(), String> {
        let part = self.summary.origins[event.index()].part;
        if part == Part::End {
            let thread = self.thread_of(event)?;
            return self.finish(thread);
        }
        if !matches!(part, Part::Step | Part::Input) {
            return Ok(());
        }
        let thread = self.thread_of(event)?;
        self.catch_up(thread, event)?;
        let before = self.state.thread_ids().len();
        self.step(thread, input)?;
        if self.state.thread_ids().len() > before {
            let child = self.summary.forks.iter().position(|&fork| fork == Some(event));
            let child = child.ok_or_else(|| format!("event {} starts a thread", event.0))?;
            self.threads[child] = Some(ThreadId::from(before));
        }
        Ok(())
    }

    fn step(&mut self, thread: ThreadId, input: Option<u64>) -> Result<(), String> {
        let moves = self.machine.moves_of(&self.state, thread);
        let chosen = match input {
            Some(value) => Move { thread, choice: Choice::Input(value) },
            None => match moves[..] {
                [only] => only,
                [] => return Err(format!("thread {} is blocked", thread.0)),
                _ => return Err(format!("thread {} has several ways to go on", thread.0)),
            },
        };
        let happened = self.machine.step(&mut self.state, chosen);
        let happened = happened.ok_or_else(|| format!("thread {} cannot go on so", thread.0))?;
        self.happened.extend(happened);
        Ok(())
    }

    /// Takes the steps that nobody else can see, up to an event: locks that a thread takes again.
    fn catch_up(&mut self, thread: ThreadId, event: EventId) -> Result<(), String> {
        let site = self.summary.origins[event.index()].site;
        loop {
            let Some(next) = self.machine.next(&self.state, thread) else {
                return match self.state.status(thread) {
                    // It has run into what is to be shown.
                    Status::Stopped(stop) if stop.site == site => Ok(()),
                    status => Err(format!("thread {} is {status:?}", thread.0)),
                };
            };
            if next.site == site {
                return Ok(());
            }
            self.hidden_step(thread, next.site)?;
        }
    }

    /// Takes the steps that nobody else can see, up to the end of the thread.
    fn finish(&mut self, thread: ThreadId) -> Result<(), String> {
        while let Some(next) = self.machine.next(&self.state, thread) {
            self.hidden_step(thread, next.site)?;
        }
        match self.state.status(thread) {
            Status::Finished => Ok(()),
            status => Err(format!("thread {} is {status:?}", thread.0)),
        }
    }

    /// Takes a step that nobody else can see.
    fn hidden_step(&mut self, thread: ThreadId, at: Site) -> Result<(), String> {
        let op = self.program.instruction(at).map(|instruction| &instruction.op);
        if !matches!(op, Some(Op::Acquire { .. } | Op::Release { .. })) {
            return Err(format!("thread {} is at {at:?}, which others can see", thread.0));
        }
        self.step(thread, None)
    }

    fn check(&mut self, wrong: Wrong) -> Result<(), String> {
        match wrong {
            Wrong::Check(event) => self.check_fails(event),
            Wrong::Race(a, b) => {
                for event in [a, b] {
                    let thread = self.thread_of(event)?;
                    self.catch_up(thread, event)?;
                }
                let site = |event: EventId| self.summary.origins[event.index()].site;
                let (first, second) = (site(a).min(site(b)), site(a).max(site(b)));
                self.require(&explore::Violation::Race(first, second))
            }
        }
    }

    fn check_fails(&mut self, event: EventId) -> Result<(), String> {
        let origin = self.summary.origins[event.index()];
        let thread = self.thread_of(event)?;
        self.catch_up(thread, event)?;
        let why = match origin.part {
            Part::Assertion => Why::Assertion,
            Part::Unreachable => Why::Undefined(Undefined::Unreachable),
            Part::DoubleLock => {
                let double = LockError::DoubleLock;
                return self.require(&explore::Violation::LockError(double, origin.site));
            }
            Part::NotHeld => {
                self.step(thread, None)?;
                let errors = [LockError::ReleaseNotHeld, LockError::ReleaseByOther];
                let status = self.state.status(thread);
                let is_error = |&error: &LockError| {
                    matches!(status, Status::Stopped(stop)
                        if stop.site == origin.site && stop.why == Why::LockError(error))
                };
                return match errors.iter().any(is_error) {
                    true => Ok(()),
                    false => Err(format!("the lock is given back: {status:?}")),
                };
            }
            Part::Step | Part::Local | Part::Input | Part::End => {
                return Err(format!("event {} is no check", event.0));
            }
        };
        match self.state.status(thread) {
            Status::Stopped(stop) if stop.site == origin.site && stop.why == why => Ok(()),
            status => Err(format!("the check of event {} holds: {status:?}", event.0)),
        }
    }

    fn require(&self, violation: &explore::Violation) -> Result<(), String> {
        let found = violations(self.machine, &self.state);
        match found.contains(violation) {
            true => Ok(()),
            false => Err(format!("{violation:?} is not there, but {found:?}")),
        }
    }
}
