//! Calls that leave the instrumented code, and calls that enter a library's headers.

use llvm_sys::LLVMOpcode::{LLVMCall, LLVMInvoke};
use llvm_sys::core::{LLVMAliasGetAliasee, LLVMIsAGlobalAlias};

use crate::instrument::{self, Instrumenter};
use crate::ir::{self, Value};
use crate::{libc, ranges, shim};

/// A call or invoke.
pub(crate) fn call(to: &mut Instrumenter, call: Value) {
    let callee = resolve(call.callee());
    if callee.is_inline_assembly() {
        return;
    }
    if callee.is_intrinsic() {
        return ranges::intrinsic(to, call);
    }
    ranges::copy_arguments(to, call);
    if !callee.is_function() {
        return leave(to, call);
    }
    if instrument::is_instrumented(callee) {
        return enter(to, call, callee);
    }
    let name = callee.name();
    if name.starts_with("__ft_") {
        return;
    }
    if callee.is_declaration() && libc::redirect(to, call, &name) {
        return;
    }
    leave(to, call);
}

/// Constructors often are aliases of each other.
fn resolve(mut callee: Value) -> Value {
    // SAFETY: aliases do not form cycles.
    unsafe {
        while !LLVMIsAGlobalAlias(callee.0).is_null() {
            callee = Value(LLVMAliasGetAliasee(callee.0));
        }
    }
    callee
}

/// What is instrumented records itself; only code of system headers needs to know who called.
fn enter(to: &mut Instrumenter, call: Value, callee: Value) {
    if to.is_system || !to.tables.is_system_function(callee) {
        return;
    }
    to.build.stand_before(call);
    let site = to.site(call);
    to.build.hook("__ft_at", to.build.void, &[site]);
}

/// What is not instrumented does things unseen: the runtime hears of the call and of its result.
fn leave(to: &mut Instrumenter, call: Value) {
    to.build.stand_before(call);
    let site = to.site(call);
    to.build.hook("__ft_call", to.build.void, &[site, call.callee()]);

    let noreturn = ir::attribute_kind("noreturn");
    let callee = call.callee();
    let never_returns = call.call_has_attribute(u32::MAX, noreturn)
        || callee.is_function() && callee.has_attribute(u32::MAX, noreturn);
    if call.is_must_tail() || never_returns {
        return;
    }
    let after = match call.opcode() {
        LLVMCall => call.next(),
        // SAFETY: it is an invoke.
        LLVMInvoke => Value(unsafe { shim::ft_after_invoke(call.0) }),
        other => unreachable!("{other:?} is no call"),
    };
    to.build.stand_before_for(after, call);
    let result = if call.type_of().is_void() { to.build.i64.zero() } else { to.build.to_i64(call) };
    to.build.hook("__ft_return", to.build.void, &[site, result]);
}
