//! Which way the program goes.

use llvm_sys::core::{LLVMGetCondition, LLVMIsConditional};

use crate::instrument::Instrumenter;
use crate::ir::Value;

pub(crate) fn branch(to: &mut Instrumenter, branch: Value) {
    // SAFETY: it is a branch, and only conditional ones have a condition.
    if unsafe { LLVMIsConditional(branch.0) } == 0 {
        return;
    }
    let condition = Value(unsafe { LLVMGetCondition(branch.0) });
    if condition.is_constant() {
        return;
    }
    to.build.stand_before(branch);
    let taken = to.build.resize(condition, to.build.i32);
    let arguments = [to.site(branch), taken];
    to.build.hook("__ft_branch", to.build.void, &arguments);
}

/// A switch, or a jump to a computed label, whose value is then the label's address.
pub(crate) fn switch(to: &mut Instrumenter, switch: Value) {
    let value = switch.operand(0);
    if value.is_constant() {
        return;
    }
    to.build.stand_before(switch);
    let arguments = [to.site(switch), to.build.to_i64(value)];
    to.build.hook("__ft_switch", to.build.void, &arguments);
}
