//! Copies and fills of memory. Where one side is private to the function, the other side alone is
//! recorded, as a load into or a store from private memory.

use llvm_sys::core::{
    LLVMGetCallSiteEnumAttribute, LLVMGetEnumAttributeAtIndex, LLVMGetEnumAttributeValue,
    LLVMGetTypeAttributeValue,
};
use llvm_sys::target::LLVMABISizeOfType;

use crate::branches;
use crate::build::Builder;
use crate::instrument::Instrumenter;
use crate::ir::{self, Value};
use crate::locals::{Locals, Visibility};

/// Of an argument on the stack that does not say.
const ALIGNMENT: u64 = 8;

/// An intrinsic that copies or fills memory, and whether its sides are hidden from other threads.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    Copy { hook: &'static str, hides_target: bool, hides_source: bool },
    Fill { hides_target: bool },
}

impl Range {
    /// What a call of an intrinsic does; `None` if something else, which includes what segment
    /// registers address.
    pub(crate) fn of(locals: &Locals, call: Value) -> Option<Range> {
        let name = call.callee().name();
        let copies = ["llvm.memcpy.", "llvm.memmove."].map(|prefix| name.starts_with(prefix));
        let sides = match copies {
            _ if name.contains(".element.") => return None,
            [false, false] if name.starts_with("llvm.memset.") => 1,
            [false, false] => return None,
            _ => 2,
        };
        let visibility = |side| locals.visibility(call.operand(side));
        if (0..sides).any(|side| visibility(side) == Visibility::Foreign) {
            return None;
        }
        let hides_target = visibility(0) == Visibility::Private;
        Some(match copies {
            [false, false] => Range::Fill { hides_target },
            [is_memcpy, _] => Range::Copy {
                hook: if is_memcpy { "__ft_memcpy" } else { "__ft_memmove" },
                hides_target,
                hides_source: visibility(1) == Visibility::Private,
            },
        })
    }
}

pub(crate) fn intrinsic(to: &mut Instrumenter, call: Value) {
    match Range::of(&to.locals, call) {
        None
        | Some(Range::Copy { hides_target: true, hides_source: true, .. })
        | Some(Range::Fill { hides_target: true }) => {}
        Some(Range::Copy { hook, hides_target, hides_source }) => {
            copy(to, call, hook, [hides_target, hides_source]);
        }
        Some(Range::Fill { hides_target: false }) => fill(to, call),
    }
}

/// Records how many bytes a copy or fill has, if that is not written in the code.
pub(crate) fn note_size(to: &mut Instrumenter, site: Value, size: Value) {
    if branches::is_recorded(size) {
        let size = to.build.to_i64(size);
        to.build.hook("__ft_switch", to.build.void, &[site, size]);
    }
}

fn copy(to: &mut Instrumenter, call: Value, hook: &str, hidden: [bool; 2]) {
    let (target, source) = (call.operand(0), call.operand(1));
    to.build.stand_before(call);
    let site = to.site(call);
    note_size(to, site, call.operand(2));
    let size = to.build.resize(call.operand(2), to.build.i64);
    match hidden {
        [true, _] => to.load_range(site, source, size, target),
        [_, true] => to.store_range(site, target, size, source),
        _ => _ = to.build.hook(hook, to.build.pointer, &[site, target, source, size]),
    }
    call.erase();
}

fn fill(to: &mut Instrumenter, call: Value) {
    to.build.stand_before(call);
    let byte = to.build.resize(call.operand(1), to.build.i32);
    let size = to.build.resize(call.operand(2), to.build.i64);
    let site = to.site(call);
    note_size(to, site, call.operand(2));
    let arguments = [site, call.operand(0), byte, size];
    to.build.hook("__ft_memset", to.build.pointer, &arguments);
    call.erase();
}

/// A struct that is passed by value.
pub(crate) struct ByValue {
    pub(crate) index: u32,
    pub(crate) size: u64,
    alignment: u64,
}

/// The arguments that the caller has to copy.
pub(crate) fn by_value(build: &Builder, call: Value) -> Vec<ByValue> {
    if call.is_must_tail() {
        return Vec::new();
    }
    let kinds = ["byval", "align"].map(ir::attribute_kind);
    let by_value = |index: u32| {
        // SAFETY: attributes are null if they are not there; the first has a type, the other a
        // number.
        unsafe {
            let [by_value, aligned] =
                kinds.map(|kind| LLVMGetCallSiteEnumAttribute(call.0, index + 1, kind));
            if by_value.is_null() {
                return None;
            }
            let size = LLVMABISizeOfType(build.layout, LLVMGetTypeAttributeValue(by_value));
            let alignment =
                if aligned.is_null() { ALIGNMENT } else { LLVMGetEnumAttributeValue(aligned) };
            Some(ByValue { index, size, alignment })
        }
    };
    (0..call.argument_count()).filter_map(by_value).collect()
}

/// The parameters of a function that are passed by value, and their sizes.
pub(crate) fn parameters_by_value(build: &Builder, function: Value) -> Vec<(Value, u64)> {
    let kind = ir::attribute_kind("byval");
    let size = |index: usize| {
        // SAFETY: the attribute is null if it is not there, else it has a type.
        unsafe {
            let by_value = LLVMGetEnumAttributeAtIndex(function.0, index as u32 + 1, kind);
            (!by_value.is_null())
                .then(|| LLVMABISizeOfType(build.layout, LLVMGetTypeAttributeValue(by_value)))
        }
    };
    let parameters = function.parameters().into_iter().enumerate();
    parameters.filter_map(|(index, one)| Some((one, size(index)?))).collect()
}

/// A struct that is passed by value is read where it lies; the call gets a private copy instead.
pub(crate) fn copy_arguments(to: &mut Instrumenter, call: Value) {
    for ByValue { index, size, alignment } in by_value(&to.build, call) {
        let argument = call.operand(index);
        if to.locals.hide(argument) {
            continue;
        }
        let copy = to.build.variable(to.function, to.build.bytes(size), alignment as u32);
        to.build.stand_before(call);
        let site = to.site(call);
        to.load_range(site, argument, to.build.i64.number(size), copy);
        call.set_operand(index, copy);
    }
}
