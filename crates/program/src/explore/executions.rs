//! All executions of a small program, one by one.
//!
//! **Cost.** Time per execution is linear in its steps; there are exponentially many. Nothing is
//! remembered but the way to the current one.

use crate::run::{Event, Machine, Move, State};

/// An execution after which nothing more can happen.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The steps from the start.
    pub steps: Vec<Move>,
    /// What happened.
    pub events: Vec<Event>,
    /// Where it ended.
    pub state: State,
}

/// Iterates over all executions, in the order of [`Machine::moves`].
pub struct Executions<'m, 'p> {
    machine: &'m Machine<'p>,
    /// The states on the current way, each with the steps that are still to be tried from it, the
    /// next one last.
    way: Vec<Point>,
    steps: Vec<Move>,
    events: Vec<Event>,
    /// Whether the last state of the way was not visited before.
    is_new: bool,
}

struct Point {
    state: State,
    left: Vec<Move>,
    /// How many events had happened before the step to this state.
    events_before: usize,
}

/// All executions of a program without endless ones. Each step counts: two executions differ if
/// they take different steps, even if they mean the same.
pub fn executions<'m, 'p>(machine: &'m Machine<'p>) -> Executions<'m, 'p> {
    let (state, events) = machine.start();
    let left = machine.moves(&state).into_iter().rev().collect();
    let way = vec![Point { state, left, events_before: 0 }];
    Executions { machine, way, steps: Vec::new(), events, is_new: true }
}

impl Executions<'_, '_> {
    /// Goes back one step.
    fn back(&mut self) {
        self.is_new = false;
        if let Some(point) = self.way.pop() {
            self.events.truncate(point.events_before);
            self.steps.pop();
        }
    }
}

impl Iterator for Executions<'_, '_> {
    type Item = Execution;

    fn next(&mut self) -> Option<Execution> {
        loop {
            let point = self.way.last_mut()?;
            match point.left.pop() {
                Some(chosen) => {
                    let mut state = point.state.clone();
                    let events_before = self.events.len();
                    self.events.extend(self.machine.step(&mut state, chosen)?);
                    self.steps.push(chosen);
                    let left = self.machine.moves(&state).into_iter().rev().collect();
                    self.way.push(Point { state, left, events_before });
                    self.is_new = true;
                }
                None if self.is_new => {
                    let (steps, events) = (self.steps.clone(), self.events.clone());
                    let execution = Execution { steps, events, state: point.state.clone() };
                    self.back();
                    return Some(execution);
                }
                None => self.back(),
            }
        }
    }
}
