//! Copies and fills of memory. Where one side is private to the function, the other side alone is
//! recorded, as a load into or a store from private memory.

use llvm_sys::core::{
    LLVMGetCallSiteEnumAttribute, LLVMGetEnumAttributeValue, LLVMGetTypeAttributeValue,
};
use llvm_sys::target::LLVMABISizeOfType;

use crate::instrument::Instrumenter;
use crate::ir::{self, Value};

/// Of an argument on the stack that does not say.
const ALIGNMENT: u64 = 8;

pub(crate) fn intrinsic(to: &mut Instrumenter, call: Value) {
    let name = call.callee().name();
    if name.contains(".element.") {
        return;
    }
    if name.starts_with("llvm.memcpy.") {
        copy(to, call, "__ft_memcpy");
    } else if name.starts_with("llvm.memmove.") {
        copy(to, call, "__ft_memmove");
    } else if name.starts_with("llvm.memset.") {
        fill(to, call);
    }
}

fn copy(to: &mut Instrumenter, call: Value, hook: &str) {
    let (target, source) = (call.operand(0), call.operand(1));
    if [target, source].iter().any(|side| side.type_of().address_space() != 0) {
        return;
    }
    let hidden = (to.locals.hide(target), to.locals.hide(source));
    if hidden == (true, true) {
        return;
    }
    to.build.stand_before(call);
    let site = to.site(call);
    let size = to.build.resize(call.operand(2), to.build.i64);
    match hidden {
        (true, _) => to.load_range(site, source, size, target),
        (_, true) => to.store_range(site, target, size, source),
        _ => _ = to.build.hook(hook, to.build.pointer, &[site, target, source, size]),
    }
    call.erase();
}

fn fill(to: &mut Instrumenter, call: Value) {
    let target = call.operand(0);
    if target.type_of().address_space() != 0 || to.locals.hide(target) {
        return;
    }
    to.build.stand_before(call);
    let byte = to.build.resize(call.operand(1), to.build.i32);
    let size = to.build.resize(call.operand(2), to.build.i64);
    let arguments = [to.site(call), target, byte, size];
    to.build.hook("__ft_memset", to.build.pointer, &arguments);
    call.erase();
}

/// A struct that is passed by value is read where it lies; the call gets a private copy instead.
pub(crate) fn copy_arguments(to: &mut Instrumenter, call: Value) {
    let by_value = ir::attribute_kind("byval");
    for index in 0..call.argument_count() {
        if call.is_must_tail() || !call.call_has_attribute(index + 1, by_value) {
            continue;
        }
        let argument = call.operand(index);
        if to.locals.hide(argument) {
            continue;
        }
        // SAFETY: the first attribute is there, and it has a type; the other has a number.
        let (size, alignment) = unsafe {
            let by_value = LLVMGetCallSiteEnumAttribute(call.0, index + 1, by_value);
            let aligned =
                LLVMGetCallSiteEnumAttribute(call.0, index + 1, ir::attribute_kind("align"));
            let size = LLVMABISizeOfType(to.build.layout, LLVMGetTypeAttributeValue(by_value));
            (size, if aligned.is_null() { ALIGNMENT } else { LLVMGetEnumAttributeValue(aligned) })
        };
        let copy = to.build.variable(to.function, to.build.bytes(size), alignment as u32);
        to.build.stand_before(call);
        let site = to.site(call);
        to.load_range(site, argument, to.build.i64.number(size), copy);
        call.set_operand(index, copy);
    }
}
