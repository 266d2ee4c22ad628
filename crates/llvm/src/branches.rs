//! Hooks that record which way the program goes.

use llvm_sys::core::{LLVMGetCondition, LLVMIsConditional};

use crate::instrument::Instrumenter;
use crate::ir::Value;

/// What decides a branch; `None` if it has one target only.
pub(crate) fn condition(branch: Value) -> Option<Value> {
    // SAFETY: it is a branch, and only conditional ones have a condition.
    unsafe { (LLVMIsConditional(branch.0) != 0).then(|| Value(LLVMGetCondition(branch.0))) }
}

/// Whether the way that this value decides is recorded.
pub(crate) fn is_recorded(decides: Value) -> bool {
    !decides.is_constant()
}

pub(crate) fn branch(to: &mut Instrumenter, branch: Value) {
    let Some(condition) = condition(branch).filter(|one| is_recorded(*one)) else {
        return idle(to, branch);
    };
    to.build.stand_before(branch);
    let taken = to.build.resize(condition, to.build.i32);
    to.build.hook("__ft_path", to.build.void, &[taken]);
}

/// A loop that does nothing for ever waits to be interrupted: it lets others run, and may be
/// cancelled.
fn idle(to: &mut Instrumenter, branch: Value) {
    if branch.block().successors() == [branch.block()] {
        to.build.stand_before(branch);
        to.build.hook("__ft_pause", to.build.void, &[]);
    }
}

/// A switch, or a jump to a computed label, whose value is then the label's address.
pub(crate) fn switch(to: &mut Instrumenter, switch: Value) {
    let value = switch.operand(0);
    if !is_recorded(value) {
        return;
    }
    to.build.stand_before(switch);
    let arguments = [to.site(switch), to.build.to_i64(value)];
    to.build.hook("__ft_switch", to.build.void, &arguments);
}

/// Says that the function begins, if it is one that does.
pub(crate) fn enter(to: &mut Instrumenter) {
    if to.scope.is_entered(to.function) {
        to.build.stand_before_for_nobody(to.function.first_code());
        let function = to.tables.identity(&to.build, to.function);
        to.build.hook("__ft_enter", to.build.void, &[function]);
    }
}

/// Says that an exception came here, to the block of this number.
pub(crate) fn land(to: &mut Instrumenter, landing_pad: Value, block: u64) {
    to.build.stand_before_for(landing_pad.next(), landing_pad);
    let function = to.tables.identity(&to.build, to.function);
    let arguments = [to.site(landing_pad), function, to.build.i64.number(block)];
    to.build.hook("__ft_land", to.build.void, &arguments);
}
