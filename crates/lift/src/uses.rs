//! What instructions of the image read, and functions that change nothing.

use foretrace_image::{Effect, Function, Op, Operand, Target, Terminator};

use crate::object_file::{ObjectFile, symbol_of};

/// Functions of the library that only look at what they get.
const LOOKING: [&str; 10] = [
    "abs", "labs", "memchr", "memcmp", "strchr", "strcmp", "strlen", "strncmp", "tolower",
    "toupper",
];

/// Calls inside of calls that are followed.
const MOST_CALLS: u32 = 8;

/// What an instruction reads.
fn operands(op: &Op) -> Vec<Operand> {
    match op {
        Op::Binary { left, right, .. } => vec![*left, *right],
        Op::Cast { value, .. } => vec![*value],
        Op::Select { condition, then, otherwise } => vec![*condition, *then, *otherwise],
        Op::Load { address, .. } | Op::LoadWide { address, .. } => vec![*address],
        Op::Store { address, value, .. }
        | Op::StoreWide { address, value, .. }
        | Op::Rmw { address, value, .. } => vec![*address, *value],
        Op::CompareExchange { address, expected, new, .. } => vec![*address, *expected, *new],
        Op::Fence { .. } => Vec::new(),
        Op::Slot { size, .. } => vec![*size],
        Op::Call { callee, arguments, .. } | Op::Leave { callee, arguments, .. } => {
            [&[*callee], &arguments[..]].concat()
        }
        Op::Assert { condition } => vec![*condition],
        Op::Copy { to, from, size, .. } => vec![*to, *from, *size],
        Op::Fill { to, byte, size, .. } => vec![*to, *byte, *size],
        Op::Opaque { arguments, .. }
        | Op::Hooked { arguments, .. }
        | Op::Mark { arguments, .. } => arguments.clone(),
    }
}

/// What the end of a block reads.
fn last_operands(terminator: &Terminator) -> Vec<Operand> {
    let of = |targets: &[&Target]| -> Vec<Operand> {
        targets.iter().flat_map(|target| target.arguments.iter().copied()).collect()
    };
    match terminator {
        Terminator::Jump(target) => of(&[target]),
        Terminator::Branch { condition, then, otherwise, .. } => {
            [vec![*condition], of(&[then, otherwise])].concat()
        }
        Terminator::Switch { value, default, cases, .. } => {
            let targets: Vec<&Target> =
                default.iter().chain(cases.iter().map(|(_, target)| target)).collect();
            [vec![*value], of(&targets)].concat()
        }
        Terminator::Return(value) => value.iter().copied().collect(),
        Terminator::Invoked { normal, unwind } => of(&[normal, unwind]),
        Terminator::Unreachable | Terminator::Unsupported(_) | Terminator::Resume => Vec::new(),
    }
}

/// Whether a function ever looks at a register.
pub(crate) fn reads(function: &Function, register: u32) -> bool {
    let is_it = |operand: &Operand| *operand == Operand::Register(register);
    function.blocks.iter().any(|block| {
        block.instructions.iter().any(|one| operands(&one.op).iter().any(is_it))
            || last_operands(&block.terminator).iter().any(is_it)
    })
}

/// Whether the function at an address changes nothing that others can see, so that it makes no
/// difference how often it is called.
pub(crate) fn only_looks(file: &ObjectFile, callee: Operand) -> bool {
    looks(file, callee, MOST_CALLS)
}

fn looks(file: &ObjectFile, callee: Operand, most: u32) -> bool {
    let Operand::Address(address) = callee else { return false };
    let meaning = |address: u64| file.symbols.get(symbol_of(address).0);
    let is_it = |one: &&Function| meaning(one.address) == meaning(address);
    let Some(function) = file.functions.iter().find(is_it) else { return false };
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    most > 0
        && symbol_of(address).1 == 0
        && instructions.all(|instruction| match &instruction.op {
            Op::Binary { .. }
            | Op::Cast { .. }
            | Op::Select { .. }
            | Op::Slot { .. }
            | Op::Assert { .. }
            | Op::LoadWide { .. } => true,
            Op::Load { order, .. } => u32::from(*order) == foretrace_recording::site::order::PLAIN,
            Op::Store { private, .. }
            | Op::StoreWide { private, .. }
            | Op::Fill { private, .. }
            | Op::Copy { to_private: private, .. } => *private,
            Op::Call { callee, .. } => looks(file, *callee, most - 1),
            Op::Leave { name, .. } | Op::Hooked { name, .. } => {
                name == "__assert_fail" || LOOKING.contains(&name.as_str())
            }
            Op::Opaque { effect, .. } => *effect == Effect::None,
            Op::Rmw { .. } | Op::CompareExchange { .. } | Op::Fence { .. } | Op::Mark { .. } => {
                false
            }
        })
}

/// The symbols of the functions by which code sorts.
pub(crate) fn sorts_by(file: &ObjectFile) -> impl Iterator<Item = usize> {
    let blocks = file.functions.iter().flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.instructions).filter_map(|instruction| match &instruction.op {
        Op::Leave { name, arguments, .. } | Op::Hooked { name, arguments } if name == "qsort" => {
            match arguments.get(3) {
                Some(Operand::Address(address)) => Some(symbol_of(*address).0),
                _ => None,
            }
        }
        _ => None,
    })
}
