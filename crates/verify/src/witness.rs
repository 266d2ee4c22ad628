//! From a model to a schedule that the interpreter confirms.
//!
//! **Computes.** The steps of all threads in the order of the model, and whether the interpreter
//! shows the violation behind them. It shares nothing with unfolding and composing but the program.

use std::cell::Cell;

use foretrace_program::explore::violations;
use foretrace_program::run::{Choice, Move, State};
use foretrace_program::{Machine, Program, Violation};
use foretrace_trace::ThreadId;

use crate::skeleton::{Check, How, NodeId, Skeleton, Step};

/// A violation, and how it comes about.
#[derive(Clone, Debug)]
pub struct Bug {
    /// What goes wrong.
    pub violation: Violation,
    /// The steps that lead to it, in order.
    pub steps: Vec<BugStep>,
}

/// One step of a schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BugStep {
    /// The name of the thread.
    pub thread: String,
    /// What it does.
    pub site: foretrace_program::Site,
    /// The value that the outside gives.
    pub input: Option<u64>,
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

/// Runs the schedule of a model.
pub(crate) fn confirm(
    program: &Program,
    skeleton: &Skeleton,
    values: &[u64],
    schedule: &[NodeId],
    check: &Check,
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
    };
    for thread in 0..program.threads.len() {
        runner.ids[thread] = Some(ThreadId::from(thread));
    }
    let executed: Vec<Vec<Step>> = (0..skeleton.threads.len())
        .map(|thread| {
            let steps = &skeleton.threads[thread].steps;
            let end = if thread == check.thread { check.steps } else { steps.len() };
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
        let thread = skeleton.nodes[node.index()];
        let last = executed[thread].iter().rposition(|step| step.node == Some(node));
        let Some(last) = last else { continue };
        // A section that is not completed is not begun; nobody can see that.
        if Some(node) != check.section && is_open(node) {
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
        if Some(node) == check.section {
            break;
        }
    }
    while done[check.thread] < executed[check.thread].len() {
        runner.take(check.thread, executed[check.thread][done[check.thread]])?;
        done[check.thread] += 1;
    }
    if !violations(&machine, &runner.state).contains(&check.what) {
        return Err(Diverged::NothingWrong);
    }
    Ok(Bug { violation: check.what.clone(), steps: runner.steps })
}

struct Runner<'m, 'p> {
    machine: &'m Machine<'p>,
    input: &'m Cell<u64>,
    state: State,
    /// The interpreter's names of threads.
    ids: Vec<Option<ThreadId>>,
    steps: Vec<BugStep>,
    values: &'m [u64],
}

impl Runner<'_, '_> {
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
            How::Wait(woken) if value(woken) == 0 => (Choice::Only, Some(Choice::Expires)),
            How::Wait(_) => (Choice::Only, Some(Choice::Spurious)),
        };
        if let How::Fork(child) = step.how {
            self.ids[child] = Some(ThreadId::from(self.state.thread_ids().len()));
        }
        let next = self.machine.next(&self.state, thread).ok_or(Diverged::Step(number))?;
        let input = if let Choice::Input(value) = choice { Some(value) } else { None };
        let name = self.state.thread_name(thread).to_string();
        self.steps.push(BugStep { thread: name, site: next.site, input });
        let step = |state: &mut State, choice| self.machine.step(state, Move { thread, choice });
        step(&mut self.state, choice).ok_or(Diverged::Step(number))?;
        if let Some(then) = then {
            // A wait that is a lock error has not begun.
            let _ = step(&mut self.state, then);
        }
        Ok(())
    }
}
