//! A concrete interpreter in small steps.
//!
//! **Computes.** What a program may do next, and what happens then. A step is one visible operation
//! of one thread, with all that the thread then does on its own: between two visible operations
//! nothing of a thread can be seen or disturbed by others, so no interleaving is lost. What is left
//! open is the choice of the step: which thread, whom a signal wakes, which value an input has,
//! whether a timed operation gives up.
//!
//! **Follows.** `docs/program-form.md`, and `docs/theory.md` sections 3 and 4 for what operations
//! do and when they are enabled; a program has no recorded roles, so they are decided by the state.
//! [`record`] writes a run down as a trace.
//!
//! **Invariant.** The program is [valid](crate::validate::validate). Every thread that runs is
//! before a visible operation, or in the middle of a wait. Memory is sequentially consistent.
//!
//! | file | what it does |
//! | --- | --- |
//! | `state` | what there is at one moment |
//! | `memory` | objects, addresses, bytes |
//! | `locals` | what a thread does on its own |
//! | `moves` | which steps are possible; at which operation a thread is |
//! | `step` | what a step does: memory, threads, calls to the outside |
//! | `sync` | what a step does: locks, condition variables, semaphores, barriers |
//! | `record` | events as a trace |

mod locals;
mod memory;
mod moves;
mod record;
mod state;
mod step;
mod sync;
#[cfg(test)]
mod tests;

use foretrace_trace::ThreadId;
use rustc_hash::FxHashSet;

use crate::ir::*;

pub use foretrace_trace::Op as Action;
pub use moves::{BadAccess, Next, NextKind};
pub use record::record;
pub use state::{LockError, State, Status, Stop, Undefined, Why};

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// What, as a trace has it.
    pub action: Action,
    /// By which instruction. The begin of a thread has the first one, its end the last return.
    pub site: Site,
}

/// A step that is possible.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// Who goes on.
    pub thread: ThreadId,
    /// And how, if there are several ways.
    pub choice: Choice,
}

/// How a thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Choice {
    /// There is only one way.
    Only,
    /// Its signal wakes this thread.
    Wakes(ThreadId),
    /// The operation does not wait any longer, and fails.
    GivesUp,
    /// The time of its wait is up: no signal reaches it any more. (It still has to get its lock.)
    Expires,
    /// The outside gives this value.
    Input(u64),
    /// Its wait ends although nobody has notified it. (It still has to get its lock.)
    Spurious,
}

/// What a program asks of the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input<'a> {
    /// The name of the thread.
    pub thread: &'a str,
    /// How many values the thread was given before.
    pub ordinal: u32,
    /// What is called.
    pub name: &'a str,
    /// With which arguments.
    pub args: &'a [u64],
    /// How wide the value is.
    pub width: u8,
}

/// The values that the outside may give.
type Inputs<'p> = Box<dyn Fn(&Input) -> Vec<u64> + 'p>;

/// Runs a program.
pub struct Machine<'p> {
    program: &'p Program,
    inputs: Inputs<'p>,
    /// The slots of each function that nobody else can reach.
    private: Vec<FxHashSet<RegisterId>>,
    /// Whether waits may end although nobody has notified them.
    spurious: bool,
}

impl<'p> Machine<'p> {
    /// Runs a valid program; every input is 0.
    pub fn new(program: &'p Program) -> Self {
        let private = program.functions.iter().map(Function::private_slots).collect();
        Machine { program, inputs: Box::new(|_| vec![0]), private, spurious: false }
    }

    /// The same with spurious wake-ups: a wait may end at any moment.
    pub fn with_spurious_wakeups(mut self) -> Self {
        self.spurious = true;
        self
    }

    /// The same with inputs that have one of the values that `inputs` gives; 0 if it gives none. It
    /// must give the same values for the same question.
    pub fn with_inputs(mut self, inputs: impl Fn(&Input) -> Vec<u64> + 'p) -> Self {
        self.inputs = Box::new(inputs);
        self
    }

    /// The program that is run.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// The start, and what the threads do on their own before their first visible operations.
    pub fn start(&self) -> (State, Vec<Event>) {
        let mut state = State::new(self.program);
        let mut events = Vec::new();
        for thread in &self.program.threads {
            self.spawn(&mut state, thread.name.clone(), thread.function, &thread.args, &mut events);
        }
        (state, events)
    }

    /// Takes a step and says what happened. `None`, and nothing changes, if the step is not
    /// possible.
    pub fn step(&self, state: &mut State, chosen: Move) -> Option<Vec<Event>> {
        if !self.moves_of(state, chosen.thread).contains(&chosen) {
            return None;
        }
        let mut events = Vec::new();
        self.take(state, chosen, &mut events);
        Some(events)
    }

    /// Steps until nothing is possible any more; `choose` picks one of the possible steps by its
    /// index.
    pub fn run(&self, mut choose: impl FnMut(&[Move]) -> usize) -> (State, Vec<Event>) {
        let (mut state, mut events) = self.start();
        loop {
            let moves = self.moves(&state);
            if moves.is_empty() {
                return (state, events);
            }
            let chosen = moves[choose(&moves) % moves.len()];
            self.take(&mut state, chosen, &mut events);
        }
    }
}
