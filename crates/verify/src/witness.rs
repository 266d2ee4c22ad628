//! From a model to a schedule that the interpreter confirms.
//!
//! **Computes.** The steps of all threads in the order of the model, and whether the interpreter
//! shows the violation behind them. It shares nothing with unfolding and composing but the program.

use std::cell::Cell;

use foretrace_program::explore::violations;
use foretrace_program::run::{Action, BadAccess, Choice, Event, Move, NextKind, State, Status};
use foretrace_program::{Machine, Program, Site, Violation};
use foretrace_trace::ThreadId;

use crate::compose::races::Race;
use crate::compose::stuck::StuckState;
use crate::skeleton::{Access, Check, How, NodeId, Skeleton, Step, Wait};

/// A violation, and how it comes about.
#[derive(Clone, Debug)]
pub struct Bug {
    /// What goes wrong.
    pub violation: Violation,
    /// The steps that lead to it, in order.
    pub steps: Vec<BugStep>,
    /// Where the threads stand behind them that are not finished.
    pub stand: Vec<Stand>,
    /// What is wrong with the access, if the violation is one.
    pub access: Option<BadAccess>,
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stand {
    /// Who.
    pub thread: ThreadId,
    /// At which instruction.
    pub site: Site,
    /// Whether it was stopped there: a step of its own may have been the mistake.
    pub is_stopped: bool,
}

/// One step of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BugStep {
    /// The name of the thread.
    pub thread: String,
    /// Its number in the interpreter: threads are numbered as they are forked.
    pub id: ThreadId,
    /// What it does.
    pub site: Site,
    /// What is left to do of that.
    pub kind: NextKind,
    /// How it goes on, if there are several ways.
    pub choice: Choice,
    /// The value that the outside gives.
    pub input: Option<u64>,
    /// Who ends with it: the thread itself, or one that it forks and that does nothing more.
    pub ended: Vec<ThreadId>,
    /// Whether it ends the life of a block of the heap.
    pub frees: bool,
}

/// The schedule did not do what it should: a bug of ours.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Diverged {
    /// A step of the schedule is not possible.
    #[error("step {0} of the schedule is not possible")]
    Step(usize),
    /// All steps were possible, but nothing is wrong at the end.
    #[error("nothing is wrong behind the schedule")]
    NothingWrong,
}

/// The state that shows a violation: which steps of the schedule lead to it.
pub(crate) struct Moment {
    pub(crate) what: Violation,
    /// The schedule ends in front of this node.
    until: Option<NodeId>,
    /// Threads that then go on up to so many of their listed steps, one after the other. Who enters
    /// an atomic section is the last.
    limits: Vec<(usize, usize)>,
    /// Waits that go on.
    open: Vec<usize>,
    /// Which signal wakes which wait; no other signal wakes any.
    wakes: Vec<(usize, usize)>,
}

impl Moment {
    pub(crate) fn of_check(check: &Check) -> Moment {
        let Check { what, thread, steps, section, wait, .. } = check;
        let (limits, open) = (vec![(*thread, *steps)], wait.iter().copied().collect());
        Moment { what: what.clone(), until: *section, limits, open, wakes: Vec::new() }
    }

    pub(crate) fn of_race(skeleton: &Skeleton, race: &Race) -> Moment {
        let [a, b] = [race.first, race.second].map(|at| &skeleton.accesses[at]);
        let limit = |access: &Access| (skeleton.nodes[access.node.index()], access.steps);
        // The node of the moment is behind all others.
        let moment = NodeId(skeleton.nodes.len() as u32);
        let until = if race.is_led { a.node } else { moment };
        let limits = vec![limit(b), limit(a)];
        let (open, wakes) = (Vec::new(), Vec::new());
        Moment { what: race.violation(skeleton), until: Some(until), limits, open, wakes }
    }

    pub(crate) fn of_stuck(skeleton: &Skeleton, state: &StuckState) -> Moment {
        let threads = skeleton.threads.iter().enumerate();
        let limits = threads.map(|(number, thread)| (number, thread.steps.len())).collect();
        let (open, wakes) = (state.open.clone(), state.wakes.clone());
        Moment { what: state.violation(), until: None, limits, open, wakes }
    }
}

/// Runs the schedule of a model.
pub(crate) fn confirm(
    program: &Program,
    skeleton: &Skeleton,
    values: &[u64],
    schedule: &[NodeId],
    moment: &Moment,
) -> Result<Bug, Diverged> {
    let input = Cell::new(0);
    let machine = Machine::new(program).with_spurious_wakeups().with_inputs(|_| vec![input.get()]);
    let mut runner = Runner {
        machine: &machine,
        input: &input,
        state: machine.start().0,
        ids: (0..skeleton.threads.len()).map(|_| None).collect(),
        steps: Vec::new(),
        values,
        waits: &skeleton.ending.waits,
        moment,
    };
    for thread in 0..program.threads.len() {
        runner.ids[thread] = Some(ThreadId::from(thread));
    }
    let executed: Vec<Vec<Step>> = (0..skeleton.threads.len())
        .map(|thread| {
            let steps = &skeleton.threads[thread].steps;
            let limit = moment.limits.iter().find(|(limited, _)| *limited == thread);
            let end = limit.map_or(steps.len(), |&(_, end)| end);
            let happens = |step: &&Step| values[step.guard.index()] == 1;
            steps[..end].iter().filter(happens).copied().collect()
        })
        .collect();
    let mut done = vec![0; executed.len()];
    let ends = |node: NodeId| skeleton.sections.iter().filter(move |(at, _)| *at == node);
    let is_open = |node: NodeId| {
        ends(node).next().is_some() && ends(node).all(|(_, ends)| values[ends.index()] == 0)
    };
    for &node in schedule {
        if Some(node) == moment.until {
            break;
        }
        let Some(&thread) = skeleton.nodes.get(node.index()) else { continue };
        let last = executed[thread].iter().rposition(|step| step.node == Some(node));
        let Some(last) = last else { continue };
        // A section that is not completed is not begun; nobody can see that.
        if is_open(node) {
            continue;
        }
        while done[thread] <= last {
            let step = executed[thread][done[thread]];
            // What the child does on its own up to its end has no place in the schedule.
            if let How::Join(child) = step.how {
                while done[child] < executed[child].len() {
                    runner.take(child, executed[child][done[child]])?;
                    done[child] += 1;
                }
            }
            runner.take(thread, step)?;
            done[thread] += 1;
        }
    }
    for &(thread, _) in &moment.limits {
        while done[thread] < executed[thread].len() {
            runner.take(thread, executed[thread][done[thread]])?;
            done[thread] += 1;
        }
    }
    if !violations(&machine, &runner.state).contains(&moment.what) {
        return Err(Diverged::NothingWrong);
    }
    Ok(bug_at(&machine, &runner.state, moment.what.clone(), runner.steps))
}

/// The bug that a state shows, behind these steps.
pub(crate) fn bug_at(
    machine: &Machine,
    state: &State,
    violation: Violation,
    steps: Vec<BugStep>,
) -> Bug {
    let running = state.thread_ids().filter(|&thread| state.status(thread) != Status::Finished);
    let stand = running.map(|thread| Stand {
        thread,
        site: state.site(thread),
        is_stopped: matches!(state.status(thread), Status::Stopped(_)),
    });
    let stand: Vec<Stand> = stand.collect();
    let access = stand.iter().find_map(|stand| machine.bad_access(state, stand.thread));
    Bug { violation, steps, stand, access }
}

/// Takes a step and says what it was; `None`, and nothing changes, if it is not possible.
pub(crate) fn take_step(machine: &Machine, state: &mut State, chosen: Move) -> Option<BugStep> {
    let Move { thread: id, choice } = chosen;
    let next = machine.next(state, id)?;
    let input = if let Choice::Input(value) = choice { Some(value) } else { None };
    let thread = state.thread_name(id).to_string();
    let (site, kind) = (next.site, next.kind);
    let events = machine.step(state, chosen)?;
    let ends = events.iter().filter(|event| event.action == Action::End);
    let ended = ends.map(|event| event.thread).collect();
    let is_free = |event: &Event| matches!(event.action, Action::Free { .. });
    let frees = events.iter().any(|event| is_free(event) && event.site == site);
    Some(BugStep { thread, id, site, kind, choice, input, ended, frees })
}

struct Runner<'m, 'p> {
    machine: &'m Machine<'p>,
    input: &'m Cell<u64>,
    state: State,
    /// The interpreter's names of threads.
    ids: Vec<Option<ThreadId>>,
    steps: Vec<BugStep>,
    values: &'m [u64],
    waits: &'m [Wait],
    moment: &'m Moment,
}

impl Runner<'_, '_> {
    /// Whether a wait does not end by itself.
    fn goes_on(&self, wait: usize) -> bool {
        let Moment { open, wakes, .. } = self.moment;
        open.contains(&wait) || wakes.iter().any(|&(_, woken)| woken == wait)
    }

    /// Whom a signal wakes.
    fn signalled(&self, signal: usize) -> Choice {
        let wait = self.moment.wakes.iter().find(|(by, _)| *by == signal);
        let woken = wait.and_then(|&(_, wait)| self.ids[self.waits[wait].thread]);
        woken.map_or(Choice::Only, Choice::Wakes)
    }

    fn take(&mut self, thread: usize, step: Step) -> Result<(), Diverged> {
        let number = self.steps.len();
        let thread = self.ids[thread].ok_or(Diverged::Step(number))?;
        let value = |term: crate::terms::Term| self.values[term.index()];
        let (choice, then) = match step.how {
            How::Plain | How::Fork(_) | How::Join(_) => (Choice::Only, None),
            How::Input(term) => {
                self.input.set(value(term));
                (Choice::Input(value(term)), None)
            }
            How::Attempt(gets) if value(gets) == 0 => (Choice::GivesUp, None),
            How::Attempt(_) => (Choice::Only, None),
            How::Wait(_, Some(wait)) if self.goes_on(wait) => (Choice::Only, None),
            How::Wait(woken, _) if value(woken) == 0 => (Choice::Only, Some(Choice::Expires)),
            How::Wait(..) => (Choice::Only, Some(Choice::Spurious)),
            How::Signal(signal) => (self.signalled(signal), None),
        };
        if let How::Fork(child) = step.how {
            self.ids[child] = Some(ThreadId::from(self.state.thread_ids().len()));
        }
        let taken = take_step(self.machine, &mut self.state, Move { thread, choice });
        self.steps.push(taken.ok_or(Diverged::Step(number))?);
        if let Some(then) = then {
            // A wait that is a lock error has not begun.
            let _ = self.machine.step(&mut self.state, Move { thread, choice: then });
        }
        Ok(())
    }
}
