//! The functions of `cpp/shim.cpp` and `cpp/names.cpp`.

use std::ffi::{c_char, c_int, c_void};

use llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};

/// A string that the module's metadata owns.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Text {
    start: *const u8,
    size: usize,
}

impl Text {
    const EMPTY: Text = Text { start: std::ptr::null(), size: 0 };

    pub(crate) fn to_owned(self) -> String {
        if self.start.is_null() {
            return String::new();
        }
        // SAFETY: it points into metadata, which outlives the pass.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.size) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// What debug information says about an instruction, a function or a global variable.
#[repr(C)]
pub(crate) struct Place {
    pub(crate) file: Text,
    pub(crate) directory: Text,
    pub(crate) name: Text,
    pub(crate) linkage_name: Text,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) const EMPTY: Place = Place {
        file: Text::EMPTY,
        directory: Text::EMPTY,
        name: Text::EMPTY,
        linkage_name: Text::EMPTY,
        line: 0,
        column: 0,
    };
}

unsafe extern "C" {
    pub(crate) fn ft_register(pass_builder: *mut c_void);
    pub(crate) fn ft_place_of_instruction(instruction: LLVMValueRef, place: *mut Place) -> bool;
    pub(crate) fn ft_place_of_function(function: LLVMValueRef, place: *mut Place) -> bool;
    pub(crate) fn ft_place_of_global(global: LLVMValueRef, place: *mut Place) -> bool;
    pub(crate) fn ft_compilation_directory(module: LLVMModuleRef) -> Text;
    pub(crate) fn ft_demangle(mangled: *const c_char) -> *mut c_char;
    pub(crate) fn ft_order(instruction: LLVMValueRef) -> c_int;
    pub(crate) fn ft_failure_order(exchange: LLVMValueRef) -> c_int;
    pub(crate) fn ft_rmw_operation(rmw: LLVMValueRef) -> c_int;
    pub(crate) fn ft_expand_rmw(rmw: LLVMValueRef);
    pub(crate) fn ft_after_invoke(invoke: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn ft_callbr_targets(callbr: LLVMValueRef) -> u32;
    pub(crate) fn ft_after_callbr(callbr: LLVMValueRef, target: u32) -> LLVMValueRef;
    pub(crate) fn ft_drop_body(function: LLVMValueRef);
    pub(crate) fn ft_forget_unwinding(invoke: LLVMValueRef);
    pub(crate) fn ft_add_constructor(
        module: LLVMModuleRef,
        function: LLVMValueRef,
        priority: c_int,
    );

    pub(crate) fn ft_names_new(module: LLVMModuleRef) -> *mut c_void;
    pub(crate) fn ft_names_note(names: *mut c_void, site: u64, instruction: LLVMValueRef);
    pub(crate) fn ft_names_global(names: *mut c_void, index: u64, global: LLVMValueRef);
    pub(crate) fn ft_names_finish(names: *mut c_void, size: *mut usize) -> *const u8;
    pub(crate) fn ft_names_free(names: *mut c_void);
    pub(crate) fn ft_keep_line_tables(module: LLVMModuleRef) -> bool;

    /// C's own, for what [`ft_demangle`] returns.
    pub(crate) fn free(memory: *mut c_void);
}
