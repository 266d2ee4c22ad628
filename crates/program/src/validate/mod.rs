//! Whether a program is well formed; whether it is free of loops and recursion.
//!
//! **Computes.** The first thing that is wrong with a program, with its place. What [`validate`]
//! accepts can be printed, run and explored without a panic; being free of loops and recursion is
//! asked for separately, by [`check_bounded`].
//!
//! | file | what it checks |
//! | --- | --- |
//! | `mod` | declarations |
//! | `function` | blocks, jumps, definitions before uses |
//! | `widths` | operands and results of single instructions |
//!
//! **Cost.** Nearly linear; dominators and call graph aside.

mod function;
#[cfg(test)]
mod tests;
mod widths;

use rustc_hash::FxHashSet;

use crate::ir::*;

/// What is wrong with a program, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {broken}")]
#[non_exhaustive]
pub struct Invalid {
    /// The declaration, function or instruction, in words.
    pub place: String,
    /// The instruction, if one is to blame.
    pub site: Option<Site>,
    /// The rule that is broken.
    pub broken: Broken,
}

/// A rule that is broken. The fields are named after what they are.
#[allow(missing_docs)]
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    #[error("the name is declared twice")]
    DuplicateName,
    #[error("{0}")]
    Declaration(&'static str),
    #[error("{what} {index} does not exist")]
    UnknownId { what: &'static str, index: usize },
    #[error("a function has at least one block")]
    NoBlocks,
    #[error("the first block has no parameters, and nothing jumps to it")]
    Entry,
    #[error("{register} is defined {count} times, not once")]
    Definitions { register: String, count: usize },
    #[error("{register} is not defined on every way to this use")]
    UndefinedUse { register: String },
    #[error("a register has 1 to 64 bits, not {0}")]
    RegisterWidth(u8),
    #[error("{found} arguments for {expected} parameters")]
    ArgumentCount { expected: usize, found: usize },
    #[error("an operand has {found} bits, not {expected}")]
    OperandWidth { expected: u8, found: u8 },
    #[error("the result has {found} bits, not {expected}")]
    ResultWidth { expected: u8, found: u8 },
    #[error("the instruction gives a value, which needs a register")]
    ResultMissing,
    #[error("the instruction gives no value for a register")]
    ResultUnexpected,
    #[error("a function returns a value if it has a result, and only then")]
    Return,
    #[error("a number does not fit in {0} bits")]
    Constant(u8),
    #[error("an extension has more bits than its operand, a truncation fewer")]
    Cast,
    #[error("an access has 1 to 8 bytes, not {0}")]
    AccessSize(u8),
    #[error("a slot has at least one byte, and at most 2^30")]
    SlotSize,
    #[error("a fence has an order")]
    FenceOrder,
    #[error("a barrier at an address needs a number of parties, a declared one has its own")]
    Parties,
    #[error("two cases have the same number")]
    DuplicateCase,
    #[error("blocks jump in a circle: {0}")]
    Loop(String),
    #[error("functions call each other in a circle: {0}")]
    Recursion(String),
}

/// Checks that a program is well formed.
pub fn validate(program: &Program) -> Result<(), Invalid> {
    declarations(program)?;
    for function in program.function_ids() {
        function::check(program, function)?;
    }
    for thread in &program.threads {
        let place = || format!("thread `{}`", thread.name);
        let count = program.functions.len();
        if thread.function.index() >= count {
            let broken = Broken::UnknownId { what: "function", index: thread.function.index() };
            return Err(declaration(place(), broken));
        }
        let head = program.function(thread.function);
        if thread.args.len() != head.params.len() {
            let (expected, found) = (head.params.len(), thread.args.len());
            return Err(declaration(place(), Broken::ArgumentCount { expected, found }));
        }
        for (&value, &param) in thread.args.iter().zip(&head.params) {
            if !fits(value, head.width(param)) {
                return Err(declaration(place(), Broken::Constant(head.width(param))));
            }
        }
    }
    Ok(())
}

/// Checks that no function has a loop and none calls or forks itself, directly or through others.
/// Then every execution is finite.
pub fn check_bounded(program: &Program) -> Result<(), Invalid> {
    for id in program.function_ids() {
        let function = program.function(id);
        if let Some(blocks) = function.find_loop() {
            let label = |block: &BlockId| match &function.block(*block).label {
                Some(label) => label.clone(),
                None => format!("%{}", block.0),
            };
            let circle = blocks.iter().chain(blocks.first()).map(label).collect::<Vec<_>>();
            let place = format!("function `{}`", function.name);
            return Err(declaration(place, Broken::Loop(circle.join(" -> "))));
        }
    }
    if let Some(functions) = program.find_recursion() {
        let names = functions.iter().chain(functions.first());
        let circle: Vec<&str> = names.map(|&id| program.function(id).name.as_str()).collect();
        let place = format!("function `{}`", circle[0]);
        return Err(declaration(place, Broken::Recursion(circle.join(" -> "))));
    }
    Ok(())
}

fn declarations(program: &Program) -> Result<(), Invalid> {
    let addresses = program.globals.iter().map(|global| &global.name);
    unique("global or function", addresses.chain(program.functions.iter().map(|f| &f.name)))?;
    unique("lock", program.locks.iter().map(|lock| &lock.name))?;
    unique("condition variable", program.conds.iter())?;
    unique("semaphore", program.semaphores.iter().map(|semaphore| &semaphore.name))?;
    unique("barrier", program.barriers.iter().map(|barrier| &barrier.name))?;
    unique("thread", program.threads.iter().map(|thread| &thread.name))?;
    for global in &program.globals {
        let broken = |message| {
            declaration(format!("global `{}`", global.name), Broken::Declaration(message))
        };
        if global.size == 0 {
            return Err(broken("a variable has at least one byte"));
        }
        if global.initial.len() > global.size as usize || global.initial.last() == Some(&0) {
            return Err(broken("the initial bytes are too many, or the last one is zero"));
        }
    }
    for barrier in &program.barriers {
        if barrier.parties == 0 {
            let broken = Broken::Declaration("a barrier has at least one party");
            return Err(declaration(format!("barrier `{}`", barrier.name), broken));
        }
    }
    Ok(())
}

fn unique<'a>(kind: &str, names: impl Iterator<Item = &'a String>) -> Result<(), Invalid> {
    let mut seen = FxHashSet::default();
    for name in names {
        if !seen.insert(name) {
            return Err(declaration(format!("{kind} `{name}`"), Broken::DuplicateName));
        }
    }
    Ok(())
}

fn declaration(place: String, broken: Broken) -> Invalid {
    Invalid { place, site: None, broken }
}
