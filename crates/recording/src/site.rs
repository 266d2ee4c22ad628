//! The tables of one compiled module (an LLVM module becomes one of each). All are `repr(C)`: the
//! plugin emits them as constants, the runtime copies them into the recording as they are.

/// Version of the hooks, tables and records: any change of this crate makes another one. A runtime
/// refuses modules of another version, and to be started by a command of another one.
pub const ABI: u32 = match u32::from_str_radix(env!("FORETRACE_LAYOUT"), 10) {
    Ok(version) => version,
    Err(_) => panic!("the build script gives a number"),
};

/// A place in the source at which something visible happens. Hooks get its address, which is
/// what records carry as well: 48 bits identify it within one process.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Offset of the file's name in the module's strings.
    pub file: u32,
    /// Offset of the function's name in the module's strings.
    pub function: u32,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown. The top bit is [`SYSTEM`].
    pub column: u32,
}

/// In [`Site::column`]: the site is in a system header. The runtime then records the site of the
/// user's innermost call instead, if it knows one.
pub const SYSTEM: u32 = 1 << 31;

/// Flag of a global variable: all its bytes are 0 at the start.
pub const ZERO: u32 = 2;

/// A global variable that is not constant.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Global {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Offset of its source name in the module's strings.
    pub name: u32,
    /// Offset of the declaring file's name.
    pub file: u32,
    /// Line of the declaration, 0 if unknown.
    pub line: u32,
    /// 1 for a thread-local one, which has no address here and is not listed by the plugin today;
    /// [`ZERO`].
    pub flags: u32,
}

/// A function that is instrumented.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its address.
    pub address: u64,
    /// Offset of its source name in the module's strings.
    pub name: u32,
    /// Reserved, 0.
    pub flags: u32,
}

/// A constant global variable that code reads without a hook.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// What a module hands to `__ft_module` from its constructor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// [`ABI`].
    pub abi: u32,
    /// Reserved, 0.
    pub flags: u32,
    /// The sites.
    pub sites: *const Site,
    /// How many.
    pub site_count: u64,
    /// Strings, each ended by a NUL; offsets point at their first byte.
    pub strings: *const u8,
    /// Bytes of all strings.
    pub strings_size: u64,
    /// The globals.
    pub globals: *const Global,
    /// How many.
    pub global_count: u64,
    /// The instrumented functions.
    pub functions: *const Function,
    /// How many.
    pub function_count: u64,
    /// The code, see [`crate::image`].
    pub image: *const u8,
    /// Its bytes.
    pub image_size: u64,
    /// The addresses that the code names.
    pub symbols: *const u64,
    /// How many.
    pub symbol_count: u64,
    /// The constants that the code reads without a hook.
    pub constants: *const Constant,
    /// How many.
    pub constant_count: u64,
    /// What the programmer calls memory, see [`crate::names`].
    pub names: *const u8,
    /// Its bytes; 0 if nothing is known.
    pub names_size: u64,
}

/// C11's memory orders, as hooks and records number them.
pub mod order {
    #![allow(missing_docs)]
    pub const PLAIN: u32 = 0;
    pub const RELAXED: u32 = 1;
    pub const ACQUIRE: u32 = 2;
    pub const RELEASE: u32 = 3;
    pub const ACQ_REL: u32 = 4;
    pub const SEQ_CST: u32 = 5;
}

/// The operations of `__ft_atomic_rmw*`.
pub mod rmw {
    #![allow(missing_docs)]
    pub const EXCHANGE: u32 = 0;
    pub const ADD: u32 = 1;
    pub const SUB: u32 = 2;
    pub const AND: u32 = 3;
    pub const NAND: u32 = 4;
    pub const OR: u32 = 5;
    pub const XOR: u32 = 6;
    pub const MAX: u32 = 7;
    pub const MIN: u32 = 8;
    pub const UMAX: u32 = 9;
    pub const UMIN: u32 = 10;
}
