//! Blocks, jumps, and definitions before uses.

use crate::ir::*;

use super::{Broken, Invalid, widths};

/// Where a register is defined.
#[derive(Clone, Copy)]
enum Definition {
    /// As a parameter of the function.
    Function,
    /// As a parameter of a block.
    Block(BlockId),
    /// By an instruction.
    Instruction(BlockId, usize),
}

/// Checks one function.
pub(super) fn check(program: &Program, id: FunctionId) -> Result<(), Invalid> {
    let function = program.function(id);
    let in_function =
        |broken| Invalid { place: format!("function `{}`", function.name), site: None, broken };
    if function.blocks.is_empty() {
        return Err(in_function(Broken::NoBlocks));
    }
    if function.result.is_some_and(|width| !(1..=MAX_WIDTH).contains(&width)) {
        return Err(in_function(Broken::RegisterWidth(function.result.unwrap_or(0))));
    }
    if let Some(register) = function.registers.iter().find(|r| !(1..=MAX_WIDTH).contains(&r.width))
    {
        return Err(in_function(Broken::RegisterWidth(register.width)));
    }
    let definitions = definitions(function).map_err(in_function)?;
    ids(program, id)?;
    let jumps_to_entry =
        function.block_ids().any(|b| function.successors(b).contains(&Function::ENTRY));
    if !function.block(Function::ENTRY).params.is_empty() || jumps_to_entry {
        return Err(in_function(Broken::Entry));
    }
    uses(program, id, &definitions)?;
    for block in function.block_ids() {
        let Block { instructions, terminator, .. } = function.block(block);
        for (index, instruction) in instructions.iter().enumerate() {
            let site = Site { function: id, block, index: index as u32 };
            widths::instruction(program, function, instruction)
                .map_err(|broken| at(program, site, broken))?;
        }
        let site = Site { function: id, block, index: instructions.len() as u32 };
        widths::terminator(function, &terminator.kind)
            .map_err(|broken| at(program, site, broken))?;
    }
    Ok(())
}

/// The error at an instruction. Its text may be shown, since all ids exist.
fn at(program: &Program, site: Site, broken: Broken) -> Invalid {
    Invalid { place: crate::text::describe(program, site), site: Some(site), broken }
}

fn definitions(function: &Function) -> Result<Vec<Definition>, Broken> {
    let mut definitions = vec![Vec::new(); function.registers.len()];
    let mut add = |register: RegisterId, definition: Definition| match definitions
        .get_mut(register.index())
    {
        Some(list) => {
            list.push(definition);
            Ok(())
        }
        None => Err(Broken::UnknownId { what: "register", index: register.index() }),
    };
    for &param in &function.params {
        add(param, Definition::Function)?;
    }
    for block in function.block_ids() {
        for &param in &function.block(block).params {
            add(param, Definition::Block(block))?;
        }
        for (index, instruction) in function.block(block).instructions.iter().enumerate() {
            if let Some(result) = instruction.result {
                add(result, Definition::Instruction(block, index))?;
            }
        }
    }
    definitions
        .into_iter()
        .enumerate()
        .map(|(index, list)| match list[..] {
            [only] => Ok(only),
            _ => {
                let register = show(function, RegisterId::from(index));
                Err(Broken::Definitions { register, count: list.len() })
            }
        })
        .collect()
}

/// Checks that all ids in instructions exist.
fn ids(program: &Program, id: FunctionId) -> Result<(), Invalid> {
    let function = program.function(id);
    let check = |site: Site, what: &'static str, index: usize, count: usize| {
        if index < count {
            return Ok(());
        }
        let place = format!(
            "function `{}`, block {}, instruction {}",
            function.name, site.block.0, site.index
        );
        Err(Invalid { place, site: Some(site), broken: Broken::UnknownId { what, index } })
    };
    let operand = |site: Site, operand: &Operand| match *operand {
        Operand::Register(register) => {
            check(site, "register", register.index(), function.registers.len())
        }
        Operand::Global { global, .. } => {
            check(site, "global", global.index(), program.globals.len())
        }
        Operand::Function(function) => {
            check(site, "function", function.index(), program.functions.len())
        }
        Operand::Constant(_) => Ok(()),
    };
    let location = |site: Site, location: Option<LocationId>| match location {
        Some(location) => check(site, "location", location.index(), program.locations.len()),
        None => Ok(()),
    };
    for block in function.block_ids() {
        let Block { instructions, terminator, .. } = function.block(block);
        for (index, instruction) in instructions.iter().enumerate() {
            let site = Site { function: id, block, index: index as u32 };
            instruction.op.operands().into_iter().try_for_each(|used| operand(site, used))?;
            location(site, instruction.location)?;
            if let Op::Call { callee: Callee::Direct(callee), .. }
            | Op::Fork { callee: Callee::Direct(callee), .. } = &instruction.op
            {
                check(site, "function", callee.index(), program.functions.len())?;
            }
            if let Op::Own { global } = &instruction.op {
                check(site, "global", global.index(), program.globals.len())?;
            }
            for (what, index, count) in widths::objects(program, &instruction.op) {
                check(site, what, index, count)?;
            }
        }
        let site = Site { function: id, block, index: instructions.len() as u32 };
        terminator.kind.operands().into_iter().try_for_each(|used| operand(site, used))?;
        location(site, terminator.location)?;
        for target in terminator.kind.targets() {
            check(site, "block", target.block.index(), function.blocks.len())?;
        }
    }
    Ok(())
}

/// Checks that every register is defined on every way to its uses.
fn uses(program: &Program, id: FunctionId, definitions: &[Definition]) -> Result<(), Invalid> {
    let function = program.function(id);
    let dominators = function.dominators();
    for block in function.block_ids() {
        let Block { instructions, terminator, .. } = function.block(block);
        for index in 0..=instructions.len() {
            let operands = match instructions.get(index) {
                Some(instruction) => instruction.op.operands(),
                None => terminator.kind.operands(),
            };
            for register in operands.into_iter().filter_map(|operand| operand.register()) {
                let is_defined = match definitions[register.index()] {
                    Definition::Function => true,
                    Definition::Block(by) => dominators.dominates(by, block),
                    Definition::Instruction(by, before) if by == block => before < index,
                    Definition::Instruction(by, _) => dominators.dominates(by, block),
                };
                if !is_defined {
                    let site = Site { function: id, block, index: index as u32 };
                    let register = show(function, register);
                    return Err(at(program, site, Broken::UndefinedUse { register }));
                }
            }
        }
    }
    Ok(())
}

fn show(function: &Function, register: RegisterId) -> String {
    match &function.registers[register.index()].name {
        Some(name) => format!("`{name}`"),
        None => format!("`%{}`", register.0),
    }
}
