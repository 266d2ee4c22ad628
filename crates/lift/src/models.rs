//! Functions of the C library that are programs themselves (`models.ftp`).
//!
//! **Computes.** Those of them that the files call, as functions behind those of the files, with
//! the variables that they use.

use std::collections::BTreeSet;

use foretrace_image as image;
use foretrace_program::{
    Block, Callee, Function, FunctionId, Global, GlobalId, Instruction, Op, Operand, Terminator,
    TerminatorKind, parse,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::UNKNOWN;
use crate::known::common_name;
use crate::link::SINGLE_THREADED;

/// The largest copy or fill that becomes loads and stores.
pub(crate) const MOST_BYTES: u64 = 4096;

const MODELS: &str = include_str!("models.ftp");
/// What the runtime of the compiled program does not see.
const INSIDE: &str = concat!(include_str!("streams.ftp"), include_str!("futures.ftp"));

/// What does not need to know how the process is started.
const OF_MEMORY: [&str; 2] = ["realloc", "sscanf into places"];

/// Models that only programs with mutexes of other kinds use.
const KINDS: [&str; 7] = [
    "pthread_mutexattr_init",
    "pthread_mutexattr_settype",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_cond_wait",
];

/// What runs when the process ends; functions can ask for it.
pub(crate) const AT_EXIT: &str = "what runs at exit";
const ASK_FOR_EXIT: [&str; 2] = ["__cxa_atexit", "atexit"];

/// The variable that holds the address of the list of the environment's strings.
pub(crate) const ENVIRONMENT: &str = "environment";

/// Variables that hold what clocks show.
pub(crate) const CLOCKS: [&str; 4] = [
    "wall clock",
    "monotonic clock",
    "nanoseconds of the wall clock",
    "nanoseconds since some time",
];

/// Variables of a process that are known: the list of its files, its standard input (a stream), and
/// how many processors there are.
pub(crate) const FILES: &str = "given files";
pub(crate) const INPUT: &str = "standard input";
pub(crate) const PROCESSORS: &str = "number of processors";

/// What a function gives that does not fit into a register, and how many bytes that has.
pub(crate) const RESULT: &str = "value that is given";
pub(crate) const RESULT_BYTES: u64 = 16;

/// Reads a text, copies bytes, and gives bytes a value.
pub(crate) const READ: &str = "bytes are read";
/// New memory.
pub(crate) const FORGET: &str = "bytes are unknown";

/// A function of the library has set `errno`.
pub(crate) const SET_ERRNO: &str = "__errno_location behind a call";

/// All that runs when the process ends by `exit` or a return from `main`.
pub(crate) const AT_END: &str = "end of the process";

/// Whether a thread starts for the first time.
pub(crate) const STARTS: &str = "starts a thread";

/// Which models a program needs beside those that it calls.
#[derive(Clone, Copy)]
pub(crate) struct Uses {
    /// Whether mutexes may be of other kinds than the default one.
    pub(crate) has_kinds: bool,
    /// Whether it is known how the process is started: its environment and files.
    pub(crate) has_process: bool,
}

/// The models of the functions that are `called`, and their variables; `first` are the numbers
/// that the first of both get.
pub(crate) fn called(
    called: &FxHashSet<&str>,
    uses: Uses,
    first: (usize, usize),
) -> (Vec<Function>, Vec<Global>) {
    let (first_function, first_global) = first;
    let library = parse(&[MODELS, INSIDE].concat()).expect("the models are a program");
    let is_wanted = |name: &str| {
        if !OF_MEMORY.contains(&name) && !uses.has_process && is_inside(name) {
            return false;
        }
        if name == AT_EXIT {
            return ASK_FOR_EXIT.iter().any(|name| called.contains(name));
        }
        if name == STARTS {
            return called.contains(SINGLE_THREADED);
        }
        if [READ, FORGET].contains(&name) {
            return called.contains(name);
        }
        // Some have a word behind their name, since they are for some calls only.
        let name = name.split(' ').next().unwrap_or(name);
        let is_called = called.contains(name)
            || called.contains(format!("__ft_{name}").as_str())
            || called.iter().any(|&other| common_name(other) == name);
        is_called
            && (uses.has_kinds || !KINDS.contains(&name))
            && (uses.has_process || name != "getenv")
    };
    let functions = library.functions.iter().enumerate();
    let mut chosen: BTreeSet<usize> = functions
        .clone()
        .filter(|(_, function)| is_wanted(&function.name))
        .map(|(number, _)| number)
        .collect();
    // And what these call.
    let mut left: Vec<usize> = chosen.iter().copied().collect();
    while let Some(number) = left.pop() {
        let callees = library.callees(FunctionId::from(number));
        left.extend(callees.iter().map(|callee| callee.index()).filter(|&at| chosen.insert(at)));
    }
    let wanted: Vec<(usize, &Function)> =
        functions.filter(|(number, _)| chosen.contains(number)).collect();
    let places: FxHashMap<usize, usize> =
        wanted.iter().zip(first_function..).map(|((old, _), new)| (*old, new)).collect();
    let mut functions: Vec<Function> =
        wanted.into_iter().map(|(_, function)| function.clone()).collect();
    let mut globals = Vec::new();
    let mut numbers: FxHashMap<GlobalId, GlobalId> = FxHashMap::default();
    let mut number = |global: GlobalId| {
        *numbers.entry(global).or_insert_with(|| {
            globals.push(library.global(global).clone());
            GlobalId::from(first_global + globals.len() - 1)
        })
    };
    for function in &mut functions {
        for block in &mut function.blocks {
            for instruction in &mut block.instructions {
                match &mut instruction.op {
                    Op::Own { global } => *global = number(*global),
                    Op::Call { callee: Callee::Direct(callee), .. }
                    | Op::Fork { callee: Callee::Direct(callee), .. } => {
                        *callee = FunctionId::from(places[&callee.index()]);
                    }
                    _ => (),
                }
                for operand in instruction.op.operands_mut() {
                    if let Operand::Global { global, .. } = operand {
                        *global = number(*global);
                    }
                }
            }
            for operand in block.terminator.kind.operands_mut() {
                if let Operand::Global { global, .. } = operand {
                    *global = number(*global);
                }
            }
        }
    }
    (functions, globals)
}

/// The models that copies and fills of a function need.
pub(crate) fn loops(function: &image::Function) -> impl Iterator<Item = &'static str> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.filter_map(|instruction| match &instruction.op {
        image::Op::Copy { size, .. } if !is_short(*size) => Some("memmove"),
        image::Op::Fill { size, byte, .. }
            if !is_short(*size) || !matches!(byte, image::Operand::Constant(_)) =>
        {
            Some("memset")
        }
        _ => None,
    })
}

/// Whether a copy or fill of this size becomes loads and stores.
pub(crate) fn is_short(size: image::Operand) -> bool {
    matches!(size, image::Operand::Constant(0..=MOST_BYTES))
}

/// What stands at the address of a function of which nothing is known.
pub(crate) fn unknown(name: &str) -> Function {
    let op = Op::External { name: format!("{UNKNOWN}a call of {name}"), args: Vec::new() };
    let instructions = vec![Instruction { op, result: None, location: None }];
    let terminator = Terminator { kind: TerminatorKind::Exit, location: None };
    let block = Block { label: None, params: Vec::new(), instructions, terminator };
    let (params, registers) = (Vec::new(), Vec::new());
    let name = format!("{name} by address");
    Function { name, params, result: None, registers, blocks: vec![block] }
}

/// Functions whose steps are none of the compiled program: it makes other ones for what they do.
pub(crate) fn is_inside(name: &str) -> bool {
    INSIDE.contains(&format!("func {name}(")) || INSIDE.contains(&format!("func \"{name}\"("))
}

/// The models by name, if the first has this number.
pub(crate) fn numbered(functions: &[Function], first: usize) -> FxHashMap<String, FunctionId> {
    let numbers = (first..).map(FunctionId::from);
    functions.iter().map(|function| function.name.clone()).zip(numbers).collect()
}

/// Whether a variable may hold a mutex of another kind than the default one from the start.
pub(crate) fn may_hold_kind(bytes: &[u8]) -> bool {
    let word = |at: usize| {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.map_or(0, u32::from_le_bytes)
    };
    (16..bytes.len()).step_by(8).any(|at| {
        let is_kind = (1..=2).contains(&word(at));
        is_kind && at + 24 <= bytes.len() && bytes[at - 16..at].iter().all(|&byte| byte == 0)
    })
}

/// Whether a variable may hold a reader-writer lock that prefers writers from the start.
pub(crate) fn may_prefer_writers(bytes: &[u8]) -> bool {
    let words: Vec<&[u8]> = bytes.chunks_exact(8).collect();
    let is_zero = |word: &&[u8]| word.iter().all(|&byte| byte == 0);
    words.windows(7).any(|lock| {
        lock[..6].iter().all(is_zero) && matches!(lock[6], [1 | 2, 0, 0, 0, 0, 0, 0, 0])
    })
}

/// Whether code may make a mutex of another kind than the default one without asking the library:
/// it stores the number of such a kind behind something that it fills with zeros.
pub(crate) fn may_make_kind(function: &image::Function) -> bool {
    use image::Operand::Constant;
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    let fills = instructions().any(|one| {
        matches!(
            &one.op,
            image::Op::Fill { byte: Constant(0), .. }
                | image::Op::StoreWide { .. }
                | image::Op::Store { size: 8, value: Constant(0), .. }
        )
    });
    let stores = instructions().any(|one| match &one.op {
        image::Op::Store { size: 4 | 8, value: Constant(value), .. } => {
            matches!(*value as u32, 1 | 2)
        }
        _ => false,
    });
    fills && stores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_valid() {
        let library = parse(&[MODELS, INSIDE].concat()).unwrap();
        foretrace_program::validate(&library).unwrap();
        assert!(KINDS.iter().all(|name| library.find_function(name).is_some()));
    }

    #[test]
    fn initialisers_of_recursive_mutexes_are_seen() {
        let mut bytes = vec![0; 40];
        assert!(!may_hold_kind(&bytes));
        bytes[16] = 1;
        assert!(may_hold_kind(&bytes));
    }
}
