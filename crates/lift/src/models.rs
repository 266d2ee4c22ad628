//! Functions of the C library that are programs themselves (`models.ftp`).
//!
//! **Computes.** Those of them that the files call, as functions behind those of the files, with
//! the variables that they use.

use foretrace_image as image;
use foretrace_program::{Function, FunctionId, Global, GlobalId, Op, Operand, parse};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest copy or fill that becomes loads and stores.
pub(crate) const MOST_BYTES: u64 = 4096;

const TEXT: &str = include_str!("models.ftp");

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

/// The models of the functions that are `called`, and their variables, of which the first gets the
/// number `first_global`.
pub(crate) fn called(
    called: &FxHashSet<&str>,
    has_kinds: bool,
    first_global: usize,
) -> (Vec<Function>, Vec<Global>) {
    let library = parse(TEXT).expect("the models are a program");
    let is_wanted = |name: &str| {
        // Some have a word behind their name, since they are for some calls only.
        let name = name.split(' ').next().unwrap_or(name);
        let is_called = called.contains(name) || called.contains(format!("__ft_{name}").as_str());
        is_called && (has_kinds || !KINDS.contains(&name))
    };
    let mut functions: Vec<Function> =
        library.functions.iter().filter(|function| is_wanted(&function.name)).cloned().collect();
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
                if let Op::Own { global } = &mut instruction.op {
                    *global = number(*global);
                }
                for operand in instruction.op.operands_mut() {
                    if let Operand::Global { global, .. } = operand {
                        *global = number(*global);
                    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_valid() {
        let library = parse(TEXT).unwrap();
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
