//! What the programmer calls memory: collected while sites are given out, for `cpp/names.cpp`.

use std::ffi::c_void;

use llvm_sys::prelude::LLVMModuleRef;

use crate::ir::Value;
use crate::shim;

/// The names of a module.
pub(crate) struct Names(*mut c_void);

impl Names {
    pub(crate) fn of(module: LLVMModuleRef) -> Names {
        // SAFETY: the module is alive during the pass, and so are these names.
        Names(unsafe { shim::ft_names_new(module) })
    }

    /// An instruction has this site.
    pub(crate) fn note(&mut self, site: u64, instruction: Value) {
        // SAFETY: it is an instruction of the module.
        unsafe { shim::ft_names_note(self.0, site, instruction.0) }
    }

    /// The table, once all globals are known, in their order.
    pub(crate) fn finish(self, globals: &[Value]) -> Vec<u8> {
        for (index, global) in globals.iter().enumerate() {
            // SAFETY: it is a global variable of the module.
            unsafe { shim::ft_names_global(self.0, index as u64, global.0) }
        }
        let mut size = 0;
        // SAFETY: so many bytes are there until the names are freed.
        unsafe {
            let start = shim::ft_names_finish(self.0, &mut size);
            std::slice::from_raw_parts(start, size).to_vec()
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: nobody uses them any more.
        unsafe { shim::ft_names_free(self.0) }
    }
}

/// Whether debug information was made for us only, beyond line tables.
fn is_for_us() -> bool {
    std::env::var_os("FORETRACE_LINE_TABLES").is_some()
}

/// Takes out of the module what the user did not ask for.
pub(crate) fn drop_debug_information(module: LLVMModuleRef) {
    if is_for_us() {
        // SAFETY: the module is alive during the pass.
        unsafe { shim::ft_keep_line_tables(module) };
    }
}
