//! Operands and results of single instructions.

use foretrace_trace::{MemoryOrder, Patience};

use crate::ir::*;

use super::Broken;

/// What an instruction gives.
enum Gives {
    Nothing,
    /// A value that must have a register.
    Value(u8),
    /// A value that may be dropped.
    Perhaps(u8),
    /// A value of any width that may be dropped.
    AnyPerhaps,
}

/// The objects of synchronisation that an instruction names: kind, index, number of such objects.
pub(super) fn objects(program: &Program, op: &Op) -> Vec<(&'static str, usize, usize)> {
    let lock = |lock: LockId| ("lock", lock.index(), program.locks.len());
    let cond = |cond: CondId| ("condition variable", cond.index(), program.conds.len());
    let semaphore = |sem: SemId| ("semaphore", sem.index(), program.semaphores.len());
    match *op {
        Op::Acquire { lock: SyncRef::Named(id), .. }
        | Op::Release { lock: SyncRef::Named(id), .. } => {
            vec![lock(id)]
        }
        Op::Wait { cond: on, lock: with, .. } => {
            let on = if let SyncRef::Named(id) = on { Some(cond(id)) } else { None };
            let with = if let SyncRef::Named(id) = with { Some(lock(id)) } else { None };
            on.into_iter().chain(with).collect()
        }
        Op::Signal { cond: SyncRef::Named(id) } | Op::Broadcast { cond: SyncRef::Named(id) } => {
            vec![cond(id)]
        }
        Op::SemWait { sem: SyncRef::Named(id), .. } | Op::SemPost { sem: SyncRef::Named(id) } => {
            vec![semaphore(id)]
        }
        Op::Barrier { barrier: SyncRef::Named(id), .. } => {
            vec![("barrier", id.index(), program.barriers.len())]
        }
        _ => Vec::new(),
    }
}

/// Checks one instruction; all its ids exist.
pub(super) fn instruction(
    program: &Program,
    function: &Function,
    Instruction { op, result, .. }: &Instruction,
) -> Result<(), Broken> {
    constants(&op.operands())?;
    let gives = operands(program, function, op, *result)?;
    let found = result.map(|result| function.width(result));
    match (gives, found) {
        (Gives::Nothing, None)
        | (Gives::Perhaps(_) | Gives::AnyPerhaps, None)
        | (Gives::AnyPerhaps, _) => Ok(()),
        (Gives::Nothing, Some(_)) => Err(Broken::ResultUnexpected),
        (Gives::Value(_), None) => Err(Broken::ResultMissing),
        (Gives::Value(expected) | Gives::Perhaps(expected), Some(found)) if expected == found => {
            Ok(())
        }
        (Gives::Value(expected) | Gives::Perhaps(expected), Some(found)) => {
            Err(Broken::ResultWidth { expected, found })
        }
    }
}

/// Checks the end of a block; all its ids exist.
pub(super) fn terminator(function: &Function, kind: &TerminatorKind) -> Result<(), Broken> {
    constants(&kind.operands())?;
    for target in kind.targets() {
        let params = &function.block(target.block).params;
        let widths: Vec<u8> = params.iter().map(|&param| function.width(param)).collect();
        arguments(function, &target.args, &widths)?;
    }
    match kind {
        TerminatorKind::Branch { condition, .. } => expect(function, *condition, 1),
        TerminatorKind::Switch { value, cases, .. } => {
            let width = function.operand_width(*value);
            let mut numbers: Vec<u64> = cases.iter().map(|(case, _)| *case).collect();
            if numbers.iter().any(|&case| !fits(case, width)) {
                return Err(Broken::Constant(width));
            }
            numbers.sort_unstable();
            if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Broken::DuplicateCase);
            }
            Ok(())
        }
        TerminatorKind::Return(value) => match (value, function.result) {
            (None, None) => Ok(()),
            (Some(value), Some(width)) => expect(function, *value, width),
            _ => Err(Broken::Return),
        },
        TerminatorKind::ThreadExit(Some(value)) => expect(function, *value, ADDRESS_WIDTH),
        TerminatorKind::Jump(_)
        | TerminatorKind::Exit
        | TerminatorKind::ThreadExit(None)
        | TerminatorKind::Unreachable => Ok(()),
    }
}

fn constants(operands: &[&Operand]) -> Result<(), Broken> {
    for operand in operands {
        if let Operand::Constant(Constant { value, width }) = **operand
            && (!(1..=MAX_WIDTH).contains(&width) || !fits(value, width))
        {
            return Err(Broken::Constant(width));
        }
    }
    Ok(())
}

fn operands(
    program: &Program,
    function: &Function,
    op: &Op,
    result: Option<RegisterId>,
) -> Result<Gives, Broken> {
    let width = |operand: &Operand| function.operand_width(*operand);
    let expect = |operand: &Operand, expected: u8| expect(function, *operand, expected);
    let access = |address: &Operand, size: u8, values: &[&Operand]| {
        if !(1..=8).contains(&size) {
            return Err(Broken::AccessSize(size));
        }
        expect(address, ADDRESS_WIDTH)?;
        values.iter().try_for_each(|value| expect(value, size * 8))
    };
    let outcome = |may_give_up: bool| if may_give_up { Gives::Perhaps(1) } else { Gives::Nothing };
    for operand in sync_addresses(op) {
        expect(&operand, ADDRESS_WIDTH)?;
    }
    Ok(match op {
        Op::Binary { op, left, right } => {
            expect(right, width(left))?;
            Gives::Value(if op.is_comparison() { 1 } else { width(left) })
        }
        Op::Cast { cast, value } => {
            let to = function.width(result.ok_or(Broken::ResultMissing)?);
            let is_right = match cast {
                Cast::ZeroExtend | Cast::SignExtend => to > width(value),
                Cast::Truncate => to < width(value),
            };
            if !is_right {
                return Err(Broken::Cast);
            }
            Gives::Value(to)
        }
        Op::Select { condition, then, otherwise } => {
            expect(condition, 1)?;
            expect(otherwise, width(then))?;
            Gives::Value(width(then))
        }
        Op::Load { address, size, .. } => {
            access(address, *size, &[])?;
            Gives::Value(size * 8)
        }
        Op::Store { address, size, value, .. } => {
            access(address, *size, &[value])?;
            Gives::Nothing
        }
        Op::Rmw { address, size, value, .. } => {
            access(address, *size, &[value])?;
            Gives::Perhaps(size * 8)
        }
        Op::CompareExchange { address, size, expected, new, .. } => {
            access(address, *size, &[expected, new])?;
            Gives::Perhaps(size * 8)
        }
        Op::Fence { order: MemoryOrder::Plain } => return Err(Broken::FenceOrder),
        Op::Slot { size: 0 } => return Err(Broken::SlotSize),
        Op::Slot { .. } => Gives::Value(ADDRESS_WIDTH),
        Op::Alloc { size, .. } => {
            expect(size, ADDRESS_WIDTH)?;
            Gives::Value(ADDRESS_WIDTH)
        }
        Op::SizeOf { address } => {
            expect(address, ADDRESS_WIDTH)?;
            Gives::Value(ADDRESS_WIDTH)
        }
        Op::Free { address: operand } => {
            expect(operand, ADDRESS_WIDTH)?;
            Gives::Nothing
        }
        Op::Join { thread: operand } => {
            expect(operand, ADDRESS_WIDTH)?;
            Gives::Perhaps(ADDRESS_WIDTH)
        }
        Op::Current | Op::Own { .. } => Gives::Value(ADDRESS_WIDTH),
        Op::Barrier { barrier, parties } => {
            let is_known = matches!(barrier, SyncRef::Named(_));
            if is_known != parties.is_none() {
                return Err(Broken::Parties);
            }
            parties.iter().try_for_each(|parties| expect(parties, 32))?;
            Gives::Nothing
        }
        Op::Call { callee, args } => match callee_result(program, function, callee, args)? {
            None => Gives::AnyPerhaps,
            Some(None) => Gives::Nothing,
            Some(Some(width)) => Gives::Perhaps(width),
        },
        Op::Fork { callee, args } => {
            callee_result(program, function, callee, args)?;
            Gives::Perhaps(ADDRESS_WIDTH)
        }
        Op::External { .. } => Gives::AnyPerhaps,
        Op::Acquire { patience, .. } | Op::SemWait { patience, .. } => {
            outcome(*patience != Patience::Blocking)
        }
        Op::Wait { timed, .. } => outcome(*timed),
        Op::Assert { condition } | Op::Assume { condition } => {
            expect(condition, 1)?;
            Gives::Nothing
        }
        Op::Release { .. }
        | Op::Signal { .. }
        | Op::Broadcast { .. }
        | Op::SemPost { .. }
        | Op::Fence { .. }
        | Op::RegionBegin
        | Op::RegionEnd
        | Op::SectionBegin
        | Op::SectionEnd => Gives::Nothing,
    })
}

/// Addresses by which an instruction designates objects of synchronisation.
fn sync_addresses(op: &Op) -> Vec<Operand> {
    match op {
        Op::Acquire { .. }
        | Op::Release { .. }
        | Op::Wait { .. }
        | Op::Signal { .. }
        | Op::Broadcast { .. }
        | Op::SemWait { .. }
        | Op::SemPost { .. } => op.operands().into_iter().copied().collect(),
        Op::Barrier { barrier: SyncRef::At(address), .. } => vec![*address],
        _ => Vec::new(),
    }
}

/// Checks the arguments; the width of the result, if there is one, of a function that is known.
fn callee_result(
    program: &Program,
    function: &Function,
    callee: &Callee,
    args: &[Operand],
) -> Result<Option<Option<u8>>, Broken> {
    match callee {
        Callee::Direct(callee) => {
            let head = program.function(*callee);
            let known = |param: &RegisterId| head.registers.get(param.index()).map(|r| r.width);
            let widths: Vec<u8> = head.params.iter().filter_map(known).collect();
            arguments(function, args, &widths)?;
            Ok(Some(head.result))
        }
        Callee::Indirect(address) => {
            expect(function, *address, ADDRESS_WIDTH)?;
            Ok(None)
        }
    }
}

fn arguments(function: &Function, args: &[Operand], widths: &[u8]) -> Result<(), Broken> {
    if args.len() != widths.len() {
        return Err(Broken::ArgumentCount { expected: widths.len(), found: args.len() });
    }
    args.iter().zip(widths).try_for_each(|(&arg, &width)| expect(function, arg, width))
}

fn expect(function: &Function, operand: Operand, expected: u8) -> Result<(), Broken> {
    let found = function.operand_width(operand);
    if found == expected { Ok(()) } else { Err(Broken::OperandWidth { expected, found }) }
}
