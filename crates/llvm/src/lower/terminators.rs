//! How blocks end: where the program goes, and whether it fails there.

use foretrace_recording::image::{flags, put, terminator};
use llvm_sys::LLVMOpcode::*;
use llvm_sys::core::{LLVMGetNormalDest, LLVMGetSuccessor, LLVMGetUnwindDest};

use super::Lowerer;
use super::code::{NOWHERE, Operand};
use crate::branches;
use crate::ir::{Block, Value};

/// Functions that end a program which has found itself wrong.
const FAILURES: [&str; 5] =
    ["__assert_fail", "__assert_perror_fail", "__assert", "abort", "_ZSt9terminatev"];

/// Intrinsics that do.
const TRAPS: [&str; 2] = ["llvm.trap", "llvm.ubsantrap"];

impl Lowerer<'_> {
    /// Lowers the last instruction of a block. What has to be computed for it goes to the block.
    pub(super) fn terminator(&mut self, block: Block, end: Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        match end.opcode() {
            LLVMBr => self.branch(&mut bytes, block, end),
            LLVMSwitch => self.switch(&mut bytes, block, end),
            LLVMRet => self.put_return(&mut bytes, end),
            LLVMUnreachable => put(&mut bytes, terminator::UNREACHABLE),
            LLVMInvoke => self.invoke(&mut bytes, block, end),
            LLVMResume => put(&mut bytes, terminator::RESUME),
            LLVMIndirectBr => self.label(&mut bytes, block, end),
            LLVMCallBr => self.put_unsupported(&mut bytes, "inline assembly that jumps"),
            _ => self.put_unsupported(&mut bytes, "exceptions that are not the Itanium ABI's"),
        }
        bytes
    }

    fn put_target(&mut self, bytes: &mut Vec<u8>, from: Block, to: Block) {
        let arguments = self.incoming.get(&(from, to)).cloned().unwrap_or_default();
        let arguments = self.operands(&arguments);
        self.put_target_with(bytes, to, &arguments);
    }

    fn put_target_with(&self, bytes: &mut Vec<u8>, to: Block, arguments: &[Operand]) {
        put(bytes, self.numbers[&to]);
        put(bytes, arguments.len() as u64);
        arguments.iter().for_each(|argument| argument.put(bytes));
    }

    fn jump(&mut self, bytes: &mut Vec<u8>, from: Block, to: Block) {
        put(bytes, terminator::JUMP);
        self.put_target(bytes, from, to);
    }

    fn branch(&mut self, bytes: &mut Vec<u8>, block: Block, branch: Value) {
        let condition = match (certain_target(branch), branches::condition(branch)) {
            (Some(target), _) => return self.jump(bytes, block, target),
            (None, condition) => condition.expect("without one, the target is certain"),
        };
        let (then, other) = (successor(branch, 0), successor(branch, 1));
        let mut flags = 0;
        if !branches::is_recorded(condition) {
            flags |= flags::CONSTANT;
        }
        if self.fails(then) {
            flags |= flags::THEN_FAILS;
        }
        if self.fails(other) {
            flags |= flags::ELSE_FAILS;
        }
        let site = self.way_site(branch, condition);
        put(bytes, terminator::BRANCH);
        put(bytes, flags);
        put(bytes, site);
        self.operand(condition).put(bytes);
        self.put_target(bytes, block, then);
        self.put_target(bytes, block, other);
    }

    /// The site of a branch or switch whose way is recorded.
    fn way_site(&mut self, way: Value, decides: Value) -> u64 {
        if branches::is_recorded(decides) { self.site(way) } else { NOWHERE }
    }

    fn switch(&mut self, bytes: &mut Vec<u8>, block: Block, switch: Value) {
        let value = switch.operand(0);
        let recorded = branches::is_recorded(value);
        if self.build.word_size(value.type_of()).is_none() {
            return self.put_unsupported(bytes, "a switch whose value is not recorded");
        }
        let site = self.way_site(switch, value);
        let decides = self.operand(value);
        put(bytes, terminator::SWITCH);
        put(bytes, if recorded { 0 } else { flags::CONSTANT });
        put(bytes, site);
        decides.put(bytes);
        self.put_target(bytes, block, successor(switch, 0));
        // Value and target of the default, then those of each case.
        let cases = switch.operand_count() / 2 - 1;
        put(bytes, cases.into());
        for case in 1..=cases {
            let number = switch.operand(2 * case).constant_bits(self.build.i64);
            put(bytes, number.expect("cases are constants"));
            self.put_target(bytes, block, successor(switch, case));
        }
    }

    /// A jump to a computed label: a switch over the addresses of blocks.
    fn label(&mut self, bytes: &mut Vec<u8>, block: Block, jump: Value) {
        let targets = block.successors();
        let labels: Option<Vec<u64>> =
            targets.iter().map(|to| self.tables.label(self.function, *to)).collect();
        let (Some(labels), true) = (labels, branches::is_recorded(jump.operand(0))) else {
            return self
                .put_unsupported(bytes, "a computed label of a function that may be dropped");
        };
        let site = self.site(jump);
        let decides = self.operand(jump.operand(0));
        put(bytes, terminator::LABEL);
        put(bytes, site);
        decides.put(bytes);
        put(bytes, labels.len() as u64);
        for (label, to) in labels.into_iter().zip(targets) {
            put(bytes, label);
            self.put_target(bytes, block, to);
        }
    }

    fn put_return(&mut self, bytes: &mut Vec<u8>, end: Value) {
        let value = (end.operand_count() > 0).then(|| self.operand(end.operand(0)));
        put(bytes, terminator::RETURN);
        put(bytes, value.iter().len() as u64);
        if let Some(value) = value {
            value.put(bytes);
        }
    }

    fn invoke(&mut self, bytes: &mut Vec<u8>, block: Block, invoke: Value) {
        // SAFETY: it is an invoke.
        let [normal, unwinding] =
            unsafe { [LLVMGetNormalDest(invoke.0), LLVMGetUnwindDest(invoke.0)].map(Block) };
        // What has to be computed for the targets must not come behind the call.
        let prepared = [normal, unwinding].map(|to| {
            let values = self.incoming.get(&(block, to)).cloned().unwrap_or_default();
            let prepare = |value| (value != invoke).then(|| self.operand(value));
            values.into_iter().map(prepare).collect::<Vec<Option<Operand>>>()
        });
        let may_throw = self.call_or_invoke(invoke);
        let is_known = !matches!(self.values.get(&invoke), Some(Operand::Unknown { width: 1.. }));
        if !is_known {
            return self.put_unsupported(bytes, "a result that is not recorded");
        }
        let [normal_arguments, unwinding_arguments] = prepared.map(|operands| {
            let fill = |operand: Option<Operand>| operand.unwrap_or_else(|| self.operand(invoke));
            operands.into_iter().map(fill).collect::<Vec<Operand>>()
        });
        put(bytes, if may_throw { terminator::INVOKED } else { terminator::JUMP });
        self.put_target_with(bytes, normal, &normal_arguments);
        if may_throw {
            self.put_target_with(bytes, unwinding, &unwinding_arguments);
        }
    }

    /// Whether nothing but a failure can follow.
    fn fails(&mut self, start: Block) -> bool {
        let mut way = Vec::new();
        let mut block = start;
        let fails = loop {
            if let Some(known) = self.fails.get(&block) {
                break *known;
            }
            // A block that is met again before the way ends leads nowhere.
            self.fails.insert(block, false);
            way.push(block);
            let instructions = block.instructions();
            if instructions.iter().any(|one| is_trap(*one)) {
                break true;
            }
            let end = instructions[instructions.len() - 1];
            match end.opcode() {
                LLVMUnreachable => break instructions.iter().rev().nth(1).is_some_and(is_failure),
                _ => match certain_target(end) {
                    Some(target) => block = target,
                    None => break false,
                },
            }
        };
        way.into_iter().for_each(|block| _ = self.fails.insert(block, fails));
        fails
    }
}

/// The blocks that a block may lead to.
pub(super) fn targets(block: Block) -> Vec<Block> {
    match certain_target(block.end()) {
        Some(target) => vec![target],
        None => block.successors(),
    }
}

/// Where a branch leads if it has no choice.
fn certain_target(end: Value) -> Option<Block> {
    if !end.is_instruction(LLVMBr) {
        return None;
    }
    let Some(condition) = branches::condition(end) else { return Some(successor(end, 0)) };
    let is_taken = condition.constant_bits(condition.type_of())? != 0;
    Some(successor(end, if is_taken { 0 } else { 1 }))
}

fn successor(end: Value, index: u32) -> Block {
    // SAFETY: it is a terminator that has this one.
    Block(unsafe { LLVMGetSuccessor(end.0, index) })
}

/// Whether an instruction calls what ends a program that found itself wrong.
fn is_failure(instruction: &Value) -> bool {
    instruction.is_instruction(LLVMCall) && FAILURES.contains(&instruction.callee().name().as_str())
}

/// Whether an instruction is one that nothing comes behind, whatever the block says.
pub(super) fn is_trap(instruction: Value) -> bool {
    instruction.is_instruction(LLVMCall)
        && instruction.callee().is_intrinsic()
        && TRAPS.contains(&instruction.callee().name().as_str())
}
