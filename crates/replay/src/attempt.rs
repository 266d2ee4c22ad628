//! Plans for the bugs of verified programs.
//!
//! **Computes.** The steps that make records, the inputs that threads ask for, and what is to be
//! seen then; and what came of it, in words. A bug that cannot be shown this way stays one that the
//! interpreter has checked, with the reason. If there is no reason and it is not shown all the
//! same, one of the two is wrong about the program, and nothing is claimed.

use foretrace_lift::{Lifted, is_input};
use foretrace_program::run::{BadAccess, NextKind, Undefined};
use foretrace_program::text::describe;
use foretrace_program::{BinaryOp, Op, Operand, Program, Site, Violation};
use foretrace_recording::record::kind;
use foretrace_trace::{MemoryOrder, place_hash};
use foretrace_verify::{Bug, Stand};

use crate::program::{Aim, ProgramStep};
use crate::{Outcome, Plan};

/// How many arguments a program is started with at most.
const MOST_ARGUMENTS: u64 = 64;

/// What is tried to show a bug.
#[derive(Debug)]
pub struct Attempt {
    /// What the runtime forces.
    pub plan: Plan,
    /// The value of `argc`.
    pub arguments: u64,
    /// Why it may not work although the bug is real.
    pub doubt: Option<String>,
}

impl Attempt {
    /// The attempt to show a bug of a program; the reason, if that is not possible.
    pub fn new(lifted: &Lifted, bug: &Bug) -> Result<Attempt, String> {
        let mut made = Made {
            lifted,
            threads: vec![(u32::MAX, 0)],
            children: vec![0],
            values: Vec::new(),
            arguments: 1,
            doubt: None,
        };
        let mut steps = Vec::new();
        let mistakes: Vec<usize> =
            bug.stand.iter().filter_map(|stand| mistake(bug, stand)).collect();
        for (number, step) in bug.steps.iter().enumerate() {
            let thread = step.id.0;
            let op = lifted.program.instruction(step.site).map(|instruction| &instruction.op);
            match op {
                Some(Op::Fork { .. }) => made.forks(thread),
                Some(Op::External { name, .. }) => made.gives(name, thread, step.input)?,
                _ => (),
            }
            if lifted.models.contains(&step.site.function) {
                made.doubt("the interpreter has only a model of a library function that it calls");
            }
            if mistakes.contains(&number) {
                continue;
            }
            let number = number as u32;
            let is_record = step.frees || !matches!(op, Some(Op::Free { .. }));
            steps.extend(made.step(thread, step.site, step.kind, number).filter(|_| is_record));
            // Whoever joins them waits until they have come to their ends.
            let ended = step.ended.iter().filter(|thread| thread.0 != 0);
            steps.extend(ended.map(|thread| ProgramStep {
                thread: thread.0,
                kind: kind::END,
                place: 0,
                number,
            }));
        }
        let aim = made.aim(bug)?;
        let Made { threads, values, arguments, doubt, .. } = made;
        Ok(Attempt { plan: Plan::of_program(threads, &steps, aim, values), arguments, doubt })
    }

    /// What came of it, in words.
    pub fn told(program: &Program, bug: &Bug, outcome: &Outcome) -> String {
        let step = |number: u32| match bug.steps.get(number as usize) {
            Some(step) => describe(program, step.site),
            None => "the end".to_string(),
        };
        match outcome {
            Outcome::Confirmed => "it was there".to_string(),
            Outcome::NotReached => "all steps were done, but nothing went wrong".to_string(),
            Outcome::Diverged { event, seen, .. } => {
                let seen = seen.as_ref().map_or("has ended".to_string(), |seen| {
                    let place = seen.place.as_deref().unwrap_or("an unknown place");
                    format!("is at {} at {place}", seen.what)
                });
                format!("at step {} ({}), the thread {seen}", event + 1, step(*event))
            }
            Outcome::OtherCall { call, why, .. } => format!("{call}: {why}"),
            Outcome::Ended { steps } => format!("the program ended after {steps} steps"),
        }
    }
}

/// The step that stopped a thread, if it was an operation: the compiled program is led up to it.
fn mistake(bug: &Bug, stand: &Stand) -> Option<usize> {
    let last = bug.steps.iter().rposition(|step| step.id == stand.thread)?;
    (stand.is_stopped && bug.steps[last].site == stand.site).then_some(last)
}

/// A plan while it is made.
struct Made<'a> {
    lifted: &'a Lifted,
    threads: Vec<(u32, u32)>,
    /// How many threads each has forked.
    children: Vec<u32>,
    values: Vec<(u32, u64)>,
    arguments: u64,
    doubt: Option<String>,
}

impl Made<'_> {
    /// The interpreter numbers threads as they are forked.
    fn forks(&mut self, parent: u32) {
        self.threads.push((parent, self.children[parent as usize]));
        self.children[parent as usize] += 1;
        self.children.push(0);
    }

    /// The outside gives a value.
    fn gives(&mut self, name: &str, thread: u32, value: Option<u64>) -> Result<(), String> {
        let Some(value) = value else { return Ok(()) };
        match name {
            "argc" if value <= MOST_ARGUMENTS => self.arguments = value,
            "argc" => return Err(format!("it needs {value} arguments")),
            _ if is_input(name) => self.values.push((thread, value)),
            "argv" | "envp" => self.doubt("it may depend on what the arguments are"),
            _ => self.doubt("it needs a value that the program itself does not determine"),
        }
        Ok(())
    }

    fn doubt(&mut self, why: &str) {
        self.doubt.get_or_insert_with(|| why.to_string());
    }

    fn place(&self, site: Site) -> u64 {
        self.lifted.program.location(site).map_or(0, place_hash)
    }

    /// The step, if it makes a record.
    fn step(&self, thread: u32, site: Site, next: NextKind, number: u32) -> Option<ProgramStep> {
        let op = &self.lifted.program.instruction(site)?.op;
        let is_access = op.access().is_some();
        let is_modelled = self.lifted.models.contains(&site.function);
        let is_initialising = self.lifted.program.function(site.function).name.contains("_init");
        let is_inside = is_modelled && (is_access || is_initialising);
        if self.lifted.silent.contains(&site) || is_inside {
            return None;
        }
        let kind = kind_of(op, next)?;
        Some(ProgramStep { thread, kind, place: self.place(site), number })
    }

    /// What is to be seen behind the steps.
    fn aim(&mut self, bug: &Bug) -> Result<Aim, String> {
        // The thread that took the last step, if several stand there.
        let last = bug.steps.last().map(|step| step.id);
        let who = |site: Site, other_than: Option<u32>| {
            let is_there =
                |stand: &&Stand| stand.site == site && Some(stand.thread.0) != other_than;
            let mut there = bug.stand.iter().filter(is_there);
            let found = there.clone().find(|stand| Some(stand.thread) == last).or(there.next());
            found.map(|stand| stand.thread.0).ok_or("no thread is there".to_string())
        };
        let number = bug.steps.len() as u32;
        let at = |made: &Self, thread: u32, site: Site| {
            let step = made.step(thread, site, NextKind::Other, number);
            step.ok_or("the compiled program does not report this operation".to_string())
        };
        Ok(match &bug.violation {
            Violation::Assertion(site) => {
                let place = self.failure(*site)?;
                if self.lifted.implicit.contains(site) {
                    self.doubt("the compiled program need not divide where nobody uses the result");
                }
                Aim::Failure { thread: who(*site, None)?, place }
            }
            Violation::Race(first, second) => {
                let one = who(*first, None)?;
                let other = who(*second, Some(one))?;
                Aim::Race(at(self, one, *first)?, at(self, other, *second)?)
            }
            Violation::LockError(_, site) => Aim::LockError(at(self, who(*site, None)?, *site)?),
            Violation::Deadlock(sites) if sites.len() < bug.stand.len() => {
                let why = "the compiled program lets others go on while a thread is in a section";
                return Err(why.to_string());
            }
            Violation::Deadlock(_) => Aim::Stuck,
            Violation::Undefined(Undefined::BadAddress, site) => {
                let step = at(self, who(*site, None)?, *site)?;
                match bug.access {
                    Some(BadAccess::Null) => Aim::Null(step),
                    Some(BadAccess::Freed) => Aim::Freed(step),
                    Some(BadAccess::Outside(size)) => {
                        self.doubt("other memory of the same size may lie there");
                        Aim::Outside(step, size.into())
                    }
                    _ => return Err("what lies there is not known".to_string()),
                }
            }
            Violation::Undefined(Undefined::BadFree, site) => {
                self.doubt("the C library does not notice it");
                Aim::Failure { thread: who(*site, None)?, place: self.place(*site) }
            }
            Violation::Undefined(what, _) => {
                return Err(format!("the compiled program does not fail where {what}"));
            }
        })
    }

    /// Where the compiled program fails if an assertion does; 0 if that is not a call.
    fn failure(&self, site: Site) -> Result<u64, String> {
        if self.lifted.overflows.contains(&site) && !self.lifted.implicit.contains(&site) {
            return Err("the compiled program goes on behind a signed overflow".to_string());
        }
        let program = &self.lifted.program;
        let op = |index: u32| program.instruction(Site { index, ..site }).map(|found| &found.op);
        if let Some(Op::Assert { condition: Operand::Constant(_) }) = op(site.index) {
            return match program.location(site) {
                Some(_) => Ok(self.place(site)),
                None => Err("the compiled program goes on behind the error function".to_string()),
            };
        }
        match op(site.index + 1) {
            Some(Op::Binary { op: BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr, .. }) => {
                Err("the processor does not fail at such a shift".to_string())
            }
            _ => Ok(0),
        }
    }
}

/// The record that an operation makes.
fn kind_of(op: &Op, next: NextKind) -> Option<u8> {
    let is_plain = |order: &MemoryOrder| *order == MemoryOrder::Plain;
    Some(match (next, op) {
        (NextKind::Wake, _) => kind::WAKE,
        (NextKind::Leave, _) => kind::LEAVE,
        (_, Op::Load { order, .. }) if is_plain(order) => kind::LOAD,
        (_, Op::Load { .. }) => kind::ATOMIC_LOAD,
        (_, Op::Store { order, .. }) if is_plain(order) => kind::STORE,
        (_, Op::Store { .. }) => kind::ATOMIC_STORE,
        (_, Op::Rmw { .. } | Op::CompareExchange { .. }) => kind::RMW,
        (_, Op::Acquire { .. }) => kind::ACQUIRE,
        (_, Op::Release { .. }) => kind::RELEASE,
        (_, Op::Wait { .. }) => kind::WAIT,
        (_, Op::Signal { .. }) => kind::SIGNAL,
        (_, Op::Broadcast { .. }) => kind::BROADCAST,
        (_, Op::SemWait { .. }) => kind::SEM_WAIT,
        (_, Op::SemPost { .. }) => kind::SEM_POST,
        (_, Op::Fork { .. }) => kind::FORK,
        (_, Op::Join { .. }) => kind::JOIN,
        (_, Op::Free { .. }) => kind::FREE,
        (_, Op::Barrier { .. }) => kind::ARRIVE,
        _ => return None,
    })
}
