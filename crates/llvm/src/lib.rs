//! The compiler plugin: clang 19 loads it with `-fpass-plugin`, and it puts a call of the runtime
//! in place of each operation that other threads can see. It does not know what the runtime makes
//! of it: `docs/recording.md` and `docs/image.md` explain that.
//!
//! - [`instrument`]: walks a module;
//! - [`scope`], [`locals`]: what needs hooks, and what needs none;
//! - [`lower`]: the image of a function;
//! - [`assembly`]: inline assembly, which becomes other operations first;
//! - [`accesses`], [`atomics`], [`ranges`], [`libc`], [`branches`], [`calls`]: the operations;
//! - [`attributes`]: what the compiler must forget;
//! - [`names`]: what the programmer calls memory;
//! - [`tables`]: what the module tells the runtime about itself;
//! - [`ir`], [`build`], [`shim`]: LLVM.

mod accesses;
mod assembly;
mod atomics;
mod attributes;
mod branches;
mod build;
mod calls;
mod instrument;
mod ir;
mod libc;
mod locals;
mod lower;
mod memory;
mod names;
mod ranges;
mod scope;
mod shim;
mod tables;

use std::ffi::{CStr, c_char, c_void};

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::prelude::LLVMModuleRef;
use llvm_sys::target::{LLVMGetModuleDataLayout, LLVMPointerSize};

/// LLVM's `PassPluginLibraryInfo`.
#[repr(C)]
pub struct PluginInfo {
    version: u32,
    name: *const c_char,
    plugin_version: *const c_char,
    register: unsafe extern "C" fn(*mut c_void),
}

/// What LLVM asks a plugin for.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PluginInfo {
    PluginInfo {
        version: 1,
        name: c"foretrace".as_ptr(),
        plugin_version: c"0.1".as_ptr(),
        register: shim::ft_register,
    }
}

/// The pass; called by the shim. A panic ends the compiler, because a module that is half
/// instrumented must not be used.
#[unsafe(no_mangle)]
extern "C" fn ft_instrument_module(module: LLVMModuleRef) -> bool {
    // SAFETY: the module is alive during the pass.
    if unsafe { LLVMPointerSize(LLVMGetModuleDataLayout(module)) } != 8 {
        eprintln!("foretrace: only targets with 64-bit pointers are supported");
        std::process::exit(1);
    }
    let changed = instrument::module(module);
    names::drop_debug_information(module);
    if std::env::var_os("FORETRACE_VERIFY").is_some() {
        verify(module);
    }
    changed
}

fn verify(module: LLVMModuleRef) {
    let mut message = std::ptr::null_mut();
    let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
    // SAFETY: on failure the message is a string, which the end of the process frees.
    let broken = unsafe { LLVMVerifyModule(module, action, &mut message) } != 0;
    if broken {
        // SAFETY: the module is broken, so there is a message.
        let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
        panic!("the instrumented module is not valid:\n{message}");
    }
}
