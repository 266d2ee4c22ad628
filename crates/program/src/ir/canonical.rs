//! Blocks and registers in the order in which a reader meets them.
//!
//! **Computes.** A function with the same meaning whose blocks are in reverse postorder, without
//! those that nothing reaches, and whose registers are numbered in the order of their definitions.
//! The text form needs that definitions come before uses; in a valid function, this order gives it.

use super::*;

impl Function {
    /// Puts blocks and registers in order, and drops what cannot be reached.
    pub fn canonicalise(&mut self) {
        let order = self.reverse_postorder();
        let mut new_block = vec![None; self.blocks.len()];
        for (place, block) in order.iter().enumerate() {
            new_block[block.index()] = Some(BlockId::from(place));
        }
        let mut blocks: Vec<Block> = order.iter().map(|&block| self.block(block).clone()).collect();
        for target in blocks.iter_mut().flat_map(|block| block.terminator.kind.targets_mut()) {
            target.block = new_block[target.block.index()].expect("a target of what is reached");
        }
        self.blocks = blocks;
        self.number_registers();
    }

    /// Numbers registers in the order of their definitions and drops those without one.
    pub fn number_registers(&mut self) {
        let mut order = self.params.clone();
        for block in &self.blocks {
            order.extend(&block.params);
            order.extend(block.instructions.iter().filter_map(|instruction| instruction.result));
        }
        let mut new = vec![RegisterId(0); self.registers.len()];
        for (place, register) in order.iter().enumerate() {
            new[register.index()] = RegisterId::from(place);
        }
        let rename = |register: &mut RegisterId| *register = new[register.index()];
        let replace = |operand: &mut Operand| {
            if let Operand::Register(register) = operand {
                rename(register);
            }
        };
        self.registers =
            order.iter().map(|&register| self.registers[register.index()].clone()).collect();
        self.params.iter_mut().for_each(rename);
        for block in &mut self.blocks {
            block.params.iter_mut().for_each(rename);
            for instruction in &mut block.instructions {
                instruction.result.iter_mut().for_each(rename);
                instruction.op.operands_mut().into_iter().for_each(replace);
            }
            block.terminator.kind.operands_mut().into_iter().for_each(replace);
        }
    }
}
