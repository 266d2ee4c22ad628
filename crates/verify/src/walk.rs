//! Random walks: many bugs need no proof, only a try.
//!
//! **Computes.** Executions of the interpreter, one after the other, until a state shows something
//! that is asked for. A walk answers nothing but "bug".
//!
//! **Follows.** Burckhardt et al., *A Randomized Scheduler with Probabilistic Guarantees of Finding
//! Bugs*, ASPLOS 2010: the thread with the highest priority goes on, and at a few random steps the
//! one that would go on becomes the last. Every fourth walk chooses anew at each step. Inputs are
//! small numbers, numbers of the program, and now and then any number.
//!
//! **Invariant.** Each state that a walk visits is one of an execution of the program. A thread
//! that comes to something that nobody knows the meaning of (undefined behaviour that is not asked
//! for, what is too large for the interpreter) stops in front of it: it may always be late. At a
//! call that is not modelled the walk ends.
//!
//! **Cost.** As many steps as are allowed, where a step counts as many times as there are threads:
//! each of them is looked at. The same program and options give the same walks.

use std::cell::Cell;

use foretrace_program::explore::violations;
use foretrace_program::ir::{Op, Operand};
use foretrace_program::run::{Choice, Event, Move, NextKind, State, Status, Undefined, Why};
use foretrace_program::{Machine, Program, Violation};
use foretrace_trace::ThreadId;
use foretrace_words::cut;

use crate::fault::{Fault, is_seeded};
use crate::unfold::UNKNOWN;
use crate::witness::{Bug, BugStep, bug_at, take_step};
use crate::{Limits, Options};

/// What all walks together may cost: before anything else, and each time that the solver gives up
/// for a while.
const AT_FIRST: u64 = 20_000;
const BETWEEN: u64 = 600_000;
/// One walk costs at most such a part of what is left: it may turn in a loop for ever.
const PART_OF_ONE: u64 = 3;
/// What is not worth another walk.
const TOO_LITTLE: u64 = 300;
/// What a loop without end costs that does nothing.
const ENDLESS: u64 = 100_000;
/// Of so many threads, most walks let all others go first before one of them starts another.
const FEW_THREADS: u64 = 12;
/// A thread that has made so many steps in a row lets others go first: it may wait for them.
const MOST_IN_A_ROW: u32 = 100;
/// The most numbers of the program that become inputs.
const MOST_NUMBERS: usize = 256;
/// A walk that has found nothing for so many steps looks at the clock.
const STEPS_PER_LOOK: u64 = 64;

/// What walks have found so far.
pub(crate) struct Walks<'p> {
    program: &'p Program,
    options: &'p Options,
    random: Random,
    numbers: Vec<u64>,
    walks: u64,
    /// How long the longest walk was, to choose where priorities change.
    longest: u64,
    /// One that is no race.
    bug: Option<Bug>,
    /// A race: other bugs say more, so walks go on.
    race: Option<Bug>,
}

impl<'p> Walks<'p> {
    pub(crate) fn new(program: &'p Program, options: &'p Options) -> Walks<'p> {
        let (random, numbers) = (Random(1), numbers(program));
        Walks { program, options, random, numbers, walks: 0, longest: 64, bug: None, race: None }
    }

    /// A few walks; whether nothing else needs to be found.
    pub(crate) fn look_round(&mut self, limits: &Limits) -> bool {
        self.go(AT_FIRST, limits);
        self.has_found_enough()
    }

    /// Many walks; whether nothing else needs to be found.
    pub(crate) fn find(&mut self, limits: &Limits) -> bool {
        self.go(BETWEEN, limits);
        self.has_found_enough()
    }

    /// Whether a race was met.
    pub(crate) fn has_race(&self) -> bool {
        self.race.is_some()
    }

    /// A bug that is no race, and a race, as far as they were met.
    pub(crate) fn found(self) -> (Option<Bug>, Option<Bug>) {
        (self.bug, self.race)
    }

    /// Whether there is a bug, and if it is a race, nothing else is asked for.
    fn has_found_enough(&self) -> bool {
        self.bug.is_some() || self.race.is_some() && self.options.asks_races_only()
    }

    fn go(&mut self, cost: u64, limits: &Limits) {
        let input = Cell::new(0);
        let machine =
            Machine::new(self.program).with_spurious_wakeups().with_inputs(|_| vec![input.get()]);
        let mut left = cost;
        while self.options.walks
            && left > TOO_LITTLE
            && !limits.is_over()
            && !self.has_found_enough()
        {
            self.walk(&machine, &input, &mut left, limits);
        }
    }

    fn walk(&mut self, machine: &Machine, input: &Cell<u64>, left: &mut u64, limits: &Limits) {
        self.walks += 1;
        let (mut state, mut events) = machine.start();
        let mut steps: Vec<BugStep> = Vec::new();
        let mut order = Order::new(&mut self.random, self.walks, self.longest);
        // Beginning costs something as well.
        let mut own = 8;
        while own < *left / PART_OF_ONE {
            for violation in violations(machine, &state) {
                if self.is_asked(&violation) {
                    let is_race = matches!(violation, Violation::Race(..));
                    let found = if is_race { &mut self.race } else { &mut self.bug };
                    found.get_or_insert_with(|| {
                        bug_at(machine, &state, &events, violation, steps.clone())
                    });
                }
            }
            if self.has_found_enough() {
                return;
            }
            let taken = steps.len() as u64;
            if taken.is_multiple_of(STEPS_PER_LOOK) && limits.is_over() {
                break;
            }
            own += state.thread_ids().len() as u64;
            let run = (self.program, machine);
            let Some(thread) = order.next(&mut self.random, run, &state, taken) else { break };
            let Some(chosen) = self.choose(machine, input, &state, thread) else { break };
            let Some(step) = take_step(machine, &mut state, chosen, &mut events) else {
                break;
            };
            let is_wait = step.kind == NextKind::Other && self.is_wait(&step);
            if taken != 3 || !is_seeded(Fault::WalkStepMissing) {
                steps.push(step);
            }
            if is_wait {
                self.end_wait(machine, &mut state, thread, &mut events);
            }
        }
        // A thread may turn for long without doing anything that others can notice.
        let is_endless = |thread: &ThreadId| match state.status(*thread) {
            Status::Stopped(stop) => stop.why == Why::Undefined(Undefined::NoEnd),
            _ => false,
        };
        own += ENDLESS * state.thread_ids().filter(is_endless).count() as u64;
        *left = left.saturating_sub(own);
        self.longest = self.longest.max(steps.len() as u64);
    }

    /// Whether a violation is asked for, and more than a limit of the interpreter.
    fn is_asked(&self, violation: &Violation) -> bool {
        use Undefined::{BadAddress, BadFree, Unreachable};
        let is_limit = match violation {
            Violation::Undefined(what, _) => !matches!(what, BadAddress | BadFree | Unreachable),
            _ => false,
        };
        !is_limit && self.options.asks(violation)
    }

    fn is_wait(&self, step: &BugStep) -> bool {
        let instruction = self.program.instruction(step.site);
        instruction.is_some_and(|instruction| matches!(instruction.op, Op::Wait { .. }))
    }

    /// A wait that has begun may end by itself: seldom without a reason, often if it has a limit.
    fn end_wait(
        &mut self,
        machine: &Machine,
        state: &mut State,
        thread: ThreadId,
        events: &mut Vec<Event>,
    ) {
        for chosen in machine.moves_of(state, thread) {
            let ends = match chosen.choice {
                Choice::Expires => self.random.below(3) == 0,
                Choice::Spurious => self.random.below(16) == 0,
                _ => false,
            };
            if ends {
                events.extend(machine.step(state, chosen).into_iter().flatten());
                return;
            }
        }
    }

    /// How a thread goes on; `None` if nobody knows.
    fn choose(
        &mut self,
        machine: &Machine,
        input: &Cell<u64>,
        state: &State,
        thread: ThreadId,
    ) -> Option<Move> {
        let site = state.site(thread);
        if let Some(Op::External { name, .. }) =
            self.program.instruction(site).map(|instruction| &instruction.op)
        {
            if name.starts_with(UNKNOWN) || (self.options.outside)(name) {
                return None;
            }
            input.set(self.input(name));
        }
        let moves = machine.moves_of(state, thread);
        let moves: Vec<Move> = moves.into_iter().filter(|chosen| !is_by_itself(chosen)).collect();
        moves.get(self.random.below(moves.len().max(1) as u64) as usize).copied()
    }

    fn input(&mut self, name: &str) -> u64 {
        let value = match self.random.below(8) {
            _ if name == "indeterminate" => return 0,
            0..3 => self.random.below(2),
            3..5 => self.random.below(10),
            5..7 if !self.numbers.is_empty() => {
                let number = self.numbers[self.random.below(self.numbers.len() as u64) as usize];
                number.wrapping_add(self.random.below(3)).wrapping_sub(1)
            }
            _ => self.random.next(),
        };
        if name.ends_with("_bool") { value & 1 } else { value }
    }
}

/// Whether a wait ends although nothing has happened; that is decided when it begins.
fn is_by_itself(chosen: &Move) -> bool {
    matches!(chosen.choice, Choice::Expires | Choice::Spurious)
}

fn is_at_fork(program: &Program, state: &State, thread: ThreadId) -> bool {
    let instruction = program.instruction(state.site(thread));
    instruction.is_some_and(|instruction| matches!(instruction.op, Op::Fork { .. }))
}

/// The numbers that instructions of a program have.
fn numbers(program: &Program) -> Vec<u64> {
    let functions = program.functions.iter();
    let instructions = functions.flat_map(|function| function.instructions());
    let operands = instructions.flat_map(|(_, _, instruction)| instruction.op.operands());
    let mut numbers: Vec<u64> = operands
        .filter_map(|operand| match operand {
            Operand::Constant(constant) => Some(cut(constant.value, constant.width)),
            _ => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.truncate(MOST_NUMBERS);
    numbers
}

/// Which thread goes on.
struct Order {
    /// Whether each step chooses anew.
    is_random: bool,
    /// Of each thread that was met; the highest goes first.
    priorities: Vec<u64>,
    /// The steps at which the one that would go on becomes the last, in any order.
    changes: Vec<u64>,
    /// Counts down, so that each thread that becomes the last is behind all others.
    lowest: u64,
    /// If there are so many threads, others go before one that is about to start another.
    most_threads: usize,
    /// Who made the last step, and how many in a row.
    last: Option<(ThreadId, u32)>,
}

/// Priorities at first are above this.
const FIRST: u64 = 1 << 32;

impl Order {
    fn new(random: &mut Random, walk: u64, length: u64) -> Order {
        let changes = (0..walk % 8).map(|_| random.below(length)).collect();
        let is_random = walk.is_multiple_of(4);
        let most_threads = match walk % 3 {
            0 => usize::MAX,
            _ => 2 + random.below(FEW_THREADS) as usize,
        };
        let priorities = Vec::new();
        Order { is_random, priorities, changes, lowest: FIRST, most_threads, last: None }
    }

    fn next(
        &mut self,
        random: &mut Random,
        (program, machine): (&Program, &Machine),
        state: &State,
        taken: u64,
    ) -> Option<ThreadId> {
        while self.priorities.len() < state.thread_ids().len() {
            self.priorities.push(FIRST + random.below(FIRST));
        }
        let can_go = |&thread: &ThreadId| {
            machine.moves_of(state, thread).iter().any(|chosen| !is_by_itself(chosen))
        };
        let mut threads: Vec<ThreadId> = state.thread_ids().filter(can_go).collect();
        if state.thread_ids().len() >= self.most_threads {
            let (forks, others): (Vec<_>, Vec<_>) =
                threads.iter().partition(|&&thread| is_at_fork(program, state, thread));
            threads = if others.is_empty() { forks } else { others };
        }
        if self.is_random {
            return threads.get(random.below(threads.len().max(1) as u64) as usize).copied();
        }
        let first = |order: &Order| {
            threads.iter().copied().max_by_key(|thread| order.priorities[thread.index()])
        };
        let mut thread = first(self)?;
        let in_a_row = self.last.map_or(0, |(last, count)| if last == thread { count } else { 0 });
        if self.changes.contains(&taken) || in_a_row >= MOST_IN_A_ROW {
            self.lowest -= 1;
            self.priorities[thread.index()] = self.lowest;
            thread = first(self)?;
        }
        let again = self.last.filter(|&(last, _)| last == thread).map_or(0, |(_, count)| count);
        self.last = Some((thread, again + 1));
        Some(thread)
    }
}

/// Numbers that look random and are the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One that is smaller than `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
